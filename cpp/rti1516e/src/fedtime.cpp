// The library libfedtime1516e: a federate may put its own in its place.
#include <RTI/LogicalTimeFactory.h>

namespace rti1516e {

std::auto_ptr<LogicalTimeFactory>
LogicalTimeFactoryFactory::makeLogicalTimeFactory(std::wstring const &implementationName) {
    return HLAlogicalTimeFactoryFactory::makeLogicalTimeFactory(implementationName);
}

}
