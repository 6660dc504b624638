#!/bin/sh
# setup.sh build|schemas|python…: sees to the system packages that the jobs need.
# Installs with apt what is missing; does nothing when all is there.
set -eu

say() { printf '%s\n' "$*" >&2; }

packages=
need() { # need PACKAGE COMMAND…: the package when the command fails
  package=$1
  shift
  "$@" >/dev/null 2>&1 || packages="$packages $package"
}

need_swift() {
  command -v swift >/dev/null 2>&1 && return
  say "setup: the Swift toolchain (tested with 6.3) is not on PATH"
  exit 1
}

# Headers are looked for where the C compiler of the toolchain finds them.
header() { echo "#include <$1>" | clang -E -x c - ; }

for job in "${@:-}"; do
  case "$job" in
  build)
    need_swift
    need pkg-config command -v pkg-config
    need libzip-dev pkg-config --exists libzip
    need libssl-dev pkg-config --exists libcrypto
    need libyaml-dev pkg-config --exists yaml-0.1
    need libprotobuf-c-dev header protobuf-c/protobuf-c.h
    need zlib1g-dev header zlib.h
    ;;
  schemas)
    need protobuf-c-compiler command -v protoc-c
    need libprotobuf-c-dev test -f /usr/include/protobuf-c/protobuf-c.proto
    need libprotobuf-dev test -f /usr/include/google/protobuf/descriptor.proto
    ;;
  python)
    need python3 command -v python3
    need python3-venv python3 -c 'import venv, ensurepip'
    ;;
  *)
    say "usage: setup.sh build|schemas|python"
    exit 64
    ;;
  esac
done

[ -n "$packages" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  say "setup: missing:$packages (Debian names)"
  say "setup: this machine has no apt; install them with its own package manager and run again"
  exit 1
fi
root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    say "setup: missing:$packages; as root: apt-get install$packages"
    exit 1
  fi
  root=sudo
fi
say "setup: installing$packages"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086
$root apt-get install -y -qq --no-install-recommends $packages >/dev/null
