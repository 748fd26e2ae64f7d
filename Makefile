# Two commands do everything on a machine with only Python 3.11+, pip and make:
#   make demo     sets up .venv and runs the main job on built-in data
#   make test     sets up .venv and runs the tests (five minutes on 2 cores)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo browser test test-all test-browser lint format docs reference lock licences release bench fuzz attacks clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(READY)  ## install the pinned, tested versions of everything into .venv

# constraints.txt pins every package, the build backend included; without build isolation it binds the build too.
# Where Debian's python3-venv is missing, venv cannot bring its own pip: then the machine's pip installs into it.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "noisyor needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
	  { rm -rf $(VENV); $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install -q pip; }
	@echo "Installing the pinned packages into $(VENV), about a minute ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@
	@echo "Installed. Loops are compiled when they are first needed; '$(BIN)/noisyor warm-up' compiles them beforehand."

demo: $(READY)  ## run the main job on built-in data
	$(BIN)/noisyor demo

# A file's tests go to one worker, because workers that need the same kernels would both compile them.
# The same random numbers in every run: a test that fails then fails because of what was changed.
SEED ?= 1
test: $(READY)  ## run the default tests; SEED=2 draws other random numbers
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --randomly-seed=$(SEED) --hypothesis-seed=$(SEED)

test-all: $(READY)  ## run all tests, the slow ones too, with coverage and other random numbers in each run
	$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term -m "slow or not slow"

# Debian's Chromium; node finds the modules by NODE_PATH.
BROWSER_MODULES ?= $(HOME)/.noisyor-browser
browser:  ## get a browser for the tests of the page and the report (Debian, as root)
	apt-get install -y chromium
	command -v npm || apt-get install -y nodejs npm
	npm install --no-audit --no-fund --prefix $(BROWSER_MODULES) playwright-core axe-core
	@echo "make test-browser uses it; for others: export NODE_PATH=$(BROWSER_MODULES)/node_modules"

test-browser: $(READY)  ## run the tests that need a browser; make browser gets one
	NODE_PATH=$(BROWSER_MODULES)/node_modules:$(NODE_PATH) $(BIN)/python -m pytest -m slow \
	  tests/app/test_browser.py tests/report/test_browser.py

lint: $(READY)  ## check format, rules and types, and that the documentation can be built
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/make_cli_reference.py --check
	$(SITE)

format: $(READY)  ## put the code into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Not --quiet: that would hide warnings from --strict too. The theme's notice on MkDocs' future is no concern of a build.
SITE = NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs: $(READY) reference  ## build the documentation as a site, site/index.html
	$(SITE)

reference: $(READY)  ## write the reference of the command line from the commands themselves
	$(BIN)/python scripts/make_cli_reference.py

lock: $(READY)  ## write requirements.lock: the pinned versions with the hashes of their files
	$(BIN)/python scripts/make_lock.py

licences: $(READY)  ## write docs/licences.md: what is installed, and under which licence
	$(BIN)/python scripts/list_installed.py

release: $(READY)  ## build wheel and source archive into dist/, and try both in clean environments
	$(BIN)/python scripts/check_release.py

bench: $(READY)  ## measure speed anew; the page is bench/speed.md
	rm -rf bench
	$(BIN)/noisyor reproduce speed --out bench

fuzz: $(READY)  ## ask the interface of noisyor app whatever its OpenAPI allows (schemathesis, in .fuzz)
	test -x .fuzz/bin/schemathesis || { $(PYTHON) -m venv .fuzz && .fuzz/bin/python -m pip install -q schemathesis; }
	$(BIN)/python scripts/fuzz_app.py $(CURDIR)/.fuzz/bin/schemathesis

attacks: $(READY)  ## try all attacks on the readers, the commands and the answers; an hour, then a page
	PYTHONPATH=tests $(BIN)/python scripts/attack.py

clean:  ## remove what the other commands made
	rm -rf $(VENV) .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage dist site noisyor-demo bench
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
