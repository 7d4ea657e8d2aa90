// Every callback of the standard, as a line of text.
#pragma once

#include "federate.hpp"

// C++17 removed the exception specifications that overriding functions have to repeat.
#if __cplusplus >= 201703L
#define CALLBACK_THROWS
#else
#define CALLBACK_THROWS throw(rti1516e::FederateInternalError)
#endif

namespace conformance {

using namespace rti1516e;

class Ambassador : public rti1516e::FederateAmbassador {
public:
    explicit Ambassador(Federate &federate) : federate_(federate) {}
    ~Ambassador() throw() {}

#define C(name, ...) void name(__VA_ARGS__) CALLBACK_THROWS;
#include "generated/callbacks.inc"
#undef C

private:
    template <class... Args> void tell(char const *name, Args const &...);
    Federate &federate_;
};

}
