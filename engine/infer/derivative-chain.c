/* The chain of local derivatives of one number; see the header. */
#include "engine/infer/derivative-chain.h"

#include "engine/core/loom-refuse.h"
#include "engine/program/loom-gradient-port.h"

#include <math.h>
#include <string.h>

#define SEED      "chain.seed" /* inputs of the program of a node */
#define UNIT      "chain.unit"
#define MAX_LINKS 1000

/* An element of an output of the net, or of a weight; in a loop of its values in all iterations. */
typedef struct
{
  LoomNetSource source;
  const LoomNetWeight *weight; /* instead of the source, only at the beginning; NULL: an output */
  gint64 element;
  gboolean is_inside; /* of a loop */
  double value;       /* in a loop, after the first link */
} At;

static LoomTensor *
gradient_of (const DerivativeStep *step, const LoomNetSource *source, double *scale)
{
  g_autofree char *port = loom_net_port_name (step->net, source->node, source->output);
  g_autofree char *name = g_strconcat (LOOM_PORT_GRADIENT, port, NULL);

  return step->port (step->data, name, scale, NULL);
}

static void
clear_derivative (gpointer data)
{
  LoomDerivative *d = data;

  for (guint i = 0; i < d->n_listed; i++)
    g_free (d->term[i].port);
}

/* The node itself, or the outermost loop around it. */
static guint
outermost (const LoomNet *net, guint node)
{
  while (loom_net_node (net, node)->loop != G_MAXUINT)
    node = loom_net_node (net, node)->loop;
  return node;
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

static gboolean
is_given (const LoomLowerOptions *options, const LoomNetSource *source)
{
  for (guint i = 0; i < options->n_given; i++)
    if (options->given[i].node == source->node && options->given[i].output == source->output)
      return TRUE;
  return FALSE;
}

/* What a node, or the body of its loop, reads from outside. */
static void
add_given (const LoomNet *net, guint node, LoomLowerOptions *options, LoomNetSource *given)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; outermost (net, i) == node && k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (net, i)->input[k];

        if (source->node != G_MAXUINT && outermost (net, source->node) != node && !loom_net_is_weight (net, source)
            && !is_given (options, source))
          given[options->n_given++] = *source;
      }
}

/* The program of one output of a node, whose inputs are given. inside: NULL, or a port in its loop, whose values in all
 * iterations are y[1], and x what is added to them. */
static LoomProgram *
lower_node (const DerivativeStep *step, const LoomNetSource *output, const LoomNetSource *inside, LoomValue y[2],
            LoomValue *x, GError **error)
{
  const LoomNet *net = step->net;
  const LoomNetSource wanted[] = { *output, inside != NULL ? *inside : *output };
  LoomValue probe[2] = { 0 };
  LoomLowerOptions options = step->options;
  g_autofree LoomNetSource *given = NULL;
  LoomProgram *p;
  guint n = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    n += loom_net_node (net, i)->n_inputs;
  options.wanted = wanted;
  options.n_wanted = inside != NULL ? 2 : 1;
  options.given = given = g_new0 (LoomNetSource, n + 1);
  add_given (net, output->node, &options, given);
  options.allow_untrainable = TRUE;
  if (inside != NULL)
    options.probe_of = probe;
  p = loom_lower (net, &options, y, error);
  *x = probe[1];
  return p;
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

static LoomTensor *
new_like (const LoomProgram *p, LoomValue value, GError **error)
{
  const LoomTensorDesc *d = &loom_value_info (p, value)->desc;

  return loom_tensor_new (d->dtype, d->rank, (const gint64 *)d->dim, error);
}

/* Feeds the inputs of the program: values of the step, the gradient of y, and the unit vector of an element of x. */
static gboolean
feed (const DerivativeStep *step, LoomEager *eager, const At *at, const LoomTensor *gradient, GPtrArray *kept,
      GError **error)
{
  LoomProgram *p = loom_eager_program (eager);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);
      double scale;
      LoomTensor *t;

      if (g_str_equal (input->name, SEED))
        t = loom_tensor_ref ((LoomTensor *)gradient);
      else if (g_str_equal (input->name, UNIT))
        {
          t = new_like (p, input->value, error);
          for (gint64 k = 0; t != NULL && k < t->count; k++)
            loom_tensor_set (t, k, k == at->element);
        }
      else
        t = step->port (step->data, input->name, &scale, error);
      if (t == NULL)
        return FALSE;
      g_ptr_array_add (kept, t);
      loom_eager_feed (eager, i, t->data);
    }
  return TRUE;
}

