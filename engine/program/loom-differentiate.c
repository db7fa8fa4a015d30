/* Reverse-mode differentiation: appends the instructions of the gradients to the program, in region BACKWARD.
 *
 * A forward sweep marks the values that depend on one of the values wrt; a backward sweep calls the gradient rule of
 * each marked instruction (LoomPrim.gradient) for the cotangents of its operands. The cotangent of a value is complete
 * when its producer is reached, because all uses come later in the program. Uses are visited in a fixed order, so sums
 * have the same bits every time. A composite without a gradient rule (for example the gradient of softmax) is expanded,
 * and its expansion is differentiated. */
#include "engine/program/loom-gradient-port.h"
#include "engine/core/loom-refuse.h"
#include "engine/program/prim-private.h"

typedef struct
{
  LoomProgram *p;
  GByteArray *active; /* by value: depends on one of wrt through floats */
  GArray *grad;       /* LoomValue by value: the cotangent so far */
} Sweep;

static void
grow (Sweep *s)
{
  guint n = loom_program_n_values (s->p) + 1, old = s->active->len;

  g_byte_array_set_size (s->active, n);
  memset (s->active->data + old, 0, n - old);
  g_array_set_size (s->grad, n);
}

static LoomValue *
grad_of (Sweep *s, LoomValue v)
{
  return &g_array_index (s->grad, LoomValue, v);
}

static void
mark_active (Sweep *s, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    {
      const LoomInstr *instr = loom_program_instr (s->p, i);
      gboolean any = FALSE;

      if (instr->prim->gradient_is_zero)
        continue;
      for (guint k = 0; k < instr->n_in; k++)
        any = any || (instr->in[k] != 0 && s->active->data[instr->in[k]]);
      for (guint k = 0; any && k < instr->n_out; k++)
        {
          if (instr->out[k] != 0 && loom_dtype_is_float (value_desc (s->p, instr->out[k])->dtype))
            s->active->data[instr->out[k]] = 1;
        }
    }
}

static void
accumulate (Sweep *s, LoomValue v, LoomValue g)
{
  const LoomTensorDesc *want = value_desc (s->p, v), *have = value_desc (s->p, g);
  LoomValue *sum = grad_of (s, v);

  /* A rule may return a cotangent of another shape: if broadcasting enlarged the operand it is summed, and a smaller
   * one is repeated. */
  if (!loom_desc_same_shape (want, have))
    {
      LoomTensorDesc both = { 0 };

      if (loom_desc_broadcast (have, want, &both) && loom_desc_same_shape (&both, want))
        g = loom_expand_to (s->p, g, want->rank, want->dim);
      else
        g = loom_sum_to (s->p, g, want->rank, want->dim);
    }
  g = loom_cast (s->p, g, want->dtype);
  *sum = *sum == 0 ? g : loom_binary (s->p, LOOM_SCALAR_ADD, *sum, g);
}

static gboolean sweep_back (Sweep *s, guint first, guint end, GError **error);

/* Differentiates an instruction through its expansion. */
static gboolean
through_expansion (Sweep *s, const LoomInstr *instr, const LoomValue *grad, GError **error)
{
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out);
  guint first = loom_program_n_instrs (s->p), end;

  instr->prim->expand (s->p, instr, instr->in, out);
  end = loom_program_n_instrs (s->p);
  grow (s);
  mark_active (s, first, end);
  for (guint k = 0; k < instr->n_out; k++)
    {
      if (grad[k] != 0 && out[k] != 0 && s->active->data[out[k]])
        *grad_of (s, out[k]) = grad[k];
    }
  return sweep_back (s, first, end, error);
}

