#!/bin/sh
# GLib 2.74.6 (Debian 12: libglib2.0-bin 2.74.6-2+deb12u9) with shared-mime-info 2.2-1.
# One would guess that a program whose documents are XML gets a type of its own by declaring their root element: the
# specification of shared MIME information has <root-XML> for this purpose, and magic rules with priorities that are compared
# with those of names. In fact a file that is called *.xml is application/xml, whatever its bytes are: GIO's attribute
# standard::content-type, which file managers use, looks inside a file only if its name is not certain, and
# g_content_type_guess() prefers the one type of a name even to a magic of priority 100 that matches the bytes it is given.
# The declared type is found for the same bytes without a suffix, and by a glob of two suffixes. So *.xml has no icon, no
# thumbnail and no double click. KDE reads <root-XML>. Who meets it: every program that stores its documents as NAME.xml.
# Source: what gio info and g_content_type_guess() say of one content under three names.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libglib2.0-0=2.74.6-2+deb12u9 > /dev/null 2>&1
apt-get download -q libglib2.0-bin=2.74.6-2+deb12u9 > /dev/null 2>&1
apt-get download -q shared-mime-info=2.2-1 > /dev/null 2>&1
for package in ./*.deb; do dpkg -x "$package" root; done
libraries=$(dirname "$(find "$folder/root" -name 'libgio-2.0.so.0')")
share=$folder/root/usr/share

cat > "$share/mime/packages/example.xml" <<'XML'
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="application/x-example+xml">
    <sub-class-of type="application/xml"/>
    <root-XML namespaceURI="urn:example" localName="document"/>
    <magic priority="100"><match type="string" offset="0:100" value="urn:example"/></magic>
    <glob pattern="*.example.xml"/>
  </mime-type>
</mime-info>
XML
LD_LIBRARY_PATH=$libraries "$folder/root/usr/bin/update-mime-database" "$share/mime" > note 2>&1
for name in letter.xml letter letter.example.xml; do
  printf '<?xml version="1.0"?>\n<document xmlns="urn:example"/>\n' > "$name"
done
export XDG_DATA_DIRS="$share" XDG_DATA_HOME="$folder/none" LD_LIBRARY_PATH="$libraries"

type_of() { "$folder/root/usr/bin/gio" info -a standard::content-type "$1" | sed -n 's/.*standard::content-type: //p'; }
plain=$(type_of letter.xml)
bare=$(type_of letter)
double=$(type_of letter.example.xml)
cat > guess.py <<'PY'
import ctypes, sys
gio = ctypes.CDLL(sys.argv[1] + "/libgio-2.0.so.0")
gio.g_content_type_guess.restype = ctypes.c_char_p
data = open("letter.xml", "rb").read()
print(gio.g_content_type_guess(b"letter.xml", data, ctypes.c_size_t(len(data)), None).decode())
PY
guess=$(python3 guess.py "$libraries")
echo "letter.xml: $plain, by g_content_type_guess() with its bytes $guess"
echo "letter: $bare; letter.example.xml: $double"
[ "$plain" = application/xml ] && [ "$guess" = application/xml ] \
  && [ "$bare" = application/x-example+xml ] && [ "$double" = application/x-example+xml ]
