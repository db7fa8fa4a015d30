/* Implements studio-own-input.h. One prediction is in flight; a change meanwhile requests another after it.
 *
 * A net with a decoder writes a sequence for the sample. For a net with more inputs than x, all begin as those of a
 * sample of the data, and each can be changed. */
#include "ui/evaluate/studio-own-input.h"

#include <glib/gi18n.h>
#include "ui/charts/studio-template.h"
#include "ui/evaluate/answer-bars.h"
#include "ui/evaluate/own-ports.h"
#include "ui/evaluate/own-request.h"
#include "ui/evaluate/own-sample.h"
#include "ui/evaluate/own-sliders.h"
#include "ui/evaluate/studio-drawing-pad.h"
#include "ui/run/studio-task.h"

#define MOST_BYTES (64 * 1024 * 1024)

struct _StudioOwnInput
{
  GtkBox parent_instance;
  StudioEvaluation *model;
  SampleSource source;  /* alone NULL: none */
  StudioTaskData *data; /* some samples, for sizes, ranges and the normalisation */
  StudioTask *task;     /* of the plane */
  GtkWidget *message, *drawing, *pad, *entry, *plane, *over, *hint, *sliders, *answer, *bars;
  StudioTaskPicture *picture;         /* of `over`: the sample with the predicted mask or boxes over it */
  GtkWidget *sample, *number, *ports; /* of nets with several inputs: the row of the sample's number, and the fields */
  GtkFileChooserNative *chooser;
  float *x; /* the sample, prepared; NULL: none */
  gsize count;
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  char *sentence;
  gboolean in_flight, wanted, is_filling, is_reading;
  gboolean is_untrained; /* the message says so */
  guint serial;          /* of the newest read of samples or a file */
};

G_DEFINE_FINAL_TYPE (StudioOwnInput, studio_own_input, GTK_TYPE_BOX)

static void predict (StudioOwnInput *self);

static void
show_message (StudioOwnInput *self, const char *text)
{
  self->is_untrained = FALSE;
  gtk_label_set_text (GTK_LABEL (self->message), text != NULL ? text : "");
  gtk_widget_set_visible (self->message, text != NULL);
}

/* The answer belongs to a sample, and to the weights of a run. */
static void
forget_answer (StudioOwnInput *self)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->bars)) != NULL)
    gtk_grid_remove (GTK_GRID (self->bars), child);
  gtk_label_set_text (GTK_LABEL (self->answer), NULL);
  g_clear_pointer (&self->sentence, g_free);
  if (self->over != NULL)
    gtk_widget_set_visible (self->over, FALSE);
}

/* In place of an answer, which would be that of another input. */
static void
show_error (StudioOwnInput *self, const char *text)
{
  show_message (self, text);
  forget_answer (self);
}

/* Nothing is predicted until there is another input. */
static void
refuse (StudioOwnInput *self, const char *why)
{
  g_clear_pointer (&self->x, g_free);
  show_error (self, why);
}

static void
show_untrained (StudioOwnInput *self)
{
  show_error (self, _ ("Nothing has been trained yet. Train the graph first."));
  self->is_untrained = TRUE;
}

/* ---- predictions ------------------------------------------------------------------ */

/* The sample as a point of the plane. */
static void
show_point (StudioOwnInput *self)
{
  if (self->x == NULL || !gtk_widget_get_visible (self->plane))
    return;
  studio_task_view_show_point (STUDIO_TASK_VIEW (self->plane), (const double[]){ self->x[0], self->x[1] },
                               self->sentence);
}

/* Draws a predicted mask, or boxes, over the sample. FALSE: the prediction is neither. */
static gboolean
show_over (StudioOwnInput *self, const OwnReply *reply)
{
  const gint64 shape[] = { reply->n, reply->n_positions, reply->n_classes };
  gboolean draws;

  if (reply->text != NULL || self->data == NULL || self->data->kind != LOOM_TASK_VIEW_IMAGES
      || self->count != self->data->x_size)
    return FALSE;
  studio_task_picture_set_data (self->picture, studio_task_data_alone (self->data, self->x));
  draws = studio_task_picture_draws_over (self->picture)
          && studio_task_picture_take (self->picture, reply->kind, shape, reply->value,
                                       (gsize)(shape[0] * shape[1] * shape[2]), reply->step, reply->epoch);
  gtk_widget_set_visible (self->over, draws);
  if (draws)
    studio_task_view_set_picture (STUDIO_TASK_VIEW (self->over), self->picture);
  return draws;
}

