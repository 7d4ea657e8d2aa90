# find_package(StarlingRTI): targets StarlingRTI::rti1516e and StarlingRTI::fedtime1516e, either of
# which brings the other; or variables, for old projects.
include("${CMAKE_CURRENT_LIST_DIR}/StarlingRTITargets.cmake")
set_property(TARGET StarlingRTI::rti1516e APPEND PROPERTY
             INTERFACE_LINK_LIBRARIES StarlingRTI::fedtime1516e)
set_property(TARGET StarlingRTI::fedtime1516e APPEND PROPERTY
             INTERFACE_LINK_LIBRARIES StarlingRTI::rti1516e)
get_target_property(StarlingRTI_INCLUDE_DIRS StarlingRTI::rti1516e INTERFACE_INCLUDE_DIRECTORIES)
set(StarlingRTI_LIBRARIES StarlingRTI::rti1516e StarlingRTI::fedtime1516e)
