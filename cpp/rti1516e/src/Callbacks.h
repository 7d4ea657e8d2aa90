// From the C ABI's callbacks to the federate ambassador.
#pragma once

#include "Times.h"

#include <RTI/FederateAmbassador.h>
#include <starling.h>
#include <vector>

namespace starling {

/// A map of values that is filled for each callback. While the same handles come it is reused, and
/// its values borrow the received bytes: no allocation.
template <class Handle> class ValueMap {
public:
    typedef std::map<Handle, rti1516e::VariableLengthData> Map;
    Map const &fill(StarlingValue const *values, size_t count);

private:
    void fillAnew(StarlingValue const *values, size_t count);

    Map map_;
    std::vector<std::pair<uint32_t, rti1516e::VariableLengthData *>> places_;
};

/// Calls one federate ambassador. What it throws ends here.
class Callbacks {
public:
    explicit Callbacks(rti1516e::FederateAmbassador &federate) : federate_(federate) {}
    /// Its functions, with this as context, to be deleted by `release`.
    StarlingCallbacks table();

private:
    rti1516e::FederateAmbassador &federate_;
    ValueMap<rti1516e::AttributeHandle> attributes_;
    ValueMap<rti1516e::ParameterHandle> parameters_;
    rti1516e::VariableLengthData tag_;
    ReusedTime time_;

    /// Generated: one function for each callback.
    static void fillIn(StarlingCallbacks &table);

    // Those that are several functions of the federate ambassador.
    void reportFederationExecutions(StarlingReportFederationExecutions const &);
    void synchronizationPointRegistered(StarlingSynchronizationPointRegistered const &);
    void initiateFederateSave(StarlingInitiateFederateSave const &);
    void federationSaveStatusResponse(StarlingFederationSaveStatusResponse const &);
    void restoreRequested(StarlingRestoreRequested const &);
    void federationRestoreStatusResponse(StarlingFederationRestoreStatusResponse const &);
    void namesReserved(StarlingNamesReserved const &);
    void discoverObjectInstance(StarlingDiscoverObjectInstance const &);
    void reflectAttributeValues(StarlingReflectAttributeValues const &);
    void reflectWithMore(StarlingReflectAttributeValues const &);
    void receiveInteraction(StarlingReceiveInteraction const &);
    void receiveWithMore(StarlingReceiveInteraction const &);
    void removeObjectInstance(StarlingRemoveObjectInstance const &);
    void turnUpdatesOnForObjectInstance(StarlingTurnUpdatesOnForObjectInstance const &);
    void informAttributeOwnership(StarlingInformAttributeOwnership const &);

    template <class Call> static bool guarded(void *context, Call call) {
        try {
            call(*static_cast<Callbacks *>(context));
            return true;
        } catch (...) {
            tellWhatWasThrown();
            return false;
        }
    }
    /// Within a handler: what it has caught.
    static void tellWhatWasThrown();
    rti1516e::VariableLengthData const &tag(StarlingBytes bytes);
    template <class Tell> void withTime(StarlingMessageTime const *message, Tell const &tell);
    template <class Info> static Info producedBy(uint32_t producer);
    template <class Info> static Info sentBy(uint32_t producer, StarlingRegions const *regions);
    template <class Info> static Info sentWith(uint32_t producer, StarlingRegions const &regions);
};

}
