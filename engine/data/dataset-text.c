/* Text as characters: given T of them, predict the next at every place (the task of
 * Karpathy's "The unreasonable effectiveness of recurrent neural networks", 2015).
 *
 * The vocabulary is the sorted list of the characters that occur. The end of the text
 * is kept for validation, so that no window of it overlaps one that was trained on. */
#include <stdlib.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset-private.h"

/* On every Debian machine: 264 KB of English. */
#define DEFAULT_PATH "/usr/share/common-licenses"

static const LoomDatasetParam params[] = {
  { .name = "path",
    .type = LOOM_DATASET_PATH,
    .def = DEFAULT_PATH,
    .doc = "A UTF-8 text file, or a folder whose files are read in the order of their names." },
  { .name = "context",
    .type = LOOM_DATASET_INT,
    .def = "64",
    .minimum = 1,
    .maximum = 65536,
    .doc = "T, the characters of a sample." },
  { .name = "stride",
    .type = LOOM_DATASET_INT,
    .def = "0",
    .minimum = 0,
    .maximum = 65536,
    .doc = "Characters from the start of one sample to that of the next; 0: as many as context." },
  { .name = "val_fraction",
    .type = LOOM_DATASET_FLOAT,
    .def = "0.1",
    .minimum = 0,
    .maximum = 0.9,
    .doc = "Share of the text, at its end, for validation." },
  { .name = NULL },
};

typedef struct
{
  LoomDataset base;
  gint64 context, stride;
  guint16 *ids; /* the text as places in the vocabulary */
  gint64 first[LOOM_N_SPLITS];
} Text;

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 context = loom_option_int (klass, options, "context");
  g_autofree char *path = loom_option_path (klass, options, "path");

  loom_info_add_port (info, "x", LOOM_I64, 1, &context);
  loom_info_add_port (info, "y", LOOM_I64, 1, &context);
  return loom_dataset_check_file (path, "say path=\"FILE\", a UTF-8 text", error);
}

static gboolean
append_file (const char *path, GString *text, GError **error)
{
  g_autofree char *content = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  if (!g_file_get_contents (path, &content, &length, &cause))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
      return FALSE;
    }
  if (!g_utf8_validate (content, length, NULL))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is no UTF-8 text.", path);
      return FALSE;
    }
  g_string_append_len (text, content, length);
  return TRUE;
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* Links are left out: the licences' folder names several files twice. */
static gboolean
append_folder (const char *path, GString *text, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) cause = NULL;
  GDir *folder = g_dir_open (path, 0, &cause);
  const char *name;

  if (folder == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
      return FALSE;
    }
  while ((name = g_dir_read_name (folder)) != NULL)
    {
      char *file = g_build_filename (path, name, NULL);

      if (g_file_test (file, G_FILE_TEST_IS_REGULAR) && !g_file_test (file, G_FILE_TEST_IS_SYMLINK))
        g_ptr_array_add (files, file);
      else
        g_free (file);
    }
  g_dir_close (folder);
  g_ptr_array_sort (files, compare_texts);
  for (guint i = 0; i < files->len; i++)
    {
      if (!append_file (g_ptr_array_index (files, i), text, error))
        return FALSE;
    }
  return TRUE;
}

static int
compare_characters (gconstpointer a, gconstpointer b)
{
  gunichar x = *(const gunichar *)a, y = *(const gunichar *)b;

  return x < y ? -1 : x > y;
}

/* Replaces the text by places in the vocabulary and names the classes. */
static gboolean
encode (Text *self, const gunichar *characters, glong n, const char *path, GError **error)
{
  g_autoptr (GHashTable) places = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) vocabulary = g_array_new (FALSE, FALSE, sizeof (gunichar));

  for (glong i = 0; i < n; i++)
    {
      if (g_hash_table_add (places, GUINT_TO_POINTER (characters[i])))
        g_array_append_val (vocabulary, characters[i]);
    }
  if (vocabulary->len > G_MAXUINT16)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has more than %d different characters.", path,
                   G_MAXUINT16);
      return FALSE;
    }
  g_array_sort (vocabulary, compare_characters);
  self->base.class_names = g_new0 (char *, vocabulary->len + 1);
  g_hash_table_remove_all (places);
  for (guint i = 0; i < vocabulary->len; i++)
    {
      gunichar c = g_array_index (vocabulary, gunichar, i);

      g_hash_table_insert (places, GUINT_TO_POINTER (c), GUINT_TO_POINTER (i));
      self->base.class_names[i] = g_ucs4_to_utf8 (&c, 1, NULL, NULL, NULL);
    }
  self->ids = g_new (guint16, MAX (n, 1));
  for (glong i = 0; i < n; i++)
    self->ids[i] = (guint16)GPOINTER_TO_UINT (g_hash_table_lookup (places, GUINT_TO_POINTER (characters[i])));
  self->base.info.n_classes = vocabulary->len;
  return TRUE;
}

