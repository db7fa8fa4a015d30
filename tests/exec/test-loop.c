/* Loops in plans, and bodies that data choose: values and gradients of every kind of body, on a device, fused or not,
 * over poisoned memory, and by the eager walker, against the reference kernels in f64. GRADLOOM_TEST_DEVICE names the
 * device; without it they are ref and cpu. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-eager.h"
#include "engine/run/loom-exec.h"
#include "tests/exec/test-device.h"
#include "tests/plan/poison.h"
#include "tests/program/eval.h"
#include "tests/program/scan-bodies.h"
#include "tests/program/visit-bodies.h"
#include "tests/test-program.h"

#define MOST MAX (SCAN_MAX_OPERANDS, VISIT_MAX_OPERANDS)

typedef struct
{
  LoomProgram *program;
  guint n; /* inputs */
  LoomValue in[MOST];
  const VisitCase *visit; /* its first input selects the bodies; NULL: a scan */
  guint turn;
} Case;

/* A program with its results and the gradients of a sum of them as outputs. */
static void
add_outputs (Case *c, guint n_out, const LoomValue *out)
{
  LoomProgram *p = c->program;
  LoomValue grads[MOST], loss = 0;
  g_autoptr (GError) error = NULL;

  for (guint o = 0; o < n_out; o++)
    {
      LoomValue part;

      loom_program_output (p, "result", out[o]);
      if (!loom_dtype_is_float (loom_value_info (p, out[o])->desc.dtype))
        continue;
      part = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SIN, out[o]));
      loss = loss == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, loss, part);
    }
  loom_differentiate (p, loss, 0, c->n, c->in, grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < c->n; i++)
    if (grads[i] != 0)
      loom_program_output (p, "gradient", grads[i]);
}

static void
case_new (Case *c, const ScanCase *scan, gint64 length, gboolean reverse, gboolean recompute, LoomDType dtype)
{
  LoomValue out[8];

  *c = (Case){ .program = loom_program_new () };
  loom_program_set_float (c->program, dtype);
  c->n = scan_case_inputs (scan, c->program, length, dtype, c->in);
  add_outputs (c,
               scan_case_emit (scan, c->program, length,
                               (reverse ? SCAN_REVERSE : 0) | (recompute ? SCAN_RECOMPUTE : 0), dtype, c->in, out),
               out);
}

static void
case_new_visit (Case *c, const VisitCase *visit, guint turn, gboolean recompute, LoomDType dtype)
{
  LoomValue out[8];

  *c = (Case){ .program = loom_program_new (), .visit = visit, .turn = turn };
  loom_program_set_float (c->program, dtype);
  c->n = visit_case_inputs (visit, c->program, dtype, c->in);
  add_outputs (c, visit_case_emit (visit, c->program, recompute, dtype, c->in, out), out);
}

static double
number (guint input, gint64 k)
{
  return 0.9 * sin (0.7 * (double)k + 1.3 * input);
}

static GPtrArray *
feed_new (const Case *c)
{
  GPtrArray *feed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < c->n; i++)
    {
      const LoomTensorDesc *d = &loom_value_info (c->program, c->in[i])->desc;
      gint64 dims[LOOM_MAX_RANK];
      LoomTensor *t;

      for (int r = 0; r < d->rank; r++)
        dims[r] = d->dim[r];
      t = loom_tensor_new (d->dtype, d->rank, dims, NULL);
      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k, loom_dtype_is_float (d->dtype) ? number (i, k) : 2);
      if (i == 0 && c->visit != NULL)
        visit_case_numbers (c->visit, c->turn, t->data, (guint)t->count);
      g_ptr_array_add (feed, t);
    }
  return feed;
}

