/* The section of a report on predictions: accuracy by class, the confusion matrix, errors of values, attention weights.
 */
#include "app/report/report-attention.h"
#include "app/report/report-sections.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/drawing/chart-text.h"
#include "ui/charts/confusion-drawing.h"
#include "ui/charts/heat-map-labels.h"
#include "ui/charts/studio-colormap.h"
#include "ui/scene/studio-format.h"

#define MATRIX_WIDTH 560
#define MOST_LISTED  100 /* classes in the table */
#define FEW_CLASSES  16  /* whose counts can be read in the matrix */

#define MOST_CONFUSED 20 /* pairs in the table of mistakes */

static char *
percent (double fraction)
{
  g_autofree char *number = g_strdup_printf ("%.1f %%", 100 * fraction);

  return isnan (fraction) ? g_strdup ("–") : studio_format_local (number);
}

/* ---- classes ---------------------------------------------------------------------------- */

/* White space as signs, because a name may be a letter of a text. */
static char *
visible_name (const LoomEvaluation *e, guint k)
{
  g_autofree char *name = loom_evaluation_class_name (e, k);
  g_autoptr (GString) s = g_string_new (name);

  g_string_replace (s, "\n", "↵", 0);
  g_string_replace (s, "\t", "⇥", 0);
  if (g_str_equal (s->str, " "))
    g_string_assign (s, "␣");
  return g_strdup (s->str);
}

typedef struct
{
  const LoomEvaluation *e;
  char **names;
} Matrix;

static void
matrix_free (gpointer data)
{
  Matrix *self = data;

  g_strfreev (self->names);
  g_free (self);
}

static Matrix *
matrix_new (const LoomEvaluation *e)
{
  Matrix *self = g_new0 (Matrix, 1);

  self->e = e;
  self->names = g_new0 (char *, e->n_classes + 1);
  for (guint k = 0; k < e->n_classes; k++)
    self->names[k] = visible_name (e, k);
  return self;
}

static ConfusionDrawing
drawing_of (const Matrix *matrix, PangoContext *context)
{
  return (ConfusionDrawing){
    .is = matrix->e->confusion, .names = (const char *const *)matrix->names, .context = context, .scale = 1, .ink = 0.14
  };
}

static void
draw_confusion (cairo_t *cr, PangoContext *context, double width, double height, gpointer data)
{
  const ConfusionDrawing d = drawing_of (data, context);
  const ConfusionCells cells = confusion_drawing_fit (&d, width, height);

  confusion_drawing_draw (&d, &cells, cr);
}

static void
add_confusion (ReportPage *page, LoomEvaluation *e)
{
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  const double width = MIN (MATRIX_WIDTH, 160 + 36.0 * e->n_classes);
  Matrix *matrix = matrix_new (e);
  const ConfusionDrawing d = drawing_of (matrix, context);
  g_autofree char *accuracy = percent (loom_confusion_accuracy (e->confusion));
  g_autofree char *words
      = g_strdup_printf (_ ("Confusion matrix of %1$u classes, accuracy %2$s"), e->n_classes, accuracy);

  report_page_add_picture (page, words, width, ceil (confusion_drawing_height (&d, width)), draw_confusion, matrix,
                           matrix_free);
  g_object_unref (context);
}

/* Classes with samples or predictions; of many those with the lowest accuracy. */
static GArray *
listed_classes (const LoomEvaluation *e)
{
  GArray *order = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint k = 0; k < e->n_classes; k++)
    if (loom_confusion_row (e->confusion, k) > 0 || loom_confusion_column (e->confusion, k) > 0)
      g_array_append_val (order, k);
  for (guint i = 0; order->len > MOST_LISTED && i < MOST_LISTED; i++)
    for (guint k = i + 1; k < order->len; k++)
      {
        guint *a = &g_array_index (order, guint, i), *b = &g_array_index (order, guint, k), swap = *a;
        if (loom_confusion_recall (e->confusion, *b) < loom_confusion_recall (e->confusion, *a))
          {
            *a = *b;
            *b = swap;
          }
      }
  g_array_set_size (order, MIN (order->len, MOST_LISTED));
  return order;
}

