// From the C ABI's statuses to exceptions.
#pragma once

#include <RTI/Exception.h>
#include <RTI/encoding/EncodingExceptions.h>

namespace starling {

/// Throws the exception with this status.
[[noreturn]] void throwStatus(unsigned status, std::wstring const &message);

}