/* By the reference kernels, of a case in f64. */
static GPtrArray *
expected (const Case *c)
{
  GPtrArray *values = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (Eval) e = eval_new (c->program);
  g_autoptr (GPtrArray) feed = feed_new (c);

  for (guint i = 0; i < c->n; i++)
    for (gint64 k = 0; k < eval_tensor (e, c->in[i])->count; k++)
      loom_tensor_set (eval_tensor (e, c->in[i]), k, loom_tensor_get (feed->pdata[i], k));
  eval_run (e);
  for (guint o = 0; o < loom_program_n_outputs (c->program); o++)
    g_ptr_array_add (values, loom_tensor_ref (eval_tensor (e, loom_program_get_output (c->program, o)->value)));
  return values;
}

static void
compare (GPtrArray *want, GPtrArray *have, double tolerance, const char *what)
{
  g_assert_cmpuint (want->len, ==, have->len);
  for (guint o = 0; o < want->len; o++)
    {
      LoomTensor *a = want->pdata[o], *b = have->pdata[o];

      g_assert_cmpint (a->count, ==, b->count);
      for (gint64 k = 0; k < a->count; k++)
        if (!(fabs (loom_tensor_get (a, k) - loom_tensor_get (b, k))
              <= tolerance * (1 + fabs (loom_tensor_get (a, k)))))
          g_error ("%s, output %u, element %d: %.9g, not %.9g", what, o, (int)k, loom_tensor_get (b, k),
                   loom_tensor_get (a, k));
    }
}

static GPtrArray *
by_plan (const Case *c, LoomDevices *devices, const LoomPlanOptions *options, GPtrArray *feed, guint steps)
{
  g_autoptr (LoomState) state = loom_state_new (devices, options->device, 1);
  g_autoptr (GError) error = NULL;
  LoomPlan *plan = loom_plan_new (c->program, devices, options, &error);
  g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  GPtrArray *values = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  g_assert_no_error (error);
  for (guint i = 0; i < feed->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)feed->pdata[i])->data);
  for (guint s = 0; s < steps; s++)
    loom_exec_run (exec, &error);
  g_assert_no_error (error);
  for (guint o = 0; o < loom_program_n_outputs (c->program); o++)
    g_ptr_array_add (values, loom_exec_output (exec, o, &error));
  g_assert_no_error (error);
  return values;
}

