#include "RTIambassadorImplementation.h"

#include "HandleImplementation.h"
#include "Regions.h"
#include "Text.h"
#include "Throw.h"

#include <RTI/LogicalTimeFactory.h>
#include <RTI/RTIambassadorFactory.h>

namespace starling {

namespace {

/// Throws what a status stands for.
void check(StarlingStatus status) {
    if (status != 0)
        throwStatus(status, wide(starling_message()));
}

/// For services that need nothing else of the RTI.
void requireJoined(StarlingAmbassador const *ambassador, std::wstring const &service) {
    check(starling_require_joined(ambassador, Argument(service)));
}

/// A result through a pointer that comes last.
template <class Result, class... Parameters, class... Arguments>
Result get(StarlingStatus (*function)(Parameters...), Arguments... arguments) {
    Result result = Result();
    check(function(arguments..., &result));
    return result;
}

StarlingBytes bytes(VariableLengthData const &data) {
    return {static_cast<uint8_t const *>(data.data()), data.size()};
}

uint32_t number(FederateHandle const &h) { return FederateHandleFriend::number(h); }
uint32_t number(ObjectClassHandle const &h) { return ObjectClassHandleFriend::number(h); }
uint32_t number(InteractionClassHandle const &h) { return InteractionClassHandleFriend::number(h); }
uint64_t number(ObjectInstanceHandle const &h) { return ObjectInstanceHandleFriend::number(h); }
uint32_t number(AttributeHandle const &h) { return AttributeHandleFriend::number(h); }
uint32_t number(ParameterHandle const &h) { return ParameterHandleFriend::number(h); }
uint32_t number(DimensionHandle const &h) { return DimensionHandleFriend::number(h); }
uint64_t number(RegionHandle const &h) { return RegionHandleFriend::number(h); }

template <class Set> std::vector<uint32_t> numbers(Set const &set) {
    std::vector<uint32_t> list;
    list.reserve(set.size());
    for (auto const &h : set)
        list.push_back(number(h));
    return list;
}

/// Where the API of 2010 has no tag.
StarlingBytes const noTag = {nullptr, 0};

/// Names as the C ABI takes them; points into itself, so it stays where it is.
class Texts {
public:
    template <class Names> explicit Texts(Names const &names) {
        for (std::wstring const &name : names)
            bytes_.push_back(utf8(name));
        for (std::string const &b : bytes_)
            texts_.push_back({reinterpret_cast<uint8_t const *>(b.data()), b.size()});
    }
    Texts(Texts const &) = delete;
    StarlingText const *data() const { return texts_.data(); }
    size_t size() const { return texts_.size(); }

private:
    std::vector<std::string> bytes_;
    std::vector<StarlingText> texts_;
};

/// Values as the C ABI takes them: on the stack if few.
class Values {
public:
    template <class Map> explicit Values(Map const &map) : count_(map.size()) {
        StarlingValue *to = few_;
        if (count_ > few) {
            many_.resize(count_);
            to = many_.data();
        }
        data_ = to;
        for (auto const &value : map)
            *to++ = {number(value.first), bytes(value.second)};
    }
    Values(Values const &) = delete;
    StarlingValue const *data() const { return data_; }
    size_t size() const { return count_; }

private:
    static size_t const few = 16;
    StarlingValue few_[few];
    std::vector<StarlingValue> many_;
    StarlingValue const *data_;
    size_t count_;
};

DimensionHandleSet dimensions(std::vector<uint32_t> const &list) {
    DimensionHandleSet set;
    for (uint32_t n : list)
        set.insert(DimensionHandleFriend::make(n));
    return set;
}

}

RTIambassadorImplementation::RTIambassadorImplementation() : ambassador_(starling_new()) {}

RTIambassadorImplementation::~RTIambassadorImplementation() { starling_delete(ambassador_); }

void RTIambassadorImplementation::connect(FederateAmbassador &federate, CallbackModel model,
                                          std::wstring const &settings) {
    std::unique_ptr<Callbacks> callbacks(new Callbacks(federate));
    StarlingCallbacks const table = callbacks->table();
    check(starling_connect(ambassador_, &table, model, Argument(settings)));
    callbacks_ = std::move(callbacks);
}

void RTIambassadorImplementation::disconnect() { check(starling_disconnect(ambassador_)); }

void RTIambassadorImplementation::create(std::wstring const &name,
                                         std::vector<std::wstring> const &modules,
                                         std::wstring const *mim, std::wstring const &time) {
    Texts const texts(modules);
    std::wstring const none;
    check(starling_create_federation_execution(ambassador_, Argument(name), texts.data(),
                                               texts.size(), Argument(mim ? *mim : none),
                                               Argument(time)));
}

void RTIambassadorImplementation::createFederationExecution(std::wstring const &name,
                                                            std::wstring const &module,
                                                            std::wstring const &time) {
    create(name, std::vector<std::wstring>(1, module), nullptr, time);
}

void RTIambassadorImplementation::createFederationExecution(
    std::wstring const &name, std::vector<std::wstring> const &modules, std::wstring const &time) {
    create(name, modules, nullptr, time);
}

void RTIambassadorImplementation::createFederationExecutionWithMIM(
    std::wstring const &name, std::vector<std::wstring> const &modules, std::wstring const &mim,
    std::wstring const &time) {
    create(name, modules, &mim, time);
}

void RTIambassadorImplementation::destroyFederationExecution(std::wstring const &name) {
    check(starling_destroy_federation_execution(ambassador_, Argument(name)));
}

void RTIambassadorImplementation::listFederationExecutions() {
    check(starling_list_federation_executions(ambassador_));
}

FederateHandle RTIambassadorImplementation::join(std::wstring const *name, std::wstring const &type,
                                                 std::wstring const &federation,
                                                 std::vector<std::wstring> const &modules) {
    Texts const texts(modules);
    std::string const bytes = name ? utf8(*name) : std::string();
    StarlingText text = {nullptr, 0};
    if (name)
        text = {reinterpret_cast<uint8_t const *>(bytes.data()), bytes.size()};
    uint32_t handle = 0;
    check(starling_join_federation_execution(ambassador_, text, Argument(type),
                                             Argument(federation), texts.data(), texts.size(),
                                             &handle));
    return FederateHandleFriend::make(handle);
}

FederateHandle
RTIambassadorImplementation::joinFederationExecution(std::wstring const &type,
                                                     std::wstring const &federation,
                                                     std::vector<std::wstring> const &modules) {
    return join(nullptr, type, federation, modules);
}

FederateHandle RTIambassadorImplementation::joinFederationExecution(
    std::wstring const &name, std::wstring const &type, std::wstring const &federation,
    std::vector<std::wstring> const &modules) {
    return join(&name, type, federation, modules);
}

void RTIambassadorImplementation::resignFederationExecution(ResignAction action) {
    check(starling_resign_federation_execution(ambassador_, action));
}

void RTIambassadorImplementation::registerFederationSynchronizationPoint(
    std::wstring const &label, VariableLengthData const &tag) {
    registerFederationSynchronizationPoint(label, tag, FederateHandleSet());
}

void RTIambassadorImplementation::registerFederationSynchronizationPoint(
    std::wstring const &label, VariableLengthData const &tag, FederateHandleSet const &federates) {
    std::vector<uint32_t> const list = numbers(federates);
    check(starling_register_federation_synchronization_point(ambassador_, Argument(label),
                                                             bytes(tag), list.data(), list.size()));
}

void RTIambassadorImplementation::synchronizationPointAchieved(std::wstring const &label,
                                                               bool successfully) {
    check(starling_synchronization_point_achieved(ambassador_, Argument(label), successfully));
}

void RTIambassadorImplementation::publishObjectClassAttributes(ObjectClassHandle class_,
                                                               AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_publish_object_class_attributes(ambassador_, number(class_), list.data(),
                                                   list.size()));
}

