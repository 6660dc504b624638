#!/bin/sh
# demo.sh MLT: inspects and quantizes the models of samples/ into a fresh out/.
set -eu
cd "$(dirname "$0")/.."
mlt=$1
rm -rf out
mkdir out

show() { printf '\n$ mlt'; printf ' %s' "$@"; printf '\n'; }

for model in samples/LeafClassifier.mlpackage samples/SentenceEncoder.mlpackage; do
  name=$(basename "$model" .mlpackage)
  show inspect "$model"
  "$mlt" inspect "$model"
  show quantize "$model" -o "out/$name-int8.mlpackage"
  "$mlt" quantize "$model" -o "out/$name-int8.mlpackage" --report "out/$name-int8.json"
done

# The sums of the ledgers: the numbers that stand under "totals".
total() { sed -n "/\"totals\"/,/}/s/.*\"$2\": \([^,]*\).*/\1/p" "$1"; }

printf '\n%-18s %12s %12s %7s %12s %8s\n' \
  model 'before, B' 'after, B' ratio 'bits/weight' 'SNR, dB'
for ledger in out/*.json; do
  LC_ALL=C printf '%-18s %12d %12d %7.2f %12.2f %8.2f\n' "$(basename "$ledger" -int8.json)" \
    "$(total "$ledger" before_bytes)" "$(total "$ledger" after_bytes)" \
    "$(total "$ledger" ratio)" "$(total "$ledger" bits_per_parameter_after)" \
    "$(total "$ledger" snr_db)"
done
printf '\nThe quantized models and their ledgers (JSON) are in out/.\n'
