// What the tests of the C++ API share: an rtiexec of their own, and a federate that writes down
// what it hears.
#pragma once

#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace testing_federates {

using namespace rti1516e;

inline std::wstring fom() { return L"" STARLING_FOM; }

inline VariableLengthData text(std::string const &bytes) {
    return VariableLengthData(bytes.data(), bytes.size());
}

inline std::wstring wide(VariableLengthData const &data) {
    auto const *bytes = static_cast<char const *>(data.data());
    return std::wstring(bytes, bytes + data.size());
}

/// How long a test waits for what must come.
inline std::chrono::steady_clock::time_point deadline() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

/// An rtiexec with its own run directory, which ends with this object and leaves nothing behind.
class Rtiexec {
public:
    /// At an address of which no other process uses ports, it can be started again.
    explicit Rtiexec(std::string const &host = "127.0.0.1") {
        char name[] = "/tmp/starling-test-XXXXXX";
        directory_ = mkdtemp(name);
        start(host + ":0");
    }
    ~Rtiexec() {
        stop(SIGTERM);
        std::filesystem::remove_all(directory_);
    }
    Rtiexec(Rtiexec const &) = delete;

    /// host:port.
    std::string address;
    std::wstring settings() const { return std::wstring(address.begin(), address.end()); }
    std::string directory() const { return directory_; }

    /// Ends the process, by SIGKILL as if it had crashed.
    void stop(int signal) {
        if (process_ == 0)
            return;
        kill(process_, signal);
        waitpid(process_, nullptr, 0);
        process_ = 0;
    }

    /// An address of this process's own.
    static std::string own() {
        unsigned const id = static_cast<unsigned>(getpid());
        return "127." + std::to_string(id >> 16 & 255) + "." + std::to_string(id >> 8 & 255) + "." +
               std::to_string(id & 255);
    }

    /// Starts it again where it was.
    void restart() { start(address); }

private:
    std::string directory_;
    pid_t process_ = 0;

    void start(std::string const &listen) {
        char const *const set = getenv("STARLING_START_PROGRAM");
        std::string const program = set ? set : "starling";
        std::string const words[] = {program, "rtiexec",   "--listen",
                                     listen,  "--run-dir", directory_};
        std::vector<char *> arguments;
        for (std::string const &word : words)
            arguments.push_back(const_cast<char *>(word.c_str()));
        arguments.push_back(nullptr);
        int out[2];
        if (pipe2(out, O_CLOEXEC) != 0)
            throw std::runtime_error("pipe2");
        std::string const log = directory_ + "/log";
        pid_t const me = getpid();
        process_ = fork();
        if (process_ == 0) {
            // It ends with the test program, however that ends.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            int const to = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            if (getppid() == me && to >= 0 && dup2(to, 2) == 2 && dup2(out[1], 1) == 1)
                execvp(arguments[0], arguments.data());
            _exit(127);
        }
        close(out[1]);
        std::string line;
        for (char c; read(out[0], &c, 1) == 1 && c != '\n';)
            line += c;
        close(out[0]);
        if (line.rfind("ready ", 0) != 0)
            throw std::runtime_error("rtiexec said '" + line + "'");
        address = line.substr(6, line.find(' ', 6) - 6);
    }
};

/// The rtiexec of one test program; connect without settings finds it.
class OneRtiexec : public testing::Environment {
public:
    void SetUp() override {
        unsetenv("STARLING_NET_RUN_DIR");
        // Only a slow machine could make these late.
        setenv("STARLING_CONNECT_TIMEOUT_S", "3600", 1);
        setenv("STARLING_LIMITS_HELLO_TIMEOUT_S", "3600", 1);
        rtiexec.reset(new Rtiexec);
        setenv("STARLING_NET_RUN_DIR", rtiexec->directory().c_str(), 1);
        setenv("STARLING_CONNECT_ADDRESS", rtiexec->address.c_str(), 1);
    }
    void TearDown() override { rtiexec.reset(); }
    static std::unique_ptr<Rtiexec> rtiexec;
};

inline std::unique_ptr<Rtiexec> OneRtiexec::rtiexec;