void RTIambassadorImplementation::unpublishObjectClass(ObjectClassHandle class_) {
    check(starling_unpublish_object_class(ambassador_, number(class_)));
}

void RTIambassadorImplementation::unpublishObjectClassAttributes(ObjectClassHandle class_,
                                                                 AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_unpublish_object_class_attributes(ambassador_, number(class_), list.data(),
                                                     list.size()));
}

void RTIambassadorImplementation::publishInteractionClass(InteractionClassHandle class_) {
    check(starling_publish_interaction_class(ambassador_, number(class_)));
}

void RTIambassadorImplementation::unpublishInteractionClass(InteractionClassHandle class_) {
    check(starling_unpublish_interaction_class(ambassador_, number(class_)));
}

void RTIambassadorImplementation::subscribeObjectClassAttributes(ObjectClassHandle class_,
                                                                 AttributeHandleSet const &set,
                                                                 bool active,
                                                                 std::wstring const &rate) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_subscribe_object_class_attributes(ambassador_, number(class_), list.data(),
                                                     list.size(), active, Argument(rate)));
}

void RTIambassadorImplementation::unsubscribeObjectClass(ObjectClassHandle class_) {
    check(starling_unsubscribe_object_class(ambassador_, number(class_)));
}

void RTIambassadorImplementation::unsubscribeObjectClassAttributes(ObjectClassHandle class_,
                                                                   AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_unsubscribe_object_class_attributes(ambassador_, number(class_), list.data(),
                                                       list.size()));
}

