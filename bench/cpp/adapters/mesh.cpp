#include "mesh.hpp"

#include <endian.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "socket.hpp"

namespace bench {

namespace {

using Json = nlohmann::json;

// What a link may hold back before `send` waits for its peer.
std::size_t const kQueueMax = 4 * 1024 * 1024;
// How long one call of `join` waits for those that were there before.
double const kAskedS = 1;
// How long a peer that takes nothing, or a meeting place that says nothing, is waited for.
double const kPatienceS = 20;
std::size_t const kAnswerMax = 32 * 1024 * 1024;  // of a meeting place
std::uint32_t const kItemsMax = 1u << 24;
std::size_t const kMembersMax = 4096;
// What may be kept for later.
std::uint64_t const kKeptMax = std::uint64_t{4} << 30;

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string why() { return std::strerror(errno); }

void put32(unsigned char* to, std::uint32_t value) {
    value = htole32(value);
    std::memcpy(to, &value, sizeof value);
}

std::vector<unsigned char> frameOf(std::uint32_t what, std::string const& body) {
    std::vector<unsigned char> frame(sizeof(Header) + body.size());
    put32(frame.data(), static_cast<std::uint32_t>(body.size()));
    put32(frame.data() + 4, what);
    std::memcpy(frame.data() + sizeof(Header), body.data(), body.size());
    return frame;
}

std::string number(std::uint32_t value) {
    unsigned char bytes[4];
    put32(bytes, value);
    return std::string(reinterpret_cast<char const*>(bytes), sizeof bytes);
}

}  // namespace

Mesh::Mesh(EndpointEvents& events, char const* volatile* service)
    : events_(events), service_(service) {}

bool Mesh::Patience::over(std::uint64_t left) {
    if (left < left_) {
        left_ = left;
        since_ = now();
    }
    return now() - since_ > kPatienceS;
}

Mesh::~Mesh() {
    for (auto const& link : links_) {
        if (link->socket >= 0) ::close(link->socket);
    }
    if (listener_ >= 0) ::close(listener_);
    if (meeting_ >= 0) ::close(meeting_);
}

void Mesh::connect(std::string const& settings, Callbacks callbacks) {
    Within const in(service_, "connect");
    if (callbacks == Callbacks::immediate) {
        throw EndpointError(version() + " has no thread for callbacks of its own");
    }
    reliable_ = capabilities().reliable;
    byLinks_ = byLinks();
    meeting_ = connectTo(settings);
    if (meeting_ < 0) {
        throw EndpointUnreachable("no meeting place at '" + settings + "': " + why() +
                                  "; start bench-meet");
    }
}

bool Mesh::join(std::string const& session, std::string const&, std::string const& member) {
    Within const in(service_, "join");
    if (listener_ >= 0) return greetedByAll();
    // Members of other hosts come to the address by which this one reached the meeting place.
    std::string host = ownAddress(meeting_);
    host = host.empty() ? "127.0.0.1" : host.substr(0, host.rfind(':'));
    listener_ = listenAt(host + ":0");
    if (listener_ < 0) throw EndpointError("can't listen at " + host + ": " + why());
    member_ = member;
    session_ = session;
    Json const me = {{"session", session}, {"name", member}, {"address", ownAddress(listener_)}};
    std::string const line = me.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (::send(meeting_, line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
        throw EndpointUnreachable("the meeting place has gone");
    }
    timeval const limit = {static_cast<time_t>(kPatienceS), 0};
    ::setsockopt(meeting_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string answer;
    for (char c; answer.find('\n') == std::string::npos; answer += c) {
        if (answer.size() == kAnswerMax) {
            throw EndpointError("the meeting place says more than it can have to say");
        }
        ssize_t const n = ::recv(meeting_, &c, 1, 0);
        if (n != 1) {
            bool const silent = n < 0 && errno == EAGAIN;
            throw EndpointUnreachable(std::string("the meeting place ") +
                                      (silent ? "does not answer" : "has gone"));
        }
    }
    Json const said = Json::parse(answer, nullptr, false);
    if (!said.is_object() || !said.contains("members") || !said["members"].is_array()) {
        answer.pop_back();
        auto const why = said.is_object() ? said.find("refused") : said.end();
        bool const isTold = said.is_object() && why != said.end() && why->is_string();
        throw EndpointError("the meeting place refused: " +
                            (isTold ? why->get<std::string>() : answer));
    }
    for (auto const& other : said["members"]) {
        if (!other.is_array() || other.size() != 2 || !other[1].is_string()) {
            throw EndpointError("the meeting place said what is no member: " + other.dump());
        }
        int const socket = connectTo(other[1].get<std::string>());
        if (socket < 0) continue;  // it has just left, or died
        noDelay(socket);
        changed();
        links_.emplace_back(new Link);
        links_.back()->socket = socket;
        if (other[0].is_string()) links_.back()->name = other[0].get<std::string>();
        greet(*links_.back());
    }
    before_ = links_.size();
    return greetedByAll();
}

// Whoever was there before knows this member, and what each wants is known here. Not yet: the
// caller, who has a deadline, comes again.
bool Mesh::greetedByAll() {
    double const until = now() + kAskedS;
    while (!waitsFor().empty()) {
        if (now() > until) return false;
        poll(0.05);
    }
    return true;
}

std::string Mesh::waitsFor() const {
    std::string names;
    for (std::size_t i = 0; i < before_; ++i) {
        if (links_[i]->greeted) continue;
        names += (names.empty() ? "'" : ", '") + links_[i]->name + "'";
    }
    return names;
}

void Mesh::greet(Link& link) {
    link.index = static_cast<std::size_t>(
        std::find_if(links_.begin(), links_.end(),
                     [&](std::unique_ptr<Link> const& l) { return l.get() == &link; }) -
        links_.begin());
    Json const me = {{"name", member_}, {"slot", link.index}, {"way", greeting(link)}};
    queue(link, frameOf(Frame::hello, me.dump()));
    for (TopicId const topic : subscribed_) {
        declare(link, Frame::subscribe, 0, topics_[topic].name);
    }
    write(link);
}

void Mesh::resign() {
    Within const in(service_, "resign");
    // Taking may bring further links, which are left in their turn.
    for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = *links_[i];
        if (link.socket < 0) continue;
        queue(link, frameOf(Frame::bye, ""));
        write(link);
        for (Patience patience; link.socket >= 0 && !link.out.empty();) {
            if (patience.over(link.out.size())) lose(link);
            take(false, 0.01);
            write(link);
        }
        // What the peer still sends is taken, so that it gets this one's last word.
        if (link.socket >= 0) ::shutdown(link.socket, SHUT_WR);
    }
    for (auto const& link : links_) {
        while (link->socket >= 0 && !link->left) {
            pollfd one = {link->socket, POLLIN, 0};
            if (::poll(&one, 1, 1000) <= 0) break;
            read(*link, false, MSG_DONTWAIT);
        }
        if (link->socket >= 0) ::close(link->socket);
        link->socket = -1;
    }
    changed();
    kept_.clear();
    keptBytes_ = 0;
    if (listener_ >= 0) ::close(listener_);
    listener_ = -1;
    before_ = 0;
}

void Mesh::disconnect() {
    if (meeting_ >= 0) ::close(meeting_);
    meeting_ = -1;
}

// ---- declaration

TopicId Mesh::add(Topic const& topic) {
    topics_.push_back(topic);
    discovered_.push_back(0);
    return byName_[topic.name] = topics_.size() - 1;
}

void Mesh::declare(Link& to, Frame what, std::uint32_t value, std::string const& name) {
    ++to.declared;
    queue(to, frameOf(what, number(value) + name));
}

void Mesh::subscribe(TopicId topic, std::size_t) {
    subscribed_.insert(topic);
    discovered_[topic] = 0;
    for (auto const& link : links_) {
        if (link->socket < 0) continue;
        declare(*link, Frame::subscribe, 0, topics_[topic].name);
        write(*link);
    }
}

void Mesh::withdraw() {
    Within const in(service_, "withdraw");
    for (auto const& link : links_) {
        if (link->socket < 0) continue;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (link->wants.count(topics_[items_[i]->topic].name) == 0) continue;
            declare(*link, Frame::gone, static_cast<std::uint32_t>(i), "");
        }
        for (TopicId const topic : subscribed_) {
            if (topics_[topic].kind == Topic::Kind::text) continue;
            declare(*link, Frame::unsubscribe, 0, topics_[topic].name);
        }
        write(*link);
    }
    changed();
    items_.clear();
    sent_.clear();
    for (auto at = subscribed_.begin(); at != subscribed_.end();) {
        at = topics_[*at].kind == Topic::Kind::text ? std::next(at) : subscribed_.erase(at);
    }
    // An item's number means another item after this.
    settle();
}

std::size_t Mesh::addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) {
    std::unique_ptr<Item> made(new Item);
    made->topic = topic;
    auto const stride = static_cast<std::size_t>(bytesEach);
    std::size_t const bytes = fields * stride;
    Capabilities const can = capabilities();
    if (topics_[topic].reliable ? !can.reliable : !can.bestEffort) {
        throw EndpointError(version() + " has no transportation for '" + topics_[topic].name + "'");
    }
    if (bytes > can.messageBytesMax || bytes > kFrameMax || bytesEach < 8) {
        throw EndpointError("a message of " + std::to_string(bytes) + " bytes can't be carried");
    }
    auto const index = static_cast<std::uint32_t>(items_.size());
    if (index == kItemsMax) throw EndpointError("too many items");
    made->shape = {shapeOf(fields, stride), fields, stride, sizeof(Header) + bytes};
    made->frame.assign(made->shape.size, 0x5a);
    put32(made->frame.data(), static_cast<std::uint32_t>(bytes));
    put32(made->frame.data() + 4, kData + index);
    for (auto const& link : links_) {
        if (link->socket < 0 || link->wants.count(topics_[topic].name) == 0) continue;
        made->receivers.push_back(link.get());
        declare(*link, Frame::item, index, topics_[topic].name);
        if (link->out.size() > kBundle) write(*link);
    }
    sent_.push_back({nullptr, made->shape.number, htole32(kData + index)});
    items_.push_back(std::move(made));
    changed();
    settled_ = false;
    return index;
}

