/* Compares the weights in a file with those of a graph. */
#include "engine/interop/loom-weights.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/interop/loom-file-kind.h"

#define UNREAD "of the unsupported type " /* after the shape; the type's name follows */

static char *
describe (const LoomType *type, gboolean with_dtype)
{
  g_autofree char *shape = loom_shape_to_string (&type->shape);

  return with_dtype ? g_strdup_printf ("%s %s", loom_dtype_name (type->dtype), shape) : g_steal_pointer (&shape);
}

LoomWeightFit
loom_weight_fit (LoomTensorFile *file, const char *name, const LoomType *want, guint *at, char **here, char **there)
{
  const int found = loom_tensor_file_find (file, name);
  if (found >= 0)
    loom_tensor_file_set_rank (file, (guint)found, &want->shape);
  LoomType type = found >= 0 ? loom_tensor_file_type (file, (guint)found) : *want;
  gboolean same_kind = loom_dtype_is_float (type.dtype) == loom_dtype_is_float (want->dtype);

  const char *unread = found >= 0 ? loom_tensor_file_unread (file, (guint)found) : NULL;

  if (here != NULL)
    *here = describe (want, unread == NULL && !same_kind);
  if (there != NULL)
    *there = found >= 0 ? describe (&type, unread == NULL && !same_kind) : NULL;
  if (found < 0)
    return LOOM_WEIGHT_MISSING;
  if (at != NULL)
    *at = (guint)found;
  if (unread != NULL)
    {
      if (there != NULL)
        {
          g_autofree char *shape = *there;
          /* Of some the sizes are not read either. */
          *there = g_strdup_printf ("%s%s" UNREAD "“%s”", type.shape.rank > 0 ? shape : "",
                                    type.shape.rank > 0 ? " " : "", unread);
        }
      return LOOM_WEIGHT_DIFFERS;
    }
  return same_kind && loom_shape_equal (&type.shape, &want->shape) ? LOOM_WEIGHT_FITS : LOOM_WEIGHT_DIFFERS;
}

char *
loom_weights_fit_names (LoomTensorFile *file, const char *const *names, guint n)
{
  const guint n_norms = loom_tensor_file_join_norms (file, names, n);
  const char *prefix = loom_tensor_file_strip_prefix (file, names, n), *member = loom_tensor_file_member (file);
  const gboolean is_absent = prefix != NULL && g_str_has_prefix (names[0], prefix);
  g_autofree char *others = loom_tensor_file_other_members (file);
  GString *s = g_string_new (NULL);

  if (prefix != NULL || member != NULL)
    g_string_append (s, "has its weights");
  if (member != NULL)
    g_string_append_printf (s, " in “%s”%s", member, prefix != NULL ? "," : "");
  if (prefix != NULL)
    g_string_append_printf (s, " %s “%s” before each name", is_absent ? "without" : "with", prefix);
  if (others != NULL)
    g_string_append_printf (s, "; FILE#NAME chooses another set: %s", others);
  if (n_norms > 0)
    g_string_append_printf (s, "%shas %u weight%s of weight_norm, of which the product is taken",
                            s->len > 0 ? "; it " : "", n_norms, n_norms == 1 ? "" : "s");
  return g_string_free (s, s->len == 0);
}

/* TRUE if one is "2 × 3" and the other "3 × 2". */
static gboolean
is_transposed (const char *here, const char *there)
{
  g_auto (GStrv) a = g_strsplit (here, " × ", -1), b = g_strsplit (there, " × ", -1);

  return g_strv_length (a) == 2 && g_strv_length (b) == 2 && g_str_equal (a[0], b[1]) && g_str_equal (a[1], b[0]);
}

char *
loom_weight_mismatch (const char *name, const char *here, const char *there)
{
  if (there == NULL)
    return g_strdup_printf ("%s is missing (%s)", name, here);
  return g_strdup_printf ("%s is %s here, %s in the file%s", name, here, there,
                          is_transposed (here, there)      ? "; set another weight_layout on the linear node to load it"
                          : strstr (there, UNREAD) != NULL ? "; convert it to F32, F16 or BF16"
                                                           : "");
}

void
loom_weight_add_mismatch (GString *lines, const char *name, const char *here, const char *there)
{
  g_autofree char *text = loom_weight_mismatch (name, here, there);

  g_string_append_printf (lines, "\n  %s", text);
}

void
loom_weights_set_error (GError **error, const char *path, const char *lines, gboolean partial)
{
  g_autofree char *shard = loom_file_shard_words (path);

  loom_refuse (error, LOOM_ERROR_DATA, "The weights in %s do not fit this graph:%s%s%s%s", path, lines,
               shard != NULL ? "\n" : "", shard != NULL ? shard : "",
               partial ? "\nUse --partial to load those that do." : "");
}
