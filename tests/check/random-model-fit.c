/* Values of random models: the nodes that make them, and those that bring one into the type of another.
 *
 * Types are known without a net of the whole graph: those of reshapes by themselves, those of operators from a graph of
 * the one node. */
#include "tests/check/random-model-private.h"

#include "engine/net/loom-net.h"

#include <string.h>

#define MOST_ELEMENTS 4096

static const LoomBinding sizes = { .value = { ['B' - 'A'] = 4, ['T' - 'A'] = 5, ['N' - 'A'] = 3 } };

gboolean
maker_chance (Maker *self, double p)
{
  return g_rand_double (self->rand) < p;
}

guint
maker_below (Maker *self, guint n)
{
  return (guint)g_rand_int_range (self->rand, 0, (gint32)n);
}

const char *
maker_one_of (Maker *self, guint n, const char *const *texts)
{
  return texts[maker_below (self, n)];
}

ModelValue *
maker_value (Maker *self, guint v)
{
  return &g_array_index (self->scope->values, ModelValue, v);
}

char *
maker_shape_text (const LoomShape *shape)
{
  return loom_shape_to_attribute (shape);
}

gint64
maker_count (const LoomShape *shape)
{
  gint64 count = 1;

  for (int r = 0; r < shape->rank; r++)
    {
      gint64 n = loom_dim_is_unknown (shape->dim[r]) ? -1 : loom_dim_value (shape->dim[r], &sizes);

      if (n < 0)
        return -1;
      count *= n;
    }
  return count;
}

gboolean
maker_batch_axis (const LoomShape *shape, int *at)
{
  *at = -1;
  for (int r = 0; r < shape->rank; r++)
    if (!loom_dim_is_known (shape->dim[r]))
      {
        if (*at >= 0 || !loom_dim_equal (shape->dim[r], loom_dim_symbol ('B')))
          return FALSE;
        *at = r;
      }
  return TRUE;
}

/* ---- nodes ------------------------------------------------------------ */

char *
maker_add_node (Maker *self, const char *element, const char *attributes)
{
  char *id = g_strdup_printf ("n%u", self->next++);

  g_string_append_printf (self->scope->nodes, "  <node id=\"%s\" %s%s%s/>\n", id, element,
                          *attributes != '\0' ? " " : "", attributes);
  if (self->scope->outer == NULL && strcmp (element, "op=\"linear\"") == 0)
    g_ptr_array_add (self->layers, g_strdup (id));
  return id;
}

void
maker_add_wire (Maker *self, guint from, const char *id, const char *port)
{
  ModelValue *value = maker_value (self, from);

  value->is_used = TRUE;
  g_string_append_printf (self->scope->wires, "  <wire from=\"%s\" to=\"%s%s%s\"/>\n", value->end, id,
                          port != NULL ? "." : "", port != NULL ? port : "");
}

guint
maker_add_value (Maker *self, const char *id, const char *port, const LoomType *type)
{
  ModelValue value = { .end = port != NULL ? g_strdup_printf ("%s.%s", id, port) : g_strdup (id), .type = *type };

  g_array_append_val (self->scope->values, value);
  return self->scope->values->len - 1;
}

static guint
leaf (Maker *self, const char *op, const char *attributes, const LoomType *type)
{
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *id = maker_add_node (self, element, attributes);

  return maker_add_value (self, id, NULL, type);
}

guint
maker_pass (Maker *self, guint v, const char *op, const char *port, const char *attributes, const LoomType *type)
{
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *id = maker_add_node (self, element, attributes);

  maker_add_wire (self, v, id, port);
  return maker_add_value (self, id, NULL, type);
}

