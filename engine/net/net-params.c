/* Evaluates the attributes of a node, converts them to parameters and checks these against the operator table.
 * loom-param.c of engine/ops converts texts to numbers and lists. */
#include "engine/net/net-private.h"
#include "engine/ops/loom-reserved.h"

#include <math.h>
#include <string.h>

static const char *
number_text (LoomNet *net, LoomNumber n)
{
  g_autofree char *text = loom_number_to_string (n);

  return loom_net_strdup (&net->arena, text);
}

/* ---- expressions ---------------------------------------------------------- */

static const NetArgument *
find_argument (const NetEnvironment *arguments, const char *name, gsize n)
{
  for (guint i = 0; arguments != NULL && i < arguments->n; i++)
    if (strncmp (arguments->items[i].name, name, n) == 0 && arguments->items[i].name[n] == 0)
      return arguments->items + i;
  return NULL;
}

static gboolean
lookup_number (const char *name, LoomNumber *value, gpointer data)
{
  const NetArgument *argument = find_argument (data, name, strlen (name));

  if (argument == NULL || !argument->is_number)
    return FALSE;
  *value = argument->number;
  return TRUE;
}

/* TRUE if an argument that the expression names is unknown because of an earlier fault. */
static gboolean
depends_on_fault (const NetEnvironment *arguments, const char *text)
{
  while (*text != 0)
    {
      gsize n = strspn (text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
      const NetArgument *argument = n > 0 ? find_argument (arguments, text, n) : NULL;

      if (argument != NULL && argument->text == NULL)
        return TRUE;
      text += MAX (n, 1);
    }
  return FALSE;
}

const char *
loom_net_evaluate (LoomNet *net, const LoomElement *element, const char *path, const NetEnvironment *arguments,
                   const char *name, const char *text, NetArgument *value)
{
  g_autoptr (GError) error = NULL;
  const char *inside;
  const NetArgument *whole;
  gsize n;

  *value = (NetArgument){ .name = name };
  if (!loom_expr_is (text))
    {
      value->text = loom_net_strdup (&net->arena, text);
      value->number.is_int = loom_param_parse_int (text, &value->number.i);
      value->is_number = value->number.is_int || loom_param_parse_float (text, &value->number.d);
      return value->text;
    }
  if (depends_on_fault (arguments, text))
    return NULL;
  /* A single argument may be any text; expressions calculate with numbers only. */
  inside = text + 1;
  inside += strspn (inside, " ");
  n = strspn (inside, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  whole
      = n > 0 && g_str_equal (inside + n + strspn (inside + n, " "), "}") ? find_argument (arguments, inside, n) : NULL;
  if (whole != NULL)
    {
      value->text = whole->text;
      value->is_number = whole->is_number;
      value->number = whole->number;
      return value->text;
    }
  if (!loom_expr_eval (text, lookup_number, (gpointer)arguments, &value->number, &error))
    {
      loom_net_fault (net, element, path, LOOM_ERROR_SCHEMA, name, "%s", error->message);
      return NULL;
    }
  value->is_number = TRUE;
  value->text = number_text (net, value->number);
  return value->text;
}

void
loom_net_make_integer (LoomNet *net, NetArgument *value)
{
  double d = value->number.d;

  /* Above 2^53 a float does not identify an integer. */
  if (!value->is_number || value->number.is_int || d != floor (d) || fabs (d) > 9007199254740992.0)
    return;
  value->number = (LoomNumber){ .is_int = TRUE, .i = (gint64)d };
  value->text = number_text (net, value->number);
}

/* ---- reserved attributes ---------------------------------------------------- */

void
loom_net_check_reserved (LoomNet *net, const LoomElement *element, const char *path, const LoomOp *op)
{
  const char *text;
  gboolean value;

  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    {
      const char *name = r->spec.name;

      text = r->spec.type == LOOM_PARAM_BOOL ? loom_element_get (element, name) : NULL;
      if (text != NULL && !loom_param_parse_bool (text, &value))
        {
          LoomFault *fault = loom_net_fault (net, element, path, LOOM_ERROR_SCHEMA, name,
                                             "%s is “%s”; it must be true or false.", name, text);

          loom_fault_set_fix (fault, name, "true", "Set it to true.");
        }
    }
  text = loom_element_get (element, "dtype");
  if (text != NULL && (op == NULL || !loom_op_has_param (op, "dtype"))
      && !g_strv_contains (loom_reserved_find ("dtype")->spec.choices, text))
    loom_fault_set_fix (loom_net_fault (net, element, path, LOOM_ERROR_DTYPE, "dtype",
                                        "A node's dtype must be f32, bf16 or f16, not “%s”. (For f64 use “gradloom "
                                        "run --dtype f64”.)",
                                        text),
                        "dtype", NULL, "Remove it.");
  text = loom_element_get (element, "stage");
  if (text != NULL && !g_ascii_string_to_signed (text, 10, 0, LOOM_MAX_STAGES - 1, NULL, NULL))
    loom_fault_set_fix (loom_net_fault (net, element, path, LOOM_ERROR_SCHEMA, "stage",
                                        "stage is “%s”; it must be a whole number from 0 to %d.", text,
                                        LOOM_MAX_STAGES - 1),
                        "stage", NULL, "Remove it.");
  text = loom_element_get (element, "device");
  if (text != NULL)
    {
      gsize n = strspn (text, G_CSET_a_2_z);
      gsize digits = text[n] == ':' ? strspn (text + n + 1, G_CSET_DIGITS) : 0;

      if (n == 0 || text[n + (digits > 0 ? digits + 1 : 0)] != 0)
        loom_net_fault (net, element, path, LOOM_ERROR_DEVICE, "device",
                        "“%s” is not a device; devices are cpu, ref, cuda:0 and so on.", text);
    }
}

/* ---- all of a node ------------------------------------------------------------ */

#define complain(infer, name, ...) loom_infer_fault (infer, LOOM_ERROR_SCHEMA, name, __VA_ARGS__)

static void
report_unknown (LoomInfer *infer, const LoomOpVariant *variant, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;
  LoomFault *fault;

  for (guint i = 0; infer->specs != NULL && infer->specs[i].name != NULL; i++)
    g_ptr_array_add (names, (gpointer)infer->specs[i].name);
  g_ptr_array_add (names, NULL);
  near = loom_nearest (name, (const char *const *)names->pdata);
  /* Without a variant, most valid names are unknown; but an attribute may be a misspelling of the parameter that
   * chooses the variant. */
  if (variant == NULL && infer->op->variants != NULL && (near == NULL || loom_op_has_param (infer->op, name)))
    return;
  if (variant != NULL)
    fault = complain (infer, name, "A %s node with %s=\"%s\" has no parameter “%s”.", infer->op->name,
                      infer->op->params->name, variant->value, name);
  else
    fault = complain (infer, name, "A %s node has no parameter “%s”.", infer->op->name, name);
  loom_fault_suggest_name (fault, infer->element, name, near);
}

/* TRUE if the node has an unknown attribute of a similar name, which has been reported already. */
static gboolean
is_misspelt (const LoomInfer *infer, const LoomParamSpec *specs, const char *parameter)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint k = 0; specs[k].name != NULL; k++)
    g_ptr_array_add (names, (gpointer)specs[k].name);
  g_ptr_array_add (names, NULL);
  for (guint i = 0; i < loom_element_n_attributes (infer->element); i++)
    {
      const char *name, *text;

      loom_element_attribute (infer->element, i, &name, &text);
      if (!loom_is_reserved (name) && strchr (name, ':') == NULL
          && !g_strv_contains ((const char *const *)names->pdata, name)
          && g_strcmp0 (loom_nearest (name, (const char *const *)names->pdata), parameter) == 0)
        return TRUE;
    }
  return FALSE;
}

