# make                       builds the RTI; installs what is missing for that
# make install PREFIX=/where installs what was built; builds nothing, so that root may do it
# make uninstall PREFIX=/where
# make demo                  runs a benchmark federation, shows the results
# make test                  every test of the project but the long ones; CI=1 make test: these, too
# make bench EARLIER=0d58f24  prints figures beside the raw limit of the same run, and an earlier commit
#                            (keep-bench RUN=... for committing: the next run is compared with it)
# make bench-time            the same of time management: rounds of advances, grants, time-stamp order
# make bench-report           what hangs on what: every sweep as a chart, in one report (SCALE=0.2: a fifth of the time)
# make bench-load | bench-stopped     176,000 updates/s for SECONDS=600; a receiver that is stopped among eight
# make bench-fomcost | campaign-range | campaign-ec1    what an attribute costs; one-way times against a budget; what
#                            carries a real-time simulation (keep-fomcost, keep-range, keep-ec1 RUN=... for committing)
# make campaign-range-all | campaign-ec1-all    every campaign of these two, one after the other
# make instructions          counts what one update takes, holds it to its bounds (valgrind); `make test` does so of a few
# make conformance           runs the conformance suite, writes docs/conformance.md
# make vendor                a source archive that builds without a network
# make campaign-rtibm SCALE=1 | rtibm-figures | bench-kills    RTIBM's campaign; what it must show of
#                            itself; kill -9 after random numbers of rows
# make time-faults | save-faults    seeds faults into time management, or into what rooms save and restore;
#                            sees that the tests find them
# make mutants SAMPLE=300 | FILE=crates/starling-core/src/time/galt.rs    seeds small faults into the core,
#                            counts those that the tests find
# make lint | format | sanitize | sanitize-threads | leaks | readme-check | campaign SEEDS=100000 | fuzz SECONDS=300
#
# PYTHON=/usr/bin/python3.12 names another Python, JOBS=4 how many compilers run at once.
PREFIX ?= /usr/local
SEEDS ?= 100000
SECONDS ?= 300
JOBS ?= $(shell nproc)
BUILD := build
export PYTHON
# Where rustup puts Rust.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
VENV := $(BUILD)/venv
MAKEFLAGS += --no-print-directory
# Each step uses all CPUs by itself, and says what is missing before the next begins.
.NOTPARALLEL:
# A test that hangs ends the run with an error instead of holding it for ever.
LIMIT := $(if $(shell command -v timeout),timeout -k 10 3600)

# The headers in include/ and what stands in generated/ have the form that their generator gives them.
CXX_SOURCES = $(shell find cpp/rti1516e/src tests/cpp tests/conformance tests/foreign bench examples \
    -path '*/generated' -prune -o \( -name '*.cpp' -o -name '*.c' -o -name '*.hpp' -o -name '*.h' \) -print 2>/dev/null)

# Python beside the benchmark platform.
PYTHON_SOURCES := tests/cpp tests/conformance tests/foreign tests/mom scripts/licences scripts/mutants scripts/test-programs

.PHONY: all earlier demo test lint style format setup setup-bench setup-tests unit sim stage cpp cpp-test conformance venv \
    bench-python install uninstall vendor campaign bench

all: setup stage
	@echo "Starling is built. Next: 'make install PREFIX=/where/you/want/it', or 'make demo'."

demo: setup-bench venv bmfed
	$(VENV)/bin/bmmanager run bench/experiments/demo.tsf.toml \
	    --rti-root $(abspath $(BUILD)/stage) --bmfed $(abspath $(BUILD)/bmfed/bmfed) \
	    --out $(BUILD)/demo-$(shell date +%Y%m%d-%H%M%S)

# 19 to 23 minutes from a fresh clone on two idle CPUs, building included. Where CI is set also what takes long: clippy, threads in every
# order, the boundary to C under AddressSanitizer, headers as C++11 and 14, tests of the benchmark that wait for time-outs, count
# instructions or repeat whole runs.
test: setup-tests $(if $(CI),lint,style) unit $(if $(CI),models sanitize leaks) sim cpp-test bmfed bench-python
	@echo "$(if $(CI),all tests,all tests but those that only CI=1 takes) passed"

setup:
	@scripts/setup rti

setup-bench:
	@scripts/setup bench

setup-tests:
	@scripts/setup tests

