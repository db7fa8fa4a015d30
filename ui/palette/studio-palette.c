/* Fills the palette from the table of operators, then with the modules of the graph and of the library.
 *
 * Each category shows the layers of a first course; a row with the number of the others unfolds them, so that all
 * categories are visible despite two hundred operators. The search covers all operators, and Enter adds the best match,
 * which comes first. */
#include "ui/palette/studio-palette.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-icon.h"
#include "ui/charts/studio-template.h"
#include "ui/document/studio-library.h"
#include "ui/document/studio-search.h"
#include "ui/palette/studio-palette-menu.h"

#define MODULES LOOM_N_CATEGORIES
#define LIBRARY (MODULES + 1)

struct _StudioPalette
{
  AdwBin parent_instance;

  StudioDocument *document;
  StudioCanvas *canvas; /* a weak pointer */
  GtkWidget *entry, *list, *empty, *stack, *scroller;
  char *words;    /* the search text; "" for none */
  char *modules;  /* their names, to detect changes */
  char **offered; /* names of the operators to show; NULL: all */
  guint n_rows;
  gboolean unfolded[LIBRARY + 1];
};

G_DEFINE_FINAL_TYPE (StudioPalette, studio_palette, ADW_TYPE_BIN)

typedef struct
{
  char *name;
  StudioSearchKey *key;
  gboolean is_module, is_usual;
  GtkWidget *fold; /* the label of the row that unfolds the category; NULL for other rows */
  guint category, order, rank;
  guint n_folded; /* number of rows that are folded */
} Entry;

static void
entry_free (Entry *entry)
{
  g_free (entry->name);
  studio_search_key_free (entry->key);
  g_free (entry);
}

static Entry *
row_entry (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "entry");
}

static gboolean
is_searching (StudioPalette *self)
{
  return self->words[0] != '\0';
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
  /* A static picture, because the row may be laid out again during the drag. */
  g_autoptr (GdkPaintable) icon = gdk_paintable_get_current_image (live);

  gtk_drag_source_set_icon (source, icon, 12, 12);
}

/* Sorts rows by category; the row that unfolds it is the last of its category. */
static Entry *
add_list_row (StudioPalette *self, GtkWidget *row, GtkWidget *child, guint category)
{
  Entry *entry = g_new0 (Entry, 1);

  entry->category = category;
  entry->order = self->n_rows++;
  entry->rank = 1;
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), child);
  g_object_set_data_full (G_OBJECT (row), "entry", entry, (GDestroyNotify)entry_free);
  return entry;
}

static void
add_row (StudioPalette *self, const char *icon, const char *title, const char *doc, const char *name, guint category,
         StudioSearchKey *key)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (title);
  GtkDragSource *source = gtk_drag_source_new ();
  Entry *entry = add_list_row (self, row, box, category);

  entry->name = g_strdup (name);
  entry->key = key;
  entry->is_module = category >= MODULES;
  entry->is_usual = entry->is_module || loom_op (name)->usual;
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  /* Similar titles differ at their ends: "Transposed convolution 1D", "… 2D". */
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_box_append (GTK_BOX (box), studio_icon_image_new (self->list, icon));
  gtk_box_append (GTK_BOX (box), label);
  gtk_widget_set_tooltip_text (row, doc);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, doc != NULL ? doc : "", -1);
  gtk_drag_source_set_actions (source, GDK_ACTION_COPY);
  g_signal_connect (source, "prepare", G_CALLBACK (drag_prepare_cb), row);
  g_signal_connect (source, "drag-begin", G_CALLBACK (drag_begin_cb), row);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (source));
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
}

static void
update_fold_label (StudioPalette *self, GtkListBoxRow *row)
{
  Entry *entry = row_entry (row);
  gboolean open = self->unfolded[entry->category];
  g_autofree char *text = open ? g_strdup (_ ("Fewer"))
                               : g_strdup_printf (ngettext ("%u more", "%u more", entry->n_folded), entry->n_folded);
  g_autofree char *label = g_strdup_printf (open ? _ ("Fewer of %s")
                                                 : ngettext ("%2$u more of %1$s", "%2$u more of %1$s", entry->n_folded),
                                            _ (loom_category_title (entry->category)), entry->n_folded);

  gtk_label_set_text (GTK_LABEL (entry->fold), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_accessible_update_state (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_STATE_EXPANDED, open, -1);
}

static void
toggle_fold (StudioPalette *self, GtkListBoxRow *row)
{
  guint category = row_entry (row)->category;

  self->unfolded[category] = !self->unfolded[category];
  update_fold_label (self, row);
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
}

static void
fold_released_cb (GtkGestureClick *gesture, int n_press, double x, double y, StudioPalette *self)
{
  toggle_fold (self, GTK_LIST_BOX_ROW (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture))));
}

