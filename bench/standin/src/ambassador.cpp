// The stand-in RTI's ambassador. It does what the standard says and uses every freedom that this
// leaves, where Starling does otherwise: bytes are copied at setDataPointer, order is kept within a
// class only, evokeMultipleCallbacks returns after the first callback, there is no change of
// transportation, and most services do not exist. The environment variable STANDIN makes it worse:
// rules, separated by commas, for classes whose name holds PART (or that are PART: reliable,
// best_effort):
//   lose=PART:P  double=PART:P   with probability P (seed=N)
//   late=PART:SECONDS            delivered that much later
//   cut=PART:BYTES               no value has more of them
//   burst=SECONDS                delivered at multiples of that time only
//   slow_resign=SECONDS          what resigning takes
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "fom.hpp"
#include "frames.hpp"
#include "generated.hpp"
#include "handles.hpp"

namespace standin {

namespace {

using Clock = std::chrono::steady_clock;

std::string narrow(std::wstring const& text) {
    std::string out;
    for (wchar_t const c : text) out += c < 128 ? static_cast<char>(c) : '?';
    return out;
}
std::wstring wide(std::string const& text) { return std::wstring(text.begin(), text.end()); }

Clock::duration ofSeconds(double s) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

auto const kAwake = std::chrono::microseconds(300);

struct Rule {
    std::string what, part;
    double value;
};

std::vector<Rule> rules() {
    std::vector<Rule> out;
    char const* const given = std::getenv("STANDIN");
    std::istringstream in(given == nullptr ? "" : given);
    for (std::string one; std::getline(in, one, ',');) {
        auto const equals = one.find('=');
        auto const colon = one.rfind(':');
        if (equals == std::string::npos) throw RTIinternalError(L"STANDIN: " + wide(one));
        bool const parted = colon != std::string::npos;
        out.push_back(Rule{one.substr(0, equals),
                           parted ? one.substr(equals + 1, colon - equals - 1) : "",
                           std::strtod(one.c_str() + (parted ? colon : equals) + 1, nullptr)});
    }
    return out;
}

struct Message {
    Kind kind;
    std::string body;
    Clock::time_point due;
};

class Ambassador final : public Unsupported {
public:
    Ambassador() : rules_(rules()) {}
    ~Ambassador() override {
        if (socket_ >= 0) ::close(socket_);
    }

