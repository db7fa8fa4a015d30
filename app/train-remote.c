/* Implements train-remote.h.
 *
 * The run's folder here is a mirror: the graph, run.json, the events as far as they have come, and the weights when the
 * run has ended. What is read from it never says where to connect. */
#include "app/train-remote.h"

#include "app/attach-view.h"
#include "app/remote-content.h"
#include "app/remote-host.h"
#include "app/train-detach.h"
#include "engine/runs/loom-runs.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SETTINGS 1000000
#define PART          ".part" /* of a file that has not come whole yet */

static const char *const mirrored[]
    = { "data.ini", LOOM_RUN_SESSIONS, "weights.safetensors", "weights-ema.safetensors", "weights-best.safetensors",
        NULL };

/* ---- the mirror ----------------------------------------------------------- */

/* run.json of the host with the folder of the data here. */
static gboolean
write_settings (LoomFolder *files, const char *text, gsize length, const char *data_folder, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root;

  if (!loom_json_is_within (text, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, text, (gssize)length, NULL)
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return TRUE; /* it comes again */
  root = json_parser_get_root (parser);
  if (data_folder != NULL)
    json_object_set_string_member (json_node_get_object (root), "data_folder", data_folder);
  else
    json_object_set_null_member (json_node_get_object (root), "data_folder");
  g_autofree char *written = json_to_string (root, TRUE);
  return loom_folder_replace (files, LOOM_RUN_SETTINGS, written, strlen (written), error);
}

/* The folder that run.json names. */
static char *
read_data_folder (LoomFolder *files)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *text = NULL;

  if (!loom_folder_read (files, LOOM_RUN_SETTINGS, MOST_SETTINGS, &text, NULL, NULL)
      || !json_parser_load_from_data (parser, text, -1, NULL)
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return NULL;
  return g_strdup (json_object_get_string_member_with_default (json_node_get_object (json_parser_get_root (parser)),
                                                               "data_folder", NULL));
}

typedef struct
{
  LoomFolder *files;
  int events;
  int part;   /* of the file that comes now; -1: none */
  char *name; /* its name; NULL: none */
  GString *settings;
} Mirror;

static gboolean
write_all (int fd, const char *data, gsize n, GError **error)
{
  for (gsize done = 0; done < n;)
    {
      gssize written = write (fd, data + done, n - done);
      if (written < 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The run cannot be mirrored: %s.", g_strerror (errno));
          return FALSE;
        }
      done += (gsize)written;
    }
  return TRUE;
}

/* The file that has come takes its place. */
static gboolean
finish_part (Mirror *m, GError **error)
{
  gboolean ok = TRUE;

  if (m->name != NULL)
    {
      g_autofree char *part = g_strconcat (m->name, PART, NULL);
      ok = fdatasync (m->part) == 0
           && renameat (loom_folder_fd (m->files), part, loom_folder_fd (m->files), m->name) == 0;
      if (!ok)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s cannot be written: %s.", m->name, g_strerror (errno));
    }
  if (m->part >= 0)
    close (m->part);
  m->part = -1;
  g_clear_pointer (&m->name, g_free);
  return ok;
}

static gboolean
take_piece (Mirror *m, const char *name, const char *data, gsize n, GError **error)
{
  if (g_str_equal (name, LOOM_RUN_EVENTS))
    return write_all (m->events, data, n, error);
  if (g_str_equal (name, LOOM_RUN_SETTINGS))
    {
      if (m->settings->len + n < MOST_SETTINGS)
        g_string_append_len (m->settings, data, (gssize)n);
      return TRUE;
    }
  if (!g_strv_contains (mirrored, name))
    return TRUE;
  if (g_strcmp0 (m->name, name) != 0)
    {
      g_autofree char *part = g_strconcat (name, PART, NULL);
      if (!finish_part (m, error))
        return FALSE;
      loom_folder_remove (m->files, part);
      m->part = loom_folder_open_file (m->files, part, O_WRONLY | O_CREAT | O_EXCL, error);
      if (m->part < 0)
        return FALSE;
      m->name = g_strdup (name);
    }
  return write_all (m->part, data, n, error);
}

/* Reads pieces up to the last one, whose content is the state. */
static char *
receive (Mirror *m, GInputStream *input, GError **error)
{
  for (;;)
    {
      g_autoptr (GVariant) message = remote_read (input, REMOTE_PIECE, error), bytes = NULL;
      const char *name, *data;
      gsize n;

      if (message == NULL)
        return NULL;
      g_variant_get (message, "(&s@ay)", &name, &bytes);
      data = g_variant_get_fixed_array (bytes, &n, 1);
      if (*name == '\0')
        return g_strndup (data, n);
      if (!take_piece (m, name, data, n, error))
        return NULL;
    }
}

/* Gets what is missing. Returns "training", or how the run has ended: "done", "stopped", "killed", "failed SENTENCE",
 * "gone". NULL with an error. */
static char *
mirror (const char *folder, const char *host_name, const char *id, GError **error)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, error);
  g_auto (RemoteHost) host = { NULL };
  Mirror m = { .files = files, .events = -1, .part = -1 };
  struct stat info = { 0 };
  char *state = NULL;

  if (files == NULL)
    return NULL;
  m.events = loom_folder_open_file (files, LOOM_RUN_EVENTS, O_WRONLY | O_CREAT | O_APPEND, error);
  if (m.events < 0)
    return NULL;
  /* One at a time, or lines would come twice. */
  flock (m.events, LOCK_EX);
  fstat (m.events, &info);
  g_autofree char *from = g_strdup_printf ("%" G_GINT64_FORMAT, (gint64)info.st_size);
  const char *words[] = { "fetch", id, from, NULL };
  m.settings = g_string_new (NULL);
  if (remote_host_open (&host, host_name, words, error))
    state = receive (&m, host.input, error);
  if (state != NULL)
    {
      g_autofree char *data_folder = read_data_folder (files);
      if (!finish_part (&m, error) || !write_settings (files, m.settings->str, m.settings->len, data_folder, error))
        g_clear_pointer (&state, g_free);
    }
  if (m.part >= 0)
    close (m.part);
  g_free (m.name);
  g_string_free (m.settings, TRUE);
  close (m.events);
  return state;
}

