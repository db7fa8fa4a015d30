/* The bars above the run panel: chooses which are shown, and writes their sentences.
 *
 * The end bar replaces the version bar and repeats its text; the time bar is independent of both. Bars take their
 * height from the canvas, not from the panel below, so that no button of the panel moves under the pointer. Sentences
 * wrap, because the remedy is at their end. */
#include "ui/run/studio-run-banners.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/charts/studio-plot.h"
#include "ui/charts/studio-template.h"
#include "ui/run/studio-memory-forecast.h"

struct _StudioRunBanners
{
  GtkWidget parent_instance;
  StudioDocument *document;
  StudioRun *run;
  StudioMemoryForecast *forecast;

  GtkWidget *version_bar, *version_label, *version_show;
  GtkWidget *version_notice, *end_bar, *end_notice, *end_icon, *end_label, *end_version;
  GtkWidget *time_bar, *time_icon, *time_label, *now_button, *branch_button;
  GtkWidget *restart_button, *show_button, *slower_button, *batch_button, *skip_button, *attach_button,
      *continue_button;
  gboolean narrow, presenting;
  gboolean late; /* the end bar reports that no step arrives */
  guint hide;    /* a timeout until the second click of a double click has passed */
};

G_DEFINE_FINAL_TYPE (StudioRunBanners, studio_run_banners, GTK_TYPE_WIDGET)

/* ---- display --------------------------------------------------------------------- */

/* A run that fails takes the keyboard from nothing that is edited: Enter activates Continue in a presentation, or if nothing
 * has the focus. */
static gboolean
focus_continue_cb (gpointer data)
{
  StudioRunBanners *self = data;
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  GtkWidget *button = gtk_widget_get_visible (self->batch_button)    ? self->batch_button
                      : gtk_widget_get_visible (self->skip_button)   ? self->skip_button
                      : gtk_widget_get_visible (self->attach_button) ? self->attach_button
                      : gtk_widget_get_visible (self->slower_button) ? self->slower_button
                                                                     : self->continue_button;
  if (root != NULL && (focus == NULL || (self->presenting && !GTK_IS_EDITABLE (focus))))
    gtk_widget_grab_focus (button);
  g_object_unref (self);
  return G_SOURCE_REMOVE;
}

static gboolean
hide_cb (gpointer data)
{
  StudioRunBanners *self = data;
  self->hide = 0;
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->end_bar), FALSE);
  studio_run_banners_update_version (self);
  return G_SOURCE_REMOVE;
}

/* Hides the bar after the double-click time, so that the second click does not hit the widget that moves there. */
static void
hide_soon (StudioRunBanners *self)
{
  int milliseconds;
  if (self->hide != 0 || !gtk_revealer_get_reveal_child (GTK_REVEALER (self->end_bar)))
    return;
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-double-click-time", &milliseconds, NULL);
  gtk_widget_set_sensitive (self->end_notice, FALSE);
  self->hide = g_timeout_add ((guint)MAX (milliseconds, 0), hide_cb, self);
}

/* Describes the end of a run. A stopped run is no failure, in words and in colour. */
static char *
dup_sentence (StudioRun *run, StudioRunState state)
{
  const char *message = studio_run_get_message (run);
  g_auto (StudioMemoryVerdict) verdict = { 0 };
  if (studio_memory_verdict_read (message, &verdict))
    return g_steal_pointer (&verdict.text);
  if (message != NULL)
    return g_strdup (message);
  if (state != STUDIO_RUN_STOPPED)
    return g_strdup (_ ("The run failed."));
  g_autofree char *step = studio_format_count ((double)studio_run_get_checkpoint_step (run));
  return g_strdup_printf (_ ("Stopped at step %s. Training can continue from there."), step);
}

/* "Use Batch 400"; 0: none is known to fit. */
static void
offer_batch (StudioRunBanners *self, gint64 batch)
{
  gtk_widget_set_visible (self->batch_button, batch > 0);
  if (batch <= 0)
    return;
  g_autofree char *label = g_strdup_printf (_ ("Use _Batch %d"), (int)batch);
  g_autofree char *target = g_strdup_printf ("%d", (int)batch);
  gtk_button_set_label (GTK_BUTTON (self->batch_button), label);
  gtk_widget_set_tooltip_text (self->batch_button, _ ("Sets the batch size of the graph and trains"));
  gtk_actionable_set_action_target (GTK_ACTIONABLE (self->batch_button), "s", target);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->batch_button), "win.use-batch");
}

