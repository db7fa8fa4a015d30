/* Every operator compared with PyTorch's stored results: data/OPERATOR.safetensors, written by make.py. Each sample
 * runs on `ref` in f64, where only the order of summation may differ, and on `cpu` (or GRADLOOM_TEST_DEVICE) in f32.
 * Neither Python nor PyTorch is needed. An operator without samples fails unless it is named below with the reason. */
#include "tests/exec/test-device.h"
#include "tests/reference/reference-sample.h"
#include "tests/test-program.h"

#include <math.h>

#define F64_TOLERANCE    1e-9
#define F32_TOLERANCE    1e-5
#define LEAST_SAMPLES    4545
#define LEAST_OF_PYTORCH 2013

/* Operators that compute nothing of their own, or that are tested elsewhere. */
static const struct
{
  const char *name, *why;
} without[] = {
  { "dataset", "it delivers data; tests/data and the trajectories read it" },
  { "scheduled", "a number that the trainer sets before each step; tests/train/test-stateful.c compares it" },
  { "input", "every sample's tensors come through it" },
  { "module_input", "modules are made flat before anything is computed; tests/reference/nets.py compares them" },
  { "module_output", "modules are made flat before anything is computed; tests/reference/nets.py compares them" },
  { "recurse", "it computes what its module does; tests/net/test-visit.c compares it with trees that are drawn" },
  { "scan", "it computes what its module does; tests/net/test-scan.c compares it with rnn, which is compared here" },
  { "switch", "it computes what its modules do; tests/net/test-visit.c compares it with masks" },
};

/* Operators whose formula differs from PyTorch's in the last digits, and their tolerances. */
static const struct
{
  const char *name;
  double f64, f32;
  const char *why;
} loose[] = {
  { "hardsigmoid", 1e-7, 1e-5, "PyTorch's gradient in f64 is a sixth that was rounded to f32" },
};

typedef struct
{
  LoomDevices *devices;
  double worst[2];
} Fixture;

static Fixture fixture;

static char *
data_path (const char *name)
{
  g_autofree char *file = g_strconcat (name, ".safetensors", NULL);

  return g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "reference", "data", file, NULL);
}

static const char *
reason (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (without); i++)
    if (g_str_equal (without[i].name, name))
      return without[i].why;
  return NULL;
}

static double
tolerance (const char *name, LoomDType dtype)
{
  for (guint i = 0; i < G_N_ELEMENTS (loose); i++)
    if (g_str_equal (loose[i].name, name))
      return dtype == LOOM_F64 ? loose[i].f64 : loose[i].f32;
  return dtype == LOOM_F64 ? F64_TOLERANCE : F32_TOLERANCE;
}

static guint
run_sample (const char *op, const Sample *sample)
{
  const struct
  {
    const char *device;
    LoomDType dtype;
  } ways[] = { { "ref", LOOM_F64 }, { test_device ("cpu"), LOOM_F32 } };
  guint failed = 0;

  for (guint k = 0; k < G_N_ELEMENTS (ways); k++)
    {
      SampleManner manner = { .devices = fixture.devices,
                              .device = ways[k].device,
                              .dtype = ways[k].dtype,
                              .tolerance = tolerance (op, ways[k].dtype) };
      g_autofree char *why = sample_run (sample, &manner);
      if (manner.tolerance == (k == 0 ? F64_TOLERANCE : F32_TOLERANCE))
        fixture.worst[k] = fmax (fixture.worst[k], manner.worst);
      if (why == NULL)
        continue;
      g_test_message ("FAILED on %s: sample %s, %s (%s): %s", ways[k].device, sample->number,
                      json_object_get_string_member (sample->about, "title"),
                      json_object_get_string_member (sample->about, "source"), why);
      failed++;
    }
  return failed;
}

