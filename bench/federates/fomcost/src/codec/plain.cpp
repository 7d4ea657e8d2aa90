// The values of `multiple`, without helpers.
#include "codec.hpp"

namespace fomcost {

namespace {

class Plain final : public Codec {
    static std::size_t count(std::uint8_t mode, Content content) {
        if (content != 0) return static_cast<std::size_t>(content);
        return std::size_t{2} + hasVelocity(mode) + hasAngularVelocity(mode) +
               hasAcceleration(mode);
    }
    void encode(Spatial const& s, Content content, std::vector<Octets>& values) override {
        values.resize(count(s.mode, content));
        std::size_t n = 0;
        auto part = [&](Triple const& triple) { Writer(values[n++], 12).put(triple); };
        Writer(values[n++], 24).put(s.location);
        if (content != 1) part(s.orientation);
        if (content == 0 ? hasVelocity(s.mode) : content > 2) part(s.velocity);
        if (content == 0 ? hasAngularVelocity(s.mode) : content > 3) part(s.angularVelocity);
        if (content == 0 ? hasAcceleration(s.mode) : content > 4) part(s.acceleration);
        if (content > 5) Writer(values[n++], 1).octet(s.mode);
        if (content > 6) Writer(values[n++], 1).truth(s.frozen);
    }
    void decode(std::vector<Octets> const& values, Content content, Spatial& s) override {
        if (values.size() != count(s.mode, content)) {
            throw CodecError(std::to_string(values.size()) + " values, expected " +
                             std::to_string(count(s.mode, content)));
        }
        std::size_t n = 0;
        auto next = [&](std::size_t octets) {
            Reader from(values[n++]);
            from.exactly(octets);
            return from;
        };
        next(24).get(s.location);
        if (content != 1) next(12).get(s.orientation);
        if (content == 0 ? hasVelocity(s.mode) : content > 2) next(12).get(s.velocity);
        if (content == 0 ? hasAngularVelocity(s.mode) : content > 3)
            next(12).get(s.angularVelocity);
        if (content == 0 ? hasAcceleration(s.mode) : content > 4) next(12).get(s.acceleration);
        if (content > 5) s.mode = next(1).mode();
        if (content > 6) s.frozen = next(1).truth();
    }
};

}  // namespace

std::unique_ptr<Codec> plain() { return std::unique_ptr<Codec>(new Plain); }

}  // namespace fomcost
