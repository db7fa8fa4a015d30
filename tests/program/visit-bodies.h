/* Bodies of switch and visit for tests: one of each kind that a rule distinguishes. */
#pragma once

#include "engine/program/loom-prim.h"

typedef struct
{
  const char *name;
  guint n_branches;
  gint64 slots; /* of trees: -1: no tree; 0: children are summed */
  guint n_links, n_rows, n_whole, n_results;
  gboolean one; /* one body for all, by a single number */
  /* Inputs: rows, links by slot, whole; outputs: links, results. */
  LoomProgram *(*body) (guint branch, gint64 size, LoomDType dtype);
} VisitCase;

#define VISIT_MAX_OPERANDS 12
#define VISIT_TREES        2
#define VISIT_NODES        7
#define VISIT_SAMPLES      9

/* Ends with a NULL name. */
extern const VisitCase visit_cases[];

/* Adds inputs of p for a case's operands, the number (of the body, or of the parent) first; returns how many. */
guint visit_case_inputs (const VisitCase *c, LoomProgram *p, LoomDType dtype, LoomValue *in);
/* Numbers for the first of them: every body but one is chosen; trees of several shapes. `turn` selects a variant. */
void visit_case_numbers (const VisitCase *c, guint turn, gint64 *numbers, guint n);
/* Emits the instructions over them. out[] receives the results in the original order of rows; returns their number. */
guint visit_case_emit (const VisitCase *c, LoomProgram *p, gboolean recompute, LoomDType dtype, const LoomValue *in,
                       LoomValue *out);
/* The same values for these numbers, row by row and without choosing. */
guint visit_case_unroll (const VisitCase *c, LoomProgram *p, LoomDType dtype, const gint64 *numbers,
                         const LoomValue *in, LoomValue *out);
