// The life of a connection: what is refused, what may be done in any state, what is left behind.
#include "federate.hpp"

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

namespace testing_federates {
namespace {

auto *const environment = testing::AddGlobalTestEnvironment(new OneRtiexec);

size_t entries(char const *directory) {
    size_t count = 0;
    for (auto const &entry : std::filesystem::directory_iterator(directory))
        count += !entry.path().empty();
    return count;
}

class Lifecycle : public testing::TestWithParam<CallbackModel> {};
INSTANTIATE_TEST_SUITE_P(Models, Lifecycle, testing::Values(HLA_EVOKED, HLA_IMMEDIATE));

TEST_P(Lifecycle, ConnectTwiceAndDisconnectWhileJoinedAreRefused) {
    Federate a(GetParam());
    a.rti->disconnect(); // Never connected: nothing to do.
    a.rti->connect(a, a.model);
    EXPECT_THROW(a.rti->connect(a, a.model), AlreadyConnected);
    a.enter(L"A");
    EXPECT_THROW(a.rti->connect(a, a.model), AlreadyConnected);
    EXPECT_THROW(a.rti->disconnect(), FederateIsExecutionMember);
    EXPECT_THROW(a.rti->joinFederationExecution(L"A2", L"tester", L"Test"),
                 FederateAlreadyExecutionMember);
    EXPECT_THROW(a.rti->destroyFederationExecution(L"Test"), FederatesCurrentlyJoined);
    // What was refused has changed nothing.
    EXPECT_EQ(a.rti->getFederateName(a.rti->getFederateHandle(L"A")), L"A");
    a.leave();
    a.rti->disconnect();
    EXPECT_THROW(a.rti->resignFederationExecution(NO_ACTION), NotConnected);
    a.join(L"A");
    a.leave();
}

TEST_P(Lifecycle, AnAmbassadorMayBeDestroyedWhileJoined) {
    Federate watcher;
    watcher.join(L"watcher");
    {
        Federate a(GetParam());
        a.join(L"A");
        a.rti->setAutomaticResignDirective(DELETE_OBJECTS);
        a.rti->registerObjectInstance(a.soda);
        EXPECT_EQ(watcher.next().substr(0, 8), L"discover");
        a.rti.reset();
    }
    EXPECT_EQ(watcher.next(), L"remove");
    // Its name is free again at once.
    Federate again(GetParam());
    again.join(L"A");
    again.leave();
    watcher.leave();
}

TEST_P(Lifecycle, AnAmbassadorMayBeDestroyedInAnyState) {
    { Federate never(GetParam()); }
    {
        Federate connected(GetParam());
        connected.rti->connect(connected, connected.model);
    }
    // While another federate floods it.
    Federate flood;
    flood.join(L"flood");
    std::unique_ptr<Federate> flooded(new Federate(GetParam()));
    flooded->join(L"flooded");
    flood.settle();
    ObjectInstanceHandle const instance = flood.rti->registerObjectInstance(flood.soda);
    EXPECT_EQ(flooded->next().substr(0, 8), L"discover");
    std::thread sender([&] {
        for (int i = 0; i < 5000; ++i)
            flood.update(instance, std::to_string(i));
    });
    EXPECT_EQ(flooded->next(), L"reflect 0");
    flooded.reset();
    sender.join();
    flood.leave();
}

// A callback comes to a connection's own federate ambassador for as long as that connection lives,
// whoever connects meanwhile.
TEST_P(Lifecycle, ThreadsMayConnectAndDisconnectAtOnce) {
    Federate a(GetParam());
    std::atomic<bool> done(false);
    auto const again = [&](std::function<void()> const &call) {
        while (!done) {
            try {
                call();
            } catch (AlreadyConnected const &) {
            } catch (NotConnected const &) {
            } catch (CallNotAllowedFromWithinCallback const &) {
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back(again, [&] { a.rti->connect(a, a.model); });
    for (int i = 0; i < 2; ++i)
        threads.emplace_back(again, [&] {
            a.rti->listFederationExecutions();
            a.rti->evokeMultipleCallbacks(0, 0);
        });
    for (int i = 0; i < 500; ++i)
        a.rti->disconnect();
    done = true;
    for (std::thread &thread : threads)
        thread.join();
    a.rti->disconnect();
    a.join(L"A");
    a.leave();
}

TEST_P(Lifecycle, AnAmbassadorMayBeDestroyedWithinItsOwnCallback) {
    size_t const threads = entries("/proc/self/task");
    Federate a(GetParam()), b;
    b.join(L"B");
    a.join(L"A");
    a.rti->disableCallbacks();
    for (int i = 0; i < 10; ++i) {
        a.rti->listFederationExecutions();
        b.rti->registerObjectInstance(b.soda);
    }
    b.settle();
    RTIambassador *const evoked = a.rti.get();
    std::atomic<bool> gone(false);
    a.within([&](std::wstring const &) {
        a.rti.reset();
        gone = true;
    });
    evoked->enableCallbacks();
    if (a.model == HLA_EVOKED)
        evoked->evokeMultipleCallbacks(10, 20);
    EXPECT_NE(a.next(), L"nothing came");
    // Its thread ends, and no other callback comes.
    b.leave();
    auto const end = deadline();
    while (entries("/proc/self/task") > threads && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    EXPECT_LE(entries("/proc/self/task"), threads);
    EXPECT_TRUE(gone);
    EXPECT_EQ(a.heard(), 0u);
}

/// Callbacks of the RTI's thread may call services while another thread disconnects.
TEST(Lifecycle, DisconnectWaitsForACallbackThatCallsServices) {
    Federate a(HLA_IMMEDIATE);
    a.join(L"A");
    a.rti->resignFederationExecution(NO_ACTION);
    std::mutex mutex;
    std::condition_variable come;
    bool inside = false, disconnecting = false;
    a.within([&](std::wstring const &) {
        std::unique_lock<std::mutex> lock(mutex);
        inside = true;
        come.notify_all();
        come.wait(lock, [&] { return disconnecting; });
        lock.unlock();
        for (int i = 0; i < 1000; ++i)
            EXPECT_ANY_THROW(a.rti->getObjectClassHandle(L"Food"));
    });
    a.rti->listFederationExecutions();
    std::unique_lock<std::mutex> lock(mutex);
    come.wait(lock, [&] { return inside; });
    disconnecting = true;
    come.notify_all();
    lock.unlock();
    a.rti->disconnect();
    EXPECT_THROW(a.rti->listFederationExecutions(), NotConnected);
    EXPECT_EQ(a.next(), L"report");
}

TEST_P(Lifecycle, AfterALostConnectionItMayConnectAgain) {
    Rtiexec mortal(Rtiexec::own());
    Federate a(GetParam());
    a.rti->connect(a, a.model, mortal.settings());
    a.enter(L"A");
    mortal.stop(SIGKILL);
    EXPECT_EQ(a.next(), L"lost");
    EXPECT_THROW(a.rti->registerObjectInstance(a.soda), NotConnected);
    EXPECT_THROW(a.rti->listFederationExecutions(), NotConnected);
    EXPECT_THROW(a.rti->resignFederationExecution(NO_ACTION), NotConnected);
    mortal.restart();
    a.rti->connect(a, a.model, mortal.settings());
    EXPECT_THROW(a.rti->getObjectClassHandle(L"Food"), FederateNotExecutionMember);
    a.enter(L"A");
    a.rti->registerObjectInstance(a.soda);
    a.leave();
    EXPECT_EQ(a.heard(), 0u);
    // Lost, and then disconnected or destroyed.
    a.rti->connect(a, a.model, mortal.settings());
    mortal.stop(SIGTERM);
    EXPECT_EQ(a.next(), L"lost");
    a.rti->disconnect();
    EXPECT_THROW(a.rti->connect(a, a.model, mortal.settings()), ConnectionFailed);
}

TEST_P(Lifecycle, RoundsLeaveNothingBehind) {
    auto const round = [] {
        Federate a(GetParam()), b(GetParam());
        a.join(L"A", L"Round");
        b.join(L"B", L"Round");
        a.settle(L"Round");
        ObjectInstanceHandle const instance = a.rti->registerObjectInstance(a.soda);
        EXPECT_EQ(b.next().substr(0, 8), L"discover");
        a.update(instance, "x");
        EXPECT_EQ(b.next(), L"reflect x");
        b.leave(L"Round");
        a.leave(L"Round");
    };
    round();
    size_t const files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    size_t const left = entries(OneRtiexec::rtiexec->directory().c_str());
    for (int i = 0; i < 100; ++i)
        round();
    EXPECT_EQ(entries("/proc/self/fd"), files);
    // One that was joined may be shown for a moment, here as at the beginning.
    auto const end = deadline();
    while (entries("/proc/self/task") > threads && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    EXPECT_LE(entries("/proc/self/task"), threads);
    EXPECT_EQ(entries(OneRtiexec::rtiexec->directory().c_str()), left);
}

TEST(Connect, TakesTheFormsOfOtherRtis) {
    std::wstring const address = OneRtiexec::rtiexec->settings();
    std::wstring const port = address.substr(address.find(L':') + 1);
    std::string const file = OneRtiexec::rtiexec->directory() + "/client.properties";
    std::ofstream(file) << "# a comment\nhost=127.0.0.1\nport="
                        << std::string(port.begin(), port.end()) << "\n";
    // The address that the environment gives must not be what is used here.
    setenv("STARLING_CONNECT_ADDRESS", "127.0.0.1:1", 1);
    for (std::wstring const &settings : {
             address,
             L"crcAddress=" + address,
             L"crcHost=127.0.0.1\ncrcPort=" + port,
             L"crcPort=" + port + L",crcHost=localhost",
             L"rti://" + address,
             L"localhost:" + port,
             L"nick=driver,crcAddress=" + address,
             L"crcAddress=" + address + L"\nLRC.tickRate=50\nFedPro.x=1",
             L"connect.address=" + address + L";connect.timeout_s=5",
             std::wstring(file.begin(), file.end()),
         }) {
        Federate a;
        EXPECT_NO_THROW(a.rti->connect(a, HLA_EVOKED, settings)) << file;
        EXPECT_NO_THROW(a.rti->listFederationExecutions());
        a.rti->disconnect();
    }
    Federate a;
    for (wchar_t const *garbage : {L"garbage", L"conect.address=x", L"(setqb RTI_tcpPort 4000)",
                                   L"x:99999", L"no-such-file.toml", L"fault.timeout_s=-1"})
        EXPECT_THROW(a.rti->connect(a, HLA_EVOKED, garbage), InvalidLocalSettingsDesignator);
    for (wchar_t const *nobody : {L"127.0.0.1:1", L"crcAddress=127.0.0.1:1", L""})
        EXPECT_THROW(a.rti->connect(a, HLA_EVOKED, nobody), ConnectionFailed);
    EXPECT_THROW(a.rti->connect(a, static_cast<CallbackModel>(7), address),
                 UnsupportedCallbackModel);
    setenv("STARLING_CONNECT_ADDRESS", OneRtiexec::rtiexec->address.c_str(), 1);
    // None of these attempts has spoilt it.
    a.join(L"A");
    a.leave();
}

}
}
