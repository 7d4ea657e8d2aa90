// The standard's value classes, as the stand-in RTI has them.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <cstring>
#include <ostream>
#include <vector>

#include "handles.hpp"

namespace rti1516e {

// It copies the bytes at every call, setDataPointer too: what is changed in place afterwards is
// not seen. An RTI may do so.
class VariableLengthDataImplementation {
public:
    std::vector<unsigned char> bytes;
};

VariableLengthData::VariableLengthData() : _impl(new VariableLengthDataImplementation) {}
VariableLengthData::VariableLengthData(void const* data, size_t size) : VariableLengthData() {
    setData(data, size);
}
VariableLengthData::VariableLengthData(VariableLengthData const& rhs)
    : _impl(new VariableLengthDataImplementation(*rhs._impl)) {}
VariableLengthData::~VariableLengthData() { delete _impl; }
VariableLengthData& VariableLengthData::operator=(VariableLengthData const& rhs) {
    *_impl = *rhs._impl;
    return *this;
}
void const* VariableLengthData::data() const { return _impl->bytes.data(); }
size_t VariableLengthData::size() const { return _impl->bytes.size(); }
void VariableLengthData::setData(void const* data, size_t size) {
    auto const* from = static_cast<unsigned char const*>(data);
    _impl->bytes.assign(from, from + size);
}
void VariableLengthData::setDataPointer(void* data, size_t size) { setData(data, size); }
void VariableLengthData::takeDataPointer(void* data, size_t size,
                                         VariableLengthDataDeleteFunction free) {
    setData(data, size);
    if (free != nullptr) free(data);
    else ::operator delete(data);
}

#define STANDIN_HANDLE_BODY(Kind)                                                                \
    Kind::Kind() : _impl(nullptr) {}                                                             \
    Kind::~Kind() noexcept {}                                                                    \
    Kind::Kind(Kind const& rhs) : _impl(rhs._impl) {}                                            \
    Kind& Kind::operator=(Kind const& rhs) {                                                     \
        _impl = rhs._impl;                                                                       \
        return *this;                                                                            \
    }                                                                                            \
    bool Kind::isValid() const { return _impl != nullptr; }                                      \
    bool Kind::operator==(Kind const& rhs) const { return _impl == rhs._impl; }                  \
    bool Kind::operator!=(Kind const& rhs) const { return _impl != rhs._impl; }                  \
    bool Kind::operator<(Kind const& rhs) const { return numberOf(*this) < numberOf(rhs); }      \
    long Kind::hash() const { return static_cast<long>(numberOf(*this)); }                       \
    VariableLengthData Kind::encode() const { return VariableLengthData(&_impl, sizeof _impl); } \
    void Kind::encode(VariableLengthData& to) const { to = encode(); }                           \
    size_t Kind::encode(void* to, size_t size) const {                                           \
        if (size < sizeof _impl) throw CouldNotEncode(L"the buffer is too small");               \
        std::memcpy(to, &_impl, sizeof _impl);                                                   \
        return sizeof _impl;                                                                     \
    }                                                                                            \
    size_t Kind::encodedLength() const { return sizeof _impl; }                                  \
    std::wstring Kind::toString() const { return std::to_wstring(numberOf(*this)); }             \
    Kind##Implementation const* Kind::getImplementation() const { return _impl; }                \
    Kind##Implementation* Kind::getImplementation() { return _impl; }                            \
    Kind::Kind(Kind##Implementation* impl) : _impl(impl) {}                                      \
    std::wostream& operator<<(std::wostream& to, Kind const& handle) {                           \
        return to << handle.toString();                                                          \
    }

STANDIN_HANDLE_BODY(FederateHandle)
STANDIN_HANDLE_BODY(ObjectClassHandle)
STANDIN_HANDLE_BODY(InteractionClassHandle)
STANDIN_HANDLE_BODY(ObjectInstanceHandle)
STANDIN_HANDLE_BODY(AttributeHandle)
STANDIN_HANDLE_BODY(ParameterHandle)
STANDIN_HANDLE_BODY(DimensionHandle)
STANDIN_HANDLE_BODY(MessageRetractionHandle)
STANDIN_HANDLE_BODY(RegionHandle)

Exception::Exception() = default;
Exception::Exception(Exception const&) = default;
Exception& Exception::operator=(Exception const&) = default;
Exception::~Exception() = default;
std::wostream& operator<<(std::wostream& to, Exception const& e) { return to << e.what(); }

FederateRestoreStatus::FederateRestoreStatus(FederateHandle const& before,
                                             FederateHandle const& after, RestoreStatus now)
    : preRestoreHandle(before), postRestoreHandle(after), status(now) {}
FederationExecutionInformation::FederationExecutionInformation(std::wstring const& name,
                                                               std::wstring const& time)
    : federationExecutionName(name), logicalTimeImplementationName(time) {}
SupplementalReflectInfo::SupplementalReflectInfo() : hasProducingFederate(), hasSentRegions() {}
SupplementalReceiveInfo::SupplementalReceiveInfo() : hasProducingFederate(), hasSentRegions() {}
SupplementalRemoveInfo::SupplementalRemoveInfo() : hasProducingFederate() {}

FederateAmbassador::FederateAmbassador() = default;
FederateAmbassador::~FederateAmbassador() noexcept = default;
NullFederateAmbassador::NullFederateAmbassador() = default;
NullFederateAmbassador::~NullFederateAmbassador() noexcept = default;
RTIambassador::RTIambassador() noexcept = default;
RTIambassador::~RTIambassador() = default;

std::wstring rtiName() { return L"stand-in"; }
std::wstring rtiVersion() { return L"1"; }

}  // namespace rti1516e
