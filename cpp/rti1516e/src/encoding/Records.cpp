#include "Element.h"

#include <RTI/encoding/HLAfixedRecord.h>
#include <RTI/encoding/HLAvariantRecord.h>

#include <algorithm>
#include <typeinfo>

namespace rti1516e {

class HLAfixedRecordImplementation {
public:
    std::vector<Element> elements;
};

HLAfixedRecord::HLAfixedRecord() : _impl(new HLAfixedRecordImplementation) {}
HLAfixedRecord::HLAfixedRecord(HLAfixedRecord const &rhs)
    : DataElement(rhs), _impl(new HLAfixedRecordImplementation(*rhs._impl)) {}
HLAfixedRecord::~HLAfixedRecord() { delete _impl; }

std::auto_ptr<DataElement> HLAfixedRecord::clone() const {
    return std::auto_ptr<DataElement>(new HLAfixedRecord(*this));
}

STARLING_ELEMENT(HLAfixedRecord)

void HLAfixedRecord::encodeInto(std::vector<Octet> &buffer) const {
    if (!_impl->elements.empty())
        octets::pad(buffer, getOctetBoundary());
    for (Element const &element : _impl->elements)
        element->encodeInto(buffer);
}

size_t HLAfixedRecord::decodeFrom(std::vector<Octet> const &buffer, size_t index) {
    if (!_impl->elements.empty())
        index = octets::place(buffer, index, getOctetBoundary(), 0, L"HLAfixedRecord");
    for (Element const &element : _impl->elements)
        index = element->decodeFrom(buffer, index);
    return index;
}

unsigned int HLAfixedRecord::getOctetBoundary() const { return boundaryOf(_impl->elements, 1); }

bool HLAfixedRecord::isSameTypeAs(DataElement const &inData) const {
    HLAfixedRecord const *other = dynamic_cast<HLAfixedRecord const *>(&inData);
    if (other == nullptr || other->size() != size())
        return false;
    for (size_t i = 0; i < size(); ++i)
        if (!other->hasElementSameTypeAs(i, *_impl->elements[i]))
            return false;
    return true;
}

bool HLAfixedRecord::hasElementSameTypeAs(size_t index, DataElement const &inData) const {
    return index < size() && _impl->elements[index]->isSameTypeAs(inData);
}

size_t HLAfixedRecord::size() const { return _impl->elements.size(); }

void HLAfixedRecord::appendElement(const DataElement &dataElement) {
    _impl->elements.emplace_back(dataElement);
}

void HLAfixedRecord::appendElementPointer(DataElement *dataElement) {
    _impl->elements.emplace_back(dataElement);
}

void HLAfixedRecord::set(size_t index, const DataElement &dataElement) {
    requireSameType(*elementAt(_impl->elements, index, L"HLAfixedRecord"), dataElement,
                    L"HLAfixedRecord");
    _impl->elements[index] = Element(dataElement);
}

void HLAfixedRecord::setElementPointer(size_t index, DataElement *dataElement) {
    Element::require(dataElement);
    requireSameType(*elementAt(_impl->elements, index, L"HLAfixedRecord"), *dataElement,
                    L"HLAfixedRecord");
    _impl->elements[index] = Element(dataElement);
}

const DataElement &HLAfixedRecord::get(size_t index) const {
    return *elementAt(_impl->elements, index, L"HLAfixedRecord");
}
DataElement const &HLAfixedRecord::operator[](size_t index) const { return get(index); }

/// Alternatives by the octets of their discriminants.
class HLAvariantRecordImplementation {
public:
    explicit HLAvariantRecordImplementation(DataElement const &of) : discriminant(of) {}

    struct Alternative {
        octets::Buffer discriminant;
        Element value;
    };
    Element discriminant;
    std::vector<Alternative> alternatives;

    static octets::Buffer key(DataElement const &discriminant) {
        octets::Buffer key;
        discriminant.encodeInto(key);
        return key;
    }

    Alternative *find(DataElement const &of) {
        octets::Buffer const wanted = key(of);
        for (Alternative &a : alternatives)
            if (a.discriminant == wanted)
                return &a;
        return nullptr;
    }

    Alternative &at(DataElement const &of) {
        requireSameType(*discriminant, of, L"HLAvariantRecord's discriminant");
        Alternative *found = find(of);
        if (found == nullptr)
            throw EncoderException(L"HLAvariantRecord has no alternative for this discriminant");
        return *found;
    }

    /// The value comes at the largest boundary of all alternatives (1516.2-2010 §4.13.9.3).
    unsigned int valueBoundary() const {
        unsigned int largest = 1;
        for (Alternative const &a : alternatives)
            largest = std::max(largest, a.value->getOctetBoundary());
        return largest;
    }

