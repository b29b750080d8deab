# make demo    builds and runs the samples, checks and shows the results
# make test    tests with their coverage, linter, type checker, import layers
# make bless   writes what golden files expect anew (tests/golden/README.md)
# make wheel   builds sdist and wheel (make dist), and runs the four commands out of the wheel (make test-wheel)
# make bench   measures against other tools and writes docs/measurements/performance.md
# make compile-time  compile time of the fast engine: a histogram over the corpus, generated kernels of five shapes, and seconds to a first result
# make docs    writes docs/regions.svg, docs/instructions, docs/fidelity.md, docs/launch-files.md, the rows and goldens of
#              docs/conformance.md out of the tables, and the examples of docs/errors.md out of the goldens
# make pictures  writes docs/pictures: what commands print (needs ocloc), and the chart of docs/measurements/performance.md
# make site    builds the documentation site in build/site; a link that leads nowhere is an error
# make man     writes the manual pages in man out of the help of the commands
# make fuzz    compares the engines with each other and with models on thousands of generated programs, and reads and executes
#              mutated inputs of every kind (tests/fuzz), FUZZ_SECONDS together, from seed FUZZ_FIRST on, FUZZ_JOBS at a time
# make pairs   programs with one defect each and their mended twins, under the checks, in all widths and orders on both engines
# make constraints  writes the newest versions of what .venv has into constraints.txt; then make test
# make prove   proves for all inputs that instructions on integers do what the model of the tests says (tests/prove), and
#              that the fast engine's IR does, each in PROVE_SECONDS at most, on PROVE_JOBS processors; then what the fast
#              engine knows of accesses, and that compilations of kernels are equal and planted faults found (needs ocloc)
# make guard   all tests with native code that also checks each access by its address (docs/safety.md)
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
# Tests start Python often, which compiles all modules again in each process where this is set.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test bless dist test-wheel wheel bench compile-time fuzz pairs prove guard docs pictures site man opencl-numbers levelzero-numbers dap-messages format constraints clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: $(PYTHON) cannot make virtual environments: install its package, on Debian and Ubuntu python3-venv"; exit 1; }
	@echo "installing into $(VENV), which takes about a minute"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib > /dev/null || true  # pip has one processor do it, and passes over errors, too.
	$(BIN)/python -m compileall -q vasm vlink vsim visakit
	touch $@

demo: $(STAMP)
	$(BIN)/python samples/demo.py
	@echo "the commands: . $(VENV)/bin/activate; where to go from here: docs/tutorial.md"

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m compileall -q vasm vlink vsim visakit
	@echo "the tests take about six minutes on two idle processors; the type checker runs beside them, and speaks last"
	@mkdir -p build; $(BIN)/mypy > build/types.txt 2>&1 & types=$$!; \
	  $(BIN)/python -m slipcover -m pytest -n 2 --dist worksteal; tests=$$?; \
	  wait $$types; types=$$?; cat build/types.txt; exit $$((tests + types))
	$(BIN)/python tests/support/package_coverage.py .coverage.json

bless: $(STAMP)
	$(BIN)/python -m pytest -n 2 --bless tests/golden

BUILD = build/dist-tools

dist:
	rm -rf build/lib build/bdist.* dist
	$(PYTHON) -m venv $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet --disable-pip-version-check build
	$(BUILD)/bin/python -m build --outdir dist .

test-wheel:
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	test -f build/wheel/share/man/man1/vsim.1
	$(MAKE) -C samples/calls BIN=$(CURDIR)/build/wheel/bin/ OUT=$(CURDIR)/build/wheel/calls
	build/wheel/bin/vdis build/wheel/calls/main.o -o build/wheel/calls/again.visaasm
	build/wheel/bin/vasm build/wheel/calls/again.visaasm

wheel: dist
	$(MAKE) test-wheel

# What native code is made for (VISAKIT_CPU).
CPU ?= native

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pyopencl intel-opencl-rt intel-cmplr-lib-rt
	$(BIN)/python benchmarks/run.py --cpu $(CPU)
	$(BIN)/python benchmarks/vector.py --cpu $(CPU)

compile-time: $(STAMP)
	$(BIN)/python benchmarks/compile_time.py corpus --cpu $(CPU)
	$(BIN)/python benchmarks/compile_time.py shapes --cpu $(CPU)
	$(BIN)/python benchmarks/first_result.py --cpu $(CPU)

FUZZ_SECONDS ?= 1800
FUZZ_FIRST ?= 0
FUZZ_JOBS ?= 2

