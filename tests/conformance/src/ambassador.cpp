#include "ambassador.hpp"

#include "format.hpp"

namespace conformance {

using namespace rti1516e;

namespace {

/// An argument that not every form of a callback has, so it is written as key=value.
template <class T> struct Extra {
    char const *key;
    T const &value;
};
template <class T> Extra<T> extra(char const *key, T const &value) { return {key, value}; }

template <class T> std::string text(Format &format, T const &value) { return format(value); }
template <class T> std::string text(Format &format, Extra<T> const &value) {
    return std::string(value.key) + "=" + format(value.value);
}

}

template <class... Args> void Ambassador::tell(char const *name, Args const &...args) {
    Format format(federate_);
    std::string line;
    std::string const texts[] = {std::string(), text(format, args)...};
    for (std::string const &t : texts)
        if (!t.empty())
            line += (line.empty() ? "" : " ") + t;
    federate_.called(name, line);
}

void Ambassador::connectionLost(std::wstring const &faultDescription) CALLBACK_THROWS {
    tell("connectionLost", faultDescription);
}

void Ambassador::reportFederationExecutions(
    FederationExecutionInformationVector const &theFederationExecutionInformationList)
    CALLBACK_THROWS {
    tell("reportFederationExecutions", theFederationExecutionInformationList);
}

void Ambassador::synchronizationPointRegistrationSucceeded(std::wstring const &label)
    CALLBACK_THROWS {
    tell("synchronizationPointRegistrationSucceeded", label);
}

void Ambassador::synchronizationPointRegistrationFailed(
    std::wstring const &label, SynchronizationPointFailureReason reason) CALLBACK_THROWS {
    tell("synchronizationPointRegistrationFailed", label, reason);
}

void Ambassador::announceSynchronizationPoint(
    std::wstring const &label, VariableLengthData const &theUserSuppliedTag) CALLBACK_THROWS {
    tell("announceSynchronizationPoint", label, theUserSuppliedTag);
}

void Ambassador::federationSynchronized(std::wstring const &label,
                                        FederateHandleSet const &failedToSyncSet) CALLBACK_THROWS {
    tell("federationSynchronized", label, failedToSyncSet);
}

void Ambassador::initiateFederateSave(std::wstring const &label) CALLBACK_THROWS {
    tell("initiateFederateSave", label);
}

void Ambassador::initiateFederateSave(std::wstring const &label,
                                      LogicalTime const &theTime) CALLBACK_THROWS {
    tell("initiateFederateSave", label, theTime);
}

void Ambassador::federationSaved() CALLBACK_THROWS { tell("federationSaved"); }

void Ambassador::federationNotSaved(SaveFailureReason theSaveFailureReason) CALLBACK_THROWS {
    tell("federationNotSaved", theSaveFailureReason);
}

void Ambassador::federationSaveStatusResponse(
    FederateHandleSaveStatusPairVector const &theFederateStatusVector) CALLBACK_THROWS {
    tell("federationSaveStatusResponse", theFederateStatusVector);
}

void Ambassador::requestFederationRestoreSucceeded(std::wstring const &label) CALLBACK_THROWS {
    tell("requestFederationRestoreSucceeded", label);
}

void Ambassador::requestFederationRestoreFailed(std::wstring const &label) CALLBACK_THROWS {
    tell("requestFederationRestoreFailed", label);
}

void Ambassador::federationRestoreBegun() CALLBACK_THROWS { tell("federationRestoreBegun"); }

void Ambassador::initiateFederateRestore(std::wstring const &label,
                                         std::wstring const &federateName,
                                         FederateHandle handle) CALLBACK_THROWS {
    tell("initiateFederateRestore", label, federateName, handle);
}

void Ambassador::federationRestored() CALLBACK_THROWS { tell("federationRestored"); }

void Ambassador::federationNotRestored(RestoreFailureReason theRestoreFailureReason)
    CALLBACK_THROWS {
    tell("federationNotRestored", theRestoreFailureReason);
}

void Ambassador::federationRestoreStatusResponse(
    FederateRestoreStatusVector const &theFederateRestoreStatusVector) CALLBACK_THROWS {
    tell("federationRestoreStatusResponse", theFederateRestoreStatusVector);
}

void Ambassador::startRegistrationForObjectClass(ObjectClassHandle theClass) CALLBACK_THROWS {
    tell("startRegistrationForObjectClass", theClass);
}

void Ambassador::stopRegistrationForObjectClass(ObjectClassHandle theClass) CALLBACK_THROWS {
    tell("stopRegistrationForObjectClass", theClass);
}

void Ambassador::turnInteractionsOn(InteractionClassHandle theHandle) CALLBACK_THROWS {
    tell("turnInteractionsOn", theHandle);
}

void Ambassador::turnInteractionsOff(InteractionClassHandle theHandle) CALLBACK_THROWS {
    tell("turnInteractionsOff", theHandle);
}

void Ambassador::objectInstanceNameReservationSucceeded(std::wstring const &theObjectInstanceName)
    CALLBACK_THROWS {
    tell("objectInstanceNameReservationSucceeded", theObjectInstanceName);
}

void Ambassador::objectInstanceNameReservationFailed(std::wstring const &theObjectInstanceName)
    CALLBACK_THROWS {
    tell("objectInstanceNameReservationFailed", theObjectInstanceName);
}

void Ambassador::multipleObjectInstanceNameReservationSucceeded(
    std::set<std::wstring> const &theObjectInstanceNames) CALLBACK_THROWS {
    tell("multipleObjectInstanceNameReservationSucceeded", theObjectInstanceNames);
}

void Ambassador::multipleObjectInstanceNameReservationFailed(
    std::set<std::wstring> const &theObjectInstanceNames) CALLBACK_THROWS {
    tell("multipleObjectInstanceNameReservationFailed", theObjectInstanceNames);
}

void Ambassador::discoverObjectInstance(ObjectInstanceHandle theObject,
                                        ObjectClassHandle theObjectClass,
                                        std::wstring const &theObjectInstanceName) CALLBACK_THROWS {
    tell("discoverObjectInstance", theObject, theObjectClass, theObjectInstanceName);
}

void Ambassador::discoverObjectInstance(ObjectInstanceHandle theObject,
                                        ObjectClassHandle theObjectClass,
                                        std::wstring const &theObjectInstanceName,
                                        FederateHandle producingFederate) CALLBACK_THROWS {
    tell("discoverObjectInstance", theObject, theObjectClass, theObjectInstanceName,
         extra("producer", producingFederate));
}

void Ambassador::reflectAttributeValues(ObjectInstanceHandle theObject,
                                        AttributeHandleValueMap const &theAttributeValues,
                                        VariableLengthData const &theUserSuppliedTag,
                                        OrderType sentOrder, TransportationType theType,
                                        SupplementalReflectInfo theReflectInfo) CALLBACK_THROWS {
    tell("reflectAttributeValues", theObject, theAttributeValues, theUserSuppliedTag, sentOrder,
         theType, theReflectInfo);
}

void Ambassador::reflectAttributeValues(ObjectInstanceHandle theObject,
                                        AttributeHandleValueMap const &theAttributeValues,
                                        VariableLengthData const &theUserSuppliedTag,
                                        OrderType sentOrder, TransportationType theType,
                                        LogicalTime const &theTime, OrderType receivedOrder,
                                        SupplementalReflectInfo theReflectInfo) CALLBACK_THROWS {
    tell("reflectAttributeValues", theObject, theAttributeValues, theUserSuppliedTag, sentOrder,
         theType, extra("time", theTime), extra("received", receivedOrder), theReflectInfo);
}

void Ambassador::reflectAttributeValues(ObjectInstanceHandle theObject,
                                        AttributeHandleValueMap const &theAttributeValues,
                                        VariableLengthData const &theUserSuppliedTag,
                                        OrderType sentOrder, TransportationType theType,
                                        LogicalTime const &theTime, OrderType receivedOrder,
                                        MessageRetractionHandle theHandle,
                                        SupplementalReflectInfo theReflectInfo) CALLBACK_THROWS {
    tell("reflectAttributeValues", theObject, theAttributeValues, theUserSuppliedTag, sentOrder,
         theType, extra("time", theTime), extra("received", receivedOrder),
         extra("retraction", theHandle), theReflectInfo);
}

void Ambassador::receiveInteraction(InteractionClassHandle theInteraction,
                                    ParameterHandleValueMap const &theParameterValues,
                                    VariableLengthData const &theUserSuppliedTag,
                                    OrderType sentOrder, TransportationType theType,
                                    SupplementalReceiveInfo theReceiveInfo) CALLBACK_THROWS {
    tell("receiveInteraction", theInteraction, theParameterValues, theUserSuppliedTag, sentOrder,
         theType, theReceiveInfo);
}

void Ambassador::receiveInteraction(InteractionClassHandle theInteraction,
                                    ParameterHandleValueMap const &theParameterValues,
                                    VariableLengthData const &theUserSuppliedTag,
                                    OrderType sentOrder, TransportationType theType,
                                    LogicalTime const &theTime, OrderType receivedOrder,
                                    SupplementalReceiveInfo theReceiveInfo) CALLBACK_THROWS {
    tell("receiveInteraction", theInteraction, theParameterValues, theUserSuppliedTag, sentOrder,
         theType, extra("time", theTime), extra("received", receivedOrder), theReceiveInfo);
}

void Ambassador::receiveInteraction(InteractionClassHandle theInteraction,
                                    ParameterHandleValueMap const &theParameterValues,
                                    VariableLengthData const &theUserSuppliedTag,
                                    OrderType sentOrder, TransportationType theType,
                                    LogicalTime const &theTime, OrderType receivedOrder,
                                    MessageRetractionHandle theHandle,
                                    SupplementalReceiveInfo theReceiveInfo) CALLBACK_THROWS {
    tell("receiveInteraction", theInteraction, theParameterValues, theUserSuppliedTag, sentOrder,
         theType, extra("time", theTime), extra("received", receivedOrder),
         extra("retraction", theHandle), theReceiveInfo);
}

void Ambassador::removeObjectInstance(ObjectInstanceHandle theObject,
                                      VariableLengthData const &theUserSuppliedTag,
                                      OrderType sentOrder,
                                      SupplementalRemoveInfo theRemoveInfo) CALLBACK_THROWS {
    tell("removeObjectInstance", theObject, theUserSuppliedTag, sentOrder, theRemoveInfo);
}

void Ambassador::removeObjectInstance(ObjectInstanceHandle theObject,
                                      VariableLengthData const &theUserSuppliedTag,
                                      OrderType sentOrder, LogicalTime const &theTime,
                                      OrderType receivedOrder,
                                      SupplementalRemoveInfo theRemoveInfo) CALLBACK_THROWS {
    tell("removeObjectInstance", theObject, theUserSuppliedTag, sentOrder, extra("time", theTime),
         extra("received", receivedOrder), theRemoveInfo);
}

void Ambassador::removeObjectInstance(ObjectInstanceHandle theObject,
                                      VariableLengthData const &theUserSuppliedTag,
                                      OrderType sentOrder, LogicalTime const &theTime,
                                      OrderType receivedOrder, MessageRetractionHandle theHandle,
                                      SupplementalRemoveInfo theRemoveInfo) CALLBACK_THROWS {
    tell("removeObjectInstance", theObject, theUserSuppliedTag, sentOrder, extra("time", theTime),
         extra("received", receivedOrder), extra("retraction", theHandle), theRemoveInfo);
}

void Ambassador::attributesInScope(ObjectInstanceHandle theObject,
                                   AttributeHandleSet const &theAttributes) CALLBACK_THROWS {
    tell("attributesInScope", theObject, theAttributes);
}

void Ambassador::attributesOutOfScope(ObjectInstanceHandle theObject,
                                      AttributeHandleSet const &theAttributes) CALLBACK_THROWS {
    tell("attributesOutOfScope", theObject, theAttributes);
}

void Ambassador::provideAttributeValueUpdate(
    ObjectInstanceHandle theObject, AttributeHandleSet const &theAttributes,
    VariableLengthData const &theUserSuppliedTag) CALLBACK_THROWS {
    tell("provideAttributeValueUpdate", theObject, theAttributes, theUserSuppliedTag);
}

void Ambassador::turnUpdatesOnForObjectInstance(
    ObjectInstanceHandle theObject, AttributeHandleSet const &theAttributes) CALLBACK_THROWS {
    tell("turnUpdatesOnForObjectInstance", theObject, theAttributes);
}

void Ambassador::turnUpdatesOnForObjectInstance(
    ObjectInstanceHandle theObject, AttributeHandleSet const &theAttributes,
    std::wstring const &updateRateDesignator) CALLBACK_THROWS {
    tell("turnUpdatesOnForObjectInstance", theObject, theAttributes, updateRateDesignator);
}

void Ambassador::turnUpdatesOffForObjectInstance(
    ObjectInstanceHandle theObject, AttributeHandleSet const &theAttributes) CALLBACK_THROWS {
    tell("turnUpdatesOffForObjectInstance", theObject, theAttributes);
}

void Ambassador::confirmAttributeTransportationTypeChange(
    ObjectInstanceHandle theObject, AttributeHandleSet theAttributes,
    TransportationType theTransportation) CALLBACK_THROWS {
    tell("confirmAttributeTransportationTypeChange", theObject, theAttributes, theTransportation);
}

void Ambassador::reportAttributeTransportationType(
    ObjectInstanceHandle theObject, AttributeHandle theAttribute,
    TransportationType theTransportation) CALLBACK_THROWS {
    tell("reportAttributeTransportationType", theObject, theAttribute, theTransportation);
}

void Ambassador::confirmInteractionTransportationTypeChange(
    InteractionClassHandle theInteraction, TransportationType theTransportation) CALLBACK_THROWS {
    tell("confirmInteractionTransportationTypeChange", theInteraction, theTransportation);
}

void Ambassador::reportInteractionTransportationType(
    FederateHandle federateHandle, InteractionClassHandle theInteraction,
    TransportationType theTransportation) CALLBACK_THROWS {
    tell("reportInteractionTransportationType", federateHandle, theInteraction, theTransportation);
}

void Ambassador::requestAttributeOwnershipAssumption(
    ObjectInstanceHandle theObject, AttributeHandleSet const &offeredAttributes,
    VariableLengthData const &theUserSuppliedTag) CALLBACK_THROWS {
    tell("requestAttributeOwnershipAssumption", theObject, offeredAttributes, theUserSuppliedTag);
}

void Ambassador::requestDivestitureConfirmation(
    ObjectInstanceHandle theObject, AttributeHandleSet const &releasedAttributes) CALLBACK_THROWS {
    tell("requestDivestitureConfirmation", theObject, releasedAttributes);
}

void Ambassador::attributeOwnershipAcquisitionNotification(
    ObjectInstanceHandle theObject, AttributeHandleSet const &securedAttributes,
    VariableLengthData const &theUserSuppliedTag) CALLBACK_THROWS {
    tell("attributeOwnershipAcquisitionNotification", theObject, securedAttributes,
         theUserSuppliedTag);
}

void Ambassador::attributeOwnershipUnavailable(
    ObjectInstanceHandle theObject, AttributeHandleSet const &theAttributes) CALLBACK_THROWS {
    tell("attributeOwnershipUnavailable", theObject, theAttributes);
}

void Ambassador::requestAttributeOwnershipRelease(
    ObjectInstanceHandle theObject, AttributeHandleSet const &candidateAttributes,
    VariableLengthData const &theUserSuppliedTag) CALLBACK_THROWS {
    tell("requestAttributeOwnershipRelease", theObject, candidateAttributes, theUserSuppliedTag);
}

void Ambassador::confirmAttributeOwnershipAcquisitionCancellation(
    ObjectInstanceHandle theObject, AttributeHandleSet const &theAttributes) CALLBACK_THROWS {
    tell("confirmAttributeOwnershipAcquisitionCancellation", theObject, theAttributes);
}

void Ambassador::informAttributeOwnership(ObjectInstanceHandle theObject,
                                          AttributeHandle theAttribute,
                                          FederateHandle theOwner) CALLBACK_THROWS {
    tell("informAttributeOwnership", theObject, theAttribute, theOwner);
}

void Ambassador::attributeIsNotOwned(ObjectInstanceHandle theObject,
                                     AttributeHandle theAttribute) CALLBACK_THROWS {
    tell("attributeIsNotOwned", theObject, theAttribute);
}

void Ambassador::attributeIsOwnedByRTI(ObjectInstanceHandle theObject,
                                       AttributeHandle theAttribute) CALLBACK_THROWS {
    tell("attributeIsOwnedByRTI", theObject, theAttribute);
}

void Ambassador::timeRegulationEnabled(LogicalTime const &theFederateTime) CALLBACK_THROWS {
    tell("timeRegulationEnabled", theFederateTime);
}

void Ambassador::timeConstrainedEnabled(LogicalTime const &theFederateTime) CALLBACK_THROWS {
    tell("timeConstrainedEnabled", theFederateTime);
}

void Ambassador::timeAdvanceGrant(LogicalTime const &theTime) CALLBACK_THROWS {
    tell("timeAdvanceGrant", theTime);
}

void Ambassador::requestRetraction(MessageRetractionHandle theHandle) CALLBACK_THROWS {
    tell("requestRetraction", theHandle);
}

std::vector<std::string> knownCallbacks() {
    static char const *const names[] = {
#define C(name, ...) #name,
#include "callbacks.inc"
#undef C
    };
    return std::vector<std::string>(std::begin(names), std::end(names));
}

}
