// Programs that fork without exec: the connection is the parent's.
#include "federate.hpp"

namespace testing_federates {
namespace {

auto *const environment = testing::AddGlobalTestEnvironment(new OneRtiexec);

/// Runs `work` in a forked child; returns its exit status, 1 if it threw.
int in_child(std::function<int()> const &work) {
    pid_t const child = fork();
    if (child == 0) {
        int status = 1;
        try {
            status = work();
        } catch (...) {
        }
        _exit(status);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Forking : public testing::TestWithParam<CallbackModel> {
protected:
    Federate a{GetParam()}, b{GetParam()};
    ObjectInstanceHandle instance;
    int updates = 0;

    void SetUp() override {
        a.join(L"A");
        b.join(L"B");
        a.settle();
        instance = a.rti->registerObjectInstance(a.soda);
        EXPECT_EQ(b.next().substr(0, 8), L"discover");
        expect_alive();
    }
    void TearDown() override {
        expect_alive();
        b.leave();
        a.leave();
    }

    /// The parent's federates go on as if nothing had been.
    void expect_alive() {
        for (int i = 0; i < 10; ++i) {
            std::string const value = std::to_string(++updates);
            a.update(instance, value);
            ASSERT_EQ(b.next(), L"reflect " + std::wstring(value.begin(), value.end()));
        }
        a.settle();
        b.settle();
    }
};
INSTANTIATE_TEST_SUITE_P(Models, Forking, testing::Values(HLA_EVOKED, HLA_IMMEDIATE));

TEST_P(Forking, AChildThatDestroysItsCopyDisconnectsNobody) {
    EXPECT_EQ(in_child([&] {
                  a.rti.reset();
                  b.rti.reset();
                  return 0;
              }),
              0);
}

TEST_P(Forking, AChildThatDisconnectsDisconnectsNobody) {
    EXPECT_EQ(in_child([&] {
                  a.rti->disconnect();
                  b.rti->disconnect();
                  return 0;
              }),
              0);
}

TEST_P(Forking, EveryServiceOfAChildThrowsNotConnected) {
    EXPECT_EQ(in_child([&] {
                  int wrong = 0;
                  auto const throws = [&](std::function<void()> const &service) {
                      try {
                          service();
                          ++wrong;
                      } catch (NotConnected const &) {
                      } catch (...) {
                          ++wrong;
                      }
                  };
                  for (int i = 0; i < 100; ++i)
                      throws([&] { a.update(instance, "child"); });
                  throws([&] { a.rti->registerObjectInstance(a.soda); });
                  throws([&] { a.rti->createFederationExecution(L"Child", fom()); });
                  throws([&] { a.rti->listFederationExecutions(); });
                  throws([&] { a.rti->resignFederationExecution(NO_ACTION); });
                  throws([&] { a.rti->joinFederationExecution(L"C", L"t", L"Test"); });
                  return wrong;
              }),
              0);
}

TEST_P(Forking, AChildMayConnectItself) {
    EXPECT_EQ(in_child([&] {
                  Federate own(GetParam());
                  own.join(L"Child");
                  own.rti->resignFederationExecution(NO_ACTION);
                  own.rti->disconnect();
                  // Also with the copy of an ambassador.
                  b.rti->connect(b, GetParam());
                  b.enter(L"Child");
                  b.rti->resignFederationExecution(NO_ACTION);
                  b.rti->disconnect();
                  return testing::Test::HasFailure() ? 2 : 0;
              }),
              0);
}

TEST_P(Forking, AChildThatLivesOnWithoutItsCopyDoesNotHoldTheConnectionOpen) {
    Federate c(GetParam());
    c.join(L"C");
    int ready[2], over[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(over), 0);
    // C's process ends, its child's lives on.
    pid_t const middle = fork();
    if (middle == 0) {
        Federate d(GetParam());
        d.join(L"D");
        if (fork() == 0) {
            d.rti.reset();
            char byte = 0;
            (void)!write(ready[1], &byte, 1);
            close(over[1]);
            (void)!read(over[0], &byte, 1);
            _exit(0);
        }
        char byte;
        (void)!read(ready[0], &byte, 1);
        _exit(0);
    }
    waitpid(middle, nullptr, 0);
    // D's name is free once rtiexec has noticed.
    c.rti->resignFederationExecution(NO_ACTION);
    auto const end = deadline();
    bool joined = false;
    while (!joined && std::chrono::steady_clock::now() < end) {
        try {
            c.rti->joinFederationExecution(L"D", L"t", L"Test");
            joined = true;
        } catch (FederateNameAlreadyInUse const &) {
        }
    }
    EXPECT_TRUE(joined);
    close(over[1]);
    c.rti->resignFederationExecution(NO_ACTION);
    c.rti->disconnect();
}

}
}
