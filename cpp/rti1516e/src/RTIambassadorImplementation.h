// The RTI ambassador of 2010 over the C ABI. It holds no HLA rule: it turns arguments and results
// into the C ABI's and back.
#pragma once

#include "Callbacks.h"
#include "generated/UnimplementedRTIambassador.h"

#include <memory>

namespace starling {

class RTIambassadorImplementation : public UnimplementedRTIambassador {
public:
    RTIambassadorImplementation();
    ~RTIambassadorImplementation() override;

    // Federation management
    void connect(FederateAmbassador &, CallbackModel, std::wstring const &) override;
    void disconnect() override;
    void createFederationExecution(std::wstring const &, std::wstring const &,
                                   std::wstring const &) override;
    void createFederationExecution(std::wstring const &, std::vector<std::wstring> const &,
                                   std::wstring const &) override;
    void createFederationExecutionWithMIM(std::wstring const &, std::vector<std::wstring> const &,
                                          std::wstring const &, std::wstring const &) override;
    void destroyFederationExecution(std::wstring const &) override;
    void listFederationExecutions() override;
    FederateHandle joinFederationExecution(std::wstring const &, std::wstring const &,
                                           std::vector<std::wstring> const &) override;
    FederateHandle joinFederationExecution(std::wstring const &, std::wstring const &,
                                           std::wstring const &,
                                           std::vector<std::wstring> const &) override;
    void resignFederationExecution(ResignAction) override;
    void registerFederationSynchronizationPoint(std::wstring const &,
                                                VariableLengthData const &) override;
    void registerFederationSynchronizationPoint(std::wstring const &, VariableLengthData const &,
                                                FederateHandleSet const &) override;
    void synchronizationPointAchieved(std::wstring const &, bool) override;

    // Declaration management
    void publishObjectClassAttributes(ObjectClassHandle, AttributeHandleSet const &) override;
    void unpublishObjectClass(ObjectClassHandle) override;
    void unpublishObjectClassAttributes(ObjectClassHandle, AttributeHandleSet const &) override;
    void publishInteractionClass(InteractionClassHandle) override;
    void unpublishInteractionClass(InteractionClassHandle) override;
    void subscribeObjectClassAttributes(ObjectClassHandle, AttributeHandleSet const &, bool,
                                        std::wstring const &) override;
    void unsubscribeObjectClass(ObjectClassHandle) override;
    void unsubscribeObjectClassAttributes(ObjectClassHandle, AttributeHandleSet const &) override;
    void subscribeInteractionClass(InteractionClassHandle, bool) override;
    void unsubscribeInteractionClass(InteractionClassHandle) override;

    // Object management
    void reserveObjectInstanceName(std::wstring const &) override;
    void releaseObjectInstanceName(std::wstring const &) override;
    void reserveMultipleObjectInstanceName(std::set<std::wstring> const &) override;
    void releaseMultipleObjectInstanceName(std::set<std::wstring> const &) override;
    ObjectInstanceHandle registerObjectInstance(ObjectClassHandle) override;
    ObjectInstanceHandle registerObjectInstance(ObjectClassHandle, std::wstring const &) override;
    using UnimplementedRTIambassador::updateAttributeValues;
    void updateAttributeValues(ObjectInstanceHandle, AttributeHandleValueMap const &,
                               VariableLengthData const &) override;
    using UnimplementedRTIambassador::sendInteraction;
    void sendInteraction(InteractionClassHandle, ParameterHandleValueMap const &,
                         VariableLengthData const &) override;
    using UnimplementedRTIambassador::deleteObjectInstance;
    void deleteObjectInstance(ObjectInstanceHandle, VariableLengthData const &) override;
    void localDeleteObjectInstance(ObjectInstanceHandle) override;
    void requestAttributeValueUpdate(ObjectInstanceHandle, AttributeHandleSet const &,
                                     VariableLengthData const &) override;
    void requestAttributeValueUpdate(ObjectClassHandle, AttributeHandleSet const &,
                                     VariableLengthData const &) override;
    void requestAttributeTransportationTypeChange(ObjectInstanceHandle, AttributeHandleSet const &,
                                                  TransportationType) override;
    void queryAttributeTransportationType(ObjectInstanceHandle, AttributeHandle) override;
    void requestInteractionTransportationTypeChange(InteractionClassHandle,
                                                    TransportationType) override;
    void queryInteractionTransportationType(FederateHandle, InteractionClassHandle) override;

