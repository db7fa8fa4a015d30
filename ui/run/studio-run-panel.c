/* The run panel: fills figures and charts from StudioRun, and applies the settings.
 *
 * The panel redraws when the model emits "numbers", at most four times a second, and at once when the state changes.
 * The learning rate is sent to the running worker. Epochs and device are edits of the graph, and ranks apply to the
 * next run. So after a change of these the run trains "an earlier version", and the bar above offers to restart it
 * (studio-run-banners.c). */
#include "ui/run/studio-run-panel.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-memory-bar.h"
#include "ui/charts/studio-scalar-pin.h"
#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-tooltip.h"
#include "ui/run/studio-run-body.h"
#include "ui/run/run-costs.h"
#include "ui/run/studio-rank-count.h"
#include "ui/training/studio-training-settings.h"

#define MIN_STALL_FRACTION 0.1 /* of a step's time; shorter stalls for data are not shown */

struct _StudioRunPanel
{
  GtkWidget parent_instance;
  StudioDocument *document;
  StudioRun *run;

  GtkWidget *strip, *settings, *settings_place, *settings_button, *settings_popover, *state_label, *speed_label,
      *epochs_spin, *lr_label, *lr_entry, *device_drop, *ranks_spin, *pace_drop, *export_button;
  GtkWidget *body;
  StudioScalarPin *step, *epoch, *loss, *metric;
  StudioChart *loss_chart, *metric_chart;
  StudioMemoryBar *memory;
  StudioPlot *overlays; /* of the chart of the loss */
  RunCosts *costs;
  char *speed_words; /* of the tooltip of the speed; NULL: none */
  char *rate_shown;  /* the text of the learning-rate entry before the user began to type */
  guint n_devices;   /* of this machine */
  gboolean filling;  /* the widgets are being set by code, not by the user */
  gboolean folded;   /* the settings are in a popover */
  guint folding;     /* the idle source that folds or unfolds them */
};

G_DEFINE_TYPE (StudioRunPanel, studio_run_panel, GTK_TYPE_WIDGET)

/* ---- display --------------------------------------------------------------------- */

static void show_settings (StudioRunPanel *self);

static const char *
validation_label (StudioRun *run)
{
  const char *split = studio_run_get_curves (run)->split;
  return g_strcmp0 (split, "test") == 0 ? N_ ("test") : N_ ("validation");
}

static void
fill_chart (StudioRunPanel *self, StudioChart *chart, int metric)
{
  StudioPlot *plot = studio_chart_get_plot (chart);
  studio_plot_clear (plot);
  gint64 total = studio_run_get_progress (self->run)->total_steps;
  plot->x_end = total > 0 ? (double)total : NAN;
  /* The runs that the user chose may have the previous one among them. */
  LoomSeries *previous = studio_run_get_previous (self->run, metric);
  if (previous != NULL && (metric >= 0 || self->overlays->curves->len == 0))
    studio_plot_add_curve (plot, N_ ("before"), STUDIO_PLOT_CURVE_PREVIOUS, previous);
  for (guint i = 0; metric < 0 && i < self->overlays->curves->len; i++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (self->overlays->curves, i);
      studio_plot_add_curve (plot, c->label, c->style, c->series);
    }
  LoomSeries *train = studio_run_get_train (self->run, metric);
  if (loom_series_length (train) > 0)
    studio_plot_add_curve (plot, N_ ("train"), STUDIO_PLOT_CURVE_TRAIN, train);
  LoomSeries *validation = studio_run_get_validation (self->run, metric);
  if (loom_series_length (validation) > 0)
    studio_plot_add_curve (plot, validation_label (self->run), STUDIO_PLOT_CURVE_VALIDATION, validation);
  const GPtrArray *marks = studio_run_get_curves (self->run)->marks;
  for (guint i = 0; i < marks->len; i++)
    {
      const StudioRunMark *m = g_ptr_array_index (marks, i);
      studio_plot_add_mark (plot, m->step, m->label);
    }
  if (studio_run_get_shown_step (self->run) >= 0)
    {
      const double shown = (double)studio_run_get_shown_step (self->run);
      g_autofree char *count = studio_format_count (shown);
      g_autofree char *label = g_strdup_printf (_ ("shown: step %s"), count);

      studio_plot_add_mark (plot, shown, label);
    }
  studio_chart_update (chart);
}

