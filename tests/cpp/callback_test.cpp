// How callbacks come: both models, several ambassadors, several threads, federates that throw.
#include "federate.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace testing_federates {
namespace {

auto *const environment = testing::AddGlobalTestEnvironment(new OneRtiexec);

class Callbacks : public testing::TestWithParam<CallbackModel> {};
INSTANTIATE_TEST_SUITE_P(Models, Callbacks, testing::Values(HLA_EVOKED, HLA_IMMEDIATE));

TEST(Immediate, ComesWithoutEvokingOnAThreadOfTheRti) {
    Federate a(HLA_IMMEDIATE), b(HLA_IMMEDIATE);
    a.join(L"A");
    b.join(L"B");
    a.settle();
    std::mutex mutex;
    std::set<std::thread::id> threads;
    b.within([&](std::wstring const &) {
        std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
    });
    ObjectInstanceHandle const instance = a.rti->registerObjectInstance(a.soda);
    EXPECT_EQ(b.next().substr(0, 8), L"discover");
    for (int i = 0; i < 1000; ++i)
        a.update(instance, std::to_string(i));
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(b.next(), L"reflect " + std::to_wstring(i));
    EXPECT_FALSE(b.rti->evokeCallback(0));
    EXPECT_FALSE(b.rti->evokeMultipleCallbacks(0, 0));
    b.leave();
    EXPECT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
    a.leave();
}

TEST_P(Callbacks, AreHeldBackWhileDisabled) {
    Federate a, b(GetParam());
    a.join(L"A");
    b.join(L"B");
    a.settle();
    b.rti->disableCallbacks();
    std::atomic<bool> enabled(false);
    // However late a callback comes: not before it may.
    b.within([&](std::wstring const &) { EXPECT_TRUE(enabled); });
    ObjectInstanceHandle const instance = a.rti->registerObjectInstance(a.soda);
    for (int i = 0; i < 10; ++i)
        a.update(instance, std::to_string(i));
    // The executive has what A did, then B has it: an answer comes after what was told before.
    a.settle();
    b.settle();
    b.rti->evokeMultipleCallbacks(0, 0);
    EXPECT_EQ(b.heard(), 0u);
    enabled = true;
    b.rti->enableCallbacks();
    EXPECT_EQ(b.next().substr(0, 8), L"discover");
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(b.next(), L"reflect " + std::to_wstring(i));
    b.leave();
    a.leave();
}

TEST(Ambassadors, WorkSideBySideOnThreadsOfTheirOwn) {
    int const count = 6, updates = 200;
    std::mutex mutex;
    std::condition_variable changed;
    int ready = 0, done = 0;
    auto const one_more = [&](int &number) {
        std::lock_guard<std::mutex> lock(mutex);
        ++number;
        changed.notify_all();
    };
    // Until it is so of all; who waits turns no circles, and evokes where it must.
    auto const all = [&](int const &number, Federate &f) {
        auto const end = deadline();
        std::unique_lock<std::mutex> lock(mutex);
        while (number < count && std::chrono::steady_clock::now() < end) {
            if (f.model == HLA_IMMEDIATE) {
                changed.wait_until(lock, end);
            } else {
                lock.unlock();
                f.rti->evokeCallback(0.01);
                lock.lock();
            }
        }
    };
    auto const live = [&](int self) {
        Federate f(self % 2 ? HLA_IMMEDIATE : HLA_EVOKED);
        f.join(L"F" + std::to_wstring(self));
        ObjectInstanceHandle const instance = f.rti->registerObjectInstance(f.soda);
        std::map<std::wstring, int> last;
        int reflected = 0, discovered = 0;
        // Counts a callback; each sender's values come in its order, without a gap.
        auto const take = [&](std::wstring const &what) {
            if (what.rfind(L"discover ", 0) == 0) {
                if (++discovered == count - 1)
                    one_more(ready);
            } else if (what.rfind(L"reflect ", 0) == 0) {
                size_t const colon = what.find(L':');
                std::wstring const sender = what.substr(8, colon - 8);
                EXPECT_EQ(std::stoi(what.substr(colon + 1)), last[sender]++);
                ++reflected;
            } else {
                ADD_FAILURE() << std::string(what.begin(), what.end());
                throw std::runtime_error("an unexpected callback");
            }
        };
        while (discovered < count - 1)
            take(f.next());
        all(ready, f);
        for (int i = 0; i < updates; ++i) {
            f.update(instance, std::to_string(self) + ":" + std::to_string(i));
            if (i % 10 == 0)
                f.rti->evokeMultipleCallbacks(0, 0);
        }
        while (reflected < updates * (count - 1))
            take(f.next());
        one_more(done);
        all(done, f);
        f.leave();
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            try {
                live(i);
            } catch (Exception const &e) {
                std::wstring const what = e.what();
                ADD_FAILURE() << std::string(what.begin(), what.end());
            } catch (std::exception const &e) {
                ADD_FAILURE() << e.what();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(done, count);
}

TEST(Ambassadors, OfOneThreadNeedNoEvokingOfEachOther) {
    // Every service returns although nobody but the last ever evokes.
    std::vector<std::unique_ptr<Federate>> federates;
    std::vector<ObjectInstanceHandle> instances;
    for (int i = 0; i < 8; ++i) {
        federates.emplace_back(new Federate);
        federates.back()->join(L"F" + std::to_wstring(i));
        instances.push_back(federates.back()->rti->registerObjectInstance(federates.back()->soda));
    }
    Federate &last = *federates.back();
    for (auto const &federate : federates)
        federate->settle();
    for (int i = 0; i < 7; ++i)
        EXPECT_EQ(last.next().substr(0, 8), L"discover");
    for (size_t i = 0; i < 7; ++i) {
        federates[i]->update(instances[i], std::to_string(i));
        EXPECT_EQ(last.next(), L"reflect " + std::to_wstring(i));
    }
    for (auto const &federate : federates)
        federate->leave();
}

TEST(Ambassadors, MayBeUsedByManyThreads) {
    Federate a, b(HLA_IMMEDIATE);
    a.join(L"A");
    b.join(L"B");
    a.settle();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            ObjectInstanceHandle const mine = a.rti->registerObjectInstance(a.soda);
            for (int i = 0; i < 100; ++i) {
                a.update(mine, std::to_string(t));
                EXPECT_EQ(a.rti->getKnownObjectClassHandle(mine), a.soda);
                // The reason of an exception is this thread's own.
                std::wstring const name = L"no-" + std::to_wstring(t) + L"-" + std::to_wstring(i);
                try {
                    a.rti->getObjectClassHandle(name);
                    ADD_FAILURE();
                } catch (NameNotFound const &e) {
                    EXPECT_NE(e.what().find(name), std::wstring::npos);
                }
                a.rti->evokeMultipleCallbacks(0, 0);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    std::map<std::wstring, int> heard;
    for (int i = 0; i < 404; ++i) {
        std::wstring const what = b.next();
        ASSERT_NE(what, L"nothing came") << "after " << i;
        ++heard[what.substr(0, 9)];
    }
    EXPECT_EQ(heard[L"discover "], 4);
    for (int t = 0; t < 4; ++t)
        EXPECT_EQ(heard[L"reflect " + std::to_wstring(t)], 100);
    b.leave();
    a.leave();
}

TEST_P(Callbacks, WhatAFederateThrowsStopsNothing) {
    Federate a, b(GetParam());
    a.join(L"A");
    b.join(L"B");
    a.settle();
    int count = 0;
    b.within([&](std::wstring const &) {
        switch (count++ % 4) {
        case 0:
            throw FederateInternalError(L"on purpose");
        case 1:
            throw std::runtime_error("a standard exception");
        case 2:
            throw 42;
        default:
            throw ObjectInstanceNotKnown(L"of another kind");
        }
    });
    testing::internal::CaptureStderr();
    ObjectInstanceHandle const instance = a.rti->registerObjectInstance(a.soda);
    EXPECT_EQ(b.next().substr(0, 8), L"discover");
    for (int i = 0; i < 7; ++i) {
        a.update(instance, std::to_string(i));
        EXPECT_EQ(b.next(), L"reflect " + std::to_wstring(i));
    }
    // Services within and after such callbacks work as before.
    b.leave();
    std::string const reported = testing::internal::GetCapturedStderr();
    EXPECT_EQ(count, 8);
    std::wstring const object = L"object instance " + instance.toString();
    for (std::wstring const &line :
         {L"discoverObjectInstance of " + object + L": FederateInternalError: on purpose",
          L"reflectAttributeValues of " + object + L": std::exception: a standard exception",
          L"reflectAttributeValues of " + object + L": something that is no exception",
          L"reflectAttributeValues of " + object + L": ObjectInstanceNotKnown: of another kind",
          L"reflectAttributeValues of " + object + L": FederateInternalError: on purpose"}) {
        std::string const whole =
            "starling: federate 'B' threw from " + std::string(line.begin(), line.end()) + "\n";
        EXPECT_NE(reported.find(whole), std::string::npos) << whole << reported;
    }
    a.leave();
}

/// The name of the exception that a call throws.
template <class Call> std::wstring thrown(Call call) {
    try {
        call();
        return L"nothing";
    } catch (Exception const &e) {
        std::wstring const what = e.what();
        return what.substr(0, what.find(L':'));
    }
}

TEST_P(Callbacks, MayCallServicesExceptThoseThatTheStandardForbids) {
    Federate a, b(GetParam());
    a.join(L"A");
    b.join(L"B");
    a.settle();
    ObjectInstanceHandle const mine = b.rti->registerObjectInstance(b.soda);
    EXPECT_EQ(a.next().substr(0, 8), L"discover");
    std::vector<std::wstring> forbidden, allowed;
    b.within([&](std::wstring const &) {
        RTIambassador &rti = *b.rti;
        forbidden = {
            thrown([&] { rti.connect(b, b.model); }),
            thrown([&] { rti.disconnect(); }),
            thrown([&] { rti.joinFederationExecution(L"t", L"Test"); }),
            thrown([&] { rti.joinFederationExecution(L"n", L"t", L"Test"); }),
            thrown([&] { rti.resignFederationExecution(NO_ACTION); }),
            thrown([&] { rti.evokeCallback(0); }),
            thrown([&] { rti.evokeMultipleCallbacks(0, 0); }),
        };
        allowed = {
            thrown([&] { rti.createFederationExecution(L"Other", fom()); }),
            thrown([&] { rti.destroyFederationExecution(L"Other"); }),
            thrown([&] { rti.unsubscribeObjectClass(b.soda); }),
            thrown([&] { rti.subscribeObjectClassAttributes(b.soda, {b.cups}); }),
            thrown([&] { rti.registerObjectInstance(b.soda); }),
            thrown([&] { b.update(mine, "from within"); }),
            thrown([&] { rti.getFederateName(rti.getFederateHandle(L"A")); }),
            thrown([&] { rti.disableCallbacks(); }),
            thrown([&] { rti.enableCallbacks(); }),
            thrown([&] { rti.deleteObjectInstance(mine, text("")); }),
        };
    });
    a.rti->registerObjectInstance(a.soda);
    EXPECT_EQ(b.next().substr(0, 8), L"discover");
    EXPECT_EQ(a.next().substr(0, 8), L"discover");
    EXPECT_EQ(a.next(), L"reflect from within");
    EXPECT_EQ(a.next(), L"remove");
    b.leave(); // Ends the callback, if it has not yet.
    EXPECT_EQ(forbidden, std::vector<std::wstring>(7, L"CallNotAllowedFromWithinCallback"));
    EXPECT_EQ(allowed, std::vector<std::wstring>(10, L"nothing"));
    a.leave();
}

/// While it lives, standard error takes nothing.
class NoStandardError {
public:
    NoStandardError() : former_(dup(2)) {
        int const full = open("/dev/full", O_WRONLY);
        dup2(full, 2);
        close(full);
    }
    ~NoStandardError() {
        dup2(former_, 2);
        close(former_);
    }

private:
    int const former_;
};

TEST_P(Callbacks, GoOnThoughWhatAFederateThrewCanNotBeReported) {
    Federate a, b(GetParam());
    a.join(L"A");
    b.join(L"B");
    a.settle();
    ObjectInstanceHandle const instance = a.rti->registerObjectInstance(a.soda);
    EXPECT_EQ(b.next().substr(0, 8), L"discover");
    b.within([](std::wstring const &) { throw std::runtime_error("wrong"); });
    {
        NoStandardError const none;
        for (int i = 0; i < 10; ++i) {
            a.update(instance, std::to_string(i));
            EXPECT_EQ(b.next(), L"reflect " + std::to_wstring(i));
        }
    }
    // Nobody is left inside of a callback.
    b.within(nullptr);
    b.leave();
    a.leave();
}

}
}
