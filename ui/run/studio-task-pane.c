/* The pane with the task view: builds the menus and the page buttons, and passes the user's choices to StudioTask,
 * whose view it shows. */
#include "ui/run/studio-task-pane.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-choice-name.h"

struct _StudioTaskPane
{
  GtkBox parent_instance;
  StudioTask *task;
  GtkWidget *view, *message, *split, *pages, *columns, *column[2];
  gboolean is_filling; /* a selection is being set by code, not by the user */
};

G_DEFINE_FINAL_TYPE (StudioTaskPane, studio_task_pane, GTK_TYPE_BOX)

static const struct
{
  LoomSplit split;
  const char *title;
} splits[] = {
  { LOOM_SPLIT_TRAIN, N_ ("Training samples") },
  { LOOM_SPLIT_VAL, N_ ("Validation samples") },
  { LOOM_SPLIT_TEST, N_ ("Test samples") },
};

/* ---- choices ------------------------------------------------------------------ */

static void
split_cb (StudioTaskPane *self)
{
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->split));
  if (!self->is_filling && i < G_N_ELEMENTS (splits))
    studio_task_set_split (self->task, splits[i].split);
}

static void
column_cb (GtkDropDown *menu, GParamSpec *property, StudioTaskPane *self)
{
  if (!self->is_filling)
    studio_task_set_column (self->task, GTK_WIDGET (menu) == self->column[1], gtk_drop_down_get_selected (menu));
}

static void
previous_cb (StudioTaskPane *self)
{
  studio_task_turn_page (self->task, -1);
}

static void
next_cb (StudioTaskPane *self)
{
  studio_task_turn_page (self->task, 1);
}

/* Fills both menus with the names of the columns. */
static void
fill_columns (StudioTaskPane *self, const StudioTaskPicture *picture)
{
  for (guint k = 0; k < 2; k++)
    {
      g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);
      for (guint i = 0; i < picture->data->x_size; i++)
        {
          g_autofree char *name = studio_task_picture_feature_name (picture, i);
          gtk_string_list_append (names, name);
        }
      if (g_list_model_get_n_items (gtk_drop_down_get_model (GTK_DROP_DOWN (self->column[k]))) != picture->data->x_size)
        gtk_drop_down_set_model (GTK_DROP_DOWN (self->column[k]), G_LIST_MODEL (names));
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->column[k]), picture->column[k]);
    }
}

static void
changed_cb (StudioTask *task, StudioTaskPane *self)
{
  const StudioTaskPicture *picture = studio_task_get_picture (task);
  const char *message = studio_task_get_message (task);
  const LoomTaskViewKind kind = picture->data != NULL ? picture->data->kind : LOOM_TASK_VIEW_NONE;
  guint n = 0;

  self->is_filling = TRUE;
  for (guint s = 0; picture->data != NULL && s < LOOM_N_SPLITS; s++)
    n += picture->data->n_all[s] > 0 ? 1 : 0;
  gtk_widget_set_visible (self->view, picture->data != NULL);
  gtk_label_set_text (GTK_LABEL (self->message), message != NULL ? message : _ ("Reading samples…"));
  gtk_widget_set_visible (self->message, message != NULL || picture->data == NULL);
  gtk_widget_set_visible (self->split, n > 1);
  gtk_widget_set_visible (self->pages, kind == LOOM_TASK_VIEW_IMAGES || kind == LOOM_TASK_VIEW_SEQUENCES);
  gtk_widget_set_visible (self->columns, kind == LOOM_TASK_VIEW_ROWS);
  if (picture->data != NULL)
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->split), picture->data->split);
  if (kind == LOOM_TASK_VIEW_ROWS)
    fill_columns (self, picture);
  self->is_filling = FALSE;
}

/* ---- children ------------------------------------------------------------------ */

