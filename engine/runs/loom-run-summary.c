/* Reads runs and lists their folders. */
#include "engine/runs/loom-run-summary.h"

#include "engine/core/loom-compare.h"
#include "engine/core/loom-os.h"
#include "engine/infer/loom-run-socket.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/runs/loom-run-host.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- one run ------------------------------------------------------------------------- */

/* Buffers, which batch norms keep next to their parameters, are not counted. */
static gboolean
is_buffer (const char *name)
{
  static const char *const ends[] = { ".running_mean", ".running_var", ".num_batches_tracked" };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    if (g_str_has_suffix (name, ends[i]))
      return TRUE;
  return FALSE;
}

static double
count_parameters (LoomFolder *run)
{
  g_autoptr (LoomTensorFile) file = loom_safetensors_open_in (run, LOOM_RUN_WEIGHTS, NULL);
  double n = 0;

  for (guint i = 0; file != NULL && i < loom_tensor_file_count (file); i++)
    if (!is_buffer (loom_tensor_file_name (file, i)))
      {
        const LoomType type = loom_tensor_file_type (file, i);
        double elements = 1;

        for (int k = 0; k < type.shape.rank; k++)
          elements *= (double)type.shape.dim[k].coef;
        n += elements;
      }
  return file != NULL ? n : NAN;
}

/* What is known here of a run on a host: it goes on until its mirror has its end. */
static void
read_host (LoomRunSummary *self)
{
  g_auto (LoomRunHost) host = { NULL };

  if (!loom_run_host_read (self->folder, &host))
    return;
  self->host = g_steal_pointer (&host.name);
  self->log.is_training = host.state != LOOM_RUN_HOST_ENDED;
  self->is_attachable = self->log.is_training && !loom_run_host_is_locked (self->folder);
}

static gboolean
read_run (LoomRunSummary *self, GError **error)
{
  LoomRunSettings settings = { NULL };
  g_autoptr (LoomFolder) files = loom_folder_open (self->folder, error);
  const LoomElement *train;
  const char *name, *epochs;

  if (files == NULL || !loom_run_log_read (&self->log, files, error))
    return FALSE;
  g_autoptr (LoomGraph) graph = loom_run_read (self->folder, &settings, error);
  if (graph == NULL)
    return FALSE;
  self->device = settings.device;
  self->graph = loom_graph_freeze (graph);
  self->data_folder = g_strdup (loom_graph_get_folder (graph));
  name = loom_element_get (loom_graph_root (graph), "name");
  self->title = g_strdup (name != NULL ? name : "");
  train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  epochs = train != NULL ? loom_element_get (train, "epochs") : NULL;
  self->epochs = epochs != NULL ? g_ascii_strtoll (epochs, NULL, 10) : 0;
  self->parameters = count_parameters (files);
  self->is_attachable = self->log.is_training && loom_run_socket_exists (self->folder);
  read_host (self);
  return loom_run_notes_read (files, &self->notes, error);
}

LoomRunSummary *
loom_run_summary_new (const char *folder, guint points)
{
  LoomRunSummary *self = g_new0 (LoomRunSummary, 1);
  g_autoptr (GError) error = NULL;

  g_atomic_ref_count_init (&self->references);
  self->folder = g_strdup (folder);
  self->leaf = g_filename_display_basename (folder);
  self->parameters = NAN;
  loom_run_log_init (&self->log, points);
  if (!read_run (self, &error))
    self->error = g_strdup (error->message);
  return self;
}

LoomRunSummary *
loom_run_summary_ref (LoomRunSummary *self)
{
  g_atomic_ref_count_inc (&self->references);
  return self;
}

void
loom_run_summary_unref (LoomRunSummary *self)
{
  if (!g_atomic_ref_count_dec (&self->references))
    return;
  loom_run_log_clear (&self->log);
  loom_run_notes_clear (&self->notes);
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_free (self->folder);
  g_free (self->leaf);
  g_free (self->error);
  g_free (self->title);
  g_free (self->data_folder);
  g_free (self->device);
  g_free (self->host);
  g_free (self);
}

const char *
loom_run_summary_name (const LoomRunSummary *self)
{
  return self->notes.name != NULL ? self->notes.name : self->leaf;
}

double
loom_run_summary_seconds (const LoomRunSummary *self)
{
  return self->log.seconds;
}

const char *
loom_run_summary_end (const LoomRunSummary *self)
{
  return self->log.was_killed                    ? "killed"
         : self->log.end == LOOM_RUN_END_DONE    ? "done"
         : self->log.end == LOOM_RUN_END_STOPPED ? "stopped"
         : self->log.end == LOOM_RUN_END_FAILED  ? "failed"
                                                 : NULL;
}

double
loom_run_summary_loss (const LoomRunSummary *self)
{
  return isnan (self->log.eval_loss) ? self->log.loss : self->log.eval_loss;
}

int
loom_run_summary_compare (gconstpointer a, gconstpointer b)
{
  const LoomRunSummary *x = *(LoomRunSummary *const *)a, *y = *(LoomRunSummary *const *)b;

  if (x->log.begun != y->log.begun)
    return x->log.begun < y->log.begun ? -1 : 1;
  return strcmp (x->leaf, y->leaf);
}

/* ---- folders --------------------------------------------------------------------------- */

/* Without following a link in the last name. */
static gboolean
is_kind (const char *path, mode_t kind)
{
  struct stat info;

  return loom_os->stat (AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && (info.st_mode & S_IFMT) == kind;
}

static gboolean
is_run (const char *folder)
{
  static const char *const marks[] = { LOOM_RUN_SETTINGS, LOOM_RUN_EVENTS };

  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    {
      g_autofree char *path = g_build_filename (folder, marks[i], NULL);

      if (is_kind (path, S_IFREG))
        return TRUE;
    }
  return FALSE;
}

char **
loom_run_list (const char *folder, GError **error)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, error);
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) names = files != NULL ? loom_folder_names (files, error) : NULL;

  if (names == NULL)
    return NULL;
  if (is_run (folder))
    g_ptr_array_add (found, g_strdup (folder));
  for (guint i = 0; found->len < LOOM_RUN_LIST_MOST && names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);

      if (names[i][0] != '.' && is_kind (path, S_IFDIR) && is_run (path))
        g_ptr_array_add (found, g_steal_pointer (&path));
    }
  g_ptr_array_sort (found, loom_compare_texts);
  g_ptr_array_add (found, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&found), FALSE);
}
