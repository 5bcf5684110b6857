# Every command a person needs, in one place. `make` alone explains itself.
# The shell behind the targets is in scripts/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Build results live outside the tree, so that a second clone on the same machine starts warm.
LAMPLIGHTER_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lamplighter
CARGO_TARGET_DIR ?= $(LAMPLIGHTER_CACHE)/target
export LAMPLIGHTER_CACHE CARGO_TARGET_DIR
export PATH := $(LAMPLIGHTER_CACHE)/tools/bin:$(PATH)

# How many scripted tasks `make chaos` plays.
TASKS ?= 2000

# How many sandboxes `make soak` opens and destroys.
CYCLES ?= 10000

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  Build results go to CARGO_TARGET_DIR (now $(CARGO_TARGET_DIR))."

.PHONY: setup
setup: ## Install what the tests need; says nothing when all is there
	@scripts/setup test

.PHONY: demo
demo: ## Set up, then see one task go from a sentence to a merged pull request; no account needed
	@scripts/setup demo
	@scripts/demo

.PHONY: test
test: ## Set up, then run all that CI runs; a long suite only if what it covers has changed since it passed here
	@scripts/setup test
	@scripts/test

.PHONY: test-all
test-all: ## The same, and leave nothing out
	@scripts/setup test
	@scripts/test all

.PHONY: lint
lint: ## Check formatting, lints, shell scripts, licences and banned crates
	@scripts/setup lint
	@scripts/lint

.PHONY: fmt
fmt: ## Format the Rust code
	@cargo fmt --all

.PHONY: bench
bench: ## Measure: appends, driver steps, list pages, replay, waiting tasks, sandboxes, the way out, agents, whole tasks
	@scripts/setup test
	@scripts/bench-setup
	@cargo bench --locked -p benches

.PHONY: vm
vm: ## Keep the promises of sandboxes on Debian 12's own kernel and control groups v2, in a virtual machine
	@scripts/setup test
	@scripts/vm

.PHONY: chaos
chaos: ## Play TASKS=2000 scripted tasks under random kills; count lost, doubled, orphaned
	@scripts/setup test
	@cargo build --locked --release -p tests --bin chaos --bin scripted-engine
	@cargo run --quiet --locked --release -p tests --bin chaos -- --tasks $(TASKS)

.PHONY: fuzz
fuzz: ## Throw hostile bytes at each reader, or at TARGET=head, for SECONDS=20
	@scripts/setup fuzz
	@scripts/fuzz "$(TARGET)" "$(SECONDS)"

.PHONY: soak
soak: ## Open, use and destroy CYCLES=10000 sandboxes under random kills; tell what is left on the host
	@scripts/setup test
	@cargo build --locked --release -p tests --bin soak --bin sandbox-server
	@cargo run --quiet --locked --release -p tests --bin soak -- --cycles $(CYCLES)
