// Bounds every wait inside the RTI: a service that does not return, or a federate that gets
// nowhere, ends the process with one clear message instead of holding up the run for ever.
#pragma once

#include <string>

namespace bmfed {

class Watchdog {
public:
    // From now on the process ends with `exitCode` after `seconds`, unless armed again before. The
    // message is `text`, or the last RTI service that was called. Once armed it stays so until the
    // process ends.
    static void arm(double seconds, int exitCode, std::string const& text = std::string());

    // Where the endpoint says which service it is in; the text must be static.
    static char const* volatile* service() { return &service_; }

private:
    static void bark(int);
    static char const* volatile service_;
};

}  // namespace bmfed
