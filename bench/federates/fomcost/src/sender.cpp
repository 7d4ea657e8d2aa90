// The sender, which conducts: samples of all tests in an order drawn for each sample, so that what
// drifts meets all of them.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include "counted.hpp"
#include "federate.hpp"
#include "recorder.hpp"

namespace fomcost {

namespace {

using namespace rti1516e;

// What is timed, and counted: nothing but the call. Each has a name that callgrind is told.
struct Call {
    RTIambassador* rti;
    Class* use;
    AttributeHandleValueMap attributes;
    ParameterHandleValueMap parameters;
    VariableLengthData const* tag;
};
extern "C" __attribute__((noinline)) void fomcost_call_object(Call* call) {
    call->rti->updateAttributeValues(call->use->instance, call->attributes, *call->tag);
}
extern "C" __attribute__((noinline)) void fomcost_call_interaction(Call* call) {
    call->rti->sendInteraction(call->use->interaction, call->parameters, *call->tag);
}
extern "C" __attribute__((noinline)) void fomcost_encode(Codec* codec, Pool* pool, Content content,
                                                         std::vector<Octets>* values) {
    for (auto const& s : pool->spatial) codec->encode(s, content, *values);
}
extern "C" __attribute__((noinline)) void fomcost_decode(Codec* codec, Pool* pool, Content content,
                                                         Spatial* s) {
    for (auto const& values : pool->values) codec->decode(values, content, *s);
}

struct Prepared {
    Test test;
    Pool pool;
    Call call;
    std::vector<VariableLengthData*> values;  // of one of the maps
    std::unique_ptr<Codec> codec;
    bool taken = false;  // a sample of it has been taken
};

// One sample, in nanoseconds unless it is said.
struct Sample {
    std::uint64_t sent = 0, lost = 0, doubled = 0;
    std::uint64_t waited = 0;  // calls that came later than their gap, as something was under way
    double flushNs = 0;        // mean from the call's end to the end of the evocation behind it
    double encodeNs = 0, decodeNs = 0;
};

class Sender final : public Federate {
public:
    using Federate::Federate;

private:
    void work() override;
    void heard(Json const& said) override { answers_.push_back(said); }

    void prepare(Test const& test);
    void ask(Json const& what, std::string const& answer);
    Sample take(Prepared& one, int sample);
    void repeat(Prepared& one, std::uint64_t n, Sample& into, bool record);
    // Until all that was sent has come, or is lost.
    void settle(Sample& into, Test const& test);
    void codecs(Prepared& one, int sample, Sample& into);
    void report(Prepared& one, int sample, Sample const& found);
    void pace();

