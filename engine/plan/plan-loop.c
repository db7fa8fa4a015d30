/* Makes the kernel that runs a scan: the body has a plan of its own, and the kernel loops over its instructions.
 *
 * The outer plan sees one kernel. Its scratch memory holds the body's arena and the second buffers of carried values,
 * so memory forecasts include it, and it does not depend on the number of iterations. Rows of operands and results are
 * read and written in place: the addresses that change between iterations are found when the kernel is made, and an
 * iteration only sets these and calls kernels. Values are copied only if a kernel binds their address, if a value is
 * two results at once, or if, on a device with its own memory, the size of a row is not a multiple of 64 bytes, the
 * alignment that libraries require.
 *
 * A stacked result may be the value of a carried value at the beginning of each iteration, which the gradients of
 * recurrent cells read. Its rows are those of the carried value shifted by one iteration: either iterations write them
 * there (BUFFER_NEXT_ROW), or, if these rows are in another stacked result already, all but the first are copied at
 * once after the loop. */
#include "engine/plan/plan-private.h"

#include <string.h>

#define ALIGNMENT 64

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
  guint value;             /* in the body's plan; G_MAXUINT: the input is unused */
  guint buffer;            /* index of the loop's operand or result: operands first */
  guint row_owner;         /* BUFFER_SHARED_ROW, BUFFER_NEXT_ROW: the output that owns the rows */
  gboolean is_copied_once; /* a shifted stacked result: only the first iteration copies its row */
  guint shifted; /* the output from which such a result is copied after the loop, shifted by one row; else G_MAXUINT */
  gsize scratch; /* offset in the loop's scratch of the second buffer, or of the copy */
  gboolean is_copied; /* inputs: each iteration copies them to `scratch` for the kernels */
  /* Outputs: kernels write them in place; otherwise each iteration copies them from `source`. */
  gboolean is_written;
  /* The source of the copy to an output: an input, or ~output; G_MAXINT: a fixed address. */
  int source;
  GPtrArray *patch; /* void **: the addresses in the arguments of kernels that change with it */
  char *at;         /* the address in this iteration; for an input, the one that kernels read */
} BodyBuffer;

typedef struct
{
  LoomKernel *kernel;
  const LoomPlanInstr *instr;
  void **buffers;
} Call;

typedef struct
{
  LoomKernel base;
  LoomPlan *plan;
  const LoomPlanDevice *device;
  LoomScanAttrs attrs;
  guint n_in, n_out;
  BodyBuffer *in, *out;
  Call *calls;
  guint n_calls, n_setup;
  void **all_buffers;
  gsize once, arena; /* offsets in scratch of setup results and of the body's arena */
  char *name;
  /* The scratch memory and the site for which fixed addresses were set. */
  char *scratch;
  gint64 site;
} Body;

