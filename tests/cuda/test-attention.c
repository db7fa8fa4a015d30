/* Tests which algorithms attention has on the emulated GPU, whose cuDNN accepts what the real one does and is queried
 * once: test-attention MODULE.so. tests/kernels/test-kernels-module tests the results. */
#include <string.h>

#include "kernels/attention.h"
#include "tests/cuda/module-device.h"
#include "tests/test-program.h"

static const LoomBackend *backend;
static LoomDevice *device;

typedef struct
{
  const char *name;
  LoomDType type;
  gint64 heads, groups, queries, keys, width, depth;
  gboolean causal, has_mask, gradient, with_y; /* y among the gradient's operands */
  const char *algorithms;
  gint64 gap; /* elements between rows of positions, which queries, keys and values then share; 0: separate tensors */
} Case;

static const Case cases[] = {
  { "bf16", LOOM_BF16, 4, 4, 256, 256, 64, 64, TRUE, FALSE, FALSE, FALSE, "cudnn own" },
  { "f16", LOOM_F16, 4, 4, 256, 256, 64, 64, FALSE, FALSE, FALSE, FALSE, "cudnn own" },
  { "shared-keys", LOOM_BF16, 6, 2, 100, 70, 64, 32, TRUE, FALSE, FALSE, FALSE, "cudnn own" },
  { "widest", LOOM_F16, 1, 1, 9, 9, 256, 256, TRUE, FALSE, FALSE, FALSE, "cudnn own" },
  { "f32", LOOM_F32, 4, 4, 256, 256, 64, 64, TRUE, FALSE, FALSE, FALSE, "own" },
  { "odd-head", LOOM_BF16, 4, 4, 256, 256, 36, 64, TRUE, FALSE, FALSE, FALSE, "own" },
  { "odd-values", LOOM_F16, 4, 4, 256, 256, 64, 33, FALSE, FALSE, FALSE, FALSE, "own" },
  { "mask", LOOM_BF16, 4, 4, 16, 16, 64, 64, FALSE, TRUE, FALSE, FALSE, "own" },
  { "gradient", LOOM_BF16, 4, 4, 128, 128, 64, 64, TRUE, FALSE, TRUE, TRUE, "cudnn own" },
  { "gradient-shared", LOOM_F16, 4, 2, 64, 120, 64, 72, FALSE, FALSE, TRUE, TRUE, "cudnn own" },
  /* Its scores would be longer than all operands. */
  { "gradient-long", LOOM_BF16, 4, 4, 1024, 1024, 64, 64, TRUE, FALSE, TRUE, TRUE, "own" },
  { "gradient-without-y", LOOM_BF16, 4, 4, 128, 128, 64, 64, TRUE, FALSE, TRUE, FALSE, "own" },
  { "in-place", LOOM_BF16, 4, 2, 256, 256, 64, 64, TRUE, FALSE, FALSE, FALSE, "cudnn own", 8 },
  { "in-place-odd", LOOM_BF16, 4, 2, 256, 256, 64, 64, TRUE, FALSE, FALSE, FALSE, "own", 4 },
  { "gradient-in-place", LOOM_BF16, 4, 4, 128, 128, 64, 64, TRUE, FALSE, TRUE, TRUE, "cudnn own", 16 },
  /* Its scores would fit if a tensor counted once for each of its operands. */
  { "gradient-in-place-long", LOOM_BF16, 4, 4, 1024, 1024, 64, 64, TRUE, FALSE, TRUE, TRUE, "own", 8 },
  { "no-keys", LOOM_BF16, 4, 4, 16, 0, 64, 64, FALSE, FALSE, FALSE, FALSE, "own" },
};

/* Queries, keys and values of a position are adjacent, followed by a gap; y, g and the others are ordered by position
 * as well. */
static LoomTensorDesc
put_in_place (const Case *c, LoomAttentionAttrs *a)
{
  const gint64 of_q = c->heads * c->width, of_k = c->groups * c->width, of_y = c->heads * c->depth;
  const gint64 length = of_q + of_k + c->groups * c->depth + c->gap;
  const LoomAttentionRows side = { 0, c->queries * length, c->width, length };

  a->in_place = true;
  a->sizes = (LoomAttentionSizes){ 2, c->heads, c->groups, c->queries, c->keys, c->width, c->depth };
  for (int i = 0; i < 3; i++)
    a->rows[LOOM_ATTENTION_Q + i] = a->rows[LOOM_ATTENTION_DQ + i] = side;
  a->rows[LOOM_ATTENTION_K].start = a->rows[LOOM_ATTENTION_DK].start = of_q;
  a->rows[LOOM_ATTENTION_V].start = a->rows[LOOM_ATTENTION_DV].start = of_q + of_k;
  a->rows[LOOM_ATTENTION_Y] = a->rows[LOOM_ATTENTION_G] = (LoomAttentionRows){ 0, c->queries * of_y, c->depth, of_y };
  return (LoomTensorDesc){ .dtype = c->type, .rank = 3, .dim = { 2, c->queries, length } };
}

