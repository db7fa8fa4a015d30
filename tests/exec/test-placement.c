/* Placement: with nodes on any devices, the numbers are those of the graph without devices, forward, backward and after
 * an update. Random graphs of all operators get a random device at each node, among the virtual devices of cpu and of
 * ref, or among cpu, ref and the device under test (GRADLOOM_TEST_DEVICE); so every operator occurs between two
 * devices, including those without a kernel. Truth and tolerance are those of test-graphs.c; in f64, where every device
 * is one of ref's, only the order of sums may differ. GRADLOOM_GRAPH_SEEDS="400" sets the number of seeds and "81-81" a
 * range. A second test puts each operator that only changes a shape or nothing between two devices, in both directions.
 */
#include <math.h>
#include <string.h>

#include "engine/train/loom-step.h"
#include "tests/exec/graph-case.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define DEFAULT_SEEDS 120

static const char *devices_of_nodes[] = { "cpu", "cpu:1", "ref", "ref:1" };
/* Of the devices above: first one, and how many. A device under test is the first and the last, so in all of them. */
static const guint sets[][2] = { { 0, 2 }, { 0, 3 }, { 0, 4 }, { 2, 2 } };

static void
set_attribute (LoomGraph *graph, LoomElement *element, const char *name, const char *value)
{
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, name, value)));
}

/* Gives three of four nodes a device, in modules too. */
static void
place_nodes (LoomGraph *graph, LoomElement *scope, const guint *set, GRand *rand)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      /* A loop runs on one device, so no node of its body names another. */
      if (loom_element_tag (e) == LOOM_TAG_MODULE && loom_scope_find_node (e, "h1") != NULL)
        continue;
      if (loom_element_tag (e) == LOOM_TAG_MODULE)
        place_nodes (graph, e, set, rand);
      else if (loom_element_tag (e) == LOOM_TAG_NODE && g_rand_double (rand) < 0.75)
        set_attribute (graph, e, "device",
                       devices_of_nodes[set[0] + (guint)g_rand_int_range (rand, 0, (gint32)set[1])]);
    }
}

typedef struct
{
  guint f32, f64; /* copies between devices */
} Report;

static guint
count_transfers (Case *c, LoomProgram *p, const LoomPlanOptions *options)
{
  g_autoptr (LoomPlan) plan = loom_plan_new (p, c->devices, options, NULL);
  guint n = 0;

  for (guint i = 0; plan != NULL && i < loom_plan_n_instrs (plan); i++)
    n += loom_plan_instr (plan, i)->kernel == NULL;
  return n;
}

static void
run_case (Case *c, Report *report)
{
  g_autofree char *text = random_graph_text (c->source);
  g_autoptr (LoomProgram) exact = NULL;
  g_autoptr (LoomProgram) fast = NULL;
  g_autoptr (LoomProgram) placed = NULL;
  g_autoptr (LoomProgram) recomputing = NULL;
  g_autoptr (LoomProgram) exactly = NULL;
  g_autoptr (GPtrArray) truth = NULL;
  g_autoptr (GPtrArray) like = NULL;
  g_autoptr (GPtrArray) got = NULL;
  g_autoptr (GPtrArray) poisoned = NULL;
  g_autoptr (GPtrArray) recomputed = NULL;
  g_autoptr (GPtrArray) far = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (c->seed ^ 4711);
  const guint *set = sets[c->seed % G_N_ELEMENTS (sets)];
  double depth = random_graph_depth (c->source);
  LoomPlanOptions options = { .device = devices_of_nodes[set[0] + (guint)g_rand_int_range (rand, 0, (gint32)set[1])] };

  case_read (c, text);
  if (!case_bind_sizes (c) || c->wrong->len > 0)
    return;
  exact = case_program (c, LOOM_F64, FALSE);
  fast = case_program (c, LOOM_F32, FALSE);
  place_nodes (c->graph, loom_graph_root (c->graph), set, rand);
  placed = case_program (c, LOOM_F32, FALSE);
  recomputing = case_program (c, LOOM_F32, TRUE);
  exactly = case_program (c, LOOM_F64, FALSE);
  if (exact == NULL || fast == NULL || placed == NULL || recomputing == NULL || exactly == NULL)
    return;
  truth = case_run_eager (c, exact, "ref");
  /* A loss that is no number on one device either (0 to the power of -1): there is nothing to compare. */
  if (truth == NULL && strstr (c->wrong->str, "is not finite") != NULL)
    {
      g_string_truncate (c->wrong, 0);
      return;
    }
  like = case_run_eager (c, fast, "ref");
  got = case_run_plan (c, placed, &options);
  if (truth == NULL || like == NULL || got == NULL)
    return;
  case_compare (c, placed, "placed", truth, like, got, 64, 1e-6 * (8 + depth));
  poisoned = case_run_poisoned (c, placed, &options);
  recomputed = case_run_plan (c, recomputing, &options);
  case_compare_bits (c, placed, "poisoned memory", got, poisoned);
  case_compare_bits (c, placed, "recomputed", got, recomputed);
  report->f32 += count_transfers (c, placed, &options);
  /* In f64 cpu:1 is replaced by ref:1, so the same borders are crossed and only the order of sums can differ. */
  options.device = g_str_has_suffix (options.device, ":1") ? "ref:1" : "ref";
  far = case_run_plan (c, exactly, &options);
  if (far != NULL)
    case_compare (c, exactly, "placed in f64", truth, like, far, 1e-6, 1e-13 * (8 + depth));
  report->f64 += count_transfers (c, exactly, &options);
}

