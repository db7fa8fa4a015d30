/* The loss of runs against their time or their number of parameters. */
#include "ui/runs/runs-view.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/runs/studio-run-scatter.h"

typedef struct
{
  StudioRuns *runs;
  GtkWidget *cost, *scatter, *words;
} Pareto;

static void
update (Pareto *self)
{
  g_autoptr (GPtrArray) chosen = NULL;

  if (!gtk_widget_get_mapped (self->scatter))
    return;
  chosen = studio_runs_dup_chosen (self->runs, TRUE);
  studio_run_scatter_set (STUDIO_RUN_SCATTER (self->scatter), chosen,
                          (StudioRunCost)gtk_drop_down_get_selected (GTK_DROP_DOWN (self->cost)));
}

static void
moved_cb (StudioRunScatter *scatter, Pareto *self)
{
  const char *words = studio_run_scatter_get_words (scatter);

  gtk_label_set_text (GTK_LABEL (self->words), words != NULL ? words : _ ("no run with a loss"));
}

static void
pareto_free (gpointer data)
{
  Pareto *self = data;

  g_signal_handlers_disconnect_by_data (self->runs, self);
  g_object_unref (self->runs);
  g_free (self);
}

static GtkWidget *
make (StudioRuns *runs)
{
  /* In the order of StudioRunCost. */
  const char *const costs[] = { _ ("Loss against time"), _ ("Loss against parameters"), NULL };
  Pareto *self = g_new0 (Pareto, 1);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  self->runs = g_object_ref (runs);
  self->cost = gtk_drop_down_new_from_strings (costs);
  studio_choice_set_name (GTK_DROP_DOWN (self->cost), _ ("Cost"));
  self->scatter = GTK_WIDGET (studio_run_scatter_new ());
  self->words = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->words), 0);
  gtk_label_set_wrap (GTK_LABEL (self->words), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (self->words), 36);
  gtk_box_append (GTK_BOX (box), self->cost);
  gtk_box_append (GTK_BOX (box), self->scatter);
  gtk_box_append (GTK_BOX (box), self->words);
  g_object_set_data_full (G_OBJECT (box), "pareto", self, pareto_free);
  g_signal_connect (self->scatter, "moved", G_CALLBACK (moved_cb), self);
  g_signal_connect_swapped (self->scatter, "map", G_CALLBACK (update), self);
  g_signal_connect_swapped (self->cost, "notify::selected", G_CALLBACK (update), self);
  g_signal_connect_swapped (runs, "chosen-changed", G_CALLBACK (update), self);
  return box;
}

const RunsView runs_view_pareto = { .name = "pareto", .title = N_ ("Loss and Cost"), .make = make };
