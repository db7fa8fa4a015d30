/* The helpers over the table of the operating system: they go on after interruptions and after parts of reads and
 * writes, report what fails, and synchronise the folders that they make. */
#include "engine/core/loom-error.h"
#include "engine/core/loom-folder.h"
#include "engine/core/loom-os.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct
{
  LoomOs os;
  guint calls, synchronised;
} fake;

/* Each first call is interrupted, and each other one reads or writes a byte. */
static gssize
read_slowly (int fd, void *to, gsize n)
{
  if (fake.calls++ % 2 == 0)
    {
      errno = EINTR;
      return -1;
    }
  return loom_os_real.read (fd, to, MIN (n, 1));
}

static gssize
write_slowly (int fd, const void *from, gsize n)
{
  if (fake.calls++ % 2 == 0)
    {
      errno = EINTR;
      return -1;
    }
  return loom_os_real.write (fd, from, MIN (n, 1));
}

static char **
fail_list (int folder)
{
  errno = EMFILE;
  return NULL;
}

static int
count_sync (int fd, gboolean only_data)
{
  fake.synchronised++;
  return 0;
}

static void
begin (void)
{
  fake.os = loom_os_real;
  fake.calls = fake.synchronised = 0;
  loom_os = &fake.os;
}

static void
test_parts (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-os-XXXXXX", NULL), *path = g_build_filename (top, "file", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;
  int fd;

  begin ();
  fake.os.read = read_slowly;
  fake.os.write = write_slowly;
  fd = loom_open (AT_FDCWD, path, O_WRONLY | O_CREAT);
  g_assert_cmpint (fd, >=, 0);
  g_assert_true (loom_write (fd, "a piece of text", 15));
  loom_close (fd);
  g_assert_true (loom_path_read (path, &text, &length, &error));
  g_assert_no_error (error);
  loom_os = &loom_os_real;
  g_assert_cmpuint (length, ==, 15);
  g_assert_cmpstr (text, ==, "a piece of text");
  remove_tree (top);
}

/* A run whose checkpoints cannot be listed must not begin again. */
static void
test_unreadable_folder (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-os-XXXXXX", NULL);
  g_autoptr (LoomFolder) folder = loom_folder_open (top, NULL);
  g_autoptr (GError) error = NULL;

  begin ();
  fake.os.list = fail_list;
  g_assert_null (loom_folder_names (folder, &error));
  loom_os = &loom_os_real;
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_nonnull (strstr (error->message, top));
  remove_tree (top);
}

/* Of a/b/c below an old folder, the old one and a and b have new entries; and a process that was killed may have left
 * the last one unsynchronised. */
static void
test_made_folders (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-os-XXXXXX", NULL),
                  *path = g_build_filename (top, "a", "b", "c", NULL);
  g_autofree char *file = g_build_filename (top, "file", NULL), *below = g_build_filename (file, "d", NULL);

  begin ();
  fake.os.sync = count_sync;
  g_assert_true (loom_path_make_folder (path, 0700));
  g_assert_cmpuint (fake.synchronised, >=, 3);
  fake.synchronised = 0;
  g_assert_true (loom_path_make_folder (path, 0700));
  g_assert_cmpuint (fake.synchronised, ==, 1);
  loom_os = &loom_os_real;
  g_assert_true (loom_path_is_folder (path));
  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  g_assert_false (loom_path_make_folder (file, 0700));
  g_assert_cmpint (errno, ==, ENOTDIR);
  g_assert_false (loom_path_make_folder (below, 0700));
  remove_tree (top);
}

static void
test_types (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-os-XXXXXX", NULL), *link = g_build_filename (top, "link", NULL);
  g_autofree char *target = NULL;
  g_autoptr (GError) error = NULL;
  char *text;

  g_assert_cmpint (symlink ("nothing", link), ==, 0);
  g_assert_true (loom_path_is_link (link));
  g_assert_false (loom_path_exists (link));
  target = loom_path_link (link);
  g_assert_cmpstr (target, ==, "nothing");
  g_assert_true (loom_path_is_folder (top));
  g_assert_false (loom_path_is_file (top));
  g_assert_false (loom_path_read (top, &text, NULL, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_ISDIR);
  remove_tree (top);
}

/* A temporary folder is this user's alone, and what a link in it leads to stays. */
static void
test_temporary (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *kept = loom_path_make_temporary ("gradloom-os", &error);
  g_autofree char *top = loom_path_make_temporary ("gradloom-os", &error);
  g_autofree char *file = g_build_filename (kept, "file", NULL), *inner = g_build_filename (top, "a", "b", NULL);
  g_autofree char *link = g_build_filename (inner, "link", NULL), *other = g_build_filename (inner, "c", NULL);
  struct stat info;

  g_assert_no_error (error);
  g_assert_cmpint (stat (top, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0700);
  g_assert_true (loom_path_make_folder (inner, 0700));
  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  g_assert_true (g_file_set_contents (other, "", 0, NULL));
  g_assert_cmpint (symlink (kept, link), ==, 0);
  loom_path_remove_all (top);
  g_assert_false (loom_path_exists (top));
  g_assert_true (loom_path_is_file (file));
  loom_path_remove_all (kept);
  g_assert_false (loom_path_exists (kept));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/os/parts", test_parts);
  g_test_add_func ("/os/unreadable-folder", test_unreadable_folder);
  g_test_add_func ("/os/made-folders", test_made_folders);
  g_test_add_func ("/os/types", test_types);
  g_test_add_func ("/os/temporary", test_temporary);
  return g_test_run ();
}
