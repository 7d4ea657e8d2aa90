// A car that tells other cars its speed, 20 times from when it first hears one, and prints theirs.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>
#include <RTI/encoding/BasicDataElements.h>
#include <iostream>
#include <memory>
using namespace rti1516e;

struct Car : NullFederateAmbassador {
    bool heard = false;
    using NullFederateAmbassador::reflectAttributeValues;
    void reflectAttributeValues(ObjectInstanceHandle car, AttributeHandleValueMap const &values,
                                VariableLengthData const &, OrderType, TransportationType,
                                SupplementalReflectInfo) override {
        HLAinteger32BE speed;
        speed.decode(values.begin()->second);
        std::wcout << L"car " << car << L" drives at " << speed.get() << std::endl;
        heard = true;
    }
};

// The first car creates the federation execution. A car that leaves may destroy it before this one
// has joined: then this one is the first.
void join(RTIambassador &rti) {
    for (bool joined = false; !joined;) {
        try {
            rti.createFederationExecution(L"Hello", L"Hello.xml");
        } catch (FederationExecutionAlreadyExists const &) {
        }
        try {
            rti.joinFederationExecution(L"car", L"Hello");
            joined = true;
        } catch (FederationExecutionDoesNotExist const &) {
        }
    }
}

// The last car destroys it.
void leave(RTIambassador &rti) {
    rti.resignFederationExecution(DELETE_OBJECTS_THEN_DIVEST);
    try {
        rti.destroyFederationExecution(L"Hello");
    } catch (FederatesCurrentlyJoined const &) {        // This is not the last one.
    } catch (FederationExecutionDoesNotExist const &) { // Another one left last, and was faster.
    }
    rti.disconnect();
}

int main() try {
    Car car;
    std::unique_ptr<RTIambassador> rti(RTIambassadorFactory().createRTIambassador());
    rti->connect(car, HLA_EVOKED);
    join(*rti);
    ObjectClassHandle carClass = rti->getObjectClassHandle(L"Car");
    AttributeHandle speed = rti->getAttributeHandle(carClass, L"Speed");
    rti->publishObjectClassAttributes(carClass, {speed});
    rti->subscribeObjectClassAttributes(carClass, {speed});
    ObjectInstanceHandle mine = rti->registerObjectInstance(carClass);
    std::wcout << L"waiting for another car: start this program once more" << std::endl;
    for (int now = 1, told = 0; told < 20; ++now, told += car.heard) {
        rti->evokeMultipleCallbacks(0.1, 0.2);
        rti->updateAttributeValues(mine, {{speed, HLAinteger32BE(now).encode()}}, {});
    }
    leave(*rti);
} catch (Exception const &e) {
    std::wcerr << e.what() << std::endl;
    return 1;
}
