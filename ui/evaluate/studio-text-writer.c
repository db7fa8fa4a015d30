/* Implements studio-text-writer.h. The text is polled while it is generated. */
#include "ui/evaluate/studio-text-writer.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"

#define POLL_MS 100

struct _StudioTextWriter
{
  GtkBox parent_instance;
  StudioEvaluation *model;
  GtkWidget *prompt, *tokens, *temperature, *button, *text, *message;
  GByteArray *generated; /* can end within a character */
  gboolean writing;
  gint64 seed;
  guint poll, serial;
};

G_DEFINE_FINAL_TYPE (StudioTextWriter, studio_text_writer, GTK_TYPE_BOX)

static void poll_soon (StudioTextWriter *self);

static void
show (StudioTextWriter *self, const char *message)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->text));
  const char *bytes = (const char *)self->generated->data, *end = bytes;

  /* An incomplete character at the end waits for its rest. */
  if (self->generated->len > 0 && !g_utf8_validate (bytes, self->generated->len, &end) && !self->writing)
    end = bytes + self->generated->len;
  g_autofree char *valid = g_utf8_make_valid (bytes != NULL ? bytes : "", end - bytes);
  const char *prompt = gtk_editable_get_text (GTK_EDITABLE (self->prompt));
  g_autofree char *all = g_strconcat (self->generated->len > 0 || self->writing ? prompt : "", valid, NULL);
  gtk_text_buffer_set_text (buffer, all, -1);
  gtk_button_set_label (GTK_BUTTON (self->button), self->writing ? _ ("_Stop") : _ ("_Generate"));
  gtk_label_set_text (GTK_LABEL (self->message), message != NULL ? message : "");
  gtk_widget_set_visible (self->message, message != NULL && *message != '\0');
}

static void
finish (StudioTextWriter *self, const char *message)
{
  self->writing = FALSE;
  self->serial++;
  g_clear_handle_id (&self->poll, g_source_remove);
  show (self, message);
}

typedef struct
{
  GWeakRef writer;
  guint serial;
} Ask;

static Ask *
ask_new (StudioTextWriter *self)
{
  Ask *ask = g_new0 (Ask, 1);

  g_weak_ref_init (&ask->writer, self);
  ask->serial = self->serial;
  return ask;
}

/* The writer that waits for this answer (transfer full), or NULL. */
static StudioTextWriter *
ask_end (Ask *ask)
{
  StudioTextWriter *self = g_weak_ref_get (&ask->writer);
  const guint serial = ask->serial;

  g_weak_ref_clear (&ask->writer);
  g_free (ask);
  if (self != NULL && self->serial != serial)
    g_clear_object (&self);
  return self;
}

static void
polled_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioTextWriter) self = ask_end (data);
  g_autoptr (GVariant) bytes = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *message = NULL;
  gboolean writing;
  gsize n;

  if (!loom_bus_worker1_call_get_generated_finish (LOOM_BUS_WORKER1 (source), &bytes, &writing, &message, result,
                                                   &error))
    {
      if (self != NULL)
        finish (self, _ ("The worker has ended."));
      return;
    }
  if (self == NULL)
    return;
  const guint8 *text = g_variant_get_fixed_array (bytes, &n, 1);
  g_byte_array_append (self->generated, text, (guint)n);
  if (writing)
    {
      show (self, NULL);
      poll_soon (self);
    }
  else
    finish (self, message);
}

static gboolean
poll_cb (gpointer data)
{
  StudioTextWriter *self = data;
  LoomBusWorker1 *proxy = studio_run_get_proxy (studio_evaluation_get_run (self->model));

  self->poll = 0;
  if (proxy == NULL)
    finish (self, _ ("The worker has ended."));
  else
    loom_bus_worker1_call_get_generated (proxy, self->generated->len, NULL, polled_cb, ask_new (self));
  return G_SOURCE_REMOVE;
}

static void
poll_soon (StudioTextWriter *self)
{
  if (self->poll == 0)
    self->poll = g_timeout_add (POLL_MS, poll_cb, self);
}

static void
started_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioTextWriter) self = ask_end (data);
  g_autoptr (GError) error = NULL;

  if (loom_bus_worker1_call_generate_finish (LOOM_BUS_WORKER1 (source), result, &error))
    {
      if (self != NULL)
        poll_soon (self);
      return;
    }
  g_dbus_error_strip_remote_error (error);
  if (self != NULL)
    finish (self, error->message);
}

/* The text is generated for a reader only. */
static void
stop (StudioTextWriter *self)
{
  LoomBusWorker1 *proxy
      = self->writing && self->model != NULL ? studio_run_get_proxy (studio_evaluation_get_run (self->model)) : NULL;

  if (proxy != NULL)
    loom_bus_worker1_call_stop_generating (proxy, NULL, NULL, NULL);
  if (self->writing)
    finish (self, NULL);
}

static void
pressed_cb (StudioTextWriter *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (studio_evaluation_get_run (self->model));

  if (self->writing)
    {
      stop (self);
      return;
    }
  if (proxy == NULL)
    {
      finish (self, _ ("Nothing has been trained yet. Train the graph first."));
      return;
    }
  g_byte_array_set_size (self->generated, 0);
  self->writing = TRUE;
  self->serial++;
  show (self, NULL);
  /* Another text each time. */
  loom_bus_worker1_call_generate (proxy, gtk_editable_get_text (GTK_EDITABLE (self->prompt)),
                                  (guint)gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->tokens)),
                                  gtk_spin_button_get_value (GTK_SPIN_BUTTON (self->temperature)), 0, self->seed++,
                                  NULL, started_cb, ask_new (self));
}

/* ---- the widget ------------------------------------------------------------------ */

static void
writer_dispose (GObject *object)
{
  StudioTextWriter *self = STUDIO_TEXT_WRITER (object);

  g_clear_handle_id (&self->poll, g_source_remove);
  g_clear_object (&self->model);
  g_clear_pointer (&self->generated, g_byte_array_unref);
  G_OBJECT_CLASS (studio_text_writer_parent_class)->dispose (object);
}

static void
studio_text_writer_class_init (StudioTextWriterClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = writer_dispose;
  STUDIO_TEMPLATE (klass, "studio-text-writer.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioTextWriter, prompt, tokens, temperature, button, text, message);
  STUDIO_TEMPLATE_CALLBACKS (klass, pressed_cb);
}

static void
studio_text_writer_init (StudioTextWriter *self)
{
  self->generated = g_byte_array_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
studio_text_writer_new (StudioEvaluation *model)
{
  StudioTextWriter *self = g_object_new (STUDIO_TYPE_TEXT_WRITER, NULL);

  self->model = g_object_ref (model);
  g_signal_connect (self, "unmap", G_CALLBACK (stop), NULL);
  return GTK_WIDGET (self);
}

guint
studio_text_writer_length (StudioTextWriter *self)
{
  return self->generated->len;
}