/* The variant that the value of the first parameter chooses; NULL if there are none or the value is missing or
 * wrong. */
static const LoomOpVariant *
find_variant (LoomInfer *infer)
{
  const LoomParamSpec *first = infer->op->params;
  const char *text = infer->op->variants != NULL ? loom_element_get (infer->element, first->name) : NULL;
  const NetNode *n = infer->data;
  NetArgument value;

  if (text == NULL)
    return NULL;
  loom_net_evaluate (n->net, infer->element, infer->path, n->arguments, first->name, text, &value);
  return loom_op_variant (infer->op, value.text);
}

void
loom_net_parse_params (LoomInfer *infer)
{
  const LoomOpVariant *variant = find_variant (infer);
  const LoomParamSpec *specs = variant != NULL ? variant->params : infer->op->params;
  const NetNode *node = infer->data;
  guint n = 0;

  infer->specs = specs;
  while (specs != NULL && specs[n].name != NULL)
    n++;
  infer->params = loom_net_alloc (&node->net->arena, sizeof (LoomParam) * (n + 1));
  for (guint i = 0; i < loom_element_n_attributes (infer->element); i++)
    {
      const char *name, *text;
      guint k = 0;

      loom_element_attribute (infer->element, i, &name, &text);
      while (k < n && strcmp (specs[k].name, name) != 0)
        k++;
      if (k < n)
        {
          NetArgument value;

          infer->params[k].is_set = TRUE;
          loom_net_evaluate (node->net, infer->element, infer->path, node->arguments, name, text, &value);
          if (loom_expr_is (text) && (specs[k].type == LOOM_PARAM_INT || specs[k].type == LOOM_PARAM_INTS))
            loom_net_make_integer (node->net, &value);
          infer->params[k].text = value.text;
        }
      /* Other attributes of a loop are its module's arguments. */
      else if (!loom_is_reserved (name) && strchr (name, ':') == NULL && node->runs == NULL)
        report_unknown (infer, variant, name);
    }
  for (guint k = 0; k < n; k++)
    {
      LoomParam *param = infer->params + k;

      if (!param->is_set)
        {
          if (specs[k].def == NULL && is_misspelt (infer, specs, specs[k].name))
            {
              infer->has_fault = TRUE;
              continue;
            }
          if (specs[k].def == NULL)
            {
              LoomFault *fault = complain (infer, specs[k].name, "This %s node needs the parameter “%s”.",
                                           infer->op->name, specs[k].name);

              fault->is_todo = TRUE;
              loom_fault_set_fix (fault, NULL, NULL, "%s", specs[k].doc);
              continue;
            }
          param->text = specs[k].def;
          param->is_set = specs[k].def[0] != 0;
          /* An optional parameter is absent; an empty text of a shape would be a scalar. */
          if (!param->is_set)
            continue;
        }
      if (param->text == NULL)
        infer->has_fault = TRUE;
      else
        param->is_good = loom_param_parse (infer, specs + k, param->text, param);
    }
}
