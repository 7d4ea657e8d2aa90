#include "Octets.h"

#include <RTI/encoding/HLAopaqueData.h>

#include <cstring>

namespace rti1516e {

/// Octets of its own, or the caller's buffer of a fixed size.
class HLAopaqueDataImplementation {
public:
    std::vector<Octet> own;
    Octet **buffer = nullptr;
    size_t room = 0;
    size_t length = 0;

    Octet const *data() const { return buffer != nullptr ? *buffer : own.data(); }

    void set(Octet const *from, size_t size) {
        if (buffer == nullptr) {
            own.assign(from, from + size);
            length = size;
            return;
        }
        if (size > room)
            throw EncoderException(L"HLAopaqueData: " + std::to_wstring(size) +
                                   L" octets do not fit into the caller's buffer of " +
                                   std::to_wstring(room));
        if (size > 0)
            std::memmove(*buffer, from, size);
        length = size;
    }

    void pointTo(Octet **to, size_t size, size_t used) {
        if (to == nullptr || *to == nullptr || used > size)
            throw EncoderException(L"HLAopaqueData: the buffer is null or smaller than its data");
        buffer = to;
        room = size;
        length = used;
    }
};

HLAopaqueData::HLAopaqueData() : _impl(new HLAopaqueDataImplementation) {}
HLAopaqueData::HLAopaqueData(const Octet *inData, size_t dataSize)
    : _impl(new HLAopaqueDataImplementation) {
    _impl->set(inData, dataSize);
}
HLAopaqueData::HLAopaqueData(Octet **inData, size_t bufferSize, size_t dataSize)
    : _impl(new HLAopaqueDataImplementation) {
    _impl->pointTo(inData, bufferSize, dataSize);
}
HLAopaqueData::HLAopaqueData(HLAopaqueData const &rhs)
    : DataElement(rhs), _impl(new HLAopaqueDataImplementation) {
    _impl->set(rhs.get(), rhs.dataLength());
}
HLAopaqueData::~HLAopaqueData() { delete _impl; }
HLAopaqueData &HLAopaqueData::operator=(HLAopaqueData const &rhs) {
    _impl->set(rhs.get(), rhs.dataLength());
    return *this;
}

std::auto_ptr<DataElement> HLAopaqueData::clone() const {
    return std::auto_ptr<DataElement>(new HLAopaqueData(*this));
}

STARLING_ELEMENT(HLAopaqueData)

void HLAopaqueData::encodeInto(std::vector<Octet> &buffer) const {
    octets::pad(buffer, 4);
    octets::putCount(buffer, _impl->length, L"HLAopaqueData");
    buffer.insert(buffer.end(), _impl->data(), _impl->data() + _impl->length);
}

size_t HLAopaqueData::decodeFrom(std::vector<Octet> const &buffer, size_t index) {
    size_t const at = octets::place(buffer, index, 4, 4, L"HLAopaqueData");
    size_t const count = octets::getCount(buffer, at, L"HLAopaqueData");
    octets::place(buffer, at + 4, 1, count, L"HLAopaqueData");
    _impl->set(buffer.data() + at + 4, count);
    return at + 4 + count;
}

unsigned int HLAopaqueData::getOctetBoundary() const { return 4; }
size_t HLAopaqueData::bufferLength() const {
    return _impl->buffer != nullptr ? _impl->room : _impl->length;
}
size_t HLAopaqueData::dataLength() const { return _impl->length; }
void HLAopaqueData::setDataPointer(Octet **inData, size_t bufferSize, size_t dataSize) {
    _impl->pointTo(inData, bufferSize, dataSize);
}
void HLAopaqueData::set(const Octet *inData, size_t dataSize) { _impl->set(inData, dataSize); }
const Octet *HLAopaqueData::get() const { return _impl->data(); }
HLAopaqueData::operator const Octet *() const { return _impl->data(); }

}
