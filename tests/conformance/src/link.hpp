// The way from the conductor to a federate: in its thread, in a thread or a process of its own.
#pragma once

#include "federate.hpp"

namespace conformance {

enum class Placement { OneThread, Threads, Processes };

/// The federate does not answer any more.
struct LinkDown : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Link {
public:
    virtual ~Link() {}
    /// One command line, one reply line. Throws LinkDown after `seconds` without a reply.
    virtual std::string ask(std::string const &line, double seconds) = 0;
    /// Ends the federate without any goodbye; only a process can.
    virtual bool kill() { return false; }
};

/// `program` is this executable, which is its own federate process.
std::unique_ptr<Link> makeLink(Placement, Arrangement const &, std::string const &program);

/// Serves command lines from a descriptor until it ends.
void serve(Federate &, int in, int out);

}