static GtkWidget *
new_button (const char *icon, const char *title, GCallback pressed, StudioTaskPane *self)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  gtk_widget_set_tooltip_text (button, title);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect_swapped (button, "clicked", pressed, self);
  return button;
}

static GtkWidget *
new_head (StudioTaskPane *self)
{
  static const char *const axes[] = { N_ ("Horizontal column"), N_ ("Vertical column") };
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  const char *titles[G_N_ELEMENTS (splits) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS (splits); i++)
    titles[i] = _ (splits[i].title);
  self->split = gtk_drop_down_new_from_strings (titles);
  studio_choice_set_name (GTK_DROP_DOWN (self->split), _ ("Shown samples"));
  g_signal_connect_swapped (self->split, "notify::selected", G_CALLBACK (split_cb), self);
  gtk_widget_set_hexpand (self->split, TRUE);
  gtk_box_append (GTK_BOX (line), self->split);
  self->pages = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_box_append (GTK_BOX (self->pages),
                  new_button ("go-previous-symbolic", _ ("Previous samples"), G_CALLBACK (previous_cb), self));
  gtk_box_append (GTK_BOX (self->pages),
                  new_button ("go-next-symbolic", _ ("Next samples"), G_CALLBACK (next_cb), self));
  gtk_box_append (GTK_BOX (line), self->pages);
  gtk_box_append (GTK_BOX (head), line);
  self->columns = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_box_set_homogeneous (GTK_BOX (self->columns), TRUE);
  for (guint k = 0; k < 2; k++)
    {
      self->column[k] = gtk_drop_down_new_from_strings ((const char *const[]){ NULL });
      studio_choice_set_name (GTK_DROP_DOWN (self->column[k]), _ (axes[k]));
      gtk_widget_set_tooltip_text (self->column[k], _ (axes[k]));
      g_signal_connect (self->column[k], "notify::selected", G_CALLBACK (column_cb), self);
      gtk_box_append (GTK_BOX (self->columns), self->column[k]);
    }
  gtk_box_append (GTK_BOX (head), self->columns);
  return head;
}

static void
pane_dispose (GObject *object)
{
  StudioTaskPane *self = STUDIO_TASK_PANE (object);
  if (self->task != NULL)
    g_signal_handlers_disconnect_by_data (self->task, self);
  g_clear_object (&self->task);
  G_OBJECT_CLASS (studio_task_pane_parent_class)->dispose (object);
}

static void
studio_task_pane_class_init (StudioTaskPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "taskpane");
}

static void
studio_task_pane_init (StudioTaskPane *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
}

StudioTaskPane *
studio_task_pane_new (StudioTask *task)
{
  StudioTaskPane *self = g_object_new (STUDIO_TYPE_TASK_PANE, NULL);
  GtkWidget *scrolled = gtk_scrolled_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);

  self->task = g_object_ref (task);
  gtk_box_append (GTK_BOX (self), new_head (self));
  self->view = studio_task_new_view (task);
  gtk_widget_set_valign (self->view, GTK_ALIGN_START);
  self->message = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->message), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->message), 0);
  gtk_widget_add_css_class (self->message, "dim-label");
  /* The message is above the picture, because below a list of samples it would be out of sight. */
  gtk_box_append (GTK_BOX (box), self->message);
  gtk_box_append (GTK_BOX (box), self->view);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), box);
  gtk_widget_set_vexpand (scrolled, TRUE);
  gtk_box_append (GTK_BOX (self), scrolled);
  g_signal_connect (task, "changed", G_CALLBACK (changed_cb), self);
  changed_cb (task, self);
  /* The view is hidden while it is empty, so the task watches the pane itself. */
  studio_task_watch (task, GTK_WIDGET (self));
  return self;
}

void
studio_task_pane_focus (StudioTaskPane *self)
{
  if (!gtk_widget_grab_focus (self->view))
    gtk_widget_child_focus (GTK_WIDGET (self), GTK_DIR_TAB_FORWARD);
}
