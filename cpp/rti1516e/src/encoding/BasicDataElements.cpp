#include "Octets.h"

#include <RTI/encoding/BasicDataElements.h>

#include <cstring>
#include <typeinfo>

namespace rti1516e {

namespace {

using octets::Buffer;

// Each codec: octet boundary, and how a value is put and got at an aligned place.

template <class Value, size_t Size, bool Big> struct Number {
    enum { boundary = Size };
    static std::uint64_t bits(Value value) {
        std::uint64_t bits = 0;
        if (sizeof(Value) == 4) {
            std::uint32_t word;
            std::memcpy(&word, &value, 4);
            bits = word;
        } else {
            std::memcpy(&bits, &value, sizeof value);
        }
        return bits;
    }
    static void put(Buffer &buffer, Value const &value) {
        Big ? octets::putBig(buffer, bits(value), Size)
            : octets::putLittle(buffer, bits(value), Size);
    }
    static size_t get(Buffer const &buffer, size_t index, Value &value, wchar_t const *what) {
        size_t const at = octets::place(buffer, index, Size, Size, what);
        std::uint64_t const bits =
            Big ? octets::getBig(buffer, at, Size) : octets::getLittle(buffer, at, Size);
        if (Size == 4) {
            std::uint32_t const word = static_cast<std::uint32_t>(bits);
            std::memcpy(&value, &word, sizeof value < 4 ? sizeof value : 4);
        } else {
            std::memcpy(&value, &bits, sizeof value);
        }
        return at + Size;
    }
};

struct Boolean {
    enum { boundary = 4 };
    static void put(Buffer &buffer, bool value) { octets::putBig(buffer, value ? 1 : 0, 4); }
    static size_t get(Buffer const &buffer, size_t index, bool &value, wchar_t const *what) {
        size_t const at = octets::place(buffer, index, 4, 4, what);
        std::uint64_t const number = octets::getBig(buffer, at, 4);
        if (number > 1)
            throw EncoderException(std::wstring(what) + L" is neither 0 nor 1");
        value = number == 1;
        return at + 4;
    }
};

template <bool Big> struct Pair {
    enum { boundary = 2 };
    static void put(Buffer &buffer, OctetPair const &value) {
        buffer.push_back(Big ? value.first : value.second);
        buffer.push_back(Big ? value.second : value.first);
    }
    static size_t get(Buffer const &buffer, size_t index, OctetPair &value, wchar_t const *what) {
        size_t const at = octets::place(buffer, index, 2, 2, what);
        value = Big ? OctetPair(buffer[at], buffer[at + 1]) : OctetPair(buffer[at + 1], buffer[at]);
        return at + 2;
    }
};

struct UnicodeChar {
    enum { boundary = 2 };
    static void put(Buffer &buffer, wchar_t value) {
        if (static_cast<std::uint32_t>(value) > 0xffff)
            throw EncoderException(L"HLAunicodeChar holds characters up to U+FFFF");
        octets::putBig(buffer, static_cast<std::uint32_t>(value), 2);
    }
    static size_t get(Buffer const &buffer, size_t index, wchar_t &value, wchar_t const *what) {
        size_t const at = octets::place(buffer, index, 2, 2, what);
        value = static_cast<wchar_t>(octets::getBig(buffer, at, 2));
        return at + 2;
    }
};

struct AsciiString {
    enum { boundary = 4 };
    static void put(Buffer &buffer, std::string const &value) {
        octets::putCount(buffer, value.size(), L"HLAASCIIstring");
        buffer.insert(buffer.end(), value.begin(), value.end());
    }
    static size_t get(Buffer const &buffer, size_t index, std::string &value, wchar_t const *what) {
        size_t const at = octets::place(buffer, index, 4, 4, what);
        size_t const count = octets::getCount(buffer, at, what);
        octets::place(buffer, at + 4, 1, count, what);
        value.assign(buffer.begin() + at + 4, buffer.begin() + at + 4 + count);
        return at + 4 + count;
    }
};

/// UTF-16, big-endian, without byte order mark; the count is of 16-bit units. Each unit comes back
/// as a character of its own, as it does from an array of HLAunicodeChar: whether two surrogates
/// were two characters or one beyond U+FFFF when they were encoded, the octets don't say.
struct UnicodeString {
    enum { boundary = 4 };
    static void put(Buffer &buffer, std::wstring const &value) {
        std::vector<std::uint16_t> units;
        units.reserve(value.size());
        for (wchar_t character : value) {
            std::uint32_t const c = static_cast<std::uint32_t>(character);
            if (c > 0x10ffff)
                throw EncoderException(L"HLAunicodeString: a character is beyond U+10FFFF");
            if (c > 0xffff) {
                units.push_back(static_cast<std::uint16_t>(0xd800 + ((c - 0x10000) >> 10)));
                units.push_back(static_cast<std::uint16_t>(0xdc00 + ((c - 0x10000) & 0x3ff)));
            } else {
                units.push_back(static_cast<std::uint16_t>(c));
            }
        }
        octets::putCount(buffer, units.size(), L"HLAunicodeString");
        for (std::uint16_t unit : units)
            octets::putBig(buffer, unit, 2);
    }
    static size_t get(Buffer const &buffer, size_t index, std::wstring &value,
                      wchar_t const *what) {
        size_t const at = octets::place(buffer, index, 4, 4, what);
        size_t const count = octets::getCount(buffer, at, what);
        octets::place(buffer, at + 4, 1, 2 * count, what);
        std::wstring text;
        text.reserve(count);
        for (size_t i = 0; i < count; ++i)
            text += static_cast<wchar_t>(octets::getBig(buffer, at + 4 + 2 * i, 2));
        value.swap(text);
        return at + 4 + 2 * count;
    }
};

/// A value of its own, or the caller's variable.
template <class Value> class Holder {
public:
    Holder() : own_(), at_(&own_) {}
    explicit Holder(Value const &value) : own_(value), at_(&own_) {}
    explicit Holder(Value *value) : own_(), at_(value) { require(value); }
    Holder(Holder const &) = delete;
    Value &value() const { return *at_; }
    void pointTo(Value *value) {
        require(value);
        at_ = value;
    }

private:
    static void require(Value *value) {
        if (value == nullptr)
            throw EncoderException(L"the pointer to the data is null");
    }
    Value own_;
    Value *at_;
};

}

#define STARLING_BASIC(Class, Value, Codec)                                                        \
    class Class##Implementation : public Holder<Value> {                                           \
    public:                                                                                        \
        using Holder<Value>::Holder;                                                               \
    };                                                                                             \
    Class::Class() : _impl(new Class##Implementation) {}                                           \
    Class::Class(Value const &inData) : _impl(new Class##Implementation(inData)) {}                \
    Class::Class(Value *inData) : _impl(new Class##Implementation(inData)) {}                      \
    Class::Class(Class const &rhs)                                                                 \
        : DataElement(rhs), _impl(new Class##Implementation(rhs._impl->value())) {}                \
    Class::~Class() { delete _impl; }                                                              \
    Class &Class::operator=(Class const &rhs) {                                                    \
        _impl->value() = rhs._impl->value();                                                       \
        return *this;                                                                              \
    }                                                                                              \
    std::auto_ptr<DataElement> Class::clone() const {                                              \
        return std::auto_ptr<DataElement>(new Class(*this));                                       \
    }                                                                                              \
    STARLING_ELEMENT(Class)                                                                        \
    void Class::encodeInto(std::vector<Octet> &buffer) const {                                     \
        octets::pad(buffer, Codec::boundary);                                                      \
        Codec::put(buffer, _impl->value());                                                        \
    }                                                                                              \
    size_t Class::decodeFrom(std::vector<Octet> const &buffer, size_t index) {                     \
        return Codec::get(buffer, index, _impl->value(), L"" #Class);                              \
    }                                                                                              \
    unsigned int Class::getOctetBoundary() const { return Codec::boundary; }                       \
    Integer64 Class::hash() const { return DataElement::hash(); }                                  \
    void Class::setDataPointer(Value *inData) { _impl->pointTo(inData); }                          \
    void Class::set(Value inData) { _impl->value() = inData; }                                     \
    Value Class::get() const { return _impl->value(); }                                            \
    Class &Class::operator=(Value rhs) {                                                           \
        _impl->value() = rhs;                                                                      \
        return *this;                                                                              \
    }                                                                                              \
    Class::operator Value() const { return _impl->value(); }

typedef Number<char, 1, true> OneChar;
STARLING_BASIC(HLAASCIIchar, char, OneChar)
STARLING_BASIC(HLAbyte, Octet, OneChar)
STARLING_BASIC(HLAoctet, Octet, OneChar)
STARLING_BASIC(HLAASCIIstring, std::string, AsciiString)
STARLING_BASIC(HLAboolean, bool, Boolean)
typedef Number<float, 4, true> Float32BE;
typedef Number<float, 4, false> Float32LE;
typedef Number<double, 8, true> Float64BE;
typedef Number<double, 8, false> Float64LE;
STARLING_BASIC(HLAfloat32BE, float, Float32BE)
STARLING_BASIC(HLAfloat32LE, float, Float32LE)
STARLING_BASIC(HLAfloat64BE, double, Float64BE)
STARLING_BASIC(HLAfloat64LE, double, Float64LE)
typedef Number<Integer16, 2, true> Integer16BE;
typedef Number<Integer16, 2, false> Integer16LE;
typedef Number<Integer32, 4, true> Integer32BE;
typedef Number<Integer32, 4, false> Integer32LE;
typedef Number<Integer64, 8, true> Integer64BE;
typedef Number<Integer64, 8, false> Integer64LE;
STARLING_BASIC(HLAinteger16BE, Integer16, Integer16BE)
STARLING_BASIC(HLAinteger16LE, Integer16, Integer16LE)
STARLING_BASIC(HLAinteger32BE, Integer32, Integer32BE)
STARLING_BASIC(HLAinteger32LE, Integer32, Integer32LE)
STARLING_BASIC(HLAinteger64BE, Integer64, Integer64BE)
STARLING_BASIC(HLAinteger64LE, Integer64, Integer64LE)
STARLING_BASIC(HLAoctetPairBE, OctetPair, Pair<true>)
STARLING_BASIC(HLAoctetPairLE, OctetPair, Pair<false>)
STARLING_BASIC(HLAunicodeChar, wchar_t, UnicodeChar)
STARLING_BASIC(HLAunicodeString, std::wstring, UnicodeString)

}
