/* Implements studio-gradient-tab.h. */
#include "ui/page/studio-gradient-tab.h"

#include <glib/gi18n.h>

#include "ui/timeline/studio-gradient-pane.h"

#define PAGE "gradients"

struct _StudioGradientTab
{
  GObject parent_instance;
  StudioDocument *document;
  StudioPanes *panes;
  GtkWidget *pane; /* NULL: it is not there */
};

G_DEFINE_FINAL_TYPE (StudioGradientTab, studio_gradient_tab, G_TYPE_OBJECT)

void
studio_gradient_tab_check (StudioGradientTab *self)
{
  studio_panes_want (self->panes);
  if (self->pane == NULL)
    {
      self->pane = GTK_WIDGET (studio_gradient_pane_new (self->document));
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("Gradients"));
    }
  studio_panes_show_page (self->panes, PAGE);
  studio_gradient_pane_check (STUDIO_GRADIENT_PANE (self->pane));
  studio_gradient_pane_focus (STUDIO_GRADIENT_PANE (self->pane));
}

static void
gradient_tab_dispose (GObject *object)
{
  g_clear_object (&STUDIO_GRADIENT_TAB (object)->document);
  G_OBJECT_CLASS (studio_gradient_tab_parent_class)->dispose (object);
}

static void
studio_gradient_tab_class_init (StudioGradientTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradient_tab_dispose;
}

static void
studio_gradient_tab_init (StudioGradientTab *self)
{
}

StudioGradientTab *
studio_gradient_tab_new (StudioDocument *document, StudioPanes *panes)
{
  StudioGradientTab *self = g_object_new (STUDIO_TYPE_GRADIENT_TAB, NULL);

  self->document = g_object_ref (document);
  self->panes = panes;
  return self;
}