void RTIambassadorImplementation::subscribeInteractionClass(InteractionClassHandle class_,
                                                            bool active) {
    check(starling_subscribe_interaction_class(ambassador_, number(class_), active));
}

void RTIambassadorImplementation::unsubscribeInteractionClass(InteractionClassHandle class_) {
    check(starling_unsubscribe_interaction_class(ambassador_, number(class_)));
}

void RTIambassadorImplementation::reserveObjectInstanceName(std::wstring const &name) {
    check(starling_reserve_object_instance_name(ambassador_, Argument(name)));
}

void RTIambassadorImplementation::releaseObjectInstanceName(std::wstring const &name) {
    check(starling_release_object_instance_name(ambassador_, Argument(name)));
}

void RTIambassadorImplementation::reserveMultipleObjectInstanceName(
    std::set<std::wstring> const &names) {
    Texts const texts(names);
    check(starling_reserve_multiple_object_instance_name(ambassador_, texts.data(), texts.size()));
}

void RTIambassadorImplementation::releaseMultipleObjectInstanceName(
    std::set<std::wstring> const &names) {
    Texts const texts(names);
    check(starling_release_multiple_object_instance_name(ambassador_, texts.data(), texts.size()));
}

ObjectInstanceHandle RTIambassadorImplementation::registerObjectInstance(ObjectClassHandle class_) {
    StarlingText const none = {nullptr, 0};
    uint64_t instance = 0;
    check(starling_register_object_instance(ambassador_, number(class_), none, &instance));
    return ObjectInstanceHandleFriend::make(instance);
}

ObjectInstanceHandle RTIambassadorImplementation::registerObjectInstance(ObjectClassHandle class_,
                                                                         std::wstring const &name) {
    uint64_t instance = 0;
    check(
        starling_register_object_instance(ambassador_, number(class_), Argument(name), &instance));
    return ObjectInstanceHandleFriend::make(instance);
}

void RTIambassadorImplementation::updateAttributeValues(ObjectInstanceHandle object,
                                                        AttributeHandleValueMap const &map,
                                                        VariableLengthData const &tag) {
    Values const values(map);
    check(starling_update_attribute_values(ambassador_, number(object), values.data(),
                                           values.size(), bytes(tag)));
}

void RTIambassadorImplementation::sendInteraction(InteractionClassHandle class_,
                                                  ParameterHandleValueMap const &map,
                                                  VariableLengthData const &tag) {
    Values const values(map);
    check(starling_send_interaction(ambassador_, number(class_), values.data(), values.size(),
                                    bytes(tag)));
}

void RTIambassadorImplementation::deleteObjectInstance(ObjectInstanceHandle object,
                                                       VariableLengthData const &tag) {
    check(starling_delete_object_instance(ambassador_, number(object), bytes(tag)));
}

void RTIambassadorImplementation::localDeleteObjectInstance(ObjectInstanceHandle object) {
    check(starling_local_delete_object_instance(ambassador_, number(object)));
}

void RTIambassadorImplementation::requestAttributeValueUpdate(ObjectInstanceHandle object,
                                                              AttributeHandleSet const &set,
                                                              VariableLengthData const &tag) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_request_instance_attribute_value_update(ambassador_, number(object), list.data(),
                                                           list.size(), bytes(tag)));
}

void RTIambassadorImplementation::requestAttributeValueUpdate(ObjectClassHandle class_,
                                                              AttributeHandleSet const &set,
                                                              VariableLengthData const &tag) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_request_class_attribute_value_update(ambassador_, number(class_), list.data(),
                                                        list.size(), bytes(tag)));
}

