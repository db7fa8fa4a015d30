#!/bin/sh
# GTK 4.8.3 on X11 (Debian 12: libgtk-4-1 4.8.3+ds-2+deb12u1; with Xvfb, xrdb of x11-xserver-utils and Python).
# One would guess that gtk-xft-dpi in gtk-4.0/settings.ini enlarges text, as its other keys take effect: the documentation
# of GtkSettings says that any of the settings can be set there. In fact gtk-font-name of the same file is used and
# gtk-xft-dpi is not: the X11 back end always has a value of its own for it, 96 or what the resource Xft.dpi of the display
# says, and a value of the display comes before one of a file. So a test, or a user without a settings daemon, that sets
# 200 % text in the file gets 100 % without a word. Xft.dpi in the display's resources works (the server must not reset
# itself when xrdb ends: Xvfb -noreset), and so does an XSETTINGS daemon.
# Source: the value that GtkSettings reports under each of the three.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libgtk-4-1=4.8.3+ds-2+deb12u1 > /dev/null
dpkg -x ./*.deb root
library=$(find "$folder/root" -name 'libgtk-4.so.1')

cat > show.py <<'PY'
import ctypes, sys
gtk = ctypes.CDLL(sys.argv[1])
gtk.gtk_init()
gtk.gtk_settings_get_default.restype = ctypes.c_void_p
dpi, font = ctypes.c_int(0), ctypes.c_char_p()
gtk.g_object_get(ctypes.c_void_p(gtk.gtk_settings_get_default()), b"gtk-xft-dpi", ctypes.byref(dpi), b"gtk-font-name",
                 ctypes.byref(font), None)
print("%g %s" % (dpi.value / 1024, font.value.decode()))
PY
mkfifo display
Xvfb -noreset -displayfd 3 -nolisten tcp 3> display 2> /dev/null &
server=$!
read -r number < display
mkdir -p config/gtk-4.0
show() { DISPLAY=:$number XDG_CONFIG_HOME=$folder/config GDK_BACKEND=x11 python3 show.py "$library" 2> /dev/null; }

plain=$(show)
printf '[Settings]\ngtk-xft-dpi=196608\ngtk-font-name=Serif 12\n' > config/gtk-4.0/settings.ini
file=$(show)
echo 'Xft.dpi: 192' > resources
DISPLAY=:$number xrdb -merge resources
resource=$(show)
echo "dots per inch and font: plain $plain; with settings.ini (192, Serif 12) $file; with Xft.dpi 192 too $resource"
[ "${plain%% *}" = 96 ] && [ "$file" = '96 Serif 12' ] && [ "$resource" = '192 Serif 12' ]
