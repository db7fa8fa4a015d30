/* The folders of runs, and resuming a run of an earlier Studio process. A note in each folder lets the next Studio find
 * the run; its curves, step and learning rate are read from the folder.
 *
 * The first line of the note is the hash of the graph. A second line exists if the user ended the run. The note is
 * removed when the run is done or replaced. */
#include "ui/run/studio-run-private.h"

#include <fcntl.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/loom.h"
#include "ui/charts/studio-plot.h"

#define NOTE   "studio-unfinished"
#define WANTED "stopped"

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
studio_run_new_folder (const char *name)
{
  g_autofree char *safe = safe_name (name);
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  g_autofree char *time = g_date_time_format (now, "%Y%m%d-%H%M%S");
  g_autofree char *leaf = g_strdup_printf ("%s-%s", safe, time);
  char *path = g_build_filename (g_get_user_state_dir (), "gradloom", "runs", leaf, NULL);
  for (int n = 2; g_file_test (path, G_FILE_TEST_EXISTS); n++)
    {
      g_free (path);
      g_autofree char *numbered = g_strdup_printf ("%s-%d", leaf, n);
      path = g_build_filename (g_get_user_state_dir (), "gradloom", "runs", numbered, NULL);
    }
  return path;
}

/* ---- note ------------------------------------------------------------------------ */

#define MAX_NOTE   4096
#define MAX_FILE   64000000
#define MAX_EVENTS 1000000000

/* Reads a file of the run up to max bytes; NULL if it is missing or a symbolic link. */
static char *
read_file (const char *run, const char *name, gsize max, gsize *length)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (run, NULL);
  char *text = NULL;

  return folder != NULL && loom_folder_read (folder, name, max, &text, length, NULL) ? text : NULL;
}

/* Returns the hash of the graph that the run in this folder trains; NULL: no note. */
static char *
read_note (const char *folder, gboolean *wanted)
{
  char *text = read_file (folder, NOTE, MAX_NOTE, NULL);
  if (text == NULL)
    return NULL;
  char *line = strchr (text, '\n');
  if (wanted != NULL)
    *wanted = line != NULL && g_str_has_prefix (line + 1, WANTED);
  if (line != NULL)
    *line = '\0';
  return text;
}

static void
write_note (const char *folder, const char *hash, gboolean wanted)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autofree char *text = wanted ? g_strdup_printf ("%s\n" WANTED "\n", hash) : g_strdup (hash);
  if (files != NULL)
    loom_folder_replace (files, NOTE, text, strlen (text), NULL);
}

static void
remove_note (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  if (files != NULL)
    loom_folder_remove (files, NOTE);
}

void
studio_run_remember (StudioRun *self, const char *graph_hash)
{
  write_note (self->folder, graph_hash, FALSE);
}

void
studio_run_note_end (StudioRun *self, gboolean wanted)
{
  g_autofree char *hash = self->folder != NULL ? read_note (self->folder, NULL) : NULL;
  if (hash != NULL)
    write_note (self->folder, hash, wanted);
}

void
studio_run_move_note (StudioRun *self, const char *from)
{
  g_autofree char *hash = read_note (from, NULL);
  if (hash == NULL)
    return;
  remove_note (from);
  studio_run_remember (self, hash);
}

void
studio_run_forget_note (StudioRun *self)
{
  if (self->folder != NULL)
    remove_note (self->folder);
}

/* ---- contents of a folder ---------------------------------------------------------- */

/* The highest step under checkpoints/; -1: none. */
static gint64
newest_checkpoint (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autoptr (LoomFolder) checkpoints = files != NULL ? loom_folder_enter (files, "checkpoints", FALSE, NULL) : NULL;
  g_auto (GStrv) names = checkpoints != NULL ? loom_folder_names (checkpoints) : NULL;
  gint64 newest = -1;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      char *end;
      gint64 step = g_ascii_strtoll (names[i], &end, 10);
      if (end != names[i] && *end == '\0')
        newest = MAX (newest, step);
    }
  return newest;
}

