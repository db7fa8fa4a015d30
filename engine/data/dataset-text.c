/* Text as characters, bytes, words or byte pairs: predict the next token at every position of a window of T tokens (the
 * task of Karpathy's "The unreasonable effectiveness of recurrent neural networks", 2015).
 *
 * The vocabulary of characters is the sorted list of those that occur, that of words is sorted by frequency. The end of
 * the text is used for validation, so that no window of it overlaps a training window. */
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-memory-check.h"
#include "engine/data/loom-text-file.h"
#include "engine/data/loom-vocabulary.h"

/* Memory for each byte of the text: two copies, and a number for each token; and, with a tokenizer, its pieces. */
#define NEEDED           10.0
#define NEEDED_OF_PIECES 100.0

/* Exists on every Debian machine: 264 KB of English. */
#define DEFAULT_PATH "/usr/share/common-licenses"

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, DEFAULT_PATH),
    .doc = "A UTF-8 text file, or a folder of text files that are read in the order of their names." },
  { LOOM_OPTION ("context", INT, "64"), LOOM_RANGE (1, 65536), .doc = "T, the number of tokens of a sample." },
  { LOOM_OPTION ("stride", INT, "0"), LOOM_RANGE (0, 65536),
    .doc = "The number of tokens from the start of a sample to the start of the next; 0: that of context." },
  { LOOM_OPTION ("unit", ENUM, "character"), .choices = loom_text_units,
    .doc = "The unit of a token: a character, a byte, a word, a token of GPT-2's byte-pair encoding (bpe), or one of "
           "another network's tokenizer." },
  { LOOM_OPTION ("vocabulary", INT, "0"), LOOM_RANGE (0, 10000000),
    .doc = "The largest size of the vocabulary: the most frequent characters or words, and one token for all others; "
           "0: all that occur." },
  { LOOM_OPTION ("merges", PATH, ""),
    .doc = "The file of merges for unit=\"bpe\", in the form of GPT-2's merges.txt." },
  { LOOM_OPTION ("tokenizer", PATH, ""),
    .doc = "The file for unit=\"tokenizer\": a tokenizer.json of Hugging Face, or a SentencePiece model." },
  { LOOM_OPTION ("val_fraction", FLOAT, "0.1"), LOOM_RANGE (0, 0.9),
    .doc = "The fraction of the text, at its end, for validation." },
  { .name = NULL },
};

typedef struct
{
  LoomDataset base;
  gint64 context, stride;
  LoomTextUnit unit;
  LoomVocabulary *vocabulary;
  guint32 *ids; /* the text as indices into the vocabulary */
  gint64 first[LOOM_N_SPLITS];
} Text;

static const char *const unit_words[] = { [LOOM_TEXT_CHARACTER] = "characters",
                                          [LOOM_TEXT_BYTE] = "bytes",
                                          [LOOM_TEXT_WORD] = "words",
                                          [LOOM_TEXT_BPE] = "tokens",
                                          [LOOM_TEXT_TOKENIZER] = "tokens" };

/* The units whose tokens a file lists, in an option. */
typedef struct
{
  LoomTextUnit unit;
  const char *option, *unit_name, *what;
  LoomVocabulary *(*load) (const char *path, GError **error);
} UnitFile;

static const UnitFile unit_files[] = {
  { LOOM_TEXT_BPE, "merges", "bpe", "a merges.txt such as GPT-2's", loom_vocabulary_new_bpe },
  { LOOM_TEXT_TOKENIZER, "tokenizer", "tokenizer", "a tokenizer.json or a SentencePiece model",
    loom_vocabulary_new_tokenizer },
};

static LoomTextUnit
unit_of (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  const char *name = loom_option_string (klass, options, "unit");
  guint unit = 0;

  while (!g_str_equal (loom_text_units[unit], name))
    unit++;
  return (LoomTextUnit)unit;
}

