# find_package(RTI), with the variables of CMake's FindRTI.
include(CMakeFindDependencyMacro)
find_dependency(StarlingRTI PATHS "${CMAKE_CURRENT_LIST_DIR}/.." NO_DEFAULT_PATH)
set(RTI_DEFINITIONS "")
set(RTI_INCLUDE_DIR "${StarlingRTI_INCLUDE_DIRS}")
set(RTI_INCLUDE_DIRS "${StarlingRTI_INCLUDE_DIRS}")
set(RTI_LIBRARIES "${StarlingRTI_LIBRARIES}")
