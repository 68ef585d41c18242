#!/bin/sh
# Builds the emulated driver: build.sh FOLDER [options for gcc]. It writes FOLDER/libcuda.so.1 if that is missing, older
# than a source, or if there are options; programs use it when they are started with LD_LIBRARY_PATH=FOLDER. The status
# is 127 without gcc. The lanes of a warp become vectors, of the processor that builds the library.
set -e
source=$(dirname "$0")
folder=$1
shift
library=$folder/libcuda.so.1
if [ $# = 0 ] && [ -f "$library" ] && [ -z "$(find "$source" -newer "$library")" ]; then
    exit
fi
command -v gcc >/dev/null || exit 127
mkdir -p "$folder"
gcc -O2 -ftree-vectorize -fvect-cost-model=dynamic -march=native -g -shared -fPIC -pthread \
    -ffp-contract=off -fvisibility=hidden -Wall -Wextra -Werror "$@" \
    -Wl,-soname,libcuda.so.1 -o "$library.$$" "$source"/*.c -lm
mv "$library.$$" "$library"