# What is built for a part of the crates alone has other features, and is built again for all.
UNIT := cargo test --workspace --locked --exclude starling-sim

lint: style
	cargo clippy --workspace --all-targets --locked -- -D warnings

# Python's environment is made beside the first crates: one waits for the network, and unpacks with one CPU.
style:
	cargo fmt --all --check
	scripts/venv $(VENV) & made=$$!; \
	    $(UNIT) --quiet --bin xtask -- what_is_generated; said=$$?; wait $$made && exit $$said
	$(VENV)/bin/clang-format --dry-run -Werror $(CXX_SOURCES)
	$(VENV)/bin/ruff check bench
	$(VENV)/bin/ruff check --config bench/pyproject.toml $(PYTHON_SOURCES)
	$(VENV)/bin/ruff format --config bench/pyproject.toml --check bench $(PYTHON_SOURCES)

# Rewrites all sources as `make lint` wants them.
format: venv
	cargo fmt --all
	$(VENV)/bin/clang-format -i $(CXX_SOURCES)
	$(VENV)/bin/ruff format --config bench/pyproject.toml bench $(PYTHON_SOURCES)

# Examples are no tests; that they compile is shown by `make lint`. Alone runs what counts calls or memory in its own
# process, which differ where others keep threads from running.
unit:
	@mkdir -p $(BUILD)
	$(UNIT) --tests --no-run --message-format=json-render-diagnostics > $(BUILD)/unit.json
	$(LIMIT) scripts/test-programs --alone blocking,steady,system_calls < $(BUILD)/unit.json
	$(LIMIT) $(UNIT) --doc

# Who reads a connection, who waits and who is woken, in every order in which threads can meet; and what a
# writer and the readers of shared memory see of each other.
.PHONY: models
models:
	cargo test --locked -p starling -p starling-ring --test turns --test models --no-run
	$(LIMIT) cargo test --locked -p starling -p starling-ring --test turns --test models

# The boundary to C, whose pointers nobody else checks, under AddressSanitizer. A stable compiler has it,
# too, but for the flag.
.PHONY: sanitize
sanitize: export CARGO_PROFILE_DEV_DEBUG := line-tables-only
sanitize:
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0 $(LIMIT) \
	    cargo test --locked -p starling-capi -p starling-ring --lib --test ring --target-dir $(BUILD)/sanitize \
	    --target $$(rustc -vV | sed -n 's/^host: //p')

# What is allocated at the boundary to C and freed by nobody: its own tests, and those in C and in C++, under valgrind
# (LeakSanitizer does not get along with Rust's test programs where it is not built in). Left out: a test that
# counts by an operator new of its own, for which valgrind puts its own.
LEAKS := callback encoding handle ownership values c_abi
.PHONY: leaks
leaks: LEAK_CHECKED = $(LIMIT) env STARLING_HOME=$(abspath $(BUILD))/cpp/cargo/release \
    STARLING_START_PROGRAM=$(abspath $(BUILD))/cpp/cargo/release/starling GTEST_FILTER=-*TakesMemoryForItsNodesOnly \
    valgrind -q --fair-sched=yes --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=23 \
    --suppressions=scripts/valgrind.supp
leaks: cpp
	$(LEAK_CHECKED) $$(cargo test --locked -p starling-capi --lib --no-run 2>&1 | \
	    sed -n 's/.*(\(target[^)]*\))$$/\1/p') --test-threads=1
	@for test in $(LEAKS); do echo $$test; tests/own_rtiexec $(LEAK_CHECKED) $(BUILD)/cpp/tests/cpp/$${test}_test > $(BUILD)/leaks.log 2>&1 || \
	    { cat $(BUILD)/leaks.log; exit 1; }; done

