/* The inspector is generated: a row per parameter in the operator's descriptor, then outputs and costs. Rows are built
 * when the selection changes and only updated when the graph does, so that a focused entry keeps its cursor. */
#include "ui/inspector/studio-inspector-private.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/document/studio-document-net.h"
#include "ui/inspector/studio-formula-field.h"

G_DEFINE_FINAL_TYPE (StudioInspector, studio_inspector, GTK_TYPE_WIDGET)

enum
{
  WALK_MS = 120 /* selections in faster succession are of a held key, which repeats every 30 to 50 ms */
};

static guint left_signal;

void
inspector_return_focus (StudioInspector *self)
{
  g_signal_emit (self, left_signal, 0);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioInspector *self)
{
  if (key != GDK_KEY_Escape || (state & gtk_accelerator_get_default_mod_mask ()) != 0)
    return FALSE;
  inspector_return_focus (self);
  return TRUE;
}

/* A new page is shown from its beginning, even during kinetic scrolling, which ends only if it is switched off. */
static void
scroll_to_top (GtkScrolledWindow *scroller)
{
  gtk_scrolled_window_set_kinetic_scrolling (scroller, FALSE);
  gtk_scrolled_window_set_kinetic_scrolling (scroller, TRUE);
  gtk_adjustment_set_value (gtk_scrolled_window_get_vadjustment (scroller), 0);
}

/* Shows a node's values in the existing rows, which may be of another node; FALSE if it needs other rows. */
static gboolean
refresh_rows_of_node (StudioInspector *self, const StudioItem *item)
{
  if (g_strcmp0 (self->shown, item->kind) != 0)
    return FALSE;
  if (item->serial == self->serial)
    {
      inspector_refresh_node (self);
      return TRUE;
    }
  if (!inspector_rebind_node (self, item))
    return FALSE;
  scroll_to_top (GTK_SCROLLED_WINDOW (self->page));
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "selection");
  return TRUE;
}

/* Shows the selected values in the existing rows; FALSE if they were built for another kind of selection. */
static gboolean
refresh_rows (StudioInspector *self, StudioScene *scene)
{
  const guint n = studio_document_n_selected (self->document);
  const guint64 serial = n == 1 ? studio_document_get_selected (self->document, 0) : 0;
  const guint item = n == 1 ? studio_scene_find (scene, serial) : STUDIO_NO_ITEM;

  if (item != STUDIO_NO_ITEM && !scene->item[item].is_frame)
    return refresh_rows_of_node (self, &scene->item[item]);
  if (n > 1 && inspector_shows_several (self))
    inspector_refresh_several (self);
  else if (serial == 0 || serial != self->serial)
    return FALSE;
  else if (item != STUDIO_NO_ITEM || studio_scene_find_annotation (scene, serial) != STUDIO_NO_ITEM)
    {
      self->updating = TRUE;
      for (guint r = 0; r < self->rows->len; r++)
        inspector_refresh_row (self->rows->pdata[r]);
      self->updating = FALSE;
    }
  else
    return FALSE;
  return TRUE;
}

static void
stop_building (StudioInspector *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->tick);
  self->tick = 0;
  g_clear_handle_id (&self->building, g_source_remove);
}

