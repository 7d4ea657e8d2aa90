// starling_instrument.h over Instrument: a thread that sends at the rate and takes what comes, and
// values that cross to the program's threads without a lock on either side.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "instrument.hpp"
#include "pace.hpp"
#include "starling_instrument.h"

namespace {

using bench::Instrument;

std::size_t const kRecordMax = 1 << 24;
thread_local std::string failedOpen;

// One value that a thread writes and another reads: who reads takes it again if it changed
// meanwhile. Three places, so that a reader seldom meets the writer.
class Newest {
public:
    void room(std::size_t bytes) {
        for (auto& place : places_) {
            place.words.reset(new std::atomic<std::uint64_t>[kNews + (bytes + 7) / 8]());
        }
        bytes_ = bytes;
    }
    void put(unsigned char const* value, starling_news const& news) {
        std::uint64_t const number = number_.load(std::memory_order_relaxed) + 1;
        Place& place = places_[number % places_.size()];
        place.number.store(0, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        auto const set = [&](std::size_t at, std::uint64_t word) {
            place.words[at].store(word, std::memory_order_relaxed);
        };
        set(0, news.sent_ns);
        set(1, static_cast<std::uint64_t>(news.delivery_ns));
        set(2, news.count);
        for (std::size_t at = 0; at < bytes_; at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, value + at, std::min<std::size_t>(8, bytes_ - at));
            set(kNews + at / 8, word);
        }
        place.number.store(number, std::memory_order_release);
        number_.store(number, std::memory_order_release);
    }
    // The number of what was read; 0: nothing was ever put.
    std::uint64_t get(unsigned char* value, starling_news& news) const {
        for (;;) {
            std::uint64_t const number = number_.load(std::memory_order_acquire);
            if (number == 0) return 0;
            Place const& place = places_[number % places_.size()];
            if (place.number.load(std::memory_order_acquire) != number) continue;
            auto const of = [&](std::size_t at) {
                return place.words[at].load(std::memory_order_relaxed);
            };
            news = starling_news{of(0), static_cast<std::int64_t>(of(1)),
                                 static_cast<std::uint32_t>(of(2)), 0};
            for (std::size_t at = 0; at < bytes_; at += 8) {
                std::uint64_t const word = of(kNews + at / 8);
                std::memcpy(value + at, &word, std::min<std::size_t>(8, bytes_ - at));
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            if (place.number.load(std::memory_order_relaxed) == number) return number;
        }
    }
    std::uint64_t number() const { return number_.load(std::memory_order_acquire); }

private:
    static constexpr std::size_t kNews = 3;  // words before the value
    struct Place {
        std::atomic<std::uint64_t> number{0};
        std::unique_ptr<std::atomic<std::uint64_t>[]> words;
    };
    std::array<Place, 3> places_;
    std::atomic<std::uint64_t> number_{0};
    std::size_t bytes_ = 0;
};

// Values that one thread writes and another takes, each of them, in their order.
class Queue {
public:
    void room(std::size_t bytes) {
        bytes_ = bytes;
        places_ = std::max<std::size_t>(2, std::min(kPlacesMax, kBytesMax / bytes));
        values_.resize(places_ * bytes);
    }
    std::size_t places() const { return places_; }
    // False: it is full.
    bool put(unsigned char const* value) {
        std::uint64_t const at = put_.load(std::memory_order_relaxed);
        if (at - taken_.load(std::memory_order_acquire) == places_) return false;
        std::memcpy(&values_[at % places_ * bytes_], value, bytes_);
        put_.store(at + 1, std::memory_order_release);
        return true;
    }
    // The oldest, until `leave`; null: there is none.
    unsigned char const* oldest() const {
        std::uint64_t const at = taken_.load(std::memory_order_relaxed);
        if (at == put_.load(std::memory_order_acquire)) return nullptr;
        return &values_[at % places_ * bytes_];
    }
    void leave() { taken_.fetch_add(1, std::memory_order_release); }

private:
    static constexpr std::size_t kPlacesMax = 1024, kBytesMax = 16 << 20;
    std::vector<unsigned char> values_;
    std::size_t places_ = 0, bytes_ = 0;
    std::atomic<std::uint64_t> put_{0}, taken_{0};
};
constexpr std::size_t Queue::kPlacesMax, Queue::kBytesMax;

std::map<std::string, std::string> parsed(std::string const& settings) {
    std::map<std::string, std::string> found{
        {"adapter", "hla1516e"}, {"timeout", "30"}, {"turns", "500"}, {"realtime", "no"},
        {"connect", ""},         {"records", ""},   {"name", ""},     {"exercise", ""},
        {"station", ""}};
    std::set<std::string> given;
    for (std::size_t at = 0; at < settings.size();) {
        std::size_t const end = std::min(settings.find(';', at), settings.size());
        std::string const one = settings.substr(at, end - at);
        at = end + 1;
        if (one.empty()) continue;
        auto const equal = one.find('=');
        if (equal == std::string::npos) throw std::runtime_error("'" + one + "' is no name=value");
        std::string const name = one.substr(0, equal);
        if (found.count(name) == 0) {
            std::string known;
            for (auto const& k : found) known += " " + k.first;
            throw std::runtime_error("there is no setting '" + name + "'; known are" + known);
        }
        if (!given.insert(name).second) {
            throw std::runtime_error("the setting '" + name + "' is there twice");
        }
        found[name] = one.substr(equal + 1);
    }
    for (char const* needed : {"exercise", "station"}) {
        if (found[needed].empty()) {
            throw std::runtime_error(std::string("the setting '") + needed + "' is missing");
        }
    }
    if (found["connect"].empty() &&
        std::set<std::string>{"tcp", "udp", "multicast", "shm"}.count(found["adapter"]) != 0) {
        throw std::runtime_error("the setting 'connect' is missing: adapter=" + found["adapter"] +
                                 " needs the address of the meeting place, unix:PATH or HOST:PORT; "
                                 "start it with: bench-meet ADDRESS");
    }
    return found;
}

// Where this library is.
std::string besideLibrary() {
    Dl_info found;
    if (::dladdr(reinterpret_cast<void*>(&starling_instrument_open), &found) == 0) return "";
    std::string const path = found.dli_fname;
    return path.substr(0, path.rfind('/') + 1);
}

double number(std::map<std::string, std::string> const& settings, char const* name, double least,
              double most, bool whole = false) {
    std::string const& text = settings.at(name);
    char* end = nullptr;
    double const value = std::strtod(text.c_str(), &end);
    bool const inside = value >= least && value <= most && (!whole || value == std::floor(value));
    if (end == text.c_str() || *end != 0 || !inside) {
        std::ostringstream said;
        said << "the setting '" << name << "' is '" << text << "'; it is a "
             << (whole ? "whole " : "") << "number from " << least << " to " << most;
        throw std::runtime_error(said.str());
    }
    return value;
}

bool yes(std::map<std::string, std::string> const& settings, char const* name) {
    std::string const& text = settings.at(name);
    if (text == "yes" || text == "no") return text == "yes";
    throw std::runtime_error(std::string("the setting '") + name + "' is '" + text +
                             "'; it is yes or no");
}

}  // namespace

struct starling_instrument final : private Instrument::Events {
    explicit starling_instrument(std::map<std::string, std::string> const& settings)
        : timeoutS_(number(settings, "timeout", 0, 1e6)),
          turns_(static_cast<unsigned>(number(settings, "turns", 1, 10000, true))),
          realtime_(yes(settings, "realtime")),
          instrument_(options(settings), *this, clock_) {
        try {
            instrument_.connect();
        } catch (std::exception const& e) {
            throw std::runtime_error(std::string(e.what()) + " (the setting 'connect' is '" +
                                     settings.at("connect") + "')");
        }
        auto const until =
            std::chrono::steady_clock::now() + std::chrono::duration<double>(timeoutS_);
        while (!instrument_.join()) {
            if (std::chrono::steady_clock::now() > until) {
                std::string const silent = instrument_.waitsFor();
                throw std::runtime_error(
                    "the exercise could not be joined within " + settings.at("timeout") +
                    " s (the setting 'timeout')" +
                    (silent.empty()
                         ? ""
                         : ": no answer from " + silent +
                               "; an instrument answers once it has declared its record"));
            }
        }
    }
    // Who leaves has nobody to tell.
    template <typename Step>
    static void quietly(Step step) {
        try {
            step();
        } catch (std::exception const&) {
        }
    }
    ~starling_instrument() {
        quit_ = true;
        if (thread_.joinable()) thread_.join();
        // Also of one that has stopped: whoever goes on is not left with a federate that is lost.
        quietly([this] { instrument_.resign(); });
        quietly([this] { instrument_.destroy(); });
        quietly([this] { instrument_.disconnect(); });
    }

