/* Weights that PyTorch's weight_norm keeps as a direction and a length (Salimans and Kingma 2016): w = g · v / ‖v‖,
 * with a norm over all dimensions in which g has the size 1. A graph without this has the product as one weight. */
#include "engine/interop/tensor-file-private.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"

/* What follows the path of the layer in the names of the direction, of the length, and of their product. */
static const struct
{
  const char *direction, *length, *product;
} forms[] = {
  { ".weight_v", ".weight_g", ".weight" },
  { ".parametrizations.weight.original1", ".parametrizations.weight.original0", ".weight" },
};

/* TRUE if one is the other, maybe after a prefix. */
static gboolean
is_same (const char *a, const char *b)
{
  const gsize m = strlen (a), n = strlen (b);
  const char *longer = m > n ? a : b, *shorter = m > n ? b : a;
  const gsize more = MAX (m, n) - MIN (m, n);

  return strcmp (longer + more, shorter) == 0 && (more == 0 || longer[more - 1] == '.');
}

static gboolean
is_among (const char *name, const char *const *names, guint n)
{
  for (guint i = 0; i < n; i++)
    if (is_same (name, names[i]))
      return TRUE;
  return FALSE;
}

static gboolean
fits (const TensorEntry *direction, const TensorEntry *length)
{
  gboolean one = TRUE, each = direction->rank == length->rank;

  if (direction->encoding == NULL || length->encoding == NULL || !loom_dtype_is_float (direction->encoding->dtype)
      || !loom_dtype_is_float (length->encoding->dtype))
    return FALSE;
  for (int d = 0; d < length->rank; d++)
    {
      one = one && length->dim[d] == 1;
      each = each && (length->dim[d] == 1 || length->dim[d] == direction->dim[d]);
    }
  return one || each;
}

static TensorEntry *
find_entry (const LoomTensorFile *self, const char *path, const char *end)
{
  g_autofree char *name = g_strconcat (path, end, NULL);
  const guint at = GPOINTER_TO_UINT (g_hash_table_lookup (self->by_name, name));

  return at > 0 ? self->entries->pdata[at - 1] : NULL;
}

/* The entry of a direction becomes that of the product, and has the one of the length, whose place is empty then. */
static gboolean
join_entry (LoomTensorFile *self, TensorEntry *entry, const char *const *names, guint n)
{
  for (guint k = 0; k < G_N_ELEMENTS (forms); k++)
    {
      g_autofree char *path = NULL, *product = NULL;
      TensorEntry *length;

      if (!g_str_has_suffix (entry->name, forms[k].direction) || is_among (entry->name, names, n))
        continue;
      path = g_strndup (entry->name, strlen (entry->name) - strlen (forms[k].direction));
      product = g_strconcat (path, forms[k].product, NULL);
      length = find_entry (self, path, forms[k].length);
      if (length == NULL || find_entry (self, path, forms[k].product) != NULL || !is_among (product, names, n)
          || !fits (entry, length))
        continue;
      const gpointer at = g_hash_table_lookup (self->by_name, entry->name);
      self->entries->pdata[GPOINTER_TO_UINT (g_hash_table_lookup (self->by_name, length->name)) - 1] = NULL;
      g_hash_table_remove (self->by_name, length->name);
      g_hash_table_remove (self->by_name, entry->name);
      entry->length = length;
      g_free (entry->name);
      entry->name = g_steal_pointer (&product);
      g_hash_table_insert (self->by_name, entry->name, at);
      return TRUE;
    }
  return FALSE;
}

guint
loom_tensor_file_join_norms (LoomTensorFile *self, const char *const *names, guint n)
{
  guint found = 0, kept = 0;

  for (guint i = 0; i < self->entries->len; i++)
    if (self->entries->pdata[i] != NULL)
      found += join_entry (self, self->entries->pdata[i], names, n);
  if (found == 0)
    return 0;
  g_hash_table_remove_all (self->by_name);
  for (guint i = 0; i < self->entries->len; i++)
    if (self->entries->pdata[i] != NULL)
      {
        TensorEntry *entry = self->entries->pdata[kept++] = self->entries->pdata[i];

        g_hash_table_insert (self->by_name, entry->name, GUINT_TO_POINTER (kept));
      }
  while (self->entries->len > kept)
    {
      self->entries->pdata[self->entries->len - 1] = NULL;
      g_ptr_array_set_size (self->entries, (int)self->entries->len - 1);
    }
  return found;
}

LoomTensor *
tensor_of_norm (const LoomTensor *direction, const LoomTensor *length, GError **error)
{
  g_autoptr (LoomTensor) y = loom_tensor_new (LOOM_F32, direction->rank, direction->dim, error);
  g_autofree double *sum = g_try_new0 (double, MAX (length->count, 1));

  if (y == NULL)
    return NULL;
  if (sum == NULL)
    return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY,
                             "A weight of weight_norm needs more memory than there is.");
  for (int pass = 0; pass < 2; pass++)
    for (gint64 i = 0; i < y->count; i++)
      {
        const double v = loom_tensor_get (direction, i);
        gint64 at = 0, step = 1, rest = i;

        for (int d = direction->rank - 1; d >= 0 && length->count > 1; d--)
          {
            at += length->dim[d] > 1 ? rest % direction->dim[d] * step : 0;
            step *= length->dim[d];
            rest /= direction->dim[d];
          }
        if (pass == 0)
          sum[at] += v * v;
        else
          ((float *)y->data)[i] = (float)(v * loom_tensor_get (length, at) / sqrt (sum[at]));
      }
  return g_steal_pointer (&y);
}
