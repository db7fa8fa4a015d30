/* Unpacks gzip files with several members, such as concatenated ones and those of bgzip. GLib's decompressor ends after
 * the first member. */
#pragma once

#include <gio/gio.h>

G_DECLARE_FINAL_TYPE (LoomGunzip, loom_gunzip, LOOM, GUNZIP, GObject)

/* (transfer full) */
GConverter *loom_gunzip_new (void);
/* The first `length` bytes of an unpacked file, by libdeflate in a third of zlib's time. NULL: it is damaged, shorter,
 * longer, or there is no memory; the converter says which. (transfer full) */
GBytes *loom_gunzip_whole (const char *path, gsize length);
