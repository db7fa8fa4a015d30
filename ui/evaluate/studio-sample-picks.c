/* Implements studio-sample-picks.h. */
#include "ui/evaluate/studio-sample-picks.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/evaluate/own-request.h"
#include "ui/scene/studio-format.h"
#include "ui/task/studio-task-view.h"

#define SHOWN 20 /* on a page of the widget; STUDIO_EVALUATED_PAGE_ROWS is a multiple */

struct _StudioSamplePicks
{
  GtkBox parent_instance;
  StudioEvaluation *model;
  gboolean of_cell;
  GtkWidget *title, *previous, *next, *view, *lines;
  StudioTaskPicture *picture;
  gint64 first;      /* of the whole list */
  GArray *shown;     /* StudioEvaluatedSample */
  guint page_serial; /* of the page that is shown */
  guint serial;      /* of the newest read */
  GVariant
      *texts; /* a(sss) for each of `shown`: source, target and what the net writes; NULL: it does not, or not yet */
  gint64 written; /* the step of its weights */
  guint read;     /* whose samples the picture has */
  guint asked;    /* the read whose masks or boxes are being predicted; 0: none are */
};

G_DEFINE_FINAL_TYPE (StudioSamplePicks, studio_sample_picks, GTK_TYPE_BOX)

static const StudioEvaluatedPage *
page_of (StudioSamplePicks *self)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);

  return self->of_cell ? &is->cell : &is->mistakes;
}

/* ---- texts ------------------------------------------------------------------ */

static char *
line_of (StudioSamplePicks *self, const StudioEvaluatedSample *s)
{
  g_autofree char *loss = studio_format_number (s->loss), *index = studio_format_count ((double)s->index);

  if (studio_evaluation_get (self->model)->n_classes == 0)
    {
      g_autofree char *target = studio_format_number (s->target), *predicted = studio_format_number (s->predicted);
      /* Translators: a sample: its number, true value, predicted value, and loss. */
      return g_strdup_printf (_ ("%1$s: %2$s, predicted %3$s · loss %4$s"), index, target, predicted, loss);
    }
  g_autofree char *target = studio_evaluation_class_name (self->model, (guint)MAX (s->target, 0));
  g_autofree char *predicted = studio_evaluation_class_name (self->model, (guint)MAX (s->predicted, 0));
  if (isnan (s->probability))
    /* Translators: a sample: its number, class, predicted class, and loss. */
    return g_strdup_printf (_ ("%1$s: %2$s, predicted %3$s · loss %4$s"), index, target, predicted, loss);
  return g_strdup_printf (_ ("%1$s: %2$s, predicted %3$s with %4$.0f %% · loss %5$s"), index, target, predicted,
                          100 * s->probability, loss);
}

static void
add_text (GString *lines, const char *caption, const char *text)
{
  if (text[0] == '\0')
    return;
  g_string_append (lines, "\n");
  /* Translators: the kind of a text, such as “Source”, and the text. */
  g_string_append_printf (lines, _ ("%1$s: %2$s"), caption, text);
}

/* A net that generates sequences, of any of which it has several tokens: their loss, the texts, and the worst token. */
static char *
texts_of (StudioSamplePicks *self, guint i, const StudioEvaluatedSample *s)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  g_autofree char *loss = studio_format_number (s->loss), *index = studio_format_count ((double)s->index);
  g_autofree char *step = studio_format_count ((double)self->written);
  g_autofree char *later = g_strdup_printf (_ ("Written after step %s"), step);
  g_autoptr (GString) lines = g_string_new (NULL);
  const char *source, *target, *written;

  g_variant_get_child (self->texts, i, "(&s&s&s)", &source, &target, &written);
  /* Translators: a sample: its number and loss. */
  g_string_append_printf (lines, _ ("%1$s: loss %2$s"), index, loss);
  add_text (lines, _ ("Source"), source);
  add_text (lines, _ ("Target"), target);
  add_text (lines, self->written == is->step ? _ ("Written") : later, written[0] != '\0' ? written : _ ("nothing"));
  return g_strdup (lines->str);
}

