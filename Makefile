# Everything starts from here: `make help` lists what there is. Only Python 3.11 or newer and make are needed.

PYTHON ?= python3
WORKERS ?= 2
MINUTES ?= 30
SOAK ?= tests

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
RUNS := $(VENV)/.runs
NODE := $(VENV)/.node
COMPILED := $(VENV)/.compiled
UI := src/tenuto/api/ui/assets/index.html
BUILDING := src/tenuto/api/ui/assets.building
PORT ?= 8484
DOCS := build/docs
PARALLEL := -n $(WORKERS) --dist worksteal
# Slow tests wait for processes and servers much of their time, so that two more fit beside them.
WAITING := -n $(shell expr $(WORKERS) + 2) --dist worksteal
# What searches further in `make soak` than in `make test` (tests/kit/breadth.py).
BROAD := $(addprefix tests/,simulation definition core expr calendars schedules javascript store/test_differential.py \
	engine/test_notifications.py engine/test_notifications_after_crashes.py)
EXAMPLES := $(filter-out %/tasks.py,$(wildcard examples/*/*.json examples/*/*.yaml examples/*/*.py))
CODE := $(wildcard src tests bench examples)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes: what one has compiled, the others shall find.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[36m%-10s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP)  ## Put the package and its tools, pinned, into .venv

$(STAMP): requirements/dev.txt pyproject.toml
	@$(MAKE) --no-print-directory new-venv
	@echo "Setting up $(VENV) for development (about 700 MB, a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@ $(RUNS) $(NODE)

# What runs the package, without the tools: `make run` is what people try first.
$(RUNS): requirements/run.txt pyproject.toml
	@$(MAKE) --no-print-directory new-venv
	@echo "Setting up $(VENV) (140 MB, half a minute the first time)"
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements/run.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@find $(VENV)/lib -path '*/site-packages/pip/*' -name __pycache__ -prune -exec rm -rf {} +
	@touch $@

# Built with Node from PyPI, when a file of ui/ is newer than the build.
.PHONY: ui
ui: $(UI)  ## Build the web UI into the package

$(UI): $(shell find ui -name node_modules -prune -o -type f -print) | $(NODE)
	@$(BIN)/python ui/build.py

$(NODE): requirements/ui.txt
	@$(MAKE) --no-print-directory new-venv
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements/ui.txt
	@touch $@

.PHONY: new-venv
new-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Tenuto needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip uninstall --quiet --yes setuptools 2> /dev/null; }

# Node and the packages of the UI are larger than everything else together: the service does not wait for them, its page
# says that it is being built, and they are removed once it is. The order desk has its stock and its carrier on this machine, which
# no other way of serving allows by itself.
.PHONY: run
run: $(RUNS)  ## Serve the examples on PORT (8484) and say what to try; a change of a file is there at once
	@mkdir -p build; $(BIN)/python ui/build.py alone > build/ui.log 2>&1 &
	@$(BIN)/python examples/order_desk/services/stock.py build/data
	-@echo demo-carrier-key | env -u TENUTO_SERVER $(BIN)/tenuto secrets set CARRIER_KEY --destination 127.0.0.1 \
		--store $${TENUTO_STORE:-sqlite:///.tenuto/tenuto.db} \
		> build/secret.log 2>&1
	@$(BIN)/python examples/order_desk/services/carrier.py 8485 > build/carrier.log 2>&1 & carrier=$$!; \
		trap 'kill $$carrier 2> /dev/null' EXIT HUP INT TERM; \
		TENUTO_ENGINE_DATA_FOLDER=build/data TENUTO_ENGINE_PRIVATE_NETWORKS='{"default": ["127.0.0.1"]}' \
		$(BIN)/tenuto dev $(EXAMPLES) --port $(PORT) --start 'order={"orderId": "A1", "items": ["metronome"]}' \
		--start 'order_desk={"orderId": "D1", "to": "Rome", "lines": [{"sku": "oak", "quantity": 2, "price": 40}]}'

.PHONY: screenshots
screenshots: setup ui browser  ## Make pictures of the web UI's pages, and renew those of the documentation
	$(BIN)/python -m tests.ui.screenshots

.PHONY: demo
demo: $(RUNS)  ## Show what Tenuto promises: an order survives the death of its process
	TENUTO_PROGRAM=$(BIN)/tenuto $(BIN)/python -m tenuto.demo

# The tests come first, since they take longest; what is one process each is run beside them, one after the other.
.PHONY: test
test: lint  ## Run every check
	@$(MAKE) --no-print-directory --jobs=2 tests types tests-ui contracts

.PHONY: tests
tests: setup ui browser $(COMPILED)
	$(BIN)/python -m pytest $(WAITING) -m "not soak" --durations=15

# Once for each checkout: else every test worker compiles all tests, and rewrites their asserts, beside the others.
$(COMPILED): | setup
	@$(BIN)/python -m pytest --collect-only --quiet > /dev/null 2>&1 || true
	@touch $@

# Apart, since measuring nearly doubles the time. Slow tests that repeat the same code thousands of times are left out.
.PHONY: coverage
coverage: setup ui browser  ## Measure how much of the code the tests reach
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL) -m "not slow and not soak"
	$(BIN)/coverage run -m pytest $(PARALLEL) -m "slow and not soak" tests/cli tests/examples
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

.PHONY: tests-ui
tests-ui: setup ui
	$(BIN)/python ui/build.py npm run types
	$(BIN)/python ui/build.py npm test

# The browser of the machine, else one from npm.
.PHONY: browser
browser: setup ui
	@$(BIN)/python -m tests.ui.browser

.PHONY: test-fast
test-fast: lint types contracts ui browser  ## Run every check but the slow tests
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not soak"

.PHONY: lint
lint: setup  ## Check format and lint rules
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)

.PHONY: types
types: setup  ## Check types
	$(BIN)/mypy $(CODE)

.PHONY: contracts
contracts: setup  ## Check who imports whom
	$(BIN)/lint-imports --no-cache

.PHONY: format
format: setup  ## Format, and fix what can be fixed
	$(BIN)/ruff check --fix --quiet $(CODE) || true
	$(BIN)/ruff format $(CODE)

.PHONY: bench
bench: setup ui browser  ## Measure
	$(BIN)/python -m bench

.PHONY: shape
shape: setup  ## Count what a change costs; over the commits of RANGE (the last hundred)
	@$(BIN)/python -m tests.architecture.shape $(RANGE)

.PHONY: soak
soak: setup  ## Run the long tests, for MINUTES (30) in all
	TENUTO_EVERY_WRITE=1 $(BIN)/python -m pytest $(PARALLEL) -m "not soak" -o faulthandler_timeout=0 $(BROAD)
	rm -f soak-figures.jsonl
	TENUTO_SOAK_FIGURES=$(CURDIR)/soak-figures.jsonl TENUTO_SOAK_MINUTES=$(MINUTES) \
		$(BIN)/python -m pytest -n $(WORKERS) -m soak -o faulthandler_timeout=0 $(SOAK)
	$(BIN)/python -m tests.kit.soak_figures soak-figures.jsonl
	$(BIN)/python -m tests.bombs

# With tools of its own, so that nothing else waits for them. The pages are served by any server of files, under any path:
# a version is published by copying the folder beside those of other versions.
.PHONY: docs
docs: $(DOCS)/venv/.set-up  ## Build the site of the documentation in build/docs/site, and check it
	@$(DOCS)/venv/bin/python -m tests.docs.site pages $(DOCS)/pages
	@DOCS_NAME="Tenuto $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/tenuto/__init__.py)" NO_MKDOCS_2_WARNING=1 \
		$(DOCS)/venv/bin/python -m mkdocs build --strict --quiet
	@$(DOCS)/venv/bin/python -m tests.docs.site finish $(DOCS)/pages $(DOCS)/site
	@echo "To read it: python3 -m http.server --directory $(DOCS)/site --bind 127.0.0.1 8000"

$(DOCS)/venv/.set-up: requirements/docs.txt
	@$(PYTHON) -m venv $(DOCS)/venv
	@$(DOCS)/venv/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements/docs.txt
	@touch $@

.PHONY: lock
lock: setup  ## Pin the newest dependencies in requirements
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--extra dev --output-file requirements/dev.txt pyproject.toml requirements/dev.in
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--output-file requirements/docs.txt requirements/docs.in
	@$(MAKE) --no-print-directory setup
	$(BIN)/python -m tests.supply.constraints > requirements/constraints.txt
	$(BIN)/python -m tests.supply.run_pins > requirements/run.txt
	$(BIN)/python -m tests.supply.worker_pins > requirements/worker.txt
	$(BIN)/python -m tests.supply.run_pins ui > requirements/ui.txt

# An answer is written for known vulnerabilities alone: without one the tool or its service could not be reached.
.PHONY: audit
audit: setup  ## Look for known vulnerabilities of the dependencies, where pip-audit can be reached
	@mkdir -p dist && rm -f dist/audit.json
	@timeout 120 $(BIN)/uv tool run --quiet pip-audit --no-deps --disable-pip --format json --output dist/audit.json \
		--requirement requirements/constraints.txt || { test ! -s dist/audit.json \
		&& echo "pip-audit cannot be reached: nothing was audited"; }

.PHONY: sbom
sbom: setup  ## List the components at run time in dist/sbom.json (CycloneDX)
	@mkdir -p dist
	$(BIN)/python -m tests.supply.sbom > dist/sbom.json

.PHONY: clean
clean:  ## Remove everything that the targets made
	rm -rf $(VENV) ui/node_modules $(dir $(UI)) $(BUILDING) .bench build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests $(wildcard bench examples) -name __pycache__ -type d -prune -exec rm -rf {} +
