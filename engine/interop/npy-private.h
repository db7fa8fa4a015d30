/* The header of an npy file, for readers of archives. */
#pragma once

#include "engine/core/loom-tensor.h"

typedef struct
{
  const char *encoding; /* as safetensors name it: "F32" */
  gboolean fortran;     /* the first index is the fastest */
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gsize data_offset;
} NpyHeader;

/* data: the beginning of the file, with its whole header. name: for errors, which are DATA. */
gboolean npy_read_header (const guint8 *data, gsize length, const char *name, NpyHeader *header, GError **error);
/* More bytes than any header has. */
#define NPY_MAX_HEADER 65560
