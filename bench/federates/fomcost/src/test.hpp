// What one test updates, as the study says it: JSON on the sender's command line, and what the
// receiver is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/codec.hpp"
#include "control_pipe.hpp"

namespace fomcost {

using bench::Json;
using bench::UsageError;

struct Test {
    int number = 0;
    bool reliable = true;   // all of an update
    bool object = true;     // attributes of an instance, else parameters of an interaction
    std::string className;  // below the root; by layout, or of the file
    std::vector<std::string> fields;  // that an update has, in the order of its values; the same
    Json messages;       // which of its values have one transportation: lists of their places
    std::string layout;  // empty: values come from the file
    Content content = 0;
    std::uint8_t mode = STATIC;
    std::string key;  // of its values in that file
    std::uint64_t repetitions = 5000, warmUp = 200;
    int samples = 5;
    double gapS = 0.001;
    std::uint64_t seed = 1;

    // Throws UsageError, naming the field. `file` (key to "class", "fields" and "updates", each a
    // list of values in hexadecimal) has what tests without a layout update.
    static Test parse(std::string const& text, Json const& file = Json::object());
};

// The values that its updates have in turn, made before anything is measured.
struct Pool {
    std::vector<Spatial> spatial;             // none where they come from a file
    std::vector<std::vector<Octets>> values;  // by update, then field
};
// Throws UsageError: the file's are not the test's.
Pool poolOf(Test const& test, Json const& file);

std::string hexOf(Octets const& value);
Octets octetsOf(std::string const& hex);

}  // namespace fomcost
