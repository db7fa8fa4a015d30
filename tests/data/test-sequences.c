/* Generated sequences, trees and pictures: the target follows from x alone, by an independent computation of this test.
 */
#include <string.h>
#include <time.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "tests/test-program.h"

#define N 200

/* Samples 0 … N-1 of the training split, a tensor a port. */
static GPtrArray *
read_all (const LoomDataset *dataset)
{
  g_autoptr (GError) error = NULL;
  gint64 index[N];
  GPtrArray *read;

  for (gint64 i = 0; i < N; i++)
    index[i] = i;
  read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, index, N, &error);
  g_assert_no_error (error);
  return read;
}

static LoomDataset *
open_with (const char *source, const char *const *strv)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  g_autoptr (GError) error = NULL;
  LoomDataset *dataset = loom_dataset_open (source, &o, &error);

  g_assert_no_error (error);
  return dataset;
}

static const gint64 *
row (const GPtrArray *read, guint port, gint64 i)
{
  const LoomTensor *t = read->pdata[port];

  g_assert_cmpint (t->dtype, ==, LOOM_I64);
  return (const gint64 *)t->data + i * (t->count / t->dim[0]);
}

/* ---- copy ---------------------------------------------------------------- */

static void
test_copy (void)
{
  static const char *const strv[] = { "length", "4", "delay", "3", "values", "5", NULL };
  g_autoptr (LoomDataset) dataset = open_with ("copy", strv);
  g_autoptr (GPtrArray) read = read_all (dataset);
  gint64 seen[7] = { 0 };

  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 7);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[2], ==, "a");
  g_assert_cmpint (((LoomTensor *)read->pdata[0])->dim[1], ==, 11);
  for (gint64 i = 0; i < N; i++)
    {
      const gint64 *x = row (read, 0, i), *y = row (read, 1, i);

      for (int t = 0; t < 11; t++)
        {
          g_assert_true (t < 4 ? x[t] >= 2 && x[t] < 7 : x[t] == (t == 7));
          g_assert_cmpint (y[t], ==, t < 7 ? -100 : x[t - 7]);
          seen[x[t]]++;
        }
    }
  /* 160 of each symbol are expected; 5 standard deviations are 57. */
  for (int k = 2; k < 7; k++)
    g_assert_cmpint (ABS (seen[k] - 160), <, 57);
}

static void
test_reverse (void)
{
  static const char *const after[] = { "length", "4", "task", "reverse", NULL };
  static const char *const aligned[] = { "length", "4", "task", "reverse", "answer", "beside", "values", "30", NULL };
  g_autoptr (LoomDataset) a = open_with ("copy", after), b = open_with ("copy", aligned);
  g_autoptr (GPtrArray) of_a = read_all (a), of_b = read_all (b);

  g_assert_cmpstr (loom_dataset_class_names (b)[2], ==, "1");
  g_assert_cmpint (((LoomTensor *)of_b->pdata[1])->dim[1], ==, 4);
  for (gint64 i = 0; i < N; i++)
    for (int t = 0; t < 4; t++)
      {
        g_assert_cmpint (row (of_a, 1, i)[4 + t], ==, row (of_a, 0, i)[3 - t]);
        g_assert_cmpint (row (of_b, 1, i)[t], ==, row (of_b, 0, i)[3 - t]);
      }
}

/* ---- adding --------------------------------------------------------------- */

static void
test_adding (void)
{
  static const char *const strv[] = { "length", "7", NULL };
  g_autoptr (LoomDataset) dataset = open_with ("adding", strv);
  g_autoptr (GPtrArray) read = read_all (dataset);
  const float *x = ((LoomTensor *)read->pdata[0])->data, *y = ((LoomTensor *)read->pdata[1])->data;
  double error = 0;

  for (gint64 i = 0; i < N; i++)
    {
      double sum = 0;
      int n[2] = { 0 };

      for (int t = 0; t < 7; t++)
        {
          const float *step = x + (i * 7 + t) * 2;

          g_assert_true (step[0] >= 0 && step[0] < 1 && (step[1] == 0 || step[1] == 1));
          sum += step[0] * step[1];
          n[t >= 3] += step[1] == 1;
        }
      g_assert_cmpint (n[0], ==, 1);
      g_assert_cmpint (n[1], ==, 1);
      g_assert_cmpfloat_with_epsilon (y[i], sum, 1e-6);
      error += (y[i] - 1) * (y[i] - 1) / N;
    }
  /* The variance of the sum of two uniform numbers is 1/6. */
  g_assert_cmpfloat_with_epsilon (error, 1.0 / 6, 0.05);
}

