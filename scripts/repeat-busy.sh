#!/usr/bin/env bash
# Runs test classes again and again while four busy loops take the cores, and stops at the first failure.
# usage: scripts/repeat-busy.sh TIMES MODULE CLASS[,CLASS...]
#        scripts/repeat-busy.sh 30 mpi FaultTest,WorldTest
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# != 3 ] || ! [ "$1" -gt 0 ] 2>/dev/null; then
    sed -n '3,4s/^# //p' "$0" >&2
    exit 2
fi
times=$1 module=$2 classes=$3
log=$(mktemp)
loops=()
trap 'kill "${loops[@]}" 2>/dev/null; rm -f "$log"' EXIT
for _ in 1 2 3 4; do
    sh -c 'while :; do :; done' &
    loops+=($!)
done

for ((run = 1; run <= times; run++)); do
    SECONDS=0
    if ! mvn --batch-mode --no-transfer-progress -pl "$module" -am verify -Dtest="$classes" \
        -Dsurefire.failIfNoSpecifiedTests=false >"$log" 2>&1; then
        cat "$log"
        echo "run $run of $times failed" >&2
        exit 1
    fi
    echo "run $run of $times: $(grep -cE 'Tests run: [0-9]+, .* -- in ' "$log") classes passed in $SECONDS s"
done
