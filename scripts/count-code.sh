#!/bin/sh
# Counts main code, lines without comments and blank lines, with the classes and public types of each package:
#
#   scripts/count-code.sh [FOLDER...]      (default: the whole project)
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
git ls-files -- "${@:-.}" | grep '/src/main/java/.*\.java$' | xargs awk '
    FNR == 1 { package = FILENAME; sub("src/main/java/", "", package); sub("/[^/]*$", "", package); files[package]++ }
    comment { comment = !/\*\//; next }
    /^[ \t]*(\/\/.*)?$/ { next }
    /^[ \t]*\/\*/ { comment = !/\*\//; next }
    /^public .*(class|interface|enum|record) [A-Z]/ { types[package]++ }
    { lines[package]++; total++ }
    END {
        for (package in files)
            printf "%s: %d lines, %d classes, %d public\n", package, lines[package], files[package], types[package]
        printf "~ in all: %d lines\n", total
    }' | sort | sed 's/^~ //'
