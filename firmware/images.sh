#!/usr/bin/env bash
# Builds the images into firmware/images, for boards without a boot loader and, in folders of its names, for those with
# one. Prints what they take; fails where a mote takes more flash or RAM than it may.
#
#   firmware/images.sh                          all
#   firmware/images.sh none|dongle|uf2|uf2-s7   those beside this boot loader
set -euo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- none dongle uf2 uf2-s7
for loader in "$@"; do
    case $loader in
        none | dongle | uf2 | uf2-s7) ;;
        *) echo "images.sh: $loader: wanted none, dongle, uf2 or uf2-s7" >&2; exit 1 ;;
    esac
done
export FIRMWARE_TOOLS="${FIRMWARE_TOOLS:-$(./toolchain.sh)}"
export CARGO_TARGET_DIR="${FIRMWARE_TARGET:-$PWD/target}"

folders=()
for loader in "$@"; do
    features=() folder=images
    [ "$loader" = none ] || features=(--features "$loader") folder=images/$loader
    folders+=("$folder")
    ./toolchain.sh cargo build --release --locked --bins --examples "${features[@]}"
    mkdir -p "$folder"
    for image in mote station selftest examples/vibration; do
        cp "$CARGO_TARGET_DIR/thumbv7em-none-eabihf/release/$image" "$folder/$(basename "$image").elf"
    done
done
python3 - "${folders[@]}" <<'PYTHON'
import struct, sys

# Bytes of flash, and of RAM without stack.
MOST = {"mote": (186_000, 20_500), "station": (212_992, 131_072), "selftest": (32_768, 8_192), "vibration": (186_000, 27_000)}
over = []
for path, name in [(f"{folder}/{name}.elf", name) for folder in sys.argv[1:] for name in MOST]:
    file = open(path, "rb").read()
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
    print(f"{path}: {flash} bytes of flash, {ram} of RAM without stack")
    if flash > MOST[name][0] or ram > MOST[name][1]:
        over.append(path)
        print(f"images.sh: {path} may take {MOST[name][0]} and {MOST[name][1]}", file=sys.stderr)
sys.exit(bool(over))
PYTHON
