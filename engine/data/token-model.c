/* Four models, each a function over one piece:
 *
 * - BPE (Sennrich, Haddow and Birch 2016): characters; the adjacent pair of the lowest rank is merged until none is
 * left;
 * - WordPiece (Devlin et al., "BERT", 2019): the longest token that the piece begins with, then the longest of the
 * rest;
 * - Unigram (Kudo, "Subword regularization", 2018): the segmentation with the largest sum of logarithms, by Viterbi;
 * - WordLevel: the piece is a token.
 *
 * What no token spells is the unknown token, or with byte_fallback the tokens <0x00> to <0xFF> of its bytes. */
#include "engine/data/token-model.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/token-json.h"
#include "engine/data/token-merges.h"

#define UNKNOWN_PENALTY 10.0 /* below the smallest score, as in SentencePiece */
#define MAX_ID          10000000
#define MAX_BYTES       4096 /* of a token */

typedef void (*Encode) (const TokenModel *self, const char *piece, GArray *ids);

struct _TokenModel
{
  Encode encode;
  GHashTable *ids;      /* spelling → number + 1 */
  GPtrArray *spellings; /* by number; NULL: none */
  TokenMerges *merges;  /* of BPE */
  double *score;        /* of Unigram, by number */
  double unknown_score;
  gsize longest;    /* bytes of a spelling */
  gint64 unknown;   /* −1: none */
  gint64 byte[256]; /* −1: no token */
  char *prefix, *suffix;
  gboolean fuses_unknown, falls_back, ignores_merges;
  gint64 most_characters; /* a longer word is unknown */
};

/* The number of a token; −1: the vocabulary does not have it. */
static gint64
find_token (const TokenModel *self, const char *spelling)
{
  return (gint64)GPOINTER_TO_UINT (g_hash_table_lookup (self->ids, spelling)) - 1;
}

/* ---- reading ------------------------------------------------------------- */

static gboolean
add_token (TokenModel *self, const char *spelling, gint64 id)
{
  char *copy;

  if (id < 0 || id > MAX_ID || strlen (spelling) > MAX_BYTES)
    return FALSE;
  if (self->spellings->len <= id)
    g_ptr_array_set_size (self->spellings, (int)id + 1);
  if (self->spellings->pdata[id] != NULL)
    return FALSE;
  copy = g_strdup (spelling);
  self->spellings->pdata[id] = copy;
  if (!g_hash_table_contains (self->ids, copy))
    g_hash_table_insert (self->ids, copy, GUINT_TO_POINTER ((guint)id + 1));
  self->longest = MAX (self->longest, strlen (copy));
  return TRUE;
}

/* {"token": number}. */
static const char *
read_vocabulary (TokenModel *self, JsonObject *model)
{
  JsonNode *node = json_object_get_member (model, "vocab");
  JsonObjectIter iter;
  const char *spelling;
  JsonNode *id;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return "its model has no “vocab” of tokens and numbers";
  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &spelling, &id))
    if (json_node_get_value_type (id) != G_TYPE_INT64 || !add_token (self, spelling, json_node_get_int (id)))
      return "two tokens of its “vocab” have one number, or a token is not valid";
  return NULL;
}

/* A merge is "left right", or in newer files ["left", "right"]. */
static gboolean
read_merge (JsonNode *node, char **left, char **right)
{
  if (JSON_NODE_HOLDS_ARRAY (node) && json_array_get_length (json_node_get_array (node)) == 2)
    {
      JsonNode *part[2];

      for (guint i = 0; i < 2; i++)
        {
          part[i] = json_array_get_element (json_node_get_array (node), i);
          if (json_node_get_value_type (part[i]) != G_TYPE_STRING)
            return FALSE;
        }
      *left = json_node_dup_string (part[0]);
      *right = json_node_dup_string (part[1]);
      return TRUE;
    }
  if (json_node_get_value_type (node) != G_TYPE_STRING)
    return FALSE;
  g_auto (GStrv) parts = g_strsplit (json_node_get_string (node), " ", -1);
  if (g_strv_length (parts) != 2)
    return FALSE;
  *left = g_strdup (parts[0]);
  *right = g_strdup (parts[1]);
  return TRUE;
}

