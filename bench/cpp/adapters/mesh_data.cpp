// The way of data, which nearly all of a sample is: send, flush, wait and answer. What is usual,
// one peer by a link, stands here and takes few instructions; what is rare is called (mesh.cpp).
#include <algorithm>
#include <cerrno>

#include "mesh.hpp"
#include "socket.hpp"
#include "stamp.hpp"
#include "trips.hpp"

namespace bench {

// Counts, unless it is the long way's turn, which counts itself.
static inline bool notYet(unsigned& turn) {
    if ((turn + 1) % kTurn == 0) return false;
    ++turn;
    return true;
}

// Data of one receiver, of a shape that left before.
void Mesh::send(std::size_t index, std::uint64_t stamp) {
    Sent const one = sent_[index];
    if (one.to == nullptr || !one.to->out.again(one.shape, one.what, stamp))
        return sendOtherwise(index, stamp);
    ++statistics_.sent;
    if (one.to->out.size() >= kBundle) leave(*one.to);
}

// What is queued is a bundle.
void Mesh::leave(Link& to) {
    if (&to != lone_ || !writeLone()) urge(to);
}

// One message of data; where it ends, or `at` if that is something else, or not whole. A size below
// that of a stamp is more than there can be, too.
inline unsigned char const* Mesh::dataFrame(Link& from, unsigned char const* at, std::size_t room) {
    std::size_t const least = sizeof(Header) + 8;  // with a stamp
    if (room < least) return at;
    std::size_t const size = get32(at);
    std::uint32_t const item = get32(at + 4) - kData;  // of another frame: more than any
    if (item >= from.known || size - 8 > room - least || !from.remotes[item].known) return at;
    ++statistics_.arrived;
    unsigned char const* const bytes = at + sizeof(Header);
    data_->arrived(from.remotes[item].at(bytes, size));
    return bytes + size;
}

// The same of many: nothing is looked at twice.
unsigned char const* Mesh::dataFrames(Link& from, unsigned char const* at, std::size_t room) {
    std::size_t const least = sizeof(Header) + 8;
    if (room < least) return at;
    unsigned char const* const end = at + room;
    unsigned char const* const last = end - least;
    Remote* const remotes = from.remotes.data();
    std::size_t const known = from.known;
    DataEvents& data = *data_;
    std::uint64_t delivered = 0;
    while (at <= last) {
        std::size_t const size = get32(at);
        std::uint32_t const item = get32(at + 4) - kData;
        unsigned char const* const bytes = at + sizeof(Header);
        unsigned char const* const next = bytes + size;
        if (item >= known || next > end || size < 8 || !remotes[item].known) break;
        at = next;
        ++delivered;
        data.arrived(remotes[item].at(bytes, size));
    }
    statistics_.arrived += delivered;
    return at;
}

std::size_t Mesh::frames(Link& from, bool hand) {
    std::uint64_t const before = statistics_.arrived;
    std::size_t others = 0;
    while (from.socket >= 0) {
        if (hand && data_ != nullptr) {
            unsigned char const* const begin = from.in.data();
            std::size_t const room = from.filled - from.taken;
            from.taken =
                static_cast<std::size_t>(dataFrames(from, begin + from.taken, room) - begin);
        }
        if (from.filled - from.taken < sizeof(Header)) break;
        std::size_t const taken = from.taken;
        std::uint64_t const arrived = statistics_.arrived;
        bool const handed = otherFrame(from, hand) > 0;
        if (handed && statistics_.arrived == arrived) ++others;
        if (from.taken == taken) break;  // it has not come as a whole
    }
    if (from.taken == from.filled) from.filled = from.taken = 0;
    if (from.told < from.heard && from.socket >= 0) tell(from);
    return statistics_.arrived - before + others;
}

// There is one peer (`lone_`), from which the kernel waits as long as is asked for, with nothing
// left of before and nothing queued. Now and then the long way is taken: others may come.
inline bool Mesh::usual(double seconds) const {
    return lone_ != nullptr && lone_->filled == 0 && lone_->out.empty() &&
           lone_->patience == seconds && data_ != nullptr;
}

// Then: what comes, by one call. True: something was delivered, or the time has passed.
inline bool Mesh::hearLone(Link& from) {
    ++statistics_.systemCalls;
    return heard(from, receiveNow(from.socket, from.in.data(), kRead, 0));
}

inline bool Mesh::heard(Link& from, long n) {
    if (n <= 0) return quiet(n);
    unsigned char const* const end = from.in.data() + n;
    std::uint64_t const before = statistics_.arrived;
    unsigned char const* at = dataFrame(from, from.in.data(), static_cast<std::size_t>(n));
    if (at == end) return true;
    at = dataFrames(from, at, static_cast<std::size_t>(end - at));
    if (at == end) return true;
    from.taken = static_cast<std::size_t>(at - from.in.data());
    return hearRest(from, static_cast<std::size_t>(n), before);
}

// Something was delivered, of what is behind data or with it.
bool Mesh::hearRest(Link& from, std::size_t bytes, std::uint64_t before) {
    from.filled = bytes;
    return frames(from, true) > 0 || statistics_.arrived != before;
}

inline bool Mesh::hearUsual(double seconds) {
    return usual(seconds) && notYet(turn_) && hearLone(*lone_);
}

// The same behind a part of a message, where there is room.
bool Mesh::hearBehind(double seconds) {
    if (lone_ == nullptr || !lone_->out.empty() || lone_->patience != seconds || !data_)
        return false;
    Link& from = *lone_;
    if (from.filled == 0 || from.filled + kRead > from.in.size() || !notYet(turn_)) return false;
    ++statistics_.systemCalls;
    long const n = receiveNow(from.socket, from.in.data() + from.filled, kRead, 0);
    if (n <= 0) return quiet(n);
    from.filled += static_cast<std::size_t>(n);
    return frames(from, true) > 0;
}

// A message that is all there is to send leaves from where it is made. False: it is queued, or a
// part of it.
inline bool Mesh::sendLone(Link& to, std::size_t index, std::uint64_t stamp) {
    Item& one = *items_[index];
    if (one.only != &to || !to.out.empty() || !notYet(flushed_)) {
        send(index, stamp);
        return false;
    }
    ++statistics_.sent;
    ++statistics_.systemCalls;
    return sendWhole(to, one, stamp);
}

// By one call; false: what is left of it is queued.
inline bool Mesh::sendWhole(Link& to, Item& one, std::uint64_t stamp) {
    unsigned char* const frame = one.frame.data();
    std::size_t const size = one.shape.size;
    one.shape.stamp(frame, stamp);
    long const n = sendNow(to.socket, frame, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (static_cast<std::size_t>(n) == size) return true;
    auto const left = static_cast<std::size_t>(n > 0 ? n : 0);
    to.out.add(frame + left, size - left);
    return false;
}

// What is queued for the only peer leaves by one call; false: not all of it.
inline bool Mesh::writeLone() {
    Link& to = *lone_;
    if (!notYet(flushed_)) return false;
    ++statistics_.systemCalls;
    long const n = sendNow(to.socket, to.out.front(), to.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) return false;
    to.out.leave(static_cast<std::size_t>(n));
    return to.out.empty();
}

void Mesh::flush() {
    Within const in(service_, "flush");
    if (lone_ == nullptr || !(lone_->out.empty() ? notYet(flushed_) : writeLone())) flushAll();
}

void Mesh::wait(double maxSeconds) {
    Within const in(service_, "wait");
    if (!hearUsual(maxSeconds) && !hearBehind(maxSeconds)) waitLonger(maxSeconds);
}

// What of a frame of data has not come yet is behind what has.
static inline bool isPart(unsigned char const* at, std::size_t room) {
    return room < sizeof(Header) ||
           (get32(at + 4) >= kData && get32(at) <= kFrameMax && room < sizeof(Header) + get32(at));
}

// Reads of `lone_`, which is usual, as long as data and nothing else comes. False: the long way's
// turn.
inline bool Mesh::listenLone(std::size_t& rounds, bool const& enough) {
    Link& from = *lone_;
    for (; rounds > 0 && !enough; --rounds) {
        if (from.filled + kRead > from.in.size()) from.toFront();
        if (from.filled + kRead > from.in.size() || !notYet(turn_)) return false;
        ++statistics_.systemCalls;
        long const n = receiveNow(from.socket, from.in.data() + from.filled, kRead, 0);
        if (n <= 0) return quiet(n);
        from.filled += static_cast<std::size_t>(n);
        unsigned char const* const begin = from.in.data();
        unsigned char const* const at =
            dataFrames(from, begin + from.taken, from.filled - from.taken);
        from.taken = static_cast<std::size_t>(at - begin);
        if (from.taken == from.filled) {
            from.filled = from.taken = 0;
        } else if (!isPart(at, from.filled - from.taken)) {
            frames(from, true);
            return true;
        }
    }
    return true;
}

void Mesh::listen(std::size_t rounds, bool const& enough, double maxSeconds) {
    Within const in(service_, "listen");
    for (std::uint64_t before = ~statistics_.arrived;
         rounds > 0 && !enough && statistics_.arrived != before;) {
        before = statistics_.arrived;
        bool const lone = lone_ != nullptr && lone_->out.empty() && lone_->patience == maxSeconds &&
                          data_ != nullptr;
        if (lone && listenLone(rounds, enough)) return;
        if (rounds == 0) return;
        --rounds;
        waitLonger(maxSeconds);
    }
}

void Mesh::exchange(std::size_t item, std::uint64_t stamp, double maxSeconds) {
    Within const in(service_, "exchange");
    std::uint64_t const before = statistics_.arrived;
    Link* const to = lone_;
    if (to == nullptr) send(item, stamp);
    if (to == nullptr || !sendLone(*to, item, stamp)) {
        flush();
        if (statistics_.arrived != before) return;
    }
    if (!hearUsual(maxSeconds)) waitLonger(maxSeconds);
}

// How many rounds there may be before the long way's turn.
static inline std::uint64_t untilTurn(unsigned turn) { return kTurn - 1 - turn % kTurn; }

// The item that answers the `n` bytes that have come, if they are one message that is planned for.
inline Mesh::Item* Mesh::planned(Link const& from, long n, Answers::Plan const& plan) const {
    auto const size = static_cast<std::size_t>(n);
    if (n < static_cast<long>(sizeof(Header) + 8)) return nullptr;
    unsigned char const* const at = from.in.data();
    std::uint32_t const item = get32(at + 4) - kData;
    if (get32(at) != size - sizeof(Header) || item >= from.known) return nullptr;
    Remote const& remote = from.remotes[item];
    if (!remote.known || remote.next.topic >= plan.topics.size()) return nullptr;
    auto const& topic = plan.topics[remote.next.topic];
    if (remote.next.instance >= topic.count || tagOf(stampIn(at)) != plan.tag ||
        !isNewer(stampIn(at), plan.newest)) {
        return nullptr;
    }
    Item& one = *items_[topic.items[remote.next.instance]];
    return one.only == &from ? &one : nullptr;
}

// So many messages came as planned, the last with this stamp, and so many left, none of which was
// told of.
void Mesh::pass(std::uint64_t came, std::uint64_t last, std::uint64_t left) {
    statistics_.arrived += came;
    statistics_.sent += left;
    statistics_.systemCalls += came + left;
    if (came > 0) data_->passed(came, last);
}

// Answers what comes as planned, as long as nothing else comes, but no longer than so many rounds,
// which it counts down. What came last otherwise: so many bytes, as `recv` has them; kNothing:
// nothing.
long Mesh::answerPlanned(Link& peer, Answers::Plan& plan, std::size_t& rounds) {
    std::uint64_t const most = std::min({plan.left, std::uint64_t{rounds}, untilTurn(turn_)});
    std::uint64_t done = 0;
    unsigned char* const in = peer.in.data();
    long n = kNothing;
    while (done != most) {
        n = receiveNow(peer.socket, in, kRead, 0);
        Item* const one = planned(peer, n, plan);
        if (one == nullptr) break;
        n = kNothing;
        ++done;
        plan.newest = stampIn(in);
        if (!sendWhole(peer, *one, plan.newest)) break;
    }
    turn_ += static_cast<unsigned>(done);
    plan.left -= done;
    rounds -= done;
    if (n != kNothing) {
        ++statistics_.systemCalls;
        plan.left = 0;
    }
    pass(done, plan.newest, done);
    return n;
}

void Mesh::answer(Answers& answers, std::size_t rounds, double maxSeconds) {
    Within const in(service_, "answer");
    while (rounds > 0 && !answers.enough) {
        // Nothing of what is usual changes as long as it goes on like that.
        if (usual(maxSeconds)) {
            Link& peer = *lone_;
            long n = answerPlanned(peer, answers.plan, rounds);
            for (; rounds > 0 && notYet(turn_); --rounds) {
                bool const delivered = n == kNothing ? hearLone(peer) : heard(peer, n);
                n = kNothing;
                if (!delivered) break;
                if (answers.empty()) return;
                if (answers.size() != 1 || answers.enough) break;
                auto const one = answers[0];
                answers.clear();
                if (sendLone(peer, one.item, one.stamp)) continue;
                flush();
                break;
            }
        }
        if (answers.empty() && rounds > 0) waitLonger(maxSeconds);
        if (answers.empty()) return;
        give(answers);
        rounds -= rounds > 0 ? 1 : 0;
    }
}

void Mesh::trips(Trips& trips, double maxSeconds) {
    Within const in(service_, "trips");
    trips.begun = trips.back = 0;
    if (!usual(maxSeconds)) return;
    Link& peer = *lone_;
    unsigned char* const come = peer.in.data();
    std::size_t const* const items = trips.items.data();
    std::size_t const count = trips.items.size();
    Clock::Reader const clock = trips.clock;
    std::uint64_t const tag = makeStamp(trips.tag, 0);
    std::uint64_t const most = std::min(trips.left, untilTurn(turn_)), until = trips.untilNs;
    std::uint64_t now = trips.lastNs, backNs = trips.backNs, begun = 0, back = 0, last = 0;
    std::size_t next = trips.next;
    long n = kNothing;
    while (begun != most && now <= until) {
        Item& one = *items_[items[next]];
        if (one.only != &peer) break;
        if (++next == count) next = 0;
        now = std::max(clock.nowNs(), now + 1);
        std::uint64_t const stamp = tag | (now & kTimeMask);
        ++begun;
        if (!sendWhole(peer, one, stamp)) break;
        n = receiveNow(peer.socket, come, kRead, 0);
        // No other message has this stamp.
        bool const whole = n >= static_cast<long>(sizeof(Header) + 8) && stampIn(come) == stamp &&
                           get32(come) == static_cast<std::size_t>(n) - sizeof(Header) &&
                           get32(come + 4) >= kData;
        if (!whole) break;
        n = kNothing;
        last = stamp;
        backNs = clock.nowNs();
        trips.record.put(static_cast<float>(static_cast<std::int64_t>(backNs - now)));
        ++back;
    }
    turn_ += static_cast<unsigned>(begun);
    trips.back = back;
    trips.begun = begun;
    trips.next = next;
    trips.lastNs = now;
    trips.backNs = backNs;
    pass(back, last, begun);
    if (n != kNothing) {
        ++statistics_.systemCalls;
        heard(peer, n);
    }
}

}  // namespace bench
