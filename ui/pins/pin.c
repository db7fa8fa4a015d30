/* One pin; see the header.
 *
 * A pin sends its next request after the last reply has arrived and a tenth of a second has passed, so a slow worker or
 * a large tensor lowers the rate instead of filling a queue; only a key does not wait. A hidden pin sends none. When
 * the run pauses, each pin sends one more request, so that its value belongs to the step that the panel shows. Values
 * are from before the update of their step, as its loss is. */
#include "ui/pins/pin.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/pins/pin-axes.h"
#include "ui/pins/pin-frame.h"
#include "ui/pins/pin-tokens.h"
#include "ui/pins/studio-pin-labels.h"
#include "ui/run/run-report.h"
#include "ui/scene/studio-tensors.h"

#define INTERVAL_US (G_USEC_PER_SEC / 10)
#define MAX_BYTES   (512 * 512 * 4)

struct _Pin
{
  PinOwner owner;
  gatomicrefcount refs; /* held by the list and by each request */
  guint64 serial;
  guint choice; /* the number of choices so far; a reply to an earlier one is dropped */
  char *tensor, *node_path, *title;
  char *rows, *columns; /* ports with the words of both axes, as in the file; NULL: none named */
  PinSubject subject;
  gsize known_rank; /* of the last value; 0: none so far */
  gint64 known[LOOM_SHAPE_MAX_RANK];
  gint64 index[LOOM_SHAPE_MAX_RANK];
  gint64 n_samples; /* that the run computes values of; 0: not known */
  gboolean asked_samples;
  const StudioPinKind *kind;
  PinScale colors;
  int width, height;
  int height_in_file; /* while it is dragged to size */
  StudioPinLabels *labels;
  StudioPinView *view;
  GtkWidget *frame;
  GtkWidget *task_watch; /* mapped while predictions for the decision surface are wanted; NULL: without a task */
  GSimpleActionGroup *actions;
  gboolean is_enlarged, is_docked;
  gboolean in_flight, wanted, is_urgent, gone;
  gboolean before_update; /* the run is paused and the value is from before the step's update */
  gint64 last_request;
  guint timer;
};

static void pull (Pin *self);

static Pin *
pin_ref (Pin *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
pin_unref (Pin *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_clear_object (&self->frame);
  g_clear_object (&self->actions);
  g_clear_pointer (&self->labels, studio_pin_labels_free);
  g_free (self->tensor);
  g_free (self->title);
  g_free (self->node_path);
  g_free (self->rows);
  g_free (self->columns);
  g_free (self);
}

/* Ports that the file does not name: tokens along axes that count them, all tokens on an embedding, and the words of
 * the sentence itself. Nothing changes if the ports are the same. */
static void
make_labels (Pin *self, GFunc changed)
{
  const LoomNet *net = studio_document_get_net (self->owner.document);
  const gboolean is_named = self->rows != NULL || self->columns != NULL;
  g_autofree char *rows = is_named ? g_strdup (self->rows) : pin_tokens_port (net, self->tensor, &self->subject, 1);
  g_autofree char *columns
      = is_named ? g_strdup (self->columns) : pin_tokens_port (net, self->tensor, &self->subject, 0);

  if (self->subject.is_embedding && rows == NULL)
    rows = pin_tokens_vocabulary (net, self->tensor);
  if (self->subject.is_integer && self->columns == NULL && self->subject.rank == 2)
    {
      g_free (columns);
      columns = g_strdup (pin_tensor_name (self->tensor));
    }
  if (self->labels != NULL && studio_pin_labels_are_of (self->labels, rows, columns))
    return;
  g_clear_pointer (&self->labels, studio_pin_labels_free);
  self->labels = studio_pin_labels_new (rows, columns, changed, self);
}

/* Labels are shown with the next value; for a paused run it is requested. */
static void
labels_changed_cb (gpointer labels, gpointer data)
{
  Pin *self = data;

  self->is_urgent = TRUE;
  pull (self);
}

/* ---- values -------------------------------------------------------------------------- */

static void
show_nothing (Pin *self, const char *why)
{
  studio_pin_view_clear (self->view, self->title, why);
  gtk_widget_set_tooltip_text (self->frame, why);
}

static void
update_steps (Pin *self)
{
  gsize axes[LOOM_SHAPE_MAX_RANK];

  g_simple_action_set_enabled (G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self->actions), "step")),
                               pin_axes_chosen (&self->subject, self->kind, axes) > 0);
}

