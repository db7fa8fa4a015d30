/* One form for all formats: rows that a format does not have are hidden. */
#include "ui/export/studio-export-dialog.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/export/studio-export-job.h"
#include "ui/shell/studio-question.h"

#define WIDTH    520
#define HEIGHT   540
#define PULSE_MS 120

/* Options that are on or off. A picture is drawn here; other formats get the word. */
typedef struct
{
  LoomExportOptions option;
  const char *title, *subtitle, *word;
} Switch;

static const Switch switches[] = {
  { LOOM_EXPORT_DARK, N_ ("Dark Colours"), NULL, NULL },
  { LOOM_EXPORT_TRANSPARENT, N_ ("No Background"), NULL, NULL },
  { LOOM_EXPORT_RAW, N_ ("Only the Net"), N_ ("Without normalisation, names of classes and probabilities"), "--raw" },
  { LOOM_EXPORT_EXTERNAL_DATA, N_ ("Weights in a Second File"), NULL, "--external-data" },
};

/* In the order of StudioExportPart. */
static const char *const parts[] = { N_ ("Whole Graph"), N_ ("Selection"), N_ ("Visible Part"), NULL };

struct _StudioExportDialog
{
  AdwWindow parent_instance;
  GtkWidget *cancel, *export, *form, *format, *suffix, *source, *part, *scale_row, *scale, *switches, *file, *browse,
      *sentence, *bar;
  GtkWidget *row[G_N_ELEMENTS (switches)], *choice[G_N_ELEMENTS (switches)], *pins_row, *pins;
  StudioExportSubject subject;
  GtkFileChooserNative *chooser;
  StudioExportJob *job; /* NULL: none runs */
  guint pulse;
};

G_DEFINE_FINAL_TYPE (StudioExportDialog, studio_export_dialog, ADW_TYPE_WINDOW)

/* The next dialog begins with the format of the last one. */
static guint last_format = 4;

static const LoomExportFormat *
format_of (StudioExportDialog *self)
{
  return loom_export_format (adw_combo_row_get_selected (ADW_COMBO_ROW (self->format)));
}

static const char *
suffix_of (StudioExportDialog *self)
{
  const LoomExportFormat *format = format_of (self);
  const guint chosen = adw_combo_row_get_selected (ADW_COMBO_ROW (self->suffix));

  return format->suffix[chosen < G_N_ELEMENTS (format->suffix) && format->suffix[chosen] != NULL ? chosen : 0];
}

static gboolean
is_on (StudioExportDialog *self, guint i)
{
  return gtk_switch_get_active (GTK_SWITCH (self->choice[i]));
}

static gboolean
is_option_on (StudioExportDialog *self, LoomExportOptions option)
{
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    if (switches[i].option == option)
      return is_on (self, i);
  return FALSE;
}

/* The run whose weights or figures are written; NULL: the graph with initial weights. */
static const char *
run_of (StudioExportDialog *self)
{
  const LoomExportFormat *format = format_of (self);
  const gboolean initial
      = format->source == LOOM_EXPORT_OF_EITHER && adw_combo_row_get_selected (ADW_COMBO_ROW (self->source)) == 1;

  return format->source == LOOM_EXPORT_OF_GRAPH || initial ? NULL : self->subject.get_run (self->subject.owner);
}

/* ---- the form --------------------------------------------------------------------------- */

/* sentence NULL: none. */
static void
say (StudioExportDialog *self, const char *sentence, gboolean is_error)
{
  gtk_label_set_text (GTK_LABEL (self->sentence), sentence != NULL ? sentence : "");
  gtk_widget_set_visible (self->sentence, sentence != NULL);
  if (is_error)
    gtk_widget_add_css_class (self->sentence, "error");
  else
    gtk_widget_remove_css_class (self->sentence, "error");
}

static void
update_sensitivity (StudioExportDialog *self)
{
  const LoomExportFormat *format = format_of (self);
  const gboolean misses = format->source == LOOM_EXPORT_OF_RUN && run_of (self) == NULL;

  gtk_widget_set_sensitive (self->form, self->job == NULL);
  gtk_widget_set_sensitive (self->export, self->job == NULL && !misses);
  gtk_widget_set_visible (self->bar, self->job != NULL);
  if (self->job == NULL && misses)
    say (self, _ ("This format is written from a run. Train the graph first, at least to its first checkpoint."),
         FALSE);
}

