// Handles from numbers and back.
//
// A handle's `_impl` is not a pointer to anything: it is the RTI's number of the handle itself.
// So copying, comparing and destroying handles cost what they cost for integers.
#pragma once

#include <RTI/Handle.h>
#include <cstdint>

namespace rti1516e {

static_assert(sizeof(void *) >= sizeof(std::uint64_t), "handles are kept in pointers");

/// What may look into a handle of this kind.
template <class Handle> struct FriendOf;

#define STARLING_HANDLE_FRIEND(Kind)                                                               \
    class Kind##Friend {                                                                           \
    public:                                                                                        \
        static Kind make(std::uint64_t number) {                                                   \
            return Kind(reinterpret_cast<Kind##Implementation *>(number));                         \
        }                                                                                          \
        static Kind decode(VariableLengthData const &encoded) { return Kind(encoded); }            \
        static std::uint64_t number(Kind const &handle) {                                          \
            return reinterpret_cast<std::uint64_t>(handle.getImplementation());                    \
        }                                                                                          \
    };                                                                                             \
    template <> struct FriendOf<Kind> : Kind##Friend {};

STARLING_HANDLE_FRIEND(FederateHandle)
STARLING_HANDLE_FRIEND(ObjectClassHandle)
STARLING_HANDLE_FRIEND(InteractionClassHandle)
STARLING_HANDLE_FRIEND(ObjectInstanceHandle)
STARLING_HANDLE_FRIEND(AttributeHandle)
STARLING_HANDLE_FRIEND(ParameterHandle)
STARLING_HANDLE_FRIEND(DimensionHandle)
STARLING_HANDLE_FRIEND(MessageRetractionHandle)
STARLING_HANDLE_FRIEND(RegionHandle)

#undef STARLING_HANDLE_FRIEND

}
