#include "federate.hpp"

#include <cstdio>
#include <cstdlib>

namespace limits {

using namespace rti1516e;

Options::Options(int argc, char **argv) {
    for (int i = 0; i < argc; i += 2) {
        std::string const key = argv[i];
        if (key.compare(0, 2, "--") != 0 || i + 1 == argc)
            throw std::invalid_argument("'" + key + "': options are --key value");
        given_[key.substr(2)] = argv[i + 1];
    }
}

std::string Options::text(std::string const &key) const {
    auto const found = given_.find(key);
    if (found == given_.end())
        throw std::invalid_argument("--" + key + " is missing");
    return found->second;
}

std::uint64_t Options::number(std::string const &key) const {
    std::string const value = text(key);
    char *end = nullptr;
    std::uint64_t const number = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || value[0] == '-')
        throw std::invalid_argument("--" + key + " " + value + ": a whole number is needed");
    return number;
}

std::uint64_t Options::number(std::string const &key, std::uint64_t otherwise) const {
    return given_.count(key) == 0 ? otherwise : number(key);
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
    if (size < sizeof(std::uint64_t))
        throw std::invalid_argument("--bytes: a payload holds its number, so 8 bytes at least");
    bytes_.assign(size, 'x');
    values_[attribute];
}

Federate::Federate(Options const &options)
    : rti(RTIambassadorFactory().createRTIambassador()), fom_(wide(options.text("fom"))),
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
