/* Training steps with loops: recomputation for the backward pass, types, sizes of plans, and the search for a number
 * that is not finite. */
#include "tests/test-program.h"
#include "tests/train/step-run.h"
#include "tests/train/train-test.h"

#define HEAD  "<graph xmlns='urn:gradloom:graph' version='1'>"
#define STEPS 24
#define WHAT  "<node id='data' op='dataset' source='random' in_features='192' out_features='4'/>"
#define ROWS  "<node id='rows' op='reshape' shape='B,24,8'/><wire from='data.x' to='rows'/>"
#define LEARN                                                                                                          \
  "<node id='flat' op='flatten'/><node id='head' op='linear' out_features='4'/><node id='loss' op='mse_loss'/>"        \
  "<wire from='flat' to='head'/><wire from='head' to='loss.input'/><wire from='data.y' to='loss.target'/>"
#define TRAIN "<train loss='loss' optimizer='adam' lr='0.01' batch_size='16' seed='5' precision='%s'/></graph>"

/* A cell of a state, a network with a wide hidden layer in a module of its own, and dropout. */
static char *
loop_graph (const char *loop, const char *inner, const char *precision)
{
  return g_strdup_printf (
      HEAD "<module name='wide'><node id='x' op='module_input'/><node id='up' op='linear' out_features='48'/>"
           "<node id='act' op='gelu'/><node id='drop' op='dropout' p='0.2'/>"
           "<node id='down' op='linear' out_features='16'/><node id='y' op='module_output'/>"
           "<wire from='x' to='up'/><wire from='up' to='act'/><wire from='act' to='drop'/>"
           "<wire from='drop.out' to='down'/><wire from='down' to='y'/></module>"
           "<module name='cell'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,16'/>"
           "<node id='w' op='linear' out_features='16'/><node id='sum' op='add'/><node id='net' module='wide'%s/>"
           "<node id='act' op='tanh'/><node id='y' op='module_output'/><node id='h1' op='module_output' carry='h'/>"
           "<wire from='x' to='w'/><wire from='w' to='sum.input'/><wire from='h' to='sum.other'/>"
           "<wire from='sum' to='net'/><wire from='net' to='act'/><wire from='act' to='y'/>"
           "<wire from='act' to='h1'/></module>" WHAT ROWS "<node id='loop' op='scan' body='cell' axis='1'%s/>"
           "<wire from='rows' to='loop.x'/><wire from='loop.y' to='flat'/>" LEARN TRAIN,
      inner, loop, precision);
}

static char *
layer_graph (const char *layer, const char *mark, const char *precision)
{
  return g_strdup_printf (HEAD WHAT ROWS
                          "<node id='layer' op='%s' hidden_size='16' batch_first='true'%s/>"
                          "<wire from='rows' to='layer.input'/><wire from='layer.output' to='flat'/>" LEARN TRAIN,
                          layer, mark, precision);
}

/* ---- recomputation ---------------------------------------------------------------------- */

static void
check_recomputed (const char *xml, const char *what)
{
  static const char *const devices[] = { "cpu", "ref" };

  for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
    {
      g_auto (Run) kept = { 0 }, again = { 0 };

      run_graph (xml, &(RunOptions){ .device = devices[d], .keep_all = TRUE, .steps = 3 }, &kept);
      run_graph (xml, &(RunOptions){ .device = devices[d], .steps = 3 }, &again);
      g_test_message ("%s on %s: arena %zu, kept %zu", what, devices[d], again.arena, kept.arena);
      assert_same_bits (&kept, &again);
      g_assert_cmpuint (again.arena * 10, <, kept.arena * 9);
    }
}

static void
test_recompute (void)
{
  static const char mark[] = " recompute='true'";
  static const char *const layers[] = { "lstm", "gru" };
  g_autofree char *loop = loop_graph (mark, "", "f32"), *node = loop_graph ("", mark, "f32");

  check_recomputed (loop, "the loop");
  check_recomputed (node, "a module of its body");
  for (guint i = 0; i < G_N_ELEMENTS (layers); i++)
    {
      /* Of one layer the gates of all steps are there at once in the backward pass; of several those of one. */
      g_autofree char *xml = layer_graph (layers[i], " recompute='true' num_layers='3'", "f32");

      check_recomputed (xml, layers[i]);
    }
}

/* ---- precision ---------------------------------------------------------------------------- */

static LoomStep *
new_step (const char *xml)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  LoomStep *step = loom_step_new (spec, 16, TRUE, &error);

  g_assert_no_error (error);
  return step;
}

static guint
count_prims (const LoomProgram *p, const char *primitive)
{
  guint n = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    n += g_str_equal (loom_program_instr (p, i)->prim->name, primitive);
  return n;
}

