/* Steps in mixed precision, and steps that recompute marked nodes for the backward pass. Recomputation must not change
 * a bit, so pairs of runs are compared byte for byte; it must save memory, so arenas are compared too. Precision
 * changes bits and must not change whether the net learns. */
#include "tests/test-program.h"
#include "tests/train/step-run.h"

/* Two layers in a module, marked or not, twice; dropout so that random numbers are drawn again, and a normalisation so
 * that running statistics would be committed twice. */
static char *
chain_graph (const char *outer, const char *inner, const char *precision)
{
  return g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<module name=\"layer\"><node id=\"x\" op=\"module_input\"/>"
      "<node id=\"conv\" op=\"conv2d\" out_channels=\"8\" kernel_size=\"3\" padding=\"1\"/>"
      "<node id=\"norm\" op=\"batch_norm2d\"/><node id=\"act\" op=\"gelu\"/>"
      "<node id=\"drop\" op=\"dropout\" p=\"0.25\"/><node id=\"y\" op=\"module_output\"/>"
      "<wire from=\"x\" to=\"conv\"/><wire from=\"conv\" to=\"norm\"/><wire from=\"norm\" to=\"act\"/>"
      "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"y\"/></module>"
      "<module name=\"block\"><node id=\"x\" op=\"module_input\"/>"
      "<node id=\"l\" module=\"layer\" repeat=\"3\"%s/><node id=\"y\" op=\"module_output\"/>"
      "<wire from=\"x\" to=\"l\"/><wire from=\"l\" to=\"y\"/></module>"
      "<node id=\"data\" op=\"dataset\" source=\"random\" in_features=\"200\" out_features=\"4\"/>"
      "<node id=\"img\" op=\"reshape\" shape=\"B,2,10,10\"/><wire from=\"data.x\" to=\"img\"/>"
      "<node id=\"b\" module=\"block\" repeat=\"3\"%s/>"
      "<node id=\"flat\" op=\"flatten\"/><node id=\"head\" op=\"linear\" out_features=\"4\"/>"
      "<node id=\"loss\" op=\"mse_loss\"/>"
      "<wire from=\"img\" to=\"b\"/><wire from=\"b\" to=\"flat\"/><wire from=\"flat\" to=\"head\"/>"
      "<wire from=\"head\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"16\" seed=\"5\" precision=\"%s\"/></graph>",
      inner, outer, precision);
}

/* ---- recomputation ----------------------------------------------------- */

static void
test_recompute (gconstpointer precision)
{
  static const char *const marks[][2] = { { " recompute=\"true\"", "" },
                                          { "", " recompute=\"true\"" },
                                          { " recompute=\"true\"", " recompute=\"true\"" } };
  static const char *const devices[] = { "cpu", "ref" };

  for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
    {
      gsize least = G_MAXSIZE;
      for (guint k = 0; k < G_N_ELEMENTS (marks); k++)
        {
          g_autofree char *xml = chain_graph (marks[k][0], marks[k][1], precision);
          g_auto (Run) kept = { 0 }, again = { 0 };

          run_graph (xml, &(RunOptions){ .device = devices[d], .keep_all = TRUE, .steps = 4 }, &kept);
          run_graph (xml, &(RunOptions){ .device = devices[d], .steps = 4 }, &again);
          g_test_message ("%s, %s%s%s: arena %zu, kept %zu", devices[d], (const char *)precision, marks[k][0],
                          marks[k][1], again.arena, kept.arena);
          assert_same_bits (&kept, &again);
          g_assert_cmpuint (again.arena * 10, <, kept.arena * 9);
          least = MIN (least, again.arena);
        }
      g_assert_cmpuint (least, >, 0);
    }
}

/* ---- mixed precision ------------------------------------------------------ */

/* The result of a chain of element-wise links does not depend on their fusion, in 16-bit types as in f32. */
static void
test_fusion (void)
{
  g_autofree char *xml = chain_graph ("", "", "bf16");
  g_auto (Run) fused = { 0 }, single = { 0 };

  run_graph (xml, &(RunOptions){ .device = "ref", .steps = 3 }, &fused);
  run_graph (xml, &(RunOptions){ .device = "ref", .steps = 3, .no_fusion = TRUE }, &single);
  for (guint i = 0; i < fused.losses->len; i++)
    g_assert_cmpfloat_with_epsilon (g_array_index (fused.losses, double, i), g_array_index (single.losses, double, i),
                                    2e-2);
}

