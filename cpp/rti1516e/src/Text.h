// Between std::wstring (UTF-32 here, UTF-16 on Windows) and the C ABI's UTF-8.
#pragma once

#include <starling.h>
#include <string>

namespace starling {

std::string utf8(std::wstring const &text);
std::wstring wide(StarlingText text);

/// A text argument; lives as long as the full expression that it stands in.
class Argument {
public:
    explicit Argument(std::wstring const &text) : bytes_(utf8(text)) {}
    operator StarlingText() const {
        return {reinterpret_cast<uint8_t const *>(bytes_.data()), bytes_.size()};
    }

private:
    std::string bytes_;
};

}