/* A file of tokens is for its own unit only. */
static gboolean
check_files (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (unit_files); i++)
    {
      const UnitFile *file = &unit_files[i];
      const gboolean wanted = unit_of (klass, options) == file->unit;
      g_autofree char *path = loom_option_path (klass, options, file->option);
      g_autofree char *advice = g_strdup_printf ("%s=\"FILE\" must be %s", file->option, file->what);

      if (wanted && path == NULL)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                     "The data set text has unit=\"%s\", which needs %s=\"FILE\", %s.", file->unit_name, file->option,
                     file->what);
      else if (!wanted && path != NULL)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                     "The data set text has %s=\"…\", which is only for unit=\"%s\".", file->option, file->unit_name);
      if (wanted != (path != NULL) || (wanted && !loom_dataset_check_file (path, advice, error)))
        return FALSE;
    }
  return TRUE;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 context = loom_option_int (klass, options, "context");
  g_autofree char *path = loom_option_path (klass, options, "path");

  loom_info_add_port (info, "x", LOOM_I64, 1, &context);
  loom_info_add_port (info, "y", LOOM_I64, 1, &context);
  return loom_dataset_check_file (path, "set path=\"FILE\", a UTF-8 text", error)
         && check_files (klass, options, error);
}

/* Line ends become \n in text; in byte mode bytes stay as they are. */
static gboolean
append_file (const char *path, LoomTextUnit unit, GString *text, GError **error)
{
  static const char remedy[] = "use a part of the text";
  const double needed = unit == LOOM_TEXT_TOKENIZER ? NEEDED_OF_PIECES : NEEDED;
  g_autofree char *content = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  if (unit != LOOM_TEXT_BYTE)
    {
      content = loom_text_file_read (path, 0, needed, remedy, &length, NULL, error);
      if (content == NULL)
        return FALSE;
      loom_text_unify_lines (content, &length);
    }
  else if (!loom_memory_check (path, needed, remedy, error))
    return FALSE;
  else if (!loom_path_read (path, &content, &length, &cause))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  g_string_append_len (text, content, length);
  return TRUE;
}

/* Links are left out: the licences' folder names several files twice. */
static gboolean
is_text (const char *name, const char *path)
{
  return loom_path_is_file (path) && !loom_path_is_link (path);
}

static gboolean
append_folder (const char *path, LoomTextUnit unit, GString *text, GError **error)
{
  g_auto (GStrv) names = loom_dataset_list (path, is_text, error);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *file = g_build_filename (path, names[i], NULL);

      if (!append_file (file, unit, text, error))
        return FALSE;
    }
  return names != NULL;
}

/* The vocabulary of a text; NULL with an error if that of a file is wrong. */
static LoomVocabulary *
make_vocabulary (const Text *self, const LoomDatasetOptions *options, const GString *text, GError **error)
{
  const gint64 most = loom_option_int (self->base.klass, options, "vocabulary");
  LoomVocabulary *vocabulary;

  for (guint i = 0; i < G_N_ELEMENTS (unit_files); i++)
    if (unit_files[i].unit == self->unit)
      {
        g_autofree char *path = loom_option_path (self->base.klass, options, unit_files[i].option);

        return unit_files[i].load (path, error);
      }
  /* A vocabulary of all characters needs no unknown token; one of words does. */
  vocabulary = loom_vocabulary_new (self->unit, &loom_token_names[LOOM_TOKEN_UNKNOWN],
                                    self->unit == LOOM_TEXT_WORD || (self->unit == LOOM_TEXT_CHARACTER && most > 0));
  loom_vocabulary_count (vocabulary, text->str, text->len);
  loom_vocabulary_settle (vocabulary, (gsize)most);
  return vocabulary;
}

/* Encodes the text with the vocabulary and names the classes; −1 after an error. */
static gint64
encode (Text *self, const LoomDatasetOptions *options, const GString *text, GError **error)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GError) cause = NULL;
  gint64 n;

  self->vocabulary = make_vocabulary (self, options, text, error);
  if (self->vocabulary == NULL)
    return -1;
  g_free (loom_vocabulary_encode (self->vocabulary, text->str, text->len, ids, &cause));
  if (cause != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return -1;
    }
  n = ids->len;
  self->ids = (guint32 *)(void *)g_array_free (g_steal_pointer (&ids), FALSE);
  self->base.class_names = loom_vocabulary_dup_names (self->vocabulary);
  self->base.separator = loom_vocabulary_separator (self->vocabulary);
  self->base.info.n_classes = loom_vocabulary_size (self->vocabulary);
  return n;
}

