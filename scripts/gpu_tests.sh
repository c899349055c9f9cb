#!/usr/bin/env bash
# Everything that needs a GPU: its tests, the accuracy of bf16, and a short benchmark. Exits non-zero on any failure.
#
#   scripts/gpu_tests.sh                      all parts; the output goes to benchmarks/results/gpu_tests.txt too
#   scripts/gpu_tests.sh tests accuracy       some of: attention tests accuracy benchmark devices resume chaos; added
#                                             to that file
#
# devices: a second GPU, two for one model or in a pool, and one that is lost. resume: what prompts and resumed clips
# cost. chaos: workers lose their GPUs in mid-sentence, behind a gateway; it needs the service's packages. These three
# run when they are named.
#
# It installs nothing, so that it runs on a machine without a network: torch with CUDA, Triton, numpy, safetensors,
# sentencex, tokenizers, jinja2, pydantic, tqdm and xxhash must be there, and pytest (with pluggy, iniconfig and packaging) for the
# tests, transformers for those of text models. A test says why it is skipped where an optional package is missing:
#
#   av, soundfile, soxr         the bundled voice, whose recording is a FLAC file of another sample rate
#   fastapi, httpx, structlog, uvicorn, websockets, PyYAML, and those two: a worker process
#   flash-attn                  attention by it
#   the published package, and what it imports: a comparison with it (benchmarks/shared/published.py puts it
#                               into benchmarks/.published elsewhere)
#
# PYTHON names the interpreter; without it, it is that of .venv where there is one, else python3. GPU_TESTS_DEVICE=cpu
# shows on a CPU that the script works, and nothing more.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-}
if [ -z "$python" ]; then
    if [ -x .venv/bin/python ]; then python=.venv/bin/python; else python=python3; fi
fi
device=${GPU_TESTS_DEVICE:-cuda}
output=${GPU_TESTS_OUTPUT:-benchmarks/results/gpu_tests.txt}
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false

absent() {
    "$python" - "$@" <<'PYTHON'
import importlib.util
import sys

print(" ".join(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))
PYTHON
}

missing=$(absent torch numpy safetensors sentencex tokenizers jinja2 pydantic tqdm xxhash triton)
if [ -n "$missing" ]; then
    echo "missing in $python: $missing" >&2
    exit 2
fi
if [ "${device%%:*}" = cuda ]; then
    unset TRITON_INTERPRET
    shape=${GPU_TESTS_SHAPE:-voxcpm2}
    "$python" -c 'from benchmarks.gpu.device import device_of; device_of("'"$device"'")' || exit 2
else
    export TRITON_INTERPRET=1
    shape=tiny
fi

about() {
    "$python" - <<'PYTHON'
import platform
import torch

name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
print(f"{name}, Python {platform.python_version()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
PYTHON
}

run_attention() { "$python" -m pytest -q -rs --confcutdir=tests/gpu tests/gpu/test_attention.py; }
run_tests() {
    "$python" -m pytest -q -rs --confcutdir=tests/gpu --durations=10 tests/gpu --ignore=tests/gpu/test_attention.py \
        --ignore=tests/gpu/devices
}
run_devices() {
    "$python" -m pytest -q -rs --confcutdir=tests/gpu --durations=5 tests/gpu/devices
}
run_resume() { "$python" -m benchmarks.gpu.resume --device "$device" --shape "$shape"; }
run_chaos() {
    devices=(--device "$device")
    if [ "$device" = cuda ]; then devices=(--device cuda:0 --device "cuda:$(("$(gpus)" - 1))"); fi
    "$python" -m benchmarks.chaos --scenario lost "${devices[@]}"
}
gpus() { "$python" -c 'import torch; print(torch.cuda.device_count())'; }
run_accuracy() { "$python" -m benchmarks.gpu.accuracy --device "$device" --shape "$shape" --no-save; }
run_benchmark() {
    "$python" -m benchmarks.gpu concurrency --device "$device" --shape "$shape" --no-save \
        --streams 1,4 --texts short --patches 12
}

failed=()
part() {
    echo "==> $1: $(date -u +%FT%TZ)"
    "run_$1" </dev/null || failed+=("$1")
}

everything() {
    local unavailable
    about
    unavailable=$(absent einops transformers huggingface_hub)
    if [ -n "$unavailable" ]; then echo "the published package cannot be imported without: $unavailable"; fi
    for name in "$@"; do
        case $name in
            attention | tests | devices)
                if [ -n "$(absent pytest)" ]; then
                    echo "==> $name: pytest is missing; wheels needed: pytest, pluggy, iniconfig, packaging, pygments"
                    failed+=("$name")
                    continue
                fi ;;
            accuracy | benchmark | resume | chaos) ;;
            *) echo "no such part: $name"; failed+=("$name"); continue ;;
        esac
        part "$name"
    done
    if [ ${#failed[@]} -gt 0 ]; then
        echo "==> FAILED: ${failed[*]}"
        return 1
    fi
    echo "==> All passed"
}

mkdir -p "$(dirname "$output")"
if [ $# -eq 0 ]; then
    everything attention tests accuracy benchmark 2>&1 | tee "$output"
else
    everything "$@" 2>&1 | tee -a "$output"
fi
exit "${PIPESTATUS[0]}"
