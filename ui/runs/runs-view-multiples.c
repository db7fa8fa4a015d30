/* A small chart for each run, all with the same range of losses. */
#include "ui/runs/runs-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-chart.h"

#define MOST 40 /* charts */

typedef struct
{
  StudioRuns *runs;
  GtkWidget *flow;
} Multiples;

/* The range of the losses of all runs. */
static void
get_range (const GPtrArray *runs, gboolean validation, double *min, double *max)
{
  *min = INFINITY;
  *max = -INFINITY;
  for (guint i = 0; i < runs->len * (validation ? 2 : 1); i++)
    {
      StudioRunEntry *entry = runs->pdata[i % runs->len];
      LoomSeries *series
          = i < runs->len ? studio_run_entry_get_series (entry) : studio_run_entry_get_validation (entry);
      double low, high;

      if (!loom_series_range (series, 0, loom_series_length (series), &low, &high, NULL))
        continue;
      *min = MIN (*min, low);
      *max = MAX (*max, high);
    }
  if (*min >= *max)
    *min = *max = NAN;
}

static char *
dup_title (StudioRunEntry *entry)
{
  return loom_text_printable (loom_run_summary_name (studio_run_entry_get (entry)), TRUE, 24);
}

static StudioChart *
nth_chart (Multiples *self, guint i)
{
  GtkFlowBoxChild *child = gtk_flow_box_get_child_at_index (GTK_FLOW_BOX (self->flow), (int)i);

  return child != NULL ? STUDIO_CHART (gtk_flow_box_child_get_child (child)) : NULL;
}

/* TRUE if there is a chart for each of these runs, and no other. */
static gboolean
has_charts_of (Multiples *self, const GPtrArray *runs)
{
  for (guint i = 0; i < runs->len; i++)
    {
      StudioChart *chart = nth_chart (self, i);
      g_autofree char *title = dup_title (runs->pdata[i]);

      if (chart == NULL || g_object_get_data (G_OBJECT (chart), "entry") != runs->pdata[i]
          || !g_str_equal (studio_chart_get_plot (chart)->title, title))
        return FALSE;
    }
  return nth_chart (self, runs->len) == NULL;
}

static void
make_charts (Multiples *self, const GPtrArray *runs)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->flow)) != NULL)
    gtk_flow_box_remove (GTK_FLOW_BOX (self->flow), child);
  for (guint i = 0; i < runs->len; i++)
    {
      g_autofree char *title = dup_title (runs->pdata[i]);
      StudioChart *chart = studio_chart_new (title);

      studio_chart_get_plot (chart)->title_is_name = TRUE;
      g_object_set_data_full (G_OBJECT (chart), "entry", g_object_ref (runs->pdata[i]), g_object_unref);
      gtk_flow_box_append (GTK_FLOW_BOX (self->flow), GTK_WIDGET (chart));
    }
}

static void
fill (StudioRuns *runs, StudioChart *chart, StudioRunEntry *entry, guint i, double min, double max)
{
  StudioPlot *plot = studio_chart_get_plot (chart);
  const int chosen = studio_run_entry_get_colour (entry);
  const guint colour = chosen >= 0 ? (guint)chosen : i;

  studio_plot_clear (plot);
  studio_plot_add_curve (plot, _ ("loss"), STUDIO_PLOT_CURVE_RANK + colour, studio_run_entry_get_series (entry));
  if (studio_runs_get_validation (runs) && studio_run_entry_get (entry)->log.split != NULL)
    studio_plot_add_curve (plot, studio_plot_translate (studio_run_entry_get (entry)->log.split),
                           STUDIO_PLOT_CURVE_RANK_VALIDATION + colour, studio_run_entry_get_validation (entry));
  plot->fixed_min = min;
  plot->fixed_max = max;
  studio_chart_update (chart);
}

static void
update (Multiples *self)
{
  /* Hidden views are filled when they are shown. */
  if (!gtk_widget_get_mapped (self->flow))
    return;
  g_autoptr (GPtrArray) chosen = studio_runs_dup_chosen (self->runs, TRUE);
  double min, max;

  if (chosen->len > MOST)
    g_ptr_array_set_size (chosen, MOST);
  /* While a run trains it has new values every few seconds: scroll and focus stay. */
  if (!has_charts_of (self, chosen))
    make_charts (self, chosen);
  get_range (chosen, studio_runs_get_validation (self->runs), &min, &max);
  for (guint i = 0; i < chosen->len; i++)
    fill (self->runs, nth_chart (self, i), chosen->pdata[i], i, min, max);
}

static void
multiples_free (gpointer data)
{
  Multiples *self = data;

  g_signal_handlers_disconnect_by_data (self->runs, self);
  g_object_unref (self->runs);
  g_free (self);
}

static GtkWidget *
make (StudioRuns *runs)
{
  Multiples *self = g_new0 (Multiples, 1);
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  self->runs = g_object_ref (runs);
  self->flow = gtk_flow_box_new ();
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (self->flow), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (self->flow), 3);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (self->flow), TRUE);
  gtk_widget_set_valign (self->flow, GTK_ALIGN_START);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), self->flow);
  g_object_set_data_full (G_OBJECT (scrolled), "multiples", self, multiples_free);
  g_signal_connect_swapped (runs, "chosen-changed", G_CALLBACK (update), self);
  g_signal_connect_swapped (self->flow, "map", G_CALLBACK (update), self);
  return scrolled;
}

const RunsView runs_view_multiples = { .name = "multiples", .title = N_ ("Small Charts"), .make = make };
