/* Run folders where a graph is asked for: the graph, its data and its weights are found, from wherever one stands. */
#include "tests/cli/cli.h"

#include <glib/gstdio.h>
#include <string.h>

/* Its data lie beside it, so that another folder's graph.xml alone would not find them. */
static const char sum_graph[]
    = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"sum\">\n"
      "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"t.csv\" target=\"y\" target_type=\"float\"/>\n"
      "  <node id=\"fc\" op=\"linear\" out_features=\"1\"/>\n"
      "  <node id=\"loss\" op=\"mse_loss\"/>\n"
      "  <wire from=\"data.x\" to=\"fc\"/>\n"
      "  <wire from=\"fc\" to=\"loss.input\"/>\n"
      "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
      "  <train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"2\" batch_size=\"2\"/>\n"
      "</graph>\n";

static void
make_run (void)
{
  g_assert_cmpint (g_mkdir ("source", 0777), ==, 0);
  g_assert_cmpint (g_mkdir ("runs", 0777), ==, 0);
  cli_write ("source/t.csv", "a,b,y\n1,2,3\n2,3,5\n4,1,5\n3,3,6\n5,2,7\n");
  cli_write ("source/g.xml", sum_graph);
  cli_expect (0, NULL, "train", "source/g.xml", "--out", "runs/one");
}

static void
test_commands (void)
{
  static const char *const commands[] = { "check", "plan", "program", "eval", NULL };
  static const char *const places[] = { "runs/one", "runs/one/graph.xml", NULL };

  for (guint p = 0; places[p] != NULL; p++)
    {
      for (guint c = 0; commands[c] != NULL; c++)
        cli_expect (0, NULL, commands[c], places[p]);
      cli_expect (0, NULL, "bench", places[p], "--windows", "1", "--seconds", "0.01");
    }
  cli_expect (0, NULL, "train", "runs/one/graph.xml", "--epochs", "1");
  cli_expect (2, "--resume runs/one", "train", "runs/one");
  cli_expect (2, "“source” is a folder without a run. Name a graph file.", "train", "source");
  cli_expect (1, "no graph.xml", "check", "source");
  cli_expect (1, "no graph.xml", "plan", "source");
}

/* A run's numbers are those of its weights; its graph alone has none. */
static void
test_weights (void)
{
  cli_expect (0, NULL, "run", "runs/one", "--out", "fc=run.npy");
  cli_expect (0, NULL, "run", "source/g.xml", "--weights", "runs/one/weights.safetensors", "--out", "fc=given.npy");
  cli_expect (0, NULL, "run", "runs/one/graph.xml", "--out", "fc=fresh.npy");
  g_autoptr (LoomTensor) run = cli_load ("run.npy"), given = cli_load ("given.npy"), fresh = cli_load ("fresh.npy");
  g_assert_cmpfloat (loom_tensor_get (run, 0), ==, loom_tensor_get (given, 0));
  g_assert_cmpfloat (loom_tensor_get (run, 0), !=, loom_tensor_get (fresh, 0));

  cli_expect (0, NULL, "train", "source/g.xml", "--out", "runs/bare");
  g_assert_cmpint (g_remove ("runs/bare/weights.safetensors"), ==, 0);
  cli_expect (1, "no checkpoint yet", "run", "runs/bare", "--out", "fc=x.npy");
  cli_expect (1, "no checkpoint yet", "eval", "runs/bare");
  cli_expect (0, NULL, "check", "runs/bare");
}

/* A run.json beside a graph.xml that is no run's does no harm. */
static void
test_strangers (void)
{
  static const char *const texts[] = { "", "[]", "{}", "{\"data_folder\":null}", "{\"data_folder\":3}", NULL };

  g_assert_cmpint (g_mkdir ("mine", 0777), ==, 0);
  cli_write ("mine/t.csv", "a,b,y\n1,2,3\n2,3,5\n4,1,5\n");
  cli_write ("mine/graph.xml", sum_graph);
  for (guint i = 0; texts[i] != NULL; i++)
    {
      cli_write ("mine/run.json", texts[i]);
      cli_expect (0, NULL, "check", "mine/graph.xml");
      cli_expect (0, NULL, "check", "mine");
    }
}

/* A run is not mixed with other files. */
static void
test_taken (void)
{
  g_assert_cmpint (g_mkdir ("taken", 0777), ==, 0);
  cli_write ("taken/notes.txt", "mine");
  cli_expect (2, "The folder taken is not empty (notes.txt) and holds no run", "train", "source/g.xml", "--out",
              "taken");
  g_assert_false (g_file_test ("taken/checkpoints", G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_remove ("taken/notes.txt"), ==, 0);
  /* A graph alone is no run. */
  cli_write ("taken/graph.xml", sum_graph);
  cli_expect (2, "“taken” is a folder. Name the graph in it: taken/graph.xml.", "train", "taken");
  cli_expect (2, "is not empty (graph.xml) and holds no run", "train", "source/g.xml", "--out", "taken");
  g_assert_cmpint (g_remove ("taken/graph.xml"), ==, 0);
  cli_expect (2, "Continue that run with: gradloom train --resume runs/one,", "train", "source/g.xml", "--out",
              "runs/one");
  /* The folder of a run that was killed while it began. */
  g_assert_cmpint (g_mkdir ("taken/checkpoints", 0777), ==, 0);
  cli_write ("taken/events.jsonl", "");
  cli_write ("taken/.note", "");
  cli_expect (0, NULL, "train", "source/g.xml", "--out", "taken");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  make_run ();
  g_test_add_func ("/cli/folders/commands", test_commands);
  g_test_add_func ("/cli/folders/weights", test_weights);
  g_test_add_func ("/cli/folders/strangers", test_strangers);
  g_test_add_func ("/cli/folders/taken", test_taken);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