/* The point nearest to the pointer may be between two recorded steps. */
static void
picked_cb (StudioChart *chart, double x, StudioRunPanel *self)
{
  studio_run_travel (self->run, MAX (0, (gint64)floor (x + 0.5)));
}

static void
released_cb (StudioChart *chart, StudioRunPanel *self)
{
  studio_run_travel (self->run, -1);
}

static gint64
epoch_shown (StudioRun *run)
{
  const StudioRunProgress *progress = studio_run_get_progress (run);
  const gint64 each = progress->epochs > 0 ? progress->total_steps / progress->epochs : 0;
  const gint64 shown = studio_run_get_shown_step (run);

  return shown >= 0 && each > 0 ? MAX (shown - 1, 0) / each + 1 : progress->epoch;
}

static void
show_figures (StudioRunPanel *self)
{
  StudioRun *run = self->run;
  gboolean begun = !isnan (studio_run_get_loss (run));
  g_autofree char *step = studio_format_count ((double)studio_run_get_step (run));
  g_autofree char *total = studio_format_count ((double)studio_run_get_progress (run)->total_steps);
  g_autofree char *of_total
      = studio_run_get_progress (run)->total_steps > 0 ? g_strdup_printf (C_ ("total", "of %s"), total) : NULL;
  studio_scalar_pin_set (self->step, begun ? step : NULL, of_total);
  /* The label is as wide from the first step as at the last, so that the charts next to it do not move. */
  studio_scalar_pin_set_width (self->step, of_total != NULL ? (int)g_utf8_strlen (total, -1) : 0);
  g_autofree char *epoch = studio_format_count ((double)epoch_shown (run));
  g_autofree char *epochs = studio_format_count ((double)studio_run_get_progress (run)->epochs);
  g_autofree char *of_epochs
      = studio_run_get_progress (run)->epochs > 0 ? g_strdup_printf (C_ ("total", "of %s"), epochs) : NULL;
  studio_scalar_pin_set (self->epoch, begun ? epoch : NULL, of_epochs);
  g_autofree char *loss = begun ? studio_format_number (studio_run_get_loss (run)) : NULL;
  studio_scalar_pin_set (self->loss, loss, NULL);
  gboolean has_metric = studio_run_n_metrics (run) > 0;
  gtk_widget_set_visible (GTK_WIDGET (self->metric), has_metric);
  gtk_widget_set_visible (GTK_WIDGET (self->metric_chart), has_metric);
  if (has_metric)
    {
      double now = studio_run_get_metric (run, 0);
      g_autofree char *value = begun && !isnan (now) ? studio_format_number (now) : NULL;
      studio_scalar_pin_set_caption (self->metric, studio_plot_translate (studio_run_get_metric_name (run, 0)));
      const gint64 recent = studio_run_get_progress (run)->recent_steps;
      /* Shows how many steps the number covers, so that it is not mistaken for that of the epoch or of the data set. */
      g_autofree char *of_steps = value == NULL || recent == 0 ? NULL
                                  : recent == 1                ? g_strdup (_ ("last step"))
                                                               : g_strdup_printf (_ ("last %d steps"), (int)recent);
      studio_scalar_pin_set (self->metric, value, of_steps);
    }
}

/* A table of the times that a step waits for. */
static char *
describe_stalls (const StudioRunWaits *w)
{
  const double all = w->data + w->compute + w->rest;
  g_autofree char *how
      = w->threads == 0
            ? g_strdup (_ ("Batches are read on demand."))
            : g_strdup_printf (ngettext ("%u thread prefetches batches.", "%u threads prefetch batches.", w->threads),
                               w->threads);

  return g_strdup_printf (_ ("A step takes %.3g ms and waits:\n%.3g ms, %.0f %%, for its data\n%.3g ms, %.0f %%, for "
                             "the computation\n%.3g ms, %.0f %%, for the rest\n%s"),
                          all * 1000, w->data * 1000, 100 * w->data / all, w->compute * 1000, 100 * w->compute / all,
                          w->rest * 1000, 100 * w->rest / all, how);
}

/* With what watching costs, once that is known. */
static void
explain_speed (StudioRunPanel *self, const char *words)
{
  const char *costs = run_costs_words (self->costs);

  g_free (self->speed_words);
  self->speed_words = words != NULL && costs != NULL ? g_strdup_printf ("%s\n%s", words, costs) : g_strdup (words);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->speed_label), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  self->speed_words != NULL ? self->speed_words : "", -1);
}

