/* An export to a path that is a symbolic link, or in a folder that is reached by one: the link stays, and its target is
 * written. No display. */
#include "ui/export/studio-export-job.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include "engine/loom.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
ended_cb (StudioExportJob *job, const char *sentence, gboolean *is_done)
{
  g_assert_cmpstr (sentence, ==, NULL);
  *is_done = TRUE;
}

static void
export_to (const char *file)
{
  static const char xml[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" "
                            "shape=\"B,4\"/></graph>";
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, (gssize)strlen (xml), "test", faults, NULL);
  g_autoptr (StudioExportJob) job = studio_export_job_new (loom_export_format_find ("svg"), file);
  const StudioPictureOptions options = { .dark = FALSE };
  gboolean is_done = FALSE;

  g_signal_connect (job, "ended", G_CALLBACK (ended_cb), &is_done);
  studio_export_job_start_picture (job, studio_picture_scene (graph, NULL, NULL), &options, NULL);
  while (!is_done)
    g_main_context_iteration (NULL, TRUE);
}

static void
expect_svg (const char *path, mode_t kind)
{
  g_autofree char *text = NULL;
  struct stat info;

  g_assert_cmpint (lstat (path, &info), ==, 0);
  g_assert_cmpint (info.st_mode & S_IFMT, ==, kind);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "<svg"));
}

/* A temporary folder, perhaps on another file system than the first. */
static void
test_link (const char *elsewhere)
{
  g_autofree char *top = g_dir_make_tmp ("export-XXXXXX", NULL), *link = g_build_filename (top, "g.svg", NULL);
  g_autofree char *other = g_build_filename (elsewhere, "export-XXXXXX", NULL);
  g_autofree char *target = NULL, *folder = g_build_filename (top, "folder", NULL);
  g_autofree char *inside = g_build_filename (folder, "in.svg", NULL), *there = NULL;
  struct stat info;
  guint n = 0;
  const char *name;

  g_assert_nonnull (g_mkdtemp (other));
  target = g_build_filename (other, "target.svg", NULL);
  there = g_build_filename (other, "in.svg", NULL);
  g_assert_true (g_file_set_contents (target, "old", -1, NULL));
  g_assert_cmpint (chmod (target, 0640), ==, 0);
  g_assert_cmpint (symlink (target, link), ==, 0);
  export_to (link);
  expect_svg (link, S_IFLNK);
  expect_svg (target, S_IFREG);
  g_assert_cmpint (stat (target, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0640);
  g_assert_cmpint (symlink (other, folder), ==, 0);
  export_to (inside);
  expect_svg (there, S_IFREG);
  /* Nothing else is left in either folder. */
  g_autoptr (GDir) dir = g_dir_open (other, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    n++;
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpint (unlink (folder), ==, 0);
  g_assert_cmpint (unlink (link), ==, 0);
  g_assert_cmpint (rmdir (top), ==, 0);
  remove_tree (other);
}

static void
test_here (void)
{
  test_link (g_get_tmp_dir ());
}

static void
test_other_file_system (void)
{
  struct stat here, there;

  if (stat (g_get_tmp_dir (), &here) != 0 || stat ("/dev/shm", &there) != 0 || here.st_dev == there.st_dev
      || access ("/dev/shm", W_OK) != 0)
    {
      g_test_skip ("/dev/shm is no file system of its own");
      return;
    }
  test_link ("/dev/shm");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/export/link", test_here);
  g_test_add_func ("/export/link-to-another-file-system", test_other_file_system);
  return g_test_run ();
}
