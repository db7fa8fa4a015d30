#include "engine/template/skeleton-tree.h"

#include <string.h>

#include "engine/graph/loom-graph.h"

static void
tensor_free (gpointer data)
{
  SkeletonTensor *tensor = data;

  g_free (tensor->name);
  g_free (tensor);
}

void
skeleton_part_free (SkeletonPart *part)
{
  g_free (part->id);
  g_free (part->path);
  g_ptr_array_unref (part->parts);
  g_ptr_array_unref (part->tensors);
  skeleton_layer_free (part->layer);
  g_free (part);
}

static SkeletonPart *
part_new (const SkeletonPart *parent, const char *id)
{
  SkeletonPart *part = g_new0 (SkeletonPart, 1);

  part->id = g_strdup (id);
  part->path = parent != NULL && parent->path[0] != '\0' ? g_strconcat (parent->path, ".", id, NULL) : g_strdup (id);
  part->parts = g_ptr_array_new_with_free_func ((GDestroyNotify)skeleton_part_free);
  part->tensors = g_ptr_array_new_with_free_func (tensor_free);
  return part;
}

/* ---- names -------------------------------------------------------------------- */

/* All parts by their paths, so that a large file is read in one pass. */
static SkeletonPart *
find_part (GHashTable *parts, SkeletonPart *root, char **word, guint n)
{
  SkeletonPart *part = root;
  g_autoptr (GString) path = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (path, "%s%s", i > 0 ? "." : "", word[i]);
      SkeletonPart *child = g_hash_table_lookup (parts, path->str);

      if (child == NULL)
        {
          child = part_new (part, word[i]);
          g_ptr_array_add (part->parts, child);
          g_hash_table_insert (parts, child->path, child);
        }
      part = child;
    }
  return part;
}

/* Each part of a name but the last is a module inside the one before, and a net supports 60 levels. */
#define MAX_PARTS 60

static void G_GNUC_PRINTF (2, 3) leave_out (GPtrArray *left_out, const char *format, ...)
{
  g_autofree char *sentence = NULL;
  va_list args;

  va_start (args, format);
  sentence = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (left_out, loom_shorten_quotes (sentence));
}

static gboolean
is_path (char **word)
{
  for (; *word != NULL; word++)
    if (!loom_id_is_valid (*word))
      return FALSE;
  return TRUE;
}

static void
add_tensor (GHashTable *parts, SkeletonPart *root, const char *name, LoomType type, GPtrArray *left_out)
{
  g_auto (GStrv) word = g_strsplit (name, ".", -1);
  const guint n = g_strv_length (word);
  SkeletonTensor *tensor;

  if (n > MAX_PARTS)
    {
      leave_out (left_out, "“%s” has %u parts, but modules can be nested at most %d deep.", name, n, MAX_PARTS);
      return;
    }
  if (!is_path (word))
    {
      leave_out (left_out, "“%s” is not a valid name for a weight of a graph.", name);
      return;
    }
  if (n == 1)
    {
      leave_out (left_out, "“%s” belongs to no layer.", name);
      return;
    }
  tensor = g_new0 (SkeletonTensor, 1);
  tensor->name = g_strdup (word[n - 1]);
  tensor->type = type;
  g_ptr_array_add (find_part (parts, root, word, n - 1)->tensors, tensor);
}

/* ---- layers ------------------------------------------------------------------ */

static int
spatial_of_tensors (const SkeletonPart *part)
{
  int spatial = 0;

  for (guint i = 0; i < part->tensors->len; i++)
    {
      const SkeletonTensor *tensor = part->tensors->pdata[i];

      if (g_str_equal (tensor->name, "weight") && tensor->type.shape.rank <= 5)
        spatial = MAX (spatial, tensor->type.shape.rank - 2);
    }
  return spatial;
}

int
skeleton_part_spatial (const SkeletonPart *part)
{
  int spatial = spatial_of_tensors (part);

  for (guint i = 0; i < part->parts->len; i++)
    spatial = MAX (spatial, skeleton_part_spatial (part->parts->pdata[i]));
  return spatial;
}

/* The siblings of a layer, or of the part around it, determine the number of dimensions at a norm. */
static void
guess_layers (SkeletonPart *part, int around, GPtrArray *left_out)
{
  int n_spatial = 0;

  for (guint i = 0; i < part->parts->len; i++)
    n_spatial = MAX (n_spatial, spatial_of_tensors (part->parts->pdata[i]));
  if (n_spatial == 0 && part->parts->len == 1)
    n_spatial = around;
  for (guint i = 0; i < part->parts->len; i++)
    {
      SkeletonPart *child = part->parts->pdata[i];
      g_autofree char *why = NULL;

      if (child->parts->len > 0)
        guess_layers (child, n_spatial, left_out);
      if (child->tensors->len == 0)
        continue;
      if (child->parts->len == 0)
        child->layer = skeleton_guess (child->id, child->tensors, n_spatial, &why);
      else
        why = g_strdup ("has tensors of its own in addition to layers");
      if (child->layer == NULL)
        leave_out (left_out, "“%s” %s.", child->path, why);
    }
}

