/* The page with the picture of the task: by command, and by itself in lessons about data that show at once what
 * training does to them. */
#include <glib/gi18n.h>

#include "ui/run/studio-task-pane.h"
#include "ui/page/studio-page-private.h"

#define PAGE "task"

static void
add_page (StudioPage *self)
{
  if (self->task_pane != NULL)
    return;
  self->task_pane = GTK_WIDGET (studio_task_pane_new (self->task));
  studio_panes_add_page (self->panes, STUDIO_PANE_END, self->task_pane, PAGE, _ ("Picture"));
}

/* While the picture is wanted, a card that is clicked shows its parameters in the picture's place, and the next
 * training shows the picture again, unless a card is still selected: a click on that would bring nothing. */
static void
selection_cb (StudioPage *self)
{
  if (self->task_pane != NULL && studio_page_sees_page (self, PAGE) && studio_document_n_selected (self->document) > 0)
    studio_panes_show_page (self->panes, "inspector");
}

static void
state_cb (StudioPage *self)
{
  if (self->task_pane != NULL && studio_run_get_state (self->run) == STUDIO_RUN_STARTING
      && studio_panes_get_size_class (self->panes) == STUDIO_SIZE_CLASS_WIDE
      && studio_panes_get_open (self->panes, STUDIO_PANE_END) && studio_document_n_selected (self->document) == 0)
    studio_panes_show_page (self->panes, PAGE);
}

void
studio_page_toggle_task (StudioPage *self)
{
  if (self->presenting)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.present", NULL);
  if (self->task_pane != NULL && studio_page_sees_page (self, PAGE))
    {
      self->task_pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
      studio_page_focus (self);
      return;
    }
  add_page (self);
  studio_panes_show_page (self->panes, PAGE);
  studio_task_pane_focus (STUDIO_TASK_PANE (self->task_pane));
}

void
studio_page_open_task (StudioPage *self)
{
  const gboolean wanted
      = studio_lesson_get (self->lesson) != NULL && studio_task_kind_opens (studio_task_get_kind (self->task));
  if (!wanted && self->task_pane != NULL)
    {
      self->task_pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
    }
  if (!wanted)
    return;
  add_page (self);
  /* A drawer would lie over the graph that has just been opened. */
  if (studio_panes_get_size_class (self->panes) == STUDIO_SIZE_CLASS_WIDE
      && studio_panes_get_open (self->panes, STUDIO_PANE_END))
    studio_panes_show_page (self->panes, PAGE);
}

void
studio_page_present_task (StudioPage *self, gboolean on)
{
  if (on && self->task_pane != NULL && !gtk_widget_get_visible (self->stage)
      && studio_task_get_kind (self->task) != LOOM_TASK_VIEW_NONE)
    {
      self->task_on_stage = studio_task_new_view (self->task);
      gtk_widget_add_css_class (self->task_on_stage, "presented");
      gtk_widget_set_vexpand (self->task_on_stage, TRUE);
      gtk_box_append (GTK_BOX (self->stage), self->task_on_stage);
      gtk_widget_set_visible (self->stage, TRUE);
    }
  else if (!on && self->task_on_stage != NULL)
    {
      gtk_box_remove (GTK_BOX (self->stage), self->task_on_stage);
      self->task_on_stage = NULL;
      gtk_widget_set_visible (self->stage, FALSE);
    }
}

void
studio_page_setup_task (StudioPage *self)
{
  self->task = studio_task_new (self->document, self->run);
  g_signal_connect_swapped (self->document, "selection-changed", G_CALLBACK (selection_cb), self);
  g_signal_connect_swapped (self->run, "state-changed", G_CALLBACK (state_cb), self);
}
