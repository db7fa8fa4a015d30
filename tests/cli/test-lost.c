/* The command line if the GPU is lost, or a kernel corrupts the context, at various moments of a run: one sentence with
 * a remedy, no crash and no hang, and the saved run resumes on the CPU. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <string.h>

#include "tests/exec/test-device.h"

#define NET                                                                                                            \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"lost\">\n"                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"12\" n_test=\"6\" in_features=\"16\" out_features=\"4\"/>\n" \
  "<node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n<node id=\"loss\" op=\"mse_loss\"/>\n"                          \
  "<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"                                         \
  "<wire from=\"data.y\" to=\"loss.target\"/>\n"                                                                       \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"5\" epochs=\"4\" seed=\"1\">\n<metric "             \
  "type=\"mae\" "                                                                                                      \
  "input=\"fc\" target=\"data.y\"/>\n</train>\n</graph>\n"

static void
fail (gconstpointer what)
{
  static const int when[] = { 1, 4, 15, 40, 90, 130, 180, 250, 350, 500 };
  guint failed = 0, resumed = 0;

  cli_write ("g.xml", NET);
  for (guint i = 0; i < G_N_ELEMENTS (when); i++)
    {
      g_autofree char *failure = g_strdup_printf ("%s:%d", (const char *)what, when[i]);

      g_setenv ("GRADLOOM_EMULATOR_FAIL", failure, TRUE);
      g_auto (CliResult) r = cli ("train", "g.xml", "--device", "cuda:0", "--history", "0", "--out", "out", NULL);
      g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
      if (r.status != 0)
        {
          failed++;
          g_assert_cmpint (r.status, ==, 3);
          if (strstr (r.err, "another device") == NULL && strstr (r.err, "Use device cpu") == NULL)
            g_error ("%s: %s", failure, r.err);
        }
      if (r.status != 0 && g_file_test ("out/graph.xml", G_FILE_TEST_EXISTS))
        {
          resumed++;
          cli_expect (0, NULL, "train", "--resume", "out", "--device", "cpu");
        }
      cli_remove ("out");
    }
  g_assert_cmpuint (failed, >, 3);
  g_assert_cmpuint (resumed, >, 1);
}

/* Failures say when they happened and how to resume; a misspelt request is an error. */
static void
test_words (void)
{
  static const struct
  {
    const char *failure_spec, *says[2];
  } cases[] = {
    { "alloc:9", { "which could not allocate them although ", "or use a smaller batch or another device." } },
    { "lost:90", { "Step 1 (epoch 1): ", "No step is saved yet; begin again with: gradloom train --resume out" } },
    { "lost:150", { "After 2 steps: ", "No step is saved yet; begin again with: gradloom train --resume out" } },
    { "lost:1000", { "tep ", "Continue with: gradloom train --resume out" } },
    { "nonsense", { "GRADLOOM_EMULATOR_FAIL is “nonsense”, but it takes WHAT:N", "solver-missing and N" } },
    { "lost:x", { "GRADLOOM_EMULATOR_FAIL is “lost:x”", "takes" } },
    { "lost:9,alloc", { "GRADLOOM_EMULATOR_FAIL is “lost:9,alloc”", "takes" } },
  };

  cli_write ("g.xml", NET);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_setenv ("GRADLOOM_EMULATOR_FAIL", cases[i].failure_spec, TRUE);
      /* Checkpoints to go back by use the device when there is time for them, which would move the failure. */
      g_auto (CliResult) r
          = cli ("train", "g.xml", "--device", "cuda:0", "--out", "out", "--epochs", "200", "--history", "0", NULL);
      g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
      g_assert_cmpint (r.status, !=, 0);
      if (strstr (r.err, cases[i].says[0]) == NULL || strstr (r.err, cases[i].says[1]) == NULL)
        g_error ("%s: %s", cases[i].failure_spec, r.err);
      g_assert_null (strstr (r.err, "as they were"));
      cli_remove ("out");
    }
}

TEST_FILE (argc, argv)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  int status = 77;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_data_func ("/lost/device", "lost", fail);
  g_test_add_data_func ("/lost/context", "sticky", fail);
  g_test_add_func ("/lost/words", test_words);
  if (test_device_is_there (devices, "cuda:0"))
    status = g_test_run ();
  cli_leave ();
  return status;
}
