/* Quick fixes for faults. Each is tried on the faulty node alone, with the types of its inputs (see loom-fit.h), so
 * that a fault costs the same in a graph of ten nodes and of ten thousand. */
#include "engine/fix/fix-private.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PADDING 4

void
loom_fix_free (LoomFix *fix)
{
  g_free (fix->label);
  g_free (fix->preview);
  g_free (fix->port);
  g_free (fix->value);
  g_free (fix->op);
  g_free (fix->output);
  g_free (fix);
}

LoomFix *
loom_fix_new (LoomFixKind kind, guint64 node, const char *port)
{
  LoomFix *fix = g_new0 (LoomFix, 1);

  fix->kind = kind;
  fix->node = node;
  fix->port = g_strdup (port);
  return fix;
}

LoomFix *
fix_add (const FixSearch *search, LoomFixKind kind, const char *port)
{
  LoomFix *fix = loom_fix_new (kind, search->serial, port);

  g_ptr_array_add (search->fixes, fix);
  return fix;
}

static const LoomType *
source_type (const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *from = source->node != G_MAXUINT ? loom_net_node (net, source->node) : NULL;

  return from != NULL && from->typed && source->output < from->n_outputs ? &from->output[source->output] : NULL;
}

static const char *
input_name (const LoomNetNode *node, guint i, char number[12])
{
  if ((node->input_spec[0].flags & LOOM_PORT_VARIADIC) == 0)
    return node->input_spec[i].name;
  g_snprintf (number, 12, "%u", i);
  return number;
}

/* ---- a node on the wire ------------------------------------------------------- */

LoomElement *
fix_node (const LoomOp *op, const char *id, const char *attributes)
{
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", id, "op", op->name, NULL);
  g_auto (GStrv) parts = g_strsplit (attributes, " ", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char *equals = strchr (parts[i], '=');

      if (equals == NULL)
        continue;
      *equals = '\0';
      loom_element_set_detached (node, parts[i], equals + 1);
    }
  return node;
}

/* TRUE if the faulty node accepts the output of this one. */
static gboolean
try_adapter (const FixSearch *search, const LoomOp *op, const char *attributes, guint at, char **preview)
{
  g_autoptr (LoomElement) node = fix_node (op, "n", attributes);
  const LoomType *type[FIX_MOST_INPUTS];
  LoomFitAnswer made, taken = { .fit = LOOM_FIT_NOT };

  memcpy (type, search->type, sizeof type);
  loom_fit_infer (node, &type[at], 1, &made);
  if (made.fit == LOOM_FIT_WELL && made.n_outputs > 0)
    {
      type[at] = &made.output[0];
      loom_fit_infer (search->node->element, type, search->n, &taken);
    }
  if (taken.fit == LOOM_FIT_WELL)
    {
      g_autofree char *before = loom_shape_to_string (&search->type[at]->shape);
      g_autofree char *after = loom_shape_to_string (&made.output[0].shape);
      const char *from = loom_dtype_name (search->type[at]->dtype), *to = loom_dtype_name (made.output[0].dtype);

      *preview = strcmp (from, to) != 0 ? g_strdup_printf ("%s %s → %s → %s %s", from, before, op->name, to, after)
                                        : g_strdup_printf ("%s → %s → %s", before, op->name, after);
    }
  loom_fit_answer_clear (&made);
  loom_fit_answer_clear (&taken);
  return taken.fit == LOOM_FIT_WELL;
}

static gboolean
learns (const LoomOp *op)
{
  return loom_op_count_weights (op) > 0;
}

