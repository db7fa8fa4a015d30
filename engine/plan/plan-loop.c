/* Makes the kernel that runs a scan: the body has a plan of its own, and the kernel loops over its instructions.
 *
 * The outer plan sees one kernel. Its scratch memory holds the arena of each part and the second buffers of carried
 * values (LoomScanAttrs), so memory forecasts include it, and it does not depend on the number of iterations. Rows of
 * operands and results are read and written in place: the addresses that change between iterations are found when the
 * kernel is made, and an iteration only sets these and calls kernels. Values are copied if a kernel binds their address
 * or if a value is two results at once. On a device with its own memory rows are also copied if their size is no
 * multiple of 64 bytes, the alignment that libraries require.
 *
 * A stacked result may be a carried value at the beginning of each iteration, which the gradients of recurrent cells
 * read. Iterations write it to the next row (BUFFER_NEXT_ROW). If another stacked result has these rows already, all
 * but the first are copied at once after the loop.
 *
 * Where samples need nothing of each other, which holds for recurrent cells, and a processor has several threads, each
 * thread runs the loop for a part of the samples, without waiting for the others in every kernel. A part's rows are
 * neighbours in the rows of all samples. */
#include "engine/plan/plan-body.h"

#include "engine/program/loom-partition.h"

#define MANY           8             /* iterations in which it pays to compute the same once for all of them */
#define PART_SAMPLES   8             /* of a part, at least: products of fewer rows are slow */
#define PART_WHOLE     (1024 * 1024) /* bytes of weights, at most: each thread reads all of them in each iteration */
#define PARTS_ELEMENTS 16384         /* that all iterations compute at least, so that starting threads pays */

typedef enum
{
  BUFFER_WHOLE,      /* an operand of the loop that is the same in all iterations */
  BUFFER_ROW,        /* this iteration's row of an operand or result */
  BUFFER_ALTERNATE,  /* a carried value that alternates between the result and a second buffer */
  BUFFER_SHARED_ROW, /* a carried value in the row of a stacked result with the same bytes */
  BUFFER_NEXT_ROW    /* a carried value in the next iteration's row of a stacked result */
} BufferKind;

/* The memory of an input or an output of the body. */
typedef struct
{
  BufferKind kind;
  gsize bytes;
  PlanBodyPort *port;
  gsize row, offset;       /* bytes of a row of all parts, and from there to the row of this part */
  guint buffer;            /* index of the loop's operand or result: operands first */
  guint row_owner;         /* BUFFER_SHARED_ROW, BUFFER_NEXT_ROW: the output that owns the rows */
  gboolean is_copied_once; /* a shifted stacked result: only the first iteration copies its row */
  guint shifted; /* the output from which such a result is copied after the loop, shifted by one row; else G_MAXUINT */
  gsize scratch; /* offset in the loop's scratch of the second buffer */
  gboolean is_copied; /* inputs: each iteration copies them to a fixed address for the kernels */
  /* Outputs: kernels write them in place; otherwise each iteration copies them from `source`. */
  gboolean is_written;
  /* The source of the copy to an output: an input, or ~output; G_MAXINT: a fixed address. */
  int source;
} BodyBuffer;

/* A part of the samples, or all of them. */
typedef struct
{
  PlanBody *body;
  const LoomScanAttrs *attrs;
  guint n_in, n_out;
  BodyBuffer *in, *out;
  char *scratch; /* of the loop */
  LoomStatus status;
  LoomMessage message;
} Part;

typedef struct
{
  PlanSchedule s;
  LoomDevices *devices; /* of parts; NULL: there is one part */
  LoomScanAttrs attrs;
  Part *part;
} Loop;

static gboolean
is_carried (const Part *b, guint k)
{
  return k < b->attrs->n_carried;
}

/* ---- buffers ----------------------------------------------------------------- */

/* The input that shares its bytes with a value of the body, or ~output for the output that kernels write to; G_MAXINT:
 * neither, since the value has a fixed address. */
static int
find_source (const Part *b, guint o)
{
  guint root = plan_body_root (b->body, b->out[o].port->value);

  for (guint i = 0; i < b->n_in; i++)
    if (b->in[i].port->value != G_MAXUINT && plan_body_root (b->body, b->in[i].port->value) == root)
      return (int)i;
  for (guint other = 0; other < b->n_out; other++)
    if (b->out[other].is_written && plan_body_root (b->body, b->out[other].port->value) == root)
      return ~(int)other;
  return G_MAXINT;
}