// The number of a shape, for which frames need not be compared.
std::uint32_t Mesh::shapeOf(std::size_t fields, std::size_t stride) {
    auto const next = static_cast<std::uint32_t>(Shape::kFirst + shapes_.size());
    return shapes_.emplace(std::make_pair(fields, stride), next).first->second;
}

void Mesh::setTransport(std::size_t, bool) {
    throw EndpointError(version() + " has no choice of transportation");
}

// Whoever wants a topic now hears of its items.
void Mesh::route(Link& to, std::string const& topic) {
    changed();
    for (std::size_t i = 0; i < items_.size(); ++i) {
        Item& one = *items_[i];
        if (topics_[one.topic].name != topic) continue;
        one.receivers.push_back(&to);
        routed(i);
        declare(to, Frame::item, static_cast<std::uint32_t>(i), topic);
    }
    write(to);
}

void Mesh::settle() {
    for (auto const& link : links_) write(*link);
    // Meanwhile others may join, whose links come behind these.
    for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = *links_[i];
        // Who has not greeted wants nothing yet, and may be no member.
        for (Patience patience;
             link.socket >= 0 && link.greeted && link.acknowledged < link.declared;) {
            if (patience.over(link.declared - link.acknowledged)) lose(link);
            write(link);
            take(false, 0.1);
        }
    }
    if (settled_) return;
    settled_ = true;
    for (std::size_t i = 0; i < items_.size(); ++i) routed(i);
}