static void
learn_shape (Pin *self, GVariant *full_shape)
{
  gsize rank;
  const gint64 *dims = g_variant_get_fixed_array (full_shape, &rank, sizeof *dims);

  if (rank > LOOM_SHAPE_MAX_RANK
      || (rank == self->known_rank && rank > 0 && memcmp (dims, self->known, rank * sizeof *dims) == 0))
    return;
  pin_subject_set_shape (&self->subject, rank, dims);
  self->known_rank = rank;
  for (gsize d = 0; d < rank; d++)
    {
      self->known[d] = dims[d];
      self->index[d] = CLAMP (self->index[d], 0, MAX (0, dims[d] - 1));
    }
  make_labels (self, labels_changed_cb);
  update_steps (self);
}

static char *
name_step (Pin *self, gint64 updates, gint64 *step)
{
  if (!self->subject.is_update)
    return studio_run_dup_when (self->owner.run, updates, step);
  *step = updates + 1;
  return g_strdup_printf (_ ("step %d"), (int)*step);
}

static void
show_values (Pin *self, gint64 updates, GVariant *shape, GVariant *data)
{
  gint64 step;
  g_autofree char *when = name_step (self, updates, &step),
                  *where = pin_axes_name_chosen (&self->subject, self->kind, self->index, self->n_samples);
  g_autoptr (PinValue) value = pin_value_new (self->title, where, when, step);
  gsize rank, bytes;
  const gint64 *dims = g_variant_get_fixed_array (shape, &rank, sizeof *dims);
  const float *values = g_variant_get_fixed_array (data, &bytes, 1);
  const PinSubject *s = &self->subject;

  if (!pin_value_set (value, rank, dims, values, bytes / sizeof (float)))
    return;
  value->full_rank = s->rank;
  for (gsize d = 0; d < s->rank; d++)
    {
      value->full[d] = s->dims[d];
      value->index[d] = self->index[d];
      value->axis[d] = pin_subject_axis (s, d);
    }
  value->row_labels = g_strdupv ((char **)studio_pin_labels_rows (self->labels));
  value->column_labels = g_strdupv ((char **)studio_pin_labels_columns (self->labels));
  value->plane = self->owner.task != NULL ? studio_task_get_picture (self->owner.task) : NULL;
  if (self->kind->n_whole == 1 && self->kind->summary == NULL)
    pin_value_choose_row (value);
  studio_pin_view_take (self->view, g_steal_pointer (&value));
  self->before_update = step > updates;
  const char *problem = studio_pin_labels_problem (self->labels);
  gtk_widget_set_tooltip_text (self->frame, problem != NULL && self->rows != NULL ? problem : NULL);
}

static void
samples_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Pin *self = data;
  g_autoptr (GVariant) values = run_report_finish (source, result, NULL, NULL);

  if (values != NULL && !self->gone && source == (GObject *)studio_run_get_proxy (self->owner.run)
      && g_variant_get_size (values) == sizeof (float))
    {
      self->n_samples = (gint64) * (const float *)g_variant_get_data (values);
      self->is_urgent = TRUE;
      pull (self);
    }
  pin_unref (self);
}

/* Once for each run: loss, values and gradients are not of the step's batch. */
static void
ask_samples (Pin *self, LoomBusWorker1 *worker)
{
  if (self->asked_samples || !pin_subject_is_of_samples (&self->subject))
    return;
  self->asked_samples = TRUE;
  run_report_async (worker, LOOM_SNAPSHOT_SAMPLES, MAX_BYTES, NULL, samples_cb, pin_ref (self));
}