void RTIambassadorImplementation::requestAttributeTransportationTypeChange(
    ObjectInstanceHandle instance, AttributeHandleSet const &set, TransportationType type) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_request_attribute_transportation_type_change(ambassador_, number(instance),
                                                                list.data(), list.size(), type));
}

void RTIambassadorImplementation::queryAttributeTransportationType(ObjectInstanceHandle instance,
                                                                   AttributeHandle attribute) {
    check(starling_query_attribute_transportation_type(ambassador_, number(instance),
                                                       number(attribute)));
}

void RTIambassadorImplementation::requestInteractionTransportationTypeChange(
    InteractionClassHandle class_, TransportationType type) {
    check(
        starling_request_interaction_transportation_type_change(ambassador_, number(class_), type));
}

void RTIambassadorImplementation::queryInteractionTransportationType(
    FederateHandle federate, InteractionClassHandle class_) {
    check(starling_query_interaction_transportation_type(ambassador_, number(federate),
                                                         number(class_)));
}

RegionHandle RTIambassadorImplementation::createRegion(DimensionHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    return RegionHandleFriend::make(
        get<uint64_t>(starling_create_region, ambassador_, list.data(), list.size()));
}

void RTIambassadorImplementation::commitRegionModifications(RegionHandleSet const &set) {
    Regions const regions(set);
    check(starling_commit_region_modifications(ambassador_, regions.data(), regions.size()));
}

void RTIambassadorImplementation::deleteRegion(RegionHandle const &region) {
    check(starling_delete_region(ambassador_, number(region)));
}

ObjectInstanceHandle RTIambassadorImplementation::registerObjectInstanceWithRegions(
    ObjectClassHandle class_, AttributeHandleSetRegionHandleSetPairVector const &pairs) {
    AttributeRegions const regions(pairs);
    StarlingText const none = {};
    return ObjectInstanceHandleFriend::make(
        get<uint64_t>(starling_register_object_instance_with_regions, ambassador_, number(class_),
                      regions.data(), regions.size(), none));
}

ObjectInstanceHandle RTIambassadorImplementation::registerObjectInstanceWithRegions(
    ObjectClassHandle class_, AttributeHandleSetRegionHandleSetPairVector const &pairs,
    std::wstring const &name) {
    AttributeRegions const regions(pairs);
    Argument const text(name);
    StarlingText const argument = text;
    return ObjectInstanceHandleFriend::make(
        get<uint64_t>(starling_register_object_instance_with_regions, ambassador_, number(class_),
                      regions.data(), regions.size(), argument));
}

void RTIambassadorImplementation::associateRegionsForUpdates(
    ObjectInstanceHandle object, AttributeHandleSetRegionHandleSetPairVector const &pairs) {
    AttributeRegions const regions(pairs);
    check(starling_associate_regions_for_updates(ambassador_, number(object), regions.data(),
                                                 regions.size()));
}

void RTIambassadorImplementation::unassociateRegionsForUpdates(
    ObjectInstanceHandle object, AttributeHandleSetRegionHandleSetPairVector const &pairs) {
    AttributeRegions const regions(pairs);
    check(starling_unassociate_regions_for_updates(ambassador_, number(object), regions.data(),
                                                   regions.size()));
}

void RTIambassadorImplementation::subscribeObjectClassAttributesWithRegions(
    ObjectClassHandle class_, AttributeHandleSetRegionHandleSetPairVector const &pairs, bool active,
    std::wstring const &rate) {
    AttributeRegions const regions(pairs);
    check(starling_subscribe_object_class_attributes_with_regions(
        ambassador_, number(class_), regions.data(), regions.size(), active, Argument(rate)));
}

void RTIambassadorImplementation::unsubscribeObjectClassAttributesWithRegions(
    ObjectClassHandle class_, AttributeHandleSetRegionHandleSetPairVector const &pairs) {
    AttributeRegions const regions(pairs);
    check(starling_unsubscribe_object_class_attributes_with_regions(
        ambassador_, number(class_), regions.data(), regions.size()));
}

