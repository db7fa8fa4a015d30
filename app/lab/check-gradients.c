/* `gradloom check GRAPH --gradcheck [NODE]`: compares every node's gradient with central differences, in f64 on `ref`.
 *
 * Each node is checked separately: its inputs and weights are random, its outputs are multiplied by random numbers and
 * summed, and the sum is differentiated by the engine and by finite differences. So the backward formula of an operator
 * or of a user's formula node is checked against its forward formula. With --in the user chooses the points: kinks,
 * borders, or values of one kind only. */
#include "app/lab/check-gradients.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_ELEMENTS 24 /* number of elements of each tensor to vary */
#define STEP         1e-5
#define TOLERANCE    1e-5 /* rounding and curvature errors of finite differences with this step, and a margin */

/* The element of an input or a weight with the largest difference. */
typedef struct
{
  double off;  /* relative difference; NAN: no finite difference */
  char *input; /* “x”, or a weight's name; owned */
  int rank;
  gint64 place[LOOM_MAX_RANK], dim[LOOM_MAX_RANK];
  guint n; /* elements that were compared */
  double gradient, difference;
} Worst;

static void
worst_clear (Worst *w)
{
  g_clear_pointer (&w->input, g_free);
}

static void
point_free (gpointer data)
{
  CheckPoint *point = data;

  g_clear_pointer (&point->tensor, loom_tensor_unref);
  g_free (point->port);
  g_free (point);
}

/* The values of symbols follow from the sizes of the inputs: "2B" of 8 means B = 4. */
static gboolean
bind_point (const LoomShape *shape, const CheckPoint *point, LoomBinding *binding)
{
  for (int i = 0; i < shape->rank && shape->rank == point->tensor->rank; i++)
    {
      const LoomDim *d = &shape->dim[i];

      if (loom_dim_is_unknown (*d) || d->symbol[0] == 0 || d->symbol[1] != 0 || d->coef < 1
          || point->tensor->dim[i] % d->coef != 0)
        continue;
      binding->value[d->symbol[0] - 'A'] = point->tensor->dim[i] / d->coef;
    }
  return TRUE;
}

GPtrArray *
check_points_read (const LoomNet *net, char **in, LoomBinding *binding, GError **error)
{
  g_autoptr (GPtrArray) points = g_ptr_array_new_with_free_func (point_free);

  for (guint i = 0; in != NULL && in[i] != NULL; i++)
    {
      const char *equals = strchr (in[i], '=');
      CheckPoint *point = g_new0 (CheckPoint, 1);
      int node;

      g_ptr_array_add (points, point);
      if (equals == NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--in takes PORT=F.npy, not “%s”.", in[i]);
          return NULL;
        }
      point->port = g_strndup (in[i], (gsize)(equals - in[i]));
      node = loom_net_find_port (net, point->port, &point->output, error);
      if (node < 0)
        return NULL;
      point->node = (guint)node;
      point->tensor = loom_npy_load (equals + 1, error);
      if (point->tensor == NULL)
        {
          g_prefix_error (error, "--in %s: ", point->port);
          return NULL;
        }
      bind_point (&loom_net_node (net, point->node)->output[point->output].shape, point, binding);
    }
  return g_steal_pointer (&points);
}

