#!/usr/bin/env bash
# The site of all pages, into $CARGO_TARGET_DIR/site, with the wheel that .ci/python.sh has built. Its examples run, and what warns fails.
set -euo pipefail
cd "$(dirname "$0")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 PYTHONDONTWRITEBYTECODE=1
target="${CARGO_TARGET_DIR:-$PWD/target}"
venv="$target/python/site"

[ -e "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" install -r docs/site/requirements.txt
"$venv/bin/pip" install --force-reinstall --no-deps "$target"/python/wheels/*.whl
"$venv/bin/sphinx-build" -q -E -W --keep-going -d "$target/python/doctrees" -c docs/site . "$target/site"
echo '<meta http-equiv="refresh" content="0; url=docs/site/index.html">' >"$target/site/index.html"
