# Shared by app/run and tests/run: packages and builds. Sourced, not run.
#
# On Debian and its relatives missing packages are installed; elsewhere, and for packages that apt does not know, what is
# missing is listed, because guessing another distribution's names would fail later and less clearly.

packages_build="meson ninja-build pkg-config gcc libc6-dev libglib2.0-dev libxml2-dev libjson-glib-dev libzip-dev libpng-dev libjpeg-dev libwebp-dev libtiff-dev libdeflate-dev libzstd-dev libsnappy-dev libgdk-pixbuf-2.0-dev libdnnl-dev
 libopenmpi-dev libgtk-4-dev libadwaita-1-dev libcmark-dev librsvg2-dev libpango1.0-dev libxml2-utils libprotobuf-c-dev protobuf-c-compiler libonnx-dev gettext shared-mime-info"
packages_use="openmpi-bin dataset-fashion-mnist adwaita-icon-theme librsvg2-common fonts-dejavu-core"
packages_test="python3 python3-numpy xvfb xdotool imagemagick dbus-daemon at-spi2-core procps clang libclang-rt-dev
 openssh-client openssh-server python3-gi gir1.2-atspi-2.0 libonnx-testdata appstream desktop-file-utils git patchelf lld libsentencepiece-dev libprotobuf-dev"

may_ask=yes # no: --no-install, which installs nothing

say () { printf '%s\n' "$*" >&2; }

as_root () {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo > /dev/null; then sudo "$@"
  else return 1
  fi
}

# Asks before anything is installed as root. Without a terminal there is no answer: then root itself (a container) and CI
# mean it, and others are told what to do.
may_install () {
  if [ "$may_ask" = no ]; then return 1; fi
  case ${CI:-} in '' | 0 | false) ;; *) return 0 ;; esac
  if [ -t 0 ] && [ -t 2 ]; then
    printf 'Install these packages as root with apt-get? [y/N] ' >&2
    read -r answer || answer=
    case $answer in [yY] | [yY][eE][sS]) return 0 ;; esac
    return 1
  fi
  [ "$(id -u)" = 0 ]
}

# Debian: installs those of the packages that are not there yet. 2: apt does not know some; the others are installed.
install_packages () {
  missing=
  # shellcheck disable=SC2016 # dpkg-query's own names
  installed=$(dpkg-query -W -f '<${Package} ${db:Status-Status}>' "$@" 2> /dev/null) || true
  for package in "$@"; do
    case $installed in *"<$package installed>"*) ;; *) missing="$missing $package" ;; esac
  done
  [ -z "$missing" ] && return 0
  say "These packages are missing:$missing"
  if ! may_install || ! as_root true; then
    say "Nothing was installed. As root:"
    say "  apt-get install --no-install-recommends$missing"
    return 1
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2 || true
  known= unknown=
  for package in $missing; do
    if [ -n "$(apt-cache madison "$package" 2> /dev/null)" ]; then
      known="$known $package"
    else
      unknown="$unknown $package"
    fi
  done
  if [ -n "$known" ]; then
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $known >&2 || return 1
  fi
  [ -z "$unknown" ] && return 0
  say "apt knows no package of these names here:$unknown"
  return 2
}

# Where packages are not installed by themselves: lists what is missing, with the least version that is known to work.
list_missing () {
  lacking=
  for tool in meson ninja pkg-config cc gdbus-codegen glib-compile-resources xmllint msgfmt "$@"; do
    command -v "$tool" > /dev/null || lacking="$lacking
  the program $tool"
  done
  if command -v pkg-config > /dev/null; then
    for pair in "glib-2.0 2.74" "gio-unix-2.0 2.74" "libxml-2.0 2.9" "json-glib-1.0 1.6" "libzip 1.7" "libpng 1.6" "libjpeg 1.5" "libwebp 1.0" "libtiff-4 4.5" "libdeflate 1.14" "libzstd 1.4" "snappy 1.1" "gdk-pixbuf-2.0 2.42" "gtk4 4.8" "libadwaita-1 1.2" "libcmark 0.30" "librsvg-2.0 2.48" "pangocairo 1.50"; do
      # shellcheck disable=SC2086
      set -- $pair
      pkg-config --atleast-version="$2" "$1" || lacking="$lacking
  the development files of $1, version $2 or newer"
    done
  fi
  if command -v cc > /dev/null && ! echo '#include <dnnl.h>' | cc -E - > /dev/null 2>&1; then
    lacking="$lacking
  the development files of oneDNN (dnnl.h), version 2.6"
  fi
  [ -z "$lacking" ] && return 0
  say "Please install what is missing here:$lacking"
  return 1
}

provide () { # provide "packages" tools…
  wanted=$1
  shift
  if command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; then
    known_all=0
    # shellcheck disable=SC2086
    install_packages $wanted || known_all=$?
    # A package of another name, or of one that is only good to have, may be there all the same.
    [ "$known_all" = 2 ] || return "$known_all"
  fi
  list_missing "$@"
}

# Whether headers are precompiled: read once for all files that need many, which a cache of compiled files does better.
precompiled () { if command -v ccache > /dev/null && [ -z "${CCACHE_DISABLE:-}" ]; then echo false; else echo true; fi; }

# Meson's options for debugging information that is enough for backtraces: it takes a sixth less time to compile than all of
# it. -Ddebug=true adds names and types of variables.
lines_only="-Ddebug=false -Dc_args=-g1 -Dcpp_args=-g1"

# Whether an NVIDIA GPU can be used here, by its driver's own program.
has_gpu () { command -v nvidia-smi > /dev/null && nvidia-smi -L 2> /dev/null | grep -q GPU; }

# Sets cuda_options to Meson's options for CUDA in a build folder for this machine. Without a GPU the CUDA module is left
# out, as it takes several times as long to compile as all other code; with one it is compiled for that GPU alone. A folder
# that was configured with -Dcuda=enabled stays as it is.
choose_cuda () { # choose_cuda FOLDER
  if grep -q '"name": *"cuda", *"value": *"enabled"' "$1/meson-info/intro-buildoptions.json" 2> /dev/null; then
    cuda_options=
  elif has_gpu; then
    cuda_options="-Dcuda=auto -Dnvcc_arch=native"
  else
    cuda_options=-Dcuda=disabled
    if command -v nvcc > /dev/null && ! grep -q -e "$cuda_options" "$1/.options" 2> /dev/null; then
      say "No NVIDIA GPU was found, so the CUDA module is not built; \"meson configure ${1##*/} -Dcuda=enabled\" adds it."
    fi
  fi
}

# Sets up a build folder once, with these options, and builds a target. Says nothing where there is nothing to do: changing
# options, even to what they are, would make Meson look at everything again.
build () { # build FOLDER TARGET options…
  folder=$1 target=$2
  shift 2
  if [ ! -f "$folder/build.ninja" ]; then
    meson setup "$folder" "$root" "$@" >&2
  elif [ "$(cat "$folder/.options" 2> /dev/null)" != "$*" ]; then
    meson configure "$folder" "$@" > /dev/null 2>&1 || meson setup --wipe "$folder" "$root" "$@" >&2
  fi
  printf '%s\n' "$*" > "$folder/.options"
  if ! ninja -C "$folder" -n "$target" 2> /dev/null | grep -q 'no work to do'; then
    ninja -C "$folder" "$target" >&2
  fi
}