static void
test_devices_agree (void)
{
  static const char *const precisions[] = { "f32", "bf16" };

  for (guint k = 0; k < G_N_ELEMENTS (precisions); k++)
    {
      g_autofree char *xml = chain_graph ("", "", precisions[k]);
      g_auto (Run) cpu = { 0 }, ref = { 0 };

      run_graph (xml, &(RunOptions){ .device = "cpu", .steps = 1 }, &cpu);
      run_graph (xml, &(RunOptions){ .device = "ref", .steps = 1 }, &ref);
      g_assert_cmpfloat_with_epsilon (g_array_index (cpu.losses, double, 0), g_array_index (ref.losses, double, 0),
                                      k == 0 ? 1e-5 : 2e-2);
    }
}

/* The same is learnt, and master weights stay f32: their bytes are as many. */
static void
test_learns (gconstpointer precision)
{
  g_autofree char *short_xml = chain_graph ("", "", precision), *long_xml = chain_graph ("", "", "f32");
  g_auto (Run) low_precision = { 0 }, full = { 0 };
  const char *device = g_str_equal (precision, "f16") ? "ref" : "cpu";

  run_graph (short_xml, &(RunOptions){ .device = device, .steps = 12 }, &low_precision);
  run_graph (long_xml, &(RunOptions){ .device = device, .steps = 12 }, &full);
  double first = g_array_index (full.losses, double, 0), last = g_array_index (full.losses, double, 11);
  double low_precision_last = g_array_index (low_precision.losses, double, 11);
  g_test_message ("loss %g to %g in f32, to %g in %s", first, last, low_precision_last, (const char *)precision);
  g_assert_cmpfloat (last, <, first);
  g_assert_cmpfloat (fabs (low_precision_last - last), <, 0.1 * (first - last) + 0.05);
  /* f16 has two scalars more. */
  g_assert_cmpuint (low_precision.end->len, ==, full.end->len + (g_str_equal (precision, "f16") ? 8 : 0));
}

static void
test_loss_scale (void)
{
  g_autofree char *xml = chain_graph ("", "", "f16");
  g_auto (Run) stable = { 0 }, overflowing = { 0 }, none = { 0 };

  run_graph (xml, &(RunOptions){ .device = "ref", .steps = 2, .first_scale = 128 }, &stable);
  g_assert_cmpfloat (stable.scale, ==, 128);
  /* 2^40 overflows every gradient: the steps change nothing but the scale. */
  run_graph (xml, &(RunOptions){ .device = "ref", .steps = 3, .first_scale = 1099511627776.0 }, &overflowing);
  g_assert_cmpfloat (overflowing.scale, ==, 1099511627776.0 / 8);
  run_graph (xml, &(RunOptions){ .device = "ref", .steps = 0, .first_scale = 1099511627776.0 / 8 }, &none);
  g_assert_cmpmem (overflowing.end->data, overflowing.end->len, none.end->data, none.end->len);
}

static void
test_f16_is_refused (void)
{
  g_autofree char *xml = chain_graph ("", "", "f16");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomStep) step = loom_step_new (spec, 16, TRUE, &error);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlanOptions options = { .device = "cpu" };

  g_assert_no_error (error);
  g_assert_null (loom_plan_new (step->program, devices, &options, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NO_KERNEL);
  g_assert_nonnull (strstr (error->message, "use bf16"));
}

/* dtype="…" on a node or a module: a type of its own within the graph's. */
static void
test_node_dtype (void)
{
  g_autofree char *whole = chain_graph ("", "", "bf16"), *none = chain_graph ("", "", "f32");
  g_autofree char *opposite = chain_graph (" dtype=\"f32\"", "", "f32"),
                  *part = chain_graph (" dtype=\"bf16\"", "", "f32");
  g_auto (Run) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
  const RunOptions m = { .device = "cpu", .steps = 2 };

  run_graph (whole, &m, &a);
  run_graph (none, &m, &b);
  run_graph (opposite, &m, &c);
  run_graph (part, &m, &d);
  assert_same_bits (&b, &c);
  g_assert_cmpfloat (g_array_index (d.losses, double, 0), !=, g_array_index (b.losses, double, 0));
  g_assert_cmpfloat (g_array_index (d.losses, double, 0), !=, g_array_index (a.losses, double, 0));
  g_assert_cmpfloat_with_epsilon (g_array_index (d.losses, double, 0), g_array_index (b.losses, double, 0), 5e-2);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/precision/recompute/f32", "f32", test_recompute);
  g_test_add_data_func ("/precision/recompute/bf16", "bf16", test_recompute);
  g_test_add_func ("/precision/fusion", test_fusion);
  g_test_add_func ("/precision/devices-agree", test_devices_agree);
  g_test_add_data_func ("/precision/learns/bf16", "bf16", test_learns);
  g_test_add_data_func ("/precision/learns/f16", "f16", test_learns);
  g_test_add_func ("/precision/loss-scale", test_loss_scale);
  g_test_add_func ("/precision/f16-is-refused", test_f16_is_refused);
  g_test_add_func ("/precision/node-dtype", test_node_dtype);
  return g_test_run ();
}
