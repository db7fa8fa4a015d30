#!/bin/sh
# Builds all readers with clang's libFuzzer, AddressSanitizer and coverage, and feeds some of them inputs that coverage guides:
# run-libfuzzer.sh CLANG SOURCE_ROOT BUILD WORK RUNS "BOX…" "READER…"
#
# Only the boxes named, which bytes reach first, are compiled with clang; all others are linked as the build made them (ninja
# tests/test-fuzz). That keeps the build to seconds for two boxes, and to minutes for all that read. Without a READER the
# program WORK/fuzz is only built, for long.py. Inputs that fail are left in WORK.
set -eu
clang=$1 root=$2 build=$3 work=$4 runs=$5 boxes=$6 readers=$7
export LC_ALL=C.UTF-8 G_SLICE=always-malloc G_DEBUG=fatal-warnings GRADLOOM_SOURCE_ROOT="$root"
packages="glib-2.0 gmodule-no-export-2.0 gio-2.0 gio-unix-2.0 libxml-2.0 json-glib-1.0 gdk-pixbuf-2.0 libzip libpng libjpeg libwebp libtiff-4
  libzstd snappy libdeflate libprotobuf-c pangocairo"

if [ -z "$clang" ]; then
  echo "There is no clang, whose libFuzzer guides inputs by coverage."
  exit 77
fi
rm -rf "$work/objects"
mkdir -p "$work/objects"
echo 'int LLVMFuzzerTestOneInput (const unsigned char *d, unsigned long n) { return 0; }' > "$work/probe.c"
if ! "$clang" -fsanitize=fuzzer,address "$work/probe.c" -o "$work/probe" 2> "$work/probe.log"; then
  echo "$clang has no libFuzzer; Debian keeps it in libclang-rt-dev."
  exit 77
fi
# shellcheck disable=SC2086
if ! pkg-config --exists $packages; then
  echo "A library that readers use is missing: $packages"
  exit 77
fi

instrumented="-fsanitize=fuzzer,address -fprofile-instr-generate -fcoverage-mapping"
# shellcheck disable=SC2086
flags="-std=gnu11 -gline-tables-only -O1 -w -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DG_LOG_USE_STRUCTURED -DLOOM_VERSION=\"fuzz\"
  -DGETTEXT_PACKAGE=\"gradloom\" -I$root -I$build -I$build/data -I$root/ui -I$build/engine -I$build/engine/onnx $(pkg-config --cflags $packages)"
# Compiling and linking take a fifth less with it, and with lines alone.
linker=
! command -v ld.lld > /dev/null || linker=-fuse-ld=lld

sources=$(cd "$root" && echo tests/fuzz/[!t]*.c app/mcp-*.c app/remote-stream.c ui/document/studio-journal.c ui/page/recording-file.c \
  app/worker/worker-methods.c app/worker/worker-pace.c app/worker/worker-predict.c app/worker/worker-s[nt]*.c ui/settings/*.c \
  ui/charts/studio-type.c ui/run/run-c*.c ui/run/run-folder.c ui/run/run-[mrs]*.c ui/run/studio-run.c ui/run/studio-run-[cmt]*.c ui/pins/health-history.c ui/pins/studio-pin-labels.c \
  ui/evaluate/own-request.c ui/stepper/step-chips.c ui/timeline/studio-inventory.c ui/worker/studio-planner.c \
  engine/train/run-restore.c engine/train/*-pack*.c engine/train/run-folder.c engine/train/rank-*.c engine/train/step-trace.c \
  engine/plan/cost-table-file.c engine/dist/*.c engine/run/state-file.c engine/run/loom-state.c)
for box in $boxes; do
  sources="$sources $(cd "$root" && find "engine/$box" -name '*.c' ! -name '*-absent.c' | sort | tr '\n' ' ')"
done
# An object is linked before the archive that has the same functions. A source that a build leaves out, or that is of another
# kind of build, does not compile, and its archive is linked.
cd "$root"
for source in $sources; do
  printf '%s\n' "$source"
done | sort -u | xargs -P "$(nproc)" -I{} sh -c '
  object=$1/objects/$(printf %s "$2" | tr / _).o
  $3 -c "$4/$2" -o "$object" 2>> "$1/compile.log" || case $2 in tests/*) exit 255;; esac' sh "$work" {} \
  "$clang $instrumented $flags" "$root"
archives=$(find "$build/engine" "$build/kernels" "$build/data" "$build/ui/scene" "$build/app/shared" -name '*.a' ! -path '*/cuda/*' ! -path '*/api/*' | sort | tr '\n' ' ')
# shellcheck disable=SC2046,SC2086
"$clang" $instrumented $linker "$work"/objects/*.o -Wl,--start-group $archives -Wl,--end-group $(pkg-config --libs $packages) \
  ${ONEDNN_LIBS:--ldnnl} -lgomp -lm -ldl -lpthread -o "$work/fuzz"

# shellcheck disable=SC2086
set -- $readers
[ $# = 0 ] || echo "1..$#"
cd "$work"
for reader; do
  mkdir -p "corpus/$reader" "seeds/$reader"
  GRADLOOM_FUZZ_READER=$reader GRADLOOM_FUZZ_SEEDS="$work/seeds/$reader" LLVM_PROFILE_FILE=/dev/null \
    ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 LSAN_OPTIONS="suppressions=$root/tests/lsan.supp" \
    ./fuzz -runs="$runs" -seed=1 -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 "corpus/$reader" "seeds/$reader" \
    2> "log-$reader" || {
    tail -n 60 "log-$reader"
    echo "not ok - /fuzz/libfuzzer/$reader"
    exit 1
  }
  tail -n 8 "log-$reader" | sed 's/^/# /'
  echo "ok - /fuzz/libfuzzer/$reader"
done
