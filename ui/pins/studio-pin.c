/* Requests the values of pinned tensors and shows them.
 *
 * A pin sends its next request after the last reply has arrived and a tenth of a second has passed, so a slow worker or
 * a large tensor lowers the rate instead of filling a queue. When the run pauses, each pin sends one more request, so
 * that its value belongs to the step that the panel shows. Values are from before the update of their step, as its loss
 * is. */
#include "ui/pins/studio-pin.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/pins/studio-iteration-chooser.h"
#include "ui/pins/studio-pin-kind.h"
#include "ui/pins/studio-pin-labels.h"
#include "ui/training/studio-training-settings.h"

#define INTERVAL_US (G_USEC_PER_SEC / 10)
#define MAX_BYTES   (512 * 512 * 4)
#define PIN_WIDTH   176

typedef struct
{
  StudioPins *pins;
  gatomicrefcount refs; /* held by the list and by each request */
  char *tensor, *node_path;
  char *title; /* for display: "gradient of x" */
  const StudioPinKind *kind;
  StudioPinLabels *words;
  GtkWidget *frame, *content;         /* content: the widget of the kind, a child of frame */
  StudioIterationChooser *iterations; /* of a node in a loop */
  gboolean in_flight, wanted, gone;
  gboolean before_update; /* the run is paused and the value is from before the step's update */
  gint64 last_request;
  guint timer;
} Pin;

struct _StudioPins
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioRun *run;
  GPtrArray *pins;    /* Pin */
  GHashTable *stacks; /* path of a node → GtkBox of its pins */
  char *loss_path;    /* the card that shows the loss */
  GtkWidget *stage;   /* weak; in a presentation, the box of the enlarged map; else NULL */
  char **shown;       /* tensors whose pins are visible; NULL: all */
};

G_DEFINE_TYPE (StudioPins, studio_pins, G_TYPE_OBJECT)

static void pull (Pin *pin);

static Pin *
pin_ref (Pin *pin)
{
  g_atomic_ref_count_inc (&pin->refs);
  return pin;
}

static void
pin_unref (Pin *pin)
{
  if (!g_atomic_ref_count_dec (&pin->refs))
    return;
  studio_iteration_chooser_free (pin->iterations);
  g_clear_object (&pin->frame);
  g_clear_pointer (&pin->words, studio_pin_labels_free);
  g_free (pin->tensor);
  g_free (pin->title);
  g_free (pin->node_path);
  g_free (pin);
}

/* Shows the pins of a node below each other under its card. */
static void
stack (Pin *pin)
{
  StudioPins *self = pin->pins;
  GtkWidget *box = g_hash_table_lookup (self->stacks, pin->node_path);
  if (box == NULL)
    {
      box = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 6));
      g_hash_table_insert (self->stacks, g_strdup (pin->node_path), box);
      studio_canvas_set_pin_widget (self->canvas, pin->node_path, box);
    }
  gtk_box_append (GTK_BOX (box), pin->frame);
}

static void
unstack (Pin *pin)
{
  StudioPins *self = pin->pins;
  GtkWidget *box = g_hash_table_lookup (self->stacks, pin->node_path);
  gtk_box_remove (GTK_BOX (box), pin->frame);
  if (gtk_widget_get_first_child (box) != NULL)
    return;
  if (self->canvas != NULL)
    studio_canvas_set_pin_widget (self->canvas, pin->node_path, NULL);
  g_hash_table_remove (self->stacks, pin->node_path);
}

static void
take_away (Pin *pin)
{
  StudioPins *self = pin->pins;
  if (self->stage != NULL && gtk_widget_get_parent (pin->frame) == self->stage)
    {
      gtk_box_remove (GTK_BOX (self->stage), pin->frame);
      gtk_widget_set_visible (self->stage, FALSE);
    }
  else
    unstack (pin);
}

static void
pin_remove (gpointer data)
{
  Pin *pin = data;
  pin->gone = TRUE;
  g_clear_handle_id (&pin->timer, g_source_remove);
  g_clear_pointer (&pin->words, studio_pin_labels_free);
  take_away (pin);
  pin_unref (pin);
}

/* ---- values --------------------------------------------------------------------------- */

static void
show_nothing (Pin *pin)
{
  pin->kind->clear (pin->content, pin->title);
}