static char *
title_of (StudioSamplePicks *self)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  const StudioEvaluatedPage *page = page_of (self);
  g_autofree char *n = studio_format_count ((double)page->total);

  if (self->of_cell && is->why != NULL)
    return g_strdup (is->why);
  if (page->sample == NULL)
    return g_strdup (self->of_cell ? _ ("Choose a cell to see its samples.") : "");
  if (!self->of_cell)
    return is->n_classes > 0 ? g_strdup_printf (_ ("%s mistakes, the highest loss first"), n)
                             : g_strdup_printf (_ ("%s samples, the highest loss first"), n);
  g_autofree char *target = studio_evaluation_class_name (self->model, is->target);
  g_autofree char *predicted = studio_evaluation_class_name (self->model, is->predicted);
  return is->target == is->predicted
             ? g_strdup_printf (_ ("%1$s, predicted correctly: %2$s samples"), target, n)
             : g_strdup_printf (_ ("%1$s predicted as %2$s: %3$s samples"), target, predicted, n);
}

static void
fill_lines (StudioSamplePicks *self)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->lines)) != NULL)
    gtk_box_remove (GTK_BOX (self->lines), child);
  for (guint i = 0; i < self->shown->len; i++)
    {
      const StudioEvaluatedSample *sample = &g_array_index (self->shown, StudioEvaluatedSample, i);
      g_autofree char *text = self->texts != NULL ? texts_of (self, i, sample) : line_of (self, sample);
      GtkWidget *label = gtk_label_new (text);

      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_label_set_wrap (GTK_LABEL (label), TRUE);
      gtk_label_set_max_width_chars (GTK_LABEL (label), 36);
      gtk_widget_add_css_class (label, "numeric");
      gtk_box_append (GTK_BOX (self->lines), label);
    }
}

/* ---- pictures ----------------------------------------------------------------- */

/* The records have the probability of the predicted class alone; the rest is divided among the others, which the
 * picture does not show. */
static void
give_answers (StudioSamplePicks *self)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  const gint64 shape[] = { self->shown->len, 1, is->n_classes };
  g_autofree float *value = NULL;

  if (is->n_classes < 2 || is->n_classes > 10000)
    return;
  value = g_new (float, (gsize)shape[0] * is->n_classes);
  for (guint i = 0; i < self->shown->len; i++)
    {
      const StudioEvaluatedSample *s = &g_array_index (self->shown, StudioEvaluatedSample, i);
      const double p = isnan (s->probability) ? 1 : s->probability;

      for (guint c = 0; c < is->n_classes; c++)
        value[(gsize)i * is->n_classes + c] = (float)(c == s->predicted ? p : (1 - p) / (is->n_classes - 1) * 0.999);
    }
  studio_task_picture_take (self->picture, LOOM_ANSWER_PROBABILITIES, shape, value, (gsize)shape[0] * is->n_classes,
                            is->step, is->epoch);
}

/* Lists of texts replace the picture of sequences. */
static void
show_view (StudioSamplePicks *self)
{
  const StudioTaskData *data = self->picture->data;

  gtk_widget_set_visible (self->view, data != NULL && studio_task_picture_is_list (self->picture)
                                          && !(self->texts != NULL && data->kind == LOOM_TASK_VIEW_SEQUENCES));
}

/* ---- masks ------------------------------------------------------------------------ */

static void ask_for_masks (StudioSamplePicks *self);

/* Predictions for other samples than those that are shown now are not drawn. */
static void
masks_cb (const OwnReply *reply, const char *why, gpointer owner)
{
  StudioSamplePicks *self = owner;
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  const gboolean is_current = self->asked == self->serial;

  self->asked = 0;
  if (!is_current)
    ask_for_masks (self);
  else if (reply != NULL)
    {
      const gint64 shape[] = { reply->n, reply->n_positions, reply->n_classes };

      studio_task_picture_take (self->picture, reply->kind, shape, reply->value,
                                (gsize)(shape[0] * shape[1] * shape[2]), is->step, is->epoch);
      studio_task_view_set_picture (STUDIO_TASK_VIEW (self->view), self->picture);
    }
}

