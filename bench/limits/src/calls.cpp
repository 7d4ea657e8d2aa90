// How long services take their caller, each called again and again; beside it a bystander that
// subscribes to what is updated. A name is the standard's, behind a comma what of it; what is left
// out, and why, stands in the list of sweeps (sweeps.toml).
#include "federate.hpp"

#include <RTI/LogicalTimeFactory.h>
#include <RTI/RangeBounds.h>
#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>

#include <algorithm>
#include <map>

namespace limits {

using namespace rti1516e;

namespace {

using Number = std::uint64_t;

// So many federation executions and connections: they take some milliseconds each.
Number const kFewMax = 20;
// Of messages that are sent while time goes on, but never comes there.
double const kLater = 1e6;

class Caller : public Federate {
public:
    using Federate::Federate;

    void run(Options const &options) {
        count_ = options.count;
        bytes_ = options.bytes;
        join(L"caller");
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        me_ = rti->getFederateHandle(L"caller");
        five_ = rti->getInteractionClassHandle(L"Five");
        value1_ = rti->getParameterHandle(five_, L"value1");
        support();
        federations(std::wstring(options.fom.begin(), options.fom.end()));
        declarations();
        objects();
        ownership();
        regions();
        handles();
        time();
        deletions();
        leave();
        nlohmann::json said;
        for (auto &one : took_) said[one.first] = summary(one.second);
        tell(said);
    }

    // What is waited for.
    using Handles = AttributeHandleSet const &;
    using Tag = VariableLengthData const &;
    void announceSynchronizationPoint(std::wstring const &, Tag) LIMITS_THROW override { ++came_; }
    void federationSynchronized(std::wstring const &,
                                FederateHandleSet const &) LIMITS_THROW override {
        ++came_;
    }
    void objectInstanceNameReservationSucceeded(std::wstring const &) LIMITS_THROW override {
        ++came_;
    }
    void multipleObjectInstanceNameReservationSucceeded(std::set<std::wstring> const &)
        LIMITS_THROW override {
        ++came_;
    }
    void confirmAttributeTransportationTypeChange(ObjectInstanceHandle, AttributeHandleSet,
                                                  TransportationType) LIMITS_THROW override {
        ++came_;
    }
    void confirmInteractionTransportationTypeChange(InteractionClassHandle,
                                                    TransportationType) LIMITS_THROW override {
        ++came_;
    }
    void attributeOwnershipAcquisitionNotification(ObjectInstanceHandle, Handles,
                                                   Tag) LIMITS_THROW override {
        ++came_;
    }
    void confirmAttributeOwnershipAcquisitionCancellation(ObjectInstanceHandle,
                                                          Handles) LIMITS_THROW override {
        ++came_;
    }
    void timeRegulationEnabled(LogicalTime const &) LIMITS_THROW override { ++came_; }
    void timeConstrainedEnabled(LogicalTime const &) LIMITS_THROW override { ++came_; }
    void timeAdvanceGrant(LogicalTime const &) LIMITS_THROW override { ++came_; }

private:
    /// Calls it so often with the number of the call; `then` is not measured.
    template <class Call, class Then>
    void measure(char const *service, Number count, Call call, Then then) {
        std::vector<float> &times = took_[service];
        for (Number n = 0; n < count; ++n) {
            double const start = seconds();
            call(n);
            times.push_back(static_cast<float>((seconds() - start) * 1e6));
            then(n);
        }
    }
    template <class Call, class Then>
    void measure(char const *service, Call call, Then then) {
        measure(service, count_, call, then);
    }
    template <class Call>
    void measure(char const *service, Call call) {
        measure(service, count_, call, [](Number) {});
    }
    /// What undoes each other, in turn: each is measured.
    template <class On, class Off>
    void both(char const *on, char const *off, On begin, Off end, Number count) {
        std::vector<float> &ended = took_[off];
        measure(on, count, begin, [&](Number n) {
            double const start = seconds();
            end(n);
            ended.push_back(static_cast<float>((seconds() - start) * 1e6));
        });
    }
    template <class On, class Off>
    void both(char const *on, char const *off, On begin, Off end) {
        both(on, off, begin, end, count_);
    }

