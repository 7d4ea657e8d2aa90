// Big-endian octets, as the layouts without helpers write and read them.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "spatial.hpp"

namespace fomcost {

using Octets = std::vector<unsigned char>;

// Writes into a value whose size is known beforehand.
class Writer {
public:
    Writer(Octets& to, std::size_t size) {
        to.resize(size);
        at_ = to.data();
    }
    void octet(unsigned value) { *at_++ = static_cast<unsigned char>(value); }
    void truth(bool value) { octet(value ? 1 : 0); }
    void put(float value) {
        std::uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        bits = __builtin_bswap32(bits);
        std::memcpy(at_, &bits, sizeof bits);
        at_ += sizeof bits;
    }
    void put(double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        bits = __builtin_bswap64(bits);
        std::memcpy(at_, &bits, sizeof bits);
        at_ += sizeof bits;
    }
    void put(Triple const& t) {
        put(t.x);
        put(t.y);
        put(t.z);
    }
    void put(Place const& p) {
        put(p.x);
        put(p.y);
        put(p.z);
    }

private:
    unsigned char* at_;
};

// Reads a value; what is shorter or longer than it must be, and what no field may hold, is refused.
class Reader {
public:
    explicit Reader(Octets const& from)
        : at_(from.data()), end_(from.data() + from.size()), size_(from.size()) {}
    // What follows takes so many octets, and nothing stands behind.
    void exactly(std::size_t octets) const {
        std::size_t const left = static_cast<std::size_t>(end_ - at_);
        if (left == octets) return;
        throw CodecError(std::to_string(size_) + " octets, expected " +
                         std::to_string(size_ - left + octets));
    }
    unsigned octet() {
        if (at_ == end_) exactly(1);
        return *at_++;
    }
    bool truth() {
        unsigned const value = octet();
        if (value > 1) throw CodecError("a truth value of " + std::to_string(value));
        return value == 1;
    }
    void padding(int octets) {
        while (octets-- > 0) {
            if (octet() != 0) throw CodecError("padding that is not 0");
        }
    }
    std::uint8_t mode() {
        auto const value = static_cast<std::uint8_t>(octet());
        checkMode(value);
        return value;
    }
    // After `exactly`.
    void get(float& value) {
        std::uint32_t bits;
        std::memcpy(&bits, at_, sizeof bits);
        bits = __builtin_bswap32(bits);
        std::memcpy(&value, &bits, sizeof bits);
        at_ += sizeof bits;
    }
    void get(double& value) {
        std::uint64_t bits;
        std::memcpy(&bits, at_, sizeof bits);
        bits = __builtin_bswap64(bits);
        std::memcpy(&value, &bits, sizeof bits);
        at_ += sizeof bits;
    }
    void get(Triple& t) {
        get(t.x);
        get(t.y);
        get(t.z);
    }
    void get(Place& p) {
        get(p.x);
        get(p.y);
        get(p.z);
    }

private:
    unsigned char const *at_, *end_;
    std::size_t size_;
};

}  // namespace fomcost
