/* Runs single kernels for the tests (kernel-harness.h). */
#include "tests/kernels/kernel-harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes after every buffer of the host that no kernel may touch. The address sanitizer watches them itself, reads
 * included; memory that is lent to a device is watched there. */
#ifdef __SANITIZE_ADDRESS__
#define GUARD 0
#else
#define GUARD 64
#endif
#define CANARY 0xA5
#define POISON 0xFF /* NaN in every float type */

Machine
machine_open (const LoomBackend *backend, int threads)
{
  Machine machine = { backend };
  LoomMessage message = { "" };
  LoomDeviceInfo info;

  if (backend->device_open (0, threads, &machine.device, &message) != LOOM_STATUS_OK)
    g_error ("%s:0 cannot be opened: %s", backend->name, message.text);
  backend->device_info (machine.device, &info);
  machine.host = info.host_memory;
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
fill_indices (const Sample *sample, float *to)
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

/* Makes matrices of random numbers that meet the rule. */
static void
fill_matrices (const LoomTensorDesc *d, Fill kind, float *to)
{
  gint64 n = loom_matrix_rows (d);
  g_autofree float *random = g_new0 (float, n *n + 1);

  for (gint64 q = 0; q < loom_matrix_count (d); q++, to += n * n)
    {
      memcpy (random, to, (gsize)(n * n) * sizeof (float));
      for (gint64 i = 0; i < n; i++)
        for (gint64 j = 0; j < n; j++)
          if (kind == FILL_DEFINITE)
            to[i * n + j] = (random[i * n + j] + random[j * n + i]) / 2 + (i == j ? 2 * (float)n : 0);
          else if (i == j)
            to[i * n + j] += to[i * n + j] < 0 ? -2 * (float)n : 2 * (float)n;
    }
}

gboolean
sample_is_same (const Sample *a, const Sample *b)
{
  return g_str_equal (a->name, b->name) && g_strcmp0 (a->primitive, b->primitive) == 0 && a->n_in == b->n_in
         && a->n_out == b->n_out && memcmp (&a->attrs, &b->attrs, sizeof a->attrs) == 0
         && memcmp (a->in, b->in, sizeof a->in) == 0 && memcmp (a->out, b->out, sizeof a->out) == 0
         && memcmp (a->fill, b->fill, sizeof a->fill) == 0 && a->in_place == b->in_place
         && memcmp (a->alias, b->alias, sizeof a->alias) == 0;
}

static float **
draw_inputs (const Sample *sample)
{
  float **inputs = g_new0 (float *, SAMPLE_MAX_IN);
  g_autoptr (GRand) rand = g_rand_new_with_seed (g_str_hash (sample->name));

  for (int t = 0; t < sample->n_in; t++)
    {
      gint64 n = loom_desc_count (&sample->in[t]);
      const FillRule *rule = &sample->fill[t];

      inputs[t] = g_new0 (float, n + 1);
      if (rule->kind == FILL_INDICES)
        fill_indices (sample, inputs[t]);
      for (gint64 i = 0; i < n; i++)
        {
          double u = g_rand_double (rand), sum = -1.5;

          for (int j = 0; j < 3; j++)
            sum += g_rand_double (rand);
          sum *= 2;
          switch (rule->kind)
            {
            case FILL_SPECIAL:
              inputs[t][i] = u < 0.02   ? -NAN
                             : u < 0.05 ? NAN
                             : u < 0.10 ? INFINITY
                             : u < 0.15 ? -INFINITY
                             : u < 0.3  ? 0
                                        : (float)(u < 0.5 ? rint (sum) : sum * 20);
              break;
            case FILL_TIES:
              inputs[t][i] = u < rule->value ? NAN : (float)rint (sum);
              break;
            case FILL_ZEROS:
              inputs[t][i] = u < 0.1 ? -0.0F : 0;
              break;
            case FILL_NORMAL:
            case FILL_DEFINITE:
            case FILL_DOMINANT:
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
            case FILL_INDICES:
              break;
            }
        }
      if (rule->kind == FILL_DEFINITE || rule->kind == FILL_DOMINANT)
        fill_matrices (&sample->in[t], rule->kind, inputs[t]);
    }
  return inputs;
}

/* Those of the last sample are cached, because a sample's inputs are requested several times in a row, and drawing
 * takes longer than most kernels. */
float **
sample_inputs (const Sample *sample)
{
  static Sample last;
  static float **drawn;
  float **inputs = g_new0 (float *, SAMPLE_MAX_IN);

  if (drawn == NULL || !sample_is_same (sample, &last))
    {
      /* Drawing may request another sample's. */
      float **fresh = draw_inputs (sample);

      if (drawn != NULL)
        inputs_free (&last, drawn);
      drawn = fresh;
      last = *sample;
    }
  for (int t = 0; t < sample->n_in; t++)
    inputs[t] = g_memdup2 (drawn[t], (gsize)(loom_desc_count (&sample->in[t]) + 1) * sizeof (float));
  return inputs;
}

void
inputs_round (const Sample *sample, float **inputs, LoomDType real)
{
  guint16 rounded;

  for (int t = 0; t < sample->n_in && (real == LOOM_F16 || real == LOOM_BF16); t++)
    for (gint64 i = 0; sample->in[t].dtype == LOOM_F32 && i < loom_desc_count (&sample->in[t]); i++)
      {
        loom_store_double (&rounded, 0, real, inputs[t][i]);
        inputs[t][i] = (float)loom_load_double (&rounded, 0, real);
      }
}

void
inputs_free (const Sample *sample, float **inputs)
{
  for (int t = 0; t < sample->n_in; t++)
    g_free (inputs[t]);
  g_free (inputs);
}

/* ---- buffers ----------------------------------------------------------- */

typedef struct
{
  void *at;      /* the address that the kernel gets */
  guint8 *image; /* its bytes on the host, before the run */
  size_t bytes;
} Buffer;

/* A buffer that holds the image, of which it takes hold. */
static Buffer
buffer_new (const Machine *machine, guint8 *image, size_t bytes)
{
  Buffer buffer = { NULL, image, bytes };
  LoomMessage message = { "" };

  if (machine->host)
    {
      g_assert_cmpint (posix_memalign (&buffer.at, 64, MAX (bytes + GUARD, 1)), ==, 0);
      memset ((char *)buffer.at + bytes, CANARY, GUARD);
    }
  else if (machine->backend->alloc (machine->device, bytes, &buffer.at, &message) != LOOM_STATUS_OK)
    g_error ("%zu bytes: %s", bytes, message.text);
  if (machine->backend->copy (machine->device, NULL, buffer.at, image, bytes, LOOM_COPY_HOST_TO_DEVICE, &message)
      != LOOM_STATUS_OK)
    g_error ("copying to the device: %s", message.text);
  return buffer;
}

static Buffer
buffer_poisoned (const Machine *machine, size_t bytes)
{
  return buffer_new (machine, memset (g_malloc (bytes + 1), POISON, bytes), bytes);
}

/* The offsets of the elements of a tensor in its memory, in plain order. */
typedef struct
{
  const LoomTensorDesc *d;
  gint64 index[LOOM_MAX_RANK], stride[LOOM_MAX_RANK];
} Walk;

static Walk
walk_begin (const LoomTensorDesc *d)
{
  Walk walk = { d };

  loom_desc_strides (d, walk.stride);
  return walk;
}

static inline gint64
walk_next (Walk *walk)
{
  gint64 at = loom_index_offset (walk->d->rank, walk->index, walk->stride);

  loom_index_next (walk->d->rank, walk->d->dim, walk->index);
  return at;
}

/* Calls a function with the type as a constant, so that the compiler makes a loop for each type: choosing the type
 * again for each element took most of the time of conversions. */
#define WITH_CONSTANT_TYPE(type, CALL)                                                                                 \
  switch (type)                                                                                                        \
    {                                                                                                                  \
    case LOOM_F64:                                                                                                     \
      CALL (LOOM_F64);                                                                                                 \
      break;                                                                                                           \
    case LOOM_F32:                                                                                                     \
      CALL (LOOM_F32);                                                                                                 \
      break;                                                                                                           \
    case LOOM_F16:                                                                                                     \
      CALL (LOOM_F16);                                                                                                 \
      break;                                                                                                           \
    case LOOM_BF16:                                                                                                    \
      CALL (LOOM_BF16);                                                                                                \
      break;                                                                                                           \
    default:                                                                                                           \
      CALL (type);                                                                                                     \
      break;                                                                                                           \
    }

static inline __attribute__ ((always_inline)) void
store_values (const LoomTensorDesc *d, LoomDType type, const float *values, guint8 *image)
{
  Walk walk = walk_begin (d);
  gint64 n = loom_desc_count (d);

  if (d->layout == LOOM_LAYOUT_PLAIN)
    for (gint64 e = 0; e < n; e++)
      loom_store_double (image, e, type, values[e]);
  else
    for (gint64 e = 0; e < n; e++)
      loom_store_double (image, walk_next (&walk), type, values[e]);
}

static inline __attribute__ ((always_inline)) void
load_values (const LoomTensorDesc *d, LoomDType type, const guint8 *image, double *values)
{
  Walk walk = walk_begin (d);
  gint64 n = loom_desc_count (d);

  if (d->layout == LOOM_LAYOUT_PLAIN)
    for (gint64 e = 0; e < n; e++)
      values[e] = loom_load_double (image, e, type);
  else
    for (gint64 e = 0; e < n; e++)
      values[e] = loom_load_double (image, walk_next (&walk), type);
}

/* The input's values in the order of its memory. */
static guint8 *
input_image (const Sample *sample, const LoomTensorDesc *d, int i, const float *values)
{
  guint8 *image = g_malloc0 (loom_desc_bytes (d) + 1);

#define STORE(type) store_values (d, type, values, image)
  WITH_CONSTANT_TYPE (d->dtype, STORE)
#undef STORE
  /* More digits than a float has: a seed. Invalidation may have put another number there. */
  if (sample->fill[i].kind == FILL_VALUE && d->dtype == LOOM_I64)
    {
      Walk walk = walk_begin (d);

      for (gint64 e = 0, n = loom_desc_count (d); e < n; e++)
        {
          gint64 at = walk_next (&walk);

          if (values[e] == (float)sample->fill[i].value)
            loom_store_int (image, at, d->dtype, (gint64)sample->fill[i].value);
        }
    }
  return image;
}

/* The bytes as they are now; freed by g_free(). */
static guint8 *
buffer_read (const Machine *machine, const Buffer *buffer)
{
  guint8 *bytes = g_malloc (buffer->bytes + 1);
  LoomMessage message = { "" };

  if (machine->backend->copy (machine->device, NULL, bytes, buffer->at, buffer->bytes, LOOM_COPY_DEVICE_TO_HOST,
                              &message)
      != LOOM_STATUS_OK)
    g_error ("copying from the device: %s", message.text);
  return bytes;
}

static double *
output_values (const Machine *machine, const Buffer *buffer, const LoomTensorDesc *d)
{
  g_autofree guint8 *bytes = buffer_read (machine, buffer);
  double *values = g_new0 (double, loom_desc_count (d) + 1);

#define LOAD(type) load_values (d, type, bytes, values)
  WITH_CONSTANT_TYPE (d->dtype, LOAD)
#undef LOAD
  return values;
}

static gboolean
buffer_unchanged (const Machine *machine, const Buffer *buffer)
{
  g_autofree guint8 *bytes = buffer_read (machine, buffer);

  return memcmp (bytes, buffer->image, buffer->bytes) == 0;
}

static void
buffer_clear (const Machine *machine, Buffer *buffer)
{
  if (machine->host)
    {
      for (int i = 0; i < GUARD; i++)
        g_assert_cmpint (((guint8 *)buffer->at)[buffer->bytes + i], ==, CANARY);
      free (buffer->at);
    }
  else
    machine->backend->free (machine->device, buffer->at);
  g_free (buffer->image);
}

/* ---- running ------------------------------------------------------------ */

static LoomTensorDesc
adapt (const LoomTensorDesc *d, int i, LoomDType real, LoomLayout layout, const Sample *sample, gboolean is_weight)
{
  LoomTensorDesc a = *d;
  gboolean broadcasts = FALSE, narrow = real == LOOM_BF16 || real == LOOM_F16;

  if (a.dtype == LOOM_F32 && !(narrow && sample->mixed && loom_desc_count (d) != loom_desc_count (&sample->in[0]))
      && !(narrow && sample_is_wide (sample, i)))
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

#define SITE 7 /* the kernel's instruction number */

/* The fault that a device has raised, which it reports only when it is queried. */
static LoomStatus
take_fault (const Machine *machine, LoomMessage *message)
{
  LoomDeviceFault fault;
  LoomStatus status;

  machine->backend->fault_get (machine->device, NULL, &fault, message);
  if (fault.status == LOOM_STATUS_OK)
    return LOOM_STATUS_OK;
  g_assert_cmpint (fault.site, ==, SITE);
  status = machine->backend->fault_clear (machine->device, NULL, message);
  return status == LOOM_STATUS_OK ? fault.status : status;
}

/* Runs the kernel, and waits if it is asynchronous. */
static LoomStatus
run_kernel (const Machine *machine, LoomKernel *kernel, void *const *buffers, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  kernel->site = SITE;
  if (kernel->bind != NULL)
    status = kernel->bind (kernel, buffers, message);
  if (status == LOOM_STATUS_OK && kernel->prepare != NULL)
    status = kernel->prepare (kernel, NULL, buffers, message);
  if (status == LOOM_STATUS_OK)
    status = kernel->run (kernel, NULL, buffers, message);
  if (status == LOOM_STATUS_OK && machine->backend->stream_sync != NULL)
    status = machine->backend->stream_sync (machine->device, NULL, message);
  if (status == LOOM_STATUS_OK && machine->backend->fault_get != NULL)
    status = take_fault (machine, message);
  return status;
}

/* The call of a sample with these types and this layout. */
typedef struct
{
  SampleAttrs attrs;
  LoomTensorDesc in[SAMPLE_MAX_IN], out[SAMPLE_MAX_OUT];
  LoomKernelSpec spec;
} Call;

static void
call_init (Call *call, const Machine *machine, const Sample *sample, LoomDType real, LoomLayout layout)
{
  const int n = sample->n_in + sample->n_out;

  *call = (Call){ .attrs = sample->attrs };
  call->spec = (LoomKernelSpec){ sample->primitive, &call->attrs, sample->n_in,      sample->n_out,
                                 call->in,          call->out,    machine->algorithm };
  call->spec.fixed = machine->fixed ? G_MAXUINT64 : 0;
  for (int i = 0; i < sample->n_in; i++)
    call->in[i] = adapt (&sample->in[i], i, real, layout, sample, is_weight (sample, FALSE, i));
  for (int i = 0; i < sample->n_out; i++)
    call->out[i] = adapt (&sample->out[i], sample->n_in + i, real, layout, sample, is_weight (sample, TRUE, i));
  for (int i = 0; i < n && machine->nhwc != NULL; i++)
    (i < sample->n_in ? &call->in[i] : &call->out[i - sample->n_in])->layout
        = i < 64 && ((*machine->nhwc >> i) & 1) ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN;
  if (g_str_equal (sample->primitive, "elementwise") && SAMPLE_ATTRS (call, LoomElementwiseAttrs).compute == LOOM_F32
      && real == LOOM_F64)
    SAMPLE_ATTRS (call, LoomElementwiseAttrs).compute = LOOM_F64;
}

void
sample_prepare (const Machine *machine, const Sample *sample, LoomDType real)
{
  for (int layout = LOOM_LAYOUT_PLAIN; layout <= (sample->nhwc ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN); layout++)
    {
      LoomMessage message = { "" };
      LoomKernel *kernel = NULL;
      Call call;

      call_init (&call, machine, sample, real, (LoomLayout)layout);
      if (machine->backend->kernel_new (machine->device, &call.spec, &kernel, &message) == LOOM_STATUS_OK)
        kernel->free (kernel);
    }
}

Result
sample_run (const Machine *machine, const Sample *sample, float *const *inputs, LoomDType real, LoomLayout layout,
            int share_with)
{
  Result result = { LOOM_STATUS_OK };
  Call call;
  const LoomTensorDesc *in = call.in, *out = call.out;
  Buffer buffer[SAMPLE_MAX_IN + SAMPLE_MAX_OUT + 2] = { { NULL } };
  void *at[SAMPLE_MAX_IN + SAMPLE_MAX_OUT + 2] = { NULL };
  gboolean own[SAMPLE_MAX_IN + SAMPLE_MAX_OUT + 2] = { FALSE };
  gboolean written[SAMPLE_MAX_IN] = { FALSE };
  LoomKernel *kernel = NULL;
  int n = sample->n_in + sample->n_out;

  call_init (&call, machine, sample, real, layout);
  result.status = machine->backend->kernel_new (machine->device, &call.spec, &kernel, &result.message);
  if (result.status != LOOM_STATUS_OK)
    return result;
  g_strlcpy (result.kernel, kernel->name, sizeof result.kernel);
  memcpy (result.inplace, kernel->inplace, sizeof result.inplace);
  result.kept_bytes = kernel->kept_bytes;
  const gsize memory[] = { kernel->scratch_bytes, kernel->kept_bytes };

  for (int i = 0; i < n + (int)G_N_ELEMENTS (memory); i++)
    {
      int o = i - sample->n_in;
      int shared = o < 0 || i >= n             ? -1
                   : o < sample->in_place      ? sample->alias[o]
                   : o == 0 && share_with >= 0 ? share_with
                                               : -1;

      if ((o < 0 && in[i].dtype == LOOM_N_DTYPES) || (i >= n && memory[i - n] == 0))
        continue;
      own[i] = shared < 0;
      if (shared >= 0)
        {
          buffer[i] = buffer[shared];
          written[shared] = TRUE;
        }
      else if (o < 0)
        buffer[i] = buffer_new (machine, input_image (sample, &in[i], i, inputs[i]), loom_desc_bytes (&in[i]));
      else
        buffer[i] = buffer_poisoned (machine, i >= n ? memory[i - n] : loom_desc_bytes (&out[o]));
      at[i] = buffer[i].at;
    }

  result.status = run_kernel (machine, kernel, at, &result.message);
  for (int o = 0; o < sample->n_out; o++)
    result.out[o] = output_values (machine, &buffer[sample->n_in + o], &out[o]);
  for (int i = 0; i < sample->n_in; i++)
    if (own[i] && !written[i] && !buffer_unchanged (machine, &buffer[i]))
      {
        result.status = LOOM_STATUS_INVALID;
        g_snprintf (result.message.text, sizeof result.message.text, "operand %d was written", i);
      }
  for (int i = 0; i < n + (int)G_N_ELEMENTS (memory); i++)
    if (own[i])
      buffer_clear (machine, &buffer[i]);
  kernel->free (kernel);
  return result;
}

void
result_clear (Result *result)
{
  for (int o = 0; o < SAMPLE_MAX_OUT; o++)
    g_clear_pointer (&result->out[o], g_free);
}
