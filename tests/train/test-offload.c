/* Optimiser states in host memory: the run has the bits of one with the states on the device, the device's forecast
 * excludes them, and ranks that shard them have the numbers of one rank. Virtual devices represent a GPU and the host.
 */
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

#include "engine/net/loom-net.h"
#include "engine/train/loom-step.h"

#define XML(TRAIN, INSIDE)                                                                                             \
  TRAIN_TEST_SPIRALS ("n=\"300\"", "5")                                                                                \
  "<train loss=\"loss\" optimizer=\"adamw\" lr=\"0.01\" epochs=\"50\" seed=\"3\" " TRAIN ">" INSIDE "</train></graph>"

#define OFFLOAD "offload=\"optimizer\" "

/* Bytes of the optimiser's states by device: of the run's own, and of the others. */
static void
forecast (const char *xml, const char *device, gsize bytes[2])
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlanOptions options = { .device = device };
  g_autoptr (LoomStep) step = NULL;
  g_autoptr (LoomPlan) plan = NULL;
  LoomPlanMemory memory;

  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  step = loom_step_new (spec, 32, TRUE, &error);
  g_assert_no_error (error);
  plan = loom_plan_new (step->program, devices, &options, &error);
  g_assert_no_error (error);
  bytes[1] = 0;
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      loom_plan_memory (plan, d, &memory);
      bytes[d > 0] = (d > 1 ? bytes[1] : 0) + memory.state[LOOM_OWNER_OPTIMIZER];
    }
}

static void
test_forecast (void)
{
  gsize here[2], host[2];

  forecast (XML ("", ""), "cpu:1", here);
  forecast (XML (OFFLOAD, ""), "cpu:1", host);
  g_assert_cmpuint (here[0], >, 0);
  g_assert_cmpuint (here[1], ==, 0);
  g_assert_cmpuint (host[0], ==, 0);
  g_assert_cmpuint (host[1], ==, here[0]);
}

/* The gradient of a part of a weight is a product, which the run's device computes although the host takes the step. */
static void
test_split (void)
{
  static const char *const xml
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
        "<node id=\"hidden\" op=\"linear\" out_features=\"6\" split=\"column\"/>"
        "<node id=\"sum\" op=\"cumsum\" dim=\"1\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
        "<node id=\"loss\" op=\"cross_entropy\"/>"
        "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"sum\"/><wire from=\"sum\" to=\"scores\"/>"
        "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
        "<train loss=\"loss\" optimizer=\"sgd\" offload=\"optimizer\"><parallel tensor=\"2\"/></train></graph>";
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  const LoomMesh mesh
      = loom_mesh (1, (int[LOOM_MESH_AXES]){ [LOOM_MESH_DATA] = 1, [LOOM_MESH_PIPELINE] = 1, [LOOM_MESH_TENSOR] = 2 });
  g_autoptr (LoomStep) step = NULL;
  guint n = 0;

  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  step = loom_step_new (spec, 32, TRUE, &error);
  g_assert_no_error (error);
  loom_step_divide (step, spec, &mesh, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < loom_program_n_instrs (step->program); i++)
    {
      const LoomInstr *instr = loom_program_instr (step->program, i);

      if (strcmp (instr->prim->name, "matmul") != 0)
        continue;
      g_assert_cmpstr (instr->device, ==, NULL);
      n++;
    }
  g_assert_cmpuint (n, >, 4);
}

static void
test_bits (void)
{
  static const char *const xml[]
      = { XML ("", "<clip norm=\"0.05\"/>"), XML (OFFLOAD, "<clip norm=\"0.05\"/>"),
          XML ("accumulate=\"3\" ema=\"0.9\" ", ""), XML (OFFLOAD "accumulate=\"3\" ema=\"0.9\" ", "") };

  for (guint k = 0; k < G_N_ELEMENTS (xml); k += 2)
    {
      LoomTrainerOptions options = { .device = "cpu:1", .batch_size = RANK_RUN_BATCH, .steps = RANK_RUN_STEPS };
      Rank here, host;

      run_with (&here, xml[k], options);
      run_with (&host, xml[k + 1], options);
      compare (&here, &host, 0, "on the host");
      rank_clear (&here);
      rank_clear (&host);
    }
}

static void
test_ranks (void)
{
  static const char *const strategy[] = { "data", "zero1", "zero3" };
  LoomTrainerOptions options = { .device = "ref:1", .batch_size = RANK_RUN_BATCH / 2, .steps = RANK_RUN_STEPS };
  const char *xml = XML (OFFLOAD "precision=\"f64\" ", "<clip norm=\"0.05\"/>");
  Rank alone;

  run_alone (&alone, XML ("precision=\"f64\" ", "<clip norm=\"0.05\"/>"));
  for (guint s = 0; s < G_N_ELEMENTS (strategy); s++)
    {
      Rank rank[2];

      options.strategy = strategy[s];
      run_ranks_with (rank, 2, xml, options);
      for (int k = 0; k < 2; k++)
        {
          compare (&alone, &rank[k], 1e-10, strategy[s]);
          rank_clear (&rank[k]);
        }
    }
  rank_clear (&alone);
}

TEST_FILE (argc, argv)
{
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/offload/split", test_split);
  g_test_add_func ("/offload/forecast", test_forecast);
  g_test_add_func ("/offload/bits", test_bits);
  g_test_add_func ("/offload/ranks", test_ranks);
  return g_test_run ();
}
