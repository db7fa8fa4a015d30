/* `gradloom eval` sample by sample: its tables, JSON and CSV agree with each other and with the whole evaluation. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define WIRES                                                                                                          \
  "  <wire from=\"data.x\" to=\"fc\"/>\n"                                                                              \
  "  <wire from=\"fc\" to=\"loss.input\"/>\n"                                                                          \
  "  <wire from=\"data.y\" to=\"loss.target\"/>\n"

static void
train_both (void)
{
  cli_write ("classes.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                            "  <node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                            "  <node id=\"loss\" op=\"cross_entropy\"/>\n" WIRES
                            "  <train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"2\" batch_size=\"20\">\n"
                            "    <metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/>\n"
                            "  </train>\n"
                            "</graph>\n");
  cli_write ("values.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                           "  <node id=\"data\" op=\"dataset\" source=\"linear\"/>\n"
                           "  <node id=\"fc\" op=\"linear\" out_features=\"1\"/>\n"
                           "  <node id=\"loss\" op=\"mse_loss\"/>\n" WIRES
                           "  <train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"1\" batch_size=\"20\"/>\n"
                           "</graph>\n");
  cli_expect (0, NULL, "train", "classes.xml", "--out", "classes");
  cli_expect (0, NULL, "train", "values.xml", "--out", "values");
}

/* The object of this event among the printed lines. (transfer full parser) */
static JsonObject *
event_of (const char *out, const char *name, JsonParser **parser)
{
  g_auto (GStrv) lines = g_strsplit (out, "\n", -1);
  g_autofree char *begin = g_strdup_printf ("{\"event\":\"%s\"", name);

  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], begin))
      {
        *parser = json_parser_new ();
        g_assert_true (json_parser_load_from_data (*parser, lines[i], -1, NULL));
        return json_node_get_object (json_parser_get_root (*parser));
      }
  g_error ("no event %s in %s", name, out);
}

static double
number (JsonObject *object, const char *name)
{
  return json_object_get_double_member (object, name);
}

static void
test_json (void)
{
  g_autoptr (JsonParser) first = NULL, second = NULL;
  g_auto (CliResult) r
      = cli ("eval", "classes", "--json", "--confusion", "--per-class", "--calibration", "--csv", "samples.csv", NULL);
  double right = 0, all = 0, bins = 0;

  g_assert_cmpstr (r.err, ==, "");
  g_assert_cmpint (r.status, ==, 0);
  JsonObject *eval = event_of (r.out, "eval", &first), *samples = event_of (r.out, "samples", &second);
  g_assert_cmpfloat_with_epsilon (number (samples, "loss"), number (eval, "loss"), 1e-6);
  g_assert_cmpfloat_with_epsilon (number (samples, "accuracy"),
                                  number (json_object_get_object_member (eval, "metrics"), "accuracy"), 1e-9);
  JsonArray *confusion = json_object_get_array_member (samples, "confusion");
  JsonArray *classes = json_object_get_array_member (samples, "per_class");
  g_assert_cmpuint (json_array_get_length (confusion), ==, 2);
  for (guint k = 0; k < 2; k++)
    {
      JsonArray *row = json_array_get_array_element (confusion, k);
      JsonObject *class = json_array_get_object_element (classes, k);
      const double sum = json_array_get_double_element (row, 0) + json_array_get_double_element (row, 1);

      g_assert_cmpfloat (number (class, "samples"), ==, sum);
      g_assert_cmpfloat_with_epsilon (number (class, "accuracy"), json_array_get_double_element (row, k) / sum, 1e-12);
      right += json_array_get_double_element (row, k);
      all += sum;
    }
  g_assert_cmpfloat_with_epsilon (right / all, number (samples, "accuracy"), 1e-12);
  JsonArray *bin = json_object_get_array_member (json_object_get_object_member (samples, "calibration"), "bins");
  for (guint k = 0; k < json_array_get_length (bin); k++)
    bins += number (json_array_get_object_element (bin, k), "samples");
  g_assert_cmpfloat (bins, ==, all);

  /* One line per sample, by descending loss, whose mean is the loss. */
  g_autofree char *csv = NULL;
  double sum = 0, last = INFINITY;
  g_assert_true (g_file_get_contents ("samples.csv", &csv, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (g_strchomp (csv), "\n", -1);
  g_assert_cmpstr (lines[0], ==, "sample,target,predicted,probability,loss");
  g_assert_cmpfloat (g_strv_length (lines) - 1, ==, all);
  for (guint i = 1; lines[i] != NULL; i++)
    {
      const double loss = g_ascii_strtod (strrchr (lines[i], ',') + 1, NULL);

      g_assert_cmpfloat (loss, <=, last);
      last = loss;
      sum += loss;
    }
  g_assert_cmpfloat_with_epsilon (sum / all, number (samples, "loss"), 1e-6);
}

static void
test_tables (void)
{
  g_auto (CliResult) r
      = cli ("eval", "classes", "--confusion", "--per-class", "--calibration", "--split", "train", NULL);

  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "train samples: loss"));
  g_assert_nonnull (strstr (r.out, "rows are classes, columns are predictions"));
  g_assert_nonnull (strstr (r.out, "expected calibration error"));
}