static GPtrArray *
by_poisoned_plan (const Case *c, LoomDevices *devices, const char *device, GPtrArray *feed)
{
  g_autoptr (LoomState) state = loom_state_new (devices, device, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (c->program, devices, &(LoomPlanOptions){ .device = device }, &error);
  const void *data[MOST];
  GPtrArray *values;

  g_assert_no_error (error);
  for (guint i = 0; i < feed->len; i++)
    data[i] = ((LoomTensor *)feed->pdata[i])->data;
  values = poison_run (plan, state, data, 2, &error);
  g_assert_no_error (error);
  return values;
}

static GPtrArray *
by_walk (const Case *c, LoomDevices *devices, const char *device, GPtrArray *feed)
{
  g_autoptr (LoomState) state = loom_state_new (devices, device, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = loom_eager_new (c->program, state, devices, device, &error);
  GPtrArray *values = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  g_assert_no_error (error);
  for (guint i = 0; i < feed->len; i++)
    loom_eager_feed (eager, i, ((LoomTensor *)feed->pdata[i])->data);
  loom_eager_run (eager, FALSE, NULL, NULL, &error);
  g_assert_no_error (error);
  for (guint o = 0; o < loom_program_n_outputs (c->program); o++)
    g_ptr_array_add (values, loom_eager_output (eager, o, &error));
  return values;
}

static LoomDType
dtype_on (const char *device)
{
  return g_str_has_prefix (device, "ref") ? LOOM_F64 : LOOM_F32;
}

/* truth: the same case in f64. Takes ownership of both programs. */
static void
check_case (LoomDevices *devices, const char *device, const Case *truth, const Case *c, const char *what)
{
  double tolerance = dtype_on (device) == LOOM_F64 ? 1e-12 : 2e-5;
  g_autoptr (GPtrArray) want = expected (truth), feed = feed_new (c);
  const LoomPlanOptions ways[]
      = { { .device = device }, { .device = device, .no_fusion = TRUE }, { .device = device, .no_reuse = TRUE } };

  for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
    {
      g_autoptr (GPtrArray) have = by_plan (c, devices, &ways[w], feed, 4);

      compare (want, have, tolerance, what);
    }
  if (loom_devices_get (devices, device, NULL)->info.host_memory)
    {
      g_autoptr (GPtrArray) have = by_poisoned_plan (c, devices, device, feed);

      compare (want, have, tolerance, what);
    }
  {
    g_autoptr (GPtrArray) have = by_walk (c, devices, device, feed);

    compare (want, have, tolerance, what);
  }
  loom_program_unref (truth->program);
  loom_program_unref (c->program);
}

static void
check (LoomDevices *devices, const char *device, const ScanCase *scan, gint64 length, gboolean reverse,
       gboolean recompute)
{
  g_autofree char *what = g_strdup_printf ("%s on %s, %d rows%s%s", scan->name, device, (int)length,
                                           reverse ? ", reverse" : "", recompute ? ", again" : "");
  Case truth, c;

  case_new (&truth, scan, length, reverse, FALSE, LOOM_F64);
  case_new (&c, scan, length, reverse, recompute, dtype_on (device));
  check_case (devices, device, &truth, &c, what);
}

static void
check_visit (LoomDevices *devices, const char *device, const VisitCase *visit, guint turn, gboolean recompute)
{
  g_autofree char *what
      = g_strdup_printf ("%s on %s, turn %u%s", visit->name, device, turn, recompute ? ", again" : "");
  Case truth, c;

  case_new_visit (&truth, visit, turn, FALSE, LOOM_F64);
  case_new_visit (&c, visit, turn, recompute, dtype_on (device));
  check_case (devices, device, &truth, &c, what);
}

static LoomDevices *devices;

/* ---- into a loop ---------------------------------------------------------------------- */

/* Row `row` of a stacked result equals this iteration of the body. */
static void
check_row (LoomEager *eager, const LoomInstr *instr, guint o, LoomEager *body, gint64 row, gint64 length)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) all = loom_eager_value (eager, instr->out[o], &error);
  g_autoptr (LoomTensor) one = loom_eager_output (body, o, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (one->bytes * (gsize)length, ==, all->bytes);
  g_assert_cmpmem (one->data, one->bytes, (const char *)all->data + (gsize)row * one->bytes, one->bytes);
}

/* Executing each iteration in any order has the bits of the loop; so has stepping backwards through the loop. */
static guint
check_inside (LoomEager *eager, guint index, gint64 length)
{
  const LoomInstr *instr = loom_program_instr (loom_eager_program (eager), index);
  const LoomScanAttrs *attrs = instr->attrs;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEagerLoop) loop = loom_eager_loop_new (eager, index, &error);

  g_assert_no_error (error);
  g_assert_cmpint (loom_eager_loop_length (loop), ==, length);
  for (gint64 k = 0; k < length; k++)
    {
      gint64 n = (length / 2 + 3 * k) % length;
      LoomEager *body = loom_eager_loop_enter (loop, n, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (loom_eager_at (body), ==, 0);
      while (loom_eager_at (body) < loom_program_n_instrs (attrs->body))
        g_assert_true (loom_eager_step (body, &error));
      for (guint o = attrs->n_carried; o < instr->n_out; o++)
        check_row (eager, instr, o, body, loom_eager_loop_row (loop, n), length);
      for (guint o = 0; n == length - 1 && o < attrs->n_carried; o++)
        check_row (eager, instr, o, body, 0, 1);
    }
  return 1;
}

static void
test_inside (void)
{
  const gint64 length = 7;

  for (const ScanCase *scan = scan_cases; scan->name != NULL; scan++)
    for (int reverse = 0; reverse < 2; reverse++)
      {
        g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 1);
        g_autoptr (LoomEager) eager = NULL;
        g_autoptr (GPtrArray) feed = NULL;
        g_autoptr (GError) error = NULL;
        guint n_loops = 0;
        Case c;

        case_new (&c, scan, length, reverse, FALSE, LOOM_F32);
        feed = feed_new (&c);
        eager = loom_eager_new (c.program, state, devices, "cpu", &error);
        g_assert_no_error (error);
        for (guint i = 0; i < feed->len; i++)
          loom_eager_feed (eager, i, ((LoomTensor *)feed->pdata[i])->data);
        g_assert_true (loom_eager_begin (eager, &error));
        while (loom_eager_at (eager) < loom_program_n_instrs (c.program))
          g_assert_true (loom_eager_step (eager, &error));
        for (guint i = 0; i < loom_program_n_instrs (c.program); i++)
          if (loom_eager_is_loop (eager, i))
            n_loops += check_inside (eager, i, length);
        g_assert_cmpuint (n_loops, ==, 2);
        loom_program_unref (c.program);
      }
}

