// What stands behind the standard's VariableLengthData.
#pragma once

#include <RTI/VariableLengthData.h>
#include <atomic>

namespace rti1516e {

/// The bytes, and what becomes of them. Bytes of its own follow it in the same block of memory,
/// which is then shared by all that are copies of one another, until one is given others; a
/// VariableLengthData without bytes has none.
class VariableLengthDataImplementation {
public:
    /// How many share it. Who finds itself alone may change it: nobody else can come to share it.
    std::atomic<size_t> users;
    void const *data;
    size_t size;
    /// For bytes that were given; else null.
    VariableLengthDataDeleteFunction remove;
    /// Room for bytes of its own.
    size_t room;

    unsigned char *own() { return reinterpret_cast<unsigned char *>(this + 1); }
    bool isShared() const { return users.load(std::memory_order_acquire) != 1; }
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
        if (impl == nullptr || impl->remove != nullptr || impl->isShared()) {
            borrowAnew(of, data, size);
            return;
        }
        impl->data = data;
        impl->size = size;
    }
    static void copy(VariableLengthData &of, void const *from, size_t count);
    /// As assignment.
    static void share(VariableLengthData &of, VariableLengthData const &from);
    static void release(VariableLengthData &of);

private:
    static void borrowAnew(VariableLengthData &of, void *data, size_t size);
};

}
