/* Sentences and their translations, for an encoder and a decoder.
 *
 * They are read from a table, or from gettext's catalogues: most Debian machines have thousands of sentences of
 * programs in dozens of languages, each catalogue with the English text and its translation. The catalogues of two
 * languages are joined by the English texts.
 *
 * Both sides share one vocabulary, that of the training pairs. x is padded after its `length` tokens; y_in is the
 * decoder's input, y after a start token; y ends with an end token, and its padding is ignored. */
#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-deal.h"
#include "engine/data/loom-mo.h"
#include "engine/data/loom-text-file.h"
#include "engine/data/loom-vocabulary.h"

#define NEEDED 5.0 /* memory for each byte of a table: the text, its lines and their halves */

static const char *const units[] = { "word", "character", NULL };
static const char *const cases[] = { "keep", "lower", NULL };

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL),
    .doc = "A table of sources and targets separated by tabs, a gettext catalogue (.mo), or a folder of catalogues, "
           "such as /usr/share/locale/fr/LC_MESSAGES." },
  { LOOM_OPTION ("target_path", PATH, ""),
    .doc = "A second catalogue or folder: its translations are the targets, and those of path the sources." },
  { LOOM_OPTION ("unit", ENUM, "word"), .choices = units, .doc = "The unit of a token." },
  { LOOM_OPTION ("case", ENUM, "keep"), .choices = cases,
    .doc = "Whether upper case is kept or converted to lower case." },
  { LOOM_OPTION ("source_length", INT, "16"), LOOM_RANGE (1, 4096),
    .doc = "The largest number of tokens of a source; longer pairs are left out." },
  { LOOM_OPTION ("target_length", INT, "16"), LOOM_RANGE (1, 4096),
    .doc = "The largest number of tokens of a target, without start and end; longer pairs are left out." },
  { LOOM_OPTION ("vocabulary", INT, "0"), LOOM_RANGE (0, 10000000),
    .doc
    = "The largest size of the vocabulary: the most frequent tokens, and one token for all others; 0: all tokens." },
  LOOM_DEALT_PARAMS ("pairs", "0.1", ""),
  { .name = NULL },
};

typedef struct
{
  char *from, *to;
} Pair;

static void
pair_free (gpointer data)
{
  Pair *pair = data;

  g_free (pair->from);
  g_free (pair->to);
  g_free (pair);
}

static void
add_pair (GPtrArray *pairs, const char *from, const char *to)
{
  Pair *pair = g_new0 (Pair, 1);

  pair->from = g_strstrip (g_strdup (from));
  pair->to = g_strstrip (g_strdup (to));
  if (*pair->from != '\0' && *pair->to != '\0')
    g_ptr_array_add (pairs, pair);
  else
    pair_free (pair);
}

/* ---- files ---------------------------------------------------------------- */

static gboolean
read_table (const char *path, GPtrArray *pairs, GError **error)
{
  g_autofree char *content = NULL;
  g_auto (GStrv) lines = NULL;
  gsize length;

  content = loom_text_file_read (path, 0, NEEDED, "take fewer pairs", &length, NULL, error);
  if (content == NULL)
    return FALSE;
  lines = g_strsplit (content, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) field = g_strsplit (g_strchomp (lines[i]), "\t", 3);

      if (*lines[i] == '\0')
        continue;
      if (g_strv_length (field) < 2)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” line %u has no tab; a tab must separate source and target.",
                            path, i + 1);
      add_pair (pairs, field[0], field[1]);
    }
  return TRUE;
}

static gboolean
has_catalogue_name (const char *name)
{
  return g_str_has_suffix (name, ".mo");
}

static gboolean
accepts_catalogue (const char *name, const char *path)
{
  return has_catalogue_name (name);
}

/* The entries of a catalogue, or of all in a folder in the order of their names. */
static GPtrArray *
read_catalogues (const char *path, GError **error)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (loom_mo_entry_free);
  g_auto (GStrv) names = NULL;

  if (!loom_path_is_folder (path))
    return loom_mo_read (path, entries, error) ? g_steal_pointer (&entries) : NULL;
  names = loom_dataset_list (path, accepts_catalogue, error);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *file = g_build_filename (path, names[i], NULL);

      if (!loom_mo_read (file, entries, error))
        return NULL;
    }
  if (names == NULL)
    return NULL;
  if (names[0] != NULL)
    return g_steal_pointer (&entries);
  return loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” contains no catalogue (.mo).", path);
}

