#!/usr/bin/env bash
# A program that needs no library of its machine: the C library is within. Needs Rust and a C compiler; makes INTO/thalweg-static, and
# as root tries it in an empty folder. Further arguments are cargo's.
#
#     .ci/static.sh target
set -euo pipefail
cd "$(dirname "$0")/.."
into=${1:?where to}
shift
built=${CARGO_TARGET_DIR:-target}/release/thalweg
cargo rustc --release --locked --package thalweg-cli --bin thalweg "$@" -- -C target-feature=+crt-static
mkdir -p "$into"
program=$into/thalweg-static
cp "$built" "$program"
# Else it would be taken for the one that needs libraries.
rm "$built"
strip --strip-unneeded "$program"
if readelf --dynamic --program-headers "$program" | grep -E 'NEEDED|INTERP'; then
    echo "$program needs what its machine may lack" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    "$program" --version
    exit
fi
empty=$(mktemp -d)
gateway=
trap '[ -z "$gateway" ] || kill "$gateway"; rm -rf "$empty"' EXIT
cp "$program" "$empty/thalweg"
chroot "$empty" /thalweg --version
chroot "$empty" /thalweg collect --testbed pair --bytes 2000 --out /data --json | grep -o '"verified":true' >/dev/null
chroot "$empty" /thalweg gateway --testbed pair --data /data --listen 127.0.0.1:0 2>"$empty/told" &
gateway=$!
for _ in $(seq 100); do
    page=$(sed -n 's|.*\(http://127[^ ]*/\).*|\1|p' "$empty/told")
    [ -z "$page" ] || break
    sleep 0.1
done
python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1] + "healthz", timeout=10).read().decode())' "$page"
