// Members that reach each other without an RTI: a TCP link between any two, found through a meeting
// place (bench-meet). The links carry texts, who subscribes to what, and the data too where the
// adapter has no other way for them.
//
// Invariants: a member sends data only to those that subscribed; an item is known to its receivers
// before data of it are sent, and so is all that was declared before a text.
// A frame that comes while nothing may be delivered is kept and delivered first.
#pragma once

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "endpoint.hpp"

struct pollfd;

namespace bench {

// What stands before every frame; numbers are little-endian.
struct Header {
    std::uint32_t bytes;  // behind it
    std::uint32_t what;   // a Frame, or kData + number of the sender's item
};
enum Frame : std::uint32_t {
    hello,        // JSON: name, slot, way
    subscribe,    // 0, a topic's name
    unsubscribe,  // the same
    item,         // its number, its topic's name
    gone,         // its number
    text,         // the topic's name and the values, each behind its length
    done,         // so many of the receiver's declarations are known
    bye,
    wake,
    lost,  // never sent: the link has ended
};
constexpr std::uint32_t kData = 16;

// A link's data leave when so much is queued, at the latest with the next flush.
constexpr std::size_t kBundle = 128 * 1024;
// A longer frame comes from no member.
constexpr std::uint32_t kFrameMax = 1u << 30;
// What is read at once.
constexpr std::size_t kRead = 256 * 1024;
// While data always come another way, the links get their turn after so many rounds.
constexpr unsigned kTurn = 64;
// What `recv` never says: it was not called.
constexpr long kNothing = -2;
// The shortest wait that may last a few ms longer, s.
constexpr double kCoarse = 0.01;

inline std::uint32_t get32(unsigned char const* from) {
    std::uint32_t value;
    std::memcpy(&value, from, sizeof value);
    return le32toh(value);
}

// The service in which an endpoint is, while it is.
struct Within {
    Within(char const* volatile* at, char const* name) { *at = name; }
};

class Mesh : public Endpoint {
public:
    Mesh(EndpointEvents& events, char const* volatile* service);
    ~Mesh() override;
    Mesh(Mesh const&) = delete;
    Mesh& operator=(Mesh const&) = delete;

    void connect(std::string const& settings, Callbacks callbacks) override;
    bool join(std::string const& session, std::string const& fom,
              std::string const& member) override;
    std::string waitsFor() const override;
    void resign() override;
    bool destroy(std::string const&) override { return true; }
    void disconnect() override;

    TopicId add(Topic const& topic) override;
    void publish(TopicId, std::size_t) override {}
    void subscribe(TopicId topic, std::size_t fields) override;
    void withdraw() override;
    std::size_t addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) override;
    void setTransport(std::size_t item, bool reliable) override;
    bool settled() const override { return true; }
    void fill(std::size_t item, unsigned char const* bytes, std::size_t size) override;
    void send(std::size_t item, std::uint64_t stamp) override;
    void say(TopicId topic, std::vector<std::string> const& values) override;
    void flush() override;
    void tick(double minSeconds, double maxSeconds) override;
    void wait(double maxSeconds) override;
    void exchange(std::size_t item, std::uint64_t stamp, double maxSeconds) override;
    void listen(std::size_t rounds, bool const& enough, double maxSeconds) override;
    void answer(Answers& answers, std::size_t rounds, double maxSeconds) override;
    void trips(Trips& trips, double maxSeconds) override;

protected:
    using Bytes = std::vector<unsigned char>;

    // An item of a peer; of a size by which its place takes few instructions.
    struct alignas(64) Remote {
        Arrival next{0, 0,    0,
                     0, true, nullptr};  // of its next message all but the stamp and the size
        bool known = false, object = false;

        Arrival const& at(unsigned char const* bytes, std::size_t size) {
            std::memcpy(&next.stamp, bytes, sizeof next.stamp);
            next.stamp = le64toh(next.stamp);
            next.bytes = size;
            next.data = bytes;
            return next;
        }
    };
    // What frames have alike that differ in their item and in their stamps only. Those of an item
    // whose values were filled are like no others'.
    struct Shape {
        static constexpr std::uint32_t kNone = 0, kOwn = 1, kFirst = 2;
        std::uint32_t number = kNone;
        std::size_t fields = 0, stride = 0, size = 0;  // the last of the whole frame

        // Puts a stamp at the front of each field.
        void stamp(unsigned char* frame, std::uint64_t stamp) const {
            std::uint64_t const little = htole64(stamp);
            unsigned char* to = frame + sizeof(Header);
            std::memcpy(to, &little, sizeof little);
            for (std::size_t f = 1; f < fields; ++f) {
                to += stride;
                std::memcpy(to, &little, sizeof little);
            }
        }
    };
    // How long one that takes nothing is waited for: then it is given up as one that has left.
    class Patience {
    public:
        // `left`: of what it is to take.
        bool over(std::uint64_t left);

