#include "ui/page/studio-recording-bar.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-template.h"
#include "ui/page/recorder.h"
#include "ui/page/replay.h"
#include "ui/shell/studio-commands.h"

#define TICK_MS 50

struct _StudioRecordingBar
{
  AdwBin parent_instance;
  GtkWidget *revealer, *caption, *recording, *play, *clock, *scale, *speed, *note;
  GtkAdjustment *time;
  StudioDocument *document;
  StudioRun *run;
  GtkFileChooserNative *chooser;
  Recorder *recorder; /* one of both, or none */
  Replay *replay;
  guint ticks;   /* a source; 0: paused */
  gint64 ticked; /* at the last tick, in microseconds */
};

G_DEFINE_FINAL_TYPE (StudioRecordingBar, studio_recording_bar, ADW_TYPE_BIN)

static guint say_signal;

static const struct
{
  const char *name;
  double factor;
} speeds[] = { { "1 ×", 1 }, { "2 ×", 2 }, { "4 ×", 4 }, { "16 ×", 16 }, { "64 ×", 64 }, { "½ ×", 0.5 } };

/* ---- what is shown -------------------------------------------------------------- */

double
studio_recording_bar_get_seconds (StudioRecordingBar *self)
{
  return self->recorder != NULL ? recorder_get_seconds (self->recorder)
         : self->replay != NULL ? replay_get_position (self->replay)
                                : 0;
}

const char *
studio_recording_bar_get_state (StudioRecordingBar *self)
{
  return self->recorder != NULL ? "recording" : self->replay == NULL ? "-" : self->ticks > 0 ? "playing" : "paused";
}

const char *
studio_recording_bar_get_caption (StudioRecordingBar *self)
{
  return gtk_label_get_text (GTK_LABEL (self->caption));
}

gboolean
studio_recording_bar_is_on (StudioRecordingBar *self)
{
  return self->recorder != NULL || self->replay != NULL;
}

/* The caption, or what was done last. */
static void
show_caption (StudioRecordingBar *self)
{
  const char *note = self->replay != NULL ? replay_get_note (self->replay) : "";
  const char *name = self->replay != NULL ? replay_get_command (self->replay) : NULL;
  g_autofree char *action = g_strconcat ("win.", name, NULL);
  const StudioCommand *command = name != NULL ? studio_command_find (action) : NULL;
  g_autofree char *title = command != NULL ? studio_command_dup_title (command) : NULL;
  const char *text = note[0] != '\0' || title == NULL ? note : title;

  if (g_strcmp0 (text, studio_recording_bar_get_caption (self)) != 0)
    gtk_label_set_text (GTK_LABEL (self->caption), text);
  gtk_widget_set_visible (self->caption, text[0] != '\0');
}

static void
show (StudioRecordingBar *self)
{
  const int seconds = (int)studio_recording_bar_get_seconds (self);
  const gboolean playing = self->ticks > 0;
  const char *action = playing ? _ ("Pause") : _ ("Play");
  g_autofree char *clock = g_strdup_printf ("%d:%02d", seconds / 60, seconds % 60);

  gtk_label_set_text (GTK_LABEL (self->clock), clock);
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->revealer), studio_recording_bar_is_on (self));
  gtk_widget_set_visible (self->recording, self->recorder != NULL);
  gtk_widget_set_visible (self->note, self->recorder != NULL);
  gtk_widget_set_visible (self->play, self->recorder == NULL);
  gtk_widget_set_visible (self->scale, self->recorder == NULL);
  gtk_widget_set_visible (self->speed, self->recorder == NULL);
  gtk_button_set_icon_name (GTK_BUTTON (self->play),
                            playing ? "media-playback-pause-symbolic" : "media-playback-start-symbolic");
  gtk_widget_set_tooltip_text (self->play, action);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->play), GTK_ACCESSIBLE_PROPERTY_LABEL, action, -1);
  if (self->replay != NULL)
    gtk_adjustment_set_value (self->time, replay_get_position (self->replay));
  show_caption (self);
}

/* ---- time ------------------------------------------------------------------------- */

static void
pause_replay (StudioRecordingBar *self)
{
  g_clear_handle_id (&self->ticks, g_source_remove);
  show (self);
}

static void
stop_cb (StudioRecordingBar *self)
{
  g_clear_pointer (&self->recorder, recorder_free);
  g_clear_pointer (&self->replay, replay_free);
  pause_replay (self);
}

void
studio_recording_bar_end_replay (StudioRecordingBar *self)
{
  if (self->replay != NULL)
    stop_cb (self);
}

static void
state_cb (StudioRecordingBar *self)
{
  if (studio_run_is_live (self->run))
    studio_recording_bar_end_replay (self);
}

