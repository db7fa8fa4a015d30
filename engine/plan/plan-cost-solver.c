/* Minimises a sum of costs by variable elimination (Bertelè and Brioschi, Nonserial Dynamic Programming, 1972).
 *
 * A variable is eliminated by finding its best state for each combination of its neighbours' states; the resulting sums
 * become a joint cost of the neighbours. The variable with the smallest such table goes first. A network with its
 * backward pass has a small tree width, so tables stay small. If a table would be too large, the variable that makes it
 * so is fixed at its state in the best solution so far, and the elimination is repeated with other variables fixed. */
#include "engine/plan/plan-cost-solver.h"
#include "engine/core/loom-compare.h"
#include "engine/plan/plan-queue.h"

#include <math.h>
#include <string.h>

#define ROUNDS  48 /* at most, each with other variables fixed */
#define RESTART 6  /* rounds from one start */
#define STARTS  3  /* starts without improvement after which the search ends */

typedef struct
{
  guint n;      /* variables */
  guint *of;    /* its variables, ascending */
  double *cost; /* by their joint state; the last variable varies fastest */
} Factor;

typedef struct
{
  guint n; /* states */
  double *cost;
} Variable;

struct _CostSolver
{
  GArray *variables;  /* Variable */
  GPtrArray *factors; /* Factor of two variables */
  guint64 n_visited;
};

/* An eliminated variable, and its best state for each combination of its neighbours' states. */
typedef struct
{
  guint variable, n;
  guint *of;
  guint8 *best;
} Step;

/* ---- the problem -------------------------------------------------------- */

static void
factor_free (Factor *f)
{
  g_free (f->of);
  g_free (f->cost);
  g_free (f);
}

static void
clear_variable (Variable *v)
{
  g_free (v->cost);
}

static void
clear_step (Step *step)
{
  g_free (step->of);
  g_free (step->best);
}

CostSolver *
cost_solver_new (void)
{
  CostSolver *solver = g_new0 (CostSolver, 1);

  solver->variables = g_array_new (FALSE, FALSE, sizeof (Variable));
  g_array_set_clear_func (solver->variables, (GDestroyNotify)clear_variable);
  solver->factors = g_ptr_array_new_with_free_func ((GDestroyNotify)factor_free);
  return solver;
}

void
cost_solver_free (CostSolver *solver)
{
  if (solver == NULL)
    return;
  g_array_unref (solver->variables);
  g_ptr_array_unref (solver->factors);
  g_free (solver);
}

static guint
n_states (const CostSolver *solver, guint v)
{
  return g_array_index (solver->variables, Variable, v).n;
}

guint
cost_solver_add (CostSolver *solver, guint n, const double *cost)
{
  Variable v = { n, g_memdup2 (cost, n * sizeof *cost) };

  g_assert (n > 0 && n < 256);
  g_array_append_val (solver->variables, v);
  return solver->variables->len - 1;
}

guint
cost_solver_n (const CostSolver *solver)
{
  return solver->variables->len;
}

void
cost_solver_bias (CostSolver *solver, guint a, const double *cost)
{
  Variable *v = &g_array_index (solver->variables, Variable, a);

  for (guint i = 0; i < v->n; i++)
    v->cost[i] += cost[i];
}

void
cost_solver_pair (CostSolver *solver, guint a, guint b, const double *cost)
{
  Factor *f = g_new0 (Factor, 1);
  guint na = n_states (solver, a), nb = n_states (solver, b);

  g_assert (a != b);
  f->n = 2;
  f->of = g_new (guint, 2);
  f->of[0] = MIN (a, b);
  f->of[1] = MAX (a, b);
  f->cost = g_new (double, na *nb);
  for (guint i = 0; i < na; i++)
    for (guint k = 0; k < nb; k++)
      f->cost[a < b ? i * nb + k : k * na + i] = cost[i * nb + k];
  g_ptr_array_add (solver->factors, f);
}

guint64
cost_solver_n_visited (const CostSolver *solver)
{
  return solver->n_visited;
}

double
cost_solver_cost (const CostSolver *solver, const guint *state)
{
  double sum = 0;

  for (guint v = 0; v < solver->variables->len; v++)
    sum += g_array_index (solver->variables, Variable, v).cost[state[v]];
  for (guint i = 0; i < solver->factors->len; i++)
    {
      const Factor *f = g_ptr_array_index (solver->factors, i);

      sum += f->cost[state[f->of[0]] * n_states (solver, f->of[1]) + state[f->of[1]]];
    }
  return sum;
}

