/* The projector: panes gone, text larger, keys shown, and a few single keys that only count here.
 *
 * Also what a test sees of the window: where things are, as lines on standard error. */
#include <math.h>

#include <string.h>

#include "ui/charts/studio-plot.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/drawing/studio-formula.h"
#include "ui/window/studio-window-private.h"

#define HINTS "<b>→</b> next   <b>Space</b> %s   <b>Ctrl Enter</b> %s   <b>L</b> learning rate   <b>Esc</b> leave"

static void
show_keys (StudioWindow *self)
{
  StudioRunState state = studio_run_get_state (self->run);
  gboolean running = state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_STARTING;
  g_autofree char *text = g_strdup_printf (HINTS, running ? "pause" : "step", running ? "pause" : "train");
  gtk_label_set_markup (GTK_LABEL (self->key_label), text);
}

/* From here on the text is large enough for the back row as it is. */
#define LARGE_TEXT     1.5
#define CROWDED_PIXELS 500

static gboolean
is_crowded (StudioWindow *self)
{
  return gtk_widget_get_height (GTK_WIDGET (self)) < CROWDED_PIXELS * studio_text_scale (GTK_WIDGET (self));
}

/* A caption that needs a line more than those before it takes that room for good, so that the graph does not jump on a
 * walk along the computation. */
static void
keep_caption_height (StudioWindow *self)
{
  int width = gtk_widget_get_width (self->caption_card), height;
  if (!self->presenting || width <= 0)
    return;
  gtk_widget_measure (self->caption_label, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL, NULL);
  self->caption_room = MAX (self->caption_room, height);
  gtk_widget_set_size_request (self->caption_label, -1, self->caption_room);
}

/* w_q with its index below the line. */
static void
append_name (GString *markup, const char *name)
{
  const char *index = strchr (name, '_');
  g_autofree char *head = index != NULL ? g_strndup (name, (gsize)(index - name)) : NULL;
  g_autofree char *escaped = g_markup_escape_text (head != NULL && *head != '\0' ? head : name, -1);
  g_string_append (markup, escaped);
  if (head == NULL || *head == '\0')
    return;
  g_autofree char *below = g_markup_escape_text (index + 1, -1);
  g_string_append_printf (markup, "<sub>%s</sub>", below);
}

static void
append_source (GString *markup, const StudioScene *scene, const StudioPort *port)
{
  const StudioLink *link = &scene->link[port->link];
  const StudioItem *from = &scene->item[link->from];
  append_name (markup, from->id);
  if (from->n_outputs > 1)
    g_string_append_printf (markup, ".%s", from->output[link->output].name);
}

/* What stands between two operands, as the operator's formula has it: "y = a + b"; a point for products of matrices. */
static char *
dup_sign (const StudioItem *item)
{
  static const char head[] = "y = a ", tail[] = " b";
  const char *formula = item->op != NULL ? item->op->formula : NULL;
  gsize length = formula != NULL ? strlen (formula) : 0, sides = strlen (head) + strlen (tail);
  if (formula == NULL)
    return NULL;
  if (g_str_has_prefix (formula, head) && g_str_has_suffix (formula, tail) && length > sides && length < sides + 6)
    return g_strndup (formula + strlen (head), length - sides);
  return g_str_has_suffix (formula, "aᵢₖ bₖⱼ") || g_str_has_suffix (formula, "aₙ bₙ") ? g_strdup ("·") : NULL;
}

/* What the card computes, by the names that are on the canvas: v = x · w_v, attention = softmax(scaled). */
static void
append_equation (GString *markup, const StudioScene *scene, const StudioItem *item)
{
  g_autofree char *sign = dup_sign (item);
  guint n = 0, wired = 0;
  append_name (markup, item->id);
  for (guint i = 0; i < item->n_inputs; i++)
    wired += item->input[i].link != STUDIO_NO_ITEM ? 1 : 0;
  if (wired == 0)
    return;
  if (wired != 2)
    g_clear_pointer (&sign, g_free);
  g_string_append (markup, " = ");
  if (sign == NULL)
    {
      g_autofree char *kind = g_markup_escape_text (item->kind, -1);
      g_string_append_printf (markup, "%s(", kind);
    }
  for (guint i = 0; i < item->n_inputs; i++)
    {
      if (item->input[i].link == STUDIO_NO_ITEM)
        continue;
      if (n++ > 0)
        g_string_append_printf (markup, sign != NULL ? " %s " : "%s ", sign != NULL ? sign : ",");
      append_source (markup, scene, &item->input[i]);
    }
  if (sign == NULL)
    g_string_append (markup, ")");
}

/* Equation, shape and the operator's formula of the selected layer, readable from the last row; the graph's name where
 * nothing is selected. */
