/* Runs from elsewhere: links in their folders lead to no file outside. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/test-program.h"
#include "tests/train/resume-test.h"

static char *
path_in (Fixture *f, const char *name)
{
  return g_build_filename (f->folder, name, NULL);
}

static void
put_link (Fixture *f, const char *to, const char *name)
{
  g_autofree char *target = path_in (f, to), *link = g_build_filename (f->run, name, NULL);

  g_assert_cmpint (symlink (target, link), ==, 0);
}

static void
assert_precious (Fixture *f)
{
  static const char *const names[] = { "outside/precious.txt", "outside/weights.safetensors" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = path_in (f, names[i]), *text = NULL;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      g_assert_cmpstr (text, ==, "precious");
    }
}

static void
make_precious (Fixture *f)
{
  g_autofree char *outside = path_in (f, "outside"), *text = path_in (f, "outside/precious.txt"),
                  *weights = path_in (f, "outside/weights.safetensors");

  g_assert_cmpint (g_mkdir (outside, 0700), ==, 0);
  g_assert_true (g_file_set_contents (text, "precious", -1, NULL));
  g_assert_true (g_file_set_contents (weights, "precious", -1, NULL));
}

/* An untrusted run removes and writes no files outside its folder, and of a checkpoint only its files. */
static void
test_links_of_checkpoints (Fixture *f, gconstpointer data)
{
  static const char *const links[] = { "checkpoints/.new-9", "checkpoints/3", "checkpoints/4/weights.safetensors" };
  g_autofree char *left = g_build_filename (f->run, "checkpoints/4", NULL), *checkpoints = path_in (f, "moved"),
                  *own = g_build_filename (f->run, "checkpoints", NULL);
  LoomTrainerOptions o = again (f);

  make_precious (f);
  g_assert_cmpint (g_mkdir (left, 0700), ==, 0);
  write_text (f, "checkpoints/4/notes.txt", "mine");
  put_link (f, "outside", links[0]);
  put_link (f, "outside", links[1]);
  put_link (f, "outside/precious.txt", links[2]);
  g_autofree char *weights = g_build_filename (f->run, "weights.safetensors", NULL);
  g_assert_cmpint (g_remove (weights), ==, 0);
  put_link (f, "outside/precious.txt", "weights.safetensors");
  o.epochs = 4;
  g_autoptr (LoomTrainer) trainer = resume (&o);
  train_test_run (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  assert_precious (f);
  g_assert_false (g_file_test (weights, G_FILE_TEST_IS_SYMLINK));
  g_autofree char *notes = read_text (f, "checkpoints/4/notes.txt");
  g_assert_cmpstr (notes, ==, "mine");

  g_assert_cmpint (g_rename (own, checkpoints), ==, 0);
  put_link (f, "moved", "checkpoints");
  o = again (f);
  refuse (&o, 5, "checkpoints” cannot be opened: it is a symbolic link");
  g_assert_cmpint (g_remove (own), ==, 0);
  g_assert_cmpint (g_rename (checkpoints, own), ==, 0);
  /* The test's own removal follows links. */
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *link = g_build_filename (f->run, links[i], NULL);
      g_assert_cmpint (g_remove (link), ==, 0);
    }
}

/* A link under a name that the next checkpoint takes ends the run with a sentence, and leads to nothing. */
static void
test_links_of_next_checkpoint (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *link, *says;
  } cases[] = { { "checkpoints/.new-33", "checkpoints/.new-33” cannot be opened: it is a symbolic link" },
                { "checkpoints/33", "Cannot rename a checkpoint to " } };

  make_precious (f);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomTrainerOptions o = again (f);
      g_autoptr (GError) error = NULL;
      g_autofree char *link = g_build_filename (f->run, cases[i].link, NULL), *outside = path_in (f, "outside");
      g_autoptr (GDir) dir = NULL;
      guint files = 0;

      o.epochs = 3;
      g_autoptr (LoomTrainer) trainer = resume (&o);
      g_assert_cmpint (loom_trainer_steps (trainer), ==, 22);
      put_link (f, "outside", cases[i].link);
      g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_FAILED);
      if (strstr (error->message, cases[i].says) == NULL)
        g_error ("“%s” does not say “%s”", error->message, cases[i].says);
      assert_precious (f);
      dir = g_dir_open (outside, 0, NULL);
      while (g_dir_read_name (dir) != NULL)
        files++;
      g_assert_cmpuint (files, ==, 2);
      g_assert_true (g_file_test (link, G_FILE_TEST_IS_SYMLINK));
      g_assert_cmpint (g_remove (link), ==, 0);
    }
}

/* No file is read or written through a link, or written if it has another hard link. */
static void
test_links_of_files (Fixture *f, gconstpointer data)
{
  static const char *const names[] = { "events.jsonl", "run.json", "graph.xml" };
  g_autofree char *precious = path_in (f, "outside/precious.txt");
  LoomTrainerOptions o = again (f);

  make_precious (f);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (f->run, names[i], NULL), *aside = path_in (f, "aside");

      g_assert_cmpint (g_rename (path, aside), ==, 0);
      put_link (f, "aside", names[i]);
      refuse (&o, 5, "it is a symbolic link");
      g_assert_cmpint (g_remove (path), ==, 0);
      if (i == 0)
        {
          g_assert_cmpint (link (precious, path), ==, 0);
          refuse (&o, 5, "a second name (a hard link)");
          g_assert_cmpint (g_remove (path), ==, 0);
        }
      g_assert_cmpint (mkfifo (path, 0600), ==, 0);
      refuse (&o, 5, "not a regular file");
      g_assert_cmpint (g_remove (path), ==, 0);
      g_assert_cmpint (g_rename (aside, path), ==, 0);
      assert_precious (f);
    }
  g_autofree char *averages = g_build_filename (f->run, "weights-ema.safetensors", NULL);
  g_autoptr (GError) error = NULL;
  put_link (f, "outside/weights.safetensors", "weights-ema.safetensors");
  g_assert_null (loom_run_newest_weights (f->run, &error));
  g_assert_nonnull (strstr (error->message, "it is a symbolic link"));
  g_assert_cmpint (g_remove (averages), ==, 0);

  /* The path of the run may be one. */
  g_autofree char *alias = path_in (f, "alias");
  g_assert_cmpint (symlink (f->run, alias), ==, 0);
  o.resume = alias;
  g_autoptr (LoomTrainer) trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 22);
  g_assert_cmpint (g_remove (alias), ==, 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/resume-links/checkpoints", test_links_of_checkpoints);
  ADD ("/resume-links/next-checkpoint", test_links_of_next_checkpoint);
  ADD ("/resume-links/files", test_links_of_files);
  return g_test_run ();
}