/* The number of elements of a shape; 0 if it is empty or exceeds max. */
static gsize
count_values (const gint64 *dims, gsize rank, gsize max)
{
  gsize n = 1;
  for (gsize i = 0; i < rank; i++)
    {
      if (dims[i] <= 0 || (guint64)dims[i] > max / n)
        return 0;
      n *= (gsize)dims[i];
    }
  return n <= max ? n : 0;
}

static guint
count_loops (Pin *pin)
{
  LoomNet *net = studio_document_get_net (pin->pins->document);
  int node = loom_net_find (net, pin->node_path);
  guint n = 0;
  while (node >= 0 && (node = (int)loom_net_node (net, (guint)node)->loop) >= 0)
    n++;
  return n;
}

/* Shows the reason why there are no labels, or the step of the value. */
static void
show_tooltip (Pin *pin)
{
  const char *problem = studio_pin_labels_problem (pin->words);

  gtk_widget_set_tooltip_text (pin->frame, problem != NULL      ? problem
                                           : pin->before_update ? _ ("Before the update of this step, like its loss")
                                                                : NULL);
}

static void
show_values (Pin *pin, gint64 updates, GVariant *shape, GVariant *full_shape, GVariant *data)
{
  gint64 step;
  g_autofree char *when = studio_run_dup_when (pin->pins->run, updates, &step);
  gsize n_loops = studio_iteration_chooser_set_shape (pin->iterations, count_loops (pin), full_shape);
  StudioPinValue value = { .tensor = pin->title,
                           .step = step,
                           .when = when,
                           .full_rank = g_variant_n_children (full_shape) - n_loops,
                           .row_labels = studio_pin_labels_rows (pin->words),
                           .column_labels = studio_pin_labels_columns (pin->words) };
  gsize bytes;
  value.dims = g_variant_get_fixed_array (shape, &value.rank, sizeof (gint64));
  value.values = g_variant_get_fixed_array (data, &bytes, 1);
  value.n_values = count_values (value.dims, value.rank, bytes / sizeof (float));
  if (value.n_values == 0)
    return;
  pin->kind->show (pin->content, &value);
  pin->before_update = step > updates;
  show_tooltip (pin);
}

static void
snapshot_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Pin *pin = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) shape = NULL;
  g_autoptr (GVariant) full_shape = NULL;
  g_autoptr (GVariant) values = NULL;
  gint64 updates = 0;
  gboolean done = loom_bus_worker1_call_get_snapshot_finish (LOOM_BUS_WORKER1 (source), &updates, &shape, &full_shape,
                                                             &values, result, &error);
  pin->in_flight = FALSE;
  if (!pin->gone)
    {
      if (done)
        {
          studio_pin_labels_request (pin->words, LOOM_BUS_WORKER1 (source));
          show_values (pin, updates, shape, full_shape, values);
        }
      else
        {
          g_dbus_error_strip_remote_error (error);
          gtk_widget_set_tooltip_text (pin->frame, error->message);
        }
      if (pin->wanted)
        pull (pin);
    }
  pin_unref (pin);
}

static gboolean
timer_cb (gpointer data)
{
  Pin *pin = data;
  pin->timer = 0;
  pull (pin);
  return G_SOURCE_REMOVE;
}

static void
pull (Pin *pin)
{
  StudioPins *self = pin->pins;
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  StudioRunState state = studio_run_get_state (self->run);
  pin->wanted = TRUE;
  if (proxy == NULL || state == STUDIO_RUN_STARTING || state == STUDIO_RUN_IDLE || state == STUDIO_RUN_FAILED
      || pin->in_flight || pin->timer != 0)
    return;
  if (!studio_document_run_has (self->document, pin->node_path))
    {
      show_nothing (pin);
      return;
    }
  gint64 wait = pin->last_request + INTERVAL_US - g_get_monotonic_time ();
  if (wait > 0)
    {
      pin->timer = g_timeout_add ((guint)(wait / 1000) + 1, timer_cb, pin);
      return;
    }
  pin->wanted = FALSE;
  pin->in_flight = TRUE;
  pin->last_request = g_get_monotonic_time ();
  loom_bus_worker1_call_get_snapshot (proxy, pin->tensor, studio_iteration_chooser_get_index (pin->iterations),
                                      MAX_BYTES, NULL, snapshot_cb, pin_ref (pin));
}

