/* Parameters: attributes of a node, with expressions evaluated, converted and held against the operator table.
 *
 * infer() and lower() read values here and never text, so no operator has to say what a number is. */
#include "engine/ops/net-private.h"

#include <math.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------- */

gboolean
loom_net_parse_bool (const char *text, gboolean *value)
{
  *value = strcmp (text, "true") == 0;
  return *value || strcmp (text, "false") == 0;
}

static gboolean
parse_int (const char *text, gint64 *value)
{
  gboolean negative = *text == '-';
  guint64 n = 0;

  text += *text == '-' || *text == '+';
  if (*text == 0)
    return FALSE;
  for (; *text != 0; text++)
    {
      if (!g_ascii_isdigit (*text) || n > (G_MAXINT64 - (guint64)(*text - '0')) / 10)
        return FALSE;
      n = n * 10 + (guint64)(*text - '0');
    }
  *value = negative ? -(gint64)n : (gint64)n;
  return TRUE;
}

static gboolean
parse_float (const char *text, double *value)
{
  char *end;

  /* Neither hexadecimal nor names of infinities, which strtod would take. */
  if (text[strspn (text, "0123456789+-.eE")] != 0)
    return FALSE;
  *value = g_ascii_strtod (text, &end);
  return end != text && *end == 0 && isfinite (*value);
}

static const char *
number_text (LoomNet *net, LoomNumber n)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (n.is_int)
    g_snprintf (text, sizeof text, "%" G_GINT64_FORMAT, n.i);
  else
    {
      g_ascii_formatd (text, sizeof text, "%.15g", n.d);
      if (g_ascii_strtod (text, NULL) != n.d)
        g_ascii_dtostr (text, sizeof text, n.d);
      /* A float stays one: 8 would read as an integer. */
      if (strpbrk (text, ".e") == NULL)
        g_strlcat (text, ".0", sizeof text);
    }
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