    std::vector<Json> answers_;
    Json answer_;
    std::vector<std::unique_ptr<Prepared>> prepared_;
    std::uint64_t expected_ = 0;  // values that came, once nothing is under way
    bench::Recorder recorder_{1 << 20};
};

void Sender::work() {
    // The other one may join later than this one speaks.
    std::uint64_t saidNs = 0;
    await(
        [&] {
            for (auto const& said : answers_) {
                if (said["what"] == "here") return true;
            }
            if (secondsSince(saidNs) > 0.2) {
                say({{"what", "hello"}});
                saidNs = nowNs();
            }
            return false;
        },
        options_.joinTimeoutS, "federate '" + options_.receiver + "' did not join");

    // What a run has that is resumed stands there already, and is the same.
    std::ofstream needles(options_.out + "/needles.jsonl", std::ios::app | std::ios::ate);
    if (needles.tellp() > 0) needles << '\n';  // behind a line that is not whole
    int samples = 0;
    for (std::size_t n = 0; n < options_.tests.size(); ++n) {
        Test const& test = options_.tests[n];
        prepared_.emplace_back(new Prepared);
        prepared_.back()->test = test;
        prepared_.back()->pool = options_.pools[n];
        prepare(test);
        samples = std::max(samples, test.samples);
        // By these the packets of a test are known: the values of each update, which of them make
        // a message, and how many calls had them in turn.
        Json updates = Json::array();
        for (auto const& values : prepared_.back()->pool.values) {
            updates.push_back(Json::array());
            for (auto const& value : values) updates.back().push_back(hexOf(value));
        }
        needles << Json{{"test", test.number},
                        {"calls", test.repetitions},
                        {"messages", test.messages},
                        {"updates", updates}}
                       .dump()
                << '\n';
    }
    needles.flush();
    if (!needles) throw Failure("can't write " + options_.out + "/needles.jsonl");

    std::mt19937_64 random(options_.seed);
    for (int sample = 1; sample <= samples; ++sample) {
        std::vector<Prepared*> order;
        for (auto& one : prepared_) {
            if (sample <= one->test.samples) order.push_back(one.get());
        }
        std::shuffle(order.begin(), order.end(), random);
        for (Prepared* one : order) {
            tell({{"event", "test"}, {"test", one->test.number}});
            report(*one, sample, take(*one, sample));
            pace();
        }
    }
    say({{"what", "bye"}});
    rti_->evokeMultipleCallbacks(0.0, 0.0);
}

void Sender::prepare(Test const& test) {
    Prepared& one = *prepared_.back();
    one.call.rti = rti_.get();
    one.call.tag = &noTag_;
    // What stands in for helpers is not the layout's codec, so it is not timed.
    bool byHand = false;
    if (!test.layout.empty()) one.codec = codecOf(test.layout, &byHand);
    if (byHand) one.codec.reset();
    // What a class has in any test is declared at once: an instance has the attributes that were
    // published when it was registered.
    Test every = test;
    for (auto const& other : options_.tests) {
        if (other.object != test.object || other.className != test.className) continue;
        for (auto const& field : other.fields) {
            if (std::find(every.fields.begin(), every.fields.end(), field) == every.fields.end())
                every.fields.push_back(field);
        }
    }
    // The receiver subscribes first, so that nothing is sent to nobody.
    ask({{"what", "prepare"},
         {"test",
          {{"number", test.number},
           {"kind", test.object ? "object" : "interaction"},
           {"class", test.className},
           {"fields", every.fields}}}},
        "ready");
    one.call.use = &classOf(every, true);
    for (auto const& field : test.fields) {
        one.values.push_back(test.object ? &one.call.attributes[one.call.use->attributes[field]]
                                         : &one.call.parameters[one.call.use->parameters[field]]);
    }
    ask({{"what", "discovered?"}, {"test", test.number}}, "discovered");
}

void Sender::ask(Json const& what, std::string const& answer) {
    answers_.clear();
    say(what);
    await(
        [&] {
            for (auto const& said : answers_) {
                if (said["what"] != answer) continue;
                answer_ = said;
                return true;
            }
            return false;
        },
        3 * options_.dataTimeoutS,
        "federate '" + options_.receiver + "' did not answer '" + answer + "'");
}

void Sender::settle(Sample& into, Test const& test) {
    double const seconds = test.reliable ? options_.dataTimeoutS : options_.lossTimeoutS;
    std::uint64_t const start = nowNs();
    while (arrivals_.count() < expected_ && secondsSince(start) < seconds) {
        rti_->evokeCallback(0.001);
        pulse();
    }
    std::uint64_t const there = arrivals_.count();
    // No more than one update is under way; one that lacks a value is lost.
    if (there < expected_) ++into.lost;
    std::uint64_t const each = test.fields.size();
    if (there > expected_) into.doubled += (there - expected_ + each - 1) / each;
    expected_ = there;
}

void Sender::repeat(Prepared& one, std::uint64_t n, Sample& into, bool record) {
    Test const& test = one.test;
    auto const gapNs = static_cast<std::uint64_t>(test.gapS * 1e9);
    auto const call = test.object ? fomcost_call_object : nullptr;
    std::uint64_t lastNs = nowNs();
    double flushNs = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        // Callbacks until the gap is over; some RTIs return earlier, and a long one is no silence.
        for (std::uint64_t now; (now = nowNs()) - lastNs < gapNs;) {
            double const left = std::min(1.0, static_cast<double>(gapNs - (now - lastNs)) * 1e-9);
            rti_->evokeMultipleCallbacks(left, left);
            pulse();
        }
        pulse();
        if (arrivals_.count() != expected_) {
            into.waited += arrivals_.count() < expected_ ? 1 : 0;
            settle(into, test);
        }
        auto const& values = one.pool.values[i % one.pool.values.size()];
        for (std::size_t f = 0; f < values.size(); ++f)
            one.values[f]->setDataPointer(const_cast<unsigned char*>(values[f].data()),
                                          values[f].size());
        std::uint64_t const before = nowNs();
        if (call != nullptr) call(&one.call);
        else fomcost_call_interaction(&one.call);
        std::uint64_t const after = nowNs();
        rti_->evokeMultipleCallbacks(0.0, 0.0);
        lastNs = nowNs();
        flushNs += static_cast<double>(lastNs - after);
        expected_ += test.fields.size();
        if (record) recorder_.put(static_cast<float>(after - before));
    }
    into.sent += n;
    into.flushNs = n > 0 ? flushNs / static_cast<double>(n) : 0;
    settle(into, test);
}

void Sender::codecs(Prepared& one, int sample, Sample& into) {
    if (!one.codec) return;
    std::size_t const times = counting() ? 1 : 200;
    std::vector<Octets> values;
    Spatial spatial;
    spatial.mode = one.test.mode;  // where it is not sent it is known from before
    fomcost_encode(one.codec.get(), &one.pool, one.test.content, &values);  // its memory is there
    double const each = 1.0 / static_cast<double>(times * one.pool.spatial.size());
    countAnew();
    std::uint64_t start = nowNs();
    for (std::size_t i = 0; i < times; ++i)
        fomcost_encode(one.codec.get(), &one.pool, one.test.content, &values);
    into.encodeNs = static_cast<double>(nowNs() - start) * each;
    saveCount("encode", one.test.number, sample);
    fomcost_decode(one.codec.get(), &one.pool, one.test.content, &spatial);
    countAnew();
    start = nowNs();
    for (std::size_t i = 0; i < times; ++i)
        fomcost_decode(one.codec.get(), &one.pool, one.test.content, &spatial);
    into.decodeNs = static_cast<double>(nowNs() - start) * each;
    saveCount("decode", one.test.number, sample);
}

Sample Sender::take(Prepared& one, int sample) {
    Sample warm, found;
    codecs(one, sample, found);
    ask({{"what", "begin"}, {"test", one.test.number}}, "begun");
    expected_ = arrivals_.count();
    repeat(one, one.test.warmUp, warm, false);
    ask({{"what", "count"}, {"test", one.test.number}}, "counts");
    recorder_.begin(options_.out + "/rtt_test" + std::to_string(one.test.number) + "_pair1.raw",
                    !one.taken, static_cast<std::uint32_t>(sample));
    one.taken = true;
    countAnew();
    repeat(one, one.test.repetitions, found, true);
    saveCount("call", one.test.number, sample);
    if (recorder_.end() != 0) throw Failure("the disk is too slow for the times of the calls");
    ask({{"what", "end"}, {"test", one.test.number}}, "result");
    return found;
}

void Sender::report(Prepared& one, int sample, Sample const& found) {
    // Of the calls that were measured, which took the pool's values in turn.
    std::vector<double> octets;
    for (std::uint64_t i = 0; i < found.sent; ++i) {
        octets.push_back(0);
        for (auto const& value : one.pool.values[i % one.pool.values.size()])
            octets.back() += static_cast<double>(value.size());
    }
    std::sort(octets.begin(), octets.end());
    double const sum = std::accumulate(octets.begin(), octets.end(), 0.0);
    Json event = {{"event", "sample"},
                  {"test", one.test.number},
                  {"pair", 1},
                  {"sender", options_.name},
                  {"receiver", options_.receiver},
                  {"sample", sample},
                  {"bytes", sum / static_cast<double>(octets.size())},
                  {"bytes_p50", octets[(octets.size() - 1) / 2]},
                  {"bytes_min", octets.front()},
                  {"bytes_max", octets.back()},
                  {"sent", found.sent},
                  {"received", found.sent - std::min(found.lost, found.sent)},
                  {"lost", found.lost},
                  {"doubled", found.doubled},
                  {"waited", found.waited},
                  {"flush_ns", found.flushNs},
                  {"encode_ns", found.encodeNs},
                  {"decode_ns", found.decodeNs},
                  {"counted", counting() ? one.pool.values.size() : 0}};
    for (auto const* key : {"values", "messages", "came_reliably", "tick_ns", "tick_p50_ns",
                            "to_callback_ns", "to_callback_p50_ns"})
        event[key] = answer_.at(key);
    tell(event);
}

// Between samples who conducts may do what must not disturb any.
void Sender::pace() {
    if (!options_.paced) return;
    tell({{"event", "between"}});
    await(
        [&] {
            for (auto const& event : told()) {
                if (bench::said(event, "event") == "on") return true;
            }
            return false;
        },
        3 * options_.dataTimeoutS, "the manager did not say 'on'");
}

}  // namespace

std::unique_ptr<Federate> makeSender(Options options, volatile int const& stop) {
    return std::unique_ptr<Federate>(new Sender(std::move(options), stop));
}

}  // namespace fomcost
