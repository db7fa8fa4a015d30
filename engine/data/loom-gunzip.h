/* Unpacks gzip, all members of a file one after the other: files that were put together, and those of bgzip, have
 * several. GLib's decompressor ends after the first. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

G_DECLARE_FINAL_TYPE (LoomGunzip, loom_gunzip, LOOM, GUNZIP, GObject)

/* (transfer full) */
GConverter *loom_gunzip_new (void);

G_END_DECLS
