/* Implements studio-data-view.h. */
#include "ui/evaluate/studio-data-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-template.h"
#include "ui/evaluate/sample-source.h"
#include "ui/scene/studio-format.h"
#include "ui/task/studio-task-view.h"

struct _StudioDataView
{
  GtkBox parent_instance;
  StudioEvaluation *model;
  GtkWidget *split, *form, *epoch, *view, *message, *range;
  StudioTaskPicture *picture;
  gint64 first;
  guint serial; /* of the newest read */
};

G_DEFINE_FINAL_TYPE (StudioDataView, studio_data_view, GTK_TYPE_BOX)

/* The smallest and the largest number of the samples, which a picture's colours hide. */
static void
show_range (StudioDataView *self, const StudioTaskData *data)
{
  float low = INFINITY, high = -INFINITY;

  for (gsize i = 0; i < (gsize)data->n * data->x_size; i++)
    {
      low = MIN (low, data->x[i]);
      high = MAX (high, data->x[i]);
    }
  g_autofree char *from = studio_format_number (low), *to = studio_format_number (high);
  g_autofree char *first = studio_format_count ((double)data->first + 1);
  g_autofree char *last = studio_format_count ((double)data->first + data->n);
  g_autofree char *all = studio_format_count ((double)data->n_all[data->split]);
  /* Translators: first and last sample of the page, all samples of the split, smallest and largest number. */
  g_autofree char *text
      = g_strdup_printf (_ ("Samples %1$s to %2$s of %3$s · values from %4$s to %5$s"), first, last, all, from, to);
  gtk_label_set_text (GTK_LABEL (self->range), text);
}

static void
read_cb (StudioTaskData *data, const char *why, gpointer owner)
{
  StudioDataView *self = owner;

  studio_task_picture_set_data (self->picture, data);
  gtk_widget_set_visible (self->message, why != NULL);
  gtk_label_set_text (GTK_LABEL (self->message), why != NULL ? why : "");
  gtk_widget_set_visible (self->view, data != NULL);
  gtk_widget_set_visible (self->range, data != NULL);
  if (data != NULL)
    {
      self->first = data->first;
      show_range (self, data);
    }
  studio_task_view_set_picture (STUDIO_TASK_VIEW (self->view), self->picture);
}

static void
read_samples (StudioDataView *self)
{
  g_autofree char *why = NULL;
  SampleSource source;

  self->serial++;
  if (!gtk_widget_get_mapped (GTK_WIDGET (self)))
    return;
  if (sample_source_init (&source, studio_evaluation_get_document (self->model), &why))
    {
      source.query.split = (LoomSplit)gtk_drop_down_get_selected (GTK_DROP_DOWN (self->split));
      source.query.form = (StudioTaskForm)gtk_drop_down_get_selected (GTK_DROP_DOWN (self->form));
      source.query.spread = FALSE;
      source.query.first = self->first;
      source.query.seed = source.seed;
      source.query.epoch = (guint64)gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->epoch)) - 1;
      sample_source_read (&source, NULL, 0, G_OBJECT (self), &self->serial, read_cb);
    }
  else
    read_cb (NULL, why, self);
  sample_source_clear (&source);
}

static void
choice_cb (StudioDataView *self)
{
  gtk_widget_set_sensitive (self->epoch,
                            gtk_drop_down_get_selected (GTK_DROP_DOWN (self->form)) == STUDIO_TASK_FORM_TRAINED);
  read_samples (self);
}

static void
split_cb (StudioDataView *self)
{
  self->first = 0;
  read_samples (self);
}

static void
turn (StudioDataView *self, int by)
{
  const StudioTaskData *data = self->picture->data;

  if (data == NULL)
    return;
  self->first = CLAMP (self->first + by * (gint64)data->n, 0, MAX (data->n_all[data->split] - (gint64)data->n, 0));
  read_samples (self);
}

static void
previous_cb (StudioDataView *self)
{
  turn (self, -1);
}

static void
next_cb (StudioDataView *self)
{
  turn (self, 1);
}

/* ---- the widget ------------------------------------------------------------------ */

static void
data_view_dispose (GObject *object)
{
  StudioDataView *self = STUDIO_DATA_VIEW (object);

  if (self->view != NULL)
    studio_task_view_set_picture (STUDIO_TASK_VIEW (self->view), NULL);
  self->view = NULL;
  g_clear_object (&self->model);
  g_clear_pointer (&self->picture, studio_task_picture_free);
  G_OBJECT_CLASS (studio_data_view_parent_class)->dispose (object);
}

static void
studio_data_view_class_init (StudioDataViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = data_view_dispose;
  g_type_ensure (STUDIO_TYPE_TASK_VIEW);
  STUDIO_TEMPLATE (klass, "studio-data-view.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioDataView, split, form, epoch, view, message, range);
  STUDIO_TEMPLATE_CALLBACKS (klass, split_cb, previous_cb, next_cb, choice_cb, read_samples);
}

static void
studio_data_view_init (StudioDataView *self)
{
  self->picture = studio_task_picture_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  studio_choice_set_name (GTK_DROP_DOWN (self->split), gtk_widget_get_tooltip_text (self->split));
  studio_choice_set_name (GTK_DROP_DOWN (self->form), gtk_widget_get_tooltip_text (self->form));
}

GtkWidget *
studio_data_view_new (StudioEvaluation *model)
{
  StudioDataView *self = g_object_new (STUDIO_TYPE_DATA_VIEW, NULL);

  self->model = g_object_ref (model);
  /* After the class's handler, so that the widget is mapped. */
  g_signal_connect_after (self, "map", G_CALLBACK (read_samples), NULL);
  return GTK_WIDGET (self);
}