static void
try_op (const FixSearch *search, const LoomOp *op, guint at)
{
  const LoomType *others[FIX_MOST_INPUTS];
  g_auto (GStrv) attributes = NULL;
  char number[12];
  guint n = 0;

  for (guint i = 0; i < search->n; i++)
    if (i != at && search->type[i] != NULL)
      others[n++] = search->type[i];
  attributes = op->adapt (search->type[at], others, n);
  for (guint i = 0; attributes[i] != NULL && search->fixes->len < FIX_MOST; i++)
    {
      g_autofree char *preview = NULL;
      LoomFix *fix;

      if (!try_adapter (search, op, attributes[i], at, &preview))
        continue;
      fix = fix_add (search, LOOM_FIX_INSERT, input_name (search->node, at, number));
      fix->op = g_strdup (op->name);
      fix->value = g_strdup (attributes[i]);
      fix->label = g_strdup_printf (_ ("Insert %s"), op->name);
      fix->preview = g_steal_pointer (&preview);
      /* One fix of each kind: buttons that differ only in a number are not useful. */
      return;
    }
}

/* Operators that only move numbers come before those with new weights. */
static void
try_adapters (const FixSearch *search)
{
  for (guint round = 0; round < 2; round++)
    for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
      {
        guint before = search->fixes->len;

        if ((*op)->adapt == NULL || learns (*op) != (round == 1))
          continue;
        for (guint i = 0; i < search->n && search->fixes->len == before && before < FIX_MOST; i++)
          if (search->type[i] != NULL)
            try_op (search, *op, i);
      }
}

/* ---- another value ---------------------------------------------------------------- */

/* The node with its expressions evaluated, because alone it does not have its module's arguments. */
static LoomElement *
copy_plain (const FixSearch *search)
{
  LoomElement *copy = loom_element_copy (search->node->element);
  int at = loom_net_find (search->net, search->node->path);

  for (guint i = 0; at >= 0 && i < loom_element_n_attributes (search->node->element); i++)
    {
      const char *name, *text, *value;

      loom_element_attribute (search->node->element, i, &name, &text);
      value = loom_expr_is (text) ? loom_infer_attribute (loom_net_infer (search->net, (guint)at), name) : NULL;
      if (value != NULL)
        loom_element_set_detached (copy, name, value);
    }
  return copy;
}

static gboolean
try_value (const FixSearch *search, const LoomParamSpec *param, int value)
{
  g_autoptr (LoomElement) node = copy_plain (search);
  g_autofree char *text = g_strdup_printf ("%d", value), *shape = NULL;
  const char *now = loom_element_get (search->node->element, param->name);
  LoomFitAnswer answer;
  LoomFix *fix;

  loom_element_set_detached (node, param->name, text);
  loom_fit_infer (node, search->type, search->n, &answer);
  loom_fit_answer_clear (&answer);
  if (answer.fit != LOOM_FIT_WELL || answer.n_outputs == 0)
    return FALSE;
  shape = loom_shape_to_string (&answer.output[0].shape);
  fix = fix_add (search, LOOM_FIX_SET, param->name);
  fix->node = search->node->serial;
  fix->value = g_strdup (text);
  fix->label = g_strdup_printf (_ ("Set %s to %s"), param->name, text);
  fix->preview = g_strdup_printf (_ ("%s %s → %s results in %s"), param->name,
                                  now != NULL          ? now
                                  : param->def != NULL ? param->def
                                                       : "",
                                  text, shape);
  return TRUE;
}

/* If a window is too large, it can be made smaller, or the padding larger. */
static void
try_values (const FixSearch *search)
{
  const LoomParamSpec *params = loom_op_params (search->node->op, search->node->element);

  for (const LoomParamSpec *p = params; p != NULL && p->name != NULL && search->fixes->len < FIX_MOST; p++)
    {
      const char *text = loom_element_get (search->node->element, p->name);
      int now = text != NULL ? atoi (text) : 0;

      if (loom_expr_is (text != NULL ? text : ""))
        continue;
      gboolean whole = p->type == LOOM_PARAM_INT || p->type == LOOM_PARAM_INTS;

      if (whole && g_strcmp0 (p->name, search->fault->port) == 0)
        for (int value = MIN (now, 1024) - 1; value >= MAX (1, (int)p->minimum) && !try_value (search, p, value);
             value--)
          ;
      /* Padding is a number, or a word for one. */
      else if (g_strcmp0 (p->def, "0") == 0 && p->choices == NULL
               && (whole ? p->minimum == 0 && p->maximum > 0 : p->type == LOOM_PARAM_STRING))
        for (int value = now + 1; value <= now + 8 && !try_value (search, p, value); value++)
          ;
    }
}

