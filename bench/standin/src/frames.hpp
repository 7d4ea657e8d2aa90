// How federates and server of the stand-in RTI talk: frames of a length (4 bytes), a kind and a
// body. Numbers are the host's: it is for tests on one machine or a network of like ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace standin {

// Up to Destroy: requests, each answered by one Reply. From Register on: handed to all others.
enum class Kind : std::uint8_t {
    Reply,
    Create,
    Join,
    ResignBegin,
    Resign,
    Destroy,
    Register,
    Update,
    Interaction,
    Remove,
    Joined,
    Gone
};
enum class Status : std::uint8_t { Ok, Exists, Absent, Joined, NameInUse };

std::size_t const kHead = 5;
std::uint32_t const kFrameMax = 64 << 20;

template <typename Number>
void put(std::string& to, Number value) {
    to.append(reinterpret_cast<char const*>(&value), sizeof value);
}
inline void putText(std::string& to, std::string const& text) {
    put(to, static_cast<std::uint32_t>(text.size()));
    to += text;
}
inline std::string frame(Kind kind, std::string const& body) {
    std::string out;
    put(out, static_cast<std::uint32_t>(body.size()));
    put(out, kind);
    return out + body;
}

// Reads a body; throws std::runtime_error at its end.
class Reader {
public:
    explicit Reader(std::string const& from) : from_(from) {}
    template <typename Number>
    Number get() {
        Number value;
        std::memcpy(&value, bytes(sizeof value), sizeof value);
        return value;
    }
    std::string text() {
        auto const size = get<std::uint32_t>();
        return std::string(bytes(size), size);
    }
    char const* bytes(std::size_t size) {
        if (from_.size() - at_ < size) throw std::runtime_error("a frame is too short");
        at_ += size;
        return from_.data() + at_ - size;
    }
    bool end() const { return at_ == from_.size(); }

private:
    std::string const& from_;
    std::size_t at_ = 0;
};

// Takes a whole frame from the front of `in`; false: there is none yet.
inline bool takeFrame(std::string const& in, std::size_t& at, Kind& kind, std::string& body) {
    if (in.size() - at < kHead) return false;
    std::uint32_t size;
    std::memcpy(&size, in.data() + at, sizeof size);
    if (size > kFrameMax) throw std::runtime_error("a frame is too long");
    if (in.size() - at < kHead + size) return false;
    kind = static_cast<Kind>(in[at + 4]);
    body.assign(in, at + kHead, size);
    at += kHead + size;
    return true;
}

}  // namespace standin
