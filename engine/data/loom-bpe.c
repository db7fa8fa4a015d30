/* Byte-pair encoding over bytes.
 *
 * A merges file writes each byte as a visible character (" " is Ġ), two tokens a line; the first line has the pair that
 * is merged first. Tokens are numbered as in GPT-2's vocabulary: bytes in the order of those characters' table, then
 * pairs by line, then <|endoftext|>. If two pairs make one token, it has the number of the first; a pair in several
 * lines has the rank of the last. Both are as in Hugging Face's tokenizers. A text is first cut by GPT-2's pattern, so
 * that no token spans words; in each piece the pair of the lowest rank is merged until no pair is left. */
#include "engine/data/loom-bpe.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-text-file.h"
#include "engine/data/token-merges.h"
#include "engine/data/token-text.h"

#define END_OF_TEXT "<|endoftext|>"
#define N_BYTES     256
#define NEEDED      20.0 /* memory for each byte of the file: its lines, and their tokens */

struct _LoomBpe
{
  GRegex *pieces;
  GPtrArray *bytes; /* GBytes by token */
  TokenMerges *merges;
  GHashTable *tokens; /* GBytes → token + 1, while the file is read */
  guint32 of_byte[N_BYTES];
};

static guint32
add_token (LoomBpe *self, gconstpointer data, gsize length)
{
  GBytes *bytes = g_bytes_new (data, length);

  g_ptr_array_add (self->bytes, bytes);
  g_hash_table_insert (self->tokens, bytes, GUINT_TO_POINTER (self->bytes->len));
  return self->bytes->len - 1;
}

/* Bytes that are written as themselves come first. */
static void
add_bytes (LoomBpe *self)
{
  for (int shown = 1; shown >= 0; shown--)
    for (guint byte = 0; byte < N_BYTES; byte++)
      if ((token_byte_character ((guint8)byte) == byte) == shown)
        {
          const guint8 one = (guint8)byte;

          self->of_byte[byte] = add_token (self, &one, 1);
        }
}

/* The token of a word of the file; −1 if no earlier line makes it. */
static gint64
find_token (const LoomBpe *self, const char *word)
{
  gsize length;
  char *bytes = token_bytes_of (word, &length);
  g_autoptr (GBytes) key = bytes != NULL ? g_bytes_new_take (bytes, length) : NULL;

  return key != NULL ? (gint64)GPOINTER_TO_UINT (g_hash_table_lookup (self->tokens, key)) - 1 : -1;
}

static gboolean
add_pair (LoomBpe *self, const char *path, guint line, const char *text, GError **error)
{
  g_auto (GStrv) word = g_strsplit (text, " ", -1);
  gint64 token[2];
  g_autofree guint8 *joined = NULL;
  g_autoptr (GBytes) key = NULL;
  guint32 result;
  gsize n[2];

  if (g_strv_length (word) != 2)
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” line %u is not a pair of tokens separated by a space.", path,
                        line);
  for (int i = 0; i < 2; i++)
    {
      token[i] = find_token (self, word[i]);
      if (token[i] < 0)
        return loom_refuse (error, LOOM_ERROR_DATA,
                            "“%s” line %u: “%s” is neither a byte nor a pair of an earlier line.", path, line, word[i]);
      n[i] = g_bytes_get_size (self->bytes->pdata[token[i]]);
    }
  joined = g_malloc (n[0] + n[1]);
  memcpy (joined, g_bytes_get_data (self->bytes->pdata[token[0]], NULL), n[0]);
  memcpy (joined + n[0], g_bytes_get_data (self->bytes->pdata[token[1]], NULL), n[1]);
  key = g_bytes_new (joined, n[0] + n[1]);
  result = GPOINTER_TO_UINT (g_hash_table_lookup (self->tokens, key)) - 1;
  if (result == G_MAXUINT32)
    result = add_token (self, joined, n[0] + n[1]);
  token_merges_add (self->merges, (guint32)token[0], (guint32)token[1], result);
  return TRUE;
}

LoomBpe *
loom_bpe_load (const char *path, GError **error)
{
  g_autoptr (LoomBpe) self = NULL;
  g_autofree char *content = NULL;
  g_auto (GStrv) lines = NULL;
  gsize length;

  content = loom_text_file_read (path, 0, NEEDED, "it should be a list of pairs of tokens", &length, NULL, error);
  if (content == NULL)
    return NULL;
  self = g_new0 (LoomBpe, 1);
  self->pieces = g_regex_new (TOKEN_GPT2_PATTERN, G_REGEX_OPTIMIZE, 0, NULL);
  self->bytes = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  self->merges = token_merges_new ();
  self->tokens = g_hash_table_new (g_bytes_hash, g_bytes_equal);
  add_bytes (self);
  lines = g_strsplit (content, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_strchomp (lines[i]);
      if (*lines[i] == '\0' || (i == 0 && g_str_has_prefix (lines[i], "#version")))
        continue;
      if (!add_pair (self, path, i + 1, lines[i], error))
        return NULL;
    }
  add_token (self, END_OF_TEXT, strlen (END_OF_TEXT));
  return g_steal_pointer (&self);
}

void
loom_bpe_free (LoomBpe *self)
{
  if (self == NULL)
    return;
  g_regex_unref (self->pieces);
  token_merges_free (self->merges);
  g_hash_table_unref (self->tokens);
  g_ptr_array_unref (self->bytes);
  g_free (self);
}

guint
loom_bpe_size (const LoomBpe *self)
{
  return self->bytes->len;
}

char *
loom_bpe_dup_name (const LoomBpe *self, guint id)
{
  gsize length;
  const char *data = g_bytes_get_data (self->bytes->pdata[id], &length);

  return token_show_bytes (data, length);
}

/* Merges the pairs of one piece, starting from its bytes, and appends the tokens. */
static void
encode_piece (const LoomBpe *self, const char *text, gsize n, GArray *ids)
{
  g_autoptr (GArray) own = g_array_sized_new (FALSE, FALSE, sizeof (guint32), (guint)n);

  for (gsize i = 0; i < n; i++)
    g_array_append_val (own, self->of_byte[(guint8)text[i]]);
  token_merges_apply (self->merges, own);
  g_array_append_vals (ids, own->data, own->len);
}

void
loom_bpe_encode (const LoomBpe *self, const char *text, gsize length, GArray *ids)
{
  g_autoptr (GMatchInfo) match = NULL;

  g_regex_match_full (self->pieces, text, (gssize)length, 0, 0, &match, NULL);
  for (; g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      int start, end;

      g_match_info_fetch_pos (match, 0, &start, &end);
      encode_piece (self, text + start, (gsize)(end - start), ids);
    }
}