/* Many catalogues contain the same texts; each source text is taken once, so that none is in two splits. */
static gboolean
read_catalogue_pairs (const char *path, const char *target_path, GPtrArray *pairs, GError **error)
{
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) sources = g_hash_table_new (g_str_hash, g_str_equal); /* key → entry of path */
  g_autoptr (GPtrArray) entries = read_catalogues (path, error), targets = NULL;

  if (entries == NULL)
    return FALSE;
  if (target_path != NULL)
    {
      targets = read_catalogues (target_path, error);
      if (targets == NULL)
        return FALSE;
      for (guint i = entries->len; i-- > 0;)
        g_hash_table_insert (sources, ((LoomMoEntry *)entries->pdata[i])->key, entries->pdata[i]);
    }
  for (guint i = 0; i < (targets != NULL ? targets : entries)->len; i++)
    {
      const LoomMoEntry *entry = (targets != NULL ? targets : entries)->pdata[i];
      const LoomMoEntry *source = targets != NULL ? g_hash_table_lookup (sources, entry->key) : NULL;
      const char *from = source != NULL ? source->to : entry->from;

      if ((targets != NULL && source == NULL) || !g_hash_table_add (known, (gpointer)from))
        continue;
      add_pair (pairs, from, entry->to);
    }
  return TRUE;
}

static gboolean
is_catalogue (const char *path)
{
  return g_str_has_suffix (path, ".mo") || loom_path_is_folder (path);
}

/* The remedy for a missing file: translations of programs are part of their packages. */
static const char *
hint_for (const char *path)
{
  return strstr (path, "/LC_MESSAGES") != NULL
             ? "Debian's packages such as git, coreutils and iso-codes contain catalogues; if a container's image "
               "excludes them, delete the path-exclude in /etc/dpkg/dpkg.cfg.d and install the package again"
             : "it should be a table of sentences or a catalogue (.mo)";
}

static gboolean
check_paths (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *target_path = loom_option_path (klass, options, "target_path");

  if (!loom_dataset_check_file (path, hint_for (path), error)
      || (target_path != NULL && !loom_dataset_check_file (target_path, hint_for (target_path), error)))
    return FALSE;
  if (target_path == NULL || (is_catalogue (path) && is_catalogue (target_path)))
    return TRUE;
  g_set_error_literal (
      error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
      "The data set pairs has a target_path, so both paths must be catalogues (.mo) or folders of catalogues.");
  return FALSE;
}

/* ---- samples ------------------------------------------------------------------ */

/* Appends the tokens of one side; before the vocabulary is complete, it only counts them. */
static guint
count_tokens (const LoomVocabulary *vocabulary, const char *text, GArray *ids)
{
  g_array_set_size (ids, 0);
  g_free (loom_vocabulary_encode (vocabulary, text, strlen (text), ids, NULL));
  return ids->len;
}

static void
drop_long (GPtrArray *pairs, const LoomVocabulary *vocabulary, gint64 from_length, gint64 to_length)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint kept = 0;

  for (guint i = 0; i < pairs->len; i++)
    {
      Pair *pair = pairs->pdata[i];
      const gboolean fits = count_tokens (vocabulary, pair->from, ids) <= from_length
                            && count_tokens (vocabulary, pair->to, ids) <= to_length;

      pairs->pdata[i] = NULL;
      if (fits)
        pairs->pdata[kept++] = pair;
      else
        pair_free (pair);
    }
  g_ptr_array_set_free_func (pairs, NULL);
  g_ptr_array_set_size (pairs, (int)kept);
  g_ptr_array_set_free_func (pairs, pair_free);
}

/* Writes pair i into row i of the tensors x, length, y_in and y. */
static void
write_pair (const LoomVocabulary *vocabulary, const Pair *pair, guint i, GArray *ids, LoomTensor *const data[])
{
  const gint64 n_from = data[0]->dim[1], n_to = data[3]->dim[1];
  gint64 *x = (gint64 *)data[0]->data + i * n_from, *y_in = (gint64 *)data[2]->data + i * n_to,
         *y = (gint64 *)data[3]->data + i * n_to;
  guint n = count_tokens (vocabulary, pair->from, ids);

  ((gint64 *)data[1]->data)[i] = n;
  for (gint64 t = 0; t < n_from; t++)
    x[t] = t < n ? (gint64)g_array_index (ids, guint32, t) : LOOM_TOKEN_PADDING;
  n = count_tokens (vocabulary, pair->to, ids);
  for (gint64 t = 0; t < n_to; t++)
    {
      y[t] = t < n ? (gint64)g_array_index (ids, guint32, t) : t == n ? LOOM_TOKEN_END : LOOM_TARGET_IGNORED;
      y_in[t] = t == 0 ? LOOM_TOKEN_START : t <= n ? y[t - 1] : LOOM_TOKEN_PADDING;
    }
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 from = loom_option_int (klass, options, "source_length");
  const gint64 to = loom_option_int (klass, options, "target_length") + 1;

  loom_info_add_port (info, "x", LOOM_I64, 1, &from);
  loom_info_add_port (info, "length", LOOM_I64, 0, NULL);
  loom_info_add_port (info, "y_in", LOOM_I64, 1, &to);
  loom_info_add_port (info, "y", LOOM_I64, 1, &to);
  return check_paths (klass, options, error);
}

