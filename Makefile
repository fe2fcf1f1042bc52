# Everything starts here: `make book` and `make test` need only Python 3.11 or later, make and the package index.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: help setup book test nightly coverage check lab format bench replicate lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv with the locked environment (skipped while the lock is unchanged)

$(READY): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed; name one with: make PYTHON=/path/to/python $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -r requirements.txt -c constraints.txt
	$(BIN)/pip install --quiet --no-deps -e .
	@touch $@

book: setup ## build the book, strictly, into _build/html
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo; echo "Open file://$(CURDIR)/_build/html/index.html"

test: setup ## test the library, run every chapter, and check the built pages in a browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

nightly: setup ## the same with thousands of random cases a property
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n 2 --dist loadfile

coverage: setup ## which lines of the library no test runs; fails below 95 %
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n 2 --dist loadfile $(patsubst %,--ignore=%,$(wildcard tests/test_book*.py tests/test_explore*.py tests/test_lab.py))
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report -m --skip-covered --fail-under=95

check: setup ## measure every claim of the book, and the controls that must fail
	$(BIN)/python -m attnlib check

lab: setup ## open the chapters in JupyterLab
	JUPYTER_CONFIG_PATH="$(CURDIR)/lab" $(BIN)/jupyter lab book

format: setup ## bring the chapters into the form in which JupyterLab saves them
	$(BIN)/python lab/canonical.py

bench: setup ## measure side by side, as ratios in one run, and store what the chapter on speed shows
	$(BIN)/python benchmarks/bench.py

replicate: setup ## compute the random trials and the studies of IMDB and Yelp (ATTNLIB_DATA=folder, or the hub) anew
	$(BIN)/python -m attnlib trials
	$(BIN)/python -m attnlib replicate

lock: setup ## write constraints.txt anew from the environment in .venv
	(echo "# The whole environment, as resolved from requirements.txt: make lock"; \
	 $(BIN)/pip freeze --exclude-editable | sed 's/+cpu//') > constraints.txt

clean: ## remove the built book and the executed chapters
	rm -rf _build
