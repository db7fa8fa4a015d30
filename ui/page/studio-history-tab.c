/* Implements studio-history-tab.h. */
#include "ui/page/studio-history-tab.h"

#include <glib/gi18n.h>

#include "ui/history/studio-history-pane.h"

#define PAGE "history"

struct _StudioHistoryTab
{
  GObject parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioPanes *panes;
  GtkWidget *pane; /* NULL: it is not there */
};

G_DEFINE_FINAL_TYPE (StudioHistoryTab, studio_history_tab, G_TYPE_OBJECT)

static guint compare_signal;

static void
compare_cb (StudioHistoryPane *pane, guint position, StudioHistoryTab *self)
{
  g_signal_emit (self, compare_signal, 0, position);
}

void
studio_history_tab_toggle (StudioHistoryTab *self)
{
  studio_panes_want (self->panes);
  if (self->pane == NULL)
    {
      self->pane = GTK_WIDGET (studio_history_pane_new (self->document));
      g_signal_connect_object (self->pane, "compare", G_CALLBACK (compare_cb), self, 0);
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("History"));
    }
  else if (studio_panes_is_page_visible (self->panes, PAGE))
    {
      self->pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
      gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
      return;
    }
  studio_panes_show_page (self->panes, PAGE);
  studio_history_pane_focus (STUDIO_HISTORY_PANE (self->pane));
}

static void
history_tab_dispose (GObject *object)
{
  g_clear_object (&STUDIO_HISTORY_TAB (object)->document);
  G_OBJECT_CLASS (studio_history_tab_parent_class)->dispose (object);
}

static void
studio_history_tab_class_init (StudioHistoryTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = history_tab_dispose;
  compare_signal = g_signal_new ("compare", STUDIO_TYPE_HISTORY_TAB, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                 G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void
studio_history_tab_init (StudioHistoryTab *self)
{
}

StudioHistoryTab *
studio_history_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioPanes *panes)
{
  StudioHistoryTab *self = g_object_new (STUDIO_TYPE_HISTORY_TAB, NULL);
  self->document = g_object_ref (document);
  self->canvas = canvas;
  self->panes = panes;
  return self;
}
