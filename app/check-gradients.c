/* `gradloom check GRAPH --gradcheck [NODE]`: every node's gradient against central differences, in f64 by plain loops.
 *
 * A node is taken out of its graph: its inputs and weights get random numbers, its outputs are weighed with random
 * numbers and added up, and that sum is differentiated twice, by the engine and by moving single elements. So a
 * backward formula that somebody typed is held against the forward formula, and so is everything of ours. */
#include "app/check-gradients.h"

#include <math.h>
#include <stdio.h>

#define MAX_ELEMENTS 24 /* of each tensor are moved */
#define STEP         1e-5
#define TOLERANCE    1e-5 /* what differences of this step lose to rounding and curvature, and some room */

typedef struct
{
  const LoomNet *net;
  guint node;
  LoomProgram *program;
  LoomDevices *devices;
  LoomState *state;
  LoomEager *eager;
  GPtrArray *data; /* LoomTensor of each program input */
} Probe;

static void
probe_clear (Probe *p)
{
  g_clear_pointer (&p->eager, loom_eager_free);
  g_clear_pointer (&p->state, loom_state_unref);
  g_clear_pointer (&p->devices, loom_devices_unref);
  g_clear_pointer (&p->program, loom_program_unref);
  g_clear_pointer (&p->data, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Probe, probe_clear)

/* The program of the node alone: what is wired into it comes from outside. */
static gboolean
lower_node (Probe *p, GArray *values, GError **error)
{
  const LoomNetNode *n = loom_net_node (p->net, p->node);
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n->n_outputs + 1);
  g_autofree LoomNetSource *given = g_new0 (LoomNetSource, n->n_inputs + 1);
  LoomLowerOptions options = { .float_dtype = LOOM_F64, .wanted = wanted, .given = given, .n_wanted = n->n_outputs };

  for (guint i = 0; i < n->n_outputs; i++)
    wanted[i] = (LoomNetSource){ p->node, i };
  for (guint i = 0; i < n->n_inputs; i++)
    if (n->input[i].node != G_MAXUINT && !loom_net_is_weight (p->net, &n->input[i]))
      given[options.n_given++] = n->input[i];
  g_array_set_size (values, n->n_outputs);
  p->program = loom_lower (p->net, &options, (LoomValue *)values->data, error);
  return p->program != NULL;
}

static LoomValue
weighed_sum (LoomProgram *p, const GArray *values, GRand *rand)
{
  LoomValue sum = 0;

  for (guint i = 0; i < values->len; i++)
    {
      LoomValue v = g_array_index (values, LoomValue, i), part;
      LoomTensorDesc d = loom_value_info (p, v)->desc;
      LoomIotaTo line = { .dtype = LOOM_F64, .to.rank = 1, .to.dim = { loom_desc_count (&d) } };
      double phase = g_rand_double_range (rand, 1, 2);

      if (!loom_dtype_is_float (d.dtype) || loom_desc_count (&d) == 0)
        continue;
      /* Weights of all sizes without a table of them: the sine of a line. */
      line.kernel = (LoomIotaAttrs){ .start = phase, .step = phase };
      part = loom_unary (p, LOOM_SCALAR_SIN, loom_emit (p, loom_prim ("iota"), &line, 0, NULL, NULL));
      part = loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, loom_reshape (p, v, d.rank, d.dim),
                                           loom_reshape (p, part, d.rank, d.dim)));
      sum = sum == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
    }
  return sum;
}

static double
evaluate (Probe *p, guint output, GError **error)
{
  g_autoptr (LoomTensor) t = NULL;

  if (!loom_eager_run (p->eager, FALSE, NULL, NULL, error) || (t = loom_eager_output (p->eager, output, error)) == NULL)
    return NAN;
  return loom_tensor_get (t, 0);
}

/* Compares one tensor's gradient; the largest relative difference goes to *worst, NAN where there is no value to
 * compare with, and then it stays that. */
static gboolean
compare (Probe *p, guint output, double *numbers, gint64 count, const LoomTensor *grad, GRand *rand, double *worst,
         GError **error)
{
  double scale = 1;

  for (gint64 i = 0; grad != NULL && i < count; i++)
    scale = MAX (scale, fabs (loom_tensor_get (grad, i)));
  for (gint64 k = 0; k < MIN (count, MAX_ELEMENTS); k++)
    {
      gint64 i = count <= MAX_ELEMENTS ? k : g_rand_int_range (rand, 0, (gint32)MIN (count, G_MAXINT32));
      double was = numbers[i], above, below, off;

      numbers[i] = was + STEP;
      above = evaluate (p, output, error);
      numbers[i] = was - STEP;
      below = *error == NULL ? evaluate (p, output, error) : 0;
      numbers[i] = was;
      if (*error != NULL)
        return FALSE;
      off = fabs ((above - below) / (2 * STEP) - (grad != NULL ? loom_tensor_get (grad, i) : 0)) / scale;
      if (isnan (off))
        off = isfinite (above) && isfinite (below) ? INFINITY : NAN;
      if (isnan (off) || off > *worst)
        *worst = off;
      if (isnan (off))
        return TRUE;
    }
  return TRUE;
}

static void
fill (LoomTensor *t, gboolean positive, GRand *rand)
{
  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i,
                     !loom_dtype_is_float (t->dtype) ? g_rand_int_range (rand, 0, 2)
                     : positive                      ? g_rand_double_range (rand, 0.2, 0.9)
                                                     : g_rand_double_range (rand, -1.5, 1.5));
}

