/* L-BFGS with an optional strong Wolfe line search: torch.optim.LBFGS, operation by operation (Nocedal and Wright 2006,
 * algorithms 7.4, 3.5 and 3.6), in f64 whatever the program computes in.
 *
 * One step is up to max_iter iterations on one batch, which should contain all samples. With maximize, the loss and its
 * gradients are negated. */
#include "engine/train/loom-driver.h"

#include <math.h>
#include <string.h>

/* Indices in the slot "optimizer.counts.all". */
enum
{
  N_ITER,
  FUNC_EVALS,
  H_DIAG,
  T,
  N_OLD,
  N_COUNTS
};

static gint64
history_size (const LoomTrainSpec *spec)
{
  return (gint64)spec->hyper[loom_optimizer_find (spec->optimizer, "history_size")];
}

static gboolean
extend (LoomProgram *p, const LoomTrainSpec *spec, guint n, const int *slot, const LoomValue *grad, GError **error)
{
  gint64 total = 0, counts = N_COUNTS;

  for (guint i = 0; i < n; i++)
    total += (gint64)loom_desc_count (&loom_value_info (p, grad[i])->desc);
  loom_driver_slot (p, "old_dirs", 2, (gint64[]){ history_size (spec), total });
  loom_driver_slot (p, "old_stps", 2, (gint64[]){ history_size (spec), total });
  loom_driver_slot (p, "ro", 1, (gint64[]){ history_size (spec) });
  loom_driver_slot (p, "d", 1, &total);
  loom_driver_slot (p, "prev_flat_grad", 1, &total);
  loom_driver_slot (p, "counts", 1, &counts);
  return TRUE;
}

/* ---- vectors ----------------------------------------------------------- */

