#include "ui/export/studio-export-job.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "ui/charts/studio-type.h"
#include "ui/scene/studio-scene.h"
#include "ui/worker/studio-planner.h"
#include "ui/worker/studio-worker.h"

struct _StudioExportJob
{
  GObject parent_instance;
  const LoomExportFormat *format;
  char *file, *staging; /* staging: the folder that is written to; NULL: none */
  GPtrArray *options;
  GCancellable *cancellable;
  GSubprocess *process; /* NULL: none */
  char *complaint;      /* the last line that it printed on standard error */
  guint reading;        /* of its streams */
};

G_DEFINE_FINAL_TYPE (StudioExportJob, studio_export_job, G_TYPE_OBJECT)

enum
{
  PROGRESS,
  ENDED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- files ------------------------------------------------------------------------------ */

static void
remove_staging (StudioExportJob *self)
{
  g_autoptr (GDir) dir = self->staging != NULL ? g_dir_open (self->staging, 0, NULL) : NULL;
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (self->staging, name, NULL);
      g_unlink (path);
    }
  if (self->staging != NULL)
    g_rmdir (self->staging);
  g_clear_pointer (&self->staging, g_free);
}

static gboolean
make_staging (StudioExportJob *self, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (self->file);

  self->staging = g_build_filename (folder, ".gradloom-export-XXXXXX", NULL);
  if (g_mkdtemp_full (self->staging, 0700) != NULL)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("“%1$s” cannot be written: %2$s. Choose another folder."), folder,
               g_strerror (errno));
  g_clear_pointer (&self->staging, g_free);
  return FALSE;
}

static char *
staged_file (StudioExportJob *self)
{
  g_autofree char *name = g_path_get_basename (self->file);

  return g_build_filename (self->staging, name, NULL);
}

/* Moves one file to where a link of that name leads, as cp does and every other write: the link stays. It may lead to
 * another file system, to which a file is copied. Permissions of a replaced file are kept. */
static gboolean
move (const char *from, const char *to, GError **error)
{
  g_autofree char *target = loom_file_target (to);
  g_autoptr (GMappedFile) file = NULL;
  GStatBuf info;

  if (g_stat (target, &info) == 0 && S_ISREG (info.st_mode))
    g_chmod (from, info.st_mode & 07777);
  if (g_rename (from, target) == 0)
    return TRUE;
  if (errno == EXDEV)
    {
      file = g_mapped_file_new (from, FALSE, error);
      return file != NULL
             && loom_file_replace (target, g_mapped_file_get_contents (file), g_mapped_file_get_length (file), error);
    }
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("“%1$s” could not be written: %2$s."), to, g_strerror (errno));
  return FALSE;
}

/* Files that belong to the named one, such as FILE.data, first. They replace others only with it, which the user has
 * agreed to. */
static gboolean
move_all (StudioExportJob *self, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (self->file), *last = g_path_get_basename (self->file);
  g_autofree char *from = staged_file (self);
  const gboolean replaces = g_file_test (self->file, G_FILE_TEST_EXISTS);
  g_autoptr (GDir) dir = g_dir_open (self->staging, 0, error);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *part = g_build_filename (self->staging, name, NULL), *to = g_build_filename (folder, name, NULL);

      if (g_str_equal (name, last))
        continue;
      if (!replaces && g_file_test (to, G_FILE_TEST_EXISTS))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                       _ ("“%s”, which belongs to the export, exists already. Choose another name."), to);
          return FALSE;
        }
      if (!move (part, to, error))
        return FALSE;
    }
  return dir != NULL && move (from, self->file, error);
}

/* error (transfer full): of the work; NULL: it is done. */
static void
end (StudioExportJob *self, GError *error)
{
  g_autoptr (GError) failure = error;
  const gboolean cancelled = g_cancellable_is_cancelled (self->cancellable);

  if (failure == NULL && !cancelled)
    move_all (self, &failure);
  remove_staging (self);
  if (!cancelled)
    g_signal_emit (self, signals[ENDED], 0, failure != NULL ? failure->message : NULL);
}

/* ---- a picture -------------------------------------------------------------------------- */

typedef struct
{
  StudioScene *scene;
  StudioPictureOptions options;
  StudioRect area;
  GDestroyNotify free_data;
  char *path;
} Picture;

