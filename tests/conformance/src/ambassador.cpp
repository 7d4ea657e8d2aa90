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

std::vector<std::string> knownCallbacks() {
    static char const *const names[] = {
#define C(name, ...) #name,
#include "generated/callbacks.inc"
#undef C
    };
    return std::vector<std::string>(std::begin(names), std::end(names));
}

}

#include "generated/ambassador.inc"