static gboolean
take_value (LoomEager *eager, LoomValue values, At *at, GError **error)
{
  g_autoptr (LoomTensor) t = loom_eager_value (eager, values, error);

  if (t == NULL)
    return FALSE;
  if (at->element < 0 || at->element >= t->count)
    return loom_refuse (error, LOOM_ERROR_PORT, "It has elements from 0 to %" G_GINT64_FORMAT ".", t->count - 1);
  at->value = loom_tensor_get (t, at->element);
  return TRUE;
}

/* The value of the element's tensor in the program of a reader, which a loop has as its own; 0: it does not read it. */
static LoomValue
find_own (const DerivativeStep *step, LoomProgram *p, const At *at)
{
  g_autofree char *name = NULL;
  int slot;

  if (at->weight != NULL)
    {
      slot = loom_program_find_slot (p, at->weight->name);
      return slot >= 0 ? loom_program_read (p, slot) : 0;
    }
  name = loom_net_port_name (step->net, at->source.node, at->source.output);
  return find_input (p, name);
}

/* The derivatives of all elements of an output with respect to the element. NULL without error: none depends on it. */
static LoomTensor *
column_of (const DerivativeStep *step, At *at, const LoomNetSource *output, const LoomTensor *gradient, GError **error)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomValue y[2], column, x;
  g_autoptr (LoomProgram) p = lower_node (step, output, at->is_inside ? &at->source : NULL, y, &x, error);
  g_autoptr (LoomEager) eager = NULL;

  if (p == NULL)
    return NULL;
  if (!at->is_inside)
    x = find_own (step, p, at);
  if (x == 0 || !append_column (p, y[0], x, &column, error) || column == 0)
    return NULL;
  eager = loom_eager_new (p, step->state, step->devices, step->device, error);
  if (eager == NULL || !feed (step, eager, at, gradient, kept, error)
      || !loom_eager_run (eager, FALSE, NULL, NULL, error) || (at->is_inside && !take_value (eager, y[1], at, error)))
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

/* The size by which terms are ordered: one that is NaN is the largest. */
static double
size_of (double product)
{
  return isnan (product) ? INFINITY : fabs (product);
}

/* Lists a term among the largest ones; of equal ones the first. */
static void
list_term (const LoomNet *net, LoomDerivative *link, const LoomNetSource *output, gint64 element, double local,
           double gradient)
{
  LoomDerivativeTerm *term = link->term;
  guint i = link->n_listed;

  while (i > 0 && size_of (local * gradient) > size_of (term[i - 1].local * term[i - 1].gradient))
    i--;
  if (i == LOOM_DERIVATIVE_TERMS)
    return;
  if (link->n_listed == LOOM_DERIVATIVE_TERMS)
    g_free (term[--link->n_listed].port);
  memmove (term + i + 1, term + i, (link->n_listed++ - i) * sizeof *term);
  term[i] = (LoomDerivativeTerm){ loom_net_port_name (net, output->node, output->output), element, local, gradient };
}

/* Adds the products of an output of a reader to the link. */
static gboolean
add_products (const DerivativeStep *step, At *at, const LoomNetSource *output, LoomDerivative *link, GError **error)
{
  double scale;
  g_autoptr (LoomTensor) gradient = gradient_of (step, output, &scale), column = NULL;
  GError *fault = NULL;

  if (gradient == NULL)
    return TRUE;
  column = column_of (step, at, output, gradient, &fault);
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
      link->size += fabs (local * g);
      list_term (step->net, link, output, k, local, g);
    }
  return TRUE;
}

/* A node computes with a weight that it declares, or that a wire brings from another node. */
static gboolean
uses (const LoomNet *net, guint node, const LoomNetWeight *weight)
{
  const LoomNetNode *n = loom_net_node (net, node);
  const guint n_weights = n->op != NULL ? loom_op_count_weights (n->op) : 0;
  int found = -1;

  for (guint k = 0; k < n_weights && (found < 0 || loom_net_weight (net, (guint)found) != weight); k++)
    found = loom_net_find_weight (net, node, loom_op_weight_name (n->op, k));
  for (guint k = 0; k < n->n_inputs && (found < 0 || loom_net_weight (net, (guint)found) != weight); k++)
    if (n->input[k].node != G_MAXUINT && loom_net_is_weight (net, &n->input[k]))
      found = loom_net_source_weight (net, &n->input[k]);
  return found >= 0 && loom_net_weight (net, (guint)found) == weight;
}

/* From inside a loop, its results are the readers; else nodes that read it, and loops whose bodies do. */
static gboolean *
readers_of (const LoomNet *net, const At *at)
{
  gboolean *reader = g_new0 (gboolean, loom_net_n_nodes (net) + 1);

  for (guint i = 0; !at->is_inside && i < loom_net_n_nodes (net); i++)
    if (at->weight != NULL ? uses (net, i, at->weight) : reads (loom_net_node (net, i), &at->source))
      reader[outermost (net, i)] = TRUE;
  if (at->is_inside)
    reader[outermost (net, at->source.node)] = TRUE;
  return reader;
}

