/* Implements studio-gradient-check.h. The graph is written to the program's standard input, and each line that it
 * prints is an event. */
#include "ui/worker/studio-gradient-check.h"

#include <string.h>

#include "ui/worker/studio-worker.h"

struct _StudioGradientCheck
{
  GObject parent_instance;
  GSubprocess *process; /* NULL: none runs */
  GDataInputStream *lines, *errors;
  guint n_open;  /* of the two streams */
  char *message; /* the last line of standard error; NULL: none */
  GCancellable *cancellable;
};

G_DEFINE_FINAL_TYPE (StudioGradientCheck, studio_gradient_check, G_TYPE_OBJECT)

enum
{
  EVENT,
  ENDED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static void read_next (StudioGradientCheck *self);

static void
forget (StudioGradientCheck *self)
{
  g_clear_object (&self->cancellable);
  g_clear_object (&self->lines);
  g_clear_object (&self->errors);
  g_clear_object (&self->process);
  g_clear_pointer (&self->message, g_free);
}

void
studio_gradient_check_cancel (StudioGradientCheck *self)
{
  if (self->process == NULL)
    return;
  g_cancellable_cancel (self->cancellable);
  g_subprocess_force_exit (self->process);
  forget (self);
}

static void
end (StudioGradientCheck *self, const char *message)
{
  g_autofree char *copy = g_strdup (message);

  forget (self);
  g_signal_emit (self, signals[ENDED], 0, copy);
}

/* Status 1: a gradient differs, or the graph has faults, which the events say. */
static void
exited_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioGradientCheck) self = data;
  GSubprocess *process = G_SUBPROCESS (source);
  const gboolean ok = g_subprocess_wait_finish (process, result, NULL);

  if (self->process != process)
    return;
  end (self, !ok || !g_subprocess_get_if_exited (process) || g_subprocess_get_exit_status (process) > 1 ? self->message
                                                                                                        : NULL);
}

static void
note_closed (StudioGradientCheck *self)
{
  if (--self->n_open == 0)
    g_subprocess_wait_async (self->process, NULL, exited_cb, g_object_ref (self));
}

static void read_error (StudioGradientCheck *self);

/* All of it is read while the program runs, because a full pipe would block the program. */
static void
error_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  static const char prefix[] = "gradloom check: ";
  g_autoptr (StudioGradientCheck) self = data;
  g_autofree char *line = g_data_input_stream_read_line_finish (G_DATA_INPUT_STREAM (source), result, NULL, NULL);

  if (self->errors != G_DATA_INPUT_STREAM (source))
    return;
  if (line == NULL)
    {
      note_closed (self);
      return;
    }
  g_strchomp (line);
  if (*line != '\0')
    {
      g_free (self->message);
      self->message = g_utf8_make_valid (g_str_has_prefix (line, prefix) ? line + strlen (prefix) : line, -1);
    }
  read_error (self);
}

static void
read_error (StudioGradientCheck *self)
{
  g_data_input_stream_read_line_async (self->errors, G_PRIORITY_DEFAULT_IDLE, self->cancellable, error_cb,
                                       g_object_ref (self));
}

static void
line_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioGradientCheck) self = data;
  g_autofree char *line = g_data_input_stream_read_line_finish_utf8 (G_DATA_INPUT_STREAM (source), result, NULL, NULL);
  g_autoptr (JsonNode) node = line != NULL && *line == '{' ? json_from_string (line, NULL) : NULL;

  /* After a cancellation this is the stream of another process, or of none. */
  if (self->lines != G_DATA_INPUT_STREAM (source))
    return;
  if (line == NULL)
    {
      note_closed (self);
      return;
    }
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    g_signal_emit (self, signals[EVENT], 0, json_node_get_object (node));
  if (self->lines == G_DATA_INPUT_STREAM (source))
    read_next (self);
}

static void
read_next (StudioGradientCheck *self)
{
  g_data_input_stream_read_line_async (self->lines, G_PRIORITY_DEFAULT_IDLE, self->cancellable, line_cb,
                                       g_object_ref (self));
}

static void
written_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL);
  g_output_stream_close_async (G_OUTPUT_STREAM (source), G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  g_free (data);
}

void
studio_gradient_check_start (StudioGradientCheck *self, const char *graph_xml, const char *folder,
                             const char *const *nodes, gint64 batch)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_autoptr (GError) error = NULL;
  g_autofree char *program = studio_worker_find_program (&error);
  g_autofree char *size = g_strdup_printf ("--batch-size=%" G_GINT64_FORMAT, batch);
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  GOutputStream *input;
  char *copy;

  studio_gradient_check_cancel (self);
  if (program != NULL)
    {
      const char *const first[] = { program, "check", "--gradcheck", "--json", size, "--", "-" };

      for (guint i = 0; i < G_N_ELEMENTS (first); i++)
        g_ptr_array_add (words, (gpointer)first[i]);
      for (; *nodes != NULL; nodes++)
        g_ptr_array_add (words, (gpointer)*nodes);
      g_ptr_array_add (words, NULL);
      if (folder != NULL)
        g_subprocess_launcher_set_cwd (launcher, folder);
      self->process = g_subprocess_launcher_spawnv (launcher, (const char *const *)words->pdata, &error);
    }
  if (self->process == NULL)
    {
      end (self, error->message);
      return;
    }
  self->cancellable = g_cancellable_new ();
  self->lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (self->process));
  copy = g_strdup (graph_xml);
  input = g_subprocess_get_stdin_pipe (self->process);
  g_output_stream_write_all_async (input, copy, strlen (copy), G_PRIORITY_DEFAULT, self->cancellable, written_cb, copy);
  self->errors = g_data_input_stream_new (g_subprocess_get_stderr_pipe (self->process));
  self->n_open = 2;
  read_next (self);
  read_error (self);
}

/* ---- object ---------------------------------------------------------------------------- */

static void
gradient_check_dispose (GObject *object)
{
  studio_gradient_check_cancel (STUDIO_GRADIENT_CHECK (object));
  G_OBJECT_CLASS (studio_gradient_check_parent_class)->dispose (object);
}

static void
studio_gradient_check_class_init (StudioGradientCheckClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradient_check_dispose;
  signals[EVENT] = g_signal_new ("event", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                 G_TYPE_NONE, 1, G_TYPE_POINTER);
  signals[ENDED] = g_signal_new ("ended", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                 G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
studio_gradient_check_init (StudioGradientCheck *self)
{
}

StudioGradientCheck *
studio_gradient_check_new (void)
{
  return g_object_new (STUDIO_TYPE_GRADIENT_CHECK, NULL);
}
