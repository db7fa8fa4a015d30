/* The pane with the task view: builds the menus and the page buttons, and passes the user's choices to StudioTask,
 * whose view it shows. */
#include "ui/run/studio-task-pane.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-template.h"

struct _StudioTaskPane
{
  GtkBox parent_instance;
  StudioTask *task;
  GtkWidget *view, *content, *message, *split, *pages, *columns, *column[2];
  gboolean is_filling; /* a selection is being set by code, not by the user */
};

G_DEFINE_FINAL_TYPE (StudioTaskPane, studio_task_pane, GTK_TYPE_BOX)

/* ---- choices ------------------------------------------------------------------ */

static void
split_cb (StudioTaskPane *self)
{
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->split));
  if (!self->is_filling && i < LOOM_N_SPLITS)
    studio_task_set_split (self->task, (LoomSplit)i);
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

/* ---- class --------------------------------------------------------------------- */

static void
pane_dispose (GObject *object)
{
  StudioTaskPane *self = STUDIO_TASK_PANE (object);
  g_clear_object (&self->task);
  G_OBJECT_CLASS (studio_task_pane_parent_class)->dispose (object);
}

static void
studio_task_pane_class_init (StudioTaskPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "taskpane");
  STUDIO_TEMPLATE (klass, "studio-task-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioTaskPane, content, message, split, pages, columns, column[0], column[1]);
  STUDIO_TEMPLATE_CALLBACKS (klass, split_cb, column_cb, previous_cb, next_cb);
}

static void
studio_task_pane_init (StudioTaskPane *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  studio_choice_set_name (GTK_DROP_DOWN (self->split), _ ("Shown samples"));
  for (guint k = 0; k < 2; k++)
    studio_choice_set_name (GTK_DROP_DOWN (self->column[k]), gtk_widget_get_tooltip_text (self->column[k]));
}

StudioTaskPane *
studio_task_pane_new (StudioTask *task)
{
  StudioTaskPane *self = g_object_new (STUDIO_TYPE_TASK_PANE, NULL);

  self->task = g_object_ref (task);
  self->view = studio_task_new_view (task);
  gtk_widget_set_valign (self->view, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (self->content), self->view);
  g_signal_connect_object (task, "changed", G_CALLBACK (changed_cb), self, 0);
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
