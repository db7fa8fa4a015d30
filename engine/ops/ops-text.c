/* Prints the operator table as JSON for other programs, as Markdown for readers, and as help on a terminal. */
#include "engine/core/loom-json.h"
#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"

static const char *
param_type (const LoomParamSpec *param)
{
  static const char *const name[] = {
    [LOOM_PARAM_INT] = "int",     [LOOM_PARAM_FLOAT] = "float", [LOOM_PARAM_BOOL] = "bool",
    [LOOM_PARAM_ENUM] = "enum",   [LOOM_PARAM_INTS] = "ints",   [LOOM_PARAM_FLOATS] = "floats",
    [LOOM_PARAM_SHAPE] = "shape", [LOOM_PARAM_DTYPE] = "dtype", [LOOM_PARAM_STRING] = "string",
    [LOOM_PARAM_PATH] = "path",
  };

  return name[param->type];
}

/* "at least 1", "0 to 1"; very large bounds are not printed. */
static void
put_range (GString *out, const LoomParamSpec *param)
{
  const double limit = 1e9;
  gboolean low = param->minimum > -limit, high = param->maximum >= param->minimum && param->maximum < limit;

  if (param->minimum == 0 && param->maximum == 0)
    return;
  if (low && high)
    g_string_append_printf (out, ", %.10g to %.10g", param->minimum, param->maximum);
  else if (low)
    g_string_append_printf (out, ", at least %.10g", param->minimum);
  else if (high)
    g_string_append_printf (out, ", at most %.10g", param->maximum);
}

char *
loom_param_facts (const LoomParamSpec *param)
{
  GString *out = g_string_new (param_type (param));

  if (param->def == NULL)
    g_string_append (out, ", required");
  else if (param->def[0] != 0)
    g_string_append_printf (out, param->type == LOOM_PARAM_STRING ? ", default \"%s\"" : ", default %s", param->def);
  put_range (out, param);
  for (guint k = 0; param->choices != NULL && param->choices[k] != NULL; k++)
    g_string_append_printf (out, "%s%s", k == 0 ? ", one of " : " | ", param->choices[k]);
  return g_string_free (out, FALSE);
}

/* ---- JSON ---------------------------------------------------------------- */

