#include "format.hpp"

#include <cstdio>

namespace conformance {

using namespace rti1516e;

std::string hex(VariableLengthData const &data) {
    static char const digits[] = "0123456789abcdef";
    std::string out;
    auto const *bytes = static_cast<unsigned char const *>(data.data());
    for (size_t i = 0; i < data.size(); ++i) {
        out += digits[bytes[i] >> 4];
        out += digits[bytes[i] & 15];
    }
    return out;
}

#define ENUMERATORS(Enum, ...)                                                                     \
    template <> std::vector<std::pair<char const *, Enum>> const &Enumerators<Enum>::list() {      \
        static std::vector<std::pair<char const *, Enum>> const all = {__VA_ARGS__};               \
        return all;                                                                                \
    }
#define E(name) {#name, name}
ENUMERATORS(CallbackModel, E(HLA_IMMEDIATE), E(HLA_EVOKED))
ENUMERATORS(OrderType, E(RECEIVE), E(TIMESTAMP))
ENUMERATORS(TransportationType, E(RELIABLE), E(BEST_EFFORT))
ENUMERATORS(ResignAction, E(UNCONDITIONALLY_DIVEST_ATTRIBUTES), E(DELETE_OBJECTS),
            E(CANCEL_PENDING_OWNERSHIP_ACQUISITIONS), E(DELETE_OBJECTS_THEN_DIVEST),
            E(CANCEL_THEN_DELETE_THEN_DIVEST), E(NO_ACTION))
ENUMERATORS(ServiceGroup, E(FEDERATION_MANAGEMENT), E(DECLARATION_MANAGEMENT), E(OBJECT_MANAGEMENT),
            E(OWNERSHIP_MANAGEMENT), E(TIME_MANAGEMENT), E(DATA_DISTRIBUTION_MANAGEMENT),
            E(SUPPORT_SERVICES))
ENUMERATORS(SynchronizationPointFailureReason, E(SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE),
            E(SYNCHRONIZATION_SET_MEMBER_NOT_JOINED))
ENUMERATORS(SaveStatus, E(NO_SAVE_IN_PROGRESS), E(FEDERATE_INSTRUCTED_TO_SAVE), E(FEDERATE_SAVING),
            E(FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE))
ENUMERATORS(SaveFailureReason, E(RTI_UNABLE_TO_SAVE), E(FEDERATE_REPORTED_FAILURE_DURING_SAVE),
            E(FEDERATE_RESIGNED_DURING_SAVE), E(RTI_DETECTED_FAILURE_DURING_SAVE),
            E(SAVE_TIME_CANNOT_BE_HONORED), E(SAVE_ABORTED))
ENUMERATORS(RestoreStatus, E(NO_RESTORE_IN_PROGRESS), E(FEDERATE_RESTORE_REQUEST_PENDING),
            E(FEDERATE_WAITING_FOR_RESTORE_TO_BEGIN), E(FEDERATE_PREPARED_TO_RESTORE),
            E(FEDERATE_RESTORING), E(FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE))
ENUMERATORS(RestoreFailureReason, E(RTI_UNABLE_TO_RESTORE),
            E(FEDERATE_REPORTED_FAILURE_DURING_RESTORE), E(FEDERATE_RESIGNED_DURING_RESTORE),
            E(RTI_DETECTED_FAILURE_DURING_RESTORE), E(RESTORE_ABORTED))
#undef E
#undef ENUMERATORS

std::string Format::operator()(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

std::string Format::operator()(std::set<std::wstring> const &names) {
    std::string out;
    for (auto const &name : names)
        out += (out.empty() ? "" : " ") + (*this)(name);
    return "{" + out + "}";
}

std::string Format::operator()(VariableLengthData const &data) {
    auto const *bytes = static_cast<char const *>(data.data());
    std::string const text(bytes, bytes + data.size());
    for (char c : text)
        if (c < 0x20 || c > 0x7e)
            return "0x" + hex(data);
    return quoted(text);
}

std::string Format::operator()(RangeBounds const &bounds) {
    return std::to_string(bounds.getLowerBound()) + ".." + std::to_string(bounds.getUpperBound());
}

std::string Format::operator()(LogicalTime const &time) {
    if (auto const *t = dynamic_cast<HLAinteger64Time const *>(&time))
        return std::to_string(t->getTime());
    if (auto const *t = dynamic_cast<HLAfloat64Time const *>(&time))
        return (*this)(t->getTime());
    return quoted(utf8(time.toString()));
}

std::string Format::operator()(LogicalTimeInterval const &interval) {
    if (auto const *t = dynamic_cast<HLAinteger64Interval const *>(&interval))
        return std::to_string(t->getInterval());
    if (auto const *t = dynamic_cast<HLAfloat64Interval const *>(&interval))
        return (*this)(t->getInterval());
    return quoted(utf8(interval.toString()));
}

std::string Format::operator()(std::auto_ptr<LogicalTimeFactory> const &factory) {
    return (*this)(factory->getName());
}

/// `name@hex`; a handle that the RTI will not name has no name.
template <class Handle, class Name> std::string Format::handle(Handle const &handle, Name name) {
    if (!handle.isValid())
        return "invalid";
    std::string const code = hex(handle.encode());
    federate_.meet(code, handle);
    std::string text;
    try {
        text = utf8(name());
    } catch (Exception const &) {
    }
    static std::string const roots[] = {"HLAobjectRoot.", "HLAinteractionRoot."};
    for (std::string const &root : roots)
        if (text.compare(0, root.size(), root) == 0)
            text.erase(0, root.size());
    return text + "@" + code;
}

namespace {
std::wstring nameless() { return std::wstring(); }
}

std::string Format::operator()(FederateHandle const &h) { return handle(h, nameless); }
std::string Format::operator()(MessageRetractionHandle const &h) { return handle(h, nameless); }
std::string Format::operator()(RegionHandle const &h) { return handle(h, nameless); }

std::string Format::operator()(ObjectClassHandle const &h) {
    context_.objectClass = h;
    return handle(h, [&] { return federate_.rti().getObjectClassName(h); });
}

std::string Format::operator()(InteractionClassHandle const &h) {
    context_.interactionClass = h;
    return handle(h, [&] { return federate_.rti().getInteractionClassName(h); });
}

std::string Format::operator()(ObjectInstanceHandle const &h) {
    if (context_.objectClass.isValid())
        federate_.remember(h, context_.objectClass);
    else if (h.isValid())
        context_.objectClass = federate_.classOf(h);
    return handle(h, nameless);
}

std::string Format::operator()(AttributeHandle const &h) {
    return handle(h, [&] { return federate_.rti().getAttributeName(context_.objectClass, h); });
}

std::string Format::operator()(ParameterHandle const &h) {
    return handle(h,
                  [&] { return federate_.rti().getParameterName(context_.interactionClass, h); });
}

std::string Format::operator()(DimensionHandle const &h) {
    return handle(h, [&] { return federate_.rti().getDimensionName(h); });
}

std::string Format::operator()(FederationExecutionInformationVector const &list) {
    std::string out;
    for (auto const &info : list)
        out += (out.empty() ? "" : " ") + quoted(utf8(info.federationExecutionName)) + "=" +
               quoted(utf8(info.logicalTimeImplementationName));
    return "{" + out + "}";
}

std::string Format::operator()(FederateHandleSaveStatusPairVector const &list) {
    std::string out;
    for (auto const &pair : list)
        out += (out.empty() ? "" : " ") + (*this)(pair.first) + "=" + (*this)(pair.second);
    return "{" + out + "}";
}

std::string Format::operator()(FederateRestoreStatusVector const &list) {
    std::string out;
    for (auto const &status : list)
        out += (out.empty() ? "[" : " [") + (*this)(status.preRestoreHandle) + " " +
               (*this)(status.postRestoreHandle) + " " + (*this)(status.status) + "]";
    return "{" + out + "}";
}

std::string Format::operator()(SupplementalRemoveInfo const &info) {
    return info.hasProducingFederate ? "producer=" + (*this)(info.producingFederate) : "";
}

}