static gboolean
is_made_each_iteration (const Part *b, guint value)
{
  const LoomPlan *plan = b->body->plan;

  return loom_plan_value (plan, plan_body_root (b->body, value))->location.kind == LOOM_LOCATION_ARENA;
}

/* TRUE if kernels can read and write rows of this size in place. CPU kernels accept any alignment. */
static gboolean
can_use_rows (const Part *b, gsize bytes)
{
  return b->body->device->info.host_memory || bytes % PLAN_BODY_ALIGNMENT == 0;
}

static void
assign_input_buffers (Part *b, gsize *scratch)
{
  for (guint i = 0; i < b->n_in; i++)
    {
      BodyBuffer *p = &b->in[i];
      const LoomProgram *program = b->body->program;
      gboolean is_row = !is_carried (b, i) && i < b->attrs->n_carried + b->attrs->n_sequences;

      p->port = &b->body->in[i];
      p->buffer = i;
      p->bytes = loom_desc_bytes (&loom_value_info (program, loom_program_get_input (program, i)->value)->desc);
      p->kind = is_carried (b, i) ? BUFFER_ALTERNATE : is_row ? BUFFER_ROW : BUFFER_WHOLE;
      p->is_copied = p->port->value != G_MAXUINT && ((is_row && !can_use_rows (b, p->bytes)) || p->port->is_bound);
      if (!p->is_copied)
        continue;
      p->port->is_fixed = TRUE;
      p->port->offset = plan_schedule_reserve (scratch, p->bytes);
    }
}

/* Makes kernels write each computed value directly to one of the results that have this value: to a stacked result if
 * its rows can be used in place, else to another one. */
static void
choose_written (Part *b)
{
  for (guint k = 0; k < b->n_out; k++)
    {
      guint o = (k + b->attrs->n_carried) % b->n_out;
      BodyBuffer *p = &b->out[o];

      p->port = &b->body->out[o];
      p->buffer = b->n_in + o;
      p->bytes = loom_desc_bytes (&loom_plan_value (b->body->plan, p->port->value)->desc);
      p->kind = is_carried (b, o) ? BUFFER_ALTERNATE : BUFFER_ROW;
      p->is_written = is_made_each_iteration (b, p->port->value) && (is_carried (b, o) || can_use_rows (b, p->bytes))
                      && find_source (b, o) == G_MAXINT && !p->port->is_bound;
      if (p->is_written)
        plan_body_patch (b->body, p->port);
    }
}

/* Finds stacked results whose rows are a carried value at the beginning of the iterations. */
static void
find_shifted (Part *b)
{
  for (guint o = b->attrs->n_carried; o < b->n_out; o++)
    {
      BodyBuffer *p = &b->out[o], *carried;

      p->shifted = G_MAXUINT;
      if (p->is_written || p->source < 0 || !is_carried (b, (guint)p->source) || !can_use_rows (b, p->bytes))
        continue;
      carried = &b->out[p->source];
      if (carried->bytes != p->bytes)
        continue;
      if (carried->kind == BUFFER_SHARED_ROW && b->out[carried->row_owner].is_written)
        p->shifted = carried->row_owner;
      else if (carried->kind == BUFFER_ALTERNATE && carried->is_written)
        {
          carried->kind = BUFFER_NEXT_ROW;
          carried->row_owner = o;
        }
      else
        continue;
      p->is_copied_once = TRUE;
    }
}

/* Chooses the memory of outputs that kernels do not write in place: they are copied, except that a carried value that
 * equals a stacked result shares its row. */
static void
assign_output_buffers (Part *b, gsize *scratch)
{
  choose_written (b);
  for (guint o = 0; o < b->n_out; o++)
    {
      BodyBuffer *p = &b->out[o];

      p->source = p->is_written ? G_MAXINT : find_source (b, o);
      if (!is_carried (b, o) || p->source >= 0 || is_carried (b, (guint)~p->source))
        continue;
      p->kind = BUFFER_SHARED_ROW;
      p->row_owner = (guint)~p->source;
    }
  find_shifted (b);
  for (guint o = 0; o < b->attrs->n_carried; o++)
    if (b->out[o].kind == BUFFER_ALTERNATE)
      b->out[o].scratch = plan_schedule_reserve (scratch, b->out[o].bytes);
}

