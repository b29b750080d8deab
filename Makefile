# make demo    builds and runs the samples, checks and shows the results
# make test    tests, linter and type checker
# make bench   measures against other tools and writes docs/performance.md
# make docs    writes docs/instructions and docs/fidelity.md out of the table
# make fuzz    compares the engines with each other and with models on thousands of generated programs
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

.PHONY: demo test bench fuzz docs format clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/python -m compileall -q visa vasm vlink vsim ctm vdis.py
	touch $@

demo: $(STAMP)
	$(BIN)/python samples/demo.py

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pyopencl
	$(BIN)/python benchmarks/run.py

fuzz: $(STAMP)
	FUZZ_EXAMPLES=5000 $(BIN)/python -m pytest -n 2 tests/test_engines.py tests/test_assembler.py
	FUZZ_EXAMPLES=500 $(BIN)/python -m pytest -n 2 tests/test_values.py tests/test_memory_values.py tests/test_image_values.py tests/test_flow_values.py tests/test_rows.py

docs: $(STAMP)
	$(BIN)/python docs/generate_instructions.py
	$(BIN)/python docs/generate_fidelity.py

format: $(STAMP)
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build *.egg-info mandelbrot.png
