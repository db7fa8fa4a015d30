/* The RELAX NG schema of the graph file, printed from the grammar's table, the operator table and, for <train> and its
 * children (schema-train.c), the recipe's table.
 *
 * Editors use it for completion and validation, and a test checks the writer against it. It does not report faults to
 * users, because a validator's error lacks the value, the rule and the fix. */
#include "engine/ops/loom-loop.h"
#include "engine/graph/loom-grammar.h"
#include "engine/ops/loom-reserved.h"
#include "engine/recipe/loom-schema.h"
#include "engine/recipe/schema-private.h"

#define INTEGER    "[+\\-]?[0-9]+"
#define NUMBER     "[+\\-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+\\-]?[0-9]+)?"
#define EXPRESSION "\\{.*\\}"

static void
put_pattern (LoomXml *out, const char *pattern)
{
  loom_xml_open (out, "data", "type", "string", NULL);
  loom_xml_put (out, pattern, "param", "name", "pattern", NULL);
  loom_xml_close (out);
}

static void
put_flag (LoomXml *out)
{
  loom_xml_put (out, "true", "value", NULL);
  loom_xml_put (out, "false", "value", NULL);
}

/* Attributes of other namespaces, which are kept: the last pattern of each element. */
static void
put_foreign_attributes (LoomXml *out)
{
  loom_xml_put (out, NULL, "ref", "name", "foreign-attributes", NULL);
}

static void
put_names (LoomXml *out, const char *const *names)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    loom_xml_put (out, names[i], "name", "ns", "", NULL);
}

/* Any attribute without a namespace except the listed ones. */
static void
put_any_attribute (LoomXml *out, const char *const *first, const char *const *second)
{
  loom_xml_open (out, "zeroOrMore", NULL);
  loom_xml_open (out, "attribute", NULL);
  loom_xml_open (out, "nsName", "ns", "", NULL);
  if ((first != NULL && first[0] != NULL) || (second != NULL && second[0] != NULL))
    {
      loom_xml_open (out, "except", NULL);
      put_names (out, first);
      put_names (out, second);
      loom_xml_close (out);
    }
  loom_xml_close (out);
  loom_xml_close (out);
  loom_xml_close (out);
}

/* ---- nodes -------------------------------------------------------------- */

static void
put_words (LoomXml *out, const char *const *words)
{
  for (guint i = 0; words[i] != NULL; i++)
    loom_xml_put (out, words[i], "value", NULL);
}

void
schema_put_values (LoomXml *out, const LoomParamSpec *param)
{
  switch (param->type)
    {
    case LOOM_PARAM_INT:
      put_pattern (out, INTEGER);
      break;
    case LOOM_PARAM_FLOAT:
      put_pattern (out, NUMBER);
      break;
    case LOOM_PARAM_BOOL:
      put_flag (out);
      break;
    case LOOM_PARAM_ENUM:
      put_words (out, param->choices);
      break;
    case LOOM_PARAM_DTYPE:
      for (int d = 0; d < LOOM_N_DTYPES; d++)
        loom_xml_put (out, loom_dtype_name (d), "value", NULL);
      break;
    case LOOM_PARAM_INTS:
      put_pattern (out, " *" INTEGER " *(, *" INTEGER " *)*");
      break;
    case LOOM_PARAM_FLOATS:
      put_pattern (out, " *" NUMBER " *(, *" NUMBER " *)*");
      break;
    default:
      loom_xml_put (out, NULL, "text", NULL);
    }
}

static void
put_param (LoomXml *out, const LoomParamSpec *param)
{
  if (param->def != NULL)
    loom_xml_open (out, "optional", NULL);
  loom_xml_open (out, "attribute", "name", param->name, NULL);
  loom_xml_open (out, "choice", NULL);
  schema_put_values (out, param);
  /* Within a module a formula of its arguments may replace any value. */
  if (param->type != LOOM_PARAM_SHAPE && param->type != LOOM_PARAM_STRING && param->type != LOOM_PARAM_PATH)
    put_pattern (out, EXPRESSION);
  loom_xml_close (out);
  loom_xml_close (out);
  if (param->def != NULL)
    loom_xml_close (out);
}

/* A required attribute with this value. */
static void
put_fixed (LoomXml *out, const char *attribute, const char *value)
{
  loom_xml_open (out, "attribute", "name", attribute, NULL);
  loom_xml_put (out, value, "value", NULL);
  loom_xml_close (out);
}

