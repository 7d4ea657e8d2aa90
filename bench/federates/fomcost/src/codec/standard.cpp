// HLAvariantRecord of 1516.2-2010 (4.13.9): the mode as discriminant, padding to the alternatives'
// boundary of 8 octets, then a fixed record: frozen (HLAboolean), orientation, location and what
// the mode needs of velocity, angular velocity and acceleration.
#include <array>

#include "elements.hpp"

namespace fomcost {

namespace {

class Standard final : public Codec {
public:
    Standard() {
        // The series of one to five parts has discriminants of its own behind the nine modes.
        for (int key = 1; key <= 14; ++key) {
            auto const mode = static_cast<std::uint8_t>(key);
            bool const series = key > 9;
            auto& record = records_[static_cast<std::size_t>(key)];
            record.appendElementPointer(&frozen_);
            if (key != 10) record.appendElementPointer(&orientation_.record);
            record.appendElementPointer(&location_.record);
            if (series ? key > 11 : hasVelocity(mode))
                record.appendElementPointer(&velocity_.record);
            if (series ? key > 12 : hasAngularVelocity(mode))
                record.appendElementPointer(&angularVelocity_.record);
            if (series ? key > 13 : hasAcceleration(mode))
                record.appendElementPointer(&acceleration_.record);
            all_.addVariantPointer(rti1516e::HLAoctet(static_cast<rti1516e::Octet>(key)), &record);
        }
    }

private:
    void encode(Spatial const& s, Content content, std::vector<Octets>& values) override {
        frozen_ = s.frozen;
        orientation_.set(s.orientation);
        location_.set(s.location);
        velocity_.set(s.velocity);
        angularVelocity_.set(s.angularVelocity);
        acceleration_.set(s.acceleration);
        mode_ = static_cast<rti1516e::Octet>(content == 0 ? s.mode : 9 + content);
        all_.setDiscriminant(mode_);
        values.resize(1);
        encodeElement(all_, values[0]);
    }
    void decode(std::vector<Octets> const& values, Content content, Spatial& s) override {
        decodeElement(all_, values.at(0));
        mode_ = static_cast<rti1516e::HLAoctet const&>(all_.getDiscriminant()).get();
        auto const key = static_cast<std::uint8_t>(mode_.get());
        if (content != 0 && key != 9 + content) throw CodecError("another series' discriminant");
        if (content == 0) checkMode(key);
        s.frozen = frozen_;
        s.location = location_.get();
        if (content == 0) s.mode = key;
        if (content != 1) s.orientation = orientation_.get();
        if (content == 0 ? hasVelocity(key) : content > 2) s.velocity = velocity_.get();
        if (content == 0 ? hasAngularVelocity(key) : content > 3)
            s.angularVelocity = angularVelocity_.get();
        if (content == 0 ? hasAcceleration(key) : content > 4) s.acceleration = acceleration_.get();
    }

    rti1516e::HLAboolean frozen_;
    TripleElement orientation_, velocity_, angularVelocity_, acceleration_;
    PlaceElement location_;
    std::array<rti1516e::HLAfixedRecord, 15> records_;
    rti1516e::HLAoctet mode_;
    rti1516e::HLAvariantRecord all_{mode_};
};

}  // namespace

std::unique_ptr<Codec> standard() { return std::unique_ptr<Codec>(new Standard); }

}  // namespace fomcost
