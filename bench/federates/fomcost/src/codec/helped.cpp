// FixedSpatialStruct once more, by the standard's helpers: what they take for the same octets.
#include "elements.hpp"

namespace fomcost {

namespace {

class Helped final : public Codec {
public:
    Helped() {
        for (auto* octet : {&mode_, &frozen_, &padding_, &padding2_})
            all_.appendElementPointer(octet);
        all_.appendElementPointer(&orientation_.record);
        all_.appendElementPointer(&location_.record);
        for (auto* part : {&velocity_, &angularVelocity_, &acceleration_})
            all_.appendElementPointer(&part->record);
    }

private:
    void encode(Spatial const& s, Content, std::vector<Octets>& values) override {
        mode_ = static_cast<rti1516e::Octet>(s.mode);
        frozen_ = static_cast<rti1516e::Octet>(s.frozen ? 1 : 0);
        padding_ = padding2_ = rti1516e::Octet(0);
        orientation_.set(s.orientation);
        location_.set(s.location);
        velocity_.set(s.velocity);
        angularVelocity_.set(s.angularVelocity);
        acceleration_.set(s.acceleration);
        values.resize(1);
        encodeElement(all_, values[0]);
    }
    void decode(std::vector<Octets> const& values, Content, Spatial& s) override {
        decodeElement(all_, values.at(0));
        s.mode = static_cast<std::uint8_t>(mode_.get());
        checkMode(s.mode);
        s.frozen = frozen_.get() != 0;
        s.orientation = orientation_.get();
        s.location = location_.get();
        s.velocity = velocity_.get();
        s.angularVelocity = angularVelocity_.get();
        s.acceleration = acceleration_.get();
    }

    rti1516e::HLAoctet mode_, frozen_, padding_, padding2_;
    TripleElement orientation_, velocity_, angularVelocity_, acceleration_;
    PlaceElement location_;
    rti1516e::HLAfixedRecord all_;
};

}  // namespace

std::unique_ptr<Codec> helped() { return std::unique_ptr<Codec>(new Helped); }

}  // namespace fomcost

extern "C" fomcost::Codec* fomcost_helped_codec(char const* layout) {
    std::string const name = layout;
    if (name == "multiple") return fomcost::multiple().release();
    if (name == "standard") return fomcost::standard().release();
    if (name == "helped") return fomcost::helped().release();
    return nullptr;
}