/* The types and names of the outputs of one node with inputs of these types, in a graph of its own. FALSE: a fault. */
static gboolean
infer (Maker *self, const char *op, const char *attributes, guint n, const guint *from, const char *const *ports,
       GArray *types, GPtrArray *names)
{
  GString *text = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"one\">");
  g_autofree char *xml = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = NULL;
  int at;

  for (guint i = 0; i < n; i++)
    {
      const LoomType *type = &maker_value (self, from[i])->type;
      g_autofree char *shape = maker_shape_text (&type->shape);

      g_string_append_printf (text, "<node id=\"i%u\" op=\"input\" shape=\"%s\" dtype=\"%s\"/>", i, shape,
                              loom_dtype_name (type->dtype));
    }
  g_string_append_printf (text, "<node id=\"n\" op=\"%s\" %s/>", op, attributes);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "<wire from=\"i%u\" to=\"n.%s\"/>", i, ports[i]);
  g_string_append (text, "</graph>");
  xml = g_string_free (text, FALSE);
  graph = loom_graph_read_data (xml, strlen (xml), "one", faults, NULL);
  net = graph != NULL ? loom_net_new (graph, NULL, faults) : NULL;
  at = net != NULL && loom_faults_count (faults) == 0 ? loom_net_find (net, "n") : -1;
  if (at < 0)
    return FALSE;
  for (guint o = 0; o < loom_net_node (net, (guint)at)->n_outputs; o++)
    {
      const LoomNetNode *node = loom_net_node (net, (guint)at);

      if (maker_count (&node->output[o].shape) > 4 * MOST_ELEMENTS)
        return FALSE;
      g_array_append_val (types, node->output[o]);
      g_ptr_array_add (names, g_strdup (node->output_spec[o].name));
    }
  return TRUE;
}

/* Attributes that any node may have. */
static char *
reserved_attributes (Maker *self, const LoomOp *op)
{
  /* A CPU does not compute in f16. */
  static const char *const types[] = { "f32", "bf16", "f16" }, *const devices[] = { "cpu", "cpu:0", "cpu:1" };
  const guint n_types = strcmp (self->device, "ref") == 0 && !self->places ? 3 : 2;
  GString *text = g_string_new (NULL);

  if (maker_chance (self, 0.08))
    g_string_append (text, " recompute=\"true\"");
  if (self->types && !loom_op_has_param (op, "dtype") && maker_chance (self, 0.2))
    g_string_append_printf (text, " dtype=\"%s\"", maker_one_of (self, n_types, types));
  if (self->places && !self->scope->is_body && maker_chance (self, 0.35))
    g_string_append_printf (text, " device=\"%s\"", maker_one_of (self, G_N_ELEMENTS (devices), devices));
  if (maker_chance (self, 0.03))
    g_string_append (text, " frozen=\"true\"");
  return g_string_free (text, FALSE);
}

gboolean
maker_add (Maker *self, const char *op, const char *attributes, guint n, const guint *from, const char *const *ports)
{
  g_autoptr (GArray) types = g_array_new (FALSE, FALSE, sizeof (LoomType));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *element = g_strdup_printf ("op=\"%s\"", op), *more = NULL, *all = NULL, *id = NULL;

  if (!infer (self, op, attributes, n, from, ports, types, names))
    return FALSE;
  more = reserved_attributes (self, loom_op (op));
  all = g_strconcat (attributes, more, NULL);
  id = maker_add_node (self, element, g_strchug (all));
  for (guint i = 0; i < n; i++)
    maker_add_wire (self, from[i], id, ports[i]);
  for (guint o = 0; o < types->len; o++)
    maker_add_value (self, id, g_ptr_array_index (names, o), &g_array_index (types, LoomType, o));
  return TRUE;
}

/* ---- fitting ---------------------------------------------------------- */

/* The number of elements of a sample, or of all if the shape has no B. */
static gint64
rest_of (const LoomShape *shape)
{
  gint64 count = 1;

  for (int r = 0; r < shape->rank; r++)
    count *= loom_dim_is_known (shape->dim[r]) ? shape->dim[r].coef : 1;
  return count;
}

static LoomShape
with_batch (gboolean has, gint64 n)
{
  return has ? (LoomShape){ .rank = 2, .dim = { loom_dim_symbol ('B'), loom_dim (n) } } : loom_shape (1, &n);
}

