/* Implements loom-companions.h. */
#include "engine/data/loom-companions.h"

#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-compare.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

#define MOST_LIST (64 << 20) /* bytes of a list of names */

static const char *const split_folders[LOOM_N_SPLITS][4] = {
  [LOOM_SPLIT_TRAIN] = { "train", "training", NULL },
  [LOOM_SPLIT_VAL] = { "val", "valid", "validation", NULL },
  [LOOM_SPLIT_TEST] = { "test", "testing", NULL },
};

/* ---- layouts ------------------------------------------------------------------- */

static gboolean
has_folders (const char *base, const LoomCompanionLayout *layout)
{
  g_autofree char *pictures = g_build_filename (base, layout->pictures, NULL);
  g_autofree char *companions = g_build_filename (base, layout->companions, NULL);

  return loom_path_is_folder (pictures) && loom_path_is_folder (companions);
}

/* The folder of a split, with both folders; NULL: there is none. */
static char *
find_split (const char *base, const LoomCompanionLayout *layout, guint split)
{
  for (guint i = 0; layout->has_folders && split_folders[split][i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (base, split_folders[split][i], NULL);

      if (has_folders (path, layout))
        return g_steal_pointer (&path);
    }
  return NULL;
}

/* Of the folders in VOCdevkit, which is the path or in it, the last year's. */
static char *
find_voc (const char *path)
{
  g_autofree char *below = g_build_filename (path, "VOCdevkit", NULL), *last = NULL;
  const char *kit = loom_path_is_folder (below) ? below : path;
  g_auto (GStrv) names = loom_path_names (kit, NULL);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_str_has_prefix (names[i], "VOC") && (last == NULL || strcmp (names[i], last) > 0))
      {
        g_free (last);
        last = g_strdup (names[i]);
      }
  return last != NULL ? g_build_filename (kit, last, NULL) : NULL;
}

const LoomCompanionLayout *
loom_companions_layout (const char *path, const LoomCompanionLayout *layouts, guint n, char **base)
{
  g_autofree char *voc = find_voc (path);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *train = find_split (path, &layouts[i], LOOM_SPLIT_TRAIN);

      *base = g_strdup (train != NULL || has_folders (path, &layouts[i]) ? path
                        : voc != NULL && has_folders (voc, &layouts[i])  ? voc
                                                                         : NULL);
      if (*base != NULL)
        return &layouts[i];
    }
  return NULL;
}

/* ---- files ---------------------------------------------------------------------- */

static char *
stem_of (const char *name)
{
  const char *dot = strrchr (name, '.');

  return dot != NULL ? g_strndup (name, (gsize)(dot - name)) : g_strdup (name);
}

/* The names of the pictures in a folder, sorted and NULL-terminated. */
static char **
list_pictures (const char *folder, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GError) cause = NULL;
  g_auto (GStrv) all = loom_path_names (folder, &cause);

  if (all == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", folder, cause->message);
      return NULL;
    }
  for (guint i = 0; all[i] != NULL; i++)
    if (all[i][0] != '.' && loom_dataset_is_picture_name (all[i]))
      g_ptr_array_add (names, g_strdup (all[i]));
  g_ptr_array_sort (names, loom_compare_texts);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* The file of a picture; NULL: there is none. */
static char *
find_file (const char *base, const LoomCompanionLayout *layout, const char *stem)
{
  for (guint i = 0; layout->endings[i] != NULL; i++)
    {
      g_autofree char *name = g_strconcat (stem, layout->endings[i], NULL);
      g_autofree char *path = g_build_filename (base, layout->companions, name, NULL);

      if (loom_path_is_file (path))
        return g_steal_pointer (&path);
    }
  return NULL;
}

/* name: a file in the folder of pictures, or NULL. */
static gboolean
is_complete (const char *base, const LoomCompanionLayout *layout, const char *name, const char *stem)
{
  g_autofree char *file = name != NULL ? find_file (base, layout, stem) : NULL;

  return file != NULL;
}

static gboolean
add (LoomCompanions *self, const char *base, guint split, const char *picture, const char *stem, GError **error)
{
  char *path = g_build_filename (base, self->layout->pictures, picture, NULL);
  char *file = find_file (base, self->layout, stem);

  if (file == NULL)
    {
      loom_refuse (error, LOOM_ERROR_DATA, "The picture “%s” has no file “%s%s” in the folder “%s”.", path, stem,
                   self->layout->endings[0], self->layout->companions);
      g_free (path);
      return FALSE;
    }
  g_ptr_array_add (self->pictures, path);
  g_ptr_array_add (self->files, file);
  self->n[split]++;
  return TRUE;
}

