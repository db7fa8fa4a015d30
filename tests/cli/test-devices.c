/* Devices and threads at the command line: how many threads, which devices, and what check and plan say of them. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "tests/cli/cli.h"

#define HEAD "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"devices\">\n"
#define TAIL "</graph>\n"

/* ---- threads ---------------------------------------------------------- */

/* More threads than processors are refused by a sentence, and what runs has as many as there are. */
static void
test_threads (void)
{
  int processors = loom_processors ();
  g_autofree char *says = g_strdup_printf ("5000 threads are more than the %d processor", processors);
  g_autofree char *has = g_strdup_printf ("\"threads\" : %d", processors);
  g_autofree char *spirals = cli_example ("lessons/spirals.xml"), *run = NULL,
                  *few = g_strdup_printf ("%d", processors);
  g_autoptr (GError) error = NULL;

  cli_expect (0, says, "train", spirals, "--epochs", "1", "--out", "r", "--threads", "5000");
  cli_expect (0, says, "eval", "r", "--threads", "5000");
  cli_expect (0, says, "plan", spirals, "--threads", "5000");
  cli_expect (0, says, "bench", spirals, "--windows", "1", "--seconds", "1", "--threads", "5000");
  g_file_get_contents ("r/run.json", &run, NULL, &error);
  g_assert_no_error (error);
  if (strstr (run, has) == NULL)
    g_error ("no %s in %s", has, run);
  g_auto (CliResult) r = cli ("plan", spirals, "--threads", few, NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpstr (r.err, ==, "");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/devices/threads", test_threads);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