    void answered() {
        await([&] { return came_ > 0; });
        came_ = 0;
    }

    ObjectInstanceHandle own(Number n) const { return own_[n]; }
    AttributeHandleSetRegionHandleSetPairVector in(Number n) const {
        RegionHandleSet one;
        one.insert(regions_[n]);
        return {std::make_pair(areas_, one)};
    }
    RegionHandleSet region(Number n) const {
        RegionHandleSet one;
        one.insert(regions_[n]);
        return one;
    }
    ParameterHandleValueMap parameters(ParameterHandle which) {
        std::vector<char> const value(bytes_, 'x');
        ParameterHandleValueMap made;
        made[which] = VariableLengthData(value.data(), value.size());
        return made;
    }

    void support() {
        measure("getFederateHandle", [&](Number) { rti->getFederateHandle(L"caller"); });
        measure("getFederateName", [&](Number) { rti->getFederateName(me_); });
        measure("normalizeFederateHandle", [&](Number) { rti->normalizeFederateHandle(me_); });
        measure("normalizeServiceGroup",
                [&](Number) { rti->normalizeServiceGroup(OBJECT_MANAGEMENT); });
        measure("getObjectClassHandle",
                [&](Number) { rti->getObjectClassHandle(L"HLAobjectRoot.There"); });
        measure("getObjectClassName", [&](Number) { rti->getObjectClassName(there.handle); });
        measure("getAttributeHandle",
                [&](Number) { rti->getAttributeHandle(there.handle, L"payload"); });
        measure("getAttributeName",
                [&](Number) { rti->getAttributeName(there.handle, there.payload); });
        measure("getInteractionClassHandle",
                [&](Number) { rti->getInteractionClassHandle(L"Five"); });
        measure("getInteractionClassName", [&](Number) { rti->getInteractionClassName(five_); });
        measure("getParameterHandle", [&](Number) { rti->getParameterHandle(five_, L"value1"); });
        measure("getParameterName", [&](Number) { rti->getParameterName(five_, value1_); });
        measure("getUpdateRateValue", [&](Number) { rti->getUpdateRateValue(L"Often"); });
        measure("getOrderType", [&](Number) { rti->getOrderType(L"Receive"); });
        measure("getOrderName", [&](Number) { rti->getOrderName(RECEIVE); });
        measure("getTransportationType",
                [&](Number) { rti->getTransportationType(L"HLAreliable"); });
        measure("getTransportationName", [&](Number) { rti->getTransportationName(RELIABLE); });
        measure("getTimeFactory", [&](Number) { rti->getTimeFactory(); });
        measure("getAutomaticResignDirective", [&](Number) { rti->getAutomaticResignDirective(); });
        measure("setAutomaticResignDirective",
                [&](Number) { rti->setAutomaticResignDirective(DELETE_OBJECTS); });
        measure("evokeCallback, nothing there", [&](Number) { rti->evokeCallback(0); });
        measure("evokeMultipleCallbacks, nothing there",
                [&](Number) { rti->evokeMultipleCallbacks(0, 0); });
        both(
            "disableCallbacks", "enableCallbacks", [&](Number) { rti->disableCallbacks(); },
            [&](Number) { rti->enableCallbacks(); });
        advisories();
    }