// The items of this topic, or all, are no longer for it.
void Mesh::unroute(Link& from, std::string const* topic) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (topic != nullptr && topics_[items_[i]->topic].name != *topic) continue;
        auto& to = items_[i]->receivers;
        to.erase(std::remove(to.begin(), to.end(), &from), to.end());
        routed(i);
    }
}

// ---- sending

void Mesh::queue(Link& to, Bytes const& frame) { to.out.add(frame.data(), frame.size()); }

void Mesh::ring(Link& to) {
    queue(to, frameOf(Frame::wake, ""));
    write(to);
}

void Mesh::write(Link& to) {
    while (to.socket >= 0 && !to.out.empty()) {
        ++statistics_.systemCalls;
        long const n =
            sendNow(to.socket, to.out.front(), to.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) to.out.leave(static_cast<std::size_t>(n));
        else if (errno == EAGAIN) return;
        else if (errno != EINTR) break;  // it has gone: reading says so
    }
    to.out.clear();
}

void Mesh::fill(std::size_t index, unsigned char const* bytes, std::size_t size) {
    Item& one = *items_[index];
    one.shape.number = sent_[index].shape = Shape::kOwn;
    std::memcpy(one.frame.data() + sizeof(Header) + 8, bytes, std::min(size, one.shape.stride - 8));
}

