// Every service of the RTI ambassador, by name; arguments and results by their C++ types.
#include "arguments.hpp"

#include <functional>
#include <utility>

namespace conformance {

using namespace rti1516e;

namespace {

struct Service {
    std::string name;
    size_t least, most; // arguments
    std::string sample;
    std::function<std::string(Federate &, Values const &, size_t)> call;
};

template <class P> struct Parameter {
    typedef typename std::decay<P>::type Type;
    /// Results through references are not written in a scenario.
    static bool const out = std::is_lvalue_reference<P>::value &&
                            !std::is_const<typename std::remove_reference<P>::type>::value;
};

template <class... P> struct Count;
template <> struct Count<> {
    static size_t const in = 0;
};
template <class First, class... Rest> struct Count<First, Rest...> {
    static size_t const in = (Parameter<First>::out ? 0 : 1) + Count<Rest...>::in;
};

// What stands for a type in a call that is to fail for a reason of its own.
template <class T> struct Sample {
    static char const *text() { return "invalid"; }
};
template <> struct Sample<ObjectClassHandle> {
    static char const *text() { return "class:invalid"; }
};
template <> struct Sample<bool> {
    static char const *text() { return "true"; }
};
template <> struct Sample<double> {
    static char const *text() { return "0"; }
};
template <> struct Sample<std::wstring> {
    static char const *text() { return "\"x\""; }
};
template <> struct Sample<VariableLengthData> {
    static char const *text() { return "\"\""; }
};
template <> struct Sample<RangeBounds> {
    static char const *text() { return "0..1"; }
};
template <> struct Sample<LogicalTime> {
    static char const *text() { return "1"; }
};
template <> struct Sample<LogicalTimeInterval> {
    static char const *text() { return "1"; }
};
template <> struct Sample<ResignAction> {
    static char const *text() { return "NO_ACTION"; }
};
template <> struct Sample<OrderType> {
    static char const *text() { return "RECEIVE"; }
};
template <> struct Sample<TransportationType> {
    static char const *text() { return "RELIABLE"; }
};
template <> struct Sample<ServiceGroup> {
    static char const *text() { return "SUPPORT_SERVICES"; }
};
template <> struct Sample<std::vector<std::wstring>> {
    static char const *text() { return "[]"; }
};
template <> struct Sample<AttributeHandleSetRegionHandleSetPairVector> {
    static char const *text() { return "[]"; }
};
template <class T> struct Sample<std::set<T>> {
    static char const *text() { return "{}"; }
};
template <class K, class V> struct Sample<std::map<K, V>> {
    static char const *text() { return "{}"; }
};

/// Prepares an argument that the caller did not give.
template <class T> void missing(Arguments &, Held<T> &) {}
void missing(Arguments &arguments, Held<LogicalTime> &held) {
    arguments.read(Value(Value::Word, "0"), held.value);
}
void missing(Arguments &arguments, Held<LogicalTimeInterval> &held) {
    arguments.read(Value(Value::Word, "0"), held.value);
}

template <class P, class T>
void readOne(Arguments &arguments, Values const &values, size_t &at, Held<T> &held) {
    if (Parameter<P>::out || at == values.size())
        missing(arguments, held);
    else
        arguments.read(values[at++], held.value);
}

template <class T>
void appendOut(std::true_type, Format &format, std::string &result, Held<T> &held) {
    result += (result.empty() ? "" : " ") + format(held.get());
}
template <class T> void appendOut(std::false_type, Format &, std::string &, Held<T> &) {}

/// The result of a call as text; void gives none.
template <class R> struct Result {
    template <class Call> static std::string text(Format &format, Call call) {
        R result(call());
        return format(result);
    }
};
template <> struct Result<void> {
    template <class Call> static std::string text(Format &, Call call) {
        call();
        return std::string();
    }
};

template <class R, class Method, class... P, size_t... I>
Service make(char const *name, Method method, size_t optional, std::index_sequence<I...>) {
    Service service;
    service.name = name;
    service.most = Count<P...>::in;
    service.least = service.most - optional;
    std::vector<std::string> const samples = {
        (Parameter<P>::out ? std::string() : Sample<typename Parameter<P>::Type>::text())...};
    size_t given = 0;
    for (auto const &sample : samples)
        if (!sample.empty() && given++ < service.least)
            service.sample += (service.sample.empty() ? "" : " ") + sample;
    service.call = [method](Federate &federate, Values const &values, size_t from) {
        Arguments arguments(federate);
        std::tuple<Held<typename Parameter<P>::Type>...> held;
        size_t at = from;
        int const read[] = {0, (readOne<P>(arguments, values, at, std::get<I>(held)), 0)...};
        (void)read;
        (void)at;
        Format format(federate, arguments.context());
        std::string result = Result<R>::text(
            format, [&] { return (federate.rti().*method)(std::get<I>(held).get()...); });
        int const out[] = {0, (appendOut(std::integral_constant<bool, Parameter<P>::out>(), format,
                                         result, std::get<I>(held)),
                               0)...};
        (void)out;
        return result;
    };
    return service;
}

template <class R, class... P>
Service service(char const *name, R (RTIambassador::*method)(P...), size_t optional) {
    return make<R, decltype(method), P...>(name, method, optional, std::index_sequence_for<P...>());
}
template <class R, class... P>
Service service(char const *name, R (RTIambassador::*method)(P...) const, size_t optional) {
    return make<R, decltype(method), P...>(name, method, optional, std::index_sequence_for<P...>());
}

/// connect [HLA_EVOKED | HLA_IMMEDIATE | NUMBER] ["settings"]; else as the run wants it.
Service connect() {
    Service service;
    service.name = "connect";
    service.least = 0;
    service.most = 2;
    service.call = [](Federate &federate, Values const &values, size_t from) {
        CallbackModel model = federate.arrangement().model;
        std::wstring settings = wide(federate.arrangement().settings);
        Arguments arguments(federate);
        for (; from < values.size(); ++from) {
            if (values[from].kind == Value::Text)
                arguments.read(values[from], settings);
            else
                arguments.read(values[from], model);
        }
        federate.connect(model, settings);
        return std::string();
    };
    return service;
}

typedef RTIambassador R;

std::vector<Service> const &services() {
    static std::vector<Service> const all = {
        connect(),
#include "generated/services.inc"
    };
    return all;
}

}

std::string invoke(Federate &federate, Values const &values, size_t from) {
    if (from >= values.size())
        throw BadCommand("no service named");
    std::string const &name = values[from].text;
    size_t const count = values.size() - from - 1;
    std::string complaint;
    bool known = false;
    for (Service const &service : services()) {
        if (service.name != name)
            continue;
        known = true;
        if (count < service.least || count > service.most)
            continue;
        try {
            return service.call(federate, values, from + 1);
        } catch (BadCommand const &e) { // perhaps another overload takes it
            complaint += (complaint.empty() ? "" : "; ") + std::string(e.what());
        }
    }
    if (!known)
        throw BadCommand("no service of the standard: " + name);
    throw BadCommand(complaint.empty()
                         ? name + " does not take " + std::to_string(count) + " arguments"
                         : complaint);
}

std::vector<Known> knownServices() {
    std::vector<Known> list;
    for (Service const &service : services())
        list.push_back({service.name, service.most, service.sample});
    return list;
}

}