/* For a run that did not fit into memory. */
static void
show_batch (StudioRunBanners *self, StudioRunState state)
{
  g_auto (StudioMemoryVerdict) verdict = { 0 };

  if (state == STUDIO_RUN_FAILED)
    studio_memory_verdict_read (studio_run_get_message (self->run), &verdict);
  offer_batch (self, verdict.batch);
  gtk_widget_set_tooltip_text (self->end_label, verdict.text != NULL ? studio_run_get_message (self->run) : NULL);
}

/* For a run that met a picture that is not readable, which it would meet again. */
static gboolean
show_skip (StudioRunBanners *self, StudioRunState state)
{
  const char *message = studio_run_get_message (self->run);
  const gboolean is_broken
      = state == STUDIO_RUN_FAILED && message != NULL && strstr (message, "broken=\"skip\"") != NULL;

  gtk_widget_set_visible (self->skip_button, is_broken);
  return is_broken;
}

/* A run that has not been started would not fit. */
static void
show_forecast (StudioRunBanners *self, const StudioMemoryVerdict *forecast)
{
  g_clear_handle_id (&self->hide, g_source_remove);
  gtk_label_set_label (GTK_LABEL (self->end_label), forecast->text);
  gtk_widget_set_tooltip_text (self->end_label, NULL);
  gtk_image_set_from_icon_name (GTK_IMAGE (self->end_icon), "dialog-warning-symbolic");
  gtk_widget_add_css_class (self->end_notice, "bad");
  gtk_widget_set_visible (self->slower_button, FALSE);
  gtk_widget_set_visible (self->skip_button, FALSE);
  gtk_widget_set_visible (self->continue_button, FALSE);
  gtk_widget_set_visible (self->attach_button, FALSE);
  offer_batch (self, forecast->batch);
  gtk_widget_set_sensitive (self->end_notice, TRUE);
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->end_bar), TRUE);
}

static void
show_buttons (StudioRunBanners *self, StudioRunState state)
{
  gboolean saved = studio_run_has_checkpoint (self->run);
  double rate = studio_run_get_base_lr (self->run) / 10;
  gboolean slower = state == STUDIO_RUN_FAILED && isfinite (rate)
                    && g_strcmp0 (studio_run_get_problem_code (self->run), "NAN") == 0;
  g_autofree char *step = studio_format_count ((double)studio_run_get_checkpoint_step (self->run));
  g_autofree char *from = saved ? g_strdup_printf (_ ("Continue from the checkpoint of step %s"), step)
                                : g_strdup (_ ("No checkpoint yet: start from the beginning"));
  g_autofree char *number = g_strdup_printf ("%.4g", rate);
  g_autofree char *at
      = g_strdup_printf (saved ? _ ("Continue at Learning Rate _%s") : _ ("Start Again at Learning Rate _%s"), number);
  gtk_widget_set_tooltip_text (self->continue_button, from);
  gtk_button_set_label (GTK_BUTTON (self->continue_button), saved ? _ ("_Continue") : _ ("_Start Again"));
  gtk_button_set_label (GTK_BUTTON (self->slower_button), at);
  gtk_widget_set_tooltip_text (self->slower_button, _ ("A tenth of the rate at which training diverged"));
  gtk_widget_set_visible (self->slower_button, slower);
  const gboolean attachable = studio_run_get_attachable (self->run) != NULL;
  const gboolean is_broken = show_skip (self, state);
  gtk_widget_set_visible (self->continue_button, state != STUDIO_RUN_IDLE && !attachable && !is_broken);
  gtk_button_set_label (GTK_BUTTON (self->attach_button), state == STUDIO_RUN_LOST ? _ ("_Reconnect") : _ ("_Attach"));
  gtk_widget_set_visible (self->attach_button, attachable);
  show_batch (self, state);
  if (slower || gtk_widget_get_visible (self->batch_button))
    gtk_widget_remove_css_class (self->continue_button, "suggested-action");
  else
    gtk_widget_add_css_class (self->continue_button, "suggested-action");
}

