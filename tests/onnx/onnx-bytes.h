/* Models made byte by byte, in protobuf's encoding, so that they can be invalid in lengths, sizes, depth and names.
 * Fields are those of onnx.proto. */
#pragma once

#include <glib.h>

void put_int (GByteArray *b, guint field, gint64 value);
void put_bytes (GByteArray *b, guint field, const void *data, gsize length);
void put_text (GByteArray *b, guint field, const char *text);
/* Takes the part. */
void put_part (GByteArray *b, guint field, GByteArray *part);

/* A tensor of floats: value, value + 1, …; `announced` sizes may be wrong. */
GByteArray *tensor (const char *name, guint n, const gint64 *announced, guint count, float value);
/* Integers; rank 0 is a single one. */
GByteArray *numbers (const char *name, guint rank, guint n, const gint64 *values);
/* An input or output of floats; a size of -1 is named "batch". */
GByteArray *port (const char *name, guint n, const gint64 *dims);
/* One of this element type of ONNX. */
GByteArray *typed_port (const char *name, int elem_type, guint n, const gint64 *dims);
/* inputs and outputs are words with a space between them. */
GByteArray *node (const char *op, const char *name, const char *inputs, const char *outputs);
void put_attribute (GByteArray *n, const char *name, gint64 value);
void put_attribute_text (GByteArray *n, const char *name, const char *value);
/* Takes the graph. */
void put_attribute_graph (GByteArray *n, const char *name, GByteArray *graph);
/* Takes the graph. */
GByteArray *model (GByteArray *graph, gint64 opset);
