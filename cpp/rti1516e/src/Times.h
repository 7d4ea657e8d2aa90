// The standard's times and intervals as the C ABI takes and gives them.
#pragma once

#include <starling.h>

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

/// A time that is set for each callback: no allocation while the same type comes.
class ReusedTime {
public:
    LogicalTime const &set(StarlingTime const &time);

private:
    std::unique_ptr<LogicalTime> time_;
    uint32_t kind_ = 0;
};

}