/* The records of an evaluation have one class for a sample, so masks and boxes are predicted again. */
static void
ask_for_masks (StudioSamplePicks *self)
{
  const StudioTaskData *data = self->picture->data;
  LoomBusWorker1 *proxy = studio_run_get_proxy (studio_evaluation_get_run (self->model));
  OwnSample sample = { 0 };

  /* While newer samples are being read, read_cb() asks for theirs. */
  if (data == NULL || !studio_task_picture_draws_over (self->picture) || proxy == NULL || self->asked != 0
      || self->read != self->serial)
    return;
  sample.x = data->x;
  sample.count = (gsize)data->n * data->x_size;
  sample.rank = data->rank;
  memcpy (sample.dim, data->dim, sizeof sample.dim);
  self->asked = self->read;
  own_request_all (proxy, &sample, data->n, G_OBJECT (self), masks_cb);
}

static void
read_cb (StudioTaskData *data, const char *why, gpointer owner)
{
  StudioSamplePicks *self = owner;
  const gboolean is_picture = data != NULL && data->kind == LOOM_TASK_VIEW_IMAGES;

  self->read = self->serial; /* no other is reported */
  studio_task_picture_set_data (self->picture, data);
  if (is_picture && studio_task_picture_draws_over (self->picture))
    ask_for_masks (self);
  else if (is_picture)
    give_answers (self);
  show_view (self);
  studio_task_view_set_picture (STUDIO_TASK_VIEW (self->view), self->picture);
}

typedef struct
{
  GWeakRef picks;
  guint serial;
} Writing;

static void
written_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Writing *writing = data;
  g_autoptr (StudioSamplePicks) self = g_weak_ref_get (&writing->picks);
  const guint serial = writing->serial;
  g_autoptr (GVariant) texts = NULL;
  gint64 step;

  g_weak_ref_clear (&writing->picks);
  g_free (writing);
  if (!loom_bus_worker1_call_write_samples_finish (LOOM_BUS_WORKER1 (source), &step, &texts, result, NULL)
      || self == NULL || serial != self->serial || g_variant_n_children (texts) != self->shown->len)
    return;
  self->texts = g_steal_pointer (&texts);
  self->written = step;
  fill_lines (self);
  show_view (self);
}

/* Of a net that generates sequences, a mistake is seen in what it generates. */
static void
write_texts (StudioSamplePicks *self, const gint64 *index)
{
  LoomBusWorker1 *worker = studio_run_get_proxy (studio_evaluation_get_run (self->model));
  Writing *writing;

  if (worker == NULL)
    return;
  writing = g_new0 (Writing, 1);
  g_weak_ref_init (&writing->picks, self);
  writing->serial = self->serial;
  loom_bus_worker1_call_write_samples (
      worker, loom_split_name (studio_evaluation_get (self->model)->split),
      g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, index, self->shown->len, sizeof *index), NULL, written_cb,
      writing);
}

static void
read_pictures (StudioSamplePicks *self)
{
  g_autofree char *why = NULL;
  SampleSource source;
  gint64 index[SHOWN];

  self->serial++;
  if (!sample_source_init_run (&source, studio_evaluation_get_document (self->model),
                               studio_evaluation_get_run (self->model), &why)
      || self->shown->len == 0)
    {
      gtk_widget_set_visible (self->view, FALSE);
      sample_source_clear (&source);
      return;
    }
  for (guint i = 0; i < self->shown->len; i++)
    index[i] = g_array_index (self->shown, StudioEvaluatedSample, i).index;
  source.query.split = studio_evaluation_get (self->model)->split;
  source.query.form = STUDIO_TASK_FORM_PREPARED;
  sample_source_read (&source, index, self->shown->len, G_OBJECT (self), &self->serial, read_cb);
  if (source.writes)
    write_texts (self, index);
  sample_source_clear (&source);
}

/* ---- pages --------------------------------------------------------------------- */

