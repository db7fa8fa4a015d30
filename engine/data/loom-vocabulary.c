/* Cuts texts into tokens, counts them, and encodes texts as numbers of tokens. */
#include "engine/data/loom-vocabulary.h"

#include <string.h>

#include "engine/data/loom-dataset.h"
#include "engine/data/loom-bpe.h"
#include "engine/data/loom-tokenizer.h"

const char *const loom_token_names[LOOM_N_TOKENS] = { LOOM_PADDING_NAME, "<start>", LOOM_END_NAME, "<unknown>" };
const char *const loom_text_units[] = { "character", "byte", "word", "bpe", "tokenizer", NULL };

struct _LoomVocabulary
{
  LoomTextUnit unit;
  GHashTable *counts; /* token → how often it occurs */
  GHashTable *ids;    /* token, or a name → its number */
  GPtrArray *names;
  gint64 unknown; /* -1: none */
  LoomBpe *bpe;
  LoomTokenizer *tokenizer;
};

/* ---- pieces -------------------------------------------------------------- */

static gboolean
is_word (gunichar c)
{
  return g_unichar_isalnum (c) || g_unichar_ismark (c);
}

/* The end of the word at p, including apostrophes inside it. */
static const char *
end_of_word (const char *p, const char *end)
{
  while (p < end)
    {
      const gunichar c = g_utf8_get_char (p);
      const char *next = g_utf8_next_char (p);

      if (!is_word (c) && !((c == '\'' || c == 0x2019) && next < end && is_word (g_utf8_get_char (next))))
        break;
      p = next;
    }
  return p;
}

/* The next token of a text: *length bytes from the returned pointer; NULL if there is none. Line ends are words. */
static const char *
next_piece (LoomTextUnit unit, const char *p, const char *end, gsize *length)
{
  if (unit == LOOM_TEXT_WORD)
    while (p < end && *p != '\n' && g_unichar_isspace (g_utf8_get_char (p)))
      p = g_utf8_next_char (p);
  if (p >= end)
    return NULL;
  if (unit == LOOM_TEXT_BYTE)
    *length = 1;
  else if (unit == LOOM_TEXT_WORD && is_word (g_utf8_get_char (p)))
    *length = (gsize)(end_of_word (p, end) - p);
  else
    *length = (gsize)(g_utf8_next_char (p) - p);
  return p;
}

/* ---- making -------------------------------------------------------------- */

LoomVocabulary *
loom_vocabulary_new (LoomTextUnit unit, const char *const *special, guint n_special)
{
  LoomVocabulary *self = g_new0 (LoomVocabulary, 1);

  self->unit = unit;
  self->counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->ids = g_hash_table_new (g_str_hash, g_str_equal);
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->unknown
      = n_special > 0 && special[n_special - 1] == loom_token_names[LOOM_TOKEN_UNKNOWN] ? (gint64)n_special - 1 : -1;
  for (guint i = 0; i < n_special; i++)
    g_ptr_array_add (self->names, g_strdup (special[i]));
  return self;
}

LoomVocabulary *
loom_vocabulary_new_named (LoomTextUnit unit, const char *const *names)
{
  LoomVocabulary *self = loom_vocabulary_new (unit, NULL, 0);

  for (guint i = 0; names[i] != NULL; i++)
    {
      char *name = g_strdup (names[i]);

      g_ptr_array_add (self->names, name);
      if (g_str_equal (name, loom_token_names[LOOM_TOKEN_UNKNOWN]))
        self->unknown = i;
      else
        g_hash_table_insert (self->ids, name, GUINT_TO_POINTER (i));
    }
  return self;
}

LoomVocabulary *
loom_vocabulary_new_bpe (const char *path, GError **error)
{
  LoomBpe *bpe = loom_bpe_load (path, error);
  LoomVocabulary *self;

  if (bpe == NULL)
    return NULL;
  self = loom_vocabulary_new (LOOM_TEXT_BPE, NULL, 0);
  self->bpe = bpe;
  for (guint i = 0; i < loom_bpe_size (bpe); i++)
    g_ptr_array_add (self->names, loom_bpe_dup_name (bpe, i));
  return self;
}

LoomVocabulary *
loom_vocabulary_new_tokenizer (const char *path, GError **error)
{
  LoomTokenizer *tokenizer = loom_tokenizer_load (path, error);
  LoomVocabulary *self;

  if (tokenizer == NULL)
    return NULL;
  self = loom_vocabulary_new (LOOM_TEXT_TOKENIZER, NULL, 0);
  self->tokenizer = tokenizer;
  for (guint i = 0; i < loom_tokenizer_size (tokenizer); i++)
    g_ptr_array_add (self->names, loom_tokenizer_dup_name (tokenizer, i));
  return self;
}

