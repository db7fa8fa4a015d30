/* A tokenizer is special tokens, which are found first, normalisers, splitters, and a model over each piece. */
#include "engine/data/loom-tokenizer.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/core/loom-json.h"
#include "engine/core/loom-module.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-memory-check.h"
#include "engine/data/token-json.h"
#include "engine/data/token-model.h"
#include "engine/data/token-sentencepiece.h"
#include "engine/data/token-steps.h"
#include "engine/data/token-text.h"

#define NEEDED 30.0 /* memory for each byte of tokenizer.json: JSON-GLib's tree, and the tables */

struct _LoomTokenizer
{
  TokenSteps *normalizer, *splitter;
  TokenModel *model;
  const TokenSentencePiece *library; /* with `loaded`, instead of all others */
  gpointer loaded;
  GHashTable *added;        /* spelling → number + 1 */
  GPtrArray *added_names;   /* by number; NULL: none */
  GRegex *any_added;        /* NULL: there are none */
  GHashTable *strips;       /* spelling → 1: the space before it, 2: that after it, 3: both are part of it */
  gboolean shows_bytes;     /* spellings are written as bytes */
  gboolean shows_metaspace; /* ▁ is a space */
};

/* ---- reading ------------------------------------------------------------- */

static int
compare_longest (gconstpointer a, gconstpointer b)
{
  const gsize x = strlen (*(char *const *)a), y = strlen (*(char *const *)b);

  return x < y ? 1 : x > y ? -1 : strcmp (*(char *const *)a, *(char *const *)b);
}

/* One pattern for all added tokens, the longest first; its group 1 is the token. */
static void
compile_added (LoomTokenizer *self)
{
  guint n;
  g_autofree char **spellings = (char **)g_hash_table_get_keys_as_array (self->added, &n);
  g_autoptr (GString) pattern = g_string_new (NULL);

  qsort (spellings, n, sizeof *spellings, compare_longest);
  for (guint i = 0; i < n; i++)
    {
      const guint strip = GPOINTER_TO_UINT (g_hash_table_lookup (self->strips, spellings[i]));
      g_autofree char *escaped = g_regex_escape_string (spellings[i], -1);

      g_string_append_printf (pattern, "%s%s(%s)%s", i > 0 ? "|" : "(?|", (strip & 1) != 0 ? "\\s*" : "", escaped,
                              (strip & 2) != 0 ? "\\s*" : "");
    }
  g_string_append_c (pattern, ')');
  if (n > 0)
    self->any_added = g_regex_new (pattern->str, G_REGEX_OPTIMIZE, 0, NULL);
}

static const char *
read_added (LoomTokenizer *self, JsonObject *root)
{
  JsonNode *node = json_object_get_member (root, "added_tokens");
  JsonArray *list = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  for (guint i = 0; list != NULL && i < json_array_get_length (list); i++)
    {
      JsonNode *entry = json_array_get_element (list, i);
      JsonObject *o = JSON_NODE_HOLDS_OBJECT (entry) ? json_node_get_object (entry) : NULL;
      JsonNode *id = o != NULL ? json_object_get_member (o, "id") : NULL;
      JsonNode *content = o != NULL ? json_object_get_member (o, "content") : NULL;
      char *spelling;

      if (id == NULL || json_node_get_value_type (id) != G_TYPE_INT64 || json_node_get_int (id) < 0
          || json_node_get_int (id) > 10000000 || content == NULL || json_node_get_value_type (content) != G_TYPE_STRING
          || *json_node_get_string (content) == '\0')
        return "one of its “added_tokens” is not valid";
      spelling = json_node_dup_string (content);
      if (self->added_names->len <= json_node_get_int (id))
        g_ptr_array_set_size (self->added_names, (int)json_node_get_int (id) + 1);
      g_free (self->added_names->pdata[json_node_get_int (id)]);
      self->added_names->pdata[json_node_get_int (id)] = g_strdup (spelling);
      g_hash_table_insert (self->strips, g_strdup (spelling),
                           GUINT_TO_POINTER ((token_json_bool (o, "lstrip", FALSE) ? 1U : 0U)
                                             | (token_json_bool (o, "rstrip", FALSE) ? 2U : 0U)));
      g_hash_table_insert (self->added, spelling, GUINT_TO_POINTER ((guint)json_node_get_int (id) + 1));
    }
  compile_added (self);
  return NULL;
}