/* *worst is negative where the node has nothing to differentiate. */
static gboolean
check_node (const LoomNet *net, guint node, gboolean positive, double *worst, GError **error)
{
  g_auto (Probe) p = { .net = net, .node = node };
  g_autoptr (GArray) values = g_array_new (FALSE, TRUE, sizeof (LoomValue));
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GPtrArray) grad_of = NULL;
  g_autofree LoomValue *grads = NULL;
  g_autoptr (GError) local = NULL;
  LoomValue sum;

  *worst = -1;
  if (!lower_node (&p, values, error))
    return FALSE;
  sum = weighed_sum (p.program, values, rand);
  for (LoomValue v = 1; sum != 0 && v <= loom_program_n_values (p.program); v++)
    {
      const LoomValueInfo *info = loom_value_info (p.program, v);

      if (loom_dtype_is_float (info->desc.dtype)
          && (info->input >= 0 || (info->slot >= 0 && loom_program_get_slot (p.program, info->slot)->trainable)))
        g_array_append_val (wrt, v);
    }
  if (wrt->len == 0)
    return TRUE;
  grads = g_new0 (LoomValue, wrt->len);
  if (!loom_differentiate (p.program, sum, 0, wrt->len, (const LoomValue *)wrt->data, grads, error))
    return FALSE;
  loom_program_output (p.program, "sum", sum);
  for (guint i = 0; i < wrt->len; i++)
    if (grads[i] != 0)
      {
        g_autofree char *name = g_strdup_printf ("grad%u", i);

        loom_program_output (p.program, name, grads[i]);
      }

  p.devices = loom_devices_new (1);
  p.state = loom_state_new (p.devices, "ref", 1);
  if (!loom_state_adopt (p.state, p.program, error))
    return FALSE;
  p.eager = loom_eager_new (p.program, p.state, p.devices, "ref", error);
  if (p.eager == NULL)
    return FALSE;
  p.data = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_inputs (p.program); i++)
    {
      const LoomTensorDesc d = loom_value_info (p.program, loom_program_get_input (p.program, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (d.dtype, d.rank, d.dim, error);

      if (t == NULL)
        return FALSE;
      fill (t, positive, rand);
      g_ptr_array_add (p.data, t);
      loom_eager_feed (p.eager, i, t->data);
    }
  evaluate (&p, 0, &local);
  grad_of = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0, output = 1; local == NULL && i < wrt->len; i++)
    if (grads[i] != 0)
      {
        /* A walk writes its results anew, so these are kept apart. */
        g_autoptr (LoomTensor) t = loom_eager_output (p.eager, output++, &local);

        g_ptr_array_add (grad_of, t != NULL ? loom_tensor_convert (t, LOOM_F64, TRUE, &local) : NULL);
      }
  *worst = 0;
  for (guint i = 0, k = 0; local == NULL && !isnan (*worst) && i < wrt->len; i++)
    {
      const LoomValueInfo *info = loom_value_info (p.program, g_array_index (wrt, LoomValue, i));
      const LoomTensor *grad = grads[i] != 0 ? grad_of->pdata[k++] : NULL;
      double *numbers
          = info->input >= 0
                ? ((LoomTensor *)p.data->pdata[info->input])->data
                : loom_state_address (
                    p.state,
                    (guint)loom_state_find (p.state, loom_program_get_slot (p.program, (guint)info->slot)->name));

      compare (&p, 0, numbers, loom_desc_count (&info->desc), grad, rand, worst, &local);
    }
  if (local == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

int
check_gradients (const Command *command, const LoomNet *net, const char *only, gboolean json)
{
  gboolean found = FALSE, good = TRUE;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);
      g_autoptr (GError) error = NULL;
      double worst = -1;
      gboolean agrees;

      if ((only != NULL && !g_str_equal (n->path, only)) || n->op == NULL || n->op->lower == NULL || n->op->has_effect
          || n->n_inputs == 0)
        continue;
      found = TRUE;
      /* A logarithm has no value where a random number is negative: then positive ones are tried. */
      if (!check_node (net, i, FALSE, &worst, &error) || (isnan (worst) && !check_node (net, i, TRUE, &worst, &error)))
        {
          if (json)
            printf ("{\"event\":\"gradcheck\",\"node\":\"%s\",\"difference\":null,\"agrees\":null}\n", n->path);
          else
            printf ("%-24s  not checked: %s\n", n->path, error->message);
          continue;
        }
      if (worst < 0)
        continue;
      /* A Cholesky factor of random numbers, for instance. */
      if (isnan (worst))
        {
          if (json)
            printf ("{\"event\":\"gradcheck\",\"node\":\"%s\",\"difference\":null,\"agrees\":null}\n", n->path);
          else
            printf ("%-24s  not checked: of random numbers it has no finite value\n", n->path);
          continue;
        }
      agrees = worst <= TOLERANCE;
      good = good && agrees;
      if (json)
        printf ("{\"event\":\"gradcheck\",\"node\":\"%s\",\"difference\":%.3g,\"agrees\":%s}\n", n->path,
                isfinite (worst) ? worst : 1e308, agrees ? "true" : "false");
      else
        printf ("%-24s  %8.1e  %s\n", n->path, worst, agrees ? "agrees" : "differs from finite differences");
    }
  if (only != NULL && !found)
    return command_usage (command, "There is no node “%s” with inputs in the graph.", only);
  return good ? 0 : 1;
}