static guint
reshape (Maker *self, guint v, const LoomShape *shape)
{
  const LoomType type = { maker_value (self, v)->type.dtype, *shape };
  g_autofree char *text = maker_shape_text (shape);
  /* A tree's rows are not B. */
  const gboolean any = self->scope->is_rows && shape->rank > 0 && !loom_dim_is_known (shape->dim[0]);
  g_autofree char *attributes = g_strdup_printf ("shape=\"%s%s\"", any ? "-1" : "", text + (any ? 1 : 0));

  return loom_shape_equal (&maker_value (self, v)->type.shape, shape)
             ? v
             : maker_pass (self, v, "reshape", "input", attributes, &type);
}

static guint
swap_axes (Maker *self, guint v, int axis)
{
  LoomType type = maker_value (self, v)->type;
  const LoomDim first = type.shape.dim[0];
  g_autofree char *attributes = g_strdup_printf ("dim0=\"0\" dim1=\"%d\"", axis);

  type.shape.dim[0] = type.shape.dim[axis];
  type.shape.dim[axis] = first;
  return maker_pass (self, v, "transpose", "input", attributes, &type);
}

/* One sample, or their mean. */
static guint
drop_batch (Maker *self, guint v)
{
  LoomType type = maker_value (self, v)->type;
  const gboolean means = loom_dtype_is_float (type.dtype) && maker_chance (self, 0.7);

  memmove (type.shape.dim, type.shape.dim + 1, sizeof (LoomDim) * (gsize)(type.shape.rank - 1));
  type.shape.rank--;
  return means ? maker_pass (self, v, "mean", "input", "dim=\"0\"", &type)
               : maker_pass (self, v, "select", "input", "dim=\"0\" index=\"0\"", &type);
}

static guint
convert (Maker *self, guint v, LoomDType dtype)
{
  LoomType type = maker_value (self, v)->type;
  g_autofree char *attributes = g_strdup_printf ("dtype=\"%s\"", loom_dtype_name (dtype));

  if (type.dtype == dtype)
    return v;
  if (type.dtype == LOOM_F32 && !loom_dtype_is_float (dtype) && maker_chance (self, 0.5))
    v = maker_pass (self, v, "expression", "x", "formula=\"floor(2.9*sigmoid(x))\"", &type);
  type.dtype = dtype;
  return maker_pass (self, v, "cast", "input", attributes, &type);
}

int
maker_fit (Maker *self, guint v, const LoomType *to)
{
  const ModelValue *value = maker_value (self, v);
  int at, want;
  gint64 have, wanted;
  LoomShape flat, front = to->shape;

  if (loom_shape_equal (&value->type.shape, &to->shape))
    return (int)convert (self, v, to->dtype);
  if (!maker_batch_axis (&value->type.shape, &at) || !maker_batch_axis (&to->shape, &want) || (want >= 0 && at < 0)
      || (self->scope->is_rows && at >= 0 && want < 0) || rest_of (&value->type.shape) == 0
      || rest_of (&to->shape) == 0)
    return -1;
  if (at > 0)
    v = swap_axes (self, v, at);
  if (at >= 0 && want < 0)
    v = drop_batch (self, v);
  have = rest_of (&maker_value (self, v)->type.shape);
  wanted = rest_of (&to->shape);
  if (have != wanted)
    {
      flat = with_batch (want >= 0, have);
      v = reshape (self, v, &flat);
    }
  if (have < wanted)
    {
      const gint64 times = (wanted + have - 1) / have;
      const LoomType type = { maker_value (self, v)->type.dtype, with_batch (want >= 0, have * times) };
      g_autofree char *attributes
          = g_strdup_printf (want >= 0 ? "dims=\"1,%" G_GINT64_FORMAT "\"" : "dims=\"%" G_GINT64_FORMAT "\"", times);

      v = maker_pass (self, v, "tile", "input", attributes, &type);
      have *= times;
    }
  if (have > wanted)
    {
      const LoomType type = { maker_value (self, v)->type.dtype, with_batch (want >= 0, wanted) };
      g_autofree char *attributes
          = g_strdup_printf ("dim=\"%d\" start=\"%u\" length=\"%" G_GINT64_FORMAT "\"", want >= 0 ? 1 : 0,
                             maker_below (self, (guint)(have - wanted + 1)), wanted);

      v = maker_pass (self, v, "narrow", "input", attributes, &type);
    }
  if (want > 0)
    {
      front.dim[0] = to->shape.dim[want];
      front.dim[want] = to->shape.dim[0];
    }
  v = reshape (self, v, &front);
  if (want > 0)
    v = swap_axes (self, v, want);
  return (int)convert (self, v, to->dtype);
}

