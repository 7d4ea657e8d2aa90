// DIS (IEEE 1278.1-2012): each message is an Entity State PDU by UDP multicast, its values in the
// PDU's variable parameter records, 15 bytes each behind a type of our own. Numbers are big-endian.
#include "multicast.hpp"

namespace bench {

namespace {

constexpr std::size_t kPdu = 144, kRecord = 16, kInRecord = 15, kRecordsMax = 255;
constexpr unsigned char kVersion = 7, kEntityState = 1, kEntityInformation = 1, kOwnType = 255;
// Where fields stand.
constexpr std::size_t kTimestamp = 4, kLength = 8, kSite = 12, kEntity = 16, kCount = 19,
                      kMarking = 128;

void put16(unsigned char* to, std::size_t value) {
    to[0] = static_cast<unsigned char>(value >> 8);
    to[1] = static_cast<unsigned char>(value);
}
void put32(unsigned char* to, std::uint32_t value) {
    put16(to, value >> 16);
    put16(to + 2, value & 0xffff);
}

}  // namespace

class Dis final : public Multicast {
public:
    using Multicast::Multicast;
    std::string version() const override { return "DIS 7, Entity State PDUs by UDP multicast 1"; }
    Capabilities capabilities() const override {
        Capabilities can = Multicast::capabilities();
        can.messageBytesMax = kRecordsMax * kInRecord - sizeof(Header);
        return can;
    }

private:
    Bytes const& sealed(Bytes const& frame) override {
        std::size_t const records = (frame.size() + kInRecord - 1) / kInRecord;
        pdu_.assign(kPdu + records * kRecord, 0);
        unsigned char* const at = pdu_.data();
        at[0] = kVersion;
        at[1] = 1;  // exercise
        at[2] = kEntityState;
        at[3] = kEntityInformation;
        std::uint64_t stamp;
        std::memcpy(&stamp, frame.data() + sizeof(Header), sizeof stamp);
        // Of the hour, in units of 2^31 an hour; the lowest bit is 0: no absolute time.
        double const hour = static_cast<double>(le64toh(stamp) % 3600000000000u) / 3600e9;
        put32(at + kTimestamp, static_cast<std::uint32_t>(hour * 2147483648.0) << 1);
        put16(at + kLength, pdu_.size());
        put16(at + kSite, 1);
        put16(at + kSite + 2, ::getpid() & 0xffff);  // application
        std::uint32_t what;
        std::memcpy(&what, frame.data() + 4, sizeof what);
        put16(at + kEntity, (le32toh(what) - kData + 1) & 0xffff);
        at[kCount] = static_cast<unsigned char>(records);
        at[kMarking] = 1;  // ASCII
        std::memcpy(at + kMarking + 1, "PBOM", 4);
        for (std::size_t r = 0; r < records; ++r) {
            unsigned char* const record = at + kPdu + r * kRecord;
            record[0] = kOwnType;
            std::size_t const from = r * kInRecord;
            std::memcpy(record + 1, frame.data() + from, std::min(kInRecord, frame.size() - from));
        }
        return pdu_;
    }

    // Others' PDUs, and what is none, are passed over.
    ssize_t opened(ssize_t size) override {
        auto const n = static_cast<std::size_t>(size);
        unsigned char* const at = in_.data();
        if (n < kPdu || at[0] != kVersion || at[2] != kEntityState || at[3] != kEntityInformation) {
            return 0;
        }
        std::size_t const records = at[kCount];
        std::size_t const length = static_cast<std::size_t>(at[kLength]) << 8 | at[kLength + 1];
        if (length != n || n != kPdu + records * kRecord) return 0;
        for (std::size_t r = 0; r < records; ++r) {
            unsigned char const* const record = at + kPdu + r * kRecord;
            if (record[0] != kOwnType) return 0;
            std::memmove(at + r * kInRecord, record + 1, kInRecord);
        }
        std::uint32_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        std::size_t const whole = sizeof(Header) + le32toh(bytes);
        bool const good = records > 0 && whole <= records * kInRecord;
        return good ? static_cast<ssize_t>(whole) : 0;
    }

    Bytes pdu_;
};

}  // namespace bench

BENCH_ADAPTER(bench::Dis)
