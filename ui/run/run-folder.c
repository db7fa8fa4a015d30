/* Makes, reads and finds the folders of runs, their checkpoints and their notes (run-folder.h). */
#include "ui/run/run-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/loom.h"
#include "engine/runs/loom-run-host.h"
#include "engine/core/loom-folder.h"
#include "engine/infer/loom-run-event.h"
#include "engine/infer/loom-run-socket.h"

/* ---- folders ------------------------------------------------------------------- */

/* The name in characters that every file system accepts. */
static char *
safe_name (const char *name)
{
  g_autoptr (GString) s = g_string_new (NULL);
  for (const char *p = name; *p != '\0' && s->len < 48; p++)
    {
      if (g_ascii_isalnum (*p))
        g_string_append_c (s, g_ascii_tolower (*p));
      else if (s->len > 0 && s->str[s->len - 1] != '-')
        g_string_append_c (s, '-');
    }
  while (s->len > 0 && s->str[s->len - 1] == '-')
    g_string_truncate (s, s->len - 1);
  return s->len ? g_string_free (g_steal_pointer (&s), FALSE) : g_strdup ("run");
}

char *
run_folder_of_all (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "runs", NULL);
}

char *
run_folder_new (const char *name)
{
  g_autofree char *place = run_folder_of_all ();
  g_autofree char *safe = safe_name (name);
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  g_autofree char *time = g_date_time_format (now, "%Y%m%d-%H%M%S");
  g_autofree char *leaf = g_strdup_printf ("%s-%s", safe, time);
  char *path = g_build_filename (place, leaf, NULL);
  for (int n = 2; g_file_test (path, G_FILE_TEST_EXISTS); n++)
    {
      g_free (path);
      g_autofree char *numbered = g_strdup_printf ("%s-%d", leaf, n);
      path = g_build_filename (place, numbered, NULL);
    }
  return path;
}

char *
run_folder_new_like (const char *folder)
{
  g_autofree char *leaf = g_path_get_basename (folder);
  g_autoptr (GRegex) time = g_regex_new ("-[0-9]{8}-[0-9]{6}(-[0-9]+)?$", 0, 0, NULL);
  g_autofree char *name = g_regex_replace_literal (time, leaf, -1, 0, "", 0, NULL);

  return run_folder_new (name != NULL ? name : leaf); /* a name that is not UTF-8 */
}

/* ---- note ------------------------------------------------------------------------ */

#define MAX_FILE 64000000

char *
run_folder_read (const char *folder, const char *name, gsize max, gsize *length)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  char *text = NULL;

  return files != NULL && loom_folder_read (files, name, max, &text, length, NULL) ? text : NULL;
}

void
run_folder_remember (const char *folder, const char *graph_hash)
{
  loom_run_unfinished_write (folder, &(LoomRunUnfinished){ .hash = (char *)graph_hash });
}

void
run_folder_note_end (const char *folder, gboolean wanted)
{
  loom_run_unfinished_end (folder, wanted ? LOOM_RUN_END_STOPPED : LOOM_RUN_END_NONE, NULL);
}

void
run_folder_forget_note (const char *folder)
{
  loom_run_unfinished_remove (folder);
}

void
run_folder_move_note (const char *from, const char *to)
{
  g_auto (LoomRunUnfinished) note = { NULL };
  if (!loom_run_unfinished_read (from, &note))
    return;
  run_folder_forget_note (from);
  run_folder_remember (to, note.hash);
}

/* ---- contents of a folder ---------------------------------------------------------- */

gint64
run_folder_find_checkpoint (const char *folder, gint64 most)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autoptr (LoomFolder) checkpoints = files != NULL ? loom_folder_enter (files, "checkpoints", FALSE, NULL) : NULL;
  g_auto (GStrv) names = checkpoints != NULL ? loom_folder_names (checkpoints, NULL) : NULL;
  gint64 newest = -1;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      char *end;
      gint64 step = g_ascii_strtoll (names[i], &end, 10);
      if (end != names[i] && *end == '\0' && step <= most)
        newest = MAX (newest, step);
    }
  return newest;
}

gint64
run_folder_newest_checkpoint (const char *folder)
{
  return run_folder_find_checkpoint (folder, G_MAXINT64);
}

/* TRUE: the run goes on on another machine, as far as it is known here. */
static gboolean
goes_on_elsewhere (const char *folder)
{
  g_auto (LoomRunHost) host = { NULL };

  return loom_run_host_read (folder, &host) && host.state != LOOM_RUN_HOST_ENDED;
}

gboolean
run_folder_is_attachable (const char *folder)
{
  return loom_run_socket_exists (folder) || (goes_on_elsewhere (folder) && !loom_run_host_is_locked (folder));
}

