#include "Octets.h"

#include <typeinfo>

namespace rti1516e {

DataElement::~DataElement() {}

bool DataElement::isSameTypeAs(DataElement const &inData) const {
    return typeid(*this) == typeid(inData);
}

/// Of the octets (FNV-1a), so equal values have equal hashes.
Integer64 DataElement::hash() const {
    std::vector<Octet> buffer;
    encodeInto(buffer);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (Octet octet : buffer)
        hash = (hash ^ static_cast<unsigned char>(octet)) * 0x100000001b3u;
    return static_cast<Integer64>(hash);
}

}