static void
add_classes (ReportPage *page, const LoomEvaluation *e)
{
  ReportBlock *table = report_page_add_table (page, REPORT_TABLE, e->is_map ? 5 : 4, 1);
  g_autoptr (GArray) order = listed_classes (e);

  report_block_add (table, g_strdup (_ ("Class")));
  report_block_add (table, g_strdup (e->is_map ? _ ("Pixels") : _ ("Samples")));
  report_block_add (table, g_strdup (_ ("Accuracy")));
  report_block_add (table, g_strdup (_ ("Precision")));
  if (e->is_map)
    report_block_add (table, g_strdup (_ ("IoU")));
  for (guint i = 0; i < order->len; i++)
    {
      const guint k = g_array_index (order, guint, i);

      report_block_add (table, visible_name (e, k));
      report_block_add (table, studio_format_count ((double)loom_confusion_row (e->confusion, k)));
      report_block_add (table, percent (loom_confusion_recall (e->confusion, k)));
      report_block_add (table, percent (loom_confusion_precision (e->confusion, k)));
      if (e->is_map)
        report_block_add (table, percent (loom_confusion_iou (e->confusion, k)));
    }
  if (order->len < e->n_classes)
    report_page_add_format (page, REPORT_NOTE,
                            _ ("%1$u of %2$u classes: those with samples or predictions, of many those with the lowest "
                               "accuracy."),
                            order->len, e->n_classes);
}

typedef struct
{
  guint target, predicted;
  gint64 n;
} Confused;

static int
compare_confused (gconstpointer a, gconstpointer b)
{
  const Confused *x = a, *y = b;

  return x->n != y->n ? (x->n > y->n ? -1 : 1) : x->target != y->target ? (x->target < y->target ? -1 : 1) : 0;
}

/* Of many classes, the pairs that are confused most: their cells are small in the picture. */
static void
add_confused (ReportPage *page, const LoomEvaluation *e)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (Confused));
  ReportBlock *table;

  for (guint t = 0; t < e->n_classes; t++)
    for (guint p = 0; p < e->n_classes; p++)
      {
        const Confused pair = { t, p, loom_confusion_at (e->confusion, t, p) };

        if (t != p && pair.n > 0)
          g_array_append_val (pairs, pair);
      }
  if (e->n_classes <= FEW_CLASSES || pairs->len == 0)
    return;
  g_array_sort (pairs, compare_confused);
  report_page_add (page, REPORT_TEXT, _ ("The most frequent mistakes:"));
  table = report_page_add_table (page, REPORT_TABLE, 4, 2);
  report_block_add (table, g_strdup (_ ("Class")));
  report_block_add (table, g_strdup (_ ("Predicted")));
  report_block_add (table, g_strdup (_ ("Count")));
  report_block_add (table, g_strdup (_ ("Of the class")));
  for (guint i = 0; i < MIN (pairs->len, MOST_CONFUSED); i++)
    {
      const Confused *pair = &g_array_index (pairs, Confused, i);

      report_block_add (table, visible_name (e, pair->target));
      report_block_add (table, visible_name (e, pair->predicted));
      report_block_add (table, studio_format_count ((double)pair->n));
      report_block_add (table, percent (confusion_drawing_share (e->confusion, pair->target, pair->predicted)));
    }
}

/* ---- all predictions -------------------------------------------------------------------- */

