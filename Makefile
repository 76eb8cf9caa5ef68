PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Each test worker multiplies matrices by itself; threads of two workers on two cores would only wait for each other.
export OPENBLAS_NUM_THREADS := 1
# What is imported is compiled then, once, and not all that is installed; where this is set, each of many processes would compile it anew.
export PYTHONDONTWRITEBYTECODE :=
# The build tools' remarks on editable installs are not for the person who types `make`.
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo test torch no-compiler attack sanitize check types bench docs site editor clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras: reinstalled when pyproject.toml changes.
$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(PIP) -e ".[report,bangc]"
	touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(PIP) -e ".[report,bangc,test]"
	touch $@

$(VENV)/check.stamp: pyproject.toml | $(BIN)/python
	$(PIP) -e ".[report,bangc,test,check]"
	touch $(VENV)/test.stamp $@

demo: $(VENV)/demo.stamp
	mkdir -p out
	$(BIN)/mlusim demo -o out/mlusim-report.html

# Compiled before: the suite's first processes would each compile the same.
test: $(VENV)/test.stamp
	$(BIN)/python -m compileall -q mlusim ops
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart 2

# For the tests that need PyTorch, which are skipped elsewhere: the wheel that pip has without asking an index, where builds have gigabytes.
torch: $(VENV)/check.stamp
	@if $(PIP) --no-index --no-deps torch 2> /dev/null; then \
	$(PIP) torch && $(BIN)/python -c "import torch"; \
	else echo "PyTorch is not tested: pip has no wheel of it without an index; put one where PIP_FIND_LINKS says"; fi
# Of Triton, whose wheel is large, what comes in a minute; it is installed only when all of it is there.
	@if PYTHONWARNINGS=ignore timeout 60 $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d out/wheels "triton==3.8.*"; then \
	$(PIP) --no-index --no-deps --find-links out/wheels triton; \
	else echo "Triton is not tested: pip found no wheel of it within a minute"; fi

# What tells engines apart, where no compiler is to be found: Python runs, and what has to be said is said.
no-compiler: $(VENV)/test.stamp
	MLUSIM_CC=/no/compiler $(BIN)/python -m pytest -q tests/bangc/test_bangc_native.py tests/machine/test_native_build.py tests/cli/test_cli_native.py tests/ops/test_operators_natively.py

# The fuzz tests in full, more than twenty thousand tries, and ten thousand planted faults; `make test` makes a share of them.
attack: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -m attack --longest 0 -n auto tests/fuzz tests/bangc tests/ops tests/observe tests/check

# The C of kernels under gcc's sanitizers: an access outside of memory or undefined behaviour ends the run.  `make sanitize SANITIZED=tests/isa` runs a part.
SANITIZED := tests/isa/test_isa_native.py tests/isa/test_isa_native_calls.py tests/bangc/test_bangc_native*.py tests/machine/test_native*.py tests/ops/test_operator_sources.py
sanitize: $(VENV)/test.stamp
	MLUSIM_CC="gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined --param asan-stack=0" MLUSIM_CACHE=$(CURDIR)/out/sanitized \
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(gcc -print-file-name=libasan.so):$$(gcc -print-file-name=libubsan.so)" \
	$(BIN)/python -m pytest -q -x $(SANITIZED)

check: $(VENV)/check.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) -j2 types test

# Beside the tests, which leave a core idle now and then.
types: $(VENV)/check.stamp
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/check/check_*.py

# What is generated from the code and committed: the typed stub, tables of constants and of predicted times, the pictures that mlusim draws, what the notebook shows.
# Whole pages are made by `make site`.
docs: $(VENV)/test.stamp
	$(BIN)/python -m manual.stub
	$(BIN)/python -m manual.page_tables
	$(BIN)/python -m manual.pictures
	$(BIN)/python -m tests.notebooks.run_gallery

# The documentation as a site in out/site, with search and the Python interface from docstrings; a warning is an error.
site: | $(BIN)/python
	$(PIP) -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet -f site/mkdocs.yml
	@echo "site: out/site/index.html"

# The extension for VS Code; needs npm, and nothing else here needs it.
editor: $(VENV)/test.stamp
	cd editors/vscode && npm ci --no-audit --no-fund
	cd editors/vscode && MLUSIM_PYTHON=$(CURDIR)/$(BIN)/python npm run package
	cd editors/vscode && MLUSIM_PYTHON=$(CURDIR)/$(BIN)/python npm test

# At most three minutes, and 1 where a ratio is beyond its limit; `python -m benchmarks GROUP` measures more.
bench: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) out build *.egg-info
