#!/usr/bin/env bash
# Tries the SDKs and plugins of other services against a gateway. They are installed once, into a cache folder.
# Usage: tests/clients/run.sh [arguments for pytest]; PYTHON is the interpreter with VoxFleet's packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python="${PYTHON:-.venv/bin/python}"
sum=$("$python" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()[:12])' \
    tests/clients/requirements.txt)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/voxfleet/clients-$sum"
if [[ ! -e "$folder/complete" ]]; then
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/clients/requirements.txt
    touch "$folder/complete"
fi
CLIENTS_PYTHON="$folder/bin/python" exec "$python" -m pytest tests/clients "$@"