/* ---- elimination ---------------------------------------------------------- */

typedef struct
{
  CostSolver *solver;
  guint round;
  GPtrArray **at; /* by variable: its factors; unowned */
  GPtrArray *all; /* every factor, owned */
  double **own;   /* by variable: the costs of its states */
  double *size;   /* by variable: the size of the table of its elimination */
  gboolean *gone;
  GArray *steps;       /* Step */
  PlanQueue by_size;   /* the variables that are left, smallest table first */
  PlanQueue by_degree; /* the variables that may be fixed in this round, most factors first */
  gboolean has_fixed;  /* a variable was fixed, so `by_degree` is maintained */
} Solver;

static void
solver_clear (Solver *s)
{
  for (guint v = 0; v < s->solver->variables->len; v++)
    {
      g_ptr_array_unref (s->at[v]);
      g_free (s->own[v]);
    }
  g_free (s->at);
  g_free (s->own);
  g_free (s->size);
  g_free (s->gone);
  g_ptr_array_unref (s->all);
  g_array_unref (s->steps);
  plan_queue_clear (&s->by_size);
  plan_queue_clear (&s->by_degree);
}

static Factor *
new_factor (Solver *s, guint n, const guint *of, gsize size)
{
  Factor *f = g_new0 (Factor, 1);

  f->n = n;
  f->of = g_memdup2 (of, n * sizeof *of);
  f->cost = g_new0 (double, size);
  g_ptr_array_add (s->all, f);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (s->at[of[i]], f);
  return f;
}

/* The variables that share a factor with v, ascending. (transfer full) */
static GArray *
neighbours (const Solver *s, guint v)
{
  GArray *of = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n = 0;

  for (guint i = 0; i < s->at[v]->len; i++)
    {
      const Factor *f = g_ptr_array_index (s->at[v], i);

      for (guint k = 0; k < f->n; k++)
        if (f->of[k] != v)
          g_array_append_val (of, f->of[k]);
    }
  g_array_sort (of, loom_compare_uints);
  s->solver->n_visited += of->len;
  for (guint i = 0; i < of->len; i++)
    if (n == 0 || g_array_index (of, guint, n - 1) != g_array_index (of, guint, i))
      g_array_index (of, guint, n++) = g_array_index (of, guint, i);
  g_array_set_size (of, n);
  return of;
}

/* Puts v into the queue of variables that may be fixed. Each round skips another third of the variables and breaks ties
 * in another order, so that rounds differ. */
static void
queue_by_degree (Solver *s, guint v)
{
  guint n = s->solver->variables->len, round = s->round;

  if (s->at[v]->len > 0 && (round == 0 || (v * 2654435761u + round * 40503u) % 3 != 0))
    plan_queue_push (&s->by_degree, -(double)s->at[v]->len, (v + n - round * 7919 % n) % n, v);
}

/* Has to be called whenever the factors of v have changed. */
static void
update_table_size (Solver *s, guint v)
{
  g_autoptr (GArray) of = neighbours (s, v);

  s->size[v] = 1;
  for (guint i = 0; i < of->len; i++)
    s->size[v] *= n_states (s->solver, g_array_index (of, guint, i));
  plan_queue_push (&s->by_size, s->size[v], v, v);
  if (s->has_fixed)
    queue_by_degree (s, v);
}

/* Takes the variable whose elimination makes the smallest table. */
static guint
next_by_size (Solver *s)
{
  PlanQueueEntry e = { 0 };

  while (plan_queue_pop (&s->by_size, &e) && (s->gone[e.item] || s->size[e.item] != e.key))
    ;
  return e.item;
}

/* Takes the variable with most factors. If none may be fixed, returns `next`, whose table is too large. */
static guint
next_by_degree (Solver *s, guint next)
{
  PlanQueueEntry e;

  if (!s->has_fixed)
    for (guint v = 0; v < s->solver->variables->len; v++)
      if (!s->gone[v])
        queue_by_degree (s, v);
  s->has_fixed = TRUE;
  while (plan_queue_pop (&s->by_degree, &e))
    if (!s->gone[e.item] && s->at[e.item]->len == -e.key)
      return e.item;
  return next;
}

static void
remove_factor (Solver *s, Factor *f, guint but)
{
  for (guint k = 0; k < f->n; k++)
    if (f->of[k] != but)
      g_ptr_array_remove_fast (s->at[f->of[k]], f);
}