/* Labels are shown with the next value; for a paused run it is requested. */
static void
words_changed_cb (gpointer words, gpointer data)
{
  Pin *pin = data;
  show_tooltip (pin);
  pull (pin);
}

static void
pull_all (StudioPins *self)
{
  for (guint i = 0; i < self->pins->len; i++)
    pull (g_ptr_array_index (self->pins, i));
}

static void
chosen_cb (gpointer data)
{
  pull (data);
}

/* ---- list of pins ------------------------------------------------------------------------- */

static void
size_pin (Pin *pin)
{
  if (pin->kind->set_text_scale != NULL)
    pin->kind->set_text_scale (pin->content, pin->pins->stage != NULL ? studio_presentation_scale (pin->frame) : 1);
}

static gboolean
is_gradient (const char *tensor)
{
  return g_str_has_prefix (tensor, STUDIO_PIN_GRADIENT);
}

/* Returns the node that a tensor name belongs to: the longest prefix that is the path of a node. */
static char *
node_of (StudioPins *self, const char *tensor)
{
  LoomNet *net = studio_document_get_net (self->document);
  guint output;
  if (is_gradient (tensor))
    tensor += strlen (STUDIO_PIN_GRADIENT);
  int node = loom_net_find_port (net, tensor, &output, NULL);
  if (node >= 0)
    return g_strdup (loom_net_node (net, (guint)node)->path);
  return g_strdup (tensor);
}

static Pin *
pin_new (StudioPins *self, const LoomElement *element, const StudioPinKind *kind, int height)
{
  const char *tensor = loom_element_get (element, "tensor");
  Pin *pin = g_new0 (Pin, 1);
  g_atomic_ref_count_init (&pin->refs);
  pin->pins = self;
  pin->tensor = g_strdup (tensor);
  pin->node_path = node_of (self, tensor);
  pin->title = is_gradient (tensor) ? g_strdup_printf (_ ("gradient of %s"), tensor + strlen (STUDIO_PIN_GRADIENT))
                                    : g_strdup (tensor);
  pin->kind = kind;
  pin->words = studio_pin_labels_new (loom_element_get (element, "rows"), loom_element_get (element, "columns"),
                                      words_changed_cb, pin);
  pin->frame = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 0));
  gtk_widget_add_css_class (pin->frame, "pin");
  pin->content = kind->create (height);
  gtk_widget_set_hexpand (pin->content, TRUE);
  gtk_box_append (GTK_BOX (pin->frame), pin->content);
  pin->iterations = studio_iteration_chooser_new (chosen_cb, pin);
  gtk_box_append (GTK_BOX (pin->frame), studio_iteration_chooser_get_widget (pin->iterations));
  show_nothing (pin);
  size_pin (pin);
  stack (pin);
  return pin;
}

static Pin *
find_pin (StudioPins *self, const LoomElement *element, const StudioPinKind *kind)
{
  const char *tensor = loom_element_get (element, "tensor");
  for (guint i = 0; i < self->pins->len; i++)
    {
      Pin *pin = g_ptr_array_index (self->pins, i);
      if (pin->kind == kind && g_str_equal (pin->tensor, tensor)
          && studio_pin_labels_are (pin->words, loom_element_get (element, "rows"),
                                    loom_element_get (element, "columns")))
        return pin;
    }
  return NULL;
}

static LoomElement *
find_view (StudioPins *self)
{
  return loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_VIEW);
}

static gboolean
element_is_pin (LoomElement *e)
{
  return loom_element_tag (e) == LOOM_TAG_PIN && loom_element_get (e, "tensor") != NULL;
}

/* Makes the pins those of the document's <view> and keeps the existing ones. */
static void
sync_pins (StudioPins *self)
{
  LoomElement *view = find_view (self);
  g_autoptr (GPtrArray) keep = g_ptr_array_new ();
  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      LoomElement *e = loom_element_child (view, i);
      if (!element_is_pin (e))
        continue;
      const char *height = loom_element_get (e, "height");
      const StudioPinKind *kind = studio_pin_kind_find (loom_element_get (e, "kind"));
      Pin *pin = find_pin (self, e, kind);
      if (pin == NULL)
        {
          double pixels = height != NULL ? g_ascii_strtod (height, NULL) : PIN_WIDTH;
          pin = pin_new (self, e, kind, (int)CLAMP (pixels, 40, 1200));
          g_ptr_array_add (self->pins, pin);
          pull (pin);
        }
      g_ptr_array_add (keep, pin);
    }
  for (guint i = self->pins->len; i > 0; i--)
    if (!g_ptr_array_find (keep, g_ptr_array_index (self->pins, i - 1), NULL))
      g_ptr_array_remove_index (self->pins, i - 1);
}

