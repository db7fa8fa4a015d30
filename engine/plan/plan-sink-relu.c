/* Moves a ReLU before a max pooling to after it.
 *
 * max(relu(x)) = relu(max(x)), and the gradients are equal too: if the maximum of a window is above 0 it is the same
 * element, otherwise nothing flows. After the pooling the ReLU and its gradient have a quarter of the work or less, and
 * the large tensor before the pooling need not be kept to know where the ReLU was active. */
#include "engine/plan/plan-private.h"

/* Makes `instr`, one element-wise step, compute `result` from operands a and b. */
static void
rewire (PlanGraph *g, PlanNode *instr, guint a, guint b, guint result)
{
  while (instr->in->len > 0)
    graph_drop_in (g, instr, 0);
  graph_add_in (g, instr, a);
  if (b != 0 && b != a)
    graph_add_in (g, instr, b);
  node_step (instr, 0)->arg[0] = a;
  node_step (instr, 0)->arg[1] = b;
  node_step (instr, 0)->result = result;
  graph_set_out (g, instr, 0, result);
}

static void
swap (PlanGraph *g, PlanNode *earlier, PlanNode *later)
{
  PlanNode *after_later = later->next;

  graph_move (g, later, earlier);
  if (earlier->next != after_later)
    graph_move (g, earlier, after_later);
}

/* Rewrites r = relu(x) that is read by (p, where) = max_pool2d(r) and, if there is a backward pass, by dx =
 * relu_grad(dr, r), where dr = max_pool2d_grad(g, where) has no other reader: p becomes relu of the pooled x. */
static void
move_after_pool (PlanGraph *g, PlanNode *relu)
{
  PlanNode *reader[2] = { NULL, NULL }, *pool, *gate, *grad = NULL, *position_reader[1];
  guint r = node_out (relu, 0), x = node_in (relu, 0), n = graph_readers (g, r, 2, reader), p, inner;

  if (n < 1 || n > 2 || graph_value (g, x)->desc.dtype != graph_value (g, r)->desc.dtype)
    return;
  pool = reader[n == 2 && node_is (reader[1], "max_pool2d") ? 1 : 0];
  gate = n == 2 ? reader[pool == reader[0] ? 1 : 0] : NULL;
  if (!node_is (pool, "max_pool2d") || pool->device_name != relu->device_name)
    return;
  if (gate != NULL)
    {
      guint dr;

      if (!node_is_step (gate, LOOM_SCALAR_RELU_GRAD) || node_step (gate, 0)->arg[1] != r)
        return;
      dr = node_step (gate, 0)->arg[0];
      grad = graph_value (g, dr)->producer;
      if (grad == NULL || graph_only_reader (g, dr, FALSE) != gate || !node_is (grad, "max_pool2d_grad")
          || node_in (grad, 1) != node_out (pool, 1) || graph_value (g, node_in (grad, 0))->is_uniform)
        return;
    }

  /* If no element of a window is above 0, the position of the maximum changes. The gradient is 0 either way, but no
   * other instruction may read the position. */
  if (node_out (pool, 1) != 0 && graph_readers (g, node_out (pool, 1), 1, position_reader) > (grad != NULL ? 1 : 0))
    return;

  p = node_out (pool, 0);
  inner = graph_value_like (g, p);
  graph_set_in (g, pool, 0, x);
  graph_set_out (g, pool, 0, inner);
  /* The position may differ from the program's, so it gets a new value number. */
  if (node_out (pool, 1) != 0)
    {
      guint position = graph_value_like (g, node_out (pool, 1));

      graph_set_out (g, pool, 1, position);
      if (grad != NULL)
        graph_set_in (g, grad, 1, position);
    }
  rewire (g, relu, inner, 0, p);
  swap (g, relu, pool);
  if (grad != NULL)
    {
      guint dp = node_in (grad, 0), dx = node_out (gate, 0), passed;

      passed = graph_value_like (g, dp);
      graph_value (g, passed)->desc = graph_value (g, p)->desc;
      graph_value (g, passed)->region = gate->region;
      rewire (g, gate, dp, p, passed);
      graph_set_in (g, grad, 0, passed);
      graph_set_out (g, grad, 0, dx);
      swap (g, grad, gate);
    }
}

void
pass_sink_relus (PlanGraph *g)
{
  g_autoptr (GPtrArray) relus = g_ptr_array_new ();

  /* Collected first, so that a moved ReLU is not visited again. */
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is_step (instr, LOOM_SCALAR_RELU))
      g_ptr_array_add (relus, instr);
  for (guint i = 0; i < relus->len; i++)
    move_after_pool (g, g_ptr_array_index (relus, i));
}