static gboolean
differentiate_instr (Sweep *s, const LoomInstr *instr, GError **error)
{
  g_autofree gboolean *needed = g_new0 (gboolean, instr->n_in + 1);
  g_autofree LoomValue *in_grad = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *grad = g_new0 (LoomValue, instr->n_out + 1);
  LoomGradCall call = { s->p, instr, grad, needed, in_grad, error };
  gboolean any_in = FALSE, any_out = FALSE;

  for (guint k = 0; k < instr->n_in; k++)
    {
      needed[k] = instr->in[k] != 0 && s->active->data[instr->in[k]];
      any_in = any_in || needed[k];
    }
  for (guint k = 0; k < instr->n_out; k++)
    {
      grad[k] = instr->out[k] != 0 ? *grad_of (s, instr->out[k]) : 0;
      any_out = any_out || grad[k] != 0;
    }
  if (!any_in || !any_out || instr->prim->gradient_is_zero)
    return TRUE;
  loom_program_set_origin (s->p, instr->origin, instr->device);
  if (instr->prim->gradient == NULL && instr->prim->expand != NULL)
    return through_expansion (s, instr, grad, error);
  if (instr->prim->gradient == NULL || !instr->prim->gradient (&call))
    {
      if (error != NULL && *error != NULL)
        return FALSE;
      return loom_refuse (error, LOOM_ERROR_SHAPE,
                          "No gradient passes through “%s” of node %s. Put a detach before it, or use another loss.",
                          instr->prim->name, instr->origin != NULL ? instr->origin : "?");
    }
  grow (s);
  for (guint k = 0; k < instr->n_in; k++)
    {
      if (needed[k] && in_grad[k] != 0)
        {
          accumulate (s, instr->in[k], in_grad[k]);
          grow (s);
        }
    }
  return TRUE;
}

static gboolean
sweep_back (Sweep *s, guint first, guint end, GError **error)
{
  for (guint i = end; i > first; i--)
    {
      if (!differentiate_instr (s, loom_program_instr (s->p, i - 1), error))
        return FALSE;
    }
  return TRUE;
}

static void
name_gradient (Sweep *s, const char *name, LoomValue v)
{
  g_autofree char *port = g_strconcat (LOOM_PORT_GRADIENT, name, NULL);

  if (v != 0 && v < s->grad->len && *grad_of (s, v) != 0)
    loom_program_set_port (s->p, port, *grad_of (s, v));
}

/* Records the gradients of ports and slots as ports, so that passes map them and observers find them. */
static void
name_gradients (Sweep *s)
{
  const guint n = loom_program_n_ports (s->p);

  for (guint i = 0; i < n; i++)
    {
      const LoomProgramPort *port = loom_program_get_port (s->p, i);

      if (!g_str_has_prefix (port->name, LOOM_PORT_GRADIENT))
        name_gradient (s, port->name, port->value);
    }
  for (guint i = 0; i < loom_program_n_slots (s->p); i++)
    name_gradient (s, loom_program_get_slot (s->p, i)->name, loom_program_get_slot (s->p, i)->read);
}

gboolean
loom_differentiate_sum (LoomProgram *p, guint n_of, const LoomValue *of, const LoomValue *seed, guint n,
                        const LoomValue *wrt, LoomValue *grads, GError **error)
{
  Sweep s = { p, g_byte_array_new (), g_array_new (FALSE, TRUE, sizeof (LoomValue)) };
  LoomRegion region = loom_program_get_region (p);
  const char *origin, *device;
  gboolean ok = TRUE, any = FALSE;
  guint end = 0;

  loom_program_get_origin (p, &origin, &device);
  loom_program_set_region (p, LOOM_REGION_BACKWARD);
  grow (&s);
  for (guint i = 0; i < n; i++)
    {
      grads[i] = 0;
      s.active->data[wrt[i]] = loom_dtype_is_float (value_desc (p, wrt[i])->dtype);
    }
  mark_active (&s, 0, loom_program_n_instrs (p));
  for (guint i = 0; i < n_of; i++)
    {
      const LoomValueInfo *info = loom_value_info (p, of[i]);

      if (!s.active->data[of[i]])
        continue;
      loom_program_set_origin (p, info->origin, info->device);
      accumulate (&s, of[i],
                  seed[i] != 0 ? seed[i] : loom_fill (p, info->desc.dtype, info->desc.rank, info->desc.dim, 1));
      grow (&s);
      any = TRUE;
      if (info->producer != G_MAXUINT)
        end = MAX (end, info->producer + 1);
    }
  if (any)
    ok = sweep_back (&s, 0, end, error);
  for (guint i = 0; any && ok && i < n; i++)
    grads[i] = *grad_of (&s, wrt[i]);
  if (any && ok)
    name_gradients (&s);
  loom_program_set_region (p, region);
  loom_program_set_origin (p, origin, device);
  g_byte_array_unref (s.active);
  g_array_unref (s.grad);
  return ok;
}

gboolean
loom_differentiate (LoomProgram *p, LoomValue of, LoomValue seed, guint n, const LoomValue *wrt, LoomValue *grads,
                    GError **error)
{
  return loom_differentiate_sum (p, 1, &of, &seed, n, wrt, grads, error);
}