void RTIambassadorImplementation::subscribeInteractionClassWithRegions(
    InteractionClassHandle class_, RegionHandleSet const &set, bool active) {
    Regions const regions(set);
    check(starling_subscribe_interaction_class_with_regions(
        ambassador_, number(class_), regions.data(), regions.size(), active));
}

void RTIambassadorImplementation::unsubscribeInteractionClassWithRegions(
    InteractionClassHandle class_, RegionHandleSet const &set) {
    Regions const regions(set);
    check(starling_unsubscribe_interaction_class_with_regions(ambassador_, number(class_),
                                                              regions.data(), regions.size()));
}

void RTIambassadorImplementation::sendInteractionWithRegions(InteractionClassHandle class_,
                                                             ParameterHandleValueMap const &map,
                                                             RegionHandleSet const &set,
                                                             VariableLengthData const &tag) {
    Values const values(map);
    Regions const regions(set);
    check(starling_send_interaction_with_regions(ambassador_, number(class_), values.data(),
                                                 values.size(), regions.data(), regions.size(),
                                                 bytes(tag)));
}

void RTIambassadorImplementation::requestAttributeValueUpdateWithRegions(
    ObjectClassHandle class_, AttributeHandleSetRegionHandleSetPairVector const &pairs,
    VariableLengthData const &tag) {
    AttributeRegions const regions(pairs);
    check(starling_request_attribute_value_update_with_regions(
        ambassador_, number(class_), regions.data(), regions.size(), bytes(tag)));
}

DimensionHandleSet RTIambassadorImplementation::getDimensionHandleSet(RegionHandle region) {
    std::vector<uint32_t> list(8);
    size_t count = 0;
    do {
        list.resize(std::max(list.size(), count));
        check(starling_get_dimension_handle_set(ambassador_, number(region), list.data(),
                                                list.size(), &count));
    } while (count > list.size());
    list.resize(count);
    return dimensions(list);
}

RangeBounds RTIambassadorImplementation::getRangeBounds(RegionHandle region,
                                                        DimensionHandle dimension) {
    uint64_t lower = 0;
    uint64_t upper = 0;
    check(
        starling_get_range_bounds(ambassador_, number(region), number(dimension), &lower, &upper));
    return RangeBounds(lower, upper);
}

void RTIambassadorImplementation::setRangeBounds(RegionHandle region, DimensionHandle dimension,
                                                 RangeBounds const &bounds) {
    check(starling_set_range_bounds(ambassador_, number(region), number(dimension),
                                    bounds.getLowerBound(), bounds.getUpperBound()));
}

