#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks kernels, backend and speed on this machine's NVIDIA GPU: one command, under five minutes.
#   tests/gpu/check.sh [--build FOLDER] [--out FOLDER] [--skip PART]..
#   tests/gpu/check.sh --pack FILE [--build FOLDER]
# --build: a tree that was configured with HOKKU_BUILD_CUDA and HOKKU_BUILD_TESTS and built, or an
# unpacked pack; without it one is made in build/gpu (nvcc of CUDA 13 needed). --pack: FILE gets all
# that a machine with a GPU and a driver needs, for check.sh --build there: nothing is compiled then.
# Parts, in order, each with a limit of its own: primitives, cublas, kernels, models, sanitizer,
# device, speed, ranks. Each has passed, was skipped with a reason, has failed or timed out. Writes
# OUT/results.txt and OUT/check.json and prints tables. Exit code 1 where a part failed or timed out.

# shellcheck disable=SC2317  # Parts are functions that a shell under `timeout` calls.
set -uo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
build="" out=$root/build/gpu-check skip=" " pack=""
usage() {
    [ $# -eq 0 ] || echo "error: $1" >&2
    sed -n '3,${/^#/!q;s/^# \?//p}' "$0" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in --build | --out | --skip | --pack) [ -n "${2:-}" ] || usage "$1 needs a value" ;; esac
    case $1 in
    --build) build=$(readlink -m "$2"); [ -x "$build/bin/hokku" ] || usage "no build in $2" ;;
    --out) out=$2 ;;
    --skip)
        case $2 in
        primitives | cublas | kernels | models | sanitizer | device | speed | ranks) skip+="$2 " ;;
        *) usage "there is no part $2" ;;
        esac ;;
    --pack) pack=$(readlink -m "$2") ;;
    *) usage ;;
    esac
    shift 2
done
mkdir -p "$out" || exit 1
failed=0
PATH=$PATH:/sbin:/usr/sbin  # ldconfig, also for users.
programs=(hokku libhokku_cuda.so test_cuda test_cuda_backend make_synthetic_model measure_device)

# part NAME SECONDS COMMAND..: runs it for so long at most, keeps its output, notes the outcome as
# "NAME SECONDS OUTCOME (NOTE)". Exit code 77: it was skipped, and the last line says why.
part() {
    local name=$1 limit=$2 log=$out/$1.log start=$SECONDS outcome=passed note="" code=0; shift 2
    echo "== $name, at most $limit s"
    if [[ $skip == *" $name "* ]]; then
        outcome=skipped note=--skip
    else
        timeout --kill-after=1 "$limit" "$@" > "$log" 2>&1 || code=$?
        # Tests of another name are no passed ones.
        [ $code -ne 0 ] || ! grep -q '^No test cases matched' "$log" || code=1
        # Killed after the limit: 137.
        [ $code -ne 137 ] || [ $((SECONDS - start)) -lt "$limit" ] || code=124
        local num_skipped
        num_skipped=$(grep -c '^hokku-skip:' "$log")
        [ "$num_skipped" -eq 0 ] || note="checks skipped: $num_skipped"
        case $code in
        0) ;;
        77) outcome=skipped note=$(tail -n 1 "$log") ;;
        124) outcome=timed-out ;;
        *) outcome=failed ;;
        esac
    fi
    case $outcome in failed | timed-out) failed=1; tail -n 25 "$log" ;; esac
    echo "$name $((SECONDS - start)) $outcome${note:+ ($note)}" | tee -a "$out/results.txt"
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