void
loom_vocabulary_free (LoomVocabulary *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->counts);
  g_hash_table_unref (self->ids);
  g_ptr_array_unref (self->names);
  g_clear_pointer (&self->bpe, loom_bpe_free);
  g_clear_pointer (&self->tokenizer, loom_tokenizer_free);
  g_free (self);
}

void
loom_vocabulary_count (LoomVocabulary *self, const char *text, gsize length)
{
  const char *p, *end = text + length;
  gsize n;

  if (self->unit == LOOM_TEXT_BYTE)
    return;
  for (const char *at = text; (p = next_piece (self->unit, at, end, &n)) != NULL; at = p + n)
    {
      char *token = g_strndup (p, n);
      const guint before = GPOINTER_TO_UINT (g_hash_table_lookup (self->counts, token));

      g_hash_table_insert (self->counts, token, GUINT_TO_POINTER (before + 1));
    }
}

typedef struct
{
  const char *token;
  guint n;
} Counted;

static int
compare_frequency (gconstpointer a, gconstpointer b)
{
  const Counted *x = a, *y = b;

  return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp (x->token, y->token);
}

/* The order of UTF-8 is that of code points. */
static int
compare_token (gconstpointer a, gconstpointer b)
{
  return strcmp (((const Counted *)a)->token, ((const Counted *)b)->token);
}

static char *
name_of_byte (guint byte)
{
  return g_ascii_isprint ((char)byte) || byte == '\n' ? g_strdup_printf ("%c", (char)byte)
                                                      : g_strdup_printf ("\\x%02x", byte);
}

void
loom_vocabulary_settle (LoomVocabulary *self, gsize most)
{
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (Counted));
  GHashTableIter iter;
  gpointer token, n;

  if (self->unit == LOOM_TEXT_BYTE)
    {
      for (guint byte = 0; byte < 256; byte++)
        g_ptr_array_add (self->names, name_of_byte (byte));
      return;
    }
  g_hash_table_iter_init (&iter, self->counts);
  while (g_hash_table_iter_next (&iter, &token, &n))
    {
      const Counted counted = { token, GPOINTER_TO_UINT (n) };

      g_array_append_val (list, counted);
    }
  g_array_sort (list, compare_frequency);
  if (most > 0)
    g_array_set_size (list, (guint)MIN (list->len, most - MIN (most, self->names->len)));
  if (self->unit == LOOM_TEXT_CHARACTER)
    g_array_sort (list, compare_token);
  for (guint i = 0; i < list->len; i++)
    {
      char *name = g_strdup (g_array_index (list, Counted, i).token);

      g_hash_table_insert (self->ids, name, GUINT_TO_POINTER (self->names->len));
      g_ptr_array_add (self->names, name);
    }
  g_hash_table_remove_all (self->counts);
}

/* ---- encoding ------------------------------------------------------------ */

char *
loom_vocabulary_encode (const LoomVocabulary *self, const char *text, gsize length, GArray *ids, GError **error)
{
  const char *p, *end = text + length;
  g_autoptr (GString) token = g_string_new (NULL);
  gsize n;

  if (self->bpe != NULL)
    loom_bpe_encode (self->bpe, text, length, ids);
  if (self->tokenizer != NULL)
    loom_tokenizer_encode (self->tokenizer, text, length, ids, error);
  if (self->bpe != NULL || self->tokenizer != NULL)
    return NULL;
  for (const char *at = text; (p = next_piece (self->unit, at, end, &n)) != NULL; at = p + n)
    {
      guint32 id = (guint8)*p;
      gpointer found;

      if (self->unit != LOOM_TEXT_BYTE)
        {
          g_string_truncate (token, 0);
          g_string_append_len (token, p, (gssize)n);
          if (g_hash_table_lookup_extended (self->ids, token->str, NULL, &found))
            id = GPOINTER_TO_UINT (found);
          else if (self->unknown >= 0)
            id = (guint32)self->unknown;
          else
            return g_string_free (g_steal_pointer (&token), FALSE);
        }
      g_array_append_val (ids, id);
    }
  return NULL;
}

guint
loom_vocabulary_size (const LoomVocabulary *self)
{
  return self->names->len;
}

char **
loom_vocabulary_dup_names (const LoomVocabulary *self)
{
  char **names = g_new0 (char *, self->names->len + 1);

  for (guint i = 0; i < self->names->len; i++)
    names[i] = g_strdup (self->names->pdata[i]);
  return names;
}

const char *
loom_vocabulary_separator (const LoomVocabulary *self)
{
  return self->unit == LOOM_TEXT_WORD ? " " : "";
}
