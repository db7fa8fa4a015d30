/* Every sample on the back end of a module, with f32, bf16 and f16, against the reference in f64:
 *
 *   test-kernels-module [--quick] MODULE.so [PRIMITIVE[:K/N]]
 *   test-kernels-module --list
 *
 * K/N: every N-th of the primitive's samples, from the K-th on. --list names the primitives, those with many samples in
 * parts, so that all of them can run side by side.
 *
 * Each primitive has to take at least one of its samples in every type, and all of the reference have to have samples.
 *
 * quick: f32 alone, and each call once. Else every call is run again, and in place, and has to give the same bits.
 *
 * It prints TAP, a line for each primitive followed by every failure. Each primitive has a process of its own, and
 * one that ends early (a fault on the device, a stop of the emulator) is begun again after the sample at which it
 * ended, so that no failure hides another. Two such processes run at a time: these tests take longer than all others,
 * and the last of them would leave a processor idle. */
#include "kernels/optim.h"
#include "kernels/ref/ref-list.h"
#include "tests/kernels/kernel-harness.h"
#include "tests/test-program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_DEVICE  77
#define MAX_DEATHS 50 /* of one primitive */
#define PART       64 /* samples */
#define CHILDREN   2  /* at a time */

/* Reads `text`, "PRIMITIVE" or "PRIMITIVE:K/N". */
typedef struct
{
  char primitive[64];
  guint first, step;
  guint seen; /* number of the primitive's samples */
} Part;

static Part
part_of (const char *text)
{
  Part part = { .step = 1 };
  const char *colon = strchr (text, ':');

  g_strlcpy (part.primitive, text, sizeof part.primitive);
  if (colon == NULL)
    return part;
  part.primitive[MIN ((gsize)(colon - text), sizeof part.primitive - 1)] = '\0';
  if (sscanf (colon, ":%u/%u", &part.first, &part.step) != 2 || part.step == 0 || part.first >= part.step)
    g_error ("“%s” is no part of a primitive's samples; the first of four is PRIMITIVE:0/4", text);
  return part;
}

/* Asked for each sample in turn. */
static gboolean
part_has (Part *part, const Sample *s)
{
  return g_str_equal (s->primitive, part->primitive) && part->seen++ % part->step == part->first;
}

/* Attention of 16-bit floats is cuDNN's if it supports the call; the own kernels are tested there, too. */
static gboolean
may_be_cudnn (const Sample *s)
{
  const gboolean gradient = g_str_equal (s->primitive, "attention_grad");
  const int q = gradient ? 1 : 0;

  return (gradient || g_str_equal (s->primitive, "attention")) && !SAMPLE_ATTRS (s, LoomAttentionAttrs).has_mask
         && s->n_in == (gradient ? 8 : 3) && s->in[q].dim[3] % 8 == 0 && s->in[q + 2].dim[3] % 8 == 0;
}

/* Convolutions with a bias of images in NHWC, the filter among them, which are run by each graph that the library has.
 */
static void
check_graphs (Report *report, const Machine *ref, Machine *machine, const Sample *s, LoomDType type)
{
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomTensorDesc desc[SAMPLE_MAX_IN + SAMPLE_MAX_OUT];
  LoomMessage message = { "" };
  LoomKernelSpec spec = { s->primitive, &s->attrs, s->n_in, s->n_out, desc, desc + s->n_in, NULL };
  int n;

  if (!g_str_equal (s->primitive, "conv2d"))
    return;
  for (int i = 0; i < s->n_in + s->n_out; i++)
    {
      desc[i] = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
      if (!sample_is_wide (s, i))
        desc[i].dtype = type;
    }
  n = machine->backend->options (machine->device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message);
  for (int k = 0; k < n; k++)
    if (g_str_has_prefix (option[k].algorithm, "cudnn-graph:"))
      {
        machine->algorithm = option[k].algorithm;
        machine->nhwc = &option[k].nhwc;
        sample_check (report, ref, machine, s, type, k == 0);
        machine->algorithm = NULL;
        machine->nhwc = NULL;
      }
}

