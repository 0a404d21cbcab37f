# Needs only make and python3 (3.11 or newer). `make` alone lists the targets.

PYTHON ?= python3
LOCK_PYTHON ?= python3.11
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
comma := ,
PIP_INSTALL := $(BIN)/python -m pip install -qq --no-input --disable-pip-version-check -c constraints.txt
STAMP_DEV := $(VENV)/.stamp-dev
STAMP_DEMO := $(VENV)/.stamp-demo
SITE := build/site-venv
TYPESCRIPT := build/typescript
STAMP_SITE := $(SITE)/.stamp

# Standard output belongs to the programs: `make demo ARGS=--json` prints JSON and nothing else, so
# recipes are silent and all that set-up says goes to standard error.
export PYTHONUNBUFFERED := 1

# Without a cache, every process rewrites the assertions of 300 files of tests before it starts.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-full lint docs site bench client-ts results serve lock load fault attack fuzz bounds mutants test-browser clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: $(STAMP_DEV) ## make .venv with everything the project needs
	@:

demo: $(STAMP_DEMO) ## run the demo on real arrivals: make demo ARGS="--seconds 20 --json"
	@$(BIN)/evenmatch demo $(ARGS)

test: $(STAMP_DEV) ## run all tests but the long ones, on all processors: make test ARGS="-k engine"
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-long: $(STAMP_DEV) ## run the tests that take minutes: papers, pages, examples, policies at length
	@$(BIN)/python -m pytest -n auto --dist loadgroup -m long $(ARGS)

test-full: $(STAMP_DEV) ## run what takes long and what tries many cases, with all of them: an hour or more
	@EVENMATCH_LONG=1 $(BIN)/python -m pytest -n auto --dist loadgroup -m "long or more" $(ARGS)

lint: $(STAMP_DEV) ## check style, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict src/evenmatch papers tools

docs: $(STAMP_DEV) ## write the generated pages of docs/
	@$(BIN)/python docs/build.py $(ARGS)

site: $(STAMP_SITE) ## build docs/ as a site that needs no network: build/site/index.html
	@$(SITE)/bin/python docs/build_site.py $(ARGS)

bench: $(STAMP_DEV) ## measure speed: make bench ARGS="..."
	@$(BIN)/python -m tests.bench $(ARGS)

client-ts: $(STAMP_DEV) ## write the TypeScript client from the OpenAPI document
	@$(BIN)/python clients/typescript/generate.py $(ARGS)

results: $(STAMP_DEV) ## compute every number that the documentation quotes
	@$(BIN)/python docs/results.py $(ARGS)

serve: $(STAMP_DEMO) ## start a server: make serve CONFIG=my.toml ARGS="--port 9000"
	@$(BIN)/evenmatch serve $(or $(CONFIG),scenarios/duel.toml) $(ARGS)

fault: $(STAMP_DEV) ## let servers fail, in virtual time and for real: make fault SEEDS=200
	@$(BIN)/python -m tests.fault.simulated --seeds $(or $(SEEDS),50) --processes $(or $(PROCESSES),1)
	@EVENMATCH_KILLS=$(or $(SEEDS),50) $(BIN)/python -m pytest tests/integration/test_kill.py -q $(ARGS)

attack: $(STAMP_DEV) ## attack real servers for five minutes at most: make attack ARGS="--only kills --seconds 300"
	@$(BIN)/python -m tests.attack $(ARGS)

fuzz: $(STAMP_DEV) ## send 20,000 requests made from the OpenAPI document: make fuzz EXAMPLES=1000
	@EVENMATCH_FUZZ=$(or $(EXAMPLES),500) $(BIN)/python -m pytest tests/fuzz -q -s $(ARGS)

bounds: $(STAMP_DEV) ## run the tests of solvers and policies with every index of the kernels checked
	@NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest tests/unit/solvers tests/unit/policies tests/unit/lab tests/papers tests/property $(ARGS)

load: $(STAMP_DEV) ## put real servers under load: make load ARGS="--rate 300 --minutes 30 --nodes 3 --journal nats"
	@$(BIN)/python -m tests.load $(ARGS)

