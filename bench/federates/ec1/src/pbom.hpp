// The Performance Benchmark Object Model, the same over every adapter: time stamp (which the
// adapter puts in front), identity, sequence number, test, payload. Numbers are little-endian.
#pragma once

#include <endian.h>

#include <cstdint>
#include <cstring>

namespace ec1 {

constexpr std::uint64_t kHeaderBytes = 20;

struct Pbom {
    std::uint32_t identity;  // publisher and entity
    std::uint32_t sequence;  // of the entity, from 1
    std::uint32_t test;      // number of the test and sample: what comes late is known as such

    static std::uint32_t identityOf(std::size_t publisher, std::size_t entity) {
        return static_cast<std::uint32_t>(publisher << 16 | entity);
    }
    std::size_t publisher() const { return identity >> 16; }
    std::size_t entity() const { return identity & 0xffff; }

    // What stands behind the time stamp.
    void write(unsigned char* to) const {
        std::uint32_t const all[] = {htole32(identity), htole32(sequence), htole32(test)};
        std::memcpy(to, all, sizeof all);
    }
    static Pbom read(unsigned char const* from) {
        std::uint32_t all[3];
        std::memcpy(all, from, sizeof all);
        return {le32toh(all[0]), le32toh(all[1]), le32toh(all[2])};
    }
};

}  // namespace ec1
