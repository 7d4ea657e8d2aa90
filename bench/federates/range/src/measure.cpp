#include "measure.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace range {

namespace {

// Above whatever else a host runs by default, below the kernel's own threads.
int const kPriority = 80;

std::string inForce() {
    if ((::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO) return "SCHED_OTHER";
    sched_param found{};
    ::sched_getparam(0, &found);
    return "SCHED_FIFO " + std::to_string(found.sched_priority);
}

}  // namespace

std::uint64_t Measure::monotonicNs() { return bench::readNs(CLOCK_MONOTONIC); }

std::string schedule(bool realtime, std::string& notice) {
    sched_param priority{};
    notice.clear();
    if (!realtime) {
        // Without the right to it nobody takes away what is reset for a process's children.
        ::sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &priority);
        ::munlockall();
        return inForce();
    }
    priority.sched_priority = kPriority;
    bool const fifo = ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0;
    std::string const whyNoFifo = std::strerror(errno);
    bool const locked = ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    std::string const whyNoLock = std::strerror(errno);
    if (!locked) ::munlockall();
    if (!fifo) notice += "SCHED_FIFO is not allowed: " + whyNoFifo;
    if (!locked) notice += (notice.empty() ? "" : "; ") + ("memory is not locked: " + whyNoLock);
    if (!notice.empty()) notice += " (needs CAP_SYS_NICE and CAP_IPC_LOCK, or ulimit -r and -l)";
    return inForce() + (locked ? ", memory locked" : "");
}

void Measure::prepare(Test const& test, unsigned station, bool endless) {
    // A rate that is not held makes no more messages than planned.
    for (unsigned s = 1; s <= kFederates; ++s) {
        if (endless) heard_[s].expectAny();
        else heard_[s].expect(s <= test.federates && s != station ? test.updatesOf(s) : 0);
    }
    element_ = Element{};
    station_ = station;
    test_ = static_cast<std::uint16_t>(test.number);
    deadlines_.reset(new bench::Deadlines(monotonicNs(), test.tickHz));
    shared_.test.store(static_cast<std::uint32_t>(test.number));
    shared_.own.store(station);
}

bench::Deadlines Measure::floor(Test const& test) const {
    bench::Deadlines deadlines(monotonicNs(), test.tickHz);
    auto const turns = static_cast<std::uint64_t>(test.floorS * test.tickHz);
    while (deadlines.number() < turns && stop_ == 0) {
        bench::sleepUntil(deadlines.next());
        deadlines.begun(monotonicNs());
    }
    return deadlines;
}

void Measure::wait(bench::Deadlines& deadlines) {
    std::uint64_t const next = deadlines.next();
    if (instrument_.immediate()) instrument_.turnUntil(next);
    bench::sleepUntil(next);
    deadlines.begun(monotonicNs());
}

bool Measure::run(Test const& test, unsigned station, std::uint64_t updates) {
    // Instruments don't keep step with each other: their updates are spread over the period.
    double const phase = static_cast<double>(station * 618 % 1000) / 1000;
    bench::Due const due(test.hzOf(station), phase, updates, test.tickHzOf(station));
    std::uint64_t const cpu = bench::readNs(CLOCK_THREAD_CPUTIME_ID);
    std::uint64_t done = 0;
    skipped_ = planned_ = 0;
    bool ended = false;
    bench::Deadlines& deadlines = *deadlines_;
    deadlines = bench::Deadlines(monotonicNs() + 1000000, test.tickHz, test.longerPpmOf(station));
    shared_.state.store(static_cast<std::uint32_t>(State::measuring));
    // Others' last messages come when this one has sent its own.
    std::uint64_t stays = test.turnsAfter();
    while (!ended && (updates == 0 || done < updates || stays-- != 0)) {
        std::uint64_t const turn = deadlines.number();
        wait(deadlines);
        std::uint64_t const wanted = due.by(turn);
        if (wanted > done) {
            skipped_ += wanted - done - 1;
            done = wanted;
            updated(instrument_.update());
        }
        if (!instrument_.immediate()) instrument_.turn();
        shared_.turns.fetch_add(1, std::memory_order_relaxed);
        shared_.missed.store(deadlines.missed(), std::memory_order_relaxed);
        shared_.late.store(deadlines.late(), std::memory_order_relaxed);
        shared_.lateNsMax.store(deadlines.lateness().largest(), std::memory_order_relaxed);
        // Whoever measures without an end may see others leave.
        ended = stop_ != 0 || shared_.resign.load(std::memory_order_acquire) != 0 ||
                !instrument_.problem().empty() || (updates != 0 && instrument_.gone() != 0);
    }
    planned_ = done;
    threadS_ = static_cast<double>(bench::readNs(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e-9;
    shared_.state.store(static_cast<std::uint32_t>(State::joined));
    return !ended;
}

void Measure::updated(std::uint64_t sentNs) {
    element_.atNs = sentNs;
    element_.entries[station_ - 1] = Entry{station_, instrument_.count(), sentNs, 0};
    shared_.add(element_);
}

void Measure::arrived(bench::RecordHead const& head, std::uint64_t nowNs) {
    if (!open || head.count == 0) return;
    auto const delivery = static_cast<std::int64_t>(nowNs) - static_cast<std::int64_t>(head.sentNs);
    element_.entries[head.station - 1] = Entry{head.station, head.count, head.sentNs, delivery};
    if (!heard_[head.station].came(head.count, head.sentNs, monotonicNs())) return;
    auto const station = static_cast<std::uint16_t>(head.station);
    shared_.add(Sample{nowNs, delivery, head.count, station, test_});
}

}  // namespace range
