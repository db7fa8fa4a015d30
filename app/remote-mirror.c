/* Implements remote-mirror.h. What is read from a mirror never says where to connect. */
#include "app/remote-mirror.h"

#include "app/remote-host.h"
#include "engine/runs/loom-runs.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SETTINGS 1000000
#define PART          ".part" /* of a file that has not come whole yet */

static const char *const mirrored[]
    = { "data.ini", LOOM_RUN_SESSIONS, "weights.safetensors", "weights-ema.safetensors", "weights-best.safetensors",
        NULL };

/* The object of a run.json, which the parser keeps; NULL: it is none, or too deep for the recursive parser. */
static JsonObject *
parse_settings (JsonParser *parser, const char *text, gsize length)
{
  return loom_json_is_within (text, length, LOOM_JSON_LEVELS)
                 && json_parser_load_from_data (parser, text, (gssize)length, NULL)
                 && json_parser_get_root (parser) != NULL && JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser))
             ? json_node_get_object (json_parser_get_root (parser))
             : NULL;
}

/* run.json of the host with the folder of the data here. */
static gboolean
write_settings (LoomFolder *files, const char *text, gsize length, const char *data_folder, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *settings = parse_settings (parser, text, length);

  if (settings == NULL)
    return TRUE; /* it comes again */
  if (data_folder != NULL)
    json_object_set_string_member (settings, "data_folder", data_folder);
  else
    json_object_set_null_member (settings, "data_folder");
  g_autofree char *written = json_to_string (json_parser_get_root (parser), TRUE);
  return loom_folder_replace (files, LOOM_RUN_SETTINGS, written, strlen (written), error);
}

/* The folder that run.json names. */
static char *
read_data_folder (LoomFolder *files)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *text = NULL;
  JsonObject *settings = NULL;

  if (loom_folder_read (files, LOOM_RUN_SETTINGS, MOST_SETTINGS, &text, NULL, NULL))
    settings = parse_settings (parser, text, strlen (text));
  return settings != NULL ? g_strdup (json_object_get_string_member_with_default (settings, "data_folder", NULL))
                          : NULL;
}

typedef struct
{
  LoomFolder *files;
  int events;
  int part;   /* of the file that comes now; -1: none */
  char *name; /* its name; NULL: none */
  GString *settings;
  gboolean follows; /* others may update the events between two pieces */
  gint64 size;      /* of the events, as far as this process knows */
} Mirror;

static gboolean
write_all (int fd, const char *data, gsize n, GError **error)
{
  if (loom_write (fd, data, n))
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The run cannot be mirrored: %s.", g_strerror (errno));
  return FALSE;
}

/* The file that has come takes its place. */
static gboolean
finish_part (Mirror *m, GError **error)
{
  gboolean ok = TRUE;

  if (m->name != NULL)
    {
      g_autofree char *part = g_strconcat (m->name, PART, NULL);
      ok = loom_sync (m->part, TRUE) && loom_folder_rename (m->files, part, m->name);
      if (!ok)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s cannot be written: %s.", m->name, g_strerror (errno));
    }
  loom_close (m->part);
  m->part = -1;
  g_clear_pointer (&m->name, g_free);
  return ok;
}

/* restarts: all of them come again. */
static gboolean
take_events (Mirror *m, gboolean restarts, const char *data, gsize n, GError **error)
{
  struct stat info = { 0 };
  gboolean ok;

  if (m->follows)
    loom_lock (m->events, LOCK_EX);
  loom_stat_fd (m->events, &info);
  ok = info.st_size == m->size;
  if (!ok)
    g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_IO, "Another process has updated the mirror of the run.");
  else if (restarts)
    ok = loom_os->truncate (m->events, m->size = 0) == 0;
  else
    ok = write_all (m->events, data, n, error);
  m->size += ok ? (gint64)n : 0;
  if (m->follows)
    loom_lock (m->events, LOCK_UN);
  return ok;
}

