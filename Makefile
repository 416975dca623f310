# One list of verbs, for people and for CI alike. `build` is a source folder here, so the deck's verb is `deck`.
# Options of the command behind a verb go into ARGS: make deck ARGS="-q draft -f html"

.PHONY: deck present profile bench test check setup setup-engine
.DEFAULT_GOAL := deck

BIN := .venv/bin
ARGS ?=

deck: setup
	$(BIN)/spanreel build $(ARGS)

present: setup-engine
	$(BIN)/spanreel present $(ARGS)

profile: setup-engine
	$(BIN)/spanreel profile $(ARGS)

bench: setup
	$(BIN)/spanreel bench render $(ARGS)
	$(BIN)/spanreel bench deck $(ARGS)

test: setup-engine
	scripts/browser.sh
	$(BIN)/python -m demo_engine model
	$(BIN)/python -m pytest $(ARGS)

check: setup-engine
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

setup:
	scripts/setup.sh deck

setup-engine:
	scripts/setup.sh engine
