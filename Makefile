# make demo      builds, runs a benchmark federation, shows the results
# make test      every test of the project
# make install PREFIX=/where
# make bench     prints figures beside the raw limit of the same run
# make lint | build | campaign SEEDS=100000 | fuzz SECONDS=300
PREFIX ?= /usr/local
SEEDS ?= 100000
SECONDS ?= 300
BUILD := build
# Where rustup puts Rust.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
VENV := $(BUILD)/venv
MAKEFLAGS += --no-print-directory
# A test that hangs ends the run with an error instead of holding it for ever.
LIMIT := $(if $(shell command -v timeout),timeout -k 10 900)

# The headers in include/ and what stands in generated/ have the form that their generator gives them.
CXX_SOURCES = $(shell find cpp/rti1516e/src tests/cpp tests/conformance bench/federates bench/limits examples \
    -path '*/generated' -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) -print 2>/dev/null)

.PHONY: demo test lint format setup setup-tests build unit sim cpp cpp-test venv bench-python install campaign bench

demo: setup bmfed venv
	$(VENV)/bin/bmmanager run bench/experiments/demo.tsf.toml \
	    --rti-root $(abspath $(BUILD)/stage) --bmfed $(abspath $(BUILD)/bmfed/bmfed) --out $(BUILD)/demo

test: setup-tests lint unit sim cpp-test bmfed bench-python
	@echo "all tests passed"

setup:
	@scripts/setup

setup-tests:
	@scripts/setup tests

lint: venv
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask generate --check
	$(VENV)/bin/clang-format --dry-run -Werror $(CXX_SOURCES)
	$(VENV)/bin/ruff check bench
	$(VENV)/bin/ruff check --config bench/pyproject.toml tests/cpp tests/conformance
	$(VENV)/bin/ruff format --config bench/pyproject.toml --check bench tests/cpp tests/conformance

# Rewrites all sources as `make lint` wants them.
format: venv
	cargo fmt --all
	$(VENV)/bin/clang-format -i $(CXX_SOURCES)
	$(VENV)/bin/ruff format --config bench/pyproject.toml bench tests/cpp tests/conformance

build:
	cargo build --workspace --locked

unit:
	cargo test --workspace --locked --exclude starling-sim --no-run
	$(LIMIT) cargo test --workspace --locked --exclude starling-sim

# The simulator is built with optimisation: it replays thousands of federations.
sim:
	cargo test --release --locked -p starling-sim --no-run
	$(LIMIT) cargo test --release --locked -p starling-sim

# The C++ libraries with their tests, staged in build/stage as they would be installed.
cpp:
	cmake -S . -B $(BUILD)/cpp -DCMAKE_INSTALL_PREFIX=$(abspath $(BUILD)/stage) > /dev/null
	cmake --build $(BUILD)/cpp --parallel 2
	cmake --install $(BUILD)/cpp > /dev/null

cpp-test: cpp
	ctest --test-dir $(BUILD)/cpp --output-on-failure --timeout 300

.PHONY: bmfed limits
bmfed: cpp
	cmake -S bench/federates/bmfed -B $(BUILD)/bmfed -DRTI_ROOT=$(abspath $(BUILD)/stage) > /dev/null
	cmake --build $(BUILD)/bmfed --parallel 2

limits: cpp
	cmake -S bench/limits -B $(BUILD)/limits -DRTI_ROOT=$(abspath $(BUILD)/stage) > /dev/null
	cmake --build $(BUILD)/limits --parallel 2

bench: setup limits venv
	$(VENV)/bin/python -m starling_bench.limits --rti-root $(abspath $(BUILD)/stage) \
	    --programs $(abspath $(BUILD)/limits) --out $(BUILD)/bench

venv:
	@scripts/venv $(VENV)

bench-python: venv bmfed limits
	BMFED=$(abspath $(BUILD)/bmfed/bmfed) RTI_ROOT=$(abspath $(BUILD)/stage) \
	    LIMITS=$(abspath $(BUILD)/limits) \
	    $(LIMIT) $(VENV)/bin/pytest -q bench/tests

install: cpp
	cmake --install $(BUILD)/cpp --prefix $(PREFIX)

campaign:
	cargo run --release --locked -p starling-sim --example campaign -- 0 $(SEEDS) 300
	cargo run --release --locked -p starling-sim --example campaign -- 0 $(SEEDS) 300 ddm

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
