/* Writes an event file of TensorBoard: protocol buffers in records of TFRecord.
 *
 * The few messages of TensorBoard's event.proto, summary.proto and graph.proto have fixed fields, so that a writer of
 * fields is enough and no code is generated from them: protobuf-c is an optional library. A message is a GByteArray. */
#pragma once

#include "engine/loom-run.h"

/* Append a field to a message. Numbers of fields are those of the .proto files. */
void board_put_int (GByteArray *message, guint field, gint64 value);
void board_put_float (GByteArray *message, guint field, float value);
void board_put_double (GByteArray *message, guint field, double value);
void board_put_string (GByteArray *message, guint field, const char *text);
void board_put_bytes (GByteArray *message, guint field, const void *data, gsize length);
/* A repeated field of n doubles, packed. */
void board_put_doubles (GByteArray *message, guint field, guint n, const double *value);
/* A message in the message; frees it. */
void board_put_message (GByteArray *message, guint field, GByteArray *inner);

typedef struct _BoardFile BoardFile;

#define BOARD_FILE_PREFIX "events.out.tfevents."

/* Creates a file with a new name in the folder. Errors: IO. */
BoardFile *board_file_new (LoomFolder *folder, GError **error);
void board_file_free (BoardFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BoardFile, board_file_free)

/* Fields of Event besides the time and the step. */
#define BOARD_EVENT_VERSION 3
#define BOARD_EVENT_GRAPH   4
#define BOARD_EVENT_SUMMARY 5
#define BOARD_EVENT_SESSION 7
/* Writes an event with one field, a message or a text (freed). FALSE with IO. */
gboolean board_file_add (BoardFile *self, gint64 step, guint field, GByteArray *content, GError **error);
/* Readers see what was added so far. */
gboolean board_file_flush (BoardFile *self, GError **error);