/* ---- following ------------------------------------------------------------- */

static int
fail_lost (const Command *command, const char *folder, const char *host, const GError *why)
{
  g_autofree char *word = loom_text_shell_word (folder);

  return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_IO,
                                             "The connection to %s is lost, and the run goes on there. Attach again "
                                             "with: gradloom attach %s%s%s%s",
                                             host, word, why != NULL ? " (" : "", why != NULL ? why->message : "",
                                             why != NULL ? ")" : ""));
}

/* The end of a run that was not seen. */
static int
report_end (const Command *command, const char *folder, const char *state)
{
  if (g_str_has_prefix (state, "failed"))
    {
      g_autofree char *sentence = command_sentence (state + strlen ("failed"));
      return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_DEVICE, "%s", g_strstrip (sentence)));
    }
  if (g_str_has_prefix (state, "killed"))
    return command_fail (command,
                         g_error_new (LOOM_ERROR, LOOM_ERROR_IO,
                                      "The process on the host was killed. The curve and the newest weights are in %s.",
                                      folder));
  if (g_str_equal (state, "gone"))
    return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_DATA, "The host has removed the run."));
  printf ("%.*s; curve and weights are in %s\n", (int)strcspn (state, " "), state, folder);
  return 0;
}

int
train_remote_attach (const Command *command, const char *folder, const char *host_name, const char *id, gboolean stop,
                     gboolean json)
{
  g_autoptr (GError) error = NULL, lost = NULL;
  g_autofree char *state = mirror (folder, host_name, id, &error), *end = NULL;
  g_auto (RemoteHost) host = { NULL };
  g_auto (WorkerLink) link = { NULL };
  const char *words[] = { "relay", id, NULL };
  int status;

  if (state == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (!g_str_equal (state, "training"))
    return report_end (command, folder, state);
  if (!remote_host_open (&host, host_name, words, &error))
    return fail_lost (command, folder, host_name, error);
  g_autoptr (GIOStream) stream = g_simple_io_stream_new (host.input, host.output);
  if (!worker_link_open (&link, stream, &error))
    return command_fail (command, g_steal_pointer (&error));
  status = attach_view_follow (command, &link, folder, stop, json);
  worker_link_close (&link);
  /* The worker writes its last files after it has said that it ended. */
  for (guint i = 0; i < 100 && (i == 0 || (status == ATTACH_VIEW_ENDED && g_strcmp0 (end, "training") == 0)); i++)
    {
      g_free (end);
      end = mirror (folder, host_name, id, &lost);
      if (end == NULL)
        return fail_lost (command, folder, host_name, lost);
    }
  if (status != ATTACH_VIEW_LOST)
    return MAX (status, 0);
  return g_str_equal (end, "training") ? fail_lost (command, folder, host_name, NULL)
                                       : report_end (command, folder, end);
}

/* ---- starting ------------------------------------------------------------- */

static gboolean
send_run (RemoteHost *host, LoomGraph *graph, GPtrArray *files, const LoomTrainerOptions *options, GError **error)
{
  g_autofree char *xml = loom_graph_write (graph, NULL);
  LoomTrainerOptions sent = *options;
  GVariantBuilder list;
  g_autoptr (GVariant) wanted = NULL, numbers = NULL;
  const char *name = loom_element_get (loom_graph_root (graph), "name"), *refused;
  gsize n;

  sent.out = sent.resume = NULL;
  g_variant_builder_init (&list, G_VARIANT_TYPE ("a(sst)"));
  for (guint i = 0; i < files->len; i++)
    {
      const RemoteFile *file = files->pdata[i];
      g_variant_builder_add (&list, "(sst)", file->name, file->sum, file->size);
    }
  if (!remote_write (
          host->output,
          g_variant_new ("(ssa(sst)@a{sv})", name != NULL ? name : "run", xml, &list, train_detach_options (&sent)),
          error))
    return FALSE;
  wanted = remote_read (host->input, REMOTE_WANTED, error);
  if (wanted == NULL)
    return FALSE;
  g_variant_get (wanted, "(@au&s)", &numbers, &refused);
  if (*refused != '\0')
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_USAGE, refused);
      return FALSE;
    }
  const guint32 *number = g_variant_get_fixed_array (numbers, &n, sizeof (guint32));
  for (gsize i = 0; i < n; i++)
    if (number[i] >= files->len || !remote_content_send (files->pdata[number[i]], host->output, error))
      return FALSE;
  return g_output_stream_flush (host->output, NULL, error);
}

