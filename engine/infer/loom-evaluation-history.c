/* Implements loom-evaluation-history.h. */
#include "engine/infer/loom-evaluation-history.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-folder.h"
#include "engine/core/loom-json.h"
#include "engine/core/loom-os.h"
#include "engine/infer/loom-run-json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#define MAX_BYTES 256000000

static void
record_free (LoomEvaluationRecord *record)
{
  if (record == NULL)
    return;
  loom_confusion_free (record->confusion);
  g_free (record);
}

/* ---- writing -------------------------------------------------------------- */

static char *
line_of (const LoomEvaluationRecord *record)
{
  LoomJson *json = loom_json_new ();
  const LoomConfusion *c = record->confusion;

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "split", loom_split_name (record->split));
  loom_json_int (json, "step", record->step);
  loom_json_int (json, "epoch", record->epoch);
  loom_json_int (json, "samples", record->samples);
  loom_json_exact (json, "loss", record->loss);
  loom_json_exact (json, "accuracy", record->accuracy);
  loom_json_exact (json, "calibration_error", record->calibration);
  if (c != NULL && c->n_classes <= LOOM_HISTORY_MOST_CLASSES)
    {
      loom_json_int (json, "classes", c->n_classes);
      loom_json_ints (json, "confusion", (int)(c->n_classes * c->n_classes), c->count);
    }
  loom_json_end_object (json);
  return loom_json_take (json);
}

static gboolean
append (const char *path, const LoomEvaluationRecord *record, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (path, error);
  const int fd = folder != NULL
                     ? loom_folder_open_file (folder, LOOM_RUN_EVALUATIONS, O_WRONLY | O_APPEND | O_CREAT, error)
                     : -1;
  g_autofree char *object = line_of (record);
  /* A line break first ends the rest of a line whose writer was killed. */
  g_autofree char *line = g_strconcat ("\n", object, "\n", NULL);
  const gsize length = strlen (line);
  gboolean ok;

  if (fd < 0)
    return FALSE;
  ok = loom_write (fd, line, length);
  if (!ok)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "Cannot write %s in %s: %s.", LOOM_RUN_EVALUATIONS, path,
                 g_strerror (errno));
  loom_close (fd);
  return ok;
}

gboolean
loom_evaluation_history_add (const char *path, const LoomEvaluationRecord *record, gboolean insert, GError **error)
{
  g_autoptr (GPtrArray) before = insert ? loom_evaluation_history_read (path, record->split) : g_ptr_array_new ();
  gboolean ok = append (path, record, error);

  for (guint i = 0; ok && i < before->len; i++)
    {
      const LoomEvaluationRecord *later = before->pdata[i];

      ok = later->step <= record->step || append (path, later, error);
    }
  return ok;
}

/* ---- reading -------------------------------------------------------------- */

static LoomConfusion *
read_counts (const LoomRunJson *json)
{
  gint64 n;
  g_autofree double *value = NULL;

  if (!json_object_has_member (json->object, "classes")
      || !loom_run_json_int (json, "classes", 1, LOOM_HISTORY_MOST_CLASSES, &n, NULL))
    return NULL;
  value = g_new (double, n *n);
  if (!loom_run_json_doubles (json, "confusion", (guint)(n * n), value, NULL))
    return NULL;
  LoomConfusion *c = loom_confusion_new ((guint)n);
  for (gint64 i = 0; i < n * n; i++)
    c->count[i] = (gint64)CLAMP (isnan (value[i]) ? 0 : value[i], 0, 1e15);
  return c;
}

/* NULL: the line is blank, damaged or of another split. */
static LoomEvaluationRecord *
read_line (const char *line, gsize length, LoomSplit split)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  LoomRunJson json = { .path = LOOM_RUN_EVALUATIONS };
  LoomEvaluationRecord r = { .split = split };
  JsonNode *root;
  const char *name;

  if (!loom_json_is_within (line, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, line, (gssize)length, NULL)
      || (root = json_parser_get_root (parser)) == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return NULL;
  json.object = json_node_get_object (root);
  if (!loom_run_json_string (&json, "split", &name, NULL) || !g_str_equal (name, loom_split_name (split))
      || !loom_run_json_int (&json, "step", 0, G_MAXINT64, &r.step, NULL)
      || !loom_run_json_int (&json, "epoch", 0, G_MAXINT64, &r.epoch, NULL)
      || !loom_run_json_int (&json, "samples", 0, G_MAXINT64, &r.samples, NULL)
      || !loom_run_json_double (&json, "loss", TRUE, &r.loss, NULL)
      || !loom_run_json_double (&json, "accuracy", TRUE, &r.accuracy, NULL)
      || !loom_run_json_double (&json, "calibration_error", TRUE, &r.calibration, NULL))
    return NULL;
  r.confusion = read_counts (&json);
  return g_memdup2 (&r, sizeof r);
}

GPtrArray *
loom_evaluation_history_read (const char *path, LoomSplit split)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)record_free);
  g_autoptr (LoomFolder) folder = loom_folder_open (path, NULL);
  g_autofree char *text = NULL;
  gsize length;

  if (folder == NULL || !loom_folder_read (folder, LOOM_RUN_EVALUATIONS, MAX_BYTES, &text, &length, NULL))
    return all;
  for (const char *line = text, *end; *line != '\0'; line = end + (*end == '\n'))
    {
      end = strchrnul (line, '\n');
      LoomEvaluationRecord *record = end > line ? read_line (line, (gsize)(end - line), split) : NULL;

      if (record == NULL)
        continue;
      while (all->len > 0 && ((LoomEvaluationRecord *)all->pdata[all->len - 1])->step >= record->step)
        g_ptr_array_set_size (all, (int)all->len - 1);
      g_ptr_array_add (all, record);
    }
  return all;
}
