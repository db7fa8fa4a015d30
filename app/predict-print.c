/* Prints predictions: classes, values, areas and boxes, as lines of text or as JSON. */
#include "app/predict-private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int
compare_values (gconstpointer a, gconstpointer b, gpointer data)
{
  const double *value = data, x = value[*(const gint64 *)a], y = value[*(const gint64 *)b];
  gint64 i = *(const gint64 *)a, k = *(const gint64 *)b;

  if (isnan (x) || isnan (y))
    return isnan (x) - isnan (y);
  return x > y ? -1 : x < y ? 1 : i < k ? -1 : i > k;
}

/* The classes of one position, likeliest first. */
static gint64 *
ranking (const double *value, gint64 n)
{
  gint64 *order = g_new (gint64, MAX (n, 1));

  for (gint64 i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (int)n, sizeof *order, compare_values, (gpointer)value);
  return order;
}

/* The name of a class, of n; a character that is no letter is quoted, and a class without a name is its number. */
static char *
class_name (const char *const *names, gint64 n, gint64 i)
{
  g_autofree char *name = NULL;

  if (names == NULL || i < 0 || i >= n)
    return g_strdup_printf ("%" G_GINT64_FORMAT, i);
  name = command_printable (names[i]);
  return g_unichar_isalnum (g_utf8_get_char (names[i])) ? g_steal_pointer (&name) : g_strdup_printf ("“%s”", name);
}

static void
print_number (double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  printf ("%s", isnan (value) ? "nan" : g_ascii_formatd (buffer, sizeof buffer, "%.6g", value));
}

static void
print_percent (double fraction)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  printf ("%s %%", g_ascii_formatd (buffer, sizeof buffer, "%.1f", 100 * fraction));
}

/* The fraction of pixels with each class. (transfer full) */
static double *
areas_of (const LoomAnswer *a)
{
  double *area = g_new0 (double, a->n_classes);

  for (gint64 k = 0; k < a->n_positions; k++)
    {
      const double *value = a->value + k * a->n_classes;
      gint64 best = 0;

      for (gint64 c = 1; c < a->n_classes; c++)
        best = value[c] > value[best] ? c : best;
      area[best] += 1.0 / (double)a->n_positions;
    }
  return area;
}

/* The classes with the largest areas. */
static void
print_areas (const Predict *p, const LoomAnswer *a)
{
  const char *const *names = loom_predictor_class_names (p->predictor, a->n_classes);
  g_autofree double *area = areas_of (a);
  g_autofree gint64 *order = ranking (area, a->n_classes);

  for (gint64 i = 0; i < MIN (p->top, a->n_classes) && area[order[i]] > 0; i++)
    {
      g_autofree char *found = class_name (names, a->n_classes, order[i]), *name = command_printable (found);

      printf ("%s%s ", i > 0 ? ", " : "", name);
      print_percent (area[order[i]]);
    }
}

gboolean
predict_detects (const Predict *p, const LoomAnswer *a)
{
  const LoomDataset *dataset = loom_predictor_dataset (p->predictor, NULL);

  return dataset != NULL && loom_dataset_has_boxes (dataset) && loom_answer_are_detections (a);
}

/* Names of the classes of boxes, or NULL, and their number. */
static const char *const *
box_names (const Predict *p, gint64 *n)
{
  const char *const *names = loom_dataset_class_names (loom_predictor_dataset (p->predictor, NULL));

  *n = names != NULL ? (gint64)g_strv_length ((char **)names) : 0;
  return names;
}

/* A file that is no picture has its boxes in pixels of the net's input. */
static void
find_box (const PredictSample *s, const double *detection, double box[4])
{
  if (s->frame.width > 0)
    predict_box (&s->frame, detection, box);
  else
    memcpy (box, detection, 4 * sizeof *box);
}