static gboolean
run_seed (guint32 seed, LoomDevices *devices, Report *report)
{
  g_autoptr (RandomGraph) source = random_graph_new (seed, 8 + (seed * 5) % 25);
  Case c = { .seed = seed,
             .source = source,
             .training = seed % 4 != 0,
             .update = seed % 3 == 0 && seed % 4 != 0,
             .devices = devices,
             .wrong = g_string_new (NULL) };

  run_case (&c, report);
  return case_end (&c, "placement", seed, TRUE);
}

static void
test_random_placements (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  guint first = 0, last = DEFAULT_SEEDS - 1, wrong = 0;
  Report report = { 0 };

  if (asked != NULL && strchr (asked, '-') != NULL)
    {
      first = (guint)g_ascii_strtoull (asked, NULL, 10);
      last = (guint)g_ascii_strtoull (strchr (asked, '-') + 1, NULL, 10);
    }
  else if (asked != NULL)
    last = (guint)g_ascii_strtoull (asked, NULL, 10) - 1;
  for (guint seed = first; seed <= last; seed++)
    wrong += !run_seed (seed, devices, &report);
  g_test_message ("%u placed graphs with %u copies between devices in f32 and %u in f64, %u wrong", last - first + 1,
                  report.f32, report.f64, wrong);
  g_assert_cmpuint (wrong, ==, 0);
  g_assert_cmpuint (report.f32, >, last - first);
  if (g_getenv ("GRADLOOM_TEST_DEVICE") == NULL) /* which has no number of its own in f64 */
    g_assert_cmpuint (report.f64, >, last - first);
}

/* ---- an operator between two devices ---------------------------------- */

static const struct
{
  const char *name, *shape, *node, *source_kind;
} borders[] = {
  { "flatten", "2,3,4", "op=\"flatten\"", "" },
  { "flatten an image", "2,3,4,4", "op=\"flatten\"", "image" },
  { "reshape", "2,6", "op=\"reshape\" shape=\"3,4\"", "" },
  { "unsqueeze", "2,6", "op=\"unsqueeze\" dim=\"1\"", "" },
  { "squeeze", "2,1,6", "op=\"squeeze\" dim=\"1\"", "" },
  { "expand", "2,6", "op=\"expand\" shape=\"2,6\"", "" },
  { "expand, with another row", "1,6", "op=\"expand\" shape=\"3,6\"", "" },
  { "identity", "2,6", "op=\"identity\"", "" },
  { "detach", "2,6", "op=\"detach\"", "" },
  { "cast", "2,6", "op=\"cast\" dtype=\"f32\"", "" },
  { "cast to another type", "2,6", "op=\"cast\" dtype=\"bf16\"", "" },
  { "dropout", "2,6", "op=\"dropout\" p=\"0.5\"", "" },
  { "linear with a batch of one", "1,6", "op=\"linear\" out_features=\"4\"", "" },
  { "conv2d with a batch of one", "1,3,4,4", "op=\"conv2d\" out_channels=\"2\" kernel_size=\"3\"", "image" },
};

