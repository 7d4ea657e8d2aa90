#include "HandleImplementation.h"

#include <cstring>
#include <ostream>

namespace rti1516e {

namespace {

void store(std::uint64_t number, size_t size, unsigned char *to) {
    for (size_t i = 0; i < size; ++i)
        to[i] = static_cast<unsigned char>(number >> (8 * (size - 1 - i)));
}

std::uint64_t number(unsigned char const *bytes, size_t size) {
    std::uint64_t number = 0;
    for (size_t i = 0; i < size; ++i)
        number = number << 8 | bytes[i];
    return number;
}

std::uint64_t load(VariableLengthData const &encoded, size_t size, wchar_t const *kind) {
    auto const *bytes = static_cast<unsigned char const *>(encoded.data());
    if (encoded.size() == size)
        return number(bytes, size);
    std::wstring why = std::wstring(kind) + L": encoded in " + std::to_wstring(size) +
                       L" bytes, not " + std::to_wstring(encoded.size());
    if (encoded.size() == size + 4 && number(bytes, 4) == size)
        why += L"; it is an HLAhandle of the MOM, which begins with the count of its bytes, "
               L"in 4: decode what comes after";
    throw CouldNotDecode(why);
}

/// As in the RTI's messages: what federates make themselves is numbered by federate.
std::wstring shown(std::uint64_t number, size_t size) {
    return size == 4 ? std::to_wstring(number)
                     : std::to_wstring(number >> 32) + L"." + std::to_wstring(number & 0xffffffff);
}

}

#define STARLING_HANDLE(Kind, Size)                                                                \
    Kind::Kind() : _impl(nullptr) {}                                                               \
    Kind::~Kind() RTI_NOEXCEPT {}                                                                  \
    Kind::Kind(Kind const &rhs) : _impl(rhs._impl) {}                                              \
    Kind &Kind::operator=(Kind const &rhs) {                                                       \
        _impl = rhs._impl;                                                                         \
        return *this;                                                                              \
    }                                                                                              \
    Kind::Kind(Kind##Implementation *impl) : _impl(impl) {}                                        \
    Kind::Kind(VariableLengthData const &encodedValue)                                             \
        : _impl(reinterpret_cast<Kind##Implementation *>(load(encodedValue, Size, L"" #Kind))) {}  \
    bool Kind::isValid() const { return _impl != nullptr; }                                        \
    bool Kind::operator==(Kind const &rhs) const { return _impl == rhs._impl; }                    \
    bool Kind::operator!=(Kind const &rhs) const { return _impl != rhs._impl; }                    \
    bool Kind::operator<(Kind const &rhs) const {                                                  \
        return Kind##Friend::number(*this) < Kind##Friend::number(rhs);                            \
    }                                                                                              \
    long Kind::hash() const { return static_cast<long>(Kind##Friend::number(*this)); }             \
    VariableLengthData Kind::encode() const {                                                      \
        unsigned char bytes[Size];                                                                 \
        store(Kind##Friend::number(*this), Size, bytes);                                           \
        return VariableLengthData(bytes, Size);                                                    \
    }                                                                                              \
    void Kind::encode(VariableLengthData &buffer) const { buffer = encode(); }                     \
    size_t Kind::encode(void *buffer, size_t bufferSize) const {                                   \
        if (bufferSize < Size)                                                                     \
            throw CouldNotEncode(L"" #Kind L": the buffer is smaller than encodedLength()");       \
        store(Kind##Friend::number(*this), Size, static_cast<unsigned char *>(buffer));            \
        return Size;                                                                               \
    }                                                                                              \
    size_t Kind::encodedLength() const { return Size; }                                            \
    std::wstring Kind::toString() const {                                                          \
        return isValid() ? shown(Kind##Friend::number(*this), Size) : L"invalid";                  \
    }                                                                                              \
    const Kind##Implementation *Kind::getImplementation() const { return _impl; }                  \
    Kind##Implementation *Kind::getImplementation() { return _impl; }                              \
    std::wostream &operator<<(std::wostream &out, Kind const &handle) {                            \
        return out << handle.toString();                                                           \
    }

STARLING_HANDLE(FederateHandle, 4)
STARLING_HANDLE(ObjectClassHandle, 4)
STARLING_HANDLE(InteractionClassHandle, 4)
STARLING_HANDLE(ObjectInstanceHandle, 8)
STARLING_HANDLE(AttributeHandle, 4)
STARLING_HANDLE(ParameterHandle, 4)
STARLING_HANDLE(DimensionHandle, 4)
STARLING_HANDLE(MessageRetractionHandle, 8)
STARLING_HANDLE(RegionHandle, 8)

}
