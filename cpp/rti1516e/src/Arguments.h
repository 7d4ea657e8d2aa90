// The standard's types as the C ABI takes and gives them.
#pragma once

#include "HandleImplementation.h"
#include "Text.h"
#include "Throw.h"
#include "Times.h"
#include "VariableLengthDataImplementation.h"
#include <starling.h>

#include <RTI/RTI1516.h>
#include <deque>
#include <memory>
#include <set>
#include <vector>

namespace starling {

using namespace rti1516e;

/// Throws what a status stands for.
inline void check(StarlingStatus status) {
    if (status != 0)
        throwStatus(status, wide(starling_message()));
}

/// The C ABI has 32 bits for what the FDD names and for federates, 64 for what federates make.
template <class Handle> struct NumberOf {
    typedef uint32_t Type;
};
template <> struct NumberOf<ObjectInstanceHandle> {
    typedef uint64_t Type;
};
template <> struct NumberOf<RegionHandle> {
    typedef uint64_t Type;
};
template <> struct NumberOf<MessageRetractionHandle> {
    typedef uint64_t Type;
};

template <class Handle> typename NumberOf<Handle>::Type number(Handle const &handle) {
    return static_cast<typename NumberOf<Handle>::Type>(FriendOf<Handle>::number(handle));
}

template <class Handle> Handle make(uint64_t number) { return FriendOf<Handle>::make(number); }

/// A set of handles that the C ABI gave.
template <class Handle>
std::set<Handle> handles(typename NumberOf<Handle>::Type const *numbers, size_t count) {
    std::set<Handle> set;
    for (size_t i = 0; i < count; ++i)
        set.insert(make<Handle>(numbers[i]));
    return set;
}

inline StarlingBytes bytes(VariableLengthData const &data) {
    return {static_cast<uint8_t const *>(VariableLengthDataFriend::data(data)),
            VariableLengthDataFriend::size(data)};
}

/// Handles as the C ABI takes them.
template <class Handle> class Numbers {
public:
    explicit Numbers(std::set<Handle> const &set) {
        numbers_.reserve(set.size());
        for (Handle const &handle : set)
            numbers_.push_back(number(handle));
    }
    explicit Numbers(Handle const &handle) : numbers_(1, number(handle)) {}
    typename NumberOf<Handle>::Type const *data() const { return numbers_.data(); }
    size_t size() const { return numbers_.size(); }

private:
    std::vector<typename NumberOf<Handle>::Type> numbers_;
};

/// Texts as the C ABI takes them; points into itself, so it stays where it is.
class Texts {
public:
    template <class List> explicit Texts(List const &list) {
        for (std::wstring const &text : list)
            bytes_.push_back(utf8(text));
        for (std::string const &b : bytes_)
            texts_.push_back({reinterpret_cast<uint8_t const *>(b.data()), b.size()});
    }
    explicit Texts(std::wstring const &one) : Texts(std::vector<std::wstring>(1, one)) {}
    Texts(Texts const &) = delete;
    StarlingText const *data() const { return texts_.data(); }
    size_t size() const { return texts_.size(); }

private:
    std::vector<std::string> bytes_;
    std::vector<StarlingText> texts_;
};

/// Sets of attributes with sets of regions; points into itself, so it stays where it is.
class AttributeRegions {
public:
    explicit AttributeRegions(AttributeHandleSetRegionHandleSetPairVector const &pairs) {
        list_.reserve(pairs.size());
        for (auto const &pair : pairs) {
            attributes_.emplace_back(pair.first);
            regions_.emplace_back(pair.second);
            list_.push_back({attributes_.back().data(), attributes_.back().size(),
                             regions_.back().data(), regions_.back().size()});
        }
    }
    AttributeRegions(AttributeRegions const &) = delete;
    StarlingAttributeRegions const *data() const { return list_.data(); }
    size_t size() const { return list_.size(); }

private:
    std::deque<Numbers<AttributeHandle>> attributes_;
    std::deque<Numbers<RegionHandle>> regions_;
    std::vector<StarlingAttributeRegions> list_;
};

/// A value as the C ABI takes it.
template <class Pair>
__attribute__((always_inline)) inline StarlingValue valueOf(Pair const &pair) {
    return {number(pair.first), bytes(pair.second)};
}

/// Lines values up, of which there are some.
template <class Map> void lineUp(Map const &map, StarlingValue *to) {
    auto value = map.begin();
    *to = valueOf(*value);
    // Behind the last one there is nothing to be found, which takes longest.
    for (size_t left = map.size() - 1; left != 0; --left)
        *++to = valueOf(*++value);
}

/// None or several.
template <class Map, class Send>
__attribute__((noinline)) void withOthers(Map const &map, size_t count, Send send) {
    StarlingValue few[16];
    std::unique_ptr<StarlingValue[]> many;
    StarlingValue *values = few;
    if (count > sizeof few / sizeof *few) {
        many.reset(new StarlingValue[count]);
        values = many.get();
    }
    if (count != 0)
        lineUp(map, values);
    send(static_cast<StarlingValue const *>(values), count);
}

/// Calls `send` with values as the C ABI takes them: on the stack if few, apart from what else
/// stands there, since a call may have written to what it is given a part of.
template <class Map, class Send>
__attribute__((always_inline)) inline void withValues(Map const &map, Send const &send) {
    size_t const count = map.size();
    if (count == 1) {
        StarlingValue const only = valueOf(*map.begin());
        return send(&only, count);
    }
    withOthers(map, count, send);
}

}
