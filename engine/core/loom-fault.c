/* The list of faults, their wording, and the nearest word for "did you mean". */
#include "engine/core/loom-fault.h"

#include <string.h>

#include "engine/core/loom-text.h"

static void
fault_free (gpointer data)
{
  LoomFault *fault = data;

  g_free (fault->node);
  g_free (fault->port);
  g_free (fault->message);
  g_free (fault->fix);
  g_free (fault->fix_attribute);
  g_free (fault->fix_value);
  g_free (fault->fix_name);
  g_free (fault);
}

LoomFaults *
loom_faults_new (void)
{
  LoomFaults *faults = g_new0 (LoomFaults, 1);

  faults->items = g_ptr_array_new_with_free_func (fault_free);
  return faults;
}

void
loom_faults_free (LoomFaults *faults)
{
  if (faults == NULL)
    return;
  g_ptr_array_unref (faults->items);
  g_free (faults->file);
  g_free (faults);
}

#define MAX_QUOTE    60   /* characters */
#define MAX_PATH     400  /* a file can be found only by its complete path */
#define MAX_SENTENCE 8000 /* a quoted value may contain quotation marks */

/* The forms of quotations in sentences: texts, values of attributes, and elements. */
static const struct
{
  const char *open, *close;
} quotations[] = { { "“", "”" }, { "=\"", "\"" }, { "<", ">" } };

/* Finds the first quotation from s on; its text is from *begin to *end. */
static gboolean
find_quotation (const char *s, const char **begin, const char **end)
{
  *begin = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (quotations); i++)
    {
      const char *open = strstr (s, quotations[i].open), *from, *to;

      if (open == NULL)
        continue;
      from = open + strlen (quotations[i].open);
      to = strstr (from, quotations[i].close);
      /* A < followed by a blank is a comparison. */
      if (to == NULL || (*quotations[i].open == '<' && strcspn (from, " \t\n") < (gsize)(to - from)))
        continue;
      if (*begin != NULL && *begin <= from)
        continue;
      *begin = from;
      *end = to;
    }
  return *begin != NULL;
}

/* Appends the text from begin to end, or its first longest - 1 characters and an ellipsis. */
static void
put_shortened (GString *to, const char *begin, const char *end, glong longest)
{
  gboolean cut = g_utf8_strlen (begin, end - begin) > longest;
  const char *stop = cut ? g_utf8_offset_to_pointer (begin, longest - 1) : end;

  g_string_append_len (to, begin, stop - begin);
  if (cut)
    g_string_append (to, "…");
}

/* Shortens long words outside of quotations, such as a number of a thousand digits, or a path. */
static void
put_words (GString *to, const char *begin, const char *end)
{
  while (begin < end)
    {
      const char *stop = begin + strcspn (begin, " \n");

      stop = MIN (stop, end);
      put_shortened (to, begin, stop, *begin == '/' ? MAX_SENTENCE : MAX_PATH);
      for (begin = stop; begin < end && (*begin == ' ' || *begin == '\n'); begin++)
        g_string_append_c (to, *begin);
    }
}

char *
loom_shorten_quotes (const char *sentence)
{
  g_autofree char *printable = loom_text_printable (sentence, FALSE, G_MAXLONG);
  g_autoptr (GString) text = g_string_new (NULL);
  GString *whole = g_string_new (NULL);
  const char *s = printable, *begin = NULL, *end = NULL;

  while (find_quotation (s, &begin, &end))
    {
      g_autofree char *quoted = g_strndup (begin, (gsize)(end - begin));
      g_autofree char *line = loom_text_printable (quoted, TRUE, G_MAXLONG);
      put_words (text, s, begin);
      put_shortened (text, line, line + strlen (line), *begin == '/' ? MAX_PATH : MAX_QUOTE);
      s = end;
      /* A mark that ends a quotation begins none. */
      g_string_append_unichar (text, g_utf8_get_char (s));
      s = g_utf8_next_char (s);
    }
  put_words (text, s, s + strlen (s));
  put_shortened (whole, text->str, text->str + text->len, MAX_SENTENCE);
  return g_string_free (whole, FALSE);
}

void
loom_error_set_quoting (GError **error, LoomErrorCode code, const char *format, ...)
{
  g_autofree char *whole = NULL, *message = NULL;
  va_list args;

  va_start (args, format);
  whole = g_strdup_vprintf (format, args);
  va_end (args);
  message = loom_shorten_quotes (whole);
  g_set_error_literal (error, LOOM_ERROR, code, message);
}

static LoomTranslate translate_sentence;

void
loom_faults_set_language (LoomTranslate translate)
{
  translate_sentence = translate;
}

const char *
loom_faults_translate (const char *format)
{
  return translate_sentence != NULL ? translate_sentence (format) : format;
}

