# Shared by carry and on-device: the programs that run on a GPU, and how they are built. Sourced, not run.
# shellcheck shell=bash disable=SC2154
# "here" is the root of the tree.

# Below the build folder. The tests of the CPU among them tell whether the machine itself is sound.
programs="app/gradloom app/lab/gradloom-lab tests/cuda/card-info tests/test-kernels tests/kernels/test-kernels-draw tests/test-cuda
 tests/test-run tests/bench/bench-race"
# shellcheck disable=SC2034 # on-device and carry read it
modules=kernels/cuda/loom-cuda.so
# Programs that not every build has; a stage that lacks one is skipped.
extras="tests/kernels/test-kernels-draw tests/test-cuda tests/cuda/log-answers.so"

# Meson 1.0 does not ask nvcc for the headers of a source, so objects are not rebuilt after a change of these: once, a
# back end with two layouts of one structure was carried to a card and crashed there.
drop_stale_kernels () { # drop_stale_kernels FOLDER
  local newest
  newest=$(find "$here/kernels" -name '*.h' -o -name '*.cuh' | xargs ls -t | head -n 1)
  [ ! -d "$1/kernels/cuda" ] || find "$1/kernels/cuda" -name '*.cu.o' ! -newer "$newest" -delete
}

# Builds them without Studio; $2: what nvcc compiles for (default: every kind of GPU).
build_for_card () { # build_for_card FOLDER [ARCHITECTURE]
  export PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
  if [ ! -f "$1/build.ninja" ]; then
    meson setup "$1" "$here" -Dbuildtype=release -Dstudio=false -Dpictures=disabled -Donnx=disabled -Dcuda=enabled \
      "-Dnvcc_arch=${2:-all-major}" || return 1
  fi
  drop_stale_kernels "$1" || return 1
  # shellcheck disable=SC2086,SC2046
  ninja -C "$1" $programs $modules $(ninja -C "$1" -t targets all | cut -d : -f 1 | grep -xF "$(printf '%s\n' $extras)")
}