/* Whether an argument that the expression names is unknown because of an earlier fault. */
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
      value->number.is_int = parse_int (text, &value->number.i);
      value->is_number = value->number.is_int || parse_float (text, &value->number.d);
      return value->text;
    }
  if (depends_on_fault (arguments, text))
    return NULL;
  /* An argument alone may be anything; numbers only are calculated with. */
  inside = text + 1;
  inside += strspn (inside, " ");
  n = strspn (inside, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  whole = inside[n + strspn (inside + n, " ")] == '}' && n > 0 ? find_argument (arguments, inside, n) : NULL;
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
loom_net_make_whole (LoomNet *net, NetArgument *value)
{
  double d = value->number.d;

  /* Beyond 2^53 a float does not tell which integer it is. */
  if (!value->is_number || value->number.is_int || d != floor (d) || fabs (d) > 9007199254740992.0)
    return;
  value->number = (LoomNumber){ .is_int = TRUE, .i = (gint64)d };
  value->text = number_text (net, value->number);
}

/* ---- reserved attributes ---------------------------------------------------- */

static const char *const reserved[]
    = { "id", "op", "module", "repeat", "share", "device", "dtype", "recompute", "frozen", "mute", "title", NULL };

gboolean
loom_net_is_reserved (const char *name)
{
  return g_strv_contains (reserved, name);
}

void
loom_net_check_reserved (LoomNet *net, const LoomElement *element, const char *path, const LoomOp *op)
{
  static const char *const booleans[] = { "share", "recompute", "frozen", "mute", NULL };
  static const char *const computed_in[] = { "f32", "bf16", "f16", NULL };
  const char *text;
  gboolean value, own_dtype = FALSE;

  for (guint i = 0; booleans[i] != NULL; i++)
    {
      text = loom_element_get (element, booleans[i]);
      if (text != NULL && !loom_net_parse_bool (text, &value))
        {
          LoomFault *fault = loom_net_fault (net, element, path, LOOM_ERROR_SCHEMA, booleans[i],
                                             "%s is “%.40s”; it must be true or false.", booleans[i], text);

          loom_fault_set_fix (fault, booleans[i], "true", "Set it to true.");
        }
      else if (text != NULL && value && strcmp (booleans[i], "mute") == 0)
        loom_fault_set_fix (loom_net_fault (net, element, path, LOOM_ERROR_SCHEMA, "mute",
                                            "Muting a node is part of the file format, but not in this version of "
                                            "Gradloom."),
                            "mute", NULL, "Remove it.");
    }
  for (guint i = 0; op != NULL && op->params != NULL && op->params[i].name != NULL; i++)
    own_dtype |= strcmp (op->params[i].name, "dtype") == 0;
  text = loom_element_get (element, "dtype");
  if (text != NULL && !own_dtype && !g_strv_contains (computed_in, text))
    loom_fault_set_fix (loom_net_fault (net, element, path, LOOM_ERROR_DTYPE, "dtype",
                                        "A node computes in f32, bf16 or f16, but here stands “%.20s”. (For f64 there "
                                        "is “gradloom run --dtype f64”.)",
                                        text),
                        "dtype", NULL, "Remove it.");
  text = loom_element_get (element, "device");
  if (text != NULL)
    {
      gsize n = strspn (text, G_CSET_a_2_z);
      gsize digits = text[n] == ':' ? strspn (text + n + 1, G_CSET_DIGITS) : 0;

      if (n == 0 || text[n + (digits > 0 ? digits + 1 : 0)] != 0)
        loom_net_fault (net, element, path, LOOM_ERROR_DEVICE, "device",
                        "“%.40s” is no device; devices are written cpu, ref, cuda:0 and so on.", text);
    }
}

/* ---- one parameter ---------------------------------------------------------- */

#define complain(infer, name, ...) loom_infer_fault (infer, LOOM_ERROR_SCHEMA, name, __VA_ARGS__)

static gboolean
in_range (LoomInfer *infer, const LoomParamSpec *spec, double value, const char *text)
{
  g_autofree char *limit = NULL;
  gboolean low, high;
  double bound;
  LoomNumber fixed;

  if (spec->minimum == 0 && spec->maximum == 0)
    return TRUE;
  /* A maximum below the minimum means that there is none. */
  low = value < spec->minimum;
  high = spec->maximum >= spec->minimum && value > spec->maximum;
  if (!low && !high)
    return TRUE;
  bound = low ? spec->minimum : spec->maximum;
  fixed = (LoomNumber){ .is_int = spec->type == LOOM_PARAM_INT || spec->type == LOOM_PARAM_INTS };
  if (fixed.is_int)
    fixed.i = (gint64)bound;
  else
    fixed.d = bound;
  limit = g_strdup (number_text (infer->net, fixed));
  loom_fault_set_fix (
      complain (infer, spec->name, "%s is %s; it must be at %s %s.", spec->name, text, low ? "least" : "most", limit),
      spec->name, limit, "Set it to %s.", limit);
  return FALSE;
}

static gboolean
parse_list (LoomInfer *infer, const LoomParamSpec *spec, const char *text, NetParam *param)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  guint n = g_strv_length (items), length = (guint)spec->length;
  gboolean ints = spec->type == LOOM_PARAM_INTS;

  if (n != 1 && length > 0 && n != length)
    {
      complain (infer, spec->name, "%s is “%.60s”, which are %u numbers; it takes one or %u.", spec->name, text, n,
                length);
      return FALSE;
    }
  param->n = MAX (n, length);
  if (ints)
    param->ints = loom_net_alloc (&infer->net->arena, sizeof (gint64) * param->n);
  else
    param->floats = loom_net_alloc (&infer->net->arena, sizeof (double) * param->n);
  for (guint i = 0; i < param->n; i++)
    {
      const char *item = g_strstrip (items[n == 1 ? 0 : i]);

      if (ints ? !parse_int (item, param->ints + i) : !parse_float (item, param->floats + i))
        {
          LoomFault *fault = complain (infer, spec->name, "%s is “%.60s”, which is no list of %s such as “%s”.",
                                       spec->name, text, ints ? "integers" : "numbers", ints ? "3,3" : "0.5,1");
          double number;

          if (ints && parse_float (text, &number))
            loom_fault_set_fix (fault, NULL, NULL, "In an expression // divides without a rest.");
          return FALSE;
        }
      if (!in_range (infer, spec, ints ? (double)param->ints[i] : param->floats[i], item))
        return FALSE;
    }
  return TRUE;
}

static gboolean
parse_choice (LoomInfer *infer, const LoomParamSpec *spec, const char *text, const char *const *choices)
{
  g_autofree char *list = NULL;
  const char *near;
  LoomFault *fault;

  if (g_strv_contains (choices, text))
    return TRUE;
  list = g_strjoinv (", ", (char **)choices);
  near = loom_nearest (text, choices);
  fault = complain (infer, spec->name, "%s is “%.60s”; it must be one of: %s.", spec->name, text, list);
  if (near != NULL)
    loom_fault_set_fix (fault, spec->name, near, "Did you mean “%s”?", near);
  return FALSE;
}

/* "2,-1,T", where −1 stands for a size that the operator finds out: it becomes an unknown dimension. */
static gboolean
parse_open_shape (const char *text, LoomShape *shape)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  LoomShape open = { 0 };

  for (guint i = 0; items[i] != NULL; i++)
    {
      LoomShape one = { .rank = 1, .dim = { loom_dim_unknown () } };

      if (open.rank == LOOM_SHAPE_MAX_RANK
          || (strcmp (g_strstrip (items[i]), "-1") != 0 && (!loom_shape_parse (items[i], &one) || one.rank != 1)))
        return FALSE;
      open.dim[open.rank++] = one.dim[0];
    }
  *shape = open;
  return TRUE;
}

