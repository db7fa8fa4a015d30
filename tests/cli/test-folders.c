/* Run folders in place of a graph: the graph, its data and its weights are found from any working folder. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Its data are next to it, so that another folder's graph.xml alone would not find them. */
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

/* A run.json next to a graph.xml that is no run's does no harm. */
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
  cli_expect (2, "The folder taken is not empty (notes.txt) and contains no run", "train", "source/g.xml", "--out",
              "taken");
  g_assert_false (g_file_test ("taken/checkpoints", G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_remove ("taken/notes.txt"), ==, 0);
  /* A graph alone is no run. */
  cli_write ("taken/graph.xml", sum_graph);
  cli_expect (2, "“taken” is a folder. Name the graph in it: taken/graph.xml.", "train", "taken");
  cli_expect (2, "is not empty (graph.xml) and contains no run", "train", "source/g.xml", "--out", "taken");
  g_assert_cmpint (g_remove ("taken/graph.xml"), ==, 0);
  cli_expect (2, "Continue that run with: gradloom train --resume runs/one,", "train", "source/g.xml", "--out",
              "runs/one");
  /* The folder of a run that was killed while it began. */
  g_assert_cmpint (g_mkdir ("taken/checkpoints", 0777), ==, 0);
  cli_write ("taken/events.jsonl", "");
  cli_write ("taken/.note", "");
  cli_expect (0, NULL, "train", "source/g.xml", "--out", "taken");
}

/* A graph that names a file outside its folder is checked with a warning; a link out of it is found as well. */
static void
test_outside (void)
{
  g_auto (GStrv) part = g_strsplit (sum_graph, "path=\"t.csv\"", 2);
  g_autofree char *up = g_strjoinv ("path=\"../source/t.csv\"", part);
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *warning = g_strdup_printf (
      "line 3: warning: node data, path: The graph reads “%s/source/t.csv”, which is outside its folder", here);

  g_assert_cmpint (g_mkdir ("apart", 0777), ==, 0);
  cli_write ("apart/g.xml", up);
  cli_expect (0, warning, "check", "apart/g.xml");
  g_auto (GStrv) train = g_strsplit (sum_graph, "<train ", 2);
  g_autofree char *begun = g_strjoinv ("<train weights=\"../w.st\" ", train);
  g_auto (CliResult) json = cli ("check", "--json", "apart/g.xml", NULL);
  g_assert_nonnull (strstr (json.out, "{\"event\":\"warning\",\"code\":\"DATA\",\"line\":3"));
  g_assert_cmpint (symlink ("../source/t.csv", "apart/t.csv"), ==, 0);
  cli_write ("apart/g.xml", sum_graph);
  cli_expect (0, warning, "check", "apart/g.xml");
  cli_write ("apart/w.xml", begun);
  cli_expect (0, "/w.st”, which is outside", "check", "apart/w.xml");
  /* One set of the weights in a file. */
  g_auto (GStrv) of_file = g_strsplit (begun, "../w.st", 2);
  g_autofree char *of_set = g_strjoinv ("w.st#ema", of_file);
  cli_write ("w.st", "");
  cli_write ("apart/w.xml", of_set);
  g_assert_cmpint (symlink ("../w.st", "apart/w.st"), ==, 0);
  cli_expect (0, "/w.st”, which is outside", "check", "apart/w.xml");
  g_auto (CliResult) inside = cli ("check", "source/g.xml", NULL);
  g_assert_cmpstr (inside.err, ==, "");
  /* A folder of pictures in the graph's folder, with a link that leads out of it. */
  g_assert_cmpint (g_mkdir_with_parents ("apart/set/a", 0777), ==, 0);
  g_assert_cmpint (g_mkdir ("elsewhere", 0777), ==, 0);
  cli_write ("elsewhere/p.png", "");
  cli_write ("apart/set/a/p.png", "");
  cli_write ("apart/p.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" "
                            "source=\"image-folder\" path=\"set\" size=\"8\"/></graph>");
  g_auto (CliResult) no_link = cli ("check", "apart/p.xml", NULL);
  g_assert_cmpstr (no_link.err, ==, "");
  g_assert_cmpint (symlink ("../../elsewhere", "apart/set/b"), ==, 0);
  cli_expect (0, "/elsewhere”, through links in the data set's folder, which is outside its folder", "check",
              "apart/p.xml");
  /* A run's file names the folder of its data. */
  cli_expect (0, "/source/t.csv”, which is outside its folder", "check", "runs/one");
}

/* Foreign names are printed without escape codes, and a printed command remains one command. */
static void
test_names (void)
{
  static const char escape[] = "\033[31mred.xml";
  static const char odd[] = "runs/a b;c";

  cli_write (escape, "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"none\"/></graph>");
  g_auto (CliResult) check = cli ("check", escape, NULL);
  g_assert_nonnull (strstr (check.err, "\\u001b[31mred.xml: line 1"));
  g_assert_null (strchr (check.err, '\033'));
  g_auto (CliResult) usage = cli ("check", "x", escape, NULL);
  g_assert_null (strchr (usage.err, '\033'));
  g_auto (CliResult) command = cli (escape, NULL);
  g_assert_null (strchr (command.err, '\033'));
  g_auto (CliResult) dot = cli ("export", "source/g.xml", "--to", "dot", "-o", "\033[31mred.dot", NULL);
  g_assert_null (strchr (dot.out, '\033'));

  cli_expect (0, NULL, "train", "source/g.xml", "--out", odd);
  cli_expect (2, "gradloom train --resume 'runs/a b;c', or", "train", "source/g.xml", "--out", odd);
  cli_expect (2, "--resume 'runs/a b;c', or start a new one from its graph: 'runs/a b;c/graph.xml'.", "train", odd);
  g_assert_cmpint (g_remove ("runs/a b;c/weights.safetensors"), ==, 0);
  cli_expect (1, "Continue training with: gradloom train --resume 'runs/a b;c'", "eval", odd);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  make_run ();
  g_test_add_func ("/cli/folders/commands", test_commands);
  g_test_add_func ("/cli/folders/weights", test_weights);
  g_test_add_func ("/cli/folders/strangers", test_strangers);
  g_test_add_func ("/cli/folders/taken", test_taken);
  g_test_add_func ("/cli/folders/outside", test_outside);
  g_test_add_func ("/cli/folders/names", test_names);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
