#include "ui/canvas/studio-chooser.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-icon.h"
#include "ui/document/studio-typed-layer.h"

struct _StudioChooser
{
  CanvasPopover *place; /* that it is shown in */
  GtkWidget *popover, *title, *entry, *list, *stack, *scroller, *none, *doc, *keys;
  char *words;      /* to search for */
  char *about;      /* a sentence about the result */
  gboolean is_free; /* any text is a result */
  gboolean is_shifted;
  guint n_rows;
  StudioChose chose;
  StudioTyped typed;
  gpointer data;
  GDestroyNotify free_data;
};

static void
choice_free (StudioChoice *choice)
{
  g_free (choice->name);
  g_free (choice->title);
  studio_search_key_free (choice->key);
  g_free (choice);
}

static void
chooser_free (gpointer data)
{
  StudioChooser *self = data;

  if (self->free_data != NULL)
    self->free_data (self->data);
  g_free (self->words);
  g_free (self->about);
  g_free (self);
}

static StudioChoice *
row_choice (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "choice");
}

/* ---- the list ---------------------------------------------------------- */

static gboolean
filter_cb (GtkListBoxRow *row, gpointer data)
{
  StudioChooser *self = data;

  if (row_choice (row)->is_second && (self->words == NULL || self->words[0] == '\0'))
    return FALSE;
  return row_choice (row)->rank > 0;
}

/* The best match first, and existing ports before new layers. */
static int
sort_cb (GtkListBoxRow *a, GtkListBoxRow *b, gpointer data)
{
  const StudioChoice *p = row_choice (a), *q = row_choice (b);

  if (p->is_second != q->is_second)
    return p->is_second - q->is_second;
  if (p->rank != q->rank)
    return p->rank < q->rank ? 1 : -1;
  return p->order < q->order ? -1 : p->order > q->order;
}

static GtkListBoxRow *
row_at (StudioChooser *self, int i)
{
  return i >= 0 ? gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i) : NULL;
}

/* The keyboard stays in the entry while the arrows walk through the list, so the entry describes the chosen row to
 * screen readers. */
static void
select_row (StudioChooser *self, GtkListBoxRow *row)
{
  const StudioChoice *choice = row != NULL ? row_choice (row) : NULL;
  g_autofree char *said = NULL;

  if (choice != NULL)
    said = g_strdup_printf ("%s, %s", choice->title, gtk_label_get_text (GTK_LABEL (choice->side)));
  else
    said = g_strdup (gtk_label_get_text (GTK_LABEL (self->is_free ? self->title : self->none)));

  gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, said, -1);
}

static void
search_cb (StudioChooser *self)
{
  GtkListBoxRow *row = NULL;
  g_autofree char *value = NULL;

  if (self->typed != NULL && self->typed (self, gtk_editable_get_text (GTK_EDITABLE (self->entry)), self->data))
    return;
  gtk_widget_remove_css_class (self->entry, "error");
  if (self->is_free)
    gtk_label_set_text (GTK_LABEL (self->doc), self->about);
  else
    gtk_stack_set_visible_child (GTK_STACK (self->stack), self->scroller);
  g_free (self->words);
  self->words = studio_typed_layer_split (gtk_editable_get_text (GTK_EDITABLE (self->entry)), &value);
  for (int i = 0; (row = row_at (self, i)) != NULL; i++)
    {
      StudioChoice *choice = row_choice (row);

      choice->rank = studio_search_order (studio_search_rank (choice->key, self->words), choice->fit, self->words);
    }
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_sort (GTK_LIST_BOX (self->list));
  for (int i = 0; (row = row_at (self, i)) != NULL && !filter_cb (row, self); i++)
    ;
  select_row (self, row);
  gtk_adjustment_set_value (gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
}

StudioChoice *
studio_chooser_add (StudioChooser *self, const char *icon, const char *title, const char *side, StudioSearchKey *key)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (title);
  StudioChoice *choice = g_new0 (StudioChoice, 1);

  choice->key = key;
  choice->title = g_strdup (title);
  choice->order = self->n_rows++;
  choice->rank = 1;
  choice->fit = LOOM_FIT_WELL;
  choice->side = gtk_label_new (side);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_ellipsize (GTK_LABEL (choice->side), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (choice->side, "dim-label");
  gtk_widget_add_css_class (choice->side, "chooser-note");
  g_object_set (box, "margin-top", 4, "margin-bottom", 4, "margin-start", 6, "margin-end", 6, NULL);
  if (icon != NULL)
    gtk_box_append (GTK_BOX (box), studio_icon_image_new (self->list, icon));
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), choice->side);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "choice", choice, (GDestroyNotify)choice_free);
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
  return choice;
}

/* ---- choosing ------------------------------------------------------------ */

static void
choose (StudioChooser *self, GtkListBoxRow *row, gboolean go_on)
{
  g_autoptr (GtkWidget) popover = g_object_ref (self->popover);
  g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->entry))));

  if (row != NULL || self->is_free)
    self->chose (self, row != NULL ? row_choice (row) : NULL, text, go_on, self->data);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioChooser *self)
{
  self->is_shifted = FALSE;
  choose (self, row, FALSE);
}

