// Plain TCP: data travel the links, in order and once; best effort too.
#include "mesh.hpp"

namespace bench {

class Tcp final : public Mesh {
public:
    using Mesh::Mesh;
    std::string version() const override { return "plain TCP 1"; }
    Capabilities capabilities() const override { return Capabilities(); }

private:
    bool byLinks() const override { return true; }
};

}  // namespace bench

BENCH_ADAPTER(bench::Tcp)
