#include "endpoint.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <climits>

#include <cstdlib>

namespace bench {

namespace {

std::string besideProgram() {
    char path[PATH_MAX];
    ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
    std::string const program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    return program.substr(0, program.rfind('/') + 1);
}

template <typename Function>
Function symbol(void* library, char const* name, std::string const& path) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) throw EndpointError(path + " is no adapter: it lacks " + name);
    return reinterpret_cast<Function>(found);
}

}  // namespace

std::unique_ptr<Endpoint> loadEndpoint(std::string const& name, EndpointEvents& events,
                                       char const* volatile* service) {
    if (name.empty() || name.find('/') != std::string::npos) {
        throw EndpointError("'" + name + "' is no adapter's name");
    }
    char const* const given = std::getenv("BENCH_ADAPTERS");
    std::string const folder = given == nullptr ? besideProgram() : std::string(given) + "/";
    std::string const path = folder + "libbench-" + name + ".so";
    // It stays until the process ends: an RTI may have threads of its own.
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        char const* const why = ::dlerror();
        throw EndpointError("the adapter '" + name +
                            "' can't be loaded: " + (why == nullptr ? path : why));
    }
    int const version = symbol<BenchEndpointVersion>(library, "bench_endpoint_version", path)();
    if (version != kEndpointVersion) {
        throw EndpointError(path + " has version " + std::to_string(version) +
                            " of the interface, this program " + std::to_string(kEndpointVersion) +
                            ": build both alike");
    }
    auto const make = symbol<BenchMakeEndpoint>(library, "bench_make_endpoint", path);
    return std::unique_ptr<Endpoint>(make(&events, service));
}

std::vector<std::string> loadedLibraries() {
    std::vector<std::string> found;
    ::dl_iterate_phdr(
        [](dl_phdr_info* one, std::size_t, void* data) {
            std::string const path = one->dlpi_name;
            std::string const name = path.substr(path.rfind('/') + 1);
            bool const carries = name.compare(0, 9, "libbench-") == 0 ||
                                 name.find("rti1516") != std::string::npos ||
                                 name.find("RTI") != std::string::npos;
            if (carries) static_cast<std::vector<std::string>*>(data)->push_back(path);
            return 0;
        },
        &found);
    return found;
}

}  // namespace bench
