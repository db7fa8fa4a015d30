/* A ReLU in front of a maximum over windows moves behind it.
 *
 * max(relu(x)) = relu(max(x)), and the gradients are the same numbers: where the largest of a window is above 0 it is
 * the same element, and elsewhere nothing flows. Behind the pooling the ReLU and its gradient have a quarter of the
 * work or less, and the large tensor before the pooling need not be kept to tell where the ReLU was open. */
#include "engine/plan/plan-private.h"

#include <string.h>

static gboolean
is_step (const WorkInstr *instr, LoomScalarOp op)
{
  return instr->steps != NULL && instr->steps->len == 1 && g_array_index (instr->steps, WorkStep, 0).op == op;
}

/* Who reads a value: at most one instruction of each kind is wanted, so more than two readers end the search. */
typedef struct
{
  int first, second;
  guint n;
} Readers;

static Readers *
find_readers (Work *w)
{
  Readers *all = g_new0 (Readers, w->values->len);

  for (guint i = 0; i < w->instrs->len; i++)
    {
      const WorkInstr *instr = work_instr (w, i);

      for (guint k = 0; k < instr->in->len && !instr->dead; k++)
        {
          guint v = work_in (instr, k);
          Readers *r;

          if (v == 0)
            continue;
          r = &all[work_root (w, v)];
          if (v != work_root (w, v))
            r->n += 3; /* what reads an alias is not looked at */
          if (r->n == 0)
            r->first = (int)i;
          else if (r->n == 1)
            r->second = (int)i;
          r->n++;
        }
    }
  return all;
}

static gboolean
is_private (Work *w, guint v)
{
  return !work_value (w, v)->is_output && work_value (w, v)->commit < 0 && work_value (w, v)->alias == 0;
}

static void
swap (Work *w, guint i, guint k)
{
  WorkInstr *a = work_instr (w, i), *b = work_instr (w, k);

  w->instrs->pdata[i] = b;
  w->instrs->pdata[k] = a;
  for (guint o = 0; o < b->out->len; o++)
    if (work_out (b, o) != 0)
      work_value (w, work_out (b, o))->producer = (int)i;
  for (guint o = 0; o < a->out->len; o++)
    if (work_out (a, o) != 0)
      work_value (w, work_out (a, o))->producer = (int)k;
}

/* Makes `instr`, element-wise work of one step, compute `result` from operands a and b. */
static void
rewire (WorkInstr *instr, guint a, guint b, guint result)
{
  WorkStep *step = &g_array_index (instr->steps, WorkStep, 0);
  guint in[2] = { a, b };

  g_array_set_size (instr->in, 0);
  g_array_append_vals (instr->in, in, b != 0 ? 2 : 1);
  step->arg[0] = a;
  step->arg[1] = b;
  step->result = result;
  g_array_index (instr->out, guint, 0) = result;
}

/* r = relu(x), read by (p, where) = max_pool2d(r) and, where there is a backward pass, by dx = relu_grad(dr, r) with
 * dr = max_pool2d_grad(g, where) that nothing else reads. */
static void
move_behind (Work *w, guint relu_at, const Readers *readers)
{
  WorkInstr *relu = work_instr (w, relu_at), *pool, *gate = NULL, *grad = NULL;
  guint r = work_out (relu, 0), x = work_in (relu, 0), p, inner;
  guint pool_at = (guint)readers[r].first, gate_at = (guint)readers[r].second, grad_at = 0;

  if (readers[r].n < 1 || readers[r].n > 2 || !is_private (w, r)
      || work_value (w, x)->desc.dtype != work_value (w, r)->desc.dtype)
    return;
  pool = work_instr (w, pool_at);
  if (strcmp (pool->primitive, "max_pool2d") != 0 || pool->device_name != relu->device_name)
    return;
  if (readers[r].n == 2)
    {
      const WorkStep *step;
      guint dr;
      int producer;

      gate = work_instr (w, gate_at);
      if (!is_step (gate, LOOM_SCALAR_RELU_GRAD))
        return;
      step = &g_array_index (gate->steps, WorkStep, 0);
      dr = step->arg[0];
      producer = work_value (w, dr)->producer;
      if (step->arg[1] != r || producer < 0 || readers[dr].n != 1 || !is_private (w, dr))
        return;
      grad_at = (guint)producer;
      grad = work_instr (w, grad_at);
      if (grad->dead || strcmp (grad->primitive, "max_pool2d_grad") != 0 || work_in (grad, 1) != work_out (pool, 1)
          || work_value (w, work_in (grad, 0))->is_uniform)
        return;
    }

  /* Where no element of a window is above 0 the place of its largest is another one behind the ReLU: the gradient does
   * not mind, but nobody else may know. */
  if (work_out (pool, 1) != 0
      && (!is_private (w, work_out (pool, 1)) || readers[work_out (pool, 1)].n > (grad != NULL ? 1 : 0)))
    return;

  p = work_out (pool, 0);
  inner = work_new_value (w, &(LoomTensorDesc){ 0 }, work_value (w, p));
  work_value (w, inner)->desc = work_value (w, p)->desc;
  g_array_index (pool->in, guint, 0) = x;
  g_array_index (pool->out, guint, 0) = inner;
  rewire (relu, inner, 0, p);
  swap (w, relu_at, pool_at);
  if (grad != NULL)
    {
      guint g = work_in (grad, 0), dx = work_out (gate, 0), passed;

      passed = work_new_value (w, &(LoomTensorDesc){ 0 }, work_value (w, g));
      work_value (w, passed)->desc = work_value (w, p)->desc;
      work_value (w, passed)->region = gate->region;
      rewire (gate, g, p, passed);
      g_array_index (grad->in, guint, 0) = passed;
      g_array_index (grad->out, guint, 0) = dx;
      swap (w, grad_at, gate_at);
    }
}

void
work_move_relus (Work *w)
{
  g_autofree Readers *readers = NULL;
  g_autoptr (GArray) relus = NULL;
  guint n = w->instrs->len;
  gboolean any = FALSE;

  for (guint i = 0; i < n && !any; i++)
    any = strcmp (work_instr (w, i)->primitive, "max_pool2d") == 0;
  if (!any)
    return;
  /* One look serves every pooling: a move changes the readers of no other pair. The list is made first, because a ReLU
   * that has moved must not be met again. */
  readers = find_readers (w);
  relus = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < n; i++)
    if (!work_instr (w, i)->dead && is_step (work_instr (w, i), LOOM_SCALAR_RELU))
      g_array_append_val (relus, i);
  for (guint i = 0; i < relus->len; i++)
    move_behind (w, g_array_index (relus, guint, i), readers);
}
