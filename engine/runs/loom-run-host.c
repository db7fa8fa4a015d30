/* Reads and writes the records of runs on hosts; see the header. */
#include "engine/runs/loom-run-host.h"

#include "engine/core/loom-folder.h"
#include "engine/core/loom-os.h"
#include "engine/infer/loom-run-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_NAME    255
#define MOST_ID      120
#define MOST_BYTES   8192 /* of a record */
#define MOST_PATH    4096
#define MOST_RECORDS 1000 /* older ones are removed */

static const char *const words[]
    = { [LOOM_RUN_HOST_NEW] = "new", [LOOM_RUN_HOST_BEGUN] = "begun", [LOOM_RUN_HOST_ENDED] = "ended" };

gboolean
loom_run_host_is_name (const char *name)
{
  if (*name == '\0' || *name == '-' || strlen (name) > MOST_NAME)
    return FALSE;
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("@._-:[]%", *p) == NULL)
      return FALSE;
  return TRUE;
}

gboolean
loom_run_host_is_id (const char *id)
{
  if (*id == '\0' || *id == '-' || strlen (id) > MOST_ID)
    return FALSE;
  for (const char *p = id; *p != '\0'; p++)
    if (!g_ascii_islower (*p) && !g_ascii_isdigit (*p) && *p != '-')
      return FALSE;
  return TRUE;
}

char *
loom_run_host_new_id (const char *name)
{
  g_autoptr (GDateTime) now = g_date_time_new_from_unix_utc (loom_wall () / G_USEC_PER_SEC);
  g_autofree char *time = g_date_time_format (now, "%Y%m%d-%H%M%S");
  g_autoptr (GString) id = g_string_new (NULL);

  for (const char *p = name; *p != '\0' && id->len < 48; p++)
    if (g_ascii_isalnum (*p))
      g_string_append_c (id, g_ascii_tolower (*p));
    else if (id->len > 0 && id->str[id->len - 1] != '-')
      g_string_append_c (id, '-');
  g_string_append_printf (id, "%s%s-%08x",
                          id->len == 0                  ? "run-"
                          : id->str[id->len - 1] == '-' ? ""
                                                        : "-",
                          time, g_random_int ());
  return g_strdup (id->str);
}

void
loom_run_host_clear (LoomRunHost *host)
{
  g_clear_pointer (&host->name, g_free);
  g_clear_pointer (&host->id, g_free);
}

/* ---- records ------------------------------------------------------------ */

static char *
dup_store (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "hosts", NULL);
}

static LoomFolder *
open_store (GError **error)
{
  g_autofree char *store = dup_store ();

  return loom_folder_open (store, error);
}

/* NULL: there is no such folder. */
static char *
dup_leaf (const char *folder)
{
  LoomRunIdentity id;

  if (folder == NULL || !loom_run_identify (folder, &id))
    return NULL;
  return g_strdup_printf ("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", id.device, id.inode);
}

static gboolean
read_record (LoomFolder *store, const char *leaf, LoomRunHost *host)
{
  g_autofree char *text = NULL;

  *host = (LoomRunHost){ NULL };
  if (!loom_folder_read (store, leaf, MOST_BYTES, &text, NULL, NULL))
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (text, "\n", 4);
  if (g_strv_length (lines) < 2 || !loom_run_host_is_name (lines[0]) || !loom_run_host_is_id (lines[1]))
    return FALSE;
  host->state = LOOM_RUN_HOST_BEGUN; /* earlier versions wrote two lines */
  for (guint i = 0; lines[2] != NULL && i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (lines[2], words[i]))
      host->state = (LoomRunHostState)i;
  host->name = g_strdup (lines[0]);
  host->id = g_strdup (lines[1]);
  return TRUE;
}

/* The id is in the folder, too: another folder may have got the number of one that was removed. */
static gboolean
is_same_run (const char *folder, const char *id)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autofree char *text = NULL;

  return files != NULL && loom_folder_read (files, LOOM_RUN_HOST_ID, MOST_ID, &text, NULL, NULL)
         && g_str_equal (text, id);
}

gboolean
loom_run_host_read (const char *folder, LoomRunHost *host)
{
  g_autofree char *leaf = dup_leaf (folder);
  g_autoptr (LoomFolder) store = leaf != NULL ? open_store (NULL) : NULL;

  *host = (LoomRunHost){ NULL };
  if (store == NULL || !read_record (store, leaf, host))
    return FALSE;
  if (is_same_run (folder, host->id))
    return TRUE;
  loom_run_host_clear (host);
  return FALSE;
}

typedef struct
{
  char *leaf;
  gint64 time; /* of the last change */
} Record;

static void
record_clear (gpointer data)
{
  g_free (((Record *)data)->leaf);
}

static int
compare_records (gconstpointer a, gconstpointer b)
{
  const Record *x = a, *y = b;

  if (x->time != y->time)
    return x->time > y->time ? -1 : 1;
  return strcmp (x->leaf, y->leaf);
}

