# What every study's federates need beside them: adapters, and the programs of hosts and networks.
include(${CMAKE_CURRENT_LIST_DIR}/programs.cmake)
# What carries the data: libraries that programs load by name.
add_subdirectory(${BENCH_CPP}/adapters adapters)
# A network with delay and loss between network namespaces.
bench_program(bench-link link/link.cpp)
# Writes down what passes an interface of a host.
bench_program(bench-capture capture/capture.cpp)
# The limit beside an RTI; and what measures what such a network adds by itself.
bench_program(bench-raw raw/raw.cpp socket.cpp clock.cpp)
# Keeps processes on a host for a manager elsewhere.
bench_program(bench-keep keep/keep.cpp keep/host.cpp keep/services.cpp)
# Ethernet over GRE, where the kernel has none.
bench_program(bench-tunnel tunnel/tunnel.cpp)