    /// Which of them are on at first is for the FOM to say.
    void advisories() {
        using Switch = void (RTIambassador::*)();
        struct Advisory {
            char const *on, *off;
            Switch enable, disable;
        };
        using R = RTIambassador;
        Advisory const all[] = {
            {"enableObjectClassRelevanceAdvisorySwitch",
             "disableObjectClassRelevanceAdvisorySwitch",
             &R::enableObjectClassRelevanceAdvisorySwitch,
             &R::disableObjectClassRelevanceAdvisorySwitch},
            {"enableAttributeRelevanceAdvisorySwitch", "disableAttributeRelevanceAdvisorySwitch",
             &R::enableAttributeRelevanceAdvisorySwitch,
             &R::disableAttributeRelevanceAdvisorySwitch},
            {"enableAttributeScopeAdvisorySwitch", "disableAttributeScopeAdvisorySwitch",
             &R::enableAttributeScopeAdvisorySwitch, &R::disableAttributeScopeAdvisorySwitch},
            {"enableInteractionRelevanceAdvisorySwitch",
             "disableInteractionRelevanceAdvisorySwitch",
             &R::enableInteractionRelevanceAdvisorySwitch,
             &R::disableInteractionRelevanceAdvisorySwitch},
        };
        for (Advisory const &one : all) {
            try {
                (rti.get()->*one.disable)();
            } catch (rti1516e::Exception const &) {
                // It was off.
            }
            both(
                one.on, one.off, [&](Number) { (rti.get()->*one.enable)(); },
                [&](Number) { (rti.get()->*one.disable)(); });
        }
    }

    /// Others are by a connection of their own, and this federation execution goes on.
    void federations(std::wstring const &fom) {
        measure("listFederationExecutions", [&](Number) { rti->listFederationExecutions(); });
        measure("queryFederationSaveStatus", [&](Number) { rti->queryFederationSaveStatus(); });
        measure("queryFederationRestoreStatus",
                [&](Number) { rti->queryFederationRestoreStatus(); });
        FederateHandleSet alone;
        alone.insert(me_);
        auto const label = [](Number n) { return L"point" + std::to_wstring(n); };
        measure(
            "registerFederationSynchronizationPoint",
            [&](Number n) { rti->registerFederationSynchronizationPoint(label(n), noTag, alone); },
            [&](Number) { answered(); });
        measure(
            "synchronizationPointAchieved",
            [&](Number n) { rti->synchronizationPointAchieved(label(n)); },
            [&](Number) { answered(); });
        NullFederateAmbassador nobody;
        std::unique_ptr<RTIambassador> const other(RTIambassadorFactory().createRTIambassador());
        Number const few = std::min(count_, kFewMax);
        both(
            "connect", "disconnect", [&](Number) { other->connect(nobody, HLA_EVOKED); },
            [&](Number) { other->disconnect(); }, few);
        other->connect(nobody, HLA_EVOKED);
        std::wstring const name = L"Others";
        both(
            "createFederationExecution", "destroyFederationExecution",
            [&](Number) { other->createFederationExecution(name, fom); },
            [&](Number) { other->destroyFederationExecution(name); }, few);
        other->createFederationExecution(name, fom);
        both(
            "joinFederationExecution", "resignFederationExecution",
            [&](Number) { other->joinFederationExecution(L"other", L"limits", name); },
            [&](Number) { other->resignFederationExecution(NO_ACTION); }, few);
        other->destroyFederationExecution(name);
        other->disconnect();
    }

    void declarations() {
        auto const publish = [&](Number) {
            rti->publishObjectClassAttributes(back.handle, back.attributes);
        };
        auto const subscribe = [&](Number) {
            rti->subscribeObjectClassAttributes(back.handle, back.attributes);
        };
        both("subscribeObjectClassAttributes", "unsubscribeObjectClassAttributes", subscribe,
             [&](Number) { rti->unsubscribeObjectClassAttributes(back.handle, back.attributes); });
        both("publishObjectClassAttributes", "unpublishObjectClassAttributes", publish,
             [&](Number) { rti->unpublishObjectClassAttributes(back.handle, back.attributes); });
        // Of all attributes at once; each needs to be there again.
        subscribe(0);
        measure(
            "unsubscribeObjectClass", [&](Number) { rti->unsubscribeObjectClass(back.handle); },
            subscribe);
        publish(0);
        measure(
            "unpublishObjectClass", [&](Number) { rti->unpublishObjectClass(back.handle); },
            publish);
        both(
            "subscribeInteractionClass", "unsubscribeInteractionClass",
            [&](Number) { rti->subscribeInteractionClass(five_); },
            [&](Number) { rti->unsubscribeInteractionClass(five_); });
        both(
            "publishInteractionClass", "unpublishInteractionClass",
            [&](Number) { rti->publishInteractionClass(five_); },
            [&](Number) { rti->unpublishInteractionClass(five_); });
        rti->publishInteractionClass(five_);
    }

