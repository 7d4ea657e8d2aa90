#include "test.hpp"

#include <cmath>
#include <numeric>
#include <random>

namespace fomcost {

namespace {

// So many updates differ; then they come again.
std::size_t const kPool = 32;

std::uint64_t whole(std::string const& key, Json const& value, std::uint64_t min,
                    std::uint64_t max) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < min ||
        value.get<std::uint64_t>() > max) {
        throw UsageError(key + ": " + value.dump() + " is not a whole number from " +
                         std::to_string(min) + " to " + std::to_string(max));
    }
    return value.get<std::uint64_t>();
}

std::string text(std::string const& key, Json const& value) {
    if (!value.is_string()) throw UsageError(key + ": " + value.dump() + " is no text");
    return value.get<std::string>();
}

// Somewhere near the ground, as fast as an aircraft.
Spatial drawn(std::mt19937_64& random, std::uint8_t mode) {
    auto real = [&](double most) {
        return std::uniform_real_distribution<double>(-most, most)(random);
    };
    auto triple = [&](double most) {
        auto one = [&] { return static_cast<float>(real(most)); };
        float const x = one(), y = one(), z = one();
        return Triple{x, y, z};
    };
    Spatial s;
    double const x = real(6.4e6), y = real(6.4e6), z = real(6.4e6);
    s.location = {x, y, z};
    s.orientation = triple(3.14);
    s.velocity = triple(300);
    s.angularVelocity = triple(1);
    s.acceleration = triple(30);
    s.mode = mode;
    s.frozen = (random() & 1) != 0;
    return s;
}

// The attributes or parameters that a layout's codec makes values of, in its order.
std::vector<std::string> fieldsOf(Test const& test) {
    Content const content = test.content;
    if (test.layout != "multiple") {
        return {content == 0 ? "Spatial" : "Spatial" + std::to_string(content)};
    }
    std::vector<std::string> fields{"WorldLocation"};
    if (content != 1) fields.push_back("Orientation");
    if (content == 0 ? hasVelocity(test.mode) : content > 2) fields.push_back("VelocityVector");
    if (content == 0 ? hasAngularVelocity(test.mode) : content > 3)
        fields.push_back("AngularVelocityVector");
    if (content == 0 ? hasAcceleration(test.mode) : content > 4)
        fields.push_back("AccelerationVector");
    if (content > 5) fields.push_back("DeadReckoningAlgorithm");
    if (content > 6) fields.push_back("IsFrozen");
    return fields;
}

}  // namespace

Test Test::parse(std::string const& from, Json const& file) {
    Test test;
    Json const fields = Json::parse(from, nullptr, false);
    if (!fields.is_object()) throw UsageError("a test is a JSON object, not: " + from);
    std::uint64_t const many = 1000000000;
    for (auto const& field : fields.items()) {
        std::string const& key = field.key();
        Json const& value = field.value();
        if (key == "number") test.number = static_cast<int>(whole(key, value, 1, 1000000));
        else if (key == "kind" && value == "object") test.object = true;
        else if (key == "kind" && value == "interaction") test.object = false;
        else if (key == "transport" &&
                 (value == "reliable" || value == "best_effort" || value == "both_transportations"))
            test.reliable = value == "reliable";
        else if (key == "class") test.className = text(key, value);
        else if (key == "fields" && value.is_array()) {
            for (auto const& name : value) test.fields.push_back(text(key, name));
        } else if (key == "layout") test.layout = text(key, value);
        else if (key == "content") test.content = static_cast<int>(whole(key, value, 0, 7));
        else if (key == "mode") test.mode = static_cast<std::uint8_t>(whole(key, value, 1, 9));
        else if (key == "key") test.key = text(key, value);
        else if (key == "repetitions") test.repetitions = whole(key, value, 1, many);
        else if (key == "warm_up") test.warmUp = whole(key, value, 0, many);
        else if (key == "samples") test.samples = static_cast<int>(whole(key, value, 1, 10000));
        else if (key == "gap_ms" && value.is_number() && value.get<double>() >= 0)
            test.gapS = std::min(value.get<double>(), 60000.0) * 1e-3;
        else if (key == "seed") test.seed = whole(key, value, 0, ~std::uint64_t{0});
        else throw UsageError("test field '" + key + "' is unknown, or has no such value");
    }
    if (!test.key.empty()) {
        auto const found = file.find(test.key);
        if (found == file.end()) {
            throw UsageError("the file of values has none of '" + test.key + "'");
        }
        test.className = text("class", found->at("class"));
        test.fields = found->at("fields").get<std::vector<std::string>>();
        test.messages = found->value("messages", Json());
    } else if (!test.layout.empty()) {
        bool byHand = false;
        if (!codecOf(test.layout, &byHand)) {
            throw UsageError("layout '" + test.layout +
                             "' is none of multiple, fixed, variable, variant, standard");
        }
        test.className = test.reliable ? "FomCostReliable." : "FomCostBestEffort.";
        test.className += test.layout;
        char& first = test.className[test.className.size() - test.layout.size()];
        first = static_cast<char>(first - 'a' + 'A');
        test.fields = fieldsOf(test);
    }
    if (test.messages.is_null()) {
        std::vector<std::size_t> every(test.fields.size());
        std::iota(every.begin(), every.end(), 0);
        test.messages = Json::array({every});
    }
    if (test.className.empty() || test.fields.empty()) throw UsageError("a test without class");
    return test;
}

Pool poolOf(Test const& test, Json const& file) {
    Pool pool;
    if (test.layout.empty()) {
        for (auto const& update : file.at(test.key).at("updates")) {
            std::vector<Octets> values;
            for (auto const& hex : update) values.push_back(octetsOf(hex.get<std::string>()));
            if (values.size() != test.fields.size()) {
                throw UsageError("'" + test.key + "' has " + std::to_string(values.size()) +
                                 " values, its test " + std::to_string(test.fields.size()));
            }
            pool.values.push_back(std::move(values));
        }
        if (pool.values.empty()) throw UsageError("'" + test.key + "' has no updates");
        return pool;
    }
    std::mt19937_64 random(test.seed * 1000003 + static_cast<std::uint64_t>(test.number));
    bool byHand = false;
    auto const codec = codecOf(test.layout, &byHand);
    for (std::size_t n = 0; n < kPool; ++n) {
        pool.spatial.push_back(drawn(random, test.mode));
        pool.values.emplace_back();
        codec->encode(pool.spatial.back(), test.content, pool.values.back());
        if (pool.values.back().size() != test.fields.size()) {
            throw UsageError("layout '" + test.layout + "' makes " +
                             std::to_string(pool.values.back().size()) + " values, its test has " +
                             std::to_string(test.fields.size()) + " fields");
        }
    }
    return pool;
}

std::string hexOf(Octets const& value) {
    static char const digits[] = "0123456789abcdef";
    std::string out;
    for (unsigned const octet : value) {
        out += digits[octet >> 4];
        out += digits[octet & 15];
    }
    return out;
}

Octets octetsOf(std::string const& hex) {
    auto digit = [&](char c) -> unsigned {
        if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
        if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
        throw UsageError("'" + hex + "' is not hexadecimal");
    };
    if (hex.size() % 2 != 0) throw UsageError("'" + hex + "' is not hexadecimal");
    Octets out;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        out.push_back(static_cast<unsigned char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
    return out;
}

}  // namespace fomcost
