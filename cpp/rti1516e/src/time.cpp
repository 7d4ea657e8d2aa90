// Logical times across the C ABI, and the services that bring a time only where there is one.
#include "Arguments.h"
#include "Times.h"
#include "generated/RTIambassadorImplementation.h"

#include <RTI/RTI1516fedTime.h>

#include <typeinfo>

namespace starling {

namespace {

StarlingTime of(Integer64 value) { return {integer64, static_cast<uint64_t>(value)}; }
StarlingTime of(double value) {
    StarlingTime time = {float64, 0};
    std::memcpy(&time.bits, &value, sizeof value);
    return time;
}

}

StarlingTime timeOf(LogicalTime const &time) {
    // Each message with a time comes here, and to look for a class among its bases takes ten times
    // as long.
    if (typeid(time) == typeid(HLAfloat64Time))
        return of(static_cast<HLAfloat64Time const &>(time).getTime());
    if (typeid(time) == typeid(HLAinteger64Time))
        return of(static_cast<HLAinteger64Time const &>(time).getTime());
    if (auto const *t = dynamic_cast<HLAfloat64Time const *>(&time))
        return of(t->getTime());
    if (auto const *t = dynamic_cast<HLAinteger64Time const *>(&time))
        return of(t->getTime());
    return {foreign, 0};
}

StarlingTime intervalOf(LogicalTimeInterval const &interval) {
    if (auto const *t = dynamic_cast<HLAfloat64Interval const *>(&interval))
        return of(t->getInterval());
    if (auto const *t = dynamic_cast<HLAinteger64Interval const *>(&interval))
        return of(t->getInterval());
    return {foreign, 0};
}

std::unique_ptr<LogicalTime> madeTime(StarlingTime const &time) {
    if (time.kind == integer64)
        return std::unique_ptr<LogicalTime>(new HLAinteger64Time(whole(time)));
    return std::unique_ptr<LogicalTime>(new HLAfloat64Time(floating(time)));
}

std::unique_ptr<LogicalTimeInterval> madeInterval(StarlingTime const &interval) {
    if (interval.kind == integer64)
        return std::unique_ptr<LogicalTimeInterval>(new HLAinteger64Interval(whole(interval)));
    return std::unique_ptr<LogicalTimeInterval>(new HLAfloat64Interval(floating(interval)));
}

bool RTIambassadorImplementation::queryGALT(LogicalTime &out) {
    StarlingTime result = {};
    check(starling_query_galt(ambassador_, &result));
    if (result.kind == none)
        return false;
    give(out, *madeTime(result));
    return true;
}

bool RTIambassadorImplementation::queryLITS(LogicalTime &out) {
    StarlingTime result = {};
    check(starling_query_lits(ambassador_, &result));
    if (result.kind == none)
        return false;
    give(out, *madeTime(result));
    return true;
}

}
