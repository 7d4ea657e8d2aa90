// What the interfaces of a run do together for a while, as the manager describes it.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "socket.hpp"

namespace range {

using Json = nlohmann::json;

struct Test {
    int number = 0;
    unsigned federates = 2;
    std::size_t bytes = 1024;
    double hz = 10;
    std::vector<std::pair<std::size_t, double>> flows;  // of each federate; none: all alike
    bool reliable = true, realtime = true, threaded = false;
    double durationS = 10, floorS = 0.5, pingHz = 20;
    unsigned tickHz = 500;
    unsigned driftPpm = 0;  // by how much a timer's period is longer than the one's before
    Json given;

    // Throws UsageError.
    static Test parse(Json const& given) {
        Test t;
        t.given = given;
        try {
            t.number = given.at("number");
            t.federates = given.at("federates");
            t.bytes = given.at("bytes");
            t.hz = given.at("hz");
            for (auto const& flow : given.value("flows", Json::array())) {
                t.flows.emplace_back(flow.at("bytes"), flow.at("hz"));
            }
            t.reliable = given.value("transport", "reliable") == "reliable";
            t.realtime = given.value("scheduling", "realtime") == "realtime";
            t.threaded = given.value("threaded", false);
            t.durationS = given.at("duration_s");
            t.floorS = given.value("floor_s", t.floorS);
            t.pingHz = given.value("ping_hz", t.pingHz);
            t.tickHz = given.value("tick_hz", t.tickHz);
            t.driftPpm = given.value("drift_ppm", t.driftPpm);
        } catch (Json::exception const& e) {
            throw bench::UsageError("--test " + given.dump() + ": " + e.what());
        }
        bool fits = t.federates >= 1 && t.federates <= 10 && t.durationS > 0 && t.tickHz > 0 &&
                    t.tickHz <= 10000 && t.driftPpm <= 10000 &&
                    (t.flows.empty() || t.flows.size() >= t.federates);
        for (unsigned s = 1; fits && s <= t.federates; ++s) {
            fits = t.bytesOf(s) >= 16 && t.hzOf(s) > 0 && t.tickHzOf(s) >= t.hzOf(s);
        }
        if (!fits) throw bench::UsageError("--test " + given.dump() + ": a value is out of bounds");
        return t;
    }
    // Of the federate with this number.
    std::size_t bytesOf(unsigned station) const {
        return flows.empty() ? bytes : flows[station - 1].first;
    }
    double hzOf(unsigned station) const { return flows.empty() ? hz : flows[station - 1].second; }
    // Timers that all keep one rate would meet at one phase for a whole test: what a polled
    // federate's turn adds to each delivery time would be drawn once. So no two have the same.
    std::uint64_t longerPpmOf(unsigned station) const {
        return std::uint64_t{driftPpm} * (station - 1);
    }
    double tickHzOf(unsigned station) const {
        return tickHz / (1 + static_cast<double>(longerPpmOf(station)) * 1e-6);
    }
    // How long all go on as they are when they have sent theirs: a period of the slowest, and what
    // their beginnings may lie apart.
    std::uint64_t turnsAfter() const {
        double longest = 0;
        for (unsigned s = 1; s <= federates; ++s) longest = std::max(longest, 1 / hzOf(s));
        return static_cast<std::uint64_t>((std::min(longest, 5.0) + 0.25) * tickHz);
    }
    // However short the test is: none at all would be one without an end.
    std::uint64_t updatesOf(unsigned station) const {
        auto const n = static_cast<std::uint64_t>(hzOf(station) * durationS + 0.5);
        return n == 0 ? 1 : n;
    }
};

}  // namespace range