static void
add_fold (StudioPalette *self, guint category, guint n_folded)
{
  GtkWidget *row = gtk_list_box_row_new (), *label = gtk_label_new (NULL);
  GtkGesture *click = gtk_gesture_click_new ();
  Entry *entry = add_list_row (self, row, label, category);

  entry->fold = label;
  entry->n_folded = n_folded;
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_margin_start (label, 28);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_list_box_row_set_selectable (GTK_LIST_BOX_ROW (row), FALSE);
  g_signal_connect (click, "released", G_CALLBACK (fold_released_cb), self);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (click));
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
  update_fold_label (self, GTK_LIST_BOX_ROW (row));
}

static void
header_cb (GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  StudioPalette *self = data;
  guint category = row_entry (row)->category;
  GtkWidget *label;

  /* Ranked rows may be of any category. */
  if (is_searching (self) || (before != NULL && row_entry (before)->category == category))
    {
      gtk_list_box_row_set_header (row, NULL);
      return;
    }
  label = gtk_label_new (category == LIBRARY   ? _ ("Library")
                         : category == MODULES ? _ ("Modules")
                                               : _ (loom_category_title (category)));
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
  Entry *entry = row_entry (row);

  if (self->offered != NULL)
    return entry->fold == NULL && (!is_searching (self) || entry->rank > 0)
           && g_strv_contains ((const char *const *)self->offered, entry->name);
  if (is_searching (self))
    return entry->fold == NULL && entry->rank > 0;
  return entry->fold != NULL || entry->is_usual || self->unfolded[entry->category];
}

static int
sort_cb (GtkListBoxRow *a, GtkListBoxRow *b, gpointer data)
{
  StudioPalette *self = data;
  Entry *p = row_entry (a), *q = row_entry (b);

  if (is_searching (self) && p->rank != q->rank)
    return p->rank < q->rank ? 1 : -1;
  if (p->category != q->category)
    return p->category < q->category ? -1 : 1;
  return p->order < q->order ? -1 : p->order > q->order;
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
rank_rows (StudioPalette *self)
{
  GtkListBoxRow *row;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (row_entry (row)->key != NULL)
      row_entry (row)->rank = studio_search_rank (row_entry (row)->key, self->words);
}

/* The best match is selected, because Enter adds the selected row. */
static void
search_cb (StudioPalette *self)
{
  g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->entry))));
  GtkListBoxRow *first;

  if (strcmp (text, self->words) == 0)
    return;
  g_free (self->words);
  self->words = g_steal_pointer (&text);
  rank_rows (self);
  gtk_list_box_invalidate_sort (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_headers (GTK_LIST_BOX (self->list));
  first = first_match (self);
  gtk_stack_set_visible_child (GTK_STACK (self->stack), first != NULL ? self->scroller : self->empty);
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), is_searching (self) ? first : NULL);
  gtk_adjustment_set_value (gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
}

static void
add (StudioPalette *self, GtkListBoxRow *row)
{
  Entry *entry = row_entry (row);

  if (entry->fold != NULL)
    toggle_fold (self, row);
  else if (self->canvas != NULL)
    studio_canvas_add (self->canvas, entry->name, entry->is_module);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioPalette *self)
{
  /* A double click on the row that unfolds has been handled as two clicks. */
  if (row_entry (row)->fold == NULL)
    add (self, row);
}

static void
add_selected (GtkWidget *widget, const char *action, GVariant *parameter)
{
  StudioPalette *self = STUDIO_PALETTE (widget);
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (row != NULL)
    add (self, row);
}

static const LoomOp *
row_op (GtkListBoxRow *row)
{
  const Entry *entry = row_entry (row);

  return entry->name != NULL && !entry->is_module ? loom_op (entry->name) : NULL;
}

/* Down moves from the entry to the list, and Return and Space on the row that unfolds do the same as a click. */
static gboolean
entry_key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioPalette *self)
{
  GtkListBoxRow *row;

  if (key != GDK_KEY_Down)
    return FALSE;
  search_cb (self);
  row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));
  if (row == NULL || !filter_cb (row, self))
    row = first_match (self);
  if (row != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (row));
  return row != NULL;
}

static gboolean
list_key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioPalette *self)
{
  GtkWidget *row = gtk_widget_get_focus_child (self->list);

  if ((key != GDK_KEY_Return && key != GDK_KEY_KP_Enter && key != GDK_KEY_space) || !GTK_IS_LIST_BOX_ROW (row)
      || row_entry (GTK_LIST_BOX_ROW (row))->fold == NULL)
    return FALSE;
  toggle_fold (self, GTK_LIST_BOX_ROW (row));
  return TRUE;
}