# ThreadSanitizer on the federate library's own tests, those of links, and federates of one process on an
# rtiexec; then on the C++ tests and scenarios with the rtiexec that they start, whose races are looked for
# in the log. The standard library comes built without it: what that does unseen is named in scripts/tsan.supp.
# Left out: a test that limits memory, of which the sanitizer takes too much; one that counts open files, of
# which the sanitizer has some; and federates that fork, after which it allows no threads.
SANITIZED_CPP := ^(callback|encoding|federation|handle|lifecycle|ownership|c_abi)_test$$|^conformance-(immediate-threads|evoked-processes)$$
.PHONY: sanitize-threads
sanitize-threads: export RUSTC_BOOTSTRAP := 1
# The standard library's lock around what prints backtraces is among what is not seen.
sanitize-threads: export RUST_BACKTRACE := 0
sanitize-threads: export CARGO_PROFILE_DEV_DEBUG := line-tables-only
sanitize-threads: export RUSTFLAGS := -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer
sanitize-threads: export TSAN_OPTIONS := suppressions=$(abspath scripts/tsan.supp)
sanitize-threads: SANITIZED = --target-dir $(BUILD)/sanitize-threads --target $$(rustc -vV | sed -n 's/^host: //p')
sanitize-threads:
	@command -v llvm-symbolizer >/dev/null || { echo "llvm-symbolizer is missing; do: install llvm" >&2; exit 1; }
	cargo test --locked -p starling-net -p starling --lib --no-run $(SANITIZED)
	$(LIMIT) cargo test --locked -p starling-net -p starling --lib $(SANITIZED)
	cargo test --locked -p starling-cli --test federation --no-run $(SANITIZED)
	$(LIMIT) cargo test --locked -p starling-cli --test federation $(SANITIZED) -- \
	    --skip a_frame_for_which_there_is_no_memory
	cmake -S . -B $(BUILD)/sanitize-threads-cpp -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
	    -DSTARLING_TESTS=ON -DSTARLING_SANITIZE_THREADS=ON > /dev/null
	env -u RUSTFLAGS cmake --build $(BUILD)/sanitize-threads-cpp --parallel $(JOBS)
	rm -f $(BUILD)/sanitize-threads-cpp/race.*
	TSAN_OPTIONS="$(TSAN_OPTIONS) log_path=$(abspath $(BUILD))/sanitize-threads-cpp/race" \
	    GTEST_FILTER=-*RoundsLeaveNothingBehind* ctest --test-dir $(BUILD)/sanitize-threads-cpp \
	    --output-on-failure --timeout 1200 -R '$(SANITIZED_CPP)'
	@! cat $(BUILD)/sanitize-threads-cpp/race.* 2>/dev/null || { echo "these are races"; exit 1; }

# The simulator is built with optimisation: it replays thousands of federations. Beside it the libraries and the program
# are built: each alone is a row of crates of which one waits for the other.
sim: IN = --release --locked --target-dir $(BUILD)/cpp/cargo
sim:
	cargo build $(IN) -p starling-capi -p starling-cli -p starling-sim
	cargo test $(IN) -p starling-sim --tests --no-run
	$(LIMIT) cargo test $(IN) -p starling-sim --tests

# The libraries and the program, staged in build/stage as they would be installed.
stage:
	cmake -S . -B $(BUILD)/cpp > /dev/null
	cmake --build $(BUILD)/cpp --parallel $(JOBS) --target starling
	cmake --install $(BUILD)/cpp --prefix $(abspath $(BUILD)/stage) > /dev/null

# The same with the C++ tests.
cpp:
	cmake -S . -B $(BUILD)/cpp -DSTARLING_TESTS=ON > /dev/null
	cmake --build $(BUILD)/cpp --parallel $(JOBS)
	cmake --install $(BUILD)/cpp --prefix $(abspath $(BUILD)/stage) > /dev/null

cpp-test: cpp
	ctest --test-dir $(BUILD)/cpp --output-on-failure --timeout 1200 --parallel 3 \
	    $(if $(CI),,--exclude-regex '^headers-.*-(11|14)$$')

conformance: setup-tests cpp
	ctest --test-dir $(BUILD)/cpp --output-on-failure --timeout 1200 -R '^conformance' -E page
	cmake --build $(BUILD)/cpp --target conformance_page

.PHONY: bmfed limits standin
# The platform's programs and adapters are compiled once, for bmfed.
BESIDE_BMFED = -DRTI_ROOT=$(abspath $(BUILD)/stage) -DBENCH_PLATFORM=$(abspath $(BUILD)/bmfed)
bmfed: stage
	cmake -S bench/federates/bmfed -B $(BUILD)/bmfed -DRTI_ROOT=$(abspath $(BUILD)/stage) > /dev/null
	cmake --build $(BUILD)/bmfed --parallel $(JOBS)

