/* The end of `gradloom train --ranks N` if a rank is lost, hangs, or is asked to end: one sentence, and a valid
 * checkpoint. Skipped if there is no mpirun or the build has no MPI. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A rank of the run in this folder, by a line of its environment. */
static int
find_process (const char *mark)
{

  g_autoptr (GDir) dir = g_dir_open ("/proc", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_strdup_printf ("/proc/%s/environ", name), *text = NULL;
      g_autofree char *cwd = g_strdup_printf ("/proc/%s/cwd", name), *there = g_file_read_link (cwd, NULL);
      g_autofree char *here = g_get_current_dir ();
      gsize length;

      if (g_strcmp0 (there, here) != 0 || !g_file_get_contents (path, &text, &length, NULL))
        continue;
      if (memmem (text, length, mark, strlen (mark)) != NULL)
        return atoi (name);
    }
  return 0;
}

/* One that is not the first. */
static int
find_rank (void)
{
  return find_process ("OMPI_COMM_WORLD_RANK=1");
}

/* Its errors are written to the file errors.txt. */
static void
redirect (gpointer data)
{
  freopen ("errors.txt", "w", stderr);
}

/* option: with its value, or NULL. */
static GPid
start_graph (const char *path, const char *folder, const char *option, const char *value)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  const char *argv[]
      = { program, "train", path, "--epochs", "1000000", "--ranks", "2", "--out", folder, option, value, NULL };
  GPid pid;

  g_assert_true (g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                                redirect, NULL, &pid, NULL));
  return pid;
}

static GPid
start_with (const char *folder, const char *option, const char *value)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  return start_graph (path, folder, option, value);
}

static GPid
start (const char *folder)
{
  return start_with (folder, NULL, NULL);
}

static int
wait_for (GPid pid)
{
  int status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

/* For ten minutes, which only a run that hangs takes. */
#define WAIT_FOR(condition)                                                                                            \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    for (int i_ = 0; i_ < 60000 && !(condition); i_++)                                                                 \
      g_usleep (10000);                                                                                                \
    g_assert_true (condition);                                                                                         \
  }                                                                                                                    \
  G_STMT_END

static gboolean
file_has (const char *path, const char *words)
{
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) && strstr (text, words) != NULL;
}

/* Whether it has started the launcher: it has a child then. */
static gboolean
is_front (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%d/children", pid, pid), *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) && text[0] != '\0';
}

/* Until the first epoch is over. */
static void
wait_until_it_trains (const char *folder)
{
  g_autofree char *events = g_build_filename (folder, "events.jsonl", NULL);

  WAIT_FOR (file_has (events, "\"eval\""));
}

/* One sentence of the launching process reports which rank was lost, why, and how to resume; no output of Open MPI
 * remains. */
static void
test_lost (void)
{
  g_autofree char *said = NULL;
  const char *says = "gradloom train: Rank 1 was ended by signal 9 (Killed), and the run has ended on all ranks.";
  GPid pid;

  if (!cli_has_mpi ())
    return;
  pid = start ("lost");
  wait_until_it_trains ("lost");
  g_assert_cmpint (find_rank (), >, 0);
  kill (find_rank (), SIGKILL);
  g_assert_cmpint (wait_for (pid), ==, 3);
  g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
  if (strstr (said, says) == NULL || strstr (said, "--resume lost --ranks 2\n") == NULL
      || strstr (said, "mpirun") != NULL || strstr (said, "--------") != NULL)
    g_error ("%s", said);
}

/* A signal to a single rank ends all of them with a checkpoint: one sentence, and no rank is reported as lost. */
static void
test_said (void)
{
  static const char says[] = "gradloom train: Interrupted after step ", how[] = "--resume told --ranks 2\n";
  g_autofree char *said = NULL;
  int status;
  GPid pid;

  if (!cli_has_mpi ())
    return;
  pid = start ("told");
  wait_until_it_trains ("told");
  g_assert_cmpint (find_rank (), >, 0);
  kill (find_rank (), SIGUSR1);
  /* Rank 0 ends as by SIGTERM, since which signal it was is known to the other alone. */
  status = wait_for (pid);
  g_assert_true (status == 128 + SIGUSR1 || status == 128 + SIGTERM);
  g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
  if (strstr (said, says) == NULL || strstr (said, how) == NULL || strstr (said, "lost") != NULL)
    g_error ("%s", said);
}

