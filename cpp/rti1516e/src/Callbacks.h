// From the C ABI's callbacks to the federate ambassador.
#pragma once

#include <RTI/FederateAmbassador.h>
#include <starling.h>
#include <vector>

namespace starling {

/// A map of values that is filled anew for each callback. While the same handles come it is
/// reused, and its values borrow the received bytes: no allocation.
template <class Handle> class ValueMap {
public:
    typedef std::map<Handle, rti1516e::VariableLengthData> Map;
    Map const &fill(StarlingValue const *values, size_t count);

private:
    Map map_;
    std::vector<std::pair<uint32_t, rti1516e::VariableLengthData *>> places_;
};

/// Calls one federate ambassador. What it throws ends here.
class Callbacks {
public:
    explicit Callbacks(rti1516e::FederateAmbassador &federate) : federate_(federate) {}
    StarlingCallbacks table();

private:
    rti1516e::FederateAmbassador &federate_;
    ValueMap<rti1516e::AttributeHandle> attributes_;
    ValueMap<rti1516e::ParameterHandle> parameters_;
    rti1516e::VariableLengthData tag_;

    template <class Call> static bool guarded(void *context, Call call);
    rti1516e::VariableLengthData const &tag(StarlingBytes bytes);
    template <class Info> static Info producedBy(uint32_t producer);
    template <class Info> static Info sentBy(uint32_t producer, StarlingRegions const *regions);
};

}
