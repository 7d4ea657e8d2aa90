// An ambassador's life, and its connection.
#include "Arguments.h"
#include "generated/RTIambassadorImplementation.h"

#include <RTI/RTIambassadorFactory.h>

namespace starling {

RTIambassadorImplementation::RTIambassadorImplementation() : ambassador_(starling_new()) {}

RTIambassadorImplementation::~RTIambassadorImplementation() { starling_delete(ambassador_); }

void RTIambassadorImplementation::connect(FederateAmbassador &federate, CallbackModel model,
                                          std::wstring const &settings) {
    Argument const designator(settings);
    // The library's from here on, which releases it when no callback can come any more: another
    // thread may disconnect and connect before this call has returned.
    StarlingCallbacks const table = (new Callbacks(federate))->table();
    check(starling_connect(ambassador_, &table, model, designator));
}

}

namespace rti1516e {

RTIambassadorFactory::RTIambassadorFactory() {}
RTIambassadorFactory::~RTIambassadorFactory() RTI_NOEXCEPT {}

std::auto_ptr<RTIambassador> RTIambassadorFactory::createRTIambassador() {
    return std::auto_ptr<RTIambassador>(new starling::RTIambassadorImplementation);
}

}
