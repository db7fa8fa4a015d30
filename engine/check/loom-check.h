/* The checker of plans: checks that a plan computes its program, from the two alone.
 *
 * It shares no code with the planner (tests/arch holds this): it sees the types of program and plan, the contract of
 * back ends and the plain loops of `ref`. So a mistake in a pass cannot hide itself by being made twice. */
#pragma once

#include "engine/plan/loom-plan.h"

typedef enum
{
  /* No value is overwritten before its last reader or read before it is written; sizes and alignments suffice; results
   * share bytes with operands only if the kernel allows it; views stay inside their bytes. */
  LOOM_CHECK_MEMORY,
  /* Events or waits order each pair of accesses of the same bytes of which one writes, across lanes and devices; ranks
   * make the same exchanges in the same order. */
  LOOM_CHECK_ORDER,
  /* Each committed slot is written once per step, after all gradients are known to be finite or with an undo log. */
  LOOM_CHECK_STATE,
  /* Each draw has a counter range of its own; nothing is drawn twice or not at all; no kernel with an unfixed order of
   * sums runs where the program forbids it. */
  LOOM_CHECK_RANDOM,
  /* The predicted bytes of each owner and the arena's size are those of the plan's own offsets. */
  LOOM_CHECK_FORECAST,
  /* Each piece of the plan between two values of the program computes what the program's instructions compute. */
  LOOM_CHECK_MEANING,
  LOOM_N_CHECK_RULES
} LoomCheckRule;

const char *loom_check_rule_name (LoomCheckRule rule); /* "memory" */

typedef struct
{
  LoomCheckRule rule;
  guint instr; /* of the plan; G_MAXUINT: none */
  guint value; /* of the plan; G_MAXUINT: none */
  char *text;  /* one sentence with the names of both, without the rule */
} LoomCheckFault;

/* Pieces of plans that were evaluated and found equal. Those of other plans that are alike are not evaluated again: all
 * ranks have nearly the same. The plans that were checked with it must be freed after it. */
typedef struct _LoomCheckKnown LoomCheckKnown;
LoomCheckKnown *loom_check_known_new (void);
void loom_check_known_free (LoomCheckKnown *known);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCheckKnown, loom_check_known_free)

typedef struct
{
  gboolean meaning;      /* evaluates pieces on ref in f64, which takes time */
  double max_operations; /* pieces with more scalar operations are counted as too large; 0: 2e7, and 1e9 with fewer
                            operands for pieces that no rule proves */
  guint64 seed;          /* of the operands */
  gboolean first_only;   /* evaluates no piece after the first fault */
  const char *origin;    /* evaluates only pieces with instructions of this node, if there are any; NULL: all */
  LoomCheckKnown *known; /* receives the pieces that are equal; NULL: they are compared within each plan only */
} LoomCheckOptions;

/* What was checked, and what is wrong. The counts of the bodies of loops and branches are included. */
typedef struct
{
  guint n_plans, n_instrs, n_values;
  guint n_pairs;     /* accesses of the same bytes that had to be ordered */
  guint n_pieces;    /* of the meaning: all; of these: */
  guint n_by_rule;   /* equal by structure */
  guint n_evaluated; /* equal on the operands tried */
  guint n_alike;     /* of these: not evaluated themselves, because they are like another one */
  guint n_too_large; /* not evaluated, over max_operations, or for lack of memory */
  guint n_unchecked; /* not evaluated for another reason: exchanges between ranks, the host's device cannot run it */
  guint n_exchanges; /* collectives that loom_check_exchanges() has run */
  GPtrArray *faults; /* LoomCheckFault */
  char *no_memory;   /* the first instruction that was not evaluated because the host has not enough memory; or NULL */
} LoomCheckReport;

LoomCheckReport *loom_check_report_new (void);
void loom_check_report_free (LoomCheckReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCheckReport, loom_check_report_free)
/* "plan checked: 12 instructions, …", or a line "check: RULE: TEXT" for each of the first faults, and a last line with
 * the number of the others. (transfer full) */
char *loom_check_report_print (const LoomCheckReport *report);
/* Adds the counts of other to report and moves its faults there. */
void loom_check_report_add (LoomCheckReport *report, LoomCheckReport *other);

/* Checks a plan with the plans of its bodies. Runs kernels only for the meaning, on memory of its own; the state of a
 * run is not touched. TRUE if nothing is wrong. */
gboolean loom_check_plan (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report);
/* Checks that n ranks make exchanges of the same kinds, axes and sizes in the same order, so that none waits for
 * ever. plan[r] is the plan of rank r. */
gboolean loom_check_ranks (const LoomPlan *const *plan, guint n, LoomCheckReport *report);
/* Runs the collectives of n ranks on host devices, each rank in a thread, and compares their results, if the mesh has
 * one axis and at most 64 ranks. The plans were made with communicators of threads, all of which still exist, and
 * loom_check_ranks() found no fault. */
gboolean loom_check_exchanges (const LoomPlan *const *plan, guint n, LoomCheckReport *report);
/* Plans the program again with ever more passes until the check fails; returns the name of the guilty pass, or NULL if
 * no plan fails. (transfer none) */
const char *loom_check_blame (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options,
                              const LoomCheckOptions *check);

/* From here on loom_plan_new() checks every plan without evaluations and ends the process with the report if one is
 * wrong: for debug builds, tests, and GRADLOOM_CHECK=1. */
void loom_check_install (void);
/* Does the same if GRADLOOM_CHECK is set to anything but 0; without it, in debug builds. Returns whether it did. With
 * the value "meaning" plans are evaluated too, which takes time. */
gboolean loom_check_install_if_set (void);
