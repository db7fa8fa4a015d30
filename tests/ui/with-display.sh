#!/bin/sh
# Runs a program on a virtual screen of its own, with a session bus of its own: with-display.sh PROGRAM [ARGUMENT…]
# The output of that bus's services is no part of the program's own.
# Software drawing, so that what is measured and compared does not depend on a graphics card.
for need in Xvfb dbus-run-session; do
  command -v "$need" >/dev/null || { echo "1..0 # SKIP $need is not installed"; exit 77; }
done
folder=$(mktemp -d) || exit 1
mkfifo "$folder/display"
Xvfb -displayfd 3 -screen 0 1280x800x24 -nolisten tcp 3>"$folder/display" >"$folder/log" 2>&1 &
server=$!
read -r number <"$folder/display"
if [ -z "$number" ]; then
  cat "$folder/log" >&2
  rm -rf "$folder"
  exit 1
fi
# The pointer stands in the middle, where windows open: a window that goes while its crossing events are under way makes
# GDK complain, which would be the test's failure. In the corner it meets none.
command -v xdotool >/dev/null && DISPLAY=":$number" xdotool mousemove 1279 799
DISPLAY=":$number" GDK_BACKEND=x11 GSK_RENDERER=cairo GDK_DEBUG=gl-disable NO_AT_BRIDGE=1 GSETTINGS_BACKEND=memory \
  XDG_STATE_HOME="$folder/state" dbus-run-session -- sh -c 'exec "$@" >&3 3>&-' sh "$@" 3>&1 >&2
status=$?
kill "$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf "$folder"
exit $status
