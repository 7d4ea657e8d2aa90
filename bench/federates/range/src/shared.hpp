// What the interface and its user interface share: memory that the user interface makes and hands
// on as a file descriptor. Another reader finds it as that descriptor of the interface's process,
// so nothing of it is left when both have ended.
//
// Invariant: each field has one writer. The interface never waits for a reader.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>

namespace range {

constexpr unsigned kFederates = 10, kElements = 60;
constexpr std::uint64_t kSamples = 1 << 16;  // two minutes of ten federates at 60 Hz

// The latest of one federate.
struct Entry {
    std::uint32_t handle;  // its number; 0: nothing came of it yet
    std::uint32_t count;   // of its messages
    std::uint64_t currentNs;
    std::int64_t deliveryNs;
};
// One update of the interface's own.
struct Element {
    std::uint64_t number;  // of elements, from 1
    std::uint64_t atNs;
    Entry entries[kFederates];
};
// One message that came.
struct Sample {
    std::uint64_t arrivedNs;
    std::int64_t deliveryNs;
    std::uint32_t count;
    std::uint16_t sender, test;
};
static_assert(sizeof(Sample) == 24, "as it stands in files");

enum class State : std::uint32_t { starting, joined, measuring, ended };

struct Shared {
    static constexpr std::uint64_t kMagic = 0x3330474e41524c53;  // "SLRANG03"

    std::uint64_t magic;
    // Events for the interface: it looks at them in each turn.
    std::atomic<std::uint32_t> start, resign, logging;
    // Of the interface.
    std::atomic<std::uint32_t> state, test, own;
    std::atomic<std::uint64_t> turns;
    char name[64], error[256];
    std::atomic<std::uint64_t> missed, late, lateNsMax;  // deadlines of its timer
    std::atomic<std::uint64_t> startedNs, endedNs;       // live: when it had seen the events
    alignas(64) std::atomic<std::uint64_t> elements;     // written so far
    Element ring[kElements];
    // Every message, for the log.
    alignas(64) std::atomic<std::uint64_t> put;
    std::atomic<std::uint64_t> dropped[kFederates + 1];  // by sender
    alignas(64) std::atomic<std::uint64_t> taken;        // the reader's
    std::atomic<std::uint64_t> written;                  // on disk, or left out as logging is off
    std::atomic<std::uint64_t> read, overrun;            // elements, and those that it missed
    std::atomic<std::uint64_t> readTo;                   // it has looked as far as this
    Sample samples[kSamples];

    // How many samples were left out, of each sender.
    std::array<std::uint64_t, kFederates + 1> droppedOf() const {
        std::array<std::uint64_t, kFederates + 1> found;
        std::copy(std::begin(dropped), std::end(dropped), found.begin());
        return found;
    }

    // Whether counters are such as an interface and its readers leave them.
    bool isSound() const {
        return put.load() - taken.load() <= kSamples &&
               state.load() <= static_cast<std::uint32_t>(State::ended) &&
               std::find(std::begin(name), std::end(name), '\0') != std::end(name);
    }

    // ---- of the interface
    void add(Element const& element) {
        std::uint64_t const at = elements.load(std::memory_order_relaxed);
        Element& slot = ring[at % kElements];
        slot = element;
        slot.number = at + 1;
        elements.store(at + 1, std::memory_order_release);
    }
    void add(Sample const& sample) {
        std::uint64_t const at = put.load(std::memory_order_relaxed);
        if (at - taken.load(std::memory_order_acquire) >= kSamples) {
            dropped[sample.sender].fetch_add(1, std::memory_order_relaxed);
            return;
        }
        samples[at % kSamples] = sample;
        put.store(at + 1, std::memory_order_release);
    }
};

}  // namespace range