char **
run_folder_list_attachable (void)
{
  g_auto (GStrv) here = loom_run_socket_list (), there = loom_run_host_list_mirrors ();
  GStrvBuilder *all = g_strv_builder_new ();
  char **folders;

  /* A socket may have been left by a process that was killed. */
  for (guint i = 0; here[i] != NULL; i++)
    if (run_folder_is_live (here[i]))
      g_strv_builder_add (all, here[i]);
  for (guint i = 0; there[i] != NULL; i++)
    if (!loom_run_host_is_locked (there[i]))
      g_strv_builder_add (all, there[i]);
  folders = g_strv_builder_end (all);
  g_strv_builder_unref (all);
  return folders;
}

char *
run_folder_dup_title (const char *folder)
{
  g_autofree char *leaf = g_path_get_basename (folder), *name = loom_text_printable (leaf, TRUE, 40);
  g_auto (LoomRunHost) host = { NULL };

  /* Translators: name of a run, and of the machine on which it trains. */
  return loom_run_host_read (folder, &host) ? g_strdup_printf (_ ("%1$s · on %2$s"), name, host.name)
                                            : g_steal_pointer (&name);
}

/* TRUE: the mirror of a run that is over. */
static gboolean
is_over_elsewhere (const char *folder)
{
  g_auto (LoomRunHost) host = { NULL };

  return loom_run_host_read (folder, &host) && host.state == LOOM_RUN_HOST_ENDED;
}

gboolean
run_folder_is_live (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  int fd = files != NULL ? loom_folder_open_file (files, LOOM_RUN_EVENTS, O_RDONLY, NULL) : -1;
  gboolean live = FALSE;
  if (fd < 0)
    return loom_run_host_is_locked (folder);
  /* A trainer keeps a lock on its events file while it lives. A file system without locks is no trainer. The own lock
   * ends at once: a program that is being started has a copy of the descriptor, which would keep it. */
  if (flock (fd, LOCK_SH | LOCK_NB) != 0)
    live = errno == EWOULDBLOCK;
  else
    flock (fd, LOCK_UN);
  close (fd);
  return live || loom_run_host_is_locked (folder);
}

double
run_folder_read_rate (const char *folder, gint64 step)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autoptr (LoomFolder) checkpoints = files != NULL ? loom_folder_enter (files, "checkpoints", FALSE, NULL) : NULL;
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step), *text = NULL;
  g_autoptr (LoomFolder) checkpoint = checkpoints != NULL ? loom_folder_enter (checkpoints, name, FALSE, NULL) : NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  gsize length;
  if (checkpoint == NULL || !loom_folder_read (checkpoint, "state.json", MAX_FILE, &text, &length, NULL)
      || !loom_json_is_within (text, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, text, (gssize)length, NULL) || json_parser_get_root (parser) == NULL
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return NAN;
  JsonNode *hyper = json_object_get_member (json_node_get_object (json_parser_get_root (parser)), "hyper");
  if (hyper == NULL || !JSON_NODE_HOLDS_OBJECT (hyper))
    return NAN;
  return loom_run_event_number (json_node_get_object (hyper), "base_lr");
}

/* ---- finding a run ------------------------------------------------------------------------- */

void
run_folder_found_clear (RunFolderFound *found)
{
  g_clear_pointer (&found->folder, g_free);
  g_clear_pointer (&found->live, g_free);
  loom_run_unfinished_clear (&found->note);
}

/* Takes the folder if it is newer than the one before. */
static void
consider (RunFolderFound *found, gint64 *when, const char *folder, LoomRunUnfinished *note)
{
  g_autofree char *path = g_build_filename (folder, LOOM_RUN_UNFINISHED, NULL);
  GStatBuf info;

  if (g_stat (path, &info) != 0 || info.st_mtime < *when
      || (run_folder_newest_checkpoint (folder) < 0 && !is_over_elsewhere (folder)))
    return;
  *when = info.st_mtime;
  g_free (found->folder);
  found->folder = g_strdup (folder);
  loom_run_unfinished_clear (&found->note);
  found->note = *note;
  *note = (LoomRunUnfinished){ NULL };
}

void
run_folder_find (const char *graph_hash, RunFolderFound *found)
{
  g_autofree char *runs = run_folder_of_all ();
  g_autoptr (GDir) dir = g_dir_open (runs, 0, NULL);
  gint64 when = 0;
  const char *name;

  *found = (RunFolderFound){ NULL };
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *folder = g_build_filename (runs, name, NULL);
      g_auto (LoomRunUnfinished) note = { NULL };
      if (!loom_run_unfinished_read (folder, &note) || !g_str_equal (note.hash, graph_hash))
        continue;
      if (!run_folder_is_live (folder) && !goes_on_elsewhere (folder))
        consider (found, &when, folder, &note);
      /* One that can be attached comes first. */
      else if (found->live == NULL || run_folder_is_attachable (folder))
        {
          g_free (found->live);
          found->live = g_steal_pointer (&folder);
        }
    }
}
