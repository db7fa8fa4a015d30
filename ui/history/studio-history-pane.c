/* A list view over the document's history (ui/document/studio-history.h): rows exist only for visible entries, so that
 * ten thousand steps cost as much as twenty. */
#include "ui/history/studio-history-pane.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/document/studio-history.h"

struct _StudioHistoryPane
{
  GtkWidget parent_instance;

  StudioDocument *document;
  StudioHistory *history;
  GtkSingleSelection *selection;
  GtkWidget *view;
  guint follow; /* idle source that scrolls to the current entry */

  guint previewed; /* the entry whose preview text is cached */
  guint64 previewed_version;
  char *words;
};

STUDIO_DEFINE_TYPE (StudioHistoryPane, studio_history_pane, GTK_TYPE_WIDGET)

static guint compare_signal;

/* ---- preview of an entry ----------------------------------------------------- */

#define MAX_LISTED 8

static char *
describe (StudioHistoryPane *self, guint position)
{
  guint present = studio_document_history_position (self->document);
  g_autoptr (LoomGraph) then = studio_document_graph_at (self->document, position);
  g_autoptr (GPtrArray) list = loom_graph_diff (studio_document_get_graph (self->document), then, FALSE);
  guint steps = position < present ? present - position : position - present;
  GString *s = g_string_new (NULL);

  if (steps == 0)
    return g_string_free (g_string_assign (s, _ ("This is the current graph.")), FALSE);
  g_string_printf (s,
                   position < present ? ngettext ("Undoes %u step", "Undoes %u steps", steps)
                                      : ngettext ("Redoes %u step", "Redoes %u steps", steps),
                   steps);
  if (list->len == 0)
    g_string_append_printf (s, "\n%s", _ ("The computation would not change."));
  for (guint i = 0; i < MIN (list->len, MAX_LISTED); i++)
    {
      const LoomDifference *d = list->pdata[i];
      g_autofree char *words = loom_difference_to_string (d, NULL);

      g_string_append_printf (s, "\n%s %s", loom_difference_sign (d->kind), words);
    }
  if (list->len > MAX_LISTED)
    {
      g_string_append_c (s, '\n');
      g_string_append_printf (s, ngettext ("and %u more", "and %u more", list->len - MAX_LISTED),
                              list->len - MAX_LISTED);
    }
  return g_string_free (s, FALSE);
}

static guint
position_of (GtkListItem *item)
{
  StudioHistoryItem *entry = gtk_list_item_get_item (item);

  return entry != NULL ? studio_history_item_get_position (entry) : G_MAXUINT;
}

/* GTK queries the tooltip at every motion of the pointer. */
static gboolean
query_tooltip_cb (GtkWidget *box, int x, int y, gboolean keyboard, GtkTooltip *tooltip, GtkListItem *item)
{
  StudioHistoryPane *self = g_object_get_data (G_OBJECT (box), "pane");
  guint position = position_of (item);
  guint64 version = loom_graph_version (studio_document_get_graph (self->document));

  if (keyboard || position >= studio_document_n_history (self->document))
    return FALSE;
  if (self->words == NULL || self->previewed != position || self->previewed_version != version)
    {
      g_free (self->words);
      self->words = describe (self, position);
      self->previewed = position;
      self->previewed_version = version;
    }
  gtk_tooltip_set_text (tooltip, self->words);
  return TRUE;
}

/* ---- rows -------------------------------------------------------------------- */

typedef struct
{
  StudioHistoryPane *pane; /* outlives its rows */
  GtkListItem *item;
  GtkWidget *box, *words, *mark, *name, *saved, *time, *compare;
} Row;

static char *
time_text (gint64 time)
{
  g_autoptr (GDateTime) utc = g_date_time_new_from_unix_utc (time / G_USEC_PER_SEC);
  g_autoptr (GDateTime) local = g_date_time_to_local (utc);
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  gboolean today = g_date_time_get_year (local) == g_date_time_get_year (now)
                   && g_date_time_get_day_of_year (local) == g_date_time_get_day_of_year (now);

  return g_date_time_format (local, today ? "%H:%M" : "%e %b %H:%M");
}

static void
set_class (GtkWidget *widget, const char *css, gboolean on)
{
  if (on)
    gtk_widget_add_css_class (widget, css);
  else
    gtk_widget_remove_css_class (widget, css);
}

