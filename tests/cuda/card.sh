# Shared by carry and on-device: the programs that run on a GPU, and how they are built. Sourced, not run.
# shellcheck shell=bash disable=SC2154
# "here" is the root of the tree.

# Below the build folder. The two that know no GPU tell whether the machine itself is sound.
programs="app/gradloom tests/cuda/card-info tests/kernels/test-kernels-ref tests/kernels/test-kernels-agree
 tests/kernels/test-kernels-module tests/kernels/test-kernels-options tests/kernels/test-kernels-draw
 tests/cuda/test-cuda-device tests/exec/test-run-steps tests/bench/bench-race"
# shellcheck disable=SC2034 # on-device and carry read it
modules=kernels/cuda/loom-cuda.so
# Programs that not every build has; a stage that lacks one is skipped.
extras="tests/kernels/test-kernels-module tests/kernels/test-kernels-options tests/kernels/test-kernels-draw
 tests/cuda/test-cuda-device tests/cuda/log-answers.so"

# Builds them without Studio; $2: what nvcc compiles for (default: every kind of GPU).
build_for_card () { # build_for_card FOLDER [ARCHITECTURE]
  export PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
  if [ ! -f "$1/build.ninja" ]; then
    meson setup "$1" "$here" -Dbuildtype=release -Dstudio=false -Dpictures=disabled -Donnx=disabled -Dcuda=enabled \
      "-Dnvcc_arch=${2:-all-major}" || return 1
  fi
  # shellcheck disable=SC2086,SC2046
  ninja -C "$1" $programs $modules $(ninja -C "$1" -t targets all | cut -d : -f 1 | grep -xF "$(printf '%s\n' $extras)")
}
