// The standard's times and intervals as the C ABI takes and gives them.
#pragma once

#include <starling.h>

#include <RTI/Exception.h>
#include <RTI/LogicalTime.h>
#include <RTI/LogicalTimeInterval.h>
#include <RTI/time/HLAfloat64Time.h>
#include <RTI/time/HLAinteger64Time.h>
#include <cstring>
#include <memory>

namespace starling {

using namespace rti1516e;

/// Of a time of the C ABI.
enum TimeKind : uint32_t { integer64 = 0, float64 = 1, none = 2, foreign = 3 };

inline Integer64 whole(StarlingTime const &time) { return static_cast<Integer64>(time.bits); }
inline double floating(StarlingTime const &time) {
    double value;
    std::memcpy(&value, &time.bits, sizeof value);
    return value;
}

/// A time of neither type becomes one that the C ABI refuses.
StarlingTime timeOf(LogicalTime const &time);
StarlingTime intervalOf(LogicalTimeInterval const &interval);

std::unique_ptr<LogicalTime> madeTime(StarlingTime const &time);
std::unique_ptr<LogicalTimeInterval> madeInterval(StarlingTime const &interval);

/// What a service gives into the federate's own time or interval. That one of the other type can't
/// take it is no InvalidLogicalTime here: the services that give one don't throw that
/// (1516.1-2010 8.16 to 8.20).
template <class Time> void give(Time &out, Time const &made) {
    try {
        out = made;
    } catch (Exception const &e) {
        throw RTIinternalError(e.what());
    }
}

/// A time that is set for each callback: no allocation.
class ReusedTime {
public:
    LogicalTime const &set(StarlingTime const &time) {
        if (time.kind == integer64) {
            whole_.setTime(whole(time));
            return whole_;
        }
        floating_.setTime(floating(time));
        return floating_;
    }

private:
    HLAinteger64Time whole_;
    HLAfloat64Time floating_;
};

}
