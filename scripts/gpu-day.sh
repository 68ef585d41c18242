#!/bin/sh
# Measures everything that needs a GPU, on this machine, and writes it to one folder:
#
#   gpu-day.sh [-o FOLDER] [-s SECONDS] [-q] [-t CLASSPATH] [PART...]
#
# -o names an empty or new folder, -s the time for all parts together (default: 1500), and -t the class path of
# examples/djl-mnist with a PyTorch for CUDA. -q takes the smallest arrays, to try the script and not the machine.
# docs/gpu.md says what each part measures, and how the folder becomes a profile of the simulator.
set -eu
fail() { printf 'gpu-day: %s\n' "$*" >&2 && exit 2; }
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd -P)
banyan=$here/banyan
[ -f "$banyan" ] || banyan=$here/../banyan
[ -f "$banyan" ] || fail "there is no banyan command in $here or above it; take the folder that gpu-bundle.sh makes"
java=$here/runtime/bin/java
[ -x "$java" ] || java=java
# Each part with its share of the time that is left.
all='cards:3 probe:3 graph-launch:3 kernel-launch:2 kernel-end:2 flags:3 reductions:2 copies-at-once:3 peer-bandwidth:4 multicast:1
overhead:2 reduce:2 writes:3 selftest-1:4 selftest-2:5 selftest-4:7 selftest-8:11 selftest-all:8 selftest-graph:5 selftest-exchange:4 nccl:5
exchange-float:2 exchange-double:2 processes:2 workload:4 memcheck:7 racecheck:7 initcheck:7 large:9 trainer:4'
folder=gpu-day-$(date +%Y%m%d-%H%M%S) seconds=1500 quick='' trainer=''
while getopts o:s:qt: option; do
    case $option in
        o) folder=$OPTARG ;;
        s) seconds=$OPTARG ;;
        q) quick=--quick ;;
        t) trainer=$OPTARG ;;
        *) fail "see the first lines of $0" ;;
    esac
done
shift $((OPTIND - 1))
parts='' shares=0
for name in ${*:-$(echo "$all" | sed 's/:[0-9]*//g')}; do
    part=$(echo "$all" | tr ' ' '\n' | grep "^$name:") || fail "no part is called '$name'; there are $(echo $all)"
    parts="$parts $part" shares=$((shares + ${part#*:}))
done
mkdir -p "$folder" && [ -z "$(ls "$folder")" ] || fail "$folder can't be made or is not empty; name another one by -o"
end=$(($(date +%s) + seconds)) failed=0 child='' executor=''
trap '[ -z "$child" ] || kill "$child"; exit 130' INT TERM

say() { printf '%s\n' "$name: $*" | sed 's/: banyan: /: /' | tee -a "$folder/summary.txt"; }
# Runs a command with the time of its part, and keeps its output in a file of the folder.
run() {
    output=$folder/$1 errors=$folder/$name.err.txt status=0 begun=$(date +%s) && shift
    timeout -k 10 "$limit" "$@" >"$output" 2>"$errors" </dev/null &
    child=$!
    wait $child || status=$?
    child=''
    [ "$status" -eq 0 ] || failed=1
    case $status in
        0) say "done in $(($(date +%s) - begun)) s" ;;
        124 | 137) say "failed: it did not end within $limit s and was ended" ;;
        *) say "failed: $(grep -h -m 1 -e '^banyan: ' -e ' SUMMARY: ' "$errors" "$output" || head -n 1 "$errors")" ;;
    esac
    # Without a driver no other part can run either.
    if [ "$status" -ne 0 ] && grep -q '^banyan: no NVIDIA driver' "$errors"; then
        say "the other parts are left out, which need the driver, too" && exit 1
    fi
    # Figures of measurements, for people.
    sed -n -e 's/^{"note":\(.*\)}$/  note: \1/p' -e 's/^{"fact":{"name":\(.*\),"of":{\(.*\)},"value":\(.*\)}}$/  \1 (\2): \3/p' \
        -e 's/^{"figure":{"name":\(.*\),"of":{\(.*\)},"unit":\(.*\),"median":\(.*\),"least":\(.*\),"greatest":\(.*\),"samples":\(.*\)}}$/  \1 (\2): \4 \3 (\5 to \6, \7 samples)/p' \
        "$output" | tr -d '"' | sed -e 's/ ()//' -e 's/,\([a-zA-Z]\)/, \1/g' >>"$folder/summary.txt"
    [ -s "$errors" ] || rm "$errors"
}
bench() { run "$name.json" "$banyan" bench --backend cuda --format json ${quick:+-n 2} "$@"; }
selftest() {
    run "$name.json" ${executor:+env BANYAN_CUDA_EXECUTOR=$executor} "$banyan" selftest --backend cuda --format json \
        ${quick:+--short --algorithm star} --devices "$@"
}
# Prints a number that the part cards found, or 0.
found() {
    fact="{\"fact\":{\"name\":\"$1\",\"of\":{[GPU\":0]*},\"value\":\"\([0-9]*\)\"}}"
    number=$(sed -n "s/^$fact\$/\1/p" "$folder/cards.jsonl" 2>/dev/null) || true
    echo "${number:-0}"
}
# Ends with an error, and says why the part is skipped, unless a command succeeds.
needs() {
    reason=$1 && shift
    "$@" >/dev/null || { say "skipped: $reason" && false; }
}

