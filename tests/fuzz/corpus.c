/* Reads the files from which fuzz tests begin; see the header. */
#include "tests/fuzz/corpus.h"

#include <string.h>

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

void
corpus_add (GPtrArray *corpus, const char *folder, const char *with, const char *without)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if ((with == NULL || g_str_has_suffix (name, with)) && (without == NULL || !g_str_has_suffix (name, without)))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *file = g_build_filename (path, names->pdata[i], NULL);
      char *data;
      gsize length;

      if (g_file_get_contents (file, &data, &length, NULL))
        g_ptr_array_add (corpus, g_bytes_new_take (data, length));
    }
}