# The federates of the other studies; with that of range its interface and the instrument library.
STUDIES := ec1 fomcost range
.PHONY: $(STUDIES)
$(STUDIES): bmfed
	cmake -S bench/federates/$@ -B $(BUILD)/$@ $(BESIDE_BMFED) > /dev/null
	cmake --build $(BUILD)/$@ --parallel $(JOBS)

.PHONY: demo-range
demo-range: setup-bench venv range
	$(VENV)/bin/starling-bench range run bench/experiments/range/demo.tsf.toml --scale $(SCALE) \
	    --rti-root $(abspath $(BUILD)/stage) --rangefed $(abspath $(BUILD)/range/rangefed) \
	    --out $(BUILD)/bench/range-$(shell date +%Y%m%d-%H%M%S)

# An RTI of our own that uses every freedom where Starling does otherwise, for the benchmark's tests.
standin: stage
	cmake -S bench/standin -B $(BUILD)/standin -DRTI_ROOT=$(abspath $(BUILD)/stage) > /dev/null
	cmake --build $(BUILD)/standin --parallel $(JOBS)

limits: bmfed
	cmake -S bench/limits -B $(BUILD)/limits $(BESIDE_BMFED) > /dev/null
	cmake --build $(BUILD)/limits --parallel $(JOBS)

# With EARLIER=COMMIT also beside that Starling's way through rtiexec, in the same rounds.
EARLIER_DIR = $(abspath $(BUILD))/earlier/$(EARLIER)
bench: setup-bench venv limits $(if $(EARLIER),earlier)
	$(VENV)/bin/starling-bench limits --rti-root $(abspath $(BUILD)/stage) \
	    --programs $(abspath $(BUILD)/limits) $(if $(EARLIER),--earlier $(EARLIER_DIR)) \
	    $(addprefix --last ,$(wildcard docs/reports/bench/summary.json)) \
	    --out $(BUILD)/bench/$(shell date +%Y%m%d-%H%M%S)

# What a run has found is committed by `make keep-bench RUN=build/bench/DATE`; the next one is compared with it.
.PHONY: keep-bench
keep-bench: venv
	$(VENV)/bin/python bench/keep_bench.py "$(RUN)" docs/reports/bench

# The sources of a commit, what they install, and today's programs on that.
earlier:
	@mkdir -p $(EARLIER_DIR)/source
	[ -e $(EARLIER_DIR)/source/Makefile ] || git archive $(EARLIER) | tar -x -C $(EARLIER_DIR)/source
	cmake -S $(EARLIER_DIR)/source -B $(EARLIER_DIR)/cpp > /dev/null
	cmake --build $(EARLIER_DIR)/cpp --parallel $(JOBS)
	cmake --install $(EARLIER_DIR)/cpp --prefix $(EARLIER_DIR)/stage > /dev/null
	cmake -S bench/limits -B $(EARLIER_DIR)/limits -DRTI_ROOT=$(EARLIER_DIR)/stage > /dev/null
	cmake --build $(EARLIER_DIR)/limits --parallel $(JOBS)

# An idle machine, and best root: takes about 20 minutes.
.PHONY: bench-report bench-load bench-stopped
ROUNDS ?= 3
SCALE ?= 1
bench-report: setup-bench venv limits
	$(VENV)/bin/starling-bench dataplane --rti-root $(abspath $(BUILD)/stage) --scale $(SCALE) --rounds $(ROUNDS) \
	    --program $(abspath $(BUILD)/limits/limits-federate) \
	    --out $(BUILD)/bench/report-$(shell date +%Y%m%d-%H%M%S) $(if $(ONLY),--only "$(ONLY)")

.PHONY: keep-report
keep-report:
	$(VENV)/bin/python bench/keep.py $(RUN) docs/reports/dataplane
	$(VENV)/bin/python bench/keep_study.py --index

# Both say whether they hold what is asked for.
bench-load bench-stopped: bench-%: setup-bench venv limits
	$(VENV)/bin/python bench/load.py $* --rti-root $(abspath $(BUILD)/stage) \
	    --program $(abspath $(BUILD)/limits/limits-federate) $(if $(filter-out file,$(origin SECONDS)),--seconds $(SECONDS))

