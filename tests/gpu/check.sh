#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks kernels, backend and speed on this machine's NVIDIA GPU: one command, parts of under five
# minutes together on a current card.
#   tests/gpu/check.sh [--build FOLDER] [--out FOLDER] [--skip PART]..
# --build: a tree that was configured with HOKKU_BUILD_CUDA and HOKKU_BUILD_TESTS and built; without
# it one is made in build/gpu (nvcc of CUDA 13 needed). Parts, in order: primitives, kernels, models,
# sanitizer, speed. Writes OUT/check.json and prints a table. Exit code 1 where a part failed.
set -uo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
build="" out=$root/build/gpu-check skip=" "
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --skip) skip+="$2 "; shift 2 ;;
    *) sed -n '3,9p' "$0" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
: > "$out/results.txt"
failed=0

# part NAME COMMAND..: runs it, keeps its output, notes seconds and outcome.
part() {
    local name=$1; shift
    case $skip in *" $name "*) echo "$name skipped 0" >> "$out/results.txt"; return 0 ;; esac
    local start=$SECONDS outcome=passed
    echo "== $name"
    if ! "$@" > "$out/$name.log" 2>&1; then
        outcome=failed failed=1
        tail -25 "$out/$name.log"
    fi
    echo "$name $outcome $((SECONDS - start))" | tee -a "$out/results.txt"
}

if [ -z "$build" ]; then
    build=$root/build/gpu
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOKKU_BUILD_CUDA=ON \
        -DHOKKU_BUILD_TESTS=ON -DHOKKU_BUILD_DESKTOP=OFF > "$out/configure.log" &&
        cmake --build "$build" -t hokku hokku_cuda hokku_device_kernels test_cuda \
            test_cuda_backend make_synthetic_model > "$out/build.log" 2>&1 ||
        { tail -25 "$out/build.log"; exit 1; }
fi
bin=$build/bin
images=$(printf '%s:' "$build"/cuda/kernels/*.fatbin)
images=${images%:}
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,memory.total \
    --format=csv > "$out/card.csv" 2>&1
cat "$out/card.csv"
"$bin/hokku" devices

# The primitives as the emulator has them, then every kernel, on the device.
part primitives env HOKKU_GPU_TEST_IMAGES="$images" "$bin/test_cuda" "Primitives*"
part kernels env HOKKU_GPU_TEST_IMAGES="$images" "$bin/test_cuda" \
    "~Primitives*" "~Emulator*" "~Fake*" "~cuBLAS*"
part models env HOKKU_GPU_TEST_IMAGES="$images" "$bin/test_cuda_backend"
sanitizer() {
    command -v compute-sanitizer > /dev/null || { echo "compute-sanitizer is not installed"; return 0; }
    local tool
    for tool in memcheck racecheck; do
        HOKKU_GPU_TEST_IMAGES=$images compute-sanitizer --tool $tool --error-exitcode 1 \
            "$bin/test_cuda_backend" "CUDA backend: a trace*" || return 1
    done
}
part sanitizer sanitizer

speed() {
    local shape
    for shape in qwen2.5-0.5b llama-3.2-1b llama-3.1-8b; do
        local file=$out/$shape.gguf
        [ -f "$file" ] || "$bin/make_synthetic_model" "$shape" "$file" || return 1
        "$bin/hokku" bench -m "$file" --device cuda -p 512 -n 128 -r 3 --json \
            > "$out/$shape.json" || return 1
        # Whether one launch for a token pays; the large one is not made for it.
        [ "$shape" = llama-3.1-8b ] || HOKKU_CUDA_PERSISTENT=1 "$bin/hokku" bench -m "$file" \
            --device cuda -p 512 -n 128 -r 3 --json > "$out/$shape-persistent.json" || return 1
    done
}
part speed speed

python3 - "$out" <<'EOF'
import csv, json, pathlib, sys
out = pathlib.Path(sys.argv[1])
parts = [line.split() for line in (out / "results.txt").read_text().splitlines()]
result = {"card": (out / "card.csv").read_text().splitlines(),
          "parts": [{"name": n, "outcome": o, "seconds": int(s)} for n, o, s in parts],
          "speed": {}}
print(f"{'model':24} {'decode tok/s':>12} {'GB/s':>8} {'prefill tok/s':>14}")
for shape in ("qwen2.5-0.5b", "qwen2.5-0.5b-persistent", "llama-3.2-1b",
              "llama-3.2-1b-persistent", "llama-3.1-8b"):
    path = out / (shape + ".json")
    try:
        bench = json.loads(path.read_text())
    except (OSError, ValueError):
        continue
    result["speed"][shape] = bench
    rate = bench.get("decode_tok_s", 0)
    print(f"{shape:24} {rate:12.1f} {rate * bench.get('bytes_per_token', 0) / 1e9:8.1f}"
          f" {bench.get('prefill_tok_s', 0):14.1f}")
(out / "check.json").write_text(json.dumps(result, indent=1) + "\n")
print("written:", out / "check.json")
EOF
exit $failed
