/* The widget of the command palette: a search entry over a list of commands, and the focus before and after it. */
#include "ui/shell/studio-action-list.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/shell/studio-commands.h"

#define LIST_HEIGHT 380
#define CARD_WIDTH  520

struct _StudioActionList
{
  AdwBin parent_instance;
  GtkWidget *card, *entry, *scroller, *list, *empty;
  GtkWidget *canvas;         /* weak */
  GtkWidget *previous_focus; /* weak: had the focus before */
  gulong focus_id;
};

G_DEFINE_FINAL_TYPE (StudioActionList, studio_action_list, ADW_TYPE_BIN)

typedef struct
{
  const StudioCommand *command;
  guint rank, order;
} Row;

static Row *
row_of (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "row");
}

/* ---- rows --------------------------------------------------------------------------------- */

static GtkWidget *
new_label (const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  return label;
}

static void
add_row (StudioActionList *self, const StudioCommand *command, guint order)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  g_autofree char *title = studio_command_dup_title (command), *keys = studio_command_dup_keys (command);
  GtkWidget *name = new_label (title, NULL);
  Row *data = g_new0 (Row, 1);
  *data = (Row){ .command = command, .rank = 1, .order = order };
  gtk_label_set_wrap (GTK_LABEL (name), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (name), PANGO_WRAP_WORD_CHAR);
  gtk_widget_set_hexpand (name, TRUE);
  gtk_box_append (GTK_BOX (box), name);
  gtk_box_append (GTK_BOX (box), new_label (keys != NULL ? keys : _ (command->group), "dim-label"));
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "row", data, g_free);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, keys != NULL ? keys : _ (command->group), -1);
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
}

static GtkListBoxRow *
row_at (StudioActionList *self, int i)
{
  return gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i);
}

static gboolean
filter_cb (GtkListBoxRow *row, gpointer data)
{
  return row_of (row)->rank > 0;
}

/* Sorts enabled commands first, the best match first; without a search, in the order of the table. */
static int
sort_cb (GtkListBoxRow *a, GtkListBoxRow *b, gpointer data)
{
  Row *p = row_of (a), *q = row_of (b);
  gboolean possible = gtk_widget_get_sensitive (GTK_WIDGET (a));
  if (possible != gtk_widget_get_sensitive (GTK_WIDGET (b)))
    return possible ? -1 : 1;
  if (p->rank != q->rank)
    return p->rank < q->rank ? 1 : -1;
  return p->order < q->order ? -1 : p->order > q->order;
}

static void
show_row (StudioActionList *self, GtkListBoxRow *row)
{
  graphene_rect_t bounds;
  GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller));
  if (row != NULL && gtk_widget_compute_bounds (GTK_WIDGET (row), self->list, &bounds))
    gtk_adjustment_clamp_page (adjustment, bounds.origin.y, bounds.origin.y + bounds.size.height);
}

static GtkListBoxRow *
next_possible (StudioActionList *self, int from, int by)
{
  GtkListBoxRow *row;
  for (int i = from; i >= 0 && (row = row_at (self, i)) != NULL; i += by)
    if (filter_cb (row, NULL) && gtk_widget_is_sensitive (GTK_WIDGET (row)))
      return row;
  return NULL;
}

static void
search_cb (StudioActionList *self)
{
  const char *typed = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  GtkListBoxRow *row;
  gboolean any = FALSE;
  for (int i = 0; (row = row_at (self, i)) != NULL; i++)
    {
      Row *data = row_of (row);
      data->rank = studio_command_rank (data->command, typed);
      any |= data->rank > 0;
    }
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_sort (GTK_LIST_BOX (self->list));
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), next_possible (self, 0, 1));
  gtk_widget_set_visible (self->scroller, any);
  gtk_widget_set_visible (self->empty, !any);
  gtk_adjustment_set_value (gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
}

/* ---- opening and closing -------------------------------------------------------------------- */

static void
close_list (StudioActionList *self)
{
  GtkWidget *previous_focus = self->previous_focus;
  if (!gtk_widget_get_visible (GTK_WIDGET (self)))
    return;
  g_clear_signal_handler (&self->focus_id, gtk_widget_get_root (GTK_WIDGET (self)));
  g_clear_weak_pointer (&self->previous_focus);
  if ((previous_focus == NULL || !gtk_widget_get_mapped (previous_focus) || !gtk_widget_grab_focus (previous_focus))
      && self->canvas != NULL)
    gtk_widget_grab_focus (self->canvas);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

static void
focus_cb (StudioActionList *self)
{
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));
  if (focus != NULL && !gtk_widget_is_ancestor (focus, GTK_WIDGET (self)))
    {
      g_set_weak_pointer (&self->previous_focus, focus);
      close_list (self);
    }
}