# What one update takes, counted, against its bounds; needs valgrind.
.PHONY: instructions
instructions: limits
	cargo build --release --locked -p starling-ring --example bundles --target-dir $(BUILD)/cpp/cargo
	cargo build --release --locked -p starling-core --example mom_cost --target-dir $(BUILD)/cpp/cargo
	$(or $(PYTHON),python3) bench/instructions.py --rti-root $(abspath $(BUILD)/stage) \
	    --ring $(abspath $(BUILD)/cpp/cargo/release/examples/bundles) \
	    --mom $(abspath $(BUILD)/cpp/cargo/release/examples/mom_cost) \
	    --programs $(abspath $(BUILD)/limits) --fom bench/foms/limits.xml

.PHONY: bench-time
bench-time: setup-bench venv limits
	$(VENV)/bin/starling-bench limits --time --rti-root $(abspath $(BUILD)/stage) \
	    --programs $(abspath $(BUILD)/limits) --out $(BUILD)/bench/time-$(shell date +%Y%m%d-%H%M%S)

venv:
	@scripts/venv $(VENV)

# An idle machine, and best root: takes 69 minutes by its plan, and some more to start and to report (SCALE=0.2: a fifth
# of the calls, 34 minutes); without root 20. What it shows is committed by `make keep-fomcost RUN=build/bench/fomcost-...`.
# bench-fomcost-standin has the stand-in beside Starling, timed, counted and captured, as any RTI of --rtis is.
.PHONY: bench-fomcost bench-fomcost-standin keep-fomcost
bench-fomcost-standin: standin
bench-fomcost-standin: FOMCOST_RTIS = --rtis bench/experiments/fomcost/standin.toml --no-helpers
bench-fomcost bench-fomcost-standin: setup-bench venv fomcost
	$(VENV)/bin/starling-bench fomcost --rti-root $(abspath $(BUILD)/stage) --scale $(SCALE) $(FOMCOST_RTIS) \
	    --program $(abspath $(BUILD)/fomcost/fomcost) --out $(BUILD)/bench/$(@:bench-%=%)-$(shell date +%Y%m%d-%H%M%S)

# Most of the tests wait for processes, so that there are more at a time than CPUs; those that share what is made once
# for all of them are a group.
bench-python: venv bmfed limits standin $(STUDIES)
	BMFED=$(abspath $(BUILD)/bmfed/bmfed) RTI_ROOT=$(abspath $(BUILD)/stage) \
	    LIMITS=$(abspath $(BUILD)/limits) STANDIN_ROOT=$(abspath $(BUILD)/standin) \
	    RANGEFED=$(abspath $(BUILD)/range/rangefed) \
	    FOMCOST=$(abspath $(BUILD)/fomcost/fomcost) \
	    EC1FED=$(abspath $(BUILD)/ec1/ec1fed) \
	    $(LIMIT) $(VENV)/bin/pytest -q $(if $(CI),,-m "not long") -n 5 --dist loadgroup --junit-xml=$(BUILD)/bench-tests.xml bench/tests

# Renews docs/rtibm.md from the results of bench-python.
.PHONY: rtibm-status
rtibm-status: venv
	$(VENV)/bin/python bench/status.py $(BUILD)/bench-tests.xml > docs/rtibm.md

# The same of docs/fomcost.md.
.PHONY: fomcost-status
fomcost-status: venv
	$(VENV)/bin/python bench/status.py bench/status-fomcost.toml $(BUILD)/bench-tests.xml > docs/fomcost.md

# The same of docs/range.md.
.PHONY: range-status
range-status: venv
	$(VENV)/bin/python bench/status.py bench/status-range.toml $(BUILD)/bench-tests.xml > docs/range.md

# All want an idle machine: sizes takes 15 minutes, settings 15, federates 6, hosts 18 (root), ten 23, hour 62 (as the
# files' own arithmetic has it); each is a run with a report of its own. SCALE=0.1: a tenth of the time. campaign-range
# leaves ten and hour out, campaign-range-all does not.
RANGES := sizes settings federates hosts ten hour
.PHONY: campaign-range campaign-range-all $(addprefix range-,$(RANGES)) keep-range
campaign-range:
	$(call each,$(addprefix range-,$(filter-out ten hour $(RANGE_ROOT),$(RANGES))))
campaign-range-all:
	$(call each,$(addprefix range-,$(filter-out $(RANGE_ROOT),$(RANGES))))
RANGE_ROOT = $(if $(AS_ROOT),,hosts)
AS_ROOT := $(filter 0,$(shell id -u))
# Makes each of these, also after one has failed; says which have.
each = @failed=; for what in $(1); do $(MAKE) $$what || failed="$$failed $$what"; done; \
    [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }
