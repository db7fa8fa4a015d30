/* Extracts a part of a program as a body, inlines a body, makes an instruction that runs bodies and rewrites those of
 * one, and counts the floating-point operations of a program with its bodies. */
#include "engine/program/program-body.h"

#include <string.h>

/* By instruction: TRUE if a value of out[] needs it, if the values of in[] are inputs. */
static gboolean *
find_needed (const LoomProgram *p, guint n_in, const LoomValue *in, guint n_out, const LoomValue *out)
{
  guint n = loom_program_n_instrs (p);
  g_autofree gboolean *wanted = g_new0 (gboolean, loom_program_n_values (p) + 1);
  g_autofree gboolean *given = g_new0 (gboolean, loom_program_n_values (p) + 1);
  gboolean *needed = g_new0 (gboolean, n + 1);

  for (guint i = 0; i < n_in; i++)
    given[in[i]] = TRUE;
  for (guint o = 0; o < n_out; o++)
    wanted[out[o]] = TRUE;
  for (guint i = n; i > 0; i--)
    {
      const LoomInstr *instr = loom_program_instr (p, i - 1);

      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0 && wanted[instr->out[k]] && !given[instr->out[k]])
          needed[i - 1] = TRUE;
      for (guint k = 0; needed[i - 1] && k < instr->n_in; k++)
        wanted[instr->in[k]] = TRUE;
    }
  return needed;
}

/* Copies the instruction with mapped operands and results. A result that is mapped already keeps its mapping; the
 * instruction is then copied for its other results. */
static void
copy_instr (LoomProgram *to, const LoomInstr *instr, LoomValue *map)
{
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);

  for (guint k = 0; k < instr->n_in; k++)
    in[k] = map[instr->in[k]];
  loom_program_set_region (to, instr->region);
  loom_program_set_origin (to, instr->origin, instr->device);
  loom_program_set_recomputed (to, instr->is_recomputed);
  loom_emit (to, instr->prim, instr->attrs, instr->n_in, in, out);
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0 && map[instr->out[k]] == 0)
      map[instr->out[k]] = out[k];
}

static char *
name_of (const LoomProgram *p, LoomValue v)
{
  const LoomValueInfo *info = loom_value_info (p, v);

  return info->input >= 0 ? g_strdup (loom_program_get_input (p, (guint)info->input)->name)
                          : g_strdup_printf ("kept.%u", v);
}

void
loom_program_inline_ports (LoomProgram *to, const LoomProgram *body, const LoomValue *map)
{
  for (guint i = 0; i < loom_program_n_ports (body); i++)
    {
      const LoomProgramPort *port = loom_program_get_port (body, i);

      if (map[port->value] != 0)
        loom_program_set_port (to, port->name, map[port->value]);
    }
}

LoomProgram *
loom_program_new_like (const LoomProgram *p)
{
  LoomProgram *like = loom_program_new ();

  loom_program_set_float (like, loom_program_get_float (p));
  loom_program_set_tf32 (like, loom_program_get_tf32 (p));
  return like;
}

LoomProgram *
loom_program_extract (const LoomProgram *from, guint n_in, const LoomValue *in, guint n_out, const LoomValue *out)
{
  g_autofree gboolean *needed = find_needed (from, n_in, in, n_out, out);
  g_autofree LoomValue *map = g_new0 (LoomValue, loom_program_n_values (from) + 1);
  LoomProgram *to = loom_program_new_like (from);

  for (guint i = 0; i < n_in; i++)
    {
      const LoomTensorDesc *d = value_desc (from, in[i]);
      g_autofree char *name = name_of (from, in[i]);

      map[in[i]] = loom_program_input (to, name, d->dtype, d->rank, d->dim);
    }
  for (guint i = 0; i < loom_program_n_instrs (from); i++)
    if (needed[i])
      copy_instr (to, loom_program_instr (from, i), map);
  for (guint o = 0; o < n_out; o++)
    {
      g_autofree char *name = g_strdup_printf ("out.%u", o);

      g_assert (map[out[o]] != 0);
      loom_program_output (to, name, map[out[o]]);
    }
  loom_program_inline_ports (to, from, map);
  loom_program_set_recomputed (to, FALSE);
  return to;
}

void
loom_program_inline (LoomProgram *to, const LoomProgram *body, const LoomValue *in, LoomValue *map)
{
  gboolean is_recomputed = loom_program_get_recomputed (to);

  memset (map, 0, (loom_program_n_values (body) + 1) * sizeof *map);
  for (guint i = 0; i < loom_program_n_inputs (body); i++)
    map[loom_program_get_input (body, i)->value] = in[i];
  for (guint i = 0; i < loom_program_n_instrs (body); i++)
    copy_instr (to, loom_program_instr (body, i), map);
  loom_program_set_recomputed (to, is_recomputed);
}