/* A tooltip that is set is delayed again, so one that is set at each number would never come. */
static gboolean
speed_tooltip_cb (GtkWidget *label, int x, int y, gboolean keyboard, GtkTooltip *tooltip, StudioRunPanel *self)
{
  gtk_tooltip_set_text (tooltip, self->speed_words);
  return self->speed_words != NULL;
}

static void
show_waits (StudioRunPanel *self, GString *s)
{
  const StudioRunWaits *w = &studio_run_get_progress (self->run)->waits;
  const double all = w->data + w->compute + w->rest;
  g_autofree char *table = all > 0 ? describe_stalls (w) : NULL;

  explain_speed (self, table);
  /* Only a wait that slows training down is mentioned. */
  if (all > 0 && w->data >= MIN_STALL_FRACTION * all && s->len > 0)
    g_string_append_printf (s, _ (" · waits %.0f %% for data"), 100 * w->data / all);
}

/* "1,920 items/s · waits 40 % for data · 12 s left". */
static void
show_speed (StudioRunPanel *self)
{
  g_autoptr (GString) s = g_string_new (NULL);
  double speed = studio_run_get_progress (self->run)->items_per_second, eta = studio_run_get_progress (self->run)->eta;
  g_autofree char *delay = studio_run_dup_stall (self->run);
  if (delay != NULL)
    {
      /* Replaces speed and time left, which are those of the steps before the stall. */
      g_string_append (s, delay);
      explain_speed (self, delay);
    }
  else if (studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    {
      if (speed > 0)
        {
          g_autofree char *count = studio_format_count (speed);
          g_string_append_printf (s, _ ("%s items/s"), count);
        }
      show_waits (self, s);
      if (isfinite (eta) && eta >= 0)
        {
          g_string_append (s, s->len ? " · " : "");
          g_string_append_printf (s, eta >= 90 ? _ ("%.0f min left") : _ ("%.0f s left"), eta >= 90 ? eta / 60 : eta);
        }
    }
  else
    {
      /* While paused, the loss and the pins are of the same step. With several ranks pins show the state after the
       * step, and the caption states that. */
      const gboolean alone = studio_run_get_live_ranks (self->run) == 1;
      g_autofree char *step = studio_format_count ((double)studio_run_get_step (self->run));
      if (studio_run_get_step (self->run) > 0 && !isnan (studio_run_get_loss (self->run)))
        g_string_append_printf (s, alone ? _ ("step %s, before its update") : _ ("step %s"), step);
      run_costs_request (self->costs);
      explain_speed (
          self,
          alone && s->len > 0
              ? _ ("Loss, values, gradients and weights are those that this step used. Values of another step name it.")
              : NULL);
    }
  gtk_label_set_label (GTK_LABEL (self->speed_label), s->str);
}

static void
costs_cb (gpointer self)
{
  show_speed (self);
}

/* Draws at once instead of at the next "numbers". */
static void
refresh (StudioRunPanel *self)
{
  show_figures (self);
  show_speed (self);
  fill_chart (self, self->loss_chart, -1);
  if (studio_run_n_metrics (self->run) > 0)
    {
      StudioPlot *plot = studio_chart_get_plot (self->metric_chart);
      g_free (plot->title);
      plot->title = g_strdup (studio_run_get_metric_name (self->run, 0));
      fill_chart (self, self->metric_chart, 0);
    }
}

static void
numbers_cb (StudioRun *run, StudioRunPanel *self)
{
  refresh (self);
}

static void
memory_cb (StudioRun *run, StudioRunPanel *self)
{
  const RunMemory *memory = studio_run_get_memory (run);
  studio_memory_bar_set (self->memory, memory->device, memory->owners->len, (const char *const *)memory->owners->pdata,
                         (const guint64 *)(void *)memory->bytes->data);
  studio_memory_bar_set_driver (self->memory, run_memory_get_driver (memory));
  studio_memory_bar_set_ranks (self->memory, studio_run_get_live_ranks (run));
}

static void
state_cb (StudioRun *run, StudioRunPanel *self)
{
  const char *word = studio_run_state_word (studio_run_get_state (run)), *host = studio_run_get_live_host (run);
  g_autofree char *where = host != NULL ? g_strdup_printf ("%s · %s", word, host) : NULL;
  gtk_label_set_label (GTK_LABEL (self->state_label), where != NULL ? where : word);
  show_settings (self);
  refresh (self);
}

/* ---- settings ------------------------------------------------------------------------ */

static gboolean
takes_rate (StudioRun *run)
{
  return studio_run_is_live (run) || studio_run_can_resume (run);
}

/* Shows the current rate of a run that trains or can be resumed, which a change or a checkpoint may have made different
 * from the graph's. Otherwise shows the graph's rate, which the next run starts with. */
static void
show_rate (StudioRunPanel *self, const char *graph_lr)
{
  double base = studio_run_get_base_lr (self->run);
  gboolean live = takes_rate (self->run) && isfinite (base);
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  const char *text = live ? g_ascii_formatd (number, sizeof number, "%.6g", base) : graph_lr;
  /* If both rates are visible, the tooltip explains the graph's. */
  gboolean differs = live && g_ascii_strtod (graph_lr, NULL) != base;
  g_autofree char *why
      = differs ? g_strdup_printf (
            _ ("The rate of this run. Press Enter to change it. The next run starts with the graph’s rate, %s."),
            graph_lr)
                : g_strdup (_ ("Press Enter to change it, also during training"));
  gtk_label_set_label (GTK_LABEL (self->lr_label), differs ? _ ("Learning rate of this run") : _ ("Learning rate"));
  studio_set_tooltip (self->lr_entry, why);
  GtkEditable *field = GTK_EDITABLE (self->lr_entry);
  GtkRoot *root = gtk_widget_get_root (self->lr_entry);
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  const char *shown = gtk_editable_get_text (field);
  char *end;
  /* Do not replace text that the user is typing, or that is the same number in another notation. */
  if (focus != NULL && gtk_widget_is_ancestor (focus, self->lr_entry) && g_strcmp0 (shown, self->rate_shown) != 0)
    return;
  if (!live || *shown == '\0' || g_ascii_strtod (shown, &end) != base || *end != '\0')
    gtk_editable_set_text (field, text);
  gtk_widget_remove_css_class (self->lr_entry, "error");
  g_free (self->rate_shown);
  self->rate_shown = g_strdup (gtk_editable_get_text (field));
}

static void
show_ranks (StudioRunPanel *self)
{
  gboolean filling = self->filling;

  self->filling = TRUE;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->ranks_spin), studio_run_get_ranks (self->run));
  self->filling = filling;
}

