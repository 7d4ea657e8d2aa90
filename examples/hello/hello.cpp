// A car that tells other cars its speed until it has heard 20 speeds of theirs.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>
#include <RTI/encoding/BasicDataElements.h>
#include <iostream>
#include <memory>
using namespace rti1516e;

struct Car : NullFederateAmbassador {
    int heard = 0;
    bool alone = false;
    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle,
                                std::wstring const &name) override {
        std::wcout << L"discovered " << name << std::endl;
    }
    void reflectAttributeValues(ObjectInstanceHandle car, AttributeHandleValueMap const &values,
                                VariableLengthData const &, OrderType, TransportationType,
                                SupplementalReflectInfo) override {
        HLAinteger32BE speed;
        speed.decode(values.begin()->second);
        std::wcout << L"car " << car << L" drives at " << speed.get() << std::endl;
        ++heard;
    }
    void removeObjectInstance(ObjectInstanceHandle, VariableLengthData const &, OrderType,
                              SupplementalRemoveInfo) override {
        alone = true;
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;
    using NullFederateAmbassador::removeObjectInstance;
};

int main() try {
    Car car;
    std::unique_ptr<RTIambassador> rti(RTIambassadorFactory().createRTIambassador());
    rti->connect(car, HLA_EVOKED);
    try {
        rti->createFederationExecution(L"Hello", L"Hello.xml");
    } catch (FederationExecutionAlreadyExists const &) { // by another car
    }
    rti->joinFederationExecution(L"car", L"Hello");
    ObjectClassHandle carClass = rti->getObjectClassHandle(L"Car");
    AttributeHandle speed = rti->getAttributeHandle(carClass, L"Speed");
    rti->publishObjectClassAttributes(carClass, {speed});
    rti->subscribeObjectClassAttributes(carClass, {speed});
    ObjectInstanceHandle mine = rti->registerObjectInstance(carClass);
    std::wcout << L"joined as " << rti->getObjectInstanceName(mine) << std::endl;
    for (int i = 1; car.heard < 20 && !car.alone; ++i) {
        rti->evokeMultipleCallbacks(0.1, 0.2);
        rti->updateAttributeValues(mine, {{speed, HLAinteger32BE(i).encode()}}, {});
    }
    rti->resignFederationExecution(DELETE_OBJECTS_THEN_DIVEST);
    try {
        rti->destroyFederationExecution(L"Hello");
    } catch (Exception const &) { // others are still joined
    }
    rti->disconnect();
} catch (Exception const &e) {
    std::wcerr << e.what() << std::endl;
    return 1;
}