/* One link. *found: FALSE at the end of the chain. */
static gboolean
follow (const DerivativeStep *step, At *at, LoomDerivative *link, gboolean *found, GError **error)
{
  const LoomNet *net = step->net;
  g_autofree gboolean *reader = readers_of (net, at);

  *link = (LoomDerivative){ 0 };
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      link->n_readers += reader[i];
      for (guint o = 0; reader[i] && o < loom_net_node (net, i)->n_outputs; o++)
        if (!add_products (step, at, &(LoomNetSource){ i, o }, link, error))
          {
            clear_derivative (link);
            return FALSE;
          }
    }
  *found = link->n_listed > 0;
  if (!*found)
    return TRUE;
  at->source.node = (guint)loom_net_find_port (net, link->term[0].port, &at->source.output, NULL);
  at->element = link->term[0].element;
  at->weight = NULL;
  at->is_inside = FALSE;
  return TRUE;
}

static gboolean
refuse (const char *port, gint64 element, GError **error)
{
  return loom_refuse (error, LOOM_ERROR_PORT,
                      "“%s” has no gradient at element %" G_GINT64_FORMAT " yet. Compute the backward pass first.",
                      port, element);
}

/* Weights that are not trained have no gradient, which would be the end of the chain. */
static gboolean
find_start (const DerivativeStep *step, const char *port, At *at, GError **error)
{
  const LoomNet *net = step->net;
  const LoomProgram *p = step->program;
  int found;

  /* The output of a parameter has the name of its weight. */
  found = loom_net_find_port (net, port, &at->source.output, NULL);
  at->weight = found < 0 || at->source.output >= loom_net_node (net, (guint)found)->n_outputs
                   ? loom_net_weight_named (net, port)
                   : NULL;
  if (at->weight != NULL)
    {
      found = loom_program_find_slot (p, port);
      if (found >= 0 && step->trains (step->data, found))
        return TRUE;
      return loom_refuse (error, LOOM_ERROR_PORT, "“%s” is not trained, so it has no gradient.", port);
    }
  found = loom_net_find_port (net, port, &at->source.output, error);
  if (found < 0)
    return FALSE;
  at->source.node = (guint)found;
  at->is_inside = loom_net_node (net, at->source.node)->loop != G_MAXUINT;
  return TRUE;
}

/* A weight as it was before the step. */
static LoomTensor *
value_of (const DerivativeStep *step, const char *port, const At *at)
{
  const LoomProgram *p = step->program;
  double scale;

  if (at->weight == NULL)
    return step->port (step->data, port, &scale, NULL);
  return loom_eager_value (step->eager, loom_program_get_slot (p, (guint)loom_program_find_slot (p, port))->read, NULL);
}

static gboolean
begin (const DerivativeStep *step, const char *port, At *at, double *value, double *gradient, GError **error)
{
  g_autofree char *gradient_port = g_strconcat (LOOM_PORT_GRADIENT, port, NULL);
  double scale;
  g_autoptr (LoomTensor) t = NULL, g = NULL;

  if (!find_start (step, port, at, error))
    return FALSE;
  if (at->is_inside)
    return TRUE;
  t = value_of (step, port, at);
  g = step->port (step->data, gradient_port, &scale, NULL);
  if (t == NULL || g == NULL || at->element < 0 || at->element >= t->count)
    return refuse (port, at->element, error);
  *value = loom_tensor_get (t, at->element);
  *gradient = loom_tensor_get (g, at->element) * scale;
  return TRUE;
}

GArray *
derivative_chain_new (const DerivativeStep *step, const char *port, gint64 element, double *value, double *gradient,
                      GError **error)
{
  const LoomNetSource *loss = &step->loss;
  g_autoptr (GArray) chain = g_array_new (FALSE, FALSE, sizeof (LoomDerivative));
  At at = { .element = element };
  gboolean found = TRUE;

  g_array_set_clear_func (chain, clear_derivative);
  if (!begin (step, port, &at, value, gradient, error))
    return NULL;
  while (found && chain->len < MAX_LINKS
         && (at.weight != NULL || at.source.node != loss->node || at.source.output != loss->output))
    {
      const gboolean was_inside = at.is_inside;
      LoomDerivative link;

      if (!follow (step, &at, &link, &found, error))
        return NULL;
      if (was_inside && !found)
        {
          refuse (port, element, error);
          return NULL;
        }
      if (was_inside)
        {
          *value = at.value;
          *gradient = link.sum;
        }
      if (found)
        g_array_append_val (chain, link);
    }
  return g_steal_pointer (&chain);
}