fuzz: $(STAMP)
	$(BIN)/python tests/fuzz --share $(FUZZ_SECONDS) --first $(FUZZ_FIRST) --jobs $(FUZZ_JOBS) --json fuzz.json
	FUZZ_EXAMPLES=5000 $(BIN)/python -m pytest -n 2 tests/semantics/test_engines.py tests/text/test_assembler.py tests/link/test_link_many.py
	FUZZ_EXAMPLES=500 $(BIN)/python -m pytest -n 2 tests/semantics/test_values.py tests/semantics/test_memory_values.py tests/semantics/test_image_values.py tests/semantics/test_flow_values.py tests/memory/test_rows.py \
	  tests/semantics/test_address_values.py tests/semantics/test_narrow_values.py tests/memory/test_lane_patterns.py tests/semantics/test_lane_masks.py tests/launch/test_waiting.py tests/launch/test_ndrange.py tests/launch/test_run.py \
	  tests/semantics/test_forms.py tests/semantics/test_mathematics.py tests/launch/test_schedule.py tests/opencl/test_opencl_sources.py tests/text/test_golden_texts.py \
	  tests/launch/test_ordinary.py tests/launch/test_further.py tests/launch/test_cpu.py tests/launch/test_profile_counts.py tests/launch/test_trace.py tests/semantics/test_vector_kernels.py tests/launch/test_bench.py tests/semantics/test_long_atomics.py tests/semantics/test_vector_ir.py \
	  tests/memory/test_scalarised.py tests/memory/test_wide_indices.py tests/text/test_grammar.py tests/text/test_template.py tests/link/test_linker.py tests/objects/test_files.py tests/opencl/test_opencl_programs.py tests/opencl/test_opencl_ending.py \
	  tests/opencl/test_opencl_memory.py tests/memory/test_stream_prefetch.py tests/memory/test_stream_prefetch_by_scalar.py tests/passes/test_coarsen.py \
	  tests/passes/test_affine_registers.py tests/passes/test_unroll_and_jam.py tests/passes/test_strip_mine.py tests/launch/test_observers.py tests/checks/test_race_order.py \
	  tests/checks/test_races.py tests/debug/test_walks.py tests/link/test_abi.py

pairs: $(STAMP)
	FUZZ_EXAMPLES=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/checks/test_check_orders.py tests/checks/test_undefined.py tests/checks/test_call_checks.py \
	  tests/checks/test_race_programs.py tests/checks/test_item_races.py tests/checks/test_order_programs.py tests/checks/test_check_programs.py tests/checks/test_divergence.py tests/checks/test_argument_accesses.py tests/checks/test_votes.py

PROVE_SECONDS ?= 1800
PROVE_JOBS ?= 2

prove: $(STAMP)
	$(BIN)/python tests/prove --seconds $(PROVE_SECONDS) --jobs $(PROVE_JOBS) --json prove.json
	$(BIN)/python tests/prove --fast --seconds $(PROVE_SECONDS) --jobs $(PROVE_JOBS) --json prove-fast.json
	$(BIN)/python tests/prove/fast_accesses.py --json accesses.json
	$(BIN)/python tests/prove/equal_pairs.py --json equal.json

guard: $(STAMP)
	VISAKIT_GUARD=1 $(BIN)/python -m pytest -n 2 --dist worksteal

docs: $(STAMP)
	$(BIN)/python docs/generate_regions.py
	$(BIN)/python docs/generate_instructions.py
	$(BIN)/python docs/generate_fidelity.py
	$(BIN)/python docs/generate_launch_files.py
	$(BIN)/python docs/generate_conformance.py
	$(BIN)/python -m pytest -q --bless tests/golden/instructions
	$(BIN)/python docs/generate_errors.py

pictures: $(STAMP)
	$(BIN)/python docs/generate_pictures.py

SITE = build/site-tools

$(SITE)/.installed: docs/requirements.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

site: $(SITE)/.installed
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet

man: $(STAMP)
	$(BIN)/python docs/generate_man.py

opencl-numbers: $(STAMP)
	$(BIN)/python docs/generate_opencl_numbers.py

levelzero-numbers: $(STAMP)
	$(BIN)/python docs/generate_levelzero_numbers.py $(ZE_HEADERS)

dap-messages: $(STAMP)
	$(BIN)/python docs/generate_dap_messages.py $(DAP_SCHEMA)

format: $(STAMP)
	$(BIN)/ruff format .

constraints:
	rm -rf build/newest
	$(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ echo '# The versions that the tests were last seen to pass with. Made by make constraints.'; \
	  build/newest/bin/python -m pip freeze --exclude visakit; } > constraints.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage* mandelbrot.png