/* Whether a step of this kind is in a normaliser, a splitter or a decoder. */
static gboolean
has_kind (JsonNode *node, const char *kind, int levels)
{
  static const char *const lists[] = { "normalizers", "pretokenizers", "decoders" };
  JsonObject *o = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *type = o != NULL ? json_object_get_member (o, "type") : NULL;

  if (type != NULL && json_node_get_value_type (type) == G_TYPE_STRING
      && g_str_equal (json_node_get_string (type), kind))
    return TRUE;
  for (guint i = 0; o != NULL && levels > 0 && i < G_N_ELEMENTS (lists); i++)
    {
      JsonNode *list = json_object_get_member (o, lists[i]);
      JsonArray *array = list != NULL && JSON_NODE_HOLDS_ARRAY (list) ? json_node_get_array (list) : NULL;

      for (guint k = 0; array != NULL && k < json_array_get_length (array); k++)
        if (has_kind (json_array_get_element (array, k), kind, levels - 1))
          return TRUE;
    }
  return FALSE;
}

static gboolean
read_json (LoomTokenizer *self, JsonNode *node, const char *path, GError **error)
{
  JsonObject *root = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *model = root != NULL ? json_object_get_member (root, "model") : NULL;
  const char *fault;

  if (model == NULL || !JSON_NODE_HOLDS_OBJECT (model))
    return loom_refuse (
        error, LOOM_ERROR_DATA,
        "“%s” is not a tokenizer: it has no “model”. Use the tokenizer.json that ships with the network.", path);
  fault = read_added (self, root);
  if (fault != NULL)
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” cannot be used: %s.", path, fault);
  JsonNode *normalizer = json_object_get_member (root, "normalizer"),
           *splitter = json_object_get_member (root, "pre_tokenizer");
  self->shows_bytes = has_kind (splitter, "ByteLevel", 8) || has_kind (normalizer, "ByteLevel", 8);
  self->shows_metaspace = has_kind (splitter, "Metaspace", 8) || has_kind (normalizer, "Prepend", 8)
                          || has_kind (json_object_get_member (root, "decoder"), "Metaspace", 8);
  self->normalizer = token_steps_new (normalizer, TRUE, path, error);
  self->splitter = self->normalizer != NULL ? token_steps_new (splitter, FALSE, path, error) : NULL;
  self->model = self->splitter != NULL ? token_model_new (json_node_get_object (model), path, error) : NULL;
  return self->model != NULL;
}

static gboolean
load_json (LoomTokenizer *self, const char *path, const char *text, gsize length, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GError) cause = NULL;

  if (!loom_json_is_within (text, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, text, (gssize)length, &cause))
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” is not valid JSON: %s.", path,
                        cause != NULL ? cause->message : "it is nested too deeply, or has half of a surrogate pair");
  return read_json (self, json_parser_get_root (parser), path, error);
}

static gboolean
load_sentencepiece (LoomTokenizer *self, const char *path, const char *model, gsize length, GError **error)
{
  g_autofree char *why = NULL;
  GModule *module = loom_module_open ("sentencepiece", "../engine/data", &why);
  gpointer symbol = NULL;

  if (module == NULL || !g_module_symbol (module, LOOM_SENTENCEPIECE_ENTRY, &symbol))
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_DATA,
          "“%s” is not JSON, and %s, which reads models of SentencePiece. Install libsentencepiece-dev and build "
          "again, or use the network's tokenizer.json.",
          path, why != NULL ? why : "the sentencepiece module is not complete");
      return FALSE;
    }
  self->library = symbol;
  self->loaded = self->library->load (model, length);
  if (self->loaded == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "“%s” is not a tokenizer: it is neither JSON nor a SentencePiece model.", path);
  return self->loaded != NULL;
}

LoomTokenizer *
loom_tokenizer_load (const char *path, GError **error)
{
  g_autoptr (LoomTokenizer) self = g_new0 (LoomTokenizer, 1);
  g_autofree char *text = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  self->added = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->strips = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->added_names = g_ptr_array_new_with_free_func (g_free);
  if (!loom_memory_check (path, NEEDED, "a tokenizer is a table of tokens", error))
    return NULL;
  if (!loom_path_read (path, &text, &length, &cause))
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  if (g_utf8_validate (text, (gssize)length, NULL))
    return load_json (self, path, text, length, error) ? g_steal_pointer (&self) : NULL;
  return load_sentencepiece (self, path, text, length, error) ? g_steal_pointer (&self) : NULL;
}

