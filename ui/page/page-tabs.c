/* Implements page-tabs.h. */
#include "ui/page/page-tabs.h"

#include <glib/gi18n.h>

#include "ui/history/studio-history-pane.h"
#include "ui/listing/studio-pytorch-pane.h"
#include "ui/timeline/studio-gradient-pane.h"
#include "ui/timeline/studio-steps-pane.h"

struct _PageTabKind
{
  const char *name, *title;
  GtkWidget *(*make) (const PageTab *self);
  void (*focus) (GtkWidget *pane);
};

/* ---- the kinds ------------------------------------------------------------------------------------ */

static GtkWidget *
make_history (const PageTab *self)
{
  GtkWidget *pane = GTK_WIDGET (studio_history_pane_new (self->document));

  g_signal_connect_object (pane, "compare", G_CALLBACK (studio_comparing_with_entry), self->comparing,
                           G_CONNECT_SWAPPED);
  return pane;
}

static void
focus_history (GtkWidget *pane)
{
  studio_history_pane_focus (STUDIO_HISTORY_PANE (pane));
}

static GtkWidget *
make_pytorch (const PageTab *self)
{
  return GTK_WIDGET (studio_pytorch_pane_new (self->document));
}

static void
focus_pytorch (GtkWidget *pane)
{
  studio_pytorch_pane_focus (STUDIO_PYTORCH_PANE (pane));
}

static GtkWidget *
make_steps (const PageTab *self)
{
  return GTK_WIDGET (studio_steps_pane_new (self->document, self->canvas, self->run));
}

static void
focus_steps (GtkWidget *pane)
{
  studio_steps_pane_focus (STUDIO_STEPS_PANE (pane));
}

static GtkWidget *
make_gradients (const PageTab *self)
{
  return GTK_WIDGET (studio_gradient_pane_new (self->document));
}

static void
check_gradients (GtkWidget *pane)
{
  studio_gradient_pane_check (STUDIO_GRADIENT_PANE (pane));
  studio_gradient_pane_focus (STUDIO_GRADIENT_PANE (pane));
}

const PageTabKind page_tab_history
    = { .name = "history", .title = N_ ("History"), .make = make_history, .focus = focus_history };
const PageTabKind page_tab_pytorch
    = { .name = "pytorch", .title = N_ ("PyTorch"), .make = make_pytorch, .focus = focus_pytorch };
const PageTabKind page_tab_steps
    = { .name = "steps", .title = N_ ("What Runs"), .make = make_steps, .focus = focus_steps };
const PageTabKind page_tab_gradients
    = { .name = "gradients", .title = N_ ("Gradients"), .make = make_gradients, .focus = check_gradients };

/* ---- commands ------------------------------------------------------------------------------------- */

static void
show (PageTab *self)
{
  const PageTabKind *kind = self->kind;

  if (self->pane == NULL)
    {
      self->pane = kind->make (self);
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, kind->name, _ (kind->title));
    }
  studio_panes_show_page (self->panes, kind->name);
  kind->focus (self->pane);
}

void
page_tab_toggle (PageTab *self)
{
  studio_panes_want (self->panes);
  if (self->pane == NULL || !studio_panes_is_page_visible (self->panes, self->kind->name))
    {
      show (self);
      return;
    }
  self->pane = NULL;
  studio_panes_remove_page (self->panes, self->kind->name);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

void
page_tab_check_gradients (PageTab *self)
{
  studio_panes_want (self->panes);
  show (self);
}

void
page_tab_export_memory (PageTab *self, const char *suffix)
{
  studio_exporter_write_memory (
      self->exporter, self->pane != NULL ? studio_steps_pane_get_memory (STUDIO_STEPS_PANE (self->pane)) : NULL,
      suffix);
}
