/* Reads the weights that Keras saves, .weights.h5 and .keras of version 3 and .h5 of version 2, under the names and in
 * the layouts of PyTorch: a kernel [in, out] is a weight [out, in], one [h, w, in, out] is [out, in, h, w].
 *
 * Transposed layouts are strides. Recurrent layers keep their gates in one matrix: those of an LSTM have the same order
 * (input, forget, cell, output); a GRU's are update, reset, new, and PyTorch's reset, update, new, so these are copied.
 * Version 3 numbers the weights of a layer, so their meaning follows from its class; in version 2 they have names.
 * Sources: keras/src/saving/saving_lib.py, keras/src/layers. */
#include "engine/interop/hdf5.h"
#include "engine/interop/tensor-file-private.h"

#include <string.h>

#define MAX_ROLES 4

/* The weights of each class, in their order; the class is the folder's name without its number. */
static const struct
{
  const char *class, *roles[MAX_ROLES + 1];
} classes[] = {
  { "dense", { "kernel", "bias" } },
  { "einsum_dense", { "einsum", "bias" } },
  { "conv1d", { "kernel", "bias" } },
  { "conv2d", { "kernel", "bias" } },
  { "conv3d", { "kernel", "bias" } },
  { "conv1d_transpose", { "kernel", "bias" } },
  { "conv2d_transpose", { "kernel", "bias" } },
  { "conv3d_transpose", { "kernel", "bias" } },
  { "depthwise_conv1d", { "depthwise_kernel", "bias" } },
  { "depthwise_conv2d", { "depthwise_kernel", "bias" } },
  { "separable_conv1d", { "depthwise_kernel", "pointwise_kernel", "bias" } },
  { "separable_conv2d", { "depthwise_kernel", "pointwise_kernel", "bias" } },
  { "batch_normalization", { "gamma", "beta", "moving_mean", "moving_variance" } },
  { "layer_normalization", { "gamma", "beta" } },
  { "group_normalization", { "gamma", "beta" } },
  { "rms_normalization", { "gamma" } },
  { "embedding", { "embeddings" } },
  { "p_re_lu", { "alpha" } },
  { "cell", { "kernel", "recurrent_kernel", "bias" } }, /* of a recurrent layer */
};

/* Where weights that need no other layout are in PyTorch. */
static const struct
{
  const char *role, *name;
} plain_roles[] = {
  { "gamma", "weight" },
  { "beta", "bias" },
  { "moving_mean", "running_mean" },
  { "moving_variance", "running_var" },
  { "embeddings", "weight" },
  { "alpha", "weight" },
};

/* One array of the file. */
typedef struct
{
  const Hdf5Array *array;
  char *owner; /* path of its layer, or of its cell */
  char *role;
} Weight;

typedef struct
{
  LoomTensorFile *file;
  GBytes *bytes;
  const Hdf5 *hdf5;
  GPtrArray *weights;  /* Weight */
  GHashTable *by_path; /* "owner role" → Weight */
  GHashTable *n_in;    /* path of a folder → number of arrays in it */
  GHashTable *taken;   /* "layer role", with the direction of a recurrent layer */
  guint source;        /* the whole file */
  gsize copied;        /* bytes of gates */
  GError **error;
} Reader;

static void
weight_free (gpointer data)
{
  Weight *weight = data;

  g_free (weight->owner);
  g_free (weight->role);
  g_free (weight);
}

/* ---- names ------------------------------------------------------------------------------ */

/* "dense_1" → "dense". */
static char *
class_of (const char *folder)
{
  gsize n = strlen (folder);

  while (n > 0 && g_ascii_isdigit (folder[n - 1]))
    n--;
  return n > 1 && n < strlen (folder) && folder[n - 1] == '_' ? g_strndup (folder, n - 1) : g_strdup (folder);
}

/* The meaning of weight number i of n of a class. Without a scale or an offset, normalisations have fewer. */
static const char *
role_of (const char *class, guint i, guint n)
{
  static const char *const unscaled[] = { "beta", "moving_mean", "moving_variance" };

  if (g_str_equal (class, "batch_normalization") && n < 4)
    return i < n && n >= 2 ? unscaled[3 - n + i] : NULL;
  for (guint k = 0; k < G_N_ELEMENTS (classes); k++)
    if (g_str_equal (class, classes[k].class))
      return i < MAX_ROLES ? classes[k].roles[i] : NULL;
  return NULL;
}

