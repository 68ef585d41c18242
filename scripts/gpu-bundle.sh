#!/usr/bin/env bash
# Packs the banyan command with a small Java runtime into one folder, for a GPU machine without Java:
#
#   scripts/gpu-bundle.sh [FOLDER]      (default: target/banyan-gpu)
#   scp -r target/banyan-gpu gpu-machine:
#   ssh gpu-machine banyan-gpu/banyan selftest --backend cuda
#   ssh gpu-machine banyan-gpu/gpu-day.sh
#
# It takes the jars of cli/target, which ./banyan builds when it is first run. The kernels are in the jars, as is
# JCuda's native part.
set -eu

fail() {
    printf 'gpu-bundle: %s\n' "$*" >&2
    exit 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/target/banyan-gpu}
is_new_enough() {
    [ -x "$1/bin/jlink" ] && version=$("$1/bin/jlink" --version) && [ "${version%%[!0-9]*}" -ge 25 ]
}

if [ -n "${BANYAN_JAVA_HOME:-}" ]; then
    is_new_enough "$BANYAN_JAVA_HOME" || fail "BANYAN_JAVA_HOME=$BANYAN_JAVA_HOME is no JDK 25 or newer with jlink"
    jdk=$BANYAN_JAVA_HOME
else
    jdk=
    for candidate in "${JAVA_HOME:-}" "$(dirname "$(dirname "$(readlink -f "$(command -v javac || true)")")")" \
        /usr/lib/jvm/* /usr/lib64/jvm/* /usr/java/* /opt/* /opt/java/* /opt/jdk/* "$HOME"/.sdkman/candidates/java/*; do
        if is_new_enough "$candidate"; then
            jdk=$candidate
            break
        fi
    done
    [ -n "$jdk" ] || fail "no JDK 25 or newer with jlink found; name one by BANYAN_JAVA_HOME"
fi

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
"$jdk/bin/jlink" --add-modules java.base,java.logging,java.management,java.xml,jdk.jfr,jdk.management,jdk.unsupported,jdk.incubator.vector \
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
    *' bench '*' cuda '* | *' bench '*'=cuda '*) ;;
    *' bench '*) options="$options --add-modules jdk.incubator.vector" ;;
esac
options="$options ${BANYAN_JAVA_OPTS:-}"
unset BANYAN_JAVA_OPTS
# shellcheck disable=SC2086 # several options in one variable
exec "$here/runtime/bin/java" $options -cp "$here/banyan.jar:$here/lib/*" dev.banyan.cli.Main "$@"
LAUNCHER
chmod +x "$folder/banyan"
cp "$root/scripts/gpu-day.sh" "$folder/gpu-day.sh"
# A module that the runtime lacks would be found out on the GPU machine only.
"$folder/banyan" bench --backend host --machine p3.8xlarge --algorithm all -b 8 -e 8 -n 1 -w 0 >/dev/null 2>"$folder/errors" ||
    fail "the bundle does not work: $(head -n 3 "$folder/errors")"
rm "$folder/errors"
printf '%s: %s, of which the runtime %s\n' "$folder" "$(du -sh "$folder" | cut -f1)" "$(du -sh "$folder/runtime" | cut -f1)"
