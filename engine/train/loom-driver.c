/* A driver's view of a program and its state as one vector. */
#include "engine/train/loom-driver.h"

#include <math.h>
#include <string.h>

static LoomProgram *
program_of (const LoomDriverCall *call)
{
  return loom_plan_program (loom_exec_plan (call->exec));
}

LoomDriverSpace *
loom_driver_space_new (const LoomDriverCall *call)
{
  LoomDriverSpace *space = g_new0 (LoomDriverSpace, 1);
  const LoomProgram *p = program_of (call);
  guint n = loom_program_n_outputs (p);

  space->call = call;
  space->output = g_new0 (guint, n + 1);
  space->name = g_new0 (const char *, n + 1);
  space->count = g_new0 (gsize, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (p, i);
      guint k = space->n_tensors;
      if (!g_str_has_prefix (output->name, "gradient."))
        continue;
      space->output[k] = (guint)loom_exec_find_output (call->exec, output->name);
      space->name[k] = output->name + strlen ("gradient.");
      space->count[k] = (gsize)loom_desc_count (&loom_value_info (p, output->value)->desc);
      space->n += space->count[k];
      space->n_tensors++;
    }
  space->loss = (guint)loom_exec_find_output (call->exec, "loss");
  space->finite = (guint)loom_exec_find_output (call->exec, "finite");
  return space;
}

void
loom_driver_space_free (LoomDriverSpace *space)
{
  if (space == NULL)
    return;
  g_free (space->output);
  g_free (space->name);
  g_free (space->count);
  g_free (space);
}

/* f32 or f64 elements to f64. */
static void
widen (const LoomTensor *t, double *to)
{
  for (gint64 i = 0; i < t->count; i++)
    to[i] = loom_tensor_get (t, i);
}

gboolean
loom_driver_get_weights (const LoomDriverSpace *space, double *x, GError **error)
{
  for (guint i = 0; i < space->n_tensors; x += space->count[i++])
    {
      g_autoptr (LoomTensor) t = loom_state_get (space->call->state, space->name[i], error);
      if (t == NULL)
        return FALSE;
      widen (t, x);
    }
  return TRUE;
}

gboolean
loom_driver_set_weights (const LoomDriverSpace *space, const double *x, GError **error)
{
  for (guint i = 0; i < space->n_tensors; x += space->count[i++])
    {
      g_autoptr (LoomTensor) t = loom_state_get (space->call->state, space->name[i], error);
      if (t == NULL)
        return FALSE;
      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k, x[k]);
      if (!loom_state_set (space->call->state, space->name[i], t, error))
        return FALSE;
    }
  return TRUE;
}

double
loom_driver_loss (const LoomDriverSpace *space)
{
  return loom_exec_scalar (space->call->exec, space->loss);
}

gboolean
loom_driver_gather (const LoomDriverSpace *space, const char *prefix, double *g, GError **error)
{
  for (guint i = 0; i < space->n_tensors; g += space->count[i++])
    {
      g_autofree char *name = g_strconcat (prefix, ".", space->name[i], NULL);
      g_autoptr (LoomTensor) t
          = loom_exec_output (space->call->exec, (guint)loom_exec_find_output (space->call->exec, name), error);
      if (t == NULL)
        return FALSE;
      widen (t, g);
    }
  return TRUE;
}

gboolean
loom_driver_evaluate (const LoomDriverSpace *space, const double *x, double *loss, double *g, GError **error)
{
  if (!loom_driver_set_weights (space, x, error) || !loom_exec_run (space->call->exec, error))
    return FALSE;
  *loss = loom_driver_loss (space);
  if (isfinite (*loss) && loom_exec_scalar (space->call->exec, space->finite) != 0)
    return loom_driver_gather (space, "gradient", g, error);
  *loss = INFINITY;
  memset (g, 0, space->n * sizeof *g);
  return TRUE;
}

double
loom_driver_hyper (const LoomDriverCall *call, const char *name)
{
  int k = loom_optimizer_find (call->spec->optimizer, name);

  g_return_val_if_fail (k >= 0, 0);
  return call->hyper[k];
}

gboolean
loom_driver_advance (const LoomDriver *driver, LoomExec *exec, LoomState *state, const LoomTrainSpec *spec,
                     GError **error)
{
  const LoomOptimizer *optimizer = spec->optimizer;
  g_autoptr (GArray) hyper = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint k = 0; optimizer->hyper[k].name != NULL; k++)
    {
      double value = spec->hyper[k];

      if (loom_optimizer_is_live (optimizer, spec->hyper, k)
          && !loom_state_get_scalar (state, optimizer->hyper[k].name, &value, error))
        return FALSE;
      g_array_append_val (hyper, value);
    }
  return driver->advance (&(LoomDriverCall){ exec, state, spec, (const double *)(gconstpointer)hyper->data }, error);
}

/* ---- memory ------------------------------------------------------------ */

static char *
slot_name (const char *kind)
{
  return g_strdup_printf ("optimizer.%s.all", kind);
}

void
loom_driver_slot (LoomProgram *p, const char *kind, int rank, const gint64 *dims)
{
  g_autofree char *name = slot_name (kind);

  loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, LOOM_F64, rank, dims, NULL, FALSE);
}

gboolean
loom_driver_load (const LoomDriverCall *call, const char *kind, LoomTensor **tensor, GError **error)
{
  g_autofree char *name = slot_name (kind);

  *tensor = loom_state_get (call->state, name, error);
  return *tensor != NULL;
}

gboolean
loom_driver_save (const LoomDriverCall *call, const char *kind, const LoomTensor *tensor, GError **error)
{
  g_autofree char *name = slot_name (kind);

  return loom_state_set (call->state, name, tensor, error);
}
