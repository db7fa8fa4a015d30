/* The gradient of switch and visit: the same primitive over the gradients of the bodies. The same data choose the body;
 * for trees the direction is the opposite one, so that a link carries the cotangent back.
 *
 * Each body and its gradients form a program (body-gradient.h). Values that the gradients read are
 * kept: the forward instruction gets them as additional results, in buffers that all bodies share, since only one body
 * runs on a row. Only values with one row for each row of the body are kept; the backward body computes everything else
 * again, with `recompute` all of it. */
#include "engine/program/body-gradient.h"
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
  BodyGradient b;
  gint64 size;
  GArray *buffer; /* guint: the buffer of each kept value */
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

static gboolean
differentiate_run (Visit *v, Run *r)
{
  g_autofree gboolean *of = g_new0 (gboolean, v->n_out + 1), *wanted = g_new0 (gboolean, v->n_in + 1);

  for (guint o = 0; o < v->n_out; o++)
    of[o] = o < visit_n_links_out (&v->attrs) || outer_grad (v, o) != 0;
  for (guint i = 0; i < v->n_in; i++)
    wanted[i] = is_link (v, i) || v->call->needed[visit_operand (&v->attrs, i)];
  if (!body_gradient_differentiate (&r->b, of, wanted, v->call->error))
    return FALSE;
  for (guint i = 0; i < v->n_in; i++)
    v->has_grad[i] |= r->b.grad[i] != 0;
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
      gboolean same = other != k && o->size != r->size && o->b.n_forward == r->b.n_forward;

      for (guint i = 0; same && i < r->b.n_forward; i++)
        same = loom_program_instr (o->b.run, i)->prim == loom_program_instr (r->b.run, i)->prim
               && loom_program_instr (o->b.run, i)->n_out == loom_program_instr (r->b.run, i)->n_out;
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
  mine = loom_program_instr (r->b.run, i);
  other = loom_program_instr (sibling->b.run, i);
  if (mine->out[result] == 0 || other->out[result] == 0)
    return FALSE;
  a = value_desc (r->b.run, mine->out[result]);
  b = value_desc (sibling->b.run, other->out[result]);
  return a->rank > 0 && a->rank == b->rank && a->dim[0] == r->size && b->dim[0] == sibling->size
         && loom_same_ints (a->rank - 1, a->dim + 1, b->dim + 1);
}

static gboolean
can_keep (const Visit *v, const Run *r, const Run *sibling, guint i)
{
  const LoomInstr *instr = loom_program_instr (r->b.run, i);

  if (v->attrs.recompute || loom_instr_is_free (r->b.run, instr))
    return FALSE;
  for (guint k = 0; is_visit (v) && k < instr->n_out; k++)
    if (instr->out[k] != 0 && !has_rows (r, sibling, i, k))
      return FALSE;
  return TRUE;
}

/* Finds the kept values of a body, and the inputs that its gradients read. */
static void
find_kept (Visit *v, guint k)
{
  BodyGradient *b = &v->runs[k].b;
  const Run *sibling = is_visit (v) ? find_sibling (v, k) : NULL;
  g_autofree gboolean *wanted = g_new0 (gboolean, loom_program_n_values (b->run) + 1);
  g_autofree gboolean *keeps = g_new0 (gboolean, b->n_forward + 1);

  for (guint i = 0; i < b->n_forward; i++)
    keeps[i] = can_keep (v, &v->runs[k], sibling, i);
  for (guint i = 0; i < v->n_in; i++)
    wanted[b->grad[i]] = TRUE;
  body_gradient_find_kept (b, keeps, wanted);
  for (guint i = 0; i < v->n_in; i++)
    {
      v->reads[i] |= wanted[b->input[i]];
      if (is_link (v, i) && wanted[b->input[i]])
        g_array_append_val (b->kept, b->input[i]);
    }
}