static void
add_figures (ReportPage *page, const LoomEvaluation *e)
{
  ReportBlock *facts = report_page_add_table (page, REPORT_FACTS, 2, 2);
  g_autofree char *n = studio_format_count (e->samples->len), *all = studio_format_count ((double)e->n_split);
  g_autofree char *loss = studio_format_number (e->loss), *accuracy = percent (loom_evaluation_accuracy (e));
  g_autofree char *calibration = percent (loom_calibration_error (&e->calibration));
  g_autofree char *samples = e->is_whole
                                 ? g_strdup_printf (_ ("%1$s of the split “%2$s”"), n, loom_split_name (e->split))
                                 : g_strdup_printf (_ ("%1$s of the %2$s of the split “%3$s”, evenly spread"), n, all,
                                                    loom_split_name (e->split));

  report_block_add_fact (facts, _ ("Samples"), samples);
  if (e->positions > e->samples->len)
    {
      g_autofree char *positions = studio_format_count ((double)e->positions);
      report_block_add_fact (facts, _ ("Positions"), positions);
    }
  if (e->is_sequence)
    {
      g_autofree char *rate = percent (e->labels > 0 ? (double)e->edits / (double)e->labels : NAN);
      report_block_add_fact (facts, _ ("Label error rate (edits per label, greedy decoding)"), rate);
      report_block_add_fact (facts, _ ("Sequences without an error"), accuracy);
      return;
    }
  if (e->detection != NULL)
    {
      g_autofree char *map = percent (loom_average_precision_mean (e->detection, -1));
      g_autofree char *half = percent (loom_average_precision_mean (e->detection, 0));
      report_block_add_fact (facts, _ ("mAP@[.5:.95] (average precision, as COCO computes it)"), map);
      report_block_add_fact (facts, _ ("mAP@.5"), half);
      return;
    }
  report_block_add_fact (facts, e->n_classes > 0 ? _ ("Mean −log p of the class") : _ ("Mean squared error"), loss);
  if (e->n_classes == 0)
    {
      g_autofree char *mae = studio_format_number (loom_evaluation_mae (e));
      g_autofree char *r2 = isnan (loom_evaluation_r2 (e)) ? NULL : studio_format_number (loom_evaluation_r2 (e));
      report_block_add_fact (facts, _ ("Mean absolute error"), mae);
      report_block_add_fact (facts, _ ("R² (share of the variance that is predicted)"), r2);
      return;
    }
  report_block_add_fact (facts, e->is_map ? _ ("Accuracy of pixels") : _ ("Accuracy"), accuracy);
  if (e->is_map && e->confusion != NULL)
    {
      g_autofree char *iou = percent (loom_confusion_mean_iou (e->confusion));
      report_block_add_fact (facts, _ ("Mean IoU (intersection over union, mean over classes)"), iou);
    }
  if (e->kind != LOOM_ANSWER_LOGITS)
    report_block_add_fact (facts, _ ("Expected calibration error"), calibration);
}

void
report_add_predictions (ReportPage *page, const ReportData *data)
{
  LoomEvaluation *e = data->evaluation;

  if (e == NULL)
    {
      report_page_add_format (page, REPORT_NOTE, _ ("The predictions were not evaluated: %s"), data->why_not);
      return;
    }
  add_figures (page, e);
  if (e->confusion == NULL)
    return;
  add_confusion (page, e);
  add_confused (page, e);
  add_classes (page, e);
}

/* ---- attention -------------------------------------------------------------------------- */

#define MAP     150.0
#define LARGEST 560.0
#define CELL    7.0   /* so that cells and labels of long sequences can be told apart */
#define ACROSS  640.0 /* of a page */
#define GAP     10.0
#define HEAD    16.0

/* Heads next to each other. */
typedef struct
{
  const ReportData *data;
  const ReportAttention *attention;
  guint first, n;
  double size; /* of a map */
} Maps;

static guint
n_shown (const ReportAttention *a)
{
  return (guint)MIN (a->heads, REPORT_MOST_HEADS);
}

/* A single map, and one of a long sequence, is larger. */
static double
map_size (const ReportAttention *a)
{
  const double wanted = CELL * (double)MAX (a->rows, a->columns) / 0.75; /* labels take the rest */

  return CLAMP (wanted, n_shown (a) > 1 ? MAP : 2 * MAP, LARGEST);
}

