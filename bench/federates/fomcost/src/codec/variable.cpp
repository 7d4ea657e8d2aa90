// FixedFormVarLenSpatialStruct: the order of the fixed form, but what the mode does not need is
// left off from the end: 40 to 76 octets. FVW and FVB need the last vector and so carry the one
// before.
#include "codec.hpp"

namespace fomcost {

namespace {

class Variable final : public Codec {
    // How many of the five parts there are.
    static int parts(std::uint8_t mode, Content content) {
        if (content != 0) return content;
        if (hasAcceleration(mode)) return 5;
        if (hasAngularVelocity(mode)) return 4;
        return hasVelocity(mode) ? 3 : 2;
    }
    void encode(Spatial const& s, Content content, std::vector<Octets>& values) override {
        int const n = parts(s.mode, content);
        values.resize(1);
        Writer to(values[0], 16 + 12 * static_cast<std::size_t>(n));
        to.octet(s.mode);
        to.truth(s.frozen);
        to.octet(0);
        to.octet(0);
        if (n > 1) to.put(s.orientation);
        to.put(s.location);
        if (n > 2) to.put(s.velocity);
        if (n > 3) to.put(s.angularVelocity);
        if (n > 4) to.put(s.acceleration);
    }
    void decode(std::vector<Octets> const& values, Content content, Spatial& s) override {
        Reader from(values.at(0));
        s.mode = from.mode();
        s.frozen = from.truth();
        from.padding(2);
        int const n = parts(s.mode, content);
        from.exactly(12 + 12 * static_cast<std::size_t>(n));
        if (n > 1) from.get(s.orientation);
        from.get(s.location);
        if (n > 2) from.get(s.velocity);
        if (n > 3) from.get(s.angularVelocity);
        if (n > 4) from.get(s.acceleration);
    }
};

}  // namespace

std::unique_ptr<Codec> variable() { return std::unique_ptr<Codec>(new Variable); }

}  // namespace fomcost