    // ---- federation management
    void connect(FederateAmbassador& federate, CallbackModel model,
                 std::wstring const& designator) override {
        if (socket_ >= 0) throw AlreadyConnected(L"connected");
        if (model != HLA_EVOKED) throw UnsupportedCallbackModel(L"only HLA_EVOKED");
        std::string at = narrow(designator);
        if (at.compare(0, 10, "standin://") != 0) {
            throw InvalidLocalSettingsDesignator(L"standin://HOST:PORT is needed");
        }
        at = at.substr(10);
        auto const colon = at.rfind(':');
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_STREAM;
        if (colon == std::string::npos ||
            ::getaddrinfo(at.substr(0, colon).c_str(), at.c_str() + colon + 1, &hints, &found) !=
                0) {
            throw InvalidLocalSettingsDesignator(L"standin://HOST:PORT is needed");
        }
        socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int const on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        bool const reached = ::connect(socket_, found->ai_addr, found->ai_addrlen) == 0;
        ::freeaddrinfo(found);
        if (!reached) {
            ::close(socket_);
            socket_ = -1;
            throw ConnectionFailed(L"nobody listens at " + wide(at));
        }
        federate_ = &federate;
    }
    void disconnect() override {
        if (joined_) throw FederateIsExecutionMember(L"joined");
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
    }
    void createFederationExecution(std::wstring const& name, std::wstring const& module,
                                   std::wstring const&) override {
        std::ifstream in(narrow(module), std::ios::binary);
        std::string const xml((std::istreambuf_iterator<char>(in)), {});
        if (!in) throw CouldNotOpenFDD(module);
        try {
            Fom const checked(xml);
            if (checked.find(true, "HLAobjectRoot") == 0)
                throw std::runtime_error("no HLAobjectRoot");
        } catch (std::runtime_error const& e) {
            throw ErrorReadingFDD(module + L": " + wide(e.what()));
        }
        std::string body;
        putText(body, narrow(name));
        putText(body, xml);
        if (request(Kind::Create, body) == Status::Exists) {
            throw FederationExecutionAlreadyExists(name);
        }
    }
    FederateHandle joinFederationExecution(std::wstring const& federate, std::wstring const&,
                                           std::wstring const& name,
                                           std::vector<std::wstring> const&) override {
        if (joined_) throw FederateAlreadyExecutionMember(L"joined");
        std::string body;
        putText(body, narrow(name));
        putText(body, narrow(federate));
        // Drawn by the seed for each federate by itself: what one loses, another may not.
        std::string seeds =
            std::to_string(static_cast<unsigned>(rule("seed", ""))) + narrow(federate);
        std::seed_seq each(seeds.begin(), seeds.end());
        random_.seed(each);
        std::string answer;
        switch (request(Kind::Join, body, &answer)) {
            case Status::Absent:
                throw FederationExecutionDoesNotExist(name);
            case Status::NameInUse:
                throw FederateNameAlreadyInUse(federate);
            default:
                break;
        }
        Reader in(answer);
        me_ = in.get<std::uint32_t>();
        fom_ = Fom(in.text());
        joined_ = true;
        return FederateHandleFriend::make(me_);
    }
    void resignFederationExecution(ResignAction) override {
        requireJoined();
        joined_ = false;
        request(Kind::ResignBegin, "");
        std::this_thread::sleep_for(ofSeconds(rule("slow_resign", "")));
        request(Kind::Resign, "");
    }
    void destroyFederationExecution(std::wstring const& name) override {
        std::string body;
        putText(body, narrow(name));
        Status const status = request(Kind::Destroy, body);
        if (status == Status::Absent) throw FederationExecutionDoesNotExist(name);
        if (status == Status::Joined) throw FederatesCurrentlyJoined(name);
    }

    // ---- declaration management
    void publishObjectClassAttributes(ObjectClassHandle c, AttributeHandleSet const&) override {
        requireJoined();
        published_.insert(numberOf(c));
    }
    void unpublishObjectClass(ObjectClassHandle c) override { published_.erase(numberOf(c)); }
    void publishInteractionClass(InteractionClassHandle c) override {
        requireJoined();
        published_.insert(numberOf(c));
    }
    void unpublishInteractionClass(InteractionClassHandle c) override {
        published_.erase(numberOf(c));
    }
    void subscribeObjectClassAttributes(ObjectClassHandle c, AttributeHandleSet const& attributes,
                                        bool, std::wstring const&) override {
        requireJoined();
        for (auto const& a : attributes) subscribed_[numberOf(c)].insert(numberOf(a));
        for (auto const& one : instances_) {
            if (one.second == numberOf(c)) discoverSoon(one.first, one.second);
        }
    }
    void unsubscribeObjectClass(ObjectClassHandle c) override { subscribed_.erase(numberOf(c)); }
    void subscribeInteractionClass(InteractionClassHandle c, bool) override {
        requireJoined();
        subscribed_[numberOf(c)];
    }
    void unsubscribeInteractionClass(InteractionClassHandle c) override {
        subscribed_.erase(numberOf(c));
    }

