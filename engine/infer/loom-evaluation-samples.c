/* Implements loom-evaluation-samples.h. */
#include "engine/infer/loom-evaluation-samples.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-evaluation-history.h"
#include "engine/interop/loom-safetensors.h"

#include <math.h>
#include <string.h>

#define COLUMNS 5
#define SUFFIX  ".safetensors"

/* "test-840.safetensors" (transfer full) */
static char *
name_of (LoomSplit split, gint64 step)
{
  return g_strdup_printf ("%s-%" G_GINT64_FORMAT SUFFIX, loom_split_name (split), step);
}

/* The step of a file's name; -1: another file. */
static gint64
step_of (const char *name)
{
  const char *dash = strchr (name, '-');
  char *end;

  if (dash == NULL || !g_ascii_isdigit (dash[1]))
    return -1;
  const gint64 step = g_ascii_strtoll (dash + 1, &end, 10);
  return g_str_equal (end, SUFFIX) ? step : -1;
}

/* ---- writing -------------------------------------------------------------- */

static LoomTensor *
get_samples (const char *name, gpointer data, GError **error)
{
  const LoomEvaluation *e = data;
  const gint64 dim[] = { e->samples->len, COLUMNS };
  LoomTensor *t = loom_tensor_new (LOOM_F64, 2, dim, error);

  for (guint i = 0; t != NULL && i < e->samples->len; i++)
    {
      const LoomEvaluatedSample *s = &g_array_index (e->samples, LoomEvaluatedSample, i);
      const double row[COLUMNS] = { (double)s->index, s->target, s->predicted, s->probability, s->loss };
      memcpy ((double *)t->data + (gsize)i * COLUMNS, row, sizeof row);
    }
  return t;
}

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  const gint64 x = step_of (*(const char *const *)a), y = step_of (*(const char *const *)b);

  return x < y ? -1 : x > y;
}

/* The file just written stays, also if its step is the earliest. Files of other splits may have another size; that of
 * the newest file counts for all. */
static void
remove_oldest (LoomFolder *folder, const char *newest, gsize bytes)
{
  const guint kept = (guint)MAX (LOOM_EVALUATED_MOST_ALL_BYTES / MAX (bytes, 1), 1) - 1;
  g_auto (GStrv) names = loom_folder_names (folder, NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new ();

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (step_of (names[i]) >= 0 && !g_str_equal (names[i], newest))
      g_ptr_array_add (files, names[i]);
  g_ptr_array_sort (files, compare_steps);
  for (guint i = 0; i + kept < files->len; i++)
    loom_folder_remove (folder, files->pdata[i]);
}

gboolean
loom_evaluation_samples_add (const char *path, const LoomEvaluation *e, gint64 step, GError **error)
{
  const gsize bytes = (gsize)e->samples->len * COLUMNS * sizeof (double);
  const LoomTensorEntry entry = { "samples", LOOM_F64, 2, { e->samples->len, COLUMNS } };
  g_autofree char *name = name_of (e->split, step);

  if (e->n_classes == 0 || e->n_classes > LOOM_HISTORY_MOST_CLASSES || bytes == 0 || bytes > LOOM_EVALUATED_MOST_BYTES)
    return TRUE;
  g_autoptr (LoomFolder) run = loom_folder_open (path, error);
  g_autoptr (LoomFolder) folder = run != NULL ? loom_folder_enter (run, LOOM_RUN_EVALUATED, TRUE, error) : NULL;
  if (folder == NULL || !loom_safetensors_stream (folder, name, 1, &entry, NULL, get_samples, (gpointer)e, error))
    return FALSE;
  remove_oldest (folder, name, bytes);
  return TRUE;
}

/* ---- reading -------------------------------------------------------------- */

static gboolean
is_class (double value)
{
  return value >= 0 && value < LOOM_HISTORY_MOST_CLASSES && value == floor (value);
}

static gboolean
add_sample (LoomEvaluation *e, const double *row)
{
  const LoomEvaluatedSample s = { (gint64)CLAMP (row[0], 0, 1e15), row[1], row[2], row[3], row[4] };

  if (isnan (row[0]) || !is_class (s.target) || !is_class (s.predicted))
    return FALSE;
  g_array_append_val (e->samples, s);
  return TRUE;
}

LoomEvaluation *
loom_evaluation_samples_read (const char *path, LoomSplit split, gint64 step, GError **error)
{
  g_autofree char *name = name_of (split, step);
  g_autoptr (LoomFolder) run = loom_folder_open (path, error);
  g_autoptr (LoomFolder) folder = run != NULL ? loom_folder_enter (run, LOOM_RUN_EVALUATED, FALSE, error) : NULL;
  g_autoptr (LoomTensorFile) file = folder != NULL ? loom_safetensors_open_in (folder, name, error) : NULL;
  const int at = file != NULL ? loom_tensor_file_find (file, "samples") : -1;
  g_autoptr (LoomTensor) t = at >= 0 ? loom_tensor_file_tensor (file, (guint)at, error) : NULL;

  if (file == NULL || (at >= 0 && t == NULL))
    return NULL;
  g_autoptr (LoomEvaluation) e = loom_evaluation_new (split, LOOM_ANSWER_PROBABILITIES, LOOM_HISTORY_MOST_CLASSES);
  gboolean ok = t != NULL && t->dtype == LOOM_F64 && t->rank == 2 && t->dim[1] == COLUMNS
                && t->dim[0] <= (gint64)(LOOM_EVALUATED_MOST_BYTES / COLUMNS / sizeof (double));
  for (gint64 i = 0; ok && i < t->dim[0]; i++)
    ok = add_sample (e, (const double *)t->data + i * COLUMNS);
  if (ok)
    return g_steal_pointer (&e);
  return loom_refuse_null (error, LOOM_ERROR_DATA, "%s/%s/%s is damaged. Delete it.", path, LOOM_RUN_EVALUATED, name);
}
