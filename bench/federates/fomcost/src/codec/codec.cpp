#include "codec.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

namespace fomcost {

namespace {

// A partial RTI may lack the standard's helpers, so what uses them is a library of its own beside
// the program.
std::unique_ptr<Codec> byHelpers(std::string const& layout, std::string& why) {
    char path[PATH_MAX];
    ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
    std::string const program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    std::string const library = program.substr(0, program.rfind('/') + 1) + "libfomcost-helpers.so";
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW);
    void* const symbol = loaded != nullptr ? ::dlsym(loaded, "fomcost_helped_codec") : nullptr;
    if (symbol == nullptr) {
        why = ::dlerror();
        return nullptr;
    }
    using Make = Codec* (*)(char const*);
    return std::unique_ptr<Codec>(reinterpret_cast<Make>(symbol)(layout.c_str()));
}

}  // namespace

std::unique_ptr<Codec> codecOf(std::string const& layout, bool* standIn) {
    if (layout == "fixed") return fixed();
    if (layout == "variable") return variable();
    if (layout == "variant") return variant();
    if (layout == "plain") return plain();
    if (layout != "multiple" && layout != "standard" && layout != "helped") return nullptr;
    std::string why;
    if (auto found = byHelpers(layout, why)) return found;
    if (layout == "multiple" && standIn != nullptr) {
        *standIn = true;
        return plain();
    }
    throw CodecError("layout '" + layout +
                     "' needs the standard's encoding helpers, which this RTI lacks: " + why);
}

}  // namespace fomcost