/* The name of the layer at this path: the user's names of the layers above it and its own, joined by points. */
static char *
name_of (const Reader *r, const char *owner)
{
  static const char *const containers[] = { "layers", "_layer_checkpoint_dependencies", "model_weights", NULL };
  g_auto (GStrv) part = g_strsplit (owner, "/", -1);
  g_autoptr (GString) name = g_string_new (NULL), path = g_string_new (NULL);

  for (guint i = 0; part[i] != NULL; i++)
    {
      g_autofree char *vars = NULL;
      const char *given;

      g_string_append_printf (path, "%s%s", path->len > 0 ? "/" : "", part[i]);
      if (g_strv_contains (containers, part[i]))
        continue;
      vars = g_strconcat (path->str, "/vars", NULL);
      given = hdf5_text (r->hdf5, vars, "name");
      g_string_append_printf (name, "%s%s", name->len > 0 ? "." : "", given != NULL ? given : part[i]);
    }
  return g_strdup (name->str);
}

/* Version 2 repeats a layer's name in the names of its weights ("dense/dense/kernel:0"), below that of the model if it
 * is in another one. */
static char *
old_name_of (const char *owner)
{
  g_auto (GStrv) part = g_strsplit (owner, "/", -1);
  const guint n = g_strv_length (part), first = n > 1 && g_str_equal (part[0], "model_weights");

  /* An array that is in no folder has no layer. */
  return g_strdup (n - first > 1 && !g_str_has_suffix (part[n - 1], "_cell")
                           && !g_str_has_prefix (part[n - 1], "forward_")
                           && !g_str_has_prefix (part[n - 1], "backward_")
                       ? part[n - 1]
                   : n > first ? part[first]
                               : "");
}

/* ---- recurrent layers ---------------------------------------------------------------------- */

/* The array of the same layer with another role, or NULL. */
static const Hdf5Array *
sibling (const Reader *r, const Weight *weight, const char *role)
{
  g_autofree char *key = g_strdup_printf ("%s %s", weight->owner, role);
  const Weight *other = g_hash_table_lookup (r->by_path, key);

  return other != NULL ? other->array : NULL;
}

/* The number of gates of the layer that has this weight: 4 of an LSTM, 3 of a GRU, 1; 0: it is not recurrent. */
static gint64
count_gates (const Reader *r, const Weight *weight)
{
  const Hdf5Array *recurrent = sibling (r, weight, "recurrent_kernel");

  return recurrent != NULL && recurrent->rank == 2 && recurrent->dim[0] > 0
                 && recurrent->dim[1] % recurrent->dim[0] == 0
             ? recurrent->dim[1] / recurrent->dim[0]
             : 0;
}

/* The numbers of an array, of which the file must have all; NULL with DATA. */
static const guint8 *
numbers_of (Reader *r, const TensorEntry *entry)
{
  const gint64 span = tensor_entry_span (entry);
  gsize length;
  const guint8 *data = g_bytes_get_data (r->bytes, &length);

  if (span < 0 || entry->offset > length || (guint64)span > length - entry->offset
      || __builtin_add_overflow (r->copied, (gsize)span, &r->copied) || r->copied > length)
    {
      loom_file_refuse (r->file->path, r->error, "is truncated or damaged: tensor “%s” ends outside its bytes",
                        entry->name);
      return NULL;
    }
  return data + entry->offset;
}

/* Rows of three gates [rows, 3 · units] as PyTorch has them: [3 · units, rows], the first two gates exchanged. Takes
 * the entry. */
static gboolean
add_gates (Reader *r, TensorEntry *entry, gint64 rows, gint64 units)
{
  static const gint64 from[] = { 1, 0, 2 };
  const gsize size = entry->encoding->bytes;
  const guint8 *data = numbers_of (r, entry);
  g_autoptr (GBytes) bytes = NULL;
  guint8 *to;

  if (data == NULL)
    {
      tensor_entry_free (entry);
      return FALSE;
    }
  to = g_malloc ((gsize)(rows * 3 * units) * size + 1);
  for (gint64 u = 0; u < 3 * units; u++)
    for (gint64 i = 0; i < rows; i++)
      memcpy (to + (gsize)(u * rows + i) * size,
              data + (gsize)(i * 3 * units + from[u / units] * units + u % units) * size, size);
  bytes = g_bytes_new_take (to, (gsize)(rows * 3 * units) * size);
  entry->source = tensor_file_add_source (r->file, bytes, 0);
  entry->offset = 0;
  entry->is_strided = FALSE;
  return tensor_file_add (r->file, entry, r->error);
}

