#!/usr/bin/env bash
# A Debian package of the gateway, with its unit and an example of its configuration. Needs dpkg-deb and a release build.
#
#     .ci/deb.sh target/release/thalweg target
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1 into=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
machine=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

install -D -m 755 "$program" "$root/usr/bin/thalweg"
strip --strip-unneeded "$root/usr/bin/thalweg"
install -D -m 644 docs/examples/gateway.toml "$root/usr/share/doc/thalweg/examples/gateway.toml"
install -D -m 644 docs/examples/grafana.json "$root/usr/share/doc/thalweg/examples/grafana.json"
install -D -m 644 LICENSE-MIT "$root/usr/share/doc/thalweg/copyright"
printf '\n' >>"$root/usr/share/doc/thalweg/copyright"
cat LICENSE-APACHE >>"$root/usr/share/doc/thalweg/copyright"
# Everybody may read it: the token is a credential of systemd's.
install -D -m 644 docs/examples/gateway.toml "$root/etc/thalweg/gateway.toml"
install -d "$root/usr/lib/systemd/system"
sed -e 1d -e 's|/usr/local/bin|/usr/bin|' docs/examples/thalweg-gateway.service >"$root/usr/lib/systemd/system/thalweg-gateway.service"

# What of the C library it needs, by the symbols that it uses.
libc=$(objdump -T "$program" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
mkdir -p "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: thalweg
Version: $version
Architecture: $machine
Maintainer: Thalweg's authors <thalweg@localhost>
Depends: libc6 (>= $libc), libgcc-s1
Section: net
Priority: optional
Installed-Size: $(du -k -s "$root/usr" | cut -f 1)
Description: bulk data out of wireless sensor networks
 A gateway beside a base station that fetches recordings from battery-powered
 IEEE 802.15.4 nodes, with a page, an API and MQTT; and the tools to plan,
 simulate and judge such transfers.
CONTROL
# A static program needs none.
[ -n "$libc" ] || sed -i /^Depends:/d "$root/DEBIAN/control"
printf '/etc/thalweg/gateway.toml\n' >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    # An upgrade begins what ran again; a first installation leaves it to whoever edits the configuration.
    [ -z "$2" ] || systemctl try-restart thalweg-gateway.service || true
fi
SCRIPT
cat >"$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now thalweg-gateway.service || true
fi
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
mkdir -p "$into"
chmod 755 "$root"
dpkg-deb --root-owner-group -Zxz -z3 --build "$root" "$into/thalweg_${version}_$machine.deb"
