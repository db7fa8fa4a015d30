/* Files and folders of a data set outside the folder of its graph, and the guard that permits reading them. */

#include <glib/gstdio.h>

#include "engine/core/loom-compare.h"
#include "engine/core/loom-error.h"
#include "engine/core/loom-fault.h"
#include "engine/core/loom-os.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-option.h"

/* A folder may be full of links. More targets than this are named by the folders that contain them. */
#define MAX_TARGETS 20

/* ---- targets of links --------------------------------------------------------- */

typedef struct
{
  const LoomDatasetClass *klass;
  const LoomDatasetOptions *options;
  const char *own;
  LoomMayRead follow;
  GHashTable *targets; /* paths */
} Search;

static gboolean
follow_cb (const char *name, const char *path, gpointer data)
{
  const Search *s = data;
  g_autofree char *target = loom_path_outside (path, NULL, s->own), *root = NULL;

  if (target == NULL)
    return TRUE;
  root = loom_option_path (s->klass, s->options, name);
  if (loom_path_is_within (target, root))
    return TRUE;
  g_hash_table_add (s->targets, g_strdup (target));
  return s->follow == NULL || s->follow (target);
}

static guint
depth_of (const char *path)
{
  guint n = 0;

  for (; *path != '\0'; path++)
    n += *path == G_DIR_SEPARATOR;
  return n;
}

/* Replaces the deepest paths by their folders, until at most MAX_TARGETS are left. */
static GPtrArray *
list_targets (GHashTable *targets)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer path;

  while (g_hash_table_size (targets) > MAX_TARGETS)
    {
      g_autoptr (GHashTable) folders = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      guint deepest = 0;

      g_hash_table_iter_init (&iter, targets);
      while (g_hash_table_iter_next (&iter, &path, NULL))
        deepest = MAX (deepest, depth_of (path));
      g_hash_table_iter_init (&iter, targets);
      while (g_hash_table_iter_next (&iter, &path, NULL))
        if (depth_of (path) == deepest)
          {
            g_hash_table_add (folders, g_path_get_dirname (path));
            g_hash_table_iter_remove (&iter);
          }
      g_hash_table_iter_init (&iter, folders);
      while (g_hash_table_iter_next (&iter, &path, NULL))
        g_hash_table_add (targets, g_strdup (path));
    }
  g_hash_table_iter_init (&iter, targets);
  while (g_hash_table_iter_next (&iter, &path, NULL))
    g_ptr_array_add (list, g_strdup (path));
  g_ptr_array_sort (list, loom_compare_texts);
  return list;
}

typedef struct
{
  const char *name;
  gboolean (*accepts) (const char *file);
  gboolean deep;
  gboolean (*follow) (const char *name, const char *path, gpointer data);
  gpointer data;
  GHashTable *visited; /* folders by device and inode, since links may form a cycle */
} Walk;

static void walk_folder (const Walk *w, const char *folder);

static void
walk_entry (const Walk *w, const char *path, const char *name)
{
  const gboolean is_folder = loom_path_is_folder (path);

  if (loom_path_is_link (path) && (!(is_folder ? w->deep : w->accepts (name)) || !w->follow (w->name, path, w->data)))
    return;
  if (is_folder && w->deep)
    walk_folder (w, path);
}

static void
walk_folder (const Walk *w, const char *folder)
{
  g_auto (GStrv) names = NULL;
  struct stat status;

  if (loom_os->stat (AT_FDCWD, folder, &status, 0) != 0
      || !g_hash_table_add (w->visited, g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                                                         (guint64)status.st_dev, (guint64)status.st_ino)))
    return;
  names = loom_path_names (folder, NULL);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (names[i][0] != '.')
      {
        g_autofree char *path = g_build_filename (folder, names[i], NULL);

        walk_entry (w, path, names[i]);
      }
}

static void
each_link (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
           gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data)
{
  if (klass->each_link != NULL)
    klass->each_link (klass, options, follow, data);
  for (const char *const *name = klass->folders; name != NULL && *name != NULL; name++)
    {
      g_autoptr (GHashTable) visited = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      const Walk walk = { *name, klass->is_read, klass->is_deep, follow, data, visited };
      g_autofree char *folder = loom_option_path (klass, options, *name);

      if (folder != NULL)
        walk_folder (&walk, folder);
    }
}

/* ---- files outside ------------------------------------------------------------ */

void
loom_dataset_each_outside (const char *source, const LoomDatasetOptions *options, const char *own, LoomLinks links,
                           LoomMayRead follow, LoomOutsideCall call, gpointer data)
{
  const LoomDatasetClass *klass = loom_dataset_class (source);
  gboolean is_complete = klass != NULL;

  for (const LoomDatasetParam *p = klass != NULL ? klass->params : NULL; p != NULL && p->name != NULL; p++)
    {
      const char *text = p->type == LOOM_DATASET_PATH ? loom_option_string (klass, options, p->name) : NULL;
      g_autofree char *path = text != NULL && *text != '\0' ? loom_path_outside (text, options->folder, own) : NULL;

      if (p->type == LOOM_DATASET_PATH && p->def == NULL)
        is_complete = is_complete && text != NULL && *text != '\0';
      if (path == NULL)
        continue;
      call (p->name, path, data);
      is_complete = is_complete && (follow == NULL || follow (path));
    }
  if (links == LOOM_LINKS_IGNORED || !is_complete || (klass->each_link == NULL && klass->folders == NULL)
      || !loom_options_check (klass, options, NULL))
    return;
  g_autoptr (GHashTable) targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Search search = { klass, options, own, follow, targets };
  each_link (klass, options, follow_cb, &search);
  g_autoptr (GPtrArray) list = list_targets (targets);
  for (guint i = 0; i < list->len; i++)
    call (NULL, list->pdata[i], data);
}

/* ---- the guard ----------------------------------------------------------------------- */

typedef struct
{
  LoomMayRead may_read;
  char *refused;
} Asking;

static void
ask_cb (const char *name, const char *path, gpointer data)
{
  Asking *asking = data;

  if (asking->refused == NULL && !asking->may_read (path))
    asking->refused = g_strdup (path);
}

gboolean
loom_dataset_check_guard (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomLinks links,
                          GError **error)
{
  const LoomGuard *guard = options->guard;
  Asking asking = { .may_read = guard != NULL ? guard->may_read : NULL };

  if (asking.may_read == NULL)
    return TRUE;
  loom_dataset_each_outside (klass->name, options, guard->own, links, asking.may_read, ask_cb, &asking);
  if (asking.refused == NULL)
    return TRUE;
  loom_error_set_quoting (error, LOOM_ERROR_OUTSIDE,
                          "“%s” is outside this graph's folder and is read only after you agree.", asking.refused);
  g_free (asking.refused);
  return FALSE;
}
