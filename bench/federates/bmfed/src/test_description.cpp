#include "test_description.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "seen_stamps.hpp"

namespace bmfed {

namespace {

char const* const kKindNames[] = {"OWOT", "OWIT", "RTOL", "RTIL"};

TestKind parseKind(std::string const& value) {
    for (int i = 0; i < 4; ++i) {
        if (value == kKindNames[i]) return static_cast<TestKind>(i);
    }
    throw UsageError("test kind '" + value + "' is none of OWOT, OWIT, RTOL, RTIL");
}

std::uint64_t parseCount(std::string const& key, Json const& value, std::uint64_t min,
                         std::uint64_t max) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < min ||
        value.get<std::uint64_t>() > max) {
        throw UsageError(key + ": " + value.dump() + " is not a whole number from " +
                         std::to_string(min) + " to " + std::to_string(max));
    }
    return value.get<std::uint64_t>();
}

double parseSeconds(std::string const& key, Json const& value) {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
        throw UsageError(key + ": " + value.dump() + " is not a time in seconds");
    }
    return value.get<double>();
}

std::string parseText(std::string const& key, Json const& value) {
    if (!value.is_string()) throw UsageError(key + ": " + value.dump() + " is no text");
    return value.get<std::string>();
}

Pair parsePair(Json const& value) {
    if (!value.is_array() || value.size() != 3 || !value[2].is_array()) {
        throw UsageError("pair " + value.dump() + " is not [sender, receiver, [class, ...]]");
    }
    Pair pair{parseText("sender", value[0]), parseText("receiver", value[1]), {}};
    for (auto const& number : value[2]) {
        pair.classes.push_back(static_cast<int>(parseCount("class", number, 1, kClasses)));
    }
    return pair;
}

std::string gigabytes(std::uint64_t bytes) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g GB", static_cast<double>(bytes) * 1e-9);
    return text;
}

}  // namespace

std::string TestDescription::kindName() const { return kKindNames[static_cast<int>(kind)]; }

int TestDescription::classNumber(std::size_t pair, int type) const {
    auto const& given = pairs[pair].classes;
    return classesBefore() + (given.empty() ? static_cast<int>(pair) * types + type + 1
                                            : given[static_cast<std::size_t>(type)]);
}

std::uint64_t TestDescription::memoryBytes(std::string const& federate) const {
    auto const items = static_cast<std::uint64_t>(types) * static_cast<std::uint64_t>(instances);
    std::uint64_t const values = items * static_cast<std::uint64_t>(buffers) * bufferBytes;
    // Its recorder takes a power of two.
    std::uint64_t const trips = 2 * sizeof(float) * tripsHeld();
    std::uint64_t const seen = SeenStamps::kBytesEach * std::min(updates, SeenStamps::kKept);
    std::uint64_t const underWay = sizeof(std::uint64_t) * std::min(updates, outstandingMax);
    std::uint64_t needed = 0;
    for (auto const& pair : pairs) {
        if (pair.sender == federate) needed += values + (latency() ? trips + seen + underWay : 0);
        if (pair.receiver == federate) needed += (latency() ? values : 0) + seen;
    }
    return needed;
}

std::string TestDescription::format() const {
    Json out = {{"kind", kindName()},
                {"transport", transportName()},
                {"by_service", byService},
                {"loop", loopVersion},
                {"types", types},
                {"instances", instances},
                {"buffers", buffers},
                {"bytes", bufferBytes},
                {"updates", updates},
                {"warm_up", warmUp},
                {"samples", samples},
                {"queued_bytes_max", queuedBytesMax},
                {"queued_updates_max", queuedUpdatesMax},
                {"outstanding_max", outstandingMax},
                {"tick_min", tickMin},
                {"tick_max", tickMax},
                {"number", number},
                {"first_tag", firstTag},
                {"pairs", Json::array()}};
    for (auto const& pair : pairs) {
        out["pairs"].push_back({pair.sender, pair.receiver, pair.classes});
    }
    return out.dump();
}