    void objects() {
        measure("registerObjectInstance",
                [&](Number) { own_.push_back(rti->registerObjectInstance(there.handle)); });
        payload_.make(there.payload, bytes_);
        measure("updateAttributeValues",
                [&](Number n) { rti->updateAttributeValues(own(n), payload_.numbered(n), noTag); });
        auto const values = parameters(value1_);
        measure("sendInteraction", [&](Number) { rti->sendInteraction(five_, values, noTag); });
        measure("requestAttributeValueUpdate", [&](Number n) {
            rti->requestAttributeValueUpdate(own(n), there.attributes, noTag);
        });
        measure("requestAttributeValueUpdate, of a class", [&](Number) {
            rti->requestAttributeValueUpdate(back.handle, back.attributes, noTag);
        });
        measure("getObjectInstanceName", [&](Number n) { rti->getObjectInstanceName(own(n)); });
        std::vector<std::wstring> names;
        for (Number n = 0; n < count_; ++n) names.push_back(rti->getObjectInstanceName(own(n)));
        measure("getObjectInstanceHandle",
                [&](Number n) { rti->getObjectInstanceHandle(names[n]); });
        measure("getKnownObjectClassHandle",
                [&](Number n) { rti->getKnownObjectClassHandle(own(n)); });
        measure("getUpdateRateValueForAttribute",
                [&](Number n) { rti->getUpdateRateValueForAttribute(own(n), there.payload); });
        auto const name = [](Number n) { return L"name" + std::to_wstring(n); };
        measure(
            "reserveObjectInstanceName", [&](Number n) { rti->reserveObjectInstanceName(name(n)); },
            [&](Number) { answered(); });
        measure("releaseObjectInstanceName",
                [&](Number n) { rti->releaseObjectInstanceName(name(n)); });
        auto const two = [&](Number n) {
            return std::set<std::wstring>{name(n) + L"a", name(n) + L"b"};
        };
        measure(
            "reserveMultipleObjectInstanceName",
            [&](Number n) { rti->reserveMultipleObjectInstanceName(two(n)); },
            [&](Number) { answered(); });
        measure("releaseMultipleObjectInstanceName",
                [&](Number n) { rti->releaseMultipleObjectInstanceName(two(n)); });
        transportation();
    }

    void transportation() {
        measure("queryAttributeTransportationType",
                [&](Number n) { rti->queryAttributeTransportationType(own(n), there.payload); });
        measure("queryInteractionTransportationType",
                [&](Number) { rti->queryInteractionTransportationType(me_, five_); });
        measure(
            "requestAttributeTransportationTypeChange",
            [&](Number n) {
                rti->requestAttributeTransportationTypeChange(own(n), there.attributes, RELIABLE);
            },
            [&](Number) { answered(); });
        measure(
            "requestInteractionTransportationTypeChange",
            [&](Number) { rti->requestInteractionTransportationTypeChange(five_, RELIABLE); },
            [&](Number) { answered(); });
    }