/* More ranks than a machine can run are refused before any of them is started, with the allowed number. */
static void
test_many (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  cli_expect (2, "from 1 to 1024", "train", path, "--ranks", "5000");
  if (loom_processors () * 16 < 1024)
    cli_expect (2, "Use --ranks ", "train", path, "--ranks", "1024");
}

/* If the run is asked to end before mpirun has started the ranks, it ends, too: no process remains. */
static void
test_early (void)
{
  static const gulong delays[] = { 1000, 20000, 60000, 150000, 300000 };

  if (!cli_has_mpi ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (delays); i++)
    {
      g_autofree char *folder = g_strdup_printf ("early-%u", i);
      GPid pid = start (folder);

      g_usleep (delays[i]);
      /* The program itself takes signals once it has become the front. */
      while (!is_front (pid))
        g_usleep (1000);
      kill (pid, SIGTERM);
      g_assert_cmpint (wait_for (pid), ==, 128 + SIGTERM);
      g_assert_cmpint (find_process ("OMPI_COMM_WORLD_RANK=0"), ==, 0);
      g_assert_cmpint (find_rank (), ==, 0);
    }
}

/* A stopped process hangs. The run ends with one sentence and a valid checkpoint. */
static void
expect_hung (const char *folder, const char *mark, const char *says)
{
  g_autofree char *said = NULL, *weights = g_build_filename (folder, "weights.safetensors", NULL);
  GPid pid = start_with (folder, "--timeout", "10");
  int rank;

  wait_until_it_trains (folder);
  rank = find_process (mark);
  g_assert_cmpint (rank, >, 0);
  kill (rank, SIGSTOP);
  g_assert_cmpint (wait_for (pid), ==, 3);
  g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
  if (strstr (said, says) == NULL || strstr (strstr (said, "not reached") + 1, "not reached") != NULL)
    g_error ("%s", said);
  g_assert_nonnull (strstr (said, "within 10 seconds"));
  /* Rank 0 prints how to resume, or the launching process does. */
  if (strstr (said, "--resume") == NULL || strstr (strstr (said, "--resume") + 1, "--resume") != NULL)
    g_error ("%s", said);
  if (g_str_equal (folder, "hung"))
    g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
  g_assert_cmpint (find_process (mark), ==, 0);
}

/* With more than two ranks, those that wait for the hanging one, directly or indirectly, are not named. */
static void
expect_named (const char *strategy, const char *ranks, const char *mark, const char *says)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *path = cli_example ("models/fashion-mlp.xml"), *said = NULL;
  const char *argv[]
      = { program,     "train", path,         "--epochs", "1000000",   "--ranks", ranks,          "--out", strategy,
          "--timeout", "10",    "--strategy", strategy,   "--threads", "1",       "--batch-size", "64",    NULL };
  GPid pid;
  int rank;

  g_assert_true (g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                                redirect, NULL, &pid, NULL));
  wait_until_it_trains (strategy);
  rank = find_process (mark);
  g_assert_cmpint (rank, >, 0);
  kill (rank, SIGSTOP);
  g_assert_cmpint (wait_for (pid), ==, 3);
  g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
  if (strstr (said, says) == NULL || strstr (strstr (said, "not reached") + 1, "not reached") != NULL)
    g_error ("%s", said);
}

static void
test_named (void)
{
  if (!cli_has_mpi ())
    return;
  expect_named ("1f1b", "4", "OMPI_COMM_WORLD_RANK=2", "Rank 2 has not reached “");
  expect_named ("data", "3", "OMPI_COMM_WORLD_RANK=1", "Rank 1 has not reached “");
}