static void
show_reply (StudioOwnInput *self, const OwnReply *reply)
{
  if (show_over (self, reply))
    {
      g_free (self->sentence);
      self->sentence = studio_task_picture_describe_prediction (self->picture);
      gtk_label_set_text (GTK_LABEL (self->answer), self->sentence);
      return;
    }
  g_free (self->sentence);
  self->sentence = reply->text != NULL
                       ? g_strdup (reply->text)
                       : answer_bars_fill (GTK_GRID (self->bars), reply->kind, reply->n_positions, reply->n_classes,
                                           reply->value, self->data != NULL ? self->data->class_names : NULL);
  gtk_label_set_text (GTK_LABEL (self->answer), self->sentence);
  show_point (self);
}

static void
replied_cb (const OwnReply *reply, const char *why, gpointer owner)
{
  StudioOwnInput *self = owner;

  self->in_flight = FALSE;
  if (reply != NULL && self->x != NULL)
    show_reply (self, reply);
  else if (why != NULL)
    show_error (self, why);
  if (self->wanted)
    predict (self);
}

static void
predict (StudioOwnInput *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (studio_evaluation_get_run (self->model));
  g_autofree char *why = NULL;
  g_autoptr (GVariant) others = NULL;

  self->wanted = TRUE;
  if (self->in_flight || self->x == NULL || !gtk_widget_get_mapped (GTK_WIDGET (self)))
    return;
  if (proxy == NULL)
    {
      show_untrained (self);
      return;
    }
  self->wanted = FALSE;
  others = own_ports_read (GTK_GRID (self->ports), self->data, self->source.data_path, &why);
  show_message (self, why);
  if (others == NULL)
    {
      forget_answer (self);
      return;
    }
  g_variant_ref_sink (others);
  self->in_flight = TRUE;
  OwnSample sample = { .x = self->x, .count = self->count, .rank = self->rank };
  memcpy (sample.dim, self->dim, sizeof sample.dim);
  own_request (proxy, self->source.writes, &sample, others, G_OBJECT (self), replied_cb);
}

/* The weights have changed. To write, a copy of them is needed: not while they change with every step. */
static void
numbers_cb (StudioOwnInput *self)
{
  if (self->is_untrained)
    show_message (self, NULL);
  if (self->x != NULL
      && !(self->source.writes && studio_run_get_state (studio_evaluation_get_run (self->model)) == STUDIO_RUN_RUNNING))
    predict (self);
}

/* Consumes x. */
static void
set_sample (StudioOwnInput *self, float *x, gsize count, int rank, const gint64 *dim)
{
  g_free (self->x);
  self->x = x;
  self->count = count;
  self->rank = rank;
  memcpy (self->dim, dim, (gsize)rank * sizeof *dim);
  show_point (self);
  predict (self);
}

/* ---- drawings ----------------------------------------------------------------------- */

static guint
n_channels (const StudioTaskData *data)
{
  return data->rank == 3 ? (guint)data->dim[0] : 1;
}

static void
drawn_cb (StudioOwnInput *self)
{
  const StudioTaskData *data = self->data;

  if (data == NULL || data->kind != LOOM_TASK_VIEW_IMAGES)
    return;
  const guint each = data->x_size / n_channels (data);
  float *x = g_new (float, data->x_size);
  for (guint i = 0; i < data->x_size; i++)
    x[i] = studio_drawing_pad_get_pixels (STUDIO_DRAWING_PAD (self->pad))[i % each];
  studio_task_data_normalise (data, x, FALSE);
  set_sample (self, x, data->x_size, data->rank, data->dim);
}

/* The mean of the channels, as on the pad. */
static void
show_on_pad (StudioOwnInput *self, const float *sample)
{
  const StudioTaskData *data = self->data;
  const guint channels = n_channels (data), each = data->x_size / channels;
  g_autofree float *x = g_memdup2 (sample, data->x_size * sizeof *sample), *grey = g_new0 (float, each);

  studio_task_data_normalise (data, x, TRUE);
  for (guint i = 0; i < data->x_size; i++)
    grey[i % each] += CLAMP (x[i], 0, 1) / (float)channels;
  studio_drawing_pad_set_pixels (STUDIO_DRAWING_PAD (self->pad), grey);
}

static void
clear_cb (StudioOwnInput *self)
{
  studio_drawing_pad_clear (STUDIO_DRAWING_PAD (self->pad));
}

/* ---- files and texts ------------------------------------------------------------------ */

