/* Unpacks gzip files with several members, such as concatenated ones and those of bgzip. GLib's decompressor ends after
 * the first member. */
#pragma once

#include <gio/gio.h>

G_DECLARE_FINAL_TYPE (LoomGunzip, loom_gunzip, LOOM, GUNZIP, GObject)

/* (transfer full) */
GConverter *loom_gunzip_new (void);
