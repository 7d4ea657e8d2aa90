#include "scenario.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace conformance {

std::atomic<long> progress(0);

namespace {

std::mutex placeMutex;
std::string currentPlace;

void at(std::string const &where) {
    std::lock_guard<std::mutex> lock(placeMutex);
    currentPlace = where;
    ++progress;
}

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string const &wordOf(Value const &value) { return value.text; }

/// Where the outcome begins: `->`, `=` or `!!`.
size_t outcomeOf(Values const &values, size_t from) {
    auto const begins = [](Value const &v) {
        return v.isWord("->") || v.isWord("=") || v.isWord("!!");
    };
    while (from < values.size() && !begins(values[from]))
        ++from;
    return from;
}

}

std::string place() {
    std::lock_guard<std::mutex> lock(placeMutex);
    return currentPlace;
}

std::string Run::name() const {
    static char const *const placements[] = {"one-thread", "threads", "processes"};
    return std::string(arrangement.model == rti1516e::HLA_EVOKED ? "evoked" : "immediate") + "+" +
           placements[static_cast<int>(placement)];
}

Results::Results(std::string const &path) {
    if (!path.empty())
        out_.open(path, std::ios::trunc);
}

void Results::note(Scenario const &scenario, Run const &run, char const *kind,
                   std::string const &name, std::string const &exception) {
    out_ << scenario.room << '\t' << scenario.topic << '\t' << run.name() << '\t' << kind << '\t'
         << name << '\t' << exception << std::endl;
}

Link &Conductor::link(std::string const &federate) {
    auto const found = std::find(names_.begin(), names_.end(), federate);
    if (found == names_.end())
        throw Failure("no federate of this scenario: " + federate);
    size_t const index = static_cast<size_t>(found - names_.begin());
    while (pool_.size() <= index)
        pool_.push_back(nullptr);
    if (!pool_[index])
        pool_[index] = makeLink(run_.placement, run_.arrangement, run_.program);
    return *pool_[index];
}

std::string Conductor::ask(std::string const &federate, std::string const &line) {
    if (run_.pause > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(
            std::uniform_real_distribution<double>(0, run_.pause)(random_)));
    std::string const reply = link(federate).ask(line, run_.wait + 40);
    ++progress;
    if (run_.verbose)
        std::cerr << "    " << federate << ": " << line << "\n        " << reply << "\n";
    if (reply.compare(0, 4, "bad ") == 0)
        throw Failure(federate + ": " + reply.substr(4));
    return reply;
}

Value Conductor::substitute(Value const &value) const {
    Value result = value;
    for (Value &item : result.items)
        item = substitute(item);
    if (value.kind == Value::Pair && result.items[0].kind == Value::List)
        result.items[0] = Value(Value::Word, encoded(result.items[0].items));
    bool const named = value.kind == Value::Word || value.kind == Value::Pair;
    if (named && value.text.size() > 1 && value.text[0] == '$' && value.text[1] != '{') {
        auto const found = variables_.find(value.text.substr(1));
        if (found == variables_.end())
            throw Failure("no variable " + value.text);
        if (value.kind == Value::Word)
            return found->second;
        result.text = found->second.text;
    }
    if (value.kind == Value::Text || value.kind == Value::Pair) {
        for (size_t from = 0; (from = result.text.find("${", from)) != std::string::npos;) {
            size_t const end = result.text.find('}', from);
            std::string const name =
                result.text.substr(from + 2, end == std::string::npos ? end : end - from - 2);
            auto const found = variables_.find(name);
            if (found == variables_.end())
                throw Failure("no variable ${" + name + "}");
            result.text.replace(from, end - from + 1, found->second.text);
            from += found->second.text.size();
        }
    }
    return result;
}

/// Handles by the names of the variables that hold them.
std::string Conductor::readable(std::string const &text) const {
    std::string out = text;
    for (auto const &variable : variables_) {
        std::string const &code = variable.second.text;
        if (code.size() < 5 || code[0] != '@')
            continue;
        for (size_t at = 0; (at = out.find(code, at)) != std::string::npos;) {
            bool const whole =
                (at == 0 || std::string(" {[=(").find(out[at - 1]) != std::string::npos) &&
                (at + code.size() == out.size() ||
                 std::string(" }])=\t").find(out[at + code.size()]) != std::string::npos);
            if (whole)
                out.replace(at, code.size(), "$" + variable.first);
            at += 1;
        }
    }
    return out;
}

