/* The struct of a file of tensors (LoomTensorFile), and the functions by which the reader of each format fills it. */
#pragma once

#include "engine/core/loom-file.h"
#include "engine/interop/loom-tensor-file.h"
#include "engine/interop/zip-archive.h"

/* How a file stores elements. */
typedef struct
{
  const char *name;    /* in headers of safetensors */
  const char *torch;   /* in pickles: the storage's type, without "Storage"; may be NULL */
  const char *other;   /* a newer name of PyTorch's type ("float8_e4m3fn"); may be NULL */
  LoomDType dtype;     /* of the tensor that is made */
  guint8 block, bytes; /* elements are stored in blocks: the numbers of elements and of bytes */
  /* n elements, a multiple of block; NULL: they are stored as in the tensor. FALSE: one does not fit. */
  gboolean (*decode) (const guint8 *from, gint64 n, void *to);
} TensorEncoding;

extern const TensorEncoding tensor_encodings[];
extern const guint tensor_n_encodings;
const TensorEncoding *tensor_encoding_named (const char *safetensors_name); /* NULL: there is none */
/* As tensors store it. */
const TensorEncoding *tensor_encoding_of (LoomDType dtype);
/* Of 32 elements with a common scale, as in GGUF. */
extern const TensorEncoding tensor_encoding_q8_0;

typedef struct _TensorEntry
{
  char *name;
  const TensorEncoding *encoding; /* NULL: unread */
  char *unread;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gint64 stride[LOOM_SHAPE_MAX_RANK]; /* in elements; only if is_strided */
  gboolean is_strided;
  guint source;
  gsize offset; /* of the first element, in bytes of the source */
  /* torch.nn.utils.weight_norm: this entry is the direction, and that one the length; NULL: it is a tensor. */
  struct _TensorEntry *length;
} TensorEntry;

/* Bytes that tensors are in: of a mapped file, or a member of an archive that is read when it is needed. */
typedef struct
{
  GBytes *bytes;   /* NULL: not read yet */
  ZipArchive *zip; /* (not owned) that the bytes are read from; NULL: they are there */
  guint64 member;
} TensorSource;

struct _LoomTensorFile
{
  char *path; /* for errors */
  ZipArchive *zip;
  GPtrArray *shards;    /* LoomTensorFile, whose archives sources are in */
  GArray *sources;      /* TensorSource */
  int read;             /* the source of the archive that was read last; −1: none */
  GPtrArray *entries;   /* TensorEntry */
  GHashTable *by_name;  /* name (owned by the entry) → index + 1 */
  GHashTable *metadata; /* text → text */
  char *prefix, *absent, *member;
  char *wanted;       /* the member that the caller chose; NULL: any */
  GPtrArray *members; /* char *: of a checkpoint, those with weights */
};

LoomTensorFile *tensor_file_new (const char *path);
guint tensor_file_add_source (LoomTensorFile *self, GBytes *bytes, guint64 member);
/* Takes the entry. DATA if a tensor of that name exists. */
gboolean tensor_file_add (LoomTensorFile *self, TensorEntry *entry, GError **error);
TensorEntry *tensor_entry_new (const char *name);
void tensor_entry_free (TensorEntry *entry);
/* The bytes that an entry spans, from its offset; −1 if that overflows. */
gint64 tensor_entry_span (const TensorEntry *entry);
/* TRUE if its strides are those of a dense tensor in row-major order. */
gboolean tensor_entry_is_dense (const TensorEntry *entry);

/* Sets the DATA error that there is no member of the wanted name, which lists those that there are. FALSE. */
gboolean tensor_file_refuse_member (const LoomTensorFile *self, GError **error);

/* The product of a direction and a length, see tensor-norm.c; NULL: OUT_OF_MEMORY. */
LoomTensor *tensor_of_norm (const LoomTensor *direction, const LoomTensor *length, GError **error);

/* The readers. Each returns FALSE with an error, or fills self. */
gboolean read_any (LoomTensorFile *self, GBytes *bytes, GError **error); /* of the format of the bytes */
gboolean read_safetensors (LoomTensorFile *self, GBytes *bytes, GError **error);
gboolean read_torch_zip (LoomTensorFile *self, GError **error); /* of self->zip */
gboolean read_torch_legacy (LoomTensorFile *self, GBytes *bytes, GError **error);
gboolean read_exported (LoomTensorFile *self, GError **error); /* .pt2, of self->zip */
gboolean read_npz (LoomTensorFile *self, GError **error);      /* of self->zip */
gboolean read_gguf (LoomTensorFile *self, GBytes *bytes, GError **error);
gboolean read_keras (LoomTensorFile *self, GBytes *bytes, GError **error); /* HDF5 */
/* path: an index, or a folder with one or with a single file of weights. */
gboolean read_shards (LoomTensorFile *self, const char *path, GError **error);
