/* The pins of a graph's <view>: their list, where their frames are, and the loss on its card. */
#include "ui/pins/studio-pin.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"
#include "ui/pins/pin-subject.h"
#include "ui/pins/pin.h"
#include "ui/scene/studio-format.h"
#include "ui/training/studio-training-settings.h"

#define LARGE_TEXT    1.3 /* of a pin that fills the canvas */
#define LEAST_PICTURE 100 /* height of a kind that is a picture, not a number */

struct _StudioPins
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioRun *run;
  StudioTask *task;   /* may be NULL */
  GPtrArray *pins;    /* Pin */
  GHashTable *stacks; /* path of a node → GtkBox of its pins */
  GtkWidget *dock;    /* a GtkBox, shown by the owner of the panes */
  GtkOverlay *large;  /* weak; over the canvas, for the enlarged pin */
  char *loss_path;    /* the card that shows the loss */
  GtkWidget *stage;   /* weak; in a presentation, the box of the enlarged picture; else NULL */
  char **shown;       /* tensors whose pins are visible; NULL: all */
};

G_DEFINE_TYPE (StudioPins, studio_pins, G_TYPE_OBJECT)

enum
{
  DOCKED,
  SAVE,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- places of frames ------------------------------------------------------------------ */

/* Shows the pins of a node below each other under its card. */
static void
stack (StudioPins *self, Pin *pin)
{
  GtkWidget *box = g_hash_table_lookup (self->stacks, pin_get_node (pin));

  if (box == NULL)
    {
      box = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 6));
      g_hash_table_insert (self->stacks, g_strdup (pin_get_node (pin)), box);
      studio_canvas_set_pin_widget (self->canvas, pin_get_node (pin), box);
    }
  gtk_box_append (GTK_BOX (box), pin_get_frame (pin));
}

/* Removes the empty box of a node. */
static void
forget_stack (StudioPins *self, GtkWidget *box)
{
  GHashTableIter iter;
  gpointer path, value;

  g_hash_table_iter_init (&iter, self->stacks);
  while (g_hash_table_iter_next (&iter, &path, &value))
    if (value == box && gtk_widget_get_first_child (box) == NULL)
      {
        if (self->canvas != NULL)
          studio_canvas_set_pin_widget (self->canvas, path, NULL);
        g_hash_table_iter_remove (&iter);
        return;
      }
}

static void
take_away (StudioPins *self, Pin *pin)
{
  GtkWidget *frame = pin_get_frame (pin), *parent = gtk_widget_get_parent (frame);

  if (parent == NULL)
    return;
  if (parent == (GtkWidget *)self->large)
    gtk_overlay_remove_overlay (self->large, frame);
  else
    gtk_box_remove (GTK_BOX (parent), frame);
  if (parent == self->stage)
    gtk_widget_set_visible (self->stage, FALSE);
  else if (parent != self->dock)
    forget_stack (self, parent);
}

static gboolean
is_shown (StudioPins *self, Pin *pin)
{
  return self->shown == NULL || g_strv_contains ((const char *const *)self->shown, pin_get_tensor (pin));
}

static gboolean
is_picture (Pin *pin)
{
  return studio_pin_view_get_kind (pin_get_view (pin))->height >= LEAST_PICTURE;
}

static Pin *
first_picture (StudioPins *self)
{
  for (guint i = 0; i < self->pins->len; i++)
    if (is_picture (self->pins->pdata[i]))
      return self->pins->pdata[i];
  return NULL;
}

/* On the stage of a presentation, over the canvas, at the side, or under its card. */
static void
place (StudioPins *self, Pin *pin)
{
  const gboolean is_on_stage = self->stage != NULL && pin == first_picture (self);
  const gboolean is_large = !is_on_stage && pin_is_enlarged (pin) && self->large != NULL;
  GtkWidget *frame = pin_get_frame (pin), *view = GTK_WIDGET (pin_get_view (pin));
  double scale = is_large ? LARGE_TEXT : 1;

  take_away (self, pin);
  gtk_widget_set_vexpand (view, is_on_stage || is_large);
  if (is_on_stage)
    {
      gtk_box_append (GTK_BOX (self->stage), frame);
      gtk_widget_set_visible (self->stage, is_shown (self, pin));
    }
  else if (is_large)
    gtk_overlay_add_overlay (self->large, frame);
  else if (pin_is_docked (pin))
    gtk_box_append (GTK_BOX (self->dock), frame);
  else
    stack (self, pin);
  if (is_large)
    gtk_widget_add_css_class (frame, "large");
  else
    gtk_widget_remove_css_class (frame, "large");
  pin_set_text_scale (pin, self->stage != NULL ? studio_presentation_scale (frame) : scale);
  gtk_widget_set_visible (frame, is_shown (self, pin));
}

