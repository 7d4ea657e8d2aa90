#include "test_description.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace bmfed {

namespace {

char const* const kKindNames[] = {"OWOT", "OWIT", "RTOL", "RTIL"};
char const kKeys[] =
    "kind, transport, loop, types, instances, buffers, bytes, updates, samples, "
    "queued_bytes_max, queued_updates_max, outstanding_max, tick_min, tick_max";

TestKind parseKind(std::string const& value) {
    for (int i = 0; i < 4; ++i) {
        if (value == kKindNames[i]) return static_cast<TestKind>(i);
    }
    throw UsageError("test kind '" + value + "' is none of OWOT, OWIT, RTOL, RTIL");
}

std::vector<Pair> parsePairs(std::string const& value) {
    std::vector<Pair> pairs;
    for (auto const& one : split(value, '+')) {
        auto const names = split(one, ':');
        if (names.size() != 2) throw UsageError("pair '" + one + "' is not SENDER:RECEIVER");
        pairs.push_back(Pair{names[0], names[1]});
    }
    return pairs;
}

}  // namespace

std::vector<std::string> split(std::string const& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

std::map<std::string, std::string> parseFields(std::string const& text) {
    std::map<std::string, std::string> fields;
    for (auto const& part : split(text, ',')) {
        auto const equals = part.find('=');
        if (equals == std::string::npos) throw UsageError("'" + part + "' is not key=value");
        if (!fields.emplace(part.substr(0, equals), part.substr(equals + 1)).second) {
            throw UsageError("'" + part.substr(0, equals) + "' is given twice");
        }
    }
    return fields;
}

std::uint64_t parseCount(std::string const& key, std::string const& value, std::uint64_t min,
                         std::uint64_t max) {
    char* end = nullptr;
    errno = 0;
    unsigned long long const number = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || value[0] == '-' || *end != '\0' || errno != 0 || number < min ||
        number > max) {
        throw UsageError(key + "=" + value + " is not a whole number from " + std::to_string(min) +
                         " to " + std::to_string(max));
    }
    return number;
}

double parseSeconds(std::string const& key, std::string const& value) {
    char* end = nullptr;
    double const seconds = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !std::isfinite(seconds) || seconds < 0) {
        throw UsageError(key + "=" + value + " is not a time in seconds");
    }
    return seconds;
}

std::string TestDescription::kindName() const { return kKindNames[static_cast<int>(kind)]; }

int TestDescription::classNumber(std::size_t pair, int type) const {
    return (reliable ? 0 : kClassesPerTransport) + static_cast<int>(pair) * types + type + 1;
}

std::size_t TestDescription::pairOf(int number) const {
    return static_cast<std::size_t>((number - 1 - (reliable ? 0 : kClassesPerTransport)) / types);
}

std::string TestDescription::format() const {
    std::ostringstream out;
    out << "kind=" << kindName() << ",transport=" << transportName() << ",loop=" << loopVersion
        << ",types=" << types << ",instances=" << instances << ",buffers=" << buffers
        << ",bytes=" << bufferBytes << ",updates=" << updates << ",samples=" << samples
        << ",queued_bytes_max=" << queuedBytesMax << ",queued_updates_max=" << queuedUpdatesMax
        << ",outstanding_max=" << outstandingMax << ",tick_min=" << tickMin
        << ",tick_max=" << tickMax << ",number=" << number << ",first_tag=" << firstTag
        << ",pairs=";
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        out << (i == 0 ? "" : "+") << pairs[i].sender << ':' << pairs[i].receiver;
    }
    return out.str();
}

TestDescription TestDescription::parse(std::string const& text) {
    TestDescription test;
    std::uint64_t const many = std::uint64_t{1} << 40;
    for (auto const& field : parseFields(text)) {
        std::string const& key = field.first;
        std::string const& value = field.second;
        auto count = [&](std::uint64_t min, std::uint64_t max) {
            return parseCount(key, value, min, max);
        };
        if (key == "kind") test.kind = parseKind(value);
        else if (key == "transport" && value == "reliable") test.reliable = true;
        else if (key == "transport" && value == "best_effort") test.reliable = false;
        else if (key == "transport")
            throw UsageError("transport '" + value + "' is neither reliable nor best_effort");
        else if (key == "loop") test.loopVersion = static_cast<int>(count(1, 3));
        else if (key == "types") test.types = static_cast<int>(count(1, kClassesPerTransport));
        else if (key == "instances") test.instances = static_cast<int>(count(1, 1000000));
        else if (key == "buffers") test.buffers = static_cast<int>(count(1, kBuffersPerClass));
        else if (key == "bytes") test.bufferBytes = count(8, std::uint64_t{1} << 30);
        else if (key == "updates") test.updates = count(1, many);
        else if (key == "samples") test.samples = static_cast<int>(count(1, 10000));
        else if (key == "queued_bytes_max") test.queuedBytesMax = count(1, many);
        else if (key == "queued_updates_max") test.queuedUpdatesMax = count(1, many);
        else if (key == "outstanding_max") test.outstandingMax = count(0, many);
        else if (key == "tick_min") test.tickMin = parseSeconds(key, value);
        else if (key == "tick_max") test.tickMax = parseSeconds(key, value);
        else if (key == "number") test.number = static_cast<int>(count(1, 1000000));
        else if (key == "first_tag") test.firstTag = static_cast<std::uint32_t>(count(1, many));
        else if (key == "pairs") test.pairs = parsePairs(value);
        else throw UsageError("unknown test field '" + key + "'; known: " + kKeys);
    }
    return test;
}

void TestDescription::check() const {
    if (pairs.empty()) throw UsageError("no pair given; add --pair SENDER:RECEIVER");
    std::size_t const classes = pairs.size() * static_cast<std::size_t>(types);
    if (classes > static_cast<std::size_t>(kClassesPerTransport)) {
        throw UsageError(std::to_string(pairs.size()) + " pairs of " + std::to_string(types) +
                         " types need " + std::to_string(classes) + " classes; the FOM has " +
                         std::to_string(kClassesPerTransport) + " per transportation");
    }
}

}  // namespace bmfed
