# bench_program(NAME SOURCE...): a program of the platform beside a study's federates, compiled here or, where
# BENCH_PLATFORM says so, taken from another study's build: half of what `make test` compiles in C++ would be the same.
set(BENCH_PLATFORM "" CACHE PATH "Another study's build, whose programs and adapters are taken; empty: they are built")
find_package(nlohmann_json 3.7 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
set(BENCH_CPP ${CMAKE_CURRENT_LIST_DIR}/../cpp)

# A file of that build, copied whenever it has changed.
function(bench_taken file)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${file} DEPENDS ${BENCH_PLATFORM}/${file}
    COMMAND ${CMAKE_COMMAND} -E copy ${BENCH_PLATFORM}/${file} ${CMAKE_BINARY_DIR}/${file})
  add_custom_target(take-${file} ALL DEPENDS ${CMAKE_BINARY_DIR}/${file})
endfunction()

function(bench_program name)
  if(BENCH_PLATFORM)
    bench_taken(${name})
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${BENCH_CPP}/)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(${name} PRIVATE ${BENCH_CPP})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