/* ---- one primitive, in a process of its own ------------------------------------------ */

static const LoomDType types[] = { LOOM_F32, LOOM_BF16, LOOM_F16 };

/* Primitives with kernels that are compiled at run time: a thousand of element-wise samples, tens of the others. The
 * emulated card compiles together what is asked for before the first of them runs, and starting its compiler takes
 * longer than most of their texts. */
static const char *const compiled[] = { "elementwise", "copy", "conv2d", "matmul", NULL };

static void
prepare (const Machine *machine, const GPtrArray *samples, const char *primitive, guint from, gboolean quick)
{
  Part part = part_of (primitive);

  if (!g_strv_contains (compiled, part.primitive))
    return;
  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);

      if (part_has (&part, s) && i >= from)
        for (guint t = 0; t < (quick ? 1 : G_N_ELEMENTS (types)); t++)
          sample_prepare (machine, s, types[t]);
    }
}

/* Prints "@N" before sample N, then each failure as "! …", "+T" for a call in types[T] that was taken, and at the end
 * one line of numbers. */
static int
run_primitive (const char *path, const char *primitive, guint from, gboolean quick)
{
  Machine ref = machine_open (loom_backend_ref (), 1), machine = machine_open (module_backend (path), 0);
  Part part = part_of (primitive);
  g_autoptr (GPtrArray) samples = NULL;
  g_autoptr (Report) report = report_new ();

  /* Those of all primitives are thousands, which take longer than most primitives' own. */
  g_setenv ("GRADLOOM_SAMPLES", part.primitive, TRUE);
  samples = samples_new ();
  prepare (&machine, samples, primitive, from, quick);
  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);

      if (!part_has (&part, s) || i < from)
        continue;
      printf ("@%u %s\n", i, s->name);
      fflush (stdout);
      for (guint t = 0; t < (quick ? 1 : G_N_ELEMENTS (types)); t++)
        {
          guint before = report->failures->len, runs = report->runs, declined = report->declined->len;

          sample_check (report, &ref, &machine, s, types[t], !quick);
          if (t > 0 && may_be_cudnn (s))
            {
              machine.algorithm = "own";
              sample_check (report, &ref, &machine, s, types[t], FALSE);
              machine.algorithm = NULL;
            }
          if (report->runs - runs > report->declined->len - declined)
            printf ("+%u\n", t);
          if (t > 0)
            check_graphs (report, &ref, &machine, s, types[t]);
          sample_check_refusals (report, &machine, s, types[t]);
          for (; before < report->failures->len; before++)
            printf ("! %s\n", (const char *)g_ptr_array_index (report->failures, before));
        }
    }
  for (guint i = 0; i < report->declined->len; i++)
    printf ("~ %s\n", (const char *)g_ptr_array_index (report->declined, i));
  printf ("= %u\n", report->runs);
  machine_close (&machine);
  machine_close (&ref);
  return 0;
}

/* ---- all samples -------------------------------------------------------------------- */

typedef struct
{
  guint runs, failures, declined;
  guint taken; /* types in which a call was, a bit each */
} Sum;

/* Prints a child's output and adds its counts. Returns the sample that it had reached. */
static guint
read_child (const char *words, const char *primitive, GString *report, Sum *sum, char **name)
{
  g_auto (GStrv) lines = g_strsplit (words, "\n", -1);
  guint at = 0;

  for (int i = 0; lines[i] != NULL; i++)
    switch (lines[i][0])
      {
      case '@':
        {
          char *rest;

          at = (guint)strtoul (lines[i] + 1, &rest, 10);
          g_free (*name);
          *name = g_strdup (g_strstrip (rest));
        }
        break;
      case '!':
        sum->failures++;
        g_string_append_printf (report, "# %s\n", lines[i] + 2);
        break;
      case '~':
        /* A convolution is tested in one layout, the one that the device prefers; a fused call if it supports one. */
        if (g_str_has_prefix (primitive, "conv2d") || g_str_has_suffix (lines[i], SAMPLE_JOINED))
          sum->declined++;
        else
          {
            sum->failures++;
            g_string_append_printf (report, "# not supported: %s\n", lines[i] + 2);
          }
        break;
      case '+':
        sum->taken |= 1u << strtoul (lines[i] + 1, NULL, 10);
        break;
      case '=':
        sum->runs += (guint)strtoul (lines[i] + 1, NULL, 10);
        break;
      default:
        break;
      }
  return at;
}

