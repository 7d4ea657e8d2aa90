// FixedSpatialStruct: mode, frozen, 2 octets of padding, orientation, location, velocity, angular
// velocity, acceleration; 76 octets whatever the mode. The series of one to five parts ends after
// that many, the position alone has no orientation.
#include "codec.hpp"

namespace fomcost {

namespace {

class Fixed final : public Codec {
    static std::size_t size(Content content) {
        return content == 0 ? 76 : 16 + 12 * static_cast<std::size_t>(content);
    }
    void encode(Spatial const& s, Content content, std::vector<Octets>& values) override {
        values.resize(1);
        Writer to(values[0], size(content));
        to.octet(s.mode);
        to.truth(s.frozen);
        to.octet(0);
        to.octet(0);
        if (content != 1) to.put(s.orientation);
        to.put(s.location);
        if (content == 0 || content > 2) to.put(s.velocity);
        if (content == 0 || content > 3) to.put(s.angularVelocity);
        if (content == 0 || content > 4) to.put(s.acceleration);
    }
    void decode(std::vector<Octets> const& values, Content content, Spatial& s) override {
        Reader from(values.at(0));
        from.exactly(size(content));
        s.mode = from.mode();
        s.frozen = from.truth();
        from.padding(2);
        if (content != 1) from.get(s.orientation);
        from.get(s.location);
        if (content == 0 || content > 2) from.get(s.velocity);
        if (content == 0 || content > 3) from.get(s.angularVelocity);
        if (content == 0 || content > 4) from.get(s.acceleration);
    }
};

}  // namespace

std::unique_ptr<Codec> fixed() { return std::unique_ptr<Codec>(new Fixed); }

}  // namespace fomcost
