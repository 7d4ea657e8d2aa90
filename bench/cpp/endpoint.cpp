#include "endpoint.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cctype>
#include <climits>
#include <cstdint>
#include <cstdlib>

namespace bench {

namespace {

std::string besideProgram() {
    char path[PATH_MAX];
    ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
    std::string const program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    return program.substr(0, program.rfind('/') + 1);
}

// By its name; bench/starling_bench/machines/rti.py has the same rule.
bool isCarriers(std::string const& path) {
    std::string name = path.substr(path.rfind('/') + 1);
    if (name.find("RTI") != std::string::npos) return true;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    auto const has = [&](char const* part) { return name.find(part) != std::string::npos; };
    return name.compare(0, 9, "libbench-") == 0 || name.compare(0, 6, "librti") == 0 ||
           has("1516") || has("fedtime");
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

std::vector<std::string> loadedLibraries(Endpoint const& endpoint) {
    struct Search {
        std::uintptr_t within;
        std::vector<std::string> found;
    } search{reinterpret_cast<std::uintptr_t>(endpoint.within()), {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* one, std::size_t, void* data) {
            auto& search = *static_cast<Search*>(data);
            bool carries = isCarriers(one->dlpi_name);
            for (int n = 0; search.within != 0 && !carries && n < one->dlpi_phnum; ++n) {
                auto const& part = one->dlpi_phdr[n];
                carries = search.within - one->dlpi_addr - part.p_vaddr < part.p_memsz;
            }
            // The program itself has no name here.
            if (carries && *one->dlpi_name != 0) search.found.push_back(one->dlpi_name);
            return 0;
        },
        &search);
    return search.found;
}

}  // namespace bench
