# find_package(StarlingInstrument): the target StarlingInstrument::starling-instrument.
get_filename_component(_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET StarlingInstrument::starling-instrument)
  add_library(StarlingInstrument::starling-instrument SHARED IMPORTED)
  set_target_properties(StarlingInstrument::starling-instrument PROPERTIES
    IMPORTED_LOCATION "${_prefix}/lib/starling-instrument/libstarling-instrument.so"
    IMPORTED_NO_SONAME OFF
    INTERFACE_INCLUDE_DIRECTORIES "${_prefix}/include")
endif()
unset(_prefix)
