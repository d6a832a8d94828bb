#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks kernels, backend and speed on this machine's NVIDIA GPU: one command, parts of under five
# minutes together.
#   tests/gpu/check.sh [--build FOLDER] [--out FOLDER] [--skip PART]..
#   tests/gpu/check.sh --pack FILE [--build FOLDER]
# --build: a tree that was configured with HOKKU_BUILD_CUDA and HOKKU_BUILD_TESTS and built, or an
# unpacked pack; without it one is made in build/gpu (nvcc of CUDA 13 needed). --pack: FILE gets all
# that a machine with a GPU and a driver needs, for check.sh --build there: nothing is compiled then.
# Parts, in order, each with a limit of its own: primitives, cublas, kernels, models, sanitizer,
# device, speed. Writes OUT/check.json and prints a table. Exit code 1 where a part failed.
set -uo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
build="" out=$root/build/gpu-check skip=" " pack=""
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$(readlink -f "$2"); shift 2 ;;
    --out) out=$2; shift 2 ;;
    --skip) skip+="$2 "; shift 2 ;;
    --pack) pack=$(readlink -f "$2"); shift 2 ;;
    *) sed -n '3,12p' "$0" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
: > "$out/results.txt"
failed=0
programs=(hokku libhokku_cuda.so test_cuda test_cuda_backend make_synthetic_model measure_device)

# part NAME SECONDS COMMAND..: runs it for so long at most, keeps its output, notes the outcome.
part() {
    local name=$1 limit=$2; shift 2
    case $skip in *" $name "*) echo "$name skipped 0" >> "$out/results.txt"; return 0 ;; esac
    local start=$SECONDS outcome=passed code=0
    echo "== $name, at most $limit s"
    timeout --kill-after=5 "$limit" "$@" > "$out/$name.log" 2>&1 || code=$?
    if [ $code -ne 0 ]; then
        outcome=failed failed=1
        [ $code -eq 124 ] && outcome=timed-out
        tail -25 "$out/$name.log"
    fi
    echo "$name $outcome $((SECONDS - start))" | tee -a "$out/results.txt"
}

if [ -z "$build" ]; then
    build=$root/build/gpu
    if ! { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOKKU_BUILD_CUDA=ON \
        -DHOKKU_BUILD_TESTS=ON -DHOKKU_BUILD_DESKTOP=OFF &&
        cmake --build "$build" -t hokku hokku_cuda hokku_device_kernels test_cuda \
            test_cuda_backend make_synthetic_model measure_device; } > "$out/build.log" 2>&1; then
        tail -25 "$out/build.log"
        exit 1
    fi
fi
bin=$build/bin