/* The number of copies in each iteration but the first. */
static guint
count_copies (const Part *b)
{
  guint n = 0;

  for (guint i = 0; i < b->n_in; i++)
    n += b->in[i].is_copied;
  for (guint o = 0; o < b->n_out; o++)
    n += !b->out[o].is_written && b->out[o].kind != BUFFER_SHARED_ROW && !b->out[o].is_copied_once;
  return n;
}

/* ---- execution ---------------------------------------------------------------- */

static LoomStatus
copy (const Part *b, LoomStream *stream, void *to, const void *from, gsize bytes, LoomMessage *message)
{
  return plan_body_copy (b->body->device, stream, to, from, bytes, LOOM_COPY_WITHIN, message);
}

static char *
row_address (const Part *b, void *const *buffers, const BodyBuffer *p, gint64 i)
{
  gint64 row = b->attrs->reverse ? b->attrs->length - 1 - i : i;

  return (char *)buffers[p->buffer] + (gsize)row * p->row + p->offset;
}

/* The address at which iteration i stores a carried value. The last iteration writes to the loop's result. */
static char *
carried_address (const Part *b, void *const *buffers, guint k, gint64 i)
{
  const BodyBuffer *p = &b->out[k];

  if (p->kind == BUFFER_SHARED_ROW)
    return row_address (b, buffers, &b->out[p->row_owner], i);
  if (p->kind == BUFFER_NEXT_ROW && i + 1 < b->attrs->length)
    return row_address (b, buffers, &b->out[p->row_owner], i + 1);
  return (b->attrs->length - 1 - i) % 2 == 0 ? (char *)buffers[p->buffer] + p->offset : b->scratch + p->scratch;
}

static LoomStatus
set_row_addresses (Part *b, LoomStream *stream, void *const *buffers, gint64 i, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < b->n_in && status == LOOM_STATUS_OK; k++)
    {
      BodyBuffer *p = &b->in[k];
      char *from = (char *)buffers[p->buffer] + p->offset;

      if (p->kind == BUFFER_ROW)
        from = row_address (b, buffers, p, i);
      else if (p->kind == BUFFER_ALTERNATE && i > 0)
        from = carried_address (b, buffers, k, i - 1);
      if (p->is_copied)
        status = copy (b, stream, p->port->at, from, p->bytes, message);
      else
        plan_body_set (p->port, from);
    }
  for (guint o = 0; o < b->n_out; o++)
    plan_body_set (b->out[o].port,
                   is_carried (b, o) ? carried_address (b, buffers, o, i) : row_address (b, buffers, &b->out[o], i));
  return status;
}

static LoomStatus
copy_results (Part *b, LoomStream *stream, gint64 i, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint o = 0; o < b->n_out && status == LOOM_STATUS_OK; o++)
    {
      const BodyBuffer *p = &b->out[o];
      const void *from;

      if (p->is_written || p->kind == BUFFER_SHARED_ROW || (p->is_copied_once && i > 0))
        continue;
      if (p->source == G_MAXINT)
        from = plan_body_own (b->body, p->port->value);
      else
        from = p->source >= 0 ? b->in[p->source].port->at : b->out[~p->source].port->at;
      status = copy (b, stream, p->port->at, from, p->bytes, message);
    }
  return status;
}

/* Copies the rows of stacked results that equal another result's rows shifted by one iteration. */
static LoomStatus
copy_shifted (const Part *b, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint o = b->attrs->n_carried; o < b->n_out && status == LOOM_STATUS_OK; o++)
    {
      const BodyBuffer *p = &b->out[o];
      const BodyBuffer *from = p->shifted != G_MAXUINT ? &b->out[p->shifted] : NULL;

      const gint64 last = b->attrs->length - 1;

      if (from == NULL || !p->is_copied_once)
        continue;
      if (p->row == p->bytes) /* rows lie side by side */
        status
            = copy (b, stream, row_address (b, buffers, p, b->attrs->reverse ? last : 1),
                    row_address (b, buffers, from, b->attrs->reverse ? last - 1 : 0), (gsize)last * p->bytes, message);
      else
        for (gint64 i = 1; i <= last && status == LOOM_STATUS_OK; i++)
          status = copy (b, stream, row_address (b, buffers, p, i), row_address (b, buffers, from, i - 1), p->bytes,
                         message);
    }
  return status;
}