mutants: $(STAMP_DEV) ## plant the faults that tests must find: make mutants ARGS="--only sides"
	@$(BIN)/python -m tests.gates.planting $(ARGS)

test-browser: $(STAMP_DEV) ## test pages in a browser and the TypeScript client; screenshots: build/screenshots
	@$(BIN)/python -m tests.browser.browsing >/dev/null 2>&1 || $(BIN)/python -m playwright install chromium >&2 || true
	@$(BIN)/python -m tests.browser.browsing >&2
	@command -v tsc >/dev/null 2>&1 || test -x $(TYPESCRIPT)/node_modules/.bin/tsc || \
	  npm install --silent --no-audit --no-fund --no-save --prefix $(TYPESCRIPT) typescript@5 >&2 || \
	  echo "THE TYPESCRIPT CLIENT'S TYPES WERE NOT TESTED: npm could not fetch typescript (Node.js has npm)." >&2
	@EVENMATCH_BROWSER=1 $(BIN)/python -m pytest tests/browser tests/integration/test_typescript.py $(ARGS)

lock: ## choose the newest versions of all dependencies and write constraints.txt
	@$(call need_python,$(LOCK_PYTHON))
	@set -e; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	  echo "Installing the newest versions into a throwaway environment." >&2; \
	  $(LOCK_PYTHON) -m venv "$$work/venv" >&2; \
	  "$$work/venv/bin/python" -m pip install -qq --no-input --disable-pip-version-check ".[all,dev,site]" >&2; \
	  { echo "# Exact versions for Python 3.11 and newer, written by: make lock"; \
	    "$$work/venv/bin/python" -m pip freeze --disable-pip-version-check --exclude evenmatch; } > "$$work/new"; \
	  if grep -n -e '@' -e '/' "$$work/new" >&2; then \
	    echo "constraints.txt was left as it was: the lines above are not plain versions." >&2; exit 1; fi; \
	  cp "$$work/new" constraints.txt; \
	  echo "Wrote constraints.txt: $$(grep -c == constraints.txt) versions." >&2

clean: ## remove .venv and everything else that can be made again
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call need_python,COMMAND): stop with one sentence unless COMMAND can make an environment.
define need_python
command -v $(1) >/dev/null 2>&1 || { \
  echo "evenmatch needs Python 3.11 or newer, and $(1) was not found: install it (for example: apt install python3 python3-venv)." >&2; exit 1; }; \
$(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "evenmatch needs Python 3.11 or newer, and $(1) is $$($(1) -c 'import platform; print(platform.python_version())' 2>/dev/null || echo broken): install a newer one and name it, for example: make setup PYTHON=python3.12." >&2; exit 1; }; \
$(1) -c 'import ensurepip, venv' 2>/dev/null || { \
  echo "$(1) cannot make virtual environments because its modules venv and ensurepip are missing: install them (for example: apt install python3-venv)." >&2; exit 1; }
endef

# $(call install,EXTRAS): make the environment if it is missing or broken, then install into it.
define install
set -e; if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
  $(call need_python,$(PYTHON)); $(PYTHON) -m venv --clear $(VENV) >&2; fi; \
echo "Installing evenmatch[$(1)] into $(VENV); this takes a minute the first time." >&2; \
$(PIP_INSTALL) -e ".[$(1)]" >&2
endef

$(STAMP_DEV): pyproject.toml constraints.txt
	@$(call install,all$(comma)dev)
	@$(BIN)/evenmatch warm >&2
	@touch $(STAMP_DEV) $(STAMP_DEMO)

# An environment of its own: the generator of the site is no part of what is developed or tested.
$(STAMP_SITE): pyproject.toml constraints.txt
	@$(call need_python,$(PYTHON)); $(PYTHON) -m venv --clear $(SITE) >&2
	@echo "Installing the generator of the site into $(SITE)." >&2
	@$(SITE)/bin/python -m pip install -qq --no-input --disable-pip-version-check -c constraints.txt -e ".[site]" >&2
	@touch $@

$(STAMP_DEMO): pyproject.toml constraints.txt
	@$(call install,server)
	@$(BIN)/evenmatch warm scenarios/hero_5v5.toml scenarios/duel.toml >&2
	@touch $@
