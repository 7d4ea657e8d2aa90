// The exceptions of the standard by name.
#include "federate.hpp"

namespace conformance {

using namespace rti1516e;

std::string exceptionName(Exception const &e) {
#define X(name)                                                                                    \
    if (dynamic_cast<name const *>(&e))                                                            \
        return #name;
#include "generated/exceptions.inc"
#undef X
    return "Exception";
}

}
