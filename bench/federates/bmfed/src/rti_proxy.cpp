#include "rti_proxy.hpp"

#include "test_description.hpp"
#include "watchdog.hpp"

namespace bmfed {

namespace {

using bench::Topic;
using bench::TopicId;

char const* const kTreeNames[] = {"sendObj", "returnObj", "sendInt", "returnInt"};

struct ControlClass {
    char const* name;
    std::vector<std::string> parameters;
    bool fromMaster;
};
std::vector<ControlClass> const& controlClasses() {
    static std::vector<ControlClass> const classes = {
        {"masterFederate.testDirective", {"testDirective", "internalTestID"}, true},
        {"masterFederate.testDescription", {"testDescription", "internalTestID"}, true},
        {"masterFederate.endFedex", {"name"}, true},
        {"subordinateFederate.testState", {"internalTestID", "testState"}, false},
        {"subordinateFederate.testResults", {"testResults"}, false},
    };
    return classes;
}

std::vector<std::string> buffers() {
    std::vector<std::string> names;
    for (int b = 1; b <= kBuffersPerClass; ++b) names.push_back("buffer_" + std::to_string(b));
    return names;
}

}  // namespace

RtiProxy::RtiProxy(RtiEvents& events, std::string const& adapter)
    : events_(events), endpoint_(bench::loadEndpoint(adapter, *this, Watchdog::service())) {}

bool RtiProxy::createAndJoin(std::string const& federation, std::string const& fom,
                             std::string const& federate) {
    return endpoint_->join(federation, fom, federate);
}

void RtiProxy::resign() {
    talks_ = false;
    endpoint_->resign();
}

void RtiProxy::declareControl(bool master) {
    for (std::size_t k = 0; k < controlClasses().size(); ++k) {
        ControlClass const& c = controlClasses()[k];
        TopicId const topic = endpoint_->add(Topic{c.name, Topic::Kind::text, true, c.parameters});
        controls_.push_back(topic);
        meanings_.push_back(Meaning{Tree::sendObj, 0, static_cast<Control>(k)});
        if (c.fromMaster == master) endpoint_->publish(topic, c.parameters.size());
        else endpoint_->subscribe(topic, c.parameters.size());
    }
    talks_ = true;
}

void RtiProxy::sendControl(Control kind, std::vector<std::string> const& values) {
    endpoint_->say(controls_[static_cast<std::size_t>(kind)], values);
}

TopicId RtiProxy::topicOf(ClassUse const& use) {
    auto const key = std::make_pair(static_cast<int>(use.tree), use.number);
    auto const found = classes_.find(key);
    if (found != classes_.end()) return found->second;
    bool const sends = use.tree == Tree::sendObj || use.tree == Tree::sendInt;
    std::string const name = std::string(kTreeNames[static_cast<int>(use.tree)]) +
                             (sends ? ".S" : ".R") + std::to_string(use.number);
    auto const kind = isObject(use.tree) ? Topic::Kind::object : Topic::Kind::event;
    TopicId const topic =
        endpoint_->add(Topic{name, kind, use.number <= kClassesPerTransport, buffers()});
    meanings_.push_back(Meaning{use.tree, use.number, Control::testDirective});
    return classes_[key] = topic;
}

void RtiProxy::publish(ClassUse const& use) {
    endpoint_->publish(topicOf(use), static_cast<std::size_t>(use.buffers));
}

void RtiProxy::subscribe(ClassUse const& use) {
    endpoint_->subscribe(topicOf(use), static_cast<std::size_t>(use.buffers));
}

std::size_t RtiProxy::addItem(ClassUse const& use, std::uint64_t bufferBytes) {
    return endpoint_->addItem(topicOf(use), static_cast<std::size_t>(use.buffers), bufferBytes);
}

void RtiProxy::discovered(TopicId topic) {
    events_.discovered(meanings_[topic].tree, meanings_[topic].number);
}

void RtiProxy::removed(TopicId topic) {
    events_.removed(meanings_[topic].tree, meanings_[topic].number);
}

void RtiProxy::said(TopicId topic, std::vector<std::string> const& values) {
    events_.controlReceived(meanings_[topic].kind, values);
}

void RtiProxy::connectionLost(std::string const& reason) {
    talks_ = false;
    events_.connectionLost(reason);
}

}  // namespace bmfed
