#!/usr/bin/env bash
# The Python package: builds its wheel, tests it with every Python from 3.10 on that is here, and checks its types.
# $1 is the command line that its results are held against. Packages come from PyPI, into $CARGO_TARGET_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
THALWEG=$(realpath "$1")
export THALWEG PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 PYTHONDONTWRITEBYTECODE=1
work="${CARGO_TARGET_DIR:-$PWD/target}/python"
mkdir -p "$work"

fail() {
    printf 'python.sh: %s\n' "$*" >&2
    exit 1
}

# Pythons from 3.10 on that make virtual environments, one of each version, the oldest first.
pythons() {
    local python
    for python in python3.1{0..9} "$HOME"/.pyenv/versions/3.1[0-9].*/bin/python python3; do
        command -v "$python" >/dev/null || continue
        "$python" -c 'import sys, ensurepip
if sys.version_info >= (3, 10): print(sys.version_info[1], sys.executable)' 2>/dev/null || true
    done | sort -n -u -k 1,1 | cut -d ' ' -f 2
}

# Makes the virtual environment $1 of the Python in $2, with the packages that follow.
venv() {
    local folder="$work/$1" python=$2
    shift 2
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/pip" install "$@"
}

mapfile -t all < <(pythons)
[ "${#all[@]}" -gt 0 ] || fail "no Python from 3.10 on that has venv"
newest=${all[-1]}

venv build "$newest" 'maturin>=1.9,<2'
rm -rf "$work/wheels"
# What the command line was built of is not built again: .ci/run asks for the same features.
"$work/build/bin/maturin" build --quiet --release --locked --features beside-cli --compression-level 9 --manifest-path python/Cargo.toml --out "$work/wheels"
wheel=$(echo "$work"/wheels/*.whl)
bytes=$(stat -c %s "$wheel")
printf '%s, %s bytes\n' "${wheel##*/}" "$bytes"
[ "$bytes" -lt 6000000 ] || fail "the wheel is larger than 6 MB"

# From a folder where the sources are not: what is tested is what is in the wheel, the same for each Python. So all tests run
# with the newest, and with the others those of what a Python does differently: values, errors, calls, processes.
for python in "${all[@]}"; do
    more=() tests=(test_calls.py test_errors.py test_tables.py test_testbed.py test_travel.py)
    if [ "$python" = "$newest" ]; then
        more=(distributed duckdb mypy numpy polars pyarrow tqdm) tests=(.)
    fi
    venv test "$python" pytest "$wheel" "${more[@]}"
    "$work/test/bin/python" --version
    (cd "$work" && test/bin/python -m pytest -q -p no:cacheprovider --durations 5 "${tests[@]/#/$OLDPWD/python/tests/}")
done
(cd "$work" && test/bin/python -m mypy --strict --config-file "$OLDPWD/python/pyproject.toml" -p thalweg &&
    test/bin/python -m mypy.stubtest --mypy-config-file "$OLDPWD/python/pyproject.toml" thalweg)
