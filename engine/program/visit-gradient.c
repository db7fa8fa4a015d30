/* The gradient of switch and visit: the same primitive over the gradients of the bodies. The same data choose the body;
 * for trees the direction is the opposite one, so that a link carries the cotangent back.
 *
 * For each body a `run` program consists of the body followed by its gradients. Values that the gradients read are
 * kept: the forward instruction gets them as additional results, in buffers that all bodies share, since only one body
 * runs on a row. Only values with one row for each row of the body are kept; the backward body computes everything else
 * again, with `recompute` all of it. */
#include "engine/program/program-visit.h"

/* A buffer for values kept for the gradient. */
typedef struct
{
  LoomTensorDesc desc; /* of a row */
  gboolean is_zeroed;  /* its values are linear in cotangents, so they are zero in padding rows */
} KeptBuffer;

/* One body with its gradients. */
typedef struct
{
  LoomProgram *run;
  gint64 size;
  guint n_forward;  /* the number of instructions of the run program that are the body's */
  LoomValue *map;   /* value of the body → value of the run program */
  LoomValue *input; /* by the body's input: value of the run program */
  LoomValue *seed;  /* by the body's output: its cotangent, an input of the run program; 0: none */
  LoomValue *grad;  /* by the body's input: its gradient; 0: none */
  GArray *kept;     /* LoomValue of the run program: the kept values */
  GArray *buffer;   /* guint: the buffer of each kept value */
} Run;

typedef struct
{
  const LoomGradCall *call;
  LoomVisitAttrs attrs; /* of the forward instruction */
  guint n_in, n_out, n_bodies;
  Run *runs;
  gboolean *has_grad; /* by the body's input: TRUE if some body has a gradient for it */
  gboolean *reads;    /* by the body's input: TRUE if some backward body reads it */
  GArray *buffers;    /* KeptBuffer */
} Visit;

static gboolean
is_visit (const Visit *v)
{
  return v->attrs.n_sizes > 0;
}

static LoomProgram *
body_of (const Visit *v, guint k)
{
  return v->attrs.body[k];
}

static LoomValue
add_input (LoomProgram *p, const char *name, const LoomTensorDesc *d)
{
  return loom_program_input (p, name, d->dtype, d->rank, d->dim);
}

static LoomValue
zeros_like (LoomProgram *p, const LoomTensorDesc *d)
{
  return loom_fill (p, d->dtype, d->rank, d->dim, 0);
}

static gboolean
is_link (const Visit *v, guint input)
{
  return visit_operand (&v->attrs, input) == G_MAXUINT;
}

/* The cotangent of a body's output that comes from outside; 0 if there is none, and for a link. */
static LoomValue
outer_grad (const Visit *v, guint output)
{
  guint links = visit_n_links_out (&v->attrs);

  return output < links ? 0 : v->call->grad[output - links];
}

/* ---- one body and its gradients ------------------------------------------------- */

static void
copy_body (const Visit *v, guint k)
{
  const LoomProgram *body = body_of (v, k);
  Run *r = &v->runs[k];

  r->size = v->attrs.size[k / v->attrs.n_branches];
  r->run = loom_program_new ();
  r->kept = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  r->buffer = g_array_new (FALSE, FALSE, sizeof (guint));
  loom_program_set_float (r->run, loom_program_get_float (body));
  loom_program_set_tf32 (r->run, loom_program_get_tf32 (body));
  r->input = g_new0 (LoomValue, v->n_in + 1);
  r->seed = g_new0 (LoomValue, v->n_out + 1);
  r->grad = g_new0 (LoomValue, v->n_in + 1);
  r->map = g_new0 (LoomValue, loom_program_n_values (body) + 1);
  for (guint i = 0; i < v->n_in; i++)
    {
      const LoomProgramInput *from = loom_program_get_input (body, i);

      r->input[i] = add_input (r->run, from->name, value_desc (body, from->value));
    }
  loom_program_inline (r->run, body, r->input, r->map);
  loom_program_inline_ports (r->run, body, r->map);
  r->n_forward = loom_program_n_instrs (r->run);
}

static LoomValue
body_output (const Visit *v, guint k, guint o)
{
  return v->runs[k].map[loom_program_get_output (body_of (v, k), o)->value];
}

static gboolean
is_wanted (const Visit *v, const Run *r, guint i)
{
  return loom_dtype_is_float (value_desc (r->run, r->input[i])->dtype)
         && (is_link (v, i) || v->call->needed[visit_operand (&v->attrs, i)]);
}

