/* Modules that the data select (`switch` by sample, `recurse` over trees) partitioned among ranks: each computes the
 * rows and trees of its own samples without communication, and 20 steps in f64 end as those of one rank, within 1e-10.
 */
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

#include "engine/net/loom-net.h"
#include "engine/train/loom-step.h"

#define NODE(ID, OP, MORE) "<node id=\"" ID "\" op=\"" OP "\" " MORE "/>"
#define WIRE(FROM, TO)     "<wire from=\"" FROM "\" to=\"" TO "\"/>"
#define GRAPH(MODULES, NODES)                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">" MODULES NODES NODE ("loss", "cross_entropy", "")                \
      WIRE ("digit", "loss.input")                                                                                     \
          WIRE ("data.y", "loss.target") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" epochs=\"50\" "          \
                                         "seed=\"3\" precision=\"f64\" device=\"ref\">"                                \
                                         "<clip norm=\"0.5\"/></train></graph>"

/* A module for each operator, which the sample selects; one of them has an additional layer. */
#define SWITCH                                                                                                         \
  GRAPH ("<module name=\"binary\">" NODE ("pair", "module_input", "") NODE ("hidden", "linear", "out_features=\"6\"")  \
             NODE ("act", "tanh", "") NODE ("scores", "linear", "out_features=\"10\"") NODE ("y", "module_output", "") \
                 WIRE ("pair", "hidden") WIRE ("hidden", "act") WIRE ("act", "scores")                                 \
                     WIRE ("scores", "y") "</module><module name=\"number\">" NODE ("pair", "module_input", "")        \
                         NODE ("scores", "linear", "out_features=\"10\"") NODE ("y", "module_output", "")              \
                             WIRE ("pair", "scores") WIRE ("scores", "y") "</module>",                                 \
         NODE ("data", "dataset", "source=\"arithmetic-trees\" leaves=\"2\"")                                          \
             NODE ("operands", "narrow", "dim=\"1\" start=\"0\" length=\"2\"")                                         \
                 NODE ("symbols", "embedding", "num_embeddings=\"14\" embedding_dim=\"4\"")                            \
                     NODE ("pair", "flatten", "") NODE ("operator", "select", "dim=\"1\" index=\"2\"")                 \
                         NODE ("ten", "constant", "value=\"10\" dtype=\"i64\"") NODE ("which", "sub", "")              \
                             NODE ("digit", "switch", "bodies=\"binary,binary,binary,number\"")                        \
                                 WIRE ("data.x", "operands") WIRE ("operands", "symbols") WIRE ("symbols", "pair")     \
                                     WIRE ("data.x", "operator") WIRE ("operator", "which.input")                      \
                                         WIRE ("ten", "which.other") WIRE ("pair", "digit.pair")                       \
                                             WIRE ("which", "digit.index"))

/* Trees, whose nodes have a separate input for each child. */
#define RECURSE                                                                                                        \
  GRAPH ("<module name=\"node\">" NODE ("token", "module_input", "") NODE ("h0", "module_input", "shape=\"B,5\"")      \
             NODE ("h1", "module_input", "shape=\"B,5\"")                                                              \
                 NODE ("symbol", "embedding", "num_embeddings=\"14\" embedding_dim=\"4\"")                             \
                     NODE ("all", "concat", "dim=\"1\"") NODE ("state", "linear", "out_features=\"5\"")                \
                         NODE ("act", "tanh", "") NODE ("h", "module_output", "carry=\"h\"") WIRE ("token", "symbol")  \
                             WIRE ("symbol", "all.0") WIRE ("h0", "all.1") WIRE ("h1", "all.2") WIRE ("all", "state")  \
                                 WIRE ("state", "act") WIRE ("act", "h") "</module>",                                  \
         NODE ("data", "dataset", "source=\"arithmetic-trees\"") NODE ("tree", "recurse", "body=\"node\" arity=\"2\"") \
             NODE ("mean", "mean", "dim=\"1\"") NODE ("digit", "linear", "out_features=\"10\"")                        \
                 WIRE ("data.x", "tree.token") WIRE ("data.parent", "tree.parent") WIRE ("tree", "mean")               \
                     WIRE ("mean", "digit"))

static const char *const graphs[] = { SWITCH, RECURSE };

static void
check_numbers (const char *xml)
{
  static const char *const strategy[] = { "data", "zero3" };
  Rank alone;

  run_alone (&alone, xml);
  for (int ranks = 2; ranks <= 3; ranks++)
    {
      Rank rank[3];

      run_together (rank, ranks, ranks, xml, strategy[ranks - 2]);
      for (int k = 0; k < ranks; k++)
        {
          compare (&alone, &rank[k], 1e-10, strategy[ranks - 2]);
          rank_clear (&rank[k]);
        }
    }
  rank_clear (&alone);
}

/* And with bodies that draw at random, which see the rows of all. */
static void
test_numbers (gconstpointer data)
{
  g_autoptr (GString) random = g_string_new (data);

  check_numbers (data);
  g_assert_cmpuint (g_string_replace (random, "op=\"tanh\" ", "op=\"dropout\" p=\"0.3\" ", 0), ==, 1);
  check_numbers (random->str);
}

static guint
count_prims (const LoomProgram *p, const char *name)
{
  guint n = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    n += g_str_equal (loom_program_instr (p, i)->prim->name, name);
  return n;
}

static void
test_exchanges (gconstpointer data)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (data, strlen (data), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  const LoomMesh mesh = loom_mesh (1, (int[LOOM_MESH_AXES]){ 2, 1, 1 });
  g_autoptr (LoomStep) step = NULL;

  loom_faults_to_error (faults, NULL, &error);
  g_assert_no_error (error);
  step = loom_step_new (spec, 7, TRUE, &error);
  g_assert_no_error (error);
  loom_step_divide (step, spec, &mesh, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count_prims (step->program, "visit"), >=, 2);
  g_assert_cmpuint (count_prims (step->program, "all_gather"), ==, 0);
}

TEST_FILE (argc, argv)
{
  static const char *const name[] = { "switch", "recurse" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autofree char *numbers = g_strconcat ("/visits/numbers/", name[i], NULL);
      g_autofree char *exchanges = g_strconcat ("/visits/exchanges/", name[i], NULL);

      g_test_add_data_func (numbers, graphs[i], test_numbers);
      g_test_add_data_func (exchanges, graphs[i], test_exchanges);
    }
  return g_test_run ();
}
