// Of the support services the one whose result the C ABI does not have.
#include "Arguments.h"
#include "generated/RTIambassadorImplementation.h"

#include <RTI/LogicalTimeFactory.h>

namespace starling {

std::auto_ptr<LogicalTimeFactory> RTIambassadorImplementation::getTimeFactory() const {
    StarlingText name = {};
    check(starling_get_time_implementation(ambassador_, &name));
    return LogicalTimeFactoryFactory::makeLogicalTimeFactory(wide(name));
}

}