static void
indent (GString *report, const char *words)
{
  g_auto (GStrv) lines = g_strsplit (words, "\n", -1);

  for (int i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '\0')
      g_string_append_printf (report, "#   %s\n", lines[i]);
}

/* One primitive's samples, checked by a process of its own in a thread of the pool that waits for it. */
typedef struct
{
  const char *program, *path, *primitive;
  int number; /* of its line */
  gboolean quick;
  GMutex lock; /* for the fields below */
  GCond ended;
  char *text; /* its line and its failures; NULL until it has ended */
  gboolean good;
} Check;

static void
check_primitive (gpointer data, gpointer unused)
{
  Check *check = data;
  const char *program = check->program, *path = check->path, *primitive = check->primitive;
  const gboolean quick = check->quick;
  g_autoptr (GString) report = g_string_new (NULL);
  Sum sum = { 0 };
  guint from = 0;
  gboolean ended = FALSE;

  for (int deaths = 0; !ended && deaths < MAX_DEATHS; deaths++)
    {
      g_autofree char *start = g_strdup_printf ("%u", from), *words = NULL, *complaints = NULL, *name = NULL;
      const char *argv[] = { program, path, primitive, start, quick ? "quick" : NULL, NULL };
      g_autoptr (GError) error = NULL;
      int status = 0;

      if (!g_spawn_sync (NULL, (char **)argv, NULL, 0, NULL, NULL, &words, &complaints, &status, &error))
        g_error ("%s", error->message);
      from = read_child (words, primitive, report, &sum, &name) + 1;
      ended = g_spawn_check_wait_status (status, &error);
      if (ended)
        continue;
      sum.failures++;
      g_string_append_printf (report, "# %s: %s\n", name != NULL ? name : "before the first sample", error->message);
      indent (report, complaints);
      ended = name == NULL;
    }
  for (guint t = 0; t < (quick ? 1 : G_N_ELEMENTS (types)); t++)
    if (!(sum.taken >> t & 1))
      {
        sum.failures++;
        g_string_append_printf (report, "# no kernel for %s of %s\n", primitive, loom_dtype_name (types[t]));
      }
  g_mutex_lock (&check->lock);
  check->good = sum.failures == 0;
  check->text = g_strdup_printf (
      "%s %d - %s: %u runs, %u failures%s\n%s", check->good ? "ok" : "not ok", check->number, primitive, sum.runs,
      sum.failures, sum.declined > 0 ? ", not taken in channels-last layout or as one call" : "", report->str);
  g_cond_signal (&check->ended);
  g_mutex_unlock (&check->lock);
}

/* Prints the lines of all primitives in their order; returns whether there are no failures. */
static gboolean
check_primitives (const char *program, const char *path, const GPtrArray *primitives, gboolean quick)
{
  g_autofree Check *checks = g_new0 (Check, primitives->len);
  g_autoptr (GError) error = NULL;
  GThreadPool *pool = g_thread_pool_new (check_primitive, NULL, CHILDREN, FALSE, &error);
  gboolean good = TRUE;

  if (pool == NULL || error != NULL)
    g_error ("%s", error->message);
  printf ("1..%u\n", primitives->len);
  for (guint i = 0; i < primitives->len; i++)
    {
      checks[i].program = program;
      checks[i].path = path;
      checks[i].primitive = g_ptr_array_index (primitives, i);
      checks[i].number = (int)i + 1;
      checks[i].quick = quick;
      g_mutex_init (&checks[i].lock);
      g_cond_init (&checks[i].ended);
    }
  for (guint i = 0; i < primitives->len; i++)
    if (!g_thread_pool_push (pool, &checks[i], &error))
      g_error ("%s", error->message);
  for (guint i = 0; i < primitives->len; i++)
    {
      g_mutex_lock (&checks[i].lock);
      while (checks[i].text == NULL)
        g_cond_wait (&checks[i].ended, &checks[i].lock);
      g_mutex_unlock (&checks[i].lock);
      fputs (checks[i].text, stdout);
      fflush (stdout);
      good = good && checks[i].good;
    }
  g_thread_pool_free (pool, FALSE, TRUE);
  for (guint i = 0; i < primitives->len; i++)
    {
      g_free (checks[i].text);
      g_mutex_clear (&checks[i].lock);
      g_cond_clear (&checks[i].ended);
    }
  return good;
}