rm -f "$out"/{check,device,qwen2.5-*,llama-3.*}.json "$out/clocks.csv"
: > "$out/results.txt"
# Of a pack the programs look for tests/data where they were built.
[ -d "$build/tests/data" ] && export HOKKU_TEST_DATA="$build/tests/data"
images=$(printf '%s:' "$build"/cuda/kernels/*.fatbin)
images=${images%:}
export HOKKU_GPU_TEST_IMAGES=$images
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,memory.total,power.limit \
    --format=csv > "$out/card.csv" 2>&1
cat "$out/card.csv"
"$bin/hokku" devices

has_library() { ldconfig -p | grep -q "$1"; }
export -f has_library
export bin out

# The primitives as the emulator has them, then every kernel, on the device; models token by token.
part primitives 15 "$bin/test_cuda" "Primitives*"
cublas() {
    has_library 'libcublas\.so\.1[23]' || { echo "cuBLAS is not installed"; exit 77; }
    "$bin/test_cuda" "cuBLAS*"
}
export -f cublas
part cublas 15 bash -c cublas
part kernels 50 "$bin/test_cuda" "~Primitives*" "~Emulator*" "~Fake*" "~cuBLAS*"
part models 70 "$bin/test_cuda_backend"
# Single launches, fused ones in graphs that are replayed, the persistent kernel, quantised weights.
sanitizer() {
    command -v compute-sanitizer > /dev/null ||
        { echo "compute-sanitizer is not installed"; exit 77; }
    local tool cases="CUDA backend: a trace*,CUDA backend: norms behind branches*"
    cases+=",CUDA backend: a token is one cooperative launch*,CUDA backend: llama256-Q4_K_M is*"
    for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 1 "$bin/test_cuda_backend" "$cases" ||
            return 1
    done
}
export -f sanitizer
part sanitizer 40 bash -c sanitizer
IFS=: read -r -a image_list <<< "$images"
measure() { "$bin/measure_device" "$@" > "$out/device.json" && cat "$out/device.json"; }
export -f measure
part device 15 bash -c 'measure "$@"' measure "${image_list[@]}"

make_model() {
    [ -f "$out/$1.gguf" ] ||
        { "$bin/make_synthetic_model" "$1" "$out/new.gguf" && mv "$out/new.gguf" "$out/$1.gguf"; }
}
# bench SHAPE SUFFIX TOKENS KERNELS OPTION..: its figures, in a file that is there only where it
# worked, with all layers on GPUs and by these kernels: what runs otherwise is no figure of them.
bench() {
    local json=$out/$1$2.json device kernels
    "$bin/hokku" bench -m "$out/$1.gguf" --device cuda -p 512 -n "$3" -r 3 --json "${@:5}" \
        > "$json" || { rm "$json"; echo "error: no figures of $1$2"; return 1; }
    device=$(value_of device "$json") kernels=$(value_of kernels "$json")
    case $device in "GPU "*CPU*) ;; "GPU "*) [[ $kernels != *"$4"* ]] || return 0 ;; esac
    rm "$json"
    echo "error: $1$2 ran on ${device:-nothing} by ${kernels:-nothing}, wanted are GPUs and $4"
    return 1
}
# value_of KEY FILE: a text of a JSON object.
value_of() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$2"; }
# Of each shape: as it runs; one launch for a token; and prompts by cuBLAS, which ours must not be
# slower than. The large one is not made for the second. Beside them the card's clocks.
speed() {
    local shape code=0 own="prompts by int8 kernels, flash attention"
    nvidia-smi --query-gpu=utilization.gpu,clocks.sm,clocks.mem,temperature.gpu,power.draw \
        --format=csv,noheader,nounits --loop-ms=200 > "$out/clocks.csv" &
    trap 'kill $! 2> /dev/null' EXIT
    for shape in qwen2.5-0.5b llama-3.2-1b llama-3.1-8b; do
        make_model "$shape" || return 1
        bench "$shape" "" 128 "a graph for a token, $own" || code=1
        if has_library 'libcublas\.so\.1[23]'; then
            HOKKU_CUDA_PREFILL=cublas bench "$shape" -cublas 1 "prompts by cuBLAS as reference" || code=1
        else
            echo "hokku-skip: cuBLAS is not installed, prompts of $shape are compared with nothing"
        fi
        [ "$shape" = llama-3.1-8b ] ||
            HOKKU_CUDA_PERSISTENT=1 bench "$shape" -persistent 128 "one launch for a token, $own" ||
            code=1
    done
    return "$code"
}
export -f make_model bench value_of speed
part speed 60 bash -c speed

# On two GPUs: sums by our kernel, where they reach each other, and by NCCL.
ranks() {
    [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || { echo "one GPU: nothing is split"; exit 77; }
    has_library 'libnccl\.so\.2' || { echo "NCCL is not installed"; exit 77; }
    make_model llama-3.2-1b || return 1
    local code=0
    HOKKU_CUDA_ALL_REDUCE=nccl bench llama-3.2-1b -nccl 128 NCCL --tp 2 || code=1
    HOKKU_CUDA_ALL_REDUCE=one_shot bench llama-3.2-1b -one_shot 128 "one-shot all-reduce" --tp 2 || {
        grep -q "do not reach each other's memory" "$out/ranks.log" || return 1
        echo "hokku-skip: GPUs that do not reach each other have no sums by our kernel"
    }
    return "$code"
}
export -f ranks
part ranks 25 bash -c ranks

python3 - "$out" <<'PYTHON' || failed=1
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])

def read(name):
    try:
        return json.loads((out / name).read_text())
    except (OSError, ValueError):
        return None

def clocks():
    """Of the SM in MHz, where the card was busy: not of making and loading models."""
    try:
        rows = [line.split(", ") for line in (out / "clocks.csv").read_text().splitlines()]
    except OSError:
        return {"samples": 0}
    busy = [int(row[1]) for row in rows
            if len(row) > 1 and row[0].isdigit() and row[1].isdigit() and int(row[0]) >= 50]
    return {"samples": len(busy)} | ({"sm_mhz_min": min(busy), "sm_mhz_max": max(busy)} if busy else {})

def part(line):
    name, seconds, outcome, *note = line.split(maxsplit=3)
    return {"name": name, "outcome": outcome, "seconds": int(seconds), "note": "".join(note)[1:-1]}

device = read("device.json")
result = {"card": (out / "card.csv").read_text().splitlines(), "clocks": clocks(),
          "parts": [part(line) for line in (out / "results.txt").read_text().splitlines()],
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
          f" {bench['prefill_of_cublas']:10.2f}  {bench.get('kernels', '')}")
if "sm_mhz_min" in result["clocks"]:
    print("SM clock {sm_mhz_min} to {sm_mhz_max} MHz in {samples} samples".format(**result["clocks"]))
else:
    print("SM clock: no sample of a busy card")
for p in result["parts"]:
    print(f"{p['name']:12} {p['seconds']:4} s {p['outcome']}" + (f" ({p['note']})" if p["note"] else ""))
(out / "check.json").write_text(json.dumps(result, indent=1) + "\n")
print("written:", out / "check.json")
PYTHON
exit $failed