static void
test_cases (gconstpointer data)
{
  const char *device = data;

  for (const ScanCase *scan = scan_cases; scan->name != NULL; scan++)
    for (int k = 0; k < 12; k++)
      check (devices, device, scan, (gint64[]){ 1, 2, 7 }[k / 4], k & 1, (k & 2) != 0);
}

static void
test_visits (gconstpointer data)
{
  for (const VisitCase *visit = visit_cases; visit->name != NULL; visit++)
    for (guint turn = 0; turn < 4; turn++)
      check_visit (devices, data, visit, turn, turn & 1);
}

/* A plan has as many instructions and kernels for many rows as for few. */
static void
test_size (void)
{
  guint n[2], inner[2];

  for (int k = 0; k < 2; k++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomPlan) plan = NULL;
      Case c;

      case_new (&c, &scan_cases[1], k == 0 ? 4 : 400, FALSE, FALSE, LOOM_F32);
      plan = loom_plan_new (c.program, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
      g_assert_no_error (error);
      n[k] = loom_plan_n_instrs (plan);
      inner[k] = 0;
      for (guint i = 0; i < n[k]; i++)
        if (loom_plan_instr (plan, i)->n_bodies > 0)
          inner[k] += loom_plan_n_instrs (loom_plan_instr (plan, i)->body[0]);
      loom_program_unref (c.program);
    }
  g_assert_cmpuint (n[0], ==, n[1]);
  g_assert_cmpuint (inner[0], >, 0);
  g_assert_cmpuint (inner[0], ==, inner[1]);
}

