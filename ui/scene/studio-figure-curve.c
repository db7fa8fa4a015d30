/* Computes the curves of activations with the operators themselves.
 *
 * A graph of an input and the operator runs on the reference device, so that a new operator gets its curve without code
 * here. That takes one or two milliseconds, once per operator and parameters. */
#include "ui/scene/studio-figure.h"

#include <math.h>
#include <string.h>

enum
{
  POINTS = 65,
  CHECKED = 33 /* every second of them */
};
#define REACH  3.0 /* from -REACH to REACH */
#define DEVICE "ref"

/* The operator whose value comes from outside, and its parameter for the shape. */
static const LoomOp *
given_op (const char **shape)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    if ((*op)->role == LOOM_ROLE_INPUT)
      for (const LoomParamSpec *p = (*op)->params; p != NULL && p->name != NULL; p++)
        if (p->type == LOOM_PARAM_SHAPE)
          {
            *shape = p->name;
            return *op;
          }
  return NULL;
}

static gboolean
takes_one_input (const LoomOp *op)
{
  guint n = 0;

  for (const LoomPortSpec *p = op->inputs; p != NULL && p->name != NULL; p++)
    n += (p->flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)) == 0;
  return n == 1 && op->lower != NULL && (op->inputs[0].flags & LOOM_PORT_VARIADIC) == 0;
}

/* Parameters as they are written, but for those that only a module's instance knows. */
static const char *
param_text (const LoomElement *node, const LoomParamSpec *p)
{
  const char *text = node != NULL ? loom_element_get (node, p->name) : NULL;

  return text != NULL && strchr (text, '{') == NULL ? text : NULL;
}

static void
append (LoomGraph *graph, LoomElement *e)
{
  LoomElement *root = loom_graph_root (graph);

  loom_edit_free (
      loom_graph_apply (graph, loom_edit_insert (root, loom_element_place_for (root, loom_element_tag (e)), e)));
}

static LoomGraph *
graph_new (const LoomOp *op, const LoomElement *node, guint n)
{
  const char *shape_name;
  const LoomOp *given = given_op (&shape_name);
  g_autofree char *shape = g_strdup_printf ("%u", n);
  LoomGraph *graph = loom_graph_new (NULL);
  LoomElement *e;

  if (given == NULL)
    return graph;
  append (graph, loom_element_new (LOOM_TAG_NODE, "id", "x", "op", given->name, shape_name, shape, NULL));
  e = loom_element_new (LOOM_TAG_NODE, "id", "f", "op", op->name, NULL);
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (param_text (node, p) != NULL)
      loom_element_set_detached (e, p->name, param_text (node, p));
  append (graph, e);
  append (graph, loom_element_new (LOOM_TAG_WIRE, "from", "x", "to", "f", NULL));
  return graph;
}

/* f of n numbers; NULL where it does not give one number for each. */
static LoomTensor *
evaluate (const LoomOp *op, const LoomElement *node, const float *x, guint n)
{
  g_autoptr (LoomGraph) graph = graph_new (op, node, n);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomProgram) program = NULL;
  g_autoptr (LoomDevices) devices = NULL;
  g_autoptr (LoomState) state = NULL;
  g_autoptr (LoomEager) eager = NULL;
  LoomNetSource wanted = { 0, 0 };
  LoomLowerOptions options = { .float_dtype = LOOM_F32, .n_wanted = 1, .wanted = &wanted };
  LoomValue value;
  LoomTensor *y;
  int f = loom_net_find (net, "f");

  if (loom_faults_count (faults) > 0 || f < 0 || loom_net_node (net, (guint)f)->n_outputs != 1)
    return NULL;
  wanted.node = (guint)f;
  program = loom_lower (net, &options, &value, NULL);
  if (program == NULL || loom_program_n_inputs (program) != 1)
    return NULL;
  devices = loom_devices_new (1);
  state = loom_state_new (devices, DEVICE, 1);
  if (!loom_state_add_slots (state, program, NULL))
    return NULL;
  eager = loom_eager_new (program, state, devices, DEVICE, NULL);
  if (eager == NULL)
    return NULL;
  loom_eager_feed (eager, 0, x);
  if (!loom_eager_run (eager, FALSE, NULL, NULL, NULL))
    return NULL;
  y = loom_eager_value (eager, value, NULL);
  if (y != NULL && (y->count != n || y->dtype != LOOM_F32))
    g_clear_pointer (&y, loom_tensor_unref);
  return y;
}

static StudioFigure *
make (const LoomOp *op, const LoomElement *node)
{
  float x[POINTS], some[CHECKED];
  g_autoptr (LoomTensor) y = NULL, check = NULL;
  StudioFigure *figure;

  if (!takes_one_input (op))
    return NULL;
  for (guint i = 0; i < POINTS; i++)
    x[i] = (float)(REACH * (2.0 * i / (POINTS - 1) - 1));
  for (guint i = 0; i < CHECKED; i++)
    some[i] = x[2 * i];
  y = evaluate (op, node, x, POINTS);
  check = y != NULL ? evaluate (op, node, some, CHECKED) : NULL;
  if (check == NULL)
    return NULL;
  /* A value that depends on its neighbours is no curve. */
  for (guint i = 0; i < CHECKED; i++)
    if (!(fabs (loom_tensor_get (y, 2 * i) - loom_tensor_get (check, i)) < 1e-5))
      return NULL;
  figure = studio_figure_new (STUDIO_FIGURE_CURVE);
  figure->n_points = POINTS;
  figure->point = g_new0 (StudioFigurePoint, POINTS);
  figure->x0 = -REACH;
  figure->x1 = REACH;
  for (guint i = 0; i < POINTS; i++)
    {
      figure->point[i] = (StudioFigurePoint){ x[i], (float)loom_tensor_get (y, i), 0 };
      figure->y0 = i == 0 ? figure->point[i].y : MIN (figure->y0, figure->point[i].y);
      figure->y1 = i == 0 ? figure->point[i].y : MAX (figure->y1, figure->point[i].y);
    }
  return figure;
}

double
studio_figure_curve_at (const StudioFigure *curve, double x)
{
  for (guint i = 1; i < curve->n_points; i++)
    {
      const StudioFigurePoint *a = &curve->point[i - 1], *b = &curve->point[i];

      if (x <= b->x)
        return a->y + (b->y - a->y) * (x - a->x) / (b->x - a->x);
    }
  return NAN;
}

#define MAX_KEPT 256

StudioFigure *
studio_figure_curve (const LoomOp *op, const LoomElement *node)
{
  static GHashTable *kept; /* operator and parameters → figure, or NULL */
  g_autoptr (GString) key = NULL;
  gpointer found;

  if (op == NULL || op->category != LOOM_CATEGORY_ACTIVATIONS)
    return NULL;
  if (kept == NULL)
    kept = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)studio_figure_unref);
  key = g_string_new (op->name);
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (param_text (node, p) != NULL)
      g_string_append_printf (key, " %s=%s", p->name, param_text (node, p));
  if (!g_hash_table_lookup_extended (kept, key->str, NULL, &found))
    {
      /* While a number is dragged every value on the way is another key. */
      if (g_hash_table_size (kept) >= MAX_KEPT)
        g_hash_table_remove_all (kept);
      found = make (op, node);
      g_hash_table_insert (kept, g_strdup (key->str), found);
    }
  return found != NULL ? studio_figure_ref (found) : NULL;
}