    void declare(std::string const& record, std::size_t bytes, double hz, bool reliable) {
        if (declared_) throw std::runtime_error("the record is declared already");
        if (record.empty()) throw std::runtime_error("a record needs a name");
        if (bytes == 0 || bytes > kRecordMax) {
            throw std::runtime_error("a record has 1 to " + std::to_string(kRecordMax) + " bytes");
        }
        if (!(hz >= 0 && hz <= turns_)) {
            throw std::runtime_error("a rate is 0 to " + std::to_string(turns_) +
                                     " a second (the setting 'turns')");
        }
        bytes_ = bytes;
        hz_ = hz;
        value_.assign(bytes, 0);
        for (auto& one : others_) one.room(bytes);
        own_.room(bytes);
        if (hz == 0) each_.room(bytes);
        instrument_.declare(record, bytes + sizeof(bench::RecordHead), reliable);
        declared_ = true;
        thread_ = std::thread([this] { run(); });
        if (!realtime_) return;
        sched_param priority{};
        priority.sched_priority = 80;
        int const refused = ::pthread_setschedparam(thread_.native_handle(),
                                                    SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
        if (refused != 0) {
            problem("real-time scheduling is not allowed: " + std::string(std::strerror(refused)));
        }
    }
    void write(void const* value) {
        needDeclared();
        auto const bytes = static_cast<unsigned char const*>(value);
        if (hz_ > 0) return own_.put(bytes, starling_news{});
        if (stopped_ || each_.put(bytes)) return;
        throw std::runtime_error("this value does not go out: " + std::to_string(each_.places()) +
                                 " writes before it still wait for the sending thread; write it "
                                 "again later");
    }
    int read(unsigned station, void* value, starling_news* news) {
        needDeclared();
        if (station < 1 || station > Instrument::kStationsMax) {
            throw std::runtime_error("there is no station " + std::to_string(station));
        }
        Newest const& of = others_[station];
        std::uint64_t const other = otherSizes_[station].exchange(0, std::memory_order_relaxed);
        if (other != 0) {
            throw std::runtime_error("station " + std::to_string(station) +
                                     " sends this record of " + std::to_string(other) +
                                     " bytes; here it was declared with " + std::to_string(bytes_));
        }
        if (of.number() == read_[station]) return 0;  // nothing newer, or nothing at all
        starling_news found;
        read_[station] = of.get(static_cast<unsigned char*>(value), found);
        // Before the first that is read none was missed.
        std::uint32_t const last = counts_[station];
        found.missed = last == 0 ? 0 : found.count - std::min(found.count, last + 1);
        counts_[station] = found.count;
        if (news != nullptr) *news = found;
        return 1;
    }
    int stations(unsigned* to, int room) const {
        int found = 0;
        for (unsigned s = 1; s <= Instrument::kStationsMax; ++s) {
            if (others_[s].number() == 0 && otherSizes_[s].load() == 0) continue;
            if (found < room) to[found] = s;
            ++found;
        }
        return found;
    }
    int state() const { return stopped_ ? -1 : 0; }
    // Why it has stopped stays.
    void problem(std::string const& what) {
        std::lock_guard<std::mutex> const held(mutex_);
        if (!stopped_) problem_ = what;
    }
    // A call begins: what an earlier one failed of is over.
    void began() {
        std::lock_guard<std::mutex> const held(mutex_);
        if (!stopped_) problem_.clear();
    }
    char const* error() {
        std::lock_guard<std::mutex> const held(mutex_);
        told_ = problem_;
        return told_.c_str();
    }
    std::atomic<std::uint64_t> turnsDone{0}, late{0}, missed{0};

private:
    static Instrument::Options options(std::map<std::string, std::string> const& settings) {
        Instrument::Options o;
        o.adapter = settings.at("adapter");
        o.localSettings = settings.at("connect");
        o.session = settings.at("exercise");
        o.bothClasses = true;
        std::string const here = besideLibrary();
        o.fom = settings.at("records").empty() ? here + "records.xml" : settings.at("records");
        // The adapters stand there, too.
        ::setenv("BENCH_ADAPTERS", here.c_str(), 0);
        double const station = number(settings, "station", 1, Instrument::kStationsMax, true);
        o.station = static_cast<unsigned>(station);
        o.member = settings.at("name").empty() ? "station " + std::to_string(o.station)
                                               : settings.at("name");
        return o;
    }
    void needDeclared() const {
        if (!declared_) throw std::runtime_error("no record is declared yet");
    }

    void run() {
        try {
            instrument_.prime();
            bench::Deadlines deadlines(now(), turns_);
            bench::Due const dueBy(hz_, 0, 0, turns_);
            std::uint64_t sent = 0, written = 0;
            starling_news none;
            while (!quit_) {
                std::uint64_t const turn = deadlines.number();
                bench::sleepUntil(deadlines.next());
                deadlines.begun(now());
                std::uint64_t const newest = own_.number();
                std::uint64_t const due = dueBy.by(turn);
                // Before the first value there is none to send.
                if (newest != 0 && due > sent) {
                    sent = due;
                    if (newest != written) {
                        written = own_.get(value_.data(), none);
                        instrument_.fill(value_.data(), bytes_);
                    }
                    instrument_.update();
                }
                sendEach();
                instrument_.turn();
                turnsDone.store(deadlines.turns(), std::memory_order_relaxed);
                late.store(deadlines.late(), std::memory_order_relaxed);
                missed.store(deadlines.missed(), std::memory_order_relaxed);
                if (!instrument_.problem().empty()) throw std::runtime_error(instrument_.problem());
            }
            sendEach();  // what was written before `close`
        } catch (std::exception const& e) {
            std::lock_guard<std::mutex> const held(mutex_);
            problem_ = e.what();
            stopped_ = true;
        }
    }
    // At most those that were there: who writes on doesn't keep it from its turn.
    void sendEach() {
        for (std::size_t i = 0; i < each_.places(); ++i) {
            unsigned char const* const oldest = each_.oldest();
            if (oldest == nullptr) break;
            instrument_.fill(oldest, bytes_);
            each_.leave();
            instrument_.update();
        }
    }
    static std::uint64_t now() { return bench::readNs(CLOCK_MONOTONIC); }

    void arrived(bench::RecordHead const& head, std::uint64_t nowNs, unsigned char const* bytes,
                 std::size_t size) override {
        otherSizes_[head.station].store(size == bytes_ ? 0 : size, std::memory_order_relaxed);
        if (head.count == 0 || size != bytes_) return;
        auto const delivery =
            static_cast<std::int64_t>(nowNs) - static_cast<std::int64_t>(head.sentNs);
        others_[head.station].put(bytes, starling_news{head.sentNs, delivery, head.count, 0});
    }
    void said(std::vector<std::string> const&) override {}

    double const timeoutS_;
    unsigned const turns_;
    bool const realtime_;
    bench::StationClock clock_;
    Instrument instrument_;
    bool declared_ = false;
    std::size_t bytes_ = 0;
    double hz_ = 0;
    Newest own_;  // at a rate the newest goes out, without one each
    Queue each_;
    // Of those that send the record with another size.
    std::array<std::atomic<std::uint64_t>, Instrument::kStationsMax + 1> otherSizes_{};
    std::array<Newest, Instrument::kStationsMax + 1> others_;
    std::array<std::uint64_t, Instrument::kStationsMax + 1> read_{};
    std::array<std::uint32_t, Instrument::kStationsMax + 1> counts_{};
    std::vector<unsigned char> value_;
    std::atomic<bool> quit_{false}, stopped_{false};
    std::mutex mutex_;
    std::string problem_, told_;
    std::thread thread_;
};

namespace {

// No exception leaves the library.
template <typename Call>
int guarded(starling_instrument* it, Call call) {
    if (it == nullptr) return -1;
    it->began();
    try {
        return call();
    } catch (std::exception const& e) {
        it->problem(e.what());
        return -1;
    }
}

}  // namespace

extern "C" {

starling_instrument* starling_instrument_open(char const* settings) {
    failedOpen.clear();
    try {
        return new starling_instrument(parsed(settings == nullptr ? "" : settings));
    } catch (std::exception const& e) {
        failedOpen = e.what();
        return nullptr;
    }
}

int starling_instrument_declare(starling_instrument* it, char const* record, size_t bytes,
                                double hz, int reliable) {
    return guarded(it, [&] {
        it->declare(record == nullptr ? "" : record, bytes, hz, reliable != 0);
        return 0;
    });
}

int starling_instrument_write(starling_instrument* it, void const* value) {
    return guarded(it, [&] {
        if (value == nullptr) throw std::runtime_error("there is no value");
        it->write(value);
        return it->state();
    });
}

int starling_instrument_read(starling_instrument* it, unsigned station, void* value,
                             starling_news* news) {
    return guarded(it, [&] {
        if (value == nullptr) throw std::runtime_error("there is no room for a value");
        return it->read(station, value, news);
    });
}

int starling_instrument_stations(starling_instrument* it, unsigned* stations, int room) {
    return guarded(it, [&] { return it->stations(stations, stations == nullptr ? 0 : room); });
}

int starling_instrument_timing(starling_instrument* it, uint64_t* turns, uint64_t* late,
                               uint64_t* missed) {
    return guarded(it, [&] {
        if (turns != nullptr) *turns = it->turnsDone;
        if (late != nullptr) *late = it->late;
        if (missed != nullptr) *missed = it->missed;
        return 0;
    });
}

int starling_instrument_state(starling_instrument* it) { return it == nullptr ? -1 : it->state(); }

char const* starling_instrument_error(starling_instrument* it) {
    return it == nullptr ? failedOpen.c_str() : it->error();
}

void starling_instrument_close(starling_instrument* it) { delete it; }

}  // extern "C"
