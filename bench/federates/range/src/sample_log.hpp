// What came, on disk: samples_testN_NAME.raw, Samples one after the other, and if asked
// elements_testN_NAME.raw, Elements. Written by the reader, so never by who measures.
#pragma once

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
        for (auto const& file : files_) std::fclose(file.second);
    }
    SampleLog(SampleLog const&) = delete;
    SampleLog& operator=(SampleLog const&) = delete;

    // Takes all samples that are there. Throws std::runtime_error if they can't be written.
    void drain(Shared& shared, bool logging) {
        std::uint64_t const until = shared.put.load(std::memory_order_acquire);
        std::uint64_t at = shared.taken.load(std::memory_order_relaxed);
        std::vector<Sample> part;
        while (at < until) {
            part.clear();
            std::uint16_t const test = shared.samples[at % kSamples].test;
            for (; at < until && part.size() < 4096; ++at) {
                Sample const& one = shared.samples[at % kSamples];
                if (one.test != test) break;
                part.push_back(one);
            }
            shared.taken.store(at, std::memory_order_release);
            if (logging) write("samples", test, part.data(), part.size() * sizeof(Sample));
            count_ += part.size();
        }
        for (auto const& file : files_) {
            if (std::fflush(file.second) != 0) fail(file.first);
        }
        shared.written.store(at);
    }
    void keep(std::vector<Element> const& elements, unsigned test) {
        if (!elements.empty()) {
            write("elements", test, elements.data(), elements.size() * sizeof(Element));
        }
    }
    std::uint64_t count() const { return count_; }

private:
    void write(char const* what, unsigned test, void const* bytes, std::size_t size) {
        std::string const path =
            directory_ + "/" + what + "_test" + std::to_string(test) + "_" + name_ + ".raw";
        std::FILE*& file = files_[path];
        if (file == nullptr) file = std::fopen(path.c_str(), "wb");
        if (file == nullptr || std::fwrite(bytes, size, 1, file) != 1) fail(path);
    }
    [[noreturn]] static void fail(std::string const& path) {
        throw std::runtime_error("can't write " + path + ": " + std::strerror(errno));
    }

    std::string directory_, name_;
    std::map<std::string, std::FILE*> files_;
    std::uint64_t count_ = 0;
};

}  // namespace range
