// Services of systemd that don't run while something is measured. Several runs may want the same
// one to be quiet: each keeper writes down in its directory's file `quiet` which it wants so, and
// whoever is the last of them starts it again.
#pragma once

#include <string>
#include <vector>

namespace bench {

// Stops it for the keeper of this directory, if it runs or was stopped for another; false: it does
// not run. Throws what is wrong.
bool stopService(std::string const& name, std::string const& directory);

// Starts those that the file in this directory names, but for what others want to be quiet; says
// of each what became of it. Then none stands there.
std::vector<std::string> startServices(std::string const& directory);

}  // namespace bench