$(addprefix range-,$(RANGES)): range-%: setup-bench venv range
	$(VENV)/bin/starling-bench range run bench/experiments/range/$*.tsf.toml --scale $(SCALE) \
	    --rti-root $(abspath $(BUILD)/stage) --rangefed $(abspath $(BUILD)/range/rangefed) \
	    --out $(BUILD)/bench/range-$*-$(shell date +%Y%m%d-%H%M%S)

# What a run shows is committed by `make keep-range RUN=build/bench/range-ten-...`, one after the other.
# It is looked at before it takes the place of the last. PICTURE=5 keeps the report's fifth figure for pages to show.
keep-range keep-fomcost keep-ec1: venv
	rm -rf $(BUILD)/bench/kept
	$(VENV)/bin/python bench/keep_study.py "$(RUN)" $(BUILD)/bench/kept
	KEPT=$(abspath $(BUILD)/bench/kept) $(VENV)/bin/pytest -q bench/tests/test_studies_kept.py
	$(VENV)/bin/python bench/keep_study.py "$(RUN)"

# The same of docs/ec1.md.
.PHONY: ec1-status
ec1-status: venv
	$(VENV)/bin/python bench/status.py bench/status-ec1.toml $(BUILD)/bench-tests.xml > docs/ec1.md

# A run of so many updates made, its rows kept and its report made in 4 GB of memory; prints time and disk. Of
# STUDY=range 20 million at a time.
.PHONY: scale
UPDATES ?= 300000000
STUDY ?= ec1
scale: venv
	rm -rf $(BUILD)/bench/scale-$(STUDY)
	$(VENV)/bin/python bench/scale.py --study $(STUDY) --updates $(UPDATES) --out $(BUILD)/bench/scale-$(STUDY)

# Phase II of EC1: on sockets (which is phase 0) and Starling 480 configurations each, 24 minutes; lan the same between
# hosts of 100 Mbit/s each way, 24 and what fills their links. Of one to one, each a run with a report of its own: sites 18,
# tunnels, also over a WAN, ten entities only, 11 (lan and these: root), bundling 9, conflation 20, scheduling 12,
# middleware (Cyclone DDS beside both, DIS, and DIS to Starling through a gateway) 12; middleware-ten, DDS beside both
# over the other topologies, ten entities only, 10; multicast, Starling's best effort to several hosts by that beside
# datagrams to each (root), ten entities, 7; captured, what left the hosts (root), 6. phase1, who reaches whom, and phase1-sites, 20 hosts of 100
# Mbit/s (root), 1 each. The minutes are those of their own plans. ONLY=40-79 takes some configurations, RESUME=DIR goes on with a run
# that was interrupted. What they show is committed by `make keep-ec1 RUN=build/bench/ec1-sites-...`.
EC1_ROOT := $(addprefix campaign-ec1-,lan sites tunnels multicast captured phase1-sites)
EC1S := $(addprefix campaign-ec1-,lan sites tunnels multicast captured bundling conflation scheduling middleware middleware-ten)
EC1_FIRST := campaign-ec1-phase1 campaign-ec1-phase1-sites
.PHONY: campaign-ec1 $(EC1_FIRST) $(EC1S) campaign-ec1-all keep-ec1
EC1_SECONDS ?= 1
EC1_PROGRAMS = --rti-root $(abspath $(BUILD)/stage) --ec1fed $(abspath $(BUILD)/ec1/ec1fed) \
    --out $(BUILD)/bench/$(@:campaign-%=%)-$(shell date +%Y%m%d-%H%M%S)