static void
show_caption (StudioWindow *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  guint i = self->presenting && studio_document_n_selected (self->document) == 1
                ? studio_scene_find (scene, studio_document_get_selected (self->document, 0))
                : STUDIO_NO_ITEM;
  gtk_widget_set_visible (self->caption_card, self->presenting);
  if (i == STUDIO_NO_ITEM)
    {
      g_autofree char *title = studio_document_dup_title (self->document);
      gtk_label_set_text (GTK_LABEL (self->caption_label), title);
      keep_caption_height (self);
      return;
    }
  const StudioItem *item = &scene->item[i];
  g_autoptr (GString) text = g_string_new (NULL);
  append_equation (text, scene, item);
  if (item->n_outputs > 0 && item->output[0].typed)
    {
      g_autofree char *shape = loom_shape_to_string (&item->output[0].type.shape);
      g_string_append_printf (text, "   <span alpha='75%%'>%s</span>", shape);
    }
  g_autofree char *sign = dup_sign (item);
  if (item->op != NULL && item->op->formula != NULL && sign == NULL)
    {
      g_autofree char *formula = studio_formula_markup (item->op->formula);
      g_string_append_printf (text, "   <span alpha='75%%' size='85%%'>%s</span>", formula);
    }
  gtk_label_set_markup (GTK_LABEL (self->caption_label), text->str);
  keep_caption_height (self);
}

static void
selection_cb (StudioDocument *document, StudioWindow *self)
{
  show_caption (self);
}

static void
state_cb (StudioRun *run, StudioWindow *self)
{
  show_keys (self);
}