/* A node of one operator; for a variant, the first parameter has a fixed value. */
static void
put_group (LoomXml *out, const LoomOp *op, const LoomParamSpec *params, const char *first_value)
{
  g_autoptr (GPtrArray) own = g_ptr_array_new ();

  loom_xml_open (out, "group", NULL);
  put_fixed (out, "op", op->name);
  for (guint i = 0; params != NULL && params[i].name != NULL; i++)
    {
      g_ptr_array_add (own, (gpointer)params[i].name);
      if (i == 0 && first_value != NULL)
        put_fixed (out, params->name, first_value);
      else
        put_param (out, params + i);
    }
  g_ptr_array_add (own, NULL);
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    if (!g_strv_contains ((const char *const *)own->pdata, r->spec.name))
      {
        g_autofree char *name = g_strdup_printf ("reserved-%s", r->spec.name);

        loom_xml_put (out, NULL, "ref", "name", name, NULL);
      }
  loom_xml_close (out);
}

static void
put_op (LoomXml *out, const LoomOp *op)
{
  const char *const *identity = loom_grammar (LOOM_TAG_NODE)->identity;
  const char *const selector[] = { op->variants != NULL ? op->params->name : NULL, NULL };
  const char *const body[] = { loom_op_loop (op) != NULL ? loom_op_loop (op)->attribute : NULL, NULL };

  /* The other attributes are parameters, and arguments of the module that it runs. */
  if (op->role == LOOM_ROLE_LOOP)
    {
      loom_xml_open (out, "group", NULL);
      put_fixed (out, "op", op->name);
      loom_xml_put (out, NULL, "attribute", "name", body[0], NULL);
      put_any_attribute (out, identity, body);
      loom_xml_close (out);
      return;
    }
  if (op->variants == NULL)
    {
      put_group (out, op, op->params, NULL);
      return;
    }
  for (const LoomOpVariant *v = op->variants (); v->value != NULL; v++)
    put_group (out, op, v->params, v->value);
  /* Within a module an argument may select the variant, so any variant's parameters are allowed. */
  loom_xml_open (out, "group", NULL);
  put_fixed (out, "op", op->name);
  loom_xml_open (out, "attribute", "name", selector[0], NULL);
  put_pattern (out, EXPRESSION);
  loom_xml_close (out);
  put_any_attribute (out, identity, selector);
  loom_xml_close (out);
}

static void
put_node (LoomXml *out)
{
  const LoomOp *const *ops = loom_ops ();

  loom_xml_open (out, "define", "name", "node", NULL);
  loom_xml_open (out, "element", "name", "node", NULL);
  loom_xml_open (out, "attribute", "name", "id", NULL);
  put_pattern (out, "[A-Za-z0-9_][A-Za-z0-9_\\-]*");
  loom_xml_close (out);
  loom_xml_open (out, "choice", NULL);
  for (guint i = 0; ops[i] != NULL; i++)
    put_op (out, ops[i]);
  loom_xml_open (out, "group", NULL);
  loom_xml_put (out, NULL, "attribute", "name", "module", NULL);
  put_any_attribute (out, loom_grammar (LOOM_TAG_NODE)->identity, NULL);
  loom_xml_close (out);
  loom_xml_close (out);
  put_foreign_attributes (out);
  loom_xml_put (out, NULL, "ref", "name", "foreign", NULL);
  loom_xml_close (out);
  loom_xml_close (out);
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    {
      g_autofree char *name = g_strdup_printf ("reserved-%s", r->spec.name);

      loom_xml_open (out, "define", "name", name, NULL);
      loom_xml_open (out, "optional", NULL);
      loom_xml_put (out, NULL, "attribute", "name", r->spec.name, NULL);
      loom_xml_close (out);
      loom_xml_close (out);
    }
}

/* ---- the other elements ----------------------------------------------------- */

/* Schedules inside of another. libxml2 refuses a schema in which an element with these attributes contains itself, so
 * the reader alone checks their attributes. */
#define INSIDE "schedule-inside"

static void
put_inside (LoomXml *out)
{
  loom_xml_open (out, "define", "name", INSIDE, NULL);
  loom_xml_open (out, "element", "name", loom_tag_name (LOOM_TAG_SCHEDULE), NULL);
  put_any_attribute (out, NULL, NULL);
  put_foreign_attributes (out);
  loom_xml_open (out, "interleave", NULL);
  loom_xml_put (out, NULL, "ref", "name", "foreign", NULL);
  loom_xml_open (out, "zeroOrMore", NULL);
  loom_xml_put (out, NULL, "ref", "name", INSIDE, NULL);
  for (int i = 0; i < 4; i++)
    loom_xml_close (out);
}

/* Children in their order. If elements may mix, the reader checks how often each occurs. */
static void
put_children (LoomXml *out, LoomTag parent)
{
  loom_xml_open (out, "interleave", NULL);
  loom_xml_put (out, NULL, "ref", "name", "foreign", NULL);
  loom_xml_open (out, "group", NULL);
  loom_xml_put (out, NULL, "empty", NULL);
  for (int order = 0; order < 10; order++)
    {
      LoomTag found[LOOM_N_TAGS];
      guint n = 0;

      for (int tag = 0; tag < LOOM_TAG_COMMENT; tag++)
        if (loom_grammar (tag)->parents & 1u << parent && loom_grammar (tag)->order == order)
          found[n++] = tag;
      if (n == 0)
        continue;
      loom_xml_open (out, n == 1 && loom_grammar (found[0])->once && found[0] != parent ? "optional" : "zeroOrMore",
                     NULL);
      if (n > 1)
        loom_xml_open (out, "choice", NULL);
      for (guint i = 0; i < n; i++)
        loom_xml_put (out, NULL, "ref", "name", found[i] == parent ? INSIDE : loom_tag_name (found[i]), NULL);
      if (n > 1)
        loom_xml_close (out);
      loom_xml_close (out);
    }
  loom_xml_close (out);
  loom_xml_close (out);
}