static gboolean
differentiate_run (Visit *v, guint k)
{
  Run *r = &v->runs[k];
  guint n_of = 0, n_wrt = 0;
  g_autofree LoomValue *of = g_new0 (LoomValue, v->n_out + 1), *seed = g_new0 (LoomValue, v->n_out + 1);
  g_autofree LoomValue *wrt = g_new0 (LoomValue, v->n_in + 1), *grads = g_new0 (LoomValue, v->n_in + 1);
  g_autofree guint *which = g_new0 (guint, v->n_in + 1);

  for (guint o = 0; o < v->n_out; o++)
    {
      LoomValue value = body_output (v, k, o);
      g_autofree char *name = g_strdup_printf ("grad.%u", o);

      if (!loom_dtype_is_float (value_desc (r->run, value)->dtype)
          || (o >= visit_n_links_out (&v->attrs) && outer_grad (v, o) == 0))
        continue;
      seed[n_of] = r->seed[o] = add_input (r->run, name, value_desc (r->run, value));
      of[n_of++] = value;
    }
  for (guint i = 0; i < v->n_in; i++)
    if (is_wanted (v, r, i))
      {
        which[n_wrt] = i;
        wrt[n_wrt++] = r->input[i];
      }
  if (n_of == 0 || n_wrt == 0)
    return TRUE;
  if (!loom_differentiate_sum (r->run, n_of, of, seed, n_wrt, wrt, grads, v->call->error))
    return FALSE;
  for (guint n = 0; n < n_wrt; n++)
    {
      r->grad[which[n]] = grads[n];
      v->has_grad[which[n]] |= grads[n] != 0;
    }
  return TRUE;
}

/* ---- values kept from the forward pass ------------------------------------------- */

/* The same body for another number of rows; NULL if there is none with the same instructions (a body for a single row
 * may have others). */
static const Run *
find_sibling (const Visit *v, guint k)
{
  const Run *r = &v->runs[k];

  for (guint other = k % v->attrs.n_branches; other < v->n_bodies; other += v->attrs.n_branches)
    {
      const Run *o = &v->runs[other];
      gboolean same = other != k && o->size != r->size && o->n_forward == r->n_forward;

      for (guint i = 0; same && i < r->n_forward; i++)
        same = loom_program_instr (o->run, i)->prim == loom_program_instr (r->run, i)->prim
               && loom_program_instr (o->run, i)->n_out == loom_program_instr (r->run, i)->n_out;
      if (same)
        return o;
    }
  return NULL;
}

/* TRUE if a result of instruction i has one row for each row of the body: its first axis differs in the body for
 * another number of rows. */
static gboolean
has_rows (const Run *r, const Run *sibling, guint i, guint result)
{
  const LoomInstr *mine, *other;
  const LoomTensorDesc *a, *b;

  if (sibling == NULL)
    return FALSE;
  mine = loom_program_instr (r->run, i);
  other = loom_program_instr (sibling->run, i);
  if (mine->out[result] == 0 || other->out[result] == 0)
    return FALSE;
  a = value_desc (r->run, mine->out[result]);
  b = value_desc (sibling->run, other->out[result]);
  return a->rank > 0 && a->rank == b->rank && a->dim[0] == r->size && b->dim[0] == sibling->size
         && loom_same_ints (a->rank - 1, a->dim + 1, b->dim + 1);
}

static gboolean
can_keep (const Visit *v, const Run *r, const Run *sibling, guint i)
{
  const LoomInstr *instr = loom_program_instr (r->run, i);

  if (v->attrs.recompute || loom_instr_is_free (r->run, instr))
    return FALSE;
  for (guint k = 0; is_visit (v) && k < instr->n_out; k++)
    if (instr->out[k] != 0 && !has_rows (r, sibling, i, k))
      return FALSE;
  return TRUE;
}

/* Finds the values of a body that its gradients need, from the last instruction to the first: an instruction of the
 * gradients needs its operands; a value of the body is kept, or its operands are needed in turn. */
static void
find_kept (Visit *v, guint k)
{
  Run *r = &v->runs[k];
  const Run *sibling = is_visit (v) ? find_sibling (v, k) : NULL;
  g_autofree gboolean *wanted = g_new0 (gboolean, loom_program_n_values (r->run) + 1);

  for (guint i = 0; i < v->n_in; i++)
    wanted[r->grad[i]] = TRUE;
  for (guint i = loom_program_n_instrs (r->run); i > 0; i--)
    {
      const LoomInstr *instr = loom_program_instr (r->run, i - 1);
      gboolean any = FALSE, keeps = i <= r->n_forward && can_keep (v, r, sibling, i - 1);

      for (guint n = 0; n < instr->n_out; n++)
        {
          gboolean is = instr->out[n] != 0 && wanted[instr->out[n]];

          any |= is;
          if (is && keeps)
            g_array_append_val (r->kept, instr->out[n]);
        }
      for (guint n = 0; any && !keeps && n < instr->n_in; n++)
        wanted[instr->in[n]] = TRUE;
    }
  for (guint i = 0; i < v->n_in; i++)
    {
      v->reads[i] |= wanted[r->input[i]];
      if (is_link (v, i) && wanted[r->input[i]])
        g_array_append_val (r->kept, r->input[i]);
    }
}