/* ---- dates ---------------------------------------------------------------- */

static int
find (const char *const *list, const char *word)
{
  for (int i = 0; list[i] != NULL; i++)
    if (strcmp (list[i], word) == 0)
      return i;
  return -1;
}

/* Reads a number below a hundred at *w and advances *w past it; -1: none. */
static int
read_number (char ***w)
{
  static const char *const ones[] = { "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", NULL };
  static const char *const more[] = { "ten",     "eleven",    "twelve",   "thirteen", "fourteen", "fifteen",
                                      "sixteen", "seventeen", "eighteen", "nineteen", NULL };
  static const char *const decades[]
      = { "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", NULL };
  int n = 0, k;

  if (**w == NULL)
    return -1;
  if ((k = find (more, **w)) >= 0)
    {
      ++*w;
      return 10 + k;
    }
  if ((k = find (decades, **w)) >= 0)
    {
      ++*w;
      n = 20 + 10 * k;
    }
  if (**w != NULL && (k = find (ones, **w)) >= 0)
    {
      ++*w;
      n += 1 + k;
    }
  return n > 0 ? n : -1;
}

static int
read_year (char ***w)
{
  const int first = read_number (w);

  if (first == 2)
    {
      int rest;

      g_assert_cmpstr (*(*w)++, ==, "thousand");
      rest = read_number (w);
      return 2000 + MAX (rest, 0);
    }
  g_assert_true (first == 19 || first == 20);
  if (strcmp (**w, "hundred") == 0)
    {
      ++*w;
      return first * 100;
    }
  if (strcmp (**w, "oh") == 0)
    {
      ++*w;
      return first * 100 + read_number (w);
    }
  return first * 100 + read_number (w);
}

static int
read_day (char ***w)
{
  static const char *const days[]
      = { "first",     "second",    "third",       "fourth",     "fifth",      "sixth",      "seventh",
          "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",    "thirteenth", "fourteenth",
          "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth",  NULL };

  if (strcmp (**w, "thirtieth") == 0)
    {
      ++*w;
      return 30;
    }
  if (strcmp (**w, "twenty") == 0 || strcmp (**w, "thirty") == 0)
    {
      const int decade = strcmp (**w, "twenty") == 0 ? 20 : 30;

      *w += 2;
      return decade + 1 + find (days, (*w)[-1]);
    }
  ++*w;
  return 1 + find (days, (*w)[-1]);
}

/* The date of a text, in ISO form; separators are skipped, a weekday must be right. */
static char *
iso_of (char **w)
{
  static const char *const months[] = { "january", "february",  "march",   "april",    "may",      "june", "july",
                                        "august",  "september", "october", "november", "december", NULL };
  static const char *const fillers[] = { "the", "of", "on", "in", NULL };
  static const char *const week[]
      = { "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", NULL };
  int month = -1, day = -1, year = -1, weekday = -1;

  while (*w != NULL)
    if (find (fillers, *w) >= 0)
      w++;
    else if (find (week, *w) >= 0)
      weekday = find (week, *w++);
    else if (month < 0 && find (months, *w) >= 0)
      month = find (months, *w++);
    else if (day < 0)
      day = read_day (&w);
    else
      year = read_year (&w);
  g_assert_true (month >= 0 && day > 0 && year > 0);
  if (weekday >= 0)
    {
      struct tm tm = { .tm_year = year - 1900, .tm_mon = month, .tm_mday = day };
      const time_t seconds = timegm (&tm);

      g_assert_cmpint (gmtime (&seconds)->tm_wday, ==, weekday);
    }
  return g_strdup_printf ("%04d-%02d-%02d", year, month + 1, day);
}

/* The names of n tokens in a row. */
static char *
text_of (const LoomDataset *dataset, const gint64 *token, gint64 n)
{
  GString *text = g_string_new (NULL);

  for (gint64 t = 0; t < n; t++)
    {
      g_assert_true (token[t] >= 0 && token[t] < loom_dataset_info (dataset)->n_classes);
      g_string_append_printf (text, "%s%s", t > 0 ? loom_dataset_separator (dataset) : "",
                              loom_dataset_class_names (dataset)[token[t]]);
    }
  return g_string_free (text, FALSE);
}

