/* Chooses a state for each of many variables so that the sum of all costs is minimal.
 *
 * Costs belong to single variables and to pairs. The planner's variables are instructions, whose states are the options
 * of their kernels, and values, whose states are the layouts in which they exist. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _PlanChoice PlanChoice;

PlanChoice *plan_choice_new (void);
void plan_choice_free (PlanChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PlanChoice, plan_choice_free)

/* Adds a variable of n ≥ 1 states with their costs (INFINITY: never) and returns its number. */
guint plan_choice_add (PlanChoice *choice, guint n, const double *cost);
/* Adds joint costs of two different variables: cost[i·n_b + k] for state i of a and state k of b. */
void plan_choice_pair (PlanChoice *choice, guint a, guint b, const double *cost);
/* Adds costs to a variable's states. */
void plan_choice_bias (PlanChoice *choice, guint a, const double *cost);
guint plan_choice_n (const PlanChoice *choice);

/* Fills state[] by variable and returns the sum; deterministic. Exact if no table of more than `largest` costs is
 * needed, as for trees and ladders. Otherwise some variables are fixed while the others are chosen exactly, different
 * ones in each round; rounds restart from pseudo-random states and end after a fixed number, or earlier if several
 * starts improve nothing. */
double plan_choice_solve (PlanChoice *choice, gsize largest, guint *state);
/* The comparisons, table entries and neighbours that the last solution visited, for tests of its growth. */
guint64 plan_choice_n_visited (const PlanChoice *choice);
/* The sum of given states. */
double plan_choice_cost (const PlanChoice *choice, const guint *state);

G_END_DECLS
