// UDP multicast, plainly.
#include "multicast.hpp"

BENCH_ADAPTER(bench::Multicast)