/* The first device is the default. A device that only the graph names is appended while it is named, so that the
 * selection is what the run would use. */
static void
show_device (StudioRunPanel *self, const char *device)
{
  GListModel *model = gtk_drop_down_get_model (GTK_DROP_DOWN (self->device_drop));
  GtkStringList *devices = GTK_STRING_LIST (model);
  guint n = model != NULL ? g_list_model_get_n_items (model) : 0, i = 0;

  if (n == 0)
    return;
  while (device != NULL && i < n && !g_str_equal (gtk_string_list_get_string (devices, i), device))
    i++;
  if (i == n)
    gtk_string_list_append (devices, device);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->device_drop), i);
  if (n > self->n_devices && i != self->n_devices)
    gtk_string_list_remove (devices, self->n_devices);
}

static void
show_settings (StudioRunPanel *self)
{
  self->filling = TRUE;
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);
  const char *epochs = train != NULL ? loom_element_get (train, "epochs") : NULL;
  const char *lr = train != NULL ? loom_element_get (train, "lr") : NULL;
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->epochs_spin), epochs != NULL ? g_ascii_strtod (epochs, NULL) : 1);
  show_rate (self, lr != NULL ? lr : "0.001");
  show_ranks (self);
  show_device (self, studio_worker_device_name (device));
  self->filling = FALSE;
}

static void
epochs_cb (GtkSpinButton *spin, StudioRunPanel *self)
{
  if (self->filling)
    return;
  g_autofree char *text = g_strdup_printf ("%d", gtk_spin_button_get_value_as_int (spin));
  studio_training_set (self->document, "epochs", text);
}