    // ---- object management
    ObjectInstanceHandle registerObjectInstance(ObjectClassHandle c) override {
        requireJoined();
        if (published_.count(numberOf(c)) == 0) throw ObjectClassNotPublished(L"not published");
        std::uint64_t const instance = (std::uint64_t{me_} << 32) | ++registered_;
        own_[instance] = numberOf(c);
        announce(instance);
        return ObjectInstanceHandleFriend::make(instance);
    }
    void updateAttributeValues(ObjectInstanceHandle object, AttributeHandleValueMap const& values,
                               VariableLengthData const&) override {
        auto const own = own_.find(numberOf(object));
        if (own == own_.end()) throw ObjectInstanceNotKnown(object.toString());
        std::string body;
        put(body, static_cast<std::uint32_t>(own->second));
        put(body, static_cast<std::uint64_t>(numberOf(object)));
        sendValues(Kind::Update, own->second, body, values);
    }
    void sendInteraction(InteractionClassHandle c, ParameterHandleValueMap const& values,
                         VariableLengthData const&) override {
        if (published_.count(numberOf(c)) == 0) throw InteractionClassNotPublished(c.toString());
        std::string body;
        put(body, static_cast<std::uint32_t>(numberOf(c)));
        sendValues(Kind::Interaction, numberOf(c), body, values);
    }
    void deleteObjectInstance(ObjectInstanceHandle object, VariableLengthData const&) override {
        auto const own = own_.find(numberOf(object));
        if (own == own_.end()) throw ObjectInstanceNotKnown(object.toString());
        std::string body;
        put(body, static_cast<std::uint32_t>(own->second));
        put(body, static_cast<std::uint64_t>(own->first));
        own_.erase(own);
        send(frame(Kind::Remove, body));
    }

    // ---- support services
    ObjectClassHandle getObjectClassHandle(std::wstring const& name) override {
        requireJoined();
        std::size_t const number = fom_.find(true, narrow(name));
        if (number == 0) throw NameNotFound(name);
        return ObjectClassHandleFriend::make(number);
    }
    AttributeHandle getAttributeHandle(ObjectClassHandle c, std::wstring const& name) override {
        std::size_t const number = fom_.member(numberOf(c), narrow(name));
        if (number == 0) throw NameNotFound(name);
        return AttributeHandleFriend::make(number);
    }
    InteractionClassHandle getInteractionClassHandle(std::wstring const& name) override {
        requireJoined();
        std::size_t const number = fom_.find(false, narrow(name));
        if (number == 0) throw NameNotFound(name);
        return InteractionClassHandleFriend::make(number);
    }
    ParameterHandle getParameterHandle(InteractionClassHandle c,
                                       std::wstring const& name) override {
        std::size_t const number = fom_.member(numberOf(c), narrow(name));
        if (number == 0) throw NameNotFound(name);
        return ParameterHandleFriend::make(number);
    }
    bool evokeCallback(double seconds) override { return evoke(seconds); }
    bool evokeMultipleCallbacks(double, double maxSeconds) override { return evoke(maxSeconds); }

private:
    double rule(char const* what, std::string const& name, bool bestEffort = false) const {
        for (auto const& r : rules_) {
            bool const fits = r.part.empty() || name.find(r.part) != std::string::npos ||
                              r.part == (bestEffort ? "best_effort" : "reliable");
            if (r.what == what && fits) return r.value;
        }
        return 0;
    }
    void requireJoined() const {
        if (socket_ < 0) throw NotConnected(L"not connected");
        if (!joined_) throw FederateNotExecutionMember(L"not joined");
    }
    double ruleOf(char const* what, std::size_t number) const {
        ClassOfFom const& c = fom_.at(number);
        return rule(what, c.name, c.bestEffort);
    }
    bool chance(double p) { return p > 0 && std::uniform_real_distribution<>()(random_) < p; }

    template <typename Map>
    void sendValues(Kind kind, std::size_t number, std::string& body, Map const& values) {
        requireJoined();
        auto const cut = static_cast<std::size_t>(ruleOf("cut", number));
        for (auto const& value : values) {
            put(body, static_cast<std::uint32_t>(numberOf(value.first)));
            std::string bytes(static_cast<char const*>(value.second.data()), value.second.size());
            if (cut > 0 && bytes.size() > cut) bytes.resize(cut);
            putText(body, bytes);
        }
        if (chance(ruleOf("lose", number))) return;
        send(frame(kind, body));
        if (chance(ruleOf("double", number))) send(frame(kind, body));
    }
    void announce(std::uint64_t instance) {
        std::string body;
        put(body, static_cast<std::uint32_t>(own_.at(instance)));
        put(body, instance);
        send(frame(Kind::Register, body));
    }