/* A fault quotes files, which may contain any text of any length. */
static char *
format_shortened (const char *format, va_list args)
{
  g_autofree char *whole = g_strdup_vprintf (loom_faults_translate (format), args);

  return loom_shorten_quotes (whole);
}

LoomFault *
loom_faults_add (LoomFaults *faults, LoomErrorCode code, int line, const char *node, const char *port,
                 const char *format, ...)
{
  LoomFault *fault;
  va_list args;

  g_return_val_if_fail (faults != NULL && format != NULL, NULL);

  fault = g_new0 (LoomFault, 1);
  fault->code = code;
  fault->line = line;
  fault->node = g_strdup (node);
  fault->port = g_strdup (port);
  va_start (args, format);
  fault->message = format_shortened (format, args);
  va_end (args);
  g_ptr_array_add (faults->items, fault);
  return fault;
}

void
loom_fault_set_fix (LoomFault *fault, const char *attribute, const char *value, const char *format, ...)
{
  va_list args;

  g_return_if_fail (fault != NULL && format != NULL);

  g_free (fault->fix);
  va_start (args, format);
  fault->fix = format_shortened (format, args);
  va_end (args);
  g_free (fault->fix_attribute);
  fault->fix_attribute = g_strdup (attribute);
  g_free (fault->fix_value);
  fault->fix_value = g_strdup (value);
  g_clear_pointer (&fault->fix_name, g_free);
}

void
loom_fault_set_rename (LoomFault *fault, const char *attribute, const char *name)
{
  g_return_if_fail (fault != NULL && attribute != NULL && name != NULL);

  loom_fault_set_fix (fault, attribute, NULL, "Did you mean “%s”?", name);
  fault->fix_name = g_strdup (name);
}

void
loom_fault_copy_fix (LoomFault *fault, const LoomFault *from)
{
  g_return_if_fail (fault != NULL && from != NULL);

  if (from->fix == NULL)
    return;
  loom_fault_set_fix (fault, from->fix_attribute, from->fix_value, "%s", from->fix);
  fault->fix_name = g_strdup (from->fix_name);
}

guint
loom_faults_count (const LoomFaults *faults)
{
  guint n = 0;

  for (guint i = 0; i < faults->items->len; i++)
    n += !loom_faults_get (faults, i)->is_warning;
  return n;
}

guint
loom_faults_length (const LoomFaults *faults)
{
  return faults->items->len;
}

const LoomFault *
loom_faults_get (const LoomFaults *faults, guint i)
{
  g_return_val_if_fail (i < faults->items->len, NULL);

  return g_ptr_array_index (faults->items, i);
}

static void
append_place (GString *text, const char *before, const char *name)
{
  g_autofree char *shown = loom_text_printable (name, TRUE, G_MAXLONG);
  glong n = g_utf8_strlen (shown, -1);

  /* The end of a path through modules is its most specific part. */
  if (n > MAX_QUOTE)
    g_string_append_printf (text, "%s…%s", before, g_utf8_offset_to_pointer (shown, n - MAX_QUOTE + 1));
  else
    g_string_append_printf (text, "%s%s", before, shown);
}

char *
loom_fault_to_string (const LoomFault *fault)
{
  gboolean has_node = fault->node != NULL && fault->node[0] != 0, has_port = fault->port != NULL && fault->port[0] != 0;
  GString *text = g_string_new (NULL);

  if (fault->line > 0)
    g_string_append_printf (text, "line %d: ", fault->line);
  if (fault->is_warning)
    g_string_append (text, "warning: ");
  if (has_node)
    append_place (text, "node ", fault->node);
  if (has_port)
    append_place (text, has_node ? ", " : "", fault->port);
  if (has_node || has_port)
    g_string_append (text, ": ");
  g_string_append (text, fault->message);
  if (fault->fix != NULL)
    g_string_append_printf (text, " %s", fault->fix);
  return g_string_free (text, FALSE);
}

/* Faults with the same key become one sentence; NULL for a fault without a node. */
static char *
kind_of (const LoomFault *fault)
{
  if (fault->node == NULL || fault->node[0] == '\0')
    return NULL;
  return g_strdup_printf ("%d\n%d\n%s\n%s\n%s", (int)fault->code, fault->is_warning,
                          fault->port != NULL ? fault->port : "", fault->message, fault->fix != NULL ? fault->fix : "");
}

/* One sentence for all faults of an array with the same key. */
static char *
sentence_of (const GPtrArray *alike)
{
  const LoomFault *first = alike->pdata[0];
  LoomFault all = *first;
  g_autofree char *head = NULL, *begin = NULL;
  GString *text;

  if (alike->len == 1)
    return loom_fault_to_string (first);
  all.node = NULL;
  all.port = NULL;
  all.message = head = g_strdup_printf ("%u nodes%s%s: %s", alike->len, first->port != NULL ? ", " : "",
                                        first->port != NULL ? first->port : "", first->message);
  begin = loom_fault_to_string (&all);
  text = g_string_new (begin);
  for (guint i = 0; i < alike->len; i++)
    append_place (text, i == 0 ? " Nodes: " : ", ", ((const LoomFault *)alike->pdata[i])->node);
  g_string_append_c (text, '.');
  return g_string_free (text, FALSE);
}