    void ownership() {
        auto const &all = there.attributes;
        auto const divest = [&](Number n) {
            rti->unconditionalAttributeOwnershipDivestiture(own(n), all);
        };
        measure("isAttributeOwnedByFederate",
                [&](Number n) { rti->isAttributeOwnedByFederate(own(n), there.payload); });
        measure("queryAttributeOwnership",
                [&](Number n) { rti->queryAttributeOwnership(own(n), there.payload); });
        AttributeHandleSet gone;
        measure("attributeOwnershipDivestitureIfWanted",
                [&](Number n) { rti->attributeOwnershipDivestitureIfWanted(own(n), all, gone); });
        both(
            "negotiatedAttributeOwnershipDivestiture",
            "cancelNegotiatedAttributeOwnershipDivestiture",
            [&](Number n) { rti->negotiatedAttributeOwnershipDivestiture(own(n), all, noTag); },
            [&](Number n) { rti->cancelNegotiatedAttributeOwnershipDivestiture(own(n), all); });
        measure("unconditionalAttributeOwnershipDivestiture", divest);
        measure(
            "attributeOwnershipAcquisitionIfAvailable",
            [&](Number n) { rti->attributeOwnershipAcquisitionIfAvailable(own(n), all); },
            [&](Number) { answered(); });
        auto const acquire = [&](Number n) {
            rti->attributeOwnershipAcquisition(own(n), all, noTag);
        };
        for (Number n = 0; n < count_; ++n) divest(n);
        measure("attributeOwnershipAcquisition", acquire, [&](Number) { answered(); });
        for (Number n = 0; n < count_; ++n) divest(n);
        // Nobody has it, so that it may have come before that is known.
        std::vector<float> &times = took_["cancelAttributeOwnershipAcquisition"];
        for (Number n = 0; n < count_; ++n) {
            acquire(n);
            double const start = seconds();
            rti->cancelAttributeOwnershipAcquisition(own(n), all);
            times.push_back(static_cast<float>((seconds() - start) * 1e6));
            answered();
            if (rti->isAttributeOwnedByFederate(own(n), there.payload)) continue;
            acquire(n);
            answered();
        }
    }

    void regions() {
        area_ = rti->getObjectClassHandle(L"HLAobjectRoot.Area");
        areas_.insert(rti->getAttributeHandle(area_, L"payload"));
        inArea_ = rti->getInteractionClassHandle(L"Area");
        rti->publishObjectClassAttributes(area_, areas_);
        rti->publishInteractionClass(inArea_);
        measure("getDimensionHandle", [&](Number) { rti->getDimensionHandle(L"Place"); });
        place_ = rti->getDimensionHandle(L"Place");
        measure("getDimensionName", [&](Number) { rti->getDimensionName(place_); });
        measure("getDimensionUpperBound", [&](Number) { rti->getDimensionUpperBound(place_); });
        measure("getAvailableDimensionsForClassAttribute", [&](Number) {
            rti->getAvailableDimensionsForClassAttribute(area_, *areas_.begin());
        });
        measure("getAvailableDimensionsForInteractionClass",
                [&](Number) { rti->getAvailableDimensionsForInteractionClass(inArea_); });
        DimensionHandleSet dimensions;
        dimensions.insert(place_);
        measure("createRegion", [&](Number) { regions_.push_back(rti->createRegion(dimensions)); });
        measure("setRangeBounds",
                [&](Number n) { rti->setRangeBounds(regions_[n], place_, RangeBounds(0, 1)); });
        measure("commitRegionModifications",
                [&](Number n) { rti->commitRegionModifications(region(n)); });
        measure("getDimensionHandleSet",
                [&](Number n) { rti->getDimensionHandleSet(regions_[n]); });
        measure("getRangeBounds", [&](Number n) { rti->getRangeBounds(regions_[n], place_); });
        std::vector<ObjectInstanceHandle> there;
        measure("registerObjectInstanceWithRegions", [&](Number n) {
            there.push_back(rti->registerObjectInstanceWithRegions(area_, in(n)));
        });
        measure("unassociateRegionsForUpdates",
                [&](Number n) { rti->unassociateRegionsForUpdates(there[n], in(n)); });
        measure(
            "associateRegionsForUpdates",
            [&](Number n) { rti->associateRegionsForUpdates(there[n], in(n)); },
            [&](Number n) { rti->unassociateRegionsForUpdates(there[n], in(n)); });
        both(
            "subscribeObjectClassAttributesWithRegions",
            "unsubscribeObjectClassAttributesWithRegions",
            [&](Number n) { rti->subscribeObjectClassAttributesWithRegions(area_, in(n)); },
            [&](Number n) { rti->unsubscribeObjectClassAttributesWithRegions(area_, in(n)); });
        both(
            "subscribeInteractionClassWithRegions", "unsubscribeInteractionClassWithRegions",
            [&](Number n) { rti->subscribeInteractionClassWithRegions(inArea_, region(n)); },
            [&](Number n) { rti->unsubscribeInteractionClassWithRegions(inArea_, region(n)); });
        measure("requestAttributeValueUpdateWithRegions", [&](Number n) {
            rti->requestAttributeValueUpdateWithRegions(area_, in(n), noTag);
        });
        values_ = parameters(rti->getParameterHandle(inArea_, L"value1"));
        measure("sendInteractionWithRegions", [&](Number n) {
            rti->sendInteractionWithRegions(inArea_, values_, region(n), noTag);
        });
    }

