#!/bin/sh
# Measures everything that needs a GPU, on this machine, in at most 25 minutes, and writes it to one folder:
#
#   banyan-gpu/gpu-day.sh [OPTIONS OF banyan gpu-day]      (in the bundle of scripts/gpu-bundle.sh)
#   scripts/gpu-day.sh [OPTIONS OF banyan gpu-day]         (in a checkout)
#
# docs/gpu.md says what is measured, and how the folder becomes a profile of the simulator.
set -eu
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd -P)
for banyan in "$here/banyan" "$here/../banyan"; do
    if [ -x "$banyan" ] && [ ! -d "$banyan" ]; then
        exec "$banyan" gpu-day "$@"
    fi
done
printf 'gpu-day: there is no banyan command in %s or above it; take the folder that scripts/gpu-bundle.sh makes\n' "$here" >&2
exit 1