static double
dot (const double *a, const double *b, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

static double
largest (const double *a, gsize n)
{
  double most = 0;

  for (gsize i = 0; i < n; i++)
    most = MAX (most, fabs (a[i]));
  return most;
}

/* a += s·b */
static void
add (double *a, double s, const double *b, gsize n)
{
  for (gsize i = 0; i < n; i++)
    a[i] += s * b[i];
}

/* ---- evaluating along a direction -------------------------------------- */

typedef struct
{
  const LoomDriverSpace *space;
  gsize n;
  double sign;      /* -1 with maximize */
  const double *x0; /* the beginning of the line */
  const double *d;
  double *x; /* buffer for a point */
} Line;

typedef struct
{
  double t, f, slope;
  double *g;
} Point;

/* Evaluates at x0 + t·d. */
static gboolean
evaluate_at (const Line *line, double t, Point *p, GError **error)
{
  memcpy (line->x, line->x0, line->n * sizeof *line->x);
  add (line->x, t, line->d, line->n);
  p->t = t;
  if (!loom_driver_evaluate (line->space, line->x, &p->f, p->g, error))
    return FALSE;
  if (line->sign < 0)
    {
      p->f = isinf (p->f) ? p->f : -p->f;
      for (gsize i = 0; i < line->n; i++)
        p->g[i] = -p->g[i];
    }
  p->slope = dot (p->g, line->d, line->n);
  return TRUE;
}

static void
copy_point (Point *to, const Point *from, gsize n)
{
  to->t = from->t;
  to->f = from->f;
  to->slope = from->slope;
  memcpy (to->g, from->g, n * sizeof *to->g);
}

/* The minimum of the cubic through two points with their derivatives, within bounds. If the loss at a point is not
 * finite: the middle. */
static double
cubic (const Point *a, const Point *b, double low, double high)
{
  double d1 = a->slope + b->slope - 3 * (a->f - b->f) / (a->t - b->t), square = d1 * d1 - a->slope * b->slope, d2, t;

  if (!(square >= 0) || !isfinite (square))
    return (low + high) / 2;
  d2 = sqrt (square);
  if (a->t <= b->t)
    t = b->t - (b->t - a->t) * ((b->slope + d2 - d1) / (b->slope - a->slope + 2 * d2));
  else
    t = a->t - (a->t - b->t) * ((a->slope + d2 - d1) / (a->slope - b->slope + 2 * d2));
  return isfinite (t) ? MIN (MAX (t, low), high) : (low + high) / 2;
}

#define C1 1e-4
#define C2 0.9

/* Finds a step along the line that meets the strong Wolfe conditions, beginning with t. start is the line's beginning;
 * *evals counts evaluations. *found receives the result, in the caller's buffer for a gradient. */
static gboolean
strong_wolfe (const Line *line, double t, const Point *start, int max_ls, Point *found, int *evals, GError **error)
{
  const double tolerance = 1e-9;
  gsize n = line->n;
  double longest = largest (line->d, n), *room = g_new0 (double, 4 * n + 1);
  g_autofree double *freed = room;
  Point before = { .g = room }, now = { .g = room + n };
  Point bracket[2] = { { .g = room + 2 * n }, { .g = room + 3 * n } };
  gboolean done = FALSE, slow = FALSE;
  int iter = 0, low, high;

  copy_point (&before, start, n);
  if (!evaluate_at (line, t, &now, error))
    return FALSE;
  *evals = 1;
  /* A point that meets the conditions, or two points that bracket one. */
  for (; iter < max_ls; iter++)
    {
      double next;

      if (now.f > start->f + C1 * now.t * start->slope || (iter > 1 && now.f >= before.f) || now.slope >= 0)
        {
          done = fabs (now.slope) <= -C2 * start->slope
                 && !(now.f > start->f + C1 * now.t * start->slope || (iter > 1 && now.f >= before.f));
          copy_point (&bracket[0], done ? &now : &before, n);
          copy_point (&bracket[1], &now, n);
          break;
        }
      if (fabs (now.slope) <= -C2 * start->slope)
        {
          copy_point (&bracket[0], &now, n);
          copy_point (&bracket[1], &now, n);
          done = TRUE;
          break;
        }
      next = cubic (&before, &now, now.t + 0.01 * (now.t - before.t), now.t * 10);
      copy_point (&before, &now, n);
      if (!evaluate_at (line, next, &now, error))
        return FALSE;
      ++*evals;
    }
  if (iter == max_ls)
    {
      copy_point (&bracket[0], start, n);
      copy_point (&bracket[1], &now, n);
    }
  low = bracket[0].f <= bracket[1].f ? 0 : 1;
  high = 1 - low;
  for (; !done && iter < max_ls; iter++)
    {
      double left = MIN (bracket[0].t, bracket[1].t), right = MAX (bracket[0].t, bracket[1].t);
      double margin = 0.1 * (right - left);

      if (fabs (bracket[1].t - bracket[0].t) * longest < tolerance)
        break;
      t = cubic (&bracket[0], &bracket[1], left, right);
      if (MIN (right - t, t - left) < margin)
        {
          /* If a point is near an end for the second time, or outside: a tenth of the way inside. */
          if (slow || t >= right || t <= left)
            {
              t = fabs (t - right) < fabs (t - left) ? right - margin : left + margin;
              slow = FALSE;
            }
          else
            slow = TRUE;
        }
      else
        slow = FALSE;
      if (!evaluate_at (line, t, &now, error))
        return FALSE;
      ++*evals;
      if (now.f > start->f + C1 * now.t * start->slope || now.f >= bracket[low].f)
        {
          copy_point (&bracket[high], &now, n);
          low = bracket[0].f <= bracket[1].f ? 0 : 1;
          high = 1 - low;
          continue;
        }
      if (fabs (now.slope) <= -C2 * start->slope)
        done = TRUE;
      else if (now.slope * (bracket[high].t - bracket[low].t) >= 0)
        copy_point (&bracket[high], &bracket[low], n);
      copy_point (&bracket[low], &now, n);
    }
  copy_point (found, &bracket[low], n);
  return TRUE;
}

/* ---- memory ------------------------------------------------------------ */

typedef struct
{
  LoomTensor *old_dirs, *old_stps, *ro, *d, *prev_flat_grad, *counts;
  gint64 size; /* of the history */
  gsize n;
} Memory;

static void
memory_clear (Memory *m)
{
  LoomTensor *all[] = { m->old_dirs, m->old_stps, m->ro, m->d, m->prev_flat_grad, m->counts };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    g_clear_pointer (&all[i], loom_tensor_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Memory, memory_clear)

static gboolean
memory_load (Memory *m, const LoomDriverCall *call, GError **error)
{
  return loom_driver_load (call, "old_dirs", &m->old_dirs, error)
         && loom_driver_load (call, "old_stps", &m->old_stps, error) && loom_driver_load (call, "ro", &m->ro, error)
         && loom_driver_load (call, "d", &m->d, error)
         && loom_driver_load (call, "prev_flat_grad", &m->prev_flat_grad, error)
         && loom_driver_load (call, "counts", &m->counts, error);
}

static gboolean
memory_save (const Memory *m, const LoomDriverCall *call, GError **error)
{
  return loom_driver_save (call, "old_dirs", m->old_dirs, error)
         && loom_driver_save (call, "old_stps", m->old_stps, error) && loom_driver_save (call, "ro", m->ro, error)
         && loom_driver_save (call, "d", m->d, error)
         && loom_driver_save (call, "prev_flat_grad", m->prev_flat_grad, error)
         && loom_driver_save (call, "counts", m->counts, error);
}

static double *
row (LoomTensor *t, gint64 i, gsize n)
{
  return (double *)t->data + (gsize)i * n;
}

/* Adds the difference of gradients of the last iteration to the history, if the curvature is positive. */
static void
remember (Memory *m, const double *g)
{
  double *counts = m->counts->data, *ro = m->ro->data, ys;
  const double *d = m->d->data, *before = m->prev_flat_grad->data;
  gint64 last = (gint64)counts[N_OLD];
  gsize n = m->n;
  g_autofree double *y = g_new (double, n + 1), *s = g_new (double, n + 1);

  for (gsize i = 0; i < n; i++)
    {
      y[i] = g[i] - before[i];
      s[i] = d[i] * counts[T];
    }
  ys = dot (y, s, n);
  if (!(ys > 1e-10))
    return;
  if (last == m->size)
    {
      last--;
      memmove (row (m->old_dirs, 0, n), row (m->old_dirs, 1, n), (gsize)last * n * sizeof (double));
      memmove (row (m->old_stps, 0, n), row (m->old_stps, 1, n), (gsize)last * n * sizeof (double));
      memmove (ro, ro + 1, (gsize)last * sizeof *ro);
    }
  memcpy (row (m->old_dirs, last, n), y, n * sizeof *y);
  memcpy (row (m->old_stps, last, n), s, n * sizeof *s);
  ro[last] = 1 / ys;
  counts[N_OLD] = (double)(last + 1);
  counts[H_DIAG] = ys / dot (y, y, n);
}

/* d = -H·g by the two loops over the history. */
static void
direction (Memory *m, const double *g)
{
  double *counts = m->counts->data, *d = m->d->data;
  const double *ro = m->ro->data;
  gint64 n_old = (gint64)counts[N_OLD];
  gsize n = m->n;
  g_autofree double *al = g_new (double, n_old + 1);

  for (gsize i = 0; i < n; i++)
    d[i] = -g[i];
  for (gint64 i = n_old; i-- > 0;)
    {
      al[i] = dot (row (m->old_stps, i, n), d, n) * ro[i];
      add (d, -al[i], row (m->old_dirs, i, n), n);
    }
  for (gsize i = 0; i < n; i++)
    d[i] *= counts[H_DIAG];
  for (gint64 i = 0; i < n_old; i++)
    add (d, al[i] - dot (row (m->old_dirs, i, n), d, n) * ro[i], row (m->old_stps, i, n), n);
}

/* ---- one step ---------------------------------------------------------- */

static gboolean
iterate (const LoomDriverCall *call, const LoomDriverSpace *space, Memory *m, double *x, double *g, double loss,
         GError **error)
{
  double lr = loom_driver_hyper (call, "lr"), *counts = m->counts->data, *d = m->d->data;
  double tolerance_grad = loom_driver_hyper (call, "tolerance_grad");
  double tolerance_change = loom_driver_hyper (call, "tolerance_change");
  gboolean search = loom_driver_hyper (call, "line_search_fn") != 0;
  int max_iter = (int)loom_driver_hyper (call, "max_iter"), max_eval = (int)loom_driver_hyper (call, "max_eval");
  double sign = loom_driver_hyper (call, "maximize") != 0 ? -1 : 1;
  gsize n = space->n;
  g_autofree double *point = g_new (double, n + 1), *found_g = g_new (double, n + 1);
  Line line = { .space = space, .n = n, .sign = sign, .x0 = x, .d = d, .x = point };
  int evals = 1;

  if (max_eval == 0)
    max_eval = max_iter * 5 / 4;
  if (largest (g, n) <= tolerance_grad)
    return TRUE;
  for (int i = 1; i <= max_iter; i++)
    {
      Point start = { .f = loss, .g = g }, found = { .g = found_g };
      double before = loss, t, l1 = 0;
      int used = 0;

      counts[N_ITER]++;
      if (counts[N_ITER] > 1)
        remember (m, g);
      else
        counts[H_DIAG] = 1;
      direction (m, g);
      memcpy (m->prev_flat_grad->data, g, n * sizeof *g);
      for (gsize k = 0; k < n; k++)
        l1 += fabs (g[k]);
      t = counts[N_ITER] == 1 ? MIN (1, 1 / l1) * lr : lr;
      counts[T] = t;
      start.slope = dot (g, d, n);
      if (start.slope > -tolerance_change)
        break;
      if (search)
        {
          if (!strong_wolfe (&line, t, &start, max_eval - evals, &found, &used, error))
            return FALSE;
          counts[T] = t = found.t;
        }
      else if (i != max_iter)
        {
          if (!evaluate_at (&line, t, &found, error))
            return FALSE;
          used = 1;
        }
      add (x, t, d, n);
      if (used > 0)
        {
          loss = found.f;
          memcpy (g, found.g, n * sizeof *g);
        }
      evals += used;
      counts[FUNC_EVALS] += used;
      if (evals >= max_eval || (used > 0 && largest (g, n) <= tolerance_grad)
          || largest (d, n) * fabs (t) <= tolerance_change || fabs (loss - before) < tolerance_change)
        break;
    }
  return TRUE;
}

static gboolean
advance (const LoomDriverCall *call, GError **error)
{
  g_autoptr (LoomDriverSpace) space = loom_driver_space_new (call);
  gsize n = space->n;
  g_autofree double *x = g_new (double, n + 1), *g = g_new (double, n + 1);
  g_auto (Memory) m = { .size = history_size (call->spec), .n = n };
  double loss = loom_driver_loss (space);

  if (!memory_load (&m, call, error) || !loom_driver_get_weights (space, x, error)
      || !loom_driver_gather (space, "gradient", g, error))
    return FALSE;
  ((double *)m.counts->data)[FUNC_EVALS]++;
  if (loom_driver_hyper (call, "maximize") != 0)
    {
      loss = -loss;
      for (gsize i = 0; i < n; i++)
        g[i] = -g[i];
    }
  return iterate (call, space, &m, x, g, loss, error) && loom_driver_set_weights (space, x, error)
         && memory_save (&m, call, error);
}

const LoomDriver loom_driver_lbfgs = { .optimizer = "lbfgs", .extend = extend, .advance = advance };