static gsize
aligned (gsize bytes)
{
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static gboolean
is_carried (const Body *b, guint k)
{
  return k < b->attrs.n_carried;
}

/* ---- buffers ----------------------------------------------------------------- */

static guint
root_of (const Body *b, guint value)
{
  return loom_plan_value (b->plan, value)->root;
}

static gboolean
is_bound (const Body *b, guint value)
{
  for (guint i = 0; i < loom_plan_n_instrs (b->plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (b->plan, i);

      for (guint k = 0; instr->kernel->bind != NULL && k < instr->n_in + instr->n_out; k++)
        if (instr->value[k] != G_MAXUINT && root_of (b, instr->value[k]) == root_of (b, value))
          return TRUE;
    }
  return FALSE;
}

/* The input that shares its bytes with a value of the body, or ~output for the output that kernels write to; G_MAXINT:
 * neither, since the value has a fixed address. */
static int
find_source (const Body *b, guint o)
{
  guint root = root_of (b, b->out[o].value);

  for (guint i = 0; i < b->n_in; i++)
    if (b->in[i].value != G_MAXUINT && root_of (b, b->in[i].value) == root)
      return (int)i;
  for (guint other = 0; other < b->n_out; other++)
    if (b->out[other].is_written && root_of (b, b->out[other].value) == root)
      return ~(int)other;
  return G_MAXINT;
}

static gboolean
is_made_each_iteration (const Body *b, guint value)
{
  return loom_plan_value (b->plan, root_of (b, value))->location.kind == LOOM_LOCATION_ARENA;
}

/* TRUE if kernels can read and write rows of this size in place. CPU kernels accept any alignment. */
static gboolean
can_use_rows (const Body *b, gsize bytes)
{
  return b->device->info.host_memory || bytes % ALIGNMENT == 0;
}

static void
assign_input_buffers (Body *b, gsize *scratch)
{
  for (guint i = 0; i < b->n_in; i++)
    {
      BodyBuffer *p = &b->in[i];
      const LoomProgram *program = loom_plan_program (b->plan);
      gboolean is_row = !is_carried (b, i) && i < b->attrs.n_carried + b->attrs.n_sequences;

      p->value = loom_plan_input_value (b->plan, i);
      p->buffer = i;
      p->bytes = loom_desc_bytes (&loom_value_info (program, loom_program_get_input (program, i)->value)->desc);
      p->kind = is_carried (b, i) ? BUFFER_ALTERNATE : is_row ? BUFFER_ROW : BUFFER_WHOLE;
      p->is_copied = p->value != G_MAXUINT && ((is_row && !can_use_rows (b, p->bytes)) || is_bound (b, p->value));
      if (!p->is_copied)
        continue;
      p->scratch = *scratch;
      *scratch += aligned (p->bytes);
    }
}

/* Makes kernels write each computed value directly to one of the results that have this value: to a stacked result if
 * its rows can be used in place, else to another one. */
static void
choose_written (Body *b)
{
  for (guint k = 0; k < b->n_out; k++)
    {
      guint o = (k + b->attrs.n_carried) % b->n_out;
      BodyBuffer *p = &b->out[o];

      p->value = loom_plan_output_value (b->plan, o);
      p->buffer = b->n_in + o;
      p->bytes = loom_desc_bytes (&loom_plan_value (b->plan, p->value)->desc);
      p->kind = is_carried (b, o) ? BUFFER_ALTERNATE : BUFFER_ROW;
      p->is_written = is_made_each_iteration (b, p->value) && (is_carried (b, o) || can_use_rows (b, p->bytes))
                      && find_source (b, o) == G_MAXINT && !is_bound (b, p->value);
    }
}

/* Finds stacked results whose rows are a carried value at the beginning of the iterations. */
static void
find_shifted (Body *b)
{
  for (guint o = b->attrs.n_carried; o < b->n_out; o++)
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
assign_output_buffers (Body *b, gsize *scratch)
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
  for (guint o = 0; o < b->attrs.n_carried; o++)
    if (b->out[o].kind == BUFFER_ALTERNATE)
      {
        b->out[o].scratch = *scratch;
        *scratch += aligned (b->out[o].bytes);
      }
}

/* The number of copies in each iteration but the first. */
static guint
count_copies (const Body *b)
{
  guint n = 0;

  for (guint i = 0; i < b->n_in; i++)
    n += b->in[i].is_copied;
  for (guint o = 0; o < b->n_out; o++)
    n += !b->out[o].is_written && b->out[o].kind != BUFFER_SHARED_ROW && !b->out[o].is_copied_once;
  return n;
}

/* ---- addresses -------------------------------------------------------------------- */

static void
add_patches (Body *b, Call *call, guint k)
{
  guint value = call->instr->value[k];

  if (value == G_MAXUINT)
    return;
  for (guint i = 0; i < b->n_in; i++)
    if (b->in[i].value != G_MAXUINT && root_of (b, value) == root_of (b, b->in[i].value))
      g_ptr_array_add (b->in[i].patch, &call->buffers[k]);
  for (guint o = 0; o < b->n_out; o++)
    if (b->out[o].is_written && root_of (b, value) == root_of (b, b->out[o].value))
      g_ptr_array_add (b->out[o].patch, &call->buffers[k]);
}

static void
make_calls (Body *b)
{
  gsize total = 0, at = 0;

  b->n_calls = loom_plan_n_instrs (b->plan);
  b->n_setup = loom_plan_n_setup (b->plan);
  b->calls = g_new0 (Call, b->n_calls + 1);
  for (guint i = 0; i < b->n_calls; i++)
    total += loom_plan_instr (b->plan, i)->n_in + loom_plan_instr (b->plan, i)->n_out + 1;
  b->all_buffers = g_new0 (void *, total + 1);
  for (guint i = 0; i < b->n_calls; i++)
    {
      Call *call = &b->calls[i];

      call->instr = loom_plan_instr (b->plan, i);
      call->kernel = call->instr->kernel;
      call->buffers = b->all_buffers + at;
      at += call->instr->n_in + call->instr->n_out + 1;
      for (guint k = 0; k < call->instr->n_in + call->instr->n_out; k++)
        add_patches (b, call, k);
    }
}

/* The address of a value in the body's arena or among its setup results, which changes only if scratch moves; else
 * NULL. */
static void *
fixed_address (const Body *b, guint value)
{
  const LoomPlanValue *v = value != G_MAXUINT ? loom_plan_value (b->plan, value) : NULL;

  if (v != NULL && v->location.kind == LOOM_LOCATION_ARENA)
    return b->scratch + b->arena + v->location.offset;
  if (v != NULL && v->location.kind == LOOM_LOCATION_SETUP)
    return b->scratch + b->once + v->location.offset;
  return NULL;
}

static void
set_address (BodyBuffer *p, void *address)
{
  if (p->at == address)
    return;
  p->at = address;
  for (guint i = 0; i < p->patch->len; i++)
    *(void **)g_ptr_array_index (p->patch, i) = address;
}

/* Sets the addresses that do not change while the loop's scratch memory does not move. */
static LoomStatus
fix_addresses (Body *b, char *scratch, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  b->scratch = scratch;
  b->site = b->base.site;
  for (guint i = 0; i < b->n_calls; i++)
    {
      Call *call = &b->calls[i];
      guint n = call->instr->n_in + call->instr->n_out;

      for (guint k = 0; k < n; k++)
        call->buffers[k] = fixed_address (b, call->instr->value[k]);
      call->buffers[n] = call->kernel->scratch_bytes > 0 ? scratch + b->arena + call->instr->scratch : NULL;
      call->kernel->site = b->site;
    }
  for (guint i = 0; i < b->n_in; i++)
    {
      b->in[i].at = NULL;
      if (b->in[i].is_copied)
        set_address (&b->in[i], scratch + b->in[i].scratch);
    }
  for (guint o = 0; o < b->n_out; o++)
    b->out[o].at = NULL;
  for (guint i = 0; i < b->n_calls && status == LOOM_STATUS_OK; i++)
    if (b->calls[i].kernel->bind != NULL)
      status = b->calls[i].kernel->bind (b->calls[i].kernel, b->calls[i].buffers, message);
  return status;
}

/* ---- execution ---------------------------------------------------------------- */

static LoomStatus
copy (const Body *b, LoomStream *stream, void *to, const void *from, gsize bytes, LoomMessage *message)
{
  if (bytes == 0)
    return LOOM_STATUS_OK;
  if (!b->device->info.host_memory)
    return b->device->backend->copy (b->device->device, stream, to, from, bytes, LOOM_COPY_WITHIN, message);
  memcpy (to, from, bytes);
  return LOOM_STATUS_OK;
}

static char *
row_address (const Body *b, void *const *buffers, const BodyBuffer *p, gint64 i)
{
  gint64 row = b->attrs.reverse ? b->attrs.length - 1 - i : i;

  return (char *)buffers[p->buffer] + (gsize)row * p->bytes;
}

/* The address at which iteration i stores a carried value. The last iteration writes to the loop's result. */
static char *
carried_address (const Body *b, void *const *buffers, guint k, gint64 i)
{
  const BodyBuffer *p = &b->out[k];

  if (p->kind == BUFFER_SHARED_ROW)
    return row_address (b, buffers, &b->out[p->row_owner], i);
  if (p->kind == BUFFER_NEXT_ROW && i + 1 < b->attrs.length)
    return row_address (b, buffers, &b->out[p->row_owner], i + 1);
  return (b->attrs.length - 1 - i) % 2 == 0 ? buffers[p->buffer] : b->scratch + p->scratch;
}

static LoomStatus
set_row_addresses (Body *b, LoomStream *stream, void *const *buffers, gint64 i, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < b->n_in && status == LOOM_STATUS_OK; k++)
    {
      BodyBuffer *p = &b->in[k];
      char *from = buffers[p->buffer];

      if (p->kind == BUFFER_ROW)
        from = row_address (b, buffers, p, i);
      else if (p->kind == BUFFER_ALTERNATE && i > 0)
        from = carried_address (b, buffers, k, i - 1);
      if (p->is_copied)
        status = copy (b, stream, p->at, from, p->bytes, message);
      else
        set_address (p, from);
    }
  for (guint o = 0; o < b->n_out; o++)
    set_address (&b->out[o],
                 is_carried (b, o) ? carried_address (b, buffers, o, i) : row_address (b, buffers, &b->out[o], i));
  return status;
}

static LoomStatus
copy_results (Body *b, LoomStream *stream, gint64 i, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint o = 0; o < b->n_out && status == LOOM_STATUS_OK; o++)
    {
      const BodyBuffer *p = &b->out[o];
      const void *from;

      if (p->is_written || p->kind == BUFFER_SHARED_ROW || (p->is_copied_once && i > 0))
        continue;
      if (p->source == G_MAXINT)
        from = fixed_address (b, p->value);
      else
        from = p->source >= 0 ? b->in[p->source].at : b->out[~p->source].at;
      status = copy (b, stream, p->at, from, p->bytes, message);
    }
  return status;
}

