/* The chart of the ranks' losses: while it is mapped, it requests new points from the worker every PERIOD seconds and
 * appends them to one series per rank. */
#include "ui/timeline/studio-rank-losses.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>
#include <math.h>

#include "engine/loom.h"
#include "ui/charts/studio-chart.h"
#include "ui/run/run-report.h"
#include "ui/worker/studio-planner.h"

#define PERIOD    1 /* seconds */
#define MAX_BYTES (4 * 1024 * 1024)

struct _StudioRankLosses
{
  AdwBin parent_instance;

  StudioRun *run;
  GtkWidget *stack, *words;
  AdwStatusPage *nothing;
  StudioChart *chart;
  LoomSeries *all;
  GPtrArray *rank; /* LoomSeries */
  char *folder;    /* of the run that the curves belong to */
  gboolean in_flight, has_own;
  guint timer;
};

G_DEFINE_FINAL_TYPE (StudioRankLosses, studio_rank_losses, ADW_TYPE_BIN)

/* ---- display ----------------------------------------------------------------------------- */

static void
show_status (StudioRankLosses *self, const char *title, const char *why)
{
  adw_status_page_set_title (self->nothing, title);
  adw_status_page_set_description (self->nothing, why);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "nothing");
}

/* "Step 120: all 0.41 · rank 0 0.4 · rank 1 0.42"; NULL: no point yet. (transfer full) */
static char *
describe (StudioRankLosses *self)
{
  gsize n = loom_series_length (self->all);
  g_autoptr (GString) text = g_string_new (NULL);
  double x, y;

  if (n == 0)
    return NULL;
  loom_series_get (self->all, n - 1, &x, &y);
  g_autofree char *step = studio_format_count (x), *all = studio_format_number (y);
  g_string_append_printf (text, _ ("Step %1$s: all %2$s"), step, all);
  for (guint k = 0; k < self->rank->len; k++)
    {
      if (!loom_series_last (self->rank->pdata[k], &x, &y))
        continue;
      g_autofree char *own = studio_format_number (y);
      g_string_append (text, " · ");
      g_string_append_printf (text, _ ("rank %1$u %2$s"), k, own);
    }
  return g_strdup (text->str);
}

static void
show (StudioRankLosses *self)
{
  g_autofree char *words = describe (self);

  if (words != NULL && self->has_own)
    {
      gtk_label_set_label (GTK_LABEL (self->words), words);
      studio_chart_update (self->chart);
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "curves");
    }
  else if (words != NULL)
    show_status (
        self, _ ("One Loss for All Ranks"),
        _ ("The ranks divide weights or layers and all train on the same batch. Ranks that divide the batch have a "
           "loss each."));
  else if ((studio_run_is_live (self->run) ? studio_run_get_live_ranks : studio_run_get_ranks) (self->run) < 2)
    show_status (self, _ ("Only One Rank"),
                 _ ("Set several ranks next to the device and train to see the loss of each rank’s samples."));
  else if (studio_run_is_live (self->run))
    show_status (self, _ ("Not Recorded Yet"), _ ("The next steps will be recorded."));
  else
    show_status (self, _ ("No Step Recorded"), _ ("Train the graph to see the loss of each rank’s samples."));
}

/* ---- curves ------------------------------------------------------------------------------ */

static void
begin_curves (StudioRankLosses *self, guint ranks)
{
  StudioPlot *plot = studio_chart_get_plot (self->chart);

  studio_plot_clear (plot);
  g_ptr_array_set_size (self->rank, 0);
  loom_series_unref (self->all);
  self->all = loom_series_new (LOOM_SERIES_MOST);
  for (guint k = 0; k < ranks; k++)
    {
      g_autofree char *label = g_strdup_printf (_ ("rank %u"), k);

      g_ptr_array_add (self->rank, loom_series_new (LOOM_SERIES_MOST));
      studio_plot_add_curve (plot, label, STUDIO_PLOT_CURVE_RANK + k, self->rank->pdata[k]);
    }
  studio_plot_add_curve (plot, N_ ("all"), STUDIO_PLOT_CURVE_TRAIN, self->all);
  self->has_own = FALSE;
  g_free (self->folder);
  self->folder = g_strdup (studio_run_get_folder (self->run));
}

static void
take_line (StudioRankLosses *self, JsonObject *line)
{
  JsonArray *ranks = json_object_has_member (line, "ranks") ? json_object_get_array_member (line, "ranks") : NULL;
  guint n = ranks != NULL ? json_array_get_length (ranks) : 0;
  double step = (double)json_object_get_int_member_with_default (line, "step", 0);
  JsonNode *loss = json_object_get_member (line, "loss");

  if (n == 0 || loss == NULL)
    return;
  /* A resumed run keeps its folder, and so its curves. */
  if (n != self->rank->len || g_strcmp0 (self->folder, studio_run_get_folder (self->run)) != 0)
    begin_curves (self, n);
  loom_series_append (self->all, step, json_node_is_null (loss) ? NAN : json_node_get_double (loss));
  for (guint k = 0; k < n; k++)
    {
      JsonNode *own = json_array_get_element (ranks, k);
      double y = json_node_is_null (own) ? NAN : json_node_get_double (own);

      /* A rank without samples, such as a parameter server, has no curve. */
      if (!isfinite (y))
        continue;
      self->has_own = TRUE;
      loom_series_append (self->rank->pdata[k], step, y);
    }
}

