// Data elements, byte for byte (1516.2-2010 §4.13), and what hostile octets do to them.
#include <RTI/RTI1516.h>
#include <RTI/RTI1516fedTime.h>
#include <RTI/encoding/BasicDataElements.h>
#include <RTI/encoding/HLAfixedArray.h>
#include <RTI/encoding/HLAfixedRecord.h>
#include <RTI/encoding/HLAopaqueData.h>
#include <RTI/encoding/HLAvariableArray.h>
#include <RTI/encoding/HLAvariantRecord.h>

#include <cstdio>
#include <gtest/gtest.h>
#include <random>

using namespace rti1516e;

namespace {

std::string hex(VariableLengthData const &data) {
    std::string text;
    char two[3];
    for (size_t i = 0; i < data.size(); ++i) {
        std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char const *>(data.data())[i]);
        text += two;
    }
    return text;
}

std::string hex(DataElement const &element) { return hex(element.encode()); }

VariableLengthData octets(std::string const &text) {
    std::string bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return VariableLengthData(bytes.data(), bytes.size());
}

/// Encodes as expected, has that length, and comes back from it.
void same(DataElement &element, std::string const &expected) {
    EXPECT_EQ(hex(element), expected);
    EXPECT_EQ(element.getEncodedLength(), expected.size() / 2);
    std::auto_ptr<DataElement> copy = element.clone();
    copy->decode(octets(expected));
    EXPECT_EQ(hex(*copy), expected);
    EXPECT_EQ(copy->hash(), element.hash());
}

template <class Element, class Value> void basic(Value value, std::string const &expected) {
    Element element(value);
    same(element, expected);
    Element other;
    other.decode(octets(expected));
    EXPECT_EQ(other.get(), value);
    Value variable = Value();
    Element pointing(&variable);
    pointing.decode(octets(expected));
    EXPECT_EQ(variable, value);
}

TEST(Encoding, BasicElements) {
    basic<HLAinteger16BE, Integer16>(0x0102, "0102");
    basic<HLAinteger16LE, Integer16>(0x0102, "0201");
    basic<HLAinteger32BE, Integer32>(0x01020304, "01020304");
    basic<HLAinteger32LE, Integer32>(0x01020304, "04030201");
    basic<HLAinteger64BE, Integer64>(-2, "fffffffffffffffe");
    basic<HLAinteger64LE, Integer64>(0x0102030405060708, "0807060504030201");
    basic<HLAfloat32BE, float>(1.5f, "3fc00000");
    basic<HLAfloat32LE, float>(1.5f, "0000c03f");
    basic<HLAfloat64BE, double>(1.5, "3ff8000000000000");
    basic<HLAfloat64LE, double>(1.5, "000000000000f83f");
    basic<HLAASCIIchar, char>('A', "41");
    basic<HLAbyte, Octet>('\xff', "ff");
    basic<HLAoctet, Octet>(7, "07");
    basic<HLAoctetPairBE, OctetPair>(OctetPair(1, 2), "0102");
    basic<HLAoctetPairLE, OctetPair>(OctetPair(1, 2), "0201");
    basic<HLAunicodeChar, wchar_t>(L'\u20ac', "20ac");
    basic<HLAboolean, bool>(true, "00000001");
    basic<HLAASCIIstring, std::string>("abc", "00000003616263");
    basic<HLAunicodeString, std::wstring>(L"a\u00e9\u20ac", "00000003006100e920ac");
    std::wstring const surrogates = {wchar_t(0xd83d), wchar_t(0xde00)};
    basic<HLAunicodeString, std::wstring>(surrogates, "00000002d83dde00");
    EXPECT_EQ(hex(HLAunicodeString(L"\U0001f600")), "00000002d83dde00");
    HLAopaqueData opaque("\1\2\3", 3);
    same(opaque, "00000003010203");
}

TEST(Encoding, Arrays) {
    HLAfixedArray fixed(HLAASCIIstring("a"), 2);
    same(fixed, "0000000161000000"
                "0000000161");
    HLAvariableArray shorts((HLAinteger16BE()));
    for (Integer16 i = 1; i <= 3; ++i)
        shorts.addElement(HLAinteger16BE(i));
    same(shorts, "00000003000100020003");
    HLAvariableArray doubles((HLAfloat64BE()));
    same(doubles, "00000000");
    // Others pad an empty array; that is read too.
    doubles.decode(octets("0000000000000000"));
    EXPECT_EQ(doubles.size(), 0u);
    doubles.addElement(HLAfloat64BE(1.0));
    same(doubles, "00000001000000003ff0000000000000");
}