    // Ownership management
    void unconditionalAttributeOwnershipDivestiture(ObjectInstanceHandle,
                                                    AttributeHandleSet const &) override;
    void negotiatedAttributeOwnershipDivestiture(ObjectInstanceHandle, AttributeHandleSet const &,
                                                 VariableLengthData const &) override;
    void confirmDivestiture(ObjectInstanceHandle, AttributeHandleSet const &,
                            VariableLengthData const &) override;
    void attributeOwnershipAcquisition(ObjectInstanceHandle, AttributeHandleSet const &,
                                       VariableLengthData const &) override;
    void attributeOwnershipAcquisitionIfAvailable(ObjectInstanceHandle,
                                                  AttributeHandleSet const &) override;
    void attributeOwnershipReleaseDenied(ObjectInstanceHandle, AttributeHandleSet const &) override;
    void attributeOwnershipDivestitureIfWanted(ObjectInstanceHandle, AttributeHandleSet const &,
                                               AttributeHandleSet &) override;
    void cancelNegotiatedAttributeOwnershipDivestiture(ObjectInstanceHandle,
                                                       AttributeHandleSet const &) override;
    void cancelAttributeOwnershipAcquisition(ObjectInstanceHandle,
                                             AttributeHandleSet const &) override;
    void queryAttributeOwnership(ObjectInstanceHandle, AttributeHandle) override;
    bool isAttributeOwnedByFederate(ObjectInstanceHandle, AttributeHandle) override;

    // Data distribution management
    RegionHandle createRegion(DimensionHandleSet const &) override;
    void commitRegionModifications(RegionHandleSet const &) override;
    void deleteRegion(RegionHandle const &) override;
    ObjectInstanceHandle
    registerObjectInstanceWithRegions(ObjectClassHandle,
                                      AttributeHandleSetRegionHandleSetPairVector const &) override;
    ObjectInstanceHandle
    registerObjectInstanceWithRegions(ObjectClassHandle,
                                      AttributeHandleSetRegionHandleSetPairVector const &,
                                      std::wstring const &) override;
    void associateRegionsForUpdates(ObjectInstanceHandle,
                                    AttributeHandleSetRegionHandleSetPairVector const &) override;
    void unassociateRegionsForUpdates(ObjectInstanceHandle,
                                      AttributeHandleSetRegionHandleSetPairVector const &) override;
    void
    subscribeObjectClassAttributesWithRegions(ObjectClassHandle,
                                              AttributeHandleSetRegionHandleSetPairVector const &,
                                              bool, std::wstring const &) override;
    void unsubscribeObjectClassAttributesWithRegions(
        ObjectClassHandle, AttributeHandleSetRegionHandleSetPairVector const &) override;
    void subscribeInteractionClassWithRegions(InteractionClassHandle, RegionHandleSet const &,
                                              bool) override;
    void unsubscribeInteractionClassWithRegions(InteractionClassHandle,
                                                RegionHandleSet const &) override;
    using UnimplementedRTIambassador::sendInteractionWithRegions;
    void sendInteractionWithRegions(InteractionClassHandle, ParameterHandleValueMap const &,
                                    RegionHandleSet const &, VariableLengthData const &) override;
    void requestAttributeValueUpdateWithRegions(ObjectClassHandle,
                                                AttributeHandleSetRegionHandleSetPairVector const &,
                                                VariableLengthData const &) override;

