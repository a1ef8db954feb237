#!/usr/bin/env bash
# Holds dry run and estimate against one GPU: benchmarks/gpu_truth.sh [OUT.json]
#
# On a machine without network: WHEELS names a folder of wheels (deepspeed, transformers and what they need, built
# elsewhere: pip wheel --wheel-dir wheels 'deepspeed==0.19.8' 'transformers==5.24.0'); what is not installed is taken from it.
# PYTHON is the interpreter (default: python3), SECONDS_LIMIT the time after which no further plan starts (default: 420).
set -euo pipefail

cd "$(dirname "$0")/.."
out=${1:-gpu_truth.json}
python=${PYTHON:-python3}
limit=${SECONDS_LIMIT:-420}

export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"

missing=()
for package in typer rich pydantic yaml transformers deepspeed; do
  "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$package') is None)" || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  names=("${missing[@]/#yaml/pyyaml}")
  if [ -n "${WHEELS:-}" ]; then
    "$python" -m pip install --quiet --no-index --find-links "$WHEELS" "${names[@]}" >&2
  else
    echo "error: ${missing[*]} not installed" >&2
    echo "hint: pip install 'zplan[deepspeed]', or WHEELS=FOLDER $0" >&2
    exit 5
  fi
fi

exec "$python" benchmarks/gpu_truth.py --seconds "$limit" --out "$out"