static const char *
read_bpe (TokenModel *self, JsonObject *model)
{
  JsonNode *node = json_object_get_member (model, "merges");
  JsonArray *merges = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  const char *fault = read_vocabulary (self, model);

  if (fault != NULL)
    return fault;
  if (merges == NULL)
    return "its model has no “merges”";
  self->merges = token_merges_new ();
  for (guint i = 0; i < json_array_get_length (merges); i++)
    {
      g_autofree char *left = NULL, *right = NULL, *both = NULL;
      gint64 a, b, c;

      if (!read_merge (json_array_get_element (merges, i), &left, &right))
        return "one of its “merges” is not a pair of tokens";
      both = g_strconcat (left, right + (g_str_has_prefix (right, self->prefix) ? strlen (self->prefix) : 0), NULL);
      a = find_token (self, left);
      b = find_token (self, right);
      c = find_token (self, both);
      if (a < 0 || b < 0 || c < 0)
        return "its “merges” have a token that its “vocab” lacks";
      token_merges_add (self->merges, (guint32)a, (guint32)b, (guint32)c);
    }
  return NULL;
}

static gboolean
is_number (JsonNode *node)
{
  const GType type = json_node_get_value_type (node);

  return type == G_TYPE_DOUBLE || type == G_TYPE_INT64;
}

/* [["token", logarithm], …] in the order of the numbers. */
static const char *
read_unigram (TokenModel *self, JsonObject *model)
{
  JsonNode *node = json_object_get_member (model, "vocab"), *unknown = json_object_get_member (model, "unk_id");
  JsonArray *list = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  const guint n = list != NULL ? json_array_get_length (list) : 0;

  if (n == 0)
    return "its model has no “vocab” of tokens and scores";
  self->score = g_new (double, n);
  self->unknown_score = 0;
  for (guint i = 0; i < n; i++)
    {
      JsonNode *entry = json_array_get_element (list, i);
      JsonArray *pair = JSON_NODE_HOLDS_ARRAY (entry) ? json_node_get_array (entry) : NULL;
      JsonNode *spelling = pair != NULL && json_array_get_length (pair) == 2 ? json_array_get_element (pair, 0) : NULL;

      if (spelling == NULL || json_node_get_value_type (spelling) != G_TYPE_STRING
          || !is_number (json_array_get_element (pair, 1)) || !add_token (self, json_node_get_string (spelling), i))
        return "an entry of its “vocab” is not a token and a score";
      self->score[i] = json_array_get_double_element (pair, 1);
      if (!isfinite (self->score[i]))
        return "a score of its “vocab” is not finite";
      self->unknown_score = MIN (self->unknown_score, self->score[i]);
    }
  self->unknown_score -= UNKNOWN_PENALTY;
  if (unknown != NULL && json_node_get_value_type (unknown) == G_TYPE_INT64)
    self->unknown = json_node_get_int (unknown);
  return self->unknown >= n ? "its “unk_id” is not the number of a token" : NULL;
}

/* ---- encoding ------------------------------------------------------------ */

/* Appends what stands for n bytes that no token spells. */
static void
add_unknown (const TokenModel *self, const char *text, gsize n, gboolean *was_unknown, GArray *ids)
{
  gboolean have_bytes = self->falls_back;

  for (gsize i = 0; have_bytes && i < n; i++)
    have_bytes = self->byte[(guint8)text[i]] >= 0;
  for (gsize i = 0; have_bytes && i < n; i++)
    {
      const guint32 id = (guint32)self->byte[(guint8)text[i]];

      g_array_append_val (ids, id);
    }
  if (!have_bytes && self->unknown >= 0 && !(self->fuses_unknown && *was_unknown))
    {
      const guint32 id = (guint32)self->unknown;

      g_array_append_val (ids, id);
    }
  *was_unknown = !have_bytes;
}

static void
encode_word (const TokenModel *self, const char *piece, GArray *ids)
{
  const gint64 found = find_token (self, piece);
  gboolean was_unknown = FALSE;

  if (found < 0)
    add_unknown (self, piece, strlen (piece), &was_unknown, ids);
  else
    {
      const guint32 id = (guint32)found;

      g_array_append_val (ids, id);
    }
}

