/* Implements studio-pytorch-tab.h. */
#include "ui/page/studio-pytorch-tab.h"

#include <glib/gi18n.h>

#include "ui/listing/studio-pytorch-pane.h"

#define PAGE "pytorch"

struct _StudioPytorchTab
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioPanes *panes;
  GtkWidget *pane; /* NULL: it is not there */
};

G_DEFINE_FINAL_TYPE (StudioPytorchTab, studio_pytorch_tab, G_TYPE_OBJECT)

void
studio_pytorch_tab_toggle (StudioPytorchTab *self)
{
  studio_panes_want (self->panes);
  if (self->pane == NULL)
    {
      self->pane = GTK_WIDGET (studio_pytorch_pane_new (self->document));
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("PyTorch"));
    }
  else if (studio_panes_is_page_visible (self->panes, PAGE))
    {
      self->pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
      gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
      return;
    }
  studio_panes_show_page (self->panes, PAGE);
  studio_pytorch_pane_focus (STUDIO_PYTORCH_PANE (self->pane));
}

static void
pytorch_tab_dispose (GObject *object)
{
  g_clear_object (&STUDIO_PYTORCH_TAB (object)->document);
  G_OBJECT_CLASS (studio_pytorch_tab_parent_class)->dispose (object);
}

static void
studio_pytorch_tab_class_init (StudioPytorchTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = pytorch_tab_dispose;
}

static void
studio_pytorch_tab_init (StudioPytorchTab *self)
{
}

StudioPytorchTab *
studio_pytorch_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioPanes *panes)
{
  StudioPytorchTab *self = g_object_new (STUDIO_TYPE_PYTORCH_TAB, NULL);

  self->document = g_object_ref (document);
  self->canvas = canvas;
  self->panes = panes;
  return self;
}
