/* Named tensors in a file: the weights of a model.
 *
 * Formats are recognised by their content: safetensors; the index of a sharded model, or the folder that holds one or a
 * single file of weights; state dicts of torch.save (zip archives, and the format before PyTorch 1.6); .npz; GGUF; HDF5
 * of Keras.
 * No format runs code: of a pickle, objects that are no tensors are passed over, and nothing is imported or called. */
#pragma once

#include "engine/core/loom-file.h"
#include "engine/core/loom-tensor.h"

typedef struct _LoomTensorFile LoomTensorFile;

/* path: of a checkpoint with several sets of weights also FILE#NAME, "last.pth#state_dict_ema"; see loom_file_of_set().
 * Errors: IO if the file cannot be read, DATA if it is damaged, of a format that is not read, or has no such set. */
LoomTensorFile *loom_tensor_file_open (const char *path, GError **error);
/* The same from memory, without indices of shards. path: for errors. */
LoomTensorFile *loom_tensor_file_open_bytes (GBytes *bytes, const char *path, GError **error);
void loom_tensor_file_free (LoomTensorFile *self);

/* Tensors are numbered in the order of the file: of bytes in safetensors, of names in other formats. */
guint loom_tensor_file_count (const LoomTensorFile *self);
const char *loom_tensor_file_name (const LoomTensorFile *self, guint i);
/* The type of loom_tensor_file_tensor(): smaller types are widened, such as F8_E4M3 to f32 and I16 to i64. */
LoomType loom_tensor_file_type (const LoomTensorFile *self, guint i);
/* The file's name of a type that cannot be read ("C64"), or NULL. Such a tensor is listed with type U8;
 * loom_tensor_file_tensor() refuses it (DATA). */
const char *loom_tensor_file_unread (const LoomTensorFile *self, guint i);
/* (transfer full) A read-only view that keeps the file mapped, so it may outlive self, if the file stores the elements
 * as a tensor does; otherwise a copy. Errors: DATA, OUT_OF_MEMORY. */
LoomTensor *loom_tensor_file_tensor (LoomTensorFile *self, guint i, GError **error);
/* The number of a tensor by name, or by another name under which the file stores it (tied weights); −1 if there is
 * none. */
int loom_tensor_file_find (const LoomTensorFile *self, const char *name);
/* A value of the metadata of safetensors, or NULL. */
const char *loom_tensor_file_metadata (const LoomTensorFile *self, const char *key);

/* If names are missing as they are, and all are found with one prefix ("module.", "_orig_mod.model."), the file's names
 * are used without it from then on. Returns that prefix, or NULL. (transfer none) */
const char *loom_tensor_file_strip_prefix (LoomTensorFile *self, const char *const *names, guint n);
/* Where in a checkpoint the tensors are ("state_dict"); NULL: everywhere. */
const char *loom_tensor_file_member (const LoomTensorFile *self);
/* “model_ema”, “best”: other members with weights; NULL: there are none, or the caller chose. (transfer full) */
char *loom_tensor_file_other_members (const LoomTensorFile *self);
/* Computes the weights of these names that the file has as a direction and a length (weight_norm), of NAME.weight:
 * NAME.weight_v and NAME.weight_g, or NAME.parametrizations.weight.original1 and original0. Returns their number. */
guint loom_tensor_file_join_norms (LoomTensorFile *self, const char *const *names, guint n);
/* Gives tensor i these sizes if both have the same but for sizes of 1 before them: a class token may be stored as [D]
 * or as [1, 1, D]. FALSE: they differ. */
gboolean loom_tensor_file_set_rank (LoomTensorFile *self, guint i, const LoomShape *shape);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTensorFile, loom_tensor_file_free)