/* Copies the rows of stacked results that equal another result's rows shifted by one iteration. */
static LoomStatus
copy_shifted (const Body *b, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint o = b->attrs.n_carried; o < b->n_out && status == LOOM_STATUS_OK; o++)
    {
      const BodyBuffer *p = &b->out[o];
      char *to = buffers[p->buffer];
      const char *from;

      if (!p->is_copied_once || p->shifted == G_MAXUINT)
        continue;
      from = buffers[b->out[p->shifted].buffer];
      status = copy (b, stream, b->attrs.reverse ? to : to + p->bytes, b->attrs.reverse ? from + p->bytes : from,
                     (gsize)(b->attrs.length - 1) * p->bytes, message);
    }
  return status;
}

static LoomStatus
run_calls (Body *b, LoomStream *stream, guint first, guint end, LoomMessage *message)
{
  for (Call *call = b->calls + first; call < b->calls + end; call++)
    {
      LoomStatus status = call->kernel->run (call->kernel, stream, call->buffers, message);

      if (G_UNLIKELY (status != LOOM_STATUS_OK))
        return status;
    }
  return LOOM_STATUS_OK;
}

static LoomStatus
run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Body *b = (Body *)self;
  char *scratch = buffers[b->n_in + b->n_out];
  LoomStatus status = LOOM_STATUS_OK;

  if (scratch != b->scratch || self->site != b->site)
    status = fix_addresses (b, scratch, message);
  /* Recomputes the body's setup results, because other instructions use their memory between steps. */
  if (status == LOOM_STATUS_OK)
    status = run_calls (b, stream, 0, b->n_setup, message);
  for (gint64 i = 0; i < b->attrs.length && status == LOOM_STATUS_OK; i++)
    {
      status = set_row_addresses (b, stream, buffers, i, message);
      if (status == LOOM_STATUS_OK)
        status = run_calls (b, stream, b->n_setup, b->n_calls, message);
      if (status == LOOM_STATUS_OK)
        status = copy_results (b, stream, i, message);
    }
  if (status == LOOM_STATUS_OK)
    status = copy_shifted (b, stream, buffers, message);
  for (guint k = 0; k < b->attrs.n_carried && status == LOOM_STATUS_OK; k++)
    if (b->out[k].kind == BUFFER_SHARED_ROW)
      status = copy (b, stream, buffers[b->out[k].buffer], b->out[k].at, b->out[k].bytes, message);
  return status;
}

