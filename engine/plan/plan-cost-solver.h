/* Chooses a state for each of many variables so that the sum of all costs is minimal.
 *
 * Costs belong to single variables and to pairs. The planner's variables are instructions, whose states are the options
 * of their kernels, and values, whose states are the layouts in which they exist. */
#pragma once

#include <glib.h>

typedef struct _CostSolver CostSolver;

CostSolver *cost_solver_new (void);
void cost_solver_free (CostSolver *solver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CostSolver, cost_solver_free)

/* Adds a variable of n ≥ 1 states with their costs (INFINITY: never) and returns its number. */
guint cost_solver_add (CostSolver *solver, guint n, const double *cost);
/* Adds joint costs of two different variables: cost[i·n_b + k] for state i of a and state k of b. */
void cost_solver_pair (CostSolver *solver, guint a, guint b, const double *cost);
/* Adds costs to a variable's states. */
void cost_solver_bias (CostSolver *solver, guint a, const double *cost);
guint cost_solver_n (const CostSolver *solver);

/* Fills state[] by variable and returns the sum; deterministic. Exact if no table of more than `largest` costs is
 * needed, as for trees and ladders. Otherwise some variables are fixed while the others are chosen exactly, different
 * ones in each round; rounds restart from pseudo-random states and end after a fixed number, or earlier if several
 * starts improve nothing. */
double cost_solver_solve (CostSolver *solver, gsize largest, guint *state);
/* The comparisons, table entries and neighbours that the last solution visited, for tests of its growth. */
guint64 cost_solver_n_visited (const CostSolver *solver);
/* The sum of given states. */
double cost_solver_cost (const CostSolver *solver, const guint *state);