    // ---- the link

    // While the server takes nothing, what it sends is read, so that two federates can't block
    // each other.
    void send(std::string const& bytes) {
        std::size_t done = 0;
        while (done < bytes.size()) {
            ssize_t const n = ::send(socket_, bytes.data() + done, bytes.size() - done,
                                     MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) {
                done += static_cast<std::size_t>(n);
            } else if (errno == EAGAIN) {
                pollfd watch = {socket_, POLLIN | POLLOUT, 0};
                ::poll(&watch, 1, -1);
                if ((watch.revents & POLLIN) != 0) readLink();
            } else if (errno != EINTR) {
                throw NotConnected(L"the server has gone");
            }
        }
    }
    Status request(Kind kind, std::string const& body, std::string* answer = nullptr) {
        if (socket_ < 0) throw NotConnected(L"not connected");
        send(frame(kind, body));
        while (replies_.empty()) {
            pollfd watch = {socket_, POLLIN, 0};
            ::poll(&watch, 1, -1);
            readLink();
            if (lost_) throw RTIinternalError(L"the server has gone");
        }
        std::string const reply = replies_.front();
        replies_.pop_front();
        if (answer != nullptr) *answer = reply.substr(1);
        return static_cast<Status>(reply.at(0));
    }
    void readLink() {
        if (lost_) return;
        char buffer[65536];
        for (;;) {
            ssize_t const n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
            if (n > 0) {
                in_.append(buffer, static_cast<std::size_t>(n));
                continue;
            }
            if (n == 0 || (errno != EAGAIN && errno != EINTR)) lost_ = true;
            break;
        }
        std::size_t at = 0;
        Kind kind;
        for (std::string body; takeFrame(in_, at, kind, body);) take(kind, body);
        in_.erase(0, at);
    }
    void take(Kind kind, std::string const& body) {
        if (kind == Kind::Reply) {
            replies_.push_back(body);
        } else if (kind == Kind::Joined) {
            for (auto const& own : own_) announce(own.first);
        } else if (kind == Kind::Gone) {
            auto const who = Reader(body).get<std::uint32_t>();
            for (auto const& one : std::map<std::uint64_t, std::size_t>(instances_)) {
                if (one.first >> 32 == who) removeSoon(one.first, one.second);
            }
        } else {
            Reader in(body);
            std::size_t const number = in.get<std::uint32_t>();
            if (kind == Kind::Register) {
                auto const instance = in.get<std::uint64_t>();
                if (instances_.emplace(instance, number).second) discoverSoon(instance, number);
            } else if (kind == Kind::Remove) {
                removeSoon(in.get<std::uint64_t>(), number);
            } else if (subscribed_.count(number) != 0) {
                deliverSoon(number, kind, body);
            }
        }
    }
    void discoverSoon(std::uint64_t instance, std::size_t number) {
        if (subscribed_.count(number) == 0 || !known_.insert(instance).second) return;
        std::string body;
        put(body, instance);
        deliverSoon(number, Kind::Register, body);
    }
    void removeSoon(std::uint64_t instance, std::size_t number) {
        instances_.erase(instance);
        if (known_.erase(instance) == 0) return;
        std::string body;
        put(body, instance);
        deliverSoon(number, Kind::Remove, body);
    }
    void deliverSoon(std::size_t number, Kind kind, std::string const& body) {
        auto due = Clock::now() + ofSeconds(ruleOf("late", number));
        double const burst = rule("burst", "");
        if (burst > 0) {
            double const s = std::chrono::duration<double>(due.time_since_epoch()).count();
            due = Clock::time_point(ofSeconds(std::ceil(s / burst) * burst));
        }
        waiting_[number].push_back(Message{kind, body, due});
    }

    // ---- callbacks

