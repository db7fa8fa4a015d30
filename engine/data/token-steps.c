/* The steps of a tokenizer, in one table of kinds: a kind has a function that changes a text, or one that cuts it. A
 * cutting step is almost always a pattern with a rule for what becomes of its matches. */
#include "engine/data/token-steps.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/token-charsmap.h"
#include "engine/data/token-json.h"
#include "engine/data/token-text.h"

#define MAX_LEVELS      8  /* of sequences in sequences */
#define MAX_GROWTH      64 /* of a text by all steps; more is a mistake, or meant to fill the memory */
#define MAX_REPLACEMENT 64 /* bytes */

/* What becomes of the matches of a splitter's pattern. */
typedef enum
{
  MATCH_REMOVED,
  MATCH_ISOLATED,
  MATCH_WITH_PREVIOUS,
  MATCH_WITH_NEXT,
  MATCH_CONTIGUOUS,
  N_RULES
} Rule;

static const char *const rule_names[N_RULES]
    = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous" };

typedef struct _Step Step;
typedef struct
{
  const char *name;
  /* Reads the step's own members; FALSE if they are not valid. May be NULL. */
  gboolean (*read) (Step *step, JsonObject *object);
  char *(*change) (const Step *step, const char *text, gboolean is_first);
  gboolean cuts;                       /* by step->pattern and step->rule, after `change` if there is one */
  char *(*finish) (const char *piece); /* changes each piece after the cut */
} StepKind;

struct _Step
{
  const StepKind *kind;
  GRegex *pattern; /* NULL in a cutting step: no cut */
  Rule rule;
  gboolean inverted; /* the text between the matches counts as the match */
  char *to;
  TokenCharsmap *map;
  GNormalizeMode form;
  gboolean lower, strip_accents, clean, pad_chinese, left, right;
  gboolean drops_gaps; /* what is between matches is removed, as white space between words is */
};

struct _TokenSteps
{
  GPtrArray *steps;
};

/* ---- patterns ------------------------------------------------------------ */

static gboolean
set_pattern (Step *step, const char *pattern, Rule rule)
{
  g_clear_pointer (&step->pattern, g_regex_unref);
  step->pattern = g_regex_new (pattern, G_REGEX_OPTIMIZE, 0, NULL);
  step->rule = rule;
  return step->pattern != NULL;
}

/* {"String": …} is literal, {"Regex": …} is not. */
static gboolean
read_pattern (Step *step, JsonObject *o)
{
  JsonNode *node = json_object_get_member (o, "pattern");
  JsonObject *pattern = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *literal = pattern != NULL ? token_json_string (pattern, "String") : NULL;
  const char *regex = pattern != NULL ? token_json_string (pattern, "Regex") : NULL;
  g_autofree char *escaped = literal != NULL ? g_regex_escape_string (literal, -1) : NULL;

  return (escaped != NULL || regex != NULL) && set_pattern (step, escaped != NULL ? escaped : regex, MATCH_REMOVED);
}

static gboolean
read_rule (Step *step, JsonObject *o)
{
  const char *name = token_json_string (o, "behavior");

  for (guint i = 0; name != NULL && i < N_RULES; i++)
    if (g_str_equal (name, rule_names[i]))
      {
        step->rule = (Rule)i;
        return TRUE;
      }
  return FALSE;
}

/* ---- changes ------------------------------------------------------------- */

static gboolean
read_form (Step *step, JsonObject *o)
{
  const char *name = token_json_string (o, "type");

  step->form = g_str_equal (name, "NFC")    ? G_NORMALIZE_NFC
               : g_str_equal (name, "NFD")  ? G_NORMALIZE_NFD
               : g_str_equal (name, "NFKC") ? G_NORMALIZE_NFKC
                                            : G_NORMALIZE_NFKD;
  return TRUE;
}

static char *
change_form (const Step *step, const char *text, gboolean is_first)
{
  (void)is_first;
  return g_utf8_normalize (text, -1, step->form);
}

static char *
change_lower (const Step *step, const char *text, gboolean is_first)
{
  (void)step;
  (void)is_first;
  return token_lower (text);
}