    // Support services
    DimensionHandleSet getDimensionHandleSet(RegionHandle) override;
    RangeBounds getRangeBounds(RegionHandle, DimensionHandle) override;
    void setRangeBounds(RegionHandle, DimensionHandle, RangeBounds const &) override;
    void enableObjectClassRelevanceAdvisorySwitch() override;
    void disableObjectClassRelevanceAdvisorySwitch() override;
    void enableAttributeRelevanceAdvisorySwitch() override;
    void disableAttributeRelevanceAdvisorySwitch() override;
    void enableAttributeScopeAdvisorySwitch() override;
    void disableAttributeScopeAdvisorySwitch() override;
    void enableInteractionRelevanceAdvisorySwitch() override;
    void disableInteractionRelevanceAdvisorySwitch() override;
    ResignAction getAutomaticResignDirective() override;
    void setAutomaticResignDirective(ResignAction) override;
    FederateHandle getFederateHandle(std::wstring const &) override;
    std::wstring getFederateName(FederateHandle) override;
    ObjectClassHandle getObjectClassHandle(std::wstring const &) override;
    std::wstring getObjectClassName(ObjectClassHandle) override;
    ObjectClassHandle getKnownObjectClassHandle(ObjectInstanceHandle) override;
    ObjectInstanceHandle getObjectInstanceHandle(std::wstring const &) override;
    std::wstring getObjectInstanceName(ObjectInstanceHandle) override;
    AttributeHandle getAttributeHandle(ObjectClassHandle, std::wstring const &) override;
    std::wstring getAttributeName(ObjectClassHandle, AttributeHandle) override;
    double getUpdateRateValue(std::wstring const &) override;
    double getUpdateRateValueForAttribute(ObjectInstanceHandle, AttributeHandle) override;
    InteractionClassHandle getInteractionClassHandle(std::wstring const &) override;
    std::wstring getInteractionClassName(InteractionClassHandle) override;
    ParameterHandle getParameterHandle(InteractionClassHandle, std::wstring const &) override;
    std::wstring getParameterName(InteractionClassHandle, ParameterHandle) override;
    OrderType getOrderType(std::wstring const &) override;
    std::wstring getOrderName(OrderType) override;
    TransportationType getTransportationType(std::wstring const &) override;
    std::wstring getTransportationName(TransportationType) override;
    DimensionHandleSet getAvailableDimensionsForClassAttribute(ObjectClassHandle,
                                                               AttributeHandle) override;
    DimensionHandleSet getAvailableDimensionsForInteractionClass(InteractionClassHandle) override;
    DimensionHandle getDimensionHandle(std::wstring const &) override;
    std::wstring getDimensionName(DimensionHandle) override;
    unsigned long getDimensionUpperBound(DimensionHandle) override;
    unsigned long normalizeFederateHandle(FederateHandle) override;
    unsigned long normalizeServiceGroup(ServiceGroup) override;
    bool evokeCallback(double) override;
    bool evokeMultipleCallbacks(double, double) override;
    void enableCallbacks() override;
    void disableCallbacks() override;
    std::auto_ptr<LogicalTimeFactory> getTimeFactory() const override;
    FederateHandle decodeFederateHandle(VariableLengthData const &) const override;
    ObjectClassHandle decodeObjectClassHandle(VariableLengthData const &) const override;
    InteractionClassHandle decodeInteractionClassHandle(VariableLengthData const &) const override;
    ObjectInstanceHandle decodeObjectInstanceHandle(VariableLengthData const &) const override;
    AttributeHandle decodeAttributeHandle(VariableLengthData const &) const override;
    ParameterHandle decodeParameterHandle(VariableLengthData const &) const override;
    DimensionHandle decodeDimensionHandle(VariableLengthData const &) const override;
    MessageRetractionHandle
    decodeMessageRetractionHandle(VariableLengthData const &) const override;
    RegionHandle decodeRegionHandle(VariableLengthData const &) const override;

private:
    void create(std::wstring const &, std::vector<std::wstring> const &, std::wstring const *,
                std::wstring const &);
    FederateHandle join(std::wstring const *, std::wstring const &, std::wstring const &,
                        std::vector<std::wstring> const &);

    StarlingAmbassador *ambassador_;
    std::unique_ptr<Callbacks> callbacks_;
};

}
