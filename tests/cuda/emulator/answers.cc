/* Refusals of libraries on real GPUs, read from the logs in tests/cuda/answers (README.md has their format). */
#include <glib.h>
#include <stdlib.h>

#include "tests/cuda/emulator/fakes.h"

namespace emulated
{
namespace
{
void
read_log (GHashTable *refused, const char *path)
{
  char *text = NULL, **lines;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      char *arrow = strstr (*line, " -> ");

      if ((*line)[0] == '#' || arrow == NULL)
        continue;
      *arrow = '\0';
      if (atoi (arrow + 4) != 0)
        g_hash_table_insert (refused, g_strdup (*line), GINT_TO_POINTER (atoi (arrow + 4)));
    }
  g_strfreev (lines);
  g_free (text);
}
}

int
refusal (const char *question)
{
  static GHashTable *refused = [] {
    GHashTable *table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    const char *configured = getenv ("GRADLOOM_EMULATOR_ANSWERS"), *folder = configured != NULL ? configured : EMULATOR_ANSWERS;
    GDir *dir = g_dir_open (folder, 0, NULL);

    for (const char *name = dir != NULL ? g_dir_read_name (dir) : NULL; name != NULL; name = g_dir_read_name (dir))
      if (g_str_has_suffix (name, ".txt"))
        {
          char *path = g_build_filename (folder, name, NULL);

          read_log (table, path);
          g_free (path);
        }
    if (dir != NULL)
      g_dir_close (dir);
    return table;
  }();
  return GPOINTER_TO_INT (g_hash_table_lookup (refused, question));
}
}
