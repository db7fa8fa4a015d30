/* Choosing a state for each of many variables so that the sum of all costs is least.
 *
 * Costs stand on single variables and on pairs of them. The planner's variables are instructions, whose states are the
 * options of their kernels, and values, whose states are the layouts in which they exist. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _PlanChoice PlanChoice;

PlanChoice *plan_choice_new (void);
void plan_choice_free (PlanChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PlanChoice, plan_choice_free)

/* A variable of n states (at least one) with their costs; the number that it has from then on. INFINITY: never. */
guint plan_choice_add (PlanChoice *choice, guint n, const double *cost);
/* Further costs of two different variables together: cost[i·n_b + k] of state i of a with state k of b. */
void plan_choice_pair (PlanChoice *choice, guint a, guint b, const double *cost);
/* Further costs of a variable's states. */
void plan_choice_bias (PlanChoice *choice, guint a, const double *cost);
guint plan_choice_n (const PlanChoice *choice);

/* Fills state[] by variable and returns the sum; the same answer for the same problem. Exact where no table of more
 * than `largest` costs is needed on the way, which trees and ladders never do. Else some variables are held while the
 * others are chosen exactly, others in each round; rounds begin anew from scattered states now and then, and end, at
 * the latest after a fixed number, when several starts in a row have led to nothing better. */
double plan_choice_solve (PlanChoice *choice, gsize largest, guint *state);
/* Counts the comparisons, costs in tables and neighbours that the last solution visited. For tests of how it grows. */
guint64 plan_choice_n_visited (const PlanChoice *choice);
/* The sum of given states. */
double plan_choice_cost (const PlanChoice *choice, const guint *state);

G_END_DECLS
