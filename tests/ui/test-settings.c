/* Settings of a user, and those that an administrator presets. */
#include "tests/test-program.h"

#include "ui/settings/studio-settings.h"

/* In the first folder of XDG_CONFIG_DIRS, which g_test_init() has made for this test. */
static void
preset (const char *text)
{
  g_autofree char *folder = g_build_filename (g_get_system_config_dirs ()[0], "gradloom", NULL),
                  *file = g_build_filename (folder, "studio.ini", NULL);

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (file, text, -1, NULL));
}

static void
test_presets (void)
{
  g_assert_true (studio_settings_get_boolean ("minimap", TRUE));
  g_assert_cmpint (studio_settings_get_history (), ==, 200);
  preset ("[window]\nminimap=false\nhistory-megabytes=50\ntypes=names\n");
  g_assert_false (studio_settings_get_boolean ("minimap", TRUE));
  g_assert_cmpint (studio_settings_get_history (), ==, 50);
  g_autofree char *types = studio_settings_dup_string ("types");
  g_assert_cmpstr (types, ==, "names");

  /* What the user sets counts, also the value that was preset, and only for its own key. */
  studio_settings_set_boolean ("minimap", TRUE);
  studio_settings_set_history (50);
  g_assert_true (studio_settings_get_boolean ("minimap", FALSE));
  preset ("[window]\nminimap=false\nhistory-megabytes=10\n");
  g_assert_true (studio_settings_get_boolean ("minimap", FALSE));
  g_assert_cmpint (studio_settings_get_history (), ==, 50);

  preset ("no key file");
  g_assert_null (studio_settings_dup_string ("types"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/settings/presets", test_presets);
  return g_test_run ();
}