static guint
count_divided (LoomDevices *of, const ScanCase *scan, guint parts, gboolean with_gradient)
{
  g_autofree char *words = g_strdup_printf ("for each of %u parts of the samples", parts);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = NULL;
  guint n = 0;
  Case c = { .program = loom_program_new () };

  if (with_gradient)
    {
      loom_program_unref (c.program);
      case_new (&c, scan, 40, FALSE, FALSE, LOOM_F32);
    }
  else
    {
      LoomValue out[8];

      c.n = scan_case_inputs (scan, c.program, 40, LOOM_F32, c.in);
      for (guint o = scan_case_emit (scan, c.program, 40, 0, LOOM_F32, c.in, out); o > 0; o--)
        loom_program_output (c.program, "result", out[o - 1]);
    }
  plan = loom_plan_new (c.program, of, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += strstr (loom_plan_instr (plan, i)->kernel->name, words) != NULL;
  loom_program_unref (c.program);
  return n;
}

/* Threads run a loop and its gradient for a part of the samples each, whether samples are rows of carried values, of
 * sequences, or of whole operands; but neither loops without samples, nor loops with loops, nor those whose samples
 * need each other. The last row: fewer parts than threads. */
static void
test_parts (void)
{
  static const struct
  {
    int threads, samples, parts;
  } rows[] = { { 2, 32, 2 }, { 4, 32, 4 }, { 4, 24, 3 } };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    {
      g_autoptr (LoomDevices) some = loom_devices_new (rows[r].threads);

      scan_case_rows = rows[r].samples;
      for (const ScanCase *scan = scan_cases; scan->name != NULL; scan++)
        {
          /* “mapped” is no loop in a plan. */
          const gboolean is_whole = strstr ("mapped shifted nested normalised", scan->name) != NULL;

          g_test_message ("%s, %d threads", scan->name, rows[r].threads);
          g_assert_cmpuint (count_divided (some, scan, (guint)rows[r].parts, TRUE), ==, is_whole ? 0 : 2);
          if (!g_str_equal (scan->name, "mapped"))
            g_assert_cmpuint (count_divided (some, scan, (guint)rows[r].parts, FALSE), ==, is_whole ? 0 : 1);
          for (int reverse = 0; reverse < 2; reverse++)
            check (some, "cpu", scan, is_whole ? 2 : 40, reverse, FALSE);
        }
    }
  scan_case_rows = 3;
}

/* What a loop computes once for all iterations is computed again when its weights have changed, in each part. */
static void
test_changed_weights (void)
{
  const LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 1);
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (GPtrArray) feed = NULL;
  g_autoptr (GError) error = NULL;
  Case c;

  scan_case_rows = 32;
  case_new (&c, &scan_cases[1], 40, FALSE, FALSE, LOOM_F32);
  exec = loom_exec_new (loom_plan_new (c.program, devices, &options, &error), state, &error);
  g_assert_no_error (error);
  feed = feed_new (&c);
  for (int turn = 0; turn < 3; turn++)
    {
      g_autoptr (GPtrArray) want = NULL;

      for (guint i = 0; i < feed->len; i++)
        {
          LoomTensor *t = feed->pdata[i];

          for (gint64 k = 0; k < t->count; k++)
            loom_tensor_set (t, k, loom_tensor_get (t, k) * (turn == 0 ? 1 : 0.5));
          loom_exec_feed (exec, i, t->data);
        }
      loom_exec_run (exec, &error);
      g_assert_no_error (error);
      want = by_walk (&c, devices, "cpu", feed);
      for (guint o = 0; o < want->len; o++)
        {
          LoomTensor *a = want->pdata[o];
          g_autoptr (LoomTensor) b = loom_exec_output (exec, o, &error);

          g_assert_no_error (error);
          for (gint64 k = 0; k < a->count; k++)
            g_assert_cmpfloat (fabs (loom_tensor_get (a, k) - loom_tensor_get (b, k)), <=,
                               2e-5 * (1 + fabs (loom_tensor_get (a, k))));
        }
    }
  loom_program_unref (c.program);
  scan_case_rows = 3;
}

TEST_FILE (argc, argv)
{
  const char *device = test_device (NULL);
  int status;

  g_test_init (&argc, &argv, NULL);
  g_setenv ("GRADLOOM_CPU_PROCESSORS", "4", TRUE); /* the most threads of test_parts() */
  devices = loom_devices_new (2);
  if (device != NULL && !test_device_is_there (devices, device))
    return 77;
  if (device != NULL)
    {
      g_test_add_data_func ("/loop/device", device, test_cases);
      g_test_add_data_func ("/loop/visits-device", device, test_visits);
    }
  else
    {
      g_test_add_data_func ("/loop/ref", "ref", test_cases);
      g_test_add_data_func ("/loop/cpu", "cpu", test_cases);
      g_test_add_data_func ("/loop/visits-ref", "ref", test_visits);
      g_test_add_data_func ("/loop/visits-cpu", "cpu", test_visits);
      g_test_add_func ("/loop/inside", test_inside);
      g_test_add_func ("/loop/size", test_size);
      g_test_add_func ("/loop/parts", test_parts);
      g_test_add_func ("/loop/changed-weights", test_changed_weights);
    }
  status = g_test_run ();
  loom_devices_unref (devices);
  return status;
}
