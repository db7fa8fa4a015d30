/* Implements loom-deal.h. */
#include "engine/data/loom-deal.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-csv-guess.h"

const char *const loom_deal_kinds[] = { "random", "stratified", "group", "time", NULL };
const char *const loom_deal_class_kinds[] = { "random", "stratified", NULL };

LoomDealing
loom_dealing (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  LoomDealing how = { .seed = (guint64)loom_option_int (klass, options, "seed") };

  for (const LoomDatasetParam *p = klass->params; p->name != NULL; p++)
    if (g_str_equal (p->name, "val_fraction"))
      how.val = loom_option_float (klass, options, p->name);
    else if (g_str_equal (p->name, "test_fraction"))
      how.test = loom_option_float (klass, options, p->name);
    else if (g_str_equal (p->name, "split_kind"))
      while (!g_str_equal (loom_deal_kinds[how.kind], loom_option_string (klass, options, p->name)))
        how.kind++;
  return how;
}

/* ---- which split ------------------------------------------------------------------ */

/* The numbers of validation and test rows among n. */
static void
count_splits (guint32 n, const LoomDealing *how, guint32 *n_val, guint32 *n_test)
{
  *n_val = (guint32)(n * how->val + 0.5);
  *n_test = MIN ((guint32)(n * how->test + 0.5), n - *n_val);
}

/* order: rows, those of training first, then validation, then test. */
static void
mark_in_order (guint32 n, const LoomDealing *how, const guint32 *order, guint8 *split)
{
  guint32 n_val, n_test;

  count_splits (n, how, &n_val, &n_test);
  for (guint32 i = 0; i < n; i++)
    split[order[i]] = i >= n - n_test ? LOOM_SPLIT_TEST : i >= n - n_test - n_val ? LOOM_SPLIT_VAL : LOOM_SPLIT_TRAIN;
}

static guint32
count_keys (guint32 n, const guint32 *key)
{
  guint32 most = 0;

  for (guint32 i = 0; i < n; i++)
    most = MAX (most, key[i] + 1);
  return most;
}

/* Strata one after the other, each in the random order: a row that is f of the way through its stratum is f of the way
 * through the split, so cutting at fractions keeps that of each class (systematic sampling). */
static void
mark_stratified (guint32 n, const LoomDealing *how, const guint32 *order, guint8 *split)
{
  const guint32 n_keys = count_keys (n, how->key);
  g_autofree guint32 *size = g_new0 (guint32, n_keys + 1), *at = g_new0 (guint32, n_keys + 1);
  guint32 wanted[LOOM_N_SPLITS], start = 0;

  count_splits (n, how, &wanted[LOOM_SPLIT_VAL], &wanted[LOOM_SPLIT_TEST]);
  for (guint32 i = 0; i < n; i++)
    size[how->key[i]]++;
  for (guint32 k = 0; k < n_keys; start += size[k++])
    at[k] = start;
  /* Position p of the sequence belongs to validation if a multiple of n / n_val ends in it, so a run of s positions has
   * s · n_val / n of them, up to one; of the others test takes its fraction likewise. */
  for (guint32 i = 0; i < n; i++)
    {
      const guint32 row = order[i], p = at[how->key[row]]++;
      const guint64 before = (guint64)p * wanted[LOOM_SPLIT_VAL] / n,
                    after = ((guint64)p + 1) * wanted[LOOM_SPLIT_VAL] / n;
      const guint64 rest = n - wanted[LOOM_SPLIT_VAL], q = p - before;

      if (after > before)
        split[row] = LOOM_SPLIT_VAL;
      else if ((q + 1) * wanted[LOOM_SPLIT_TEST] / rest > q * wanted[LOOM_SPLIT_TEST] / rest)
        split[row] = LOOM_SPLIT_TEST;
      else
        split[row] = LOOM_SPLIT_TRAIN;
    }
}

static void
mark_groups (guint32 n, const LoomDealing *how, guint8 *split)
{
  const guint32 n_keys = count_keys (n, how->key);
  g_autofree guint32 *size = g_new0 (guint32, n_keys + 1), *order = g_new (guint32, n_keys + 1);
  g_autofree guint8 *of = g_new (guint8, n_keys + 1);
  guint32 n_val, n_test, has_val = 0, has_test = 0;

  count_splits (n, how, &n_val, &n_test);
  for (guint32 i = 0; i < n; i++)
    size[how->key[i]]++;
  loom_dataset_permutation (how->seed, 0, n_keys, order);
  for (guint32 i = 0; i < n_keys; i++)
    {
      const guint32 k = order[i];

      of[k] = has_val < n_val ? LOOM_SPLIT_VAL : has_test < n_test ? LOOM_SPLIT_TEST : LOOM_SPLIT_TRAIN;
      has_val += of[k] == LOOM_SPLIT_VAL ? size[k] : 0;
      has_test += of[k] == LOOM_SPLIT_TEST ? size[k] : 0;
    }
  for (guint32 i = 0; i < n; i++)
    split[i] = of[how->key[i]];
}

static int
compare_ranks (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint32 *key = data, x = *(const guint32 *)a, y = *(const guint32 *)b;

  return key[x] != key[y] ? (key[x] < key[y] ? -1 : 1) : x < y ? -1 : x > y;
}

