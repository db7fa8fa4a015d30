/* The chain of local derivatives of one number; see the header. */
#include "engine/train/derivative-chain.h"

#include "engine/core/loom-error.h"
#include "engine/program/loom-gradient-port.h"

#include <math.h>
#include <string.h>

#define SEED      "chain.seed" /* inputs of the program of a node */
#define UNIT      "chain.unit"
#define MAX_LINKS 1000

/* An element of an output of the net. */
typedef struct
{
  LoomNetSource source;
  gint64 element;
} At;

static LoomTensor *
tensor_of (StepWalk *walk, const LoomNetSource *source, gboolean is_gradient, double *scale)
{
  g_autofree char *port = loom_net_port_name (walk->plan->net, source->node, source->output);
  g_autofree char *name = g_strconcat (is_gradient ? LOOM_PORT_GRADIENT : "", port, NULL);

  return step_walk_port (walk, name, scale, NULL);
}

static void
clear_derivative (gpointer data)
{
  g_free (((LoomDerivative *)data)->port);
}

/* ---- one node --------------------------------------------------------- */

static LoomValue
input_like (LoomProgram *p, const char *name, LoomValue like)
{
  const LoomTensorDesc *d = &loom_value_info (p, like)->desc;

  return loom_program_input (p, name, d->dtype, d->rank, d->dim);
}

static LoomValue
find_input (const LoomProgram *p, const char *name)
{
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    if (g_str_equal (loom_program_get_input (p, i)->name, name))
      return loom_program_get_input (p, i)->value;
  return 0;
}

/* The program of one output of a node, whose inputs are given. */
static LoomProgram *
lower_node (StepWalk *walk, const LoomNetSource *output, LoomValue *y, GError **error)
{
  const LoomNetNode *node = loom_net_node (walk->plan->net, output->node);
  g_autofree LoomNetSource *given = g_new0 (LoomNetSource, node->n_inputs + 1);
  LoomLowerOptions options = train_model_lower_options (walk->model, 1, output);

  for (guint k = 0; k < node->n_inputs; k++)
    if (node->input[k].node != G_MAXUINT && !loom_net_is_weight (walk->plan->net, &node->input[k]))
      given[options.n_given++] = node->input[k];
  options.given = given;
  options.training = TRUE;
  options.allow_untrainable = TRUE;
  return loom_lower (walk->plan->net, &options, y, error);
}

/* Appends the column of the Jacobian matrix of y that belongs to the element of x which UNIT selects; 0: y does not
 * depend on x. */
static gboolean
append_column (LoomProgram *p, LoomValue y, LoomValue x, LoomValue *column, GError **error)
{
  LoomValue seed, unit, gradient = 0, one;

  *column = 0;
  if (!loom_dtype_is_float (loom_value_info (p, y)->desc.dtype))
    return TRUE;
  seed = input_like (p, SEED, y);
  unit = input_like (p, UNIT, x);
  if (!loom_differentiate (p, y, seed, 1, &x, &gradient, error))
    return FALSE;
  if (gradient == 0)
    return TRUE;
  one = loom_sum_to (p, loom_binary (p, LOOM_SCALAR_MUL, gradient, unit), 0, NULL);
  return loom_differentiate (p, one, 0, 1, &seed, column, error);
}

/* Feeds the inputs of the program: values of the walk, the gradient of y, and the unit vector of an element of x. */
static gboolean
feed (StepWalk *walk, LoomEager *eager, const At *at, const LoomTensor *gradient, GPtrArray *kept, GError **error)
{
  LoomProgram *p = loom_eager_program (eager);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const char *name = loom_program_get_input (p, i)->name;
      double scale;
      LoomTensor *t;

      if (g_str_equal (name, SEED))
        t = loom_tensor_ref ((LoomTensor *)gradient);
      else if (g_str_equal (name, UNIT))
        {
          g_autoptr (LoomTensor) x = tensor_of (walk, &at->source, FALSE, &scale);

          t = loom_tensor_new (x->dtype, x->rank, x->dim, error);
          for (gint64 k = 0; t != NULL && k < t->count; k++)
            loom_tensor_set (t, k, k == at->element);
        }
      else
        t = step_walk_port (walk, name, &scale, error);
      if (t == NULL)
        return FALSE;
      g_ptr_array_add (kept, t);
      loom_eager_feed (eager, i, t->data);
    }
  return TRUE;
}