    // Delivers one callback, for which it waits; true: more are waiting.
    bool evoke(double seconds) {
        if (socket_ < 0) throw RTIinternalError(L"not connected");
        auto const until = Clock::now() + ofSeconds(std::min(seconds, 1e6));
        for (;;) {
            readLink();
            auto const now = Clock::now();
            auto next = until;
            for (auto& queue : waiting_) {  // classes in no order of sending
                if (queue.second.empty()) continue;
                if (queue.second.front().due <= now) {
                    Message const message = queue.second.front();
                    queue.second.pop_front();
                    deliver(queue.first, message);
                    return true;
                }
                next = std::min(next, queue.second.front().due);
            }
            if (lost_) {
                ::close(socket_);
                socket_ = -1;
                joined_ = false;
                federate_->connectionLost(L"the server has gone");
                return false;
            }
            if (now >= until) return false;
            // What is late is so by that much and no more: the last of it is not slept, as waking
            // takes its time.
            if (next < until && next - now <= kAwake) continue;
            auto const wait = next < until ? next - now - kAwake : next - now;
            auto const ns = std::chrono::nanoseconds(wait).count();
            timespec const patience = {ns / 1000000000, ns % 1000000000};
            pollfd watch = {socket_, POLLIN, 0};
            ::ppoll(&watch, 1, &patience, nullptr);
        }
    }
    template <typename Map, typename Make>
    Map values(Reader& in, Make make) {
        Map out;
        while (!in.end()) {
            auto const member = in.get<std::uint32_t>();
            std::string const bytes = in.text();
            out[make(member)].setData(bytes.data(), bytes.size());
        }
        return out;
    }
    void deliver(std::size_t number, Message const& message) {
        auto const transport = fom_.at(number).bestEffort ? BEST_EFFORT : RELIABLE;
        Reader in(message.body);
        VariableLengthData const noTag;
        if (message.kind == Kind::Register) {
            auto const instance = in.get<std::uint64_t>();
            federate_->discoverObjectInstance(ObjectInstanceHandleFriend::make(instance),
                                              ObjectClassHandleFriend::make(number),
                                              L"instance " + std::to_wstring(instance),
                                              FederateHandleFriend::make(instance >> 32));
        } else if (message.kind == Kind::Remove) {
            federate_->removeObjectInstance(
                ObjectInstanceHandleFriend::make(in.get<std::uint64_t>()), noTag, RECEIVE,
                SupplementalRemoveInfo());
        } else if (message.kind == Kind::Update) {
            in.get<std::uint32_t>();
            auto const instance = in.get<std::uint64_t>();
            if (known_.count(instance) == 0) return;
            auto all = values<AttributeHandleValueMap>(in, AttributeHandleFriend::make);
            federate_->reflectAttributeValues(ObjectInstanceHandleFriend::make(instance), all,
                                              noTag, RECEIVE, transport, SupplementalReflectInfo());
        } else {
            in.get<std::uint32_t>();
            auto const all = values<ParameterHandleValueMap>(in, ParameterHandleFriend::make);
            federate_->receiveInteraction(InteractionClassHandleFriend::make(number), all, noTag,
                                          RECEIVE, transport, SupplementalReceiveInfo());
        }
    }

    std::vector<Rule> const rules_;
    std::mt19937 random_;
    FederateAmbassador* federate_ = nullptr;
    int socket_ = -1;
    bool joined_ = false, lost_ = false;
    std::uint32_t me_ = 0, registered_ = 0;
    Fom fom_;
    std::string in_;
    std::deque<std::string> replies_;
    std::set<std::size_t> published_;
    std::map<std::size_t, std::set<std::size_t>> subscribed_;
    std::map<std::uint64_t, std::size_t> own_, instances_;
    std::set<std::uint64_t> known_;
    std::map<std::size_t, std::deque<Message>> waiting_;
};

}  // namespace

}  // namespace standin

namespace rti1516e {

RTIambassadorFactory::RTIambassadorFactory() = default;
RTIambassadorFactory::~RTIambassadorFactory() noexcept = default;
std::auto_ptr<RTIambassador> RTIambassadorFactory::createRTIambassador() {
    return std::auto_ptr<RTIambassador>(new standin::Ambassador);
}

}  // namespace rti1516e