void Conductor::begin(Scenario const &scenario) {
    scenario_ = &scenario;
    names_.clear();
    variables_.clear();
    armed_.clear();
    for (Values const *list : {&scenario.joined, &scenario.connected, &scenario.unconnected})
        for (Value const &value : *list)
            names_.push_back(value.text);
    std::string const federation = scenario.room + "/" + scenario.topic + " " +
                                   std::to_string(::getpid()) + "-" + std::to_string(++number_);
    variables_.insert({"federation", Value(Value::Text, federation)});
    variables_.insert({"foms", Value(Value::Text, run_.foms)});
    bool first = true;
    for (Value const &federate : scenario.joined) {
        std::string const name = federate.text;
        std::vector<std::string> lines = {"connect"};
        if (first) {
            Value modules(Value::List);
            for (Value const &module : scenario.modules)
                modules.items.push_back(Value(Value::Text, run_.foms + "/" + module.text));
            lines.push_back("createFederationExecution " + quoted(federation) + " " +
                            print(modules) +
                            (scenario.time.empty() ? "" : " " + quoted(scenario.time)));
        }
        lines.push_back("joinFederationExecution " + quoted(name) + " \"test\" " +
                        quoted(federation) + " -> " + name);
        first = false;
        for (std::string const &line : lines)
            call(name, parse(line), 0);
    }
    for (Value const &federate : scenario.connected)
        call(federate.text, parse("connect"), 0);
    settle(); // everybody has heard of everybody
}

void Conductor::call(std::string const &federate, Values const &values, size_t from) {
    size_t const outcome = outcomeOf(values, from);
    Values line;
    for (size_t i = from; i < outcome; ++i)
        line.push_back(substitute(values[i]));
    std::string const reply = ask(federate, "call " + print(line));
    check(line, Values(values.begin() + static_cast<long>(outcome), values.end()), reply);
}

/// Compares a reply with `-> variable`, `= value`, `!! Exception ["part of its text" ...]` or
/// nothing.
void Conductor::check(Values const &call, Values const &outcome, std::string const &reply) {
    Values const got = parse(reply);
    std::string const service = wordOf(call[0]);
    bool const threw = got[0].isWord("ex");
    if (!outcome.empty() && outcome[0].isWord("!!")) {
        if (outcome.size() < 2)
            throw Failure("an exception's name is missing after !!");
        if (!threw)
            throw Failure("expected " + outcome[1].text +
                          ", got a normal return: " + readable(reply));
        if (got[1].text != outcome[1].text)
            throw Failure("expected " + outcome[1].text + ", got " + readable(reply.substr(3)));
        for (size_t i = 2; i < outcome.size(); ++i)
            if (got[2].text.find(substitute(outcome[i]).text) == std::string::npos)
                throw Failure("expected " + print(outcome[i]) +
                              " in the text of the exception, got " + reply.substr(3));
        if (run_.texts && (got[2].text.find(service + ":") == std::string::npos ||
                           got[2].text.find("(1516.1-2010, ") == std::string::npos))
            throw Failure("expected the service and its clause in the text of the exception, got " +
                          reply.substr(3));
        // Names that users gave stand in a text as they are, all else is ASCII.
        std::string const given = print(call);
        auto const foreign = [&](char c) {
            return (c & 0x80) != 0 && given.find(c) == std::string::npos;
        };
        if (run_.texts && std::any_of(got[2].text.begin(), got[2].text.end(), foreign))
            throw Failure("expected a text in ASCII, got " + reply.substr(3));
        results_.note(*scenario_, run_, "exception", service, got[1].text);
        return;
    }
    if (threw)
        throw Failure("expected no exception, got " + readable(reply.substr(3)));
    results_.note(*scenario_, run_, "service", service);
    Values const result(got.begin() + 1, got.end());
    for (size_t i = 0; i < outcome.size();) {
        if (outcome[i].isWord("->") && i + 1 < outcome.size()) {
            if (result.empty())
                throw Failure(service + " returned nothing for " + outcome[i + 1].text);
            variables_.erase(outcome[i + 1].text);
            variables_.insert({outcome[i + 1].text, result[0]});
            i += 2;
        } else if (outcome[i].isWord("=")) {
            size_t const end = outcomeOf(outcome, i + 1);
            Values expected;
            for (++i; i < end; ++i)
                expected.push_back(substitute(outcome[i]));
            if (!matches(expected, result, variables_))
                throw Failure("expected " + readable(print(expected)) + ", got " +
                              readable(print(result)));
        } else {
            throw Failure("not an outcome: " + print(outcome, i));
        }
    }
}

