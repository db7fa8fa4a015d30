/* Finds operators by name, title, synonyms, and documentation.
 *
 * With two hundred operators the order is decisive: the typed name comes before names that begin with it, these before
 * names that contain it, and words of the documentation come last. A layer of a first course is ahead of the others by
 * more than one such step: “cross” means the cross-entropy and not the cross product. All searches use prepared,
 * case-folded text, so that a keystroke costs some microseconds per row. */
#include "ui/document/studio-search.h"

#include <string.h>

struct _StudioSearchKey
{
  char *name, *title;       /* folded, without separators: "batchnorm2d" */
  char **words, **synonyms; /* folded words of name and title; and synonyms */
  char *text;               /* folded documentation */
  gboolean usual;
};

/* Separators of words; signs such as "+" are words themselves. */
static gboolean
is_gap (char c)
{
  return c == ' ' || c == '_' || c == '-' || c == ',' || c == '(' || c == ')' || c == '.';
}

/* Without separators; a text of separators only, "-", is unchanged. */
static char *
compact (const char *folded)
{
  char *text = g_strdup (folded), *to = text;

  for (const char *c = folded; *c != '\0'; c++)
    if (!is_gap (*c))
      *to++ = *c;
  if (to == text)
    return text;
  *to = '\0';
  return text;
}

static void
add_words (GPtrArray *words, const char *folded)
{
  g_auto (GStrv) parts = g_strsplit_set (folded, " _-,().", -1);
  guint before = words->len;

  for (guint i = 0; parts[i] != NULL; i++)
    if (parts[i][0] != '\0')
      g_ptr_array_add (words, g_strdup (parts[i]));
  if (words->len == before && folded[0] != '\0')
    g_ptr_array_add (words, g_strdup (folded));
}

static char **
split (const char *a, const char *b)
{
  GPtrArray *words = g_ptr_array_new ();

  add_words (words, a);
  add_words (words, b);
  g_ptr_array_add (words, NULL);
  return (char **)g_ptr_array_free (words, FALSE);
}

static StudioSearchKey *
key_new (const char *name, const char *title, const char *synonyms, const char *text)
{
  StudioSearchKey *key = g_new0 (StudioSearchKey, 1);
  g_autofree char *folded_name = g_utf8_casefold (name, -1), *folded_title = g_utf8_casefold (title, -1);
  g_autofree char *folded_synonyms = g_utf8_casefold (synonyms, -1);

  key->name = compact (folded_name);
  key->title = compact (folded_title);
  key->words = split (folded_name, folded_title);
  key->synonyms = g_strsplit (folded_synonyms, " ", -1);
  key->text = g_utf8_casefold (text, -1);
  return key;
}

StudioSearchKey *
studio_search_key_new (const LoomOp *op)
{
  const char *last = op->reference != NULL ? strrchr (op->reference, '.') : NULL;
  g_autofree char *synonyms = NULL, *text = NULL;
  StudioSearchKey *key;

  synonyms = g_strjoin (" ", op->synonyms != NULL ? op->synonyms : "", last != NULL ? last + 1 : "", NULL);
  text = g_strjoin (" ", op->doc != NULL ? op->doc : "", op->details != NULL ? op->details : "",
                    loom_category_title (op->category), NULL);
  key = key_new (op->name, op->title, synonyms, text);
  key->usual = op->usual;
  return key;
}

StudioSearchKey *
studio_search_key_new_text (const char *name, const char *title, const char *doc)
{
  return key_new (name != NULL ? name : "", title != NULL ? title : "", "", doc != NULL ? doc : "");
}

void
studio_search_key_free (StudioSearchKey *key)
{
  if (key == NULL)
    return;
  g_free (key->name);
  g_free (key->title);
  g_strfreev (key->words);
  g_strfreev (key->synonyms);
  g_free (key->text);
  g_free (key);
}

static gboolean
begins_any (char *const *words, const char *token)
{
  for (guint i = 0; words[i] != NULL; i++)
    if (g_str_has_prefix (words[i], token))
      return TRUE;
  return FALSE;
}

/* Matches only the beginning of a word in the documentation: "art" must not match "part". Short words mean names: "top"
 * means Top k, not "at the top". */
static gboolean
text_has (const char *text, const char *token)
{
  for (const char *at = strstr (text, token); at != NULL; at = strstr (at + 1, token))
    if (at == text || !g_ascii_isalnum (at[-1]))
      return TRUE;
  return FALSE;
}

guint
studio_search_rank (const StudioSearchKey *key, const char *text)
{
  g_autofree char *folded = g_strstrip (g_utf8_casefold (text, -1)), *whole = compact (folded);
  g_auto (GStrv) tokens = split (folded, "");
  gboolean words = TRUE, synonyms = TRUE, within = TRUE, said = TRUE;
  guint rank;

  if (folded[0] == '\0')
    return 2 + key->usual;
  for (guint i = 0; tokens[i] != NULL; i++)
    {
      gboolean word = begins_any (key->words, tokens[i]), synonym = begins_any (key->synonyms, tokens[i]);
      gboolean inner = strstr (key->name, tokens[i]) != NULL || strstr (key->title, tokens[i]) != NULL;

      words = words && word;
      synonyms = synonyms && (word || synonym);
      within = within && (word || synonym || inner);
      said = said && (word || synonym || inner || (strlen (tokens[i]) > 3 && text_has (key->text, tokens[i])));
    }
  if (strcmp (key->name, whole) == 0 || strcmp (key->title, whole) == 0)
    rank = 8;
  else if (g_str_has_prefix (key->name, whole) || g_str_has_prefix (key->title, whole)
           || g_strv_contains ((const char *const *)key->synonyms, folded))
    rank = 7;
  else if (words)
    rank = 6;
  else if (synonyms)
    rank = 5;
  else if (strstr (key->name, whole) != NULL || strstr (key->title, whole) != NULL)
    rank = 4;
  else
    rank = within ? 3 : said ? 2 : 0;
  return rank == 0 ? 0 : 2 * rank + (key->usual ? STUDIO_SEARCH_COURSE : 0);
}

/* An operator that does not fit comes after those that fit and have a less exact name, but before those that only
 * mention the words. */
guint
studio_search_order (guint rank, LoomFit fit, const char *words)
{
  static const guint ahead[] = { [LOOM_FIT_NOT] = 1, [LOOM_FIT_UNKNOWN] = 5, [LOOM_FIT_HINT] = 6, [LOOM_FIT_WELL] = 6 };

  if (rank == 0)
    return 0;
  return words[0] == '\0' ? 100 * (fit + 1) + rank : 4 * (rank + ahead[fit]) + fit;
}
