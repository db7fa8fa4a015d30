/* The outline lists the net's nodes in the order of computation.
 *
 * It is a list view over a store that is spliced only if a row differs, so that a screen reader keeps its position
 * during edits. */
#include "ui/palette/studio-outline.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/document/studio-document-net.h"
#include "ui/scene/studio-scene.h"

/* ---- a row ----------------------------------------------------------------- */

#define STUDIO_TYPE_OUTLINE_ROW (studio_outline_row_get_type ())
G_DECLARE_FINAL_TYPE (StudioOutlineRow, studio_outline_row, STUDIO, OUTLINE_ROW, GObject)

struct _StudioOutlineRow
{
  GObject parent_instance;
  guint order;
  const char *path, *title; /* of the net and of its operator, which keep them */
  char *shape, *fault, *search;
  gboolean is_warning;
  gboolean typed;
  LoomShape output; /* the output that `shape` describes, if it is typed */
};

G_DEFINE_FINAL_TYPE (StudioOutlineRow, studio_outline_row, G_TYPE_OBJECT)

static guint renumbered_signal;

static void
studio_outline_row_finalize (GObject *object)
{
  StudioOutlineRow *row = STUDIO_OUTLINE_ROW (object);

  g_free (row->shape);
  g_free (row->fault);
  g_free (row->search);
  G_OBJECT_CLASS (studio_outline_row_parent_class)->finalize (object);
}

static void
studio_outline_row_class_init (StudioOutlineRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = studio_outline_row_finalize;
  renumbered_signal = studio_signal_new ("renumbered", G_TYPE_FROM_CLASS (klass), 0);
}

static void
studio_outline_row_init (StudioOutlineRow *row)
{
}

/* ---- the list --------------------------------------------------------------- */

struct _StudioOutline
{
  AdwBin parent_instance;

  StudioDocument *document;
  GtkWidget *entry, *view;
  GListStore *rows;
  GPtrArray *row; /* StudioOutlineRow, the same */
  GtkFilterListModel *filtered;
  GtkCustomFilter *filter;
  GtkSingleSelection *selection;
  char *words;
  gboolean is_stale;  /* the net changed while the list was not shown */
  gboolean follows;   /* the selected row is that of the document */
  gboolean selecting; /* the document and the list follow each other: prevents recursion */
};

G_DEFINE_FINAL_TYPE (StudioOutline, studio_outline, ADW_TYPE_BIN)

static guint activated_signal;

static gboolean
has_shape (const LoomNetNode *node)
{
  return node->typed && node->n_outputs > 0;
}

static const char *
title_of (const LoomNetNode *node)
{
  return node->op != NULL ? node->op->title : _ ("unknown");
}

static StudioOutlineRow *
make_row (const LoomNet *net, guint i, GHashTable *faults)
{
  const LoomNetNode *node = loom_net_node (net, i);
  StudioOutlineRow *row = g_object_new (STUDIO_TYPE_OUTLINE_ROW, NULL);
  const LoomFault *fault = g_hash_table_lookup (faults, node->path);
  g_autofree char *search = NULL;

  row->order = i + 1;
  row->path = node->path;
  row->title = title_of (node);
  row->typed = has_shape (node);
  if (row->typed)
    row->output = node->output[0].shape;
  row->shape = row->typed ? loom_shape_to_string (&row->output) : g_strdup ("");
  row->fault = fault != NULL ? g_strdup (fault->message) : NULL;
  row->is_warning = fault != NULL && (fault->is_warning || fault->is_todo);
  search = g_strdup_printf ("%s %s %s %s", row->path, row->title, row->shape, row->fault != NULL ? row->fault : "");
  row->search = g_utf8_casefold (search, -1);
  return row;
}

/* TRUE if the row at this position equals the one that make_row() would make of a node, but for its number. */
static gboolean
is_current (StudioOutline *self, guint at, const LoomNet *net, guint i, GHashTable *faults)
{
  const StudioOutlineRow *row = self->row->pdata[at];
  const LoomNetNode *node = loom_net_node (net, i);
  const LoomFault *fault = g_hash_table_size (faults) > 0 ? g_hash_table_lookup (faults, node->path) : NULL;

  /* Paths are interned. */
  return row->path == node->path && row->title == title_of (node)
         && row->is_warning == (fault != NULL && (fault->is_warning || fault->is_todo))
         && row->typed == has_shape (node) && (!row->typed || loom_shape_equal (&row->output, &node->output[0].shape))
         && g_strcmp0 (row->fault, fault != NULL ? fault->message : NULL) == 0;
}

static void
renumber (StudioOutline *self, guint at)
{
  StudioOutlineRow *row = self->row->pdata[at];

  if (row->order == at + 1)
    return;
  row->order = at + 1;
  g_signal_emit (row, renumbered_signal, 0);
}

/* TRUE if the row at this position of the filtered list is of this card; a module's card is represented by the first of
 * its nodes. */
