#include "arguments.hpp"

#include <cstdlib>
#include <limits>

namespace conformance {

using namespace rti1516e;

namespace {

std::string bytesOf(std::string const &hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
    if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw BadCommand("expected pairs of hexadecimal digits: " + hex);
    return bytes;
}

VariableLengthData data(std::string const &bytes) {
    return VariableLengthData(bytes.data(), bytes.size());
}

// All 64-bit numbers are values of this type.
static_assert(std::numeric_limits<long double>::digits >= 63, "integer times are read as these");

bool plain(Value const &value) { return value.kind == Value::Word || value.kind == Value::Text; }

}

Values const &Arguments::itemsOf(Value const &value, Value::Kind kind) {
    if (value.kind != kind)
        throw BadCommand(std::string("expected a ") + (kind == Value::Set ? "{set}" : "[list]") +
                         ", not " + print(value));
    return value.items;
}

long double Arguments::number(Value const &value) {
    char *end = nullptr;
    long double const n = std::strtold(value.text.c_str(), &end);
    if (!plain(value) || value.text.empty() || *end)
        throw BadCommand("expected a number or a name that the API has, not " + print(value));
    return n;
}

void Arguments::read(Value const &value, bool &to) {
    if (!value.isWord("true") && !value.isWord("false"))
        throw BadCommand("expected true or false, not " + print(value));
    to = value.text == "true";
}

void Arguments::read(Value const &value, double &to) { to = static_cast<double>(number(value)); }

void Arguments::read(Value const &value, std::wstring &to) {
    if (value.kind != Value::Text)
        throw BadCommand("expected a \"text\", not " + print(value));
    to = wide(value.text);
}

void Arguments::read(Value const &value, std::vector<std::wstring> &to) {
    for (Value const &item : itemsOf(value, Value::List)) {
        to.push_back(std::wstring());
        read(item, to.back());
    }
}

void Arguments::read(Value const &value, std::set<std::wstring> &to) {
    for (Value const &item : itemsOf(value, Value::Set)) {
        std::wstring name;
        read(item, name);
        to.insert(name);
    }
}

void Arguments::read(Value const &value, VariableLengthData &to) {
    if (!plain(value))
        throw BadCommand("expected a value, not " + print(value));
    size_t const handle = value.text.find('@');
    if (value.kind == Value::Word && value.text.compare(0, 2, "0x") == 0)
        to = data(bytesOf(value.text.substr(2)));
    else if (value.kind == Value::Word && handle != std::string::npos)
        to = data(bytesOf(value.text.substr(handle + 1)));
    else
        to = data(value.text);
}

void Arguments::read(Value const &value, RangeBounds &to) {
    size_t const dots = value.text.find("..");
    if (!plain(value) || dots == std::string::npos)
        throw BadCommand("expected LOWER..UPPER, not " + print(value));
    to = RangeBounds(std::strtoul(value.text.c_str(), nullptr, 10),
                     std::strtoul(value.text.c_str() + dots + 2, nullptr, 10));
}

void Arguments::read(Value const &value, AttributeHandleSetRegionHandleSetPairVector &to) {
    Values const &items = itemsOf(value, Value::List);
    if (items.size() % 2 != 0)
        throw BadCommand("expected [{attributes} {regions} ...], not " + print(value));
    for (size_t i = 0; i < items.size(); i += 2) {
        AttributeHandleSetRegionHandleSetPair pair;
        read(items[i], pair.first);
        read(items[i + 1], pair.second);
        to.push_back(pair);
    }
}

template <class Handle, class Decode>
bool Arguments::given(Value const &value, Handle &handle, size_t usualLength, Decode decode) {
    if (!plain(value))
        throw BadCommand("expected a handle, not " + print(value));
    if (value.isWord("invalid")) {
        handle = Handle();
        return true;
    }
    size_t const at = value.text.find('@');
    std::string code;
    if (value.isWord("madeup")) {
        size_t const length = federate_.encodedLength<Handle>();
        code = "7fffffff";
        code.insert(0, 2 * ((length ? length : usualLength) - 4), '0');
    } else if (at != std::string::npos) {
        code = value.text.substr(at + 1);
    } else {
        return false;
    }
    if (federate_.met(code, handle))
        return true;
    try {
        handle = decode(data(bytesOf(code)));
    } catch (Exception const &e) {
        throw BadCommand("cannot decode handle " + code + ": " + exceptionName(e) + ": " +
                         utf8(e.what()));
    }
    return true;
}

/// A name. If there is no class to look in, or no federation execution, the handle stays invalid:
/// the service itself has to complain first.
template <class Handle, class Look>
void Arguments::lookUp(Value const &value, Handle &handle, bool known, Look look) {
    if (!known)
        return;
    try {
        handle = look(wide(value.text));
    } catch (NotConnected const &) {
    } catch (FederateNotExecutionMember const &) {
    } catch (Exception const &e) {
        throw BadCommand("no handle for " + print(value) + ": " + exceptionName(e) + ": " +
                         utf8(e.what()));
    }
}

#define DECODE(Handle)                                                                             \
    [&](VariableLengthData const &code) { return federate_.rti().decode##Handle(code); }

void Arguments::read(Value const &value, FederateHandle &to) {
    if (!given(value, to, 4, DECODE(FederateHandle)))
        throw BadCommand("expected $FEDERATE, invalid or madeup, not " + print(value));
}

void Arguments::read(Value const &value, ObjectClassHandle &to) {
    Value name = value;
    if (name.text.compare(0, 6, "class:") == 0)
        name.text.erase(0, 6);
    else if (name.text.size() > 1 && name.text[0] == '@')
        throw BadCommand("expected an object class, not an instance");
    classKnown_ =
        !given(name, to, 4, DECODE(ObjectClassHandle)) || name.text.find('@') != std::string::npos;
    if (classKnown_ && !to.isValid())
        lookUp(name, to, true,
               [&](std::wstring const &n) { return federate_.rti().getObjectClassHandle(n); });
    context_.objectClass = to;
}

void Arguments::read(Value const &value, InteractionClassHandle &to) {
    classKnown_ = !given(value, to, 4, DECODE(InteractionClassHandle)) ||
                  value.text.find('@') != std::string::npos;
    if (classKnown_ && !to.isValid())
        lookUp(value, to, true,
               [&](std::wstring const &n) { return federate_.rti().getInteractionClassHandle(n); });
    context_.interactionClass = to;
}

void Arguments::read(Value const &value, ObjectInstanceHandle &to) {
    if (!given(value, to, 8, DECODE(ObjectInstanceHandle)) || value.text.find('@') > 0)
        if (!value.isWord("invalid") && !value.isWord("madeup"))
            throw BadCommand("expected $INSTANCE, invalid or madeup, not " + print(value));
    context_.objectClass = federate_.classOf(to);
    classKnown_ = context_.objectClass.isValid();
}

void Arguments::read(Value const &value, AttributeHandle &to) {
    if (given(value, to, 4, DECODE(AttributeHandle)))
        return;
    size_t const slash = value.text.find('/');
    if (slash == std::string::npos) {
        lookUp(value, to, classKnown_, [&](std::wstring const &n) {
            return federate_.rti().getAttributeHandle(context_.objectClass, n);
        });
        return;
    }
    std::wstring const name = wide(value.text.substr(0, slash));
    lookUp(Value(Value::Word, value.text.substr(slash + 1)), to, true, [&](std::wstring const &n) {
        return federate_.rti().getAttributeHandle(federate_.rti().getObjectClassHandle(name), n);
    });
}

void Arguments::read(Value const &value, ParameterHandle &to) {
    if (given(value, to, 4, DECODE(ParameterHandle)))
        return;
    size_t const slash = value.text.find('/');
    if (slash == std::string::npos) {
        lookUp(value, to, classKnown_, [&](std::wstring const &n) {
            return federate_.rti().getParameterHandle(context_.interactionClass, n);
        });
        return;
    }
    std::wstring const name = wide(value.text.substr(0, slash));
    lookUp(Value(Value::Word, value.text.substr(slash + 1)), to, true, [&](std::wstring const &n) {
        return federate_.rti().getParameterHandle(federate_.rti().getInteractionClassHandle(name),
                                                  n);
    });
}

void Arguments::read(Value const &value, DimensionHandle &to) {
    if (!given(value, to, 4, DECODE(DimensionHandle)))
        lookUp(value, to, true,
               [&](std::wstring const &n) { return federate_.rti().getDimensionHandle(n); });
}

void Arguments::read(Value const &value, MessageRetractionHandle &to) {
    if (!given(value, to, 8, DECODE(MessageRetractionHandle)))
        throw BadCommand("expected a retraction handle, not " + print(value));
}

void Arguments::read(Value const &value, RegionHandle &to) {
    if (!given(value, to, 8, DECODE(RegionHandle)))
        throw BadCommand("expected $REGION, invalid or madeup, not " + print(value));
}

#undef DECODE

namespace {

/// Whether times are integers here: `integer:5`, `float:5`, else as the federation execution's.
bool integers(Federate &federate, std::string &text) {
    if (text.compare(0, 8, "integer:") == 0) {
        text.erase(0, 8);
        return true;
    }
    if (text.compare(0, 6, "float:") == 0) {
        text.erase(0, 6);
        return false;
    }
    try {
        return federate.rti().getTimeFactory()->getName() == L"HLAinteger64Time";
    } catch (Exception const &) {
        return false;
    }
}

}

void Arguments::read(Value const &value, std::unique_ptr<LogicalTime> &to) {
    Value plain = value;
    if (integers(federate_, plain.text))
        to.reset(new HLAinteger64Time(static_cast<Integer64>(number(plain))));
    else
        to.reset(new HLAfloat64Time(static_cast<double>(number(plain))));
}

void Arguments::read(Value const &value, std::unique_ptr<LogicalTimeInterval> &to) {
    Value plain = value;
    if (integers(federate_, plain.text))
        to.reset(new HLAinteger64Interval(static_cast<Integer64>(number(plain))));
    else
        to.reset(new HLAfloat64Interval(static_cast<double>(number(plain))));
}

}
