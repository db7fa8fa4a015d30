/* Implements train-remote.h.
 *
 * The id of a run is made here and stored with its mirror before the host is asked to begin it. If the connection
 * breaks before the host has answered, the mirror stays, and a second try with that id finds the run if it has begun.
 */
#include "app/train-remote.h"

#include "app/attach-view.h"
#include "app/remote-content.h"
#include "app/remote-host.h"
#include "app/remote-mirror.h"
#include "app/train-detach.h"
#include "engine/runs/loom-runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Updates of a mirror until the host has written the files of the end. */
#define END_TRIES 100
#define END_PAUSE (100 * 1000) /* microseconds */

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
report_end (const Command *command, const char *folder, const char *host, const char *state)
{
  g_autofree char *fault = remote_mirror_dup_fault (host, state);

  if (fault != NULL)
    return command_fail (command, g_error_new (LOOM_ERROR,
                                               g_str_equal (state, "gone")          ? LOOM_ERROR_DATA
                                               : g_str_has_prefix (state, "killed") ? LOOM_ERROR_IO
                                                                                    : LOOM_ERROR_DEVICE,
                                               "%s", fault));
  printf ("%.*s; curve and weights are in %s\n", (int)strcspn (state, " "), state, folder);
  return 0;
}

char *
train_remote_update_end (const char *folder, const char *host, const char *id, guint tries, GError **error)
{
  char *state = remote_mirror_update (folder, host, id, error);

  for (guint i = 1; i < tries && g_strcmp0 (state, REMOTE_TRAINING) == 0; i++)
    {
      loom_os->sleep (END_PAUSE);
      g_free (state);
      state = remote_mirror_update (folder, host, id, error);
    }
  return state;
}

/* The run may have ended between the update of its mirror and the connection. */
static int
fail_unless_ended (const Command *command, const char *folder, const char *host, const char *id, GError **error,
                   gboolean is_lost)
{
  g_autofree char *end = train_remote_update_end (folder, host, id, END_TRIES / 10, NULL);

  if (end != NULL && !g_str_equal (end, REMOTE_TRAINING))
    return report_end (command, folder, host, end);
  return is_lost ? fail_lost (command, folder, host, *error) : command_fail (command, g_steal_pointer (error));
}

