/* The palette's rows come from the operator table; the modules of the graph follow below them. */
#include "ui/studio-palette.h"

#include <string.h>

struct _StudioPalette
{
  GtkWidget parent_instance;

  StudioDocument *document;
  StudioCanvas *canvas; /* a weak pointer */
  GtkWidget *entry, *list, *empty, *stack;
  char *words;
  char *modules; /* their names, to see when they change */
};

G_DEFINE_FINAL_TYPE (StudioPalette, studio_palette, GTK_TYPE_WIDGET)

#define MODULES LOOM_N_CATEGORIES

typedef struct
{
  char *name, *search;
  gboolean is_module;
  guint category;
} Entry;

static void
entry_free (Entry *entry)
{
  g_free (entry->name);
  g_free (entry->search);
  g_free (entry);
}

static Entry *
row_entry (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "entry");
}

static GdkContentProvider *
drag_prepare_cb (GtkDragSource *source, double x, double y, GtkListBoxRow *row)
{
  Entry *entry = row_entry (row);
  StudioDragOp *op = studio_drag_op_new (entry->name, entry->is_module);
  GdkContentProvider *provider = gdk_content_provider_new_typed (STUDIO_TYPE_DRAG_OP, op);

  g_boxed_free (STUDIO_TYPE_DRAG_OP, op);
  return provider;
}

static void
drag_begin_cb (GtkDragSource *source, GdkDrag *drag, GtkWidget *row)
{
  g_autoptr (GdkPaintable) live = gtk_widget_paintable_new (row);
  /* A still picture: the row may be laid out anew while it is dragged. */
  g_autoptr (GdkPaintable) icon = gdk_paintable_get_current_image (live);

  gtk_drag_source_set_icon (source, icon, 12, 12);
}

static void
add_row (StudioPalette *self, const char *icon, const char *title, const char *doc, const char *name, guint category,
         gboolean is_module)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (title);
  GtkDragSource *source = gtk_drag_source_new ();
  Entry *entry = g_new0 (Entry, 1);
  g_autofree char *search = g_strjoin (" ", title, name, doc, NULL);

  entry->name = g_strdup (name);
  entry->search = g_utf8_casefold (search, -1);
  entry->category = category;
  entry->is_module = is_module;
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_box_append (GTK_BOX (box), gtk_image_new_from_icon_name (icon));
  gtk_box_append (GTK_BOX (box), label);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_widget_set_tooltip_text (row, doc);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, doc != NULL ? doc : "", -1);
  g_object_set_data_full (G_OBJECT (row), "entry", entry, (GDestroyNotify)entry_free);
  gtk_drag_source_set_actions (source, GDK_ACTION_COPY);
  g_signal_connect (source, "prepare", G_CALLBACK (drag_prepare_cb), row);
  g_signal_connect (source, "drag-begin", G_CALLBACK (drag_begin_cb), row);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (source));
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
}

static void
header_cb (GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  guint category = row_entry (row)->category;
  GtkWidget *label;

  if (before != NULL && row_entry (before)->category == category)
    {
      gtk_list_box_row_set_header (row, NULL);
      return;
    }
  label = gtk_label_new (category == MODULES ? "Modules" : loom_category_title (category));
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  gtk_widget_set_margin_start (label, 12);
  gtk_widget_set_margin_top (label, before == NULL ? 6 : 18);
  gtk_widget_set_margin_bottom (label, 6);
  gtk_list_box_row_set_header (row, label);
}

static gboolean
filter_cb (GtkListBoxRow *row, gpointer data)
{
  StudioPalette *self = data;

  return self->words == NULL || strstr (row_entry (row)->search, self->words) != NULL;
}

static GtkListBoxRow *
first_match (StudioPalette *self)
{
  GtkListBoxRow *row;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (filter_cb (row, self))
      return row;
  return NULL;
}

static void
search_cb (StudioPalette *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));

  g_free (self->words);
  self->words = g_utf8_casefold (text, -1);
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_stack_set_visible_child (GTK_STACK (self->stack),
                               first_match (self) != NULL ? gtk_widget_get_first_child (self->stack) : self->empty);
}

