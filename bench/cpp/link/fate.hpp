// What becomes of the frames of an emulated link: fate n of a link depends on its seed and on n
// alone.
#pragma once

#include <cstdint>
#include <random>

namespace bench {

// What a host's link does to the frames that leave it. Probabilities are from 0 to 1.
struct LinkRule {
    double delayMs = 0, jitterMs = 0;  // delay ± jitter, evenly spread
    double loss = 0, duplicate = 0;
    double reorder = 0;  // of going ahead of all that waits, without delay
};

struct Fate {
    bool lost, doubled, ahead;
    double delayMs;
};

class Fates {
public:
    Fates(LinkRule const& rule, std::uint64_t seed) : rule_(rule), random_(seed) {}
    Fate next() {
        // The same number of draws for each frame, in this order.
        double const lost = draw(), doubled = draw(), ahead = draw(), late = draw();
        Fate fate{lost < rule_.loss, doubled < rule_.duplicate, ahead < rule_.reorder, 0};
        double const delay = rule_.delayMs + rule_.jitterMs * (2 * late - 1);
        if (!fate.ahead && delay > 0) fate.delayMs = delay;
        return fate;
    }

private:
    // 53 bits, so that it is the same with every library; from 0 to less than 1.
    double draw() { return static_cast<double>(random_() >> 11) / 9007199254740992.0; }

    LinkRule rule_;
    std::mt19937_64 random_;
};

}  // namespace bench