/* Every primitive, in the order of its first sample; those without samples come last. */
static GPtrArray *
name_primitives (const GPtrArray *samples)
{
#define NAME(name)               #name,
#define NAME_STEP(name, scalars) NAME (name##_step)
  static const char *const all[] = { LOOM_ROWS (NAME) LOOM_STEPS (NAME_STEP) };
  GPtrArray *primitives = g_ptr_array_new ();

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);

      if (!g_ptr_array_find_with_equal_func (primitives, s->primitive, g_str_equal, NULL))
        g_ptr_array_add (primitives, (gpointer)s->primitive);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (all); i++)
    if (!g_ptr_array_find_with_equal_func (primitives, all[i], g_str_equal, NULL))
      g_ptr_array_add (primitives, (gpointer)all[i]);
  return primitives;
}

/* How many samples there are of a primitive or a part of one. */
static guint
count_part (const GPtrArray *samples, const char *text)
{
  Part part = part_of (text);
  guint n = 0;

  for (guint i = 0; i < samples->len; i++)
    n += part_has (&part, g_ptr_array_index (samples, i));
  return n;
}

static void
list_parts (const GPtrArray *samples)
{
  g_autoptr (GPtrArray) primitives = name_primitives (samples);

  for (guint i = 0; i < primitives->len; i++)
    {
      const char *primitive = g_ptr_array_index (primitives, i);
      guint parts = MAX ((count_part (samples, primitive) + PART - 1) / PART, 1);

      for (guint k = 0; k < parts; k++)
        if (parts == 1)
          printf ("%s\n", primitive);
        else
          printf ("%s:%u/%u\n", primitive, k, parts);
    }
}

TEST_FILE (argc, argv)
{
  g_autoptr (GPtrArray) samples = NULL, primitives = NULL;
  LoomMessage message = { "" };
  gboolean quick;

  /* Arguments with which the program starts itself: MODULE PRIMITIVE NUMBER [quick]. */
  if (argc >= 4 && g_ascii_isdigit (argv[3][0]))
    return run_primitive (argv[1], argv[2], (guint)strtoul (argv[3], NULL, 10), argc == 5);
  samples = samples_new ();
  quick = argc > 1 && g_str_equal (argv[1], "--quick");
  if (quick)
    {
      argv[1] = argv[0];
      argv++;
      argc--;
    }
  if (argc < 2 || argc > 3)
    {
      fprintf (stderr, "kernels-module [--quick] MODULE.so [PRIMITIVE[:K/N]]: runs every kernel sample on a back end; "
                       "kernels-module --list names the primitives\n");
      return 2;
    }
  if (g_str_equal (argv[1], "--list"))
    {
      list_parts (samples);
      return 0;
    }
  if (argc == 3)
    {
      if (count_part (samples, argv[2]) == 0)
        {
          fprintf (stderr, "there is no sample of %s\n", argv[2]);
          return 2;
        }
      primitives = g_ptr_array_new ();
      g_ptr_array_add (primitives, argv[2]);
    }
  else
    primitives = name_primitives (samples);
  if (module_backend (argv[1])->device_count (&message) == 0)
    {
      printf ("1..0 # SKIP %s\n", message.text);
      return 0;
    }
  return !check_primitives (argv[0], argv[1], primitives, quick);
}
