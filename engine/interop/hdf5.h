/* Arrays and short texts of an HDF5 file, as h5py and Keras write them: the version of the format that is the default
 * of libhdf5 (superblocks 0 and 1, groups with symbol tables, contiguous or compact data, little endian).
 *
 * It is read here rather than by libhdf5, because that library trusts the lengths and addresses of a file: damaged ones
 * have ended the process in many of its versions. */
#pragma once

#include <glib.h>

#include "engine/core/loom-dim.h"

typedef struct
{
  char *path;       /* "layers/dense/vars/0" */
  const char *type; /* as safetensors name it: "F32"; NULL: see unread */
  char *unread;     /* why the numbers cannot be read: "chunked" */
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  guint64 offset; /* of the first number in the bytes; they may end before the last */
} Hdf5Array;

typedef struct
{
  GPtrArray *arrays; /* Hdf5Array, in the order of the file: by name in each group */
  GHashTable *texts; /* "layers/dense/vars name" → text: attributes “name” and “dtype” of groups and arrays */
} Hdf5;

/* path: for errors. DATA: damaged, or of a form that is not read. */
Hdf5 *hdf5_read (GBytes *bytes, const char *path, GError **error);
void hdf5_free (Hdf5 *self);
const char *hdf5_text (const Hdf5 *self, const char *path, const char *name); /* or NULL */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Hdf5, hdf5_free)