/* TRUE if two nodes are in the same scope, so that a wire can connect them. */
static gboolean
same_scope (const LoomNetNode *a, const LoomNetNode *b)
{
  const char *p = strrchr (a->path, '.'), *q = strrchr (b->path, '.');
  gsize n = p != NULL ? (gsize)(p - a->path) : 0, m = q != NULL ? (gsize)(q - b->path) : 0;

  return n == m && strncmp (a->path, b->path, n) == 0
         && loom_element_parent (a->element) == loom_element_parent (b->element);
}

/* ---- a value of the node before ----------------------------------------------------- */

/* TRUE if the attribute's value leaves fewer faults in the whole graph: other nodes read the output, too. */
static gboolean
helps_everywhere (const FixSearch *search, guint64 serial, const char *name, const char *value)
{
  g_autoptr (LoomGraph) copy = loom_graph_copy (search->graph);
  g_autoptr (LoomFaults) before = loom_faults_new (), after = loom_faults_new ();
  g_autoptr (LoomNet) was = loom_net_new (copy, NULL, before), becomes = NULL;
  LoomElement *element = loom_graph_by_serial (copy, serial);

  if (element == NULL)
    return FALSE;
  loom_edit_free (loom_graph_apply (copy, loom_edit_set (element, name, value)));
  becomes = loom_net_renew (g_steal_pointer (&was), copy, after);
  return loom_faults_count (after) < loom_faults_count (before);
}

/* Tries a padding of the node before an input: two branches that are combined have the same size if none shrinks. */
static gboolean
try_padding_before (const FixSearch *search, guint at, const LoomParamSpec *param, int value)
{
  const LoomNetNode *from = loom_net_node (search->net, search->node->input[at].node);
  const char *now = loom_element_get (from->element, param->name);
  g_autoptr (LoomElement) node = loom_element_copy (from->element);
  g_autofree char *text = g_strdup_printf ("%d", value), *before = NULL, *after = NULL;
  const LoomType *input[FIX_MOST_INPUTS], *type[FIX_MOST_INPUTS];
  const guint n = MIN (from->n_inputs, FIX_MOST_INPUTS);
  LoomFitAnswer made, taken = { .fit = LOOM_FIT_NOT };
  gboolean fits;
  LoomFix *fix;

  for (guint i = 0; i < n; i++)
    input[i] = source_type (search->net, &from->input[i]);
  memcpy (type, search->type, sizeof type);
  loom_element_set_detached (node, param->name, text);
  loom_fit_infer (node, input, n, &made);
  if (made.fit == LOOM_FIT_WELL && made.n_outputs > search->node->input[at].output)
    {
      type[at] = &made.output[search->node->input[at].output];
      loom_fit_infer (search->node->element, type, search->n, &taken);
      before = loom_shape_to_string (&search->type[at]->shape);
      after = loom_shape_to_string (&type[at]->shape);
    }
  fits = taken.fit == LOOM_FIT_WELL && helps_everywhere (search, from->serial, param->name, text);
  if (fits)
    {
      fix = fix_add (search, LOOM_FIX_SET, param->name);
      fix->node = from->serial;
      fix->value = g_strdup (text);
      /* Translators: a parameter, a layer, and a value. */
      fix->label
          = g_strdup_printf (_ ("Set %1$s of %2$s to %3$s"), param->name, loom_element_get (from->element, "id"), text);
      fix->preview = g_strdup_printf ("%s %s → %s: %s → %s", param->name, now != NULL ? now : "0", text, before, after);
    }
  loom_fit_answer_clear (&made);
  loom_fit_answer_clear (&taken);
  return fits;
}

