// One layout of the spatial data: from memory to the values of an update and back.
#pragma once

#include <memory>

#include "octets.hpp"

namespace fomcost {

class Codec {
public:
    virtual ~Codec() = default;
    // The values of an update, in the order of its attributes; their memory is used again.
    virtual void encode(Spatial const& spatial, Content content, std::vector<Octets>& values) = 0;
    // The inverse; what an update does not hold stays as it is. Throws CodecError.
    virtual void decode(std::vector<Octets> const& values, Content content, Spatial& spatial) = 0;
};

std::unique_ptr<Codec> multiple();  // an attribute for each part, by the standard's helpers
std::unique_ptr<Codec> fixed();     // one attribute, always all of it
std::unique_ptr<Codec> variable();  // one attribute, its end left off
std::unique_ptr<Codec> variant();   // one attribute of five records
std::unique_ptr<Codec> standard();  // the same as an HLAvariantRecord, by the standard's helpers
std::unique_ptr<Codec> helped();    // the octets of `fixed`, by the standard's helpers
std::unique_ptr<Codec> plain();     // the octets of `multiple`, written by hand
// Null: there is no such layout. Throws CodecError where the RTI lacks the helpers that it needs,
// but for `multiple`, in whose place `plain` may stand: `*standIn` says so.
std::unique_ptr<Codec> codecOf(std::string const& layout, bool* standIn = nullptr);

}  // namespace fomcost