static LoomStatus
run_part (Part *b, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  LoomStatus status = set_row_addresses (b, stream, buffers, 0, message);

  /* Computes the body's setup results in each run, because whole operands change and other instructions use their
   * memory between runs. */
  if (status == LOOM_STATUS_OK)
    status = plan_body_prepare (b->body, stream, message);
  for (gint64 i = 0; i < b->attrs->length && status == LOOM_STATUS_OK; i++)
    {
      if (i > 0)
        status = set_row_addresses (b, stream, buffers, i, message);
      if (status == LOOM_STATUS_OK)
        status = plan_body_run (b->body, stream, message);
      if (status == LOOM_STATUS_OK)
        status = copy_results (b, stream, i, message);
    }
  if (status == LOOM_STATUS_OK)
    status = copy_shifted (b, stream, buffers, message);
  for (guint k = 0; k < b->attrs->n_carried && status == LOOM_STATUS_OK; k++)
    if (b->out[k].kind == BUFFER_SHARED_ROW)
      status = copy (b, stream, (char *)buffers[b->out[k].buffer] + b->out[k].offset, b->out[k].port->at,
                     b->out[k].bytes, message);
  return status;
}

typedef struct
{
  Loop *loop;
  void *const *buffers;
} Run;

static void
run_nth_part (void *context, int part)
{
  const Run *run = context;
  Part *b = &run->loop->part[part];

  b->status = run_part (b, NULL, run->buffers, &b->message);
}

static LoomStatus
run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Loop *b = (Loop *)self;
  char *scratch = buffers[b->part->n_in + b->part->n_out];
  LoomStatus status = plan_schedule_fix (&b->s, scratch, message);
  Run context = { b, buffers };

  if (status != LOOM_STATUS_OK)
    return status;
  for (guint k = 0; k < b->s.n_bodies; k++)
    b->part[k].scratch = scratch;
  if (b->devices == NULL)
    return run_part (b->part, stream, buffers, message);
  b->s.device->backend->run_parts (b->s.device->device, (int)b->s.n_bodies, run_nth_part, &context);
  for (guint k = 0; k < b->s.n_bodies && status == LOOM_STATUS_OK; k++)
    if (b->part[k].status != LOOM_STATUS_OK)
      {
        status = b->part[k].status;
        *message = b->part[k].message;
      }
  return status;
}

/* ---- construction ------------------------------------------------------------- */

static void
loop_free (LoomKernel *self)
{
  Loop *b = (Loop *)self;

  for (guint k = 0; k < b->s.n_bodies; k++)
    {
      g_free (b->part[k].in);
      g_free (b->part[k].out);
    }
  plan_schedule_clear (&b->s);
  loom_devices_unref (b->devices);
  g_free (b->part);
  g_free (b);
}

/* Bytes of whole operands that each of n parts reads: weights whole, and of the samples' own operands its share. */
static gsize
whole_bytes (const LoomScanAttrs *scan, gint64 samples, guint n)
{
  gsize bytes = 0;

  for (guint i = scan->n_carried + scan->n_sequences; i < loom_program_n_inputs (scan->body); i++)
    {
      const LoomTensorDesc *desc = &loom_value_info (scan->body, loom_program_get_input (scan->body, i)->value)->desc;

      bytes += loom_desc_bytes (desc) / (desc->rank > 1 && desc->dim[0] == samples ? n : 1);
    }
  return bytes;
}

/* The number of parts into which a device's threads divide the samples; 1: they do not. Half of the threads at least
 * have a part, because the others wait. */
static guint
count_parts (const LoomPlanDevice *device, const LoomScanAttrs *scan)
{
  const LoomProgram *body = scan->body;
  const LoomTensorDesc *first;
  gint64 computed = 0;

  if (device->backend->run_parts == NULL || device->is_absent || loom_program_n_inputs (body) == 0)
    return 1;
  first = &loom_value_info (body, loom_program_get_input (body, 0)->value)->desc;
  for (LoomValue v = 1; v <= loom_program_n_values (body); v++)
    computed += loom_desc_count (&loom_value_info (body, v)->desc);
  if (first->rank == 0 || computed * scan->length < PARTS_ELEMENTS)
    return 1;
  for (guint n = (guint)device->info.threads; n >= 2 && 2 * n >= (guint)device->info.threads; n--)
    if (first->dim[0] % n == 0 && first->dim[0] / n >= PART_SAMPLES
        && whole_bytes (scan, first->dim[0], n) <= PART_WHOLE)
      return n;
  return 1;
}