/* The two slips that are made most: a symbol in lower case, and more dimensions than a tensor has. */
static void
complain_shape (LoomInfer *infer, const LoomParamSpec *spec, const char *text)
{
  LoomFault *fault
      = complain (infer, spec->name, "%s is “%.60s”, which is no shape such as “B,1,28,28”.", spec->name, text);
  g_autofree char *upper = g_ascii_strup (text, -1);
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  LoomShape shape;

  if (strcmp (upper, text) != 0 && loom_shape_parse (upper, &shape))
    loom_fault_set_fix (fault, spec->name, upper, "Symbols are capital letters: “%s”.", upper);
  else if (g_strv_length (items) > LOOM_SHAPE_MAX_RANK)
    loom_fault_set_fix (fault, NULL, NULL, "It has %u dimensions; a tensor has %d at most.", g_strv_length (items),
                        LOOM_SHAPE_MAX_RANK);
}

static gboolean
parse_param (LoomInfer *infer, const LoomParamSpec *spec, const char *text, NetParam *param)
{
  gboolean boolean;
  double number;

  switch (spec->type)
    {
    case LOOM_PARAM_INT:
      if (parse_int (text, &param->i))
        return in_range (infer, spec, (double)param->i, text);
      {
        LoomFault *fault = complain (infer, spec->name, "%s is “%.60s”, which is no integer.", spec->name, text);

        if (parse_float (text, &number))
          loom_fault_set_fix (fault, NULL, NULL, "In an expression // divides without a rest.");
      }
      return FALSE;
    case LOOM_PARAM_FLOAT:
      if (parse_float (text, &param->d))
        return in_range (infer, spec, param->d, text);
      complain (infer, spec->name, "%s is “%.60s”, which is no number.", spec->name, text);
      return FALSE;
    case LOOM_PARAM_BOOL:
      if (loom_net_parse_bool (text, &boolean))
        {
          param->i = boolean;
          return TRUE;
        }
      complain (infer, spec->name, "%s is “%.60s”; it must be true or false.", spec->name, text);
      return FALSE;
    case LOOM_PARAM_ENUM:
      return parse_choice (infer, spec, text, spec->choices);
    case LOOM_PARAM_INTS:
    case LOOM_PARAM_FLOATS:
      return parse_list (infer, spec, text, param);
    case LOOM_PARAM_SHAPE:
      param->shape = loom_net_alloc (&infer->net->arena, sizeof (LoomShape));
      if (spec->minimum < 0 ? parse_open_shape (text, param->shape) : loom_shape_parse (text, param->shape))
        return TRUE;
      complain_shape (infer, spec, text);
      return FALSE;
    case LOOM_PARAM_DTYPE:
      {
        const char *names[LOOM_N_DTYPES + 1] = { NULL };

        for (int d = 0; d < LOOM_N_DTYPES; d++)
          {
            names[d] = loom_dtype_name (d);
            if (strcmp (names[d], text) == 0)
              {
                param->dtype = d;
                return TRUE;
              }
          }
        return parse_choice (infer, spec, text, names);
      }
    default:
      return spec->choices == NULL || parse_choice (infer, spec, text, spec->choices);
    }
}

/* ---- all of a node ------------------------------------------------------------ */

void
loom_net_fix_name (LoomFault *fault, const LoomElement *element, const char *name, const char *near)
{
  if (near != NULL && loom_element_get (element, near) == NULL)
    loom_fault_set_rename (fault, name, near);
  else if (near != NULL)
    loom_fault_set_fix (fault, name, NULL, "Did you mean “%s”?", near);
  else
    loom_fault_set_fix (fault, name, NULL, "Remove it.");
}

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
  /* Without a variant little is known of names but that one may be meant for the parameter that chooses it. */
  if (variant == NULL && infer->op->variants != NULL && (near == NULL || loom_op_has_param (infer->op, name)))
    return;
  if (variant != NULL)
    fault = complain (infer, name, "A %s node with %s=\"%s\" has no parameter “%s”.", infer->op->name,
                      infer->op->params->name, variant->value, name);
  else
    fault = complain (infer, name, "A %s node has no parameter “%s”.", infer->op->name, name);
  loom_net_fix_name (fault, infer->element, name, near);
}

/* The variant for what the first parameter is, expressions evaluated; NULL where there are none or its value is missing
 * or wrong. */