/* Builds the rows for the selection. */
static void
build (StudioInspector *self)
{
  const guint n = studio_document_n_selected (self->document);
  const guint64 serial = n == 1 ? studio_document_get_selected (self->document, 0) : 0;

  stop_building (self);
  if (n == 0 && inspector_release_node (self))
    {
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
      return;
    }
  inspector_clear (self);
  scroll_to_top (GTK_SCROLLED_WINDOW (self->page));
  g_clear_pointer (&self->shown, g_free);
  if (n == 0)
    {
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
      return;
    }
  /* The net determines how weights can be split; a new net is followed by a new scene. */
  if (n == 1)
    studio_document_get_net (self->document);
  StudioScene *scene = studio_document_get_scene (self->document);
  guint item = n == 1 ? studio_scene_find (scene, serial) : STUDIO_NO_ITEM;
  /* A collapsed frame is edited like an open one. */
  const gboolean frame = item != STUDIO_NO_ITEM && scene->item[item].is_frame;
  if (frame)
    item = STUDIO_NO_ITEM;
  if (item != STUDIO_NO_ITEM)
    {
      self->shown = g_strdup (scene->item[item].kind);
      inspector_build_node (self, &scene->item[item]);
    }
  else if (n == 1)
    {
      guint link = studio_scene_find_link (scene, serial), annotation = studio_scene_find_annotation (scene, serial);

      if (frame)
        inspector_build_annotation (self, &(StudioAnnotation){ .serial = serial });
      else if (annotation != STUDIO_NO_ITEM)
        inspector_build_annotation (self, &scene->annotation[annotation]);
      else if (link != STUDIO_NO_ITEM)
        inspector_build_link (self, scene, &scene->link[link]);
    }
  else
    {
      g_autofree char *text = g_strdup_printf (ngettext ("%u selected", "%u selected", n), n);

      inspector_add_label (self, text, "title-4");
      inspector_add_label (self, _ ("Press Alt and an arrow key to move them, or Delete to remove them."), "dim-label");
      inspector_build_several (self);
      self->preview = inspector_add_label (self, "", "numeric");
      gtk_widget_set_visible (self->preview, FALSE);
    }
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "selection");
}

static gboolean
build_cb (gpointer data)
{
  StudioInspector *self = data;

  self->building = 0;
  build (self);
  return G_SOURCE_REMOVE;
}

static gboolean
tick_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioInspector *self = STUDIO_INSPECTOR (widget);

  self->tick = 0;
  self->building = g_idle_add_full (GDK_PRIORITY_REDRAW + 1, build_cb, self, NULL);
  return G_SOURCE_REMOVE;
}

/* Building the rows of another node takes some 20 ms, as long as everything else that a key does, so the canvas is
 * painted first. While a held key moves over the cards, intermediate rows would only delay the next key, so rows are
 * built only for the last card. */
static void
show_selection (StudioInspector *self, gboolean walks)
{
  const guint n = studio_document_n_selected (self->document);
  const gboolean is_shown = gtk_widget_get_mapped (GTK_WIDGET (self));

  /* Typed text belongs to the node that was selected before. */
  if ((n == 1 ? studio_document_get_selected (self->document, 0) : 0) != self->serial)
    inspector_commit_typed (self);
  /* In the middle of an edit, rows and a scene would be made for a net that is about to change: the new one is waited
   * for, which shows the selection. */
  if (n > 0 && !studio_document_has_net (self->document))
    return;
  /* In a window where it is not seen, it waits until it is. */
  self->is_stale = !is_shown && gtk_widget_get_root (GTK_WIDGET (self)) != NULL;
  if (self->is_stale)
    {
      stop_building (self);
      return;
    }
  if (n > 0 && refresh_rows (self, studio_document_get_scene (self->document)))
    {
      stop_building (self);
      return;
    }
  if (n == 0 || !is_shown)
    {
      build (self);
      return;
    }
  inspector_end_preview (self);
  if (walks)
    {
      stop_building (self);
      self->building = g_timeout_add (WALK_MS, build_cb, self);
    }
  else if (self->tick == 0 && self->building == 0)
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), tick_cb, NULL, NULL);
}

static void
selection_changed_cb (StudioInspector *self)
{
  const gint64 now = g_get_monotonic_time ();
  const gboolean walks = now - self->changed < WALK_MS * G_TIME_SPAN_MILLISECOND;

  self->changed = now;
  show_selection (self, walks);
}

static void
net_changed_cb (StudioInspector *self)
{
  /* Another operator with the same serial, for example after a quick fix, needs other rows. */
  show_selection (self, FALSE);
}

static void
map_cb (StudioInspector *self)
{
  if (self->is_stale)
    show_selection (self, FALSE);
}

/* ---- object --------------------------------------------------------------------- */

static void
studio_inspector_dispose (GObject *object)
{
  StudioInspector *self = STUDIO_INSPECTOR (object);
  GtkWidget *child;

  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  stop_building (self);
  self->updating = TRUE;
  self->serial = 0;
  self->fault = self->preview = NULL;
  inspector_end_preview (self);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_object (&self->document);
  g_clear_pointer (&self->shown, g_free);
  g_clear_pointer (&self->source, g_free);
  G_OBJECT_CLASS (studio_inspector_parent_class)->dispose (object);
}

