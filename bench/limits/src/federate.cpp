#include "federate.hpp"

#include <poll.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

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

double cpuSeconds() {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

nlohmann::json summary(std::vector<float> &times) {
    if (times.empty()) return nlohmann::json::object();
    std::sort(times.begin(), times.end());
    auto const at = [&](double share) {
        // By nearest rank.
        auto const rank = static_cast<std::size_t>(share * static_cast<double>(times.size()));
        return times[std::min(rank, times.size() - 1)];
    };
    double sum = 0;
    for (float time : times) sum += time;
    return {{"p50_us", at(0.5)},
            {"p99_us", at(0.99)},
            {"p999_us", at(0.999)},
            {"mean_us", sum / static_cast<double>(times.size())},
            {"longest_us", times.back()}};
}

namespace {

// Names and file names of these programs are ASCII or at least bytes that only pass through.
std::wstring wide(std::string const &text) { return std::wstring(text.begin(), text.end()); }

}  // namespace

std::string narrow(std::wstring const &text) {
    std::string out;
    for (wchar_t c : text) out += c < 128 ? static_cast<char>(c) : '?';
    return out;
}

void Payload::make(AttributeHandle attribute, std::size_t size) {
    bytes_.assign(size, 'x');
    values_[attribute];
}

Federate::Federate(Options const &options, bool best)
    : rti(RTIambassadorFactory().createRTIambassador()),
      fom_(wide(options.fom)),
      federation_(L"Limits"),
      prefix_(best ? L"HLAobjectRoot.Best" : L"HLAobjectRoot.") {}

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
            double const start = seconds();
            rti->joinFederationExecution(name, L"limits", federation_);
            joinSeconds = seconds() - start;
            break;
        } catch (FederationExecutionDoesNotExist const &) {
            if (attempt == 100) throw;
        }
    }
    joined_ = true;
    auto look = [&](Class &c, wchar_t const *className) {
        c.handle = rti->getObjectClassHandle(prefix_ + className);
        c.payload = rti->getAttributeHandle(c.handle, L"payload");
        c.attributes.clear();
        c.attributes.insert(c.payload);
    };
    look(there, L"There");
    look(back, L"Back");
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

void Federate::stay() {
    for (pollfd input = {0, POLLIN, 0}; poll(&input, 1, 0) == 0;)
        rti->evokeMultipleCallbacks(0.02, 0.02);
}

void Federate::connectionLost(std::wstring const &fault) LIMITS_THROW {
    std::fprintf(stderr, "limits: connection lost: %s\n", narrow(fault).c_str());
    std::_Exit(1);
}

}  // namespace limits
