/* The kernel that runs the primitives switch and visit: its struct, with the bodies and their offsets in scratch
 * memory. plan-visit.c makes it, plan-visit-run.c runs it.
 *
 * switch runs one body for all rows, or one for each group of rows; visit runs a body for each level of trees, whose
 * links pass values between children and parents. */
#pragma once

#include "engine/plan/plan-body.h"
#include "engine/program/program-visit.h"

/* The kernels that copy a link's rows to and from its table, for one number of rows. */
typedef struct
{
  LoomKernel *spread, *add, *take;
} VisitLinkKernels;

typedef struct
{
  PlanSchedule s;
  LoomVisitAttrs attrs;
  guint n_operands, n_in, n_out;
  gboolean *is_zero;              /* by body and sum: the body adds nothing to it */
  gsize *in_bytes, *out_bytes;    /* by input and output of a body: bytes of a row, or of the whole */
  VisitLinkKernels *link_kernels; /* by size and link */
  LoomKernel **add;               /* by sum */
  /* Offsets in scratch. */
  gsize kernel, index, wide;
  gsize *input_offset; /* by input: its buffer */
  gsize *table_offset; /* by link: its table */
  /* Host copies of what is on a device with its own memory. */
  gint64 *group, *dest, *counter, *list;
  gpointer zeros;
  gboolean *has_sum; /* by sum, during a run: it has a first summand */
} Visit;

static inline gboolean
visit_has_rows (const Visit *v)
{
  return v->attrs.n_sizes > 0;
}

static inline gint64
visit_n_rows (const Visit *v)
{
  return v->attrs.size[0];
}

/* The number of rows of a link's table: one for each slot of each row, and one unused. */
static inline gint64
visit_table_rows (const Visit *v)
{
  return v->attrs.slots * visit_n_rows (v) + 1;
}

static inline guint
visit_first_whole (const Visit *v)
{
  return v->attrs.n_rows + visit_n_links_in (&v->attrs);
}

/* LoomKernel.run of the kernel. (plan-visit-run.c) */
LoomStatus visit_run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
