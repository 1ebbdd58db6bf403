#!/usr/bin/env bash
# Makes the root file system of an image laid out as Docker Official's python:3.13-slim is: Debian trixie with CPython in
# /usr/local, compiled from Debian's source package without Debian's patches, with pip, and no user.
# Usage: official-python.sh OUT.tar
# It is compiled inside a Debian trixie too, so that nothing is installed on this machine and the libraries are the image's.
# Official's is optimised with a profile and at link time, which takes ten times as long; tests of CPython are left out.
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

cat >"$work/compile.sh" <<'COMPILE'
set -eu
export LC_ALL=C.UTF-8
sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/source.list
apt-get update -q
mkdir /build && cd /build
apt-get source -q --download-only -o APT::Sandbox::User=root python3.13
dpkg-source --no-check --skip-patches --extract python3.13_*.dsc source
cd source
./configure -q --build="$(dpkg-architecture --query DEB_BUILD_GNU_TYPE)" --enable-shared --enable-loadable-sqlite-extensions \
  --enable-option-checking=fatal --disable-test-modules --with-ensurepip=install \
  OPT='-DNDEBUG -fwrapv -O1'
make -s -j"$(nproc)" LDFLAGS=-Wl,--strip-all
# The interpreter finds its own library, never one of the same version elsewhere.
rm python
make -s LDFLAGS="-Wl,--strip-all,-rpath='\$\$ORIGIN/../lib'" python
make -s install DESTDIR=/built
cd /built/usr/local
find . -depth \( -type f -a \( -name '*.pyc' -o -name 'libpython*.a' \) \) -delete
for name in idle3 pip3 pydoc3 python3 python3-config; do ln -s "$name" "bin/${name%3*}${name#*3}"; done
# The packages that own the libraries which the modules need, as Official finds them.
find . -type f \( -name '*.so*' -o -path './bin/python3.13' \) -exec ldd {} + |
  sed -n 's/.*=> \(\/usr\)\?\(\/lib[^ ]*\) .*/*\2/p' | sort -u | xargs dpkg-query --search | sed '/^diversion by /d; s/:.*//' | sort -u |
  paste -sd, >/packages
tar --sort=name --owner=0 --group=0 --mtime=@"$SOURCE_DATE_EPOCH" -C /built -cf /python.tar usr
COMPILE

# The hooks are for mmdebstrap's own shell, which knows the new root as $1.
# shellcheck disable=SC2016
"$tools/debian-root.sh" /dev/null \
  ca-certificates,dpkg-dev,gcc,libbz2-dev,libc6-dev,libffi-dev,libgdbm-dev,liblzma-dev,libncurses-dev,libreadline-dev,libsqlite3-dev,libssl-dev,make,pkgconf,uuid-dev,xz-utils,zlib1g-dev \
  --format=null \
  --customize-hook="upload '$work/compile.sh' /compile.sh" \
  --customize-hook='chroot "$1" sh /compile.sh' \
  --customize-hook="download /python.tar '$work/python.tar'" \
  --customize-hook="download /packages '$work/packages'"

# shellcheck disable=SC2016
"$tools/debian-root.sh" "$out" "ca-certificates,netbase,tzdata,$(cat "$work/packages")" \
  --customize-hook="tar-in '$work/python.tar' /" \
  --customize-hook='chroot "$1" ldconfig' \
  --customize-hook='chroot "$1" env PYTHONDONTWRITEBYTECODE=1 /usr/local/bin/python -c "import bz2, ctypes, lzma, readline, sqlite3, ssl, uuid, zlib"' \
  --customize-hook='chroot "$1" env PYTHONDONTWRITEBYTECODE=1 /usr/local/bin/pip --version'