static const LoomParamSpec *
find_param (const LoomNetNode *node, const char *name)
{
  for (const LoomParamSpec *p = loom_op_params (node->op, node->element); p != NULL && p->name != NULL; p++)
    if (g_str_equal (p->name, name))
      return p;
  return NULL;
}

static void
try_padding (const FixSearch *search)
{
  for (guint i = 0; i < search->n && search->n > 1 && search->fixes->len < FIX_MOST; i++)
    {
      const LoomNetNode *from
          = search->type[i] != NULL ? loom_net_node (search->net, search->node->input[i].node) : NULL;
      const LoomParamSpec *param
          = from != NULL && from->op != NULL && same_scope (from, search->node) ? find_param (from, "padding") : NULL;
      const char *now = param != NULL ? loom_element_get (from->element, "padding") : NULL;
      char *end = NULL;
      const gint64 value = now != NULL ? g_ascii_strtoll (now, &end, 10) : 0;

      /* Padding may also be a word, or a number for each dimension. */
      if (param == NULL || g_strcmp0 (param->def, "0") != 0 || (now != NULL && (end == now || *end != '\0')))
        continue;
      for (int more = 1; more <= MOST_PADDING && !try_padding_before (search, i, param, (int)value + more); more++)
        ;
    }
}

/* ---- a wire ------------------------------------------------------------------------- */

gboolean
fix_depends (const FixSearch *search, guint on)
{
  LoomNetSource source = { .node = on };
  g_autofree gboolean *needed = loom_net_needed_for (search->net, &source);
  int self = loom_net_find (search->net, search->node->path);

  return self < 0 || needed[self];
}

/* The operator's input of this name, or the variadic one of this number. */
static guint
find_input (const LoomNetNode *node, const char *port)
{
  guint n = loom_op_count_ports (node->input_spec);

  if (n > 0 && (node->input_spec[0].flags & LOOM_PORT_VARIADIC))
    return (guint)atoi (port);
  for (guint i = 0; i < n; i++)
    if (strcmp (node->input_spec[i].name, port) == 0)
      return i;
  return FIX_MOST_INPUTS;
}

static void
try_source (const FixSearch *search, guint at, guint k, guint output)
{
  const LoomNetNode *from = loom_net_node (search->net, k);
  const LoomType *type[FIX_MOST_INPUTS];
  g_autofree char *name = loom_net_port_name (search->net, k, output), *shape = NULL;
  LoomFitAnswer answer;
  LoomFix *fix;

  memcpy (type, search->type, sizeof type);
  type[at] = &from->output[output];
  loom_fit_infer (search->node->element, type, MAX (search->n, at + 1), &answer);
  loom_fit_answer_clear (&answer);
  if (answer.fit < LOOM_FIT_UNKNOWN || (answer.fit == LOOM_FIT_HINT) || fix_depends (search, k))
    return;
  shape = loom_shape_to_string (&from->output[output].shape);
  fix = fix_add (search, LOOM_FIX_CONNECT, search->fault->port);
  fix->from = from->serial;
  fix->output = g_strdup (from->output_spec[output].name);
  fix->label = g_strdup_printf (_ ("Connect to %s"), name);
  fix->preview = g_strdup_printf ("%s %s → %s", name, shape, search->fault->port);
}

/* Outputs without a reader, the last in topological order first; for a target those of the data set. */
static void
try_sources (const FixSearch *search)
{
  guint n = loom_net_n_nodes (search->net), at = find_input (search->node, search->fault->port);
  g_autofree guint8 *read = g_new0 (guint8, n + 1);
  gboolean target;

  if (at >= FIX_MOST_INPUTS || search->node->input_spec == NULL)
    return;
  target = (search->node->input_spec[0].flags & LOOM_PORT_VARIADIC) == 0
           && (search->node->input_spec[at].flags & LOOM_PORT_TARGET);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < loom_net_node (search->net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (search->net, i)->input[k];

        if (source->node != G_MAXUINT && source->output < 8)
          read[source->node] |= (guint8)(1 << source->output);
      }
  for (guint round = 0; round < 2; round++)
    for (guint i = n; i-- > 0 && search->fixes->len < FIX_MOST;)
      {
        const LoomNetNode *from = loom_net_node (search->net, i);
        gboolean is_data = from->op != NULL && from->op->role == LOOM_ROLE_DATASET;

        if (from == search->node || !from->typed || is_data != (target ? round == 0 : round == 1))
          continue;
        for (guint o = 0; o < MIN (from->n_outputs, 8) && search->fixes->len < FIX_MOST; o++)
          if ((read[i] >> o & 1) == 0 && same_scope (from, search->node))
            try_source (search, at, i, o);
      }
  if (!target)
    fix_try_modules (search, at, read);
}