/* text has the lines of LOOM_SNAPSHOT_LOSSES. */
static void
append_points (StudioRankLosses *self, const char *text, gsize length)
{
  g_autoptr (GPtrArray) lines = studio_planner_parse_events (text, length);

  for (guint i = 0; i < lines->len; i++)
    take_line (self, lines->pdata[i]);
  show (self);
}

/* ---- requests ----------------------------------------------------------------------------- */

static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioRankLosses) self = data;
  g_autoptr (GVariant) values = run_report_finish (source, result, NULL, NULL);
  gsize n;

  self->in_flight = FALSE;
  if (self->run == NULL || G_OBJECT (source) != G_OBJECT (studio_run_get_proxy (self->run)) || values == NULL)
    return;
  const char *text = g_variant_get_fixed_array (values, &n, 1);
  append_points (self, text, n);
}

static gboolean
ask_cb (gpointer data)
{
  StudioRankLosses *self = data;
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);

  if (proxy == NULL || self->in_flight || studio_run_get_live_ranks (self->run) < 2
      || studio_run_get_state (self->run) == STUDIO_RUN_STARTING)
    return G_SOURCE_CONTINUE;
  self->in_flight = TRUE;
  run_report_async (proxy, LOOM_SNAPSHOT_LOSSES, MAX_BYTES, NULL, answer_cb, g_object_ref (self));
  return G_SOURCE_CONTINUE;
}

static void
state_cb (StudioRun *run, StudioRankLosses *self)
{
  show (self);
  if (self->timer != 0)
    ask_cb (self);
}

static void
losses_map (GtkWidget *widget)
{
  StudioRankLosses *self = STUDIO_RANK_LOSSES (widget);

  GTK_WIDGET_CLASS (studio_rank_losses_parent_class)->map (widget);
  if (self->timer == 0)
    self->timer = g_timeout_add_seconds (PERIOD, ask_cb, self);
  ask_cb (self);
}

static void
losses_unmap (GtkWidget *widget)
{
  g_clear_handle_id (&STUDIO_RANK_LOSSES (widget)->timer, g_source_remove);
  GTK_WIDGET_CLASS (studio_rank_losses_parent_class)->unmap (widget);
}

/* ---- widget ------------------------------------------------------------------------------- */

static void
losses_dispose (GObject *object)
{
  StudioRankLosses *self = STUDIO_RANK_LOSSES (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_object (&self->run);
  G_OBJECT_CLASS (studio_rank_losses_parent_class)->dispose (object);
}

static void
losses_finalize (GObject *object)
{
  StudioRankLosses *self = STUDIO_RANK_LOSSES (object);

  loom_series_unref (self->all);
  g_ptr_array_unref (self->rank);
  g_free (self->folder);
  G_OBJECT_CLASS (studio_rank_losses_parent_class)->finalize (object);
}

static void
studio_rank_losses_class_init (StudioRankLossesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = losses_dispose;
  G_OBJECT_CLASS (klass)->finalize = losses_finalize;
  GTK_WIDGET_CLASS (klass)->map = losses_map;
  GTK_WIDGET_CLASS (klass)->unmap = losses_unmap;
}

static void
studio_rank_losses_init (StudioRankLosses *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  self->all = loom_series_new (LOOM_SERIES_MOST);
  self->rank = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_series_unref);
  self->stack = gtk_stack_new ();
  self->nothing = ADW_STATUS_PAGE (adw_status_page_new ());
  self->chart = studio_chart_new (N_ ("loss"));
  self->words = gtk_label_new (NULL);
  gtk_widget_set_vexpand (GTK_WIDGET (self->chart), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->words), 0);
  gtk_label_set_wrap (GTK_LABEL (self->words), TRUE);
  gtk_widget_add_css_class (self->words, "numeric");
  gtk_widget_set_margin_start (box, 12);
  gtk_widget_set_margin_end (box, 12);
  gtk_widget_set_margin_bottom (box, 12);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (self->chart));
  gtk_box_append (GTK_BOX (box), self->words);
  gtk_stack_add_named (GTK_STACK (self->stack), GTK_WIDGET (self->nothing), "nothing");
  gtk_stack_add_named (GTK_STACK (self->stack), box, "curves");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

StudioRankLosses *
studio_rank_losses_new (StudioRun *run)
{
  StudioRankLosses *self = g_object_new (STUDIO_TYPE_RANK_LOSSES, NULL);

  self->run = g_object_ref (run);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, 0);
  g_signal_connect_object (run, "ranks-changed", G_CALLBACK (state_cb), self, 0);
  show (self);
  return self;
}
