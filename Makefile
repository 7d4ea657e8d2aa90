# make test   every test of the project
# make lint   formatting and static checks (part of make test)
# make setup  says what is missing on this machine and installs it where it can
# make campaign SEEDS=100000   a long simulation
SEEDS ?= 100000

.PHONY: test lint setup build unit sim bench-python campaign

test: setup lint build unit sim bench-python
	@echo "all tests passed"

setup:
	@scripts/setup

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask generate --check

build:
	cargo build --workspace --locked

unit:
	cargo test --workspace --locked --exclude starling-sim

# The simulator is built with optimisation: it replays thousands of federations.
sim:
	cargo test --release --locked -p starling-sim

bench-python:
	scripts/bench-python

campaign:
	cargo run --release --locked -p starling-sim --example campaign -- 0 $(SEEDS) 300
