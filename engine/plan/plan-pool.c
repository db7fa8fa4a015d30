/* Moves a ReLU before a max pooling to after it.
 *
 * max(relu(x)) = relu(max(x)), and the gradients are equal too: if the maximum of a window is above 0 it is the same
 * element, otherwise nothing flows. After the pooling the ReLU and its gradient have a quarter of the work or less, and
 * the large tensor before the pooling need not be kept to know where the ReLU was active. */
#include "engine/plan/plan-private.h"

/* Makes `instr`, one element-wise step, compute `result` from operands a and b. */
static void
rewire (Work *g, WorkInstr *instr, guint a, guint b, guint result)
{
  while (instr->in->len > 0)
    work_drop_in (g, instr, 0);
  work_add_in (g, instr, a);
  if (b != 0 && b != a)
    work_add_in (g, instr, b);
  work_step (instr, 0)->arg[0] = a;
  work_step (instr, 0)->arg[1] = b;
  work_step (instr, 0)->result = result;
  work_set_out (g, instr, 0, result);
}

static void
swap (Work *g, WorkInstr *earlier, WorkInstr *later)
{
  WorkInstr *behind = later->next;

  work_move (g, later, earlier);
  if (earlier->next != behind)
    work_move (g, earlier, behind);
}

/* Rewrites r = relu(x), read by (p, where) = max_pool2d(r) and, if there is a backward pass, by dx = relu_grad(dr, r),
 * where dr = max_pool2d_grad(g, where) has no other reader. */
static void
move_behind (Work *g, WorkInstr *relu)
{
  WorkInstr *reader[2] = { NULL, NULL }, *pool, *gate, *grad = NULL, *of_place[1];
  guint r = work_out (relu, 0), x = work_in (relu, 0), n = work_readers (g, r, 2, reader), p, inner;

  if (n < 1 || n > 2 || work_value (g, x)->desc.dtype != work_value (g, r)->desc.dtype)
    return;
  pool = reader[n == 2 && work_is (reader[1], "max_pool2d") ? 1 : 0];
  gate = n == 2 ? reader[pool == reader[0] ? 1 : 0] : NULL;
  if (!work_is (pool, "max_pool2d") || pool->device_name != relu->device_name)
    return;
  if (gate != NULL)
    {
      guint dr;

      if (!work_is_step (gate, LOOM_SCALAR_RELU_GRAD) || work_step (gate, 0)->arg[1] != r)
        return;
      dr = work_step (gate, 0)->arg[0];
      grad = work_value (g, dr)->producer;
      if (grad == NULL || work_only_reader (g, dr, FALSE) != gate || !work_is (grad, "max_pool2d_grad")
          || work_in (grad, 1) != work_out (pool, 1) || work_value (g, work_in (grad, 0))->is_uniform)
        return;
    }

  /* If no element of a window is above 0, the position of the maximum changes. Its gradient is 0 either way, but no
   * other instruction may read the position. */
  if (work_out (pool, 1) != 0 && work_readers (g, work_out (pool, 1), 1, of_place) > (grad != NULL ? 1 : 0))
    return;

  p = work_out (pool, 0);
  inner = work_new_value (g, &(LoomTensorDesc){ 0 }, work_value (g, p));
  work_value (g, inner)->desc = work_value (g, p)->desc;
  work_set_in (g, pool, 0, x);
  work_set_out (g, pool, 0, inner);
  rewire (g, relu, inner, 0, p);
  swap (g, relu, pool);
  if (grad != NULL)
    {
      guint dp = work_in (grad, 0), dx = work_out (gate, 0), passed;

      passed = work_new_value (g, &(LoomTensorDesc){ 0 }, work_value (g, dp));
      work_value (g, passed)->desc = work_value (g, p)->desc;
      work_value (g, passed)->region = gate->region;
      rewire (g, gate, dp, p, passed);
      work_set_in (g, grad, 0, passed);
      work_set_out (g, grad, 0, dx);
      swap (g, grad, gate);
    }
}

void
work_move_relus (Work *g)
{
  g_autoptr (GPtrArray) relus = g_ptr_array_new ();

  /* The list is made first, so that a moved ReLU is not visited again. */
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (work_is_step (instr, LOOM_SCALAR_RELU))
      g_ptr_array_add (relus, instr);
  for (guint i = 0; i < relus->len; i++)
    move_behind (g, g_ptr_array_index (relus, i));
}
