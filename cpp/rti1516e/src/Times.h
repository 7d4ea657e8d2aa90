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

}