static char *
change_accents (const Step *step, const char *text, gboolean is_first)
{
  (void)step;
  (void)is_first;
  return token_without_accents (text);
}

static gboolean
read_strip (Step *step, JsonObject *o)
{
  step->left = token_json_bool (o, "strip_left", TRUE);
  step->right = token_json_bool (o, "strip_right", TRUE);
  return TRUE;
}

static char *
change_strip (const Step *step, const char *text, gboolean is_first)
{
  const char *end = text + strlen (text);

  (void)is_first;
  while (step->left && *text != '\0' && g_unichar_isspace (g_utf8_get_char (text)))
    text = g_utf8_next_char (text);
  while (step->right && end > text && g_unichar_isspace (g_utf8_get_char (g_utf8_prev_char (end))))
    end = g_utf8_prev_char (end);
  return g_strndup (text, (gsize)(end - text));
}

static gboolean
read_replace (Step *step, JsonObject *o)
{
  step->to = g_strdup (token_json_string (o, "content"));
  return step->to != NULL && strlen (step->to) <= MAX_REPLACEMENT && read_pattern (step, o);
}

static char *
change_replace (const Step *step, const char *text, gboolean is_first)
{
  (void)is_first;
  return g_regex_replace_literal (step->pattern, text, -1, 0, step->to, 0, NULL);
}

static gboolean
read_prepend (Step *step, JsonObject *o)
{
  step->to = g_strdup (token_json_string (o, "prepend"));
  return step->to != NULL && strlen (step->to) <= MAX_REPLACEMENT;
}

static char *
change_prepend (const Step *step, const char *text, gboolean is_first)
{
  (void)is_first;
  return g_strconcat (*text != '\0' ? step->to : "", text, NULL);
}

static gboolean
read_charsmap (Step *step, JsonObject *o)
{
  const char *base64 = token_json_string (o, "precompiled_charsmap");

  step->map = base64 != NULL ? token_charsmap_new (base64) : NULL;
  return step->map != NULL;
}

static char *
change_charsmap (const Step *step, const char *text, gboolean is_first)
{
  (void)is_first;
  return token_charsmap_apply (step->map, text);
}

static gboolean
read_bert (Step *step, JsonObject *o)
{
  JsonNode *accents = json_object_get_member (o, "strip_accents");

  step->clean = token_json_bool (o, "clean_text", TRUE);
  step->pad_chinese = token_json_bool (o, "handle_chinese_chars", TRUE);
  step->lower = token_json_bool (o, "lowercase", TRUE);
  step->strip_accents
      = accents == NULL || json_node_is_null (accents) ? step->lower : token_json_bool (o, "strip_accents", FALSE);
  return TRUE;
}

static char *
change_bert (const Step *step, const char *text, gboolean is_first)
{
  g_autofree char *y = token_clean (text, step->clean, step->pad_chinese);

  (void)is_first;
  if (step->strip_accents)
    {
      g_autofree char *apart = g_utf8_normalize (y, -1, G_NORMALIZE_NFD);

      g_free (y);
      y = token_without_accents (apart);
    }
  return step->lower ? token_lower (y) : g_steal_pointer (&y);
}

static gboolean
read_bytes (Step *step, JsonObject *o)
{
  step->left = token_json_bool (o, "add_prefix_space", TRUE);
  return !token_json_bool (o, "use_regex", TRUE) || set_pattern (step, TOKEN_GPT2_PATTERN, MATCH_ISOLATED);
}

static char *
change_bytes (const Step *step, const char *text, gboolean is_first)
{
  (void)is_first;
  return g_strconcat (step->left && *text != ' ' ? " " : "", text, NULL);
}

/* ---- cuts ---------------------------------------------------------------- */

static gboolean
read_split (Step *step, JsonObject *o)
{
  step->inverted = token_json_bool (o, "invert", FALSE);
  return read_pattern (step, o) && read_rule (step, o);
}

/* Unicode's characters of words, without fractions and the like. */
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}"

static gboolean
read_whitespace (Step *step, JsonObject *o)
{
  (void)o;
  return set_pattern (step, "[" WORD "]+|[^" WORD "\\s]+", MATCH_ISOLATED) && (step->drops_gaps = TRUE);
}