static void
print_boxes (const Predict *p, const PredictSample *s, const LoomAnswer *a)
{
  gint64 n_names;
  const char *const *names = box_names (p, &n_names);
  guint n = 0;

  for (gint64 k = 0; k < loom_dim_value (a->shape.dim[0], NULL); k++)
    {
      const double *d = a->value + k * LOOM_DETECTION_NUMBERS;
      double box[4];

      if (!loom_answer_is_box (d) || d[4] < PREDICT_LEAST_SCORE)
        continue;
      g_autofree char *found = class_name (names, n_names, (gint64)d[5]), *name = command_printable (found);
      find_box (s, d, box);
      printf ("%s%s ", n++ > 0 ? ", " : "", name);
      print_percent (d[4]);
      printf (" (%.0f, %.0f, %.0f, %.0f)", box[0], box[1], box[2], box[3]);
    }
  if (n == 0)
    printf ("nothing");
}

static void
print_classes (const Predict *p, const LoomAnswer *a)
{
  const char *const *names = loom_predictor_class_names (p->predictor, a->n_classes);

  /* Prints one word for each position of the sample, or the likeliest classes of the whole sample. */
  for (gint64 k = 0; k < a->n_positions; k++)
    {
      const double *value = a->value + k * a->n_classes;
      g_autofree gint64 *order = ranking (value, a->n_classes);
      gint64 n = a->n_positions > 1 || loom_predictor_aligns (p->predictor) ? 1 : MIN (p->top, a->n_classes);
      for (gint64 i = 0; i < n; i++)
        {
          g_autofree char *found = class_name (names, a->n_classes, order[i]), *name = command_printable (found);
          printf ("%s%s", i > 0 ? ", " : k > 0 ? " " : "", name);
          if (a->n_positions > 1 || loom_predictor_aligns (p->predictor))
            continue;
          printf (" ");
          if (a->kind == LOOM_ANSWER_PROBABILITIES)
            print_percent (value[order[i]]);
          else
            print_number (value[order[i]]);
        }
    }
}

static void
print_values (const LoomAnswer *a)
{
  const gint64 n = a->n_positions * a->n_classes, shown = MIN (n, 16);

  for (gint64 i = 0; i < shown; i++)
    {
      printf ("%s", i ? " " : "");
      if (a->kind == LOOM_ANSWER_YES)
        {
          printf ("%s ", a->value[i] > 0.5 ? "yes" : "no");
          print_percent (a->value[i]);
        }
      else
        print_number (a->value[i]);
    }
  if (shown < n)
    {
      g_autofree char *shape = loom_shape_to_string (&a->shape);
      printf (" … (%s; --json prints all)", shape);
    }
}

static void
print_file (const Predict *p, const PredictSample *s)
{
  g_autofree char *file = command_printable (s->file);
  g_autofree char *where = s->row ? g_strdup_printf ("%s:%" G_GINT64_FORMAT, file, s->row) : g_strdup (file);

  printf ("%s%*s  ", where, MAX (0, p->width - (int)g_utf8_strlen (where, -1)), "");
}

void
predict_print_written (const Predict *p, const PredictSample *s, const LoomWritten *written)
{
  g_autofree char *text = loom_decoder_text (p->decoder, written), *shown = command_printable (text);
  LoomJson *json;

  if (!p->json)
    {
      print_file (p, s);
      printf ("%s%s%s%s\n", shown, s->note != NULL ? "  (" : "", s->note != NULL ? s->note : "",
              s->note != NULL ? ")" : "");
      return;
    }
  json = command_event_new ("prediction");
  loom_json_string (json, "file", s->file);
  if (s->row)
    loom_json_int (json, "row", s->row);
  loom_json_string (json, "text", text);
  loom_json_number (json, "score", written->score);
  if (s->note != NULL)
    loom_json_string (json, "note", s->note);
  command_event_print (json);
}

void
predict_print_text (const Predict *p, const PredictSample *s, const LoomAnswer *a, const char *mask)
{
  print_file (p, s);
  if (predict_detects (p, a))
    print_boxes (p, s, a);
  else if (loom_answer_is_map (a))
    print_areas (p, a);
  else if (a->kind <= LOOM_ANSWER_LOGITS)
    print_classes (p, a);
  else
    print_values (a);
  if (s->note != NULL)
    printf ("  (%s)", s->note);
  if (mask != NULL)
    {
      g_autofree char *shown = command_printable (mask);
      printf ("  %s", shown);
    }
  printf ("\n");
}

