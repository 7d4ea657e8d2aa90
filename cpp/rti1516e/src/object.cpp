// The services that send values: nothing of them is copied.
#include "Arguments.h"
#include "generated/RTIambassadorImplementation.h"

namespace starling {

void RTIambassadorImplementation::updateAttributeValues(ObjectInstanceHandle instance,
                                                        AttributeHandleValueMap const &map,
                                                        VariableLengthData const &tag) {
    withValues(map, [&](StarlingValue const *values, size_t count) {
        check(starling_update_attribute_values(ambassador_, number(instance), values, count,
                                               bytes(tag)));
    });
}

void RTIambassadorImplementation::sendInteraction(InteractionClassHandle class_,
                                                  ParameterHandleValueMap const &map,
                                                  VariableLengthData const &tag) {
    withValues(map, [&](StarlingValue const *values, size_t count) {
        check(starling_send_interaction(ambassador_, number(class_), values, count, bytes(tag)));
    });
}

void RTIambassadorImplementation::sendInteractionWithRegions(InteractionClassHandle class_,
                                                             ParameterHandleValueMap const &map,
                                                             RegionHandleSet const &set,
                                                             VariableLengthData const &tag) {
    Numbers<RegionHandle> const regions(set);
    withValues(map, [&](StarlingValue const *values, size_t count) {
        check(starling_send_interaction_with_regions(ambassador_, number(class_), values, count,
                                                     regions.data(), regions.size(), bytes(tag)));
    });
}

MessageRetractionHandle RTIambassadorImplementation::updateAttributeValues(
    ObjectInstanceHandle instance, AttributeHandleValueMap const &map,
    VariableLengthData const &tag, LogicalTime const &stamp) {
    uint64_t result = 0;
    withValues(map, [&](StarlingValue const *values, size_t count) {
        check(starling_update_attribute_values_at(ambassador_, number(instance), values, count,
                                                  bytes(tag), timeOf(stamp), &result));
    });
    return make<MessageRetractionHandle>(result);
}

MessageRetractionHandle RTIambassadorImplementation::sendInteraction(
    InteractionClassHandle class_, ParameterHandleValueMap const &map,
    VariableLengthData const &tag, LogicalTime const &stamp) {
    uint64_t result = 0;
    withValues(map, [&](StarlingValue const *values, size_t count) {
        check(starling_send_interaction_at(ambassador_, number(class_), values, count, bytes(tag),
                                           timeOf(stamp), &result));
    });
    return make<MessageRetractionHandle>(result);
}

MessageRetractionHandle RTIambassadorImplementation::sendInteractionWithRegions(
    InteractionClassHandle class_, ParameterHandleValueMap const &map, RegionHandleSet const &set,
    VariableLengthData const &tag, LogicalTime const &stamp) {
    Numbers<RegionHandle> const regions(set);
    uint64_t result = 0;
    withValues(map, [&](StarlingValue const *values, size_t count) {
        check(starling_send_interaction_with_regions_at(ambassador_, number(class_), values, count,
                                                        regions.data(), regions.size(), bytes(tag),
                                                        timeOf(stamp), &result));
    });
    return make<MessageRetractionHandle>(result);
}

}
