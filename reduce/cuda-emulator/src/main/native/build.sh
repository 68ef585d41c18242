#!/bin/sh
# Builds the emulated driver: build.sh FOLDER [options for gcc]. It writes FOLDER/libcuda.so.1; programs use it when they
# are started with LD_LIBRARY_PATH=FOLDER.
set -e
source=$(dirname "$0")
folder=$1
shift
mkdir -p "$folder"
gcc -O3 -g -shared -fPIC -pthread -ffp-contract=off -fvisibility=hidden -Wall -Wextra -Werror "$@" \
    -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so.1.$$" "$source"/*.c -lm
mv "$folder/libcuda.so.1.$$" "$folder/libcuda.so.1"
