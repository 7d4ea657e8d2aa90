#include "Text.h"

namespace starling {

namespace {

char32_t const replacement = 0xfffd;

void append(std::string &out, char32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xc0 | c >> 6);
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xe0 | c >> 12);
        out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | c >> 18);
        out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    }
}

}

std::string utf8(std::wstring const &text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        char32_t c = static_cast<char32_t>(text[i]);
        if (sizeof(wchar_t) == 2 && c >= 0xd800 && c < 0xdc00 && i + 1 < text.size())
            c = 0x10000 + ((c & 0x3ff) << 10 | (static_cast<char32_t>(text[++i]) & 0x3ff));
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = replacement;
        append(out, c);
    }
    return out;
}

/// The library gives only well-formed UTF-8.
std::wstring wide(StarlingText text) {
    std::wstring out;
    out.reserve(text.size);
    for (size_t i = 0; i < text.size;) {
        unsigned const first = text.data[i++];
        int const more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        char32_t c = more == 0 ? first : first & (0x3f >> more);
        for (int k = 0; k < more && i < text.size; ++k)
            c = c << 6 | (text.data[i++] & 0x3f);
        if (sizeof(wchar_t) == 2 && c > 0xffff) {
            out += static_cast<wchar_t>(0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        out += static_cast<wchar_t>(c);
    }
    return out;
}

}