static void
picture_free (gpointer data)
{
  Picture *picture = data;

  studio_scene_free (picture->scene);
  if (picture->free_data != NULL)
    picture->free_data (picture->options.data);
  g_free (picture->path);
  g_free (picture);
}

static void
draw_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Picture *picture = data;
  GError *error = NULL;

  if (studio_picture_write (picture->scene, picture->path, &picture->options, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
drawn_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  GError *error = NULL;

  g_task_propagate_boolean (G_TASK (result), &error);
  end (STUDIO_EXPORT_JOB (source), error);
}

static gboolean
failed_cb (gpointer data)
{
  GTask *task = data;
  StudioExportJob *self = g_task_get_source_object (task);

  end (self, g_error_copy (g_task_get_task_data (task)));
  return G_SOURCE_REMOVE;
}

/* Reports an error of the start from the main loop, as all others. (transfer full) */
static void
fail_later (StudioExportJob *self, GError *error)
{
  GTask *task = g_task_new (self, NULL, NULL, NULL);

  g_task_set_task_data (task, error, (GDestroyNotify)g_error_free);
  g_idle_add_full (G_PRIORITY_DEFAULT, failed_cb, task, g_object_unref);
}

void
studio_export_job_start_picture (StudioExportJob *self, StudioScene *scene, const StudioPictureOptions *options,
                                 GDestroyNotify free_data)
{
  Picture *picture = g_new0 (Picture, 1);
  g_autoptr (GTask) task = g_task_new (self, NULL, drawn_cb, NULL);
  GError *error = NULL;

  picture->scene = scene;
  picture->options = *options;
  picture->free_data = free_data;
  if (options->area != NULL)
    {
      picture->area = *options->area;
      picture->options.area = &picture->area;
    }
  g_task_set_task_data (task, picture, picture_free);
  if (!make_staging (self, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  picture->path = staged_file (self);
  g_task_run_in_thread (task, draw_thread);
}

/* ---- a process -------------------------------------------------------------------------- */

static void read_line (StudioExportJob *self, GDataInputStream *stream);

static void
take_event (StudioExportJob *self, const char *line)
{
  g_autoptr (GPtrArray) events = studio_planner_parse_events (line, strlen (line));

  for (guint i = 0; i < events->len; i++)
    if (json_object_has_member (events->pdata[i], "done"))
      g_signal_emit (self, signals[PROGRESS], 0, json_object_get_double_member (events->pdata[i], "done"));
}

static void
exited (StudioExportJob *self)
{
  static const char prefix[] = "gradloom export: ";
  const char *text = self->complaint != NULL ? self->complaint : _ ("The program that exports has ended.");

  if (g_subprocess_get_if_exited (self->process) && g_subprocess_get_exit_status (self->process) == 0)
    end (self, NULL);
  else
    end (self, g_error_new (LOOM_ERROR, LOOM_ERROR_IO, "%s",
                            g_str_has_prefix (text, prefix) ? text + strlen (prefix) : text));
}

static void
waited_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioExportJob) self = data;

  g_subprocess_wait_finish (G_SUBPROCESS (source), result, NULL);
  exited (self);
  g_clear_object (&self->process);
}

/* Lines of standard error are longer than a sentence if a graph has faults: the last one counts. */
static void
line_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioExportJob) self = data;
  GDataInputStream *stream = G_DATA_INPUT_STREAM (source);
  char *line = g_data_input_stream_read_line_finish_utf8 (stream, result, NULL, NULL);

  if (line == NULL)
    {
      if (--self->reading == 0)
        g_subprocess_wait_async (self->process, NULL, waited_cb, g_object_ref (self));
      return;
    }
  if (g_object_get_data (source, "complaints") == NULL)
    take_event (self, line);
  else if (*line != '\0' && !g_str_has_prefix (line, "See gradloom"))
    {
      g_free (self->complaint);
      self->complaint = g_strdup (line);
    }
  g_free (line);
  read_line (self, stream);
}

/* Each read holds the job and its stream. */
static void
read_line (StudioExportJob *self, GDataInputStream *stream)
{
  g_data_input_stream_read_line_async (stream, G_PRIORITY_DEFAULT, NULL, line_cb, g_object_ref (self));
}

