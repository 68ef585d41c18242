#!/usr/bin/env bash
# Packs the banyan command with a small Java runtime into one folder, for a GPU machine without Java:
#
#   scripts/gpu-bundle.sh [FOLDER]      (default: target/banyan-gpu)
#   scp -r target/banyan-gpu gpu-machine:
#   ssh gpu-machine banyan-gpu/banyan selftest --backend cuda
#
# It takes the jars of cli/target, which ./banyan builds when it is first run. The kernels are in the jars, as is
# JCuda's native part. Pictures (--plot) and figures need a whole JDK: the runtime has no java.desktop.
set -eu

fail() {
    printf 'gpu-bundle: %s\n' "$*" >&2
    exit 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/target/banyan-gpu}
jdk=${BANYAN_JAVA_HOME:-${JAVA_HOME:-}}
if [ -z "$jdk" ]; then
    jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac || true)")")")
fi
[ -x "$jdk/bin/jlink" ] || fail "no jlink in '$jdk'; point BANYAN_JAVA_HOME at a JDK 25"
version=$("$jdk/bin/jlink" --version)
[ "${version%%[!0-9]*}" -ge 25 ] || fail "$jdk is of version $version; point BANYAN_JAVA_HOME at a JDK 25"

jar=
for candidate in "$root"/cli/target/banyan-cli-*.jar; do
    if [ -e "$candidate" ] && { [ -z "$jar" ] || [ "$candidate" -nt "$jar" ]; }; then
        jar=$candidate
    fi
done
[ -n "$jar" ] && [ -d "$root/cli/target/lib" ] ||
    fail "there are no jars in $root/cli/target; run ./banyan --version once, which builds them"

[ ! -e "$folder" ] || fail "$folder is there already; remove it or name another folder"
mkdir -p "$folder/lib"
cp "$jar" "$folder/banyan.jar"
cp "$root"/cli/target/lib/*.jar "$folder/lib/"
"$jdk/bin/jlink" --add-modules java.base,java.logging,java.management,java.xml,jdk.management,jdk.unsupported,jdk.incubator.vector \
    --strip-debug --no-man-pages --no-header-files --compress zip-9 --output "$folder/runtime" 2>&1 |
    { grep -v 'incubator modules' || true; }
[ -x "$folder/runtime/bin/java" ] || fail "jlink made no runtime"

cat >"$folder/banyan" <<'LAUNCHER'
#!/bin/sh
# Runs the banyan command with the Java runtime beside it.
#   BANYAN_JAVA_OPTS   further options of the JVM
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd -P)
options="--enable-native-access=ALL-UNNAMED -XX:+UseSerialGC"
case " $* " in
    *' bench '*) options="$options --add-modules jdk.incubator.vector" ;;
esac
options="$options ${BANYAN_JAVA_OPTS:-}"
unset BANYAN_JAVA_OPTS
# shellcheck disable=SC2086 # several options in one variable
exec "$here/runtime/bin/java" $options -cp "$here/banyan.jar:$here/lib/*" dev.banyan.cli.Main "$@"
LAUNCHER
chmod +x "$folder/banyan"
printf '%s: %s, of which the runtime %s\n' "$folder" "$(du -sh "$folder" | cut -f1)" "$(du -sh "$folder/runtime" | cut -f1)"