    void handles() {
        VariableLengthData const federate = me_.encode(), objects = there.handle.encode(),
                                 interactions = five_.encode(), instance = own(0).encode(),
                                 attribute = there.payload.encode(), parameter = value1_.encode(),
                                 dimension = place_.encode(), region = regions_[0].encode();
        measure("decodeFederateHandle", [&](Number) { rti->decodeFederateHandle(federate); });
        measure("decodeObjectClassHandle", [&](Number) { rti->decodeObjectClassHandle(objects); });
        measure("decodeInteractionClassHandle",
                [&](Number) { rti->decodeInteractionClassHandle(interactions); });
        measure("decodeObjectInstanceHandle",
                [&](Number) { rti->decodeObjectInstanceHandle(instance); });
        measure("decodeAttributeHandle", [&](Number) { rti->decodeAttributeHandle(attribute); });
        measure("decodeParameterHandle", [&](Number) { rti->decodeParameterHandle(parameter); });
        measure("decodeDimensionHandle", [&](Number) { rti->decodeDimensionHandle(dimension); });
        measure("decodeRegionHandle", [&](Number) { rti->decodeRegionHandle(region); });
    }

    void time() {
        auto const regulate = [&](Number) { rti->enableTimeRegulation(HLAfloat64Interval(1)); };
        auto const constrain = [&](Number) { rti->enableTimeConstrained(); };
        auto const isSo = [&](Number) { answered(); };
        measure("enableTimeRegulation", regulate, [&](Number n) {
            isSo(n);
            rti->disableTimeRegulation();
        });
        measure("enableTimeConstrained", constrain, [&](Number n) {
            isSo(n);
            rti->disableTimeConstrained();
        });
        auto const again = [&](auto const &enable) {
            return [&, enable](Number n) {
                enable(n);
                answered();
            };
        };
        again(regulate)(0);
        measure(
            "disableTimeRegulation", [&](Number) { rti->disableTimeRegulation(); },
            again(regulate));
        again(constrain)(0);
        measure(
            "disableTimeConstrained", [&](Number) { rti->disableTimeConstrained(); },
            again(constrain));
        both(
            "enableAsynchronousDelivery", "disableAsynchronousDelivery",
            [&](Number) { rti->enableAsynchronousDelivery(); },
            [&](Number) { rti->disableAsynchronousDelivery(); });
        HLAfloat64Time now;
        measure("queryLogicalTime", [&](Number) { rti->queryLogicalTime(now); });
        measure("queryGALT", [&](Number) { rti->queryGALT(now); });
        measure("queryLITS", [&](Number) { rti->queryLITS(now); });
        HLAfloat64Interval lookahead;
        measure("queryLookahead", [&](Number) { rti->queryLookahead(lookahead); });
        measure("modifyLookahead", [&](Number) { rti->modifyLookahead(HLAfloat64Interval(1)); });
        inTimeStampOrder();
        advances();
    }

