#include <RTI/VariableLengthData.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace rti1516e {

/// The bytes, and what becomes of them.
class VariableLengthDataImplementation {
public:
    void const *data = nullptr;
    size_t size = 0;
    /// Ours, or null if the bytes are borrowed or given.
    void *own = nullptr;
    size_t room = 0;
    VariableLengthDataDeleteFunction remove = nullptr;

    ~VariableLengthDataImplementation() { release(); }

    void release() {
        if (own != nullptr)
            std::free(own);
        else if (remove != nullptr)
            remove(const_cast<void *>(data));
        forget();
    }

    void copy(void const *from, size_t count) {
        if (count == 0) {
            release();
            return;
        }
        // The source may be our own bytes.
        if (own == nullptr || room < count) {
            void *fresh = std::malloc(count);
            if (fresh == nullptr)
                throw std::bad_alloc();
            std::memcpy(fresh, from, count);
            release();
            own = fresh;
            room = count;
        } else {
            std::memmove(own, from, count);
        }
        data = own;
        size = count;
    }

private:
    void forget() {
        data = nullptr;
        size = 0;
        own = nullptr;
        room = 0;
        remove = nullptr;
    }
};

VariableLengthData::VariableLengthData() : _impl(new VariableLengthDataImplementation) {}

VariableLengthData::VariableLengthData(void const *inData, size_t inSize)
    : _impl(new VariableLengthDataImplementation) {
    _impl->copy(inData, inSize);
}

VariableLengthData::VariableLengthData(VariableLengthData const &rhs)
    : _impl(new VariableLengthDataImplementation) {
    _impl->copy(rhs.data(), rhs.size());
}

VariableLengthData::~VariableLengthData() { delete _impl; }

VariableLengthData &VariableLengthData::operator=(VariableLengthData const &rhs) {
    if (this != &rhs)
        _impl->copy(rhs.data(), rhs.size());
    return *this;
}

void const *VariableLengthData::data() const { return _impl->data; }

size_t VariableLengthData::size() const { return _impl->size; }

void VariableLengthData::setData(void const *inData, size_t inSize) { _impl->copy(inData, inSize); }

void VariableLengthData::setDataPointer(void *inData, size_t inSize) {
    _impl->release();
    _impl->data = inData;
    _impl->size = inSize;
}

void VariableLengthData::takeDataPointer(void *inData, size_t inSize,
                                         VariableLengthDataDeleteFunction func) {
    setDataPointer(inData, inSize);
    // Without a function the bytes were made by new[], as the standard has it.
    _impl->remove = func != nullptr ? func : [](void *data) { delete[] static_cast<char *>(data); };
}

}
