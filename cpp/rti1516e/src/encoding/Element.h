// An element inside a composite: its own copy, or the caller's.
#pragma once

#include "Octets.h"

#include <memory>

namespace rti1516e {

class Element {
public:
    /// A copy.
    explicit Element(DataElement const &of) : own_(of.clone().release()), at_(own_.get()) {}
    /// The caller's element, which must live as long.
    explicit Element(DataElement *callers) : at_(callers) { require(callers); }
    Element(Element const &rhs) : Element(*rhs.at_) {}
    Element(Element &&) = default;
    Element &operator=(Element &&) = default;

    DataElement &operator*() const { return *at_; }
    DataElement *operator->() const { return at_; }

    static void require(DataElement const *element) {
        if (element == nullptr)
            throw EncoderException(L"the pointer to the data element is null");
    }

private:
    std::unique_ptr<DataElement> own_;
    DataElement *at_;
};

inline void requireSameType(DataElement const &expected, DataElement const &given,
                            wchar_t const *what) {
    if (!expected.isSameTypeAs(given))
        throw EncoderException(std::wstring(what) + L": the data element is of another type");
}

inline Element const &elementAt(std::vector<Element> const &list, size_t index,
                                wchar_t const *what) {
    if (index >= list.size())
        throw EncoderException(std::wstring(what) + L": index " + std::to_wstring(index) + L" of " +
                               std::to_wstring(list.size()));
    return list[index];
}

inline unsigned int boundaryOf(std::vector<Element> const &list, unsigned int least) {
    for (Element const &element : list)
        least = std::max(least, element->getOctetBoundary());
    return least;
}

}
