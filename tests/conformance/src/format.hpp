// Values of the C++ API as text.
#pragma once

#include "federate.hpp"

#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>
#include <RTI/time/HLAinteger64Interval.h>
#include <RTI/time/HLAinteger64Time.h>

namespace conformance {

std::string hex(rti1516e::VariableLengthData const &);

/// Names of the standard's enumerators; numbers stand for what is none of them.
template <class Enum> struct Enumerators {
    static std::vector<std::pair<char const *, Enum>> const &list();
};

/// Formats in a context: an attribute's name depends on the class named before it.
class Format {
public:
    explicit Format(Federate &federate, Context const &context = Context())
        : federate_(federate), context_(context) {}

    std::string operator()(bool value) { return value ? "true" : "false"; }
    std::string operator()(double);
    std::string operator()(unsigned long value) { return std::to_string(value); }
    std::string operator()(std::wstring const &text) { return quoted(utf8(text)); }
    std::string operator()(std::set<std::wstring> const &);
    std::string operator()(rti1516e::VariableLengthData const &);
    std::string operator()(rti1516e::RangeBounds const &);
    std::string operator()(rti1516e::LogicalTime const &);
    std::string operator()(rti1516e::LogicalTimeInterval const &);
    std::string operator()(std::auto_ptr<rti1516e::LogicalTimeFactory> const &);
    std::string operator()(rti1516e::FederateHandle const &);
    std::string operator()(rti1516e::ObjectClassHandle const &);
    std::string operator()(rti1516e::InteractionClassHandle const &);
    std::string operator()(rti1516e::ObjectInstanceHandle const &);
    std::string operator()(rti1516e::AttributeHandle const &);
    std::string operator()(rti1516e::ParameterHandle const &);
    std::string operator()(rti1516e::DimensionHandle const &);
    std::string operator()(rti1516e::MessageRetractionHandle const &);
    std::string operator()(rti1516e::RegionHandle const &);
    std::string operator()(rti1516e::FederationExecutionInformationVector const &);
    std::string operator()(rti1516e::FederateHandleSaveStatusPairVector const &);
    std::string operator()(rti1516e::FederateRestoreStatusVector const &);
    std::string operator()(rti1516e::SupplementalReflectInfo const &info) { return extra(info); }
    std::string operator()(rti1516e::SupplementalReceiveInfo const &info) { return extra(info); }
    std::string operator()(rti1516e::SupplementalRemoveInfo const &);

    template <class Handle> std::string operator()(std::set<Handle> const &set) {
        std::string out;
        for (Handle const &handle : set)
            out += (out.empty() ? "" : " ") + (*this)(handle);
        return "{" + out + "}";
    }
    template <class Handle>
    std::string operator()(std::map<Handle, rti1516e::VariableLengthData> const &map) {
        std::string out;
        for (auto const &value : map)
            out += (out.empty() ? "" : " ") + (*this)(value.first) + "=" + (*this)(value.second);
        return "{" + out + "}";
    }
    template <class Enum>
    typename std::enable_if<std::is_enum<Enum>::value, std::string>::type operator()(Enum value) {
        for (auto const &enumerator : Enumerators<Enum>::list())
            if (enumerator.second == value)
                return enumerator.first;
        return std::to_string(static_cast<int>(value));
    }

private:
    template <class Info> std::string extra(Info const &info) {
        std::string out;
        if (info.hasProducingFederate)
            out += "producer=" + (*this)(info.producingFederate);
        if (info.hasSentRegions)
            out += (out.empty() ? "" : " ") + ("regions=" + (*this)(info.sentRegions));
        return out;
    }
    template <class Handle, class Name> std::string handle(Handle const &, Name name);

    Federate &federate_;
    Context context_;
};

}
