#!/bin/sh
# schemas.sh write|check: the C of Sources/CModelSchemas from schemas/*.proto.
set -eu
cd "$(dirname "$0")/.."
target=Sources/CModelSchemas
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

mkdir "$made/include"
protoc-c -I schemas -I /usr/include --c_out="$made" schemas/*.proto
mv "$made"/*.h "$made/include"
{
  echo "// All schemas."
  for header in "$made"/include/*.pb-c.h; do echo "#include \"${header##*/}\""; done | LC_ALL=C sort
} >"$made/include/CModelSchemas.h"

case "${1:-}" in
write)
  rm -rf "$target"
  cp -r "$made" "$target"
  chmod 755 "$target"
  ;;
check)
  if ! diff -r -q "$made" "$target"; then
    echo "schemas: $target is not what schemas/ gives; run make schemas" >&2
    exit 1
  fi
  ;;
*)
  echo "usage: schemas.sh write|check" >&2
  exit 64
  ;;
esac
