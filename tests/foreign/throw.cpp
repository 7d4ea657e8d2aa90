// Exception specifications as federates of several RTIs write them.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

using namespace rti1516e;

class Federate : public NullFederateAmbassador {
public:
    using NullFederateAmbassador::announceSynchronizationPoint;
    using NullFederateAmbassador::removeObjectInstance;
    void connectionLost(std::wstring const &) RTI_THROW((FederateInternalError)) {}
    void federationSaved() RTI_THROW(FederateInternalError) {}
    // clang-format off
    void federationRestored() RTI_THROW ((FederateInternalError)) {}
    // clang-format on
#if __cplusplus < 201703L
    void federationRestoreBegun() throw(FederateInternalError) {}
#endif
};

void none() RTI_THROW(());
void nothing() RTI_THROW();
void either() RTI_THROW((NotConnected, RTIinternalError));
void both() RTI_THROW(NotConnected, RTIinternalError);

void none() RTI_THROW(()) {}
void nothing() RTI_THROW() {}
void either() RTI_THROW((NotConnected, RTIinternalError)) { throw NotConnected(L""); }
void both() RTI_THROW(NotConnected, RTIinternalError) { throw RTIinternalError(L""); }

int main() {
    Federate federate;
    FederateAmbassador &ambassador = federate;
    ambassador.connectionLost(L"");
    none();
    nothing();
    try {
        either();
        return 1;
    } catch (NotConnected const &) {
    }
    try {
        both();
        return 1;
    } catch (RTIinternalError const &) {
    }
    return 0;
}