/* The step that pins, maps and pictures are of, while it is not the newest. */
static void
show_time (StudioRunBanners *self)
{
  const gint64 shown = studio_run_get_shown_step (self->run);

  if (shown >= 0)
    {
      g_autofree char *step = studio_format_count ((double)shown);
      g_autofree char *newest = studio_format_count ((double)studio_run_get_progress (self->run)->step);
      g_autofree char *text = g_strdup_printf (
          _ ("Step %1$s of %2$s is shown: pins, maps and pictures are those of that step."), step, newest);
      g_autofree char *brief = g_strdup_printf (_ ("Step %1$s of %2$s is shown"), step, newest);

      gtk_label_set_label (GTK_LABEL (self->time_label), self->narrow ? brief : text);
      gtk_widget_set_tooltip_text (self->time_label, self->narrow ? text : NULL);
    }
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->time_bar), shown >= 0);
}

static void
now_cb (StudioRunBanners *self)
{
  studio_run_travel (self->run, -1);
}

static void
branch_cb (StudioRunBanners *self)
{
  studio_run_branch (self->run);
}

static void
state_cb (StudioRun *run, StudioRunBanners *self)
{
  StudioRunState state = studio_run_get_state (run);
  gboolean bad = state == STUDIO_RUN_LOST || state == STUDIO_RUN_FAILED;
  gboolean elsewhere = state == STUDIO_RUN_IDLE && studio_run_get_message (run) != NULL;
  gboolean stopped
      = state == STUDIO_RUN_STOPPED && (studio_run_can_resume (run) || studio_run_get_message (run) != NULL);
  if (bad || elsewhere || stopped)
    {
      g_autofree char *text = dup_sentence (run, state);
      g_clear_handle_id (&self->hide, g_source_remove);
      gtk_label_set_label (GTK_LABEL (self->end_label), text);
      gtk_image_set_from_icon_name (GTK_IMAGE (self->end_icon), bad         ? "dialog-warning-symbolic"
                                                                : elsewhere ? "dialog-information-symbolic"
                                                                            : "media-playback-stop-symbolic");
      if (bad)
        gtk_widget_add_css_class (self->end_notice, "bad");
      else
        gtk_widget_remove_css_class (self->end_notice, "bad");
      show_buttons (self, state);
      gtk_widget_set_sensitive (self->end_notice, TRUE);
      if ((bad || studio_run_get_attachable (run) != NULL)
          && !gtk_revealer_get_reveal_child (GTK_REVEALER (self->end_bar)))
        g_idle_add (focus_continue_cb, g_object_ref (self));
      gtk_revealer_set_reveal_child (GTK_REVEALER (self->end_bar), TRUE);
    }
  else if (!studio_run_is_live (run) && studio_memory_forecast_get (self->forecast) != NULL)
    show_forecast (self, studio_memory_forecast_get (self->forecast));
  else
    hide_soon (self);
  show_time (self);
  studio_run_banners_update_version (self);
}

static void
forecast_cb (StudioRunBanners *self)
{
  state_cb (self->run, self);
}

/* Capitalises the first letter of text that elsewhere is in the middle of a line. (transfer full) */
static char *
begin_sentence (const char *words)
{
  g_autoptr (GString) s = g_string_new (NULL);
  g_string_append_unichar (s, g_unichar_totitle (g_utf8_get_char (words)));
  g_string_append (s, g_utf8_next_char (words));
  return g_strdup (s->str);
}

/* The strip of the panel is too narrow for the sentence, which has the remedy at its end. */
static void
numbers_cb (StudioRun *run, StudioRunBanners *self)
{
  gboolean late = studio_run_is_stalled (run);
  if (late)
    {
      g_autofree char *delay = studio_run_dup_stall (run), *sentence = begin_sentence (delay);
      g_clear_handle_id (&self->hide, g_source_remove);
      gtk_label_set_label (GTK_LABEL (self->end_label), sentence);
      gtk_image_set_from_icon_name (GTK_IMAGE (self->end_icon), "dialog-warning-symbolic");
      gtk_widget_add_css_class (self->end_notice, "bad");
      gtk_widget_set_visible (self->slower_button, FALSE);
      gtk_widget_set_visible (self->batch_button, FALSE);
      gtk_widget_set_visible (self->skip_button, FALSE);
      gtk_widget_set_visible (self->continue_button, FALSE);
      gtk_widget_set_visible (self->attach_button, FALSE);
      gtk_widget_set_sensitive (self->end_notice, TRUE);
      gtk_revealer_set_reveal_child (GTK_REVEALER (self->end_bar), TRUE);
      if (!self->late)
        studio_run_banners_update_version (self);
    }
  else if (self->late)
    state_cb (run, self);
  self->late = late;
}