/* Replaces the suffix that a format gave the name by that of another one. */
static void
update_suffix (StudioExportDialog *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->file)), *dot = strrchr (text, '.');
  const LoomExportFormat *format;
  gboolean is_known = FALSE;

  for (guint i = 0; dot != NULL && (format = loom_export_format (i)) != NULL; i++)
    is_known = is_known || loom_export_format_fits (format, text);
  g_autofree char *stem = is_known ? g_strndup (text, (gsize)(dot - text)) : g_strdup (text);
  g_autofree char *name = g_strdup_printf ("%s.%s", stem, suffix_of (self));

  gtk_editable_set_text (GTK_EDITABLE (self->file), name);
  gtk_editable_set_position (GTK_EDITABLE (self->file), -1);
}

static void
fill_suffixes (StudioExportDialog *self)
{
  const LoomExportFormat *format = format_of (self);
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);

  for (guint i = 0; format->suffix[i] != NULL; i++)
    {
      g_autofree char *name = g_ascii_strup (format->suffix[i], -1);
      gtk_string_list_append (list, name);
    }
  adw_combo_row_set_model (ADW_COMBO_ROW (self->suffix), G_LIST_MODEL (list));
  gtk_widget_set_visible (self->suffix, format->suffix[1] != NULL);
}

static void
format_cb (StudioExportDialog *self)
{
  const LoomExportFormat *format = format_of (self);
  gboolean any = format->draws;

  last_format = adw_combo_row_get_selected (ADW_COMBO_ROW (self->format));
  say (self, NULL, FALSE);
  fill_suffixes (self);
  gtk_widget_set_visible (self->source, format->source == LOOM_EXPORT_OF_EITHER
                                            && self->subject.get_run (self->subject.owner) != NULL);
  gtk_widget_set_visible (self->part, format->draws);
  gtk_widget_set_visible (self->scale_row, format->draws);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->scale), g_str_equal (format->name, "png") ? 2 : 1);
  gtk_widget_set_visible (self->pins_row, format->draws && self->subject.count_pins (self->subject.owner) > 0);
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    {
      gtk_widget_set_visible (self->row[i], (format->options & switches[i].option) != 0);
      any = any || (format->options & switches[i].option) != 0;
    }
  gtk_widget_set_visible (self->switches, any);
  update_suffix (self);
  update_sensitivity (self);
}

/* ---- work ------------------------------------------------------------------------------- */

static gboolean
pulse_cb (gpointer data)
{
  StudioExportDialog *self = data;

  gtk_progress_bar_pulse (GTK_PROGRESS_BAR (self->bar));
  return G_SOURCE_CONTINUE;
}

static void
forget_job (StudioExportDialog *self)
{
  g_clear_handle_id (&self->pulse, g_source_remove);
  if (self->job != NULL)
    g_signal_handlers_disconnect_by_data (self->job, self);
  g_clear_object (&self->job);
}

static void
progress_cb (StudioExportJob *job, double done, StudioExportDialog *self)
{
  g_clear_handle_id (&self->pulse, g_source_remove);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->bar), CLAMP (done, 0, 1));
}

static char *
absolute_file (StudioExportDialog *self)
{
  g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->file))));

  return *text != '\0' ? g_canonicalize_filename (text, g_get_home_dir ()) : NULL;
}

static void
ended_cb (StudioExportJob *job, const char *sentence, StudioExportDialog *self)
{
  forget_job (self);
  update_sensitivity (self);
  if (sentence != NULL)
    {
      say (self, sentence, TRUE);
      gtk_widget_grab_focus (self->file);
      return;
    }
  g_autofree char *file = absolute_file (self);
  self->subject.saved (self->subject.owner, file);
  gtk_window_destroy (GTK_WINDOW (self));
}

static void
start_picture (StudioExportDialog *self)
{
  const StudioExportSubject *s = &self->subject;
  const StudioExportPart part = adw_combo_row_get_selected (ADW_COMBO_ROW (self->part));
  StudioScene *scene = s->new_scene (s->owner, part == STUDIO_EXPORT_SELECTION);
  const StudioRect visible = s->get_visible (s->owner);
  StudioPictureOptions options = { .dark = is_option_on (self, LOOM_EXPORT_DARK),
                                   .transparent = is_option_on (self, LOOM_EXPORT_TRANSPARENT),
                                   .scale = gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->scale)),
                                   .area = part == STUDIO_EXPORT_VISIBLE ? &visible : NULL };
  GDestroyNotify free_data = NULL;

  if (gtk_widget_get_visible (self->pins_row) && gtk_switch_get_active (GTK_SWITCH (self->pins)))
    s->add_pins (s->owner, scene, &options, &free_data);
  studio_export_job_start_picture (self->job, scene, &options, free_data);
}