HLAvariantRecord variant() {
    HLAvariantRecord record((HLAoctet()));
    record.addVariant(HLAoctet(Octet(0)), HLAoctet(Octet(9)));
    record.addVariant(HLAoctet(Octet(1)), HLAfloat64BE(1.0));
    return record;
}

TEST(Encoding, Records) {
    HLAfixedRecord record;
    record.appendElement(HLAoctet(Octet(1)));
    record.appendElement(HLAinteger32BE(2));
    record.appendElement(HLAoctet(Octet(3)));
    record.appendElement(HLAfloat64BE(1.0));
    same(record, "010000000000000203000000000000003ff0000000000000");
    HLAfixedRecord empty;
    same(empty, "");
    HLAvariantRecord choice = variant();
    choice.setDiscriminant(HLAoctet(Octet(0)));
    same(choice, "000000000000000009");
    choice.setDiscriminant(HLAoctet(Octet(1)));
    same(choice, "01000000000000003ff0000000000000");
    HLAvariantRecord wide((HLAinteger32BE()));
    wide.addVariant(HLAinteger32BE(Integer32(0)), HLAoctet(Octet(9)));
    wide.setDiscriminant(HLAinteger32BE(Integer32(0)));
    same(wide, "0000000009");
    HLAfixedRecord nested;
    nested.appendElement(HLAoctet(Octet(1)));
    choice.setDiscriminant(HLAoctet(Octet(0)));
    nested.appendElement(choice);
    same(nested, "01"
                 "00000000000000"
                 "00"
                 "00000000000000"
                 "09");
    HLAfixedRecord pair;
    pair.appendElement(HLAinteger32BE(2));
    pair.appendElement(HLAoctet(Octet(3)));
    HLAvariableArray pairs(pair);
    pairs.addElement(pair);
    pairs.addElement(pair);
    same(pairs, "00000002"
                "0000000203000000"
                "0000000203");
}

TEST(Encoding, WhatDoesNotFitThrows) {
    EXPECT_THROW(HLAinteger32BE().decode(octets("000000")), EncoderException);
    EXPECT_THROW(HLAboolean().decode(octets("00000002")), EncoderException);
    EXPECT_THROW(HLAASCIIstring().decode(octets("0000000461")), EncoderException);
    EXPECT_THROW(HLAASCIIstring().decode(octets("ffffffff61")), EncoderException);
    EXPECT_THROW(HLAunicodeString().decode(octets("7fffffff0061")), EncoderException);
    EXPECT_THROW(HLAvariableArray(HLAoctet()).decode(octets("7fffffff01")), EncoderException);
    EXPECT_THROW(HLAvariableArray((HLAfixedRecord())).decode(octets("7fffffff")), EncoderException);
    EXPECT_THROW(variant().decode(octets("05")), EncoderException);
    EXPECT_THROW(HLAunicodeChar(L'\U0001f600').encode(), EncoderException);
    EXPECT_THROW(HLAfixedArray(HLAoctet(), 2).get(2), EncoderException);
    EXPECT_THROW(HLAfixedArray(HLAoctet(), 2).set(0, HLAASCIIstring()), EncoderException);
    HLAinteger32BE pointing;
    EXPECT_THROW(pointing.setDataPointer(nullptr), EncoderException);
}

TEST(Encoding, RandomOctetsThrowOrComeBack) {
    std::mt19937 draw(1516);
    HLAfixedRecord record;
    record.appendElement(HLAunicodeString());
    record.appendElement(variant());
    record.appendElement(HLAvariableArray((HLAASCIIstring())));
    record.appendElement(HLAopaqueData());
    for (int round = 0; round < 20000; ++round) {
        std::string bytes(draw() % 40, '\0');
        for (char &byte : bytes)
            byte = static_cast<char>(draw() % 4 == 0 ? draw() : draw() % 3);
        try {
            record.decode(VariableLengthData(bytes.data(), bytes.size()));
            std::string const once = hex(record);
            record.decode(octets(once));
            EXPECT_EQ(hex(record), once);
        } catch (EncoderException const &) {
        }
    }
}

