#include "value.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace conformance {

namespace {

class Reader {
public:
    explicit Reader(std::string const &line) : line_(line) {}

    Values all(char close) {
        Values values;
        for (;;) {
            skip();
            if (at_ == line_.size()) {
                if (close)
                    throw SyntaxError(std::string("'") + close + "' is missing");
                return values;
            }
            if (line_[at_] == close && close) {
                ++at_;
                return values;
            }
            values.push_back(one());
        }
    }

private:
    void skip() {
        while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == ','))
            ++at_;
        bool const space =
            at_ + 1 == line_.size() || line_[at_ + 1 < line_.size() ? at_ + 1 : at_] == ' ';
        if (at_ < line_.size() && line_[at_] == '#' && (at_ == 0 || space))
            at_ = line_.size();
    }

    Value one() {
        char const c = line_[at_];
        if (c == '{' || c == '[') {
            ++at_;
            Value value(c == '{' ? Value::Set : Value::List);
            value.items = all(c == '{' ? '}' : ']');
            return value;
        }
        Value value = c == '"' ? text() : word();
        if (at_ < line_.size() && line_[at_] == '=' &&
            !(value.kind == Value::Word && value.text.empty())) {
            ++at_;
            if (at_ == line_.size())
                throw SyntaxError("nothing after '='");
            Value pair(Value::Pair, value.text);
            pair.items.push_back(one());
            return pair;
        }
        if (value.kind == Value::Word && value.text.empty()) {
            if (c != '=')
                throw SyntaxError(std::string("unexpected '") + c + "'");
            ++at_;
            value.text = "=";
        }
        return value;
    }

    Value word() {
        static std::string const ends = " \t,{}[]\"=";
        size_t const from = at_;
        while (at_ < line_.size() && ends.find(line_[at_]) == std::string::npos)
            ++at_;
        return Value(Value::Word, line_.substr(from, at_ - from));
    }

    Value text() {
        Value value(Value::Text);
        for (++at_; at_ < line_.size(); ++at_) {
            char c = line_[at_];
            if (c == '"') {
                ++at_;
                return value;
            }
            if (c == '\\' && at_ + 1 < line_.size()) {
                c = line_[++at_];
                c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
            }
            value.text += c;
        }
        throw SyntaxError("a text has no closing '\"'");
    }

    std::string const &line_;
    size_t at_ = 0;
};

bool matchesOne(Value const &expected, Value const &got, Variables &captured);

bool matchesText(std::string const &expected, std::string const &got) {
    if (expected == got)
        return true;
    size_t const handle = got.find('@');
    size_t const wanted = expected.find('@');
    if (handle != std::string::npos)
        return wanted == std::string::npos ? expected == got.substr(0, handle)
                                           : expected.substr(wanted) == got.substr(handle);
    if (expected.empty() || got.empty())
        return false;
    char *end1 = nullptr, *end2 = nullptr;
    errno = 0;
    long long const whole1 = std::strtoll(expected.c_str(), &end1, 10);
    long long const whole2 = std::strtoll(got.c_str(), &end2, 10);
    // To the last digit, which floating-point numbers do not have.
    if (!*end1 && !*end2 && errno == 0)
        return whole1 == whole2;
    double const a = std::strtod(expected.c_str(), &end1), b = std::strtod(got.c_str(), &end2);
    return !*end1 && !*end2 && a == b;
}

/// Every expected item has one of its own among those that came.
bool matchesSet(Values const &expected, size_t from, Values const &got, std::vector<bool> &used,
                Variables &captured) {
    if (from == expected.size())
        return true;
    for (size_t i = 0; i < got.size(); ++i) {
        Variables attempt = captured;
        if (used[i] || !matchesOne(expected[from], got[i], attempt))
            continue;
        used[i] = true;
        if (matchesSet(expected, from + 1, got, used, attempt)) {
            captured = attempt;
            return true;
        }
        used[i] = false;
    }
    return false;
}