/* The pairs that fit, in the order of the files. */
static GPtrArray *
read_pairs (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const LoomVocabulary *vocabulary,
            GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *target_path = loom_option_path (klass, options, "target_path");
  g_autoptr (GPtrArray) pairs = g_ptr_array_new_with_free_func (pair_free);
  guint n;

  if (!(is_catalogue (path) ? read_catalogue_pairs (path, target_path, pairs, error) : read_table (path, pairs, error)))
    return NULL;
  for (guint i = 0; g_str_equal (loom_option_string (klass, options, "case"), "lower") && i < pairs->len; i++)
    {
      Pair *pair = pairs->pdata[i];
      g_autofree char *from = pair->from, *to = pair->to;

      pair->from = g_utf8_strdown (from, -1);
      pair->to = g_utf8_strdown (to, -1);
    }
  n = pairs->len;
  drop_long (pairs, vocabulary, loom_option_int (klass, options, "source_length"),
             loom_option_int (klass, options, "target_length"));
  if (pairs->len > 0)
    return g_steal_pointer (&pairs);
  if (n == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” contains no pair of sentences%s.", path,
                 target_path != NULL ? " that both catalogues translate" : "");
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "All %u pairs in “%s” are longer than source_length and target_length allow.", n, path);
  return NULL;
}

static gboolean
fill (LoomDataset *self, const LoomDatasetOptions *options, const GPtrArray *pairs, LoomVocabulary *vocabulary,
      LoomTensor *data[], GError **error)
{
  const LoomDatasetInfo *info = &self->info;
  const LoomDealing how = loom_dealing (self->klass, options);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  const guint32 *rows;
  gint64 n;

  for (guint p = 0; p < info->n_ports; p++)
    {
      const gint64 dims[]
          = { pairs->len, info->port[p].type.shape.rank > 1 ? info->port[p].type.shape.dim[1].coef : 1 };

      data[p] = loom_tensor_new (LOOM_I64, info->port[p].type.shape.rank, dims, error);
      if (data[p] == NULL)
        return FALSE;
    }
  if (!loom_table_deal (self, data, NULL, &how, error))
    return FALSE;
  rows = loom_table_rows (self, LOOM_SPLIT_TRAIN, &n);
  for (gint64 i = 0; i < n; i++)
    {
      const Pair *pair = pairs->pdata[rows[i]];

      loom_vocabulary_count (vocabulary, pair->from, strlen (pair->from));
      loom_vocabulary_count (vocabulary, pair->to, strlen (pair->to));
    }
  loom_vocabulary_settle (vocabulary, (gsize)loom_option_int (self->klass, options, "vocabulary"));
  for (guint i = 0; i < pairs->len; i++)
    write_pair (vocabulary, pairs->pdata[i], i, ids, data);
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const LoomTextUnit unit
      = g_str_equal (loom_option_string (klass, options, "unit"), "word") ? LOOM_TEXT_WORD : LOOM_TEXT_CHARACTER;
  g_autoptr (LoomVocabulary) vocabulary = loom_vocabulary_new (unit, loom_token_names, LOOM_N_TOKENS);
  g_autoptr (GPtrArray) pairs = NULL;
  g_autoptr (LoomDataset) self = NULL;
  LoomTensor *data[LOOM_DATASET_MAX_PORTS] = { NULL };
  LoomDatasetInfo info = { 0 };
  gboolean good;

  if (!describe (klass, options, &info, error))
    return NULL;
  pairs = read_pairs (klass, options, vocabulary, error);
  if (pairs == NULL)
    return NULL;
  self = loom_table_new (klass, &info);
  good = fill (self, options, pairs, vocabulary, data, error);
  for (int p = 0; p < LOOM_DATASET_MAX_PORTS; p++)
    loom_tensor_unref (data[p]);
  if (!good)
    return NULL;
  self->class_names = loom_vocabulary_dup_names (vocabulary);
  self->separator = loom_vocabulary_separator (vocabulary);
  self->lower_case = g_str_equal (loom_option_string (klass, options, "case"), "lower");
  self->info.n_classes = loom_vocabulary_size (vocabulary);
  return g_steal_pointer (&self);
}

static const char *const folders[] = { "path", "target_path", NULL };

const LoomDatasetClass loom_dataset_pairs = {
  .name = "pairs",
  .title = "Pairs of sentences",
  .doc = "Sentences and their translations, from a table or from gettext's catalogues.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .folders = folders,
  .is_read = has_catalogue_name,
  .free = loom_table_free,
  .parse = loom_sentences_parse,
};