void
loom_tokenizer_free (LoomTokenizer *self)
{
  if (self == NULL)
    return;
  token_steps_free (self->normalizer);
  token_steps_free (self->splitter);
  token_model_free (self->model);
  if (self->loaded != NULL)
    self->library->free (self->loaded);
  g_hash_table_unref (self->added);
  g_hash_table_unref (self->strips);
  g_ptr_array_unref (self->added_names);
  g_clear_pointer (&self->any_added, g_regex_unref);
  g_free (self);
}

/* ---- tokens -------------------------------------------------------------- */

guint
loom_tokenizer_size (const LoomTokenizer *self)
{
  return self->loaded != NULL ? self->library->size (self->loaded)
                              : MAX (token_model_size (self->model), self->added_names->len);
}

static char *
with_spaces (const char *spelling)
{
  g_auto (GStrv) parts = g_strsplit (spelling, "\xe2\x96\x81", -1);

  return g_strjoinv (" ", parts);
}

/* A token of a model whose pieces have no spaces: one that begins a word begins with a space. */
static char *
show_word (const TokenModel *model, const char *spelling)
{
  const char *prefix = token_model_prefix (model);

  if (*prefix != '\0' && g_str_has_prefix (spelling, prefix))
    return g_strdup (spelling + strlen (prefix));
  return g_strconcat (" ", spelling, NULL);
}

char *
loom_tokenizer_dup_name (const LoomTokenizer *self, guint id)
{
  const char *spelling = self->model != NULL ? token_model_spelling (self->model, id) : NULL, *suffix;
  g_autofree char *bytes = NULL;
  gsize length;

  if (self->loaded != NULL)
    return with_spaces (self->library->spelling (self->loaded, id));
  if (id < self->added_names->len && self->added_names->pdata[id] != NULL)
    return g_strdup (self->added_names->pdata[id]);
  if (spelling == NULL)
    return g_strdup ("");
  bytes = self->shows_bytes ? token_bytes_of (spelling, &length) : NULL;
  if (bytes != NULL)
    return token_show_bytes (bytes, length);
  if (self->shows_metaspace)
    return with_spaces (spelling);
  suffix = token_model_suffix (self->model);
  if (*suffix != '\0' && g_str_has_suffix (spelling, suffix))
    {
      g_autofree char *stem = g_strndup (spelling, strlen (spelling) - strlen (suffix));

      return g_strconcat (stem, " ", NULL);
    }
  return token_model_splits_words (self->model) ? show_word (self->model, spelling) : g_strdup (spelling);
}

static gboolean
encode_section (const LoomTokenizer *self, const char *text, gsize length, gboolean is_first, GArray *ids,
                GError **error)
{
  g_autofree char *section = g_strndup (text, length);
  g_autoptr (GPtrArray) normal = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) pieces = g_ptr_array_new_with_free_func (g_free);

  if (!token_steps_apply (self->normalizer, section, &is_first, normal, error))
    return FALSE;
  for (guint i = 0; i < normal->len; i++)
    {
      gboolean first = is_first && i == 0;

      if (!token_steps_apply (self->splitter, normal->pdata[i], &first, pieces, error))
        return FALSE;
    }
  for (guint i = 0; i < pieces->len; i++)
    token_model_encode (self->model, pieces->pdata[i], ids);
  return TRUE;
}

static void
add_id (guint32 id, gpointer data)
{
  g_array_append_val ((GArray *)data, id);
}

/* The text between special tokens, and these. */
static gboolean
encode_sections (const LoomTokenizer *self, const char *text, gsize length, GArray *ids, GError **error)
{
  g_autoptr (GMatchInfo) match = NULL;
  gsize at = 0;

  if (self->any_added != NULL)
    g_regex_match_full (self->any_added, text, (gssize)length, 0, 0, &match, NULL);
  for (; match != NULL && g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      int start, end;
      g_autofree char *word = g_match_info_fetch (match, 1);
      const guint32 id = GPOINTER_TO_UINT (g_hash_table_lookup (self->added, word)) - 1;

      g_match_info_fetch_pos (match, 0, &start, &end);
      if (!encode_section (self, text + at, (gsize)start - at, at == 0, ids, error))
        return FALSE;
      at = (gsize)end;
      g_array_append_val (ids, id);
    }
  return encode_section (self, text + at, length - at, at == 0, ids, error);
}

gboolean
loom_tokenizer_encode (const LoomTokenizer *self, const char *text, gsize length, GArray *ids, GError **error)
{
  if (self->loaded == NULL)
    return encode_sections (self, text, length, ids, error);
  self->library->encode (self->loaded, text, length, add_id, ids);
  return TRUE;
}