void Mesh::sendOtherwise(std::size_t index, std::uint64_t stamp) {
    if (!settled_) settle();
    ++statistics_.sent;
    Item& one = *items_[index];
    one.shape.stamp(one.frame.data(), stamp);
    if (!byLinks_ && !one.receivers.empty() && carryToAll(one.frame)) return;
    if (byLinks_) {
        for (Link* const to : one.receivers) {
            if (to->socket >= 0 && !to->out.again(one.shape.number, sent_[index].what, stamp)) {
                to->out.add(one.frame, one.shape);
            }
        }
    } else {
        // Whoever leaves while another is waited for is none of the receivers any more.
        sending_.assign(one.receivers.begin(), one.receivers.end());
        for (Link* const to : sending_) {
            if (to->socket >= 0) carry(*to, one.frame);
        }
    }
    // One of them may leave while it is waited for.
    for (std::size_t i = 0; i < one.receivers.size(); ++i) {
        if (one.receivers[i]->out.size() >= kBundle) urge(*one.receivers[i]);
    }
}

void Mesh::urge(Link& to) {
    write(to);
    // A slow peer holds this one up; its own data are taken meanwhile, or both would wait.
    for (Patience patience; to.socket >= 0 && to.out.size() > kQueueMax;) {
        if (patience.over(to.out.size())) lose(to);
        take(false, 0.1);
        write(to);
    }
}

void Mesh::say(TopicId topic, std::vector<std::string> const& values) {
    Within const in(service_, "say");
    settle();
    // Whoever says something may be answered by anybody.
    if (links_.size() > 1) lone_ = flow_ = nullptr;
    std::string const& name = topics_[topic].name;
    std::string body = number(static_cast<std::uint32_t>(name.size())) + name;
    for (auto const& value : values) {
        body += number(static_cast<std::uint32_t>(value.size())) + value;
    }
    for (auto const& link : links_) {
        if (link->socket < 0 || link->wants.count(name) == 0) continue;
        queue(*link, frameOf(Frame::text, body));
        write(*link);
    }
}

// ---- receiving

std::size_t Mesh::deliverAllKept() {
    std::size_t delivered = 0;
    for (; !kept_.empty(); ++delivered) {
        Kept const one = std::move(kept_.front());
        kept_.pop_front();
        keptBytes_ -= one.bytes.size();
        handle(*one.from, one.what, one.bytes.data(), one.bytes.size());
    }
    return delivered;
}