/* Products of a body take their weights in 16 bits, which were made so once and not at each step. */
static void
check_body (const LoomScanAttrs *attrs)
{
  guint whole = attrs->n_carried + attrs->n_sequences, matrices = 0;

  for (guint i = 0; i < loom_program_n_inputs (attrs->body); i++)
    {
      LoomValue v = loom_program_get_input (attrs->body, i)->value;
      const LoomTensorDesc *d = &loom_value_info (attrs->body, v)->desc;

      if (i < whole || d->rank != 2)
        continue;
      matrices++;
      g_assert_cmpint (d->dtype, ==, LOOM_BF16);
    }
  g_assert_cmpuint (matrices, >, 0);
  g_assert_cmpuint (count_prims (attrs->body, "matmul"), >, 0);
}

static void
test_precision (void)
{
  g_autofree char *graphs[]
      = { loop_graph ("", "", "bf16"), layer_graph ("lstm", "", "bf16"), layer_graph ("gru", "", "bf16") };
  g_autofree char *full[]
      = { loop_graph ("", "", "f32"), layer_graph ("lstm", "", "f32"), layer_graph ("gru", "", "f32") };

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autoptr (LoomStep) step = new_step (graphs[i]);
      g_auto (Run) low = { 0 }, high = { 0 };

      for (guint k = 0; k < loom_program_n_instrs (step->program); k++)
        if (loom_program_instr (step->program, k)->prim == loom_prim ("scan"))
          check_body (loom_program_instr (step->program, k)->attrs);
      run_graph (graphs[i], &(RunOptions){ .device = "cpu", .steps = 8 }, &low);
      run_graph (full[i], &(RunOptions){ .device = "cpu", .steps = 8 }, &high);
      for (guint s = 0; s < 8; s++)
        g_assert_cmpfloat_with_epsilon (g_array_index (low.losses, double, s), g_array_index (high.losses, double, s),
                                        2e-2);
      g_assert_cmpuint (low.arena, <, high.arena);
    }
}

/* A network that each sample chooses, of two. */
static char *
choice_graph (const char *precision)
{
  return g_strdup_printf (
      HEAD "<module name='net'><node id='x' op='module_input'/><node id='up' op='linear' out_features='64'/>"
           "<node id='act' op='gelu'/><node id='down' op='linear' out_features='16'/>"
           "<node id='y' op='module_output'/><wire from='x' to='up'/><wire from='up' to='act'/>"
           "<wire from='act' to='down'/><wire from='down' to='y'/></module>" WHAT
           "<node id='two' op='narrow' dim='1' start='0' length='2'/><node id='which' op='argmax' dim='1'/>"
           "<node id='choice' op='switch' bodies='net,net'/><wire from='data.x' to='two'/>"
           "<wire from='two' to='which'/><wire from='which' to='choice.index'/><wire from='data.x' to='choice.x'/>"
           "<wire from='choice' to='flat'/>" LEARN TRAIN,
      precision);
}

/* Products of modules that the data select are in 16 bits, and values that enter and leave are f32. */
static void
test_chosen_precision (void)
{
  g_autofree char *graph = choice_graph ("bf16"), *full = choice_graph ("f32");
  g_autoptr (LoomStep) step = new_step (graph);
  g_auto (Run) low = { 0 }, high = { 0 };
  guint products = 0;

  for (guint k = 0; k < loom_program_n_instrs (step->program); k++)
    {
      const LoomInstr *instr = loom_program_instr (step->program, k);
      const LoomVisitAttrs *attrs = instr->attrs;

      if (instr->prim != loom_prim ("visit"))
        continue;
      for (guint i = 0; i < loom_program_n_instrs (attrs->body[0]); i++)
        {
          const LoomInstr *inner = loom_program_instr (attrs->body[0], i);

          if (inner->prim != loom_prim ("matmul"))
            continue;
          products++;
          g_assert_cmpint (loom_value_info (attrs->body[0], inner->in[0])->desc.dtype, ==, LOOM_BF16);
          g_assert_cmpint (loom_value_info (attrs->body[0], inner->in[1])->desc.dtype, ==, LOOM_BF16);
        }
    }
  g_assert_cmpuint (products, >=, 5);
  run_graph (graph, &(RunOptions){ .device = "cpu", .steps = 8 }, &low);
  run_graph (full, &(RunOptions){ .device = "cpu", .steps = 8 }, &high);
  for (guint s = 0; s < 8; s++)
    g_assert_cmpfloat_with_epsilon (g_array_index (low.losses, double, s), g_array_index (high.losses, double, s),
                                    2e-2);
}

