# make bench   every environment it needs, then mlp, cnn and gru on the frameworks; WORKERS=all: on the
#              frozen ones too
# make test    everything it needs, the linters, then every test of the core and of a few workers
# make test WORKERS=all    the tests of every worker too
# make worker WORKER=torch [TASK=cnn]    one worker alone, from a tape
# make conform WORKER=knet               whether a worker speaks the protocol
#
# Choices: WORKERS=torch,numpy TASKS=cnn DATA=synthetic DEVICE=cuda THREADS=1, and ARGS="..." for
# whatever else the command takes (make run ARGS="bench --help").

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The first interpreter that runs and is new enough; a name alone proves neither.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

VENV := .venv
BIN := $(VENV)/bin
LOCK := py/rosetta/requirements.lock

WORKER ?= torch
TASK ?= mlp
CHOICES := $(if $(WORKERS),--worker "$(WORKERS)") $(if $(TASKS),--task "$(TASKS)") \
	$(if $(DATA),--data $(DATA)) $(if $(DEVICE),--device $(DEVICE)) \
	$(if $(THREADS),--threads $(THREADS)) $(if $(OUT),--out "$(OUT)")

# $(call not_here,WORKER,WORKERS): another target's variable would be passed over in silence.
not_here = $(if $(filter command,$(firstword $(origin $(1)))),$(error make $@ takes $(2)=, not $(1)=))

.PHONY: help
help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 20

.PHONY: bench
bench: $(VENV)/ready ## compare the frameworks: WORKERS= TASKS= DATA= DEVICE= THREADS= OUT= RESUME= ARGS=
	@$(call not_here,WORKER,WORKERS)$(call not_here,TASK,TASKS)\
	$(BIN)/rosetta bench $(if $(RESUME),--resume "$(RESUME)",--quick $(CHOICES)) $(ARGS)

.PHONY: worker
worker: $(VENV)/ready ## run one worker alone: WORKER=torch TASK=mlp DATA= DEVICE= THREADS= ARGS=
	@$(call not_here,WORKERS,WORKER)$(call not_here,TASKS,TASK)\
	$(BIN)/rosetta worker $(WORKER) --task $(TASK) $(if $(DATA),--data $(DATA)) \
		$(if $(DEVICE),--device $(DEVICE)) $(if $(THREADS),--threads $(THREADS)) $(ARGS)

.PHONY: conform
conform: $(VENV)/ready ## ask a worker everything that the protocol says: WORKER=torch ARGS=
	@$(call not_here,WORKERS,WORKER)\
	$(BIN)/rosetta conform $(WORKER) $(if $(DEVICE),--device $(DEVICE)) \
		$(if $(THREADS),--threads $(THREADS)) $(ARGS)

.PHONY: bench-harness
bench-harness: $(VENV)/ready ## measure what the harness itself costs: OUT= THREADS= ARGS="--quick --ray"
	@$(BIN)/rosetta harness $(if $(THREADS),--threads $(THREADS)) $(if $(OUT),--out "$(OUT)") $(ARGS)

.PHONY: rosetta
rosetta: $(VENV)/ready ## write docs/rosetta.html: the code of any two workers side by side
	@$(if $(filter command,$(origin ARGS)),$(error make rosetta makes the page; any command: make run ARGS="..."))\
	$(BIN)/rosetta stone $(if $(OUT),--out "$(OUT)")

.PHONY: run
run: $(VENV)/ready ## run any command: ARGS="doctor"
	@$(BIN)/rosetta $(ARGS)

# What every machine tests; the other frameworks take gigabytes.
CORE := numpy,null,torch,julia
comma := ,
TESTED := $(CORE)$(if $(WORKERS),$(comma)$(WORKERS))
# Much of a test is waiting for processes. The tests of a file stay together: they share workers.
AT_ONCE := --numprocesses=logical --maxprocesses=4 --dist=loadfile

.PHONY: test
test: $(VENV)/ready-dev lint ## run the linters and the tests: WORKERS=all ARGS="-k protocol"
	@$(BIN)/rosetta env create --where-possible $(if $(filter all,$(WORKERS)),,$(TESTED))
	@ROSETTA_TEST_WORKERS=$(TESTED) $(BIN)/python -m pytest $(AT_ONCE) $(ARGS)

.PHONY: lint
lint: $(VENV)/ready-dev ## check style and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy

.PHONY: lock
lock: $(VENV)/ready-dev ## pin the coordinator's packages anew
	@$(BIN)/uv pip compile --quiet --upgrade --no-header --no-annotate --no-emit-index-url \
		--no-emit-find-links --universal --python-version 3.11 --extra dev pyproject.toml -o $(LOCK)

.PHONY: clean
clean: ## remove every environment and cache of this checkout; runs/ stays
	rm -rf $(VENV) .rosetta .rosetta-make.lock .pytest_cache .mypy_cache .ruff_cache .hypothesis py/*.egg-info

$(VENV)/ready: pyproject.toml $(LOCK)
	@$(call install,.)

$(VENV)/ready-dev: pyproject.toml $(LOCK)
	@$(call install,.[dev])
	@touch $(VENV)/ready

# $(1): what to install into the coordinator's environment. The marker is made last, and by one make
# at a time: a failed or interrupted installation is begun anew, never taken for a finished one.
define install
	test -n "$(PYTHON)" || { echo "Rosetta needs Python 3.11 or later: install it, or name it with \
	make PYTHON=/path/to/python" >&2; exit 2; }; \
	test -w . || { echo "$(CURDIR) can't be written: clone Rosetta into a folder of your own" >&2; \
	exit 2; }; \
	exec 9>.rosetta-make.lock; flock 9; \
	test $@ -nt $(LOCK) && test $@ -nt pyproject.toml && exit 0; \
	echo "making the coordinator's environment in $(VENV) with $(PYTHON)" >&2; \
	$(PYTHON) -m venv --clear $(VENV) || { echo "$(PYTHON) can't make a virtual environment: on \
	Debian, install python3-venv" >&2; exit 2; }; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(LOCK) \
		--editable '$(1)' 2> >(grep -v '^WARNING: Location' >&2) || { echo "the coordinator's \
	packages couldn't be installed (see above): mend that and run make again" >&2; exit 2; }; \
	touch $@
endef