typedef struct
{
  Pin *pin;
  guint choice;
} Request;

static void
snapshot_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree Request *request = data;
  Pin *self = request->pin;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) shape = NULL;
  g_autoptr (GVariant) full_shape = NULL;
  g_autoptr (GVariant) values = NULL;
  gint64 updates = 0;
  const gboolean done = loom_bus_worker1_call_get_snapshot_finish (LOOM_BUS_WORKER1 (source), &updates, &shape,
                                                                   &full_shape, &values, result, &error);

  self->in_flight = FALSE;
  if (!self->gone)
    {
      if (request->choice != self->choice || source != (GObject *)studio_run_get_proxy (self->owner.run))
        self->wanted = TRUE;
      else if (done)
        {
          learn_shape (self, full_shape);
          studio_pin_labels_request (self->labels, LOOM_BUS_WORKER1 (source),
                                     pin_axes_sample (&self->subject, self->kind, self->index));
          show_values (self, updates, shape, values);
          ask_samples (self, LOOM_BUS_WORKER1 (source));
        }
      else if (g_dbus_error_is_remote_error (error) && !g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY))
        {
          g_dbus_error_strip_remote_error (error);
          show_nothing (self, error->message);
        }
      /* A worker that has ended leaves the last values in the pin. */
      if (self->wanted)
        pull (self);
    }
  pin_unref (self);
}

static gboolean
timer_cb (gpointer data)
{
  Pin *self = data;

  self->timer = 0;
  pull (self);
  return G_SOURCE_REMOVE;
}

static gboolean
can_request (const Pin *self)
{
  const StudioRunState state = studio_run_get_state (self->owner.run);

  return studio_run_get_proxy (self->owner.run) != NULL && state != STUDIO_RUN_STARTING && state != STUDIO_RUN_IDLE
         && state != STUDIO_RUN_FAILED && !self->in_flight && gtk_widget_get_mapped (GTK_WIDGET (self->view));
}

static void
pull (Pin *self)
{
  const gint64 wait = self->is_urgent ? 0 : self->last_request + INTERVAL_US - g_get_monotonic_time ();

  self->wanted = TRUE;
  if (!can_request (self) || (self->timer != 0 && !self->is_urgent))
    return;
  if (!studio_document_run_has (self->owner.document, self->node_path))
    {
      show_nothing (self, NULL);
      return;
    }
  if (wait > 0)
    {
      self->timer = g_timeout_add ((guint)(wait / 1000) + 1, timer_cb, self);
      return;
    }
  g_clear_handle_id (&self->timer, g_source_remove);
  self->wanted = self->is_urgent = FALSE;
  self->in_flight = TRUE;
  self->last_request = g_get_monotonic_time ();
  Request *request = g_new (Request, 1);
  *request = (Request){ pin_ref (self), self->choice };
  g_autofree char *port = g_strconcat (self->kind->summary != NULL ? self->kind->summary : "", self->tensor, NULL);
  loom_bus_worker1_call_get_snapshot (studio_run_get_proxy (self->owner.run), port,
                                      pin_axes_index (&self->subject, self->kind, self->index), MAX_BYTES, NULL,
                                      snapshot_cb, request);
}

void
pin_pull (Pin *self)
{
  pull (self);
}

void
pin_begin_run (Pin *self)
{
  self->choice++;
  self->n_samples = 0;
  self->asked_samples = FALSE;
  studio_pin_view_forget (self->view);
  show_nothing (self, NULL);
}

/* ---- the element ------------------------------------------------------------------------ */

static LoomElement *
element_of (const Pin *self)
{
  return loom_graph_by_serial (studio_document_get_graph (self->owner.document), self->serial);
}