    private:
        std::uint64_t left_ = UINT64_MAX;
        double since_ = 0;
    };
    // What is to be sent: bytes, whose memory stays. Where frames of one shape lie one behind the
    // other from its beginning, the next such are made of what they left there: a bundle of long
    // messages takes no copy of their values, and no more memory than a bundle, however many items
    // there are.
    class Outgoing {
    public:
        bool empty() const { return filled_ == left_; }
        std::size_t size() const { return filled_ - left_; }
        unsigned char const* front() const { return bytes_.data() + left_; }  // leaves first
        void add(unsigned char const* bytes, std::size_t size) {
            std::size_t const needed = filled_ + size;
            if (needed > bytes_.size()) bytes_.resize(std::max(needed, 2 * bytes_.size()));
            std::memcpy(bytes_.data() + filled_, bytes, size);
            filled_ += size;
            laid_ = {};
            end_ = 0;
        }
        void add(Bytes const& frame, Shape const& shape) {
            bool const next = filled_ == 0 || (shape.number == laid_.number && filled_ == end_);
            add(frame.data(), frame.size());
            if (!next || shape.number < Shape::kFirst) return;
            laid_ = shape;
            end_ = filled_;
        }
        // The same of an item's (as its header has it) where one of its shape lies; false: it is to
        // be added.
        bool again(std::uint32_t shape, std::uint32_t what, std::uint64_t stamp) {
            if (shape != laid_.number || filled_ == end_) return false;
            unsigned char* const frame = bytes_.data() + filled_;
            filled_ += laid_.size;
            std::memcpy(frame + 4, &what, sizeof what);
            laid_.stamp(frame, stamp);
            return true;
        }
        void leave(std::size_t bytes) {
            left_ += bytes;
            if (left_ == filled_) clear();
        }
        void clear() { filled_ = left_ = 0; }

    private:
        Bytes bytes_;
        std::size_t filled_ = 0, left_ = 0;
        Shape laid_;           // of the frames that lie there,
        std::size_t end_ = 0;  // up to here
    };
    struct Link {
        int socket = -1;
        std::size_t index = 0;   // of this link here
        std::uint32_t slot = 0;  // what it calls this member
        std::string name;
        Bytes in;
        Outgoing out;
        std::size_t filled = 0, taken = 0;             // of `in`: what has come, and of that
        std::uint64_t declared = 0, acknowledged = 0;  // of this member's declarations
        std::uint64_t heard = 0, told = 0;             // of the peer's
        std::set<std::string> wants;                   // topics it subscribes to
        std::vector<Remote> remotes;                   // by its number
        std::size_t known = 0;                         // how many of these there are
        bool greeted = false, left = false;
        bool stranger = false;  // it ended without a greeting
        double patience = 0;    // how long a blocking `recv` waits, s; 0: not said

        // Moves what has come and was not taken.
        void toFront() {
            std::memmove(in.data(), in.data() + taken, filled - taken);
            filled -= taken;
            taken = 0;
        }
    };
    // An item of this member, with its next frame.
    struct Item {
        TopicId topic;
        Shape shape;
        Bytes frame;
        std::vector<Link*> receivers;
        Link* only = nullptr;  // of these, if it is the only one and data travel the links
    };
    // What of it sending by a link takes.
    struct Sent {
        Link* to;
        std::uint32_t shape, what;  // the latter as its header has it
    };

    // What an adapter carries its own way: one frame to one receiver. The default is the link.
    virtual void carry(Link& to, Bytes const& frame) { queue(to, frame); }
    // The same to all receivers at once; false: each gets its own.
    virtual bool carryToAll(Bytes const&) { return false; }
    // Takes what came that way; how many were delivered. Without `hand` an adapter whose senders
    // wait for their receivers keeps it.
    virtual std::size_t collect(bool) { return 0; }
    // All data travel the links.
    virtual bool byLinks() const { return false; }
    // A socket to wait at beside the links; -1: none.
    virtual int socketToWatch() const { return -1; }
    // Before it sleeps: false if something has come meanwhile.
    virtual bool goToSleep() { return true; }
    virtual void wakeUp() {}
    // What a hello says for this way, and what comes of a peer's.
    virtual std::string greeting(Link&) { return ""; }
    virtual void greeted(Link&, std::string const&) {}
    virtual void lost(Link&) {}

    std::string const& session() const { return session_; }
    // Delivers a frame that came, or keeps it.
    void accept(Link& from, std::uint32_t what, unsigned char const* bytes, std::size_t size,
                bool hand);
    // Takes what comes by the links within the time; how many were delivered.
    std::size_t take(bool hand, double seconds = 0);
    // The same of one link, where nothing else is to be waited for: one call instead of two.
    std::size_t takeOne(Link& link, double seconds);
    void queue(Link& to, Bytes const& frame);
    // The peer has left, or died, or is given up.
    void lose(Link& link);
    // Puts an empty frame on a link and sends it, so that the peer wakes up.
    void ring(Link& to);

    EndpointEvents& events_;
    char const* volatile* const service_;
    std::vector<std::unique_ptr<Link>> links_;

private:
    struct Kept {
        Link* from;
        std::uint32_t what;
        Bytes bytes;
    };

