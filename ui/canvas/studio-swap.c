/* A search over the operators that could stand in a layer's place with its wires: choosing one swaps it. */
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/document/studio-search.h"

typedef struct
{
  StudioCanvas *canvas; /* the popover's parent */
  GtkWidget *popover, *entry, *list;
  guint64 serial;
  char *words;
} Swap;

typedef struct
{
  const LoomOp *op;
  StudioSearchKey *key;
  guint rank;
  gboolean is_kin; /* of the same category as what it replaces */
} Choice;

static void
swap_free (gpointer data)
{
  Swap *self = data;

  g_free (self->words);
  g_free (self);
}

static void
choice_free (gpointer data)
{
  Choice *choice = data;

  studio_search_key_free (choice->key);
  g_free (choice);
}

static Choice *
row_choice (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "choice");
}

static gboolean
filter_cb (GtkListBoxRow *row, gpointer data)
{
  return row_choice (row)->rank > 0;
}

static int
sort_cb (GtkListBoxRow *a, GtkListBoxRow *b, gpointer data)
{
  const Choice *p = row_choice (a), *q = row_choice (b);

  if (p->rank != q->rank)
    return p->rank < q->rank ? 1 : -1;
  if (p->is_kin != q->is_kin)
    return p->is_kin ? -1 : 1;
  return strcmp (p->op->title, q->op->title);
}

static void
search_cb (Swap *self)
{
  GtkListBoxRow *row;

  g_free (self->words);
  self->words = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->entry))));
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    row_choice (row)->rank = studio_search_rank (row_choice (row)->key, self->words);
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_sort (GTK_LIST_BOX (self->list));
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (filter_cb (row, self))
      break;
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
}

static void
choose (Swap *self, GtkListBoxRow *row)
{
  StudioCanvas *canvas = self->canvas;
  guint64 serial = self->serial;
  const char *op = row_choice (row)->op->name;

  gtk_popover_popdown (GTK_POPOVER (self->popover));
  studio_document_swap (canvas->document, serial, op);
  studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), serial), TRUE);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, Swap *self)
{
  choose (self, row);
}

static void
entry_activate_cb (GtkSearchEntry *entry, Swap *self)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (row != NULL)
    choose (self, row);
}

static void
stop_cb (GtkSearchEntry *entry, Swap *self)
{
  gtk_popover_popdown (GTK_POPOVER (self->popover));
}

/* The arrows walk through the list while the entry keeps the focus. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Swap *self)
{
  int by = key == GDK_KEY_Down ? 1 : key == GDK_KEY_Up ? -1 : 0;
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (by == 0)
    return FALSE;
  for (int i = row != NULL ? gtk_list_box_row_get_index (row) + by : 0;
       i >= 0 && (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i += by)
    if (filter_cb (row, self))
      {
        gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
        break;
      }
  return TRUE;
}

static gboolean
unparent_idle (gpointer data)
{
  gtk_widget_unparent (data);
  g_object_unref (data);
  return G_SOURCE_REMOVE;
}

static void
closed_cb (GtkPopover *popover, Swap *self)
{
  if (self->canvas->popover == GTK_WIDGET (popover))
    self->canvas->popover = NULL;
  if (gtk_widget_get_parent (GTK_WIDGET (popover)) != NULL)
    g_idle_add (unparent_idle, g_object_ref (popover));
}

static void
add_row (Swap *self, const LoomOp *op, gboolean is_kin)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (op->title), *side = gtk_label_new (loom_category_title (op->category));
  Choice *choice = g_new0 (Choice, 1);

  choice->op = op;
  choice->key = studio_search_key_new (op);
  choice->is_kin = is_kin;
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_widget_add_css_class (side, "dim-label");
  gtk_widget_add_css_class (side, "caption");
  g_object_set (box, "margin-top", 4, "margin-bottom", 4, "margin-start", 6, "margin-end", 6, NULL);
  gtk_box_append (GTK_BOX (box), gtk_image_new_from_icon_name (op->icon));
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), side);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "choice", choice, choice_free);
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
}

static void
build (Swap *self, const char *hint)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *scroller = gtk_scrolled_window_new ();
  GtkWidget *none = gtk_label_new ("No layer of this name takes the wires");
  GtkEventController *key = gtk_event_controller_key_new ();

  self->popover = gtk_popover_new ();
  self->entry = gtk_search_entry_new ();
  self->list = gtk_list_box_new ();
  g_object_set_data_full (G_OBJECT (self->popover), "swap", self, swap_free);
  g_object_set (self->entry, "placeholder-text", hint, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, hint, -1);
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_widget_add_css_class (none, "dim-label");
  g_object_set (none, "margin-top", 24, "margin-bottom", 24, "wrap", TRUE, NULL);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_cb, self, NULL);
  gtk_list_box_set_sort_func (GTK_LIST_BOX (self->list), sort_cb, self, NULL);
  gtk_list_box_set_placeholder (GTK_LIST_BOX (self->list), none);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->list);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_size_request (scroller, 300, 260);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_popover_set_child (GTK_POPOVER (self->popover), box);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->popover), FALSE);
  gtk_popover_set_position (GTK_POPOVER (self->popover), GTK_POS_BOTTOM);
  gtk_widget_set_parent (self->popover, GTK_WIDGET (self->canvas));
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (search_cb), self);
  g_signal_connect (self->entry, "activate", G_CALLBACK (entry_activate_cb), self);
  g_signal_connect (self->entry, "stop-search", G_CALLBACK (stop_cb), self);
  g_signal_connect (self->list, "row-activated", G_CALLBACK (row_activated_cb), self);
  g_signal_connect (self->popover, "closed", G_CALLBACK (closed_cb), self);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->entry, key);
}

void
studio_swap_popup (StudioCanvas *canvas)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  guint current = studio_canvas_current (canvas);
  const StudioItem *item = current != STUDIO_NO_ITEM ? &scene->item[current] : NULL;
  g_autofree char *hint = NULL;
  GdkRectangle at = { 0, 0, 1, 1 };
  Swap *self;
  double x, y;

  if (item == NULL || item->is_module)
    {
      studio_canvas_say (canvas, "Select the one layer that another is to take the place of first.");
      return;
    }
  if (canvas->popover != NULL)
    gtk_popover_popdown (GTK_POPOVER (canvas->popover));
  self = g_new0 (Swap, 1);
  self->canvas = canvas;
  self->serial = item->serial;
  hint = g_strdup_printf ("Swap %s for", item->id);
  build (self, hint);
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    if (studio_document_can_swap (canvas->document, item->serial, *op))
      add_row (self, *op, item->op != NULL && (*op)->category == item->op->category);
  studio_view_to_screen (&canvas->view, item->x + item->width / 2, item->y + item->height, &x, &y);
  at.x = (int)CLAMP (x, 0, canvas->view.width);
  at.y = (int)CLAMP (y, 0, canvas->view.height);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->popover), &at);
  canvas->popover = self->popover;
  search_cb (self);
  gtk_popover_popup (GTK_POPOVER (self->popover));
  gtk_widget_grab_focus (self->entry);
}
