// What deadlines make of wake-ups, for tests: reads START HZ PPM, then how late each turn begins,
// in ns. Prints each turn's deadline, then turns, late, missed and the largest. With the arguments
// HZ PHASE UPDATES TICK_HZ: reads turns, and prints how many updates are due by each.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "pace.hpp"

namespace {

int divide(char** of) {
    bench::Due const due(std::atof(of[0]), std::atof(of[1]), std::strtoull(of[2], nullptr, 10),
                         std::atof(of[3]));
    std::uint64_t turn = 0;
    while (std::scanf("%" SCNu64, &turn) == 1) std::printf("%" PRIu64 "\n", due.by(turn));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 5) return divide(argv + 1);
    std::uint64_t start = 0, hz = 0, ppm = 0, late = 0;
    if (std::scanf("%" SCNu64 " %" SCNu64 " %" SCNu64, &start, &hz, &ppm) != 3 || hz == 0) return 2;
    bench::Deadlines deadlines(start, hz, ppm);
    while (std::scanf("%" SCNu64, &late) == 1) {
        std::uint64_t const due = deadlines.next();
        std::printf("%" PRIu64 "\n", due);
        deadlines.begun(due + late);
    }
    std::uint64_t in = 0;
    for (auto const count : deadlines.lateness().counts()) in += count;
    std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", deadlines.turns(),
                deadlines.late(), deadlines.missed(), deadlines.lateness().largest(), in);
    return 0;
}