/* ---- construction ------------------------------------------------------------- */

static void
body_free (LoomKernel *self)
{
  Body *b = (Body *)self;

  for (guint i = 0; i < b->n_in; i++)
    g_ptr_array_unref (b->in[i].patch);
  for (guint o = 0; o < b->n_out; o++)
    g_ptr_array_unref (b->out[o].patch);
  loom_plan_free (b->plan);
  loom_program_unref (b->attrs.body);
  g_free (b->in);
  g_free (b->out);
  g_free (b->calls);
  g_free (b->all_buffers);
  g_free (b->name);
  g_free (b);
}

static BodyBuffer *
new_buffers (guint n)
{
  BodyBuffer *p = g_new0 (BodyBuffer, n + 1);

  for (guint i = 0; i < n; i++)
    p[i].patch = g_ptr_array_new ();
  return p;
}

LoomPlan *
plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options, LoomProgram *program,
               GError **error)
{
  LoomPlanOptions inner = *options;
  LoomPlan *plan;

  inner.device = device->name;
  inner.resident_inputs = TRUE;
  inner.flat_gradients = FALSE;
  inner.on_pass = NULL;
  plan = loom_plan_new (program, devices, &inner, error);
  if (plan == NULL || loom_plan_n_devices (plan) == 1)
    return plan;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE,
               "All nodes inside a loop run on one device, but some of these have the device %s and others %s. Set "
               "the device of the loop's node instead.",
               loom_plan_device (plan, 0)->name, loom_plan_device (plan, 1)->name);
  loom_plan_free (plan);
  return NULL;
}

