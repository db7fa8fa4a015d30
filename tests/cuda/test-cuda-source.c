/* Tests that every scalar formula and several fusions compile for a GPU, on a machine without one. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-source.h"
#include "tests/kernels/kernel-harness.h"

#define ARCHITECTURE 90

static void
compile (const LoomKernelSpec *spec, const char *name)
{
  CudaElementwisePlan plan;
  LoomMessage message = { "" };
  char *source, *image = NULL;
  size_t bytes = 0;

  g_assert_cmpint (cuda_elementwise_plan (spec, &plan, &message), ==, LOOM_STATUS_OK);
  source = cuda_elementwise_source (&plan);
  g_assert_nonnull (source);
  if (cuda_compile (source, ARCHITECTURE, &image, &bytes, &message) != LOOM_STATUS_OK)
    g_error ("%s: %s\n%s", name, message.text, source);
  /* A cubin is an ELF file. */
  g_assert_cmpuint (bytes, >, 64);
  g_assert_cmpmem (image, 4, "\177ELF", 4);
  free (image);
  free (source);
}

/* The samples of several steps and of integers; single formulas of floats come below. */
static void
samples_test (void)
{
  g_autoptr (GPtrArray) samples = samples_new ();
  guint compiled = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      LoomKernelSpec spec = { s->primitive, &s->attrs, s->n_in, s->n_out, s->in, s->out };

      if (!g_str_equal (s->primitive, "elementwise") || SAMPLE_ATTRS (s, LoomElementwiseAttrs).n_steps < 2)
        continue;
      compile (&spec, s->name);
      compiled++;
    }
  g_assert_cmpuint (compiled, >, 30);
}

/* All formulas in few kernels for each register type. */
static void
registers_test (gconstpointer data)
{
  static const LoomTensorDesc x = { .rank = 1, .dim = { 1000 } };
  LoomDType compute = GPOINTER_TO_INT (data);
  LoomTensorDesc in[3] = { x, x, x }, out = x;
  LoomElementwiseAttrs attrs = { .compute = compute };
  LoomKernelSpec spec = { .primitive = "elementwise", .attrs = &attrs, .n_in = 3, .n_out = 1, .in = in, .out = &out };

  for (int i = 0; i < 3; i++)
    in[i].dtype = compute;
  out.dtype = compute;
  for (int first = 0; first < LOOM_N_SCALARS; first += LOOM_EW_MAX_STEPS / 2)
    {
      attrs.n_steps = 0;
      for (int op = first; op < LOOM_N_SCALARS && op < first + LOOM_EW_MAX_STEPS / 2; op++)
        {
          if (compute == LOOM_I64 && !loom_scalar_of_integers (op))
            continue;
          int last = attrs.n_steps == 0 ? 0 : 2 + attrs.n_steps;

          attrs.step[attrs.n_steps++] = (LoomElementwiseStep){ .op = op, .arg = { last, 1, 2 }, .imm = 3 };
        }
      attrs.out[0] = 2 + attrs.n_steps;
      compile (&spec, loom_dtype_name (compute));
    }
}

/* Every type can be loaded and stored. */
static void
types_test (void)
{
  for (int from = 0; from < LOOM_N_DTYPES; from++)
    {
      LoomTensorDesc in = { .dtype = from, .rank = 1, .dim = { 100 } }, out[4];
      LoomElementwiseAttrs attrs = { .compute = LOOM_F32 };
      LoomKernelSpec spec
          = { .primitive = "elementwise", .attrs = &attrs, .n_in = 1, .n_out = 4, .in = &in, .out = out };

      for (int to = 0; to < 8; to += 4)
        {
          for (int k = 0; k < 4; k++)
            {
              out[k] = in;
              out[k].dtype = to + k;
            }
          compile (&spec, loom_dtype_name (from));
        }
    }
}

/* An invalid source results in a status and a sentence. */
static void
broken_test (void)
{
  LoomMessage message = { "" };
  char *image = NULL;
  size_t bytes = 0;

  g_assert_cmpint (cuda_compile ("this is no program", ARCHITECTURE, &image, &bytes, &message), ==, LOOM_STATUS_DEVICE);
  g_assert_null (image);
  g_assert_true (g_str_has_prefix (message.text, "compiling an element-wise kernel failed: "));
}

/* An architecture newer than the compiler gets PTX, which the driver can translate. */
static void
future_test (void)
{
  LoomMessage message = { "" };
  char *image = NULL;
  size_t bytes = 0;

  g_assert_cmpint (cuda_compile ("extern \"C\" __global__ void f () {}", 999, &image, &bytes, &message), ==,
                   LOOM_STATUS_OK);
  g_assert_nonnull (strstr (image, ".target"));
  free (image);
}

static void
refused_test (void)
{
  LoomTensorDesc in[2]
      = { { .dtype = LOOM_F32, .rank = 1, .dim = { 3 } }, { .dtype = LOOM_F32, .rank = 1, .dim = { 4 } } };
  LoomElementwiseAttrs attrs = { .compute = LOOM_F32, .n_steps = 1, .out = { 2 } };
  LoomKernelSpec spec = { .primitive = "elementwise", .attrs = &attrs, .n_in = 2, .n_out = 1, .in = in, .out = in };
  CudaElementwisePlan plan;
  LoomMessage message = { "" };

  attrs.step[0] = (LoomElementwiseStep){ .op = LOOM_SCALAR_ADD, .arg = { 0, 1 } };
  g_assert_cmpint (cuda_elementwise_plan (&spec, &plan, &message), ==, LOOM_STATUS_INVALID);
  g_assert_nonnull (strstr (message.text, "broadcast"));
  in[1].dim[0] = 3;
  attrs.step[0].arg[1] = 2;
  g_assert_cmpint (cuda_elementwise_plan (&spec, &plan, &message), ==, LOOM_STATUS_INVALID);
  g_assert_nonnull (strstr (message.text, "register"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/source/samples", samples_test);
  g_test_add_data_func ("/cuda/source/all/f32", GINT_TO_POINTER (LOOM_F32), registers_test);
  g_test_add_data_func ("/cuda/source/all/f64", GINT_TO_POINTER (LOOM_F64), registers_test);
  g_test_add_data_func ("/cuda/source/all/i64", GINT_TO_POINTER (LOOM_I64), registers_test);
  g_test_add_func ("/cuda/source/types", types_test);
  g_test_add_func ("/cuda/source/broken", broken_test);
  g_test_add_func ("/cuda/source/future", future_test);
  g_test_add_func ("/cuda/source/refused", refused_test);
  return g_test_run ();
}