void
studio_window_set_presenting (StudioWindow *self, gboolean on)
{
  if (self->presenting == on)
    return;
  self->presenting = on;
  if (on)
    {
      gtk_window_fullscreen (GTK_WINDOW (self));
      if (studio_text_scale (GTK_WIDGET (self)) < LARGE_TEXT)
        gtk_widget_add_css_class (GTK_WIDGET (self), "presentation");
    }
  else
    {
      gtk_window_unfullscreen (GTK_WINDOW (self));
      gtk_widget_remove_css_class (GTK_WIDGET (self), "presentation");
      gtk_widget_set_visible (self->lr_card, FALSE);
    }
  studio_canvas_set_presentation (self->canvas, on);
  studio_run_panel_set_presentation (self->run_panel, on);
  studio_pins_set_presentation (self->pins, on ? self->stage : NULL);
  self->caption_room = 0;
  gtk_widget_set_size_request (self->caption_label, -1, -1);
  /* Where the text is large and the screen low, the map needs the room. */
  gtk_widget_set_visible (self->key_card, on && !is_crowded (self));
  studio_window_update_layout (self);
  show_keys (self);
  show_caption (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
  studio_window_fit_soon (self);
}

/* ---- the learning rate ------------------------------------------------------------------------- */

static void
close_lr_card (StudioWindow *self)
{
  gtk_widget_set_visible (self->lr_card, FALSE);
  gtk_widget_grab_focus (self->lr_return != NULL ? self->lr_return : GTK_WIDGET (self->canvas));
  g_clear_weak_pointer (&self->lr_return);
}

static void
lr_activate_cb (GtkEntry *entry, StudioWindow *self)
{
  char *end;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  double value = g_ascii_strtod (text, &end);
  if (*text == '\0' || *end != '\0' || !isfinite (value) || value <= 0)
    {
      gtk_widget_add_css_class (GTK_WIDGET (entry), "error");
      return;
    }
  gtk_widget_remove_css_class (GTK_WIDGET (entry), "error");
  if (studio_run_is_live (self->run))
    studio_run_set_hyper (self->run, "lr", value);
  else
    studio_window_toast (self, "Nothing trains now: the learning rate is in the training settings.");
  close_lr_card (self);
}

void
studio_window_ask_learning_rate (StudioWindow *self)
{
  if (!self->presenting)
    {
      studio_window_show_panel (self);
      studio_run_panel_focus_learning_rate (self->run_panel);
      return;
    }
  g_set_weak_pointer (&self->lr_return, gtk_root_get_focus (GTK_ROOT (self)));
  double lr = studio_run_get_lr (self->run);
  g_autofree char *text = isnan (lr) ? g_strdup ("") : g_strdup_printf ("%g", lr);
  gtk_editable_set_text (GTK_EDITABLE (self->lr_card_entry), text);
  gtk_widget_set_visible (self->lr_card, TRUE);
  gtk_widget_grab_focus (self->lr_card_entry);
  gtk_editable_select_region (GTK_EDITABLE (self->lr_card_entry), 0, -1);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

/* Weights and constants are not computed: they are named where they are used. */
static gboolean
is_station (const StudioItem *item)
{
  for (guint i = 0; i < item->n_inputs; i++)
    if (item->input[i].link != STUDIO_NO_ITEM)
      return TRUE;
  return item->op == NULL || item->op->role == LOOM_ROLE_DATASET || item->op->role == LOOM_ROLE_INPUT
         || item->op->role == LOOM_ROLE_MODULE_INPUT;
}

static gboolean
comes_before (const StudioScene *scene, guint a, guint b)
{
  const StudioItem *p = &scene->item[a], *q = &scene->item[b];
  return p->order != q->order ? p->order < q->order : a < b;
}

/* The station after (by 1) or before (by -1) the item at; the first or the last where at is none. */
static guint
next_station (const StudioScene *scene, guint at, int by)
{
  guint best = STUDIO_NO_ITEM;
  for (guint i = 0; i < scene->n_items; i++)
    {
      if (i == at || !is_station (&scene->item[i]))
        continue;
      if (at != STUDIO_NO_ITEM && (by > 0 ? comes_before (scene, i, at) : comes_before (scene, at, i)))
        continue;
      if (best == STUDIO_NO_ITEM || (by > 0 ? comes_before (scene, i, best) : comes_before (scene, best, i)))
        best = i;
    }
  return best;
}

static void
walk (StudioWindow *self, int by)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  gboolean one = studio_document_n_selected (self->document) == 1;
  guint at = one ? studio_scene_find (scene, studio_document_get_selected (self->document, 0)) : STUDIO_NO_ITEM;
  guint next = next_station (scene, at, by);
  if (next != STUDIO_NO_ITEM)
    studio_canvas_focus_path (self->canvas, scene->item[next].path);
}

/* ---- single keys --------------------------------------------------------------------------------- */

static gboolean
is_typing (StudioWindow *self)
{
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (self));
  return focus != NULL && (GTK_IS_EDITABLE (focus) || GTK_IS_TEXT_VIEW (focus));
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint keyval, guint keycode, GdkModifierType state, StudioWindow *self)
{
  if (!self->presenting || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  if (keyval == GDK_KEY_Escape)
    {
      if (gtk_widget_get_visible (self->lr_card))
        close_lr_card (self);
      else
        studio_window_set_presenting (self, FALSE);
      return GDK_EVENT_STOP;
    }
  if (is_typing (self))
    return GDK_EVENT_PROPAGATE;
  if (keyval == GDK_KEY_space)
    {
      studio_window_step (self);
      return GDK_EVENT_STOP;
    }
  if ((keyval == GDK_KEY_Right || keyval == GDK_KEY_Left) && (state & GDK_SHIFT_MASK) == 0)
    {
      /* Data flow to the right, wherever one reads from. */
      walk (self, keyval == GDK_KEY_Right ? 1 : -1);
      return GDK_EVENT_STOP;
    }
  if (keyval == GDK_KEY_l || keyval == GDK_KEY_L)
    {
      studio_window_ask_learning_rate (self);
      return GDK_EVENT_STOP;
    }
  return GDK_EVENT_PROPAGATE;
}

void
studio_window_setup_presentation (StudioWindow *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  g_signal_connect (self->lr_card_entry, "activate", G_CALLBACK (lr_activate_cb), self);
  g_signal_connect (self->document, "selection-changed", G_CALLBACK (selection_cb), self);
  g_signal_connect (self->run, "state-changed", G_CALLBACK (state_cb), self);
}

/* ---- for tests --------------------------------------------------------------------------------------- */

static void
print_rect (const char *what, const char *name, GtkWidget *from, GtkNative *window, const graphene_rect_t *rect)
{
  double x, y, dx, dy;
  gtk_native_get_surface_transform (window, &dx, &dy);
  if (!gtk_widget_translate_coordinates (from, GTK_WIDGET (window), rect->origin.x, rect->origin.y, &x, &y))
    return;
  g_printerr ("geometry %s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\n", what, name, x + dx, y + dy, rect->size.width,
              rect->size.height);
}

/* Where a wire's middle is, and the points that it is led through. */
static void
dump_wire (StudioWindow *self, const StudioScene *scene, guint link)
{
  const StudioLink *l = &scene->link[link];
  g_autofree char *name = g_strdup_printf ("%s → %s", scene->item[l->from].path, scene->item[l->to].path);
  graphene_point_t at;
  graphene_rect_t rect;
  studio_canvas_get_wire_point (self->canvas, link, STUDIO_NO_ITEM, &at);
  graphene_rect_init (&rect, at.x, at.y, 0, 0);
  print_rect ("middle", name, GTK_WIDGET (self->canvas), GTK_NATIVE (self), &rect);
  for (guint k = 0; k < l->n_points; k++)
    {
      studio_canvas_get_wire_point (self->canvas, link, k, &at);
      graphene_rect_init (&rect, at.x, at.y, 0, 0);
      print_rect ("point", name, GTK_WIDGET (self->canvas), GTK_NATIVE (self), &rect);
    }
}

static void
dump_cards (StudioWindow *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  GtkWidget *canvas = GTK_WIDGET (self->canvas);
  graphene_rect_t rect;
  graphene_point_t point;
  graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (canvas), (float)gtk_widget_get_height (canvas));
  print_rect ("canvas", "canvas", canvas, GTK_NATIVE (self), &rect);
  for (guint i = 0; scene != NULL && i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      if (!studio_canvas_get_card_rect (self->canvas, item->path, &rect))
        continue;
      print_rect ("card", item->path, canvas, GTK_NATIVE (self), &rect);
      if (item->fault != NULL)
        g_printerr ("geometry fault\t%s\t%s\n", item->path, item->fault);
      for (guint k = 0; k < item->n_inputs + item->n_outputs; k++)
        {
          gboolean output = k >= item->n_inputs;
          const char *port = output ? item->output[k - item->n_inputs].name : item->input[k].name;
          g_autofree char *name = g_strdup_printf ("%s.%s", item->path, port);
          if (!studio_canvas_get_port_point (self->canvas, item->path, output, port, &point))
            continue;
          graphene_rect_init (&rect, point.x, point.y, 0, 0);
          print_rect (output ? "output" : "input", name, canvas, GTK_NATIVE (self), &rect);
        }
    }
  for (guint i = 0; scene != NULL && i < scene->n_links; i++)
    {
      const StudioLink *link = &scene->link[i];
      g_printerr ("geometry wire\t%s\t%s\t%s\n", scene->item[link->from].path, scene->item[link->to].path, link->label);
      dump_wire (self, scene, i);
    }
}