/* By value of a run program: TRUE if it depends on a cotangent. Everything in a gradient is linear in cotangents. */
static gboolean *
find_linear (const Visit *v, const Run *r)
{
  gboolean *linear = g_new0 (gboolean, loom_program_n_values (r->b.run) + 1);

  for (guint i = 0; i < v->n_in; i++)
    linear[r->b.input[i]] = i < v->attrs.n_zeroed || (is_link (v, i) && v->attrs.is_gradient);
  for (guint i = 0; i < r->b.n_forward; i++)
    {
      const LoomInstr *instr = loom_program_instr (r->b.run, i);
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

  g_array_set_size (taken, v->buffers->len + r->b.kept->len);
  for (guint n = 0; n < r->b.kept->len; n++)
    {
      LoomValue value = g_array_index (r->b.kept, LoomValue, n);
      KeptBuffer own = { *value_desc (r->b.run, value), linear[value] };
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
  for (guint n = 0; n < r->b.kept->len; n++)
    if (g_array_index (r->buffer, guint, n) == buffer)
      return g_array_index (r->b.kept, LoomValue, n);
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

/* Extends the forward instruction and returns the kept values in the outer program. */
static void
extend_forward (Visit *v, LoomValue *kept)
{
  guint n = v->buffers->len;
  LoomBodyCall more;
  g_autofree LoomVisitAttrs *attrs = g_memdup2 (&v->attrs, sizeof v->attrs);

  if (n == 0)
    return;
  *(is_visit (v) ? &attrs->n_row_results : &attrs->n_sums) += n;
  loom_body_call_init (&more, v->n_bodies);
  for (guint k = 0; k < v->n_bodies; k++)
    {
      Run *r = &v->runs[k];

      body_gradient_set_call (&r->b, &more, k);
      for (guint i = 0; i < n; i++)
        {
          LoomTensorDesc d = buffer_desc (v, r, i);
          LoomValue out = kept_at (r, i);

          if (out == 0)
            out = body_zeros_like (r->b.run, &d);
          g_array_append_val (more.out[k], out);
        }
    }
  loom_body_call_extend (&more, v->call->p, v->call->instr, attrs, kept);
  loom_body_call_clear (&more);
}

/* ---- the backward instruction ------------------------------------------------------ */

static void
add_body_input (const Visit *v, LoomBodyCall *o, guint i)
{
  LoomValue operand = v->call->instr->in[visit_operand (&v->attrs, i)];

  if (!v->reads[i])
    return;
  for (guint k = 0; k < v->n_bodies; k++)
    g_array_append_val (o->in[k], v->runs[k].b.input[i]);
  g_array_append_val (o->operand, operand);
}

static void
add_seed (const Visit *v, LoomBodyCall *o, guint output, LoomValue operand)
{
  for (guint k = 0; k < v->n_bodies; k++)
    {
      Run *r = &v->runs[k];

      g_array_append_val (o->in[k], r->b.seed[output]);
    }
  if (operand != 0)
    g_array_append_val (o->operand, operand);
}

static void
add_kept (const Visit *v, LoomBodyCall *o, gboolean is_zeroed, const LoomValue *kept)
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
            in = body_add_input (r->b.run, "unused", &d);
          g_array_append_val (o->in[k], in);
        }
      g_array_append_val (o->operand, kept[i]);
    }
}

/* Adds the cotangents of the outputs from `first` to `end` that come from outside. */
static void
add_seeds (const Visit *v, LoomBodyCall *o, guint first, guint end)
{
  for (guint output = first; output < end; output++)
    if (v->runs[0].b.seed[output] != 0)
      add_seed (v, o, output, outer_grad (v, output));
}

static void
add_operands (const Visit *v, LoomBodyCall *o, const LoomValue *kept, LoomVisitAttrs *back)
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
add_results (const Visit *v, const Run *r, guint first, guint end, gboolean all, GArray *out)
{
  guint n = 0;

  for (guint i = first; i < end; i++)
    {
      LoomValue grad = r->b.grad[i];

      if (!all && !v->has_grad[i])
        continue;
      if (grad == 0)
        grad = body_zeros_like (r->b.run, value_desc (r->b.run, r->b.input[i]));
      g_array_append_val (out, grad);
      n++;
    }
  return n;
}

static void
emit_backward (Visit *v)
{
  const LoomVisitAttrs *a = &v->attrs;
  guint links = visit_n_links_in (a), first_whole = a->n_rows + links;
  g_autofree LoomValue *kept = g_new0 (LoomValue, v->buffers->len + 1), *result = NULL;
  g_autofree LoomVisitAttrs *back = g_new0 (LoomVisitAttrs, 1);
  g_auto (LoomBodyCall) o;
  guint at = 0;

  loom_body_call_init (&o, v->n_bodies);
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
      const Run *r = &v->runs[k];

      o.from[k] = loom_program_ref (r->b.run);
      add_results (v, r, a->n_rows, first_whole, TRUE, o.out[k]);
      back->n_sums = add_results (v, r, first_whole, v->n_in, FALSE, o.out[k]);
      back->n_row_results = add_results (v, r, 0, a->n_rows, FALSE, o.out[k]);
    }
  result = loom_body_call_emit (&o, v->call->p, v->call->instr->prim, back, back->n_sums + back->n_row_results);
  for (guint i = first_whole; i < v->n_in; i++)
    if (v->has_grad[i])
      v->call->in_grad[visit_operand (a, i)] = result[at++];
  for (guint i = 0; i < a->n_rows; i++)
    if (v->has_grad[i])
      v->call->in_grad[visit_operand (a, i)] = result[at++];
}

/* ---- the gradient ------------------------------------------------------------------ */

static void
visit_clear (Visit *v)
{
  for (guint k = 0; k < v->n_bodies; k++)
    {
      body_gradient_clear (&v->runs[k].b);
      g_array_unref (v->runs[k].buffer);
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
      Run *r = &v.runs[k];

      r->size = v.attrs.size[k / v.attrs.n_branches];
      r->buffer = g_array_new (FALSE, FALSE, sizeof (guint));
      body_gradient_begin (&r->b, v.attrs.body[k]);
      ok = ok && differentiate_run (&v, r);
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
