#include "VariableLengthDataImplementation.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

namespace rti1516e {

namespace {

/// Room in blocks that are kept to be used again: a federate that makes its values anew for each
/// update frees as many as it takes. A value that fits need not move when it grows, either.
size_t const kSmall = 32, kLarge = 128;
/// How many blocks of either size a thread keeps.
unsigned const kKept = 64;

/// A thread's blocks of one size that nobody uses, each with the next in `data`.
struct Kept {
    VariableLengthDataImplementation *first;
    unsigned count;

    VariableLengthDataImplementation *take() {
        VariableLengthDataImplementation *const block = first;
        first = static_cast<VariableLengthDataImplementation *>(const_cast<void *>(block->data));
        --count;
        return block;
    }
};

/// What a thread keeps. It has no destructor: values are destroyed after `letGo`, too.
struct Mine {
    enum : unsigned char { notYet, now, noMore } keeping;
    Kept small, large;

    Kept &of(size_t room) { return room <= kSmall ? small : large; }
};
// Found without a call, which would be made several times for each value: the loader keeps room for
// a few bytes like these also where the library is loaded later.
__attribute__((tls_model("initial-exec"))) thread_local Mine mine = {
    Mine::notYet, {nullptr, 0}, {nullptr, 0}};

/// Lets the blocks go when the thread ends.
struct LetGo {
    void begin() { mine.keeping = Mine::now; }
    ~LetGo() {
        mine.keeping = Mine::noMore;
        for (Kept *list : {&mine.small, &mine.large})
            while (list->first != nullptr)
                std::free(list->take());
    }
};
thread_local LetGo letGo;

void freeBlock(VariableLengthDataImplementation *block) {
    if (block->room <= kLarge) {
        Mine &here = mine;
        Kept &list = here.of(block->room);
        if (list.count < kKept && here.keeping == Mine::now) {
            block->data = list.first;
            list.first = block;
            ++list.count;
            return;
        }
    }
    std::free(block);
}

VariableLengthDataImplementation *newBlock(size_t room) {
    if (room <= kLarge) {
        room = room <= kSmall ? kSmall : kLarge;
        Mine &here = mine;
        Kept &list = here.of(room);
        if (list.first != nullptr) {
            VariableLengthDataImplementation *const block = list.take();
            block->users.store(1, std::memory_order_relaxed);
            block->data = nullptr;
            block->size = 0;
            return block;
        }
        if (here.keeping == Mine::notYet)
            letGo.begin();
    }
    size_t const bytes = sizeof(VariableLengthDataImplementation) + room;
    void *const memory = bytes < room ? nullptr : std::malloc(bytes);
    if (memory == nullptr)
        throw std::bad_alloc();
    auto *const block = new (memory) VariableLengthDataImplementation;
    block->users.store(1, std::memory_order_relaxed);
    block->data = nullptr;
    block->size = 0;
    block->remove = nullptr;
    block->room = room;
    return block;
}

/// As memcpy. Eight to sixteen bytes are two words that may overlap: to call for them would take
/// longer.
inline void copyBytes(unsigned char *to, void const *from, size_t count) {
    if (count < 8 || count > 16) {
        std::memcpy(to, from, count);
        return;
    }
    std::uint64_t first, last;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, static_cast<unsigned char const *>(from) + count - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + count - sizeof last, &last, sizeof last);
}

/// The bytes that were given are given up.
void removeGiven(VariableLengthDataImplementation &block) {
    if (block.remove == nullptr)
        return;
    VariableLengthDataDeleteFunction const remove = block.remove;
    block.remove = nullptr;
    remove(const_cast<void *>(block.data));
}

}

void VariableLengthDataFriend::release(VariableLengthData &of) {
    VariableLengthDataImplementation *const block = of._impl;
    if (block == nullptr)
        return;
    of._impl = nullptr;
    if (block->isShared() && block->users.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    removeGiven(*block);
    freeBlock(block);
}

void VariableLengthDataFriend::share(VariableLengthData &of, VariableLengthData const &from) {
    VariableLengthDataImplementation *const block = from._impl;
    // Bytes that were given may go or change before the copy does.
    if (block == nullptr || block->size == 0 || block->data != block->own()) {
        copy(of, data(from), size(from));
        return;
    }
    block->users.fetch_add(1, std::memory_order_relaxed);
    release(of);
    of._impl = block;
}

void VariableLengthDataFriend::copy(VariableLengthData &of, void const *from, size_t count) {
    VariableLengthDataImplementation *block = of._impl;
    if (count == 0) {
        release(of);
        return;
    }
    // The source may be our own bytes, or those that were given: they go last.
    if (block == nullptr || block->room < count || block->isShared()) {
        VariableLengthDataImplementation *const fresh = newBlock(count);
        copyBytes(fresh->own(), from, count);
        release(of);
        of._impl = block = fresh;
    } else {
        std::memmove(block->own(), from, count);
        removeGiven(*block);
    }
    block->data = block->own();
    block->size = count;
}

// Seldom called by `borrow`, which is inlined everywhere and is to save no registers for it.
__attribute__((noinline)) void VariableLengthDataFriend::borrowAnew(VariableLengthData &of,
                                                                    void *data, size_t size) {
    if (of._impl != nullptr && of._impl->isShared())
        release(of);
    if (of._impl == nullptr)
        of._impl = newBlock(0);
    removeGiven(*of._impl);
    of._impl->data = data;
    of._impl->size = size;
}

VariableLengthData::VariableLengthData() : _impl(nullptr) {}

VariableLengthData::VariableLengthData(void const *inData, size_t inSize) : _impl(nullptr) {
    VariableLengthDataFriend::copy(*this, inData, inSize);
}

VariableLengthData::VariableLengthData(VariableLengthData const &rhs) : _impl(nullptr) {
    VariableLengthDataFriend::share(*this, rhs);
}

VariableLengthData::~VariableLengthData() { VariableLengthDataFriend::release(*this); }

VariableLengthData &VariableLengthData::operator=(VariableLengthData const &rhs) {
    if (this != &rhs)
        VariableLengthDataFriend::share(*this, rhs);
    return *this;
}

void const *VariableLengthData::data() const { return VariableLengthDataFriend::data(*this); }

size_t VariableLengthData::size() const { return VariableLengthDataFriend::size(*this); }

void VariableLengthData::setData(void const *inData, size_t inSize) {
    VariableLengthDataFriend::copy(*this, inData, inSize);
}

void VariableLengthData::setDataPointer(void *inData, size_t inSize) {
    VariableLengthDataFriend::borrow(*this, inData, inSize);
}

void VariableLengthData::takeDataPointer(void *inData, size_t inSize,
                                         VariableLengthDataDeleteFunction func) {
    setDataPointer(inData, inSize);
    // Without a function the bytes were made by new[], as the standard has it.
    _impl->remove = func != nullptr ? func : [](void *data) { delete[] static_cast<char *>(data); };
}

}
