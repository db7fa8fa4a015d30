/* Implements arch-files.h. */
#include "tests/arch/arch-files.h"

#include <string.h>

char *
arch_root (const char *variable)
{
  const char *root = g_getenv (variable);

  g_assert_nonnull (root);
  return g_strdup (root);
}

void
arch_collect (const char *folder, GPtrArray *files, const char *const *suffixes)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        arch_collect (path, files, suffixes);
      else
        for (guint i = 0; suffixes[i] != NULL; i++)
          if (g_str_has_suffix (name, suffixes[i]))
            g_ptr_array_add (files, g_steal_pointer (&path));
    }
}

gboolean
arch_has_prefix (const char *text, const char *const *prefixes, guint n)
{
  for (guint i = 0; i < n && prefixes[i] != NULL; i++)
    if (g_str_has_prefix (text, prefixes[i]))
      return TRUE;
  return FALSE;
}