/// `FEDERATE <- CALLBACK ...`: exactly this comes next. Neighbouring `<~` lines: these, in any
/// order.
void Conductor::expect(Scenario const &scenario, size_t &at) {
    Values const first = scenario.steps[at].values;
    std::string const federate = wordOf(first[0]);
    std::vector<std::pair<Values, std::string>> wanted;
    bool const any = first[1].isWord("<~");
    for (; at < scenario.steps.size(); ++at) {
        Values const &values = scenario.steps[at].values;
        if (!wanted.empty() && !(any && values.size() > 2 && values[0].isWord(federate.c_str()) &&
                                 values[1].isWord("<~")))
            break;
        if (values.size() < 3)
            throw Failure("a callback's name is missing");
        Values expected;
        for (size_t i = 2; i < values.size(); ++i)
            expected.push_back(substitute(values[i]));
        wanted.push_back({expected, scenario.steps[at].text});
    }
    --at;
    while (!wanted.empty()) {
        std::string const reply =
            ask(federate, "next " + std::to_string(static_cast<int>(run_.wait)));
        std::string const came = reply.substr(0, reply.find('\t'));
        if (came == "none")
            throw Failure("expected of " + federate + ": " + readable(print(wanted[0].first)) +
                          ", got no callback in " + std::to_string(static_cast<int>(run_.wait)) +
                          " s");
        Values const got = parse(came.substr(3));
        auto found = wanted.begin();
        while (found != wanted.end() && !matches(found->first, got, variables_))
            ++found;
        if (found == wanted.end()) {
            std::string all;
            for (auto const &w : wanted)
                all += (all.empty() ? "" : "\n      or ") + readable(print(w.first));
            throw Failure("expected " + all + "\n    got " + readable(came.substr(3)));
        }
        consume(federate, reply);
        wanted.erase(found);
    }
}

/// Notes a callback, with the calls that were made within it.
void Conductor::consume(std::string const &federate, std::string const &reply) {
    size_t tab = reply.find('\t');
    std::string const name = wordOf(parse(reply.substr(0, tab))[1]);
    results_.note(*scenario_, run_, "callback", name);
    auto &armed = armed_[federate];
    while (tab != std::string::npos) {
        size_t const end = reply.find('\t', tab + 1);
        std::string const within =
            reply.substr(tab + 4, end == std::string::npos ? end : end - tab - 4);
        tab = end;
        auto const found = std::find_if(armed.begin(), armed.end(),
                                        [&](Expected const &e) { return e.callback == name; });
        if (found == armed.end())
            throw Failure("a call within " + name + " that nobody wanted");
        Expected const expected = *found;
        armed.erase(found);
        if (within.compare(0, 4, "bad ") == 0)
            throw Failure(federate + " within " + name + ": " + within.substr(4));
        if (!expected.call[0].isWord("throw"))
            check(expected.call, expected.outcome, within);
    }
}

/// `FEDERATE </- CALLBACK`: it does not come, nor does any other.
void Conductor::absent(std::string const &federate, Values const &values) {
    settle();
    std::string const reply = ask(federate, "next 0");
    if (reply != "none")
        throw Failure("expected no callback of " + federate + ", got " + readable(reply.substr(3)));
    for (size_t i = 2; i < values.size(); ++i)
        results_.note(*scenario_, run_, "absent", wordOf(values[i]));
}

/// Twice round, so that what one federate caused at another is caught on the second round.
void Conductor::settle() {
    for (int round = 0; round < 2; ++round)
        for (std::string const &name : names_)
            ask(name, "settle " + std::to_string(static_cast<int>(run_.wait)));
}