/* Why a text that is still too short for the net is not predicted; NULL: it is. A decoder takes any length. (transfer
 * full) */
static char *
dup_shortage (const StudioOwnInput *self, const OwnSample *sample)
{
  const StudioTaskData *data = self->data;

  if (data == NULL || data->kind != LOOM_TASK_VIEW_SEQUENCES || self->source.writes || sample->rank != data->rank
      || sample->rank == 0 || sample->dim[0] >= data->dim[0])
    return NULL;
  return g_strdup_printf (_ ("The text has %1$d of the %2$d tokens that the net reads. Type more."),
                          (int)sample->dim[0], (int)data->dim[0]);
}

static void
sample_read_cb (OwnSample *sample, const char *why, gpointer owner)
{
  StudioOwnInput *self = owner;

  self->is_reading = FALSE;
  if (sample == NULL)
    {
      refuse (self, why);
      return;
    }
  g_autofree char *shortage = dup_shortage (self, sample);
  if (shortage != NULL)
    {
      refuse (self, shortage);
      own_sample_free (sample);
      return;
    }
  if (self->data != NULL && self->data->kind == LOOM_TASK_VIEW_IMAGES && sample->count == self->data->x_size)
    show_on_pad (self, sample->x);
  set_sample (self, g_steal_pointer (&sample->x), sample->count, sample->rank, sample->dim);
  if (sample->note != NULL)
    show_message (self, sample->note);
  own_sample_free (sample);
}

static void
read_bytes (StudioOwnInput *self, GBytes *bytes, const char *name)
{
  if (self->source.alone == NULL)
    return;
  self->serial++;
  self->is_reading = TRUE;
  own_sample_read (&self->source, bytes, name, G_OBJECT (self), &self->serial, sample_read_cb);
}

static void
loaded_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree GWeakRef *ref = data;
  g_autoptr (StudioOwnInput) self = g_weak_ref_get (ref);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_file_load_bytes_finish (G_FILE (source), result, NULL, &error);
  g_autofree char *name = g_file_get_basename (G_FILE (source));

  g_weak_ref_clear (ref);
  if (self == NULL)
    return;
  if (bytes == NULL)
    refuse (self, error->message);
  else if (g_bytes_get_size (bytes) > MOST_BYTES)
    refuse (self, _ ("The file is larger than 64 MiB."));
  else
    read_bytes (self, bytes, name);
}

static void
load_file (StudioOwnInput *self, GFile *file)
{
  GWeakRef *ref = g_new0 (GWeakRef, 1);

  g_weak_ref_init (ref, self);
  g_file_load_bytes_async (file, NULL, loaded_cb, ref);
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, StudioOwnInput *self)
{
  if (!G_VALUE_HOLDS (value, G_TYPE_FILE))
    return FALSE;
  load_file (self, g_value_get_object (value));
  return TRUE;
}

static void
chosen_cb (GtkNativeDialog *dialog, int response, StudioOwnInput *self)
{
  g_autoptr (GFile) file
      = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog)) : NULL;

  if (file != NULL)
    load_file (self, file);
}

static void
open_cb (StudioOwnInput *self)
{
  GtkWindow *window = GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self)));

  if (self->chooser == NULL)
    {
      self->chooser
          = gtk_file_chooser_native_new (_ ("Open a Sample"), window, GTK_FILE_CHOOSER_ACTION_OPEN, NULL, NULL);
      g_signal_connect (self->chooser, "response", G_CALLBACK (chosen_cb), self);
    }
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
}

static gboolean
has_ports (StudioOwnInput *self)
{
  return self->data != NULL && self->data->n_others > 0;
}

/* The names of the tokens, as a sample of the data has them. */
static void
read_symbols (StudioOwnInput *self)
{
  const StudioTaskData *data = self->data;
  const char *line = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  g_autofree float *x = g_new0 (float, data->x_size);
  g_autofree char *why = NULL;

  if (own_numbers_read (line, "x", data->token_names, data->x_size, x, &why))
    set_sample (self, g_steal_pointer (&x), data->x_size, data->rank, data->dim);
  else
    refuse (self, why);
}

