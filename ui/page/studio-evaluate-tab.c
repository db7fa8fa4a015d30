/* Implements studio-evaluate-tab.h. */
#include "ui/page/studio-evaluate-tab.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/evaluate/studio-evaluate-pane.h"

#define PAGE "evaluate"

struct _StudioEvaluateTab
{
  GObject parent_instance;
  StudioCanvas *canvas;
  StudioPanes *panes;
  StudioEvaluation *model;
  GtkWidget *pane; /* NULL: it is not there */
};

STUDIO_DEFINE_TYPE (StudioEvaluateTab, studio_evaluate_tab, G_TYPE_OBJECT)

static void
show (StudioEvaluateTab *self, const char *view)
{
  studio_panes_want (self->panes);
  if (self->pane == NULL)
    {
      self->pane = studio_evaluate_pane_new (self->model);
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("Evaluate"));
    }
  studio_panes_show_page (self->panes, PAGE);
  if (view != NULL)
    studio_evaluate_pane_show (STUDIO_EVALUATE_PANE (self->pane), view);
  studio_evaluate_pane_focus (STUDIO_EVALUATE_PANE (self->pane));
}

void
studio_evaluate_tab_toggle (StudioEvaluateTab *self)
{
  if (!studio_panes_is_page_visible (self->panes, PAGE))
    {
      show (self, NULL);
      return;
    }
  self->pane = NULL;
  studio_panes_remove_page (self->panes, PAGE);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

void
studio_evaluate_tab_show_own (StudioEvaluateTab *self)
{
  show (self, "own");
}

void
studio_evaluate_tab_show_generate (StudioEvaluateTab *self)
{
  show (self, "generate");
}

void
studio_evaluate_tab_show_data (StudioEvaluateTab *self)
{
  show (self, "data");
}

char *
studio_evaluate_tab_dump (StudioEvaluateTab *self)
{
  return self->pane != NULL ? studio_evaluate_pane_dump (STUDIO_EVALUATE_PANE (self->pane)) : NULL;
}

static void
evaluate_tab_dispose (GObject *object)
{
  g_clear_object (&STUDIO_EVALUATE_TAB (object)->model);
  G_OBJECT_CLASS (studio_evaluate_tab_parent_class)->dispose (object);
}

static void
studio_evaluate_tab_class_init (StudioEvaluateTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = evaluate_tab_dispose;
}

StudioEvaluateTab *
studio_evaluate_tab_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas, StudioPanes *panes)
{
  StudioEvaluateTab *self = g_object_new (STUDIO_TYPE_EVALUATE_TAB, NULL);

  self->canvas = canvas;
  self->panes = panes;
  self->model = studio_evaluation_new (document, run);
  return self;
}