/* A weighted sum of the result of the chain x → front → node → back, and its gradients, on these devices. */
static char *
border_text (guint b, const char *front, const char *middle, const char *back)
{
  gboolean image = strcmp (borders[b].source_kind, "image") == 0;

  return g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"border\">\n"
      "<node id=\"x\" op=\"input\" shape=\"%s\" device=\"%s\"/>\n"
      "<node id=\"front\" %s device=\"%s\"/>\n<node id=\"scale\" op=\"parameter\" shape=\"1\" device=\"%s\"/>\n"
      "<node id=\"by\" op=\"mul\" device=\"%s\"/>\n<node id=\"node\" %s device=\"%s\"/>\n"
      "<node id=\"back\" op=\"silu\" device=\"%s\"/>\n"
      "<wire from=\"x\" to=\"front\"/>\n<wire from=\"front\" to=\"by.input\"/>\n<wire from=\"scale\" "
      "to=\"by.other\"/>\n"
      "<wire from=\"by\" to=\"node\"/>\n<wire from=\"node\" to=\"back\"/>\n</graph>\n",
      borders[b].shape, front,
      image ? "op=\"conv2d\" out_channels=\"3\" kernel_size=\"3\" padding=\"1\"" : "op=\"tanh\"", front, front, front,
      borders[b].node, middle, back);
}

static GPtrArray *
run_border (Case *c, const char *text, const char *device)
{
  LoomPlanOptions options = { .device = device };
  g_autoptr (LoomProgram) program = NULL;
  GPtrArray *results;

  case_read (c, text);
  program = case_program (c, LOOM_F32, FALSE);
  results = program != NULL ? case_run_plan (c, program, &options) : NULL;
  g_clear_pointer (&c->graph, loom_graph_unref);
  if (c->wrong->len > 0)
    g_error ("%s%s", text, c->wrong->str);
  return results;
}

static void
test_border (gconstpointer data)
{
  guint b = GPOINTER_TO_UINT (data);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (RandomGraph) numbers = random_graph_new (1, 1);

  for (guint training = 0; training < 2; training++)
    {
      Case c = { .seed = 1,
                 .source = numbers,
                 .training = training,
                 .update = training,
                 .devices = devices,
                 .wrong = g_string_new (NULL) };
      g_autofree char *plain = border_text (b, "ref", "ref", "ref");
      g_autoptr (GPtrArray) truth = run_border (&c, plain, "ref");

      for (guint way = 0; way < 64; way++)
        {
          const char *front = devices_of_nodes[way % 4], *middle = devices_of_nodes[way / 4 % 4],
                     *back = devices_of_nodes[way / 16];
          g_autofree char *text = border_text (b, front, middle, back);
          g_autoptr (GPtrArray) got = run_border (&c, text, "cpu");

          g_assert_cmpuint (truth->len, ==, got->len);
          for (guint i = 0; i < truth->len; i++)
            for (gint64 k = 0; k < ((LoomTensor *)truth->pdata[i])->count; k++)
              if (!(fabs (loom_tensor_get (truth->pdata[i], k) - loom_tensor_get (got->pdata[i], k)) < 1e-4))
                g_error ("%s on %s, %s, %s: result %u at %d is %g instead of %g", borders[b].name, front, middle, back,
                         i, (int)k, loom_tensor_get (got->pdata[i], k), loom_tensor_get (truth->pdata[i], k));
        }
      g_string_free (c.wrong, TRUE);
    }
}

TEST_FILE (argc, argv)
{
  const char *device = test_device (NULL);
  g_autoptr (LoomDevices) devices = NULL;

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_test_init (&argc, &argv, NULL);
  if (device != NULL)
    {
      devices_of_nodes[0] = devices_of_nodes[3] = device;
      devices_of_nodes[1] = "cpu";
    }
  devices = loom_devices_new (1);
  if (!test_device_is_there (devices, devices_of_nodes[0]))
    return 77;
  g_test_add_func ("/run/placement/random", test_random_placements);
  for (guint b = 0; b < G_N_ELEMENTS (borders); b++)
    {
      g_autofree char *path = g_strdup_printf ("/run/placement/border/%s", borders[b].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (b), test_border);
    }
  return g_test_run ();
}