void
loom_deal_rows (guint32 n, const LoomDealing *how, guint32 *rows[LOOM_N_SPLITS], gint64 n_of[LOOM_N_SPLITS])
{
  g_autofree guint32 *order = g_new (guint32, MAX (n, 1));
  g_autofree guint8 *split = g_new0 (guint8, MAX (n, 1));

  loom_dataset_permutation (how->seed, 0, n, order);
  if (how->kind == LOOM_DEAL_TIME)
    {
      for (guint32 i = 0; i < n; i++)
        order[i] = i;
      g_qsort_with_data (order, (gint)n, sizeof *order, compare_ranks, (gpointer)how->key);
    }
  if (how->kind == LOOM_DEAL_STRATIFIED)
    mark_stratified (n, how, order, split);
  else if (how->kind == LOOM_DEAL_GROUP)
    mark_groups (n, how, split);
  else
    mark_in_order (n, how, order, split);
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      n_of[s] = 0;
      rows[s] = g_new (guint32, MAX (n, 1));
    }
  for (guint32 i = 0; i < n; i++)
    rows[split[i]][n_of[split[i]]++] = i;
}

typedef struct
{
  const GPtrArray *texts;
  const double *number; /* NULL: dates, whose texts have the order of time */
} Times;

static int
compare_times (gconstpointer a, gconstpointer b, gpointer data)
{
  const Times *times = data;
  const guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
  const int order = times->number == NULL                  ? strcmp (times->texts->pdata[x], times->texts->pdata[y])
                    : times->number[x] != times->number[y] ? (times->number[x] < times->number[y] ? -1 : 1)
                                                           : 0;

  return order != 0 ? order : x < y ? -1 : x > y;
}

/* Numbers the labels that occur by their order, since labels can be as large as a file says; those below 0 are one. */
static guint32 *
number_labels (const LoomTensor *target, guint32 n)
{
  g_autofree double *label = g_new (double, MAX (n, 1));
  g_autofree guint32 *order = g_new (guint32, MAX (n, 1));
  guint32 *key = g_new0 (guint32, MAX (n, 1));

  for (guint32 i = 0; i < n; i++)
    {
      label[i] = MAX (loom_tensor_get (target, i), -1);
      order[i] = i;
    }
  g_qsort_with_data (order, (gint)n, sizeof *order, compare_times, &(Times){ NULL, label });
  for (guint32 i = 1; i < n; i++)
    key[order[i]] = key[order[i - 1]] + (label[order[i]] != label[order[i - 1]]);
  return key;
}

gboolean
loom_table_deal (LoomDataset *self, LoomTensor *const data[], const LoomTensor *target, const LoomDealing *how,
                 GError **error)
{
  const guint32 n = (guint32)data[0]->dim[0];
  g_autofree guint32 *classes = NULL;
  LoomDealing dealing = *how;
  guint32 *rows[LOOM_N_SPLITS];
  gint64 n_of[LOOM_N_SPLITS];

  if (how->kind == LOOM_DEAL_STRATIFIED && how->key == NULL)
    {
      if (target == NULL || loom_dtype_is_float (target->dtype) || target->count != n)
        {
          loom_refuse (error, LOOM_ERROR_SCHEMA,
                       "The data set %s has split_kind=\"stratified\", but its target is not a class. Set "
                       "split_kind=\"random\".",
                       self->klass->name);
          return FALSE;
        }
      classes = number_labels (target, n);
      dealing.key = classes;
    }
  loom_deal_rows (n, &dealing, rows, n_of);
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    loom_table_set_split (self, s, data, rows[s], n_of[s]);
  return TRUE;
}

/* ---- keys -------------------------------------------------------------------------- */

static guint32 *
number_texts (const GPtrArray *texts)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);
  guint32 *key = g_new (guint32, MAX (texts->len, 1));

  for (guint i = 0; i < texts->len; i++)
    {
      gpointer found;

      if (!g_hash_table_lookup_extended (numbers, texts->pdata[i], NULL, &found))
        {
          found = GUINT_TO_POINTER (g_hash_table_size (numbers));
          g_hash_table_insert (numbers, texts->pdata[i], found);
        }
      key[i] = GPOINTER_TO_UINT (found);
    }
  return key;
}

static gboolean
is_date (const char *text)
{
  return strspn (text, "0123456789") == 4 && (text[4] == '-' || text[4] == '/' || text[4] == '\0');
}

guint32 *
loom_deal_keys (const GPtrArray *texts, gboolean is_time, const char *name, GError **error)
{
  const guint n = texts->len;
  g_autofree double *number = g_new (double, MAX (n, 1));
  g_autofree guint32 *order = g_new (guint32, MAX (n, 1));
  gboolean numbers = TRUE, dates = TRUE;
  Times times = { texts, number };
  guint32 *key;

  if (!is_time)
    return number_texts (texts);
  for (guint i = 0; i < n; i++)
    {
      numbers = numbers && loom_csv_read_number (texts->pdata[i], FALSE, &number[i]) && isfinite (number[i]);
      dates = dates && is_date (texts->pdata[i]);
      order[i] = i;
      if (numbers || dates)
        continue;
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_DATA,
          "Row %u has “%s” in the column “%s”, by which time is ordered: it needs numbers in all rows, or dates "
          "such as 2024-01-31 in all rows.",
          i + 1, (const char *)texts->pdata[i], name);
      return NULL;
    }
  if (!numbers)
    times.number = NULL;
  g_qsort_with_data (order, (gint)n, sizeof *order, compare_times, &times);
  key = g_new (guint32, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    key[order[i]] = i;
  return key;
}