static void
draw_head (cairo_t *cr, PangoContext *context, const Maps *maps, guint head, double size)
{
  const ReportAttention *a = maps->attention;
  const guint n_tokens = maps->data->tokens != NULL ? g_strv_length (maps->data->tokens) : 0;
  const char *const *tokens = (const char *const *)maps->data->tokens;
  const double *weight = a->weight + head * a->rows * a->columns;
  HeatMapLabels labels = { NULL };
  HeatMapCells c;
  double most = 0;

  for (gint64 i = 0; i < a->rows * a->columns; i++)
    most = MAX (most, weight[i]);
  heat_map_labels_set (&labels, n_tokens == a->rows ? tokens : NULL, n_tokens == a->columns ? tokens : NULL);
  c = heat_map_labels_fit (&labels, context, 0.8, (guint)a->rows, (guint)a->columns, size, size);
  for (gint64 r = 0; r < a->rows; r++)
    for (gint64 k = 0; k < a->columns; k++)
      {
        const guint32 rgb = studio_colormap (sqrt (MAX (weight[r * a->columns + k], 0) / MAX (most, 1e-12)));

        cairo_set_source_rgb (cr, (rgb >> 16 & 255) / 255., (rgb >> 8 & 255) / 255., (rgb & 255) / 255.);
        /* Cells overlap by half a unit, so that no lines are between them. */
        cairo_rectangle (cr, c.x + c.width * (double)k / (double)a->columns,
                         c.y + c.height * (double)r / (double)a->rows, c.width / (double)a->columns + 0.5,
                         c.height / (double)a->rows + 0.5);
        cairo_fill (cr);
      }
  cairo_set_source_rgb (cr, 0.14, 0.14, 0.14);
  heat_map_labels_draw (&labels, context, &c, (guint)a->rows, (guint)a->columns, cr);
  heat_map_labels_clear (&labels);
}

static void
draw_maps (cairo_t *cr, PangoContext *context, double width, double height, gpointer data)
{
  const Maps *maps = data;

  for (guint h = 0; h < maps->n; h++)
    {
      /* One head is mostly the mean of all. */
      g_autofree char *title
          = n_shown (maps->attention) > 1 ? g_strdup_printf (_ ("head %u"), maps->first + h + 1) : g_strdup ("");
      g_autoptr (PangoLayout) layout = chart_text_layout (context, 1, FALSE, title);

      cairo_save (cr);
      cairo_translate (cr, h * (maps->size + GAP), 0);
      cairo_set_source_rgb (cr, 0.14, 0.14, 0.14);
      chart_text_draw (cr, layout, 0, HEAD / 2, 0, maps->size);
      cairo_translate (cr, 0, HEAD);
      draw_head (cr, context, maps, maps->first + h, maps->size);
      cairo_restore (cr);
    }
}

/* Each row of maps is a picture of its own, so that pages can end between them. */
static void
add_maps (ReportPage *page, const ReportData *data, const ReportAttention *a)
{
  const double size = map_size (a);
  const guint across = (guint)CLAMP (floor (ACROSS / (size + GAP)), 1, 4);
  g_autofree char *words = g_strdup_printf (_ ("Attention weights of %s, rows are positions that read"), a->port);

  report_page_add (page, REPORT_TEXT, a->port);
  for (guint first = 0; first < n_shown (a); first += across)
    {
      Maps *maps = g_new (Maps, 1);

      *maps = (Maps){ data, a, first, MIN (across, n_shown (a) - first), size };
      report_page_add_picture (page, words, maps->n * (size + GAP), size + HEAD + GAP, draw_maps, maps, g_free);
    }
  if (a->heads > REPORT_MOST_HEADS)
    report_page_add_format (page, REPORT_NOTE, _ ("%1$d of %2$d heads."), REPORT_MOST_HEADS, (int)a->heads);
}

gboolean
report_has_attention (const ReportData *data)
{
  return data->attention->len > 0 || data->no_attention != NULL;
}

void
report_add_attention (ReportPage *page, const ReportData *data)
{
  for (guint i = 0; i < data->attention->len; i++)
    add_maps (page, data, data->attention->pdata[i]);
  if (data->attention->len > 0)
    report_page_add (page, REPORT_NOTE,
                     _ ("Weights for the first sample, from 0 (dark) to the largest of the map (light); colours follow "
                        "their square roots. A row is a position that reads, a column one that is read."));
  else
    report_page_add_format (page, REPORT_NOTE, _ ("The attention weights were not computed: %s"), data->no_attention);
}
