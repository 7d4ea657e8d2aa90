// Plain UDP: each message is a datagram to each of its receivers.
#include "datagrams.hpp"

namespace bench {

class Udp final : public Datagrams {
public:
    using Datagrams::Datagrams;
    std::string version() const override { return "plain UDP 1"; }
};

}  // namespace bench

BENCH_ADAPTER(bench::Udp)