static void
test_operator (gconstpointer data)
{
  const char *op = data;
  g_autofree char *path = data_path (op);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) file = loom_safetensors_open (path, &error);
  guint n = 0, own = 0, failed = 0;

  g_assert_no_error (error);
  g_assert_cmpstr (loom_tensor_file_metadata (file, "operator"), ==, op);
  for (;; n++)
    {
      g_autofree char *number = g_strdup_printf ("%u", n);
      const char *text = loom_tensor_file_metadata (file, number);
      if (text == NULL)
        break;
      g_autoptr (JsonNode) about = json_from_string (text, &error);
      g_assert_no_error (error);
      Sample sample = { .file = file, .number = number, .about = json_node_get_object (about) };
      own += g_str_equal (json_object_get_string_member (sample.about, "source"), "cases");
      failed += run_sample (op, &sample);
    }
  g_test_message ("%s: %u samples, %u of them PyTorch's own", op, n, n - own);
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (failed, ==, 0);
}

/* Nothing is left out without a word, and nothing that is excused has samples after all. */
static void
test_complete (void)
{
  const LoomOp *const *ops = loom_ops ();
  guint missing = 0;

  for (guint i = 0; ops[i] != NULL; i++)
    {
      g_autofree char *path = data_path (ops[i]->name);
      gboolean there = g_file_test (path, G_FILE_TEST_EXISTS);
      if (there == (reason (ops[i]->name) != NULL))
        {
          g_test_message (there ? "%s has samples and a reason to have none"
                                : "%s has no samples, and no reason is given",
                          ops[i]->name);
          missing++;
        }
    }
  g_assert_cmpuint (missing, ==, 0);
}

/* How many samples the data has, and how many of them are PyTorch's own. */
static void
count_samples (const char *op, guint *n, guint *of_pytorch)
{
  g_autofree char *path = data_path (op);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) file = loom_safetensors_open (path, &error);

  g_assert_no_error (error);
  for (guint i = 0;; i++)
    {
      g_autofree char *number = g_strdup_printf ("%u", i);
      const char *text = loom_tensor_file_metadata (file, number);
      if (text == NULL)
        return;
      g_autoptr (JsonNode) about = json_from_string (text, &error);
      g_assert_no_error (error);
      *n += 1;
      *of_pytorch += !g_str_equal (json_object_get_string_member (json_node_get_object (about), "source"), "cases");
    }
}

/* No sample is lost when the data is made again, and none came nearer to its tolerance than that. */
static void
test_count (void)
{
  const LoomOp *const *ops = loom_ops ();
  guint n = 0, of_pytorch = 0;

  for (guint i = 0; ops[i] != NULL; i++)
    if (reason (ops[i]->name) == NULL)
      count_samples (ops[i]->name, &n, &of_pytorch);
  g_test_message ("%u samples, %u of them PyTorch's own; worst %.1e in f64, %.1e in f32", n, of_pytorch,
                  fixture.worst[0], fixture.worst[1]);
  g_assert_cmpuint (n, >=, LEAST_SAMPLES);
  g_assert_cmpuint (of_pytorch, >=, LEAST_OF_PYTORCH);
  g_assert_cmpfloat (fixture.worst[0], <=, F64_TOLERANCE);
  g_assert_cmpfloat (fixture.worst[1], <=, F32_TOLERANCE);
}

TEST_FILE (argc, argv)
{
  const LoomOp *const *ops = loom_ops ();
  int status;

  g_test_init (&argc, &argv, NULL);
  g_test_set_nonfatal_assertions ();
  fixture.devices = loom_devices_new (1);
  for (guint i = 0; ops[i] != NULL; i++)
    {
      g_autofree char *file = data_path (ops[i]->name), *path = g_strdup_printf ("/reference/%s", ops[i]->name);
      if (g_file_test (file, G_FILE_TEST_EXISTS))
        g_test_add_data_func (path, ops[i]->name, test_operator);
    }
  g_test_add_func ("/reference/complete", test_complete);
  g_test_add_func ("/reference/count", test_count);
  status = g_test_run ();
  loom_devices_unref (fixture.devices);
  return status;
}
