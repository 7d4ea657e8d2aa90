// VarSpatialStruct: frozen, mode, 2 octets of padding, then the record of the mode: nine modes,
// five records. In memory it is that record (a union) or the flat form.
#include "codec.hpp"

namespace fomcost {

namespace {

struct SpatialStatic {
    Triple orientation;
    Place location;
};
struct SpatialFP {
    Triple orientation;
    Place location;
    Triple velocity;
};
struct SpatialRP {
    Triple orientation;
    Place location;
    Triple velocity, angularVelocity;
};
struct SpatialRV {
    Triple orientation;
    Place location;
    Triple velocity, angularVelocity, acceleration;
};
struct SpatialFV {
    Triple orientation;
    Place location;
    Triple velocity, acceleration;
};
// The position alone is a record of the series of one to five parts only.
enum class Record { position, isStatic, fp, rp, rv, fv };
struct VarSpatial {
    bool frozen;
    std::uint8_t mode;
    Record record;
    union {
        Place position;
        SpatialStatic isStatic;
        SpatialFP fp;
        SpatialRP rp;
        SpatialRV rv;
        SpatialFV fv;
    };
};

Record recordOf(std::uint8_t mode, Content content) {
    if (content != 0) return static_cast<Record>(content - 1);
    switch (mode) {
        case STATIC:
            return Record::isStatic;
        case FPW:
        case FPB:
            return Record::fp;
        case RPW:
        case RPB:
            return Record::rp;
        case RVW:
        case RVB:
            return Record::rv;
        default:
            return Record::fv;
    }
}

// The record of a flat form.
VarSpatial chosen(Spatial const& s, Content content) {
    VarSpatial v;
    v.frozen = s.frozen;
    v.mode = s.mode;
    v.record = recordOf(s.mode, content);
    switch (v.record) {
        case Record::position:
            v.position = s.location;
            break;
        case Record::isStatic:
            v.isStatic = {s.orientation, s.location};
            break;
        case Record::fp:
            v.fp = {s.orientation, s.location, s.velocity};
            break;
        case Record::rp:
            v.rp = {s.orientation, s.location, s.velocity, s.angularVelocity};
            break;
        case Record::rv:
            v.rv = {s.orientation, s.location, s.velocity, s.angularVelocity, s.acceleration};
            break;
        case Record::fv:
            v.fv = {s.orientation, s.location, s.velocity, s.acceleration};
            break;
    }
    return v;
}

void flat(VarSpatial const& v, Spatial& s) {
    s.frozen = v.frozen;
    s.mode = v.mode;
    switch (v.record) {
        case Record::position:
            s.location = v.position;
            break;
        case Record::isStatic:
            s.orientation = v.isStatic.orientation;
            s.location = v.isStatic.location;
            break;
        case Record::fp:
            s.orientation = v.fp.orientation;
            s.location = v.fp.location;
            s.velocity = v.fp.velocity;
            break;
        case Record::rp:
            s.orientation = v.rp.orientation;
            s.location = v.rp.location;
            s.velocity = v.rp.velocity;
            s.angularVelocity = v.rp.angularVelocity;
            break;
        case Record::rv:
            s.orientation = v.rv.orientation;
            s.location = v.rv.location;
            s.velocity = v.rv.velocity;
            s.angularVelocity = v.rv.angularVelocity;
            s.acceleration = v.rv.acceleration;
            break;
        case Record::fv:
            s.orientation = v.fv.orientation;
            s.location = v.fv.location;
            s.velocity = v.fv.velocity;
            s.acceleration = v.fv.acceleration;
            break;
    }
}

// With its 4 octets in front.
std::size_t sizeOf(Record record) {
    switch (record) {
        case Record::position:
            return 28;
        case Record::isStatic:
            return 40;
        case Record::fp:
            return 52;
        case Record::rp:
        case Record::fv:
            return 64;
        case Record::rv:
            break;
    }
    return 76;
}

class Variant final : public Codec {
    void encode(Spatial const& s, Content content, std::vector<Octets>& values) override {
        VarSpatial const v = chosen(s, content);
        values.resize(1);
        Writer to(values[0], sizeOf(v.record));
        to.truth(v.frozen);
        to.octet(v.mode);
        to.octet(0);
        to.octet(0);
        switch (v.record) {
            case Record::position:
                to.put(v.position);
                break;
            case Record::isStatic:
                to.put(v.isStatic.orientation);
                to.put(v.isStatic.location);
                break;
            case Record::fp:
                to.put(v.fp.orientation);
                to.put(v.fp.location);
                to.put(v.fp.velocity);
                break;
            case Record::rp:
                to.put(v.rp.orientation);
                to.put(v.rp.location);
                to.put(v.rp.velocity);
                to.put(v.rp.angularVelocity);
                break;
            case Record::rv:
                to.put(v.rv.orientation);
                to.put(v.rv.location);
                to.put(v.rv.velocity);
                to.put(v.rv.angularVelocity);
                to.put(v.rv.acceleration);
                break;
            case Record::fv:
                to.put(v.fv.orientation);
                to.put(v.fv.location);
                to.put(v.fv.velocity);
                to.put(v.fv.acceleration);
                break;
        }
    }
    void decode(std::vector<Octets> const& values, Content content, Spatial& s) override {
        Reader from(values.at(0));
        VarSpatial v;
        v.frozen = from.truth();
        v.mode = from.mode();
        from.padding(2);
        v.record = recordOf(v.mode, content);
        from.exactly(sizeOf(v.record) - 4);
        switch (v.record) {
            case Record::position:
                from.get(v.position);
                break;
            case Record::isStatic:
                from.get(v.isStatic.orientation);
                from.get(v.isStatic.location);
                break;
            case Record::fp:
                from.get(v.fp.orientation);
                from.get(v.fp.location);
                from.get(v.fp.velocity);
                break;
            case Record::rp:
                from.get(v.rp.orientation);
                from.get(v.rp.location);
                from.get(v.rp.velocity);
                from.get(v.rp.angularVelocity);
                break;
            case Record::rv:
                from.get(v.rv.orientation);
                from.get(v.rv.location);
                from.get(v.rv.velocity);
                from.get(v.rv.angularVelocity);
                from.get(v.rv.acceleration);
                break;
            case Record::fv:
                from.get(v.fv.orientation);
                from.get(v.fv.location);
                from.get(v.fv.velocity);
                from.get(v.fv.acceleration);
                break;
        }
        flat(v, s);
    }
};

}  // namespace

std::unique_ptr<Codec> variant() { return std::unique_ptr<Codec>(new Variant); }

}  // namespace fomcost
