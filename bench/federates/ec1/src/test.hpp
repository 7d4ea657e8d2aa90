// A test as the manager describes it: who publishes for whom, and what.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ec1 {

using Json = nlohmann::json;
using Pair = std::pair<std::string, std::string>;  // publisher and subscriber

struct Test {
    int number = 0;
    std::size_t entities = 1;  // of each publisher
    double rate = 10;          // updates of an entity in a second
    std::uint64_t payload = 128;
    bool reliable = true;
    double seconds = 1;
    std::uint64_t updates = 0;  // of each entity, if not so many seconds
    int samples = 1;
    bool bundling = true;  // what is sent leaves when the RTI thinks fit
    bool spread = true;    // the entities' updates over the period; else all at once
    double lagS = 0;       // a subscriber looks only so often
    bool conflate = false;
    bool echo = false;  // members' clocks differ: they are compared by echoes
    std::vector<Pair> pairs;
    std::map<std::string, std::string> echoes;  // where each member's is reached

    std::uint64_t updatesEach() const {
        if (updates != 0) return updates;
        auto const n = static_cast<std::uint64_t>(rate * seconds + 0.5);
        return n == 0 ? 1 : n;
    }
    double period() const { return 1 / rate; }
    Json json() const {
        return {{"number", number},   {"entities", entities}, {"rate", rate},
                {"payload", payload}, {"reliable", reliable}, {"seconds", seconds},
                {"updates", updates}, {"samples", samples},   {"bundling", bundling},
                {"spread", spread},   {"lag_s", lagS},        {"conflate", conflate},
                {"pairs", pairs},     {"echo", echo},         {"echoes", echoes}};
    }
    // Throws std::invalid_argument, which says what is wrong.
    static Test parse(std::string const& text) {
        Test test;
        try {
            Json const all = Json::parse(text);
            test.number = all.at("number");
            test.entities = all.at("entities");
            test.rate = all.at("rate");
            test.payload = all.at("payload");
            test.reliable = all.at("reliable");
            test.seconds = all.at("seconds");
            test.updates = all.at("updates");
            test.samples = all.at("samples");
            test.bundling = all.at("bundling");
            test.spread = all.at("spread");
            test.lagS = all.at("lag_s");
            test.conflate = all.at("conflate");
            if (all.contains("pairs")) test.pairs = all.at("pairs").get<std::vector<Pair>>();
            test.echo = all.value("echo", false);
            if (all.contains("echoes")) {
                test.echoes = all.at("echoes").get<std::map<std::string, std::string>>();
            }
        } catch (Json::exception const& e) {
            throw std::invalid_argument("no test: " + std::string(e.what()));
        }
        bool const good = test.entities >= 1 && test.entities <= 65536 && test.rate > 0 &&
                          test.rate <= 1e6 && test.payload <= (1u << 30) && test.seconds > 0 &&
                          test.samples >= 1 && test.lagS >= 0 &&
                          test.rate * test.seconds * static_cast<double>(test.entities) < 1e9;
        if (!good) throw std::invalid_argument("a test beyond its bounds: " + text);
        return test;
    }
};

}  // namespace ec1