static gboolean
take_piece (Mirror *m, const char *name, const char *data, gsize n, GError **error)
{
  if (g_str_equal (name, REMOTE_RESTART) || g_str_equal (name, LOOM_RUN_EVENTS))
    return take_events (m, g_str_equal (name, REMOTE_RESTART), data, n, error);
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

/* The end of the run, for the list of runs and for Studio. */
static void
note_end (const char *folder, const char *host_name, const char *state)
{
  g_autofree char *sentence = remote_mirror_dup_fault (host_name, state);

  if (g_str_equal (state, REMOTE_TRAINING))
    return;
  loom_run_unfinished_end (folder,
                           sentence != NULL                   ? LOOM_RUN_END_FAILED
                           : g_str_has_prefix (state, "done") ? LOOM_RUN_END_DONE
                                                              : LOOM_RUN_END_STOPPED,
                           sentence);
  loom_run_host_set_state (folder, LOOM_RUN_HOST_ENDED);
}

char *
remote_mirror_dup_fault (const char *host_name, const char *state)
{
  const char *rest = strchr (state, ' ');
  g_autofree char *said = g_strstrip (command_sentence (rest != NULL ? rest + 1 : ""));

  if (g_str_has_prefix (state, "failed"))
    return g_strdup (*said != '\0' ? said : "The run failed.");
  if (g_str_equal (state, "gone"))
    return g_strdup_printf ("%s has no such run: it did not begin there, or was removed.", host_name);
  if (!g_str_has_prefix (state, "killed"))
    return NULL;
  return g_strdup_printf ("The process that trained on %s was killed%s%s", host_name, *said != '\0' ? ": " : ".", said);
}

/* Gets what is missing by `gradloom remote WORD` there. */
static char *
get (const char *folder, const char *host_name, const char *id, const char *word, gboolean follows, GError **error)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, error);
  g_auto (RemoteHost) host = { NULL };
  Mirror m = { .files = files, .events = -1, .part = -1, .follows = follows };
  struct stat info = { 0 };
  char *state = NULL;

  if (files == NULL)
    return NULL;
  m.events = loom_folder_open_file (files, LOOM_RUN_EVENTS, O_RDWR | O_CREAT | O_APPEND, error);
  if (m.events < 0)
    return NULL;
  /* One at a time, or lines would come twice. */
  loom_lock (m.events, LOCK_EX);
  loom_stat_fd (m.events, &info);
  m.size = info.st_size;
  g_autofree char *from = g_strdup_printf ("%" G_GINT64_FORMAT, m.size);
  g_autofree char *sum = remote_dup_tail_sum (m.events, m.size);
  const char *words[] = { word, id, from, sum != NULL ? sum : "-", NULL };
  if (follows)
    loom_lock (m.events, LOCK_UN);
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
    loom_close (m.part);
  g_free (m.name);
  g_string_free (m.settings, TRUE);
  loom_close (m.events);
  if (state != NULL)
    note_end (folder, host_name, state);
  return state;
}

char *
remote_mirror_update (const char *folder, const char *host_name, const char *id, GError **error)
{
  return get (folder, host_name, id, "fetch", FALSE, error);
}

char *
remote_mirror_follow (const char *folder, const char *host_name, const char *id, GError **error)
{
  return get (folder, host_name, id, "follow", TRUE, error);
}

/* ---- before anything has come ---------------------------------------------- */

gboolean
remote_mirror_make (const char *folder, LoomGraph *graph, GError **error)
{
  g_autoptr (LoomFolder) files = NULL;
  g_autofree char *here = NULL;
  static const char first[] = "{\"version\":1,\"device\":\"cpu\",\"threads\":0,\"ranks\":1}";
  const char *data = loom_graph_get_folder (graph);
  gsize length;
  g_autofree char *xml = loom_graph_write (graph, &length);

  files = loom_folder_open (folder, error);
  here = g_canonicalize_filename (data != NULL ? data : ".", NULL);
  return files != NULL && write_settings (files, first, strlen (first), here, error)
         && loom_folder_replace (files, LOOM_RUN_GRAPH, xml, length, error);
}

gboolean
remote_mirror_is_of (const char *folder, LoomGraph *graph)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autofree char *xml = loom_graph_write (graph, NULL), *text = NULL;

  return files != NULL && loom_folder_read (files, LOOM_RUN_GRAPH, strlen (xml), &text, NULL, NULL)
         && g_str_equal (text, xml);
}

void
remote_mirror_unmake (const char *folder)
{
  static const char *const made[] = { LOOM_RUN_GRAPH, LOOM_RUN_SETTINGS };
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);

  loom_run_host_forget (folder);
  for (guint i = 0; files != NULL && i < G_N_ELEMENTS (made); i++)
    loom_folder_remove (files, made[i]);
  loom_os->unlink (AT_FDCWD, folder, AT_REMOVEDIR); /* if it is empty */
}
