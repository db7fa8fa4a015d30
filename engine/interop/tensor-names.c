/* Finds tensors of a file by the names and sizes of a graph's weights: with a prefix that one of both has, in one of
 * several sets of a checkpoint, and with sizes of 1 before them. */
#include "engine/interop/tensor-file-private.h"

#include <string.h>

static const TensorEntry *
get_entry (const LoomTensorFile *self, guint i)
{
  return g_ptr_array_index (self->entries, i);
}

static gpointer
look_up (const LoomTensorFile *self, const char *prefix, const char *name)
{
  g_autofree char *whole = NULL;

  if (prefix == NULL)
    return g_hash_table_lookup (self->by_name, name);
  whole = g_strconcat (prefix, name, NULL);
  return g_hash_table_lookup (self->by_name, whole);
}

/* If several tensors are one, safetensors.torch.save_model writes it once, and the other names in the metadata: {alias:
 * name}. */
int
loom_tensor_file_find (const LoomTensorFile *self, const char *name)
{
  gpointer at = look_up (self, NULL, name);
  const char *other;

  if (at == NULL && self->prefix != NULL)
    at = look_up (self, self->prefix, name);
  if (at == NULL && self->absent != NULL && g_str_has_prefix (name, self->absent))
    at = look_up (self, NULL, name + strlen (self->absent));
  other = at == NULL ? loom_tensor_file_metadata (self, name) : NULL;
  if (other != NULL)
    at = look_up (self, NULL, other);
  return (int)GPOINTER_TO_UINT (at) - 1;
}

static gboolean
has_all (const LoomTensorFile *self, const char *prefix, const char *const *names, guint n)
{
  for (guint i = 0; i < n; i++)
    if (look_up (self, prefix, names[i]) == NULL)
      return FALSE;
  return TRUE;
}

/* The same without a prefix that each of names has. */
static gboolean
has_all_without (const LoomTensorFile *self, const char *prefix, const char *const *names, guint n)
{
  for (guint i = 0; i < n; i++)
    if (!g_str_has_prefix (names[i], prefix) || look_up (self, NULL, names[i] + strlen (prefix)) == NULL)
      return FALSE;
  return n > 0;
}

/* The file may lack a prefix ("model." of a network that wraps the one of the file) that all names have. */
static const char *
add_prefix (LoomTensorFile *self, const char *const *names, guint n)
{
  for (const char *dot = n > 0 ? strchr (names[0], '.') : NULL; dot != NULL; dot = strchr (dot + 1, '.'))
    {
      g_autofree char *prefix = g_strndup (names[0], (gsize)(dot + 1 - names[0]));

      if (!has_all_without (self, prefix, names, n))
        continue;
      g_free (self->absent);
      return self->absent = g_steal_pointer (&prefix);
    }
  return NULL;
}

const char *
loom_tensor_file_strip_prefix (LoomTensorFile *self, const char *const *names, guint n)
{
  guint missing = 0;

  while (missing < n && loom_tensor_file_find (self, names[missing]) >= 0)
    missing++;
  if (missing == n)
    return NULL;
  /* Whatever the prefix is, one of the file's names is that of the first missing weight with it. */
  for (guint i = 0; i < self->entries->len; i++)
    {
      const char *whole = get_entry (self, i)->name;
      const gsize a = strlen (whole), b = strlen (names[missing]);
      g_autofree char *prefix = NULL;

      if (a <= b || whole[a - b - 1] != '.' || strcmp (whole + a - b, names[missing]) != 0)
        continue;
      prefix = g_strndup (whole, a - b);
      if (has_all (self, prefix, names, n))
        {
          g_free (self->prefix);
          return self->prefix = g_steal_pointer (&prefix);
        }
    }
  return add_prefix (self, names, n);
}

const char *
loom_tensor_file_metadata (const LoomTensorFile *self, const char *key)
{
  return g_hash_table_lookup (self->metadata, key);
}

const char *
loom_tensor_file_member (const LoomTensorFile *self)
{
  return self->member;
}

/* ---- members of a checkpoint ------------------------------------------------------- */

static char *
list_members (const LoomTensorFile *self, const char *but)
{
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < self->members->len; i++)
    if (g_strcmp0 (self->members->pdata[i], but) != 0)
      g_string_append_printf (list, "%s“%s”", list->len > 0 ? ", " : "", (const char *)self->members->pdata[i]);
  return list->len > 0 ? g_string_free (g_steal_pointer (&list), FALSE) : NULL;
}

char *
loom_tensor_file_other_members (const LoomTensorFile *self)
{
  return self->wanted == NULL && self->member != NULL ? list_members (self, self->member) : NULL;
}

gboolean
tensor_file_refuse_member (const LoomTensorFile *self, GError **error)
{
  g_autofree char *list = list_members (self, NULL);

  return loom_file_refuse (self->path, error, "has no weights in “%s”%s%s", self->wanted,
                           list != NULL ? ", but in " : "", list != NULL ? list : "");
}

/* ---- sizes ------------------------------------------------------------------------- */

gboolean
loom_tensor_file_set_rank (LoomTensorFile *self, guint i, const LoomShape *shape)
{
  TensorEntry *entry = g_ptr_array_index (self->entries, i);
  const int more = shape->rank - entry->rank, kept = MIN (shape->rank, entry->rank);

  if (entry->encoding == NULL || entry->length != NULL || more == 0)
    return FALSE;
  for (int d = 0; d < shape->rank; d++)
    if (!loom_dim_is_known (shape->dim[d]) || shape->dim[d].coef != (d < more ? 1 : entry->dim[d - more]))
      return FALSE;
  for (int d = 0; d < -more; d++)
    if (entry->dim[d] != 1)
      return FALSE;
  memmove (entry->dim + MAX (more, 0), entry->dim + MAX (-more, 0), sizeof *entry->dim * (gsize)kept);
  memmove (entry->stride + MAX (more, 0), entry->stride + MAX (-more, 0), sizeof *entry->stride * (gsize)kept);
  for (int d = 0; d < more; d++)
    entry->dim[d] = entry->stride[d] = 1;
  entry->rank = shape->rank;
  return TRUE;
}