static gboolean
tick_cb (gpointer data)
{
  StudioRecordingBar *self = data;
  const gint64 now = g_get_monotonic_time ();
  const double factor = speeds[gtk_drop_down_get_selected (GTK_DROP_DOWN (self->speed))].factor;

  if (self->recorder != NULL && recorder_get_fault (self->recorder) != NULL)
    {
      g_signal_emit (self, say_signal, 0, recorder_get_fault (self->recorder));
      self->ticks = 0;
      stop_cb (self);
      return G_SOURCE_REMOVE;
    }
  if (self->replay != NULL)
    {
      replay_seek (self->replay,
                   replay_get_position (self->replay) + factor * (double)(now - self->ticked) / G_USEC_PER_SEC);
      self->ticked = now;
      if (replay_get_position (self->replay) >= replay_get_length (self->replay))
        {
          self->ticks = 0;
          show (self);
          return G_SOURCE_REMOVE;
        }
    }
  show (self);
  return G_SOURCE_CONTINUE;
}

static void
start (StudioRecordingBar *self)
{
  self->ticked = g_get_monotonic_time ();
  if (self->ticks == 0)
    self->ticks = g_timeout_add (TICK_MS, tick_cb, self);
  show (self);
}

/* From the end it begins again. For a moment after the replay has ended, the button is still shown. */
static void
play_cb (StudioRecordingBar *self)
{
  if (self->replay == NULL)
    return;
  if (self->ticks > 0)
    {
      pause_replay (self);
      return;
    }
  if (replay_get_position (self->replay) >= replay_get_length (self->replay))
    replay_seek (self->replay, 0);
  start (self);
}

static gboolean
change_cb (GtkRange *range, GtkScrollType scroll, double value, StudioRecordingBar *self)
{
  if (self->replay != NULL)
    replay_seek (self->replay, value);
  self->ticked = g_get_monotonic_time ();
  show (self);
  return GDK_EVENT_STOP;
}

/* ---- recording ---------------------------------------------------------------------- */

static void
note_cb (StudioRecordingBar *self)
{
  if (self->recorder == NULL)
    return;
  recorder_note (self->recorder, gtk_editable_get_text (GTK_EDITABLE (self->note)));
  gtk_editable_set_text (GTK_EDITABLE (self->note), "");
}

void
studio_recording_bar_take_command (StudioRecordingBar *self, const char *name)
{
  if (self->recorder != NULL && !g_str_equal (name, "record"))
    recorder_command (self->recorder, name);
}

static gboolean
record (StudioRecordingBar *self, const char *path, GError **error)
{
  stop_cb (self);
  self->recorder = recorder_new (self->document, self->run, path, error);
  if (self->recorder != NULL)
    start (self);
  return self->recorder != NULL;
}

static void
response_cb (GtkNativeDialog *dialog, int response, StudioRecordingBar *self)
{
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autoptr (GError) error = NULL;

  gtk_native_dialog_hide (dialog);
  if (response == GTK_RESPONSE_ACCEPT && path != NULL && !record (self, path, &error))
    g_signal_emit (self, say_signal, 0, error->message);
}

void
studio_recording_bar_toggle (StudioRecordingBar *self)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  g_autofree char *leaf = g_strconcat (g_strdelimit (title, "/\\", '-'), RECORDING_SUFFIX, NULL);

  if (self->recorder != NULL)
    {
      stop_cb (self);
      return;
    }
  g_clear_object (&self->chooser);
  self->chooser
      = gtk_file_chooser_native_new (_ ("Record the Session"), GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))),
                                     GTK_FILE_CHOOSER_ACTION_SAVE, _ ("_Record"), NULL);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (self->chooser), TRUE);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (self->chooser), leaf);
  g_signal_connect_object (self->chooser, "response", G_CALLBACK (response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
}

void
studio_recording_bar_play (StudioRecordingBar *self, Recording *recording)
{
  stop_cb (self);
  self->replay = replay_new (recording, self->document, self->run);
  gtk_adjustment_set_upper (self->time, replay_get_length (self->replay));
  start (self);
}

/* ---- class -------------------------------------------------------------------------- */

void
studio_recording_bar_set (StudioRecordingBar *self, StudioDocument *document, StudioRun *run)
{
  g_return_if_fail (self->document == NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
}

static void
recording_bar_dispose (GObject *object)
{
  StudioRecordingBar *self = STUDIO_RECORDING_BAR (object);

  g_clear_handle_id (&self->ticks, g_source_remove);
  g_clear_pointer (&self->recorder, recorder_free);
  g_clear_pointer (&self->replay, replay_free);
  g_clear_object (&self->chooser);
  g_clear_object (&self->document);
  g_clear_object (&self->run);
  G_OBJECT_CLASS (studio_recording_bar_parent_class)->dispose (object);
}

static void
studio_recording_bar_class_init (StudioRecordingBarClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = recording_bar_dispose;
  STUDIO_TEMPLATE (klass, "studio-recording-bar.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRecordingBar, revealer, caption, recording, play, clock, scale, speed, note,
                            time);
  STUDIO_TEMPLATE_CALLBACKS (klass, play_cb, change_cb, note_cb, stop_cb);
  say_signal = studio_signal_new ("say", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_STRING);
}

static void
studio_recording_bar_init (StudioRecordingBar *self)
{
  g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);

  gtk_widget_init_template (GTK_WIDGET (self));
  for (guint i = 0; i < G_N_ELEMENTS (speeds); i++)
    gtk_string_list_append (names, speeds[i].name);
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->speed), G_LIST_MODEL (names));
  studio_choice_set_name (GTK_DROP_DOWN (self->speed), _ ("Speed"));
  show (self);
}
