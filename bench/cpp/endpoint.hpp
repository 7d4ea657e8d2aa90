// How a program under measurement reaches its partners: by an RTI, or by plain sockets or memory
// for the limit beside it. An adapter is a library that is loaded by name; no type of any API that
// it uses stands here, so a study is the same program on each.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// A service failed; the text names it and gives the reason.
struct EndpointError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// The other side (an RTI, a meeting place) can't be reached.
struct EndpointUnreachable : EndpointError {
    using EndpointError::EndpointError;
};

// What an adapter can do with data; texts always arrive, in order and once.
struct Capabilities {
    bool reliable = true;
    bool bestEffort = true;
    bool immediate = false;        // callbacks by a thread of its own
    bool transportChange = false;  // an item's transportation can be chosen
    bool sessions = false;         // they are made, and may be there or not (Entry)
    // All values of one message together, in bytes.
    std::uint64_t messageBytesMax = std::uint64_t{1} << 30;
};

// What went through an endpoint since it was made.
struct Statistics {
    std::uint64_t sent = 0, arrived = 0;  // messages of data
    std::uint64_t deferred = 0;           // that came while none could be delivered
    std::uint64_t systemCalls = 0;        // of the adapter itself; an RTI's are not known
    std::uint64_t lost = 0;               // on the way here,
    bool tellsLost = false;               // if the adapter is told
};

// What is sent and received: for HLA a class below the root, with its attributes or parameters.
struct Topic {
    enum class Kind { object, event, text };
    std::string name;  // "sendObj.S1"
    Kind kind;
    bool reliable;
    std::vector<std::string> fields;
};
// Topics are numbered in the order in which an endpoint hears of them, from 0.
using TopicId = std::size_t;

// A message of data. An instance is numbered by its discovery within its topic, from 0. What
// differs between messages of an instance does not lie side by side: compilers would put it
// together first.
struct Arrival {
    TopicId topic;
    std::uint64_t stamp;  // the first 8 bytes of its values
    std::size_t instance;
    std::uint64_t bytes;        // of the first value
    bool reliable;              // how it travelled, as far as the adapter is told
    unsigned char const* data;  // the first value, as long as the call lasts
};

// Who calls back: flush, tick and wait of the program's own thread, or a thread of the adapter.
enum class Callbacks { evoked, immediate };

// Where messages of data go, by one call for each, which calls no service of the endpoint.
class DataEvents {
public:
    virtual void arrived(Arrival const& arrival) = 0;
    // So many came reliably and as planned (Trips, Answers::Plan), the last with this stamp, and
    // all that is to be done with them was. Called before any other arrives.
    virtual void passed(std::uint64_t, std::uint64_t) {}

protected:
    ~DataEvents() = default;
};

// What else an endpoint tells; these, too, are called while the program is inside a service of its
// endpoint, never beside other code of it, but with immediate callbacks by another thread. Must not
// throw.
class EndpointEvents {
public:
    virtual void discovered(TopicId topic) = 0;
    virtual void removed(TopicId topic) = 0;
    virtual void said(TopicId topic, std::vector<std::string> const& values) = 0;
    virtual void connectionLost(std::string const& reason) = 0;
    virtual void malformed(std::string const& what) = 0;

protected:
    ~EndpointEvents() = default;
};

// Whether a session is made by who comes first, has to be new, or has to be there.
enum class Entry { either, create, join };

// Messages to be sent for others that came, which a callback puts here as it may not send.
class Answers {
public:
    struct One {
        std::size_t item;
        std::uint64_t stamp;
    };

    // What comes of these topics with this tag in its stamp, each newer than the one before, is
    // answered at once with the item of its instance, so often; what comes otherwise ends that.
    struct Plan {
        struct ByInstance {
            std::size_t const* items = nullptr;
            std::size_t count = 0;
        };
        std::vector<ByInstance> topics;
        std::uint16_t tag = 0;
        std::uint64_t newest = 0;  // of the stamps that came
        std::uint64_t left = 0;
    };

    bool enough = false;  // no more is expected
    Plan plan;

    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    One const& operator[](std::size_t n) const { return room_[n]; }
    void put(std::size_t item, std::uint64_t stamp) {
        if (count_ == room_.size()) return putMore(item, stamp);
        room_[count_++] = {item, stamp};
    }
    void clear() { count_ = 0; }
    void swap(Answers& other) {
        room_.swap(other.room_);
        std::swap(count_, other.count_);
    }

private:
    [[gnu::noinline]] void putMore(std::size_t item, std::uint64_t stamp) {
        room_.resize(2 * count_ + 16);
        put(item, stamp);
    }

    std::vector<One> room_;
    std::size_t count_ = 0;
};

struct Trips;

// Services throw EndpointError.
class Endpoint {
public:
    virtual ~Endpoint() = default;

    // Name and version of what is measured.
    virtual std::string version() const = 0;
    virtual Capabilities capabilities() const = 0;
    virtual Statistics statistics() const { return statistics_; }
    // An address within the library that does the work behind the adapter's own; null: there is
    // none.
    virtual void const* within() const { return nullptr; }