static void
put_optional (LoomXml *out, const GrammarRule *rule, const char *attribute)
{
  gboolean is_flag = rule->booleans != NULL && g_strv_contains (rule->booleans, attribute);

  loom_xml_open (out, "optional", NULL);
  loom_xml_open (out, "attribute", "name", attribute, NULL);
  if (is_flag)
    {
      loom_xml_open (out, "choice", NULL);
      put_flag (out);
      loom_xml_close (out);
    }
  loom_xml_close (out);
  loom_xml_close (out);
}

static void
put_element (LoomXml *out, LoomTag tag)
{
  const GrammarRule *rule = loom_grammar (tag);

  loom_xml_open (out, "define", "name", rule->name, NULL);
  loom_xml_open (out, "element", "name", rule->name, NULL);
  if (!schema_put_attributes (out, tag))
    {
      for (guint i = 0; rule->required != NULL && rule->required[i] != NULL; i++)
        loom_xml_put (out, NULL, "attribute", "name", rule->required[i], NULL);
      for (guint i = 0; rule->optional != NULL && rule->optional[i] != NULL; i++)
        put_optional (out, rule, rule->optional[i]);
      if (rule->any_attribute)
        put_any_attribute (out, rule->required, rule->optional);
    }
  put_foreign_attributes (out);
  if (rule->has_text)
    loom_xml_put (out, NULL, "text", NULL);
  else
    put_children (out, tag);
  loom_xml_close (out);
  loom_xml_close (out);
}

/* Allows elements of other namespaces, as loom-reader-foreign.c keeps them. */
static void
put_foreign (LoomXml *out)
{
  loom_xml_open (out, "define", "name", "foreign-attributes", NULL);
  loom_xml_open (out, "zeroOrMore", NULL);
  loom_xml_open (out, "attribute", NULL);
  loom_xml_open (out, "anyName", NULL);
  loom_xml_open (out, "except", NULL);
  loom_xml_put (out, NULL, "nsName", "ns", "", NULL);
  for (int i = 0; i < 5; i++)
    loom_xml_close (out);

  loom_xml_open (out, "define", "name", "foreign", NULL);
  loom_xml_open (out, "zeroOrMore", NULL);
  loom_xml_open (out, "element", NULL);
  loom_xml_open (out, "anyName", NULL);
  loom_xml_open (out, "except", NULL);
  loom_xml_put (out, NULL, "nsName", NULL);
  loom_xml_put (out, NULL, "nsName", "ns", "", NULL);
  loom_xml_close (out);
  loom_xml_close (out);
  loom_xml_put (out, NULL, "ref", "name", "anything", NULL);
  for (int i = 0; i < 3; i++)
    loom_xml_close (out);

  loom_xml_open (out, "define", "name", "anything", NULL);
  loom_xml_open (out, "zeroOrMore", NULL);
  loom_xml_open (out, "choice", NULL);
  loom_xml_open (out, "attribute", NULL);
  loom_xml_put (out, NULL, "anyName", NULL);
  loom_xml_close (out);
  loom_xml_put (out, NULL, "text", NULL);
  loom_xml_open (out, "element", NULL);
  loom_xml_put (out, NULL, "anyName", NULL);
  loom_xml_put (out, NULL, "ref", "name", "anything", NULL);
  for (int i = 0; i < 4; i++)
    loom_xml_close (out);
}

char *
loom_schema (void)
{
  LoomXml *out = loom_xml_new ();

  loom_xml_comment (out, " Printed by gradloom from its tables; a test keeps this copy equal. ");
  loom_xml_open (out, "grammar", "xmlns", "http://relaxng.org/ns/structure/1.0", "ns", LOOM_GRAPH_NAMESPACE,
                 "datatypeLibrary", "http://www.w3.org/2001/XMLSchema-datatypes", NULL);
  loom_xml_open (out, "start", NULL);
  loom_xml_put (out, NULL, "ref", "name", "graph", NULL);
  loom_xml_close (out);
  for (int tag = 0; tag < LOOM_TAG_COMMENT; tag++)
    if (tag == LOOM_TAG_NODE)
      put_node (out);
    else
      put_element (out, tag);
  put_inside (out);
  put_foreign (out);
  return loom_xml_finish (out);
}