/* The run can be continued to the end of the epoch in which it is; only the run knows which one that is. */
static void
expect_resume (const char *run, const char *ranks)
{
  g_auto (CliResult) early = cli ("train", "--resume", run, "--epochs", "1", "--ranks", ranks, NULL);
  const char *least = early.status == 2 ? strstr (early.err, "with at least ") : NULL;
  g_autofree char *epochs = NULL;

  if (early.status == 0)
    return;
  if (least == NULL)
    g_error ("status %d: %s", early.status, early.err);
  epochs = g_strdup_printf ("%d", atoi (least + strlen ("with at least ")));
  cli_expect (0, NULL, "train", "--resume", run, "--epochs", epochs, "--ranks", ranks);
}

static void
test_hung (void)
{
  if (!cli_has_mpi ())
    return;
  expect_hung ("hung", "OMPI_COMM_WORLD_RANK=1", "Rank 1 has not reached “");
  expect_hung ("headless", "OMPI_COMM_WORLD_RANK=0", "Rank 1: ");
  expect_resume ("hung", "1");
}

/* A full disk on rank 0 ends all ranks with one sentence, and the run resumes from its newest checkpoint when there is
 * space. (Files of the running rank may not grow from here on.) */
static void
test_full_disk (void)
{
  const struct rlimit none = { 0, 0 };
  const char *says = "gradloom train: ";
  g_autofree char *said = NULL;
  GPid pid;
  int rank;

  if (!cli_has_mpi ())
    return;
  pid = start_with ("filled", "--timeout", "600");
  WAIT_FOR (g_file_test ("filled/weights.safetensors", G_FILE_TEST_EXISTS));
  rank = find_process ("OMPI_COMM_WORLD_RANK=0");
  g_assert_cmpint (rank, >, 0);
  g_assert_cmpint (prlimit (rank, RLIMIT_FSIZE, &none, NULL), ==, 0);
  g_assert_cmpint (wait_for (pid), ==, 5);
  g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
  if (strstr (said, says) == NULL || strstr (strstr (said, says) + 1, says) != NULL || strstr (said, "large") == NULL)
    g_error ("%s", said);
  WAIT_FOR (find_rank () == 0);
  expect_resume ("filled", "1");
}

/* One that is late within the time ends nothing. */
static void
test_slow (void)
{
  GPid pid;
  int rank;

  if (!cli_has_mpi ())
    return;
  pid = start_with ("slow", "--timeout", "600");
  wait_until_it_trains ("slow");
  rank = find_rank ();
  g_assert_cmpint (rank, >, 0);
  kill (rank, SIGSTOP);
  g_usleep (500000);
  kill (rank, SIGCONT);
  g_usleep (300000);
  kill (pid, SIGINT);
  g_assert_cmpint (wait_for (pid), ==, 130);
  expect_resume ("slow", "2");
}

/* Without a timeout a stopped rank blocks the others, which is reported after they were asked to end; a second signal
 * ends them at once, with one sentence from the signalled process about the remaining files. */
static void
test_stopped (void)
{
  static const char *const marks[] = { "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_RANK=1" };

  if (!cli_has_mpi ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    {
      g_autofree char *folder = g_strdup_printf ("stopped-%u", i), *said = NULL;
      g_autofree char *slow = g_strdup_printf ("Rank %u (process", i);
      GPid pid = start_with (folder, "--checkpoint-seconds", "0.1");

      wait_until_it_trains (folder);
      kill (find_process (marks[i]), SIGSTOP);
      kill (pid, SIGINT);
      WAIT_FOR (file_has ("errors.txt", slow));
      kill (pid, SIGINT);
      g_assert_cmpint (wait_for (pid), ==, 130);
      g_assert_cmpint (find_process (marks[i]), ==, 0);
      g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
      if (strstr (said, slow) == NULL || strstr (said, "by a second signal. Steps") == NULL
          || strstr (said, "no --out") != NULL || strstr (said, "a second SIGTERM") != NULL)
        g_error ("%s", said);
    }
}

static void
test_interrupted (void)
{
  static const int signals[] = { SIGINT, SIGUSR1, SIGKILL };

  if (!cli_has_mpi ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autofree char *folder = g_strdup_printf ("ended-%d", signals[i]);
      g_autofree char *weights = g_build_filename (folder, "weights.safetensors", NULL);
      GPid pid = start (folder);
      int status;

      wait_until_it_trains (folder);
      kill (pid, signals[i]);
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status), ==, 128 + signals[i]);
      /* Killed, it waits for nothing; the ranks end by themselves. */
      WAIT_FOR (find_rank () == 0);
      g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
    }
}

