/* Tests the filter of a launcher's standard error: output of ranks passes at once and unchanged; of Open MPI's blocks
 * only those that a user needs. */
#include <signal.h>
#include <string.h>

#include "engine/dist/loom-launch-log.h"
#include "tests/test-program.h"

#define RULE "--------------------------------------------------------------------------\n"
#define LOST RULE "mpirun noticed that process rank 12 with PID 4711 on node here exited on signal 9 (Killed).\n" RULE
/* From Open MPI 5, with a new line within the sentence. */
#define LOST_5                                                                                                         \
  RULE "prterun noticed that process rank 12 with PID 4711 on node here exited on\nsignal 9 (Killed).\n" RULE
#define ABORTED                                                                                                        \
  RULE "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 131.\n\nNOTE: …\n" RULE
#define NEEDED RULE "A system-required executable either could not be found or was not executable\n" RULE

/* The result must not depend on how the text is split. */
static void
expect (const char *in, const char *passes, int rank)
{
  for (gsize part = 1; part <= strlen (in); part++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      LoomLaunchFilter filter;

      loom_launch_filter_init (&filter);
      for (gsize at = 0; at < strlen (in); at += part)
        loom_launch_filter_push (&filter, in + at, MIN (part, strlen (in) - at), out);
      loom_launch_filter_flush (&filter, out);
      g_assert_cmpstr (out->str, ==, passes);
      g_assert_cmpint (filter.rank, ==, rank);
      g_assert_cmpint (filter.number, ==, rank < 0 ? -1 : SIGKILL);
      loom_launch_filter_clear (&filter);
    }
}

static void
test_passes (void)
{
  g_autoptr (GString) out = g_string_new (NULL);
  LoomLaunchFilter filter;

  expect ("one\ntwo -- three\n\r[---- ] 4 %\r[-----] 5 %", "one\ntwo -- three\n\r[---- ] 4 %\r[-----] 5 %", -1);
  expect ("a\n" NEEDED "b\n", "a\n" NEEDED "b\n", -1);
  /* A progress bar passes before its end of line. */
  loom_launch_filter_init (&filter);
  loom_launch_filter_push (&filter, "\r 40 %", 6, out);
  g_assert_cmpstr (out->str, ==, "\r 40 %");
  loom_launch_filter_clear (&filter);
}

static void
test_taken (void)
{
  const char *signals = "gradloom\nmpirun: Forwarding signal 10 to job\nx\n"
                        "[here:4711] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n"
                        "[here:4711] plm:ssh: Warning: setpgid(4712,4712) failed in parent with errno=13\n"
                        "Abort(3) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 3)\n";
  g_autoptr (GString) out = g_string_new (NULL);
  LoomLaunchFilter filter;

  expect ("\r 40 %" LOST "b\n", "\r 40 %b\n", 12);
  expect (ABORTED LOST, "", 12);
  expect ("\r 40 %" LOST_5 "b\n", "\r 40 %b\n", 12);
  expect (RULE "prterun noticed that process rank 3 with PID 1 on node here exited on\ngradloom train: x\nsignal 9 "
               "(Killed).\n" RULE,
          "gradloom train: x\n", 3);
  expect (LOST NEEDED, NEEDED, 12);
  /* Output of a rank between the lines of a block, and a block without an end. */
  expect (RULE
          "gradloom train: x\nmpirun noticed that process rank 3 with PID 1 on node here exited on signal 9 (Killed)."
          "\n",
          "gradloom train: x\n", 3);
  /* mpirun writes such a line at once. */
  loom_launch_filter_init (&filter);
  loom_launch_filter_push (&filter, signals, strlen (signals), out);
  g_assert_cmpstr (out->str, ==, "gradloom\nx\n");
  loom_launch_filter_clear (&filter);
}

/* Messages of mpirun about a host that cannot be reached, and of MPICH about an unknown option, are passed and
 * recognised. */
static void
test_unstarted (void)
{
  static const char *const says[]
      = { RULE "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n" RULE,
          "[mpiexec@here] ui_cmd_cb (mpiexec/pmiserv_pmci.c:51): Launch proxy failed.\n",
          "[mpiexec@here] match_arg (utils/args.c:166): unrecognized argument x\n"
          "[mpiexec@here] main (mpiexec.c:49): error parsing parameters\n" };

  for (guint i = 0; i < G_N_ELEMENTS (says); i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      LoomLaunchFilter filter;

      loom_launch_filter_init (&filter);
      loom_launch_filter_push (&filter, LOST, strlen (LOST), out);
      g_assert_false (filter.unstarted);
      loom_launch_filter_push (&filter, says[i], strlen (says[i]), out);
      g_assert_cmpstr (out->str, ==, says[i]);
      g_assert_true (filter.unstarted);
      loom_launch_filter_clear (&filter);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dist/launch-log/passes", test_passes);
  g_test_add_func ("/dist/launch-log/taken", test_taken);
  g_test_add_func ("/dist/launch-log/unstarted", test_unstarted);
  return g_test_run ();
}
