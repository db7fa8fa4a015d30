/* Dates in words, to be written in ISO 8601: "friday the twenty third of november nineteen eighty four"
 * becomes "1984-11-23". A small translation task whose attention weights are easy to read (after the task of the first
 * courses on attention; Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
 * translate", 2015): month and day come in another order, and each digit has its own word.
 *
 * Both sides share one vocabulary, so that it names the classes, too. The decoder reads y_in, which is y shifted by
 * one position, after a start token. */

#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-vocabulary.h"

#define STREAM     8
#define FIRST_YEAR 1900
#define LAST_YEAR  2099
#define ISO        10 /* characters of a date */
#define PLACES     (ISO + 1)

/* The longest are "on wednesday the twenty seventh of september in nineteen seventy seven" and similar ones. */
#define MOST_WORDS      12
#define MOST_CHARACTERS 72

static const char *const units[] = { "word", "character", NULL };

static const char *const small[20]
    = { "",    "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
        "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen" };
static const char *const tens[10]
    = { "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety" };
static const char *const ordinals[20]
    = { "",           "first",     "second",    "third",       "fourth",     "fifth",     "sixth",
        "seventh",    "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",   "thirteenth",
        "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth" };
static const char *const months[12] = { "january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december" };
static const char *const weekdays[7] = { "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday" };
static const char *const others[] = { "twentieth", "thirtieth", "hundred", "thousand", "oh", "the", "of", "on", "in" };
static const char *const digits[] = { "-", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("10000", "1000"),
  { LOOM_OPTION ("unit", ENUM, "word"), .choices = units,
    .doc = "The unit of a token of x; tokens of y are digits and hyphens." },
  { .name = NULL },
};

typedef struct
{
  gboolean by_word;
  gint64 x_length; /* sequence length of x */
  GHashTable *ids;
} Dates;

/* ---- words --------------------------------------------------------------- */

static void
append_word (GString *text, const char *word)
{
  if (*word == '\0')
    return;
  if (text->len > 0)
    g_string_append_c (text, ' ');
  g_string_append (text, word);
}

static void
append_number (GString *text, int n)
{
  if (n >= 20)
    append_word (text, tens[n / 10]);
  append_word (text, small[n < 20 ? n : n % 10]);
}

static void
append_day (GString *text, int day)
{
  if (day < 20)
    append_word (text, ordinals[day]);
  else if (day % 10 == 0)
    append_word (text, day == 20 ? "twentieth" : "thirtieth");
  else
    {
      append_word (text, tens[day / 10]);
      append_word (text, ordinals[day % 10]);
    }
}

static void
append_year (GString *text, int year)
{
  const int rest = year % 100;

  if (year >= 2000 && year < 2010)
    {
      append_word (text, "two");
      append_word (text, "thousand");
      append_number (text, rest);
      return;
    }
  append_number (text, year / 100);
  if (rest == 0)
    append_word (text, "hundred");
  else if (rest < 10)
    append_word (text, "oh");
  append_number (text, rest);
}

/* Writes the day first or the month first, with or without the weekday. */
static void
append_date (GString *text, const GDate *date, LoomSampleRandom *random)
{
  const char *month = months[g_date_get_month (date) - 1];
  const int day = g_date_get_day (date);

  if (loom_sample_below (random, 3) == 0)
    {
      if (loom_sample_below (random, 2) == 0)
        append_word (text, "on");
      append_word (text, weekdays[g_date_get_weekday (date) - 1]);
    }
  if (loom_sample_below (random, 2) == 0)
    {
      append_word (text, "the");
      append_day (text, day);
      append_word (text, "of");
      append_word (text, month);
    }
  else
    {
      append_word (text, month);
      if (loom_sample_below (random, 2) == 0)
        append_word (text, "the");
      append_day (text, day);
    }
  if (loom_sample_below (random, 3) == 0)
    append_word (text, "in");
  append_year (text, g_date_get_year (date));
}

/* ---- samples --------------------------------------------------------------- */

static gint64
id_of (const Dates *dates, const char *token)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (dates->ids, token));
}