/* The spirals with something more in <train>. */
static void
write_spirals (const char *to, const char *inside)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *text = NULL, *changed = NULL;
  char *end;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  end = strstr (text, "</train>");
  g_assert_nonnull (end);
  changed = g_strdup_printf ("%.*s%s%s", (int)(end - text), text, inside, end);
  g_assert_true (g_file_set_contents (to, changed, -1, NULL));
}

/* If a rank is lost, the run continues with one less, as the graph's <parallel> or --min-ranks allows, until it is
 * interrupted; the checkpoint of that end is whole. */
static void
test_elastic (void)
{
  g_autofree char *said = NULL;
  cpu_set_t own, of_rank;
  GPid pid;
  int lost;

  write_spirals ("elastic.xml", "<parallel min_ranks=\"1\"/>");
  write_spirals ("many.xml", "<parallel min_ranks=\"3\"/>");
  cli_expect (2, "min_ranks of <parallel>, 3 is more", "train", "many.xml", "--ranks", "2", "--out", "many");
  cli_expect (2, "min_ranks of <parallel>, 4 is more", "train", "elastic.xml", "--ranks", "2", "--out", "many", "--set",
              "train.parallel.min_ranks=4");
  cli_expect (2, "needs --out", "train", "x.xml", "--ranks", "2", "--min-ranks", "1");
  if (!cli_has_mpi ())
    return;
  pid = start_graph ("elastic.xml", "elastic", NULL, NULL);
  /* It continues from a checkpoint, which takes a loaded machine its time. */
  WAIT_FOR (g_file_test ("elastic/weights.safetensors", G_FILE_TEST_EXISTS));
  lost = find_rank ();
  g_assert_cmpint (lost, >, 0);
  /* It may use the test's processors: by default mpirun binds each of two ranks to one core. */
  sched_getaffinity (0, sizeof own, &own);
  sched_getaffinity (lost, sizeof of_rank, &of_rank);
  g_assert_true (CPU_EQUAL (&own, &of_rank));
  kill (lost, SIGKILL);
  WAIT_FOR (find_process ("OMPI_COMM_WORLD_SIZE=1") != 0);
  kill (pid, SIGINT);
  g_assert_cmpint (wait_for (pid), ==, 130);
  g_assert_true (g_file_get_contents ("errors.txt", &said, NULL, NULL));
  if (strstr (said, "Rank 1 was ended by signal 9 (Killed). The run continues") == NULL)
    g_error ("%s", said);
  expect_resume ("elastic", "1");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/ranks/elastic", test_elastic);
  g_test_add_func ("/cli/ranks/lost", test_lost);
  g_test_add_func ("/cli/ranks/told", test_said);
  g_test_add_func ("/cli/ranks/many", test_many);
  g_test_add_func ("/cli/ranks/early", test_early);
  g_test_add_func ("/cli/ranks/hung", test_hung);
  g_test_add_func ("/cli/ranks/named", test_named);
  g_test_add_func ("/cli/ranks/full-disk", test_full_disk);
  g_test_add_func ("/cli/ranks/slow", test_slow);
  g_test_add_func ("/cli/ranks/stopped", test_stopped);
  g_test_add_func ("/cli/ranks/interrupted", test_interrupted);
  status = g_test_run ();
  cli_leave ();
  return status;
}