GPtrArray *
loom_faults_sentences (const LoomFaults *faults, gboolean with_warnings)
{
  GPtrArray *sentences = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GHashTable) by_kind = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < faults->items->len; i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      g_autofree char *kind = kind_of (fault);
      GPtrArray *group = kind != NULL ? g_hash_table_lookup (by_kind, kind) : NULL;

      if (fault->is_warning && !with_warnings)
        continue;
      if (group == NULL)
        {
          g_ptr_array_add (groups, group = g_ptr_array_new ());
          if (kind != NULL)
            g_hash_table_insert (by_kind, g_steal_pointer (&kind), group);
        }
      g_ptr_array_add (group, (gpointer)fault);
    }
  for (guint i = 0; i < groups->len; i++)
    g_ptr_array_add (sentences, sentence_of (groups->pdata[i]));
  return sentences;
}

void
loom_faults_set_file (LoomFaults *faults, const char *file)
{
  g_return_if_fail (faults != NULL);

  if (faults->file == NULL)
    faults->file = g_strdup (file);
}

gboolean
loom_faults_to_error (const LoomFaults *faults, const char *file, GError **error)
{
  g_autoptr (GPtrArray) sentences = loom_faults_sentences (faults, FALSE);
  g_autoptr (GString) text = g_string_new (NULL);
  guint first = 0;

  if (sentences->len == 0)
    return TRUE;
  if (file == NULL)
    file = faults->file;
  for (guint i = 0; i < sentences->len; i++)
    g_string_append_printf (text, "%s%s%s%s", i > 0 ? "\n" : "", file != NULL ? file : "", file != NULL ? ": " : "",
                            (const char *)sentences->pdata[i]);
  while (loom_faults_get (faults, first)->is_warning)
    first++;
  g_set_error_literal (error, LOOM_ERROR, loom_faults_get (faults, first)->code, text->str);
  return FALSE;
}

#define MAX_WORD 63

/* The number of insertions, deletions, replacements and swaps of neighbours that turn a into b, ignoring case
 * (restricted Damerau-Levenshtein distance). */
static guint
edit_distance (const char *a, gsize na, const char *b, gsize nb)
{
  guint row[3][MAX_WORD + 1];
  guint *before = row[0], *above = row[1], *now = row[2];

  for (gsize j = 0; j <= nb; j++)
    now[j] = j;
  for (gsize i = 1; i <= na; i++)
    {
      guint *spare = before;

      before = above;
      above = now;
      now = spare;
      now[0] = i;
      for (gsize j = 1; j <= nb; j++)
        {
          char ca = g_ascii_tolower (a[i - 1]), cb = g_ascii_tolower (b[j - 1]);
          guint best = above[j - 1] + (ca != cb);

          best = MIN (best, MIN (above[j], now[j - 1]) + 1);
          if (i > 1 && j > 1 && ca == g_ascii_tolower (b[j - 2]) && cb == g_ascii_tolower (a[i - 2]))
            best = MIN (best, before[j - 2] + 1);
          now[j] = best;
        }
    }
  return now[nb];
}

const char *
loom_nearest (const char *word, const char *const *candidates)
{
  const char *nearest = NULL;
  gsize length;
  guint limit;

  g_return_val_if_fail (word != NULL && candidates != NULL, NULL);

  length = strlen (word);
  if (length > MAX_WORD)
    return NULL;
  /* The beginning of a longer name is probably that name: “nll” of “nll_loss”, “conv” of “conv2d”. */
  for (gsize i = 0; length > 1 && candidates[i] != NULL; i++)
    if (candidates[i][0] != 0 && g_ascii_strncasecmp (candidates[i], word, length) == 0
        && (candidates[i][length] == '_' || candidates[i][length] == 0 || g_ascii_isdigit (candidates[i][length])))
      return candidates[i];
  /* Up to a third of the word may be wrong; beyond that, suggestions are confusing. */
  limit = MIN ((length + 1) / 3, MAX (length, 1) - 1);
  for (gsize i = 0; candidates[i] != NULL; i++)
    {
      gsize n = strlen (candidates[i]);
      guint distance;

      if (n > MAX_WORD)
        continue;
      distance = edit_distance (word, length, candidates[i], n);
      /* Only a strictly better one replaces it, so the first of equal ones is suggested. */
      if (nearest == NULL ? distance <= limit : distance < limit)
        {
          nearest = candidates[i];
          limit = distance;
        }
    }
  return nearest;
}
