// An attribute for each part, as in RPR FOM 1.0: location, orientation, velocity, angular velocity,
// acceleration, mode, frozen. An update has those that it needs.
#include "elements.hpp"

namespace fomcost {

namespace {

class Multiple final : public Codec {
    void encode(Spatial const& s, Content content, std::vector<Octets>& values) override {
        // No value gives its memory back: modes alternate.
        std::size_t n = 0;
        auto next = [&]() -> Octets& {
            if (values.size() == n) values.emplace_back();
            return values[n++];
        };
        location_.set(s.location);
        encodeElement(location_.record, next());
        auto triple = [&](Triple const& part) {
            triple_.set(part);
            encodeElement(triple_.record, next());
        };
        if (content != 1) triple(s.orientation);
        if (content == 0 ? hasVelocity(s.mode) : content > 2) triple(s.velocity);
        if (content == 0 ? hasAngularVelocity(s.mode) : content > 3) triple(s.angularVelocity);
        if (content == 0 ? hasAcceleration(s.mode) : content > 4) triple(s.acceleration);
        if (content > 5) {
            octet_ = static_cast<rti1516e::Octet>(s.mode);
            encodeElement(octet_, next());
        }
        if (content > 6) {
            octet_ = static_cast<rti1516e::Octet>(s.frozen ? 1 : 0);
            encodeElement(octet_, next());
        }
        values.resize(n);
    }
    void decode(std::vector<Octets> const& values, Content content, Spatial& s) override {
        std::size_t n = 0;
        auto next = [&]() -> Octets const& {
            if (n == values.size()) throw CodecError(std::to_string(n) + " values are too few");
            return values[n++];
        };
        decodeElement(location_.record, next());
        s.location = location_.get();
        auto triple = [&](Triple& part) {
            decodeElement(triple_.record, next());
            part = triple_.get();
        };
        if (content != 1) triple(s.orientation);
        if (content == 0 ? hasVelocity(s.mode) : content > 2) triple(s.velocity);
        if (content == 0 ? hasAngularVelocity(s.mode) : content > 3) triple(s.angularVelocity);
        if (content == 0 ? hasAcceleration(s.mode) : content > 4) triple(s.acceleration);
        if (content > 5) {
            decodeElement(octet_, next());
            s.mode = static_cast<std::uint8_t>(octet_.get());
            checkMode(s.mode);
        }
        if (content > 6) {
            decodeElement(octet_, next());
            if (octet_.get() > 1 || octet_.get() < 0) throw CodecError("a truth value above 1");
            s.frozen = octet_.get() == 1;
        }
        if (n != values.size()) throw CodecError(std::to_string(n) + " values are enough");
    }

    PlaceElement location_;
    TripleElement triple_;
    rti1516e::HLAoctet octet_;
};

}  // namespace

std::unique_ptr<Codec> multiple() { return std::unique_ptr<Codec>(new Multiple); }

}  // namespace fomcost
