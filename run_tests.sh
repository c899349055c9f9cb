#!/usr/bin/env bash
# Every check of the project: lint, Python tests, page tests. Makes what it needs, exits non-zero on any failure.
#
#   ./run_tests.sh               everything
#   ./run_tests.sh tests/engine  lint, and the Python tests under that path (pytest options work too)
#
# The page tests need Chromium, Node.js and npm (tests/pages/), where they are there Chromium's headless shell, Firefox
# and PulseAudio, the speech tests flite, the database tests PostgreSQL, those of the alert rules promtool (Debian:
# prometheus).
# Where apt-get and root are at hand they are installed; elsewhere they are named here and the tests that need them fail.
# SDKs of other services are tried too (tests/clients): they come from the indexes of Python and npm packages, at the
# first run alone. TEST_CLIENTS=off leaves them out.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(nproc 2>/dev/null || echo 2)} TOKENIZERS_PARALLELISM=false
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes run this code, and each would compile it again

has_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null; }

missing_packages() {
    command -v flite >/dev/null || echo flite
    has_chromium || echo chromium
    command -v node >/dev/null || echo nodejs
    command -v npm >/dev/null || echo npm
    command -v promtool >/dev/null || echo prometheus
    compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || echo postgresql
}

install_packages() {
    local packages
    packages=$(missing_packages | tr '\n' ' ')
    if [ -z "$packages" ]; then return; fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "==> Installing Debian packages: $packages"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq </dev/null
        # shellcheck disable=SC2086  # a list of names
        apt-get install -y -qq --no-install-recommends $packages </dev/null >/dev/null
    fi
    packages=$(missing_packages | tr '\n' ' ')
    if [ -n "$packages" ]; then
        echo "==> Missing, and the tests that need them will fail: $packages" >&2
    fi
}

# Not every distribution has them. Tests in Firefox are skipped where it is not there, and where there is no small
# Chromium the whole one serves.
install_if_there_is() {
    local name=$1 else=$2
    shift 2
    if command -v "$name" >/dev/null; then return; fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
            </dev/null >/dev/null 2>&1 || echo "==> $name could not be installed; $else" >&2
    fi
}

# Kernels are compiled by the oldest Triton that is served (tests/engine/compiler.py); where it cannot be had, by the locked one.
install_oldest_triton() {
    local lock=tests/engine/oldest/lock.txt folder=data/oldest_triton
    if cmp -s $lock $folder/lock.txt; then return; fi
    rm -rf $folder $folder.new
    mkdir -p $folder.new
    if .venv/bin/pip install -q --no-deps --no-compile --require-hashes --target $folder.new -r $lock </dev/null >/dev/null 2>&1; then
        cp $lock $folder.new/ && mv $folder.new $folder
    else
        echo "==> Triton of $lock could not be installed; kernels are compiled by the locked one" >&2
    fi
}

failed=()
check() {
    local name=$1
    shift
    echo "==> $name"
    "$@" </dev/null || failed+=("$name")
}

check_pages() {
    check "tools for the pages" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --prefix tests/pages
    check "node" node --test tests/frontend/
    [ ${#failed[@]} -eq 0 ]
}

install_packages
install_if_there_is firefox-esr "its tests are skipped" firefox-esr pulseaudio
install_if_there_is pulseaudio "tests in Firefox are skipped" pulseaudio
install_if_there_is chromium-headless-shell "the whole Chromium serves" chromium-headless-shell
# pip has one thread. The scripts of the pages, which need nothing of it, are checked meanwhile, and what it would compile
# file by file is compiled by all CPUs afterwards.
if [ $# -eq 0 ]; then
    said=$(mktemp)
    check_pages >"$said" 2>&1 &
    pages=$!
    trap 'kill $pages 2>/dev/null; rm -f "$said"' EXIT
fi
PIP_COMPILE=0 VOXFLEET_EXTRAS=test ./start_all.sh --install-only || exit 1
.venv/bin/python -m compileall -q -j 0 .venv/lib </dev/null >/dev/null 2>&1 &
compiled=$!
install_oldest_triton &
oldest=$!

check "ruff" .venv/bin/ruff check .
check "audit of the lock files" .venv/bin/python scripts/audit.py
check "links of the documentation" .venv/bin/sphinx-build -q -W --keep-going -c docs/site . data/site
# A test of processes or a browser may fail on a busy computer: it is tried once more, and named at the end. One that
# fails twice has failed. What took longest is said, too.
told=(--reruns 1 -rR --durations=25)
# Three processes for two cores, since tests of processes wait as much as they compute. Those of a file share a browser,
# a service or a port, so one process takes all of it; the files that may take longest come first (tests/conftest.py).
together=(-n "$(((OMP_NUM_THREADS * 3 + 1) / 2))" --dist loadfile --no-loadscope-reorder)

wait $compiled $oldest
if [ $# -eq 0 ]; then
    wait $pages || failed+=("pages")
    trap 'rm -f "$said"' EXIT
    cat "$said"
    if [ "${TEST_CLIENTS:-}" != off ]; then
        # Beside the other tests; what fails is said when they are tried.
        nice .venv/bin/python -m tests.clients.install </dev/null >/dev/null 2>&1 &
    fi
    check "pytest" env OMP_NUM_THREADS=1 .venv/bin/python -m pytest -q "${together[@]}" "${told[@]}"
else
    check "pytest" .venv/bin/python -m pytest -q "$@"
fi

if [ ${#failed[@]} -gt 0 ]; then
    echo "==> FAILED: ${failed[*]}" >&2
    exit 1
fi
echo "==> All passed"