campaign-ec1-lan: EC1 = --sites lan
campaign-ec1-sites: EC1 = --topology 1-1 --sites lan,lan-9000,wan
campaign-ec1-tunnels: EC1 = --topology 1-1 --sites gre,vxlan,wireguard,wan-gre,wan-wireguard
campaign-ec1-tunnels campaign-ec1-multicast campaign-ec1-middleware-ten: ONLY ?= 40-79
campaign-ec1-multicast: EC1 = --topology 1-N,N-N --sites lan --adapters sockets,starling,starling-multicast
campaign-ec1-captured: EC1 = --topology 1-1,1-N --sites lan,wan --adapters sockets,starling,starling-multicast,dds --capture
campaign-ec1-captured: ONLY ?= 50-59
campaign-ec1-bundling: EC1 = --topology 1-1 --adapters sockets,starling --bundling both
campaign-ec1-conflation: EC1 = --topology 1-1 --adapters sockets,starling,dds --conflate both --lag-s 0.2
campaign-ec1-scheduling: EC1 = --topology 1-1 --real-time both
campaign-ec1-middleware: EC1 = --topology 1-1 --adapters sockets,starling,dds,dis,dis+starling
campaign-ec1-middleware-ten: EC1 = --topology 1-N,N-1,N-N --adapters sockets,starling,dds
campaign-ec1 $(EC1S): setup-bench venv ec1
	$(VENV)/bin/starling-bench ec1 $(if $(RESUME),resume $(RESUME),phase2 $(EC1) $(EC1_PROGRAMS) \
	    $(if $(ONLY),--only $(ONLY)) --seconds-per-configuration $(EC1_SECONDS))
campaign-ec1-phase1: EC1 = --count 4 --adapters sockets,starling,dds,dis --between tcp,multicast,dis,dds,starling
campaign-ec1-phase1-sites: EC1 = --count 20 --sites lan --adapters sockets,starling,dds,dis
$(EC1_FIRST): setup-bench venv ec1
	$(VENV)/bin/starling-bench ec1 phase1 $(EC1) $(EC1_PROGRAMS)

# All of them one after the other, whether one fails or not, but for those that need root without it; two hours and a half.
campaign-ec1-all:
	$(call each,campaign-ec1 $(filter-out $(if $(AS_ROOT),,$(EC1_ROOT)),$(EC1_FIRST) $(EC1S)))

# Both want an idle machine. As root the campaign has two systems, too (network namespaces). What takes
# longer than AT_MOST is ended: a campaign keeps what there is and can be resumed. COMPARISONS are of an
# RTI with itself. What they show, of one commit, is committed by `make keep-rtibm RUN=build/bench/campaign-...`.
.PHONY: campaign-rtibm rtibm-figures keep-rtibm
COMPARISONS ?= 40
FIGURES := $(BUILD)/bench/rtibm-figures.txt
campaign-rtibm: AT_MOST ?= 45m
campaign-rtibm: setup-bench venv bmfed standin
	timeout -k 120 $(AT_MOST) $(VENV)/bin/bmmanager run \
	    bench/experiments/campaign$(if $(filter 0,$(shell id -u)),-root).tsf.toml \
	    --scale $(SCALE) --long --rti-root $(abspath $(BUILD)/stage) --bmfed $(abspath $(BUILD)/bmfed/bmfed) \
	    --out $(BUILD)/bench/campaign-$(shell date +%Y%m%d-%H%M%S)

rtibm-figures: AT_MOST ?= 30m
rtibm-figures: setup-bench venv bmfed standin limits
	@mkdir -p $(BUILD)/bench
	{ echo "commit $$(git --no-optional-locks describe --always --dirty --abbrev=12 --exclude='*')"; for what in cost plain time wrong same; do \
	    timeout -k 60 $(AT_MOST) $(VENV)/bin/python bench/measure.py $$what --rti-root $(BUILD)/stage \
	        --standin-root $(BUILD)/standin --bmfed $(BUILD)/bmfed/bmfed \
	        --raw $(BUILD)/bmfed/bench-raw --times $(COMPARISONS) || echo "$$what: failed"; \
	done; } 2>&1 | tee $(FIGURES); ! grep -qE '(: False|: failed)$$' $(FIGURES)

keep-rtibm:
	@[ -e "$(RUN)/report.html" ] || { echo "RUN=$(RUN): there is no report.html" >&2; exit 1; }
	rm -rf $(BUILD)/bench/kept
	PICTURE=$(or $(PICTURE),9) $(VENV)/bin/python bench/keep.py $(RUN) $(BUILD)/bench/kept $(wildcard $(FIGURES))
	KEPT=$(abspath $(BUILD)/bench/kept) $(VENV)/bin/pytest -q bench/tests/test_campaign_kept.py
	rm -rf docs/reports/rtibm
	mkdir -p docs/reports
	mv $(BUILD)/bench/kept docs/reports/rtibm
	$(VENV)/bin/python bench/keep_study.py --index

