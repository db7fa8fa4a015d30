/* Implements body-gradient.h. */
#include "engine/program/body-gradient.h"

LoomValue
body_add_input (LoomProgram *p, const char *name, const LoomTensorDesc *d)
{
  return loom_program_input (p, name, d->dtype, d->rank, d->dim);
}

LoomValue
body_zeros_like (LoomProgram *p, const LoomTensorDesc *d)
{
  return loom_fill (p, d->dtype, d->rank, d->dim, 0);
}

void
body_gradient_begin (BodyGradient *b, LoomProgram *body)
{
  b->body = loom_program_ref (body);
  b->run = loom_program_new_like (body);
  b->n_in = loom_program_n_inputs (body);
  b->n_out = loom_program_n_outputs (body);
  b->kept = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  b->input = g_new0 (LoomValue, b->n_in + 1);
  b->grad = g_new0 (LoomValue, b->n_in + 1);
  b->seed = g_new0 (LoomValue, b->n_out + 1);
  b->map = g_new0 (LoomValue, loom_program_n_values (body) + 1);
  for (guint i = 0; i < b->n_in; i++)
    {
      const LoomProgramInput *from = loom_program_get_input (body, i);

      b->input[i] = body_add_input (b->run, from->name, value_desc (body, from->value));
    }
  loom_program_inline (b->run, body, b->input, b->map);
  loom_program_inline_ports (b->run, body, b->map);
  b->n_forward = loom_program_n_instrs (b->run);
}

void
body_gradient_clear (BodyGradient *b)
{
  loom_program_unref (b->body);
  loom_program_unref (b->run);
  g_array_unref (b->kept);
  g_free (b->map);
  g_free (b->input);
  g_free (b->seed);
  g_free (b->grad);
}

LoomValue
body_gradient_output (const BodyGradient *b, guint o)
{
  return b->map[loom_program_get_output (b->body, o)->value];
}

void
body_gradient_set_call (const BodyGradient *b, LoomBodyCall *call, guint k)
{
  call->from[k] = loom_program_ref (b->run);
  g_array_append_vals (call->in[k], b->input, b->n_in);
  for (guint o = 0; o < b->n_out; o++)
    {
      const LoomValue v = body_gradient_output (b, o);

      g_array_append_val (call->out[k], v);
    }
}

gboolean
body_gradient_differentiate (BodyGradient *b, const gboolean *of, const gboolean *wanted, GError **error)
{
  guint n_of = 0, n_wrt = 0;
  g_autofree LoomValue *value = g_new0 (LoomValue, b->n_out + 1), *seed = g_new0 (LoomValue, b->n_out + 1);
  g_autofree LoomValue *wrt = g_new0 (LoomValue, b->n_in + 1), *grads = g_new0 (LoomValue, b->n_in + 1);
  g_autofree guint *which = g_new0 (guint, b->n_in + 1);

  for (guint o = 0; o < b->n_out; o++)
    {
      LoomValue v = body_gradient_output (b, o);
      g_autofree char *name = g_strdup_printf ("grad.%u", o);

      if (!of[o] || !loom_dtype_is_float (value_desc (b->run, v)->dtype))
        continue;
      seed[n_of] = b->seed[o] = body_add_input (b->run, name, value_desc (b->run, v));
      value[n_of++] = v;
    }
  for (guint i = 0; i < b->n_in; i++)
    if (wanted[i] && loom_dtype_is_float (value_desc (b->run, b->input[i])->dtype))
      {
        which[n_wrt] = i;
        wrt[n_wrt++] = b->input[i];
      }
  if (n_of == 0 || n_wrt == 0)
    return TRUE;
  if (!loom_differentiate_sum (b->run, n_of, value, seed, n_wrt, wrt, grads, error))
    return FALSE;
  for (guint k = 0; k < n_wrt; k++)
    b->grad[which[k]] = grads[k];
  return TRUE;
}

void
body_gradient_find_kept (BodyGradient *b, const gboolean *keeps, gboolean *wanted)
{
  for (guint i = loom_program_n_instrs (b->run); i > 0; i--)
    {
      const LoomInstr *instr = loom_program_instr (b->run, i - 1);
      gboolean any = FALSE, is_kept = i <= b->n_forward && keeps[i - 1];

      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0 && wanted[instr->out[k]])
          {
            any = TRUE;
            if (is_kept)
              g_array_append_val (b->kept, instr->out[k]);
          }
      for (guint k = 0; any && !is_kept && k < instr->n_in; k++)
        wanted[instr->in[k]] = TRUE;
    }
}
