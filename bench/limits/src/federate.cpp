#include "federate.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace limits {

using namespace rti1516e;

void tell(nlohmann::json const &said) {
    std::printf("%s\n", said.dump().c_str());
    std::fflush(stdout);
}

double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

namespace {

// Names and file names of these programs are ASCII or at least bytes that only pass through.
std::wstring wide(std::string const &text) { return std::wstring(text.begin(), text.end()); }

}

std::string narrow(std::wstring const &text) {
    std::string out;
    for (wchar_t c : text)
        out += c < 128 ? static_cast<char>(c) : '?';
    return out;
}

void Payload::make(AttributeHandle attribute, std::size_t size) {
    bytes_.assign(size, 'x');
    values_[attribute];
}

Federate::Federate(Options const &options)
    : rti(RTIambassadorFactory().createRTIambassador()), fom_(wide(options.fom)),
      federation_(L"Limits") {}

Federate::~Federate() noexcept {
    try {
        leave();
    } catch (rti1516e::Exception const &) {
        // The fault that brought us here is the one to report.
    }
}

void Federate::join(std::wstring const &name) {
    if (!connected_) {
        rti->connect(*this, HLA_EVOKED);
        connected_ = true;
    }
    // Others may end the federation execution between the two calls.
    for (int attempt = 0;; ++attempt) {
        try {
            rti->createFederationExecution(federation_, fom_);
        } catch (FederationExecutionAlreadyExists const &) {
        }
        try {
            rti->joinFederationExecution(name, L"limits", federation_);
            break;
        } catch (FederationExecutionDoesNotExist const &) {
            if (attempt == 100)
                throw;
        }
    }
    joined_ = true;
    auto look = [&](Class &c, wchar_t const *className) {
        c.handle = rti->getObjectClassHandle(className);
        c.payload = rti->getAttributeHandle(c.handle, L"payload");
        c.attributes.clear();
        c.attributes.insert(c.payload);
    };
    look(there, L"HLAobjectRoot.There");
    look(back, L"HLAobjectRoot.Back");
}

void Federate::leave() {
    if (joined_) {
        joined_ = false;
        rti->resignFederationExecution(DELETE_OBJECTS);
        try {
            rti->destroyFederationExecution(federation_);
        } catch (FederatesCurrentlyJoined const &) {
        } catch (FederationExecutionDoesNotExist const &) {
        }
    }
}

void Federate::connectionLost(std::wstring const &fault) LIMITS_THROW {
    std::fprintf(stderr, "limits: connection lost: %s\n", narrow(fault).c_str());
    std::_Exit(1);
}

}
