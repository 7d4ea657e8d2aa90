// HLAinteger64Time and HLAfloat64Time with their intervals and factories (1516.1-2010 §12.4):
// one text, two value types.
#include <RTI/LogicalTimeFactory.h>
#include <RTI/RTI1516fedTime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace rti1516e {

namespace {

std::uint64_t bits(Integer64 value) { return static_cast<std::uint64_t>(value); }
std::uint64_t bits(double value) {
    std::uint64_t b;
    std::memcpy(&b, &value, sizeof b);
    return b;
}
void fromBits(std::uint64_t b, Integer64 &value) { value = static_cast<Integer64>(b); }
void fromBits(std::uint64_t b, double &value) { std::memcpy(&value, &b, sizeof b); }

/// Eight bytes, big-endian.
template <class Value> void store(Value value, unsigned char *to) {
    std::uint64_t const b = bits(value);
    for (int i = 0; i < 8; ++i)
        to[i] = static_cast<unsigned char>(b >> (56 - 8 * i));
}

template <class Value> Value load(void const *data, size_t size, wchar_t const *name) {
    if (data == nullptr || size < 8)
        throw CouldNotDecode(std::wstring(name) + L" is encoded in 8 bytes, not " +
                             std::to_wstring(size));
    auto const *bytes = static_cast<unsigned char const *>(data);
    std::uint64_t b = 0;
    for (int i = 0; i < 8; ++i)
        b = b << 8 | bytes[i];
    Value value;
    fromBits(b, value);
    if (value != value)
        throw CouldNotDecode(std::wstring(name) + L": not a number");
    return value;
}

/// A value of the MOM would give another number, were the bytes beyond the eighth passed over.
template <class Value> Value whole(VariableLengthData const &encoded, wchar_t const *name) {
    if (encoded.size() == 12)
        throw CouldNotDecode(std::wstring(name) +
                             L" is encoded in 8 bytes, not 12; an HLAlogicalTime of the MOM begins "
                             L"with the count of its bytes, in 4: decode what comes after");
    if (encoded.size() > 8)
        throw CouldNotDecode(std::wstring(name) + L" is encoded in 8 bytes, not " +
                             std::to_wstring(encoded.size()));
    return load<Value>(encoded.data(), encoded.size(), name);
}

Integer64 sum(Integer64 a, Integer64 b) {
    Integer64 result;
    if (__builtin_add_overflow(a, b, &result))
        throw IllegalTimeArithmetic(L"the result is beyond the range of 64 bits");
    return result;
}
Integer64 difference(Integer64 a, Integer64 b) {
    Integer64 result;
    if (__builtin_sub_overflow(a, b, &result))
        throw IllegalTimeArithmetic(L"the result is beyond the range of 64 bits");
    return result;
}
double finite(double value) {
    if (!std::isfinite(value))
        throw IllegalTimeArithmetic(L"the result is beyond the range of a double");
    return value;
}
double sum(double a, double b) { return finite(a + b); }
double difference(double a, double b) { return finite(a - b); }

/// The least positive interval: 1, or the least normal double.
template <class Value> Value epsilon();
template <> Integer64 epsilon() { return 1; }
template <> double epsilon() { return std::numeric_limits<double>::min(); }

template <class To, class Wrong, class From> To const &as(From const &value, wchar_t const *name) {
    To const *same = dynamic_cast<To const *>(&value);
    if (same == nullptr)
        throw Wrong(std::wstring(name) + L" expected, but this is of " +
                    value.implementationName());
    return *same;
}

}

