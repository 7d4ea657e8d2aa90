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
                throw std::runtime_error("the exercise could not be joined in time");
            }
        }
    }
    ~starling_instrument() {
        quit_ = true;
        if (thread_.joinable()) thread_.join();
        try {
            if (state() == 0) {
                instrument_.resign();
                instrument_.destroy();
                instrument_.disconnect();
            }
        } catch (std::exception const&) {  // who leaves has nobody to tell
        }
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
        own_.put(static_cast<unsigned char const*>(value), starling_news{});
    }
    int read(unsigned station, void* value, starling_news* news) {
        needDeclared();
        if (station < 1 || station > Instrument::kStationsMax) {
            throw std::runtime_error("there is no station " + std::to_string(station));
        }
        Newest const& of = others_[station];
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
            if (others_[s].number() == 0) continue;
            if (found < room) to[found] = s;
            ++found;
        }
        return found;
    }
    int state() const { return stopped_ ? -1 : 0; }
    void problem(std::string const& what) {
        std::lock_guard<std::mutex> const held(mutex_);
        problem_ = what;
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
                bool const now = newest != 0 && (hz_ > 0 ? due > sent : newest != written);
                if (now) {
                    sent = due;
                    if (newest != written) {
                        written = own_.get(value_.data(), none);
                        instrument_.fill(value_.data(), bytes_);
                    }
                    instrument_.update();
                }
                instrument_.turn();
                turnsDone.store(deadlines.turns(), std::memory_order_relaxed);
                late.store(deadlines.late(), std::memory_order_relaxed);
                missed.store(deadlines.missed(), std::memory_order_relaxed);
                if (!instrument_.problem().empty()) throw std::runtime_error(instrument_.problem());
            }
        } catch (std::exception const& e) {
            problem(e.what());
            stopped_ = true;
        }
    }
    static std::uint64_t now() {
        timespec t;
        ::clock_gettime(CLOCK_MONOTONIC, &t);
        return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u +
               static_cast<std::uint64_t>(t.tv_nsec);
    }

    void arrived(bench::RecordHead const& head, std::uint64_t nowNs, unsigned char const* bytes,
                 std::size_t size) override {
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
    Newest own_;
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