std::size_t Mesh::take(bool hand, double seconds) {
    watch_.clear();
    for (auto const& link : links_) {
        // A negative number is passed over.
        watch_.push_back(
            {link->socket, static_cast<short>(link->out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    watch_.push_back({links_.size() < kMembersMax ? listener_ : -1, POLLIN, 0});
    watch_.push_back({hand ? socketToWatch() : -1, POLLIN, 0});
    auto const nanoseconds = static_cast<long long>(seconds * 1e9);
    timespec const limit = {static_cast<time_t>(nanoseconds / 1000000000),
                            static_cast<long>(nanoseconds % 1000000000)};
    ++statistics_.systemCalls;
    if (::ppoll(watch_.data(), watch_.size(), &limit, nullptr) <= 0) {
        if (seconds > 0 && links_.size() > 1) lone_ = flow_ = nullptr;
        return 0;
    }
    std::size_t const links = links_.size();
    std::size_t delivered = 0;
    Link* brought = nullptr;
    for (std::size_t i = 0; i < links; ++i) {
        if ((watch_[i].revents & ~POLLOUT) == 0) continue;
        std::uint64_t const before = statistics_.arrived;
        delivered += read(*links_[i], hand, MSG_DONTWAIT);
        if (statistics_.arrived != before) brought = links_[i].get();
    }
    if (links > 1 && byLinks_) {
        flow_ = brought != nullptr && isPartner(*brought) ? brought : nullptr;
        flowFor_ = seconds;
        if (flow_ == nullptr) lone_ = nullptr;
    }
    if (watch_[links].revents != 0) {
        int const socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket >= 0) {
            noDelay(socket);
            changed();
            links_.emplace_back(new Link);
            links_.back()->socket = socket;
            greet(*links_.back());
        }
    }
    return delivered;
}

// Whether it is the only one that data go to or come from.
bool Mesh::isPartner(Link const& link) {
    if (!partnerKnown_) {
        partnerKnown_ = true;
        bool several = false;
        partner_ = nullptr;
        auto const see = [&](Link* one) {
            several = several || (partner_ != nullptr && partner_ != one);
            partner_ = one;
        };
        for (auto const& one : links_) {
            if (one->known > 0) see(one.get());
        }
        for (auto const& one : items_) {
            for (Link* const to : one->receivers) see(to);
        }
        if (several) partner_ = nullptr;
    }
    return partner_ == &link;
}

// What is to be done when nothing came; true: the time has passed.
bool Mesh::quiet(long n) {
    if (links_.size() > 1) lone_ = flow_ = nullptr;
    return n < 0 && errno == EAGAIN;
}

std::size_t Mesh::takeOne(Link& link, double seconds) {
    if (link.patience != seconds) {
        auto const us = static_cast<long long>(seconds * 1e6);
        timeval const limit = {static_cast<time_t>(us / 1000000),
                               static_cast<suseconds_t>(us % 1000000)};
        ::setsockopt(link.socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        link.patience = seconds;
    }
    return read(link, true, 0);
}

std::size_t Mesh::read(Link& from, bool hand, int flags) {
    // What is left of a frame is moved to the front when there is no room behind it; only a frame
    // that is longer makes the buffer longer.
    if (from.filled + kRead > from.in.size()) {
        from.toFront();
        if (from.filled + kRead > from.in.size()) from.in.resize(from.filled + 2 * kRead);
    }
    ++statistics_.systemCalls;
    long const n = receiveNow(from.socket, from.in.data() + from.filled, kRead, flags);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    from.filled += static_cast<std::size_t>(std::max(n, 0L));
    std::size_t const delivered = frames(from, hand);
    if (n <= 0) lose(from);
    return delivered;
}

void Mesh::deliver(Link& from, std::uint32_t index, unsigned char const* bytes, std::size_t size) {
    if (index >= from.remotes.size() || !from.remotes[index].known) return;  // no longer wanted
    if (size < 8) return events_.malformed("data without a time stamp");
    ++statistics_.arrived;
    if (data_ != nullptr) data_->arrived(from.remotes[index].at(bytes, size));
}

// How many of the peer's declarations are known here.
void Mesh::tell(Link& from) {
    from.told = from.heard;
    std::string count(8, '\0');
    for (int i = 0; i < 8; ++i)
        count[static_cast<std::size_t>(i)] = static_cast<char>(from.heard >> (8 * i));
    queue(from, frameOf(Frame::done, count));
    write(from);
}

std::size_t Mesh::otherFrame(Link& from, bool hand) {
    unsigned char const* const at = from.in.data() + from.taken;
    std::uint32_t const size = get32(at), what = get32(at + 4);
    if (size > kFrameMax || what >= kData + kItemsMax || (!from.greeted && what != Frame::hello)) {
        if (from.greeted) events_.malformed("a frame of '" + from.name + "' that nobody sends");
        lose(from);
        return 0;
    }
    if (from.filled - from.taken < sizeof(Header) + size) return 0;
    from.taken += sizeof(Header) + size;
    bool const told =
        what == Frame::text || what == Frame::gone || what == Frame::item || what >= kData;
    // It is known here, though nobody may have been told yet.
    if (what == Frame::item || what == Frame::gone) ++from.heard;
    if (told) accept(from, what, at + sizeof(Header), size, hand);
    else handle(from, what, at + sizeof(Header), size);
    return told && hand ? 1 : 0;
}

void Mesh::accept(Link& from, std::uint32_t what, unsigned char const* bytes, std::size_t size,
                  bool hand) {
    if (hand) return handle(from, what, bytes, size);
    keptBytes_ += size;
    if (keptBytes_ > kKeptMax) throw EndpointError("more comes than can be kept");
    ++statistics_.deferred;
    lone_ = nullptr;
    kept_.push_back({&from, what, Bytes(bytes, bytes + size)});
}

void Mesh::handle(Link& from, std::uint32_t what, unsigned char const* bytes, std::size_t size) {
    if (what >= kData) return deliver(from, what - kData, bytes, size);
    std::string const name =
        size > 4 ? std::string(reinterpret_cast<char const*>(bytes) + 4, size - 4) : "";
    switch (what) {
        case Frame::hello:
            return takeHello(from, bytes, size);
        case Frame::subscribe:
            ++from.heard;
            if (from.wants.insert(name).second) route(from, name);
            return;
        case Frame::unsubscribe:
            ++from.heard;
            from.wants.erase(name);
            return unroute(from, &name);
        case Frame::item:
            if (size >= 4) takeItem(from, get32(bytes), name);
            return;
        case Frame::gone: {
            std::uint32_t const index = size >= 4 ? get32(bytes) : kItemsMax;
            if (index >= from.remotes.size() || !from.remotes[index].known) return;
            Remote const was = from.remotes[index];
            from.remotes[index] = Remote();
            if (was.object) events_.removed(was.next.topic);
            return;
        }
        case Frame::text:
            return takeText(from, bytes, size);
        case Frame::done: {
            std::uint64_t count = 0;
            for (std::size_t i = 0; i < 8 && i < size; ++i) {
                count |= std::uint64_t{bytes[i]} << (8 * i);
            }
            from.acknowledged = count;
            return;
        }
        case Frame::bye:
            from.left = true;
            return;
        case Frame::lost:
            return removeAll(from);
        default:
            return;  // it woke this member up
    }
}

void Mesh::takeHello(Link& from, unsigned char const* bytes, std::size_t size) {
    Json const said = Json::parse(bytes, bytes + size, nullptr, false);
    try {
        if (from.greeted) return lose(from);
        from.name = said.at("name").get<std::string>();
        from.slot = said.at("slot").get<std::uint32_t>();
        from.greeted = true;
        greeted(from, said.at("way").get<std::string>());
    } catch (Json::exception const&) {
        lose(from);  // no member
    }
}

void Mesh::takeItem(Link& from, std::uint32_t index, std::string const& name) {
    auto const topic = byName_.find(name);
    if (index >= kItemsMax || topic == byName_.end() || subscribed_.count(topic->second) == 0) {
        return;  // it was wanted a moment ago
    }
    changed();
    if (index >= from.remotes.size()) from.remotes.resize(index + 1);
    from.known = from.remotes.size();
    Remote& made = from.remotes[index];
    made.known = true;
    made.next.topic = topic->second;
    made.next.reliable = reliable_;
    made.object = topics_[topic->second].kind == Topic::Kind::object;
    if (!made.object) return;
    made.next.instance = discovered_[topic->second]++;
    events_.discovered(topic->second);
}

void Mesh::takeText(Link& from, unsigned char const* bytes, std::size_t size) {
    std::vector<std::string> parts;
    while (size >= 4 && get32(bytes) <= size - 4) {
        std::uint32_t const length = get32(bytes);
        parts.emplace_back(reinterpret_cast<char const*>(bytes) + 4, length);
        bytes += 4 + length;
        size -= 4 + length;
    }
    if (size != 0 || parts.empty()) return events_.malformed("a text of '" + from.name + "'");
    auto const topic = byName_.find(parts.front());
    if (topic == byName_.end() || subscribed_.count(topic->second) == 0) return;
    parts.erase(parts.begin());
    if (parts.size() != topics_[topic->second].fields.size()) {
        return events_.malformed("a text of '" + from.name + "' with other fields");
    }
    events_.said(topic->second, parts);
}

// That its instances go is told when something may be.
void Mesh::lose(Link& link) {
    if (link.socket < 0) return;
    ::close(link.socket);
    link.socket = -1;
    changed();
    link.stranger = !link.greeted;
    link.left = link.greeted = true;
    lost(link);
    unroute(link, nullptr);
    if (!link.stranger) kept_.push_back({&link, Frame::lost, {}});
}

// Whoever came by mistake and has gone makes no member one of several.
void Mesh::forgetStrangers() {
    while (links_.size() > before_ && links_.back()->stranger) {
        links_.pop_back();
        changed();
    }
}

void Mesh::removeAll(Link& link) {
    for (auto& remote : link.remotes) {
        if (remote.known && remote.object) events_.removed(remote.next.topic);
        remote = Remote();
    }
}

std::size_t Mesh::poll(double seconds) {
    for (auto const& link : links_) {
        if (link->out.empty()) continue;
        write(*link);
        // Who waits for room has it: what may come is no reason to wait on.
        if (link->out.empty()) seconds = 0;
    }
    std::size_t delivered = deliverKept() + collect(true);
    if (delivered > 0 && ++turn_ % kTurn != 0) return delivered;
    // Where one peer has all there is to wait for, the others get their turn now and then. A
    // shorter wait is not what the kernel's timer of sockets gives.
    bool const several = links_.size() > 1;
    Link* one = nullptr;
    if (links_.size() == 1) one = links_.front().get();
    else if (seconds == flowFor_) one = flow_;
    bool const alone =
        byLinks_ && one != nullptr && one->socket >= 0 && one->out.empty() && one->greeted;
    if (alone && delivered == 0 && seconds >= kCoarse && ++turn_ % kTurn != 0) {
        std::size_t const came = takeOne(*one, seconds);
        delivered = came + deliverKept();
        bool const same = several ? came > 0 && flow_ == one : links_.size() == 1;
        lone_ = same && one->socket >= 0 && kept_.empty() ? one : nullptr;
        if (came == 0) flow_ = nullptr;
        return delivered;
    }
    if (delivered > 0 || seconds <= 0 || !goToSleep()) {
        delivered += take(true);
    } else {
        delivered += take(true, seconds);
        wakeUp();
    }
    return delivered + deliverKept() + collect(true);
}

void Mesh::flushAll() {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = *links_[i];
        write(link);
        for (Patience patience; link.socket >= 0 && !link.out.empty();) {
            if (patience.over(link.out.size())) lose(link);
            poll(0.1);
        }
    }
    // On links nothing that has come is lost: it waits for the next tick, but a sender that never
    // waits hears of others, too.
    if (!byLinks_ || ++flushed_ % kTurn == 0) poll(0);
}

void Mesh::tick(double minSeconds, double maxSeconds) {
    Within const in(service_, "tick");
    double const start = now();
    forgetStrangers();
    std::size_t delivered = poll(0);
    for (double passed = 0; passed < maxSeconds; passed = now() - start) {
        if (passed >= minSeconds && delivered == 0) break;
        double const left = (passed < minSeconds ? minSeconds : maxSeconds) - passed;
        delivered = poll(passed < minSeconds ? left : 0);
    }
}

// What has come is delivered, also where there is no time to wait.
void Mesh::waitLonger(double maxSeconds) {
    double const start = now();
    double left = maxSeconds;
    do {
        if (poll(left) > 0) return;
        left = maxSeconds - (now() - start);
    } while (left > 0);
}

}  // namespace bench