static void
start (StudioExportDialog *self, const char *file)
{
  const LoomExportFormat *format = format_of (self);
  const StudioExportSubject *s = &self->subject;
  const gboolean of_graph = !format->draws && run_of (self) == NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = of_graph ? s->dup_graph (s->owner, &error) : NULL;

  say (self, error != NULL ? error->message : NULL, TRUE);
  if (error != NULL)
    return;
  self->job = studio_export_job_new (format, file);
  g_signal_connect (self->job, "progress", G_CALLBACK (progress_cb), self);
  g_signal_connect (self->job, "ended", G_CALLBACK (ended_cb), self);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->bar), 0);
  self->pulse = g_timeout_add (PULSE_MS, pulse_cb, self);
  update_sensitivity (self);
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    if ((format->options & switches[i].option) != 0 && switches[i].word != NULL && is_on (self, i))
      studio_export_job_add_option (self->job, switches[i].word);
  if (format->draws)
    start_picture (self);
  else if (of_graph)
    studio_export_job_start_graph (self->job, text, s->get_folder (s->owner));
  else
    studio_export_job_start_run (self->job, run_of (self));
}

static void
replace_cb (AdwMessageDialog *question, const char *response, StudioExportDialog *self)
{
  g_autofree char *file = absolute_file (self);

  gtk_window_present (GTK_WINDOW (self));
  if (g_str_equal (response, "replace") && self->job == NULL && file != NULL)
    start (self, file);
}

static void
ask_to_replace (StudioExportDialog *self, const char *file)
{
  g_autofree char *name = g_path_get_basename (file), *folder = g_path_get_dirname (file);
  g_autofree char *heading = g_strdup_printf (_ ("Replace “%s”?"), name);
  g_autofree char *body = g_strdup_printf (_ ("A file of this name is in “%s”. Its content will be lost."), folder);
  AdwMessageDialog *question = studio_question_new (GTK_WINDOW (self), heading, body);

  adw_message_dialog_add_response (question, "replace", _ ("_Replace"));
  adw_message_dialog_set_response_appearance (question, "replace", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_default_response (question, "cancel");
  g_signal_connect_object (question, "response", G_CALLBACK (replace_cb), self, 0);
  gtk_window_present (GTK_WINDOW (question));
}

static void
export_cb (StudioExportDialog *self)
{
  g_autofree char *file = absolute_file (self);

  if (self->job != NULL || !gtk_widget_get_sensitive (self->export))
    return;
  if (file == NULL || !loom_export_format_fits (format_of (self), file))
    {
      g_autofree char *sentence = g_strdup_printf (_ ("The name of the file must end in .%s."), suffix_of (self));
      say (self, sentence, TRUE);
      gtk_widget_grab_focus (self->file);
    }
  else if (g_file_test (file, G_FILE_TEST_EXISTS))
    ask_to_replace (self, file);
  else
    start (self, file);
}

static void
cancel_cb (StudioExportDialog *self)
{
  if (self->job == NULL)
    {
      gtk_window_destroy (GTK_WINDOW (self));
      return;
    }
  studio_export_job_cancel (self->job);
  forget_job (self);
  update_sensitivity (self);
  say (self, _ ("Cancelled. No file was written."), FALSE);
  gtk_widget_grab_focus (self->export);
}

/* ---- the file --------------------------------------------------------------------------- */

static void
chosen_cb (StudioExportDialog *self, int response)
{
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (self->chooser));
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (response == GTK_RESPONSE_ACCEPT && path != NULL)
    gtk_editable_set_text (GTK_EDITABLE (self->file), path);
  g_clear_object (&self->chooser);
}

static void
browse_cb (StudioExportDialog *self)
{
  g_autofree char *path = absolute_file (self);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  g_autofree char *folder_path = path != NULL ? g_path_get_dirname (path) : g_strdup (g_get_home_dir ());
  g_autoptr (GFile) folder = g_file_new_for_path (folder_path);

  self->chooser
      = gtk_file_chooser_native_new (_ ("Export"), GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_SAVE, NULL, NULL);
  gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (self->chooser), folder, NULL);
  if (name != NULL)
    gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (self->chooser), name);
  g_signal_connect_object (self->chooser, "response", G_CALLBACK (chosen_cb), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
}

/* ---- widget ----------------------------------------------------------------------------- */

static GtkWidget *
add_switch (StudioExportDialog *self, const char *title, const char *subtitle, GtkWidget **choice)
{
  GtkWidget *row = adw_action_row_new ();

  *choice = gtk_switch_new ();
  gtk_widget_set_valign (*choice, GTK_ALIGN_CENTER);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  if (subtitle != NULL)
    adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), *choice);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), *choice);
  gtk_accessible_update_property (GTK_ACCESSIBLE (*choice), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_list_box_append (GTK_LIST_BOX (self->switches), row);
  return row;
}