static void
test_refusals (void)
{
  cli_expect (2, "--split takes train, val or test", "eval", "classes", "--split", "all", "--confusion");
  cli_expect (2, "--split is for", "eval", "classes", "--split", "val");
  cli_expect (2, "cannot be written", "eval", "classes", "--csv", "missing/samples.csv");
  cli_expect (2, "--confusion is for nets that predict probabilities", "eval", "values", "--confusion");
  cli_expect (0, NULL, "eval", "values", "--csv", "values.csv");
}

/* ---- masks and boxes ------------------------------------------------------------ */

static void
write_photo (const char *name)
{
  g_autoptr (GString) text = g_string_new ("P6\n20 10\n255\n");

  for (int i = 0; i < 20 * 10 * 3; i++)
    g_string_append_c (text, (char)(i * 7 % 256));
  g_assert_true (g_file_set_contents (name, text->str, (gssize)text->len, NULL));
}

/* A PNG of 20 × 10 pixels with this type of colour: 3 is a palette, 2 is RGB. */
static void
assert_png (const char *name, int color)
{
  g_autofree char *bytes = NULL;
  gsize n;

  g_assert_true (g_file_get_contents (name, &bytes, &n, NULL));
  g_assert_cmpuint (n, >, 33);
  g_assert_cmpint (memcmp (bytes, "\x89PNG", 4), ==, 0);
  g_assert_cmpint (bytes[19], ==, 20);
  g_assert_cmpint (bytes[23], ==, 10);
  g_assert_cmpint (bytes[25], ==, color);
}

/* The sums of all samples are those of the metric, which adds batches; and the IoU of a class is that of the counts. */
static void
test_masks (void)
{
  g_autoptr (JsonParser) first = NULL, second = NULL, third = NULL;
  double sum = 0, areas = 0;

  cli_write ("masks.xml",
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
             "  <node id=\"data\" op=\"dataset\" source=\"shapes\" target_type=\"mask\" size=\"16\" n=\"128\"\n"
             "        n_test=\"21\"/>\n"
             "  <node id=\"fc\" op=\"conv2d\" out_channels=\"4\" kernel_size=\"3\" padding=\"1\"/>\n"
             "  <node id=\"loss\" op=\"cross_entropy\"/>\n" WIRES
             "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.03\" epochs=\"4\" batch_size=\"8\">\n"
             "    <metric type=\"mean_iou\" input=\"fc\" target=\"data.y\"/>\n"
             "  </train>\n"
             "</graph>\n");
  cli_expect (0, NULL, "train", "masks.xml", "--out", "masks");
  g_auto (CliResult) r = cli ("eval", "masks", "--json", "--confusion", "--per-class", NULL);
  g_assert_cmpint (r.status, ==, 0);
  JsonObject *eval = event_of (r.out, "eval", &first), *samples = event_of (r.out, "samples", &second);
  g_assert_cmpfloat_with_epsilon (number (samples, "mean_iou"),
                                  number (json_object_get_object_member (eval, "metrics"), "mean_iou"), 1e-9);
  JsonArray *confusion = json_object_get_array_member (samples, "confusion");
  JsonArray *classes = json_object_get_array_member (samples, "per_class");
  for (guint k = 0; k < 4; k++)
    {
      double row = 0, column = 0,
             right = json_array_get_double_element (json_array_get_array_element (confusion, k), k);

      for (guint j = 0; j < 4; j++)
        {
          row += json_array_get_double_element (json_array_get_array_element (confusion, k), j);
          column += json_array_get_double_element (json_array_get_array_element (confusion, j), k);
        }
      g_assert_cmpfloat_with_epsilon (number (json_array_get_object_element (classes, k), "iou"),
                                      right / (row + column - right), 1e-12);
      sum += right / (row + column - right);
    }
  g_assert_cmpfloat_with_epsilon (sum / 4, number (samples, "mean_iou"), 1e-12);

  write_photo ("photo.ppm");
  g_auto (CliResult) p = cli ("predict", "masks", "--masks", "over", "--top", "4", "--json", "photo.ppm", NULL);
  g_assert_cmpint (p.status, ==, 0);
  JsonObject *prediction = event_of (p.out, "prediction", &third);
  JsonArray *list = json_object_get_array_member (prediction, "areas");
  for (guint k = 0; k < json_array_get_length (list); k++)
    areas += number (json_array_get_object_element (list, k), "fraction");
  g_assert_cmpfloat_with_epsilon (areas, 1, 1e-9);
  g_assert_cmpstr (json_object_get_string_member (prediction, "mask"), ==, "over/photo-mask.png");
  assert_png ("over/photo-mask.png", 3);
  assert_png ("over/photo-over.png", 2);
  cli_write ("points.csv", "0.1,0.2\n");
  cli_expect (1, "--masks is for pictures, and for nets with a class at each of their pixels", "predict", "classes",
              "--masks", "over", "points.csv");
}