void
studio_run_banners_set_narrow (StudioRunBanners *self, gboolean narrow)
{
  GtkOrientation orientation = narrow ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL;
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->version_notice), orientation);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->end_notice), orientation);
  /* The bar of an earlier step stays while the user looks at the canvas, so it remains one row. */
  self->narrow = narrow;
  gtk_widget_set_visible (self->time_icon, !narrow);
  show_time (self);
}

void
studio_run_banners_set_presenting (StudioRunBanners *self, gboolean presenting)
{
  self->presenting = presenting;
}

void
studio_run_banners_update_version (StudioRunBanners *self)
{
  guint edits = studio_document_run_changes (self->document);
  gboolean live = studio_run_is_live (self->run);
  /* A run that can be resumed continues with the number of ranks set now, but its steps so far had another one. */
  gboolean ranks = studio_run_get_ranks (self->run) != studio_run_get_live_ranks (self->run);
  guint changes = edits + (ranks ? 1 : 0);
  gboolean show = changes > 0 && studio_run_get_state (self->run) != STUDIO_RUN_IDLE;
  gboolean ended = gtk_revealer_get_reveal_child (GTK_REVEALER (self->end_bar));
  if (show)
    {
      g_autofree char *since = g_strdup_printf (ngettext ("%u change", "%u changes", changes), changes);
      /* Translators: %s is "2 changes", since that version. */
      g_autofree char *text = g_strdup_printf (
          live ? _ ("Training an earlier version · %s") : _ ("Trained an earlier version · %s"), since);
      gtk_label_set_label (GTK_LABEL (self->version_label), text);
      gtk_label_set_label (GTK_LABEL (self->end_version), text);
      /* The number of ranks is not in the graph, so there is nothing to compare if only it has changed. */
      gtk_widget_set_visible (self->version_show, edits > 0);
    }
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->version_bar), show && !ended);
  gtk_widget_set_visible (self->end_version, show);
  gtk_widget_set_visible (self->restart_button, show);
  gtk_widget_set_visible (self->show_button, show && edits > 0);
}

/* ---- object ----------------------------------------------------------------------------- */

static void
run_banners_dispose (GObject *object)
{
  StudioRunBanners *self = STUDIO_RUN_BANNERS (object);
  g_clear_handle_id (&self->hide, g_source_remove);
  g_clear_object (&self->forecast);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  G_OBJECT_CLASS (studio_run_banners_parent_class)->dispose (object);
}

static void
studio_run_banners_class_init (StudioRunBannersClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = run_banners_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BOX_LAYOUT);
  STUDIO_TEMPLATE (klass, "studio-run-banners.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRunBanners, version_bar, version_notice, version_label, version_show, time_bar,
                            time_icon, time_label, now_button, branch_button, end_bar, end_notice, end_icon, end_label,
                            end_version, restart_button, show_button, slower_button, batch_button, skip_button,
                            attach_button, continue_button);
}

static void
studio_run_banners_init (StudioRunBanners *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_orientable_set_orientation (GTK_ORIENTABLE (gtk_widget_get_layout_manager (GTK_WIDGET (self))),
                                  GTK_ORIENTATION_VERTICAL);
}

StudioRunBanners *
studio_run_banners_new (StudioDocument *document, StudioRun *run, StudioMemoryForecast *forecast)
{
  StudioRunBanners *self = g_object_new (STUDIO_TYPE_RUN_BANNERS, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->forecast = g_object_ref (forecast);
  g_signal_connect_object (self->forecast, "changed", G_CALLBACK (forecast_cb), self, G_CONNECT_SWAPPED);
  gtk_label_set_wrap (GTK_LABEL (gtk_button_get_child (GTK_BUTTON (self->now_button))), TRUE);
  gtk_label_set_wrap (GTK_LABEL (gtk_button_get_child (GTK_BUTTON (self->branch_button))), TRUE);
  g_signal_connect_swapped (self->now_button, "clicked", G_CALLBACK (now_cb), self);
  g_signal_connect_swapped (self->branch_button, "clicked", G_CALLBACK (branch_cb), self);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, 0);
  g_signal_connect_object (run, "numbers", G_CALLBACK (numbers_cb), self, 0);
  g_signal_connect_object (run, "ranks-changed", G_CALLBACK (studio_run_banners_update_version), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (studio_run_banners_update_version), self,
                           G_CONNECT_SWAPPED);
  state_cb (run, self);
  return self;
}
