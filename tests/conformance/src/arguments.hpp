// Arguments of services, read from text by their types.
#pragma once

#include "format.hpp"

namespace conformance {

/// An argument while its service is called. Optional arguments keep the API's defaults: true, none.
template <class T> struct Held {
    T value = T();
    T &get() { return value; }
};
template <> struct Held<bool> {
    bool value = true;
    bool &get() { return value; }
};
template <> struct Held<rti1516e::LogicalTime> {
    std::unique_ptr<rti1516e::LogicalTime> value;
    rti1516e::LogicalTime &get() { return *value; }
};
template <> struct Held<rti1516e::LogicalTimeInterval> {
    std::unique_ptr<rti1516e::LogicalTimeInterval> value;
    rti1516e::LogicalTimeInterval &get() { return *value; }
};

/// Reads the arguments of one call, first to last; throws BadCommand.
class Arguments {
public:
    explicit Arguments(Federate &federate) : federate_(federate) {}

    Context const &context() const { return context_; }

    void read(Value const &, bool &);
    void read(Value const &, double &);
    void read(Value const &, std::wstring &);
    void read(Value const &, std::vector<std::wstring> &);
    void read(Value const &, std::set<std::wstring> &);
    void read(Value const &, rti1516e::VariableLengthData &);
    void read(Value const &, rti1516e::RangeBounds &);
    void read(Value const &, rti1516e::AttributeHandleSetRegionHandleSetPairVector &);
    void read(Value const &, rti1516e::FederateHandle &);
    void read(Value const &, rti1516e::ObjectClassHandle &);
    void read(Value const &, rti1516e::InteractionClassHandle &);
    void read(Value const &, rti1516e::ObjectInstanceHandle &);
    void read(Value const &, rti1516e::AttributeHandle &);
    void read(Value const &, rti1516e::ParameterHandle &);
    void read(Value const &, rti1516e::DimensionHandle &);
    void read(Value const &, rti1516e::MessageRetractionHandle &);
    void read(Value const &, rti1516e::RegionHandle &);
    void read(Value const &, std::unique_ptr<rti1516e::LogicalTime> &);
    void read(Value const &, std::unique_ptr<rti1516e::LogicalTimeInterval> &);

    template <class Handle> void read(Value const &value, std::set<Handle> &set) {
        for (Value const &item : itemsOf(value, Value::Set)) {
            Handle handle;
            read(item, handle);
            set.insert(handle);
        }
    }
    template <class Handle>
    void read(Value const &value, std::map<Handle, rti1516e::VariableLengthData> &map) {
        for (Value const &item : itemsOf(value, Value::Set)) {
            if (item.kind != Value::Pair)
                throw BadCommand("expected name=value, not " + print(item));
            Handle handle;
            read(Value(Value::Word, item.text), handle);
            read(item.items[0], map[handle]);
        }
    }
    template <class Enum>
    typename std::enable_if<std::is_enum<Enum>::value>::type read(Value const &value, Enum &to) {
        for (auto const &enumerator : Enumerators<Enum>::list())
            if (value.text == enumerator.first) {
                to = enumerator.second;
                return;
            }
        to = static_cast<Enum>(number(value));
    }

    static Values const &itemsOf(Value const &, Value::Kind);
    static long double number(Value const &);

private:
    /// `invalid`, `madeup` or `name@hex`; false if the value is none of these.
    template <class Handle, class Decode>
    bool given(Value const &value, Handle &handle, size_t usualLength, Decode decode);
    template <class Handle, class Look> void lookUp(Value const &, Handle &, bool known, Look look);

    Federate &federate_;
    Context context_;
    bool classKnown_ = false;
};

}