if [ -n "$pack" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    mkdir -p "$folder"/{bin,cuda/kernels,tests/gpu}
    for program in "${programs[@]}"; do
        strip -o "$folder/bin/$program" "$bin/$program" || exit 1
    done
    cp "$build"/cuda/kernels/*.fatbin "$folder/cuda/kernels/" || exit 1
    cp "$0" "$folder/tests/gpu/check.sh"
    cp -r "$root/tests/data" "$folder/tests/data"
    bytes=$(du -sb "$folder" | cut -f1)
    tar -C "$folder" -cJf "$pack" . || exit 1
    echo "$pack: $(($(stat -c %s "$pack") >> 20)) MiB, unpacked $((bytes >> 20))"
    [ "$bytes" -lt $((48 << 20)) ] || { echo "error: more than 48 MiB unpacked" >&2; exit 1; }
    exit 0
fi

# Of a pack the programs look for tests/data where they were built.
[ -d "$build/tests/data" ] && export HOKKU_TEST_DATA="$build/tests/data"
images=$(printf '%s:' "$build"/cuda/kernels/*.fatbin)
images=${images%:}
export HOKKU_GPU_TEST_IMAGES=$images
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,memory.total,power.limit \
    --format=csv > "$out/card.csv" 2>&1
cat "$out/card.csv"
"$bin/hokku" devices

# The primitives as the emulator has them, then every kernel, on the device; models token by token.
part primitives 15 "$bin/test_cuda" "Primitives*"
cublas() {
    ldconfig -p | grep -q 'libcublas\.so\.1[23]' ||
        { echo "cuBLAS is not installed: prompts of unquantised weights go without it"; return 0; }
    "$bin/test_cuda" "cuBLAS*"
}
export -f cublas
export bin out
part cublas 15 bash -c cublas
part kernels 60 "$bin/test_cuda" "~Primitives*" "~Emulator*" "~Fake*" "~cuBLAS*"
part models 80 "$bin/test_cuda_backend"
sanitizer() {
    command -v compute-sanitizer > /dev/null || { echo "compute-sanitizer is not installed"; return 0; }
    local tool
    for tool in memcheck racecheck; do
        compute-sanitizer --tool $tool --error-exitcode 1 \
            "$bin/test_cuda_backend" "CUDA backend: a trace*" || return 1
    done
}
export -f sanitizer
part sanitizer 40 bash -c sanitizer
IFS=: read -r -a image_list <<< "$images"
measure() { "$bin/measure_device" "$@" > "$out/device.json" && cat "$out/device.json"; }
export -f measure
part device 15 bash -c 'measure "$@"' measure "${image_list[@]}"

# Of each shape: as it runs; one launch for a token; and prompts by cuBLAS, which ours must not be
# slower than. The large one is not made for the second.
speed() {
    local shape
    bench() { "$bin/hokku" bench -m "$1" --device cuda -p 512 -n "$2" -r 3 --json; }
    for shape in qwen2.5-0.5b llama-3.2-1b llama-3.1-8b; do
        local file=$out/$shape.gguf
        [ -f "$file" ] || "$bin/make_synthetic_model" "$shape" "$file" || return 1
        bench "$file" 128 > "$out/$shape.json" || return 1
        HOKKU_CUDA_PREFILL=cublas bench "$file" 1 > "$out/$shape-cublas.json" ||
            rm -f "$out/$shape-cublas.json"
        [ "$shape" = llama-3.1-8b ] ||
            HOKKU_CUDA_PERSISTENT=1 bench "$file" 128 > "$out/$shape-persistent.json" || return 1
    done
}
export -f speed
part speed 70 bash -c speed

# On two GPUs: sums by our kernel, where they reach each other, and by NCCL.
ranks() {
    [ "$(nvidia-smi -L | wc -l)" -ge 2 ] || { echo "one GPU: nothing is split"; return 0; }
    local kind
    for kind in one_shot nccl; do
        HOKKU_CUDA_ALL_REDUCE=$kind "$bin/hokku" bench -m "$out/llama-3.2-1b.gguf" --device cuda \
            --tp 2 -p 512 -n 128 -r 3 --json > "$out/llama-3.2-1b-$kind.json" ||
            { rm -f "$out/llama-3.2-1b-$kind.json"; echo "not with $kind"; }
    done
}
export -f ranks
part ranks 40 bash -c ranks
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv \
    > "$out/clocks.csv" 2>&1

python3 - "$out" <<'PYTHON'
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])

def read(name):
    try:
        return json.loads((out / name).read_text())
    except (OSError, ValueError):
        return None

parts = [line.split() for line in (out / "results.txt").read_text().splitlines()]
device = read("device.json")
result = {"card": (out / "card.csv").read_text().splitlines(),
          "clocks": (out / "clocks.csv").read_text().splitlines(),
          "parts": [{"name": n, "outcome": o, "seconds": int(s)} for n, o, s in parts],
          "device": device, "speed": {}}
copy = device["copy_gb_s"] if device else 0
if device:
    print(f"copies {copy:.0f} GB/s")
    print(f"{'kernel':20} {'rows x columns':>16} {'us':>9} {'GB/s':>8} {'share':>6} {'Tera-op/s':>10}")
    for k in device["kernels"]:
        print(f"{k['name']:20} {k['rows']:8} x {k['cols']:5} {k['us']:9.2f} {k.get('gb_s', 0):8.1f}"
              f" {k.get('share_of_copy', 0):6.2f} {k.get('tera_op_s', 0):10.1f}")
print(f"{'model':24} {'decode tok/s':>12} {'GB/s':>8} {'share':>6} {'prefill tok/s':>14} {'of cuBLAS':>10}")
for shape in ("qwen2.5-0.5b", "qwen2.5-0.5b-persistent", "llama-3.2-1b",
              "llama-3.2-1b-persistent", "llama-3.2-1b-one_shot", "llama-3.2-1b-nccl",
              "llama-3.1-8b"):
    bench = read(shape + ".json")
    if bench is None:
        continue
    rate = bench.get("decode_tok_s", 0)
    gb_s = rate * bench.get("bytes_per_token", 0) / 1e9
    prefill = bench.get("prefill_tok_s", 0)
    reference = (read(shape.replace("-persistent", "") + "-cublas.json") or {}).get("prefill_tok_s", 0)
    bench["gb_s"], bench["share_of_copy"] = gb_s, gb_s / copy if copy else 0
    bench["prefill_of_cublas"] = prefill / reference if reference else 0
    result["speed"][shape] = bench
    print(f"{shape:24} {rate:12.1f} {gb_s:8.1f} {bench['share_of_copy']:6.2f} {prefill:14.1f}"
          f" {bench['prefill_of_cublas']:10.2f}")
(out / "check.json").write_text(json.dumps(result, indent=1) + "\n")
print("written:", out / "check.json")
PYTHON
exit $failed