static void
show (StudioSamplePicks *self)
{
  const StudioEvaluatedPage *page = page_of (self);
  g_autofree char *title = title_of (self);
  const gint64 from = self->first - page->page * STUDIO_EVALUATED_PAGE_ROWS;

  g_array_set_size (self->shown, 0);
  g_clear_pointer (&self->texts, g_variant_unref);
  for (gint64 i = from; page->sample != NULL && i >= 0 && i < MIN (from + SHOWN, (gint64)page->sample->len); i++)
    g_array_append_val (self->shown, g_array_index (page->sample, StudioEvaluatedSample, i));
  gtk_label_set_text (GTK_LABEL (self->title), title);
  gtk_widget_set_sensitive (self->previous, self->first > 0);
  gtk_widget_set_sensitive (self->next, self->first + SHOWN < page->total);
  gtk_widget_set_visible (gtk_widget_get_parent (self->previous), page->total > SHOWN);
  fill_lines (self);
  read_pictures (self);
}

static void
changed_cb (StudioSamplePicks *self)
{
  const StudioEvaluatedPage *page = page_of (self);

  if (page->serial == self->page_serial)
    return;
  self->page_serial = page->serial;
  self->first = CLAMP (self->first, page->page * STUDIO_EVALUATED_PAGE_ROWS,
                       (page->page + 1) * STUDIO_EVALUATED_PAGE_ROWS - SHOWN);
  /* A new evaluation may have fewer. */
  self->first = MIN (self->first, MAX (page->total - 1, 0) / SHOWN * SHOWN);
  show (self);
}

static void
turn (StudioSamplePicks *self, int by)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  const StudioEvaluatedPage *page = page_of (self);
  const gint64 first = CLAMP (self->first + by * SHOWN, 0, MAX (page->total - 1, 0));
  const gint64 wanted = first / STUDIO_EVALUATED_PAGE_ROWS;

  self->first = first / SHOWN * SHOWN;
  if (wanted == page->page)
    show (self);
  else if (self->of_cell)
    studio_evaluation_open_cell (self->model, is->target, is->predicted, wanted);
  else
    studio_evaluation_turn_mistakes (self->model, wanted);
}

static void
previous_cb (StudioSamplePicks *self)
{
  turn (self, -1);
}

static void
next_cb (StudioSamplePicks *self)
{
  turn (self, 1);
}

/* ---- the widget ------------------------------------------------------------------ */

static void
picks_dispose (GObject *object)
{
  StudioSamplePicks *self = STUDIO_SAMPLE_PICKS (object);

  if (self->view != NULL)
    studio_task_view_set_picture (STUDIO_TASK_VIEW (self->view), NULL);
  self->view = NULL;
  g_clear_object (&self->model);
  g_clear_pointer (&self->picture, studio_task_picture_free);
  g_clear_pointer (&self->shown, g_array_unref);
  g_clear_pointer (&self->texts, g_variant_unref);
  G_OBJECT_CLASS (studio_sample_picks_parent_class)->dispose (object);
}

static void
studio_sample_picks_class_init (StudioSamplePicksClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = picks_dispose;
  g_type_ensure (STUDIO_TYPE_TASK_VIEW);
  STUDIO_TEMPLATE (klass, "studio-sample-picks.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioSamplePicks, title, previous, next, view, lines);
  STUDIO_TEMPLATE_CALLBACKS (klass, previous_cb, next_cb);
}

static void
studio_sample_picks_init (StudioSamplePicks *self)
{
  self->picture = studio_task_picture_new ();
  self->shown = g_array_new (FALSE, FALSE, sizeof (StudioEvaluatedSample));
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
studio_sample_picks_new (StudioEvaluation *model, gboolean of_cell)
{
  StudioSamplePicks *self = g_object_new (STUDIO_TYPE_SAMPLE_PICKS, NULL);

  self->model = g_object_ref (model);
  self->of_cell = of_cell;
  g_signal_connect_object (model, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  show (self);
  return GTK_WIDGET (self);
}

guint
studio_sample_picks_n (StudioSamplePicks *self)
{
  return self->shown->len;
}