static void
typed_cb (StudioOwnInput *self)
{
  g_autofree char *line = g_strconcat (gtk_editable_get_text (GTK_EDITABLE (self->entry)), "\n", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (line, strlen (line));

  if (self->is_filling)
    return;
  if (has_ports (self) && self->data->symbols)
    read_symbols (self);
  else if (line[0] != '\n')
    read_bytes (self, bytes, _ ("the text"));
  else
    {
      self->serial++;
      self->is_reading = FALSE;
      refuse (self, NULL);
    }
}

/* ---- points ------------------------------------------------------------------------------ */

static void
slid_cb (StudioOwnInput *self)
{
  const StudioTaskData *data = self->data;

  if (!self->is_filling && data != NULL)
    set_sample (self, own_sliders_read (GTK_BOX (self->sliders), data), data->x_size, data->rank, data->dim);
}

/* Consumes x. The sliders follow, as far as they reach. */
static void
set_numbers (StudioOwnInput *self, float *x)
{
  const StudioTaskData *data = self->data;

  self->is_filling = TRUE;
  own_sliders_set (GTK_BOX (self->sliders), data, x);
  self->is_filling = FALSE;
  set_sample (self, x, data->x_size, data->rank, data->dim);
}

static void
point_moved_cb (StudioTaskView *plane, double x, double y, StudioOwnInput *self)
{
  const float value[] = { (float)x, (float)y };

  if (self->data != NULL && self->data->x_size == G_N_ELEMENTS (value))
    set_numbers (self, g_memdup2 (value, sizeof value));
}

static void
fill_sliders (StudioOwnInput *self)
{
  self->is_filling = TRUE;
  own_sliders_fill (GTK_BOX (self->sliders), self->data, G_CALLBACK (slid_cb), self);
  self->is_filling = FALSE;
  slid_cb (self);
}

/* ---- several inputs ---------------------------------------------------------------------- */

/* All inputs become those of the sample whose number is chosen. */
static void
number_cb (StudioOwnInput *self)
{
  const StudioTaskData *data = self->data;
  const guint k = (guint)gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->number)) - 1;

  if (!has_ports (self) || k >= data->n)
    return;
  float *x = g_memdup2 (data->x + (gsize)k * data->x_size, data->x_size * sizeof *x);
  self->is_filling = TRUE; /* all of them are predicted together */
  own_ports_show (GTK_GRID (self->ports), data, k);
  if (data->kind == LOOM_TASK_VIEW_IMAGES)
    show_on_pad (self, x);
  if (data->symbols)
    {
      g_autofree char *line = own_numbers_to_text (x, data->x_size, data->token_names);
      gtk_editable_set_text (GTK_EDITABLE (self->entry), line);
    }
  set_numbers (self, x);
}

static void
port_changed_cb (StudioOwnInput *self)
{
  if (!self->is_filling)
    predict (self);
}

static void
fill_ports (StudioOwnInput *self)
{
  own_ports_fill (GTK_GRID (self->ports), self->data, G_CALLBACK (port_changed_cb), self);
  gtk_widget_set_visible (self->sample, has_ports (self));
  gtk_widget_set_visible (self->ports, has_ports (self));
  if (!has_ports (self))
    return;
  gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->number), 1, self->data->n);
  number_cb (self);
}

static gboolean
is_drawn (StudioOwnInput *self)
{
  const float *pixel = studio_drawing_pad_get_pixels (STUDIO_DRAWING_PAD (self->pad));
  const guint n = self->data->x_size / n_channels (self->data);

  for (guint i = 0; i < n; i++)
    if (pixel[i] > 0)
      return TRUE;
  return FALSE;
}

static void
state_cb (StudioOwnInput *self)
{
  if (studio_run_get_state (studio_evaluation_get_run (self->model)) == STUDIO_RUN_STARTING)
    forget_answer (self);
}

/* ---- the kind of input ----------------------------------------------------------------------- */

static void
data_cb (StudioTaskData *data, const char *why, gpointer owner)
{
  StudioOwnInput *self = owner;
  const LoomTaskViewKind kind = data != NULL ? data->kind : LOOM_TASK_VIEW_NONE;

  studio_task_data_free (self->data);
  self->data = data;
  show_message (self, why);
  if (why == NULL && studio_run_get_proxy (studio_evaluation_get_run (self->model)) == NULL)
    show_untrained (self);
  gtk_widget_set_visible (self->drawing, kind == LOOM_TASK_VIEW_IMAGES);
  gtk_widget_set_visible (self->entry, kind == LOOM_TASK_VIEW_SEQUENCES);
  gtk_widget_set_visible (self->plane, kind == LOOM_TASK_VIEW_PLANE);
  gtk_widget_set_visible (self->hint, kind == LOOM_TASK_VIEW_PLANE);
  gtk_widget_set_visible (self->sliders,
                          kind == LOOM_TASK_VIEW_PLANE || kind == LOOM_TASK_VIEW_LINE || kind == LOOM_TASK_VIEW_ROWS);
  forget_answer (self);
  if (kind == LOOM_TASK_VIEW_IMAGES)
    {
      studio_drawing_pad_set_size (STUDIO_DRAWING_PAD (self->pad), (guint)data->dim[data->rank - 1],
                                   (guint)data->dim[data->rank - 2]);
      if (is_drawn (self))
        drawn_cb (self);
    }
  else if (kind == LOOM_TASK_VIEW_SEQUENCES && !has_ports (self))
    typed_cb (self);
  else if (gtk_widget_get_visible (self->sliders))
    fill_sliders (self);
  fill_ports (self);
}

