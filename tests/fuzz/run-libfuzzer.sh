#!/bin/sh
# Builds the reader with clang's libFuzzer and AddressSanitizer and feeds it inputs that coverage guides, from the graphs of
# the tree: run-libfuzzer.sh CLANG SOURCE_ROOT WORK_FOLDER RUNS LIBRARY…
#
# Only engine/graph, which bytes reach first, is instrumented; the rest is linked as the build made it. That keeps the
# build to seconds. Inputs that fail are left in WORK_FOLDER.
set -eu
clang=$1 root=$2 work=$3 runs=$4
shift 4
export LC_ALL=C.UTF-8 G_SLICE=always-malloc G_DEBUG=fatal-warnings

if [ -z "$clang" ]; then
  echo "There is no clang, whose libFuzzer guides inputs by coverage."
  exit 77
fi
rm -rf "$work"
mkdir -p "$work/corpus"
echo 'int LLVMFuzzerTestOneInput (const unsigned char *d, unsigned long n) { return 0; }' > "$work/probe.c"
if ! "$clang" -fsanitize=fuzzer,address "$work/probe.c" -o "$work/probe" 2> "$work/probe.log"; then
  echo "$clang has no libFuzzer; Debian keeps it in libclang-rt-dev."
  exit 77
fi

# shellcheck disable=SC2046
set -- "$@" $(pkg-config --libs glib-2.0 gio-2.0 libxml-2.0 json-glib-1.0 gdk-pixbuf-2.0) -lm
flags="-std=gnu11 -g -O1 -fsanitize=fuzzer,address -D_GNU_SOURCE -DG_LOG_USE_STRUCTURED -I$root"
# shellcheck disable=SC2046,SC2086
"$clang" $flags $(pkg-config --cflags glib-2.0 libxml-2.0) "$root"/engine/graph/*.c "$root/tests/fuzz/fuzz-graph.c" "$@" \
  -o "$work/fuzz-graph"

find "$root/graphs" "$root/tests/recipe/bad" -name '*.xml' -exec cp {} "$work/corpus/" \;
cd "$work"
ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 LSAN_OPTIONS="suppressions=$root/tests/lsan.supp" \
  ./fuzz-graph -runs="$runs" -seed=1 -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 corpus 2> log || {
  tail -n 60 log
  echo "not ok 1 /fuzz/libfuzzer"
  exit 1
}
tail -n 8 log | sed 's/^/# /'
echo "1..1"
echo "ok 1 /fuzz/libfuzzer"
