/* Weights in safetensors files, which PyTorch reads and writes as a state_dict.
 *
 * A file consists of 8 bytes with the header's length (little endian), a JSON header {name: {dtype, shape,
 * data_offsets}}, and the numbers, without gaps or overlaps. Reading maps the file and checks the whole header first;
 * tensors are then views of the mapped file. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/interop/loom-tensor-file.h"

/* A file of this format alone, as checkpoints are. Errors: IO if the file cannot be read, DATA if the header is wrong.
 * If the file stores elements at addresses that are not aligned for their type, tensors are copies. */
LoomTensorFile *loom_safetensors_open (const char *path, GError **error);
/* The same for a name in a folder; folder NULL: path is the user's. */
LoomTensorFile *loom_safetensors_open_in (LoomFolder *folder, const char *path, GError **error);
/* The same from memory. name: for errors. */
LoomTensorFile *loom_safetensors_open_bytes (GBytes *bytes, const char *name, GError **error);

typedef struct
{
  char *name;
  LoomTensor *tensor;
} LoomNamedTensor;

LoomNamedTensor *loom_named_tensor_new (const char *name, LoomTensor *tensor); /* adds a reference to tensor */
void loom_named_tensor_free (LoomNamedTensor *self);
/* An array of LoomNamedTensor that frees its elements. */
GPtrArray *loom_named_tensors_new (void);

/* Writes the file completely or not at all. Types with more bytes come first, then the order is by name, as in the
 * reference implementation, so every tensor is aligned and equal content makes equal files. metadata (name → text) may
 * be NULL. Errors: IO; DATA if a name occurs twice. */
gboolean loom_safetensors_save (const char *path, GPtrArray *tensors, GHashTable *metadata, GError **error);

/* Where a file is written, such as a temporary name that the caller renames. (transfer none) */
typedef const char *(*LoomFilePlace) (const char *path, gpointer data);
/* Writes tensors in files of at most `most` bytes, or one tensor each: for “w.safetensors” the shards
 * “w-00001-of-00002.safetensors” … and the index “w.safetensors.index.json”; if one file is enough, path. place may be
 * NULL. One file replaces former shards, as a folder with an index is read by it: without a place they are removed
 * here, with one the caller removes them after renaming. Errors as above. */
gboolean loom_safetensors_save_shards (const char *path, GPtrArray *tensors, double most, LoomFilePlace place,
                                       gpointer data, GError **error);
/* Removes the index that belongs to path, and of the files that it names those that are called as its shards. */
void loom_safetensors_remove_shards (const char *path);

/* The description of tensors to be written, which `get` makes one at a time, in the order of the file. */
typedef struct
{
  const char *name;
  LoomDType dtype;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
} LoomTensorEntry;
typedef LoomTensor *(*LoomTensorGet) (const char *name, gpointer data, GError **error); /* (transfer full) */

/* Writes tensors that are made while the file is written, as a name in a folder or, without a folder, as a path. path
 * NULL: all tensors are made, but nothing is written. After a failure the remaining tensors are still made, because
 * ranks make them together. */
gboolean loom_safetensors_stream (LoomFolder *folder, const char *path, guint n, const LoomTensorEntry *entries,
                                  GHashTable *metadata, LoomTensorGet get, gpointer data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomNamedTensor, loom_named_tensor_free)