    // What is rare stands apart, so that what is usual needs no room on the stack.
    [[gnu::noinline]] void sendOtherwise(std::size_t index, std::uint64_t stamp);
    // Whoever receives it has changed, or has come to know it.
    void routed(std::size_t index) {
        Item& one = *items_[index];
        bool const usual = settled_ && byLinks_ && one.receivers.size() == 1;
        one.only = sent_[index].to = usual ? one.receivers.front() : nullptr;
    }
    void unroute(Link& from, std::string const* topic);
    std::uint32_t shapeOf(std::size_t fields, std::size_t stride);
    // Who exchanges data with this member may be another from now on.
    void changed() {
        partnerKnown_ = false;
        lone_ = flow_ = nullptr;
    }
    bool isPartner(Link const& link);
    [[gnu::noinline]] bool quiet(long n);
    void greet(Link& link);
    void declare(Link& to, Frame what, std::uint32_t number, std::string const& name);
    void settle();
    void write(Link& to);
    bool writeLone();
    [[gnu::noinline]] void leave(Link& to);
    [[gnu::noinline]] void urge(Link& to);
    std::size_t read(Link& from, bool hand, int flags);
    std::size_t frames(Link& from, bool hand);
    [[gnu::noinline]] std::size_t otherFrame(Link& from, bool hand);
    void handle(Link& from, std::uint32_t what, unsigned char const* bytes, std::size_t size);
    void deliver(Link& from, std::uint32_t number, unsigned char const* bytes, std::size_t size);
    unsigned char const* dataFrame(Link& from, unsigned char const* at, std::size_t room);
    [[gnu::noinline]] unsigned char const* dataFrames(Link& from, unsigned char const* at,
                                                      std::size_t room);
    bool usual(double seconds) const;
    bool listenLone(std::size_t& rounds, bool const& enough);
    bool hearLone(Link& from);
    bool heard(Link& from, long n);
    bool sendWhole(Link& to, Item& one, std::uint64_t stamp);
    // Of a frame of data.
    static std::uint64_t stampIn(unsigned char const* frame) {
        std::uint64_t stamp;
        std::memcpy(&stamp, frame + sizeof(Header), sizeof stamp);
        return le64toh(stamp);
    }
    long answerPlanned(Link& peer, Answers::Plan& plan, std::size_t& rounds);
    Item* planned(Link const& from, long n, Answers::Plan const& plan) const;
    void pass(std::uint64_t came, std::uint64_t last, std::uint64_t left);
    bool hearUsual(double seconds);
    [[gnu::noinline]] bool hearBehind(double seconds);
    bool sendLone(Link& to, std::size_t item, std::uint64_t stamp);
    [[gnu::noinline]] bool hearRest(Link& from, std::size_t bytes, std::uint64_t before);
    [[gnu::noinline]] void tell(Link& from);
    [[gnu::noinline]] void flushAll();
    [[gnu::noinline]] void waitLonger(double maxSeconds);
    std::size_t deliverKept() { return kept_.empty() ? 0 : deliverAllKept(); }
    std::size_t deliverAllKept();
    void takeHello(Link& from, unsigned char const* bytes, std::size_t size);
    void takeItem(Link& from, std::uint32_t number, std::string const& topic);
    void takeText(Link& from, unsigned char const* bytes, std::size_t size);
    void route(Link& to, std::string const& topic);
    void forgetStrangers();
    void removeAll(Link& link);
    std::size_t poll(double seconds);
    bool greetedByAll();

    std::string member_, session_;
    int meeting_ = -1, listener_ = -1;
    std::size_t before_ = 0;  // links to those that were there first
    std::vector<Topic> topics_;
    std::map<std::string, TopicId> byName_;
    std::set<TopicId> subscribed_;
    std::vector<std::size_t> discovered_;  // by topic
    std::vector<std::unique_ptr<Item>> items_;
    std::vector<Link*> sending_;  // to these, of which some may leave meanwhile
    std::vector<Sent> sent_;      // of each
    std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> shapes_;  // by fields and stride
    std::deque<Kept> kept_;
    std::uint64_t keptBytes_ = 0;
    std::vector<pollfd> watch_;
    // The only peer, or of several the only one that data go to and come from, as long as they
    // come: while there is nothing to do but to send to it by its link and to hear of it, data come
    // and go by few instructions (mesh_data.cpp). What others say is then heard now and then, at
    // the latest when a wait was in vain.
    Link* lone_ = nullptr;
    // Of several the one that alone brought data when it was last waited for all of them, so long.
    Link* flow_ = nullptr;
    double flowFor_ = 0;
    Link* partner_ = nullptr;  // of several: see isPartner
    bool partnerKnown_ = false;
    unsigned turn_ = 0, flushed_ = 0;
    bool reliable_ = true, byLinks_ = false;
    bool settled_ = true;  // every item is known to its receivers
};

}  // namespace bench
