# link_rti(TARGET): compiles and links a federate against any RTI with the 1516.1-2010 C++ API.
# RTI_ROOT holds include/ (or include/ieee1516e, include/HLA1516E, api/cpp/HLA_1516-2010) and lib/.
# Without it, the installed package StarlingRTI is used.
set(RTI_ROOT "" CACHE PATH "Install tree of the RTI to measure; empty: package StarlingRTI")
set(RTI_SUFFIX "" CACHE STRING "Suffix of the RTI's library names, such as 64")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# The standard's headers have exception specifications, which C++17 removed.
set(CMAKE_CXX_STANDARD 14 CACHE STRING "C++ standard")
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(RTI_ROOT)
  find_path(RTI_INCLUDE RTI/RTI1516.h
    HINTS ${RTI_ROOT}
    PATH_SUFFIXES include include/ieee1516e include/HLA1516E include/rti1516e
                  api/cpp/HLA_1516-2010
    NO_DEFAULT_PATH NO_CACHE)
  if(NOT RTI_INCLUDE)
    message(FATAL_ERROR "no RTI/RTI1516.h below RTI_ROOT=${RTI_ROOT}")
  endif()
  foreach(name rti1516e fedtime1516e)
    find_library(RTI_LIB_${name} ${name}${RTI_SUFFIX}
      HINTS ${RTI_ROOT} PATH_SUFFIXES lib lib64 lib/gcc lib/x86_64-linux-gnu
      NO_DEFAULT_PATH NO_CACHE)
    if(NOT RTI_LIB_${name})
      message(FATAL_ERROR "no lib${name}${RTI_SUFFIX} below RTI_ROOT=${RTI_ROOT}/lib")
    endif()
    get_filename_component(dir ${RTI_LIB_${name}} DIRECTORY)
    list(APPEND RTI_RPATH ${dir})
  endforeach()
else()
  find_package(StarlingRTI REQUIRED)
endif()

function(link_rti target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wno-deprecated -Wno-deprecated-declarations)
  if(RTI_ROOT)
    target_include_directories(${target} SYSTEM PRIVATE ${RTI_INCLUDE})
    target_link_libraries(${target} PRIVATE ${RTI_LIB_rti1516e} ${RTI_LIB_fedtime1516e})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL MODULE_LIBRARY)
      # An adapter takes the RTI that is to be measured, by LD_LIBRARY_PATH, or none: never this one
      # because another lacks a library of the name.
      set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
    else()
      set_target_properties(${target} PROPERTIES BUILD_RPATH "${RTI_RPATH}")
    endif()
  else()
    target_link_libraries(${target} PRIVATE StarlingRTI::rti1516e StarlingRTI::fedtime1516e)
  endif()
endfunction()
