/* A watched file, without a document: its states, notification, and what is no change. */
#include <string.h>

#include <glib/gstdio.h>

#include "tests/test-program.h"
#include "ui/document/studio-file-watch.h"

typedef struct
{
  char *folder, *path;
  StudioFileWatch *watch;
  guint n_states, n_holders;
} Fixture;

static void
put (Fixture *f, const char *text)
{
  g_assert_true (g_file_set_contents (f->path, text, -1, NULL));
}

static char *
digest (const char *text)
{
  return studio_file_watch_digest_of (text, strlen (text));
}

static void
state_cb (Fixture *f)
{
  f->n_states++;
}

static void
holder_cb (Fixture *f)
{
  f->n_holders++;
}

static void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("gradloom-watch-XXXXXX", NULL);
  f->path = g_build_filename (f->folder, "file.xml", NULL);
  put (f, "ours");
  f->watch = studio_file_watch_new ();
  g_signal_connect_swapped (f->watch, "notify::state", G_CALLBACK (state_cb), f);
  g_signal_connect_swapped (f->watch, "notify::holder", G_CALLBACK (holder_cb), f);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_object_unref (f->watch);
  g_unlink (f->path);
  g_assert_cmpint (g_rmdir (f->folder), ==, 0);
  g_free (f->path);
  g_free (f->folder);
}

static void
expect (Fixture *f, StudioDiskState state, guint n_states)
{
  StudioDiskState now;

  g_assert_cmpint (studio_file_watch_check (f->watch), ==, state);
  g_assert_cmpint (studio_file_watch_get_state (f->watch), ==, state);
  g_object_get (f->watch, "state", &now, NULL);
  g_assert_cmpint (now, ==, state);
  g_assert_cmpuint (f->n_states, ==, n_states);
}

static void
test_states (Fixture *f, gconstpointer data)
{
  expect (f, STUDIO_DISK_SAME, 0);
  g_assert_null (studio_file_watch_get_digest (f->watch));
  studio_file_watch_set (f->watch, f->path, digest ("ours"));
  expect (f, STUDIO_DISK_SAME, 0);
  put (f, "ours");
  expect (f, STUDIO_DISK_SAME, 0);
  put (f, "theirs");
  expect (f, STUDIO_DISK_CHANGED, 1);
  put (f, "ours");
  expect (f, STUDIO_DISK_SAME, 2);
  g_unlink (f->path);
  expect (f, STUDIO_DISK_GONE, 3);
  /* The owner takes what is there as known: no notification. */
  put (f, "theirs");
  studio_file_watch_set (f->watch, f->path, digest ("theirs"));
  g_assert_cmpint (studio_file_watch_get_state (f->watch), ==, STUDIO_DISK_SAME);
  g_assert_cmpuint (f->n_states, ==, 3);
  studio_file_watch_set (f->watch, NULL, NULL);
  put (f, "others");
  expect (f, STUDIO_DISK_SAME, 3);
}

/* While the owner writes, the file is not compared. */
static void
test_held (Fixture *f, gconstpointer data)
{
  studio_file_watch_set (f->watch, f->path, digest ("ours"));
  studio_file_watch_set_held (f->watch, TRUE);
  put (f, "half");
  expect (f, STUDIO_DISK_SAME, 0);
  studio_file_watch_set_held (f->watch, FALSE);
  expect (f, STUDIO_DISK_CHANGED, 1);
}

/* The monitor reports by itself. */
static void
test_monitor (Fixture *f, gconstpointer data)
{
  studio_file_watch_set (f->watch, f->path, digest ("ours"));
  put (f, "theirs");
  while (f->n_states == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (studio_file_watch_get_state (f->watch), ==, STUDIO_DISK_CHANGED);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/file-watch/states", Fixture, NULL, set_up, test_states, tear_down);
  g_test_add ("/file-watch/held", Fixture, NULL, set_up, test_held, tear_down);
  g_test_add ("/file-watch/monitor", Fixture, NULL, set_up, test_monitor, tear_down);
  return g_test_run ();
}