    void inTimeStampOrder() {
        measure("changeAttributeOrderType", [&](Number n) {
            rti->changeAttributeOrderType(own(n), there.attributes, TIMESTAMP);
        });
        for (InteractionClassHandle const &one : {five_, inArea_})
            rti->changeInteractionOrderType(one, TIMESTAMP);
        measure("changeInteractionOrderType",
                [&](Number) { rti->changeInteractionOrderType(five_, TIMESTAMP); });
        HLAfloat64Time const later(kLater);
        std::vector<MessageRetractionHandle> sent;
        measure("updateAttributeValues, at a time", [&](Number n) {
            sent.push_back(rti->updateAttributeValues(own(n), payload_.numbered(n), noTag, later));
        });
        VariableLengthData const message = sent[0].encode();
        measure("decodeMessageRetractionHandle",
                [&](Number) { rti->decodeMessageRetractionHandle(message); });
        measure("retract", [&](Number n) { rti->retract(sent[n]); });
        auto const values = parameters(value1_);
        measure("sendInteraction, at a time",
                [&](Number) { rti->sendInteraction(five_, values, noTag, later); });
        measure("sendInteractionWithRegions, at a time", [&](Number n) {
            rti->sendInteractionWithRegions(inArea_, values_, region(n), noTag, later);
        });
    }

    void advances() {
        using Advance = void (RTIambassador::*)(LogicalTime const &);
        std::pair<char const *, Advance> const all[] = {
            {"timeAdvanceRequest", &RTIambassador::timeAdvanceRequest},
            {"timeAdvanceRequestAvailable", &RTIambassador::timeAdvanceRequestAvailable},
            {"nextMessageRequest", &RTIambassador::nextMessageRequest},
            {"nextMessageRequestAvailable", &RTIambassador::nextMessageRequestAvailable},
            {"flushQueueRequest", &RTIambassador::flushQueueRequest},
        };
        HLAfloat64Time now;
        rti->queryLogicalTime(now);
        double to = now.getTime();
        for (auto const &one : all) {
            measure(
                one.first, [&](Number) { (rti.get()->*one.second)(HLAfloat64Time(to += 1)); },
                [&](Number) { answered(); });
        }
    }

    void deletions() {
        AttributeHandleSet all = there.attributes;
        all.insert(rti->getAttributeHandle(there.handle, L"HLAprivilegeToDeleteObject"));
        std::vector<ObjectInstanceHandle> nobodys, more;
        for (Number n = 0; n < count_; ++n) {
            more.push_back(rti->registerObjectInstance(there.handle));
            nobodys.push_back(rti->registerObjectInstance(there.handle));
            rti->unconditionalAttributeOwnershipDivestiture(nobodys[n], all);
        }
        measure("localDeleteObjectInstance",
                [&](Number n) { rti->localDeleteObjectInstance(nobodys[n]); });
        measure("deleteObjectInstance",
                [&](Number n) { rti->deleteObjectInstance(more[n], noTag); });
        measure("deleteObjectInstance, at a time", [&](Number n) {
            rti->deleteObjectInstance(own(n), noTag, HLAfloat64Time(kLater));
        });
        measure("deleteRegion", [&](Number n) { rti->deleteRegion(regions_[n]); });
    }

    std::map<std::string, std::vector<float>> took_;
    Number count_ = 0, came_ = 0;
    std::size_t bytes_ = 0;
    FederateHandle me_;
    InteractionClassHandle five_, inArea_;
    ParameterHandle value1_;
    std::vector<ObjectInstanceHandle> own_;
    Payload payload_;
    ObjectClassHandle area_;
    AttributeHandleSet areas_;
    DimensionHandle place_;
    std::vector<RegionHandle> regions_;
    ParameterHandleValueMap values_;
};

}  // namespace

void calls(Options const &options) { Caller(options).run(options); }

}  // namespace limits
