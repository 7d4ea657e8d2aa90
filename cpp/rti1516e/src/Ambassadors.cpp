// The roots of the ambassadors, with their tables of functions.
#include <RTI/FederateAmbassador.h>
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

namespace rti1516e {

FederateAmbassador::FederateAmbassador() {}
FederateAmbassador::~FederateAmbassador() RTI_NOEXCEPT {}
NullFederateAmbassador::NullFederateAmbassador() {}
NullFederateAmbassador::~NullFederateAmbassador() RTI_NOEXCEPT {}
RTIambassador::RTIambassador() RTI_NOEXCEPT {}
RTIambassador::~RTIambassador() {}

}
