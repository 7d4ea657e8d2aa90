// What came, on disk: samples_testN_NAME.raw, Samples one after the other, and if asked
// elements_testN_NAME.raw, Elements. Written by the reader, so never by who measures.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared.hpp"

namespace range {

class SampleLog {
public:
    SampleLog(std::string const& directory, std::string const& name)
        : directory_(directory), name_(name) {}
    ~SampleLog() {
        for (auto const& file : files_) {
            if (file.second != nullptr) std::fclose(file.second);
        }
    }
    SampleLog(SampleLog const&) = delete;
    SampleLog& operator=(SampleLog const&) = delete;

    // Of whoever measures by hand: what an earlier session has written is not written over.
    void refuseEarlier() const {
        for (auto const* what : {"samples", "elements"}) {
            if (::access(path(what, 0).c_str(), F_OK) != 0) continue;
            throw std::runtime_error(path(what, 0) +
                                     " is of an earlier session; give another --out");
        }
    }

    // Takes all samples that are there. Throws std::runtime_error if they can't be written.
    void drain(Shared& shared, bool logging) {
        std::uint64_t const until = shared.put.load(std::memory_order_acquire);
        std::uint64_t at = shared.taken.load(std::memory_order_relaxed);
        if (until - at > kSamples) throw std::runtime_error("the shared memory is damaged");
        std::vector<Sample> part;
        while (at < until) {
            part.clear();
            std::uint16_t const test = shared.samples[at % kSamples].test;
            for (; at < until && part.size() < 4096; ++at) {
                Sample const& one = shared.samples[at % kSamples];
                if (one.test != test) break;
                part.push_back(one);
            }
            if (logging) write("samples", test, part);
            // Only now: what a reader has not marked when it is killed, the next one takes again.
            shared.taken.store(at, std::memory_order_release);
        }
        shared.written.store(at);
    }
    // Goes on with what a reader has written that was killed. What it wrote last may not be whole,
    // or not be marked as taken.
    void goOn(Shared& shared) {
        goesOn_ = true;
        std::FILE* const file = std::fopen(path("samples", shared.test.load()).c_str(), "rb");
        if (file == nullptr) return;
        std::fseek(file, 0, SEEK_END);
        long const whole = std::ftell(file) / static_cast<long>(sizeof(Sample));
        Sample last{};
        std::fseek(file, (whole - 1) * static_cast<long>(sizeof(Sample)), SEEK_SET);
        bool const found = whole > 0 && std::fread(&last, sizeof last, 1, file) == 1;
        std::fclose(file);
        std::uint64_t const until = shared.put.load(std::memory_order_acquire);
        for (std::uint64_t at = shared.taken.load(); found && at < until; ++at) {
            if (std::memcmp(&shared.samples[at % kSamples], &last, sizeof last) != 0) continue;
            shared.taken.store(at + 1, std::memory_order_release);
            return;
        }
    }
    void keep(std::vector<Element> const& elements, unsigned test) {
        if (!elements.empty()) write("elements", test, elements);
    }

private:
    // All of it is on disk when this returns.
    template <typename Record>
    void write(char const* what, unsigned test, std::vector<Record> const& records) {
        std::string const at = path(what, test);
        std::FILE*& file = files_[at];
        if (file == nullptr) file = open(at, sizeof(Record));
        if (file == nullptr ||
            std::fwrite(records.data(), sizeof(Record), records.size(), file) != records.size() ||
            std::fflush(file) != 0) {
            fail(at);
        }
    }
    std::FILE* open(std::string const& path, std::size_t record) const {
        struct stat there;
        if (!goesOn_ || ::stat(path.c_str(), &there) != 0) return std::fopen(path.c_str(), "wb");
        off_t const half = there.st_size % static_cast<off_t>(record);
        if (::truncate(path.c_str(), there.st_size - half) != 0) return nullptr;
        return std::fopen(path.c_str(), "ab");
    }
    std::string path(char const* what, unsigned test) const {
        return directory_ + "/" + what + "_test" + std::to_string(test) + "_" + name_ + ".raw";
    }
    [[noreturn]] static void fail(std::string const& path) {
        throw std::runtime_error("can't write " + path + ": " + std::strerror(errno));
    }

    std::string directory_, name_;
    std::map<std::string, std::FILE*> files_;
    bool goesOn_ = false;
};

}  // namespace range