/* Sets attributes in one step of history; those in the namespace declare it. Steps with the same key are one. */
static void
edit (Pin *self, const char *name, const char *key, ...)
{
  LoomElement *element = element_of (self);
  const char *attribute;
  va_list list;

  if (element == NULL)
    return;
  studio_document_begin (self->owner.document, name);
  va_start (list, key);
  while ((attribute = va_arg (list, const char *)) != NULL)
    {
      const char *value = va_arg (list, const char *);

      if (g_strcmp0 (loom_element_get (element, attribute), value) == 0)
        continue;
      if (strchr (attribute, ':') != NULL && loom_element_get (element, PIN_XMLNS) == NULL)
        studio_document_edit (self->owner.document, loom_edit_set (element, PIN_XMLNS, PIN_NAMESPACE));
      studio_document_edit (self->owner.document, loom_edit_set (element, attribute, value));
    }
  va_end (list);
  if (key != NULL)
    studio_document_merge_visit (self->owner.document, key);
  studio_document_end (self->owner.document);
}

/* ---- commands ----------------------------------------------------------------------------- */

/* A pin under its card moves what it would cover, in the same step of history. */
static void
make_space (Pin *self, int width, int height)
{
  if (!self->is_docked)
    studio_document_make_space_for_pin (self->owner.document, self->node_path, width, self->height_in_file, height);
}

/* Shows a tensor by a kind; the pin is at least as large as a new one of the kind. */
static void
show_as (Pin *self, const char *name, const char *tensor, const StudioPinKind *kind)
{
  const int least_width = MAX (self->width, kind->width), least_height = MAX (self->height, kind->height);
  const gboolean is_other = !g_str_equal (tensor, self->tensor);
  g_autofree char *width = g_strdup_printf ("%d", least_width), *height = g_strdup_printf ("%d", least_height);

  studio_document_begin (self->owner.document, name);
  make_space (self, least_width, least_height);
  edit (self, name, NULL, "kind", kind->name, "width", width, "height", height, NULL);
  if (is_other)
    edit (self, name, NULL, "tensor", tensor, "rows", NULL, "columns", NULL, PIN_INDEX, NULL, NULL);
  else
    studio_document_merge_visit (self->owner.document, "pin-kind");
  studio_document_end (self->owner.document);
}

static void
kind_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;
  const StudioPinKind *kind = studio_pin_kind_find (g_variant_get_string (value, NULL));

  if (kind != self->kind)
    show_as (self, _ ("Change the kind of a pin"), self->tensor, kind);
}

static void
tensor_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;
  const char *tensor = g_variant_get_string (value, NULL);
  PinSubject subject;

  if (g_str_equal (tensor, self->tensor))
    return;
  pin_subject_init (&subject, studio_document_get_net (self->owner.document), tensor);
  g_autoptr (GPtrArray) kinds = studio_pin_kinds_for (&subject);
  show_as (self, _ ("Watch another tensor"), tensor, kinds->pdata[0]);
}

static void
colors_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  const char *word = g_variant_get_string (value, NULL);

  edit (data, _ ("Change the colours of a pin"), NULL, PIN_COLORS,
        pin_scale_find (word) == PIN_SCALE_LINEAR ? NULL : word, NULL);
}

/* What is chosen is shown at once, and the file says it. */
static void
choose (Pin *self, gsize axis, gint64 element)
{
  const gint64 size = self->subject.dims[axis];
  g_autoptr (GString) text = g_string_new (NULL);

  element = CLAMP (element, 0, MAX (0, size - 1));
  if (element == self->index[axis])
    return;
  self->index[axis] = element;
  self->choice++;
  for (gsize d = 0; d < self->subject.rank; d++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, d > 0 ? "," : "", self->index[d]);
  self->is_urgent = TRUE;
  pull (self);
  edit (self, _ ("Look at another part"), "pin-index", PIN_INDEX, text->str, NULL);
}

