/* Writing completely or not at all: the files after success, after cancelling, and on a full disk. */
#include "engine/core/loom-atomic-file.h"
#include "tests/test-program.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-folder.h"

typedef struct
{
  char *folder, *path;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("loom-atomic-XXXXXX", NULL);
  f->path = g_build_filename (f->folder, "file", NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_unlink (f->path);
  g_assert_cmpint (g_rmdir (f->folder), ==, 0); /* nothing else is left */
  g_free (f->folder);
  g_free (f->path);
}

static void
assert_content (const char *path, const char *expected)
{
  g_autofree char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, expected);
}

static void
test_replace (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  struct stat info;

  g_assert_true (loom_file_replace (f->path, "one", 3, &error));
  g_assert_no_error (error);
  assert_content (f->path, "one");
  g_assert_cmpint (g_chmod (f->path, 0640), ==, 0);
  g_assert_true (loom_file_replace (f->path, "three", 5, &error));
  assert_content (f->path, "three");
  g_assert_cmpint (g_stat (f->path, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0640);
}

static void
test_give_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  LoomAtomicFile *file;

  g_assert_true (loom_file_replace (f->path, "old", 3, &error));
  file = loom_atomic_file_new (NULL, f->path, &error);
  g_assert_true (loom_atomic_file_write (file, "half of the new", 15, &error));
  assert_content (f->path, "old");
  loom_atomic_file_free (file);
  assert_content (f->path, "old");
}

static void
test_link (Fixture *f, gconstpointer data)
{
  g_autofree char *link_path = g_build_filename (f->folder, "link", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (loom_file_replace (f->path, "old", 3, &error));
  g_assert_cmpint (symlink ("file", link_path), ==, 0);
  g_assert_true (loom_file_replace (link_path, "new", 3, &error));
  assert_content (f->path, "new");
  g_assert_true (g_file_test (link_path, G_FILE_TEST_IS_SYMLINK));
  g_unlink (link_path);
}

/* The target of a link is made, and the link stays one. */
static void
test_link_to_nothing (Fixture *f, gconstpointer data)
{
  g_autofree char *link_path = g_build_filename (f->folder, "link", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (symlink ("file", link_path), ==, 0);
  g_assert_true (loom_file_replace (link_path, "new", 3, &error));
  g_assert_no_error (error);
  g_assert_true (g_file_test (link_path, G_FILE_TEST_IS_SYMLINK));
  g_unlink (link_path);
  assert_content (f->path, "new");
}

/* A file that is not regular is written to, and is there afterwards. */
static void
test_pipe (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  char got[8] = { 0 };
  struct stat info;
  int fd;

  g_assert_cmpint (mkfifo (f->path, 0600), ==, 0);
  fd = open (f->path, O_RDWR | O_NONBLOCK);
  g_assert_cmpint (fd, >=, 0);
  g_assert_true (loom_file_replace (f->path, "through", 7, &error));
  g_assert_no_error (error);
  g_assert_cmpint (read (fd, got, sizeof got), ==, 7);
  g_assert_cmpstr (got, ==, "through");
  close (fd);
  g_assert_cmpint (g_stat (f->path, &info), ==, 0);
  g_assert_true (S_ISFIFO (info.st_mode));
}

static void
test_faults (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *nowhere = g_build_filename (f->folder, "no", "file", NULL);
  g_autofree char *expected = g_strdup_printf ("“%s” could not be written: No such file or directory.", nowhere);

  g_assert_false (loom_file_replace (nowhere, "x", 1, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_cmpstr (error->message, ==, expected);
  g_clear_error (&error);

  g_assert_false (loom_file_replace (f->folder, "x", 1, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);

  if (!g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    {
      g_test_skip ("there is no /dev/full to play a full disk");
      return;
    }
  g_assert_false (loom_file_replace ("/dev/full", "x", 1, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_cmpstr (error->message, ==,
                   "“/dev/full” could not be written, because the disk is full; free some space and try again.");
}

/* A folder that cannot be synchronised, here for want of descriptors, is named in full. */
static void
test_folder_fault (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFolder) folder = loom_folder_open (f->folder, NULL);
  g_autoptr (LoomAtomicFile) file = loom_atomic_file_new (folder, "file", NULL);
  struct rlimit before, none;

  g_assert_nonnull (file);
  getrlimit (RLIMIT_NOFILE, &before);
  none = before;
  none.rlim_cur = 0;
  setrlimit (RLIMIT_NOFILE, &none);
  g_assert_false (loom_atomic_file_commit (file, &error));
  setrlimit (RLIMIT_NOFILE, &before);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_nonnull (strstr (error->message, f->folder));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/atomic-file/replace", Fixture, NULL, set_up, test_replace, tear_down);
  g_test_add ("/atomic-file/give-up", Fixture, NULL, set_up, test_give_up, tear_down);
  g_test_add ("/atomic-file/link", Fixture, NULL, set_up, test_link, tear_down);
  g_test_add ("/atomic-file/link-to-nothing", Fixture, NULL, set_up, test_link_to_nothing, tear_down);
  g_test_add ("/atomic-file/pipe", Fixture, NULL, set_up, test_pipe, tear_down);
  g_test_add ("/atomic-file/faults", Fixture, NULL, set_up, test_faults, tear_down);
  g_test_add ("/atomic-file/folder-fault", Fixture, NULL, set_up, test_folder_fault, tear_down);
  return g_test_run ();
}
