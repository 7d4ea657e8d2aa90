// What a host says of itself and of its processes: /proc, /sys and little else.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace bench {

using Json = nlohmann::json;

// A file's text without the line feed at its end; "" if it can't be read.
std::string textOf(std::string const& path);

// What a directory has but what is hidden.
std::vector<std::string> namesIn(std::string const& directory);

// Where temporary files go.
std::string temporary();
// Whose directories below it are of managers and keepers: PREFIX PID-START-SPACE-...
constexpr char kPrefix[] = "starling-bench-";
// Such a directory, of this user.
bool isKeepers(std::string const& path);
// Whether PID, START, SPACE, ... name a process that lives, or may: other PID namespaces can't be
// seen. Of a directory it is whose it is.
bool alive(std::string const& id, char between);
bool aliveOf(std::string const& directory);

// What /proc says of a process behind its name: state, parent, ...; nothing if it is gone.
std::vector<std::string> statOf(int pid);
// Its start time in clock ticks since the boot; "" if it is gone or a zombie.
std::string startOf(int pid);
// The PID namespace of this process, by its number.
std::string pidSpace();
std::vector<int> everyProcess();
std::vector<int> childrenOf(int pid);
// The value of a variable in the environment that a process was started with; "": it has none.
std::string variableOf(int pid, std::string const& name);

// A process, or one below it, listens at this TCP port itself.
bool listens(int pid, int port);

// What a reader of figures must know of this host; `directory` is where files go. Looks for so many
// seconds at what processes use, and names those that use over 2 % of a CPU.
Json lookAround(double seconds, std::string const& directory);

}  // namespace bench