void
studio_pins_toggle (StudioPins *self, const char *node_path, gboolean gradient)
{
  LoomElement *view = find_view (self);
  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      LoomElement *e = loom_element_child (view, i);
      if (!element_is_pin (e) || is_gradient (loom_element_get (e, "tensor")) != gradient)
        continue;
      g_autofree char *node = node_of (self, loom_element_get (e, "tensor"));
      if (!g_str_equal (node, node_path))
        continue;
      studio_document_begin (self->document, _ ("Stop watching"));
      studio_document_edit (self->document, loom_edit_remove (e));
      studio_document_end (self->document);
      return;
    }
  LoomNet *net = studio_document_get_net (self->document);
  int node = loom_net_find (net, node_path);
  if (node < 0 || loom_net_node (net, (guint)node)->n_outputs == 0)
    return;
  const LoomNetNode *n = loom_net_node (net, (guint)node);
  /* A scalar in a loop has one value per iteration, so it is no scalar pin. */
  const StudioPinKind *kind = studio_pin_kind_for (n->typed && n->loop == G_MAXUINT ? &n->output[0] : NULL);
  g_autofree char *port = loom_net_port_name (net, (guint)node, 0);
  g_autofree char *tensor = g_strconcat (gradient ? STUDIO_PIN_GRADIENT : "", port, NULL);
  studio_document_begin (self->document, gradient ? _ ("Watch the gradient") : _ ("Watch"));
  studio_document_make_space_for_pin (self->document, node_path, kind->height);
  view = studio_document_ensure (self->document, LOOM_TAG_VIEW);
  g_autofree char *width = g_strdup_printf ("%d", PIN_WIDTH), *height = g_strdup_printf ("%d", kind->height);
  LoomElement *pin
      = loom_element_new (LOOM_TAG_PIN, "tensor", tensor, "kind", kind->name, "width", width, "height", height, NULL);
  studio_document_edit (self->document, loom_edit_insert (view, loom_element_n_children (view), pin));
  studio_document_end (self->document);
}

StudioHeatMap *
studio_pins_get_map (StudioPins *self, const char *node_path, const char **tensor)
{
  Pin *found = NULL;
  for (guint i = 0; i < self->pins->len; i++)
    {
      Pin *pin = g_ptr_array_index (self->pins, i);
      if (pin->kind->get_map != NULL && (found == NULL || g_strcmp0 (pin->node_path, node_path) == 0))
        found = pin;
    }
  if (found == NULL)
    return NULL;
  *tensor = found->tensor;
  return found->kind->get_map (found->content);
}

static Pin *
first_map (StudioPins *self)
{
  for (guint i = 0; i < self->pins->len; i++)
    if (((Pin *)g_ptr_array_index (self->pins, i))->kind->get_map != NULL)
      return g_ptr_array_index (self->pins, i);
  return NULL;
}

static void
to_stage (Pin *pin, gboolean on)
{
  StudioPins *self = pin->pins;
  take_away (pin);
  gtk_widget_set_vexpand (pin->content, on);
  gtk_widget_set_visible (self->stage, on);
  if (on)
    gtk_box_append (GTK_BOX (self->stage), pin->frame);
  else
    stack (pin);
}

void
studio_pins_set_presentation (StudioPins *self, GtkWidget *stage)
{
  Pin *map = first_map (self);
  if (stage == self->stage)
    return;
  if (self->stage != NULL && map != NULL && gtk_widget_get_parent (map->frame) == self->stage)
    to_stage (map, FALSE);
  g_set_weak_pointer (&self->stage, stage);
  if (stage != NULL && map != NULL)
    to_stage (map, TRUE);
  for (guint i = 0; i < self->pins->len; i++)
    size_pin (g_ptr_array_index (self->pins, i));
}

static gboolean
is_shown (Pin *pin)
{
  const char *const *shown = (const char *const *)pin->pins->shown;
  return shown == NULL || g_strv_contains (shown, pin->tensor);
}

