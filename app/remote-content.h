/* The data of a graph by content: what the graph reads, and the cache of the host that has received it. */
#pragma once

#include "app/remote-stream.h"

#define REMOTE_MOST_FILES 100000
#define REMOTE_MOST_BYTES (G_GUINT64_CONSTANT (64) << 30) /* of all files */

typedef struct
{
  char *name; /* below the graph's folder */
  char *path; /* here */
  char *sum;  /* SHA-256 of the content, 64 hexadecimal digits */
  guint64 size;
} RemoteFile;

/* Lists the files that the data sets of a graph name, and replaces paths that lead out of its folder by names in it.
 * Data sets that are installed are not among them. Errors: DATA, IO, USAGE if they are too many or too large. (transfer
 * full, of RemoteFile) */
GPtrArray *remote_content_list (LoomGraph *graph, GError **error);
gboolean remote_content_send (const RemoteFile *file, GOutputStream *stream, GError **error);

/* ---- on the host ---- */

/* A relative path of plain names, none of which leads upwards. */
gboolean remote_name_is_safe (const char *name);
/* TRUE if a SHA-256 is in the cache with this size. */
gboolean remote_content_has (const char *sum, guint64 size);
/* Receives a file into the cache. Errors: IO, DATA if its content is not that of the sum. */
gboolean remote_content_receive (const char *sum, guint64 size, GInputStream *stream, GError **error);
/* Makes the file of this name in a folder from the cache. */
gboolean remote_content_place (const char *sum, const char *folder, const char *name, GError **error);