/* The derivatives of all elements of an output with respect to the element. NULL without error: none depends on it. */
static LoomTensor *
column_of (StepWalk *walk, const At *at, const LoomNetSource *output, const LoomTensor *gradient, GError **error)
{
  g_autofree char *name = loom_net_port_name (walk->plan->net, at->source.node, at->source.output);
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomValue y, column, x;
  g_autoptr (LoomProgram) p = lower_node (walk, output, &y, error);
  g_autoptr (LoomEager) eager = NULL;

  if (p == NULL)
    return NULL;
  x = find_input (p, name);
  if (x == 0 || !append_column (p, y, x, &column, error) || column == 0)
    return NULL;
  eager = loom_eager_new (p, walk->model->state, walk->model->devices, walk->model->device, error);
  if (eager == NULL || !feed (walk, eager, at, gradient, kept, error)
      || !loom_eager_run (eager, FALSE, NULL, NULL, error))
    return NULL;
  return loom_eager_value (eager, column, error);
}

/* ---- the chain -------------------------------------------------------- */

static gboolean
reads (const LoomNetNode *node, const LoomNetSource *source)
{
  for (guint k = 0; k < node->n_inputs; k++)
    if (node->input[k].node == source->node && node->input[k].output == source->output)
      return TRUE;
  return FALSE;
}

/* Adds the products of an output of a reader to the link, and takes the largest as the next element; one that is NaN is
 * the largest. */
static gboolean
add_products (StepWalk *walk, const At *at, const LoomNetSource *output, LoomDerivative *link, At *next, double *most,
              GError **error)
{
  double scale;
  g_autoptr (LoomTensor) gradient = tensor_of (walk, output, TRUE, &scale), column = NULL;
  GError *fault = NULL;

  if (gradient == NULL)
    return TRUE;
  column = column_of (walk, at, output, gradient, &fault);
  if (fault != NULL)
    {
      g_propagate_error (error, fault);
      return FALSE;
    }
  for (gint64 k = 0; column != NULL && k < column->count; k++)
    {
      const double local = loom_tensor_get (column, k), g = loom_tensor_get (gradient, k) * scale;

      if (local == 0)
        continue;
      link->n_terms++;
      link->sum += local * g;
      const double size = isnan (local * g) ? INFINITY : fabs (local * g);
      if (size <= *most)
        continue;
      *most = size;
      *next = (At){ *output, k };
      link->local = local;
      link->gradient = g;
    }
  return TRUE;
}

/* One link. *found: FALSE at the end of the chain. */
static gboolean
follow (StepWalk *walk, At *at, LoomDerivative *link, gboolean *found, GError **error)
{
  const LoomNet *net = walk->plan->net;
  double most = -1;
  At next = *at;

  *link = (LoomDerivative){ 0 };
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      if (!reads (node, &at->source))
        continue;
      link->n_readers++;
      for (guint o = 0; o < node->n_outputs; o++)
        if (!add_products (walk, at, &(LoomNetSource){ i, o }, link, &next, &most, error))
          return FALSE;
    }
  *found = most >= 0;
  if (!*found)
    return TRUE;
  *at = next;
  link->port = loom_net_port_name (net, next.source.node, next.source.output);
  link->element = next.element;
  return TRUE;
}

static gboolean
begin (StepWalk *walk, const char *port, At *at, double *value, double *gradient, GError **error)
{
  const int node = loom_net_find_port (walk->plan->net, port, &at->source.output, error);
  double scale;
  g_autoptr (LoomTensor) t = NULL, g = NULL;

  if (node < 0)
    return FALSE;
  if (walk->loop->log->progress->step + 1 != walk->step)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The run has continued. Take its next step apart.");
      return FALSE;
    }
  at->source.node = (guint)node;
  t = tensor_of (walk, &at->source, FALSE, &scale);
  g = tensor_of (walk, &at->source, TRUE, &scale);
  if (t == NULL || g == NULL || loom_net_node (walk->plan->net, at->source.node)->loop != G_MAXUINT || at->element < 0
      || at->element >= t->count)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT,
                   "“%s” has no gradient at element %" G_GINT64_FORMAT " yet. Compute the backward pass first.", port,
                   at->element);
      return FALSE;
    }
  *value = loom_tensor_get (t, at->element);
  *gradient = loom_tensor_get (g, at->element) * scale;
  return TRUE;
}

GArray *
derivative_chain_new (StepWalk *walk, const char *port, gint64 element, double *value, double *gradient, GError **error)
{
  const LoomNetSource *loss = &walk->model->spec->loss;
  g_autoptr (GArray) chain = g_array_new (FALSE, FALSE, sizeof (LoomDerivative));
  At at = { .element = element };
  gboolean found = TRUE;

  g_array_set_clear_func (chain, clear_derivative);
  if (!begin (walk, port, &at, value, gradient, error))
    return NULL;
  while (found && chain->len < MAX_LINKS && (at.source.node != loss->node || at.source.output != loss->output))
    {
      LoomDerivative link;

      if (!follow (walk, &at, &link, &found, error))
        return NULL;
      if (found)
        g_array_append_val (chain, link);
    }
  return g_steal_pointer (&chain);
}
