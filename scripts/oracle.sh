#!/bin/sh
# oracle.sh: a virtual environment with coremltools in .oracle/venv.
set -eu
cd "$(dirname "$0")/.."
rm -rf .oracle/venv .oracle/ready
mkdir -p .oracle
python3 -m venv .oracle/venv
.oracle/venv/bin/python -m pip install --quiet --requirement scripts/requirements.txt
touch .oracle/ready