    // Data that arrive from now on go there; null: nowhere.
    void deliverTo(DataEvents* data) { data_ = data; }

    virtual void connect(std::string const& settings, Callbacks callbacks) = 0;
    // How `join` is meant; only for who has sessions.
    void enter(Entry entry) { entry_ = entry; }
    // Makes the session if needed; false: not possible yet, try again.
    virtual bool join(std::string const& session, std::string const& fom,
                      std::string const& member) = 0;
    // The members that `join` still waits for, by name; "": none, or it can't be known.
    virtual std::string waitsFor() const { return {}; }
    virtual void resign() = 0;
    // False: others are still there.
    virtual bool destroy(std::string const& session) = 0;
    virtual void disconnect() = 0;

    // Makes a topic known; its number is what all others take.
    virtual TopicId add(Topic const& topic) = 0;
    // The first `fields` of its fields will be used.
    virtual void publish(TopicId topic, std::size_t fields) = 0;
    virtual void subscribe(TopicId topic, std::size_t fields) = 0;
    // Undoes all of it but texts, and deletes this endpoint's items.
    virtual void withdraw() = 0;

    // Registers an instance of an object, or prepares an event; its number for `send`.
    virtual std::size_t addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) = 0;
    // Lets an item travel so from now on, for event topics all of the topic's. In force as soon as
    // `settled`.
    virtual void setTransport(std::size_t item, bool reliable) = 0;
    virtual bool settled() const = 0;
    // What stands behind the stamp in the first value of an item's next messages.
    virtual void fill(std::size_t item, unsigned char const* bytes, std::size_t size) = 0;
    // Queues all values of an item with `stamp` at the front of each, for those that subscribe.
    virtual void send(std::size_t item, std::uint64_t stamp) = 0;
    // One value for each field of a text.
    virtual void say(TopicId topic, std::vector<std::string> const& values) = 0;

    // What is queued leaves; what has come is delivered here or by the next tick or wait.
    virtual void flush() = 0;
    // Delivers what comes for at least the first time, and until nothing is left or the second has
    // passed; s.
    virtual void tick(double minSeconds, double maxSeconds) = 0;
    // Ends with the first delivery, or when the time has passed; s.
    virtual void wait(double maxSeconds) = 0;
    // So many waits, or until there is enough, for who does nothing but receive. Ends after a wait
    // in which no data came, and may end earlier.
    virtual void listen(std::size_t, bool const&, double maxSeconds) { wait(maxSeconds); }

    // Sends a message, flushes, and waits unless something came meanwhile: what is asked and
    // answered.
    virtual void exchange(std::size_t item, std::uint64_t stamp, double maxSeconds) {
        std::uint64_t const before = statistics_.arrived;
        send(item, stamp);
        flush();
        if (statistics_.arrived == before) wait(maxSeconds);
    }
    // Does round trips as long as all is as usual, each with a wait of so long; perhaps none.
    virtual void trips(Trips&, double) {}
    // Sends what is to be answered, and flushes, until there is no more.
    [[gnu::noinline]] void give(Answers& answers) {
        // Sending and flushing may bring more.
        while (!answers.empty()) {
            giving_.swap(answers);
            for (std::size_t n = 0; n < giving_.size(); ++n)
                send(giving_[n].item, giving_[n].stamp);
            giving_.clear();
            flush();
        }
    }
    // So many times, or until there is enough: waits, and gives answers. Ends after a wait without
    // any.
    virtual void answer(Answers& answers, std::size_t rounds, double maxSeconds) {
        for (; rounds > 0 && !answers.enough; --rounds) {
            wait(maxSeconds);
            if (answers.empty()) return;
            give(answers);
        }
    }

protected:
    DataEvents* data_ = nullptr;
    Statistics statistics_;
    Entry entry_ = Entry::either;

private:
    Answers giving_;
};

// Grows with every change of these classes: an adapter of another version is refused.
constexpr int kEndpointVersion = 11;

// Loads the adapter of this name (libbench-NAME.so, beside the program or in BENCH_ADAPTERS).
// `*service` always names what the endpoint does now, for who finds that it does not return.
std::unique_ptr<Endpoint> loadEndpoint(std::string const& name, EndpointEvents& events,
                                       char const* volatile* service);

// Files of the libraries that carry the data in this process: the adapter's, the one behind it
// whatever its name is, and those that are called as an RTI's are.
std::vector<std::string> loadedLibraries(Endpoint const& endpoint);

}  // namespace bench

// What an adapter's library exports.
extern "C" {
using BenchEndpointVersion = int (*)();
using BenchMakeEndpoint = bench::Endpoint* (*)(bench::EndpointEvents*, char const* volatile*);
}
#define BENCH_ADAPTER(CLASS)                                                         \
    extern "C" int bench_endpoint_version() { return bench::kEndpointVersion; }      \
    extern "C" bench::Endpoint* bench_make_endpoint(bench::EndpointEvents* events,   \
                                                    char const* volatile* service) { \
        return new CLASS(*events, service);                                          \
    }