static double
instr_flops (const LoomProgram *p, const LoomInstr *instr)
{
  g_autofree LoomTensorDesc *desc = g_new0 (LoomTensorDesc, instr->n_in + instr->n_out + 1);

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    {
      LoomValue v = k < instr->n_in ? instr->in[k] : instr->out[k - instr->n_in];

      if (v != 0)
        desc[k] = *value_desc (p, v);
      else
        desc[k].dtype = LOOM_N_DTYPES;
    }
  if (instr->prim->flops != NULL)
    return instr->prim->flops (instr->attrs, instr->n_in, desc, desc + instr->n_in);
  return instr->out[0] != 0 ? (double)loom_desc_count (&desc[instr->n_in]) : 0;
}

double
loom_program_flops (const LoomProgram *p)
{
  double sum = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    sum += instr_flops (p, loom_program_instr (p, i));
  return sum;
}

void
loom_rewrite_bodies (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in, LoomBodyFunc func, gpointer data)
{
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);
  g_autofree gpointer attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);
  LoomProgram **body;
  guint n;

  body = instr->prim->bodies (attrs, &n);
  for (guint i = 0; i < n; i++)
    body[i] = func (body[i], data);
  loom_rewrite_set_origin (r, instr);
  loom_emit (r->to, instr->prim, attrs, instr->n_in, in, out);
  loom_rewrite_results (r, instr, out);
  for (guint i = 0; i < n; i++)
    loom_program_unref (body[i]);
}

gboolean
loom_instr_is_free (const LoomProgram *p, const LoomInstr *instr)
{
  return instr->prim->constant != NULL || instr->n_in == 0
         || (instr->prim->view != LOOM_VIEW_NEVER
             && value_desc (p, instr->in[0])->dtype == value_desc (p, instr->out[0])->dtype);
}

/* ---- an instruction that runs bodies ------------------------------------------- */

static GArray *
new_values (void)
{
  return g_array_new (FALSE, FALSE, sizeof (LoomValue));
}

void
loom_body_call_init (LoomBodyCall *call, guint n)
{
  *call = (LoomBodyCall){ .n = n,
                          .from = g_new0 (LoomProgram *, n),
                          .in = g_new (GArray *, n),
                          .out = g_new (GArray *, n),
                          .operand = new_values () };
  for (guint k = 0; k < n; k++)
    {
      call->in[k] = new_values ();
      call->out[k] = new_values ();
    }
}

void
loom_body_call_clear (LoomBodyCall *call)
{
  for (guint k = 0; k < call->n; k++)
    {
      g_clear_pointer (&call->from[k], loom_program_unref);
      g_array_unref (call->in[k]);
      g_array_unref (call->out[k]);
    }
  g_array_unref (call->operand);
  g_free (call->from);
  g_free (call->in);
  g_free (call->out);
}

void
loom_body_call_add (LoomBodyCall *call, LoomValue in, LoomValue operand)
{
  g_array_append_val (call->in[0], in);
  g_array_append_val (call->operand, operand);
}

void
loom_body_call_append (LoomBodyCall *call, const LoomBodyCall *more)
{
  g_array_append_vals (call->in[0], more->in[0]->data, more->in[0]->len);
  g_array_append_vals (call->out[0], more->out[0]->data, more->out[0]->len);
  g_array_append_vals (call->operand, more->operand->data, more->operand->len);
}

static const LoomValue *
values_of (const GArray *values)
{
  return (const LoomValue *)(const void *)values->data;
}

/* Sets the bodies of the attributes, which the caller releases. */
static LoomProgram **
extract_bodies (const LoomBodyCall *call, const LoomPrim *prim, gpointer attrs)
{
  guint n;
  LoomProgram **body = prim->bodies (attrs, &n);

  g_assert (n == call->n);
  for (guint k = 0; k < n; k++)
    body[k] = loom_program_extract (call->from[k], call->in[k]->len, values_of (call->in[k]), call->out[k]->len,
                                    values_of (call->out[k]));
  return body;
}

LoomValue *
loom_body_call_emit (const LoomBodyCall *call, LoomProgram *p, const LoomPrim *prim, gpointer attrs, guint n_results)
{
  LoomValue *result = g_new0 (LoomValue, n_results + 1);
  LoomProgram **body = n_results > 0 ? extract_bodies (call, prim, attrs) : NULL;

  if (body != NULL)
    loom_emit (p, prim, attrs, call->operand->len, values_of (call->operand), result);
  for (guint k = 0; body != NULL && k < call->n; k++)
    loom_program_unref (body[k]);
  return result;
}

void
loom_body_call_extend (const LoomBodyCall *call, LoomProgram *p, const LoomInstr *instr, gpointer attrs,
                       LoomValue *made)
{
  LoomProgram **body = extract_bodies (call, instr->prim, attrs);

  loom_program_extend (p, loom_value_info (p, instr->out[0])->producer, attrs, made);
  for (guint k = 0; k < call->n; k++)
    loom_program_unref (body[k]);
}