static void
encode_word_piece (const TokenModel *self, const char *piece, GArray *ids)
{
  const guint before = ids->len;
  const gsize length = strlen (piece);
  gboolean was_unknown = FALSE, is_spelled = g_utf8_strlen (piece, -1) <= self->most_characters;

  for (gsize at = 0; is_spelled && at < length;)
    {
      gsize n = MIN (length - at, self->longest);
      gint64 found = -1;

      for (; n > 0 && found < 0; n--)
        {
          g_autofree char *token = g_strdup_printf ("%s%.*s", at > 0 ? self->prefix : "", (int)n, piece + at);

          found = find_token (self, token);
          if (found >= 0)
            break;
        }
      is_spelled = found >= 0;
      if (is_spelled)
        {
          const guint32 id = (guint32)found;

          g_array_append_val (ids, id);
          at += n;
        }
    }
  if (is_spelled)
    return;
  g_array_set_size (ids, before);
  add_unknown (self, piece, length, &was_unknown, ids);
}

static void
encode_bpe (const TokenModel *self, const char *piece, GArray *ids)
{
  g_autoptr (GArray) own = g_array_new (FALSE, FALSE, sizeof (guint32));
  gboolean was_unknown = FALSE;

  if (self->ignores_merges && find_token (self, piece) >= 0)
    {
      encode_word (self, piece, ids);
      return;
    }
  for (const char *p = piece; *p != '\0'; p = g_utf8_next_char (p))
    {
      const gsize n = (gsize)(g_utf8_next_char (p) - p);
      g_autofree char *token
          = g_strdup_printf ("%s%.*s%s", p > piece ? self->prefix : "", (int)n, p, p[n] == '\0' ? self->suffix : "");
      const gint64 found = find_token (self, token);
      const guint32 id = (guint32)found;

      if (found < 0)
        add_unknown (self, p, n, &was_unknown, own);
      else
        {
          was_unknown = FALSE;
          g_array_append_val (own, id);
        }
    }
  token_merges_apply (self->merges, own);
  g_array_append_vals (ids, own->data, own->len);
}

typedef struct
{
  double score; /* of the best segmentation that ends here */
  gsize start;  /* of its last token */
  gint64 token; /* −1: unknown */
} Best;

/* Fills best[end] for each end of a token that begins at `at`. */
static void
extend (const TokenModel *self, const char *piece, gsize at, gsize length, Best *best)
{
  const gsize one = (gsize)(g_utf8_next_char (piece + at) - (piece + at));
  gboolean has_one = FALSE;
  char token[MAX_BYTES + 1];

  for (gsize n = one; at + n <= length && n <= self->longest;
       n += at + n < length ? (gsize)(g_utf8_next_char (piece + at + n) - (piece + at + n)) : 1)
    {
      gint64 found;

      memcpy (token, piece + at, n);
      token[n] = '\0';
      found = find_token (self, token);
      if (found < 0 || found == self->unknown)
        continue;
      has_one = has_one || n == one;
      if (best[at].score + self->score[found] > best[at + n].score)
        best[at + n] = (Best){ best[at].score + self->score[found], at, found };
    }
  if (!has_one && best[at].score + self->unknown_score > best[at + one].score)
    best[at + one] = (Best){ best[at].score + self->unknown_score, at, -1 };
}

static void
encode_unigram (const TokenModel *self, const char *piece, GArray *ids)
{
  const gsize length = strlen (piece);
  g_autofree Best *best = g_new (Best, length + 1);
  g_autoptr (GArray) ends = g_array_new (FALSE, FALSE, sizeof (gsize));
  gboolean was_unknown = FALSE;

  for (gsize i = 0; i <= length; i++)
    best[i] = (Best){ i == 0 ? 0 : -INFINITY, 0, -1 };
  for (gsize at = 0; at < length; at = (gsize)(g_utf8_next_char (piece + at) - piece))
    extend (self, piece, at, length, best);
  for (gsize end = length; end > 0; end = best[end].start)
    g_array_append_val (ends, end);
  for (guint i = ends->len; i-- > 0;)
    {
      const Best *b = &best[g_array_index (ends, gsize, i)];
      const guint32 id = (guint32)b->token;

      if (b->token < 0)
        {
          add_unknown (self, piece + b->start, g_array_index (ends, gsize, i) - b->start, &was_unknown, ids);
          continue;
        }
      was_unknown = FALSE;
      g_array_append_val (ids, id);
    }
}

