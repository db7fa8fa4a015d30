/* Implements studio-panel-split.h. */
#include "ui/page/studio-panel-split.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"

#define PANEL_HEIGHT 240
#define PANEL_SHARE  0.45
/* On the projector a map takes two fifths of the height, and caption and keys need theirs. */
#define PRESENTED_SHARE 0.32

struct _StudioPanelSplit
{
  GObject parent_instance;
  GtkPaned *paned;
  GtkWidget *panel;
  gboolean available; /* a run was started */
  gboolean folded;    /* by the user */
  gboolean unplaced;  /* it was shown before the window had a height */
  gboolean presenting;
};

STUDIO_DEFINE_TYPE (StudioPanelSplit, studio_panel_split, G_TYPE_OBJECT)

enum
{
  CHANGED,
  SHOWN,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* While the panel is hidden, the gestures of the handle are off: GTK 4.8 handles presses where the handle was last,
 * over the whole width of the window, although it is hidden. */
static void
enable_handle (StudioPanelSplit *self, gboolean shown)
{
  static const char key[] = "phase";
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (self->paned));
  guint n = g_list_model_get_n_items (controllers);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GtkEventController) c = g_list_model_get_item (controllers, i);

      if (!GTK_IS_GESTURE (c))
        continue;
      if (g_object_get_data (G_OBJECT (c), key) == NULL)
        g_object_set_data (G_OBJECT (c), key, GINT_TO_POINTER (gtk_event_controller_get_propagation_phase (c)));
      gtk_event_controller_set_propagation_phase (c, shown ? GPOINTER_TO_INT (g_object_get_data (G_OBJECT (c), key))
                                                           : GTK_PHASE_NONE);
    }
}

static void
update (StudioPanelSplit *self)
{
  const gboolean open = studio_panel_split_is_open (self);
  gtk_widget_set_visible (self->panel, open);
  enable_handle (self, open);
  g_signal_emit (self, signals[CHANGED], 0);
}

gboolean
studio_panel_split_is_available (StudioPanelSplit *self)
{
  return self->available;
}

gboolean
studio_panel_split_is_open (StudioPanelSplit *self)
{
  return self->available && !self->folded;
}

gboolean
studio_panel_split_place (StudioPanelSplit *self)
{
  int height = gtk_widget_get_height (GTK_WIDGET (self->paned));
  double large = CLAMP (studio_text_scale (GTK_WIDGET (self->paned)), 1, 1.6);
  int wanted = (int)(PANEL_HEIGHT * (self->presenting ? MAX (large, 1.25) : large));
  /* Most of a small window is for the graph. */
  wanted = MIN (wanted, (int)((self->presenting ? PRESENTED_SHARE : PANEL_SHARE) * height));
  if (!self->unplaced || height <= wanted)
    return FALSE;
  self->unplaced = FALSE;
  gtk_paned_set_position (self->paned, height - wanted);
  return TRUE;
}

void
studio_panel_split_show (StudioPanelSplit *self)
{
  if (studio_panel_split_is_open (self))
    return;
  self->folded = FALSE;
  self->available = TRUE;
  update (self);
  self->unplaced = TRUE;
  studio_panel_split_place (self);
  g_signal_emit (self, signals[SHOWN], 0);
}

void
studio_panel_split_hide (StudioPanelSplit *self)
{
  self->available = FALSE;
  update (self);
}

void
studio_panel_split_set_folded (StudioPanelSplit *self, gboolean folded)
{
  self->folded = folded;
  update (self);
}

void
studio_panel_split_set_presenting (StudioPanelSplit *self, gboolean presenting)
{
  self->presenting = presenting;
}

static void
studio_panel_split_class_init (StudioPanelSplitClass *klass)
{
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "changed", "shown" })[i], STUDIO_TYPE_PANEL_SPLIT,
                               G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioPanelSplit *
studio_panel_split_new (GtkPaned *paned, GtkWidget *panel)
{
  StudioPanelSplit *self = g_object_new (STUDIO_TYPE_PANEL_SPLIT, NULL);
  self->paned = paned;
  self->panel = panel;
  gtk_paned_set_end_child (paned, panel);
  gtk_accessible_update_property (GTK_ACCESSIBLE (paned), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Height of the run panel"),
                                  -1);
  update (self);
  return self;
}
