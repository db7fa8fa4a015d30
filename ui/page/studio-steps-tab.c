/* Implements studio-steps-tab.h. */
#include "ui/page/studio-steps-tab.h"

#include <glib/gi18n.h>

#include "ui/timeline/studio-steps-pane.h"

#define PAGE "steps"

struct _StudioStepsTab
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioRun *run;
  StudioPanes *panes;
  const StudioExporter *exporter;
  GtkWidget *pane; /* NULL: it is not there */
};

G_DEFINE_FINAL_TYPE (StudioStepsTab, studio_steps_tab, G_TYPE_OBJECT)

void
studio_steps_tab_toggle (StudioStepsTab *self)
{
  studio_panes_want (self->panes);
  if (self->pane == NULL)
    {
      self->pane = GTK_WIDGET (studio_steps_pane_new (self->document, self->canvas, self->run));
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("What Runs"));
    }
  else if (studio_panes_is_page_visible (self->panes, PAGE))
    {
      self->pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
      gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
      return;
    }
  studio_panes_show_page (self->panes, PAGE);
  studio_steps_pane_focus (STUDIO_STEPS_PANE (self->pane));
}

void
studio_steps_tab_export (StudioStepsTab *self, const char *suffix)
{
  studio_exporter_write_memory (
      self->exporter, self->pane != NULL ? studio_steps_pane_get_memory (STUDIO_STEPS_PANE (self->pane)) : NULL,
      suffix);
}

static void
steps_tab_dispose (GObject *object)
{
  StudioStepsTab *self = STUDIO_STEPS_TAB (object);

  g_clear_object (&self->document);
  g_clear_object (&self->run);
  G_OBJECT_CLASS (studio_steps_tab_parent_class)->dispose (object);
}

static void
studio_steps_tab_class_init (StudioStepsTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = steps_tab_dispose;
}

static void
studio_steps_tab_init (StudioStepsTab *self)
{
}

StudioStepsTab *
studio_steps_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run, StudioPanes *panes,
                      const StudioExporter *exporter)
{
  StudioStepsTab *self = g_object_new (STUDIO_TYPE_STEPS_TAB, NULL);

  self->document = g_object_ref (document);
  self->canvas = canvas;
  self->run = g_object_ref (run);
  self->panes = panes;
  self->exporter = exporter;
  return self;
}
