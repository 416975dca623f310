#!/usr/bin/env bash
# Install what pycairo and ManimPango are compiled with; without the right to, print the one command and exit 4.
# Usage: scripts/system_packages.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

python=$1

has_headers() {
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

missing=()
command -v gcc >/dev/null || command -v cc >/dev/null || missing+=(gcc)
command -v pkg-config >/dev/null || missing+=(pkg-config)
pkg-config --exists cairo 2>/dev/null || missing+=(libcairo2-dev)
pkg-config --exists pangocairo 2>/dev/null || missing+=(libpango1.0-dev)
has_headers || missing+=(python3-dev)
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} -eq 0 ] && exit 0

say "installing system packages: ${missing[*]}"
apt_install "${missing[@]}" && exit 0

if command -v dnf >/dev/null; then
    lack "missing: ${missing[*]}. Install with: sudo dnf install gcc pkgconf cairo-devel pango-devel python3-devel"
elif command -v brew >/dev/null; then
    lack "missing: ${missing[*]}. Install with: brew install cairo pango pkg-config"
fi
lack "missing: ${missing[*]}. Install with: sudo apt-get install ${missing[*]}"