    void choose(DataElement const &of) { discriminant = Element(of); }
};

HLAvariantRecord::HLAvariantRecord(DataElement const &discriminantPrototype)
    : _impl(new HLAvariantRecordImplementation(discriminantPrototype)) {}
HLAvariantRecord::HLAvariantRecord(HLAvariantRecord const &rhs)
    : DataElement(rhs), _impl(new HLAvariantRecordImplementation(*rhs._impl)) {}
HLAvariantRecord::~HLAvariantRecord() { delete _impl; }

std::auto_ptr<DataElement> HLAvariantRecord::clone() const {
    return std::auto_ptr<DataElement>(new HLAvariantRecord(*this));
}

STARLING_ELEMENT(HLAvariantRecord)

void HLAvariantRecord::encodeInto(std::vector<Octet> &buffer) const {
    Element const &value = _impl->at(*_impl->discriminant).value;
    octets::pad(buffer, getOctetBoundary());
    _impl->discriminant->encodeInto(buffer);
    octets::pad(buffer, _impl->valueBoundary());
    value->encodeInto(buffer);
}

size_t HLAvariantRecord::decodeFrom(std::vector<Octet> const &buffer, size_t index) {
    index = octets::place(buffer, index, getOctetBoundary(), 0, L"HLAvariantRecord");
    // The record stays as it is if the discriminant is unknown.
    Element discriminant(*_impl->discriminant);
    index = discriminant->decodeFrom(buffer, index);
    Element const &value = _impl->at(*discriminant).value;
    index = octets::place(buffer, index, _impl->valueBoundary(), 0, L"HLAvariantRecord");
    index = value->decodeFrom(buffer, index);
    _impl->choose(*discriminant);
    return index;
}

unsigned int HLAvariantRecord::getOctetBoundary() const {
    return std::max(_impl->discriminant->getOctetBoundary(), _impl->valueBoundary());
}

bool HLAvariantRecord::isSameTypeAs(DataElement const &inData) const {
    HLAvariantRecord const *other = dynamic_cast<HLAvariantRecord const *>(&inData);
    if (other == nullptr || !other->hasMatchingDiscriminantTypeAs(*_impl->discriminant) ||
        other->_impl->alternatives.size() != _impl->alternatives.size())
        return false;
    for (size_t i = 0; i < _impl->alternatives.size(); ++i) {
        auto const &mine = _impl->alternatives[i];
        auto const &theirs = other->_impl->alternatives[i];
        if (mine.discriminant != theirs.discriminant || !mine.value->isSameTypeAs(*theirs.value))
            return false;
    }
    return true;
}

bool HLAvariantRecord::isSameTypeAs(DataElement const &discriminant,
                                    DataElement const &inData) const {
    return _impl->at(discriminant).value->isSameTypeAs(inData);
}

bool HLAvariantRecord::hasMatchingDiscriminantTypeAs(DataElement const &dataElement) const {
    return _impl->discriminant->isSameTypeAs(dataElement);
}

void HLAvariantRecord::addVariant(const DataElement &discriminant,
                                  const DataElement &valuePrototype) {
    requireSameType(*_impl->discriminant, discriminant, L"HLAvariantRecord's discriminant");
    if (_impl->find(discriminant) != nullptr)
        throw EncoderException(
            L"HLAvariantRecord has an alternative for this discriminant already");
    _impl->alternatives.push_back({_impl->key(discriminant), Element(valuePrototype)});
}

void HLAvariantRecord::addVariantPointer(const DataElement &discriminant, DataElement *valuePtr) {
    Element::require(valuePtr);
    requireSameType(*_impl->discriminant, discriminant, L"HLAvariantRecord's discriminant");
    if (_impl->find(discriminant) != nullptr)
        throw EncoderException(
            L"HLAvariantRecord has an alternative for this discriminant already");
    _impl->alternatives.push_back({_impl->key(discriminant), Element(valuePtr)});
}

void HLAvariantRecord::setDiscriminant(const DataElement &discriminant) {
    _impl->at(discriminant);
    _impl->choose(discriminant);
}

void HLAvariantRecord::setVariant(const DataElement &discriminant, DataElement const &value) {
    Element &held = _impl->at(discriminant).value;
    requireSameType(*held, value, L"HLAvariantRecord");
    held = Element(value);
    _impl->choose(discriminant);
}

void HLAvariantRecord::setVariantPointer(const DataElement &discriminant, DataElement *valuePtr) {
    Element::require(valuePtr);
    Element &held = _impl->at(discriminant).value;
    requireSameType(*held, *valuePtr, L"HLAvariantRecord");
    held = Element(valuePtr);
    _impl->choose(discriminant);
}

const DataElement &HLAvariantRecord::getDiscriminant() const { return *_impl->discriminant; }

const DataElement &HLAvariantRecord::getVariant() const {
    return *_impl->at(*_impl->discriminant).value;
}

}
