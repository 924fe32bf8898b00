#!/usr/bin/env bash
# Builds the images and prints what they take; fails where a mote takes more flash or RAM than it may.
set -euo pipefail
cd "$(dirname "$0")"
export FIRMWARE_TOOLS="${FIRMWARE_TOOLS:-$(./toolchain.sh)}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
./toolchain.sh cargo build --release --locked "$@"

most_flash=170000
most_ram=32000
status=0
for image in mote; do
    # Text has code, constants and the vector table; data is in flash as well.
    read -r text data bss < <(llvm-size "$CARGO_TARGET_DIR/thumbv7em-none-eabihf/release/$image" | awk 'NR == 2 { print $1, $2, $3 }')
    flash=$((text + data)) ram=$((data + bss))
    printf '%s: %s bytes of flash, %s of RAM without stack\n' "$image" "$flash" "$ram"
    if [ "$flash" -gt "$most_flash" ] || [ "$ram" -gt "$most_ram" ]; then
        printf 'sizes.sh: %s may take %s and %s\n' "$image" "$most_flash" "$most_ram" >&2
        status=1
    fi
done
exit "$status"