#define STARLING_COMPARE(Class, Base, Wrong, get)                                                  \
    bool Class::operator>(Base const &value) const {                                               \
        return _impl->value > as<Class, Wrong>(value, L"" #Class).get();                           \
    }                                                                                              \
    bool Class::operator<(Base const &value) const {                                               \
        return _impl->value < as<Class, Wrong>(value, L"" #Class).get();                           \
    }                                                                                              \
    bool Class::operator==(Base const &value) const {                                              \
        return _impl->value == as<Class, Wrong>(value, L"" #Class).get();                          \
    }                                                                                              \
    bool Class::operator>=(Base const &value) const {                                              \
        return _impl->value >= as<Class, Wrong>(value, L"" #Class).get();                          \
    }                                                                                              \
    bool Class::operator<=(Base const &value) const {                                              \
        return _impl->value <= as<Class, Wrong>(value, L"" #Class).get();                          \
    }

#define STARLING_CODEC(Class, Stem, Value)                                                         \
    VariableLengthData Class::encode() const {                                                     \
        unsigned char bytes[8];                                                                    \
        store(_impl->value, bytes);                                                                \
        return VariableLengthData(bytes, sizeof bytes);                                            \
    }                                                                                              \
    size_t Class::encode(void *buffer, size_t bufferSize) const {                                  \
        if (bufferSize < 8)                                                                        \
            throw CouldNotEncode(L"" #Class L": the buffer is smaller than encodedLength()");      \
        store(_impl->value, static_cast<unsigned char *>(buffer));                                 \
        return 8;                                                                                  \
    }                                                                                              \
    size_t Class::encodedLength() const { return 8; }                                              \
    void Class::decode(VariableLengthData const &encoded) {                                        \
        _impl->value = whole<Value>(encoded, L"" #Class);                                          \
    }                                                                                              \
    void Class::decode(void *buffer, size_t bufferSize) {                                          \
        _impl->value = load<Value>(buffer, bufferSize, L"" #Class);                                \
    }                                                                                              \
    std::wstring Class::toString() const { return std::to_wstring(_impl->value); }                 \
    /* The name of its logical time, which createFederationExecution takes, for intervals too. */  \
    std::wstring Class::implementationName() const { return L"" #Stem L"Time"; }

#define STARLING_TIME(Stem, Value)                                                                 \
    class Stem##TimeImpl {                                                                         \
    public:                                                                                        \
        Value value;                                                                               \
    };                                                                                             \
    class Stem##IntervalImpl {                                                                     \
    public:                                                                                        \
        Value value;                                                                               \
    };                                                                                             \
    static Stem##Interval const &interval(LogicalTimeInterval const &i, Stem##Interval *) {        \
        return as<Stem##Interval, InvalidLogicalTimeInterval>(i, L"" #Stem L"Interval");           \
    }                                                                                              \
    Stem##Time::Stem##Time() : _impl(new Stem##TimeImpl{0}) {}                                     \
    Stem##Time::Stem##Time(STARLING_TIME_ARGUMENT value) : _impl(new Stem##TimeImpl{value}) {}     \
    Stem##Time::Stem##Time(LogicalTime const &value)                                               \
        : _impl(new Stem##TimeImpl{                                                                \
              as<Stem##Time, InvalidLogicalTime>(value, L"" #Stem L"Time").getTime()}) {}          \
    Stem##Time::Stem##Time(Stem##Time const &value)                                                \
        : _impl(new Stem##TimeImpl{value.getTime()}) {}                                            \
    Stem##Time::~Stem##Time() RTI_NOEXCEPT { delete _impl; }                                       \
    void Stem##Time::setInitial() { _impl->value = 0; }                                            \
    bool Stem##Time::isInitial() const { return _impl->value == 0; }                               \
    void Stem##Time::setFinal() { _impl->value = std::numeric_limits<Value>::max(); }              \
    bool Stem##Time::isFinal() const { return _impl->value == std::numeric_limits<Value>::max(); } \
    LogicalTime &Stem##Time::operator=(LogicalTime const &value) {                                 \
        _impl->value = as<Stem##Time, InvalidLogicalTime>(value, L"" #Stem L"Time").getTime();     \
        return *this;                                                                              \
    }                                                                                              \
    Stem##Time &Stem##Time::operator=(Stem##Time const &value) {                                   \
        _impl->value = value.getTime();                                                            \
        return *this;                                                                              \
    }                                                                                              \
    LogicalTime &Stem##Time::operator+=(LogicalTimeInterval const &addend) {                       \
        _impl->value = sum(                                                                        \
            _impl->value, interval(addend, static_cast<Stem##Interval *>(nullptr)).getInterval()); \
        return *this;                                                                              \
    }                                                                                              \
    LogicalTime &Stem##Time::operator-=(LogicalTimeInterval const &subtrahend) {                   \
        _impl->value = difference(                                                                 \
            _impl->value,                                                                          \
            interval(subtrahend, static_cast<Stem##Interval *>(nullptr)).getInterval());           \
        return *this;                                                                              \
    }                                                                                              \
    STARLING_COMPARE(Stem##Time, LogicalTime, InvalidLogicalTime, getTime)                         \
    STARLING_CODEC(Stem##Time, Stem, Value)                                                        \
    Value Stem##Time::getTime() const { return _impl->value; }                                     \
    void Stem##Time::setTime(Value value) { _impl->value = value; }                                \
    Stem##Time::operator Value() const { return _impl->value; }                                    \
                                                                                                   \
    Stem##Interval::Stem##Interval() : _impl(new Stem##IntervalImpl{0}) {}                         \
    Stem##Interval::Stem##Interval(Value value) : _impl(new Stem##IntervalImpl{value}) {}          \
    Stem##Interval::Stem##Interval(LogicalTimeInterval const &value)                               \
        : _impl(new Stem##IntervalImpl{                                                            \
              interval(value, static_cast<Stem##Interval *>(nullptr)).getInterval()}) {}           \
    Stem##Interval::Stem##Interval(Stem##Interval const &value)                                    \
        : _impl(new Stem##IntervalImpl{value.getInterval()}) {}                                    \
    Stem##Interval::~Stem##Interval() RTI_NOEXCEPT { delete _impl; }                               \
    void Stem##Interval::setZero() { _impl->value = 0; }                                           \
    bool Stem##Interval::isZero() const { return _impl->value == 0; }                              \
    void Stem##Interval::setEpsilon() { _impl->value = epsilon<Value>(); }                         \
    bool Stem##Interval::isEpsilon() const { return _impl->value == epsilon<Value>(); }            \
    LogicalTimeInterval &Stem##Interval::operator=(LogicalTimeInterval const &value) {             \
        _impl->value = interval(value, static_cast<Stem##Interval *>(nullptr)).getInterval();      \
        return *this;                                                                              \
    }                                                                                              \
    Stem##Interval &Stem##Interval::operator=(Stem##Interval const &value) {                       \
        _impl->value = value.getInterval();                                                        \
        return *this;                                                                              \
    }                                                                                              \
    LogicalTimeInterval &Stem##Interval::operator+=(LogicalTimeInterval const &addend) {           \
        _impl->value = sum(                                                                        \
            _impl->value, interval(addend, static_cast<Stem##Interval *>(nullptr)).getInterval()); \
        return *this;                                                                              \
    }                                                                                              \
    LogicalTimeInterval &Stem##Interval::operator-=(LogicalTimeInterval const &subtrahend) {       \
        _impl->value = difference(                                                                 \
            _impl->value,                                                                          \
            interval(subtrahend, static_cast<Stem##Interval *>(nullptr)).getInterval());           \
        return *this;                                                                              \
    }                                                                                              \
    STARLING_COMPARE(Stem##Interval, LogicalTimeInterval, InvalidLogicalTimeInterval, getInterval) \
    void Stem##Interval::setToDifference(LogicalTime const &minuend,                               \
                                         LogicalTime const &subtrahend) {                          \
        auto const &from = as<Stem##Time, InvalidLogicalTime>(minuend, L"" #Stem L"Time");         \
        auto const &less = as<Stem##Time, InvalidLogicalTime>(subtrahend, L"" #Stem L"Time");      \
        _impl->value = difference(from.getTime(), less.getTime());                                 \
    }                                                                                              \
    STARLING_CODEC(Stem##Interval, Stem, Value)                                                    \
    Value Stem##Interval::getInterval() const { return _impl->value; }                             \
    void Stem##Interval::setInterval(Value value) { _impl->value = value; }                        \
    Stem##Interval::operator Value() const { return _impl->value; }                                \
                                                                                                   \
    Stem##TimeFactory::Stem##TimeFactory() {}                                                      \
    Stem##TimeFactory::~Stem##TimeFactory() RTI_NOEXCEPT {}                                        \
    std::auto_ptr<Stem##Time> Stem##TimeFactory::makeLogicalTime(Value value) {                    \
        return std::auto_ptr<Stem##Time>(new Stem##Time(value));                                   \
    }                                                                                              \
    std::auto_ptr<LogicalTime> Stem##TimeFactory::makeInitial() {                                  \
        return std::auto_ptr<LogicalTime>(new Stem##Time);                                         \
    }                                                                                              \
    std::auto_ptr<LogicalTime> Stem##TimeFactory::makeFinal() {                                    \
        std::auto_ptr<LogicalTime> made(new Stem##Time);                                           \
        made->setFinal();                                                                          \
        return made;                                                                               \
    }                                                                                              \
    std::auto_ptr<Stem##Interval> Stem##TimeFactory::makeLogicalTimeInterval(Value value) {        \
        return std::auto_ptr<Stem##Interval>(new Stem##Interval(value));                           \
    }                                                                                              \
    std::auto_ptr<LogicalTimeInterval> Stem##TimeFactory::makeZero() {                             \
        return std::auto_ptr<LogicalTimeInterval>(new Stem##Interval);                             \
    }                                                                                              \
    std::auto_ptr<LogicalTimeInterval> Stem##TimeFactory::makeEpsilon() {                          \
        std::auto_ptr<LogicalTimeInterval> made(new Stem##Interval);                               \
        made->setEpsilon();                                                                        \
        return made;                                                                               \
    }                                                                                              \
    std::auto_ptr<LogicalTime> Stem##TimeFactory::decodeLogicalTime(                               \
        VariableLengthData const &encodedLogicalTime) {                                            \
        std::auto_ptr<LogicalTime> made(new Stem##Time);                                           \
        made->decode(encodedLogicalTime);                                                          \
        return made;                                                                               \
    }                                                                                              \
    std::auto_ptr<LogicalTime> Stem##TimeFactory::decodeLogicalTime(void *buffer,                  \
                                                                    size_t bufferSize) {           \
        std::auto_ptr<LogicalTime> made(new Stem##Time);                                           \
        made->decode(buffer, bufferSize);                                                          \
        return made;                                                                               \
    }                                                                                              \
    std::auto_ptr<LogicalTimeInterval> Stem##TimeFactory::decodeLogicalTimeInterval(               \
        VariableLengthData const &encodedValue) {                                                  \
        std::auto_ptr<LogicalTimeInterval> made(new Stem##Interval);                               \
        made->decode(encodedValue);                                                                \
        return made;                                                                               \
    }                                                                                              \
    std::auto_ptr<LogicalTimeInterval> Stem##TimeFactory::decodeLogicalTimeInterval(               \
        void *buffer, size_t bufferSize) {                                                         \
        std::auto_ptr<LogicalTimeInterval> made(new Stem##Interval);                               \
        made->decode(buffer, bufferSize);                                                          \
        return made;                                                                               \
    }                                                                                              \
    std::wstring Stem##TimeFactory::getName() const { return L"" #Stem L"Time"; }

#define STARLING_TIME_ARGUMENT Integer64
STARLING_TIME(HLAinteger64, Integer64)
#undef STARLING_TIME_ARGUMENT
#define STARLING_TIME_ARGUMENT double const &
STARLING_TIME(HLAfloat64, double)

std::auto_ptr<LogicalTimeFactory>
HLAlogicalTimeFactoryFactory::makeLogicalTimeFactory(std::wstring const &implementationName) {
    LogicalTimeFactory *made = nullptr;
    if (implementationName.empty() || implementationName == L"HLAfloat64Time")
        made = new HLAfloat64TimeFactory;
    else if (implementationName == L"HLAinteger64Time")
        made = new HLAinteger64TimeFactory;
    return std::auto_ptr<LogicalTimeFactory>(made);
}

}