/* Carried values may be integers: a module_input declares the initial zeros. */
static void
test_counter (void)
{
  g_autofree char *xml = g_strdup_printf (
      HEAD "<module name='cell'><node id='x' op='module_input'/>"
           "<node id='n' op='module_input' shape='B' dtype='i64'/><node id='one' op='constant' value='1' dtype='i64'/>"
           "<node id='more' op='add'/><node id='y' op='module_output'/><node id='n1' op='module_output' carry='n'/>"
           "<wire from='n' to='more.input'/><wire from='one' to='more.other'/><wire from='x' to='y'/>"
           "<wire from='more' to='n1'/></module>" WHAT ROWS "<node id='loop' op='scan' body='cell' axis='1'/>"
           "<node id='off' op='expression' formula='x + 0 * n'/><node id='count' op='unsqueeze' dim='1'/>"
           "<wire from='rows' to='loop.x'/><wire from='loop.n1' to='count'/><wire from='data.x' to='off.x'/>"
           "<wire from='count' to='off.n'/><wire from='off' to='flat'/>" LEARN TRAIN,
      "f32");
  g_autoptr (LoomStep) step = new_step (xml);

  g_assert_cmpuint (count_prims (step->program, "scan"), ==, 1);
}

/* ---- size ----------------------------------------------------------------------------------- */

typedef struct
{
  guint passes, instrs;
} Counted;

static void
count_pass (const LoomPlanPass *pass, gpointer data)
{
  Counted *counted = data;

  counted->passes++;
  counted->instrs += pass->n_instrs;
}

/* The planner examines as many instructions for many steps as for few, pass by pass, and so does its result. */
static void
test_size (void)
{
  static const char *const cells[] = { "lstm", "gru" };

  for (guint c = 0; c < G_N_ELEMENTS (cells); c++)
    {
      Counted counted[2] = { { 0 }, { 0 } };
      guint n[2], bodies[2] = { 0, 0 };

      for (int k = 0; k < 2; k++)
        {
          g_autofree char *xml = g_strdup_printf (
              HEAD "<node id='data' op='dataset' source='random' in_features='%d' out_features='4'/>"
                   "<node id='rows' op='reshape' shape='B,%d,8'/><wire from='data.x' to='rows'/>"
                   "<node id='layer' op='%s' hidden_size='16' batch_first='true'/>"
                   "<wire from='rows' to='layer.input'/><wire from='layer.output' to='flat'/>" LEARN TRAIN,
              k == 0 ? 64 : 6400, k == 0 ? 8 : 800, cells[c], "f32");
          g_autoptr (LoomStep) step = new_step (xml);
          g_autoptr (LoomDevices) devices = loom_devices_new (1);
          g_autoptr (GError) error = NULL;
          LoomPlanOptions options = { .device = "cpu", .on_pass = count_pass, .on_pass_data = &counted[k] };
          g_autoptr (LoomPlan) plan = loom_plan_new (step->program, devices, &options, &error);

          g_assert_no_error (error);
          n[k] = loom_plan_n_instrs (plan);
          for (guint i = 0; i < n[k]; i++)
            for (guint b = 0; b < loom_plan_instr (plan, i)->n_bodies; b++)
              bodies[k] += loom_plan_n_instrs (loom_plan_instr (plan, i)->body[b]);
        }
      g_assert_cmpuint (n[0], ==, n[1]);
      g_assert_cmpuint (bodies[0], >, 0);
      g_assert_cmpuint (bodies[0], ==, bodies[1]);
      g_assert_cmpuint (counted[0].passes, ==, counted[1].passes);
      g_assert_cmpuint (counted[0].instrs, ==, counted[1].instrs);
    }
}

/* ---- a number that is not finite ---------------------------------------------------------------- */

/* The state decreases by one at each step, until its logarithm is NaN at the fourth. */
static void
test_nan (void)
{
  static const char *const xml
      = HEAD "<module name='cell'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,8'/>"
             "<node id='less' op='expression' formula='h - 1'/><node id='more' op='expression' formula='h + 2.5'/>"
             "<node id='culprit' op='log'/><node id='sum' op='add'/><node id='y' op='module_output'/>"
             "<node id='h1' op='module_output' carry='h'/><wire from='h' to='less.h'/><wire from='h' to='more.h'/>"
             "<wire from='more' to='culprit'/><wire from='culprit' to='sum.input'/><wire from='x' to='sum.other'/>"
             "<wire from='sum' to='y'/><wire from='less' to='h1'/></module>" WHAT ROWS
             "<node id='loop' op='scan' body='cell' axis='1'/><wire from='rows' to='loop.x'/>"
             "<wire from='loop.y' to='flat'/>" LEARN
             "<train loss='loss' optimizer='sgd' lr='0.1' batch_size='16' epochs='1' seed='1'/></graph>";
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_FAILED);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_test_message ("%s", error->message);
  g_assert_nonnull (
      strstr (error->message,
              "It first appeared at node loop.culprit (log, forward pass), in step 4 of the 24 of loop, as NaN"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/loops/recompute", test_recompute);
  g_test_add_func ("/loops/precision", test_precision);
  g_test_add_func ("/loops/chosen-precision", test_chosen_precision);
  g_test_add_func ("/loops/counter", test_counter);
  g_test_add_func ("/loops/size", test_size);
  g_test_add_func ("/loops/nan", test_nan);
  return g_test_run ();
}
