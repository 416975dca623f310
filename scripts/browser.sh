#!/usr/bin/env bash
# Find Chromium for the browser tests, or install it; without the right to, say so: those tests are skipped then.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit 0
done
say "installing chromium for the browser tests"
apt_install chromium || say "no Chromium: the browser tests are skipped. Install with: sudo apt-get install chromium"