/* By value of a run program: TRUE if it depends on a cotangent. Everything in a gradient is linear in cotangents. */
static gboolean *
find_linear (const Visit *v, const Run *r)
{
  gboolean *linear = g_new0 (gboolean, loom_program_n_values (r->run) + 1);

  for (guint i = 0; i < v->n_in; i++)
    linear[r->input[i]] = i < v->attrs.n_zeroed || (is_link (v, i) && v->attrs.is_gradient);
  for (guint i = 0; i < r->n_forward; i++)
    {
      const LoomInstr *instr = loom_program_instr (r->run, i);
      gboolean any = FALSE;

      for (guint k = 0; k < instr->n_in; k++)
        any |= instr->in[k] != 0 && linear[instr->in[k]];
      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0)
          linear[instr->out[k]] = any;
    }
  return linear;
}

/* Assigns each kept value of a body a buffer, different ones within the body. */
static void
assign_buffers (Visit *v, Run *r)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, TRUE, sizeof (gboolean));
  g_autofree gboolean *linear = find_linear (v, r);

  g_array_set_size (taken, v->buffers->len + r->kept->len);
  for (guint n = 0; n < r->kept->len; n++)
    {
      LoomValue value = g_array_index (r->kept, LoomValue, n);
      KeptBuffer own = { *value_desc (r->run, value), linear[value] };
      guint at = 0;

      if (is_visit (v))
        own.desc = loom_desc_make (own.desc.dtype, own.desc.rank - 1, own.desc.dim + 1);
      for (; at < v->buffers->len; at++)
        {
          const KeptBuffer *buffer = &g_array_index (v->buffers, KeptBuffer, at);

          if (!g_array_index (taken, gboolean, at) && buffer->is_zeroed == own.is_zeroed
              && buffer->desc.dtype == own.desc.dtype && loom_desc_same_shape (&buffer->desc, &own.desc))
            break;
        }
      if (at == v->buffers->len)
        g_array_append_val (v->buffers, own);
      g_array_index (taken, gboolean, at) = TRUE;
      g_array_append_val (r->buffer, at);
    }
}

/* The value of a body that is kept in a buffer; 0: none. */
static LoomValue
kept_at (const Run *r, guint buffer)
{
  for (guint n = 0; n < r->kept->len; n++)
    if (g_array_index (r->buffer, guint, n) == buffer)
      return g_array_index (r->kept, LoomValue, n);
  return 0;
}

/* The description of a buffer in a body, for its number of rows. */
static LoomTensorDesc
buffer_desc (const Visit *v, const Run *r, guint buffer)
{
  const LoomTensorDesc *d = &g_array_index (v->buffers, KeptBuffer, buffer).desc;
  LoomTensorDesc rows = *d;

  if (!is_visit (v))
    return *d;
  rows.rank = d->rank + 1;
  rows.dim[0] = r->size;
  for (int i = 0; i < d->rank; i++)
    rows.dim[i + 1] = d->dim[i];
  return rows;
}

/* Extends the forward instruction and returns the kept values in the outer program. The bodies are extracted from the
 * run programs again: a loop in one may have been extended for its own gradient. */
static void
extend_forward (Visit *v, LoomValue *kept)
{
  LoomProgram *p = v->call->p;
  const LoomInstr *instr = v->call->instr;
  guint n = v->buffers->len, index = loom_value_info (p, instr->out[0])->producer;
  g_autofree LoomValue *out = g_new0 (LoomValue, v->n_out + n + 1);
  g_autofree LoomVisitAttrs *attrs = g_memdup2 (&v->attrs, sizeof v->attrs);

  if (n == 0)
    return;
  *(is_visit (v) ? &attrs->n_row_results : &attrs->n_sums) += n;
  for (guint k = 0; k < v->n_bodies; k++)
    {
      Run *r = &v->runs[k];

      for (guint o = 0; o < v->n_out; o++)
        out[o] = body_output (v, k, o);
      for (guint i = 0; i < n; i++)
        {
          LoomTensorDesc d = buffer_desc (v, r, i);

          out[v->n_out + i] = kept_at (r, i);
          if (out[v->n_out + i] == 0)
            out[v->n_out + i] = zeros_like (r->run, &d);
        }
      attrs->body[k] = loom_program_extract (r->run, v->n_in, r->input, v->n_out + n, out);
    }
  loom_program_extend (p, index, attrs, kept);
  for (guint k = 0; k < v->n_bodies; k++)
    loom_program_unref (attrs->body[k]);
}

