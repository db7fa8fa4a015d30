/* Runs single kernels for the tests (kernel-harness.h). */
#include "tests/kernels/kernel-harness.h"

#include <math.h>
#include <string.h>

#define GUARD  64 /* bytes behind every buffer that no kernel may touch */
#define CANARY 0xA5

Machine
machine_open (const LoomBackend *backend, int threads)
{
  Machine machine = { backend, NULL };
  LoomMessage message = { "" };

  g_assert_cmpint (backend->device_open (0, threads, &machine.device, &message), ==, LOOM_STATUS_OK);
  return machine;
}

void
machine_close (Machine *machine)
{
  machine->backend->device_close (machine->device);
}

LoomTensorDesc
desc (LoomDType dtype, const char *dims)
{
  LoomTensorDesc d = { .dtype = dtype };
  g_auto (GStrv) words = g_strsplit (dims, ",", -1);

  for (int i = 0; words[i] != NULL; i++)
    d.dim[d.rank++] = g_ascii_strtoll (words[i], NULL, 10);
  return d;
}

/* Winners of max pooling of the rank 4 input that the sample's output 0 describes. */
static void
fill_where (const Sample *sample, float *to)
{
  Machine machine = machine_open (loom_backend_ref (), 1);
  Sample pool = { .primitive = "max_pool2d", .attrs = sample->attrs, .n_in = 1, .n_out = 2 };
  float **inputs;
  Result result;

  pool.in[0] = sample->out[0];
  pool.out[0] = sample->in[0];
  pool.out[1] = sample->in[1];
  inputs = sample_inputs (&pool);
  result = sample_run (&machine, &pool, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);
  g_assert_cmpint (result.status, ==, LOOM_STATUS_OK);
  for (gint64 i = 0; i < loom_desc_count (&sample->in[1]); i++)
    to[i] = (float)result.out[1][i];
  result_clear (&result);
  inputs_free (&pool, inputs);
  machine_close (&machine);
}

float **
sample_inputs (const Sample *sample)
{
  float **inputs = g_new0 (float *, SAMPLE_MAX_IN);
  g_autoptr (GRand) rand = g_rand_new_with_seed (g_str_hash (sample->name));

  for (int t = 0; t < sample->n_in; t++)
    {
      gint64 n = loom_desc_count (&sample->in[t]);
      const FillRule *rule = &sample->fill[t];

      inputs[t] = g_new0 (float, n + 1);
      if (rule->kind == FILL_WHERE)
        fill_where (sample, inputs[t]);
      for (gint64 i = 0; i < n; i++)
        {
          double u = g_rand_double (rand), sum = -1.5;

          for (int j = 0; j < 3; j++)
            sum += g_rand_double (rand);
          sum *= 2;
          switch (rule->kind)
            {
            case FILL_SPECIAL:
              inputs[t][i] = u < 0.05   ? NAN
                             : u < 0.10 ? INFINITY
                             : u < 0.15 ? -INFINITY
                             : u < 0.3  ? 0
                                        : (float)(u < 0.5 ? rint (sum) : sum * 20);
              break;
            case FILL_NORMAL:
              inputs[t][i] = (float)sum;
              break;
            case FILL_POSITIVE:
              inputs[t][i] = (float)(0.1 + 2 * u);
              break;
            case FILL_UNIT:
              inputs[t][i] = (float)u;
              break;
            case FILL_CLASS:
              inputs[t][i] = (float)floor (u * rule->value);
              break;
            case FILL_VALUE:
              inputs[t][i] = (float)rule->value;
              break;
            case FILL_WHERE:
              break;
            }
        }
    }
  return inputs;
}

void
inputs_free (const Sample *sample, float **inputs)
{
  for (int t = 0; t < sample->n_in; t++)
    g_free (inputs[t]);
  g_free (inputs);
}

static void *
buffer_new (const Machine *machine, size_t bytes)
{
  LoomMessage message = { "" };
  void *memory = NULL;

  g_assert_cmpint (machine->backend->alloc (machine->device, bytes + GUARD, &memory, &message), ==, LOOM_STATUS_OK);
  memset (memory, 0xFF, bytes); /* NaN in every float type */
  memset ((char *)memory + bytes, CANARY, GUARD);
  return memory;
}

static void
buffer_free (const Machine *machine, void *memory, size_t bytes)
{
  for (int i = 0; i < GUARD; i++)
    g_assert_cmpint (((guint8 *)memory)[bytes + i], ==, CANARY);
  machine->backend->free (machine->device, memory);
}

