#!/usr/bin/env bash
# Builds the images into firmware/images and prints what they take; fails where a mote takes more flash or RAM than it may.
set -euo pipefail
cd "$(dirname "$0")"
export FIRMWARE_TOOLS="${FIRMWARE_TOOLS:-$(./toolchain.sh)}"
export CARGO_TARGET_DIR="${FIRMWARE_TARGET:-$PWD/target}"
./toolchain.sh cargo build --release --locked "$@"

mkdir -p images
for image in mote station; do
    cp "$CARGO_TARGET_DIR/thumbv7em-none-eabihf/release/$image" "images/$image.elf"
done
python3 - images <<'PYTHON'
import struct, sys

# Bytes of flash, and of RAM without stack.
MOST = {"mote": (170_000, 32_000), "station": (196_608, 131_072)}
over = []
for name, most in MOST.items():
    file = open(f"{sys.argv[1]}/{name}.elf", "rb").read()
    at, = struct.unpack_from("<I", file, 28)
    count, = struct.unpack_from("<H", file, 44)
    flash = ram = 0
    for header in range(count):
        kind, _, virtual, physical, stored, occupied = struct.unpack_from("<6I", file, at + 32 * header)
        if kind != 1:
            continue
        if physical < 0x2000_0000:
            flash += stored
        if 0x2000_0000 <= virtual < 0x2004_0000:
            ram += occupied
    print(f"{name}: {flash} bytes of flash, {ram} of RAM without stack")
    over += [name] if flash > most[0] or ram > most[1] else []
for name in over:
    print(f"images.sh: {name} may take {MOST[name][0]} and {MOST[name][1]}", file=sys.stderr)
sys.exit(bool(over))
PYTHON