static gboolean
read_whitespace_split (Step *step, JsonObject *o)
{
  (void)o;
  return set_pattern (step, "[\\s\\p{Z}]", MATCH_REMOVED);
}

#define ONE_PUNCTUATION "[\\p{P}!-/:-@\\[-`{-~]"

static gboolean
read_bert_split (Step *step, JsonObject *o)
{
  (void)o;
  return set_pattern (step, ONE_PUNCTUATION "|[^\\s\\p{P}!-/:-@\\[-`{-~]+", MATCH_ISOLATED)
         && (step->drops_gaps = TRUE);
}

static gboolean
read_punctuation (Step *step, JsonObject *o)
{
  return set_pattern (step, ONE_PUNCTUATION, MATCH_ISOLATED)
         && (!json_object_has_member (o, "behavior") || read_rule (step, o));
}

static gboolean
read_digits (Step *step, JsonObject *o)
{
  return set_pattern (step, token_json_bool (o, "individual_digits", FALSE) ? "\\p{N}" : "\\p{N}+", MATCH_ISOLATED);
}

static gboolean
read_delimiter (Step *step, JsonObject *o)
{
  const char *delimiter = token_json_string (o, "delimiter");
  g_autofree char *escaped = delimiter != NULL ? g_regex_escape_string (delimiter, -1) : NULL;

  return escaped != NULL && set_pattern (step, escaped, MATCH_REMOVED);
}

/* Spaces become ▁, one precedes a text, and each begins a piece. Older files have add_prefix_space. */
static gboolean
read_metaspace (Step *step, JsonObject *o)
{
  const char *character = token_json_string (o, "replacement"), *scheme = token_json_string (o, "prepend_scheme");
  const gboolean older = scheme == NULL;
  g_autofree char *escaped = NULL;

  step->to = g_strdup (character != NULL ? character : "\xe2\x96\x81");
  step->left = older ? token_json_bool (o, "add_prefix_space", TRUE) : !g_str_equal (scheme, "never");
  step->right = !older && g_str_equal (scheme, "first"); /* only at the beginning of a text */
  escaped = g_regex_escape_string (step->to, -1);
  return strlen (step->to) <= MAX_REPLACEMENT
         && (!token_json_bool (o, "split", TRUE) || set_pattern (step, escaped, MATCH_WITH_NEXT));
}

static char *
change_metaspace (const Step *step, const char *text, gboolean is_first)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  g_autofree char *y = g_strjoinv (step->to, words);
  const gboolean prepends = step->left && (!step->right || is_first) && !g_str_has_prefix (y, step->to);

  return g_strconcat (prepends ? step->to : "", y, NULL);
}

static const StepKind kinds[] = {
  { "NFC", read_form, change_form },
  { "NFD", read_form, change_form },
  { "NFKC", read_form, change_form },
  { "NFKD", read_form, change_form },
  { "Lowercase", NULL, change_lower },
  { "StripAccents", NULL, change_accents },
  { "Strip", read_strip, change_strip },
  { "Replace", read_replace, change_replace },
  { "Prepend", read_prepend, change_prepend },
  { "BertNormalizer", read_bert, change_bert },
  { "Precompiled", read_charsmap, change_charsmap },
  { "ByteLevel", read_bytes, change_bytes, TRUE, token_write_bytes }, /* as a normaliser it only writes bytes */
  { "Split", read_split, NULL, TRUE },
  { "Whitespace", read_whitespace, NULL, TRUE },
  { "WhitespaceSplit", read_whitespace_split, NULL, TRUE },
  { "BertPreTokenizer", read_bert_split, NULL, TRUE },
  { "Punctuation", read_punctuation, NULL, TRUE },
  { "Digits", read_digits, NULL, TRUE },
  { "CharDelimiterSplit", read_delimiter, NULL, TRUE },
  { "Metaspace", read_metaspace, change_metaspace, TRUE },
};

/* ---- the steps ----------------------------------------------------------- */