static void
step_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;
  gsize axes[LOOM_SHAPE_MAX_RANK];
  int from_last, by;

  g_variant_get (value, "(ii)", &from_last, &by);
  if (from_last >= 0 && (gsize)from_last < pin_axes_chosen (&self->subject, self->kind, axes))
    choose (self, axes[from_last], self->index[axes[from_last]] + by);
}

static void
tile_cb (StudioPinView *view, gint64 tile, Pin *self)
{
  gsize axes[LOOM_SHAPE_MAX_RANK];

  if (pin_axes_chosen (&self->subject, self->kind, axes) > 0)
    choose (self, axes[0], tile);
}

/* While the drag goes on only the view follows. */
static void
resize_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;
  const double shown = MAX (1, gtk_widget_get_width (GTK_WIDGET (self->view)));
  int natural, x, y;
  gboolean is_over;

  g_variant_get (value, "(iib)", &x, &y, &is_over);
  gtk_widget_measure (GTK_WIDGET (self->view), GTK_ORIENTATION_HORIZONTAL, -1, NULL, &natural, NULL, NULL);
  self->width = CLAMP (self->width + (int)(x * natural / shown), 112, 1200);
  self->height = CLAMP (self->height + (int)(y * natural / shown), 56, 900);
  studio_pin_view_set_size (self->view, self->width, self->height);
  if (!is_over)
    return;
  g_autofree char *width = g_strdup_printf ("%d", self->width), *height = g_strdup_printf ("%d", self->height);
  studio_document_begin (self->owner.document, _ ("Resize a pin"));
  make_space (self, self->width, self->height);
  edit (self, _ ("Resize a pin"), "pin-size", "width", width, "height", height, NULL);
  studio_document_end (self->owner.document);
}

static void
enlarged_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;

  pin_enlarge (self, !self->is_enlarged);
}

void
pin_enlarge (Pin *self, gboolean enlarged)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "enlarged");

  if (enlarged == self->is_enlarged)
    return;
  self->is_enlarged = enlarged;
  g_simple_action_set_state (G_SIMPLE_ACTION (action), g_variant_new_boolean (enlarged));
  self->owner.placed (self, self->owner.data);
}

static void
docked_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;

  pin_enlarge (self, FALSE);
  studio_document_begin (self->owner.document, _ ("Dock a pin"));
  if (self->is_docked)
    studio_document_make_space_for_pin (self->owner.document, self->node_path, self->width, 0, self->height);
  edit (self, _ ("Dock a pin"), NULL, PIN_DOCKED, self->is_docked ? NULL : "true", NULL);
  studio_document_end (self->owner.document);
}

static void
save_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;

  self->owner.save (self, g_variant_get_string (value, NULL), self->owner.data);
}

static void
close_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  Pin *self = data;
  LoomElement *element = element_of (self);

  if (element == NULL)
    return;
  studio_document_begin (self->owner.document, _ ("Stop watching"));
  studio_document_edit (self->owner.document, loom_edit_remove (element));
  studio_document_end (self->owner.document);
}

static const GActionEntry entries[] = {
  { .name = "kind", .activate = kind_cb, .parameter_type = "s", .state = "''" },
  { .name = "tensor", .activate = tensor_cb, .parameter_type = "s", .state = "''" },
  { .name = "colors", .activate = colors_cb, .parameter_type = "s", .state = "'linear'" },
  { .name = "step", .activate = step_cb, .parameter_type = "(ii)" },
  { .name = "resize", .activate = resize_cb, .parameter_type = "(iib)" },
  { .name = "enlarged", .activate = enlarged_cb, .state = "false" },
  { .name = "docked", .activate = docked_cb, .state = "false" },
  { .name = "save", .activate = save_cb, .parameter_type = "s" },
  { .name = "close", .activate = close_cb },
};

static void
set_state (Pin *self, const char *name, GVariant *state)
{
  g_simple_action_set_state (G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self->actions), name)), state);
}