static void
placed_cb (Pin *pin, gpointer data)
{
  StudioPins *self = data;
  const gboolean has_focus = gtk_widget_has_focus (GTK_WIDGET (pin_get_view (pin)));

  /* One at a time fills the canvas. */
  for (guint i = 0; pin_is_enlarged (pin) && i < self->pins->len; i++)
    if (self->pins->pdata[i] != pin)
      pin_enlarge (self->pins->pdata[i], FALSE);
  place (self, pin);
  if (has_focus)
    gtk_widget_grab_focus (GTK_WIDGET (pin_get_view (pin)));
  g_signal_emit (self, signals[DOCKED], 0);
}

static void
save_cb (Pin *pin, const char *suffix, gpointer data)
{
  g_signal_emit (data, signals[SAVE], 0, pin_get_view (pin), pin_get_tensor (pin), suffix);
}

GtkWidget *
studio_pins_get_dock (StudioPins *self)
{
  return self->dock;
}

gboolean
studio_pins_has_docked (StudioPins *self)
{
  return gtk_widget_get_first_child (self->dock) != NULL;
}

/* ---- the list --------------------------------------------------------------------------- */

static void
remove_pin (StudioPins *self, guint i)
{
  Pin *pin = self->pins->pdata[i];

  take_away (self, pin);
  pin_detach (pin);
  g_ptr_array_remove_index (self->pins, i);
}

static void
pull_all (StudioPins *self)
{
  for (guint i = 0; i < self->pins->len; i++)
    pin_pull (self->pins->pdata[i]);
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

static Pin *
find_pin (StudioPins *self, const LoomElement *element)
{
  for (guint i = 0; i < self->pins->len; i++)
    if (pin_serial (self->pins->pdata[i]) == loom_element_serial (element))
      return self->pins->pdata[i];
  return NULL;
}

/* Makes the pins those of the document's <view> and keeps the existing ones. */
static void
sync_pins (StudioPins *self)
{
  LoomElement *view = find_view (self);
  const PinOwner owner = { self->document, self->run, self->task, placed_cb, save_cb, self };
  const gboolean had_docked = studio_pins_has_docked (self);
  g_autoptr (GPtrArray) keep = g_ptr_array_new ();

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      LoomElement *e = loom_element_child (view, i);
      Pin *pin = element_is_pin (e) ? find_pin (self, e) : NULL;

      if (!element_is_pin (e))
        continue;
      if (pin == NULL)
        {
          pin = pin_new (&owner, e);
          g_ptr_array_add (self->pins, pin);
          place (self, pin);
        }
      else if (!pin_sync (pin, e))
        place (self, pin);
      g_ptr_array_add (keep, pin);
    }
  for (guint i = self->pins->len; i > 0; i--)
    if (!g_ptr_array_find (keep, self->pins->pdata[i - 1], NULL))
      remove_pin (self, i - 1);
  if (had_docked != studio_pins_has_docked (self))
    g_signal_emit (self, signals[DOCKED], 0);
}

/* The first output of a node, or the output of a node inside that is the first one of a module's card. FALSE: none. */
static gboolean
find_output (StudioPins *self, const char *path, LoomNetSource *output)
{
  const LoomNet *net = studio_document_get_net (self->document);
  const StudioScene *scene = studio_document_get_scene (self->document);
  const int node = loom_net_find (net, path);
  const guint item = node < 0 ? studio_scene_card_of (scene, path) : STUDIO_NO_ITEM;

  if (node >= 0)
    *output = (LoomNetSource){ .node = (guint)node };
  else if (item != STUDIO_NO_ITEM && scene->item[item].n_outputs > 0 && scene->item[item].output[0].typed)
    *output = scene->item[item].output[0].source;
  else
    return FALSE;
  return output->node < loom_net_n_nodes (net) && loom_net_node (net, output->node)->n_outputs > 0;
}

gboolean
studio_pins_toggle (StudioPins *self, const char *path, gboolean gradient)
{
  LoomElement *view = find_view (self);
  LoomNet *net = studio_document_get_net (self->document);
  LoomNetSource output;
  const gboolean is_found = find_output (self, path, &output);
  g_autofree char *node_path = g_strdup (is_found ? loom_net_node (net, output.node)->path : path);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      LoomElement *e = loom_element_child (view, i);
      const char *tensor = element_is_pin (e) ? loom_element_get (e, "tensor") : NULL;
      g_autofree char *node = tensor != NULL ? pin_tensor_node (net, tensor) : NULL;

      if (g_strcmp0 (node, node_path) != 0 || g_str_has_prefix (tensor, PIN_GRADIENT) != gradient)
        continue;
      studio_document_begin (self->document, _ ("Stop watching"));
      studio_document_edit (self->document, loom_edit_remove (e));
      studio_document_end (self->document);
      return TRUE;
    }
  if (!is_found)
    return FALSE;
  g_autofree char *port = loom_net_port_name (net, output.node, output.output);
  g_autofree char *tensor = g_strconcat (gradient ? PIN_GRADIENT : "", port, NULL);
  PinSubject subject;
  pin_subject_init (&subject, net, tensor);
  subject.has_plane = self->task != NULL && studio_task_get_kind (self->task) == LOOM_TASK_VIEW_PLANE;
  g_autoptr (GPtrArray) kinds = studio_pin_kinds_for (&subject);
  /* A scalar in a loop has one value per iteration, so it is no single number. */
  const StudioPinKind *kind = kinds->pdata[0];
  studio_document_begin (self->document, gradient ? _ ("Watch the gradient") : _ ("Watch"));
  studio_document_make_space_for_pin (self->document, node_path, kind->width, 0, kind->height);
  view = studio_document_ensure (self->document, LOOM_TAG_VIEW);
  g_autofree char *width = g_strdup_printf ("%d", kind->width), *height = g_strdup_printf ("%d", kind->height);
  LoomElement *pin
      = loom_element_new (LOOM_TAG_PIN, "tensor", tensor, "kind", kind->name, "width", width, "height", height, NULL);
  studio_document_edit (self->document, loom_edit_insert (view, loom_element_n_children (view), pin));
  studio_document_end (self->document);
  return TRUE;
}

