/* Implements studio-run-details.h. */
#include "ui/runs/studio-run-details.h"

#include "ui/charts/studio-template.h"

struct _StudioRunDetails
{
  GtkBox parent_instance;
  StudioRuns *runs;
  StudioRunEntry *entry; /* NULL: none */
  GtkWidget *name, *note, *star, *attach, *reason;
  gboolean is_filling;
};

G_DEFINE_FINAL_TYPE (StudioRunDetails, studio_run_details, GTK_TYPE_BOX)

enum
{
  SAY,
  DONE,
  ATTACH,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* keeps: text that is being typed, which is stored when its field is left. */
static void
fill (StudioRunDetails *self, gboolean keeps)
{
  const LoomRunSummary *run = self->entry != NULL ? studio_run_entry_get (self->entry) : NULL;

  gtk_widget_set_visible (GTK_WIDGET (self), run != NULL && run->error == NULL);
  if (run == NULL)
    return;
  gtk_widget_set_visible (self->attach, run->is_attachable);
  g_autofree char *reason = studio_run_entry_dup_reason (self->entry);
  gtk_widget_set_visible (self->reason, reason != NULL);
  gtk_label_set_text (GTK_LABEL (self->reason), reason != NULL ? reason : "");
  gtk_widget_set_tooltip_text (self->reason, reason);
  self->is_filling = TRUE;
  if (!keeps || !gtk_widget_has_focus (GTK_WIDGET (gtk_editable_get_delegate (GTK_EDITABLE (self->name)))))
    gtk_editable_set_text (GTK_EDITABLE (self->name), run->notes.name != NULL ? run->notes.name : "");
  if (!keeps || !gtk_widget_has_focus (self->note))
    gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->note)),
                              run->notes.note != NULL ? run->notes.note : "", -1);
  g_autofree char *leaf = loom_text_printable (run->leaf, TRUE, LOOM_RUN_NAME_MOST);
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->name), leaf);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->star), run->notes.star);
  gtk_button_set_icon_name (GTK_BUTTON (self->star), run->notes.star ? "starred-symbolic" : "non-starred-symbolic");
  self->is_filling = FALSE;
}

static void
changed_cb (StudioRunDetails *self)
{
  fill (self, TRUE);
}

static char *
note_text (StudioRunDetails *self)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->note));
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  return g_strstrip (gtk_text_buffer_get_text (buffer, &start, &end, FALSE));
}

/* Writes the three if one of them differs. */
static void
store (StudioRunDetails *self)
{
  g_autofree char *note = note_text (self), *name = NULL;
  g_autoptr (GError) error = NULL;
  const LoomRunNotes *have;

  if (self->entry == NULL || self->is_filling || studio_run_entry_get (self->entry)->error != NULL)
    return;
  have = &studio_run_entry_get (self->entry)->notes;
  name = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->name))));
  LoomRunNotes notes = { .name = name,
                         .note = note,
                         .sweep = have->sweep,
                         .star = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->star)) };
  if (g_str_equal (name, have->name != NULL ? have->name : "")
      && g_str_equal (note, have->note != NULL ? have->note : "") && notes.star == have->star)
    return;
  if (!studio_runs_write_notes (self->runs, self->entry, &notes, &error))
    g_signal_emit (self, signals[SAY], 0, error->message);
}

static void
done_cb (StudioRunDetails *self)
{
  store (self);
  g_signal_emit (self, signals[DONE], 0);
}

static void
attach_cb (StudioRunDetails *self)
{
  g_signal_emit (self, signals[ATTACH], 0);
}

static void
run_details_dispose (GObject *object)
{
  StudioRunDetails *self = STUDIO_RUN_DETAILS (object);

  if (self->entry != NULL)
    g_signal_handlers_disconnect_by_data (self->entry, self);
  g_clear_object (&self->entry);
  g_clear_object (&self->runs);
  G_OBJECT_CLASS (studio_run_details_parent_class)->dispose (object);
}

static void
studio_run_details_class_init (StudioRunDetailsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = run_details_dispose;
  signals[SAY] = studio_signal_new ("say", STUDIO_TYPE_RUN_DETAILS, 1, G_TYPE_STRING);
  signals[DONE] = studio_signal_new ("done", STUDIO_TYPE_RUN_DETAILS, 0);
  signals[ATTACH] = studio_signal_new ("attach", STUDIO_TYPE_RUN_DETAILS, 0);
  STUDIO_TEMPLATE (klass, "studio-run-details.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRunDetails, name, note, star, attach, reason);
  STUDIO_TEMPLATE_CALLBACKS (klass, store, done_cb, attach_cb);
}

static void
studio_run_details_init (StudioRunDetails *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_entry_set_max_length (GTK_ENTRY (self->name), LOOM_RUN_NAME_MOST);
}

void
studio_run_details_set_runs (StudioRunDetails *self, StudioRuns *runs)
{
  g_set_object (&self->runs, runs);
}

void
studio_run_details_set (StudioRunDetails *self, StudioRunEntry *entry)
{
  if (self->entry == entry)
    return;
  store (self);
  if (self->entry != NULL)
    g_signal_handlers_disconnect_by_data (self->entry, self);
  g_set_object (&self->entry, entry);
  if (entry != NULL)
    g_signal_connect_swapped (entry, "changed", G_CALLBACK (changed_cb), self);
  fill (self, FALSE);
}

void
studio_run_details_focus_name (StudioRunDetails *self)
{
  if (!gtk_widget_get_visible (GTK_WIDGET (self)))
    return;
  gtk_widget_grab_focus (self->name);
}

void
studio_run_details_toggle_star (StudioRunDetails *self)
{
  if (self->entry != NULL)
    gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->star),
                                  !gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->star)));
}