static void
show_pins (StudioPins *self)
{
  Pin *map = first_map (self);
  for (guint i = 0; i < self->pins->len; i++)
    {
      Pin *pin = g_ptr_array_index (self->pins, i);
      gtk_widget_set_visible (pin->frame, is_shown (pin));
    }
  if (self->stage != NULL && map != NULL && gtk_widget_get_parent (map->frame) == self->stage)
    gtk_widget_set_visible (self->stage, is_shown (map));
}

void
studio_pins_set_shown (StudioPins *self, const char *const *tensors)
{
  g_strfreev (self->shown);
  self->shown = g_strdupv ((char **)tensors);
  show_pins (self);
}

/* ---- loss on its card ---------------------------------------------------------------------- */

static void
show_loss (StudioPins *self)
{
  g_autofree char *path = studio_training_dup_loss_path (self->document);
  if (self->loss_path != NULL && g_strcmp0 (path, self->loss_path) != 0)
    {
      studio_canvas_set_live (self->canvas, self->loss_path, NULL);
      studio_canvas_set_progress (self->canvas, self->loss_path, -1);
      g_clear_pointer (&self->loss_path, g_free);
    }
  if (path == NULL)
    return;
  double loss = studio_run_get_loss (self->run);
  gint64 total = studio_run_get_progress (self->run)->total_steps;
  gboolean show = !isnan (loss) && studio_document_run_has (self->document, path);
  g_autofree char *number = studio_format_number (loss);
  g_autofree char *text = g_strdup_printf (_ ("loss %s"), number);
  studio_canvas_set_live (self->canvas, path, show ? text : NULL);
  studio_canvas_set_progress (self->canvas, path,
                              show && total > 0 && studio_run_is_live (self->run)
                                  ? (double)studio_run_get_step (self->run) / (double)total
                                  : -1);
  if (self->loss_path == NULL)
    self->loss_path = g_steal_pointer (&path);
}

static void
points_cb (StudioRun *run, StudioPins *self)
{
  pull_all (self);
}

static void
numbers_cb (StudioRun *run, StudioPins *self)
{
  show_loss (self);
}

static void
state_cb (StudioRun *run, StudioPins *self)
{
  show_loss (self);
  if (studio_run_get_state (run) == STUDIO_RUN_STARTING && isnan (studio_run_get_loss (run)))
    for (guint i = 0; i < self->pins->len; i++)
      show_nothing (g_ptr_array_index (self->pins, i));
  pull_all (self);
}

static void
net_changed_cb (StudioDocument *document, StudioPins *self)
{
  sync_pins (self);
  show_loss (self);
  /* A pin on a changed node loses its value; undoing the change restores it. */
  pull_all (self);
}

/* ---- object ----------------------------------------------------------------------------------- */

static void
pins_dispose (GObject *object)
{
  StudioPins *self = STUDIO_PINS (object);
  if (self->run != NULL)
    g_signal_handlers_disconnect_by_data (self->run, self);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_clear_pointer (&self->pins, g_ptr_array_unref);
  g_clear_pointer (&self->stacks, g_hash_table_unref);
  g_clear_weak_pointer (&self->canvas);
  g_clear_weak_pointer (&self->stage);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->loss_path, g_free);
  g_clear_pointer (&self->shown, g_strfreev);
  G_OBJECT_CLASS (studio_pins_parent_class)->dispose (object);
}

static void
studio_pins_class_init (StudioPinsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = pins_dispose;
}

static void
studio_pins_init (StudioPins *self)
{
  self->pins = g_ptr_array_new_with_free_func (pin_remove);
  self->stacks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
}

StudioPins *
studio_pins_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run)
{
  StudioPins *self = g_object_new (STUDIO_TYPE_PINS, NULL);
  self->document = g_object_ref (document);
  g_set_weak_pointer (&self->canvas, canvas);
  self->run = g_object_ref (run);
  g_signal_connect (document, "net-changed", G_CALLBACK (net_changed_cb), self);
  g_signal_connect (run, "points", G_CALLBACK (points_cb), self);
  g_signal_connect (run, "numbers", G_CALLBACK (numbers_cb), self);
  g_signal_connect (run, "state-changed", G_CALLBACK (state_cb), self);
  sync_pins (self);
  return self;
}
