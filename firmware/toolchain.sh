#!/usr/bin/env bash
# A Rust that builds core for a Cortex-M4, from Debian's packages: unpacked and not installed, since
# they conflict with a Rust that is there. rustup's toolchains have no source of core, and their
# compiler does not take another version's.
#
#   firmware/toolchain.sh            prints the folder that it is in; fetches it where it is missing
#   firmware/toolchain.sh COMMAND    runs a command with it, such as `cargo build --release`
#
# FIRMWARE_TOOLS says where it goes; the target folder otherwise. Needs Debian 12 with its security archive
# and rustup's rust-lld or Debian's lld, 137 MB of network and no root.
set -euo pipefail

tools() {
    local target=${CARGO_TARGET_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/target}
    local root=${FIRMWARE_TOOLS:-$target/rust-firmware} version package
    if [ ! -e "$root/complete" ]; then
        apt-get update -qq >&2 || true
        version=$(apt-cache madison rustc-web | awk '$3 ~ /^1\.96\./ { print $3; exit }')
        [ -n "$version" ] || { echo "toolchain.sh: Debian has no rustc-web 1.96 here" >&2; return 1; }
        rm -rf "$root" && mkdir -p "$root/packages"
        (cd "$root/packages" && apt-get download -qq "rustc-web=$version" "libstd-rust-web-dev=$version" \
            "libstd-rust-web-1.96=$version" "rust-web-src=$version" libllvm22) >&2 || return 1
        for package in "$root"/packages/*.deb; do
            dpkg-deb -x "$package" "$root" || return 1
        done
        rm -rf "$root/packages"
        touch "$root/complete"
    fi
    printf '%s\n' "$root"
}

root=$(tools)
if [ $# -eq 0 ]; then
    printf '%s\n' "$root"
    exit
fi
linker=$(find "${RUSTUP_HOME:-$HOME/.rustup}/toolchains" -name rust-lld -type f 2>/dev/null | sort | tail -n 1)
linker=${linker:-$(command -v ld.lld || true)}
[ -n "$linker" ] || { echo "toolchain.sh: neither rustup's rust-lld nor ld.lld (Debian's lld) is here" >&2; exit 1; }
driver=$(find "$root/usr/lib" -name 'librustc_driver-*.so' | head -n 1)
# An image names the files of its panics: without the folders above them, it takes as much wherever it is built.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
crates=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*)
flags="--remap-path-prefix=$here/= --remap-path-prefix=${crates%% *}/= --remap-path-prefix=$root/usr/lib/rustlib/src/rust/="
# The path of libraries is for this command alone: the host's programs do not start with it.
LD_LIBRARY_PATH=$(dirname "$driver") RUSTC="$root/usr/bin/rustc" RUSTC_BOOTSTRAP=1 \
    CARGO_TARGET_THUMBV7EM_NONE_EABIHF_RUSTFLAGS=$flags \
    CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=$linker exec "$@"
