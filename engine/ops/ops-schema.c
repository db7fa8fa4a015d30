/* The RELAX NG schema of the graph file, printed from the grammar's table and the operator table.
 *
 * It serves editors, which complete and underline by it, and a test that what the writer writes is what the tables
 * say. Faults that users see do not come from it: a validator loses the value, the rule and the fix. */
#include "engine/graph/loom-grammar.h"
#include "engine/ops/loom-op.h"
#include "engine/ops/loom-reserved.h"

#include <string.h>

#define INTEGER    "[+\\-]?[0-9]+"
#define NUMBER     "[+\\-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+\\-]?[0-9]+)?"
#define EXPRESSION "\\{.*\\}"

static void put_line (GString *out, guint depth, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
put_line (GString *out, guint depth, const char *format, ...)
{
  va_list args;

  for (guint i = 0; i < depth; i++)
    g_string_append (out, "  ");
  va_start (args, format);
  g_string_append_vprintf (out, format, args);
  va_end (args);
  g_string_append_c (out, '\n');
}

static void
put_pattern (GString *out, guint depth, const char *pattern)
{
  put_line (out, depth, "<data type=\"string\"><param name=\"pattern\">%s</param></data>", pattern);
}

/* Attributes of other namespaces, which are kept. */
static void
put_foreign_attributes (GString *out, guint depth)
{
  put_line (out, depth,
            "<zeroOrMore><attribute><anyName><except><nsName ns=\"\"/></except></anyName></attribute>"
            "</zeroOrMore>");
}

/* Any attribute without a namespace but those listed. */
static void
put_any_attribute (GString *out, guint depth, const char *const *first, const char *const *second)
{
  if ((first == NULL || first[0] == NULL) && (second == NULL || second[0] == NULL))
    {
      put_line (out, depth, "<zeroOrMore><attribute><nsName ns=\"\"/></attribute></zeroOrMore>");
      return;
    }
  put_line (out, depth, "<zeroOrMore><attribute><nsName ns=\"\"><except>");
  for (guint i = 0; first != NULL && first[i] != NULL; i++)
    put_line (out, depth + 1, "<name ns=\"\">%s</name>", first[i]);
  for (guint i = 0; second != NULL && second[i] != NULL; i++)
    put_line (out, depth + 1, "<name ns=\"\">%s</name>", second[i]);
  put_line (out, depth, "</except></nsName></attribute></zeroOrMore>");
}

/* ---- nodes -------------------------------------------------------------- */

static void
put_param (GString *out, const LoomParamSpec *param)
{
  gboolean optional = param->def != NULL;

  if (optional)
    put_line (out, 4, "<optional>");
  put_line (out, 4, "<attribute name=\"%s\"><choice>", param->name);
  switch (param->type)
    {
    case LOOM_PARAM_INT:
      put_pattern (out, 5, INTEGER);
      break;
    case LOOM_PARAM_FLOAT:
      put_pattern (out, 5, NUMBER);
      break;
    case LOOM_PARAM_BOOL:
      put_line (out, 5, "<value>true</value><value>false</value>");
      break;
    case LOOM_PARAM_ENUM:
      for (guint i = 0; param->choices[i] != NULL; i++)
        put_line (out, 5, "<value>%s</value>", param->choices[i]);
      break;
    case LOOM_PARAM_DTYPE:
      for (int d = 0; d < LOOM_N_DTYPES; d++)
        put_line (out, 5, "<value>%s</value>", loom_dtype_name (d));
      break;
    case LOOM_PARAM_INTS:
      put_pattern (out, 5, " *" INTEGER " *(, *" INTEGER " *)*");
      break;
    case LOOM_PARAM_FLOATS:
      put_pattern (out, 5, " *" NUMBER " *(, *" NUMBER " *)*");
      break;
    default:
      put_line (out, 5, "<text/>");
    }
  if (param->type != LOOM_PARAM_SHAPE && param->type != LOOM_PARAM_STRING && param->type != LOOM_PARAM_PATH)
    put_pattern (out, 5, EXPRESSION);
  put_line (out, 4, "</choice></attribute>");
  if (optional)
    put_line (out, 4, "</optional>");
}

/* A node of one operator, with the first parameter as it is or, for a variant, fixed to its value. */
static void
put_group (GString *out, const LoomOp *op, const LoomParamSpec *params, const char *first_value)
{
  g_autoptr (GPtrArray) own = g_ptr_array_new ();

  put_line (out, 3, "<group>");
  put_line (out, 4, "<attribute name=\"op\"><value>%s</value></attribute>", op->name);
  for (guint i = 0; params != NULL && params[i].name != NULL; i++)
    {
      g_ptr_array_add (own, (gpointer)params[i].name);
      if (i == 0 && first_value != NULL)
        put_line (out, 4, "<attribute name=\"%s\"><value>%s</value></attribute>", params->name, first_value);
      else
        put_param (out, params + i);
    }
  g_ptr_array_add (own, NULL);
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    if (!g_strv_contains ((const char *const *)own->pdata, r->spec.name))
      put_line (out, 4, "<optional><attribute name=\"%s\"/></optional>", r->spec.name);
  put_line (out, 3, "</group>");
}

static void
put_op (GString *out, const LoomOp *op)
{
  const char *const *identity = loom_grammar (LOOM_TAG_NODE)->identity;
  const char *const selector[] = { op->variants != NULL ? op->params->name : NULL, NULL };

  if (op->variants == NULL)
    {
      put_group (out, op, op->params, NULL);
      return;
    }
  for (const LoomOpVariant *v = op->variants (); v->value != NULL; v++)
    put_group (out, op, v->params, v->value);
  /* Within a module an argument may choose the variant, and then any of their parameters may stand here. */
  put_line (out, 3, "<group>");
  put_line (out, 4, "<attribute name=\"op\"><value>%s</value></attribute>", op->name);
  put_line (out, 4, "<attribute name=\"%s\">", selector[0]);
  put_pattern (out, 5, EXPRESSION);
  put_line (out, 4, "</attribute>");
  put_any_attribute (out, 4, identity, selector);
  put_line (out, 3, "</group>");
}

static void
put_node (GString *out)
{
  const char *const *identity = loom_grammar (LOOM_TAG_NODE)->identity;
  const LoomOp *const *ops = loom_ops ();

  put_line (out, 1, "<define name=\"node\">");
  put_line (out, 2, "<element name=\"node\">");
  put_line (out, 3,
            "<attribute name=\"id\"><data type=\"string\"><param name=\"pattern\">[A-Za-z0-9_]+</param></data>"
            "</attribute>");
  put_line (out, 3, "<choice>");
  for (guint i = 0; ops[i] != NULL; i++)
    put_op (out, ops[i]);
  put_line (out, 3, "<group>");
  put_line (out, 4, "<attribute name=\"module\"/>");
  put_any_attribute (out, 4, identity, NULL);
  put_line (out, 3, "</group>");
  put_line (out, 3, "</choice>");
  put_foreign_attributes (out, 3);
  put_line (out, 3, "<ref name=\"foreign\"/>");
  put_line (out, 2, "</element>");
  put_line (out, 1, "</define>");
}

/* ---- the other elements ----------------------------------------------------- */

/* Children in their order. Where several may mix, how often each may stand is left to the reader. */
static void
put_children (GString *out, LoomTag parent)
{
  put_line (out, 3, "<interleave>");
  put_line (out, 4, "<ref name=\"foreign\"/>");
  put_line (out, 4, "<group>");
  put_line (out, 5, "<empty/>");
  for (int order = 0; order < 10; order++)
    {
      LoomTag found[LOOM_N_TAGS];
      guint n = 0;

      for (int tag = 0; tag < LOOM_TAG_COMMENT; tag++)
        if (loom_grammar (tag)->parents & 1u << parent && loom_grammar (tag)->order == order)
          found[n++] = tag;
      if (n == 0)
        continue;
      put_line (out, 5, n == 1 && loom_grammar (found[0])->once ? "<optional>" : "<zeroOrMore>");
      if (n > 1)
        put_line (out, 5, "<choice>");
      for (guint i = 0; i < n; i++)
        put_line (out, 6, "<ref name=\"%s\"/>", loom_tag_name (found[i]));
      if (n > 1)
        put_line (out, 5, "</choice>");
      put_line (out, 5, n == 1 && loom_grammar (found[0])->once ? "</optional>" : "</zeroOrMore>");
    }
  put_line (out, 4, "</group>");
  put_line (out, 3, "</interleave>");
}

static void
put_element (GString *out, LoomTag tag)
{
  const GrammarRule *rule = loom_grammar (tag);

  put_line (out, 1, "<define name=\"%s\">", rule->name);
  put_line (out, 2, "<element name=\"%s\">", rule->name);
  for (guint i = 0; rule->required != NULL && rule->required[i] != NULL; i++)
    put_line (out, 3, "<attribute name=\"%s\"/>", rule->required[i]);
  for (guint i = 0; rule->optional != NULL && rule->optional[i] != NULL; i++)
    if (rule->booleans != NULL && g_strv_contains (rule->booleans, rule->optional[i]))
      put_line (out, 3,
                "<optional><attribute name=\"%s\"><choice><value>true</value><value>false</value></choice></attribute>"
                "</optional>",
                rule->optional[i]);
    else
      put_line (out, 3, "<optional><attribute name=\"%s\"/></optional>", rule->optional[i]);
  if (rule->any_attribute)
    put_any_attribute (out, 3, rule->required, rule->optional);
  put_foreign_attributes (out, 3);
  if (rule->has_text)
    put_line (out, 3, "<text/>");
  else
    put_children (out, tag);
  put_line (out, 2, "</element>");
  put_line (out, 1, "</define>");
}

char *
loom_ops_schema (void)
{
  GString *out = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");

  put_line (out, 0, "<!-- Printed by gradloom from its operator table; a test keeps this copy equal. -->");
  put_line (out, 0, "<grammar xmlns=\"http://relaxng.org/ns/structure/1.0\" ns=\"" LOOM_GRAPH_NAMESPACE "\"");
  put_line (out, 0, "         datatypeLibrary=\"http://www.w3.org/2001/XMLSchema-datatypes\">");
  put_line (out, 1, "<start><ref name=\"graph\"/></start>");
  for (int tag = 0; tag < LOOM_TAG_COMMENT; tag++)
    if (tag == LOOM_TAG_NODE)
      put_node (out);
    else
      put_element (out, tag);
  put_line (out, 1, "<define name=\"foreign\">");
  put_line (out, 2,
            "<zeroOrMore><element><anyName><except><nsName/><nsName ns=\"\"/></except></anyName>"
            "<ref name=\"anything\"/></element></zeroOrMore>");
  put_line (out, 1, "</define>");
  put_line (out, 1, "<define name=\"anything\">");
  put_line (out, 2, "<zeroOrMore><choice><attribute><anyName/></attribute><text/>");
  put_line (out, 3, "<element><anyName/><ref name=\"anything\"/></element></choice></zeroOrMore>");
  put_line (out, 1, "</define>");
  put_line (out, 0, "</grammar>");
  return g_string_free (out, FALSE);
}
