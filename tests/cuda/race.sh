# The stages of on-device that compare Gradloom with PyTorch. Sourced by it, not run: $here, $build, $out, $stage,
# $rehearse, $eager, skip, summary and on_card are defined there.
# shellcheck shell=bash disable=SC2154
#
# The table of targets has rows 2 to 8 and 10 for a GPU, in these types; workloads.py has the networks. A run of all stages
# has time for three of them; the others are selected by name (named).
raced='^(mlp-784-128-10-b128|lenet5-b64|cifar-conv-bn-b64)$'
raced_f32='^(mlp-784-128-10-b(32|128)|lenet5-b64|resnet18-b128|vgg16-b64|char-lstm-h128-t64-b32|char-gpt-l6-c384-t256-b12)$' # 2, 3, 5, 6, 7
raced_bf16='^(cifar-conv-bn-b512|resnet18-b128|vgg16-b64|char-gpt-l6-c384-t256-b12|gpt2-t1024-b8)$'                          # 4, 5, 7, 8
# Limits as in on-device's plan; including the time to end them they are below nine minutes together.
# shellcheck disable=SC2034 # on-device reads it
named='compile-more 150
race-f32 160
race-bf16 140
race-generation 40'

# torch.compile takes a minute a network, and caches its results in a folder: a race finds them there.
export TORCHINDUCTOR_CACHE_DIR=${out:-}/inductor

# The arguments of a script of tests/bench, in $told. They are read without PyTorch, so that a rehearsal finds wrong
# arguments on any machine.
told=''
would_run () { # would_run SCRIPT.py PROGRAM OPTION…
  local script=$1 program=$2
  shift 2
  told=$(python3 "$here/tests/bench/arguments.py" "$here/tests/bench/$script" --program "$build/$program" "$@") \
    || { summary "$script does not take its arguments: $*"; return 1; }
  echo "$script would run $told"
}

bench () { # bench SCRIPT.py PROGRAM OPTION…
  local script=$1 program=$2
  shift 2
  would_run "$script" "$program" "$@" || return 1
  python3 -c 'import torch, numpy, safetensors' || skip "python3 here has no PyTorch, NumPy or safetensors"
  # PyTorch still uses its own libraries.
  export -f on_card
  printf '#!/bin/bash\non_card %q "$@"\n' "$build/$program" > "$out/$stage.program"
  chmod +x "$out/$stage.program"
  python3 -u "$here/tests/bench/$script" --program "$out/$stage.program" "$@"
}
race () { bench race.py tests/bench/bench-race "$@"; } # race OPTION…

# Whole networks take hours with an emulated GPU: a stage selected by name only rehearses its arguments.
not_rehearsed () { skip "raced on a GPU alone, $(wc -w <<< "$told") in all: $told"; }

run_compile () {
  [ -z "$eager" ] || skip "--eager leaves torch.compile out"
  if [ -n "$rehearse" ]; then race --warm --only '^iris-mlp-b16$'
  else race --device cuda:0 --warm --only "$raced"; fi
}

run_race () {
  if [ -n "$rehearse" ]; then race --device cuda:0 --json "$out/race.json" --emulated --losses 3 --only '^(iris-mlp-b16|mlp-784-128-10-b32)$'
  else race --device cuda:0 --json "$out/race.json" $([ -n "$eager" ] || echo --compile) --windows 5 --scale 3 --only "$raced"; fi
}

# Both types at once: a compilation runs on one thread.
run_compile-more () {
  local f32=(--device cuda:0 --warm --only "$raced_f32") bf16=(--device cuda:0 --warm --precision bf16 --only "$raced_bf16") first status=0 both
  [ -z "$eager" ] || skip "--eager leaves torch.compile out"
  if [ -n "$rehearse" ]; then
    would_run race.py tests/bench/bench-race "${f32[@]}" || return 1
    both=$told
    would_run race.py tests/bench/bench-race "${bf16[@]}" || return 1
    told="$both $told"
    not_rehearsed
  fi
  (race "${f32[@]}") &
  first=$!
  (race "${bf16[@]}") || status=$?
  wait "$first" || status=$?
  return $status
}

# --compile where compile-more has passed in the same folder: compiling takes longer than the whole race has.
race_rows () { # race_rows PRECISION PATTERN
  local words=(--device cuda:0 --json "$out/$stage.json" --windows 5 --scale 3 --precision "$1" --only "$2") compiled=''
  [ ! -e "$out/compile-more.status" ] || read -r compiled _ < "$out/compile-more.status"
  [ "$compiled" != 0 ] || [ -n "$eager" ] || words+=(--compile)
  if [ -n "$rehearse" ]; then
    would_run race.py tests/bench/bench-race "${words[@]}" || return 1
    not_rehearsed
  fi
  race "${words[@]}"
}
run_race-f32 () { race_rows f32 "$raced_f32"; }
run_race-bf16 () { race_rows bf16 "$raced_bf16"; }

run_race-generation () {
  local words=(--device cuda:0 --windows 5)
  if [ -n "$rehearse" ]; then
    would_run generation.py app/gradloom "${words[@]}" || return 1
    not_rehearsed
  fi
  bench generation.py app/gradloom "${words[@]}"
}
