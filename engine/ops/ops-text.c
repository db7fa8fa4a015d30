/* The operator table as JSON for other programs, as Markdown for readers, and as help on a terminal. */
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

/* ---- JSON ---------------------------------------------------------------- */

static void
put_string (GString *out, const char *text)
{
  if (text == NULL)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append_c (out, '"');
  for (const char *s = text; *s != 0; s++)
    if (*s == '"' || *s == '\\')
      g_string_append_printf (out, "\\%c", *s);
    else if ((guchar)*s < 0x20)
      g_string_append_printf (out, "\\u%04x", *s);
    else
      g_string_append_c (out, *s);
  g_string_append_c (out, '"');
}

static void
put_member (GString *out, const char *name, const char *text)
{
  g_string_append_printf (out, ",\"%s\":", name);
  put_string (out, text);
}

static void
put_number (GString *out, const char *name, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (out, ",\"%s\":%s", name, g_ascii_formatd (text, sizeof text, "%.15g", value));
}

static void
put_ports (GString *out, const char *name, const LoomPortSpec *ports)
{
  g_string_append_printf (out, ",\"%s\":[", name);
  for (guint i = 0; ports != NULL && ports[i].name != NULL; i++)
    {
      g_string_append (out, i > 0 ? ",{\"name\":" : "{\"name\":");
      put_string (out, ports[i].name);
      put_member (out, "doc", ports[i].doc);
      g_string_append_printf (out, ",\"optional\":%s,\"variadic\":%s,\"weight\":%s}",
                              ports[i].flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT) ? "true" : "false",
                              ports[i].flags & LOOM_PORT_VARIADIC ? "true" : "false",
                              ports[i].flags & LOOM_PORT_WEIGHT ? "true" : "false");
    }
  g_string_append_c (out, ']');
}

/* The parameters that a variant adds: its list begins with the operator's. */
static const LoomParamSpec *
added_params (const LoomOp *op, const LoomOpVariant *variant)
{
  guint n = 0;

  while (op->params[n].name != NULL)
    n++;
  return variant->params + n;
}

static void
put_params (GString *out, const LoomParamSpec *params)
{
  g_string_append (out, ",\"params\":[");
  for (guint i = 0; params != NULL && params[i].name != NULL; i++)
    {
      const LoomParamSpec *p = params + i;

      g_string_append (out, i > 0 ? ",{\"name\":" : "{\"name\":");
      put_string (out, p->name);
      put_member (out, "type", param_type (p));
      g_string_append_printf (out, ",\"required\":%s", p->def == NULL ? "true" : "false");
      put_member (out, "default", p->def);
      if (p->minimum != 0 || p->maximum != 0)
        {
          put_number (out, "minimum", p->minimum);
          if (p->maximum >= p->minimum)
            put_number (out, "maximum", p->maximum);
        }
      if (p->length > 0)
        put_number (out, "length", p->length);
      if (p->choices != NULL)
        {
          g_string_append (out, ",\"choices\":[");
          for (guint k = 0; p->choices[k] != NULL; k++)
            {
              g_string_append (out, k > 0 ? "," : "");
              put_string (out, p->choices[k]);
            }
          g_string_append_c (out, ']');
        }
      put_member (out, "unit", p->unit);
      put_member (out, "doc", p->doc);
      g_string_append_printf (out, ",\"hyper\":%s}", p->hyper ? "true" : "false");
    }
  g_string_append_c (out, ']');
}

/* "variants":[{"source":"csv","title":…,"doc":…,"params":[…]}, …] */
static void
put_variants (GString *out, const LoomOp *op)
{
  const LoomOpVariant *first = op->variants != NULL ? op->variants () : NULL;

  g_string_append (out, first != NULL ? ",\"variants\":[" : "");
  for (const LoomOpVariant *v = first; v != NULL && v->value != NULL; v++)
    {
      g_string_append_printf (out, "%s{\"%s\":", v == first ? "" : ",", op->params->name);
      put_string (out, v->value);
      put_member (out, "title", v->title);
      put_member (out, "doc", v->doc);
      put_params (out, added_params (op, v));
      g_string_append_c (out, '}');
    }
  g_string_append (out, first != NULL ? "]" : "");
}

char *
loom_ops_json (void)
{
  const LoomOp *const *ops = loom_ops ();
  GString *out = g_string_new ("[");

  for (guint i = 0; ops[i] != NULL; i++)
    {
      const LoomOp *op = ops[i];

      g_string_append (out, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
      put_string (out, op->name);
      put_member (out, "title", op->title);
      put_member (out, "category", loom_category_title (op->category));
      put_member (out, "icon", op->icon);
      put_member (out, "doc", op->doc);
      put_member (out, "details", op->details);
      put_member (out, "formula", op->formula);
      put_member (out, "reference", op->reference);
      put_ports (out, "inputs", op->inputs);
      put_ports (out, "outputs", op->outputs);
      put_params (out, op->params);
      put_variants (out, op);
      g_string_append_c (out, '}');
    }
  g_string_append (out, "\n]\n");
  return g_string_free (out, FALSE);
}

/* What a table adds to the details. */
static void
put_more (GString *out, const LoomOp *op, const char *before, const char *after)
{
  g_autofree char *text = op->more != NULL ? op->more () : NULL;

  if (text != NULL)
    g_string_append_printf (out, "%s%s%s", before, text, after);
}

/* ---- Markdown ------------------------------------------------------------ */

/* A bar would end the cell. */
static void
put_cell (GString *out, const char *text)
{
  for (const char *s = text != NULL ? text : ""; *s != 0; s++)
    if (*s == '|')
      g_string_append (out, "\\|");
    else
      g_string_append_c (out, *s == '\n' ? ' ' : *s);
}

static void
put_port_list (GString *out, const char *title, const LoomPortSpec *ports)
{
  if (ports == NULL || ports[0].name == NULL)
    return;
  g_string_append_printf (out, "%s:\n\n", title);
  for (guint i = 0; ports[i].name != NULL; i++)
    g_string_append_printf (out, "- `%s`%s %s\n", ports[i].flags & LOOM_PORT_VARIADIC ? "0`, `1`, `2 …" : ports[i].name,
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
      g_string_append_printf (out, "  %-14s %s", p->name, param_type (p));
      if (p->def == NULL)
        g_string_append (out, ", required");
      else if (p->def[0] != 0)
        g_string_append_printf (out, p->type == LOOM_PARAM_STRING ? ", default \"%s\"" : ", default %s", p->def);
      for (guint k = 0; p->choices != NULL && p->choices[k] != NULL; k++)
        g_string_append_printf (out, "%s%s", k == 0 ? ", one of " : " | ", p->choices[k]);
      g_string_append_printf (out, ". %s\n", p->doc != NULL ? p->doc : "");
    }
}

char *
loom_op_help (const LoomOp *op)
{
  GString *out;

  g_return_val_if_fail (op != NULL, NULL);

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
  return g_string_free (out, FALSE);
}