static void
entry_activate_cb (StudioPalette *self)
{
  GtkListBoxRow *row;

  /* The entry emits "search-changed" only when typing has paused. */
  search_cb (self);
  row = first_match (self);
  if (row != NULL && is_searching (self))
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
add_operators (StudioPalette *self)
{
  for (guint category = 0; category < LOOM_CATEGORY_HIDDEN; category++)
    {
      guint n_folded = 0;

      for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
        if ((*op)->category == category)
          {
            add_row (self, (*op)->icon, (*op)->title, (*op)->doc, (*op)->name, category, studio_search_key_new (*op));
            n_folded += !(*op)->usual;
          }
      if (n_folded > 0)
        add_fold (self, category, n_folded);
    }
}

static void
remove_rows (StudioPalette *self, guint category)
{
  GtkListBoxRow *row;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL;)
    if (row_entry (row)->category == category)
      gtk_list_box_remove (GTK_LIST_BOX (self->list), GTK_WIDGET (row));
    else
      i++;
}

static void
fill_library (StudioPalette *self)
{
  g_autoptr (GPtrArray) entries = studio_library_list (NULL);

  remove_rows (self, LIBRARY);
  for (guint i = 0; i < entries->len; i++)
    {
      const StudioLibraryEntry *entry = entries->pdata[i];

      add_row (self, "view-grid-symbolic", entry->title,
               entry->doc != NULL ? entry->doc
               : entry->is_own    ? _ ("A module of your library")
                                  : NULL,
               entry->reference, LIBRARY, studio_search_key_new_text (entry->name, entry->title, entry->doc));
    }
  rank_rows (self);
}

static void
fill (StudioPalette *self)
{
  LoomElement *root = loom_graph_root (studio_document_get_graph (self->document));
  g_autoptr (GString) modules = g_string_new (NULL);
  g_auto (GStrv) names = NULL;

  for (guint i = 0; i < loom_element_n_children (root); i++)
    if (loom_element_tag (loom_element_child (root, i)) == LOOM_TAG_MODULE
        && loom_element_get (loom_element_child (root, i), "name") != NULL)
      g_string_append_printf (modules, "%s\n", loom_element_get (loom_element_child (root, i), "name"));
  if (g_strcmp0 (modules->str, self->modules) == 0)
    return;
  if (self->modules == NULL)
    add_operators (self);
  remove_rows (self, MODULES);
  names = g_strsplit (modules->str, "\n", -1);
  for (guint i = 0; names[i] != NULL; i++)
    if (names[i][0] != '\0')
      add_row (self, "view-grid-symbolic", names[i], _ ("A module of this graph"), names[i], MODULES,
               studio_search_key_new_text (names[i], names[i], "module"));
  rank_rows (self);
  g_free (self->modules);
  self->modules = g_strdup (modules->str);
}

static void
studio_palette_dispose (GObject *object)
{
  StudioPalette *self = STUDIO_PALETTE (object);

  /* The list outlives the words, and the removal of its rows asks for their headers. */
  gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), NULL, NULL, NULL);
  g_clear_weak_pointer (&self->canvas);
  g_clear_object (&self->document);
  g_clear_pointer (&self->words, g_free);
  g_clear_pointer (&self->modules, g_free);
  g_clear_pointer (&self->offered, g_strfreev);
  G_OBJECT_CLASS (studio_palette_parent_class)->dispose (object);
}

static void
studio_palette_class_init (StudioPaletteClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_palette_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "studiopalette");
  STUDIO_TEMPLATE (klass, "studio-palette.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioPalette, entry, list, empty, stack, scroller);
  STUDIO_TEMPLATE_CALLBACKS (klass, search_cb, entry_activate_cb, stop_cb, entry_key_cb, row_activated_cb, list_key_cb);
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "palette.add", NULL, add_selected);
}

static void
studio_palette_init (StudioPalette *self)
{
  self->words = g_strdup ("");
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), header_cb, self, NULL);
  gtk_list_box_set_sort_func (GTK_LIST_BOX (self->list), sort_cb, self, NULL);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_cb, self, NULL);
  studio_palette_menu_setup (GTK_WIDGET (self), self->list, row_op);
}

const LoomOp *
studio_palette_get_focused_op (StudioPalette *self)
{
  GtkWidget *row = gtk_widget_get_focus_child (self->list);

  return GTK_IS_LIST_BOX_ROW (row) && gtk_widget_has_focus (row) ? row_op (GTK_LIST_BOX_ROW (row)) : NULL;
}

StudioPalette *
studio_palette_new (StudioDocument *document, StudioCanvas *canvas)
{
  StudioPalette *self = g_object_new (STUDIO_TYPE_PALETTE, NULL);

  self->document = g_object_ref (document);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_object (document, "changed", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (studio_library_get_default (), "changed", G_CALLBACK (fill_library), self,
                           G_CONNECT_SWAPPED);
  fill (self);
  fill_library (self);
  return self;
}

void
studio_palette_set_offered (StudioPalette *self, const char *const *names)
{
  if (names == NULL ? self->offered == NULL
                    : self->offered != NULL && g_strv_equal (names, (const char *const *)self->offered))
    return;
  g_strfreev (self->offered);
  self->offered = g_strdupv ((char **)names);
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_headers (GTK_LIST_BOX (self->list));
}