static void
device_cb (GtkDropDown *drop, GParamSpec *pspec, StudioRunPanel *self)
{
  GObject *item = gtk_drop_down_get_selected_item (drop);
  if (!self->filling && item != NULL)
    studio_training_set (self->document, "device", gtk_string_object_get_string (GTK_STRING_OBJECT (item)));
}

/* Rejects a number of ranks among which the graph cannot be divided. */
static void
ranks_cb (GtkSpinButton *spin, StudioRunPanel *self)
{
  if (self->filling)
    return;
  studio_rank_count_set (self->document, self->run, gtk_spin_button_get_value_as_int (spin));
  show_ranks (self);
}

/* in the order of the drop-down */
static const char *const speeds[] = { "watch", "full" };

static void
pace_cb (GtkDropDown *drop, GParamSpec *pspec, StudioRunPanel *self)
{
  guint i = gtk_drop_down_get_selected (drop);
  if (!self->filling && i < G_N_ELEMENTS (speeds))
    gtk_widget_activate_action (GTK_WIDGET (self), "win.speed", "s", speeds[i]);
}

void
studio_run_panel_set_speed (StudioRunPanel *self, const char *speed)
{
  self->filling = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (speeds); i++)
    if (g_str_equal (speeds[i], speed))
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->pace_drop), i);
  self->filling = FALSE;
}

static void
lr_cb (GtkEntry *entry, StudioRunPanel *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  char *end;
  double value = g_ascii_strtod (text, &end);
  gboolean good = *text != '\0' && *end == '\0' && isfinite (value) && value > 0;
  if (good)
    gtk_widget_remove_css_class (GTK_WIDGET (entry), "error");
  else
    {
      gtk_widget_add_css_class (GTK_WIDGET (entry), "error");
      studio_set_tooltip (GTK_WIDGET (entry),
                          _ ("A learning rate is a number above 0, such as 0.01. Escape restores it."));
      return;
    }
  g_free (self->rate_shown);
  self->rate_shown = g_strdup (text);
  /* The rate is that of the newest step, to which the worker returns. */
  if (takes_rate (self->run))
    {
      studio_run_travel (self->run, -1);
      studio_run_set_hyper (self->run, "lr", value);
    }
  else
    studio_training_set (self->document, "lr", text);
  if (self->folded)
    gtk_popover_popdown (GTK_POPOVER (self->settings_popover));
}

/* Puts back the rate that is in force in place of what was typed. */
static void
restore_rate (StudioRunPanel *self)
{
  gtk_editable_set_text (GTK_EDITABLE (self->lr_entry), self->rate_shown != NULL ? self->rate_shown : "");
  show_settings (self);
}

static gboolean
lr_escape_cb (GtkWidget *entry, GVariant *parameter, gpointer data)
{
  StudioRunPanel *self = data;

  if (g_strcmp0 (gtk_editable_get_text (GTK_EDITABLE (self->lr_entry)), self->rate_shown) == 0)
    return FALSE; /* Escape means something else */
  restore_rate (self);
  return TRUE;
}

static void
lr_left_cb (GtkEventControllerFocus *focus, StudioRunPanel *self)
{
  if (gtk_widget_has_css_class (self->lr_entry, "error"))
    restore_rate (self);
}

void
studio_run_panel_set_devices (StudioRunPanel *self, const char *const *devices)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (devices);
  self->filling = TRUE;
  self->n_devices = g_list_model_get_n_items (G_LIST_MODEL (list));
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->device_drop), G_LIST_MODEL (list));
  gtk_widget_set_tooltip_text (
      self->device_drop,
      _ ("Where the next run computes. “ref” stands for the reference: plain loops on the CPU, slow and "
         "exact, with which other devices are compared."));
  self->filling = FALSE;
  show_settings (self);
}

void
studio_run_panel_focus_learning_rate (StudioRunPanel *self)
{
  if (self->folded)
    gtk_popover_popup (GTK_POPOVER (self->settings_popover));
  gtk_widget_grab_focus (self->lr_entry);
  gtk_editable_select_region (GTK_EDITABLE (self->lr_entry), 0, -1);
}

void
studio_run_panel_set_presentation (StudioRunPanel *self, gboolean on)
{
  gtk_widget_set_visible (self->strip, !on);
  gtk_widget_set_visible (GTK_WIDGET (self->memory), !on);
  double scale = on ? studio_presentation_scale (GTK_WIDGET (self)) : 1;
  studio_chart_set_text_scale (self->loss_chart, scale);
  studio_chart_set_text_scale (self->metric_chart, scale);
}

