/* Counts and indexes the inputs and outputs of the bodies of switch and visit, from their attributes (LoomVisitAttrs).
 * The header also declares the gradient of both (visit-gradient.c). */
#pragma once

#include "engine/program/program-body.h"

/* The number of operands before the bodies' inputs: group and, for trees, dest. */
static inline guint
visit_n_leading (const LoomVisitAttrs *a)
{
  return 1 + (a->n_links > 0);
}

static inline guint
visit_n_links_in (const LoomVisitAttrs *a)
{
  return a->n_links * (a->down ? 1 : a->slots);
}

static inline guint
visit_n_links_out (const LoomVisitAttrs *a)
{
  return a->n_links * (a->down ? a->slots : 1);
}

static inline guint
visit_n_inputs (const LoomVisitAttrs *a)
{
  return a->n_rows + visit_n_links_in (a) + a->n_whole;
}

static inline guint
visit_n_outputs (const LoomVisitAttrs *a)
{
  return visit_n_links_out (a) + a->n_sums + a->n_row_results;
}

static inline guint
visit_n_bodies (const LoomVisitAttrs *a)
{
  return a->n_branches * MAX (a->n_sizes, 1);
}

/* The index of the operand that is the body's input i; G_MAXUINT for a link. */
static inline guint
visit_operand (const LoomVisitAttrs *a, guint i)
{
  guint links = visit_n_links_in (a);

  if (i < a->n_rows)
    return visit_n_leading (a) + i;
  return i < a->n_rows + links ? G_MAXUINT : visit_n_leading (a) + i - links;
}

gboolean loom_visit_gradient (const LoomGradCall *call);
