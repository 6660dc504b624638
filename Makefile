# mlt: make help lists the targets.

PREFIX ?= /usr/local
SIZE ?= 1000
COMPARE_SIZE = $(if $(filter command line environment,$(origin SIZE)),$(SIZE),100)
SWIFT ?= swift
# The executable carries the Swift runtime, so that a machine without the toolchain can run it.
RELEASE = $(SWIFT) build -c release --static-swift-stdlib -Xswiftc -use-ld=lld
BIN = .build/release
PYTHON = .oracle/venv/bin/python
ORACLE = .oracle/ready

# Data beside the repository: real models, published latencies.
MLT_SHARED ?= ../shared

.PHONY: help demo test build install uninstall schemas check-schemas conformance compare bench \
	calibrate format check-format clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 16

demo: ## install what is missing, build, then inspect and quantize the samples into out/
	@scripts/setup.sh build
	@$(RELEASE) --product mlt
	@scripts/demo.sh $(BIN)/mlt

test: ## install what is missing and run the tests
	@scripts/setup.sh build
	$(SWIFT) test

build: ## the release executables in .build/release
	@scripts/setup.sh build
	$(RELEASE) --product mlt
	$(RELEASE) --product mlt-generate

install: ## the executable to PREFIX/bin (PREFIX=/usr/local, DESTDIR for packagers)
	@test -x $(BIN)/mlt || $(MAKE) build
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -s -m 755 $(BIN)/mlt "$(DESTDIR)$(PREFIX)/bin/mlt"

uninstall: ## remove what install put there
	rm -f "$(DESTDIR)$(PREFIX)/bin/mlt"

schemas: ## the C of Sources/CModelSchemas from schemas/*.proto
	@scripts/setup.sh schemas
	@scripts/schemas.sh write

check-schemas: ## fail when that C differs from what schemas/*.proto give
	@scripts/setup.sh schemas
	@scripts/schemas.sh check

conformance: build $(ORACLE) ## compare with coremltools (ARGS=--quick for a subset)
	$(PYTHON) scripts/conformance.py --mlt $(BIN)/mlt $(ARGS)

compare: build $(ORACLE) ## errors and bytes beside coremltools', into docs/comparison.md (SIZE=100 MB)
	SIZE=$(COMPARE_SIZE) $(PYTHON) scripts/compare.py --mlt $(BIN)/mlt --generate $(BIN)/mlt-generate

bench: build ## times against cp -r (SIZE=1000 MB, BENCH_DIR, STRICT=1, PEER=1, SIZES="1000 4000")
	@if [ -n "$(PEER)" ]; then $(MAKE) $(ORACLE); fi
	SIZE=$(SIZE) SIZES="$(SIZES)" STRICT=$(STRICT) PEER=$(PEER) BENCH_DIR=$(BENCH_DIR) \
		python3 scripts/bench.py --mlt $(BIN)/mlt --generate $(BIN)/mlt-generate

calibrate: ## fit the cost model of plans to published latencies, into docs/plan.md (MLT_SHARED)
	@scripts/setup.sh build
	$(RELEASE) --product mlt-calibrate
	@scripts/calibrate.sh $(BIN)/mlt-calibrate "$(MLT_SHARED)"

$(ORACLE): scripts/requirements.txt
	@scripts/setup.sh python
	@scripts/oracle.sh

format: ## rewrite the Swift sources in the project's format
	$(SWIFT) format format -i -p -r Sources Tests Package.swift

check-format: ## fail when a Swift source is not in the project's format
	$(SWIFT) format lint --strict -p -r Sources Tests Package.swift

clean: ## remove build products and out/
	rm -rf .build out
