/* The forecast of copies between devices, which Studio draws, compared with the planner. */
#include "engine/net/loom-copies.h"
#include "engine/plan/loom-plan.h"
#include "engine/train/loom-step.h"
#include "tests/test-program.h"

#include <string.h>

#define HEAD                                                                                                           \
  "<graph xmlns='urn:gradloom:graph' version='1'>"                                                                     \
  "<module name='half'><node id='x' op='module_input'/><node id='fc' op='linear' out_features='6'/>"                   \
  "<node id='act' op='relu'/><node id='y' op='module_output'/>"                                                        \
  "<wire from='x' to='fc'/><wire from='fc' to='act'/><wire from='act' to='y'/></module>"                               \
  "<node id='data' op='dataset' source='spirals'/>"
#define TAIL                                                                                                           \
  "<node id='loss' op='cross_entropy'/><wire from='scores' to='loss.input'/><wire from='data.y' to='loss.target'/>"    \
  "<train loss='loss' optimizer='sgd' lr='0.1' batch_size='8' epochs='1'/></graph>"

typedef struct
{
  const char *name, *body;
  double bytes; /* of a training step */
} Case;

static const Case cases[] = {
  { "none",
    "<node id='a' op='linear' out_features='5'/><node id='scores' op='linear' out_features='2'/>"
    "<wire from='data.x' to='a'/><wire from='a' to='scores'/>",
    0 },
  /* The data are copied, 8 × 2 floats, without a gradient; 8 × 5 are copied back, with one. */
  { "layer",
    "<node id='a' op='linear' out_features='5' device='ref'/><node id='scores' op='linear' out_features='2'/>"
    "<wire from='data.x' to='a'/><wire from='a' to='scores'/>",
    8 * 2 * 4 + 2 * 8 * 5 * 4 },
  { "module",
    "<node id='first' op='linear' out_features='3'/><node id='a' module='half' device='ref'/>"
    "<node id='scores' op='linear' out_features='2'/><wire from='data.x' to='first'/><wire from='first' to='a'/>"
    "<wire from='a' to='scores'/>",
    2 * 8 * 3 * 4 + 2 * 8 * 6 * 4 },
  /* One copy serves two readers. */
  { "shared",
    "<node id='a' op='linear' out_features='5' device='ref'/><node id='b' op='linear' out_features='5' device='ref'/>"
    "<node id='sum' op='add' device='ref'/><node id='scores' op='linear' out_features='2' device='ref'/>"
    "<wire from='data.x' to='a'/><wire from='data.x' to='b'/><wire from='a' to='sum.input'/>"
    "<wire from='b' to='sum.other'/><wire from='sum' to='scores'/>",
    8 * 2 * 4 + 2 * 8 * 2 * 4 },
};

/* Bytes that a plan copies between devices, of values that belong to a node. A single number steers the step (whether
 * all gradients are finite) and is no tensor of the graph. */
static double
planned_bytes (const LoomPlan *plan)
{
  double bytes = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const LoomTensorDesc *desc;
      double n = 1;

      if (instr->kernel != NULL || !g_str_has_prefix (instr->label, "copy ") || instr->origin == NULL)
        continue;
      desc = &loom_plan_value (plan, instr->value[0])->desc;
      for (int d = 0; d < desc->rank; d++)
        n *= (double)desc->dim[d];
      bytes += n > 1 ? n * (double)loom_dtype_size (desc->dtype) : 0;
      g_test_message ("plan: %s of %s, %g elements", instr->label, instr->origin, n);
    }
  return bytes;
}

static void
test_forecast (gconstpointer data)
{
  const Case *c = data;
  g_autofree char *text = g_strconcat (HEAD, c->body, TAIL, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "copies", faults, &error);
  LoomBinding binding = { .value['B' - 'A'] = 8 };
  g_autoptr (LoomNet) net = loom_net_new (graph, &binding, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomStep) step = loom_step_new (spec, 8, TRUE, &error);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (LoomPlan) plan = NULL;
  g_autoptr (GArray) copies = loom_net_copies_new (net, "cpu", NULL);

  g_assert_no_error (error);
  g_assert_cmpuint (loom_faults_count (faults), ==, 0);
  plan = loom_plan_new (step->program, devices, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (loom_net_copy_bytes (copies, TRUE), ==, c->bytes);
  g_assert_cmpfloat (planned_bytes (plan), ==, c->bytes);
}

/* A device that no machine here has is foreseen like any other. */
static void
test_away (void)
{
  g_autofree char *body = g_strconcat (HEAD, cases[1].body, TAIL, NULL), *text = NULL;
  g_auto (GStrv) part = g_strsplit (body, "'ref'", 2);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GArray) copies = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = NULL;
  LoomBinding binding = { .value['B' - 'A'] = 8 };
  const LoomCopy *copy;

  text = g_strjoinv ("'cuda:7'", part);
  graph = loom_graph_read_data (text, strlen (text), "copies", faults, NULL);
  net = loom_net_new (graph, NULL, faults);
  copies = loom_net_copies_new (net, "cpu", &binding);
  g_assert_cmpuint (copies->len, ==, 2);
  copy = &g_array_index (copies, LoomCopy, 0);
  g_assert_cmpstr (copy->from, ==, "cpu");
  g_assert_cmpstr (copy->to, ==, "cuda:7");
  g_assert_false (copy->gradient);
  g_assert_cmpfloat (loom_net_copy_bytes (copies, TRUE), ==, cases[1].bytes);
  g_assert_cmpfloat (loom_net_copy_bytes (copies, FALSE), ==, 8 * 2 * 4 + 8 * 5 * 4);
}

/* A graph that was edited after its recipe was read has no step. */
static void
test_edited (void)
{
  g_autofree char *text = g_strconcat (HEAD, cases[0].body, TAIL, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "copies", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomEdit) undo = NULL;
  g_autofree char *lone = NULL;

  undo = loom_graph_apply (graph, loom_edit_set (loom_graph_find_path (graph, "a", NULL), "out_features", "6"));
  lone = loom_step_lone (spec, 1);
  g_assert_cmpstr (lone, ==, NULL);
  g_assert_null (loom_step_new (spec, 8, TRUE, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/copies/", cases[i].name, NULL);

      g_test_add_data_func (path, &cases[i], test_forecast);
    }
  g_test_add_func ("/copies/away", test_away);
  g_test_add_func ("/copies/edited", test_edited);
  return g_test_run ();
}