/* Makes a part of this program, and reserves its memory. */
static gboolean
make_part (Loop *b, guint k, LoomProgram *program, LoomDevices *whole, const LoomPlanOptions *options,
           const gboolean *is_split, gsize *scratch, GError **error)
{
  Part *part = &b->part[k];
  LoomDevices *devices = b->devices != NULL ? b->devices : whole;
  const LoomPlanDevice *device = loom_devices_get (devices, b->s.device->name, error);

  part->attrs = &b->attrs;
  part->body = plan_body_new (devices, device, options, program,
                              b->attrs.length >= MANY ? b->attrs.n_carried + b->attrs.n_sequences : 0, error);
  b->s.body[k] = part->body;
  if (part->body == NULL)
    return FALSE;
  part->n_in = part->body->n_in;
  part->n_out = part->body->n_out;
  part->in = g_new0 (BodyBuffer, part->n_in + 1);
  part->out = g_new0 (BodyBuffer, part->n_out + 1);
  part->body->arena_at = plan_schedule_reserve (scratch, part->body->arena_bytes);
  /* Never 0, so that a non-NULL address identifies the memory. */
  part->body->once_at = plan_schedule_reserve (scratch, part->body->once_bytes + PLAN_BODY_ALIGNMENT);
  assign_input_buffers (part, scratch);
  assign_output_buffers (part, scratch);
  for (guint i = 0; i < part->n_in + part->n_out; i++)
    {
      BodyBuffer *p = i < part->n_in ? &part->in[i] : &part->out[i - part->n_in];
      const guint parts = is_split[i] ? b->s.n_bodies : 1;

      p->row = p->bytes * parts;
      p->offset = parts > 1 ? k * p->bytes : 0;
    }
  return TRUE;
}

/* The programs of parts: one for each, or the whole body alone if samples cannot be divided. (transfer full) */
static GPtrArray *
divide (const LoomScanAttrs *scan, guint parts, gboolean *is_split)
{
  GPtrArray *program = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_program_unref);

  while (parts > 1 && program->len < parts)
    {
      LoomProgram *part = loom_program_part_of_scan (scan, (int)program->len, (int)parts, is_split);

      if (part == NULL)
        break;
      g_ptr_array_add (program, part);
    }
  if (parts > 1 && program->len == parts)
    return program;
  g_ptr_array_set_size (program, 0);
  g_ptr_array_add (program, loom_program_ref (scan->body));
  return program;
}

LoomKernel *
loom_plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                    const LoomPrim *prim, const void *attrs, GError **error)
{
  const LoomScanAttrs *scan = attrs;
  const guint n = loom_program_n_inputs (scan->body) + loom_program_n_outputs (scan->body);
  g_autofree gboolean *is_split = g_new0 (gboolean, n + 1);
  g_autoptr (GPtrArray) program = divide (scan, count_parts (device, scan), is_split);
  gsize scratch = 0;
  guint copies;
  gboolean ok = TRUE;
  GString *name;
  Loop *b = g_new0 (Loop, 1);

  b->attrs = *scan;
  plan_schedule_init (&b->s, device, program->len);
  b->part = g_new0 (Part, program->len);
  if (program->len > 1)
    {
      b->devices = loom_devices_new_part (device, error);
      ok = b->devices != NULL;
    }
  for (guint k = 0; k < b->s.n_bodies && ok; k++)
    ok = make_part (b, k, program->pdata[k], devices, options, is_split, &scratch, error);
  if (!ok)
    {
      loop_free (&b->s.base);
      return NULL;
    }
  name = g_string_new (NULL);
  copies = count_copies (b->part);
  g_string_append_printf (name, "loop, %" G_GINT64_FORMAT " times %u kernels", scan->length,
                          b->part->body->n_calls - b->part->body->n_setup);
  if (copies > 0)
    g_string_append_printf (name, " and %u %s", copies, copies == 1 ? "copy" : "copies");
  if (b->s.n_bodies > 1)
    g_string_append_printf (name, ", for each of %u parts of the samples", b->s.n_bodies);
  b->s.name = g_string_free (name, FALSE);
  b->s.base = (LoomKernel){ .run = run, .free = loop_free, .scratch_bytes = scratch, .name = b->s.name };
  return &b->s.base;
}