/* The arrows walk through the list while the entry keeps the focus. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioChooser *self)
{
  int by = key == GDK_KEY_Down ? 1 : key == GDK_KEY_Up ? -1 : 0;
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (key == GDK_KEY_Return || key == GDK_KEY_KP_Enter || key == GDK_KEY_ISO_Enter)
    {
      self->is_shifted = (state & GDK_SHIFT_MASK) != 0;
      choose (self, row, (state & GDK_CONTROL_MASK) != 0);
      return TRUE;
    }
  if (by == 0)
    return FALSE;
  for (int i = row != NULL ? gtk_list_box_row_get_index (row) + by : 0; (row = row_at (self, i)) != NULL; i += by)
    if (filter_cb (row, self))
      {
        select_row (self, row);
        break;
      }
  return TRUE;
}

/* ---- the popover ----------------------------------------------------------- */

static GtkWidget *
dim_label (const char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (label, "chooser-note");
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 36);
  return label;
}

static void
make_list (StudioChooser *self)
{
  self->none = gtk_label_new (_ ("No layer of this name"));
  self->list = gtk_list_box_new ();
  self->scroller = gtk_scrolled_window_new ();
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_widget_add_css_class (self->none, "dim-label");
  g_object_set (self->none, "margin-top", 24, "margin-bottom", 24, NULL);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_cb, self, NULL);
  gtk_list_box_set_sort_func (GTK_LIST_BOX (self->list), sort_cb, self, NULL);
  gtk_list_box_set_placeholder (GTK_LIST_BOX (self->list), self->none);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->list);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_add_css_class (self->scroller, "chooser-list");
  g_signal_connect (self->list, "row-activated", G_CALLBACK (row_activated_cb), self);
}

StudioChooser *
studio_chooser_new (CanvasPopover *popover, StudioChose chose, gpointer data, GDestroyNotify free_data)
{
  StudioChooser *self = g_new0 (StudioChooser, 1);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkEventController *key = gtk_event_controller_key_new ();

  self->place = popover;
  self->chose = chose;
  self->data = data;
  self->free_data = free_data;
  self->popover = gtk_popover_new ();
  g_object_set_data_full (G_OBJECT (self->popover), "chooser", self, chooser_free);
  self->title = dim_label (NULL);
  self->entry = gtk_entry_new ();
  self->doc = dim_label (NULL);
  self->keys = dim_label (NULL);
  self->stack = gtk_stack_new ();
  make_list (self);
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_add_child (GTK_STACK (self->stack), self->scroller);
  gtk_stack_add_child (GTK_STACK (self->stack), self->doc);
  gtk_box_append (GTK_BOX (box), self->title);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), self->stack);
  gtk_box_append (GTK_BOX (box), self->keys);
  gtk_popover_set_child (GTK_POPOVER (self->popover), box);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->popover), FALSE);
  gtk_popover_set_position (GTK_POPOVER (self->popover), GTK_POS_BOTTOM);
  canvas_popover_take (popover, self->popover);
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (search_cb), self);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->entry, key);
  return self;
}

void
studio_chooser_begin (StudioChooser *self, const char *title, const char *hint, const char *keys)
{
  GtkListBoxRow *row;

  while ((row = row_at (self, 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), GTK_WIDGET (row));
  self->n_rows = 0;
  self->is_free = FALSE;
  self->typed = NULL;
  gtk_widget_remove_css_class (self->entry, "error");
  gtk_label_set_text (GTK_LABEL (self->title), title);
  gtk_label_set_text (GTK_LABEL (self->keys), keys);
  gtk_widget_set_visible (self->title, title != NULL);
  gtk_widget_set_visible (self->keys, keys != NULL);
  gtk_entry_set_icon_from_icon_name (GTK_ENTRY (self->entry), GTK_ENTRY_ICON_PRIMARY, "edit-find-symbolic");
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->entry), hint);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, hint,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, title != NULL ? title : "", -1);
  gtk_stack_set_visible_child (GTK_STACK (self->stack), self->scroller);
}

void
studio_chooser_set_free (StudioChooser *self, const char *doc)
{
  self->is_free = TRUE;
  g_free (self->about);
  self->about = g_strdup (doc);
  gtk_label_set_text (GTK_LABEL (self->doc), doc);
  gtk_entry_set_icon_from_icon_name (GTK_ENTRY (self->entry), GTK_ENTRY_ICON_PRIMARY, NULL);
  gtk_stack_set_visible_child (GTK_STACK (self->stack), self->doc);
}

void
studio_chooser_set_typed (StudioChooser *self, StudioTyped typed)
{
  self->typed = typed;
}

void
studio_chooser_refuse (StudioChooser *self, const char *why)
{
  gtk_stack_set_visible_child (GTK_STACK (self->stack), self->doc);
  gtk_label_set_text (GTK_LABEL (self->doc), why);
  gtk_widget_add_css_class (self->entry, "error");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, why, -1);
}

gboolean
studio_chooser_is_shifted (StudioChooser *self)
{
  return self->is_shifted;
}

void
studio_chooser_show (StudioChooser *self, const char *text, gboolean select, double x, double y)
{
  canvas_popover_point_at (self->place, self->popover, x, y);
  /* A text that is being typed keeps its cursor. */
  if (strcmp (gtk_editable_get_text (GTK_EDITABLE (self->entry)), text) != 0)
    gtk_editable_set_text (GTK_EDITABLE (self->entry), text);
  search_cb (self);
  if (!gtk_widget_get_visible (self->popover))
    gtk_popover_popup (GTK_POPOVER (self->popover));
  gtk_widget_grab_focus (self->entry);
  if (select)
    gtk_editable_select_region (GTK_EDITABLE (self->entry), 0, -1);
  else
    gtk_editable_set_position (GTK_EDITABLE (self->entry), -1);
}

void
studio_chooser_close (StudioChooser *self)
{
  gtk_popover_popdown (GTK_POPOVER (self->popover));
}