LoomKernel *
loom_plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                    const LoomPrim *prim, const void *attrs, GError **error)
{
  const LoomScanAttrs *scan = attrs;
  LoomPlan *plan = plan_body_new (devices, device, options, scan->body, error);
  LoomPlanMemory memory;
  gsize scratch = 0;
  guint copies;
  Body *b;

  if (plan == NULL)
    return NULL;
  b = g_new0 (Body, 1);
  b->plan = plan;
  b->device = device;
  b->attrs = *scan;
  loom_program_ref (b->attrs.body);
  b->n_in = loom_program_n_inputs (scan->body);
  b->n_out = loom_program_n_outputs (scan->body);
  b->in = new_buffers (b->n_in);
  b->out = new_buffers (b->n_out);
  loom_plan_memory (plan, 0, &memory);
  b->arena = scratch;
  scratch += aligned (memory.arena);
  b->once = scratch;
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    scratch += memory.once[o];
  /* Never 0, so that a non-NULL address identifies the memory. */
  scratch = aligned (scratch) + ALIGNMENT;
  b->site = -1;
  assign_input_buffers (b, &scratch);
  assign_output_buffers (b, &scratch);
  make_calls (b);
  copies = count_copies (b);
  b->name = g_strdup_printf ("loop, %" G_GINT64_FORMAT " times %u kernels", scan->length, b->n_calls - b->n_setup);
  if (copies > 0)
    {
      g_autofree char *kernels = b->name;

      b->name = g_strdup_printf ("%s and %u %s", kernels, copies, copies == 1 ? "copy" : "copies");
    }
  b->base = (LoomKernel){ .run = run, .free = body_free, .scratch_bytes = scratch, .name = b->name };
  return &b->base;
}

const LoomPlan *
loom_plan_of_body (const LoomKernel *kernel)
{
  return ((const Body *)kernel)->plan;
}