StudioChart *
studio_run_panel_get_chart (StudioRunPanel *self, gboolean metric)
{
  return metric ? self->metric_chart : self->loss_chart;
}

StudioPlot *
studio_run_panel_get_overlays (StudioRunPanel *self)
{
  return self->overlays;
}

void
studio_run_panel_update (StudioRunPanel *self)
{
  fill_chart (self, self->loss_chart, -1);
}

/* ---- available size ---------------------------------------------------------------------- */

/* At less than this width in pixels, at the default text size, the settings move into a popover. */
#define SETTINGS_WIDTH 1000

/* With large text they are higher than the space above the button. */
static GtkWidget *
scroll (GtkWidget *child)
{
  GtkWidget *window = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (window), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (window), TRUE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (window), child);
  return window;
}

static void
fold_settings (StudioRunPanel *self, gboolean folded)
{
  g_autoptr (GtkWidget) settings = g_object_ref (self->settings);
  if (self->folded == folded)
    return;
  self->folded = folded;
  gtk_popover_popdown (GTK_POPOVER (self->settings_popover));
  if (folded)
    adw_bin_set_child (ADW_BIN (self->settings_place), NULL);
  else
    {
      gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (gtk_popover_get_child (GTK_POPOVER (self->settings_popover))),
                                     NULL);
      gtk_popover_set_child (GTK_POPOVER (self->settings_popover), NULL);
    }
  gtk_orientable_set_orientation (GTK_ORIENTABLE (settings),
                                  folded ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
  if (folded)
    gtk_popover_set_child (GTK_POPOVER (self->settings_popover), scroll (settings));
  else
    adw_bin_set_child (ADW_BIN (self->settings_place), settings);
  gtk_widget_set_visible (self->settings_place, !folded);
  gtk_widget_set_visible (self->settings_button, folded);
}

static gboolean
is_narrow (StudioRunPanel *self)
{
  return gtk_widget_get_width (GTK_WIDGET (self)) < SETTINGS_WIDTH * studio_text_scale (GTK_WIDGET (self));
}

static gboolean
fold_cb (gpointer data)
{
  StudioRunPanel *self = data;
  self->folding = 0;
  fold_settings (self, is_narrow (self));
  return G_SOURCE_REMOVE;
}

/* A widget must not be reparented while it is being allocated. */
static void
strip_resized (StudioRunPanel *self)
{
  if (gtk_widget_get_width (GTK_WIDGET (self)) > 0 && is_narrow (self) != self->folded && self->folding == 0)
    self->folding = g_idle_add (fold_cb, self);
}

/* ---- object ----------------------------------------------------------------------------- */

static void
run_panel_dispose (GObject *object)
{
  StudioRunPanel *self = STUDIO_RUN_PANEL (object);
  g_clear_handle_id (&self->folding, g_source_remove);
  g_clear_pointer (&self->overlays, studio_plot_free);
  g_clear_pointer (&self->rate_shown, g_free);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_pointer (&self->costs, run_costs_free);
  g_clear_pointer (&self->speed_words, g_free);
  G_OBJECT_CLASS (studio_run_panel_parent_class)->dispose (object);
}

static void
studio_run_panel_class_init (StudioRunPanelClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = run_panel_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
  STUDIO_TEMPLATE (klass, "studio-run-panel.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRunPanel, strip, settings, settings_place, settings_button, settings_popover,
                            state_label, speed_label, epochs_spin, lr_label, lr_entry, device_drop, ranks_spin,
                            pace_drop, export_button, body);
}

/* For the pointer only: the keyboard has the action. */
static void
memory_clicked_cb (StudioRunPanel *self)
{
  gtk_widget_activate_action (GTK_WIDGET (self), "win.memory", NULL);
}

static StudioScalarPin *
add_figure (StudioRunPanel *self, const char *caption, guint i, guint rank)
{
  StudioScalarPin *figure = studio_scalar_pin_new (caption);
  studio_run_body_set_figure (STUDIO_RUN_BODY (self->body), i, GTK_WIDGET (figure), rank);
  return figure;
}

