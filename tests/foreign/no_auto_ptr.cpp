// A standard library that has no std::auto_ptr any more.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>
#include <RTI/RTI1516fedTime.h>
#include <RTI/encoding/BasicDataElements.h>
#include <RTI/encoding/HLAfixedArray.h>
#include <RTI/encoding/HLAfixedRecord.h>
#include <RTI/encoding/HLAopaqueData.h>
#include <RTI/encoding/HLAvariableArray.h>
#include <RTI/encoding/HLAvariantRecord.h>

std::unique_ptr<rti1516e::RTIambassador> make(rti1516e::RTIambassadorFactory &factory) {
    return factory.createRTIambassador();
}

RTI_UNIQUE_PTR<rti1516e::DataElement> copy(rti1516e::DataElement const &element) {
    return element.clone();
}
