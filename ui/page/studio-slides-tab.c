/* Implements studio-slides-tab.h. */
#include "ui/page/studio-slides-tab.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/present/studio-slide-show.h"
#include "ui/present/studio-slides-pane.h"

#define PAGE "slides"

struct _StudioSlidesTab
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioSlides *slides;
  StudioPanes *panes;
  StudioSlidesPane *pane;
  gboolean is_added;
};

STUDIO_DEFINE_TYPE (StudioSlidesTab, studio_slides_tab, G_TYPE_OBJECT)

static void
add_page (StudioSlidesTab *self)
{
  if (self->is_added)
    return;
  studio_panes_add_page (self->panes, STUDIO_PANE_END, GTK_WIDGET (self->pane), PAGE, _ ("Views"));
  self->is_added = TRUE;
}

void
studio_slides_tab_show (StudioSlidesTab *self)
{
  studio_panes_want (self->panes);
  add_page (self);
  studio_panes_show_page (self->panes, PAGE);
  gtk_widget_child_focus (GTK_WIDGET (self->pane), GTK_DIR_TAB_FORWARD);
}

void
studio_slides_tab_add (StudioSlidesTab *self)
{
  /* The slide is captured first: leaving the presentation may show another part. */
  g_autoptr (LoomSlide) slide = studio_slide_capture (self->document, self->canvas);
  studio_slides_tab_show (self);
  studio_slides_pane_add_slide (self->pane, slide);
}

static void
slides_changed_cb (StudioSlidesTab *self)
{
  if (studio_slides_n (self->slides) > 0)
    add_page (self);
}

static void
slides_tab_dispose (GObject *object)
{
  StudioSlidesTab *self = STUDIO_SLIDES_TAB (object);
  g_clear_object (&self->pane);
  g_clear_object (&self->slides);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_slides_tab_parent_class)->dispose (object);
}

static void
studio_slides_tab_class_init (StudioSlidesTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = slides_tab_dispose;
}

StudioSlidesTab *
studio_slides_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioSlides *slides, StudioPanes *panes)
{
  StudioSlidesTab *self = g_object_new (STUDIO_TYPE_SLIDES_TAB, NULL);
  self->document = g_object_ref (document);
  self->canvas = canvas;
  self->slides = g_object_ref (slides);
  self->panes = panes;
  self->pane = g_object_ref_sink (studio_slides_pane_new (document, canvas, slides));
  g_signal_connect_object (slides, "changed", G_CALLBACK (slides_changed_cb), self, G_CONNECT_SWAPPED);
  return self;
}
