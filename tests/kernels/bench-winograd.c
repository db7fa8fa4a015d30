/* Times convolutions of 3x3 by the algorithms that there are, in turns: oneDNN's direct one as the engine calls it, the
 * engine's own Winograd one, and oneDNN's Winograd one (2.x alone, on AVX-512) in the blocked layouts that it wants,
 * without the reorders that a network would need around it.
 *
 *   bench-winograd [THREADS [ROUNDS [N,C,H,K…]]]    square images, padding 1; GRADLOOM_CPU_ISA=v3 for the own one on
 * AVX2, ONEDNN_MAX_CPU_ISA=AVX2 for oneDNN's
 *
 * Prints least, median and most milliseconds of the rounds, and the median of direct by own, round by round. With one
 * thread these are milliseconds of processor time, which other work on the machine hardly lengthens. */
#include "tests/kernels/kernel-harness.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct
{
  int n, c, h, k;
} Shape;

static Machine cpu;
static int rounds, n_threads;

static int
ascending (const void *a, const void *b)
{
  double d = *(const double *)a - *(const double *)b;

  return d < 0 ? -1 : d > 0;
}

static double
median (double *v)
{
  qsort (v, (size_t)rounds, sizeof *v, ascending);
  return v[rounds / 2];
}

/* Microseconds; of processor time if one thread runs. */
static double
now (void)
{
  struct timespec t;

  clock_gettime (n_threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- kernels of the back end ------------------------------------------------ */

typedef struct
{
  LoomKernel *kernel;
  void *buffers[6];
  int n;
} Run;

static LoomTensorDesc
nhwc (int n, int c, int h)
{
  return (LoomTensorDesc){ LOOM_F32, LOOM_LAYOUT_NHWC, 4, { n, c, h, h } };
}

/* pass: 0 forward, 1 the input's gradient, 2 the weights'. */
static Run
run_new (const Shape *s, int pass, LoomConvAlgorithm algorithm)
{
  LoomConv2dAttrs attrs = { { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1, FALSE, LOOM_SCALAR_ID, algorithm };
  LoomTensorDesc x = nhwc (s->n, s->c, s->h), y = nhwc (s->n, s->k, s->h);
  LoomTensorDesc w = { LOOM_F32, LOOM_LAYOUT_PLAIN, 4, { s->k, s->c, 3, 3 } };
  LoomTensorDesc all[3] = { pass == 0 ? x : y, pass == 2 ? x : w, pass == 0 ? y : pass == 1 ? x : w };
  LoomKernelSpec spec
      = { pass == 0 ? "conv2d" : pass == 1 ? "conv2d_input_grad" : "conv2d_weight_grad", &attrs, 2, 1, all, all + 2 };
  LoomMessage message = { "" };
  Run run = { .n = 4 };

  if (cpu.backend->kernel_new (cpu.device, &spec, &run.kernel, &message) != LOOM_STATUS_OK)
    g_error ("no kernel: %s", message.text);
  for (int i = 0; i < 4; i++)
    {
      size_t bytes = i < 3 ? loom_desc_bytes (&all[i]) : run.kernel->scratch_bytes;

      if (bytes == 0)
        continue;
      cpu.backend->alloc (cpu.device, bytes, &run.buffers[i], &message);
      for (size_t e = 0; e < bytes / sizeof (float); e++)
        ((float *)run.buffers[i])[e] = 0.1f + (float)(e % 17) * 0.05f;
    }
  if (run.kernel->bind != NULL)
    run.kernel->bind (run.kernel, run.buffers, &message);
  return run;
}

static double
run_time (Run *run)
{
  LoomMessage message = { "" };
  double start = now ();

  run->kernel->run (run->kernel, NULL, run->buffers, &message);
  return (now () - start) * 1e-3;
}

static void
run_free (Run *run)
{
  for (int i = 0; i < run->n; i++)
    cpu.backend->free (cpu.device, run->buffers[i]);
  run->kernel->free (run->kernel);
}

/* ---- oneDNN's own ------------------------------------------------------------- */

typedef struct
{
  dnnl_primitive_t primitive;
  dnnl_memory_t memory[3];
  dnnl_exec_arg_t arg[3];
} Theirs;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

#if DNNL_VERSION_MAJOR < 3
static gboolean
theirs_new (const Shape *s, int pass, Theirs *to)
{
  dnnl_dims_t x = { s->n, s->c, s->h, s->h }, w = { s->k, s->c, 3, 3 }, y = { s->n, s->k, s->h, s->h }, one = { 1, 1 };
  dnnl_memory_desc_t mx, mw, my;
  dnnl_convolution_desc_t forward, back;
  dnnl_primitive_desc_t hint = NULL, pd = NULL;
  const int args[3][3] = { { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
                           { DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC },
                           { DNNL_ARG_DIFF_DST, DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS } };

  memset (to, 0, sizeof *to);
  dnnl_memory_desc_init_by_tag (&mx, 4, x, dnnl_f32, dnnl_format_tag_any);
  dnnl_memory_desc_init_by_tag (&mw, 4, w, dnnl_f32, dnnl_format_tag_any);
  dnnl_memory_desc_init_by_tag (&my, 4, y, dnnl_f32, dnnl_format_tag_any);
  dnnl_convolution_forward_desc_init (&forward, dnnl_forward_training, dnnl_convolution_winograd, &mx, &mw, NULL, &my,
                                      one, one, one);
  if (dnnl_primitive_desc_create (&hint, &forward, NULL, engine, NULL) != dnnl_success)
    return FALSE;
  if (pass == 0)
    pd = hint;
  else
    {
      if (pass == 1)
        dnnl_convolution_backward_data_desc_init (&back, dnnl_convolution_winograd, &mx, &mw, &my, one, one, one);
      else
        dnnl_convolution_backward_weights_desc_init (&back, dnnl_convolution_winograd, &mx, &mw, NULL, &my, one, one,
                                                     one);
      if (dnnl_primitive_desc_create (&pd, &back, NULL, engine, hint) != dnnl_success)
        pd = NULL;
      dnnl_primitive_desc_destroy (hint);
    }
  if (pd == NULL)
    return FALSE;
  for (int i = 0; i < 3; i++)
    {
      const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md (pd, dnnl_query_exec_arg_md, args[pass][i]);
      void *data = NULL;

      dnnl_memory_create (&to->memory[i], md, engine, DNNL_MEMORY_ALLOCATE);
      dnnl_memory_get_data_handle (to->memory[i], &data);
      for (size_t e = 0; e < dnnl_memory_desc_get_size (md) / sizeof (float); e++)
        ((float *)data)[e] = 0.1f + (float)(e % 17) * 0.05f;
      to->arg[i] = (dnnl_exec_arg_t){ args[pass][i], to->memory[i] };
    }
  dnnl_primitive_create (&to->primitive, pd);
  dnnl_primitive_desc_destroy (pd);
  return TRUE;
}
#else
static gboolean
theirs_new (const Shape *s, int pass, Theirs *to)
{
  memset (to, 0, sizeof *to);
  return FALSE;
}
#endif

static double
theirs_time (Theirs *t)
{
  double start = now ();

  dnnl_primitive_execute (t->primitive, stream, 3, t->arg);
  dnnl_stream_wait (stream);
  return (now () - start) * 1e-3;
}

static void
theirs_free (Theirs *t)
{
  for (int i = 0; i < 3; i++)
    dnnl_memory_destroy (t->memory[i]);
  dnnl_primitive_destroy (t->primitive);
}

/* ---- the table ------------------------------------------------------------------ */

static void
print (const char *label, double *v)
{
  double middle = median (v);

  printf (" %s %7.2f/%7.2f/%7.2f", label, v[0], middle, v[rounds - 1]);
}

static void
race (const Shape *s, double total[3])
{
  static const char *const passes[] = { "forward", "input gradient", "weight gradient" };

  for (int pass = 0; pass < 3; pass++)
    {
      Run direct = run_new (s, pass, LOOM_CONV_DIRECT), own = run_new (s, pass, LOOM_CONV_WINOGRAD);
      g_autofree double *a = g_new (double, rounds), *b = g_new (double, rounds), *c = g_new (double, rounds),
                        *ratio = g_new (double, rounds);
      Theirs theirs;
      gboolean there = theirs_new (s, pass, &theirs);

      for (int r = -1; r < rounds; r++)
        {
          double t[3] = { run_time (&direct), run_time (&own), there ? theirs_time (&theirs) : 0 };

          if (r < 0)
            continue;
          a[r] = t[0];
          b[r] = t[1];
          c[r] = t[2];
          ratio[r] = t[0] / t[1];
        }
      printf ("%d,%d,%d,%d %-15s", s->n, s->c, s->h, s->k, passes[pass]);
      print ("direct", a);
      print ("own", b);
      if (there)
        {
          print ("oneDNN's", c);
          total[2] += c[rounds / 2];
          theirs_free (&theirs);
        }
      printf ("  direct/own %.2f\n", median (ratio));
      fflush (stdout);
      total[0] += a[rounds / 2];
      total[1] += b[rounds / 2];
      run_free (&direct);
      run_free (&own);
    }
}

int
main (int argc, char **argv)
{
  static const Shape resnet[]
      = { { 128, 64, 32, 64 }, { 128, 128, 16, 128 }, { 128, 256, 8, 256 }, { 128, 512, 4, 512 } };
  double total[3] = { 0 };

  n_threads = argc > 1 ? atoi (argv[1]) : 0;
  cpu = machine_open (loom_backend_cpu (), n_threads);
  rounds = argc > 2 ? MAX (1, atoi (argv[2])) : 15;
  if (dnnl_engine_create (&engine, dnnl_cpu, 0) != dnnl_success
      || dnnl_stream_create (&stream, engine, dnnl_stream_default_flags) != dnnl_success)
    g_error ("oneDNN has no CPU engine");
  if (argc > 3)
    for (int i = 3; i < argc; i++)
      {
        Shape s;

        if (sscanf (argv[i], "%d,%d,%d,%d", &s.n, &s.c, &s.h, &s.k) != 4)
          g_error ("%s is not N,C,H,K", argv[i]);
        race (&s, total);
      }
  else
    for (guint i = 0; i < G_N_ELEMENTS (resnet); i++)
      race (&resnet[i], total);
  printf ("sum of medians: direct %.1f, own %.1f, oneDNN's %.1f ms\n", total[0], total[1], total[2]);
  dnnl_stream_destroy (stream);
  dnnl_engine_destroy (engine);
  machine_close (&cpu);
  return 0;
}