static gboolean
is_live (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  int fd = files != NULL ? loom_folder_open_file (files, LOOM_RUN_EVENTS, O_RDONLY, NULL) : -1;
  if (fd < 0)
    return FALSE;
  /* A trainer keeps a lock on its events file while it lives. */
  gboolean live = flock (fd, LOCK_SH | LOCK_NB) != 0;
  close (fd);
  return live;
}

/* ---- restoring the display ------------------------------------------------------------- */

static double
number_of (JsonObject *object, const char *name)
{
  return json_object_get_double_member_with_default (object, name, NAN);
}

static void
add_evaluation (StudioRun *self, JsonObject *event, gint64 step, gint64 epoch)
{
  JsonNode *node = json_object_get_member (event, "metrics");
  g_autoptr (GList) names = NULL;
  g_autoptr (GPtrArray) known = g_ptr_array_new ();
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    names = json_object_get_members (json_node_get_object (node));
  for (GList *l = names; l != NULL; l = l->next)
    {
      /* A confusion matrix is not a curve. */
      if (!JSON_NODE_HOLDS_VALUE (json_object_get_member (json_node_get_object (node), l->data)))
        continue;
      double value = number_of (json_node_get_object (node), l->data);
      g_ptr_array_add (known, l->data);
      g_array_append_val (values, value);
    }
  g_ptr_array_add (known, NULL);
  g_autoptr (GVariant) all = g_variant_ref_sink (
      g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, values->data, values->len, sizeof (double)));
  studio_run_take_evaluation (self, json_object_get_string_member_with_default (event, "split", "val"), step, epoch,
                              number_of (event, "loss"), (const char *const *)known->pdata, all);
}

static void
add_event (StudioRun *self, JsonObject *event, gint64 until)
{
  const char *kind = json_object_get_string_member_with_default (event, "event", "");
  gint64 step = json_object_get_int_member_with_default (event, "step", -1);
  gint64 epoch = json_object_get_int_member_with_default (event, "epoch", 0);
  /* Resuming computes the steps after the newest checkpoint again. */
  if (step < 0 || step > until)
    return;
  if (g_str_equal (kind, "step"))
    {
      self->step = step;
      self->epoch = epoch;
      self->loss = number_of (event, "loss");
      self->lr = number_of (event, "lr");
      studio_series_append (self->loss_curves.train, (double)step, self->loss);
    }
  else if (g_str_equal (kind, "eval"))
    add_evaluation (self, event, step, epoch);
  else if (g_str_equal (kind, "hyper"))
    {
      g_autofree char *label = g_strdup_printf (
          "%s %g", json_object_get_string_member_with_default (event, "name", "lr"), number_of (event, "value"));
      studio_run_add_mark (self, (double)step, label);
    }
}