/// A federate that writes down its callbacks, and may do something inside of one.
class Federate : public NullFederateAmbassador {
public:
    explicit Federate(CallbackModel model = HLA_EVOKED) : model(model) {}
    /// Callbacks come until the ambassador has gone, and need what is below it.
    ~Federate() override { rti.reset(); }

    CallbackModel const model;
    std::unique_ptr<RTIambassador> rti{RTIambassadorFactory().createRTIambassador()};
    ObjectClassHandle soda;
    AttributeHandle cups;

    /// What is called within each callback from now on.
    void within(std::function<void(std::wstring const &)> what) {
        std::lock_guard<std::mutex> lock(mutex_);
        within_ = std::move(what);
    }

    void join(std::wstring const &name, std::wstring const &federation = L"Test") {
        rti->connect(*this, model);
        enter(name, federation);
    }

    /// Joins while connected already; publishes and subscribes to cups of soda, and has the
    /// executive's word that it does.
    void enter(std::wstring const &name, std::wstring const &federation = L"Test") {
        try {
            rti->createFederationExecution(federation, fom());
        } catch (FederationExecutionAlreadyExists const &) {
        }
        rti->joinFederationExecution(name, L"tester", federation);
        soda = rti->getObjectClassHandle(L"Food.Drink.Soda");
        cups = rti->getAttributeHandle(soda, L"NumberCups");
        rti->publishObjectClassAttributes(soda, {cups});
        rti->subscribeObjectClassAttributes(soda, {cups});
        settle(federation);
    }

    void leave(std::wstring const &federation = L"Test") {
        rti->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST);
        try {
            rti->destroyFederationExecution(federation);
        } catch (FederatesCurrentlyJoined const &) {
        } catch (FederationExecutionDoesNotExist const &) {
        }
        rti->disconnect();
    }

    /// A federate sends updates to those of whose subscription it knows. The executive's answer
    /// comes after all that it told before: what the others had settled is known then.
    void settle(std::wstring const &federation = L"Test") {
        EXPECT_THROW(rti->createFederationExecution(federation, fom()),
                     FederationExecutionAlreadyExists);
    }

    void update(ObjectInstanceHandle instance, std::string const &value) {
        rti->updateAttributeValues(instance, {{cups, text(value)}}, text(""));
    }

    /// The next callback, or "nothing came".
    std::wstring next() {
        auto const end = deadline();
        std::unique_lock<std::mutex> lock(mutex_);
        while (heard_.empty()) {
            if (std::chrono::steady_clock::now() >= end)
                return L"nothing came";
            if (model == HLA_IMMEDIATE) {
                come_.wait_until(lock, end);
            } else {
                lock.unlock();
                rti->evokeCallback(1);
                lock.lock();
            }
        }
        std::wstring const first = heard_.front();
        heard_.pop_front();
        return first;
    }

    size_t heard() {
        std::lock_guard<std::mutex> lock(mutex_);
        return heard_.size();
    }

    void connectionLost(std::wstring const &) override { hear(L"lost"); }
    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle,
                                std::wstring const &name) override {
        hear(L"discover " + name);
    }
    void reflectAttributeValues(ObjectInstanceHandle, AttributeHandleValueMap const &values,
                                VariableLengthData const &, OrderType, TransportationType,
                                SupplementalReflectInfo) override {
        hear(L"reflect " + wide(values.begin()->second));
    }
    void removeObjectInstance(ObjectInstanceHandle, VariableLengthData const &, OrderType,
                              SupplementalRemoveInfo) override {
        hear(L"remove");
    }
    void reportFederationExecutions(FederationExecutionInformationVector const &) override {
        hear(L"report");
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;
    using NullFederateAmbassador::removeObjectInstance;

private:
    std::mutex mutex_;
    std::condition_variable come_;
    std::deque<std::wstring> heard_;
    std::function<void(std::wstring const &)> within_;

    void hear(std::wstring const &what) {
        std::function<void(std::wstring const &)> within;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            heard_.push_back(what);
            come_.notify_all();
            within = within_;
        }
        if (within)
            within(what);
    }
};

}