int
train_remote_attach (const Command *command, const char *folder, const char *host_name, const char *id, gboolean stop,
                     gboolean json)
{
  g_autoptr (GError) error = NULL, lost = NULL;
  g_autofree char *state = remote_mirror_update (folder, host_name, id, &error), *end = NULL;
  g_auto (RemoteHost) host = { NULL };
  g_auto (WorkerLink) link = { NULL };
  const char *words[] = { "relay", id, NULL };
  int status;

  if (state == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (!g_str_equal (state, REMOTE_TRAINING))
    return report_end (command, folder, host_name, state);
  if (!remote_host_open (&host, host_name, words, &error))
    return fail_unless_ended (command, folder, host_name, id, &error, TRUE);
  g_autoptr (GIOStream) stream = g_simple_io_stream_new (host.input, host.output);
  if (!worker_link_open (&link, stream, &error))
    return fail_unless_ended (command, folder, host_name, id, &error, FALSE);
  status = attach_view_follow (command, &link, folder, stop, json);
  worker_link_close (&link);
  /* The worker writes its last files after it has said that it ended. */
  end = train_remote_update_end (folder, host_name, id, status == ATTACH_VIEW_ENDED ? END_TRIES : 1, &lost);
  if (end == NULL)
    return fail_lost (command, folder, host_name, lost);
  if (status != ATTACH_VIEW_LOST)
    return MAX (status, 0);
  return g_str_equal (end, REMOTE_TRAINING) ? fail_lost (command, folder, host_name, NULL)
                                            : report_end (command, folder, host_name, end);
}

/* ---- starting ------------------------------------------------------------- */

static gboolean
send_run (RemoteHost *host, const char *id, LoomGraph *graph, GPtrArray *files, GVariant *options, GError **error)
{
  g_autofree char *xml = graph != NULL ? loom_graph_write (graph, NULL) : g_strdup ("");
  GVariantBuilder list;
  g_autoptr (GVariant) wanted = NULL, numbers = NULL;
  const char *refused;
  gsize n;

  g_variant_builder_init (&list, G_VARIANT_TYPE ("a(sst)"));
  for (guint i = 0; i < files->len; i++)
    {
      const RemoteFile *file = files->pdata[i];
      g_variant_builder_add (&list, "(sst)", file->name, file->sum, file->size);
    }
  if (!remote_write (host->output, g_variant_new ("(ssa(sst)@a{sv})", id, xml, &list, options), error))
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

/* Consumes options. graph NULL: the host has the graph and its data. *unknown: the run may have begun. */
static gboolean
start (const LoomRunHost *to, const LoomGraph *graph, GVariant *options, gboolean *unknown, GError **error)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (options), started = NULL;
  g_autoptr (LoomGraph) copy = graph != NULL ? loom_graph_copy (graph) : NULL;
  g_autoptr (GPtrArray) files = NULL;
  g_auto (RemoteHost) host = { NULL };
  const char *words[] = { "start", NULL }, *id, *code, *sentence;

  *unknown = FALSE;
  if (copy != NULL)
    loom_graph_set_folder (copy, loom_graph_get_folder (graph));
  files = copy != NULL ? remote_content_list (copy, error) : g_ptr_array_new ();
  if (files == NULL || !remote_host_open (&host, to->name, words, error)
      || !send_run (&host, to->id, copy, files, owned, error))
    return FALSE;
  started = remote_read (host.input, REMOTE_STARTED, error);
  *unknown = started == NULL;
  if (started == NULL)
    return FALSE;
  g_variant_get (started, "(&s&s&s)", &id, &code, &sentence);
  if (g_str_equal (id, to->id))
    return TRUE;
  g_autofree char *shown = command_sentence (sentence);
  g_propagate_prefixed_error (error, worker_link_error (code, shown), "On %s: ", to->name);
  return FALSE;
}

/* The options that name a run which another begins with. */
static const char *const earlier[] = { "branch", "replay" };

/* The options with the id of a run of this host instead of its folder here, which *parent is (NULL: there is none).
 * NULL with an error: it is not a run of this host. (transfer full) */
static GVariant *
name_parent (GVariant *options, const char **parent, const char *host_name, GError **error)
{
  const char *key = NULL;
  g_auto (LoomRunHost) host = { NULL };
  GVariantDict dict;

  for (guint i = 0; i < G_N_ELEMENTS (earlier) && key == NULL; i++)
    key = g_variant_lookup (options, earlier[i], "&s", parent) ? earlier[i] : NULL;
  if (key == NULL)
    return g_variant_ref (options);
  if (!loom_run_host_read (*parent, &host) || !g_str_equal (host.name, host_name))
    {
      g_autofree char *shown = command_printable (host_name);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "A run is branched and repeated on its machine, and %s is not a run of %s. Leave out --host.",
                   *parent, shown);
      return NULL;
    }
  g_variant_dict_init (&dict, options);
  g_variant_dict_insert (&dict, key, "s", host.id);
  return g_variant_ref_sink (g_variant_dict_end (&dict));
}

gboolean
train_remote_resume (GVariant *options, const char *folder, GError **error)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (options);
  g_auto (LoomRunHost) host = { NULL };
  gboolean unknown = FALSE, ok;
  GVariantDict dict;

  if (!loom_run_host_read (folder, &host))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s is not the run of a host.", folder);
      return FALSE;
    }
  g_variant_dict_init (&dict, owned);
  g_variant_dict_remove (&dict, "out");
  g_variant_dict_insert (&dict, "resume", "b", TRUE);
  ok = start (&host, NULL, g_variant_dict_end (&dict), &unknown, error);
  if (ok || unknown)
    {
      loom_run_host_set_state (folder, LOOM_RUN_HOST_BEGUN);
      loom_run_unfinished_end (folder, LOOM_RUN_END_NONE, NULL);
    }
  if (unknown)
    g_prefix_error (error, "The connection to %s broke while the run began again. It may train there. ", host.name);
  return ok;
}