/* value: a number for each class. */
static void
add_ranking (LoomJson *json, const char *member, const char *number, const Predict *p, const LoomAnswer *a,
             const double *value)
{
  const char *const *names = loom_predictor_class_names (p->predictor, a->n_classes);
  g_autofree gint64 *order = ranking (value, a->n_classes);

  loom_json_begin_array (json, member);
  for (gint64 i = 0; i < MIN (p->top, a->n_classes); i++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_int (json, "class", order[i]);
      if (names != NULL)
        loom_json_string (json, "name", names[order[i]]);
      loom_json_number (json, number, value[order[i]]);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

static void
add_classes (LoomJson *json, const char *member, const Predict *p, const LoomAnswer *a, gint64 k)
{
  add_ranking (json, member, a->kind == LOOM_ANSWER_PROBABILITIES ? "probability" : "score", p, a,
               a->value + k * a->n_classes);
}

static void
add_areas (LoomJson *json, const Predict *p, const LoomAnswer *a)
{
  g_autofree double *area = areas_of (a);

  add_ranking (json, "areas", "fraction", p, a, area);
}

static void
add_values (LoomJson *json, const LoomAnswer *a)
{
  loom_json_begin_array (json, a->kind == LOOM_ANSWER_YES ? "probabilities" : "values");
  for (gint64 i = 0; i < a->n_positions * a->n_classes; i++)
    loom_json_number (json, NULL, a->value[i]);
  loom_json_end_array (json);
  loom_json_begin_array (json, "shape");
  for (int i = 0; i < a->shape.rank; i++)
    loom_json_int (json, NULL, loom_dim_value (a->shape.dim[i], NULL));
  loom_json_end_array (json);
}

static void
add_boxes (LoomJson *json, const Predict *p, const PredictSample *s, const LoomAnswer *a)
{
  gint64 n_names;
  const char *const *names = box_names (p, &n_names);

  loom_json_begin_array (json, "boxes");
  for (gint64 k = 0; k < loom_dim_value (a->shape.dim[0], NULL); k++)
    {
      const double *d = a->value + k * LOOM_DETECTION_NUMBERS;
      double box[4];

      if (!loom_answer_is_box (d))
        continue;
      find_box (s, d, box);
      loom_json_begin_object (json, NULL);
      loom_json_int (json, "class", (gint64)d[5]);
      if ((gint64)d[5] >= 0 && (gint64)d[5] < n_names)
        loom_json_string (json, "name", names[(gint64)d[5]]);
      loom_json_number (json, "score", d[4]);
      loom_json_begin_array (json, "box");
      for (int i = 0; i < 4; i++)
        loom_json_number (json, NULL, box[i]);
      loom_json_end_array (json);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

void
predict_print_json (const Predict *p, const PredictSample *s, const LoomAnswer *a, const char *mask)
{
  LoomJson *json = command_event_new ("prediction");

  loom_json_string (json, "file", s->file);
  if (s->row)
    loom_json_int (json, "row", s->row);
  if (predict_detects (p, a))
    add_boxes (json, p, s, a);
  else if (loom_answer_is_map (a))
    add_areas (json, p, a);
  else if (a->kind <= LOOM_ANSWER_LOGITS && a->n_positions == 1 && !loom_predictor_aligns (p->predictor))
    add_classes (json, "classes", p, a, 0);
  else if (a->kind <= LOOM_ANSWER_LOGITS)
    {
      loom_json_begin_array (json, "positions");
      for (gint64 k = 0; k < a->n_positions; k++)
        add_classes (json, NULL, p, a, k);
      loom_json_end_array (json);
    }
  else
    add_values (json, a);
  if (mask != NULL)
    loom_json_string (json, "mask", mask);
  if (s->note != NULL)
    loom_json_string (json, "note", s->note);
  command_event_print (json);
}