static void
studio_run_panel_init (StudioRunPanel *self)
{
  g_type_ensure (STUDIO_TYPE_RUN_BODY);
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_orientable_set_orientation (GTK_ORIENTABLE (gtk_widget_get_layout_manager (GTK_WIDGET (self))),
                                  GTK_ORIENTATION_VERTICAL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, C_ ("noun", "Run"), -1);
  studio_choice_name_button (GTK_DROP_DOWN (self->device_drop), _ ("Device"));
  studio_choice_name_button (GTK_DROP_DOWN (self->pace_drop), _ ("Speed"));
  self->step = add_figure (self, _ ("step"), 0, 3);
  self->epoch = add_figure (self, _ ("epoch"), 1, 2);
  self->loss = add_figure (self, _ ("loss"), 2, 0);
  self->metric = add_figure (self, _ ("accuracy"), 3, 1);
  self->overlays = studio_plot_new ("");
  self->loss_chart = studio_chart_new (N_ ("loss"));
  self->metric_chart = studio_chart_new (N_ ("accuracy"));
  g_signal_connect (self->loss_chart, "picked", G_CALLBACK (picked_cb), self);
  g_signal_connect (self->metric_chart, "picked", G_CALLBACK (picked_cb), self);
  g_signal_connect (self->loss_chart, "released", G_CALLBACK (released_cb), self);
  g_signal_connect (self->metric_chart, "released", G_CALLBACK (released_cb), self);
  studio_run_body_set_chart (STUDIO_RUN_BODY (self->body), 0, GTK_WIDGET (self->loss_chart));
  studio_run_body_set_chart (STUDIO_RUN_BODY (self->body), 1, GTK_WIDGET (self->metric_chart));
  self->memory = studio_memory_bar_new ();
  studio_run_body_set_memory (STUDIO_RUN_BODY (self->body), GTK_WIDGET (self->memory));
  GtkGesture *click = gtk_gesture_click_new ();
  g_signal_connect_swapped (click, "released", G_CALLBACK (memory_clicked_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self->memory), GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self->memory), "pointer");
  g_signal_connect_swapped (self->body, "resized", G_CALLBACK (strip_resized), self);
  /* Until the width is known: unfolded settings would widen the window. */
  fold_settings (self, TRUE);
  g_signal_connect (self->epochs_spin, "value-changed", G_CALLBACK (epochs_cb), self);
  g_signal_connect (self->lr_entry, "activate", G_CALLBACK (lr_cb), self);
  GtkEventController *escape = gtk_shortcut_controller_new (), *left = gtk_event_controller_focus_new ();
  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (escape),
                                        gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0),
                                                          gtk_callback_action_new (lr_escape_cb, self, NULL)));
  gtk_widget_add_controller (self->lr_entry, escape);
  g_signal_connect (left, "leave", G_CALLBACK (lr_left_cb), self);
  gtk_widget_add_controller (self->lr_entry, left);
  g_signal_connect (self->ranks_spin, "value-changed", G_CALLBACK (ranks_cb), self);
  g_signal_connect (self->pace_drop, "notify::selected", G_CALLBACK (pace_cb), self);
  g_signal_connect (self->device_drop, "notify::selected", G_CALLBACK (device_cb), self);
}

StudioRunPanel *
studio_run_panel_new (StudioDocument *document, StudioRun *run)
{
  StudioRunPanel *self = g_object_new (STUDIO_TYPE_RUN_PANEL, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->costs = run_costs_new (run, costs_cb, self);
  GtkEventController *motion = gtk_event_controller_motion_new ();
  g_signal_connect_swapped (motion, "enter", G_CALLBACK (run_costs_request), self->costs);
  gtk_widget_add_controller (self->speed_label, motion);
  gtk_widget_set_has_tooltip (self->speed_label, TRUE);
  g_signal_connect (self->speed_label, "query-tooltip", G_CALLBACK (speed_tooltip_cb), self);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, 0);
  g_signal_connect_object (run, "numbers", G_CALLBACK (numbers_cb), self, 0);
  g_signal_connect_object (run, "memory-changed", G_CALLBACK (memory_cb), self, 0);
  g_signal_connect_object (run, "hyper-changed", G_CALLBACK (show_settings), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "ranks-changed", G_CALLBACK (show_ranks), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (show_settings), self, G_CONNECT_SWAPPED);
  state_cb (run, self);
  show_settings (self);
  return self;
}
