#!/usr/bin/env bash
# From a fresh clone to a speaking server, on a machine with nothing but Python 3.11 or newer.
#
#   ./start_all.sh [options of `voxfleet serve`]     install if needed, then serve
#   ./start_all.sh --install-only                    install, then stop
#
# VOXFLEET_PYTHON       the Python to use                       (default: the first one found, 3.11 or newer)
# VOXFLEET_EXTRAS       optional extras to install, like `test` (default: none)
# VOXFLEET_TORCH_INDEX  a mirror of PyTorch's CPU builds        (default: PyTorch's own index)
#
# Packages are those of the lock files in locks/; scripts/install_packages.py finds the build of PyTorch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

VENV=.venv
STAMP=$VENV/.voxfleet-installed
NEEDED_MIB_CPU=2500
NEEDED_MIB_CUDA=9000

say()  { printf '\033[1m==>\033[0m %s\n' "$*"; }
fail() { printf 'start_all.sh: %s\n' "$*" >&2; exit 1; }

has_gpu() { [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${VOXFLEET_PYTHON:-python3.12 python3.11 python3.13 python3.14 python3 python}; do
        if command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    local found where=${VOXFLEET_PYTHON:+" in VOXFLEET_PYTHON=$VOXFLEET_PYTHON"}
    found=$(python3 --version 2>&1 || true)
    fail "no Python 3.11 or newer found$where (python3 is: ${found:-absent}).
  Debian 12, Ubuntu 24.04:  sudo apt-get install python3 python3-venv
  macOS:                    brew install python@3.12
  or set VOXFLEET_PYTHON to one that is installed elsewhere."
}

check_disk() {
    local needed=$NEEDED_MIB_CPU free
    if has_gpu; then needed=$NEEDED_MIB_CUDA; fi
    free=$(df -Pm . | awk 'NR == 2 {print $4}')
    if [ "$free" -lt "$needed" ]; then
        fail "about $needed MiB of disk are needed here for PyTorch and the other packages, $free MiB are free."
    fi
}

make_venv() {
    if [ -x $VENV/bin/python ] && is_new_enough $VENV/bin/python; then return; fi
    if [ -e $VENV ]; then
        fail "$PWD/$VENV is there but has no working Python 3.11 or newer: remove it and run this again."
    fi
    local python
    python=$(find_python)
    say "Making $VENV with $("$python" --version) ($python)"
    if ! "$python" -m venv $VENV; then
        rm -rf $VENV
        fail "$python cannot make a virtual environment.
  Debian and Ubuntu keep that part in its own package:  sudo apt-get install python3-venv"
    fi
}

fingerprint() { cat pyproject.toml locks/*.txt | cksum | tr -d ' '; }

# A folder that was moved or copied has programs that start what is, or was, in the old place.
is_of_this_folder() { head -n 3 $VENV/bin/voxfleet | grep -qF "$(pwd -P)/$VENV/bin/"; }

# Installing into a link to another folder's environment would have that folder's programs run the code of this one.
check_link() {
    local owner
    if [ ! -L $VENV ] || [ ! -f $VENV/bin/voxfleet ] || is_of_this_folder; then return; fi
    owner=$(head -n 3 $VENV/bin/voxfleet | grep -oE -m 1 "/[^ ]*/$VENV/bin/python" || true)
    if [ -n "$owner" ] && [ -x "$owner" ]; then
        fail "$PWD/$VENV is a link to the environment of ${owner%/"$VENV"/*}, which would run the code of this
  folder after an installation: remove the link and run this again."
    fi
}

check_extras() {
    local wanted known
    known=$(sed -n '/^\[project.optional-dep/,/^\[project.scripts/s/^\([a-z]*\) = \[.*/\1/p' pyproject.toml)
    for wanted in ${VOXFLEET_EXTRAS//,/ }; do
        grep -qxF -- "$wanted" <<<"$known" ||
            fail "VOXFLEET_EXTRAS=$VOXFLEET_EXTRAS: there is no extra '$wanted', but ${known//$'\n'/, }."
    done
}

# The stamp holds a fingerprint and the extras that came with it; one with more extras serves too.
is_installed() {
    [ -f $STAMP ] && [ -x $VENV/bin/voxfleet ] || return 1
    is_of_this_folder || return 1
    local print extras wanted
    { read -r print && read -r extras; } <$STAMP || true
    [ "$print" = "$(fingerprint)" ] || return 1
    for wanted in ${VOXFLEET_EXTRAS//,/ }; do
        [[ ",$extras," == *",$wanted,"* ]] || return 1
    done
}

install() {
    check_disk
    say "Installing${VOXFLEET_EXTRAS:+ with extras $VOXFLEET_EXTRAS}"
    "$VENV/bin/python" scripts/install_packages.py --venv $VENV --extras "${VOXFLEET_EXTRAS:-}" || exit 1
    printf '%s\n%s\n' "$(fingerprint)" "${VOXFLEET_EXTRAS:-}" >$STAMP
}

install_only=no
if [ "${1:-}" = --install-only ]; then
    install_only=yes
    shift
fi
VOXFLEET_EXTRAS=${VOXFLEET_EXTRAS:-}

check_extras
check_link
make_venv
if is_installed; then
    say "Installed already (pyproject.toml and the lock files are unchanged)"
else
    install
    say "Installed"
fi
if [ $install_only = yes ]; then exit 0; fi
exec $VENV/bin/voxfleet serve "$@"
