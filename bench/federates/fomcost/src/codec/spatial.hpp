// The RPR FOM's spatial data in memory, and what of it an update holds.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace fomcost {

struct Place {
    double x, y, z;
};
struct Triple {
    float x, y, z;
};

// The flat form, which every layout can be made from and turned into.
struct Spatial {
    Place location{};
    Triple orientation{}, velocity{}, angularVelocity{}, acceleration{};
    std::uint8_t mode = 1;  // DeadReckoningAlgorithm
    bool frozen = false;
};

// DeadReckoningAlgorithm: which of the vectors a mode extrapolates by.
enum Mode : std::uint8_t { STATIC = 1, FPW, RPW, RVW, FVW, FPB, RPB, RVB, FVB };
inline bool hasVelocity(std::uint8_t mode) { return mode != STATIC; }
inline bool hasAngularVelocity(std::uint8_t mode) {
    return mode == RPW || mode == RVW || mode == RPB || mode == RVB;
}
inline bool hasAcceleration(std::uint8_t mode) {
    return mode == RVW || mode == FVW || mode == RVB || mode == FVB;
}

// A value that breaks its layout.
struct CodecError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void checkMode(std::uint8_t mode) {
    if (mode < STATIC || mode > FVB) {
        throw CodecError("DeadReckoningAlgorithm " + std::to_string(mode) + " is none of 1 to 9");
    }
}

// What an update holds: 0 what its mode needs; 1 to 5 the position, then also orientation,
// velocity, angular velocity and acceleration; 6 and 7 (attributes of their own) also mode and
// frozen.
using Content = int;

}  // namespace fomcost
