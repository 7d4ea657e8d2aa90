// Octets of data elements: alignment, bounds, numbers.
//
// Padding counts from the start of the outermost buffer (1516.2-2010 §4.13.9). Every read is
// checked against the buffer; a count is never trusted before its elements are there.
#pragma once

#include <RTI/VariableLengthData.h>
#include <RTI/encoding/DataElement.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rti1516e {
namespace octets {

typedef std::vector<Octet> Buffer;

inline size_t aligned(size_t index, size_t boundary) {
    return (index + boundary - 1) / boundary * boundary;
}

inline void pad(Buffer &buffer, size_t boundary) {
    buffer.resize(aligned(buffer.size(), boundary), 0);
}

/// The aligned index of an element of `size` octets that must lie inside the buffer.
inline size_t place(Buffer const &buffer, size_t index, size_t boundary, size_t size,
                    wchar_t const *what) {
    size_t const at = aligned(index, boundary);
    if (at < index || at > buffer.size() || buffer.size() - at < size)
        throw EncoderException(std::wstring(what) + L" needs " + std::to_wstring(size) +
                               L" octets at " + std::to_wstring(index) + L"; the buffer has " +
                               std::to_wstring(buffer.size()));
    return at;
}

inline void putBig(Buffer &buffer, std::uint64_t bits, size_t size) {
    for (size_t i = size; i-- > 0;)
        buffer.push_back(static_cast<Octet>(bits >> (8 * i)));
}

inline void putLittle(Buffer &buffer, std::uint64_t bits, size_t size) {
    for (size_t i = 0; i < size; ++i)
        buffer.push_back(static_cast<Octet>(bits >> (8 * i)));
}

inline std::uint64_t getBig(Buffer const &buffer, size_t at, size_t size) {
    std::uint64_t bits = 0;
    for (size_t i = 0; i < size; ++i)
        bits = bits << 8 | static_cast<unsigned char>(buffer[at + i]);
    return bits;
}

inline std::uint64_t getLittle(Buffer const &buffer, size_t at, size_t size) {
    std::uint64_t bits = 0;
    for (size_t i = size; i-- > 0;)
        bits = bits << 8 | static_cast<unsigned char>(buffer[at + i]);
    return bits;
}

/// A count: four octets, big-endian, not negative.
inline size_t getCount(Buffer const &buffer, size_t at, wchar_t const *what) {
    std::uint64_t const count = getBig(buffer, at, 4);
    if (count > 0x7fffffff)
        throw EncoderException(std::wstring(what) + L" has a negative count");
    return static_cast<size_t>(count);
}

inline void putCount(Buffer &buffer, size_t count, wchar_t const *what) {
    if (count > 0x7fffffff)
        throw EncoderException(std::wstring(what) + L" has more than 2147483647 elements");
    putBig(buffer, count, 4);
}

inline VariableLengthData data(DataElement const &element) {
    Buffer buffer;
    element.encodeInto(buffer);
    return VariableLengthData(buffer.data(), buffer.size());
}

inline Buffer buffer(VariableLengthData const &data) {
    Octet const *start = static_cast<Octet const *>(data.data());
    return Buffer(start, start + data.size());
}

inline size_t length(DataElement const &element) {
    Buffer buffer;
    element.encodeInto(buffer);
    return buffer.size();
}

}
}

/// What every data element does alike, by encodeInto and decodeFrom.
#define STARLING_ELEMENT(Class)                                                                    \
    VariableLengthData Class::encode() const { return octets::data(*this); }                       \
    void Class::encode(VariableLengthData &inData) const { inData = octets::data(*this); }         \
    void Class::decode(VariableLengthData const &inData) {                                         \
        decodeFrom(octets::buffer(inData), 0);                                                     \
    }                                                                                              \
    size_t Class::getEncodedLength() const { return octets::length(*this); }