/* The strides of the variables `of` and of v in a factor's table. */
static void
find_strides (const Solver *s, const Factor *f, const GArray *of, guint v, gsize *stride, gsize *own)
{
  gsize step = 1;

  *own = 0;
  for (guint i = 0; i < of->len; i++)
    stride[i] = 0;
  for (guint k = f->n; k-- > 0;)
    {
      if (f->of[k] == v)
        *own = step;
      else
        for (guint i = 0; i < of->len; i++)
          if (g_array_index (of, guint, i) == f->of[k])
            stride[i] = step;
      step *= n_states (s->solver, f->of[k]);
    }
}

static void
eliminate (Solver *s, guint v)
{
  g_autoptr (GArray) of = neighbours (s, v);
  guint n_factors = s->at[v]->len, n = n_states (s->solver, v);
  g_autofree gsize *stride = g_new (gsize, (n_factors + 1) * (of->len + 1)), *own = g_new (gsize, n_factors + 1),
                   *offset = g_new0 (gsize, n_factors + 1);
  g_autofree guint *index = g_new0 (guint, of->len + 1);
  gsize size = (gsize)s->size[v];
  Step step = { v, of->len, g_memdup2 (of->data, of->len * sizeof (guint)), g_new0 (guint8, size) };
  Factor *sum;

  for (guint i = 0; i < n_factors; i++)
    find_strides (s, g_ptr_array_index (s->at[v], i), of, v, stride + i * of->len, &own[i]);
  sum = of->len > 0 ? new_factor (s, of->len, (const guint *)(const void *)of->data, size) : NULL;
  s->solver->n_visited += size * n * (n_factors + 1);
  for (gsize at = 0; at < size; at++)
    {
      double least = INFINITY;

      for (guint x = 0; x < n; x++)
        {
          double cost = s->own[v][x];

          for (guint i = 0; i < n_factors; i++)
            cost += ((const Factor *)g_ptr_array_index (s->at[v], i))->cost[offset[i] + x * own[i]];
          if (cost < least)
            {
              least = cost;
              step.best[at] = (guint8)x;
            }
        }
      if (sum != NULL)
        sum->cost[at] = least;
      /* Advances to the next combination of the neighbours' states. */
      for (guint k = of->len; k-- > 0;)
        {
          guint states = n_states (s->solver, g_array_index (of, guint, k));

          if (++index[k] < states)
            {
              for (guint i = 0; i < n_factors; i++)
                offset[i] += stride[i * of->len + k];
              break;
            }
          index[k] = 0;
          for (guint i = 0; i < n_factors; i++)
            offset[i] -= (states - 1) * stride[i * of->len + k];
        }
    }
  for (guint i = 0; i < n_factors; i++)
    remove_factor (s, g_ptr_array_index (s->at[v], i), v);
  g_ptr_array_set_size (s->at[v], 0);
  s->gone[v] = TRUE;
  g_array_append_val (s->steps, step);
  for (guint i = 0; i < of->len; i++)
    update_table_size (s, g_array_index (of, guint, i));
}

/* Fixes v at a state: its factors become costs of their other variables. */
static void
fix_state (Solver *s, guint v, guint state)
{
  g_autoptr (GArray) of = neighbours (s, v);
  g_autoptr (GPtrArray) factors = g_ptr_array_copy (s->at[v], NULL, NULL);
  Step step = { v, 0, NULL, g_new (guint8, 1) };

  step.best[0] = (guint8)state;
  g_ptr_array_set_size (s->at[v], 0);
  for (guint i = 0; i < factors->len; i++)
    {
      Factor *f = g_ptr_array_index (factors, i);
      gsize size = 1, step_of_v = 1;
      g_autofree guint *rest = g_new (guint, f->n);
      double *cost;
      guint n = 0;

      for (guint k = 0; k < f->n; k++)
        {
          if (f->of[k] == v)
            {
              step_of_v = 1;
              continue;
            }
          rest[n++] = f->of[k];
          size *= n_states (s->solver, f->of[k]);
          step_of_v *= n_states (s->solver, f->of[k]);
        }
      remove_factor (s, f, v);
      if (n == 0)
        continue;
      cost = n == 1 ? s->own[rest[0]] : new_factor (s, n, rest, size)->cost;
      for (gsize at = 0; at < size; at++)
        cost[at] += f->cost[(at / step_of_v * n_states (s->solver, v) + state) * step_of_v + at % step_of_v];
    }
  s->gone[v] = TRUE;
  g_array_append_val (s->steps, step);
  for (guint i = 0; i < of->len; i++)
    update_table_size (s, g_array_index (of, guint, i));
}

