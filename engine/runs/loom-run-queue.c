/* Runs that wait, as files; see the header. */
#include "engine/runs/loom-run-queue.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-json.h"

#include <errno.h>
#include <string.h>

#define VERSION 1
#define ENDING  ".json"
#define DIGITS  16

#define MOST_NAME 48 /* bytes of a title in the name of a folder */

void
loom_queued_run_free (LoomQueuedRun *run)
{
  if (run == NULL)
    return;
  g_free (run->document);
  g_free (run->xml);
  g_free (run->folder);
  g_free (run->title);
  g_free (run->name);
  g_free (run->sweep);
  g_free (run);
}

static char *
name_of (gint64 number)
{
  return g_strdup_printf ("%0*" G_GINT64_FORMAT ENDING, DIGITS, number);
}

/* 0: it is no file of a run. */
static gint64
number_of (const char *name)
{
  gint64 number = 0;

  if (strlen (name) != DIGITS + strlen (ENDING) || strcmp (name + DIGITS, ENDING) != 0)
    return 0;
  for (int i = 0; i < DIGITS; i++)
    {
      if (!g_ascii_isdigit (name[i]))
        return 0;
      number = 10 * number + (name[i] - '0');
    }
  return number;
}

static gboolean
read_text (const LoomRunJson *json, const char *name, char **text)
{
  const char *value;

  if (!json_object_has_member (json->object, name))
    return TRUE;
  if (!loom_run_json_string (json, name, &value, NULL))
    return FALSE;
  *text = g_strdup (value);
  return TRUE;
}

/* NULL: the file is damaged, or gone. */
static LoomQueuedRun *
read_run (LoomFolder *folder, const char *name)
{
  g_autoptr (LoomQueuedRun) run = g_new0 (LoomQueuedRun, 1);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *path = NULL;
  LoomRunJson json;
  gint64 version;

  run->number = number_of (name);
  if (!loom_run_json_root (parser, folder, name, &path, &json, NULL)
      || !loom_run_json_int (&json, "version", VERSION, VERSION, &version, NULL)
      || !read_text (&json, "graph", &run->xml) || !read_text (&json, "document", &run->document)
      || !read_text (&json, "folder", &run->folder) || !read_text (&json, "title", &run->title)
      || !read_text (&json, "name", &run->name) || !read_text (&json, "sweep", &run->sweep) || run->document == NULL
      || run->xml == NULL || run->title == NULL)
    return NULL;
  return g_steal_pointer (&run);
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const gint64 x = (*(LoomQueuedRun *const *)a)->number, y = (*(LoomQueuedRun *const *)b)->number;

  return x < y ? -1 : x > y;
}

GPtrArray *
loom_run_queue_read (const char *folder, const char *document)
{
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_queued_run_free);
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_auto (GStrv) names = files != NULL ? loom_folder_names (files, NULL) : NULL;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autoptr (LoomQueuedRun) run = number_of (names[i]) > 0 ? read_run (files, names[i]) : NULL;

      if (run != NULL && (document == NULL || g_str_equal (run->document, document)))
        g_ptr_array_add (list, g_steal_pointer (&run));
    }
  g_ptr_array_sort (list, compare);
  return list;
}

/* The time in µs, so that no number is used again for another run while a program still lists the first. */
static gint64
next_number (LoomFolder *folder)
{
  g_auto (GStrv) names = loom_folder_names (folder, NULL);
  gint64 last = loom_wall ();

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    last = MAX (last, number_of (names[i]));
  return last + 1;
}

static void
add_text (JsonObject *object, const char *name, const char *text)
{
  if (text != NULL)
    json_object_set_string_member (object, name, text);
}

gboolean
loom_run_queue_add (const char *folder, LoomQueuedRun *run, GError **error)
{
  g_autoptr (LoomFolder) files = NULL;
  g_autoptr (JsonObject) object = json_object_new ();
  g_autoptr (JsonNode) root = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = NULL, *name = NULL;

  if (!loom_path_make_folder (folder, 0700))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” could not be made: %s.", folder, g_strerror (errno));
  files = loom_folder_open (folder, error);
  if (files == NULL)
    return FALSE;
  if (run->number == 0)
    run->number = next_number (files);
  json_object_set_int_member (object, "version", VERSION);
  add_text (object, "document", run->document);
  add_text (object, "folder", run->folder);
  add_text (object, "title", run->title);
  add_text (object, "name", run->name);
  add_text (object, "sweep", run->sweep);
  add_text (object, "graph", run->xml);
  text = json_to_string (root, TRUE);
  name = name_of (run->number);
  return loom_folder_replace (files, name, text, strlen (text), error);
}

char *
loom_run_folder_new (const char *in, const char *title)
{
  g_autofree char *name = g_strcanon (g_strndup (title, MOST_NAME), G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS, '-');

  for (guint i = 1;; i++)
    {
      g_autofree char *leaf = g_strdup_printf ("%s-%04u", *name != '\0' ? name : "run", i);
      char *path = g_build_filename (in, leaf, NULL);

      if (!loom_path_exists (path))
        return path;
      g_free (path);
    }
}

int
loom_run_queue_claim (const char *folder, const LoomQueuedRun *run)
{
  g_autofree char *name = name_of (run->number), *path = g_build_filename (folder, name, NULL);
  const int fd = loom_open (AT_FDCWD, path, O_RDWR); /* NFS locks only what can be written */
  struct stat held, named;

  /* A process that had the lock before may have removed the file. */
  if (fd >= 0 && loom_lock (fd, LOCK_EX | LOCK_NB) && loom_stat_fd (fd, &held)
      && loom_os->stat (AT_FDCWD, path, &named, 0) == 0 && held.st_ino == named.st_ino)
    return fd;
  loom_close (fd);
  return -1;
}

void
loom_run_queue_finish (const char *folder, const LoomQueuedRun *run, int claim, gboolean has_begun)
{
  g_autofree char *name = name_of (run->number);
  g_autoptr (LoomFolder) files = has_begun ? loom_folder_open (folder, NULL) : NULL;

  if (files != NULL)
    {
      loom_folder_remove (files, name);
      loom_folder_sync (files, NULL);
    }
  loom_close (claim);
}

gboolean
loom_run_queue_remove (const char *folder, const LoomQueuedRun *run)
{
  const int claim = loom_run_queue_claim (folder, run);

  if (claim >= 0)
    loom_run_queue_finish (folder, run, claim, TRUE);
  return claim >= 0;
}