TEST(Times, EncodeCompareAndRefuse) {
    HLAinteger64Time t(5);
    EXPECT_EQ(hex(t.encode()), "0000000000000005");
    t += HLAinteger64Interval(3);
    EXPECT_EQ(t.getTime(), 8);
    HLAinteger64Time final;
    final.setFinal();
    EXPECT_EQ(hex(final.encode()), "7fffffffffffffff");
    EXPECT_THROW(final += HLAinteger64Interval(1), IllegalTimeArithmetic);
    EXPECT_THROW(t < HLAfloat64Time(1.0), InvalidLogicalTime);
    HLAfloat64Time f(1.5);
    EXPECT_EQ(hex(f.encode()), "3ff8000000000000");
    EXPECT_THROW(f.decode(octets("3ff8")), CouldNotDecode);
    EXPECT_THROW(f.decode(octets("7ff8000000000000")), CouldNotDecode);
    // HLAlogicalTime of the MOM.
    try {
        f.decode(octets("000000083ff8000000000000"));
        FAIL() << "the count of its bytes was read as part of it";
    } catch (CouldNotDecode const &e) {
        EXPECT_NE(e.what().find(L"count of its bytes"), std::wstring::npos) << e.what().c_str();
    }
    EXPECT_THROW(f.decode(octets("3ff800000000000000")), CouldNotDecode);
    EXPECT_EQ(HLAinteger64Interval().implementationName(), t.implementationName());
    EXPECT_EQ(HLAfloat64Interval().implementationName(), f.implementationName());
    for (std::wstring const &name : {t.implementationName(), f.implementationName()})
        EXPECT_EQ(HLAlogicalTimeFactoryFactory::makeLogicalTimeFactory(name)->getName(), name);
    try {
        t += HLAfloat64Interval(1.0);
        FAIL();
    } catch (InvalidLogicalTimeInterval const &e) {
        EXPECT_EQ(e.what(), L"InvalidLogicalTimeInterval: HLAinteger64Interval expected, but this "
                            L"is of HLAfloat64Time");
    }
    HLAinteger64Interval difference;
    difference.setToDifference(t, HLAinteger64Time(2));
    EXPECT_EQ(difference.getInterval(), 6);
    std::unique_ptr<LogicalTimeFactory> factory =
        HLAlogicalTimeFactoryFactory::makeLogicalTimeFactory(L"");
    EXPECT_EQ(factory->getName(), L"HLAfloat64Time");
    EXPECT_EQ(HLAlogicalTimeFactoryFactory::makeLogicalTimeFactory(L"Sundial").get(), nullptr);
}

// Epsilon is the least interval of a type that is not zero, also from its factory.
template <class Interval> void epsilonIsTheLeast(std::wstring const &name) {
    Interval epsilon, zero;
    EXPECT_FALSE(epsilon.isEpsilon());
    epsilon.setEpsilon();
    EXPECT_TRUE(epsilon.isEpsilon());
    EXPECT_FALSE(epsilon.isZero());
    EXPECT_GT(epsilon, zero);
    auto factory = HLAlogicalTimeFactoryFactory::makeLogicalTimeFactory(name);
    auto made = factory->makeEpsilon();
    EXPECT_TRUE(made->isEpsilon());
    EXPECT_TRUE(*made == epsilon);
    EXPECT_TRUE(factory->makeZero()->isZero());
    EXPECT_FALSE(factory->makeZero()->isEpsilon());
    auto time = factory->makeInitial();
    EXPECT_TRUE(time->isInitial());
    *time += epsilon;
    EXPECT_FALSE(time->isInitial());
    EXPECT_TRUE(*time > *factory->makeInitial());
    EXPECT_TRUE(factory->makeFinal()->isFinal());
}

TEST(Times, EpsilonInitialAndFinal) {
    epsilonIsTheLeast<HLAinteger64Interval>(L"HLAinteger64Time");
    epsilonIsTheLeast<HLAfloat64Interval>(L"HLAfloat64Time");
    HLAinteger64Interval one(1);
    EXPECT_TRUE(one.isEpsilon());
}

TEST(Values, OwnBorrowAndTake) {
    char bytes[] = "abc";
    VariableLengthData borrowed;
    borrowed.setDataPointer(bytes, 3);
    EXPECT_EQ(borrowed.data(), bytes);
    VariableLengthData copy(borrowed);
    bytes[0] = 'x';
    EXPECT_EQ(hex(copy), "616263");
    EXPECT_EQ(hex(borrowed), "786263");
    static int removed = 0;
    {
        VariableLengthData taken;
        taken.takeDataPointer(bytes, 2, [](void *) { ++removed; });
        taken.takeDataPointer(bytes, 1, [](void *) { ++removed; });
        EXPECT_EQ(removed, 1);
    }
    EXPECT_EQ(removed, 2);
    copy.setData(static_cast<char const *>(copy.data()) + 1, 2);
    EXPECT_EQ(hex(copy), "6263");
    copy = copy;
    EXPECT_EQ(copy.size(), 2u);
}

}