/* Makes the mirror of a new run and its record, with an id for the host. */
static gboolean
make_mirror (LoomGraph *graph, const char *host_name, const char *folder, LoomRunHost *host, GError **error)
{
  const char *name = loom_element_get (loom_graph_root (graph), "name");

  if (!loom_run_host_is_name (host_name))
    {
      g_autofree char *shown = command_printable (host_name);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "“%s” is not a host. Write user@host, or a name of ~/.ssh/config.", shown);
      return FALSE;
    }
  *host = (LoomRunHost){ g_strdup (host_name), loom_run_host_new_id (name != NULL ? name : "run"), LOOM_RUN_HOST_NEW };
  if (!remote_mirror_make (folder, graph, error))
    {
      g_prefix_error (error, "The run cannot be mirrored: ");
      return FALSE;
    }
  return loom_run_host_write (folder, host, error);
}

gboolean
train_remote_begin (LoomGraph *graph, GVariant *options, const char *host_name, const char *folder, GError **error)
{
  const char *parent = NULL;
  g_autoptr (GVariant) owned = g_variant_ref_sink (options), named = name_parent (owned, &parent, host_name, error);
  g_auto (LoomRunHost) host = { NULL };
  const gboolean is_known = loom_run_host_read (folder, &host);
  gboolean unknown = FALSE, ok;

  ok = named != NULL && (is_known || make_mirror (graph, host_name, folder, &host, error));
  if (ok && start (&host, parent == NULL ? graph : NULL, named, &unknown, error))
    {
      loom_run_host_set_state (folder, LOOM_RUN_HOST_BEGUN);
      return TRUE;
    }
  if (unknown)
    g_prefix_error (error,
                    "The connection to %s broke while the run began. The same command again finds the run, or begins "
                    "it. ",
                    host_name);
  else if (is_known)
    g_prefix_error (error,
                    "An earlier try may have begun the run on %s. The same command again finds the run, or begins it. ",
                    host_name);
  else
    remote_mirror_unmake (folder);
  return FALSE;
}

/* TRUE: the folder is new or empty, or the mirror of a run of this graph that may have begun there. */
static gboolean
take_folder (const char *folder, LoomGraph *graph, const char *host_name, GError **error)
{
  g_auto (LoomRunHost) host = { NULL };
  g_auto (GStrv) names = NULL;

  if (!loom_path_make_folder (folder, 0777))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The folder %s cannot be made: %s.", folder, g_strerror (errno));
      return FALSE;
    }
  if (loom_run_host_read (folder, &host) && host.state == LOOM_RUN_HOST_NEW && g_str_equal (host.name, host_name)
      && remote_mirror_is_of (folder, graph))
    return TRUE;
  names = loom_path_names (folder, error);
  if (names == NULL || names[0] == NULL)
    return names != NULL;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The folder %s is not empty. Choose a new or an empty folder.",
               folder);
  return FALSE;
}

/* The sentence of a run that has begun, or the run to its end. */
static int
follow_or_leave (const Command *command, const char *folder, const char *host_name, gboolean detach)
{
  g_autofree char *word = loom_text_shell_word (folder);
  g_auto (LoomRunHost) host = { NULL };

  if (!detach && loom_run_host_read (folder, &host))
    return train_remote_attach (command, folder, host_name, host.id, FALSE, FALSE);
  printf ("Training goes on on %s. Follow it with: gradloom attach %s\n", host_name, word);
  return 0;
}

int
train_remote (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, int ranks,
              const char *host_name, gboolean detach)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) parent = NULL;
  LoomRunSettings settings = { NULL };
  LoomTrainerOptions sent = *options;

  sent.out = sent.resume = NULL;
  if (options->resume != NULL)
    return train_remote_resume (train_detach_options (&sent, ranks), options->resume, &error)
               ? follow_or_leave (command, options->resume, host_name, detach)
               : command_fail (command, g_steal_pointer (&error));
  if (options->branch != NULL || options->replay != NULL)
    graph = parent = loom_run_read (options->branch != NULL ? options->branch : options->replay, &settings, &error);
  g_free (settings.device);
  if (graph == NULL || !take_folder (options->out, graph, host_name, &error)
      || !train_remote_begin (graph, train_detach_options (&sent, ranks), host_name, options->out, &error))
    return command_fail (command, g_steal_pointer (&error));
  return follow_or_leave (command, options->out, host_name, detach);
}