/* ---- layouts ------------------------------------------------------------------------------- */

static TensorEntry *
make_entry (const Reader *r, const Hdf5Array *array, const char *layer, const char *name)
{
  g_autofree char *whole = g_strdup_printf ("%s.%s", layer, name);
  TensorEntry *entry = tensor_entry_new (whole);

  entry->encoding = array->type != NULL ? tensor_encoding_named (array->type) : NULL;
  if (entry->encoding == NULL)
    entry->unread = g_strdup (array->unread != NULL ? array->unread : array->type);
  entry->rank = array->rank;
  memcpy (entry->dim, array->dim, sizeof entry->dim);
  entry->source = r->source;
  entry->offset = array->offset;
  return entry;
}

/* Axis d of the tensor is axis order[d] of the array. */
static void
permute (TensorEntry *entry, const int *order)
{
  gint64 dim[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK], step = 1;

  memcpy (dim, entry->dim, sizeof dim);
  for (int d = entry->rank - 1; d >= 0; d--)
    {
      stride[d] = step;
      if (__builtin_mul_overflow (step, dim[d], &step))
        step = -1; /* its span overflows, too */
    }
  for (int d = 0; d < entry->rank; d++)
    {
      entry->dim[d] = dim[order[d]];
      entry->stride[d] = stride[order[d]];
    }
  entry->is_strided = entry->encoding != NULL && !tensor_entry_is_dense (entry);
}

/* [spatial…, in, out] → [out, in, spatial…]; of a transposed convolution, whose channels are exchanged in both, too. */
static void
lay_out_kernel (TensorEntry *entry)
{
  int order[LOOM_SHAPE_MAX_RANK];

  order[0] = entry->rank - 1;
  if (entry->rank > 1)
    order[1] = entry->rank - 2;
  for (int d = 2; d < entry->rank; d++)
    order[d] = d - 2;
  permute (entry, order);
}

/* [spatial…, in, k] → [in · k, 1, spatial…]. */
static void
lay_out_depthwise (TensorEntry *entry)
{
  int order[LOOM_SHAPE_MAX_RANK];
  gint64 channels;

  if (entry->rank < 2 || __builtin_mul_overflow (entry->dim[entry->rank - 2], entry->dim[entry->rank - 1], &channels))
    return;
  entry->dim[entry->rank - 2] = channels;
  entry->dim[entry->rank - 1] = 1;
  order[0] = entry->rank - 2;
  order[1] = entry->rank - 1;
  for (int d = 2; d < entry->rank; d++)
    order[d] = d - 2;
  permute (entry, order);
}

/* A bias of zeros, which PyTorch's recurrent layers have in addition. */
static gboolean
add_zeros (Reader *r, const Hdf5Array *array, const char *layer, const char *name)
{
  TensorEntry *entry = make_entry (r, array, layer, name);
  g_autoptr (GBytes) zeros = NULL;

  if (entry->encoding != NULL)
    {
      if (numbers_of (r, entry) == NULL)
        {
          tensor_entry_free (entry);
          return FALSE;
        }
      const gsize n = (gsize)tensor_entry_span (entry);
      zeros = g_bytes_new_take (g_malloc0 (n + 1), n);
      entry->source = tensor_file_add_source (r->file, zeros, 0);
      entry->offset = 0;
    }
  return tensor_file_add (r->file, entry, r->error);
}

/* The two biases of a recurrent layer. A GRU of today has both [2, 3 · units]; its older form with one computes another
 * function. */