/* q, k, v, [mask] → y, lse, or g, q, k, v, lse, [delta], [mask], [y] → dq, dk, dv. */
static LoomKernelSpec
spec_of (const Case *c, LoomAttentionAttrs *attrs, LoomTensorDesc in[8], LoomTensorDesc out[3])
{
  const LoomTensorDesc q = { .dtype = c->type, .rank = 4, .dim = { 2, c->heads, c->queries, c->width } };
  const LoomTensorDesc k = { .dtype = c->type, .rank = 4, .dim = { 2, c->groups, c->keys, c->width } };
  const LoomTensorDesc v = { .dtype = c->type, .rank = 4, .dim = { 2, c->groups, c->keys, c->depth } };
  const LoomTensorDesc y = { .dtype = c->type, .rank = 4, .dim = { 2, c->heads, c->queries, c->depth } };
  const LoomTensorDesc rows = { .dtype = LOOM_F32, .rank = 3, .dim = { 2, c->heads, c->queries } };
  const LoomTensorDesc mask = { .dtype = LOOM_BOOL, .rank = 4, .dim = { 1, 1, c->queries, c->keys } };
  const LoomTensorDesc forward[] = { q, k, v, mask }, absent = { .dtype = LOOM_N_DTYPES };
  const LoomTensorDesc backward[] = { y, q, k, v, rows, c->with_y ? absent : rows, absent, y };

  *attrs = (LoomAttentionAttrs){ .scale = 0.125, .causal = c->causal, .has_mask = c->has_mask };
  if (c->gradient)
    {
      memcpy (in, backward, sizeof backward);
      memcpy (out, backward + 1, 3 * sizeof *out);
      if (c->gap > 0)
        out[0] = in[1] = in[2] = in[3] = put_in_place (c, attrs);
      return (LoomKernelSpec){ .primitive = "attention_grad",
                               .attrs = attrs,
                               .n_in = c->with_y ? 8 : 6,
                               .n_out = c->gap > 0 ? 1 : 3,
                               .in = in,
                               .out = out };
    }
  memcpy (in, forward, sizeof forward);
  if (c->gap > 0)
    in[0] = in[1] = in[2] = put_in_place (c, attrs);
  out[0] = y;
  out[1] = rows;
  return (LoomKernelSpec){
    .primitive = "attention", .attrs = attrs, .n_in = c->has_mask ? 4 : 3, .n_out = 2, .in = in, .out = out
  };
}

static char *
algorithms_of (const LoomKernelSpec *spec)
{
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  int n = backend->options (device, spec, NULL, option, LOOM_MAX_OPTIONS, &message);
  GString *names = g_string_new (NULL);

  for (int i = 0; i < n; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? " " : "", option[i].algorithm);
  return g_string_free (names, FALSE);
}

static void
assert_algorithms (const Case *c, const char *expected)
{
  LoomAttentionAttrs attrs;
  LoomTensorDesc in[8], out[3];
  LoomKernelSpec spec = spec_of (c, &attrs, in, out);
  g_autofree char *names = algorithms_of (&spec);

  g_assert_cmpstr (names, ==, expected);
}

/* The planner asks about one call many times, and cuDNN is queried once: the next query, which fails, is that about
 * another shape, whose result is then not kept. */
static void
asked_once_test (void)
{
  Case known = { "", LOOM_BF16, 4, 4, 192, 192, 64, 64, TRUE, FALSE, FALSE, FALSE, NULL }, other = known;
  Case refused = known;

  other.keys = 200;
  refused.width = 60;
  assert_algorithms (&known, "cudnn own");
  assert_algorithms (&refused, "own");
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "heuristics:1", TRUE);
  assert_algorithms (&known, "cudnn own");
  assert_algorithms (&refused, "own");
  assert_algorithms (&other, "own"); /* computed in f32 */
  assert_algorithms (&other, "cudnn own");
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
}

static void
algorithms_test (gconstpointer data)
{
  const Case *c = data;
  LoomAttentionAttrs attrs;
  LoomTensorDesc in[8], out[3];
  LoomKernelSpec spec = spec_of (c, &attrs, in, out);
  g_autofree char *names = algorithms_of (&spec);
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  const char *name;

  g_assert_cmpstr (names, ==, c->algorithms);
  g_assert_cmpint (backend->kernel_new (device, &spec, &kernel, &message), ==, LOOM_STATUS_OK);
  name = g_str_has_prefix (names, "cudnn") ? "cudnn attention" : "own attention";
  g_assert_true (g_str_has_prefix (kernel->name, name));
  kernel->free (kernel);
  /* A named algorithm is used, or none. */
  spec.algorithm = "cudnn";
  g_assert_cmpint (backend->kernel_new (device, &spec, &kernel, &message), ==,
                   g_str_has_prefix (names, "cudnn") ? LOOM_STATUS_OK : LOOM_STATUS_UNSUPPORTED);
  if (kernel != NULL)
    kernel->free (kernel);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  backend = module_device (argv[1], &device);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/attention/algorithms/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], algorithms_test);
    }
  g_test_add_func ("/attention/asked-once", asked_once_test);
  int status = g_test_run ();

  backend->device_close (device);
  return status;
}
