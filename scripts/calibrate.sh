#!/bin/sh
# calibrate.sh EXECUTABLE SHARED: fits the cost model to SHARED/plan/published.tsv, writes its parameters
# and the table of errors in docs/plan.md.
set -eu

calibrate=$1
plan=$2/plan
out=Sources/ModelPlan/Resources/calibration.json
page=docs/plan.md
if [ ! -f "$plan/models.tar.xz" ]; then
  echo "calibrate: no models in $plan (set MLT_SHARED)" >&2
  exit 1
fi
work=.build/calibration
mkdir -p "$work/models"
tar xJf "$plan/models.tar.xz" -C "$work/models"
"$calibrate" "$plan/published.tsv" "$work/models" "$out" | tee "$work/table.md"
awk -v table="$work/table.md" '
  /<!-- calibration ends -->/ { inside = 0 }
  !inside { print }
  /<!-- calibration begins -->/ {
    inside = 1
    print ""
    while ((getline line < table) > 0) print line
    print ""
  }' "$page" >"$work/plan.md"
cp "$work/plan.md" "$page"
rm -rf "$work"