typedef struct
{
  const LoomNet *net;
  guint node;
  const GPtrArray *points; /* CheckPoint */
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

/* Builds the program of one node, with its wired inputs as inputs. */
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
    if (n->input[i].node != G_MAXUINT && !loom_net_is_weight (p->net, &n->input[i])
        && !loom_net_is_from_body (p->net, p->node, i))
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
      /* Makes weights of any size without a table: the sine of a linear function. */
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

/* Compares the gradient of one tensor. Stops if a finite difference cannot be computed. */
static gboolean
compare (Probe *p, guint output, double *numbers, const LoomTensorDesc *d, const LoomTensor *grad, GRand *rand,
         Worst *worst, GError **error)
{
  gint64 count = loom_desc_count (d);
  double scale = 1;

  worst->off = -1;
  worst->rank = d->rank;
  for (int axis = 0; axis < d->rank; axis++)
    worst->dim[axis] = d->dim[axis];

  for (gint64 i = 0; grad != NULL && i < count; i++)
    scale = MAX (scale, fabs (loom_tensor_get (grad, i)));
  for (gint64 k = 0; k < MIN (count, MAX_ELEMENTS); k++)
    {
      gint64 i = count <= MAX_ELEMENTS ? k : g_rand_int_range (rand, 0, (gint32)MIN (count, G_MAXINT32)), rest = i;
      double was = numbers[i], ours = grad != NULL ? loom_tensor_get (grad, i) : 0, above, below, slope, off;

      numbers[i] = was + STEP;
      above = evaluate (p, output, error);
      numbers[i] = was - STEP;
      below = *error == NULL ? evaluate (p, output, error) : 0;
      numbers[i] = was;
      if (*error != NULL)
        return FALSE;
      slope = (above - below) / (2 * STEP);
      off = fabs (slope - ours) / scale;
      if (isnan (off))
        off = isfinite (above) && isfinite (below) ? INFINITY : NAN;
      worst->n++;
      if (!isnan (off) && off <= worst->off)
        continue;
      worst->off = off;
      worst->gradient = ours;
      worst->difference = slope;
      for (int axis = d->rank - 1; axis >= 0; rest /= d->dim[axis], axis--)
        worst->place[axis] = rest % d->dim[axis];
      if (isnan (off))
        return TRUE;
    }
  return TRUE;
}

/* The name that the node uses for an input of the program. */
static char *
input_name (const LoomNet *net, guint node, const char *source)
{
  const LoomNetNode *n = loom_net_node (net, node);

  for (guint k = 0; k < n->n_inputs; k++)
    {
      g_autofree char *from = NULL;

      if (n->input[k].node == G_MAXUINT || loom_net_is_weight (net, &n->input[k]))
        continue;
      from = loom_net_port_name (net, n->input[k].node, n->input[k].output);
      if (g_str_equal (from, source) && (n->input_spec[0].flags & LOOM_PORT_VARIADIC))
        return g_strdup_printf ("%u", k);
      if (g_str_equal (from, source))
        return g_strdup (n->input_spec[k].name);
    }
  return g_strdup (source);
}

/* The value of --in for this port, in the program's type; NULL without an error if there is none. */
static LoomTensor *
given_point (const Probe *p, const char *source, const LoomTensorDesc *d, GError **error)
{
  for (guint i = 0; p->points != NULL && i < p->points->len; i++)
    {
      CheckPoint *point = p->points->pdata[i];
      g_autofree char *name = loom_net_port_name (p->net, point->node, point->output);
      const LoomTensor *t = point->tensor;

      if (!g_str_equal (name, source))
        continue;
      if (t->rank != d->rank || memcmp (t->dim, d->dim, sizeof d->dim[0] * (gsize)d->rank) != 0)
        {
          g_autofree char *want = loom_desc_to_string (d);

          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                       "--in %s has another shape than the port, whose shape is %s.", point->port, want);
          return NULL;
        }
      point->used = TRUE;
      return loom_tensor_convert (t, d->dtype, !loom_dtype_is_float (t->dtype), error);
    }
  return NULL;
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

/* worst receives a Worst for each input and weight with a gradient. */
static gboolean
check_node (const LoomNet *net, guint node, const GPtrArray *points, gboolean positive, GArray *worst, GError **error)
{
  g_auto (Probe) p = { .net = net, .node = node, .points = points };
  g_autoptr (GArray) values = g_array_new (FALSE, TRUE, sizeof (LoomValue));
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GPtrArray) grad_of = NULL;
  g_autofree LoomValue *grads = NULL;
  g_autoptr (GError) local = NULL;
  LoomValue sum;

  g_array_set_size (worst, 0);
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
  if (!loom_state_add_slots (p.state, p.program, error))
    return FALSE;
  p.eager = loom_eager_new (p.program, p.state, p.devices, "ref", error);
  if (p.eager == NULL)
    return FALSE;
  p.data = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_inputs (p.program); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p.program, i);
      const LoomTensorDesc d = loom_value_info (p.program, input->value)->desc;
      LoomTensor *t = given_point (&p, input->name, &d, &local);

      if (t == NULL && local == NULL && (t = loom_tensor_new (d.dtype, d.rank, d.dim, &local)) != NULL)
        fill (t, positive, rand);
      if (t == NULL)
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      g_ptr_array_add (p.data, t);
      loom_eager_feed (p.eager, i, t->data);
    }
  evaluate (&p, 0, &local);
  grad_of = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0, output = 1; local == NULL && i < wrt->len; i++)
    if (grads[i] != 0)
      {
        /* The next run overwrites the results, so they are copied. */
        g_autoptr (LoomTensor) t = loom_eager_output (p.eager, output++, &local);

        g_ptr_array_add (grad_of, t != NULL ? loom_tensor_convert (t, LOOM_F64, TRUE, &local) : NULL);
      }
  for (guint i = 0, k = 0; local == NULL && i < wrt->len; i++)
    {
      const LoomValueInfo *info = loom_value_info (p.program, g_array_index (wrt, LoomValue, i));
      const LoomTensor *grad = grads[i] != 0 ? grad_of->pdata[k++] : NULL;
      Worst one = { .off = -1 };
      double *numbers
          = info->input >= 0
                ? ((LoomTensor *)p.data->pdata[info->input])->data
                : loom_state_address (
                    p.state,
                    (guint)loom_state_find (p.state, loom_program_get_slot (p.program, (guint)info->slot)->name));

      one.input = info->input >= 0
                      ? input_name (net, node, loom_program_get_input (p.program, (guint)info->input)->name)
                      : g_strdup (loom_program_get_slot (p.program, (guint)info->slot)->name);
      compare (&p, 0, numbers, &info->desc, grad, rand, &one, &local);
      g_array_append_val (worst, one);
      if (isnan (one.off))
        break;
    }
  if (local == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* "[2, 0]". */
static char *
place_text (const Worst *w)
{
  GString *s = g_string_new ("[");

  for (int i = 0; i < w->rank; i++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", w->place[i]);
  return g_string_free (g_string_append_c (s, ']'), FALSE);
}

static void
print_unchecked (const char *path, const char *why, gboolean json)
{
  if (json)
    {
      LoomJson *line = command_event_new ("gradcheck");
      loom_json_string (line, "node", path);
      loom_json_null (line, "difference");
      loom_json_null (line, "agrees");
      loom_json_string (line, "why", why);
      command_event_print (line);
    }
  else
    printf ("%-24s  not checked: %s\n", path, why);
  fflush (stdout);
}

/* JSON has no infinity or NaN: these become null. */
static void
add_worst (LoomJson *line, const Worst *w, gboolean agrees)
{
  loom_json_number_digits (line, "difference", isfinite (w->off) ? w->off : 1e308, 3);
  loom_json_bool (line, "agrees", agrees);
  loom_json_string (line, "input", w->input);
  loom_json_ints (line, "place", w->rank, w->place);
  loom_json_number (line, "gradient", w->gradient);
  loom_json_number (line, "numeric", w->difference);
}

static gboolean
agrees (const Worst *w)
{
  return w->off <= TOLERANCE;
}

static void
print_inputs (const char *path, const GArray *worst, gboolean json)
{
  for (guint i = 0; i < worst->len; i++)
    {
      const Worst *w = &g_array_index (worst, Worst, i);

      if (json)
        {
          LoomJson *line = command_event_new ("gradcheck_input");

          loom_json_string (line, "node", path);
          add_worst (line, w, agrees (w));
          loom_json_ints (line, "shape", w->rank, w->dim);
          loom_json_int (line, "compared", w->n);
          command_event_print (line);
          continue;
        }
      printf ("  %-22s  %8.1e  %s, %u of its elements compared\n", w->input, MAX (w->off, 0),
              agrees (w) ? "agrees" : "differs", w->n);
    }
}

/* The line of a node is about its input with the largest difference. */
static void
print_result (const char *path, const Worst *w, gboolean json)
{
  g_autofree char *place = place_text (w);

  if (json)
    {
      LoomJson *line = command_event_new ("gradcheck");
      loom_json_string (line, "node", path);
      add_worst (line, w, agrees (w));
      command_event_print (line);
      return;
    }
  printf ("%-24s  %8.1e  %s", path, w->off, agrees (w) ? "agrees" : "differs from finite differences");
  if (!agrees (w))
    printf (": %s at %s has the gradient %.9g, but finite differences give %.9g", w->input, place, w->gradient,
            w->difference);
  printf ("\n");
}

/* NULL: no input has a gradient; .off is NAN if one has no finite difference. */
static const Worst *
worst_of (const GArray *inputs)
{
  const Worst *worst = NULL;

  for (guint i = 0; i < inputs->len; i++)
    {
      const Worst *w = &g_array_index (inputs, Worst, i);

      if (isnan (w->off))
        return w;
      if (worst == NULL || w->off > worst->off)
        worst = w;
    }
  return worst;
}

/* TRUE for a wanted node, and for one inside a wanted module. */
static gboolean
is_wanted (const char *path, char *const *only)
{
  if (*only == NULL)
    return TRUE;
  for (; *only != NULL; only++)
    {
      const gsize n = strlen (*only);

      if (strncmp (path, *only, n) == 0 && (path[n] == '\0' || path[n] == '.'))
        return TRUE;
    }
  return FALSE;
}

/* Checks one node and prints the result; FALSE if it differs. */
static gboolean
check_and_print (const LoomNet *net, guint i, char *const *only, const GPtrArray *points, gboolean json)
{
  const char *path = loom_net_node (net, i)->path;
  g_autoptr (GArray) inputs = g_array_new (FALSE, TRUE, sizeof (Worst));
  g_autoptr (GError) error = NULL;
  const Worst *worst;
  gboolean done;

  g_array_set_clear_func (inputs, (GDestroyNotify)worst_clear);
  done = check_node (net, i, points, FALSE, inputs, &error);
  worst = worst_of (inputs);
  /* For random numbers a logarithm may be NaN, and probabilities out of range are refused: then numbers from 0 to 1
   * are tried. */
  if (!done || (worst != NULL && isnan (worst->off)))
    {
      g_autoptr (GError) second = NULL;

      if (check_node (net, i, points, TRUE, inputs, &second))
        {
          g_clear_error (&error);
          done = TRUE;
        }
      else if (error == NULL)
        error = g_steal_pointer (&second);
      worst = worst_of (inputs);
    }
  if (!done || error != NULL)
    print_unchecked (path, error->message, json);
  else if (worst != NULL && isnan (worst->off))
    print_unchecked (path, "it has no finite value for random inputs", json);
  else if (worst != NULL)
    {
      print_result (path, worst, json);
      if (json || *only != NULL)
        print_inputs (path, inputs, json);
      fflush (stdout); /* a reader follows the progress */
      return agrees (worst);
    }
  return TRUE;
}

int
check_gradients (const Command *command, const LoomNet *net, char *const *only, const GPtrArray *points, gboolean json)
{
  gboolean found = FALSE, good = TRUE;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);

      if (!is_wanted (n->path, only) || n->op == NULL || n->op->lower == NULL || n->op->has_effect || n->n_inputs == 0
          || n->loop != G_MAXUINT)
        continue;
      found = TRUE;
      good = check_and_print (net, i, only, points, json) && good;
    }
  if (*only != NULL && !found)
    return command_usage (command, "The graph has no node “%s” with inputs.", only[0]);
  for (guint i = 0; points != NULL && i < points->len; i++)
    if (!((const CheckPoint *)points->pdata[i])->used)
      return command_usage (command, "None of the checked nodes reads “%s”.",
                            ((const CheckPoint *)points->pdata[i])->port);
  return good ? 0 : 1;
}