StudioPinView *
studio_pins_get_picture (StudioPins *self, const char *node_path, const char **tensor)
{
  Pin *found = first_picture (self);

  for (guint i = 0; i < self->pins->len; i++)
    if (is_picture (self->pins->pdata[i]) && g_strcmp0 (pin_get_node (self->pins->pdata[i]), node_path) == 0)
      found = self->pins->pdata[i];
  if (found == NULL)
    return NULL;
  *tensor = pin_get_tensor (found);
  return pin_get_view (found);
}

gboolean
studio_pins_get_number (StudioPins *self, char **port, gint64 *element)
{
  Pin *found = NULL;

  for (guint i = 0; i < self->pins->len; i++)
    {
      StudioPinView *view = pin_get_view (self->pins->pdata[i]);

      if (studio_pin_view_get_element (view) >= 0
          && (found == NULL || studio_pin_view_get_marked (view) > studio_pin_view_get_marked (pin_get_view (found))))
        found = self->pins->pdata[i];
    }
  if (found == NULL)
    return FALSE;
  *port = g_strdup (pin_tensor_name (pin_get_tensor (found)));
  *element = studio_pin_view_get_element (pin_get_view (found));
  return TRUE;
}

guint
studio_pins_n (StudioPins *self)
{
  return self->pins->len;
}

StudioPinView *
studio_pins_get (StudioPins *self, guint i, const char **tensor)
{
  *tensor = pin_get_tensor (self->pins->pdata[i]);
  return pin_get_view (self->pins->pdata[i]);
}

static void
place_all (StudioPins *self)
{
  for (guint i = 0; i < self->pins->len; i++)
    place (self, self->pins->pdata[i]);
}

void
studio_pins_set_presentation (StudioPins *self, GtkWidget *stage)
{
  if (stage == self->stage)
    return;
  /* The frame leaves the stage before the stage is forgotten. */
  for (guint i = 0; i < self->pins->len; i++)
    take_away (self, self->pins->pdata[i]);
  g_set_weak_pointer (&self->stage, stage);
  place_all (self);
}

void
studio_pins_set_shown (StudioPins *self, const char *const *tensors)
{
  Pin *picture = first_picture (self);

  g_strfreev (self->shown);
  self->shown = g_strdupv ((char **)tensors);
  for (guint i = 0; i < self->pins->len; i++)
    gtk_widget_set_visible (pin_get_frame (self->pins->pdata[i]), is_shown (self, self->pins->pdata[i]));
  if (self->stage != NULL && picture != NULL)
    gtk_widget_set_visible (self->stage, is_shown (self, picture));
}

void
studio_pins_set_overlay (StudioPins *self, GtkOverlay *large)
{
  g_set_weak_pointer (&self->large, large);
}

void
studio_pins_set_task (StudioPins *self, StudioTask *task)
{
  g_set_object (&self->task, task);
  /* Pins keep the task that they were made with. */
  while (self->pins->len > 0)
    remove_pin (self, self->pins->len - 1);
  sync_pins (self);
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
      pin_begin_run (self->pins->pdata[i]);
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
  while (self->pins != NULL && self->pins->len > 0)
    remove_pin (self, self->pins->len - 1);
  g_clear_pointer (&self->pins, g_ptr_array_unref);
  g_clear_pointer (&self->stacks, g_hash_table_unref);
  g_clear_weak_pointer (&self->canvas);
  g_clear_weak_pointer (&self->stage);
  g_clear_weak_pointer (&self->large);
  g_clear_object (&self->dock);
  g_clear_object (&self->task);
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
  signals[DOCKED] = studio_signal_new ("docked", STUDIO_TYPE_PINS, 0);
  signals[SAVE] = studio_signal_new ("save", STUDIO_TYPE_PINS, 3, STUDIO_TYPE_PIN_VIEW, G_TYPE_STRING, G_TYPE_STRING);
}

static void
studio_pins_init (StudioPins *self)
{
  self->pins = g_ptr_array_new_with_free_func ((GDestroyNotify)pin_unref);
  self->dock = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 6));
  gtk_widget_add_css_class (self->dock, "pin-dock");
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
