/* The eager executor inside a loop: the body's program, executed once per iteration.
 *
 * Operands come from the outer execution, in host memory; rows of sequences are read in place. The carried values of
 * every iteration are kept, so that earlier iterations can be entered again. */
#include "engine/run/loom-eager.h"

#include "engine/run/run-private.h"

struct _LoomEagerLoop
{
  LoomScanAttrs attrs;
  LoomEager *body;
  GPtrArray *operands; /* values of the outer execution */
  GPtrArray *carried;  /* GPtrArray of LoomTensor per known iteration: the carried values */
};

gboolean
loom_eager_is_loop (const LoomEager *eager, guint index)
{
  return (loom_program_instr (loom_eager_program (eager), index)->prim->flags & LOOM_PRIM_LOOP) != 0;
}

void
loom_eager_loop_free (LoomEagerLoop *loop)
{
  if (loop == NULL)
    return;
  loom_eager_free (loop->body);
  g_ptr_array_unref (loop->operands);
  g_ptr_array_unref (loop->carried);
  g_free (loop);
}

static GPtrArray *
new_tensors (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
}

LoomEagerLoop *
loom_eager_loop_new (LoomEager *eager, guint index, GError **error)
{
  const LoomInstr *instr = loom_program_instr (loom_eager_program (eager), index);
  g_autoptr (LoomEagerLoop) loop = NULL;
  GPtrArray *first = new_tensors ();

  g_return_val_if_fail (loom_eager_is_loop (eager, index), NULL);

  loop = g_new0 (LoomEagerLoop, 1);
  loop->attrs = *(const LoomScanAttrs *)instr->attrs;
  loop->operands = new_tensors ();
  loop->carried = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  g_ptr_array_add (loop->carried, first);
  for (guint k = 0; k < instr->n_in; k++)
    {
      LoomTensor *t = loom_eager_value (eager, instr->in[k], error);

      if (t == NULL)
        return NULL;
      g_ptr_array_add (loop->operands, t);
      if (k < loop->attrs.n_carried)
        g_ptr_array_add (first, loom_tensor_ref (t));
    }
  loop->body = loom_eager_new_inside (eager, index, loop->attrs.body, error);
  return loop->body != NULL ? g_steal_pointer (&loop) : NULL;
}

gint64
loom_eager_loop_length (const LoomEagerLoop *loop)
{
  return loop->attrs.length;
}

gint64
loom_eager_loop_row (const LoomEagerLoop *loop, gint64 n)
{
  return loop->attrs.reverse ? loop->attrs.length - 1 - n : n;
}

/* Sets the inputs of iteration n. */
static void
feed (LoomEagerLoop *loop, gint64 n)
{
  const GPtrArray *carried = loop->carried->pdata[n];

  for (guint k = 0; k < loop->operands->len; k++)
    {
      const LoomTensor *t = loop->operands->pdata[k];
      const char *data = t->data;

      if (k < loop->attrs.n_carried)
        data = ((const LoomTensor *)carried->pdata[k])->data;
      else if (k < loop->attrs.n_carried + loop->attrs.n_sequences)
        data += t->bytes / (gsize)loop->attrs.length * (gsize)loom_eager_loop_row (loop, n);
      loom_eager_feed (loop->body, k, data);
    }
}

/* Runs the last known iteration to its end. */
static gboolean
run_next_iteration (LoomEagerLoop *loop, GError **error)
{
  g_autoptr (GPtrArray) next = new_tensors ();

  feed (loop, loop->carried->len - 1);
  if (!loom_eager_run (loop->body, FALSE, NULL, NULL, error))
    return FALSE;
  for (guint k = 0; k < loop->attrs.n_carried; k++)
    {
      LoomTensor *t = loom_eager_output (loop->body, k, error);

      if (t == NULL)
        return FALSE;
      g_ptr_array_add (next, t);
    }
  g_ptr_array_add (loop->carried, g_steal_pointer (&next));
  return TRUE;
}

LoomEager *
loom_eager_loop_enter (LoomEagerLoop *loop, gint64 n, GError **error)
{
  g_return_val_if_fail (n >= 0 && n < loop->attrs.length, NULL);

  while (loop->carried->len <= (guint64)n)
    if (!run_next_iteration (loop, error))
      return NULL;
  feed (loop, n);
  return loom_eager_begin (loop->body, error) ? loop->body : NULL;
}
