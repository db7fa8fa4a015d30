/* Implements studio-task-tab.h. */
#include "ui/page/studio-task-tab.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/run/studio-task-pane.h"

#define PAGE "task"

struct _StudioTaskTab
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  StudioPanes *panes;
  StudioTask *task;
  GtkWidget *stage;
  GtkWidget *pane, *on_stage; /* NULL: they are not there */
};

STUDIO_DEFINE_TYPE (StudioTaskTab, studio_task_tab, G_TYPE_OBJECT)

static void
add_page (StudioTaskTab *self)
{
  if (self->pane != NULL)
    return;
  self->pane = GTK_WIDGET (studio_task_pane_new (self->task));
  studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("Picture"));
}

static void
remove_page (StudioTaskTab *self)
{
  self->pane = NULL;
  studio_panes_remove_page (self->panes, PAGE);
}

/* A drawer would cover the graph. */
static gboolean
is_docked (StudioTaskTab *self)
{
  return studio_panes_get_size_class (self->panes) == STUDIO_SIZE_CLASS_WIDE
         && studio_panes_get_open (self->panes, STUDIO_PANE_END);
}

/* A card that is clicked shows its parameters in place of the picture, and the next training shows the picture again,
 * unless a card is still selected, because a click on a selected card changes nothing. */
static void
selection_cb (StudioTaskTab *self)
{
  if (studio_panes_is_page_visible (self->panes, PAGE) && studio_document_n_selected (self->document) > 0)
    studio_panes_show_page (self->panes, "inspector");
}

static void
state_cb (StudioTaskTab *self)
{
  if (self->pane != NULL && studio_run_get_state (self->run) == STUDIO_RUN_STARTING && is_docked (self)
      && studio_document_n_selected (self->document) == 0)
    studio_panes_show_page (self->panes, PAGE);
}

void
studio_task_tab_toggle (StudioTaskTab *self)
{
  studio_panes_want (self->panes);
  if (studio_panes_is_page_visible (self->panes, PAGE))
    {
      remove_page (self);
      gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
      return;
    }
  add_page (self);
  studio_panes_show_page (self->panes, PAGE);
  studio_task_pane_focus (STUDIO_TASK_PANE (self->pane));
}

void
studio_task_tab_open (StudioTaskTab *self, gboolean has_lesson)
{
  const gboolean wanted = has_lesson && studio_task_kind_opens (studio_task_get_kind (self->task));
  if (!wanted && self->pane != NULL)
    remove_page (self);
  if (!wanted)
    return;
  add_page (self);
  if (is_docked (self))
    studio_panes_show_page (self->panes, PAGE);
}

void
studio_task_tab_present (StudioTaskTab *self, gboolean on)
{
  if (on && self->pane != NULL && !gtk_widget_get_visible (self->stage)
      && studio_task_get_kind (self->task) != LOOM_TASK_VIEW_NONE)
    {
      self->on_stage = studio_task_new_view (self->task);
      gtk_widget_add_css_class (self->on_stage, "presented");
      gtk_widget_set_vexpand (self->on_stage, TRUE);
      gtk_box_append (GTK_BOX (self->stage), self->on_stage);
      gtk_widget_set_visible (self->stage, TRUE);
    }
  else if (!on && self->on_stage != NULL)
    {
      gtk_box_remove (GTK_BOX (self->stage), self->on_stage);
      self->on_stage = NULL;
      gtk_widget_set_visible (self->stage, FALSE);
    }
}

StudioTask *
studio_task_tab_get_task (StudioTaskTab *self)
{
  return self->task;
}

static void
task_tab_dispose (GObject *object)
{
  StudioTaskTab *self = STUDIO_TASK_TAB (object);
  g_clear_object (&self->task);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_task_tab_parent_class)->dispose (object);
}

static void
studio_task_tab_class_init (StudioTaskTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = task_tab_dispose;
}

StudioTaskTab *
studio_task_tab_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas, StudioPanes *panes,
                     GtkWidget *stage)
{
  StudioTaskTab *self = g_object_new (STUDIO_TYPE_TASK_TAB, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->canvas = canvas;
  self->panes = panes;
  self->stage = stage;
  self->task = studio_task_new (document, run);
  g_signal_connect_object (document, "selection-changed", G_CALLBACK (selection_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
  return self;
}