/* ---- all ------------------------------------------------------------------------------ */

static void
try_value_asked (const FixSearch *search)
{
  const LoomParamSpec *params = loom_op_params (search->node->op, search->node->element);

  for (const LoomParamSpec *p = params; p != NULL && p->name != NULL; p++)
    if (g_strcmp0 (p->name, search->fault->port) == 0)
      {
        LoomFix *fix = fix_add (search, LOOM_FIX_ASK, p->name);
        g_autofree char *words = g_strdelimit (g_strdup (p->name), "_", ' ');

        fix->label = search->node->op->role == LOOM_ROLE_DATASET && p == params
                         ? g_strdup (_ ("Choose data"))
                         : g_strdup_printf (_ ("Choose %s"), words);
        fix->preview = g_strdup (p->doc);
      }
}

static gboolean
meet (FixSearch *search)
{
  int at = search->net != NULL && search->fault->node != NULL ? loom_net_find (search->net, search->fault->node) : -1;

  search->node = at >= 0 ? loom_net_node (search->net, (guint)at) : NULL;
  if (search->node == NULL || search->node->op == NULL)
    return FALSE;
  search->n = MIN (search->node->n_inputs, FIX_MOST_INPUTS);
  for (guint i = 0; i < search->n; i++)
    search->type[i] = source_type (search->net, &search->node->input[i]);
  return TRUE;
}

/* For a fault within a module: a value that can be set outside, else showing the module. */
static void
try_within (const FixSearch *search)
{
  LoomElement *card = loom_graph_by_serial (search->graph, search->serial);
  const char *id = card != NULL ? loom_element_get (card, "id") : NULL;
  LoomFix *fix;

  if (search->fault->code == LOOM_ERROR_SHAPE)
    try_values (search);
  if (id == NULL || search->fixes->len > 0)
    return;
  fix = fix_add (search, LOOM_FIX_OPEN, NULL);
  fix->value = g_strdup (search->fault->node);
  fix->label = g_strdup_printf (_ ("Open %s"), id);
  fix->preview = g_strdup_printf (_ ("Shows %s, which is inside."), search->fault->node);
}

GPtrArray *
loom_fixes_find (const LoomGraph *graph, const LoomNet *net, const LoomFault *fault, guint64 serial, LoomFix *own,
                 LoomTranslate translate)
{
  FixSearch search = { .graph = graph, .net = net, .fault = fault, .serial = serial, .translate = translate };

  search.fixes = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_fix_free);
  if (own != NULL)
    g_ptr_array_add (search.fixes, own);
  if (!meet (&search))
    return search.fixes;
  if (search.node->serial != serial)
    {
      try_within (&search);
      return search.fixes;
    }
  if (fault->code == LOOM_ERROR_SHAPE || fault->code == LOOM_ERROR_DTYPE)
    {
      fix_try_swap (&search);
      try_padding (&search);
      try_values (&search);
      try_adapters (&search);
    }
  else if (fault->code == LOOM_ERROR_CYCLE
           || (fault->code == LOOM_ERROR_PORT && !fault->is_todo && search.fixes->len == 0))
    fix_try_cuts (&search);
  else if (fault->is_todo && fault->code == LOOM_ERROR_PORT && fault->port != NULL)
    try_sources (&search);
  else if (fault->is_todo && fault->port != NULL)
    try_value_asked (&search);
  return search.fixes;
}