static gint64
encode (const Dates *dates, const char *text, gint64 *x)
{
  g_auto (GStrv) words = dates->by_word ? g_strsplit (text, " ", -1) : NULL;
  gint64 n = 0;

  if (dates->by_word)
    for (; words[n] != NULL; n++)
      x[n] = id_of (dates, words[n]);
  else
    for (; text[n] != '\0'; n++)
      x[n] = id_of (dates, (char[]){ text[n], '\0' });
  g_assert (n <= dates->x_length);
  return n;
}

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Dates *dates = data;
  gint64 *x = (gint64 *)row[0]->data + i * dates->x_length, *length = (gint64 *)row[1]->data + i;
  gint64 *y_in = (gint64 *)row[2]->data + i * PLACES, *y = (gint64 *)row[3]->data + i * PLACES;
  g_autoptr (GString) text = g_string_new (NULL);
  char iso[ISO + 1];
  GDate date, first;

  g_date_set_dmy (&first, 1, G_DATE_JANUARY, FIRST_YEAR);
  g_date_set_dmy (&date, 1, G_DATE_JANUARY, LAST_YEAR + 1);
  const guint32 n_days = g_date_get_julian (&date) - g_date_get_julian (&first);
  g_date_set_julian (&date, g_date_get_julian (&first) + loom_sample_below (random, n_days));
  append_date (text, &date, random);
  g_date_strftime (iso, sizeof iso, "%Y-%m-%d", &date);

  for (gint64 t = 0; t < dates->x_length; t++)
    x[t] = LOOM_TOKEN_PADDING;
  *length = encode (dates, text->str, x);
  y_in[0] = LOOM_TOKEN_START;
  y[ISO] = LOOM_TOKEN_END;
  for (int t = 0; t < ISO; t++)
    y[t] = y_in[t + 1] = id_of (dates, (char[]){ iso[t], '\0' });
}

/* ---- the vocabulary -------------------------------------------------------- */

static void
add_all (GPtrArray *names, const char *const *words, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (*words[i] != '\0' && !g_ptr_array_find_with_equal_func (names, words[i], g_str_equal, NULL))
      g_ptr_array_add (names, g_strdup (words[i]));
}

/* Special tokens, the characters of ISO dates, then words or letters. */
static char **
list_tokens (gboolean by_word)
{
  GPtrArray *names = g_ptr_array_new ();

  add_all (names, loom_token_names, LOOM_TOKEN_UNKNOWN);
  add_all (names, digits, G_N_ELEMENTS (digits));
  if (by_word)
    {
      add_all (names, small, G_N_ELEMENTS (small));
      add_all (names, tens, G_N_ELEMENTS (tens));
      add_all (names, ordinals, G_N_ELEMENTS (ordinals));
      add_all (names, months, G_N_ELEMENTS (months));
      add_all (names, weekdays, G_N_ELEMENTS (weekdays));
      add_all (names, others, G_N_ELEMENTS (others));
    }
  else
    {
      g_ptr_array_add (names, g_strdup (" "));
      for (char c = 'a'; c <= 'z'; c++)
        g_ptr_array_add (names, g_strdup_printf ("%c", c));
    }
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gboolean by_word = g_str_equal (loom_option_string (klass, options, "unit"), units[0]);
  const gint64 from = by_word ? MOST_WORDS : MOST_CHARACTERS, to = PLACES;
  g_auto (GStrv) names = list_tokens (by_word);

  loom_info_add_port (info, "x", LOOM_I64, 1, &from);
  loom_info_add_port (info, "length", LOOM_I64, 0, NULL);
  loom_info_add_port (info, "y_in", LOOM_I64, 1, &to);
  loom_info_add_port (info, "y", LOOM_I64, 1, &to);
  loom_info_set_generated (info, klass, options);
  info->n_classes = (gint64)g_strv_length (names);
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const gboolean by_word = g_str_equal (loom_option_string (klass, options, "unit"), units[0]);
  g_autoptr (GHashTable) ids = g_hash_table_new (g_str_hash, g_str_equal);
  g_auto (GStrv) names = list_tokens (by_word);
  const Dates dates = { by_word, by_word ? MOST_WORDS : MOST_CHARACTERS, ids };
  LoomDataset *self;

  for (int i = 0; names[i] != NULL; i++)
    g_hash_table_insert (ids, names[i], GINT_TO_POINTER (i));
  self = loom_table_generate (klass, options, STREAM, make, &dates, error);
  if (self == NULL)
    return NULL;
  self->class_names = g_steal_pointer (&names);
  self->separator = by_word ? " " : "";
  self->answer_separator = "";
  self->lower_case = TRUE;
  return self;
}

const LoomDatasetClass loom_dataset_dates = {
  .name = "dates",
  .title = "Dates in words",
  .doc = "English dates in words and the same dates in ISO form: a task for an encoder and a decoder.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
  .parse = loom_sentences_parse,
};