static const LoomOpVariant *
find_variant (LoomInfer *infer)
{
  const LoomParamSpec *first = infer->op->params;
  const char *text = infer->op->variants != NULL ? loom_element_get (infer->element, first->name) : NULL;
  NetArgument value;

  if (text == NULL)
    return NULL;
  loom_net_evaluate (infer->net, infer->element, infer->path, infer->arguments, first->name, text, &value);
  return loom_op_variant (infer->op, value.text);
}

void
loom_net_parse_params (LoomInfer *infer)
{
  const LoomOpVariant *variant = find_variant (infer);
  const LoomParamSpec *specs = variant != NULL ? variant->params : infer->op->params;
  guint n = 0;

  infer->specs = specs;
  while (specs != NULL && specs[n].name != NULL)
    n++;
  infer->params = loom_net_alloc (&infer->net->arena, sizeof (NetParam) * (n + 1));
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
          loom_net_evaluate (infer->net, infer->element, infer->path, infer->arguments, name, text, &value);
          if (loom_expr_is (text) && (specs[k].type == LOOM_PARAM_INT || specs[k].type == LOOM_PARAM_INTS))
            loom_net_make_whole (infer->net, &value);
          infer->params[k].text = value.text;
        }
      else if (!loom_net_is_reserved (name) && strchr (name, ':') == NULL)
        report_unknown (infer, variant, name);
    }
  for (guint k = 0; k < n; k++)
    {
      NetParam *param = infer->params + k;

      if (!param->is_set)
        {
          if (specs[k].def == NULL)
            {
              loom_fault_set_fix (complain (infer, specs[k].name, "This %s node needs the parameter “%s”.",
                                            infer->op->name, specs[k].name),
                                  NULL, NULL, "%s", specs[k].doc);
              continue;
            }
          param->text = specs[k].def;
          param->is_set = specs[k].def[0] != 0;
          /* An absent optional one; an empty shape is a scalar only where somebody wrote it. */
          if (!param->is_set)
            continue;
        }
      if (param->text == NULL)
        infer->has_fault = TRUE;
      else
        param->is_good = parse_param (infer, specs + k, param->text, param);
    }
}

/* ---- what infer() asks ----------------------------------------------------- */

static const NetParam *
get_param (const LoomInfer *ctx, const char *name)
{
  for (guint i = 0; ctx->specs != NULL && ctx->specs[i].name != NULL; i++)
    if (strcmp (ctx->specs[i].name, name) == 0)
      return ctx->params + i;
  g_error ("operator “%s” asks for its parameter “%s”, which is not in its table", ctx->op->name, name);
}

gint64
loom_infer_int (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->i;
}

double
loom_infer_float (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->d;
}

gboolean
loom_infer_bool (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->i != 0;
}

const char *
loom_infer_string (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->text;
}

guint
loom_infer_ints (const LoomInfer *ctx, const char *name, gint64 *values, guint max)
{
  const NetParam *param = get_param (ctx, name);

  if (param->ints != NULL)
    memcpy (values, param->ints, sizeof (gint64) * MIN (param->n, max));
  return param->n;
}

guint
loom_infer_floats (const LoomInfer *ctx, const char *name, double *values, guint max)
{
  const NetParam *param = get_param (ctx, name);

  if (param->floats != NULL)
    memcpy (values, param->floats, sizeof (double) * MIN (param->n, max));
  return param->n;
}

LoomShape
loom_infer_shape (const LoomInfer *ctx, const char *name)
{
  const NetParam *param = get_param (ctx, name);

  if (param->shape == NULL)
    return loom_shape_scalar ();
  return ctx->binding != NULL ? loom_shape_bind (param->shape, ctx->binding) : *param->shape;
}

LoomDType
loom_infer_dtype (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->dtype;
}

const LoomOp *
loom_infer_op (const LoomInfer *ctx)
{
  return ctx->op;
}

gboolean
loom_infer_is_set (const LoomInfer *ctx, const char *name)
{
  return get_param (ctx, name)->is_set;
}

const char *
loom_infer_attribute (const LoomInfer *ctx, const char *name)
{
  const char *text;
  NetArgument value;

  for (guint i = 0; ctx->specs != NULL && ctx->specs[i].name != NULL; i++)
    if (strcmp (ctx->specs[i].name, name) == 0)
      return ctx->params[i].is_set ? ctx->params[i].text : NULL;
  text = loom_element_get (ctx->element, name);
  if (text == NULL || !loom_expr_is (text) || ctx->net->faults == NULL)
    return text;
  return loom_net_evaluate (ctx->net, ctx->element, ctx->path, ctx->arguments, name, text, &value);
}

const char *
loom_infer_folder (const LoomInfer *ctx)
{
  return ctx->net->folder;
}