static void
test_dates (void)
{
  static const char *const of_characters[] = { "unit", "character", NULL };
  g_autoptr (LoomDataset) words = open_with ("dates", NULL), characters = open_with ("dates", of_characters);
  g_autoptr (GPtrArray) by_word = read_all (words), by_character = read_all (characters);
  guint n_weekdays = 0;

  g_assert_cmpstr (loom_dataset_class_names (words)[0], ==, "<pad>");
  for (gint64 i = 0; i < N; i++)
    {
      const gint64 *x = row (by_word, 0, i), *y_in = row (by_word, 2, i), *y = row (by_word, 3, i);
      const gint64 length = *row (by_word, 1, i);
      g_autofree char *text = text_of (words, x, length), *iso = NULL, *answer = NULL, *in = NULL, *letters = NULL;
      g_auto (GStrv) list = g_strsplit (text, " ", -1);

      iso = iso_of (list);
      answer = g_strconcat (iso, "<end>", NULL);
      in = g_strconcat ("<start>", iso, NULL);
      for (gint64 t = 0; t < 11; t++)
        {
          g_assert_true (g_str_has_prefix (in, loom_dataset_class_names (words)[y_in[t]]));
          memmove (in, in + strlen (loom_dataset_class_names (words)[y_in[t]]),
                   strlen (in + strlen (loom_dataset_class_names (words)[y_in[t]])) + 1);
          g_assert_true (g_str_has_prefix (answer, loom_dataset_class_names (words)[y[t]]));
          memmove (answer, answer + strlen (loom_dataset_class_names (words)[y[t]]),
                   strlen (answer + strlen (loom_dataset_class_names (words)[y[t]])) + 1);
        }
      g_assert_cmpstr (in, ==, "");
      g_assert_cmpstr (answer, ==, "");
      for (gint64 t = length; t < ((LoomTensor *)by_word->pdata[0])->dim[1]; t++)
        g_assert_cmpint (x[t], ==, 0);
      n_weekdays += strstr (text, "day ") != NULL;
      /* The same dates as letters. */
      letters = text_of (characters, row (by_character, 0, i), *row (by_character, 1, i));
      g_assert_cmpstr (letters, ==, text);
    }
  g_assert_cmpuint (n_weekdays, >, N / 6);
  g_assert_cmpuint (n_weekdays, <, N / 2);
}

/* ---- trees ---------------------------------------------------------------- */

/* The value of a tree by its parents, from the first node to the last. */
static double
value_of (const LoomDataset *dataset, const gint64 *token, const gint64 *parent, gint64 n)
{
  g_autofree double *value = g_new0 (double, n);
  g_autofree gint64 *left = g_new (gint64, n);

  for (gint64 i = 0; i < n; i++)
    left[i] = -1;
  for (gint64 i = 0; i < n; i++)
    {
      const char *name = loom_dataset_token_names (dataset)[token[i]];
      gint64 children[2], n_children = 0;

      for (gint64 k = 0; k < n; k++)
        if (parent[k] == i)
          {
            g_assert_cmpint (k, <, i);
            g_assert_cmpint (n_children, <, 2);
            children[n_children++] = k;
          }
      g_assert_true (i == n - 1 ? parent[i] == -1 : parent[i] > i && parent[i] < n);
      if (g_ascii_isdigit (*name))
        {
          g_assert_cmpint (n_children, ==, 0);
          value[i] = atoi (name);
          continue;
        }
      g_assert_cmpint (n_children, ==, 2);
      const double a = value[children[0]], b = value[children[1]];
      value[i] = strcmp (name, "+") == 0 ? a + b : strcmp (name, "−") == 0 ? a - b : a * b;
    }
  return value[n - 1];
}

static void
test_trees (void)
{
  static const char *const strv[] = { "leaves", "5", "modulus", "7", NULL };
  static const char *const floats[] = { "leaves", "5", "modulus", "7", "target_type", "float", NULL };
  g_autoptr (LoomDataset) dataset = open_with ("arithmetic-trees", strv);
  g_autoptr (LoomDataset) numbers = open_with ("arithmetic-trees", floats);
  g_autoptr (GPtrArray) read = read_all (dataset), of_numbers = read_all (numbers);
  guint n_of_size[10] = { 0 };

  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 7);
  g_assert_cmpuint (g_strv_length ((char **)loom_dataset_class_names (dataset)), ==, 7);
  for (gint64 i = 0; i < N; i++)
    {
      const gint64 *token = row (read, 0, i), *parent = row (read, 1, i), n = *row (read, 2, i);
      const double value = value_of (dataset, token, parent, n);

      g_assert_true (n % 2 == 1 && n <= 9);
      n_of_size[n]++;
      g_assert_cmpint (*row (read, 3, i), ==, ((gint64)value % 7 + 7) % 7);
      g_assert_cmpfloat (((const float *)((LoomTensor *)of_numbers->pdata[3])->data)[i], ==, (float)value);
      for (gint64 k = n; k < 9; k++)
        {
          g_assert_cmpstr (loom_dataset_token_names (dataset)[token[k]], ==, "<pad>");
          g_assert_cmpint (parent[k], ==, -1);
        }
    }
  for (int n = 1; n <= 9; n += 2)
    g_assert_cmpuint (n_of_size[n], >, 15);
}