static const char *
words_of (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget))
    return gtk_label_get_text (GTK_LABEL (widget));
  if (GTK_IS_EDITABLE (widget))
    {
      const char *text = gtk_editable_get_text (GTK_EDITABLE (widget));
      return *text != '\0' ? text : "(empty)";
    }
  /* The window's own button has neither words nor a tooltip. */
  if (GTK_IS_BUTTON (widget) && gtk_widget_has_css_class (widget, "close"))
    return "Close";
  return gtk_widget_get_tooltip_text (widget);
}

static void
dump_widgets (GtkNative *window, GtkWidget *widget)
{
  if (!gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget))
    return;
  const char *words = words_of (widget);
  if (words != NULL && *words != '\0')
    {
      graphene_rect_t rect;
      graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (widget), (float)gtk_widget_get_height (widget));
      g_autofree char *one_line = g_strdelimit (g_strdup (words), "\n\t", ' ');
      print_rect (G_OBJECT_TYPE_NAME (widget), one_line, widget, window, &rect);
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    dump_widgets (window, child);
}

void
studio_dump_widgets (GtkNative *window)
{
  dump_widgets (window, GTK_WIDGET (window));
}

void
studio_window_dump_geometry (StudioWindow *self)
{
  dump_cards (self);
  studio_dump_widgets (GTK_NATIVE (self));
  StudioRun *run = self->run;
  const char *tensor, *pid = studio_run_get_worker_pid (run);
  StudioHeatMap *map = studio_pins_get_map (self->pins, NULL, &tensor);
  double low = NAN, high = NAN;
  if (map != NULL)
    studio_heat_map_get_range (map, &low, &high);
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (self));
  g_autofree char *selected = studio_window_dup_selected_path (self);
  g_autofree char *folder = g_strdup (studio_run_get_folder (run));
  g_printerr (
      "geometry state\trun=%s\tstep=%" G_GINT64_FORMAT "\tloss=%.17g\tpoints=%zu\tprevious=%zu\tmarks=%u\tpid=%s"
      "\tpause_ms=%.1f\tmap_step=%" G_GINT64_FORMAT
      "\tmap_low=%g\tmap_high=%g\tchanges=%u\tfaults=%u\tfocus=%s\tselected=%s"
      "\tcheckpoint=%" G_GINT64_FORMAT "\tfolder=%s\tpresenting=%d\tdevice=%s\n",
      studio_run_state_word (studio_run_get_state (run)), studio_run_get_step (run), studio_run_get_loss (run),
      studio_series_length (studio_run_get_train (run, -1)),
      studio_run_get_previous (run, -1) != NULL ? studio_series_length (studio_run_get_previous (run, -1)) : 0,
      studio_run_n_marks (run), pid != NULL ? pid : "-", studio_run_get_pause_ms (run),
      map != NULL ? studio_heat_map_get_step (map) : -1, low, high, studio_document_run_changes (self->document),
      loom_faults_count (studio_document_get_faults (self->document)), focus != NULL ? G_OBJECT_TYPE_NAME (focus) : "-",
      selected != NULL ? selected : "-", studio_run_get_checkpoint_step (run), folder != NULL ? folder : "-",
      self->presenting, studio_run_get_memory_device (run));
  g_printerr ("geometry end\n");
}
