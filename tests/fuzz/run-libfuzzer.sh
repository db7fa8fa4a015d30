#!/bin/sh
# Builds the readers of graphs and of weights with clang's libFuzzer and AddressSanitizer and feeds them inputs that coverage
# guides, from the files of the tree: run-libfuzzer.sh CLANG SOURCE_ROOT WORK_FOLDER RUNS LIBRARY…
#
# Only engine/graph and engine/interop, which bytes reach first, are instrumented; the rest is linked as the build made it.
# That keeps the build to seconds. Inputs that fail are left in WORK_FOLDER.
set -eu
clang=$1 root=$2 work=$3 runs=$4
shift 4
export LC_ALL=C.UTF-8 G_SLICE=always-malloc G_DEBUG=fatal-warnings

if [ -z "$clang" ]; then
  echo "There is no clang, whose libFuzzer guides inputs by coverage."
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
echo 'int LLVMFuzzerTestOneInput (const unsigned char *d, unsigned long n) { return 0; }' > "$work/probe.c"
if ! "$clang" -fsanitize=fuzzer,address "$work/probe.c" -o "$work/probe" 2> "$work/probe.log"; then
  echo "$clang has no libFuzzer; Debian keeps it in libclang-rt-dev."
  exit 77
fi

# shellcheck disable=SC2046
set -- "$@" $(pkg-config --libs glib-2.0 gmodule-no-export-2.0 gio-2.0 libxml-2.0 json-glib-1.0 gdk-pixbuf-2.0 libzip libpng libjpeg libwebp libtiff-4 libzstd snappy) -lm
flags="-std=gnu11 -gline-tables-only -O1 -fsanitize=fuzzer,address -D_GNU_SOURCE -DG_LOG_USE_STRUCTURED -DLOOM_LIBFUZZER -I$root"

# Compiling and linking take a fifth less with it, and with lines alone.
! command -v ld.lld > /dev/null || flags="$flags -fuse-ld=lld"

# A test of one reader, KIND, whose sources are in engine/FOLDER: KIND FOLDER LIBRARY…
fuzz () {
  kind=$1 folder=$2
  shift 2
  # shellcheck disable=SC2046,SC2086
  "$clang" $flags $(pkg-config --cflags glib-2.0 gmodule-no-export-2.0 gio-2.0 libxml-2.0 json-glib-1.0 libzip) "$root"/engine/"$folder"/*.c \
    "$root/tests/fuzz/fuzz-$kind.c" "$@" -o "$work/fuzz-$kind"
  (cd "$work"
    ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 LSAN_OPTIONS="suppressions=$root/tests/lsan.supp" \
      "./fuzz-$kind" -runs="$runs" -seed=1 -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 "$kind" 2> "log-$kind") || {
    tail -n 60 "$work/log-$kind"
    echo "not ok - /fuzz/libfuzzer/$kind"
    exit 1
  }
  tail -n 8 "$work/log-$kind" | sed 's/^/# /'
  echo "ok - /fuzz/libfuzzer/$kind"
}

mkdir "$work/graph" "$work/weights"
find "$root/graphs" "$root/tests/recipe/bad" -name '*.xml' -exec cp {} "$work/graph/" \;
find "$root/tests/interop/weights" -type f ! -name '*.py' -exec cp {} "$work/weights/" \;
echo "1..2"
fuzz graph graph "$@"
fuzz weights interop "$@"