int
maker_leaf (Maker *self, const LoomType *type)
{
  g_autofree char *shape = maker_shape_text (&type->shape), *attributes = NULL;
  LoomType drawn = { LOOM_F32, type->shape };
  int at;

  if (!maker_batch_axis (&type->shape, &at) && self->scope->is_rows)
    return -1;
  if (at >= 0 && self->scope->is_rows)
    return -1;
  if (!self->trains && self->scope->outer == NULL && maker_chance (self, 0.8))
    {
      attributes = g_strdup_printf ("shape=\"%s\" dtype=\"%s\"", shape, loom_dtype_name (type->dtype));
      return (int)leaf (self, "input", attributes, type);
    }
  if (!loom_dtype_is_float (type->dtype))
    {
      drawn.dtype = LOOM_I64;
      attributes = g_strdup_printf ("high=\"%d\" shape=\"%s\"", type->dtype == LOOM_BOOL ? 2 : 3, shape);
      return (int)convert (self, leaf (self, "randint", attributes, &drawn), type->dtype);
    }
  attributes = g_strdup_printf ("shape=\"%s\"", shape);
  if (loom_shape_is_concrete (&type->shape) && !self->scope->is_rows && maker_chance (self, 0.7))
    return (int)convert (self, leaf (self, "parameter", attributes, &drawn), type->dtype);
  return (int)convert (self, leaf (self, self->scope->is_rows ? "ones" : "randn", attributes, &drawn), type->dtype);
}

int
maker_pick (Maker *self, LoomDType dtype, gboolean batch)
{
  const guint n = self->scope->values->len;

  for (guint attempt = 0; attempt < 12 && n > 0; attempt++)
    {
      guint i = maker_below (self, n);
      const ModelValue *value;
      int at;

      if (maker_chance (self, 0.6))
        i = MAX (i, maker_below (self, n));
      value = maker_value (self, i);
      if (value->type.dtype == dtype && maker_count (&value->type.shape) > 0
          && maker_count (&value->type.shape) <= MOST_ELEMENTS && maker_batch_axis (&value->type.shape, &at)
          && (!batch || at == 0))
        return (int)i;
    }
  return -1;
}

int
maker_unread (Maker *self)
{
  for (guint i = self->scope->values->len; i > 0; i--)
    {
      const ModelValue *value = maker_value (self, i - 1);

      if (!value->is_used && maker_count (&value->type.shape) > 0)
        return (int)(i - 1);
    }
  return -1;
}

int
maker_input (Maker *self, const LoomType *type)
{
  int at, v = -1;
  const gboolean batch = maker_batch_axis (&type->shape, &at) && at >= 0;

  for (guint attempt = 0; attempt < 2 && v < 0 && maker_chance (self, 0.9); attempt++)
    {
      const gboolean exact = maker_chance (self, loom_dtype_is_float (type->dtype) ? 0.9 : 0.5);
      int from = maker_pick (self, exact ? type->dtype : LOOM_F32, batch);

      v = from >= 0 ? maker_fit (self, (guint)from, type) : -1;
    }
  if (v < 0)
    v = maker_leaf (self, type);
  for (guint i = 0; i < self->scope->values->len && v < 0; i++)
    v = maker_fit (self, i, type);
  return v;
}