void RTIambassadorImplementation::enableObjectClassRelevanceAdvisorySwitch() {
    check(starling_enable_object_class_relevance_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::disableObjectClassRelevanceAdvisorySwitch() {
    check(starling_disable_object_class_relevance_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::enableAttributeRelevanceAdvisorySwitch() {
    check(starling_enable_attribute_relevance_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::disableAttributeRelevanceAdvisorySwitch() {
    check(starling_disable_attribute_relevance_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::enableAttributeScopeAdvisorySwitch() {
    check(starling_enable_attribute_scope_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::disableAttributeScopeAdvisorySwitch() {
    check(starling_disable_attribute_scope_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::enableInteractionRelevanceAdvisorySwitch() {
    check(starling_enable_interaction_relevance_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::disableInteractionRelevanceAdvisorySwitch() {
    check(starling_disable_interaction_relevance_advisory_switch(ambassador_));
}

void RTIambassadorImplementation::unconditionalAttributeOwnershipDivestiture(
    ObjectInstanceHandle object, AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_unconditional_attribute_ownership_divestiture(ambassador_, number(object),
                                                                 list.data(), list.size(), noTag));
}

void RTIambassadorImplementation::negotiatedAttributeOwnershipDivestiture(
    ObjectInstanceHandle object, AttributeHandleSet const &set, VariableLengthData const &tag) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_negotiated_attribute_ownership_divestiture(
        ambassador_, number(object), list.data(), list.size(), bytes(tag)));
}

void RTIambassadorImplementation::confirmDivestiture(ObjectInstanceHandle object,
                                                     AttributeHandleSet const &set,
                                                     VariableLengthData const &tag) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_confirm_divestiture(ambassador_, number(object), list.data(), list.size(),
                                       bytes(tag)));
}

void RTIambassadorImplementation::attributeOwnershipAcquisition(ObjectInstanceHandle object,
                                                                AttributeHandleSet const &set,
                                                                VariableLengthData const &tag) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_attribute_ownership_acquisition(ambassador_, number(object), list.data(),
                                                   list.size(), bytes(tag)));
}

void RTIambassadorImplementation::attributeOwnershipAcquisitionIfAvailable(
    ObjectInstanceHandle object, AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_attribute_ownership_acquisition_if_available(ambassador_, number(object),
                                                                list.data(), list.size(), noTag));
}

void RTIambassadorImplementation::attributeOwnershipReleaseDenied(ObjectInstanceHandle object,
                                                                  AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_attribute_ownership_release_denied(ambassador_, number(object), list.data(),
                                                      list.size(), noTag));
}

void RTIambassadorImplementation::cancelNegotiatedAttributeOwnershipDivestiture(
    ObjectInstanceHandle object, AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_cancel_negotiated_attribute_ownership_divestiture(ambassador_, number(object),
                                                                     list.data(), list.size()));
}

void RTIambassadorImplementation::cancelAttributeOwnershipAcquisition(
    ObjectInstanceHandle object, AttributeHandleSet const &set) {
    std::vector<uint32_t> const list = numbers(set);
    check(starling_cancel_attribute_ownership_acquisition(ambassador_, number(object), list.data(),
                                                          list.size()));
}

void RTIambassadorImplementation::attributeOwnershipDivestitureIfWanted(
    ObjectInstanceHandle object, AttributeHandleSet const &set, AttributeHandleSet &divested) {
    std::vector<uint32_t> const list = numbers(set);
    std::vector<uint32_t> gone(list.size());
    size_t count = 0;
    check(starling_attribute_ownership_divestiture_if_wanted(
        ambassador_, number(object), list.data(), list.size(), noTag, gone.data(), &count));
    divested.clear();
    for (size_t i = 0; i < count; ++i)
        divested.insert(AttributeHandleFriend::make(gone[i]));
}

void RTIambassadorImplementation::queryAttributeOwnership(ObjectInstanceHandle object,
                                                          AttributeHandle attribute) {
    uint32_t const list[] = {number(attribute)};
    check(starling_query_attribute_ownership(ambassador_, number(object), list, 1));
}

bool RTIambassadorImplementation::isAttributeOwnedByFederate(ObjectInstanceHandle object,
                                                             AttributeHandle attribute) {
    return get<bool>(starling_is_attribute_owned_by_federate, ambassador_, number(object),
                     number(attribute));
}

ResignAction RTIambassadorImplementation::getAutomaticResignDirective() {
    return static_cast<ResignAction>(
        get<uint32_t>(starling_get_automatic_resign_directive, ambassador_));
}

void RTIambassadorImplementation::setAutomaticResignDirective(ResignAction action) {
    check(starling_set_automatic_resign_directive(ambassador_, action));
}

FederateHandle RTIambassadorImplementation::getFederateHandle(std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return FederateHandleFriend::make(
        get<uint32_t>(starling_get_federate_handle, ambassador_, argument));
}

std::wstring RTIambassadorImplementation::getFederateName(FederateHandle federate) {
    requireJoined(ambassador_, L"getFederateName");
    if (!federate.isValid())
        throw InvalidFederateHandle(
            L"getFederateName: the handle is not valid (1516.1-2010, 10.5)");
    return wide(get<StarlingText>(starling_get_federate_name, ambassador_, number(federate)));
}

ObjectClassHandle RTIambassadorImplementation::getObjectClassHandle(std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return ObjectClassHandleFriend::make(
        get<uint32_t>(starling_get_object_class_handle, ambassador_, argument));
}

std::wstring RTIambassadorImplementation::getObjectClassName(ObjectClassHandle class_) {
    return wide(get<StarlingText>(starling_get_object_class_name, ambassador_, number(class_)));
}

ObjectClassHandle
RTIambassadorImplementation::getKnownObjectClassHandle(ObjectInstanceHandle object) {
    return ObjectClassHandleFriend::make(
        get<uint32_t>(starling_get_known_object_class_handle, ambassador_, number(object)));
}

ObjectInstanceHandle
RTIambassadorImplementation::getObjectInstanceHandle(std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return ObjectInstanceHandleFriend::make(
        get<uint64_t>(starling_get_object_instance_handle, ambassador_, argument));
}

std::wstring RTIambassadorImplementation::getObjectInstanceName(ObjectInstanceHandle object) {
    return wide(get<StarlingText>(starling_get_object_instance_name, ambassador_, number(object)));
}

AttributeHandle RTIambassadorImplementation::getAttributeHandle(ObjectClassHandle class_,
                                                                std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return AttributeHandleFriend::make(
        get<uint32_t>(starling_get_attribute_handle, ambassador_, number(class_), argument));
}

std::wstring RTIambassadorImplementation::getAttributeName(ObjectClassHandle class_,
                                                           AttributeHandle attribute) {
    return wide(get<StarlingText>(starling_get_attribute_name, ambassador_, number(class_),
                                  number(attribute)));
}

double RTIambassadorImplementation::getUpdateRateValue(std::wstring const &designator) {
    Argument const text(designator);
    StarlingText const argument = text;
    return get<double>(starling_get_update_rate_value, ambassador_, argument);
}

double RTIambassadorImplementation::getUpdateRateValueForAttribute(ObjectInstanceHandle object,
                                                                   AttributeHandle attribute) {
    return get<double>(starling_get_update_rate_value_for_attribute, ambassador_, number(object),
                       number(attribute));
}

InteractionClassHandle
RTIambassadorImplementation::getInteractionClassHandle(std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return InteractionClassHandleFriend::make(
        get<uint32_t>(starling_get_interaction_class_handle, ambassador_, argument));
}

std::wstring RTIambassadorImplementation::getInteractionClassName(InteractionClassHandle class_) {
    return wide(
        get<StarlingText>(starling_get_interaction_class_name, ambassador_, number(class_)));
}

ParameterHandle RTIambassadorImplementation::getParameterHandle(InteractionClassHandle class_,
                                                                std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return ParameterHandleFriend::make(
        get<uint32_t>(starling_get_parameter_handle, ambassador_, number(class_), argument));
}

std::wstring RTIambassadorImplementation::getParameterName(InteractionClassHandle class_,
                                                           ParameterHandle parameter) {
    return wide(get<StarlingText>(starling_get_parameter_name, ambassador_, number(class_),
                                  number(parameter)));
}

OrderType RTIambassadorImplementation::getOrderType(std::wstring const &name) {
    requireJoined(ambassador_, L"getOrderType");
    if (name == L"Receive")
        return RECEIVE;
    if (name == L"TimeStamp")
        return TIMESTAMP;
    throw InvalidOrderName(L"getOrderType: '" + name +
                           L"' is neither Receive nor TimeStamp (1516.1-2010, 10.19)");
}

std::wstring RTIambassadorImplementation::getOrderName(OrderType order) {
    requireJoined(ambassador_, L"getOrderName");
    switch (order) {
    case RECEIVE:
        return L"Receive";
    case TIMESTAMP:
        return L"TimeStamp";
    }
    throw InvalidOrderType(L"getOrderName: " + std::to_wstring(order) +
                           L" is no order type (1516.1-2010, 10.20)");
}

TransportationType RTIambassadorImplementation::getTransportationType(std::wstring const &name) {
    requireJoined(ambassador_, L"getTransportationType");
    if (name == L"HLAreliable")
        return RELIABLE;
    if (name == L"HLAbestEffort")
        return BEST_EFFORT;
    throw InvalidTransportationName(
        L"getTransportationType: '" + name +
        L"' is neither HLAreliable nor HLAbestEffort (1516.1-2010, 10.21)");
}

std::wstring RTIambassadorImplementation::getTransportationName(TransportationType type) {
    requireJoined(ambassador_, L"getTransportationName");
    switch (type) {
    case RELIABLE:
        return L"HLAreliable";
    case BEST_EFFORT:
        return L"HLAbestEffort";
    }
    throw InvalidTransportationType(L"getTransportationName: " + std::to_wstring(type) +
                                    L" is no transportation type (1516.1-2010, 10.22)");
}

DimensionHandleSet
RTIambassadorImplementation::getAvailableDimensionsForClassAttribute(ObjectClassHandle class_,
                                                                     AttributeHandle attribute) {
    std::vector<uint32_t> list(8);
    size_t count = 0;
    do {
        list.resize(std::max(list.size(), count));
        check(starling_get_available_dimensions_for_class_attribute(
            ambassador_, number(class_), number(attribute), list.data(), list.size(), &count));
    } while (count > list.size());
    list.resize(count);
    return dimensions(list);
}

DimensionHandleSet RTIambassadorImplementation::getAvailableDimensionsForInteractionClass(
    InteractionClassHandle class_) {
    std::vector<uint32_t> list(8);
    size_t count = 0;
    do {
        list.resize(std::max(list.size(), count));
        check(starling_get_available_dimensions_for_interaction_class(
            ambassador_, number(class_), list.data(), list.size(), &count));
    } while (count > list.size());
    list.resize(count);
    return dimensions(list);
}

DimensionHandle RTIambassadorImplementation::getDimensionHandle(std::wstring const &name) {
    Argument const text(name);
    StarlingText const argument = text;
    return DimensionHandleFriend::make(
        get<uint32_t>(starling_get_dimension_handle, ambassador_, argument));
}

std::wstring RTIambassadorImplementation::getDimensionName(DimensionHandle dimension) {
    return wide(get<StarlingText>(starling_get_dimension_name, ambassador_, number(dimension)));
}

unsigned long RTIambassadorImplementation::getDimensionUpperBound(DimensionHandle dimension) {
    return get<uint64_t>(starling_get_dimension_upper_bound, ambassador_, number(dimension));
}

unsigned long RTIambassadorImplementation::normalizeFederateHandle(FederateHandle federate) {
    requireJoined(ambassador_, L"normalizeFederateHandle");
    if (!federate.isValid())
        throw InvalidFederateHandle(
            L"normalizeFederateHandle: the handle is not valid (1516.1-2010, 10.31)");
    return number(federate);
}

unsigned long RTIambassadorImplementation::normalizeServiceGroup(ServiceGroup group) {
    requireJoined(ambassador_, L"normalizeServiceGroup");
    if (group < FEDERATION_MANAGEMENT || group > SUPPORT_SERVICES)
        throw InvalidServiceGroup(L"normalizeServiceGroup: " + std::to_wstring(group) +
                                  L" is no service group (1516.1-2010, 10.32)");
    return group;
}

bool RTIambassadorImplementation::evokeCallback(double min) {
    return get<bool>(starling_evoke_callback, ambassador_, min);
}

bool RTIambassadorImplementation::evokeMultipleCallbacks(double min, double max) {
    return get<bool>(starling_evoke_multiple_callbacks, ambassador_, min, max);
}

void RTIambassadorImplementation::enableCallbacks() {
    check(starling_enable_callbacks(ambassador_));
}

void RTIambassadorImplementation::disableCallbacks() {
    check(starling_disable_callbacks(ambassador_));
}

std::auto_ptr<LogicalTimeFactory> RTIambassadorImplementation::getTimeFactory() const {
    std::wstring const name =
        wide(get<StarlingText>(starling_get_time_implementation, ambassador_));
    return LogicalTimeFactoryFactory::makeLogicalTimeFactory(name);
}

#define STARLING_DECODE(Kind)                                                                      \
    Kind RTIambassadorImplementation::decode##Kind(VariableLengthData const &encoded) const {      \
        requireJoined(ambassador_, L"decode" #Kind);                                               \
        try {                                                                                      \
            return Kind##Friend::decode(encoded);                                                  \
        } catch (CouldNotDecode const &e) {                                                        \
            throw CouldNotDecode(L"decode" #Kind L": " + e.what() + L" (1516.1-2010, 12)");        \
        }                                                                                          \
    }
STARLING_DECODE(FederateHandle)
STARLING_DECODE(ObjectClassHandle)
STARLING_DECODE(InteractionClassHandle)
STARLING_DECODE(ObjectInstanceHandle)
STARLING_DECODE(AttributeHandle)
STARLING_DECODE(ParameterHandle)
STARLING_DECODE(DimensionHandle)
STARLING_DECODE(MessageRetractionHandle)
STARLING_DECODE(RegionHandle)

}

namespace rti1516e {

RTIambassadorFactory::RTIambassadorFactory() {}
RTIambassadorFactory::~RTIambassadorFactory() RTI_NOEXCEPT {}

std::auto_ptr<RTIambassador> RTIambassadorFactory::createRTIambassador() {
    return std::auto_ptr<RTIambassador>(new starling::RTIambassadorImplementation);
}

}
