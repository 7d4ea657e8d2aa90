#include "Throw.h"

#include <ostream>

namespace rti1516e {

Exception::Exception() {}
Exception::Exception(Exception const &) {}
Exception &Exception::operator=(Exception const &) { return *this; }
Exception::~Exception() {}

std::wostream &operator<<(std::wostream &out, Exception const &e) { return out << e.what(); }

#define STARLING_EXCEPTION(Name, Status)                                                           \
    Name::Name(std::wstring const &message) RTI_NOEXCEPT : _msg(L"" #Name L": " + message) {}      \
    std::wstring Name::what() const RTI_NOEXCEPT { return _msg; }
#include "generated/exceptions.inc"
#undef STARLING_EXCEPTION

EncoderException::EncoderException(std::wstring const &message) RTI_NOEXCEPT : _msg(message) {}
std::wstring EncoderException::what() const RTI_NOEXCEPT { return _msg; }

}

namespace starling {

void throwStatus(unsigned status, std::wstring const &message) {
    switch (status) {
#define STARLING_EXCEPTION(Name, Status)                                                           \
    case Status:                                                                                   \
        throw rti1516e::Name(message);
#include "generated/exceptions.inc"
#undef STARLING_EXCEPTION
    default:
        throw rti1516e::RTIinternalError(message);
    }
}

}
