/* Moves a ReLU before a max pooling to after it.
 *
 * max(relu(x)) = relu(max(x)), and the gradients are equal too: if the maximum of a window is above 0 it is the same
 * element, otherwise nothing flows. After the pooling the ReLU and its gradient have a quarter of the work or less, and
 * the large tensor before the pooling need not be kept to know where the ReLU was active. */
#include "engine/plan/plan-private.h"

/* Makes `instr`, one element-wise step, compute `result` from operands a and b. */
static void
rewire (Work *w, WorkInstr *instr, guint a, guint b, guint result)
{
  while (instr->in->len > 0)
    work_drop_in (w, instr, 0);
  work_add_in (w, instr, a);
  if (b != 0 && b != a)
    work_add_in (w, instr, b);
  work_step (instr, 0)->arg[0] = a;
  work_step (instr, 0)->arg[1] = b;
  work_step (instr, 0)->result = result;
  work_set_out (w, instr, 0, result);
}

static void
swap (Work *w, WorkInstr *earlier, WorkInstr *later)
{
  WorkInstr *behind = later->next;

  work_move (w, later, earlier);
  if (earlier->next != behind)
    work_move (w, earlier, behind);
}

/* Rewrites r = relu(x), read by (p, where) = max_pool2d(r) and, if there is a backward pass, by dx = relu_grad(dr, r),
 * where dr = max_pool2d_grad(g, where) has no other reader. */
static void
move_behind (Work *w, WorkInstr *relu)
{
  WorkInstr *reader[2] = { NULL, NULL }, *pool, *gate, *grad = NULL, *of_place[1];
  guint r = work_out (relu, 0), x = work_in (relu, 0), n = work_readers (w, r, 2, reader), p, inner;

  if (n < 1 || n > 2 || work_value (w, x)->desc.dtype != work_value (w, r)->desc.dtype)
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
      grad = work_value (w, dr)->producer;
      if (grad == NULL || work_only_reader (w, dr, FALSE) != gate || !work_is (grad, "max_pool2d_grad")
          || work_in (grad, 1) != work_out (pool, 1) || work_value (w, work_in (grad, 0))->is_uniform)
        return;
    }

  /* If no element of a window is above 0, the position of the maximum changes. Its gradient is 0 either way, but no
   * other instruction may read the position. */
  if (work_out (pool, 1) != 0 && work_readers (w, work_out (pool, 1), 1, of_place) > (grad != NULL ? 1 : 0))
    return;

  p = work_out (pool, 0);
  inner = work_new_value (w, &(LoomTensorDesc){ 0 }, work_value (w, p));
  work_value (w, inner)->desc = work_value (w, p)->desc;
  work_set_in (w, pool, 0, x);
  work_set_out (w, pool, 0, inner);
  rewire (w, relu, inner, 0, p);
  swap (w, relu, pool);
  if (grad != NULL)
    {
      guint g = work_in (grad, 0), dx = work_out (gate, 0), passed;

      passed = work_new_value (w, &(LoomTensorDesc){ 0 }, work_value (w, g));
      work_value (w, passed)->desc = work_value (w, p)->desc;
      work_value (w, passed)->region = gate->region;
      rewire (w, gate, g, p, passed);
      work_set_in (w, grad, 0, passed);
      work_set_out (w, grad, 0, dx);
      swap (w, grad, gate);
    }
}

void
work_move_relus (Work *w)
{
  g_autoptr (GPtrArray) relus = g_ptr_array_new ();

  /* The list is made first, so that a moved ReLU is not visited again. */
  for (WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    if (work_is_step (instr, LOOM_SCALAR_RELU))
      g_ptr_array_add (relus, instr);
  for (guint i = 0; i < relus->len; i++)
    move_behind (w, g_ptr_array_index (relus, i));
}