void
studio_action_list_open (StudioActionList *self)
{
  GtkListBoxRow *row;
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  if (gtk_widget_get_visible (GTK_WIDGET (self)))
    {
      close_list (self);
      return;
    }
  for (int i = 0; (row = row_at (self, i)) != NULL; i++)
    gtk_widget_set_sensitive (GTK_WIDGET (row), studio_command_is_possible (row_of (row)->command, self->canvas));
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (self->scroller),
                                              (int)(LIST_HEIGHT * studio_text_scale (GTK_WIDGET (self))));
  adw_clamp_set_maximum_size (ADW_CLAMP (self->card), (int)(CARD_WIDTH * studio_text_scale (GTK_WIDGET (self))));
  g_set_weak_pointer (&self->previous_focus, gtk_root_get_focus (root));
  gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
  search_cb (self);
  gtk_widget_set_visible (GTK_WIDGET (self), TRUE);
  gtk_widget_grab_focus (self->entry);
  self->focus_id = g_signal_connect_swapped (root, "notify::focus-widget", G_CALLBACK (focus_cb), self);
}

static void
run (StudioActionList *self, GtkListBoxRow *row)
{
  const StudioCommand *command;
  if (row == NULL || !filter_cb (row, NULL) || !gtk_widget_is_sensitive (GTK_WIDGET (row)))
    return;
  command = row_of (row)->command;
  /* The list closes first, so that the command runs with the original focus. */
  close_list (self);
  if (self->canvas != NULL)
    studio_command_run (command, self->canvas);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioActionList *self)
{
  run (self, row);
}

static void
activate_cb (StudioActionList *self)
{
  run (self, gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list)));
}

/* The arrow keys move the selection while the entry keeps the focus. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioActionList *self)
{
  GtkListBoxRow *at = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list)), *next;
  int i = at != NULL ? gtk_list_box_row_get_index (at) : -1;
  if (key == GDK_KEY_Escape)
    {
      close_list (self);
      return GDK_EVENT_STOP;
    }
  if (key != GDK_KEY_Down && key != GDK_KEY_KP_Down && key != GDK_KEY_Up && key != GDK_KEY_KP_Up)
    return GDK_EVENT_PROPAGATE;
  next = key == GDK_KEY_Down || key == GDK_KEY_KP_Down ? next_possible (self, i + 1, 1)
                                                       : next_possible (self, i - 1, -1);
  if (next != NULL)
    gtk_list_box_select_row (GTK_LIST_BOX (self->list), next);
  show_row (self, next != NULL ? next : at);
  return GDK_EVENT_STOP;
}

static void
pressed_cb (GtkGestureClick *click, int n, double x, double y, StudioActionList *self)
{
  GtkWidget *at = gtk_widget_pick (GTK_WIDGET (self), x, y, GTK_PICK_DEFAULT);
  if (at == GTK_WIDGET (self))
    close_list (self);
}

/* ---- object ------------------------------------------------------------------------------- */

static void
dispose (GObject *object)
{
  StudioActionList *self = STUDIO_ACTION_LIST (object);
  g_clear_weak_pointer (&self->previous_focus);
  g_clear_weak_pointer (&self->canvas);
  G_OBJECT_CLASS (studio_action_list_parent_class)->dispose (object);
}

static void
unroot (GtkWidget *widget)
{
  StudioActionList *self = STUDIO_ACTION_LIST (widget);
  if (self->focus_id != 0)
    g_clear_signal_handler (&self->focus_id, gtk_widget_get_root (widget));
  GTK_WIDGET_CLASS (studio_action_list_parent_class)->unroot (widget);
}

static void
studio_action_list_class_init (StudioActionListClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = dispose;
  widget_class->unroot = unroot;
  gtk_widget_class_set_css_name (widget_class, "actionlist");
  STUDIO_TEMPLATE (klass, "studio-action-list.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioActionList, card, entry, scroller, list, empty);
  STUDIO_TEMPLATE_CALLBACKS (klass, key_cb, pressed_cb, search_cb, activate_cb, row_activated_cb);
}

static void
studio_action_list_init (StudioActionList *self)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_cb, NULL, NULL);
  gtk_list_box_set_sort_func (GTK_LIST_BOX (self->list), sort_cb, NULL, NULL);
  for (guint i = 0; i < n; i++)
    if (all[i].title != NULL)
      add_row (self, &all[i], i);
}

StudioActionList *
studio_action_list_new (void)
{
  return g_object_new (STUDIO_TYPE_ACTION_LIST, NULL);
}

void
studio_action_list_set_canvas (StudioActionList *self, GtkWidget *canvas)
{
  close_list (self);
  g_set_weak_pointer (&self->canvas, canvas);
}