static void
fill_lists (StudioExportDialog *self)
{
  g_autoptr (GtkStringList) formats = gtk_string_list_new (NULL), sources = gtk_string_list_new (NULL),
                            all_parts = gtk_string_list_new (NULL);
  const gboolean has_selection = self->subject.has_selection (self->subject.owner);
  const LoomExportFormat *format;

  for (guint i = 0; (format = loom_export_format (i)) != NULL; i++)
    gtk_string_list_append (formats, _ (format->title));
  gtk_string_list_append (sources, _ ("Newest of the Run"));
  gtk_string_list_append (sources, _ ("Initial"));
  for (guint i = 0; parts[i] != NULL; i++)
    gtk_string_list_append (all_parts, _ (parts[i]));
  adw_combo_row_set_model (ADW_COMBO_ROW (self->source), G_LIST_MODEL (sources));
  adw_combo_row_set_model (ADW_COMBO_ROW (self->part), G_LIST_MODEL (all_parts));
  adw_combo_row_set_selected (ADW_COMBO_ROW (self->part), has_selection ? STUDIO_EXPORT_SELECTION : STUDIO_EXPORT_ALL);
  adw_combo_row_set_model (ADW_COMBO_ROW (self->format), G_LIST_MODEL (formats));
  adw_combo_row_set_selected (ADW_COMBO_ROW (self->format), last_format);
}

/* Nothing is selected: the selection is the whole graph. */
static void
part_cb (StudioExportDialog *self)
{
  if (adw_combo_row_get_selected (ADW_COMBO_ROW (self->part)) == STUDIO_EXPORT_SELECTION
      && !self->subject.has_selection (self->subject.owner))
    say (self, _ ("No card is selected, so the whole graph is drawn."), FALSE);
  else if (self->job == NULL)
    say (self, NULL, FALSE);
}

static gboolean
close_cb (GtkWidget *widget, GVariant *arguments, gpointer data)
{
  cancel_cb (STUDIO_EXPORT_DIALOG (widget));
  return TRUE;
}

static gboolean
close_request (GtkWindow *window)
{
  StudioExportDialog *self = STUDIO_EXPORT_DIALOG (window);

  if (self->job != NULL)
    studio_export_job_cancel (self->job);
  forget_job (self);
  return FALSE;
}

static void
export_dialog_dispose (GObject *object)
{
  StudioExportDialog *self = STUDIO_EXPORT_DIALOG (object);

  if (self->job != NULL)
    studio_export_job_cancel (self->job);
  forget_job (self);
  g_clear_object (&self->chooser);
  G_OBJECT_CLASS (studio_export_dialog_parent_class)->dispose (object);
}

static void
studio_export_dialog_class_init (StudioExportDialogClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = export_dialog_dispose;
  GTK_WINDOW_CLASS (klass)->close_request = close_request;
  STUDIO_TEMPLATE (klass, "studio-export-dialog.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioExportDialog, cancel, export, form, format, suffix, source, part, scale_row,
                            scale, switches, file, browse, sentence, bar);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Escape, 0, close_cb, NULL);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_w, GDK_CONTROL_MASK, close_cb, NULL);
}

static void
studio_export_dialog_init (StudioExportDialog *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    self->row[i] = add_switch (self, _ (switches[i].title),
                               switches[i].subtitle != NULL ? _ (switches[i].subtitle) : NULL, &self->choice[i]);
  self->pins_row = add_switch (self, _ ("Pins With Their Values"), NULL, &self->pins);
  gtk_switch_set_active (GTK_SWITCH (self->pins), TRUE);
  gtk_window_set_default_widget (GTK_WINDOW (self), self->export);
}

StudioExportDialog *
studio_export_dialog_new (GtkWindow *parent, const StudioExportSubject *subject, const char *stem)
{
  StudioExportDialog *self = g_object_new (STUDIO_TYPE_EXPORT_DIALOG, "transient-for", parent, NULL);

  self->subject = *subject;
  studio_text_scale_window (GTK_WINDOW (self), parent, WIDTH, HEIGHT);
  gtk_editable_set_text (GTK_EDITABLE (self->file), stem);
  fill_lists (self);
  format_cb (self);
  g_signal_connect_swapped (self->format, "notify::selected", G_CALLBACK (format_cb), self);
  g_signal_connect_swapped (self->suffix, "notify::selected", G_CALLBACK (update_suffix), self);
  g_signal_connect_swapped (self->part, "notify::selected", G_CALLBACK (part_cb), self);
  g_signal_connect_swapped (self->export, "clicked", G_CALLBACK (export_cb), self);
  g_signal_connect_swapped (self->cancel, "clicked", G_CALLBACK (cancel_cb), self);
  g_signal_connect_swapped (self->browse, "clicked", G_CALLBACK (browse_cb), self);
  gtk_widget_grab_focus (self->format);
  return self;
}