static gboolean
is_of_card (StudioOutline *self, guint at, const StudioScene *scene, guint item)
{
  g_autoptr (StudioOutlineRow) row = g_list_model_get_item (G_LIST_MODEL (self->filtered), at);

  return row != NULL && studio_scene_card_of (scene, row->path) == item;
}

static void
follow_document (StudioOutline *self)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->filtered)), item = STUDIO_NO_ITEM, at = 0;
  StudioScene *scene = NULL;

  if (self->selecting)
    return;
  /* Nothing is found in the middle of an edit; a new net is followed by new rows. */
  self->follows = studio_document_has_net (self->document) && !self->is_stale;
  if (!self->follows)
    return;
  if (studio_document_n_selected (self->document) == 1)
    {
      scene = studio_document_get_scene (self->document);
      item = studio_scene_find (scene, studio_document_get_selected (self->document, 0));
    }
  self->selecting = TRUE;
  /* Without a filter, the row is where the node is in the net. */
  if (item != STUDIO_NO_ITEM && !scene->item[item].is_module && scene->item[item].order < n
      && is_of_card (self, scene->item[item].order, scene, item))
    at = scene->item[item].order;
  else
    while (item != STUDIO_NO_ITEM && at < n && !is_of_card (self, at, scene, item))
      at++;
  gtk_single_selection_set_selected (self->selection,
                                     item != STUDIO_NO_ITEM && at < n ? at : GTK_INVALID_LIST_POSITION);
  self->selecting = FALSE;
}

static void
replace_rows (StudioOutline *self, guint at, guint n, GPtrArray *by)
{
  GPtrArray *after = g_ptr_array_new ();

  for (guint i = at + n; i < self->row->len; i++)
    g_ptr_array_add (after, self->row->pdata[i]);
  g_ptr_array_set_size (self->row, at);
  g_ptr_array_extend (self->row, by, NULL, NULL);
  g_ptr_array_extend_and_steal (self->row, after);
  g_list_store_splice (self->rows, at, n, by->pdata, by->len);
}

static void
fill (StudioOutline *self)
{
  LoomNet *net = studio_document_get_net (self->document);
  LoomFaults *list = studio_document_get_faults (self->document);
  g_autoptr (GHashTable) faults = g_hash_table_new (g_str_hash, g_str_equal);
  guint n = loom_net_n_nodes (net), old = self->row->len, same = 0, end = n;
  guint last = old; /* of the rows that are not kept at the end */
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint f = loom_faults_length (list); f-- > 0;)
    {
      const LoomFault *fault = loom_faults_get (list, f);
      const LoomFault *there = fault->node != NULL ? g_hash_table_lookup (faults, fault->node) : NULL;

      if (fault->node != NULL && (there == NULL || !fault->is_warning || there->is_warning))
        g_hash_table_insert (faults, fault->node, (gpointer)fault);
    }
  while (same < n && same < old && is_current (self, same, net, same, faults))
    same++;
  while (end > same && last > same && is_current (self, last - 1, net, end - 1, faults))
    {
      end--;
      last--;
    }
  for (guint i = same; i < end; i++)
    g_ptr_array_add (rows, make_row (net, i, faults));
  self->selecting = TRUE;
  if (same < end || same < last)
    replace_rows (self, same, last - same, rows);
  for (guint i = end; end != last && i < n; i++)
    renumber (self, i);
  self->selecting = FALSE;
  if (same < end || same < last || !self->follows)
    follow_document (self);
}

/* In a window where it is not seen, the list waits until it is. */
static void
net_changed_cb (StudioOutline *self)
{
  self->is_stale = !gtk_widget_get_mapped (GTK_WIDGET (self)) && gtk_widget_get_root (GTK_WIDGET (self)) != NULL;
  if (!self->is_stale)
    fill (self);
}

static void
map_cb (StudioOutline *self)
{
  if (self->is_stale)
    net_changed_cb (self);
}

static gboolean
match_cb (gpointer item, gpointer data)
{
  StudioOutline *self = data;

  return self->words == NULL || strstr (STUDIO_OUTLINE_ROW (item)->search, self->words) != NULL;
}

static void
search_cb (StudioOutline *self)
{
  g_free (self->words);
  self->words = g_utf8_casefold (gtk_editable_get_text (GTK_EDITABLE (self->entry)), -1);
  gtk_filter_changed (GTK_FILTER (self->filter), GTK_FILTER_CHANGE_DIFFERENT);
}

static void
selected_cb (StudioOutline *self)
{
  StudioOutlineRow *row = gtk_single_selection_get_selected_item (self->selection);

  if (self->selecting || row == NULL)
    return;
  self->selecting = TRUE;
  studio_document_reveal (self->document, row->path);
  self->selecting = FALSE;
}

static void
activate_cb (GtkListView *view, guint position, StudioOutline *self)
{
  g_autoptr (StudioOutlineRow) row = g_list_model_get_item (G_LIST_MODEL (self->selection), position);

  if (row == NULL)
    return;
  studio_document_reveal (self->document, row->path);
  g_signal_emit (self, activated_signal, 0, row->path);
}