static void
step_free (gpointer data)
{
  Step *step = data;

  g_clear_pointer (&step->pattern, g_regex_unref);
  g_clear_pointer (&step->map, token_charsmap_free);
  g_free (step->to);
  g_free (step);
}

static gboolean
add_steps (TokenSteps *self, JsonNode *node, gboolean is_normalizer, int levels, GString *fault)
{
  JsonObject *o = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *type = o != NULL ? token_json_string (o, "type") : NULL;
  JsonNode *list = o != NULL ? json_object_get_member (o, is_normalizer ? "normalizers" : "pretokenizers") : NULL;
  const StepKind *kind = NULL;
  Step *step;

  if (node == NULL || json_node_is_null (node))
    return TRUE;
  if (type != NULL && g_str_equal (type, "Sequence") && list != NULL && JSON_NODE_HOLDS_ARRAY (list) && levels > 0)
    {
      JsonArray *array = json_node_get_array (list);

      for (guint i = 0; i < json_array_get_length (array); i++)
        if (!add_steps (self, json_array_get_element (array, i), is_normalizer, levels - 1, fault))
          return FALSE;
      return TRUE;
    }
  for (guint i = 0; type != NULL && i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (kinds[i].name, type) && (!is_normalizer || !kinds[i].cuts || kinds[i].finish != NULL))
      kind = &kinds[i];
  step = g_new0 (Step, 1);
  g_ptr_array_add (self->steps, step);
  step->kind = kind;
  if (kind == NULL || (kind->read != NULL && !kind->read (step, o)))
    {
      g_string_append_printf (fault, "its %s “%s” %s", is_normalizer ? "normalizer" : "pre_tokenizer",
                              type != NULL ? type : "",
                              kind == NULL ? "is of no kind that can be read" : "is not complete");
      return FALSE;
    }
  if (is_normalizer && kind->cuts)
    {
      g_clear_pointer (&step->pattern, g_regex_unref);
      step->left = FALSE;
    }
  return TRUE;
}

TokenSteps *
token_steps_new (JsonNode *node, gboolean is_normalizer, const char *path, GError **error)
{
  g_autoptr (TokenSteps) self = g_new0 (TokenSteps, 1);
  g_autoptr (GString) fault = g_string_new (NULL);

  self->steps = g_ptr_array_new_with_free_func (step_free);
  if (add_steps (self, node, is_normalizer, MAX_LEVELS, fault))
    return g_steal_pointer (&self);
  loom_refuse (error, LOOM_ERROR_DATA, "“%s” cannot be used: %s.", path, fault->str);
  return NULL;
}

void
token_steps_free (TokenSteps *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->steps);
  g_free (self);
}

/* ---- cutting ------------------------------------------------------------- */

typedef struct
{
  int start, end;
  gboolean is_match;
} Span;

static void
add_span (GArray *spans, int start, int end, gboolean is_match)
{
  const Span span = { start, end, is_match };

  if (end > start)
    g_array_append_val (spans, span);
}

/* The matches of a step's pattern and what is between them, in order; NULL with an error if the pattern takes too long.
 */
static GArray *
find_spans (const Step *step, const char *text, GError **error)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (Span));
  g_autoptr (GMatchInfo) match = NULL;
  g_autoptr (GError) cause = NULL;
  int at = 0;

  g_regex_match_full (step->pattern, text, -1, 0, 0, &match, &cause);
  for (; g_match_info_matches (match) && cause == NULL; g_match_info_next (match, &cause))
    {
      int start, end;

      g_match_info_fetch_pos (match, 0, &start, &end);
      add_span (spans, at, start, step->inverted);
      add_span (spans, start, end, !step->inverted);
      at = MAX (end, at);
    }
  add_span (spans, at, (int)strlen (text), step->inverted);
  if (cause == NULL)
    return spans;
  g_array_unref (spans);
  return loom_refuse_null (error, LOOM_ERROR_DATA, "A pattern of the tokenizer cannot be matched in the text: %s.",
                           cause->message);
}