static GPtrArray *
list_kinds (gpointer data)
{
  return studio_pin_kinds_for (&((Pin *)data)->subject);
}

static char **
list_tensors (gpointer data)
{
  Pin *self = data;
  const LoomNet *net = studio_document_get_net (self->owner.document);
  g_auto (GStrv) names = studio_tensors_of_node (net, self->node_path);
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();
  static const char *const prefixes[] = { "", PIN_GRADIENT, PIN_UPDATE };

  for (guint p = 0; p < G_N_ELEMENTS (prefixes); p++)
    for (guint i = 0; names[i] != NULL; i++)
      {
        g_autofree char *tensor = g_strconcat (prefixes[p], names[i], NULL);
        PinSubject subject;

        pin_subject_init (&subject, net, tensor);
        if (!subject.is_update || subject.is_weight)
          g_strv_builder_add (list, tensor);
      }
  return g_strv_builder_end (list);
}

/* ---- construction ---------------------------------------------------------------------------- */

static int
read_size (const LoomElement *element, const char *attribute, int otherwise)
{
  const char *text = loom_element_get (element, attribute);

  return text != NULL ? (int)CLAMP (g_ascii_strtod (text, NULL), 40, 1200) : otherwise;
}

static void
read_index (Pin *self, const char *text)
{
  g_auto (GStrv) numbers = g_strsplit (text != NULL ? text : "", ",", LOOM_SHAPE_MAX_RANK);
  gint64 index[LOOM_SHAPE_MAX_RANK] = { 0 };

  for (guint d = 0; numbers[d] != NULL; d++)
    index[d] = MAX (0, g_ascii_strtoll (numbers[d], NULL, 10));
  for (gsize d = 0; d < self->known_rank; d++)
    index[d] = CLAMP (index[d], 0, MAX (0, self->known[d] - 1));
  if (memcmp (index, self->index, sizeof index) == 0)
    return;
  memcpy (self->index, index, sizeof index);
  self->choice++;
}

static void
set_string (char **string, const char *value)
{
  g_free (*string);
  *string = g_strdup (value);
}

static void
read_subject (Pin *self)
{
  pin_subject_init (&self->subject, studio_document_get_net (self->owner.document), self->tensor);
  if (self->rows != NULL && self->columns != NULL && self->subject.rank >= 2)
    self->subject.is_attention = TRUE;
  self->subject.has_plane = self->owner.task != NULL && studio_task_get_kind (self->owner.task) == LOOM_TASK_VIEW_PLANE;
  if (self->known_rank > 0)
    pin_subject_set_shape (&self->subject, self->known_rank, self->known);
}

/* Tensor and labels. */
static void
read_tensor (Pin *self, const LoomElement *element)
{
  const char *tensor = loom_element_get (element, "tensor");
  const char *rows = loom_element_get (element, "rows"), *columns = loom_element_get (element, "columns");

  if (self->labels != NULL && g_strcmp0 (tensor, self->tensor) == 0 && g_strcmp0 (rows, self->rows) == 0
      && g_strcmp0 (columns, self->columns) == 0)
    {
      read_subject (self);
      return;
    }
  g_free (self->title);
  set_string (&self->tensor, tensor);
  set_string (&self->rows, rows);
  set_string (&self->columns, columns);
  self->title = pin_tensor_title (tensor);
  self->known_rank = 0;
  self->choice++;
  read_subject (self);
  make_labels (self, labels_changed_cb);
  studio_pin_view_forget (self->view);
  show_nothing (self, NULL);
  set_state (self, "tensor", g_variant_new_string (tensor));
}

static void
read_kind (Pin *self, const LoomElement *element)
{
  const StudioPinKind *kind = studio_pin_kind_find (loom_element_get (element, "kind"));

  self->kind = kind;
  if (kind != studio_pin_view_get_kind (self->view))
    {
      studio_pin_view_set_kind (self->view, kind);
      self->choice++;
      self->is_urgent = TRUE;
    }
  if (self->task_watch != NULL)
    gtk_widget_set_visible (self->task_watch, kind->draws_plane);
  set_state (self, "kind", g_variant_new_string (kind->name));
}

