/* Implements worker-evaluation-view.h. */
#include "app/worker/worker-evaluation-view.h"

#include <math.h>

/* Values of one part, rows × columns. */
typedef struct
{
  GArray *value; /* double */
  gint64 columns, total;
} Part;

static void
add (Part *part, double value)
{
  g_array_append_val (part->value, value);
}

static gboolean
summary (const LoomEvaluation *e, Part *part)
{
  part->columns = 9;
  add (part, e->split);
  add (part, (double)e->n_split);
  add (part, e->samples->len);
  add (part, e->kind);
  add (part, e->n_classes);
  add (part, e->loss);
  add (part, loom_evaluation_accuracy (e));
  add (part, loom_calibration_error (&e->calibration));
  add (part, e->confusion != NULL);
  return TRUE;
}

static gboolean
confusion (const LoomEvaluation *e, Part *part)
{
  const guint n = e->confusion != NULL ? e->confusion->n_classes : 0;

  part->columns = n;
  for (gsize i = 0; i < (gsize)n * n; i++)
    add (part, (double)e->confusion->count[i]);
  return n > 0;
}

static gboolean
calibration (const LoomEvaluation *e, Part *part)
{
  const LoomCalibration *c = &e->calibration;

  part->columns = 3;
  for (int k = 0; k < LOOM_CALIBRATION_BINS; k++)
    {
      const double n = (double)c->count[k];

      add (part, n);
      add (part, n > 0 ? c->confidence[k] / n : NAN);
      add (part, n > 0 ? (double)c->right[k] / n : NAN);
    }
  return e->n_classes > 0 && e->kind != LOOM_ANSWER_LOGITS;
}

static void
add_sample (Part *part, const LoomEvaluatedSample *s)
{
  add (part, (double)s->index);
  add (part, s->target);
  add (part, s->predicted);
  add (part, s->probability);
  add (part, s->loss);
}

static gboolean
points (const LoomEvaluation *e, Part *part)
{
  const guint all = e->samples->len, n = MIN (all, WORKER_MAX_POINTS);

  part->columns = 5;
  part->total = all;
  for (guint i = 0; i < n; i++)
    add_sample (part, &g_array_index (e->samples, LoomEvaluatedSample, (guint)((guint64)i * all / n)));
  return TRUE;
}

static const struct
{
  const char *name;
  gboolean (*fill) (const LoomEvaluation *e, Part *part);
} parts[] = {
  { "summary", summary },
  { "confusion", confusion },
  { "calibration", calibration },
  { "points", points },
};

/* ---- pages ------------------------------------------------------------- */

/* Consumes the indices. */
static void
add_page (Part *part, const LoomEvaluation *e, GArray *indices, gint64 page)
{
  const gint64 first = CLAMP (page, 0, (gint64)indices->len / WORKER_PAGE_ROWS) * WORKER_PAGE_ROWS;

  part->columns = 5;
  part->total = indices->len;
  for (gint64 i = first; i < MIN (first + WORKER_PAGE_ROWS, (gint64)indices->len); i++)
    add_sample (part, &g_array_index (e->samples, LoomEvaluatedSample, g_array_index (indices, guint, i)));
  g_array_unref (indices);
}

/* TRUE if the name is that of a page. */
static gboolean
read_page (Part *part, const LoomEvaluation *e, const char *what, gint64 page)
{
  g_auto (GStrv) word = g_strsplit (what, ":", 4);
  guint64 target, predicted;

  if (g_str_equal (what, "mistakes"))
    add_page (part, e, loom_evaluation_mistakes (e), page);
  else if (g_strv_length (word) == 3 && g_str_equal (word[0], "cell")
           && g_ascii_string_to_unsigned (word[1], 10, 0, G_MAXINT, &target, NULL)
           && g_ascii_string_to_unsigned (word[2], 10, 0, G_MAXINT, &predicted, NULL))
    add_page (part, e, loom_evaluation_cell (e, (guint)target, (guint)predicted), page);
  else
    return FALSE;
  return TRUE;
}

/* ---- answers ----------------------------------------------------------- */

static GVariant *
answer (gint64 step, gint64 total, const gint64 *dim, guint rank, const void *data, gsize bytes)
{
  return g_variant_new ("(xx@ax@ay)", step, total,
                        g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, rank, sizeof (gint64)),
                        g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, bytes, 1));
}

static GVariant *
names (const LoomEvaluation *e, gint64 step)
{
  g_autoptr (GByteArray) text = g_byte_array_new ();

  for (guint k = 0; k < MIN (e->n_classes, LOOM_CONFUSION_MOST); k++)
    {
      g_autofree char *name = loom_evaluation_class_name (e, k);
      g_byte_array_append (text, (const guint8 *)name, (guint)strlen (name) + 1);
    }
  const gint64 dim = text->len;
  return answer (step, e->n_classes, &dim, 1, text->data, text->len);
}

GVariant *
worker_evaluation_view (const LoomEvaluation *e, gint64 step, const char *what, gint64 page, GError **error)
{
  g_autoptr (GArray) value = g_array_new (FALSE, FALSE, sizeof (double));
  Part part = { value, 1, 0 };
  gboolean is_known = FALSE, is_there = FALSE;

  if (g_str_equal (what, "names"))
    return names (e, step);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (g_str_equal (what, parts[i].name))
      {
        is_known = TRUE;
        is_there = parts[i].fill (e, &part);
      }
  if (!is_known)
    is_known = is_there = read_page (&part, e, what, page);
  if (!is_there)
    {
      g_set_error (error, G_DBUS_ERROR, is_known ? G_DBUS_ERROR_FAILED : G_DBUS_ERROR_INVALID_ARGS,
                   is_known ? "The net's predictions have no “%s”." : "An evaluation has no part “%s”.", what);
      return NULL;
    }
  const gint64 dim[] = { value->len / part.columns, part.columns };
  return answer (step, part.total, dim, 2, value->data, value->len * sizeof (double));
}