/* Windows of a stretch of the text; each needs one character more for its last target. */
static gint64
count_windows (const Text *self, gint64 length)
{
  return length > self->context ? (length - 1 - self->context) / self->stride + 1 : 0;
}

static gboolean
load (Text *self, const LoomDatasetOptions *options, GError **error)
{
  const LoomDatasetClass *klass = self->base.klass;
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree gunichar *characters = NULL;
  glong n, n_val;

  if (!(g_file_test (path, G_FILE_TEST_IS_DIR) ? append_folder : append_file) (path, text, error))
    return FALSE;
  characters = g_utf8_to_ucs4_fast (text->str, text->len, &n);
  if (!encode (self, characters, n, path, error))
    return FALSE;
  n_val = (glong)(n * loom_option_float (klass, options, "val_fraction"));
  self->base.info.n[LOOM_SPLIT_TRAIN] = count_windows (self, n - n_val);
  self->base.info.n[LOOM_SPLIT_VAL] = count_windows (self, n_val);
  self->base.info.n[LOOM_SPLIT_TEST] = 0;
  self->first[LOOM_SPLIT_VAL] = n - n_val;
  if (self->base.info.n[LOOM_SPLIT_TRAIN] == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "“%s” has %ld characters to train on, too few for context=\"%" G_GINT64_FORMAT "\".", path,
                   n - n_val, self->context);
      return FALSE;
    }
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autoptr (LoomDataset) base = NULL;
  Text *self;
  LoomDatasetInfo info = { 0 };

  if (!describe (klass, options, &info, error))
    return NULL;
  self = g_new0 (Text, 1);
  base = &self->base;
  base->klass = klass;
  base->info = info;
  self->context = loom_option_int (klass, options, "context");
  self->stride = loom_option_int (klass, options, "stride");
  if (self->stride == 0)
    self->stride = self->context;
  return load (self, options, error) ? g_steal_pointer (&base) : NULL;
}

static gboolean
read_windows (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
              GError **error)
{
  const Text *self = (const Text *)base;

  for (guint i = 0; i < n; i++)
    {
      const guint16 *from = self->ids + self->first[split] + indices[i] * self->stride;
      gint64 *x = (gint64 *)out[0]->data + i * self->context, *y = (gint64 *)out[1]->data + i * self->context;

      for (gint64 t = 0; t < self->context; t++)
        {
          x[t] = from[t];
          y[t] = from[t + 1];
        }
    }
  return TRUE;
}

static void
free_text (LoomDataset *base)
{
  Text *self = (Text *)base;

  g_free (self->ids);
  g_free (self);
}

static int
compare_to_character (gconstpointer wanted, gconstpointer name)
{
  gunichar x = *(const gunichar *)wanted, y = g_utf8_get_char (*(char *const *)name);

  return x < y ? -1 : x > y;
}

/* The last characters of a text, at most as many as the context. The newline that ends a file is none of them. */
static gboolean
parse (const LoomDataset *base, const char *name, char *text, gsize length, GPtrArray *items, GError **error)
{
  const Text *self = (const Text *)base;
  g_autofree gunichar *characters = NULL;
  LoomTensor *t;
  glong n;
  gint64 used;

  if (length > 0 && text[length - 1] == '\n')
    length--;
  characters = g_utf8_to_ucs4_fast (text, (glong)length, &n);
  used = MIN (n, self->context);
  if (used == 0)
    return TRUE;
  t = loom_tensor_new (LOOM_I64, 1, &used, error);
  if (t == NULL)
    return FALSE;
  for (gint64 i = 0; i < used; i++)
    {
      const gunichar c = characters[n - used + i];
      char **found
          = bsearch (&c, base->class_names, (gsize)base->info.n_classes, sizeof (char *), compare_to_character);

      if (found == NULL)
        {
          char letter[16] = { 0 };

          if (g_unichar_isgraph (c))
            g_unichar_to_utf8 (c, letter);
          else
            g_snprintf (letter, sizeof letter, "U+%04X", c);
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "“%s” has the character “%s”, which the text that the net was trained on never has.", name,
                       letter);
          loom_tensor_unref (t);
          return FALSE;
        }
      ((gint64 *)t->data)[i] = found - base->class_names;
    }
  loom_sample_item_add (items, t, 0);
  return TRUE;
}

const LoomDatasetClass loom_dataset_text = {
  .name = "text",
  .title = "Text",
  .doc = "Characters of a text; the target of each is the one after it.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = read_windows,
  .free = free_text,
  .parse = parse,
  .is_text = TRUE,
};