static gboolean
add_recurrent_bias (Reader *r, const Weight *weight, const char *layer, gint64 gates, const char *reverse)
{
  static const char *const names[] = { "bias_ih_l0", "bias_hh_l0" };
  const Hdf5Array *array = weight->array;

  for (int i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strconcat (names[i], reverse, NULL);
      TensorEntry *entry;

      if (gates != 3 && i == 1)
        return add_zeros (r, array, layer, name);
      entry = make_entry (r, array, layer, name);
      if (gates == 3 && (array->rank != 2 || array->dim[0] != 2 || array->dim[1] % 3 != 0))
        {
          entry->encoding = NULL;
          g_free (entry->unread);
          entry->unread = g_strdup ("GRU with reset_after=False");
        }
      if (gates != 3 || entry->encoding == NULL)
        {
          if (!tensor_file_add (r->file, entry, r->error))
            return FALSE;
          continue;
        }
      entry->rank = 1;
      entry->dim[0] = array->dim[1];
      if (i == 1
          && __builtin_add_overflow (entry->offset, (gsize)array->dim[1] * entry->encoding->bytes, &entry->offset))
        entry->offset = G_MAXSIZE;
      if (!add_gates (r, entry, 1, array->dim[1] / 3))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_recurrent (Reader *r, const Weight *weight, const char *layer, gint64 gates)
{
  const char *reverse = strstr (weight->owner, "backward_") != NULL ? "_reverse" : "";
  const Hdf5Array *array = weight->array;
  g_autofree char *name = NULL;
  TensorEntry *entry;

  if (g_str_equal (weight->role, "bias"))
    return add_recurrent_bias (r, weight, layer, gates, reverse);
  name = g_strconcat (g_str_equal (weight->role, "kernel") ? "weight_ih_l0" : "weight_hh_l0", reverse, NULL);
  entry = make_entry (r, array, layer, name);
  if (gates == 3 && entry->encoding != NULL && array->rank == 2 && array->dim[1] % 3 == 0)
    {
      entry->dim[0] = array->dim[1];
      entry->dim[1] = array->dim[0];
      return add_gates (r, entry, array->dim[0], array->dim[1] / 3);
    }
  lay_out_kernel (entry);
  return tensor_file_add (r->file, entry, r->error);
}

/* In version 3's .h5, the kernel of a depthwise convolution [spatial…, in, k] is called as any other; it has in · k
 * biases. Without a bias it cannot be distinguished. */
static gboolean
is_depthwise (const Reader *r, const Weight *weight)
{
  const Hdf5Array *array = weight->array, *bias = sibling (r, weight, "bias");
  gint64 channels;

  if (g_str_equal (weight->role, "depthwise_kernel"))
    return TRUE;
  return g_str_equal (weight->role, "kernel") && array->rank > 2 && bias != NULL && bias->rank == 1
         && bias->dim[0] != array->dim[array->rank - 1]
         && !__builtin_mul_overflow (array->dim[array->rank - 2], array->dim[array->rank - 1], &channels)
         && bias->dim[0] == channels;
}

static const char *
name_of_role (const Reader *r, const Weight *weight)
{
  const gboolean is_separable = sibling (r, weight, "pointwise_kernel") != NULL;

  if (g_str_equal (weight->role, "bias"))
    return is_separable ? "pointwise.bias" : "bias";
  for (guint i = 0; i < G_N_ELEMENTS (plain_roles); i++)
    if (g_str_equal (weight->role, plain_roles[i].role))
      return plain_roles[i].name;
  return g_str_equal (weight->role, "pointwise_kernel")                   ? "pointwise.weight"
         : g_str_equal (weight->role, "depthwise_kernel") && is_separable ? "depthwise.weight"
         : g_str_has_suffix (weight->role, "kernel")                      ? "weight"
                                                                          : weight->role;
}

/* The count of batches, which PyTorch's batch norm has in addition. */
static gboolean
add_count (Reader *r, const char *layer)
{
  g_autofree char *name = g_strdup_printf ("%s.num_batches_tracked", layer);
  g_autoptr (GBytes) zero = g_bytes_new_take (g_malloc0 (8), 8);
  TensorEntry *entry = tensor_entry_new (name);

  entry->encoding = tensor_encoding_of (LOOM_I64);
  entry->source = tensor_file_add_source (r->file, zero, 0);
  return tensor_file_add (r->file, entry, r->error);
}

static gboolean
add_weight (Reader *r, const Weight *weight, const char *layer)
{
  const Hdf5Array *array = weight->array;
  const gint64 gates = count_gates (r, weight);
  TensorEntry *entry;

  if (gates == 1 || gates == 3 || gates == 4)
    return add_recurrent (r, weight, layer, gates);
  if (g_str_equal (weight->role, "moving_mean") && !add_count (r, layer))
    return FALSE;
  entry = make_entry (r, array, layer, name_of_role (r, weight));
  if (is_depthwise (r, weight))
    lay_out_depthwise (entry);
  else if (g_str_equal (weight->role, "kernel") || g_str_equal (weight->role, "pointwise_kernel"))
    lay_out_kernel (entry);
  return tensor_file_add (r->file, entry, r->error);
}

/* ---- the file ------------------------------------------------------------------------------- */

static gboolean
is_of_training (const char *path)
{
  return g_str_has_prefix (path, "optimizer") || g_str_has_prefix (path, "_optimizer")
         || strstr (path, "seed_generator") != NULL;
}

static char *
folder_of (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? g_strndup (path, (gsize)(slash - path)) : g_strdup ("");
}

static void
count_in_folder (Reader *r, const Hdf5Array *array)
{
  g_autofree char *folder = folder_of (array->path);
  const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (r->n_in, folder));

  g_hash_table_insert (r->n_in, g_steal_pointer (&folder), GUINT_TO_POINTER (n + 1));
}

/* Finds out to which layer an array belongs and what it is. */
static void
list_weight (Reader *r, const Hdf5Array *array)
{
  Weight *weight = g_new0 (Weight, 1);
  g_autofree char *folder = folder_of (array->path), *last = g_path_get_basename (array->path);

  weight->array = array;
  if (g_str_has_suffix (folder, "/vars"))
    {
      weight->owner = g_strndup (folder, strlen (folder) - strlen ("/vars"));
      g_autofree char *base = g_path_get_basename (weight->owner), *class = class_of (base);
      const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (r->n_in, folder));
      const char *role = role_of (class, (guint)MIN (g_ascii_strtoull (last, NULL, 10), MAX_ROLES), n);
      weight->role = g_strdup (role != NULL ? role : last);
    }
  else
    {
      weight->owner = g_strdup (folder);
      weight->role = g_strndup (last, strcspn (last, ":"));
    }
  g_ptr_array_add (r->weights, weight);
  g_hash_table_insert (r->by_path, g_strdup_printf ("%s %s", weight->owner, weight->role), weight);
}

