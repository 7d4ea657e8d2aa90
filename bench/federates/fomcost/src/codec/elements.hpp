// The parts of the spatial data as elements of the standard's helpers (1516.1-2010, 12.11.4).
#pragma once

#include <RTI/RTI1516.h>
#include <RTI/encoding/BasicDataElements.h>
#include <RTI/encoding/EncodingExceptions.h>
#include <RTI/encoding/HLAfixedRecord.h>
#include <RTI/encoding/HLAvariantRecord.h>

#include "codec.hpp"

namespace fomcost {

// A record whose fields are members: set or read these, then encode, or after decoding.
struct PlaceElement {
    rti1516e::HLAfloat64BE x, y, z;
    rti1516e::HLAfixedRecord record;
    PlaceElement() {
        for (auto* field : {&x, &y, &z}) record.appendElementPointer(field);
    }
    void set(Place const& p) {
        x = p.x;
        y = p.y;
        z = p.z;
    }
    Place get() const { return {x, y, z}; }
};
struct TripleElement {
    rti1516e::HLAfloat32BE x, y, z;
    rti1516e::HLAfixedRecord record;
    TripleElement() {
        for (auto* field : {&x, &y, &z}) record.appendElementPointer(field);
    }
    void set(Triple const& t) {
        x = t.x;
        y = t.y;
        z = t.z;
    }
    Triple get() const { return {x, y, z}; }
};

inline std::string narrow(std::wstring const& text) {
    std::string out;
    for (wchar_t const c : text) out += c < 128 ? static_cast<char>(c) : '?';
    return out;
}

// An element's octets replace those of a value.
inline void encodeElement(rti1516e::DataElement const& element, Octets& value) {
    static thread_local std::vector<rti1516e::Octet> buffer;
    buffer.clear();
    element.encodeInto(buffer);
    auto const* first = reinterpret_cast<unsigned char const*>(buffer.data());
    value.assign(first, first + buffer.size());
}

// An element takes all of a value, or throws CodecError.
inline void decodeElement(rti1516e::DataElement& element, Octets const& value) {
    static thread_local std::vector<rti1516e::Octet> buffer;
    auto const* first = reinterpret_cast<rti1516e::Octet const*>(value.data());
    buffer.assign(first, first + value.size());
    std::size_t end = 0;
    try {
        end = element.decodeFrom(buffer, 0);
    } catch (rti1516e::EncoderException const& e) {
        throw CodecError(std::to_string(value.size()) + " octets: " + narrow(e.what()));
    }
    if (end != value.size()) {
        throw CodecError(std::to_string(value.size()) + " octets, expected " + std::to_string(end));
    }
}

}  // namespace fomcost