gboolean
pin_sync (Pin *self, const LoomElement *element)
{
  const gboolean was_docked = self->is_docked;
  g_autofree char *node
      = pin_tensor_node (studio_document_get_net (self->owner.document), loom_element_get (element, "tensor"));
  const gboolean is_same = g_strcmp0 (node, self->node_path) == 0;

  if (!is_same)
    set_string (&self->node_path, node);
  read_kind (self, element);
  read_tensor (self, element);
  read_index (self, loom_element_get (element, PIN_INDEX));
  self->colors = pin_scale_find (loom_element_get (element, PIN_COLORS));
  studio_pin_view_set_colors (self->view, self->colors);
  set_state (self, "colors", g_variant_new_string (pin_scale_word (self->colors)));
  self->width = read_size (element, "width", self->kind->width);
  self->height = self->height_in_file = read_size (element, "height", self->kind->height);
  studio_pin_view_set_size (self->view, self->width, self->height);
  self->is_docked = g_strcmp0 (loom_element_get (element, PIN_DOCKED), "true") == 0;
  set_state (self, "docked", g_variant_new_boolean (self->is_docked));
  update_steps (self);
  if (is_same && was_docked != self->is_docked)
    self->owner.placed (self, self->owner.data);
  return is_same;
}

/* The task computes predictions only while a widget that it watches is on screen. */
static void
watch_task (Pin *self)
{
  self->task_watch = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_can_target (self->task_watch, FALSE);
  gtk_overlay_add_overlay (GTK_OVERLAY (self->frame), self->task_watch);
  studio_task_watch (self->owner.task, self->task_watch);
  g_signal_connect_object (self->owner.task, "changed", G_CALLBACK (gtk_widget_queue_draw), self->view,
                           G_CONNECT_SWAPPED);
}

Pin *
pin_new (const PinOwner *owner, const LoomElement *element)
{
  Pin *self = g_new0 (Pin, 1);
  const StudioPinKind *kind = studio_pin_kind_find (loom_element_get (element, "kind"));
  const PinFrameLists lists = { list_kinds, list_tensors, self };

  g_atomic_ref_count_init (&self->refs);
  self->owner = *owner;
  self->serial = loom_element_serial (element);
  self->actions = g_simple_action_group_new ();
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries), self);
  self->view = studio_pin_view_new (kind);
  g_signal_connect (self->view, "choose", G_CALLBACK (tile_cb), self);
  g_signal_connect_swapped (self->view, "map", G_CALLBACK (pull), self);
  self->frame = g_object_ref_sink (pin_frame_new (self->view, G_ACTION_GROUP (self->actions), &lists));
  if (owner->task != NULL)
    watch_task (self);
  pin_sync (self, element);
  return self;
}

void
pin_detach (Pin *self)
{
  self->gone = TRUE;
  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_pointer (&self->labels, studio_pin_labels_free);
  g_signal_handlers_disconnect_by_data (self->view, self);
  pin_frame_detach (self->frame);
}

void
pin_set_text_scale (Pin *self, double scale)
{
  studio_pin_view_set_text_scale (self->view, scale);
}

guint64
pin_serial (const Pin *self)
{
  return self->serial;
}

GtkWidget *
pin_get_frame (const Pin *self)
{
  return self->frame;
}

StudioPinView *
pin_get_view (const Pin *self)
{
  return self->view;
}

const char *
pin_get_tensor (const Pin *self)
{
  return self->tensor;
}

const char *
pin_get_node (const Pin *self)
{
  return self->node_path;
}

gboolean
pin_is_enlarged (const Pin *self)
{
  return self->is_enlarged;
}

gboolean
pin_is_docked (const Pin *self)
{
  return self->is_docked;
}