void Conductor::quiet() {
    settle();
    for (std::string const &name : names_) {
        std::string const reply = ask(name, "next 0");
        if (reply != "none")
            throw Failure("expected quiet, got at " + name + ": " + readable(reply.substr(3)));
    }
}

void Conductor::step(Scenario const &scenario, size_t &at) {
    Values const &values = scenario.steps[at].values;
    std::string const first = wordOf(values[0]);
    if (first == "quiet" && values.size() == 1)
        return quiet();
    if (first == "settle" && values.size() == 1)
        return settle();
    if (first == "kill" && values.size() == 2) {
        std::string const &federate = values[1].text;
        if (!link(federate).kill())
            throw Failure("only a federate in a process of its own can be killed: only processes");
        size_t const index =
            static_cast<size_t>(std::find(names_.begin(), names_.end(), federate) - names_.begin());
        pool_[index].reset();
        return;
    }
    if (first == "cut" && values.size() == 1) {
        if (std::system(run_.cut.c_str()) != 0)
            throw Failure("failed: " + run_.cut);
        return;
    }
    if (values.size() < 2)
        throw Failure("not a step");
    if (values[1].isWord("<-") || values[1].isWord("<~"))
        return expect(scenario, at);
    if (values[1].isWord("</-"))
        return absent(first, values);
    if (values[1].isWord("within")) {
        if (values.size() < 4)
            throw Failure("FEDERATE within CALLBACK SERVICE ...");
        size_t const outcome = outcomeOf(values, 3);
        Expected expected;
        expected.callback = values[2].text;
        for (size_t i = 3; i < outcome; ++i)
            expected.call.push_back(substitute(values[i]));
        expected.outcome.assign(values.begin() + static_cast<long>(outcome), values.end());
        ask(first, "within " + expected.callback + " " + print(expected.call));
        armed_[first].push_back(expected);
        return;
    }
    call(first, values, 1);
}

/// Nothing was left over; everybody leaves.
void Conductor::finish(Scenario const &scenario) {
    std::string const federation = variables_.at("federation").text;
    for (size_t i = 0; i < names_.size() && i < pool_.size(); ++i)
        if (pool_[i])
            ask(names_[i],
                "reset " + quoted(i + 1 == names_.size() || i + 1 == scenario.joined.size()
                                      ? federation
                                      : ""));
}

int Conductor::play(Scenario const &scenario) {
    std::string where = scenario.file + ":" + std::to_string(scenario.line);
    std::string doing = "as it begins";
    size_t next = 0;
    int line = scenario.line;
    try {
        at(where + ": scenario " + scenario.title);
        if (run_.verbose)
            std::cerr << where << ": scenario " << scenario.title << "\n";
        begin(scenario);
        for (; next < scenario.steps.size(); ++next) {
            Step const &step = scenario.steps[next];
            line = step.line;
            where = scenario.file + ":" + std::to_string(line);
            doing = step.text;
            at(where + ": " + step.text);
            if (run_.verbose)
                std::cerr << "  " << step.line << ": " << step.text << "\n";
            this->step(scenario, next);
        }
        doing = "as it ends";
        quiet();
        for (auto const &federate : armed_)
            if (!federate.second.empty())
                throw Failure("no callback " + federate.second[0].callback + " came to " +
                              federate.first + " for a call within it");
        finish(scenario);
        return 0;
    } catch (std::exception const &e) {
        std::cerr << where << ": [" << run_.name() << "] scenario " << scenario.title << "\n    "
                  << doing << "\n    " << e.what() << "\n";
    }
    for (size_t i = 0; i < names_.size() && i < pool_.size(); ++i) {
        try {
            for (int shown = 0; pool_[i] && shown < 10; ++shown) {
                std::string const reply = ask(names_[i], "next 0");
                if (reply == "none")
                    break;
                std::cerr << "    then at " << names_[i] << ": " << readable(reply.substr(3))
                          << "\n";
            }
        } catch (std::exception const &) {
        }
    }
    try {
        finish(scenario);
    } catch (std::exception const &) {
        pool_.clear();
    }
    return line;
}

}