/* ---- shapes ---------------------------------------------------------------- */

/* The contents of one half of a picture. */
typedef struct
{
  double area, sum[3]; /* pixels that a shape covers, and their colours */
  int left, right, top, bottom;
} Seen;

static Seen
look (const float *x, int size, int x0, int x1, int y0, int y1)
{
  Seen seen = { 0, { 0 }, size, -1, size, -1 };

  for (int line = y0; line < y1; line++)
    for (int column = x0; column < x1; column++)
      {
        const float *p = x + line * size + column;
        const float most = MAX (p[0], MAX (p[size * size], p[2 * size * size]));

        if (most <= 0.4f)
          continue;
        seen.area++;
        for (int c = 0; c < 3; c++)
          seen.sum[c] += p[c * size * size];
        seen.left = MIN (seen.left, column);
        seen.right = MAX (seen.right, column);
        seen.top = MIN (seen.top, line);
        seen.bottom = MAX (seen.bottom, line);
      }
  return seen;
}

static void
assert_seen (const Seen *seen, int size, char **words)
{
  const double width = seen->right - seen->left + 1, height = seen->bottom - seen->top + 1;
  const double share = seen->area / (width * height), red = seen->sum[0] / seen->area,
               green = seen->sum[1] / seen->area, blue = seen->sum[2] / seen->area;

  g_assert_cmpstr (words[0], ==, "a");
  g_assert_cmpstr (words[1], ==, height > 0.3 * size ? "large" : "small");
  g_assert_cmpstr (words[2], ==, blue > 0.5 ? "blue" : red < 0.5 ? "green" : green > 0.5 ? "yellow" : "red");
  g_assert_cmpstr (words[3], ==, share > 0.92 ? "square" : share > 0.65 ? "circle" : "triangle");
}

static void
test_shapes (void)
{
  static const char *const strv[] = { "size", "64", "n", "200", NULL };
  static const char *const alone[] = { "size", "16", "n", "200", "shapes", "1", "noise", "0.1", NULL };
  enum
  {
    SIZE = 64
  };
  g_autoptr (LoomDataset) dataset = open_with ("shapes", strv), single = open_with ("shapes", alone);
  g_autoptr (GPtrArray) read = read_all (dataset), of_single = read_all (single);
  guint n_two = 0;

  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 18);
  for (gint64 i = 0; i < N; i++)
    {
      const float *x = (const float *)((LoomTensor *)read->pdata[0])->data + i * 3 * SIZE * SIZE;
      const gint64 *y_in = row (read, 1, i), *y = row (read, 2, i);
      gint64 n = 0;

      while (y[n] > 2)
        n++;
      g_assert_cmpint (y[n], ==, 2);
      g_assert_cmpint (y_in[0], ==, 1);
      for (gint64 t = 1; t < 11; t++)
        {
          g_assert_cmpint (y_in[t], ==, t <= n ? y[t - 1] : 0);
          g_assert_true (t <= n || y[t] == -100);
        }
      g_autofree char *text = text_of (dataset, y, n);
      g_auto (GStrv) words = g_strsplit (text, " ", -1);
      if (n == 4)
        {
          const Seen seen = look (x, SIZE, 0, SIZE, 0, SIZE);

          assert_seen (&seen, SIZE, words);
          continue;
        }
      const gboolean lies = strcmp (words[4], "above") == 0 || strcmp (words[4], "below") == 0;
      const gboolean before = strcmp (words[4], "above") == 0 || strcmp (words[4], "left") == 0;
      Seen half[2];

      g_assert_cmpint (n, ==, lies ? 9 : 10);
      if (!lies)
        g_assert_cmpstr (words[5], ==, "of");
      for (int k = 0; k < 2; k++)
        half[k] = look (x, SIZE, lies ? 0 : k * SIZE / 2, lies ? SIZE : (k + 1) * SIZE / 2, lies ? k * SIZE / 2 : 0,
                        lies ? (k + 1) * SIZE / 2 : SIZE);
      assert_seen (&half[before ? 0 : 1], SIZE, words);
      assert_seen (&half[before ? 1 : 0], SIZE, words + (lies ? 5 : 6));
      n_two++;
      g_assert_cmpint (row (of_single, 2, i)[4], ==, 2);
    }
  g_assert_cmpuint (n_two, >, 65);
  g_assert_cmpuint (n_two, <, 135);
}

