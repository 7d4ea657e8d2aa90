// Needs nothing of an RTI but times: with NEEDS_RTI of librti1516e, else of libfedtime1516e.
#include <RTI/LogicalTime.h>
#include <RTI/LogicalTimeFactory.h>

int main() {
#ifdef NEEDS_RTI
    typedef rti1516e::HLAlogicalTimeFactoryFactory Factories;
#else
    typedef rti1516e::LogicalTimeFactoryFactory Factories;
#endif
    return !Factories::makeLogicalTimeFactory(L"HLAinteger64Time")->makeInitial()->isInitial();
}