bool matchesOne(Value const &expected, Value const &got, Variables &captured) {
    if (expected.kind == Value::Word) {
        if (expected.text == "*")
            return true;
        if (expected.text.size() > 1 && expected.text[0] == '?') {
            captured.erase(expected.text.substr(1));
            captured.insert({expected.text.substr(1), got});
            return true;
        }
    }
    bool const plain = expected.kind == Value::Word || expected.kind == Value::Text;
    if (plain)
        return (got.kind == Value::Word || got.kind == Value::Text) &&
               matchesText(expected.text, got.text);
    if (expected.kind != got.kind)
        return false;
    if (expected.kind == Value::Pair)
        return matchesText(expected.text, got.text) &&
               matchesOne(expected.items[0], got.items[0], captured);
    if (expected.kind == Value::List)
        return matches(expected.items, got.items, captured);
    Values items = expected.items;
    bool const open = !items.empty() && items.back().isWord("...");
    if (open)
        items.pop_back();
    std::vector<bool> used(got.items.size(), false);
    return (open || items.size() == got.items.size()) &&
           matchesSet(items, 0, got.items, used, captured);
}

void putNumber(unsigned long number, std::string &digits) {
    digits.append((8 - digits.size() % 8) % 8, '0');
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08lx", number & 0xfffffffful);
    digits += hex;
}

void encode(Values const &values, std::string &digits) {
    for (Value const &value : values) {
        size_t const handle = value.text.find('@');
        if (value.kind == Value::Set) {
            encode(value.items, digits);
        } else if (value.kind == Value::List) {
            putNumber(value.items.size(), digits);
            encode(value.items, digits);
        } else if (value.kind == Value::Text) {
            // Texts of scenarios stay within the first plane.
            std::wstring const text = wide(value.text);
            putNumber(text.size(), digits);
            char hex[5];
            for (wchar_t c : text) {
                std::snprintf(hex, sizeof hex, "%04x", static_cast<unsigned>(c) & 0xffffu);
                digits += hex;
            }
        } else if (value.text.compare(0, 2, "0x") == 0) {
            digits += value.text.substr(2);
        } else if (handle != std::string::npos) {
            putNumber((value.text.size() - handle - 1) / 2, digits);
            digits += value.text.substr(handle + 1);
        } else {
            putNumber(static_cast<unsigned long>(std::strtol(value.text.c_str(), nullptr, 10)),
                      digits);
        }
    }
}

}

Values parse(std::string const &line) { return Reader(line).all(0); }

std::string encoded(Values const &values) {
    std::string digits;
    encode(values, digits);
    return "0x" + digits;
}

std::string quoted(std::string const &text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else
            out += c;
    }
    return out + '"';
}

std::string print(Value const &value) {
    switch (value.kind) {
    case Value::Word:
        return value.text;
    case Value::Text:
        return quoted(value.text);
    case Value::Set:
        return "{" + print(value.items) + "}";
    case Value::List:
        return "[" + print(value.items) + "]";
    case Value::Pair:
        return value.text + "=" + print(value.items[0]);
    }
    return "";
}

std::string print(Values const &values, size_t from) {
    std::string out;
    for (size_t i = from; i < values.size(); ++i)
        out += (i > from ? " " : "") + print(values[i]);
    return out;
}

bool matches(Values const &expected, Values const &got, Variables &captured) {
    size_t count = expected.size();
    bool const open = count > 0 && expected.back().isWord("...");
    if (open)
        --count;
    if (open ? got.size() < count : got.size() != count)
        return false;
    Variables attempt = captured;
    for (size_t i = 0; i < count; ++i)
        if (!matchesOne(expected[i], got[i], attempt))
            return false;
    captured = attempt;
    return true;
}

std::string utf8(std::wstring const &text) {
    std::string out;
    for (wchar_t w : text) {
        unsigned long const c = static_cast<unsigned long>(w);
        if (c < 0x80) {
            out += static_cast<char>(c);
        } else if (c < 0x800) {
            out += static_cast<char>(0xC0 | c >> 6);
            out += static_cast<char>(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            out += static_cast<char>(0xE0 | c >> 12);
            out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
            out += static_cast<char>(0x80 | (c & 0x3F));
        } else {
            out += static_cast<char>(0xF0 | (c >> 18 & 0x07));
            out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
            out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
            out += static_cast<char>(0x80 | (c & 0x3F));
        }
    }
    return out;
}

std::wstring wide(std::string const &text) {
    std::wstring out;
    for (size_t i = 0; i < text.size();) {
        unsigned char const lead = static_cast<unsigned char>(text[i++]);
        int const more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        unsigned long c = more == 0 ? lead : lead & (0x3F >> more);
        for (int k = 0; k < more && i < text.size(); ++k)
            c = c << 6 | (static_cast<unsigned char>(text[i++]) & 0x3F);
        out += static_cast<wchar_t>(c);
    }
    return out;
}

}
