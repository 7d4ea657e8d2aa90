// What is counted apart from all else where the program runs under callgrind (--toggle-collect).
#pragma once

#include <cstdio>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define FOMCOST_COUNTS 1
#endif
#endif

namespace fomcost {

// The program is being counted.
inline bool counting() {
#ifdef FOMCOST_COUNTS
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}
// What was counted so far is forgotten.
inline void countAnew() {
#ifdef FOMCOST_COUNTS
    CALLGRIND_ZERO_STATS;
#endif
}
// Writes a file of what was counted since; its name is in its line "desc: Trigger".
inline void saveCount(char const* what, int test, int sample) {
#ifdef FOMCOST_COUNTS
    char name[80];
    std::snprintf(name, sizeof name, "%s %d %d", what, test, sample);
    CALLGRIND_DUMP_STATS_AT(name);
#else
    (void)what, (void)test, (void)sample;
#endif
}

}  // namespace fomcost