static void
add (StudioPalette *self, GtkListBoxRow *row)
{
  Entry *entry = row_entry (row);

  if (self->canvas != NULL)
    studio_canvas_add (self->canvas, entry->name, entry->is_module);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioPalette *self)
{
  add (self, row);
}

static void
entry_activate_cb (StudioPalette *self)
{
  GtkListBoxRow *row = first_match (self);

  if (row != NULL && self->words != NULL && self->words[0] != '\0')
    add (self, row);
}

static void
stop_cb (StudioPalette *self)
{
  gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
  if (self->canvas != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
fill (StudioPalette *self)
{
  LoomElement *root = loom_graph_root (studio_document_get_graph (self->document));
  g_autoptr (GString) modules = g_string_new (NULL);
  GtkListBoxRow *row;

  for (guint i = 0; i < loom_element_n_children (root); i++)
    if (loom_element_tag (loom_element_child (root, i)) == LOOM_TAG_MODULE
        && loom_element_get (loom_element_child (root, i), "name") != NULL)
      g_string_append_printf (modules, "%s\n", loom_element_get (loom_element_child (root, i), "name"));
  if (g_strcmp0 (modules->str, self->modules) == 0)
    return;
  if (self->modules == NULL)
    for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
      if ((*op)->category != LOOM_CATEGORY_HIDDEN)
        add_row (self, (*op)->icon, (*op)->title, (*op)->doc, (*op)->name, (*op)->category, FALSE);
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL;)
    if (row_entry (row)->is_module)
      gtk_list_box_remove (GTK_LIST_BOX (self->list), GTK_WIDGET (row));
    else
      i++;
  {
    g_auto (GStrv) names = g_strsplit (modules->str, "\n", -1);

    for (guint i = 0; names[i] != NULL; i++)
      if (names[i][0] != '\0')
        add_row (self, "view-grid-symbolic", names[i], "A module of this graph", names[i], MODULES, TRUE);
  }
  g_free (self->modules);
  self->modules = g_strdup (modules->str);
}

static void
studio_palette_dispose (GObject *object)
{
  StudioPalette *self = STUDIO_PALETTE (object);
  GtkWidget *child;

  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_weak_pointer (&self->canvas);
  g_clear_object (&self->document);
  g_clear_pointer (&self->words, g_free);
  g_clear_pointer (&self->modules, g_free);
  G_OBJECT_CLASS (studio_palette_parent_class)->dispose (object);
}

static void
studio_palette_class_init (StudioPaletteClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_palette_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "studiopalette");
}

static void
studio_palette_init (StudioPalette *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new ();

  self->entry = gtk_search_entry_new ();
  self->list = gtk_list_box_new ();
  self->stack = gtk_stack_new ();
  self->empty = gtk_label_new ("No layer of this name");
  gtk_widget_add_css_class (self->empty, "dim-label");
  g_object_set (self->entry, "placeholder-text", "Search layers", "margin-top", 6, "margin-bottom", 6, "margin-start",
                6, "margin-end", 6, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, "Search layers", -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL, "Layers", -1);
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_list_box_set_activate_on_single_click (GTK_LIST_BOX (self->list), FALSE);
  gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), header_cb, NULL, NULL);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_cb, self, NULL);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->list);
  gtk_widget_set_vexpand (self->stack, TRUE);
  gtk_stack_add_child (GTK_STACK (self->stack), scroller);
  gtk_stack_add_child (GTK_STACK (self->stack), self->empty);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), self->stack);
  gtk_widget_set_parent (box, GTK_WIDGET (self));
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (search_cb), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (entry_activate_cb), self);
  g_signal_connect_swapped (self->entry, "stop-search", G_CALLBACK (stop_cb), self);
  g_signal_connect (self->list, "row-activated", G_CALLBACK (row_activated_cb), self);
}

StudioPalette *
studio_palette_new (StudioDocument *document, StudioCanvas *canvas)
{
  StudioPalette *self = g_object_new (STUDIO_TYPE_PALETTE, NULL);

  self->document = g_object_ref (document);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (fill), self);
  fill (self);
  return self;
}

void
studio_palette_focus_search (StudioPalette *self)
{
  gtk_widget_grab_focus (self->entry);
}
