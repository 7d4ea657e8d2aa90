#include "scenario.hpp"

#include <sstream>

namespace conformance {

namespace {

std::string without(std::string const &path, char cut, bool after) {
    size_t const at = path.rfind(cut);
    return at == std::string::npos ? (after ? path : "")
           : after                 ? path.substr(at + 1)
                                   : path.substr(0, at);
}

/// A line of the head of a file or scenario; false if it is a step.
bool head(Scenario &scenario, Values const &values) {
    std::string const &word = values[0].text;
    Values const rest(values.begin() + 1, values.end());
    if (values[0].kind != Value::Word)
        return false;
    if (word == "fom") {
        scenario.modules = rest;
    } else if (word == "time") {
        scenario.time = rest.empty() ? "" : rest[0].text;
    } else if (word == "only") {
        for (Value const &value : rest)
            scenario.only.push_back(value.text);
    } else if (word == "federates") {
        scenario.joined = rest;
    } else if (word == "connected") {
        scenario.connected = rest;
    } else if (word == "unconnected") {
        scenario.unconnected = rest;
    } else {
        return false;
    }
    return true;
}

}

std::vector<Scenario> readScenarios(std::string const &file) {
    std::ifstream in(file);
    if (!in)
        throw SyntaxError(file + ": cannot be opened");
    return readScenarios(file, in);
}

std::vector<Scenario> readScenarios(std::string const &file, std::istream &in) {
    Scenario common;
    common.file = file;
    common.topic = without(without(file, '/', true), '.', false);
    common.room = without(without(file, '/', false), '/', true);
    std::vector<Scenario> scenarios;
    std::string text;
    for (int line = 1; std::getline(in, text); ++line) {
        try {
            Values const values = parse(text);
            if (values.empty())
                continue;
            if (values[0].isWord("scenario")) {
                scenarios.push_back(common);
                scenarios.back().title = text.substr(text.find("scenario") + 9);
                scenarios.back().line = line;
            } else if (!head(scenarios.empty() ? common : scenarios.back(), values)) {
                if (scenarios.empty())
                    throw SyntaxError("a step before the first scenario");
                scenarios.back().steps.push_back({line, text, values});
            }
        } catch (SyntaxError const &e) {
            throw SyntaxError(file + ":" + std::to_string(line) + ": " + e.what());
        }
    }
    return scenarios;
}

}