/* The newest first. */
static GArray *
list_records (LoomFolder *store)
{
  GArray *records = g_array_new (FALSE, FALSE, sizeof (Record));
  g_auto (GStrv) names = loom_folder_names (store, NULL);
  struct stat info;

  g_array_set_clear_func (records, record_clear);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (loom_folder_stat (store, names[i], &info) && S_ISREG (info.st_mode))
      {
        Record record
            = { g_strdup (names[i]), (gint64)info.st_mtim.tv_sec * 1000000000 + (gint64)info.st_mtim.tv_nsec };
        g_array_append_val (records, record);
      }
  g_array_sort (records, compare_records);
  return records;
}

static gboolean
write_record (const char *leaf, const char *folder, const LoomRunHost *host, GError **error)
{
  g_autofree char *at = dup_store (), *text = NULL, *path = g_canonicalize_filename (folder, NULL);
  g_autoptr (LoomFolder) store = NULL;

  loom_path_make_folder (at, 0700);
  store = loom_folder_open (at, error);
  text = g_strdup_printf ("%s\n%s\n%s\n%s\n", host->name, host->id, words[host->state],
                          strlen (path) < MOST_PATH && strchr (path, '\n') == NULL ? path : "");
  if (store == NULL || !loom_folder_replace (store, leaf, text, strlen (text), error))
    return FALSE;
  g_autoptr (GArray) records = list_records (store);
  for (guint i = MOST_RECORDS; i < records->len; i++)
    loom_folder_remove (store, g_array_index (records, Record, i).leaf);
  return TRUE;
}

gboolean
loom_run_host_write (const char *folder, const LoomRunHost *host, GError **error)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, error);
  g_autofree char *leaf = dup_leaf (folder);

  return files != NULL && leaf != NULL
         && loom_folder_replace (files, LOOM_RUN_HOST_ID, host->id, strlen (host->id), error)
         && write_record (leaf, folder, host, error);
}

void
loom_run_host_set_state (const char *folder, LoomRunHostState state)
{
  g_auto (LoomRunHost) host = { NULL };
  g_autofree char *leaf = dup_leaf (folder);

  if (!loom_run_host_read (folder, &host) || host.state == state)
    return;
  host.state = state;
  write_record (leaf, folder, &host, NULL);
}

void
loom_run_host_forget (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL), store = open_store (NULL);
  g_autofree char *leaf = dup_leaf (folder);

  if (store != NULL && leaf != NULL)
    loom_folder_remove (store, leaf);
  if (files != NULL)
    loom_folder_remove (files, LOOM_RUN_HOST_ID);
}

char **
loom_run_host_list (void)
{
  g_autoptr (LoomFolder) store = open_store (NULL);
  g_autoptr (GArray) records = store != NULL ? list_records (store) : NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; records != NULL && i < records->len; i++)
    {
      g_auto (LoomRunHost) host = { NULL };
      if (read_record (store, g_array_index (records, Record, i).leaf, &host)
          && !g_ptr_array_find_with_equal_func (names, host.name, g_str_equal, NULL))
        g_ptr_array_add (names, g_steal_pointer (&host.name));
    }
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* The folder that a record names; NULL: it is not there, or is none of this record. (transfer full) */
static char *
dup_mirror (LoomFolder *store, const char *leaf)
{
  g_autofree char *text = NULL, *own = NULL;
  g_auto (GStrv) lines = NULL;

  if (!loom_folder_read (store, leaf, MOST_BYTES, &text, NULL, NULL))
    return NULL;
  lines = g_strsplit (text, "\n", 5);
  own = g_strv_length (lines) > 3 && *lines[3] != '\0' ? dup_leaf (lines[3]) : NULL;
  return g_strcmp0 (own, leaf) == 0 ? g_strdup (lines[3]) : NULL;
}

char **
loom_run_host_list_mirrors (void)
{
  g_autoptr (LoomFolder) store = open_store (NULL);
  g_autoptr (GArray) records = store != NULL ? list_records (store) : NULL;
  GPtrArray *folders = g_ptr_array_new ();

  for (guint i = 0; records != NULL && i < records->len; i++)
    {
      g_autofree char *folder = dup_mirror (store, g_array_index (records, Record, i).leaf);
      g_auto (LoomRunHost) host = { NULL };

      if (folder != NULL && loom_run_host_read (folder, &host) && host.state == LOOM_RUN_HOST_BEGUN)
        g_ptr_array_add (folders, g_steal_pointer (&folder));
    }
  g_ptr_array_add (folders, NULL);
  return (char **)g_ptr_array_free (folders, FALSE);
}

/* ---- the lock ------------------------------------------------------------- */

int
loom_run_host_lock (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  int fd = files != NULL ? loom_folder_open_file (files, LOOM_RUN_HOST_ID, O_RDONLY, NULL) : -1;

  if (fd >= 0 && !loom_lock (fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    {
      loom_close (fd);
      fd = -1;
    }
  return fd;
}

gboolean
loom_run_host_is_locked (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  int fd = files != NULL ? loom_folder_open_file (files, LOOM_RUN_HOST_ID, O_RDONLY, NULL) : -1;
  gboolean locked;

  if (fd < 0)
    return FALSE;
  locked = !loom_lock (fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
  /* A program that is being started has a copy of the descriptor, which would keep the lock. */
  if (!locked)
    loom_lock (fd, LOCK_UN);
  loom_close (fd);
  return locked;
}