/* ---- order -------------------------------------------------------------------- */

typedef struct
{
  SkeletonPart *part;
  int class;  /* embeddings, then convolutions, then linear layers, then output layers */
  guint stem; /* position of the first sibling that differs in the number only */
  guint64 number;
  guint place; /* in the file */
} Key;

static gsize
stem_length (const char *id)
{
  gsize n = strlen (id);

  while (n > 0 && g_ascii_isdigit (id[n - 1]))
    n--;
  return n;
}

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  const Key *p = a, *q = b;

  if (p->class != q->class)
    return p->class - q->class;
  if (p->stem != q->stem)
    return p->stem < q->stem ? -1 : 1;
  if (p->number != q->number)
    return p->number < q->number ? -1 : 1;
  return p->place < q->place ? -1 : p->place > q->place;
}

/* Names of the last layer of a block or a network, whatever their alphabetical order. */
static gboolean
comes_last (const char *id)
{
  static const char *const words[] = { "proj", "c_proj", "o_proj", "wo", "down_proj", "w2", "lm_head", NULL };

  return g_str_has_prefix (id, "out") || g_str_has_prefix (id, "head") || g_str_has_prefix (id, "classifier")
         || g_strv_contains (words, id);
}

/* Parts whose names are numbers are in the order of computation. */
static int
class_of (const SkeletonPart *part, gboolean has_channels)
{
  if (stem_length (part->id) == 0)
    return 1;
  if (part->layer != NULL && part->layer->symbols)
    return 0;
  if (skeleton_part_spatial (part) > 0 || (has_channels && part->layer != NULL && part->layer->op == NULL))
    return 1;
  return comes_last (part->id) ? 3 : 2;
}

/* "bn1" after "conv1": files are sorted by name, with all norms before all convolutions. */
static void
move_norm (GPtrArray *parts, guint at)
{
  SkeletonPart *norm = parts->pdata[at];
  const char *number = norm->id + stem_length (norm->id);

  if (norm->layer == NULL || norm->layer->op != NULL || *number == '\0' || number == norm->id)
    return;
  for (guint i = 0; i < parts->len; i++)
    {
      const SkeletonPart *other = parts->pdata[i];

      if (other->layer == NULL || other->layer->op == NULL || other->layer->out != norm->layer->in
          || !g_str_equal (other->id + stem_length (other->id), number))
        continue;
      g_ptr_array_steal_index (parts, at);
      g_ptr_array_insert (parts, (int)(i > at ? i : i + 1), norm);
      return;
    }
}

static void
sort_parts (SkeletonPart *part)
{
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (Key));
  g_autoptr (GHashTable) stems = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) norms = g_ptr_array_new ();
  const gboolean has_channels = skeleton_part_spatial (part) > 0;

  for (guint i = 0; i < part->parts->len; i++)
    {
      SkeletonPart *child = part->parts->pdata[i];
      const gsize length = stem_length (child->id);
      char *stem = g_strndup (child->id, length);
      Key key = { .part = child, .class = class_of (child, has_channels), .place = i };

      key.number = g_ascii_strtoull (child->id + length, NULL, 10);
      if (!g_hash_table_contains (stems, stem))
        g_hash_table_insert (stems, g_strdup (stem), GUINT_TO_POINTER (i));
      key.stem = GPOINTER_TO_UINT (g_hash_table_lookup (stems, stem));
      g_array_append_val (keys, key);
      g_free (stem);
      sort_parts (child);
    }
  g_array_sort (keys, compare_keys);
  for (guint i = 0; i < keys->len; i++)
    {
      part->parts->pdata[i] = g_array_index (keys, Key, i).part;
      g_ptr_array_add (norms, part->parts->pdata[i]);
    }
  for (guint i = 0; i < norms->len; i++)
    {
      guint at;

      if (g_ptr_array_find (part->parts, norms->pdata[i], &at))
        move_norm (part->parts, at);
    }
}

SkeletonPart *
skeleton_tree_new (const LoomTensorFile *file, GPtrArray *left_out)
{
  SkeletonPart *root = part_new (NULL, "");
  g_autoptr (GHashTable) parts = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    {
      const char *name = loom_tensor_file_name (file, i), *unread = loom_tensor_file_unread (file, i);

      if (unread != NULL)
        g_ptr_array_add (left_out, g_strdup_printf ("“%s” has the type “%s”, which is not supported.", name, unread));
      else
        add_tensor (parts, root, name, loom_tensor_file_type (file, i), left_out);
    }
  guess_layers (root, 0, left_out);
  sort_parts (root);
  return root;
}
