/* Reads members of a zip archive, by libzip. */
#pragma once

#include <glib.h>

typedef struct _ZipArchive ZipArchive;

/* Of a mapped file. path: for errors. DATA if it is no archive. */
ZipArchive *zip_archive_open (GBytes *bytes, const char *path, GError **error);
void zip_archive_free (ZipArchive *self);
guint64 zip_archive_count (const ZipArchive *self);
/* The size of the archive. */
gsize zip_archive_bytes (const ZipArchive *self);
/* NULL if the name is damaged. */
const char *zip_archive_name (const ZipArchive *self, guint64 i);
guint64 zip_archive_size (const ZipArchive *self, guint64 i);
/* The member whose path ends with `end` after a folder, or is `end`; −1: there is none. */
gint64 zip_archive_find (const ZipArchive *self, const char *end);
/* The member of this path; −1: there is none. */
gint64 zip_archive_locate (const ZipArchive *self, const char *path);
/* The first `most` bytes of a member, unpacked, or all of it. (transfer full) Errors: DATA, OUT_OF_MEMORY. */
GBytes *zip_archive_read (ZipArchive *self, guint64 i, gsize most, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ZipArchive, zip_archive_free)
