# Everything runs in .venv, installed from constraints.txt; `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# PyPI's PyTorch for Linux brings gigabytes of CUDA along, this index has one for CPUs; TORCH_INDEX= takes PyPI's.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TESTS ?= tests src
KILLS ?= 1000
SEED ?= 0

.DEFAULT_GOAL := help
.PHONY: help setup demo test same soak attack fuzz lint wheel docs tutorials bench clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.installed ## Make .venv and install airfeel into it

demo: $(VENV)/.installed ## Train TCS-H, TCS-D, Top-K and FedAvg on embedded data and compare them
	$(BIN)/airfeel compare digits-tcs-h --schemes tcs-h,tcs-d,top-k,fedavg --seeds 0..2 \
		--set run.record_every=10 --out runs/demo --fresh

test: $(VENV)/.installed-dev ## Run the tests
	$(BIN)/python -m pytest -n auto $(TESTS)

fuzz: $(VENV)/.installed-dev ## Try hostile input until Ctrl-C, or for SECONDS; faults are kept as examples
	$(BIN)/python tests/fuzz/forever.py $(SECONDS)

same: $(VENV)/.installed-dev ## Compare the bytes of some 200 runs with those of a former commit
	$(BIN)/python tests/former/same.py

soak: $(VENV)/.installed-dev ## Kill and resume runs a thousand times and compare their bytes; KILLS=… SEED=…
	$(BIN)/python tests/storage/soak.py $(KILLS) $(SEED)

attack: $(VENV)/.installed-dev ## Attack a Flower deployment, with TLS and authentication, in every way we know
	$(BIN)/python tests/flower/attack.py

lint: $(VENV)/.installed-dev ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-dev ## Build the documentation into site/; a warning or a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

tutorials: $(VENV)/.installed-dev ## Execute the notebooks of the documentation and store their outputs
	$(BIN)/python docs/execute.py

wheel: $(VENV)/.installed-dev ## Build sdist and wheels into dist/, install them elsewhere and run them
	$(BIN)/python tests/package/distributions.py

bench: $(VENV)/.installed-dev ## Measure what the project claims about speed
	$(BIN)/python benchmarks/allocation.py
	$(BIN)/python benchmarks/schedulers.py
	$(BIN)/python benchmarks/backlog.py
	$(BIN)/python benchmarks/real_radio.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/recipes.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/wire.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/speed.py

clean: ## Remove .venv
	rm -rf $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (the first time takes a minute or two)"
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"airfeel needs Python 3.11 or newer, $(PYTHON) is {v.major}.{v.minor}")'
	$(PYTHON) -m venv $(VENV)
	@test -z "$(TORCH_INDEX)" || $(PIP_INSTALL) --no-deps --retries 1 --index-url $(TORCH_INDEX) torch || echo "PyTorch comes from PyPI"
	$(PIP_INSTALL) -e '.[report]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP_INSTALL) -e '.[dev]'
	@touch $@
