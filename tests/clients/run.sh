#!/usr/bin/env bash
# Tries the SDKs and plugins of other services against a gateway. They are installed once, into a cache folder; those
# for JavaScript where there is npm.
# Usage: tests/clients/run.sh [arguments for pytest]; PYTHON is the interpreter with VoxFleet's packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python="${PYTHON:-.venv/bin/python}"
sum=$(cat tests/clients/requirements.txt tests/clients/package.json |
    "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:12])')
folder="${XDG_CACHE_HOME:-$HOME/.cache}/voxfleet/clients-$sum"
if [[ ! -e "$folder/complete" ]]; then
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/clients/requirements.txt
    if command -v npm > /dev/null; then
        cp tests/clients/package.json "$folder"
        npm install --prefix "$folder" --no-audit --no-fund --loglevel=error
    fi
    touch "$folder/complete"
fi
CLIENTS_FOLDER="$folder" exec "$python" -m pytest tests/clients "$@"
