/* Weights in safetensors files: what PyTorch reads and writes as a state_dict.
 *
 * A file is 8 bytes of header length (little endian), a JSON header {name: {dtype,
 * shape, data_offsets}}, and the numbers, without gaps or overlaps. Reading maps
 * the file and checks the whole header first; tensors are then views of the map. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/core/loom-tensor.h"

G_BEGIN_DECLS

typedef struct _LoomSafetensors LoomSafetensors;

/* Errors: IO when it cannot be read, DATA when the header is wrong. */
LoomSafetensors *loom_safetensors_open (const char *path, GError **error);
/* The same by a name in a folder; NULL: path is the user's. */
LoomSafetensors *loom_safetensors_open_in (LoomFolder *folder, const char *path, GError **error);
/* The same from memory; name is what sentences call it. */
LoomSafetensors *loom_safetensors_open_bytes (GBytes *bytes, const char *name, GError **error);
void loom_safetensors_free (LoomSafetensors *self);

/* Tensors are numbered in the order in which they lie in the file. */
guint loom_safetensors_count (const LoomSafetensors *self);
const char *loom_safetensors_name (const LoomSafetensors *self, guint i);
LoomType loom_safetensors_type (const LoomSafetensors *self, guint i);
/* The header's name of a type that cannot be read ("F8_E4M3"), or NULL. Such a tensor is listed, with the type U8;
 * loom_safetensors_tensor() refuses it (DATA). */
const char *loom_safetensors_unread (const LoomSafetensors *self, guint i);
/* (transfer full) It keeps the file mapped, so it may outlive self. Where the file
 * puts elements at addresses that do not suit their type, it is a copy. Read only. */
LoomTensor *loom_safetensors_tensor (const LoomSafetensors *self, guint i, GError **error);
/* By name, or by the name of a tensor that the file stores under another one (tied weights): -1 when there is none. */
int loom_safetensors_find (const LoomSafetensors *self, const char *name);
/* A value of the metadata, or NULL. */
const char *loom_safetensors_metadata (const LoomSafetensors *self, const char *key);

typedef struct
{
  char *name;
  LoomTensor *tensor;
} LoomNamedTensor;

LoomNamedTensor *loom_named_tensor_new (const char *name, LoomTensor *tensor); /* takes a reference */
void loom_named_tensor_free (LoomNamedTensor *self);
/* An array of LoomNamedTensor that frees its elements. */
GPtrArray *loom_named_tensors_new (void);

/* Writes whole or not at all. Wide elements come first, then by name, as the
 * reference writer does: every tensor is aligned, and equal content gives equal
 * bytes. metadata (name → text) may be NULL. Errors: IO; DATA for a name twice. */
gboolean loom_safetensors_save (const char *path, GPtrArray *tensors, GHashTable *metadata, GError **error);

/* What is to be written, of which `get` makes one tensor at a time, in the order of the file. */
typedef struct
{
  const char *name;
  LoomDType dtype;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
} LoomTensorEntry;
typedef LoomTensor *(*LoomTensorGet) (const char *name, gpointer data, GError **error); /* (transfer full) */

/* The same for tensors that are made on the way, as a name in a folder or, without one, a path, which may be NULL: then
 * all are made, and none is written. Also where writing fails the others are made, for ranks make them together. */
gboolean loom_safetensors_stream (LoomFolder *folder, const char *path, guint n, const LoomTensorEntry *entries,
                                  GHashTable *metadata, LoomTensorGet get, gpointer data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSafetensors, loom_safetensors_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomNamedTensor, loom_named_tensor_free)

G_END_DECLS