static void
map_cb (StudioOwnInput *self)
{
  g_autofree char *why = NULL;

  sample_source_clear (&self->source);
  g_clear_pointer (&self->x, g_free);
  self->serial++;
  self->is_reading = FALSE;
  if (!sample_source_init_run (&self->source, studio_evaluation_get_document (self->model),
                               studio_evaluation_get_run (self->model), &why))
    data_cb (NULL, why, self);
  else
    {
      self->source.query.split = LOOM_N_SPLITS;
      self->source.query.form = STUDIO_TASK_FORM_PREPARED;
      sample_source_read (&self->source, NULL, 0, G_OBJECT (self), &self->serial, data_cb);
    }
}

/* ---- the widget -------------------------------------------------------------------------------- */

static void
own_input_dispose (GObject *object)
{
  StudioOwnInput *self = STUDIO_OWN_INPUT (object);

  if (self->chooser != NULL)
    g_signal_handlers_disconnect_by_data (self->chooser, self);
  g_clear_object (&self->chooser);
  if (self->over != NULL)
    studio_task_view_set_picture (STUDIO_TASK_VIEW (self->over), NULL);
  self->over = NULL;
  g_clear_pointer (&self->picture, studio_task_picture_free);
  g_clear_object (&self->task);
  g_clear_object (&self->model);
  sample_source_clear (&self->source);
  g_clear_pointer (&self->data, studio_task_data_free);
  g_clear_pointer (&self->x, g_free);
  g_clear_pointer (&self->sentence, g_free);
  G_OBJECT_CLASS (studio_own_input_parent_class)->dispose (object);
}

static void
studio_own_input_class_init (StudioOwnInputClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = own_input_dispose;
  g_type_ensure (STUDIO_TYPE_DRAWING_PAD);
  STUDIO_TEMPLATE (klass, "studio-own-input.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioOwnInput, message, sample, number, drawing, pad, entry, ports, answer, bars,
                            hint, sliders);
  STUDIO_TEMPLATE_CALLBACKS (klass, number_cb, drawn_cb, clear_cb, typed_cb, open_cb);
}

static void
studio_own_input_init (StudioOwnInput *self)
{
  GtkDropTarget *drop = gtk_drop_target_new (G_TYPE_FILE, GDK_ACTION_COPY);

  gtk_widget_init_template (GTK_WIDGET (self));
  g_signal_connect (drop, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drop));
  self->picture = studio_task_picture_new ();
  self->over = GTK_WIDGET (studio_task_view_new ());
  gtk_widget_set_visible (self->over, FALSE);
  gtk_box_insert_child_after (GTK_BOX (self), self->over, self->ports);
}

GtkWidget *
studio_own_input_new (StudioEvaluation *model)
{
  StudioOwnInput *self = g_object_new (STUDIO_TYPE_OWN_INPUT, NULL);

  self->model = g_object_ref (model);
  self->task = studio_task_new (studio_evaluation_get_document (model), studio_evaluation_get_run (model));
  self->plane = studio_task_new_view (self->task);
  g_signal_connect (self->plane, "point-moved", G_CALLBACK (point_moved_cb), self);
  gtk_widget_add_css_class (self->plane, "own-plane");
  gtk_box_insert_child_after (GTK_BOX (self), self->plane, self->bars);
  g_signal_connect_after (self, "map", G_CALLBACK (map_cb), NULL);
  g_signal_connect_object (studio_evaluation_get_run (model), "numbers", G_CALLBACK (numbers_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (studio_evaluation_get_run (model), "state-changed", G_CALLBACK (state_cb), self,
                           G_CONNECT_SWAPPED);
  data_cb (NULL, NULL, self);
  return GTK_WIDGET (self);
}

const char *
studio_own_input_get_answer (StudioOwnInput *self)
{
  return self->is_reading || self->in_flight || self->wanted ? NULL : self->sentence;
}
