# Needs Python 3.11 or newer, make, and the package index once; everything else is installed into .venv.
#
#   make run              serve this folder to MCP clients, or DIR=/some/folder; PORT=8000 sets the port
#   make install          put `readroom` on your PATH, as a link in ~/.local/bin, or in BIN=/some/folder
#   make test             lint, format, types and the daily tests
#   make test-all         the same checks with all tests, as in continuous integration
#   make bench            the benchmarks
#   make docs             write the generated parts of the documentation
#   make clean            remove everything that the above created

DIR ?= .
PORT ?=
EXTRAS ?= documents,grammars,serve,terminal
BIN ?= $(HOME)/.local/bin

.DEFAULT_GOAL := help
.PHONY: help run install test test-all bench docs clean

help:
	@sed -n 's/^#   //p' Makefile

run: .venv/installed
	@exec .venv/bin/readroom serve $(if $(PORT),--port "$(PORT)") -- "$(DIR)"

install: .venv/installed
	@mkdir -p "$(BIN)" "$(BIN)/../share/man/man1" && ln -sfn "$(CURDIR)/.venv/bin/readroom" "$(BIN)/readroom"
	@ln -sfn "$(CURDIR)/docs/man/readroom.1" "$(BIN)/../share/man/man1/readroom.1"
	@case ":$$PATH:" in *":$(BIN):"*) echo "readroom is on your PATH, from $(BIN)" ;; \
	  *) echo "$(BIN)/readroom is there; add $(BIN) to your PATH to type it anywhere" ;; esac

test: .venv/developer
	@scripts/everything -m "not whole"

test-all: .venv/developer
	@scripts/everything

bench: .venv/developer
	@.venv/bin/python -m benchmarks

docs: .venv/developer
	@.venv/bin/python -m scripts.docs

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find src tests benchmarks docs_src scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment whose Python is gone (the system was upgraded) or that was moved is created again.
BROKEN := $(shell test -x .venv/bin/python && grep -qF "$(CURDIR)/.venv" .venv/pyvenv.cfg || echo broken-environment)
.PHONY: broken-environment
broken-environment:
	@scripts/make-venv .venv

# If PYTHONDONTWRITEBYTECODE is set, as in many containers, each start of readroom would compile it.
COMPILE := .venv/bin/python -m compileall -q src

# The stamps are older than pyproject.toml after a change of dependencies; otherwise nothing is done.
.venv/installed: pyproject.toml $(BROKEN)
	@echo "installing readroom into .venv ..."
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@$(COMPILE)
	@touch $@

# pip reads dependency groups since 25.1, and a new environment may start with an older one.
.venv/developer: pyproject.toml $(BROKEN)
	@echo "installing readroom and its development tools into .venv ..."
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --group environments
	@scripts/install .venv .venv/bin/python --group dev -e '.[$(EXTRAS)]'
	@$(COMPILE)
	@touch $@ .venv/installed
