/* The kernel of switch and visit, shared by the files that implement it. */
#pragma once

#include "engine/plan/plan-private.h"
#include "engine/program/program-visit.h"

G_BEGIN_DECLS

#define VISIT_ALIGNMENT 64

typedef struct
{
  LoomKernel *kernel;
  const LoomPlanInstr *instr;
  void **buffers;
} VisitRow;

/* The plan of one body and its calls. */
typedef struct
{
  LoomPlan *plan;
  VisitRow *rows;
  guint n_rows, n_setup;
  void **all_buffers;
  guint *in, *out;   /* values of the plan; G_MAXUINT: the input is unused */
  GPtrArray **patch; /* by input, void **: the kernels' addresses of it */
  void **at;         /* by input: its current address */
  gboolean *fixed;   /* by input: kernels bind its address, so it never moves */
  gboolean *is_zero; /* by sum: this body adds nothing to it */
} VisitChoice;

/* Moves a link's rows to and from its table, for one number of rows. */
typedef struct
{
  LoomKernel *spread, *add, *take;
} VisitLinkKernels;

typedef struct
{
  LoomKernel base;
  LoomVisitAttrs attrs;
  const LoomPlanDevice *device;
  guint n_operands, n_in, n_out, n_bodies;
  VisitChoice *choices;
  gsize *in_bytes, *out_bytes; /* by input and output of a body: of a row, or of the whole */
  VisitLinkKernels *link_kernels; /* by size and link */
  LoomKernel **add;            /* by sum */
  /* Offsets in scratch. */
  gsize arena, once, kernel, index, wide;
  gsize *place; /* by input: its buffer */
  gsize *table; /* by link: its table */
  char *scratch;
  gint64 site;
  /* The host's copies on a device with its own memory. */
  gint64 *group, *dest, *counter, *list;
  gpointer zeros;
  gboolean *has_sum; /* in a run: the sum has a first summand */
  char *name;
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

/* Rows of a link's table: one for each slot of each row, and one unused. */
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

/* plan-visit-run.c */
/* The input of a body that shares its bytes with a value of its plan, or -1. */
int visit_input_with (const VisitChoice *c, guint n_in, guint value);
/* LoomKernel.run. */
LoomStatus visit_run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);

G_END_DECLS
