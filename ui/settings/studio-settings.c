/* Reads and writes the key file of window settings. */
#include "ui/settings/studio-settings.h"

#define GROUP "window"

static char *
dup_path (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "window.ini", NULL);
}

/* Read each time, because another Studio process may have written it. */
static GKeyFile *
load (void)
{
  GKeyFile *file = g_key_file_new ();
  g_autofree char *path = dup_path ();
  g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, NULL);
  return file;
}

/* The user's file if it has the key, else that of the administrator, which only presets. */
static GKeyFile *
load_with (const char *key)
{
  g_autoptr (GKeyFile) file = load (), presets = g_key_file_new ();

  if (!g_key_file_has_key (file, GROUP, key, NULL)
      && g_key_file_load_from_dirs (presets, "gradloom/studio.ini", (const char **)g_get_system_config_dirs (), NULL,
                                    G_KEY_FILE_NONE, NULL))
    return g_steal_pointer (&presets);
  return g_steal_pointer (&file);
}

gboolean
studio_settings_get_boolean (const char *key, gboolean otherwise)
{
  g_autoptr (GKeyFile) file = load_with (key);
  g_autoptr (GError) error = NULL;
  gboolean value = g_key_file_get_boolean (file, GROUP, key, &error);
  return error == NULL ? value : otherwise;
}

char *
studio_settings_dup_string (const char *key)
{
  g_autoptr (GKeyFile) file = load_with (key);
  return g_key_file_get_string (file, GROUP, key, NULL);
}

void
studio_settings_set_string (const char *key, const char *value)
{
  g_autoptr (GKeyFile) file = load ();
  g_autofree char *path = dup_path (), *folder = g_path_get_dirname (path);
  g_autofree char *before = g_key_file_get_string (file, GROUP, key, NULL);
  if (g_strcmp0 (before, value) == 0)
    return;
  g_key_file_set_string (file, GROUP, key, value);
  g_mkdir_with_parents (folder, 0700);
  g_key_file_save_to_file (file, path, NULL);
}

void
studio_settings_set_boolean (const char *key, gboolean value)
{
  studio_settings_set_string (key, value ? "true" : "false");
}

#define HISTORY "history-megabytes"

gint64
studio_settings_get_history (void)
{
  g_autoptr (GKeyFile) file = load_with (HISTORY);
  g_autoptr (GError) error = NULL;
  const gint64 value = g_key_file_get_int64 (file, GROUP, HISTORY, &error);
  return error == NULL ? CLAMP (value, 0, STUDIO_SETTINGS_HISTORY_MOST) : 200;
}

void
studio_settings_set_history (gint64 megabytes)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, megabytes);
  studio_settings_set_string (HISTORY, text);
}