/* A graph that outputs detections is compared with the boxes of its data set. */
static void
test_boxes (void)
{
  g_autofree char *graph
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs/models/shapes-detector.xml", NULL);
  g_autoptr (JsonParser) first = NULL, second = NULL;

  cli_expect (0, NULL, "train", graph, "--set", "data.n=64", "--set", "data.n_test=16", "--epochs", "1", "--out",
              "boxes");
  g_auto (CliResult) r = cli ("eval", "boxes", "--json", "--per-class", NULL);
  g_assert_cmpint (r.status, ==, 0);
  JsonObject *samples = event_of (r.out, "samples", &first);
  JsonArray *classes = json_object_get_array_member (samples, "per_class");
  g_assert_cmpuint (json_array_get_length (classes), ==, 3);
  g_assert_cmpfloat (number (json_array_get_object_element (classes, 0), "boxes"), >, 5);
  g_assert_cmpfloat (number (samples, "map"), <=, number (samples, "map_50"));
  write_photo ("photo.ppm");
  g_auto (CliResult) p = cli ("predict", "boxes", "--masks", "boxed", "--json", "photo.ppm", NULL);
  g_assert_cmpint (p.status, ==, 0);
  JsonArray *list = json_object_get_array_member (event_of (p.out, "prediction", &second), "boxes");
  g_assert_cmpuint (json_array_get_length (list), ==, 16);
  assert_png ("boxed/photo-over.png", 2);
}

/* A net can answer with a class that has no name, and with boxes that are none. */
static void
test_odd_boxes (void)
{
  g_autofree char *graph
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs/models/shapes-detector.xml", NULL);
  static const char *const corners[] = { "corners.x1.formula=c + d + w", "corners.x1.formula=(c + d + w) * 0 / 0" };
  static const char *const runs[] = { "unnamed", "no-numbers" };

  write_photo ("photo.ppm");
  for (guint i = 0; i < G_N_ELEMENTS (corners); i++)
    {
      cli_expect (0, NULL, "train", graph, "--set", "data.n=32", "--set", "data.n_test=16", "--epochs", "1", "--set",
                  "decode.kind.formula=i // 256 + 90", "--set", "decode.peaks.formula=where(p >= a, p, 0) * 0 + 0.9",
                  "--set", corners[i], "--out", runs[i]);
      g_auto (CliResult) p = cli ("predict", runs[i], "--masks", "odd-boxes", "photo.ppm", NULL);
      g_assert_cmpint (p.status, ==, 0);
      if (i == 0)
        g_assert_nonnull (strstr (p.out, "90 90.0 % ("));
      else
        g_assert_nonnull (strstr (p.out, "  nothing"));
      g_auto (CliResult) r = cli ("eval", runs[i], "--json", "--per-class", NULL);
      g_assert_cmpint (r.status, ==, 0);
    }
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  train_both ();
  g_test_add_func ("/eval/json", test_json);
  g_test_add_func ("/eval/tables", test_tables);
  g_test_add_func ("/eval/refusals", test_refusals);
  g_test_add_func ("/eval/masks", test_masks);
  g_test_add_func ("/eval/boxes", test_boxes);
  g_test_add_func ("/eval/odd-boxes", test_odd_boxes);
  status = g_test_run ();
  cli_leave ();
  return status;
}
