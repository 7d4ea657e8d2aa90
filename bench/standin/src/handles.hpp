// Handles of the stand-in RTI are numbers, kept where the standard's classes have a pointer.
#pragma once

#include <RTI/Handle.h>

#include <cstdint>

namespace rti1516e {

#define STANDIN_HANDLE(Kind)                                              \
    class Kind##Friend {                                                  \
    public:                                                               \
        static Kind make(std::uintptr_t number) {                         \
            return Kind(reinterpret_cast<Kind##Implementation*>(number)); \
        }                                                                 \
        static std::uintptr_t number(Kind const& handle) {                \
            return reinterpret_cast<std::uintptr_t>(handle._impl);        \
        }                                                                 \
    };                                                                    \
    inline std::uintptr_t numberOf(Kind const& handle) { return Kind##Friend::number(handle); }

STANDIN_HANDLE(FederateHandle)
STANDIN_HANDLE(ObjectClassHandle)
STANDIN_HANDLE(InteractionClassHandle)
STANDIN_HANDLE(ObjectInstanceHandle)
STANDIN_HANDLE(AttributeHandle)
STANDIN_HANDLE(ParameterHandle)
STANDIN_HANDLE(DimensionHandle)
STANDIN_HANDLE(MessageRetractionHandle)
STANDIN_HANDLE(RegionHandle)

}  // namespace rti1516e
