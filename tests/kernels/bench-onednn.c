/* Times oneDNN's own softmax, which we do not call, at the shapes at which bench-kernels times ours: to see from time
 * to time, and with each version, whether it has become the better one. Threads: OMP_NUM_THREADS. Prints microseconds,
 * the best of several windows. */
#include <glib.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static dnnl_primitive_t
softmax_new (const dnnl_dims_t dims, dnnl_memory_t memory[2], void *x, void *y)
{
  dnnl_primitive_desc_t pd = NULL;
  dnnl_primitive_t primitive = NULL;
  dnnl_memory_desc_t md;

#if DNNL_VERSION_MAJOR >= 3
  dnnl_memory_desc_create_with_tag (&md, 2, dims, dnnl_f32, dnnl_ab);
  dnnl_softmax_forward_primitive_desc_create (&pd, engine, dnnl_forward_training, dnnl_softmax_accurate, md, md, 1,
                                              NULL);
  dnnl_memory_create (&memory[0], md, engine, x);
  dnnl_memory_create (&memory[1], md, engine, y);
  dnnl_memory_desc_destroy (md);
#else
  dnnl_softmax_desc_t desc;

  dnnl_memory_desc_init_by_tag (&md, 2, dims, dnnl_f32, dnnl_ab);
  dnnl_softmax_forward_desc_init (&desc, dnnl_forward_training, &md, 1);
  dnnl_primitive_desc_create (&pd, &desc, NULL, engine, NULL);
  dnnl_memory_create (&memory[0], &md, engine, x);
  dnnl_memory_create (&memory[1], &md, engine, y);
#endif
  dnnl_primitive_create (&primitive, pd);
  dnnl_primitive_desc_destroy (pd);
  return primitive;
}

static void
bench (gint64 rows, gint64 columns)
{
  dnnl_dims_t dims = { rows, columns };
  float *x = g_aligned_alloc (rows * columns, sizeof (float), 64),
        *y = g_aligned_alloc (rows * columns, sizeof (float), 64);
  dnnl_memory_t memory[2];
  dnnl_primitive_t primitive = softmax_new (dims, memory, x, y);
  dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, memory[0] }, { DNNL_ARG_DST, memory[1] } };
  double best = 1e9;
  int repeat = 10;

  for (gint64 i = 0; i < rows * columns; i++)
    x[i] = 0.1f + (float)(i % 17) * 0.05f;
  for (int window = 0; window < 12; window++)
    {
      gint64 start = g_get_monotonic_time (), time;

      for (int i = 0; i < repeat; i++)
        dnnl_primitive_execute (primitive, stream, 2, args);
      dnnl_stream_wait (stream);
      time = g_get_monotonic_time () - start;
      best = MIN (best, (double)time / repeat);
      if (time < 2000)
        {
          repeat *= 2;
          window = -1;
        }
    }
  printf ("softmax %6" G_GINT64_FORMAT " x %-6" G_GINT64_FORMAT " %9.3f us\n", rows, columns, best);
  dnnl_primitive_destroy (primitive);
  dnnl_memory_destroy (memory[0]);
  dnnl_memory_destroy (memory[1]);
  g_aligned_free (x);
  g_aligned_free (y);
}

int
main (void)
{
  const dnnl_version_t *version = dnnl_version ();

  if (dnnl_engine_create (&engine, dnnl_cpu, 0) != dnnl_success
      || dnnl_stream_create (&stream, engine, dnnl_stream_default_flags) != dnnl_success)
    {
      fprintf (stderr, "oneDNN has no CPU engine.\n");
      return 1;
    }
  printf ("oneDNN %d.%d.%d\n", version->major, version->minor, version->patch);
  bench (128, 10);
  bench (512, 1000);
  bench (4096, 256);
  dnnl_stream_destroy (stream);
  dnnl_engine_destroy (engine);
  return 0;
}
