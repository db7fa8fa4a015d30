/* Implements worker-curve.h. */
#include "app/worker/worker-curve.h"

#include <string.h>

#define MAX_EVALS 16 /* each is a message */

/* ---- points ------------------------------------------------------------- */

void
worker_curve_init (WorkerCurve *c, guint size, guint most)
{
  *c = (WorkerCurve){ .point = g_new (WorkerPoint, size), .most = most, .stride = 1 };
}

void
worker_curve_clear (WorkerCurve *c)
{
  g_clear_pointer (&c->point, g_free);
}

void
worker_curve_forget (WorkerCurve *c, guint most)
{
  c->n = 0;
  c->most = most;
  c->stride = 1;
}

static void
keep_point (WorkerCurve *c, const WorkerPoint *point)
{
  WorkerPoint *last = c->n > 0 ? &c->point[c->n - 1] : NULL;

  if (last != NULL && last->step / c->stride == point->step / c->stride)
    *last = *point;
  else
    c->point[c->n++] = *point;
}

void
worker_curve_add (WorkerCurve *c, const WorkerPoint *point)
{
  keep_point (c, point);
  /* All points have one stride: repeatedly halving only the old points would make them ever sparser. */
  while (c->n == c->most)
    {
      c->stride *= 2;
      c->n = 1;
      for (guint i = 1; i < c->most; i++)
        keep_point (c, &c->point[i]);
    }
}

void
worker_curve_copy (WorkerCurve *to, const WorkerCurve *from)
{
  memcpy (to->point, from->point, from->n * sizeof *from->point);
  to->n = from->n;
  to->most = MAX (to->most, from->n + 1);
  to->stride = from->stride;
}

/* ---- evaluations -------------------------------------------------------- */

void
worker_eval_free (WorkerEval *e)
{
  g_free (e->split);
  g_free (e);
}

void
worker_evals_clear (WorkerEvals *evals)
{
  g_queue_clear_full (&evals->all, (GDestroyNotify)worker_eval_free);
  evals->stride = 1;
}

/* Takes e. */
static void
keep_eval (WorkerEvals *evals, WorkerEval *e)
{
  GList *l = evals->all.tail;

  while (l != NULL && !g_str_equal (((const WorkerEval *)l->data)->split, e->split))
    l = l->prev;
  if (l != NULL && ((const WorkerEval *)l->data)->nth / evals->stride == e->nth / evals->stride)
    {
      worker_eval_free (l->data);
      g_queue_delete_link (&evals->all, l);
    }
  g_queue_push_tail (&evals->all, e);
}

void
worker_evals_add (WorkerEvals *evals, WorkerEval *e)
{
  keep_eval (evals, e);
  while (evals->all.length > MAX_EVALS)
    {
      GQueue all = evals->all;

      evals->stride *= 2;
      g_queue_init (&evals->all);
      while ((e = g_queue_pop_head (&all)))
        keep_eval (evals, e);
    }
}