static void
add_ports (LoomJson *json, const char *name, const LoomPortSpec *ports)
{
  loom_json_begin_array (json, name);
  for (guint i = 0; ports != NULL && ports[i].name != NULL; i++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_string (json, "name", ports[i].name);
      loom_json_string (json, "doc", ports[i].doc);
      loom_json_bool (json, "optional", (ports[i].flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)) != 0);
      loom_json_bool (json, "variadic", (ports[i].flags & LOOM_PORT_VARIADIC) != 0);
      loom_json_bool (json, "weight", (ports[i].flags & LOOM_PORT_WEIGHT) != 0);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

/* The parameters of a variant after those of the operator. */
static const LoomParamSpec *
added_params (const LoomOp *op, const LoomOpVariant *variant)
{
  guint n = 0;

  while (op->params[n].name != NULL)
    n++;
  return variant->params + n;
}

/* A bound as a person would type it. */
static void
add_bound (LoomJson *json, const char *name, double value)
{
  loom_json_number_digits (json, name, value, 15);
}

static void
add_params (LoomJson *json, const LoomParamSpec *params)
{
  loom_json_begin_array (json, "params");
  for (const LoomParamSpec *p = params; p != NULL && p->name != NULL; p++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_string (json, "name", p->name);
      loom_json_string (json, "type", param_type (p));
      loom_json_bool (json, "required", p->def == NULL);
      loom_json_string (json, "default", p->def);
      if (p->minimum != 0 || p->maximum != 0)
        {
          add_bound (json, "minimum", p->minimum);
          if (p->maximum >= p->minimum)
            add_bound (json, "maximum", p->maximum);
        }
      if (p->length > 0)
        loom_json_int (json, "length", p->length);
      if (p->choices != NULL)
        {
          loom_json_begin_array (json, "choices");
          for (guint k = 0; p->choices[k] != NULL; k++)
            loom_json_string (json, NULL, p->choices[k]);
          loom_json_end_array (json);
        }
      loom_json_string (json, "unit", p->unit);
      loom_json_string (json, "doc", p->doc);
      loom_json_bool (json, "hyper", p->hyper);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

/* "variants":[{"source":"csv","title":…,"doc":…,"params":[…]}, …] */
static void
add_variants (LoomJson *json, const LoomOp *op)
{
  if (op->variants == NULL)
    return;
  loom_json_begin_array (json, "variants");
  for (const LoomOpVariant *v = op->variants (); v->value != NULL; v++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_string (json, op->params->name, v->value);
      loom_json_string (json, "title", v->title);
      loom_json_string (json, "doc", v->doc);
      add_params (json, added_params (op, v));
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

char *
loom_op_json (const LoomOp *op)
{
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "name", op->name);
  loom_json_string (json, "title", op->title);
  loom_json_string (json, "category", loom_category_title (op->category));
  loom_json_string (json, "icon", op->icon);
  loom_json_string (json, "doc", op->doc);
  loom_json_string (json, "details", op->details);
  loom_json_string (json, "formula", op->formula);
  loom_json_string (json, "reference", op->reference);
  loom_json_string (json, "source", op->source);
  add_ports (json, "inputs", op->inputs);
  add_ports (json, "outputs", op->outputs);
  add_params (json, op->params);
  add_variants (json, op);
  loom_json_end_object (json);
  return loom_json_take (json);
}

/* The generated paragraph after the details. */
static void
put_more (GString *out, const LoomOp *op, const char *before, const char *after)
{
  g_autofree char *text = op->more != NULL ? op->more () : NULL;

  if (text != NULL)
    g_string_append_printf (out, "%s%s%s", before, text, after);
}

/* ---- Markdown ------------------------------------------------------------ */

/* Escapes bars, which would end the cell. */
static void
put_cell (GString *out, const char *text)
{
  for (const char *s = text != NULL ? text : ""; *s != 0; s++)
    if (*s == '|')
      g_string_append (out, "\\|");
    else
      g_string_append_c (out, *s == '\n' ? ' ' : *s);
}

/* Weights without a text are like another one that has a text, and not listed. */
static gboolean
is_listed (const LoomPortSpec *port)
{
  return port->doc != NULL || !(port->flags & LOOM_PORT_WEIGHT);
}

static void
put_port_list (GString *out, const char *title, const LoomPortSpec *ports)
{
  if (ports == NULL || ports[0].name == NULL)
    return;
  g_string_append_printf (out, "%s:\n\n", title);
  for (guint i = 0; ports[i].name != NULL; i++)
    if (is_listed (&ports[i]))
      g_string_append_printf (out, "- `%s`%s %s\n",
                              ports[i].flags & LOOM_PORT_VARIADIC ? "0`, `1`, `2 …" : ports[i].name,
                              ports[i].flags & LOOM_PORT_WEIGHT     ? " (weight)"
                              : ports[i].flags & LOOM_PORT_OPTIONAL ? " (optional)"
                                                                    : "",
                              ports[i].doc != NULL ? ports[i].doc : "");
  g_string_append_c (out, '\n');
}

static void
put_param_table (GString *out, const LoomParamSpec *params)
{
  if (params == NULL || params->name == NULL)
    return;
  g_string_append (out, "| parameter | type | default | meaning |\n|---|---|---|---|\n");
  for (const LoomParamSpec *p = params; p->name != NULL; p++)
    {
      g_string_append_printf (out, "| `%s` | %s | ", p->name, param_type (p));
      put_cell (out, p->def == NULL ? "required" : p->def[0] == 0 ? "none" : p->def);
      g_string_append (out, " | ");
      put_cell (out, p->doc);
      for (guint k = 0; p->choices != NULL && p->choices[k] != NULL; k++)
        g_string_append_printf (out, "%s`%s`", k == 0 ? " One of " : ", ", p->choices[k]);
      g_string_append (out, " |\n");
    }
  g_string_append_c (out, '\n');
}

static void
put_markdown (GString *out, const LoomOp *op)
{
  g_string_append_printf (out, "### %s (`%s`)\n\n%s\n\n", op->title, op->name, op->doc != NULL ? op->doc : "");
  if (op->details != NULL)
    g_string_append_printf (out, "%s\n\n", op->details);
  put_more (out, op, "", "\n\n");
  if (op->formula != NULL)
    g_string_append_printf (out, "Formula: %s\n\n", op->formula);
  if (op->reference != NULL)
    g_string_append_printf (out, "Reference: `%s`\n\n", op->reference);
  if (op->source != NULL)
    g_string_append_printf (out, "Source: %s\n\n", op->source);
  put_port_list (out, "Inputs", op->inputs);
  put_port_list (out, "Outputs", op->outputs);
  put_param_table (out, op->params);
  for (const LoomOpVariant *v = op->variants != NULL ? op->variants () : NULL; v != NULL && v->value != NULL; v++)
    {
      g_string_append_printf (out, "`%s=\"%s\"` (%s): %s\n\n", op->params->name, v->value, v->title, v->doc);
      put_param_table (out, added_params (op, v));
    }
}

char *
loom_ops_markdown (void)
{
  const LoomOp *const *ops = loom_ops ();
  GString *out = g_string_new ("# Operators\n\n");

  for (int category = 0; category < LOOM_N_CATEGORIES; category++)
    {
      gboolean titled = FALSE;

      for (guint i = 0; ops[i] != NULL; i++)
        if (ops[i]->category == category)
          {
            if (!titled)
              g_string_append_printf (out, "## %s\n\n", loom_category_title (category));
            titled = TRUE;
            put_markdown (out, ops[i]);
          }
    }
  return g_string_free (out, FALSE);
}

/* ---- help on a terminal ------------------------------------------------------ */

static void
put_help_ports (GString *out, const char *title, const LoomPortSpec *ports)
{
  for (guint i = 0; ports != NULL && ports[i].name != NULL; i++)
    if (is_listed (&ports[i]))
      g_string_append_printf (out, "%s  %-14s %s%s\n", i == 0 ? title : "",
                              ports[i].flags & LOOM_PORT_VARIADIC ? "0, 1, 2 …" : ports[i].name,
                              ports[i].doc != NULL ? ports[i].doc : "",
                              ports[i].flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT) ? " (optional)" : "");
  if (ports != NULL && ports[0].name != NULL)
    g_string_append_c (out, '\n');
}

static void
put_help_params (GString *out, const LoomParamSpec *params)
{
  for (const LoomParamSpec *p = params; p != NULL && p->name != NULL; p++)
    {
      g_autofree char *facts = loom_param_facts (p);

      g_string_append_printf (out, "  %-14s %s. %s\n", p->name, facts, p->doc != NULL ? p->doc : "");
    }
}

/* Prints the nodes and wires of the example, as in a file. */
static void
put_help_example (GString *out, const LoomOp *op)
{
  g_autoptr (LoomGraph) graph = loom_op_example (op);
  g_autofree char *text = graph != NULL ? loom_graph_write (graph, NULL) : NULL;
  g_auto (GStrv) line = g_strsplit (text != NULL ? text : "", "\n", -1);

  for (guint i = 0, n = 0; line[i] != NULL; i++)
    if (g_str_has_prefix (line[i], "  "))
      g_string_append_printf (out, "%s%s\n", n++ == 0 ? "\nExample\n" : "", line[i]);
}

char *
loom_op_help (const LoomOp *op)
{
  g_autofree char *file = NULL;
  GString *out;

  g_return_val_if_fail (op != NULL, NULL);

  file = loom_op_source_file (op);
  out = g_string_new (NULL);
  g_string_append_printf (out, "%s (%s, %s)\n", op->name, op->title, loom_category_title (op->category));
  if (op->doc != NULL)
    g_string_append_printf (out, "%s\n", op->doc);
  if (op->formula != NULL)
    g_string_append_printf (out, "\n    %s\n", op->formula);
  if (op->details != NULL)
    g_string_append_printf (out, "\n%s\n", op->details);
  put_more (out, op, "\n", "\n");
  g_string_append_c (out, '\n');
  put_help_ports (out, "Inputs\n", op->inputs);
  put_help_ports (out, "Outputs\n", op->outputs);
  if (op->params != NULL && op->params->name != NULL)
    g_string_append (out, "Parameters\n");
  put_help_params (out, op->params);
  for (const LoomOpVariant *v = op->variants != NULL ? op->variants () : NULL; v != NULL && v->value != NULL; v++)
    {
      g_string_append_printf (out, "\n%s=\"%s\" (%s)\n%s\n", op->params->name, v->value, v->title, v->doc);
      put_help_params (out, added_params (op, v));
    }
  if (op->reference != NULL)
    g_string_append_printf (out, "\nPyTorch: %s\n", op->reference);
  if (op->source != NULL)
    g_string_append_printf (out, "Source: %s\n", op->source);
  g_string_append_printf (out, "Code: %s\n", file);
  put_help_example (out, op);
  return g_string_free (out, FALSE);
}