static LoomTensorDesc
adapt (const LoomTensorDesc *d, LoomDType real, LoomLayout layout, const Sample *sample, gboolean is_weight)
{
  LoomTensorDesc a = *d;
  gboolean broadcasts = FALSE;

  if (a.dtype == LOOM_F32)
    a.dtype = real;
  if (g_str_equal (sample->primitive, "elementwise"))
    broadcasts = loom_desc_count (d) != loom_desc_count (&sample->out[0]);
  if (layout == LOOM_LAYOUT_NHWC && sample->nhwc && a.rank == 4 && !is_weight && !broadcasts)
    a.layout = layout;
  return a;
}

/* conv2d's weights stay plain. */
static gboolean
is_weight (const Sample *sample, gboolean output, int i)
{
  if (g_str_equal (sample->primitive, "conv2d_weight_grad"))
    return output && i == 0;
  return g_str_has_prefix (sample->primitive, "conv2d") && !output && i == 1;
}

Result
sample_run (const Machine *machine, const Sample *sample, float *const *inputs, LoomDType real, LoomLayout layout,
            int share_with)
{
  Result result = { LOOM_STATUS_OK };
  LoomTensorDesc in[SAMPLE_MAX_IN], out[SAMPLE_MAX_OUT];
  void *buffers[SAMPLE_MAX_IN + SAMPLE_MAX_OUT + 1] = { NULL };
  LoomKernelSpec spec = { sample->primitive, &sample->attrs, sample->n_in, sample->n_out, in, out, machine->algorithm };
  LoomKernel *kernel = NULL;

  for (int i = 0; i < sample->n_in; i++)
    in[i] = adapt (&sample->in[i], real, layout, sample, is_weight (sample, FALSE, i));
  for (int i = 0; i < sample->n_out; i++)
    out[i] = adapt (&sample->out[i], real, layout, sample, is_weight (sample, TRUE, i));
  result.status = machine->backend->kernel_new (machine->device, &spec, &kernel, &result.message);
  if (result.status != LOOM_STATUS_OK)
    return result;
  g_strlcpy (result.kernel, kernel->name, sizeof result.kernel);
  memcpy (result.inplace, kernel->inplace, sizeof result.inplace);

  for (int i = 0; i < sample->n_in; i++)
    {
      gint64 index[LOOM_MAX_RANK] = { 0 }, stride[LOOM_MAX_RANK] = { 0 }, n = loom_desc_count (&in[i]);

      buffers[i] = buffer_new (machine, loom_desc_bytes (&in[i]));
      loom_desc_strides (&in[i], stride);
      for (gint64 e = 0; e < n; e++, loom_index_next (in[i].rank, in[i].dim, index))
        loom_store_double (buffers[i], loom_index_offset (in[i].rank, index, stride), in[i].dtype, inputs[i][e]);
    }
  for (int o = 0; o < sample->n_out; o++)
    buffers[sample->n_in + o] = o < sample->in_place        ? buffers[sample->alias[o]]
                                : o == 0 && share_with >= 0 ? buffers[share_with]
                                                            : buffer_new (machine, loom_desc_bytes (&out[o]));
  if (kernel->scratch_bytes > 0)
    buffers[sample->n_in + sample->n_out] = buffer_new (machine, kernel->scratch_bytes);

  if (kernel->bind != NULL)
    g_assert_cmpint (kernel->bind (kernel, buffers, &result.message), ==, LOOM_STATUS_OK);
  result.status = kernel->run (kernel, NULL, buffers, &result.message);
  for (int o = 0; o < sample->n_out; o++)
    {
      gint64 index[LOOM_MAX_RANK] = { 0 }, stride[LOOM_MAX_RANK] = { 0 }, n = loom_desc_count (&out[o]);

      result.out[o] = g_new0 (double, n + 1);
      loom_desc_strides (&out[o], stride);
      for (gint64 e = 0; e < n; e++, loom_index_next (out[o].rank, out[o].dim, index))
        result.out[o][e] = loom_load_double (buffers[sample->n_in + o], loom_index_offset (out[o].rank, index, stride),
                                             out[o].dtype);
    }
  if (kernel->scratch_bytes > 0)
    buffer_free (machine, buffers[sample->n_in + sample->n_out], kernel->scratch_bytes);
  for (int o = 0; o < sample->n_out; o++)
    if (o >= sample->in_place && !(o == 0 && share_with >= 0))
      buffer_free (machine, buffers[sample->n_in + o], loom_desc_bytes (&out[o]));
  for (int i = 0; i < sample->n_in; i++)
    buffer_free (machine, buffers[i], loom_desc_bytes (&in[i]));
  kernel->free (kernel);
  return result;
}

void
result_clear (Result *result)
{
  for (int o = 0; o < SAMPLE_MAX_OUT; o++)
    g_clear_pointer (&result->out[o], g_free);
}