/* Whether span i continues the piece of the span before it. */
static gboolean
continues (Rule rule, const GArray *spans, guint i)
{
  const gboolean before = i > 0 && g_array_index (spans, Span, i - 1).is_match,
                 is = g_array_index (spans, Span, i).is_match;

  return i > 0
         && (rule == MATCH_CONTIGUOUS      ? before == is
             : rule == MATCH_WITH_PREVIOUS ? is && !before
             : rule == MATCH_WITH_NEXT     ? before && !is
                                           : FALSE);
}

/* A pattern may match a part of a character; pieces are UTF-8 nevertheless. */
static void
add_piece (const Step *step, const char *text, int start, int end, GPtrArray *pieces)
{
  g_autofree char *piece = g_utf8_make_valid (text + start, end - start);

  if (*piece != '\0')
    g_ptr_array_add (pieces, step->kind->finish != NULL ? step->kind->finish (piece) : g_steal_pointer (&piece));
}

static gboolean
cut (const Step *step, const char *text, GPtrArray *pieces, GError **error)
{
  g_autoptr (GArray) spans = NULL;
  int start = 0, end = 0;

  if (!step->kind->cuts || step->pattern == NULL)
    {
      add_piece (step, text, 0, (int)strlen (text), pieces);
      return TRUE;
    }
  spans = find_spans (step, text, error);
  if (spans == NULL)
    return FALSE;
  for (guint i = 0; i < spans->len; i++)
    {
      const Span span = g_array_index (spans, Span, i);

      if (!continues (step->rule, spans, i))
        {
          add_piece (step, text, start, end, pieces);
          start = span.start;
        }
      end = span.end;
      if ((step->rule == MATCH_REMOVED && span.is_match) || (step->drops_gaps && !span.is_match))
        start = end;
    }
  add_piece (step, text, start, end, pieces);
  return TRUE;
}

static gboolean
loses_beginning (const Step *step, const char *text)
{
  const gunichar c = g_utf8_get_char (text);

  return step->kind->change == change_strip     ? step->left && g_unichar_isspace (c)
         : step->kind->change == change_accents ? g_unichar_type (c) == G_UNICODE_NON_SPACING_MARK
                                                : FALSE;
}

/* The pieces after a step; NULL with an error. most: their bytes. */
static GPtrArray *
take_step (const Step *step, const GPtrArray *now, gboolean *is_first, gsize most, GError **error)
{
  g_autoptr (GPtrArray) next = g_ptr_array_new_with_free_func (g_free);
  gsize total = 0;

  for (guint i = 0; i < now->len; i++)
    {
      g_autofree char *changed
          = step->kind->change != NULL ? step->kind->change (step, now->pdata[i], *is_first && i == 0) : NULL;

      if (step->kind->change != NULL && changed == NULL)
        return loom_refuse_null (error, LOOM_ERROR_DATA, "The step “%s” of the tokenizer cannot change the text.",
                                 step->kind->name);
      if (i == 0 && loses_beginning (step, now->pdata[i]))
        *is_first = FALSE;
      total += strlen (changed != NULL ? changed : now->pdata[i]);
      if (total > most)
        return loom_refuse_null (error, LOOM_ERROR_DATA,
                                 "The steps of the tokenizer make the text more than %d times as long.", MAX_GROWTH);
      if (!cut (step, changed != NULL ? changed : now->pdata[i], next, error))
        return NULL;
    }
  return g_steal_pointer (&next);
}

gboolean
token_steps_apply (const TokenSteps *self, const char *text, gboolean *is_first, GPtrArray *pieces, GError **error)
{
  g_autoptr (GPtrArray) now = g_ptr_array_new_with_free_func (g_free);
  const gsize most = MAX_GROWTH * (strlen (text) + MAX_REPLACEMENT);

  if (*text != '\0')
    g_ptr_array_add (now, g_strdup (text));
  for (guint s = 0; s < self->steps->len; s++)
    {
      GPtrArray *next = take_step (self->steps->pdata[s], now, is_first, most, error);

      if (next == NULL)
        return FALSE;
      g_ptr_array_unref (now);
      now = next;
    }
  for (guint i = 0; i < now->len; i++)
    g_ptr_array_add (pieces, g_strdup (now->pdata[i]));
  return TRUE;
}