/* Restores curves, figures and marks up to the newest checkpoint. */
static void
read_events (StudioRun *self, gint64 until)
{
  gsize length;
  g_autofree char *text = read_file (self->folder, LOOM_RUN_EVENTS, MAX_EVENTS, &length);
  if (text == NULL)
    return;
  g_autoptr (JsonParser) parser = json_parser_new ();
  for (char *line = text, *end; line < text + length && (end = strchr (line, '\n')) != NULL; line = end + 1)
    if (loom_json_is_within (line, (gsize)(end - line), LOOM_JSON_LEVELS)
        && json_parser_load_from_data (parser, line, end - line, NULL)
        && JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
      add_event (self, json_node_get_object (json_parser_get_root (parser)), until);
}

/* Restores the learning rate of the run, which may differ from the graph's. */
static void
read_rate (StudioRun *self, gint64 step)
{
  g_autoptr (LoomFolder) files = loom_folder_open (self->folder, NULL);
  g_autoptr (LoomFolder) checkpoints = files != NULL ? loom_folder_enter (files, "checkpoints", FALSE, NULL) : NULL;
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step), *text = NULL;
  g_autoptr (LoomFolder) checkpoint = checkpoints != NULL ? loom_folder_enter (checkpoints, name, FALSE, NULL) : NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  gsize length;
  if (checkpoint == NULL || !loom_folder_read (checkpoint, "state.json", MAX_FILE, &text, &length, NULL)
      || !loom_json_is_within (text, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, text, (gssize)length, NULL)
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return;
  JsonNode *hyper = json_object_get_member (json_node_get_object (json_parser_get_root (parser)), "hyper");
  if (hyper == NULL || !JSON_NODE_HOLDS_OBJECT (hyper))
    return;
  double rate = number_of (json_node_get_object (hyper), "base_lr");
  if (isfinite (rate))
    studio_run_take_hyper (self, "lr", rate);
}

/* ---- finding a run ------------------------------------------------------------------------- */

/* Returns the newest folder of this graph that was interrupted after a checkpoint, or NULL. live: a run of the graph is
 * training now. */
static char *
find_folder (const char *graph_hash, gboolean *wanted, gboolean *live)
{
  g_autofree char *runs = g_build_filename (g_get_user_state_dir (), "gradloom", "runs", NULL);
  g_autoptr (GDir) dir = g_dir_open (runs, 0, NULL);
  char *found = NULL;
  gint64 when = 0;
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *folder = g_build_filename (runs, name, NULL);
      g_autofree char *note = g_build_filename (folder, NOTE, NULL);
      gboolean was_wanted;
      g_autofree char *hash = read_note (folder, &was_wanted);
      GStatBuf info;
      if (hash == NULL || !g_str_equal (hash, graph_hash) || g_stat (note, &info) != 0)
        continue;
      if (is_live (folder))
        {
          *live = TRUE;
          continue;
        }
      if (info.st_mtime < when || newest_checkpoint (folder) < 0)
        continue;
      when = info.st_mtime;
      *wanted = was_wanted;
      g_free (found);
      found = g_steal_pointer (&folder);
    }
  return found;
}

gboolean
studio_run_is_elsewhere (const char *graph_hash)
{
  gboolean wanted = FALSE, live = FALSE;
  g_autofree char *found = find_folder (graph_hash, &wanted, &live);
  return live;
}

void
studio_run_set_elsewhere (StudioRun *self, gboolean elsewhere)
{
  if (self->state == STUDIO_RUN_IDLE)
    studio_run_set_state (self, STUDIO_RUN_IDLE,
                          elsewhere ? _ ("This graph is still training in another tab or window.") : NULL);
}

gboolean
studio_run_find_interrupted (StudioRun *self, const char *graph_hash, const char *graph_folder)
{
  gboolean wanted = FALSE, live = FALSE;
  g_autofree char *found = find_folder (graph_hash, &wanted, &live);
  /* Resuming an older run would train the graph twice at the same time. */
  if (live)
    return FALSE;
  g_autofree char *xml = found != NULL ? read_file (found, "graph.xml", MAX_FILE, NULL) : NULL;
  if (xml == NULL)
    return FALSE;
  gint64 step = newest_checkpoint (found);
  g_free (self->folder);
  self->folder = g_steal_pointer (&found);
  g_free (self->graph_xml);
  self->graph_xml = g_steal_pointer (&xml);
  g_free (self->graph_folder);
  self->graph_folder = g_strdup (graph_folder);
  self->options = (StudioRunOptions)STUDIO_RUN_OPTIONS_INIT;
  g_clear_pointer (&self->device, g_free);
  self->checkpoint_step = step;
  read_events (self, step);
  self->step = step; /* events of long runs skip steps */
  read_rate (self, step);
  g_autofree char *count = studio_format_count ((double)step);
  g_autofree char *text
      = wanted ? g_strdup_printf (_ ("The last run of this graph was stopped at step %s and can continue from there."),
                                  count)
               : g_strdup_printf (_ ("The last run of this graph ended early; its newest checkpoint is of step %s."),
                                  count);
  studio_run_set_state (self, wanted ? STUDIO_RUN_STOPPED : STUDIO_RUN_LOST, text);
  return TRUE;
}