# kill -9 of each process of a run at random moments, KILLS times each; then the run is resumed.
.PHONY: bench-kills
KILLS ?= 20
bench-kills: setup-tests venv bmfed $(STUDIES)
	KILLS=$(KILLS) BMFED=$(abspath $(BUILD)/bmfed/bmfed) RTI_ROOT=$(abspath $(BUILD)/stage) \
	    FOMCOST=$(abspath $(BUILD)/fomcost/fomcost) RANGEFED=$(abspath $(BUILD)/range/rangefed) \
	    EC1FED=$(abspath $(BUILD)/ec1/ec1fed) \
	    $(VENV)/bin/pytest -q bench/tests/test_*kills.py

# cmake leaves its own list in the build folder; root's would be in its user's way.
install:
	@[ -x $(BUILD)/cpp/bin/starling ] && [ -e $(BUILD)/cpp/librti1516e.so ] || \
	    { echo "nothing is built yet; do: 'make', then 'make install'" >&2; exit 1; }
	@cmake --install $(BUILD)/cpp --prefix "$$(realpath -m -- "$(PREFIX)")" > /dev/null
	@rm -f $(BUILD)/cpp/install_manifest.txt
	@echo "installed in $(PREFIX); the libraries are in $(PREFIX)/lib, the program is $(PREFIX)/bin/starling"

uninstall:
	@scripts/uninstall "$(DESTDIR)$$(realpath -m -- "$(PREFIX)")"

vendor:
	@scripts/setup vendor
	@scripts/vendor $(BUILD)

# Types what the README tells a newcomer to type, in a copy of this tree.
.PHONY: readme-check
readme-check:
	@scripts/readme-check

campaign:
	for what in 300 "300 conflated" "300 ddm" "300 time" "300 saves" "300 managed" "100 acts"; do \
	    cargo run --release --locked -p starling-sim --example campaign -- 0 $(SEEDS) $$what || exit 1; \
	done

# kill -9 while a save is written, SAVES_KILLS times: the save before is there, or the new one, whole. Prints how far
# the saves had come, and fails if a stage was hit in less than one kill of twenty.
.PHONY: campaign-saves
SAVES_KILLS ?= 200
campaign-saves:
	SAVES_KILLS=$(SAVES_KILLS) cargo test --locked -p starling-cli --test saves kill::campaign -- --ignored --nocapture

# Faults seeded one at a time, in a copy of the sources (build/faults), into time management or into saves and
# restores: the oracle's random runs, the core's tests or random programs must find each. FAULTS names some.
.PHONY: time-faults save-faults
time-faults:
	cargo xtask faults time $(FAULTS)
save-faults:
	cargo xtask faults saves $(FAULTS)

# kill -9, SIGSTOP, cut links and cables that swallow all of federates in processes of their own, at MOMENTS random
# moments while they wait for grants, save and are restored; prints how often each was hit. Needs root and iproute2.
.PHONY: campaign-processes
MOMENTS ?= 300
campaign-processes:
	MOMENTS=$(MOMENTS) cargo test --locked -p starling-cli --test campaign_processes campaign -- \
	    --exact --ignored --nocapture

# kill -9 of federates and forwarders at MOMENTS random moments while data flows by every way; prints who was hit.
.PHONY: campaign-dataplane
campaign-dataplane:
	MOMENTS=$(MOMENTS) cargo test --locked -p starling-cli --test campaign_dataplane campaign -- \
	    --exact --ignored --nocapture

# Every fuzz target for SECONDS; new inputs stay in fuzz/corpus, those kept for good in fuzz/seeds are
# run by every `make test`. Needs `cargo install cargo-fuzz --locked`; stable Rust serves. Nothing of it
# is unsafe code: without sanitizers it runs five times as often.
.PHONY: fuzz
fuzz:
	for target in $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))); do \
	    mkdir -p fuzz/corpus/$$target; \
	    (cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run -s none $$target corpus/$$target seeds/$$target -- \
	        -max_total_time=$(SECONDS) -timeout=20 -print_final_stats=1) || exit 1; \
	done

# Mutation testing: a random sample of the core's mutants, or all of one file (FILE=crates/...).
.PHONY: mutants
mutants:
	@cargo mutants --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-mutants
	scripts/mutants --out $(BUILD)/mutants $(if $(FILE),--file $(FILE),--sample $(or $(SAMPLE),300)) $(if $(SEED),--seed $(SEED))
