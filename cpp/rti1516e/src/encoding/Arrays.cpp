#include "Element.h"

#include <RTI/encoding/HLAfixedArray.h>
#include <RTI/encoding/HLAvariableArray.h>

#include <algorithm>
#include <typeinfo>

namespace rti1516e {

namespace {

/// Elements without octets (empty records) can't be bounded by the buffer, and arrays may be
/// nested: so few that a hostile count can't fill the memory.
size_t const emptyElementsMax = 64;

}

class HLAfixedArrayImplementation {
public:
    explicit HLAfixedArrayImplementation(DataElement const &of) : prototype(of) {}
    Element prototype;
    std::vector<Element> elements;
};

HLAfixedArray::HLAfixedArray(const DataElement &protoType, size_t length)
    : _impl(new HLAfixedArrayImplementation(protoType)) {
    for (size_t i = 0; i < length; ++i)
        _impl->elements.emplace_back(protoType);
}
HLAfixedArray::HLAfixedArray(HLAfixedArray const &rhs)
    : DataElement(rhs), _impl(new HLAfixedArrayImplementation(*rhs._impl)) {}
HLAfixedArray::~HLAfixedArray() { delete _impl; }

std::auto_ptr<DataElement> HLAfixedArray::clone() const {
    return std::auto_ptr<DataElement>(new HLAfixedArray(*this));
}

STARLING_ELEMENT(HLAfixedArray)

void HLAfixedArray::encodeInto(std::vector<Octet> &buffer) const {
    if (!_impl->elements.empty())
        octets::pad(buffer, getOctetBoundary());
    for (Element const &element : _impl->elements)
        element->encodeInto(buffer);
}

size_t HLAfixedArray::decodeFrom(std::vector<Octet> const &buffer, size_t index) {
    if (!_impl->elements.empty())
        index = octets::place(buffer, index, getOctetBoundary(), 0, L"HLAfixedArray");
    for (Element const &element : _impl->elements)
        index = element->decodeFrom(buffer, index);
    return index;
}

unsigned int HLAfixedArray::getOctetBoundary() const {
    return boundaryOf(_impl->elements, _impl->prototype->getOctetBoundary());
}

bool HLAfixedArray::isSameTypeAs(DataElement const &inData) const {
    HLAfixedArray const *other = dynamic_cast<HLAfixedArray const *>(&inData);
    return other != nullptr && other->size() == size() &&
           other->hasPrototypeSameTypeAs(*_impl->prototype);
}

bool HLAfixedArray::hasPrototypeSameTypeAs(DataElement const &dataElement) const {
    return _impl->prototype->isSameTypeAs(dataElement);
}

size_t HLAfixedArray::size() const { return _impl->elements.size(); }

void HLAfixedArray::set(size_t index, const DataElement &dataElement) {
    elementAt(_impl->elements, index, L"HLAfixedArray");
    requireSameType(*_impl->prototype, dataElement, L"HLAfixedArray");
    _impl->elements[index] = Element(dataElement);
}

void HLAfixedArray::setElementPointer(size_t index, DataElement *dataElement) {
    Element::require(dataElement);
    elementAt(_impl->elements, index, L"HLAfixedArray");
    requireSameType(*_impl->prototype, *dataElement, L"HLAfixedArray");
    _impl->elements[index] = Element(dataElement);
}

const DataElement &HLAfixedArray::get(size_t index) const {
    return *elementAt(_impl->elements, index, L"HLAfixedArray");
}
DataElement const &HLAfixedArray::operator[](size_t index) const { return get(index); }

class HLAvariableArrayImplementation {
public:
    explicit HLAvariableArrayImplementation(DataElement const &of) : prototype(of) {}
    Element prototype;
    std::vector<Element> elements;
};

HLAvariableArray::HLAvariableArray(const DataElement &prototype)
    : _impl(new HLAvariableArrayImplementation(prototype)) {}
HLAvariableArray::HLAvariableArray(HLAvariableArray const &rhs)
    : DataElement(rhs), _impl(new HLAvariableArrayImplementation(*rhs._impl)) {}
HLAvariableArray::~HLAvariableArray() { delete _impl; }

std::auto_ptr<DataElement> HLAvariableArray::clone() const {
    return std::auto_ptr<DataElement>(new HLAvariableArray(*this));
}

STARLING_ELEMENT(HLAvariableArray)

void HLAvariableArray::encodeInto(std::vector<Octet> &buffer) const {
    octets::pad(buffer, getOctetBoundary());
    octets::putCount(buffer, _impl->elements.size(), L"HLAvariableArray");
    for (Element const &element : _impl->elements) {
        octets::pad(buffer, _impl->prototype->getOctetBoundary());
        element->encodeInto(buffer);
    }
}

size_t HLAvariableArray::decodeFrom(std::vector<Octet> const &buffer, size_t index) {
    index = octets::place(buffer, index, getOctetBoundary(), 4, L"HLAvariableArray");
    size_t const count = octets::getCount(buffer, index, L"HLAvariableArray");
    index += 4;
    // Elements that the caller gave are filled; others come and go with the count.
    std::vector<Element> &elements = _impl->elements;
    if (count < elements.size())
        elements.erase(elements.begin() + count, elements.end());
    for (size_t i = 0; i < count; ++i) {
        if (i == elements.size())
            elements.emplace_back(*_impl->prototype);
        size_t const next = elements[i]->decodeFrom(buffer, index);
        if (next == index && i >= emptyElementsMax)
            throw EncoderException(L"HLAvariableArray: more empty elements than are allowed");
        index = next;
    }
    return index;
}

unsigned int HLAvariableArray::getOctetBoundary() const {
    return boundaryOf(_impl->elements, std::max(4u, _impl->prototype->getOctetBoundary()));
}

size_t HLAvariableArray::size() const { return _impl->elements.size(); }

bool HLAvariableArray::isSameTypeAs(DataElement const &inData) const {
    HLAvariableArray const *other = dynamic_cast<HLAvariableArray const *>(&inData);
    return other != nullptr && other->hasPrototypeSameTypeAs(*_impl->prototype);
}

bool HLAvariableArray::hasPrototypeSameTypeAs(DataElement const &dataElement) const {
    return _impl->prototype->isSameTypeAs(dataElement);
}

void HLAvariableArray::addElement(const DataElement &dataElement) {
    requireSameType(*_impl->prototype, dataElement, L"HLAvariableArray");
    _impl->elements.emplace_back(dataElement);
}

void HLAvariableArray::addElementPointer(DataElement *dataElement) {
    Element::require(dataElement);
    requireSameType(*_impl->prototype, *dataElement, L"HLAvariableArray");
    _impl->elements.emplace_back(dataElement);
}

void HLAvariableArray::set(size_t index, const DataElement &dataElement) {
    elementAt(_impl->elements, index, L"HLAvariableArray");
    requireSameType(*_impl->prototype, dataElement, L"HLAvariableArray");
    _impl->elements[index] = Element(dataElement);
}

void HLAvariableArray::setElementPointer(size_t index, DataElement *dataElement) {
    Element::require(dataElement);
    elementAt(_impl->elements, index, L"HLAvariableArray");
    requireSameType(*_impl->prototype, *dataElement, L"HLAvariableArray");
    _impl->elements[index] = Element(dataElement);
}

const DataElement &HLAvariableArray::get(size_t index) const {
    return *elementAt(_impl->elements, index, L"HLAvariableArray");
}
DataElement const &HLAvariableArray::operator[](size_t index) const { return get(index); }

}