/* A picture of one shape has its colour and kind as class, with a corresponding name. */
static void
test_shape_classes (void)
{
  static const char *const strv[] = { "size", "64", "n", "200", "shapes", "1", "target_type", "class", NULL };
  enum
  {
    SIZE = 64,
    COUNT = 3 * SIZE * SIZE
  };
  g_autoptr (LoomDataset) dataset = open_with ("shapes", strv);
  g_autoptr (GPtrArray) read = read_all (dataset);
  guint n_of[12] = { 0 };

  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 12);
  g_assert_cmpuint (read->len, ==, 2);
  for (gint64 i = 0; i < N; i++)
    {
      const gint64 y = ((const gint64 *)((LoomTensor *)read->pdata[1])->data)[i];
      const float *x = (const float *)((LoomTensor *)read->pdata[0])->data + i * COUNT;
      g_autofree char *text = g_strdup_printf ("a ? %s", loom_dataset_class_names (dataset)[y]);
      g_auto (GStrv) words = g_strsplit (text, " ", -1);

      const Seen seen = look (x, SIZE, 0, SIZE, 0, SIZE);
      g_free (words[1]);
      words[1] = g_strdup (seen.bottom - seen.top + 1 > 0.3 * SIZE ? "large" : "small");
      assert_seen (&seen, SIZE, words);
      n_of[y]++;
    }
  for (guint y = 0; y < G_N_ELEMENTS (n_of); y++)
    g_assert_cmpuint (n_of[y], >, 0);
}

/* ---- all ------------------------------------------------------------------ */

/* A sample depends on its index and the seed, not on the number of samples. */
static void
test_places (void)
{
  static const char *const sources[] = { "copy", "adding", "dates", "arithmetic-trees", "shapes" };
  static const char *const few[] = { "n", "5", NULL };
  const gint64 fourth = 4;

  for (gsize s = 0; s < G_N_ELEMENTS (sources); s++)
    {
      g_autoptr (LoomDataset) all = open_with (sources[s], NULL), some = open_with (sources[s], few);
      g_autoptr (GPtrArray) a = loom_dataset_read_new (all, LOOM_SPLIT_TRAIN, &fourth, 1, NULL);
      g_autoptr (GPtrArray) b = loom_dataset_read_new (some, LOOM_SPLIT_TRAIN, &fourth, 1, NULL);

      g_assert_cmpint (loom_dataset_count (some, LOOM_SPLIT_TRAIN), ==, 5);
      for (guint p = 0; p < a->len; p++)
        g_assert_true (loom_tensor_equal_bits (a->pdata[p], b->pdata[p]));
    }
}

static void
test_refused (void)
{
  static const struct
  {
    const char *source, *strv[7], *message;
  } cases[] = {
    { "copy", { "task", "turn", NULL }, "The data set copy has task=\"turn\", which must be one of: copy, reverse." },
    { "adding", { "length", "1", NULL }, "The data set adding has length=\"1\", which must be from 2 to 100000." },
    { "arithmetic-trees",
      { "operators", "+/", NULL },
      "The data set arithmetic-trees has operators=\"+/\"; name one or more of +, - and *, each once." },
    { "arithmetic-trees",
      { "operators", "++", NULL },
      "The data set arithmetic-trees has operators=\"++\"; name one or more of +, - and *, each once." },
    { "arithmetic-trees",
      { "leaves", "64", "target_type", "float", NULL },
      "The data set arithmetic-trees has target_type=\"float\", but products of this number of leaves are too large "
      "for it; "
      "use fewer leaves or a smaller modulus." },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = cases[i].strv };
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_dataset_open (cases[i].source, &o, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
      g_assert_cmpstr (error->message, ==, cases[i].message);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sequences/copy", test_copy);
  g_test_add_func ("/sequences/reverse", test_reverse);
  g_test_add_func ("/sequences/adding", test_adding);
  g_test_add_func ("/sequences/dates", test_dates);
  g_test_add_func ("/sequences/trees", test_trees);
  g_test_add_func ("/sequences/shapes", test_shapes);
  g_test_add_func ("/sequences/shape-classes", test_shape_classes);
  g_test_add_func ("/sequences/places", test_places);
  g_test_add_func ("/sequences/refused", test_refused);
  return g_test_run ();
}
