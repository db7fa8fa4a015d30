/* Reads the values after a layer's name by the tables of parameters, so that an operator needs nothing for it.
 *
 * Numbers without a name go to the parameters in the order of the table, which is that of PyTorch: required ones first,
 * since they have to be said. Each value is checked as in the inspector before anything is added. */
#include "ui/document/studio-typed-layer.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/document/studio-param-check.h"

typedef struct
{
  const LoomOp *op;
  char **words;
  guint next;       /* of words */
  GPtrArray *found; /* names and values in turn */
} Reading;

/* "6", "5x5", "0.5", "1e-3", "3,3": a number or several. */
static gboolean
is_number (const char *word)
{
  const char *c = word + (word[0] == '-' || word[0] == '+');

  if (!g_ascii_isdigit (*c) && !(*c == '.' && g_ascii_isdigit (c[1])))
    return FALSE;
  for (; *c != '\0'; c = g_utf8_next_char (c))
    if (!g_ascii_isdigit (*c) && strchr (".,xXeE+-", *c) == NULL && g_utf8_get_char (c) != 0xD7)
      return FALSE;
  return TRUE;
}

/* "stride=2". */
static gboolean
is_assignment (const char *word)
{
  const char *equals = strchr (word, '=');

  return equals != NULL && g_ascii_isalpha (word[0]) && equals[1] != '\0';
}

/* The next word from *c on, without a comma at its end; NULL: none. (transfer full) */
static char *
next_word (const char **c)
{
  const char *begin = *c + strspn (*c, " \t\n");
  gsize n = strcspn (begin, " \t\n");
  char *word;

  *c = begin + n;
  if (n == 0)
    return NULL;
  word = g_strndup (begin, n);
  while (n > 1 && (word[n - 1] == ',' || word[n - 1] == ';'))
    word[--n] = '\0';
  return word;
}

char *
studio_typed_layer_split (const char *text, char **values)
{
  g_autofree char *first = next_word (&text);
  GString *name = g_string_new (first);

  *values = NULL;
  for (const char *c = text; *values == NULL;)
    {
      const char *before = c;
      g_autofree char *word = next_word (&c);

      if (word == NULL)
        break;
      if (is_number (word) || is_assignment (word))
        *values = g_strstrip (g_strdup (before));
      else
        g_string_append_printf (name, " %s", word);
    }
  return g_string_free (name, FALSE);
}

/* ---- parameters ------------------------------------------------------------ */

static gboolean
is_set (const Reading *self, const char *name)
{
  for (guint i = 0; i < self->found->len; i += 2)
    if (strcmp (self->found->pdata[i], name) == 0)
      return TRUE;
  return FALSE;
}

/* Parameters that a bare number may mean. */
static gboolean
takes_number (const LoomParamSpec *spec)
{
  return studio_param_takes_numbers (spec) || (spec->type == LOOM_PARAM_SHAPE && spec->def == NULL);
}

/* "5x5" is for a list: in “conv 5x5” it is the kernel's size, although the number of channels comes first. */
static const LoomParamSpec *
next_for_number (const Reading *self, const char *word)
{
  const gboolean is_list = strpbrk (word, ",xX") != NULL || strstr (word, "×") != NULL;

  for (int required = 1; required >= 0; required--)
    for (const LoomParamSpec *p = self->op->params; p != NULL && p->name != NULL; p++)
      if ((p->def == NULL) == required && !p->advanced && takes_number (p) && !is_set (self, p->name)
          && !(is_list && (p->type == LOOM_PARAM_INT || p->type == LOOM_PARAM_FLOAT)))
        return p;
  return NULL;
}

/* The parameter that a word names: it itself, one that begins with it, or one of whose words begins with it. */
static const LoomParamSpec *
find_param (const LoomOp *op, const char *word)
{
  g_autofree char *folded = g_ascii_strdown (word, -1);
  const LoomParamSpec *within = NULL, *begins = NULL;

  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    {
      g_auto (GStrv) parts = g_strsplit (p->name, "_", -1);

      if (strcmp (p->name, folded) == 0)
        return p;
      if (begins == NULL && g_str_has_prefix (p->name, folded))
        begins = p;
      for (guint i = 1; parts[0] != NULL && parts[i] != NULL && within == NULL; i++)
        if (g_str_has_prefix (parts[i], folded))
          within = p;
    }
  return begins != NULL ? begins : within;
}

/* "5x5" as a file has it: "5" where one number stands for all, else "5,3". (transfer full) */
static char *
list_text (const LoomParamSpec *spec, const char *word)
{
  g_autoptr (GString) text = g_string_new (word);
  g_auto (GStrv) parts = NULL;
  guint n, same = 0;

  g_string_replace (text, "×", ",", 0);
  g_string_replace (text, "x", ",", 0);
  g_string_replace (text, "X", ",", 0);
  parts = g_strsplit (text->str, ",", -1);
  n = g_strv_length (parts);
  while (same < n && strcmp (parts[same], parts[0]) == 0)
    same++;
  return spec->length > 1 && n == (guint)spec->length && same == n ? g_strdup (parts[0]) : g_strdup (text->str);
}

/* Of a choice, its beginning is enough. (transfer full) */
static char *
choice_text (const LoomParamSpec *spec, const char *word)
{
  g_autofree char *folded = g_ascii_strdown (word, -1);

  for (const char *const *c = spec->choices; c != NULL && *c != NULL; c++)
    if (g_str_has_prefix (*c, folded))
      return g_strdup (*c);
  return g_strdup (word);
}