/* The name of a weight's layer, or if another layer in another model has it, the path. A cell and the two directions
 * belong to the layer around them. */
static char *
layer_of (const Reader *r, const Weight *weight, gboolean is_numbered)
{
  g_autofree char *owner = g_strdup (weight->owner);

  if (!is_numbered)
    {
      g_autofree char *name = old_name_of (owner);
      const char *direction = strstr (owner, "backward_") != NULL ? "backward" : "";

      if (g_hash_table_add (r->taken, g_strdup_printf ("%s %s %s", name, weight->role, direction)))
        return g_steal_pointer (&name);
      return g_strdelimit (g_steal_pointer (&owner), "/", '.');
    }
  for (;;)
    {
      char *slash = strrchr (owner, '/');

      if (slash == NULL
          || (!g_str_equal (slash, "/cell") && !g_str_equal (slash, "/forward_layer")
              && !g_str_equal (slash, "/backward_layer")))
        break;
      *slash = '\0';
    }
  return name_of (r, owner);
}

gboolean
read_keras (LoomTensorFile *self, GBytes *bytes, GError **error)
{
  g_autoptr (Hdf5) hdf5 = hdf5_read (bytes, self->path, error);
  g_autoptr (GPtrArray) weights = g_ptr_array_new_with_free_func (weight_free);
  g_autoptr (GHashTable) by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) n_in = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Reader r = { .file = self,
               .bytes = bytes,
               .hdf5 = hdf5,
               .weights = weights,
               .by_path = by_path,
               .n_in = n_in,
               .taken = taken,
               .error = error };

  if (hdf5 == NULL)
    return FALSE;
  r.source = tensor_file_add_source (self, bytes, 0);
  for (guint i = 0; i < hdf5->arrays->len; i++)
    count_in_folder (&r, hdf5->arrays->pdata[i]);
  for (guint i = 0; i < hdf5->arrays->len; i++)
    if (!is_of_training (((const Hdf5Array *)hdf5->arrays->pdata[i])->path))
      list_weight (&r, hdf5->arrays->pdata[i]);
  for (guint i = 0; i < weights->len; i++)
    {
      const Weight *weight = weights->pdata[i];
      const gboolean is_numbered = strstr (weight->array->path, "/vars/") != NULL;
      g_autofree char *layer = layer_of (&r, weight, is_numbered);

      if (!add_weight (&r, weight, *layer != '\0' ? layer : "weights"))
        return FALSE;
    }
  return self->entries->len > 0 || loom_file_refuse (self->path, error, "is an HDF5 file without weights of Keras");
}