static void
read_pipe (StudioExportJob *self, GInputStream *pipe, gboolean complaints)
{
  g_autoptr (GDataInputStream) stream = g_data_input_stream_new (pipe);

  if (complaints)
    g_object_set_data (G_OBJECT (stream), "complaints", self);
  self->reading++;
  read_line (self, stream);
}

static void
written_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL);
  g_output_stream_close_async (G_OUTPUT_STREAM (source), G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  g_free (data);
}

/* source: a run, or "-"; text: of standard input; NULL: none. */
static void
start (StudioExportJob *self, const char *source, const char *text, const char *folder)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_autofree char *devices = g_strdup_printf ("%d", text != NULL ? studio_worker_cpu_devices (text) : 1);
  GError *error = NULL;
  g_autofree char *program = studio_worker_find_program (&error), *file = NULL;
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  if (program == NULL || !make_staging (self, &error))
    {
      fail_later (self, error);
      return;
    }
  file = staged_file (self);
  const char *const first[] = { program, "export", source, "--to", self->format->name, "-o", file, "--json" };
  for (guint i = 0; i < G_N_ELEMENTS (first); i++)
    g_ptr_array_add (words, (gpointer)first[i]);
  for (guint i = 0; i < self->options->len; i++)
    g_ptr_array_add (words, self->options->pdata[i]);
  g_ptr_array_add (words, NULL);
  g_subprocess_launcher_setenv (launcher, "GRADLOOM_CPU_DEVICES", devices, FALSE);
  if (folder != NULL)
    g_subprocess_launcher_set_cwd (launcher, folder);
  self->process = g_subprocess_launcher_spawnv (launcher, (const char *const *)words->pdata, &error);
  if (self->process == NULL)
    {
      fail_later (self, error);
      return;
    }
  read_pipe (self, g_subprocess_get_stdout_pipe (self->process), FALSE);
  read_pipe (self, g_subprocess_get_stderr_pipe (self->process), TRUE);
  char *input = g_strdup (text != NULL ? text : "");
  g_output_stream_write_all_async (g_subprocess_get_stdin_pipe (self->process), input, strlen (input),
                                   G_PRIORITY_DEFAULT, NULL, written_cb, input);
}

void
studio_export_job_start_run (StudioExportJob *self, const char *run)
{
  start (self, run, NULL, NULL);
}

void
studio_export_job_start_graph (StudioExportJob *self, const char *graph_xml, const char *folder)
{
  start (self, "-", graph_xml, folder);
}

/* ---- object ----------------------------------------------------------------------------- */

void
studio_export_job_add_option (StudioExportJob *self, const char *option)
{
  g_ptr_array_add (self->options, g_strdup (option));
}

void
studio_export_job_cancel (StudioExportJob *self)
{
  g_cancellable_cancel (self->cancellable);
  if (self->process != NULL)
    g_subprocess_send_signal (self->process, SIGTERM);
}

static void
export_job_finalize (GObject *object)
{
  StudioExportJob *self = STUDIO_EXPORT_JOB (object);

  remove_staging (self);
  g_free (self->file);
  g_free (self->complaint);
  g_ptr_array_unref (self->options);
  g_object_unref (self->cancellable);
  g_clear_object (&self->process);
  G_OBJECT_CLASS (studio_export_job_parent_class)->finalize (object);
}

static void
studio_export_job_class_init (StudioExportJobClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = export_job_finalize;
  signals[PROGRESS] = studio_signal_new ("progress", STUDIO_TYPE_EXPORT_JOB, 1, G_TYPE_DOUBLE);
  signals[ENDED] = studio_signal_new ("ended", STUDIO_TYPE_EXPORT_JOB, 1, G_TYPE_STRING);
}

static void
studio_export_job_init (StudioExportJob *self)
{
  self->options = g_ptr_array_new_with_free_func (g_free);
  self->cancellable = g_cancellable_new ();
}

StudioExportJob *
studio_export_job_new (const LoomExportFormat *format, const char *file)
{
  StudioExportJob *self = g_object_new (STUDIO_TYPE_EXPORT_JOB, NULL);

  self->format = format;
  self->file = g_strdup (file);
  return self;
}
