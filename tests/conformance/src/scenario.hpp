// Scenario files: reading and playing.
#pragma once

#include "link.hpp"

#include <atomic>
#include <fstream>
#include <functional>
#include <random>

namespace conformance {

struct Step {
    int line;
    std::string text;
    Values values;
};

/// One scenario of a file: a federation execution of its own, from nothing to nothing.
struct Scenario {
    std::string file, room, topic, title;
    int line = 0;
    Values modules;                        // FOM modules of the federation execution
    std::string time;                      // logical time implementation
    std::vector<std::string> only;         // evoked, immediate, processes, cut
    Values joined, connected, unconnected; // federates by what they are when it begins
    std::vector<Step> steps;
};

/// Reads a file; throws SyntaxError with its place.
std::vector<Scenario> readScenarios(std::string const &file);
/// Reads scenarios from text.
std::vector<Scenario> readScenarios(std::string const &file, std::istream &);
/// Scenarios that call every service of the API's table where it must throw, whatever its
/// arguments.
std::vector<Scenario> sweep(std::string const &table);

struct Run {
    Arrangement arrangement;
    Placement placement = Placement::OneThread;
    std::string program, foms;
    std::string cut;    // command that kills the RTI's process
    double wait = 120;  // seconds for anything that has to come
    double pause = 0;   // seconds before a step, random, at most: no outcome may depend on haste
    bool texts = false; // exceptions must name service and clause
    bool verbose = false;
    std::string name() const;
};

/// What scenarios showed, a line each: room, topic, arrangement, kind, name, exception.
class Results {
public:
    explicit Results(std::string const &path);
    void note(Scenario const &, Run const &, char const *kind, std::string const &name,
              std::string const &exception = "-");

private:
    std::ofstream out_;
};

/// Where the play is, for whoever watches that it goes on.
extern std::atomic<long> progress;
extern std::string place();

/// Plays scenarios one after the other, with the same federates.
class Conductor {
public:
    Conductor(Run const &run, Results &results) : run_(run), results_(results) {}

    /// 0, or the line that failed after telling on standard error what went wrong.
    int play(Scenario const &);

private:
    struct Expected {
        std::string callback;
        Values outcome; // tokens after the call
        Values call;
    };

    void begin(Scenario const &);
    void step(Scenario const &, size_t &at);
    void call(std::string const &federate, Values const &, size_t from);
    void check(Values const &call, Values const &outcome, std::string const &reply);
    void expect(Scenario const &, size_t &at);
    void consume(std::string const &federate, std::string const &reply);
    void absent(std::string const &federate, Values const &);
    void settle();
    void quiet();
    void finish(Scenario const &);
    Link &link(std::string const &federate);
    std::string ask(std::string const &federate, std::string const &line);
    Value substitute(Value const &) const;
    std::string readable(std::string const &) const;

    Run const run_;
    Results &results_;
    Scenario const *scenario_ = nullptr;
    std::vector<std::unique_ptr<Link>> pool_;
    std::vector<std::string> names_; // federates of the scenario, as in the pool
    Variables variables_;
    std::map<std::string, std::vector<Expected>> armed_;
    int number_ = 0;
    std::mt19937 random_{std::random_device{}()};
};

}
