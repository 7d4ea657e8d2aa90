// The loop that measures, and what it counts. All of its memory is there before it begins.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <vector>

#include "instrument.hpp"
#include "pace.hpp"
#include "shared.hpp"
#include "test.hpp"

namespace range {

// What came of one sender. A message counts once, however often it comes.
struct Heard {
    // Of so many of the newest it is known which came, where there is no end.
    static constexpr std::uint64_t kNewest = 1 << 16;

    std::uint32_t highest = 0;
    std::uint64_t highestSentNs = 0;
    std::uint64_t received = 0, doubled = 0, disordered = 0, beyond = 0;
    std::uint64_t lastNs = 0;
    bool endless = false;
    std::vector<std::uint64_t> seen;  // a bit for each message that it may send, or for the newest

    void expect(std::uint64_t messages) { *this = Heard(), seen.assign(messages / 64 + 1, 0); }
    void expectAny() { *this = Heard(), endless = true, seen.assign(kNewest / 64, 0); }
    // True: it is the first time that this one comes.
    bool came(std::uint32_t count, std::uint64_t sentNs, std::uint64_t now) {
        lastNs = now;
        if (endless ? !moved(count, sentNs) : count / 64 >= seen.size()) {
            ++beyond;
            return false;
        }
        std::uint64_t const at = endless ? count % kNewest : count;
        std::uint64_t const bit = std::uint64_t{1} << (at % 64);
        if ((seen[at / 64] & bit) != 0) {
            ++doubled;
            return false;
        }
        seen[at / 64] |= bit;
        ++received;
        if (count < highest) ++disordered;
        else highest = count, highestSentNs = sentNs;
        return true;
    }

private:
    // Makes room for what is newer than all before. False: it is older than what is known.
    bool moved(std::uint32_t count, std::uint64_t sentNs) {
        // A lower number that was sent later: its sender has left, and counts anew.
        if (count <= highest && sentNs > highestSentNs) {
            seen.assign(seen.size(), 0);
            highest = 0;
        }
        if (count <= highest) return highest - count < kNewest;
        for (std::uint64_t n = std::min<std::uint64_t>(count - highest, kNewest); n > 0; --n) {
            std::uint64_t const at = (count - n + 1) % kNewest;
            seen[at / 64] &= ~(std::uint64_t{1} << (at % 64));
        }
        return true;
    }
};

class Measure {
public:
    Measure(bench::Instrument& instrument, Shared& shared, volatile std::sig_atomic_t const& stop)
        : instrument_(instrument), shared_(shared), stop_(stop) {}

    // Makes room for a test of these; `station` is this one's. `endless`: others come and go, and
    // send at rates of their own.
    void prepare(Test const& test, unsigned station, bool endless = false);
    // How this thread wakes up where it does nothing else.
    bench::Deadlines floor(Test const& test) const;
    // Sends all updates; 0 of them: until the event `resign`. False: it was ended before.
    bool run(Test const& test, unsigned station, std::uint64_t updates);
    // Goes on taking what comes, for a second at most or until `done`.
    template <typename Done>
    void rest(Test const& test, Done done) {
        bench::Deadlines deadlines(monotonicNs(), test.tickHz);
        for (unsigned n = 0; n < test.tickHz && !done(); ++n) {
            wait(deadlines);
            if (!instrument_.immediate()) instrument_.turn();
            shared_.turns.fetch_add(1, std::memory_order_relaxed);
        }
    }
    void arrived(bench::RecordHead const& head, std::uint64_t nowNs);

    Heard const& heard(unsigned station) const { return heard_[station]; }
    bench::Deadlines const& deadlines() const { return *deadlines_; }
    std::uint64_t skipped() const { return skipped_; }
    std::uint64_t planned() const { return planned_; }
    double threadS() const { return threadS_; }  // CPU time of the loop
    static std::uint64_t monotonicNs();
    bool open = false;  // arrivals count

private:
    void wait(bench::Deadlines& deadlines);
    void updated(std::uint64_t sentNs);

    bench::Instrument& instrument_;
    Shared& shared_;
    volatile std::sig_atomic_t const& stop_;
    std::array<Heard, kFederates + 1> heard_;
    Element element_{};
    std::uint16_t test_ = 0;
    unsigned station_ = 0;
    std::unique_ptr<bench::Deadlines> deadlines_;
    std::uint64_t skipped_ = 0, planned_ = 0;
    double threadS_ = 0;
};

// Asks for SCHED_FIFO and locked memory of this thread's process, or for neither; what is in force,
// and in `notice` what was asked for and not allowed.
std::string schedule(bool realtime, std::string& notice);

}  // namespace range