static void
entry_activate_cb (StudioOutline *self)
{
  /* The entry emits "search-changed" only when typing has paused. */
  search_cb (self);
  if (g_list_model_get_n_items (G_LIST_MODEL (self->selection)) > 0)
    activate_cb (NULL, 0, self);
}

/* ---- rows as widgets --------------------------------------------------------- */

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  gtk_list_item_set_child (item, studio_template_new ("outline-row.ui"));
}

static void
show_row (GtkListItem *item)
{
  StudioOutlineRow *row = gtk_list_item_get_item (item);
  GtkWidget *box = gtk_list_item_get_child (item), *more = g_object_get_data (G_OBJECT (box), "more");
  g_autofree char *order = g_strdup_printf ("%u", row->order), *label = NULL, *second = NULL, *described = NULL;

  second = row->fault != NULL      ? g_strdup (row->fault)
           : row->shape[0] != '\0' ? g_strdup_printf ("%s · %s", row->shape, row->title)
                                   : g_strdup (row->title);
  gtk_label_set_text (g_object_get_data (G_OBJECT (box), "order"), order);
  gtk_label_set_text (g_object_get_data (G_OBJECT (box), "name"), row->path);
  gtk_label_set_text (GTK_LABEL (more), second);
  gtk_widget_set_visible (g_object_get_data (G_OBJECT (box), "icon"), row->fault != NULL);
  if (row->fault != NULL && !row->is_warning)
    gtk_widget_add_css_class (more, "error");
  else
    gtk_widget_remove_css_class (more, "error");
  if (row->fault == NULL)
    gtk_widget_add_css_class (more, "dim-label");
  else
    gtk_widget_remove_css_class (more, "dim-label");
  gtk_widget_set_tooltip_text (box, row->fault);
  described = row->shape[0] != '\0' ? g_strdup_printf ("%s, %s", row->title, row->shape) : g_strdup (row->title);
  label = row->fault != NULL
              /* Translators: number and name of a node, its kind, and its fault; read aloud. */
              ? g_strdup_printf (_ ("%1$s. %2$s, %3$s, fault: %4$s"), order, row->path, described, row->fault)
              : g_strdup_printf (_ ("%1$s. %2$s, %3$s"), order, row->path, described);
  gtk_accessible_update_property (GTK_ACCESSIBLE (box), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  /* The focus is on the list's own widget around the row. */
  if (gtk_widget_get_parent (box) != NULL)
    gtk_accessible_update_property (GTK_ACCESSIBLE (gtk_widget_get_parent (box)), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                    -1);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  g_signal_connect_swapped (gtk_list_item_get_item (item), "renumbered", G_CALLBACK (show_row), item);
  show_row (item);
}

static void
unbind_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  g_signal_handlers_disconnect_by_data (gtk_list_item_get_item (item), item);
}

/* ---- object ------------------------------------------------------------------ */

static void
studio_outline_dispose (GObject *object)
{
  StudioOutline *self = STUDIO_OUTLINE (object);

  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data (self->selection, self);
  if (self->filter != NULL)
    gtk_custom_filter_set_filter_func (self->filter, NULL, NULL, NULL);
  g_clear_object (&self->selection);
  g_clear_object (&self->filtered);
  g_clear_object (&self->filter);
  g_clear_object (&self->rows);
  g_clear_pointer (&self->row, g_ptr_array_unref);
  g_clear_object (&self->document);
  g_clear_pointer (&self->words, g_free);
  G_OBJECT_CLASS (studio_outline_parent_class)->dispose (object);
}

static void
studio_outline_class_init (StudioOutlineClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_outline_dispose;
  activated_signal = studio_signal_new ("activated", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_STRING);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "studiooutline");
  STUDIO_TEMPLATE (klass, "studio-outline.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioOutline, entry, view);
  STUDIO_TEMPLATE_CALLBACKS (klass, search_cb, entry_activate_cb, activate_cb, setup_cb, bind_cb, unbind_cb);
}

static void
studio_outline_init (StudioOutline *self)
{
  self->rows = g_list_store_new (STUDIO_TYPE_OUTLINE_ROW);
  self->row = g_ptr_array_new ();
  self->filter = gtk_custom_filter_new (match_cb, self, NULL);
  self->filtered
      = gtk_filter_list_model_new (g_object_ref (G_LIST_MODEL (self->rows)), g_object_ref (GTK_FILTER (self->filter)));
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->filtered)));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  g_signal_connect_swapped (self->selection, "notify::selected-item", G_CALLBACK (selected_cb), self);
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_list_view_set_model (GTK_LIST_VIEW (self->view), GTK_SELECTION_MODEL (self->selection));
}

StudioOutline *
studio_outline_new (StudioDocument *document)
{
  StudioOutline *self = g_object_new (STUDIO_TYPE_OUTLINE, NULL);

  self->document = g_object_ref (document);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (net_changed_cb), self);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (follow_document), self);
  g_signal_connect_after (self, "map", G_CALLBACK (map_cb), NULL);
  fill (self);
  return self;
}

void
studio_outline_focus_search (StudioOutline *self)
{
  gtk_widget_grab_focus (self->entry);
}
