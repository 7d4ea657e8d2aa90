// What stands behind the standard's VariableLengthData.
#pragma once

#include <RTI/VariableLengthData.h>

namespace rti1516e {

/// The bytes, and what becomes of them. Bytes of its own follow it in the same block of memory; a
/// VariableLengthData without bytes has none.
class VariableLengthDataImplementation {
public:
    void const *data;
    size_t size;
    /// For bytes that were given; else null.
    VariableLengthDataDeleteFunction remove;
    /// Room for bytes of its own.
    size_t room;

    unsigned char *own() { return reinterpret_cast<unsigned char *>(this + 1); }
};

/// What the library itself may do without a call for each.
class VariableLengthDataFriend {
public:
    static void const *data(VariableLengthData const &of) {
        return of._impl == nullptr ? nullptr : of._impl->data;
    }
    static size_t size(VariableLengthData const &of) {
        return of._impl == nullptr ? 0 : of._impl->size;
    }
    /// As setDataPointer.
    static void borrow(VariableLengthData &of, void *data, size_t size) {
        VariableLengthDataImplementation *const impl = of._impl;
        if (impl == nullptr || impl->remove != nullptr) {
            borrowAnew(of, data, size);
            return;
        }
        impl->data = data;
        impl->size = size;
    }
    static void copy(VariableLengthData &of, void const *from, size_t count);
    static void release(VariableLengthData &of);

private:
    static void borrowAnew(VariableLengthData &of, void *data, size_t size);
};

}