static void
solver_init (Solver *s, CostSolver *solver, guint round)
{
  guint n = solver->variables->len;

  *s = (Solver){ .solver = solver,
                 .round = round,
                 .at = g_new (GPtrArray *, n + 1),
                 .all = g_ptr_array_new_with_free_func ((GDestroyNotify)factor_free),
                 .own = g_new (double *, n + 1),
                 .size = g_new (double, n + 1),
                 .gone = g_new0 (gboolean, n + 1),
                 .steps = g_array_new (FALSE, FALSE, sizeof (Step)) };
  plan_queue_init (&s->by_size, &solver->n_visited);
  plan_queue_init (&s->by_degree, &solver->n_visited);
  g_array_set_clear_func (s->steps, (GDestroyNotify)clear_step);
  for (guint v = 0; v < n; v++)
    {
      const Variable *variable = &g_array_index (solver->variables, Variable, v);

      s->at[v] = g_ptr_array_new ();
      s->own[v] = g_memdup2 (variable->cost, variable->n * sizeof (double));
    }
  for (guint i = 0; i < solver->factors->len; i++)
    {
      const Factor *f = g_ptr_array_index (solver->factors, i);
      gsize size = (gsize)n_states (solver, f->of[0]) * n_states (solver, f->of[1]);

      memcpy (new_factor (s, 2, f->of, size)->cost, f->cost, size * sizeof (double));
    }
  for (guint v = 0; v < n; v++)
    update_table_size (s, v);
}

/* Computes the states from the last eliminated variable to the first, since a variable's best state depends on those
 * that were eliminated after it. */
static void
read_states (const Solver *s, guint *state)
{
  for (guint i = s->steps->len; i-- > 0;)
    {
      const Step *step = &g_array_index (s->steps, Step, i);
      gsize at = 0;

      for (guint k = 0; k < step->n; k++)
        at = at * n_states (s->solver, step->of[k]) + state[step->of[k]];
      state[step->variable] = step->best[at];
    }
}

/* Runs one round: fixes some variables, finds the best states of all others jointly, and returns the number of fixed
 * ones. */
static guint
solve_once (CostSolver *solver, gsize largest, guint round, const guint *start, guint *state)
{
  guint held = 0;
  Solver s;

  solver_init (&s, solver, round);
  for (guint left = solver->variables->len; left > 0; left--)
    {
      guint next = next_by_size (&s), by_degree;

      if (s.size[next] <= (double)largest)
        {
          eliminate (&s, next);
          continue;
        }
      by_degree = next_by_degree (&s, next);
      if (by_degree != next)
        plan_queue_push (&s.by_size, s.size[next], next, next);
      fix_state (&s, by_degree, start[by_degree]);
      held++;
    }
  read_states (&s, state);
  solver_clear (&s);
  return held;
}

/* Pseudo-random initial states from a fixed sequence, so that the same problem has the same solution. */
static void
random_states (const CostSolver *solver, guint32 seed, guint *state)
{
  for (guint v = 0; v < solver->variables->len; v++)
    {
      seed = seed * 1664525u + 1013904223u;
      state[v] = (seed >> 8) % n_states (solver, v);
    }
}

double
cost_solver_solve (CostSolver *solver, gsize largest, guint *state)
{
  guint n = solver->variables->len;
  g_autofree guint *tried = g_new0 (guint, n + 1), *from = g_new0 (guint, n + 1);
  guint since = 0; /* rounds without improvement */
  double best;

  solver->n_visited = 0;
  memset (state, 0, n * sizeof *state);
  if (n == 0)
    return 0;
  best = cost_solver_cost (solver, state);
  for (guint round = 0; round < ROUNDS; round++)
    {
      guint held;
      double cost;

      /* Restarts from random states every few rounds: a solution that no choice of fixed variables improves need not be
       * the minimum. */
      if (round > 0 && round % RESTART == 0)
        {
          if (since >= STARTS * RESTART)
            break;
          random_states (solver, round, from);
        }
      held = solve_once (solver, MAX (largest, 2), round, from, tried);
      cost = cost_solver_cost (solver, tried);
      memcpy (from, tried, n * sizeof *from);
      since++;
      if (cost < best)
        {
          best = cost;
          since = 0;
          memcpy (state, tried, n * sizeof *state);
        }
      if (held == 0)
        break;
    }
  return best;
}
