/* Shared by the files of the kernel of switch and visit. */
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

/* What one body runs. */
typedef struct
{
  LoomPlan *plan;
  VisitRow *rows;
  guint n_rows, n_setup;
  void **all_buffers;
  guint *in, *out;   /* values of the plan; G_MAXUINT: an input that nothing reads */
  GPtrArray **patch; /* by input, void **: the addresses of kernels that are its */
  void **at;         /* by input: where it lies now */
  gboolean *fixed;   /* by input: kernels bind its address, so it always lies in the same place */
  gboolean *is_zero; /* by sum: it has no part in it */
} VisitChoice;

/* Moves what is given on a link to where others find it, for one number of rows. */
typedef struct
{
  LoomKernel *spread, *add, *take;
} VisitMover;

typedef struct
{
  LoomKernel base;
  LoomVisitAttrs attrs;
  const LoomPlanDevice *device;
  guint n_operands, n_in, n_out, n_bodies;
  VisitChoice *choices;
  gsize *in_bytes, *out_bytes; /* by input and output of a body: of a row, or of all */
  VisitMover *movers;          /* by size and link */
  LoomKernel **add;            /* by sum */
  /* Offsets in scratch. */
  gsize arena, once, kernel, index, wide;
  gsize *place; /* by input: its own place */
  gsize *table; /* by link: what waits on it */
  char *scratch;
  gint64 site;
  /* The host's copies on a device with memory of its own. */
  gint64 *group, *dest, *counter, *list;
  gpointer zeros;
  gboolean *has_sum; /* in a run: something has been added to the sum */
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

/* Rows of what waits on a link: a place for each slot of each row, and one that no row has. */
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
/* The input of a body whose bytes a value of its plan has, or -1. */
int visit_input_with (const VisitChoice *c, guint n_in, guint value);
/* LoomKernel.run. */
LoomStatus visit_run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);

G_END_DECLS