static const char *
switch_text (const char *word)
{
  static const char *const on[] = { "true", "yes", "on", NULL }, *const off[] = { "false", "no", "off", NULL };

  return word == NULL ? NULL : g_strv_contains (on, word) ? "true" : g_strv_contains (off, word) ? "false" : NULL;
}

/* (transfer full); NULL with a sentence. */
static char *
value_text (const LoomParamSpec *spec, const char *word, char **wrong)
{
  const gboolean is_list
      = spec->type == LOOM_PARAM_INTS || spec->type == LOOM_PARAM_FLOATS || spec->type == LOOM_PARAM_SHAPE
        || (spec->choices == NULL && spec->type == LOOM_PARAM_STRING && is_number (word) && takes_number (spec));
  g_autofree char *text = is_list                         ? list_text (spec, word)
                          : spec->choices != NULL         ? choice_text (spec, word)
                          : spec->type == LOOM_PARAM_BOOL ? g_strdup (switch_text (word))
                                                          : g_strdup (word);
  g_autofree char *why = text != NULL ? studio_param_check (spec, text) : g_strdup (_ ("Say “yes” or “no”."));

  if (why == NULL && spec->type == LOOM_PARAM_ENUM && !g_strv_contains (spec->choices, text))
    {
      g_autofree char *all = g_strjoinv (", ", (char **)spec->choices);

      why = g_strdup_printf (_ ("“%s” is not one of: %s."), word, all);
    }
  if (why == NULL)
    return g_steal_pointer (&text);
  *wrong = g_strdup_printf ("%s: %s", spec->name, why);
  return NULL;
}

static gboolean
put (Reading *self, const LoomParamSpec *spec, const char *word, char **wrong)
{
  char *text;

  if (is_set (self, spec->name))
    {
      *wrong = g_strdup_printf (_ ("%s is given twice."), spec->name);
      return FALSE;
    }
  text = value_text (spec, word, wrong);
  if (text == NULL)
    return FALSE;
  g_ptr_array_add (self->found, g_strdup (spec->name));
  g_ptr_array_add (self->found, text);
  return TRUE;
}

/* ---- words ------------------------------------------------------------------ */

static gboolean
refuse_name (const Reading *self, const char *name, char **wrong)
{
  *wrong = g_strdup_printf (_ ("%s has no parameter “%s”."), self->op->title, name);
  return FALSE;
}

static gboolean
read_number (Reading *self, const char *word, char **wrong)
{
  const LoomParamSpec *spec = next_for_number (self, word);

  if (spec != NULL)
    return put (self, spec, word, wrong);
  *wrong = g_strdup_printf (_ ("%s takes no further number: “%s”."), self->op->title, word);
  return FALSE;
}

static gboolean
read_assignment (Reading *self, const char *word, char **wrong)
{
  const char *equals = strchr (word, '=');
  g_autofree char *name = g_strndup (word, (gsize)(equals - word));
  const LoomParamSpec *spec = find_param (self->op, name);

  return spec != NULL ? put (self, spec, equals + 1, wrong) : refuse_name (self, name, wrong);
}

/* "pad 2", "bias", "no bias". */
static gboolean
read_name (Reading *self, const char *word, char **wrong)
{
  const char *after = self->words[self->next];
  const LoomParamSpec *spec = find_param (self->op, word);

  if (strcmp (word, "no") == 0 && after != NULL)
    {
      spec = find_param (self->op, after);
      self->next++;
      return spec != NULL && spec->type == LOOM_PARAM_BOOL ? put (self, spec, "no", wrong)
                                                           : refuse_name (self, after, wrong);
    }
  if (spec == NULL)
    return refuse_name (self, word, wrong);
  if (spec->type == LOOM_PARAM_BOOL && switch_text (after) == NULL)
    return put (self, spec, "yes", wrong);
  if (after == NULL)
    {
      *wrong = g_strdup_printf (_ ("%s: A value is required."), spec->name);
      return FALSE;
    }
  self->next++;
  return put (self, spec, after, wrong);
}

char **
studio_typed_layer_parse (const LoomOp *op, const char *values, char **wrong)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  Reading self = { .op = op, .found = found };
  char *word;

  *wrong = NULL;
  while (values != NULL && (word = next_word (&values)) != NULL)
    g_ptr_array_add (words, word);
  g_ptr_array_add (words, NULL);
  self.words = (char **)words->pdata;
  while (self.words[self.next] != NULL)
    {
      const char *now = self.words[self.next++];

      if (is_number (now)       ? !read_number (&self, now, wrong)
          : is_assignment (now) ? !read_assignment (&self, now, wrong)
                                : !read_name (&self, now, wrong))
        return NULL;
    }
  g_ptr_array_add (found, NULL);
  g_ptr_array_set_free_func (found, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&found), FALSE);
}

gboolean
studio_typed_layer_begins_name (const LoomParamSpec *spec, const char *text)
{
  switch (spec->type)
    {
    case LOOM_PARAM_INT:
    case LOOM_PARAM_FLOAT:
    case LOOM_PARAM_INTS:
    case LOOM_PARAM_FLOATS:
      return g_unichar_isalpha (g_utf8_get_char (text));
    case LOOM_PARAM_SHAPE: /* "B,28,28" */
    case LOOM_PARAM_BOOL:
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_DTYPE:
    case LOOM_PARAM_STRING:
    case LOOM_PARAM_PATH:
      return FALSE;
    }
  return FALSE;
}