void
token_model_encode (const TokenModel *self, const char *piece, GArray *ids)
{
  self->encode (self, piece, ids);
}

/* ---- the model ----------------------------------------------------------- */

typedef struct
{
  const char *name;
  const char *(*read) (TokenModel *self, JsonObject *model); /* NULL, or what is wrong */
  Encode encode;
} Kind;

static const Kind kinds[] = {
  { "BPE", read_bpe, encode_bpe },
  { "WordPiece", read_vocabulary, encode_word_piece },
  { "Unigram", read_unigram, encode_unigram },
  { "WordLevel", read_vocabulary, encode_word },
};

/* Files of before 2020 do not name the model. */
static const Kind *
kind_of (JsonObject *o)
{
  const char *type = token_json_string (o, "type");

  for (guint i = 0; type != NULL && i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (kinds[i].name, type))
      return &kinds[i];
  return type == NULL && json_object_has_member (o, "merges") ? &kinds[0] : NULL;
}

static void
read_options (TokenModel *self, JsonObject *o, const Kind *kind)
{
  const char *prefix = token_json_string (o, "continuing_subword_prefix"),
             *suffix = token_json_string (o, "end_of_word_suffix");
  JsonNode *most = json_object_get_member (o, "max_input_chars_per_word");

  self->encode = kind->encode;
  self->prefix = g_strdup (prefix != NULL ? prefix : "");
  self->suffix = g_strdup (suffix != NULL ? suffix : "");
  self->fuses_unknown = token_json_bool (o, "fuse_unk", FALSE) || kind->encode == encode_unigram;
  self->falls_back = token_json_bool (o, "byte_fallback", FALSE);
  self->ignores_merges = token_json_bool (o, "ignore_merges", FALSE);
  self->most_characters
      = most != NULL && json_node_get_value_type (most) == G_TYPE_INT64 ? json_node_get_int (most) : 100;
  self->unknown = -1;
}

TokenModel *
token_model_new (JsonObject *object, const char *path, GError **error)
{
  g_autoptr (TokenModel) self = g_new0 (TokenModel, 1);
  const Kind *kind = kind_of (object);
  const char *fault = "its model is neither BPE, WordPiece, Unigram nor WordLevel",
             *unknown = token_json_string (object, "unk_token");

  self->ids = g_hash_table_new (g_str_hash, g_str_equal);
  self->spellings = g_ptr_array_new_with_free_func (g_free);
  if (kind != NULL)
    {
      read_options (self, object, kind);
      fault = kind->read (self, object);
    }
  if (fault != NULL)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” cannot be used: %s.", path, fault);
  if (unknown != NULL)
    self->unknown = find_token (self, unknown);
  for (guint byte = 0; byte < 256; byte++)
    {
      char name[8];

      g_snprintf (name, sizeof name, "<0x%02X>", byte);
      self->byte[byte] = find_token (self, name);
    }
  return g_steal_pointer (&self);
}

void
token_model_free (TokenModel *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->ids);
  g_ptr_array_unref (self->spellings);
  g_clear_pointer (&self->merges, token_merges_free);
  g_free (self->score);
  g_free (self->prefix);
  g_free (self->suffix);
  g_free (self);
}

guint
token_model_size (const TokenModel *self)
{
  return self->spellings->len;
}

const char *
token_model_spelling (const TokenModel *self, guint id)
{
  return id < self->spellings->len ? self->spellings->pdata[id] : NULL;
}

const char *
token_model_prefix (const TokenModel *self)
{
  return self->prefix;
}

const char *
token_model_suffix (const TokenModel *self)
{
  return self->suffix;
}

gboolean
token_model_splits_words (const TokenModel *self)
{
  return self->encode == encode_word_piece || self->encode == encode_word;
}