/* ---- the backward instruction ------------------------------------------------------ */

/* By body: the inputs of its backward body, and the corresponding operands; 0 for a link. */
typedef struct
{
  GArray **in; /* by body: LoomValue of its run program */
  GArray *operand;
} Operands;

static void
add_body_input (const Visit *v, Operands *o, guint i)
{
  LoomValue operand = v->call->instr->in[visit_operand (&v->attrs, i)];

  if (!v->reads[i])
    return;
  for (guint k = 0; k < v->n_bodies; k++)
    g_array_append_val (o->in[k], v->runs[k].input[i]);
  g_array_append_val (o->operand, operand);
}

static void
add_seed (const Visit *v, Operands *o, guint output, LoomValue operand)
{
  for (guint k = 0; k < v->n_bodies; k++)
    {
      Run *r = &v->runs[k];

      g_array_append_val (o->in[k], r->seed[output]);
    }
  if (operand != 0)
    g_array_append_val (o->operand, operand);
}

static void
add_kept (const Visit *v, Operands *o, gboolean is_zeroed, const LoomValue *kept)
{
  for (guint i = 0; i < v->buffers->len; i++)
    {
      if (g_array_index (v->buffers, KeptBuffer, i).is_zeroed != is_zeroed)
        continue;
      for (guint k = 0; k < v->n_bodies; k++)
        {
          Run *r = &v->runs[k];
          LoomTensorDesc d = buffer_desc (v, r, i);
          LoomValue in = kept_at (r, i);

          if (in == 0)
            in = add_input (r->run, "unused", &d);
          g_array_append_val (o->in[k], in);
        }
      g_array_append_val (o->operand, kept[i]);
    }
}

/* Adds the cotangents of the outputs from `first` to `end` that come from outside. */
static void
add_seeds (const Visit *v, Operands *o, guint first, guint end)
{
  for (guint output = first; output < end; output++)
    if (v->runs[0].seed[output] != 0)
      add_seed (v, o, output, outer_grad (v, output));
}

static void
add_operands (const Visit *v, Operands *o, const LoomValue *kept, LoomVisitAttrs *back)
{
  const LoomVisitAttrs *a = &v->attrs;
  guint links = visit_n_links_out (a), first_whole = a->n_rows + visit_n_links_in (a);

  for (guint k = 0; k < visit_n_leading (a); k++)
    g_array_append_val (o->operand, v->call->instr->in[k]);
  add_seeds (v, o, links + a->n_sums, v->n_out);
  for (guint i = 0; i < a->n_zeroed; i++)
    add_body_input (v, o, i);
  if (is_visit (v))
    add_kept (v, o, TRUE, kept);
  back->n_zeroed = o->in[0]->len;
  for (guint i = a->n_zeroed; i < a->n_rows; i++)
    add_body_input (v, o, i);
  if (is_visit (v))
    add_kept (v, o, FALSE, kept);
  back->n_rows = o->in[0]->len;
  for (guint output = 0; output < links; output++)
    add_seed (v, o, output, 0);
  for (guint i = first_whole; i < first_whole + a->n_counters; i++)
    {
      back->n_counters += v->reads[i];
      add_body_input (v, o, i);
    }
  for (guint i = first_whole + a->n_counters; i < v->n_in; i++)
    add_body_input (v, o, i);
  for (gboolean zeroed = FALSE; !is_visit (v) && zeroed <= TRUE; zeroed++)
    add_kept (v, o, zeroed, kept);
  add_seeds (v, o, links, links + a->n_sums);
  back->n_whole = o->in[0]->len - back->n_rows - links;
}

/* Adds the gradients of the inputs from `first` to `end` for which some body has one; zeros if this body has none. */
static guint
add_results (const Visit *v, Run *r, guint first, guint end, gboolean all, GArray *out)
{
  guint n = 0;

  for (guint i = first; i < end; i++)
    {
      LoomValue grad = r->grad[i];

      if (!all && !v->has_grad[i])
        continue;
      if (grad == 0)
        grad = zeros_like (r->run, value_desc (r->run, r->input[i]));
      g_array_append_val (out, grad);
      n++;
    }
  return n;
}