static void
refresh_row (Row *row)
{
  StudioDocument *document = row->pane->document;
  guint position = position_of (row->item), present;
  StudioHistoryEntry entry;
  g_autofree char *time = NULL, *label = NULL;
  gboolean is_present, is_undone;

  if (document == NULL || position >= studio_document_n_history (document))
    return;
  present = studio_document_history_position (document);
  entry = studio_document_history_entry (document, position);
  is_present = position == present;
  is_undone = position > present;
  time = time_text (entry.time);
  gtk_label_set_text (GTK_LABEL (row->name), entry.name);
  gtk_label_set_text (GTK_LABEL (row->time), time);
  gtk_image_set_from_icon_name (GTK_IMAGE (row->mark), is_present  ? "object-select-symbolic"
                                                       : is_undone ? "edit-redo-symbolic"
                                                                   : NULL);
  set_class (row->name, "history-present", is_present);
  set_class (row->box, "history-undone", is_undone);
  gtk_widget_set_visible (row->saved, entry.is_saved);
  gtk_widget_set_visible (row->compare, !is_present);
  const char *said_saved = entry.is_saved ? _ ("saved") : NULL;
  label = g_strjoin (", ", entry.name, time,
                     is_present  ? _ ("current")
                     : is_undone ? _ ("undone")
                                 : said_saved,
                     is_present || is_undone ? said_saved : NULL, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row->box), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static void
jump_to (StudioHistoryPane *self, guint position)
{
  studio_document_jump (self->document, position);
}

static void
released_cb (GtkGestureClick *gesture, int n_press, double x, double y, GtkListItem *item)
{
  StudioHistoryPane *self
      = g_object_get_data (G_OBJECT (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture))), "pane");

  jump_to (self, position_of (item));
}

static void
compare_cb (GtkButton *button, Row *row)
{
  g_signal_emit (row->pane, compare_signal, 0, position_of (row->item));
}

static void
free_row (gpointer data)
{
  Row *row = data;

  if (row->pane->history != NULL)
    g_signal_handlers_disconnect_by_data (row->pane->history, row);
  g_free (row);
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioHistoryPane *self)
{
  Row *row = g_new0 (Row, 1);
  GtkGesture *click = gtk_gesture_click_new ();

  *row = (Row){ .pane = self, .item = item, .box = studio_template_new ("history-row.ui") };
  STUDIO_TEMPLATE_FIELDS (row->box, row, words, mark, name, time, saved, compare);
  g_object_set_data (G_OBJECT (row->words), "pane", self);
  g_object_set_data_full (G_OBJECT (row->box), "row", row, free_row);
  g_signal_connect (row->words, "query-tooltip", G_CALLBACK (query_tooltip_cb), item);
  g_signal_connect (click, "released", G_CALLBACK (released_cb), item);
  gtk_widget_add_controller (row->words, GTK_EVENT_CONTROLLER (click));
  g_signal_connect (row->compare, "clicked", G_CALLBACK (compare_cb), row);
  g_signal_connect_swapped (self->history, "marks-changed", G_CALLBACK (refresh_row), row);
  gtk_list_item_set_child (item, row->box);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioHistoryPane *self)
{
  refresh_row (g_object_get_data (G_OBJECT (gtk_list_item_get_child (item)), "row"));
}

/* ---- following ---------------------------------------------------------------- */

/* Once per frame: the list cannot scroll before its rows have been laid out. */
static gboolean
follow_cb (gpointer data)
{
  StudioHistoryPane *self = data;
  guint position = studio_document_history_position (self->document);

  self->follow = 0;
  gtk_single_selection_set_selected (self->selection, position);
  if (gtk_widget_get_mapped (self->view))
    gtk_widget_activate_action (self->view, "list.scroll-to-item", "u", position);
  return G_SOURCE_REMOVE;
}

static void
follow_soon (StudioHistoryPane *self)
{
  if (self->follow == 0)
    self->follow = g_idle_add (follow_cb, self);
}

static void
activate_cb (GtkListView *view, guint position, StudioHistoryPane *self)
{
  jump_to (self, position);
}

/* ---- object ------------------------------------------------------------------- */

static void
studio_history_pane_dispose (GObject *object)
{
  StudioHistoryPane *self = STUDIO_HISTORY_PANE (object);
  GtkWidget *child;

  g_clear_handle_id (&self->follow, g_source_remove);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_object (&self->selection);
  g_clear_object (&self->history);
  g_clear_object (&self->document);
  g_clear_pointer (&self->words, g_free);
  G_OBJECT_CLASS (studio_history_pane_parent_class)->dispose (object);
}

static void
studio_history_pane_class_init (StudioHistoryPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_history_pane_dispose;
  compare_signal = studio_signal_new ("compare", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_UINT);
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "historypane");
}

StudioHistoryPane *
studio_history_pane_new (StudioDocument *document)
{
  StudioHistoryPane *self = g_object_new (STUDIO_TYPE_HISTORY_PANE, NULL);
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkWidget *scroller = gtk_scrolled_window_new ();

  self->document = g_object_ref (document);
  self->history = studio_history_new (document);
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->history)));
  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), self);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
  self->view = gtk_list_view_new (g_object_ref (GTK_SELECTION_MODEL (self->selection)), factory);
  gtk_widget_add_css_class (self->view, "navigation-sidebar");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("History"), -1);
  g_signal_connect (self->view, "activate", G_CALLBACK (activate_cb), self);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->view);
  gtk_widget_set_parent (scroller, GTK_WIDGET (self));
  g_signal_connect_object (self->history, "marks-changed", G_CALLBACK (follow_soon), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->history, "items-changed", G_CALLBACK (follow_soon), self, G_CONNECT_SWAPPED);
  g_signal_connect_swapped (self->view, "map", G_CALLBACK (follow_soon), self);
  follow_soon (self);
  return self;
}

void
studio_history_pane_focus (StudioHistoryPane *self)
{
  follow_soon (self);
  gtk_widget_grab_focus (self->view);
}