/* All pictures of a folder. */
static gboolean
add_folder (LoomCompanions *self, const char *base, guint split, GError **error)
{
  g_autofree char *folder = g_build_filename (base, self->layout->pictures, NULL);
  g_auto (GStrv) names = list_pictures (folder, error);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *stem = stem_of (names[i]);

      if (!add (self, base, split, names[i], stem, error))
        return FALSE;
    }
  return names != NULL;
}

/* The pictures that a list names: the first word of each line. by_stem: the names of all pictures. */
static gboolean
add_list (LoomCompanions *self, const char *base, guint split, const char *list, GHashTable *by_stem, GError **error)
{
  g_autofree char *path = g_build_filename (base, list, NULL), *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GError) cause = NULL;
  struct stat info;

  if (loom_os->stat (AT_FDCWD, path, &info, 0) == 0 && info.st_size > MOST_LIST)
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: it is larger than 64 MiB.", path);
  if (!loom_path_read (path, &text, NULL, &cause))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *stem = lines[i] + strspn (lines[i], " \t"), *name;

      lines[i][(gsize)(stem - lines[i]) + strcspn (stem, " \t\r")] = '\0';
      if (*stem == '\0' || *stem == '#')
        continue;
      name = g_hash_table_lookup (by_stem, stem);
      if (split == LOOM_SPLIT_TEST && self->n[split] == 0 && !is_complete (base, self->layout, name, stem))
        return TRUE;
      if (name == NULL)
        {
          loom_refuse (error, LOOM_ERROR_DATA, "“%s”, line %u names the picture “%s”, which “%s” lacks.", path, i + 1,
                       stem, self->layout->pictures);
          return FALSE;
        }
      if (!add (self, base, split, name, stem, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_lists (LoomCompanions *self, const char *base, gboolean *found, GError **error)
{
  g_autofree char *folder = g_build_filename (base, self->layout->pictures, NULL);
  g_autoptr (GHashTable) by_stem = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_auto (GStrv) names = NULL;

  *found = FALSE;
  for (guint s = 0; s < LOOM_N_SPLITS; s++)
    {
      g_autofree char *path
          = self->layout->lists[s] != NULL ? g_build_filename (base, self->layout->lists[s], NULL) : NULL;

      if (path == NULL || !loom_path_exists (path))
        continue;
      if (names == NULL && (names = list_pictures (folder, error)) == NULL)
        return FALSE;
      for (guint i = 0; !*found && names[i] != NULL; i++)
        g_hash_table_insert (by_stem, stem_of (names[i]), names[i]);
      *found = TRUE;
      if (!add_list (self, base, s, self->layout->lists[s], by_stem, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_all (LoomCompanions *self, const char *base, GError **error)
{
  gboolean found;

  if (!add_lists (self, base, &found, error))
    return FALSE;
  if (found)
    return TRUE;
  if (has_folders (base, self->layout))
    return add_folder (self, base, LOOM_SPLIT_TRAIN, error);
  for (guint s = 0; s < LOOM_N_SPLITS; s++)
    {
      g_autofree char *split = find_split (base, self->layout, s);

      if (split != NULL && !add_folder (self, split, s, error))
        return FALSE;
    }
  return TRUE;
}

LoomCompanions *
loom_companions_new (const char *base, const LoomCompanionLayout *layout, GError **error)
{
  g_autoptr (LoomCompanions) self = g_new0 (LoomCompanions, 1);

  self->layout = layout;
  self->pictures = g_ptr_array_new_with_free_func (g_free);
  self->files = g_ptr_array_new_with_free_func (g_free);
  if (!add_all (self, base, error))
    return NULL;
  if (self->n[LOOM_SPLIT_TRAIN] > 0)
    return g_steal_pointer (&self);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has no training picture.", base);
  return NULL;
}

void
loom_companions_free (LoomCompanions *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->pictures);
  g_ptr_array_unref (self->files);
  g_free (self);
}

gboolean
loom_companions_finish (const LoomCompanions *self, LoomPictures *pictures, const LoomDatasetOptions *options,
                        GError **error)
{
  if (self->n[LOOM_SPLIT_VAL] > 0)
    return loom_pictures_finish_splits (pictures, options, self->n, error);
  return loom_pictures_finish (pictures, options, self->n[LOOM_SPLIT_TRAIN], self->n[LOOM_SPLIT_TEST] > 0, error);
}