static void
emit_backward (Visit *v)
{
  const LoomVisitAttrs *a = &v->attrs;
  LoomProgram *p = v->call->p;
  guint links = visit_n_links_in (a), first_whole = a->n_rows + links;
  g_autofree LoomValue *kept = g_new0 (LoomValue, v->buffers->len + 1), *result = NULL;
  g_autofree LoomVisitAttrs *back = g_new0 (LoomVisitAttrs, 1);
  Operands o = { g_new0 (GArray *, v->n_bodies + 1), g_array_new (FALSE, FALSE, sizeof (LoomValue)) };
  guint at = 0;

  for (guint k = 0; k < v->n_bodies; k++)
    o.in[k] = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  *back = (LoomVisitAttrs){ .n_branches = a->n_branches,
                            .n_sizes = a->n_sizes,
                            .n_links = a->n_links,
                            .slots = a->slots,
                            .levels = a->levels,
                            .down = !a->down,
                            .is_gradient = TRUE,
                            .recompute = a->recompute };
  memcpy (back->size, a->size, sizeof back->size);
  extend_forward (v, kept);
  add_operands (v, &o, kept, back);
  for (guint k = 0; k < v->n_bodies; k++)
    {
      Run *r = &v->runs[k];
      g_autoptr (GArray) out = g_array_new (FALSE, FALSE, sizeof (LoomValue));

      add_results (v, r, a->n_rows, first_whole, TRUE, out);
      back->n_sums = add_results (v, r, first_whole, v->n_in, FALSE, out);
      back->n_row_results = add_results (v, r, 0, a->n_rows, FALSE, out);
      back->body[k] = loom_program_extract (r->run, o.in[k]->len, (const LoomValue *)(const void *)o.in[k]->data,
                                            out->len, (const LoomValue *)(const void *)out->data);
    }
  result = g_new0 (LoomValue, back->n_sums + back->n_row_results + 1);
  if (back->n_sums + back->n_row_results > 0)
    loom_emit (p, v->call->instr->prim, back, o.operand->len, (const LoomValue *)(const void *)o.operand->data, result);
  for (guint i = first_whole; i < v->n_in; i++)
    if (v->has_grad[i])
      v->call->in_grad[visit_operand (a, i)] = result[at++];
  for (guint i = 0; i < a->n_rows; i++)
    if (v->has_grad[i])
      v->call->in_grad[visit_operand (a, i)] = result[at++];
  for (guint k = 0; k < v->n_bodies; k++)
    {
      loom_program_unref (back->body[k]);
      g_array_unref (o.in[k]);
    }
  g_array_unref (o.operand);
  g_free (o.in);
}

/* ---- the gradient ------------------------------------------------------------------ */

static void
visit_clear (Visit *v)
{
  for (guint k = 0; k < v->n_bodies; k++)
    {
      Run *r = &v->runs[k];

      loom_program_unref (body_of (v, k));
      loom_program_unref (r->run);
      g_array_unref (r->kept);
      g_array_unref (r->buffer);
      g_free (r->map);
      g_free (r->input);
      g_free (r->seed);
      g_free (r->grad);
    }
  g_array_unref (v->buffers);
  g_free (v->runs);
  g_free (v->has_grad);
  g_free (v->reads);
}

gboolean
loom_visit_gradient (const LoomGradCall *call)
{
  Visit v = { .call = call, .attrs = *(const LoomVisitAttrs *)call->instr->attrs };
  gboolean ok = TRUE;

  v.n_in = visit_n_inputs (&v.attrs);
  v.n_out = visit_n_outputs (&v.attrs);
  v.n_bodies = visit_n_bodies (&v.attrs);
  v.runs = g_new0 (Run, v.n_bodies + 1);
  v.has_grad = g_new0 (gboolean, v.n_in + 1);
  v.reads = g_new0 (gboolean, v.n_in + 1);
  v.buffers = g_array_new (FALSE, FALSE, sizeof (KeptBuffer));
  for (guint k = 0; k < v.n_bodies; k++)
    {
      /* Extending the instruction replaces its bodies, so the originals are kept. */
      loom_program_ref (body_of (&v, k));
      copy_body (&v, k);
      ok = ok && differentiate_run (&v, k);
    }
  for (guint k = 0; ok && k < v.n_bodies; k++)
    find_kept (&v, k);
  for (guint k = 0; ok && k < v.n_bodies; k++)
    assign_buffers (&v, &v.runs[k]);
  if (ok)
    emit_backward (&v);
  visit_clear (&v);
  return ok;
}