{ date && uname -nsrm && head -n 1 /proc/driver/nvidia/version; } >"$folder/summary.txt" 2>/dev/null || true
PATH=$PATH:/usr/local/cuda/bin
for part in $parts; do
    name=${part%:*}
    limit=$(((end - $(date +%s)) * ${part#*:} / shares)) shares=$((shares - ${part#*:}))
    gpus=$(found GPUs) free=$(found 'bytes of free memory')
    if [ -n "$quick" ]; then
        piece=16K size=64K most=4K longest=256K model=lenet-5 room=0
    else
        piece=16M size=$([ "$free" -ge 9663676416 ] && echo 1G || echo 256M) most=256M longest=$size model=resnet-50 room=$free
    fi
    needs "no time was left of $seconds s" [ "$limit" -gt 0 ] || continue
    case $name in nccl | exchange-* | selftest-all | trainer)
        needs "it needs two GPUs, and the part cards found $gpus" [ "$gpus" -gt 1 ] || continue ;;
    esac
    case $name in
        probe) run probe.txt "$banyan" probe --measure --bytes $piece --output "$folder/machine.json" ;;
        overhead) bench --devices 0,0 -b 4 -e 4 -a ring ;;
        reduce) bench --devices 0,0 --collective reduce -b $size -e $size -a star ;;
        # By packing and one-shot through symmetric memory, which the switch adds up in float; by ring through slots.
        exchange-*) bench -a packing,one-shot,ring -d "${name#*-}" -b 256K -e "$longest" -f 8 ;;
        processes) bench --processes 2 --devices 0,$((gpus > 1)) -a packing,ring -b 4 -e $piece -f 16 ;;
        nccl) bench -a auto,nccl -b 1K -e $most -f 4 ;;
        workload) bench --devices 0,0,0,0 --workload $model ;;
        selftest-all) selftest "0-$((gpus < 16 ? gpus - 1 : 15))" ;;
        # Behind a switch, packing makes exchanges in which each rank has its share.
        selftest-exchange) selftest 0,0,0,0 --machine dgx-a100 $([ -n "$quick" ] || echo --algorithm packing) ;;
        selftest-graph) executor=graph && selftest 0,0 && executor= ;;
        selftest-*) selftest "$(seq -s , "${name#*-}" | tr 1-9 0)" ;;
        *check) needs "compute-sanitizer is neither on the PATH nor in /usr/local/cuda/bin; install CUDA's toolkit" \
            command -v compute-sanitizer &&
            # A pointer that the driver does not know is an answer here, and no error.
            run "$name.txt" compute-sanitizer --tool "$name" --report-api-errors no --target-processes all --error-exitcode 9 \
                "$banyan" selftest --backend cuda --devices 0,0 --short ;;
        large) needs "it needs 20 GB of free memory (the first GPU has $free bytes), and no -q" \
            [ "$room" -ge 20000000000 ] && selftest 0,0 --large --algorithm ring ;;
        trainer) needs "-t names no class path; take the jars of examples/djl-mnist/target and lib, with a PyTorch for CUDA" \
            [ -n "$trainer" ] || continue
            run trainer.txt "$java" -cp "$trainer" dev.banyan.examples.mnist.TrainMnist
            grep -q -e ',NaN' -e Infinity "$output" && failed=1 && say "failed: the training diverged"
            cat "$folder"/trainer.* | grep -q 'summed up by Banyan' ||
                { failed=1 && say "failed: the log does not say that the gradients are summed up by Banyan"; } ;;
        *) run "$name.jsonl" "$banyan" gpu-day "$name" --seconds $((limit * 4 / 5)) $quick ;;
    esac
done
exit $failed