/* The number of windows in `length` tokens; each needs one token more for its last target. */
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
  gint64 n, n_val;

  self->unit = unit_of (klass, options);
  if (!(loom_path_is_folder (path) ? append_folder : append_file) (path, self->unit, text, error))
    return FALSE;
  n = encode (self, options, text, error);
  if (n < 0)
    return FALSE;
  n_val = (gint64)((double)n * loom_option_float (klass, options, "val_fraction"));
  self->base.info.n[LOOM_SPLIT_TRAIN] = count_windows (self, n - n_val);
  self->base.info.n[LOOM_SPLIT_VAL] = count_windows (self, n_val);
  self->base.info.n[LOOM_SPLIT_TEST] = 0;
  self->first[LOOM_SPLIT_VAL] = n - n_val;
  if (self->base.info.n[LOOM_SPLIT_TRAIN] == 0)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” has %" G_GINT64_FORMAT
                        " %s for training, which is too few for context=\"%" G_GINT64_FORMAT "\".",
                        path, n - n_val, unit_words[self->unit], self->context);
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

/* Tokens that a file lists stay those of the file, which is not part of the text. */
static void
restored (LoomDataset *base)
{
  Text *self = (Text *)base;

  if (self->unit == LOOM_TEXT_BPE || self->unit == LOOM_TEXT_TOKENIZER || base->class_names == NULL)
    return;
  g_clear_pointer (&self->vocabulary, loom_vocabulary_free);
  self->vocabulary = loom_vocabulary_new_named (self->unit, (const char *const *)base->class_names);
  base->separator = loom_vocabulary_separator (self->vocabulary);
  base->info.n_classes = loom_vocabulary_size (self->vocabulary);
}

static gboolean
read_windows (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
              GError **error)
{
  const Text *self = (const Text *)base;

  for (guint i = 0; i < n; i++)
    {
      const guint32 *from = self->ids + self->first[split] + indices[i] * self->stride;
      gint64 *x = (gint64 *)out[0]->data + i * self->context, *y = (gint64 *)out[1]->data + i * self->context;

      for (gint64 t = 0; t < self->context; t++)
        {
          x[t] = from[t];
          y[t] = from[t + 1];
        }
    }
  return TRUE;
}

static guint64
digest (const LoomDataset *base, guint64 hash)
{
  const Text *self = (const Text *)base;

  for (int s = 0; s < LOOM_N_SPLITS; s++)
    if (base->info.n[s] > 0)
      hash = loom_digest_bytes (hash, self->ids + self->first[s],
                                (gsize)((base->info.n[s] - 1) * self->stride + self->context + 1) * sizeof *self->ids);
  return hash;
}

static void
free_text (LoomDataset *base)
{
  Text *self = (Text *)base;

  g_clear_pointer (&self->vocabulary, loom_vocabulary_free);
  g_free (self->ids);
  g_free (self);
}

static gboolean
complain_of_unknown (const char *name, const char *token, GError **error)
{
  const gunichar c = g_utf8_get_char (token);
  char letter[16] = { 0 };

  if (g_unichar_isgraph (c))
    g_unichar_to_utf8 (c, letter);
  else
    g_snprintf (letter, sizeof letter, "U+%04X", c);
  return loom_refuse (error, LOOM_ERROR_DATA,
                      "“%s” has the character “%s”, which does not occur in the training text of the net.", name,
                      letter);
}

/* The last tokens of a text, at most as many as the context, without the newline at the end of a file. */
static gboolean
parse (const LoomDataset *base, const char *name, char *text, gsize length, GPtrArray *items, GError **error)
{
  const Text *self = (const Text *)base;
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree char *unknown = NULL;
  g_autoptr (GError) cause = NULL;
  LoomTensor *t;
  gint64 used;

  if (self->unit != LOOM_TEXT_BYTE)
    loom_text_unify_lines (text, &length);
  if (length > 0 && text[length - 1] == '\n')
    length--;
  unknown = loom_vocabulary_encode (self->vocabulary, text, length, ids, &cause);
  if (cause != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  if (unknown != NULL)
    return complain_of_unknown (name, unknown, error);
  used = MIN (ids->len, self->context);
  if (used == 0)
    return TRUE;
  t = loom_tensor_new (LOOM_I64, 1, &used, error);
  if (t == NULL)
    return FALSE;
  for (gint64 i = 0; i < used; i++)
    ((gint64 *)t->data)[i] = g_array_index (ids, guint32, ids->len - used + i);
  loom_sample_item_add (items, t, 0);
  return TRUE;
}

const LoomDatasetClass loom_dataset_text = {
  .name = "text",
  .title = "Text",
  .doc = "Characters, bytes, words or other tokens of a text; the target of each token is the next one.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = read_windows,
  .digest = digest,
  .free = free_text,
  .parse = parse,
  .restored = restored,
  .is_text = TRUE,
};
