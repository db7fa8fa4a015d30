#include "ui/scene/studio-allowed-paths.h"

#include <string.h>

#define MAX_KEPT 100 /* lines of the file, the newest last */

static GMutex lock;
static GPtrArray *agreed; /* lines: escaped paths, which may contain line breaks or invalid UTF-8; NULL: not read yet */

static char *
dup_path (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "outside-data", NULL);
}

static void
add_line (const char *line)
{
  if (*line != '\0' && !g_ptr_array_find_with_equal_func (agreed, line, g_str_equal, NULL))
    g_ptr_array_add (agreed, g_strdup (line));
}

/* Adds the lines of the file, which another Studio may have written. */
static void
load (void)
{
  g_autofree char *path = dup_path (), *text = NULL;

  if (agreed == NULL)
    agreed = g_ptr_array_new_with_free_func (g_free);
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    add_line (lines[i]);
}

static void
save (void)
{
  g_autofree char *path = dup_path (), *folder = g_path_get_dirname (path);
  GString *text = g_string_new (NULL);

  for (guint i = agreed->len > MAX_KEPT ? agreed->len - MAX_KEPT : 0; i < agreed->len; i++)
    g_string_append_printf (text, "%s\n", (const char *)agreed->pdata[i]);
  g_mkdir_with_parents (folder, 0700);
  g_file_set_contents (path, text->str, -1, NULL);
  g_string_free (text, TRUE);
}

gboolean
studio_agreed_has (const char *path)
{
  gboolean found = FALSE;

  g_mutex_lock (&lock);
  if (agreed == NULL)
    load ();
  for (guint i = 0; i < agreed->len && !found; i++)
    {
      g_autofree char *folder = g_strcompress (agreed->pdata[i]);
      const gsize n = strlen (folder);

      found = strncmp (path, folder, n) == 0
              && (path[n] == '\0' || path[n] == G_DIR_SEPARATOR || (n > 0 && folder[n - 1] == G_DIR_SEPARATOR));
    }
  g_mutex_unlock (&lock);
  return found;
}

char **
studio_allowed_paths_missing (const LoomNet *net, const LoomGraph *graph, const char *file)
{
  g_auto (GStrv) outside = loom_net_outside_paths (net, graph, file);
  g_autoptr (GStrvBuilder) missing = g_strv_builder_new ();

  for (guint i = 0; outside[i] != NULL; i++)
    if (!studio_agreed_has (outside[i]))
      g_strv_builder_add (missing, outside[i]);
  return g_strv_builder_end (missing);
}

void
studio_allowed_paths_add (char **paths)
{
  g_mutex_lock (&lock);
  load ();
  for (guint i = 0; paths[i] != NULL; i++)
    {
      g_autofree char *line = g_strescape (paths[i], NULL);

      add_line (line);
    }
  save ();
  g_mutex_unlock (&lock);
}