/* The id of the run on the host; NULL with an error. */
static char *
start (const char *host_name, LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomGraph) copy = loom_graph_copy (graph);
  g_autoptr (GPtrArray) files = NULL;
  g_auto (RemoteHost) host = { NULL };
  g_autoptr (GVariant) started = NULL;
  const char *words[] = { "start", NULL }, *id, *code, *sentence;

  loom_graph_set_folder (copy, loom_graph_get_folder (graph));
  files = remote_content_list (copy, error);
  if (files == NULL || !remote_host_open (&host, host_name, words, error)
      || !send_run (&host, copy, files, options, error))
    return NULL;
  started = remote_read (host.input, REMOTE_STARTED, error);
  if (started == NULL)
    return NULL;
  g_variant_get (started, "(&s&s&s)", &id, &code, &sentence);
  if (remote_id_is_valid (id))
    return g_strdup (id);
  g_autofree char *shown = command_sentence (sentence);
  g_propagate_prefixed_error (error, worker_link_error (code, shown), "On %s: ", host_name);
  return NULL;
}

/* The mirror before anything has come. */
static gboolean
make_folder (const char *folder, LoomGraph *graph, GError **error)
{
  g_autoptr (LoomFolder) files = NULL;
  g_autofree char *here = NULL, *settings = NULL;
  static const char first[] = "{\"version\":1,\"device\":\"cpu\",\"threads\":0,\"ranks\":1}";
  const char *data = loom_graph_get_folder (graph);
  gsize length;
  g_autofree char *xml = loom_graph_write (graph, &length);

  files = loom_folder_open (folder, error);
  here = g_canonicalize_filename (data != NULL ? data : ".", NULL);
  return files != NULL && write_settings (files, first, strlen (first), here, error)
         && loom_folder_replace (files, LOOM_RUN_GRAPH, xml, length, error);
}

/* A new or empty folder. */
static gboolean
take_folder (const char *folder, GError **error)
{
  g_autoptr (GDir) dir = NULL;

  if (g_mkdir_with_parents (folder, 0777) != 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The folder %s cannot be made: %s.", folder, g_strerror (errno));
      return FALSE;
    }
  dir = g_dir_open (folder, 0, error);
  if (dir == NULL || g_dir_read_name (dir) == NULL)
    return dir != NULL;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The folder %s is not empty. Choose a new or an empty folder.",
               folder);
  return FALSE;
}

int
train_remote (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, const char *host,
              gboolean detach)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *id = NULL, *word = loom_text_shell_word (options->out);

  if (take_folder (options->out, &error))
    id = start (host, graph, options, &error);
  if (id == NULL || !make_folder (options->out, graph, &error) || !remote_run_store (options->out, host, id, &error))
    {
      rmdir (options->out); /* if it is empty */
      return command_fail (command, g_steal_pointer (&error));
    }
  if (!detach)
    return train_remote_attach (command, options->out, host, id, FALSE, FALSE);
  printf ("Training goes on on %s. Follow it with: gradloom attach %s\n", host, word);
  return 0;
}