static void
studio_inspector_finalize (GObject *object)
{
  StudioInspector *self = STUDIO_INSPECTOR (object);

  g_strfreev (self->devices);
  g_clear_pointer (&self->ways, g_ptr_array_unref);
  g_free (self->layout);
  g_ptr_array_unref (self->rows);
  g_array_unref (self->several);
  g_ptr_array_unref (self->output_rows);
  g_ptr_array_unref (self->cost_rows);
  G_OBJECT_CLASS (studio_inspector_parent_class)->finalize (object);
}

static void
studio_inspector_class_init (StudioInspectorClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_inspector_dispose;
  G_OBJECT_CLASS (klass)->finalize = studio_inspector_finalize;
  /* Returns the focus to the widget that had it before the field. */
  left_signal = studio_signal_new ("left", G_TYPE_FROM_CLASS (klass), 0);
  studio_signal_new ("sweep", G_TYPE_FROM_CLASS (klass), 3, G_TYPE_UINT64, G_TYPE_STRING, G_TYPE_STRV);
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "studioinspector");
}

/* Each page scrolls separately and keeps its position. Nothing around them may scroll: of two nested scrollers the
 * inner one would get the wheel and the outer one the space. */
static GtkWidget *
new_page (GtkWidget *child)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), child);
  return scroller;
}

static void
studio_inspector_init (StudioInspector *self)
{
  GtkEventController *key = gtk_event_controller_key_new ();

  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), key);
  g_signal_connect_after (self, "map", G_CALLBACK (map_cb), NULL);
  self->ways = g_ptr_array_new ();
  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify)inspector_row_free);
  self->several = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->output_rows = g_ptr_array_new_with_free_func (inspector_fact_free);
  self->cost_rows = g_ptr_array_new_with_free_func (inspector_fact_free);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  g_object_set (self->box, "margin-top", 12, "margin-bottom", 12, "margin-start", 12, "margin-end", 12, NULL);
  self->page = new_page (self->box);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), self->page, "selection");
  self->empty = gtk_label_new (_ ("Select a card to see its parameters"));
  gtk_label_set_wrap (GTK_LABEL (self->empty), TRUE);
  gtk_widget_add_css_class (self->empty, "dim-label");
  gtk_stack_add_named (GTK_STACK (self->stack), self->empty, "empty");
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
  gtk_widget_set_parent (self->stack, GTK_WIDGET (self));
}

StudioInspector *
studio_inspector_new (StudioDocument *document)
{
  StudioInspector *self = g_object_new (STUDIO_TYPE_INSPECTOR, NULL);

  self->document = g_object_ref (document);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (net_changed_cb), self);
  selection_changed_cb (self);
  return self;
}

void
studio_inspector_set_empty_widget (StudioInspector *self, GtkWidget *widget)
{
  gboolean shown = gtk_stack_get_visible_child (GTK_STACK (self->stack)) == self->empty;

  gtk_stack_remove (GTK_STACK (self->stack), self->empty);
  self->empty = new_page (widget);
  gtk_stack_add_named (GTK_STACK (self->stack), self->empty, "empty");
  if (shown)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
}

void
studio_inspector_set_devices (StudioInspector *self, const char *const *devices)
{
  char **old = self->devices;

  self->devices = g_strdupv ((char **)devices);
  /* The rows contain the old list, so they are rebuilt. */
  g_clear_pointer (&self->shown, g_free);
  selection_changed_cb (self);
  g_strfreev (old);
}

void
studio_inspector_commit_typed (StudioInspector *self)
{
  inspector_commit_typed (self);
}

void
studio_inspector_focus (StudioInspector *self)
{
  GtkWidget *first;

  if (self->tick != 0 || self->building != 0)
    build (self);
  first = self->rows->len > 0 ? ((InspectorRow *)g_ptr_array_index (self->rows, 0))->editor : NULL;
  if (first != NULL && STUDIO_IS_FORMULA_FIELD (first))
    studio_formula_field_focus (STUDIO_FORMULA_FIELD (first));
  else if (first != NULL)
    gtk_widget_grab_focus (first);
  else if (self->name != NULL)
    gtk_widget_grab_focus (self->name);
}
