// Handles: values, order, encodings, and the ambassador's factories for them.
#include "federate.hpp"

#include "HandleImplementation.h"

#include <map>
#include <sstream>

namespace testing_federates {
namespace {

auto *const environment = testing::AddGlobalTestEnvironment(new OneRtiexec);

template <class Handle> class Handles : public testing::Test {};

#define STARLING_KIND(Kind)                                                                        \
    struct Kind##Of {                                                                              \
        typedef rti1516e::Kind Handle;                                                             \
        static Handle make(std::uint64_t n) { return Kind##Friend::make(n); }                      \
        static Handle decode(RTIambassador &rti, VariableLengthData const &data) {                 \
            return rti.decode##Kind(data);                                                         \
        }                                                                                          \
    };
STARLING_KIND(FederateHandle)
STARLING_KIND(ObjectClassHandle)
STARLING_KIND(InteractionClassHandle)
STARLING_KIND(ObjectInstanceHandle)
STARLING_KIND(AttributeHandle)
STARLING_KIND(ParameterHandle)
STARLING_KIND(DimensionHandle)
STARLING_KIND(MessageRetractionHandle)
STARLING_KIND(RegionHandle)
#undef STARLING_KIND

typedef testing::Types<FederateHandleOf, ObjectClassHandleOf, InteractionClassHandleOf,
                       ObjectInstanceHandleOf, AttributeHandleOf, ParameterHandleOf,
                       DimensionHandleOf, MessageRetractionHandleOf, RegionHandleOf>
    Kinds;
TYPED_TEST_SUITE(Handles, Kinds);

TYPED_TEST(Handles, AreValues) {
    typedef typename TypeParam::Handle Handle;
    Handle const none;
    EXPECT_FALSE(none.isValid());
    EXPECT_EQ(none.toString(), L"invalid");
    EXPECT_TRUE(none == Handle());
    Handle const one = TypeParam::make(1), two = TypeParam::make(2);
    EXPECT_TRUE(one.isValid());
    EXPECT_TRUE(one != two && !(one == two) && one != none);
    EXPECT_TRUE(one < two && !(two < one) && !(one < one));
    EXPECT_TRUE(none < one);
    Handle copy(two);
    EXPECT_TRUE(copy == two);
    copy = one;
    copy = *&copy;
    EXPECT_TRUE(copy == one);
    EXPECT_EQ(copy.hash(), one.hash());
    EXPECT_EQ(copy.toString(), one.toString());
    EXPECT_NE(one.toString(), two.toString());
    std::wostringstream out;
    out << one << L" " << none;
    EXPECT_EQ(out.str(), one.toString() + L" invalid");
    std::map<Handle, int> map;
    map[two] = 2;
    map[one] = 1;
    map[copy] = 3;
    EXPECT_EQ(map.size(), 2u);
    EXPECT_TRUE(map.begin()->first == one);
    EXPECT_EQ(map[one], 3);
}

TYPED_TEST(Handles, AreEncodedAndDecoded) {
    typedef typename TypeParam::Handle Handle;
    Federate federate;
    RTIambassador &rti = *federate.rti;
    EXPECT_THROW(TypeParam::decode(rti, text("")), NotConnected);
    rti.connect(federate, HLA_EVOKED);
    EXPECT_THROW(TypeParam::decode(rti, TypeParam::make(1).encode()), FederateNotExecutionMember);
    federate.enter(L"A");
    for (std::uint64_t const number : {std::uint64_t(1), std::uint64_t(0x01020304)}) {
        Handle const handle = TypeParam::make(number);
        VariableLengthData const data = handle.encode();
        EXPECT_EQ(data.size(), handle.encodedLength());
        EXPECT_TRUE(TypeParam::decode(rti, data) == handle);
        VariableLengthData other = text("something longer than any handle");
        handle.encode(other);
        EXPECT_EQ(wide(other), wide(data));
        std::vector<char> bytes(data.size() + 1, '#');
        EXPECT_EQ(handle.encode(bytes.data(), bytes.size()), data.size());
        EXPECT_EQ(bytes.back(), '#');
        EXPECT_EQ(std::memcmp(bytes.data(), data.data(), data.size()), 0);
        EXPECT_EQ(handle.encode(bytes.data(), data.size()), data.size());
        EXPECT_THROW(handle.encode(bytes.data(), data.size() - 1), CouldNotEncode);
        EXPECT_THROW(handle.encode(nullptr, 0), CouldNotEncode);
        // Every other length is refused.
        for (size_t size = 0; size <= 2 * data.size(); ++size)
            if (size != data.size()) {
                std::string const wrong(size, '\1');
                EXPECT_THROW(TypeParam::decode(rti, text(wrong)), CouldNotDecode) << size;
            }
        // HLAhandle of the MOM.
        std::string counted{'\0', '\0', '\0', static_cast<char>(data.size())};
        counted.append(static_cast<char const *>(data.data()), data.size());
        try {
            TypeParam::decode(rti, text(counted));
            FAIL() << "a handle was read from its count";
        } catch (CouldNotDecode const &e) {
            EXPECT_NE(e.what().find(L"HLAhandle"), std::wstring::npos) << e.what().c_str();
        }
    }
    federate.leave();
}

TEST(HandlesOfAFederation, AreNamedAlikeInMessages) {
    Federate a;
    a.join(L"A");
    ObjectInstanceHandle const instance = ObjectInstanceHandleFriend::make((7ull << 32) + 9);
    RegionHandle const region = RegionHandleFriend::make((7ull << 32) + 9);
    EXPECT_EQ(instance.toString(), L"7.9");
    try {
        a.rti->getObjectInstanceName(instance);
        FAIL();
    } catch (ObjectInstanceNotKnown const &e) {
        std::wstring const named = L"object instance " + instance.toString() + L" ";
        EXPECT_NE(e.what().find(named), std::wstring::npos);
    }
    try {
        a.rti->deleteRegion(region);
        FAIL();
    } catch (Exception const &e) {
        std::wstring const named = L"region " + region.toString() + L" ";
        EXPECT_NE(e.what().find(named), std::wstring::npos);
    }
    a.leave();
}

TEST(HandlesOfAFederation, AreTheSameForItsFederates) {
    Federate a, b;
    a.join(L"A");
    b.join(L"B");
    a.settle();
    EXPECT_TRUE(a.soda == b.soda && a.cups == b.cups);
    EXPECT_TRUE(b.rti->decodeObjectClassHandle(a.soda.encode()) == b.soda);
    ObjectInstanceHandle const instance = a.rti->registerObjectInstance(a.soda);
    std::wstring const name = a.rti->getObjectInstanceName(instance);
    EXPECT_EQ(b.next(), L"discover " + name);
    EXPECT_TRUE(b.rti->getObjectInstanceHandle(name) == instance);
    EXPECT_EQ(b.rti->getObjectInstanceName(b.rti->decodeObjectInstanceHandle(instance.encode())),
              name);
    FederateHandle const handle = a.rti->getFederateHandle(L"B");
    EXPECT_EQ(b.rti->getFederateName(handle), L"B");
    // Handles that are of no federation, each with the exception of its kind.
    EXPECT_THROW(a.rti->getFederateName(FederateHandle()), InvalidFederateHandle);
    EXPECT_THROW(a.rti->getObjectClassName(ObjectClassHandle()), InvalidObjectClassHandle);
    EXPECT_THROW(a.rti->getInteractionClassName(InteractionClassHandle()),
                 InvalidInteractionClassHandle);
    EXPECT_THROW(a.rti->getObjectInstanceName(ObjectInstanceHandle()), ObjectInstanceNotKnown);
    EXPECT_THROW(a.rti->getAttributeName(a.soda, AttributeHandle()), InvalidAttributeHandle);
    EXPECT_THROW(a.rti->getDimensionName(DimensionHandle()), InvalidDimensionHandle);
    EXPECT_THROW(a.rti->getParameterName(a.rti->getInteractionClassHandle(L"CustomerTransactions"),
                                         ParameterHandle()),
                 InvalidParameterHandle);
    EXPECT_THROW(a.rti->publishObjectClassAttributes(ObjectClassHandle(), {a.cups}),
                 ObjectClassNotDefined);
    EXPECT_THROW(a.rti->publishObjectClassAttributes(a.soda, {AttributeHandle()}),
                 AttributeNotDefined);
    b.leave();
    a.leave();
}

}
}
