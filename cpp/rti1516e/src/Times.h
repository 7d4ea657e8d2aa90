// The standard's times and intervals as the C ABI takes and gives them.
#pragma once

#include <starling.h>

#include <RTI/Exception.h>
#include <RTI/LogicalTime.h>
#include <RTI/LogicalTimeInterval.h>
#include <memory>

namespace starling {

using namespace rti1516e;

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

/// A time that is set for each callback: no allocation while the same type comes.
class ReusedTime {
public:
    LogicalTime const &set(StarlingTime const &time);

private:
    std::unique_ptr<LogicalTime> time_;
    uint32_t kind_ = 0;
};

}
