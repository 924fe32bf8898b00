#!/usr/bin/env bash
# A program that needs no library of its machine: the C library is within. Needs Rust and a C compiler; makes INTO/thalweg-static.
#
#     .ci/static.sh target
set -euo pipefail
cd "$(dirname "$0")/.."
into=${1:?where to}
cargo rustc --release -p thalweg-cli --bin thalweg -- -C target-feature=+crt-static
mkdir -p "$into"
program=$into/thalweg-static
# `target/release/thalweg` would be this one, too.
mv "${CARGO_TARGET_DIR:-target}/release/thalweg" "$program"
strip --strip-unneeded "$program"
# It says itself what it would need.
if readelf -d "$program" | grep -q NEEDED; then
    echo "$program needs libraries" >&2
    exit 1
fi
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
cp "$program" "$empty/thalweg"
if [ "$(id -u)" = 0 ]; then
    chroot "$empty" /thalweg --version
else
    "$empty/thalweg" --version
fi
