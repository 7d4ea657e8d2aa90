# What every study's federates need beside them: adapters, and the programs of hosts and networks.
find_package(nlohmann_json 3.7 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
set(BENCH_CPP ${CMAKE_CURRENT_LIST_DIR}/../cpp)
# What carries the data: libraries that programs load by name.
add_subdirectory(${BENCH_CPP}/adapters adapters)
# A network with delay and loss between network namespaces; and what keeps processes on a host for a
# manager elsewhere.
add_executable(bench-link ${BENCH_CPP}/link/link.cpp)
add_executable(bench-keep ${BENCH_CPP}/keep/keep.cpp ${BENCH_CPP}/keep/host.cpp
    ${BENCH_CPP}/keep/services.cpp)
# Ethernet over GRE, where the kernel has none.
add_executable(bench-tunnel ${BENCH_CPP}/tunnel/tunnel.cpp)
foreach(program bench-link bench-keep bench-tunnel)
  target_compile_options(${program} PRIVATE -Wall -Wextra)
  target_link_libraries(${program} PRIVATE nlohmann_json::nlohmann_json CLI11::CLI11)
endforeach()