TestDescription TestDescription::parse(std::string const& text) {
    TestDescription test;
    Json const fields = Json::parse(text, nullptr, false);
    if (!fields.is_object()) throw UsageError("a test is a JSON object, not: " + text);
    std::uint64_t const many = std::uint64_t{1} << 40;
    for (auto const& field : fields.items()) {
        std::string const& key = field.key();
        Json const& value = field.value();
        auto count = [&](std::uint64_t min, std::uint64_t max) {
            return parseCount(key, value, min, max);
        };
        auto number = [&](std::uint64_t max) { return static_cast<int>(count(1, max)); };
        if (key == "kind") test.kind = parseKind(parseText(key, value));
        else if (key == "transport" && value == "reliable") test.reliable = true;
        else if (key == "transport" && value == "best_effort") test.reliable = false;
        else if (key == "transport")
            throw UsageError("transport: " + value.dump() + " is neither reliable nor best_effort");
        else if (key == "by_service" && value.is_boolean()) test.byService = value.get<bool>();
        else if (key == "loop") test.loopVersion = number(4);
        else if (key == "types") test.types = number(kClasses);
        else if (key == "instances") test.instances = number(1000000);
        else if (key == "buffers") test.buffers = number(kBuffersPerClass);
        else if (key == "bytes") test.bufferBytes = count(8, std::uint64_t{1} << 30);
        else if (key == "updates") test.updates = count(1, many);
        else if (key == "warm_up") test.warmUp = count(0, many);
        else if (key == "samples") test.samples = number(10000);
        else if (key == "queued_bytes_max") test.queuedBytesMax = count(1, many);
        else if (key == "queued_updates_max") test.queuedUpdatesMax = count(1, many);
        else if (key == "outstanding_max") test.outstandingMax = count(0, many);
        else if (key == "tick_min") test.tickMin = parseSeconds(key, value);
        else if (key == "tick_max") test.tickMax = parseSeconds(key, value);
        else if (key == "number") test.number = number(1000000);
        else if (key == "first_tag") test.firstTag = static_cast<std::uint32_t>(count(1, many));
        else if (key == "pairs_max") test.pairsMax = count(1, many);
        else if (key == "pairs" && value.is_array()) {
            for (auto const& pair : value) test.pairs.push_back(parsePair(pair));
        } else throw UsageError("unknown test field '" + key + "'");
    }
    return test;
}

void TestDescription::check() const {
    if (pairs.empty()) throw UsageError("no pair given; add --pair SENDER:RECEIVER");
    int const there = byService ? kClasses : kClassesPerTransport;
    std::set<int> used;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
        auto const& given = pairs[p].classes;
        if (!given.empty() && given.size() < static_cast<std::size_t>(types)) {
            throw UsageError("a pair with " + std::to_string(given.size()) +
                             " classes can't have " + std::to_string(types) + " types");
        }
        for (int type = 0; type < types; ++type) {
            int const one = classNumber(p, type);
            if (!used.insert(one).second) {
                throw UsageError("class " + std::to_string(one) + " is used twice");
            }
            if (one > classesBefore() + there) {
                std::size_t const needed = pairs.size() * static_cast<std::size_t>(types);
                throw UsageError(std::to_string(pairs.size()) + " pairs of " +
                                 std::to_string(types) + " types need " + std::to_string(needed) +
                                 " classes; the FOM has " + std::to_string(there) +
                                 (byService ? "" : " per transportation"));
            }
        }
    }
    if (tickMin > tickMax) throw UsageError("tick_min is more than tick_max");
}

void TestDescription::checkWaits(double dataTimeoutS) const {
    // Nobody says that it lives while it waits.
    if (tickMax <= dataTimeoutS / 3) return;
    throw UsageError("tick_max (" + std::to_string(tickMax) +
                     " s) is more than a third of the time-out for data (" +
                     std::to_string(dataTimeoutS) + " s)");
}

void TestDescription::checkMemory(std::string const& federate) const {
    std::uint64_t const needed = memoryBytes(federate);
    std::uint64_t const has = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
    if (needed <= has) return;
    throw UsageError("test " + std::to_string(number) + " needs " + gigabytes(needed) +
                     " of memory in federate '" + federate + "'; its host has " + gigabytes(has));
}

}  // namespace bmfed
