/* The functions of torch.nn.init, each with its formula; see the header. */
#include "engine/ops/loom-initializer.h"

#include <math.h>
#include <string.h>

#include "engine/ops/loom-param.h"

/* ---- formulas --------------------------------------------------------------- */

static const char *const modes[] = { "fan_in", "fan_out", NULL };
static const char *const nonlinearities[] = { "leaky_relu", "relu", "tanh", "selu", "sigmoid", "linear", NULL };

/* torch.nn.init.calculate_gain: how much the activation shrinks a normal input. slope: of leaky_relu. */
static double
gain_of (guint nonlinearity, double slope)
{
  const double gains[] = { sqrt (2 / (1 + slope * slope)), G_SQRT2, 5.0 / 3, 0.75, 1, 1 };

  return gains[nonlinearity];
}

static const char *
make_uniform (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_UNIFORM, .a = v[0], .b = v[1] };
  return v[0] <= v[1] ? NULL : "needs a ≤ b";
}

static const char *
make_normal (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_NORMAL, .a = v[0], .b = v[1] };
  return NULL;
}

static const char *
make_trunc_normal (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_TRUNC_NORMAL, .a = v[0], .b = v[1], .low = v[2], .high = v[3] };
  return v[2] < v[3] ? NULL : "needs a < b";
}

static const char *
make_constant (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_CONSTANT, .a = v[0] };
  return NULL;
}

static const char *
make_ones (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  return make_constant ((const double[]){ 1 }, shape, fan, init);
}

static const char *
make_zeros (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_ZEROS };
  return NULL;
}

/* The weight as a matrix of its first dimension and all others. */
static LoomInit
matrix (LoomInitKind kind, const LoomShape *shape, double a, double b)
{
  LoomInit init = { .kind = kind, .a = a, .b = b, .rows = shape->dim[0].coef, .columns = 1 };

  for (int i = 1; i < shape->rank; i++)
    init.columns *= shape->dim[i].coef;
  return init;
}

static const char *
make_eye (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = matrix (LOOM_INIT_EYE, shape, 0, 0);
  return NULL;
}

static const char *
make_dirac (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = matrix (LOOM_INIT_DIRAC, shape, 0, 0);
  init->groups = (gint64)v[0];
  init->window = 1;
  for (int i = 2; i < shape->rank; i++)
    {
      init->window *= shape->dim[i].coef;
      init->centre = init->centre * shape->dim[i].coef + shape->dim[i].coef / 2;
    }
  return init->rows % init->groups == 0 ? NULL : "needs a first dimension that is a multiple of groups";
}

static const char *
uniform_of (double std, LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_UNIFORM, .a = -sqrt (3) * std, .b = sqrt (3) * std };
  return NULL;
}

static const char *
normal_of (double std, LoomInit *init)
{
  *init = (LoomInit){ .kind = LOOM_INIT_NORMAL, .a = 0, .b = std };
  return NULL;
}

/* A weight without inputs or outputs has no elements. */
static double
xavier (double gain, const gint64 fan[2])
{
  return gain * sqrt (2.0 / (double)MAX (fan[0] + fan[1], 1));
}

static double
kaiming (const double *v, const gint64 fan[2])
{
  return gain_of ((guint)v[2], v[0]) / sqrt ((double)MAX (fan[(int)v[1]], 1));
}

static const char *
make_xavier_uniform (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  return uniform_of (xavier (v[0], fan), init);
}

static const char *
make_xavier_normal (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  return normal_of (xavier (v[0], fan), init);
}

static const char *
make_kaiming_uniform (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  return uniform_of (kaiming (v, fan), init);
}

static const char *
make_kaiming_normal (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  return normal_of (kaiming (v, fan), init);
}

static const char *
make_orthogonal (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = matrix (LOOM_INIT_ORTHOGONAL, shape, v[0], 0);
  return NULL;
}

static const char *
make_sparse (const double *v, const LoomShape *shape, const gint64 fan[2], LoomInit *init)
{
  *init = matrix (LOOM_INIT_SPARSE, shape, v[0], v[1]);
  return NULL;
}

/* ---- the table -------------------------------------------------------------- */

#define ANY 1e30
#define MEAN                                                                                                           \
  {                                                                                                                    \
    .name = "mean", .value = 0, .minimum = -ANY, .maximum = ANY                                                        \
  }
#define STD(start)                                                                                                     \
  {                                                                                                                    \
    .name = "std", .value = start, .minimum = 0, .maximum = ANY                                                        \
  }
#define BOUND(name_, start)                                                                                            \
  {                                                                                                                    \
    .name = name_, .value = start, .minimum = -ANY, .maximum = ANY                                                     \
  }
#define GAIN BOUND ("gain", 1)
/* A negative gain would exchange the bounds of a uniform distribution, or make a deviation negative. */
#define XAVIER_GAIN                                                                                                    \
  {                                                                                                                    \
    .name = "gain", .value = 1, .minimum = 0, .maximum = ANY                                                           \
  }
#define KAIMING                                                                                                        \
  {                                                                                                                    \
    BOUND ("a", 0), { .name = "mode", .choices = modes }, { .name = "nonlinearity", .choices = nonlinearities },       \
    {                                                                                                                  \
      NULL                                                                                                             \
    }                                                                                                                  \
  }
#define GLOROT "Glorot and Bengio 2010, “Understanding the difficulty of training deep feedforward neural networks”"
#define HE     "He et al. 2015, arXiv:1502.01852"

static const LoomInitializer table[] = {
  { "uniform",
    "Uniform between a and b.",
    "w ~ U(a, b)",
    NULL,
    0,
    0,
    { BOUND ("a", 0), BOUND ("b", 1) },
    make_uniform },
  { "normal", "Normal.", "w ~ N(mean, std²)", NULL, 0, 0, { MEAN, STD (1) }, make_normal },
  { "trunc_normal",
    "Normal, without values below a or above b.",
    "w ~ N(mean, std²) given a ≤ w ≤ b",
    NULL,
    0,
    0,
    { MEAN, STD (1), BOUND ("a", -2), BOUND ("b", 2) },
    make_trunc_normal },
  { "constant", "One value.", "w = val", NULL, 0, 0, { BOUND ("val", 0) }, make_constant },
  { "ones", "Ones.", "w = 1", NULL, 0, 0, { { NULL } }, make_ones },
  { "zeros", "Zeros.", "w = 0", NULL, 0, 0, { { NULL } }, make_zeros },
  { "eye", "The identity matrix.", "w = I", NULL, 2, 2, { { NULL } }, make_eye },
  { "dirac",
    "Kernels that copy input channels to output channels, in each of the groups.",
    "w[i, i, centre] = 1, else 0",
    NULL,
    3,
    5,
    { { .name = "groups", .value = 1, .minimum = 1, .maximum = 1e9, .is_integer = TRUE } },
    make_dirac },
  { "xavier_uniform",
    "Uniform, so that variances stay equal forwards and backwards.",
    "w ~ U(−l, l), l = gain √(6 / (fan_in + fan_out))",
    GLOROT,
    2,
    0,
    { XAVIER_GAIN },
    make_xavier_uniform },
  { "xavier_normal",
    "Normal, so that variances stay equal forwards and backwards.",
    "w ~ N(0, gain² · 2 / (fan_in + fan_out))",
    GLOROT,
    2,
    0,
    { XAVIER_GAIN },
    make_xavier_normal },
  { "kaiming_uniform", "Uniform, so that the nonlinearity keeps the variance forwards (fan_in) or backwards (fan_out).",
    "w ~ U(−l, l), l = gain √(3 / fan); gain of leaky_relu: √(2 / (1 + a²))", HE, 2, 0, KAIMING, make_kaiming_uniform },
  { "kaiming_normal", "Normal, so that the nonlinearity keeps the variance forwards (fan_in) or backwards (fan_out).",
    "w ~ N(0, gain² / fan); gain of leaky_relu: √(2 / (1 + a²))", HE, 2, 0, KAIMING, make_kaiming_normal },
  { "orthogonal",
    "A random orthogonal matrix: the factor Q of normal values, with a positive diagonal of R.",
    "w wᵀ = gain² I, or wᵀ w",
    "Saxe, McClelland and Ganguli 2013, arXiv:1312.6120",
    2,
    0,
    { GAIN },
    make_orthogonal },
  { "sparse",
    "Normal, with a fraction of zeros in each column.",
    "w ~ N(0, std²), ⌈sparsity · rows⌉ zeros in each column",
    "Martens 2010, “Deep learning via Hessian-free optimization”",
    2,
    2,
    { { .name = "sparsity", .value = 0.1, .maximum = 1 }, STD (0.01) },
    make_sparse },
  { NULL },
};

const char *const loom_initializer_texts[] = { "uniform(a=0, b=1)",
                                               "normal(mean=0, std=1)",
                                               "trunc_normal(mean=0, std=1, a=-2, b=2)",
                                               "constant(val=0)",
                                               "ones",
                                               "zeros",
                                               "eye",
                                               "dirac(groups=1)",
                                               "xavier_uniform(gain=1)",
                                               "xavier_normal(gain=1)",
                                               "kaiming_uniform(a=0, mode=fan_in, nonlinearity=leaky_relu)",
                                               "kaiming_normal(a=0, mode=fan_in, nonlinearity=leaky_relu)",
                                               "orthogonal(gain=1)",
                                               "sparse(sparsity=0.1, std=0.01)",
                                               NULL };
G_STATIC_ASSERT (G_N_ELEMENTS (loom_initializer_texts) == G_N_ELEMENTS (table));

const LoomInitializer *
loom_initializers (void)
{
  return table;
}

/* ---- parsing ---------------------------------------------------------------- */

static const LoomInitializer *
find_function (const char *name, char **why, char **fix)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *list = NULL;

  for (const LoomInitializer *f = table; f->name != NULL; f++)
    {
      if (strcmp (f->name, name) == 0)
        return f;
      g_ptr_array_add (names, (gpointer)f->name);
    }
  g_ptr_array_add (names, NULL);
  list = g_strjoinv (", ", (char **)names->pdata);
  *fix = g_strdup (loom_nearest (name, (const char *const *)names->pdata));
  *why = g_strdup_printf ("there is no initialiser “%s”. The choices are: %s.", name, list);
  return NULL;
}

static gboolean
read_value (const LoomInitializerParam *p, const char *text, double *value)
{
  for (guint i = 0; p->choices != NULL && p->choices[i] != NULL; i++)
    if (strcmp (p->choices[i], text) == 0)
      {
        *value = i;
        return TRUE;
      }
  return p->choices == NULL && loom_param_parse_float (text, value) && *value >= p->minimum && *value <= p->maximum
         && (!p->is_integer || *value == floor (*value));
}

/* One “PARAMETER=VALUE”. */
static gboolean
read_param (LoomInitializerCall *call, char *text, char **why)
{
  const LoomInitializerParam *p = call->function->param;
  g_autoptr (GString) names = g_string_new (NULL);
  char *equals = strchr (text, '=');
  const char *value = equals != NULL ? g_strstrip (equals + 1) : "";

  if (equals != NULL)
    *equals = '\0';
  g_strstrip (text);
  for (guint i = 0; p[i].name != NULL; i++)
    {
      if (strcmp (p[i].name, text) != 0 || equals == NULL)
        {
          g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", p[i].name);
          continue;
        }
      call->is_given[i] = TRUE;
      if (read_value (p + i, value, &call->value[i]))
        return TRUE;
      if (p[i].choices != NULL)
        {
          g_autofree char *list = g_strjoinv (", ", (char **)p[i].choices);

          *why = g_strdup_printf ("%s of %s is “%s”; it must be one of: %s.", p[i].name, call->function->name, value,
                                  list);
        }
      else
        *why = g_strdup_printf ("%s of %s is “%s”; it must be %s from %g to %g.", p[i].name, call->function->name,
                                value, p[i].is_integer ? "a whole number" : "a number", p[i].minimum, p[i].maximum);
      return FALSE;
    }
  if (names->len == 0)
    *why = g_strdup_printf ("%s has no parameters; remove “%s”.", call->function->name, text);
  else
    *why = g_strdup_printf ("%s has no parameter “%s”. Write PARAMETER=VALUE; its parameters are: %s.",
                            call->function->name, text, names->str);
  return FALSE;
}

gboolean
loom_initializer_parse (const char *text, LoomInitializerCall *call, char **why, char **fix)
{
  g_autofree char *copy = g_strstrip (g_strdup (text));
  char *open = strchr (copy, '('), *name = copy;
  gsize n = strlen (copy);

  *why = *fix = NULL;
  *call = (LoomInitializerCall){ 0 };
  if (open != NULL && copy[n - 1] != ')')
    {
      *why = g_strdup_printf ("“%s” lacks a “)” at its end.", text);
      *fix = g_strconcat (copy, ")", NULL);
      return FALSE;
    }
  if (open != NULL)
    {
      copy[n - 1] = '\0';
      *open++ = '\0';
    }
  call->function = find_function (g_strstrip (name), why, fix);
  if (call->function == NULL)
    return FALSE;
  for (guint i = 0; call->function->param[i].name != NULL; i++)
    call->value[i] = call->function->param[i].value;
  if (open == NULL || *g_strstrip (open) == '\0')
    return TRUE;
  g_auto (GStrv) parts = g_strsplit (open, ",", -1);
  for (guint i = 0; parts[i] != NULL; i++)
    if (!read_param (call, parts[i], why))
      return FALSE;
  return TRUE;
}

/* ---- weights ---------------------------------------------------------------- */

gboolean
loom_initializer_is_weight (const char *name)
{
  return strstr (name, "bias") == NULL;
}

gboolean
loom_initializer_concerns (const LoomOp *op, const char *attribute)
{
  const gboolean of_weights = strcmp (attribute, LOOM_WEIGHT_INIT) == 0;

  if (op->role == LOOM_ROLE_PARAMETER)
    return of_weights;
  for (guint i = 0; op->inputs != NULL && op->inputs[i].name != NULL; i++)
    if (op->inputs[i].flags & LOOM_PORT_WEIGHT && loom_initializer_is_weight (op->inputs[i].name) == of_weights)
      return TRUE;
  return FALSE;
}

/* torch.nn.init._calculate_fan_in_and_fan_out: of a weight [out, in, kernel…]. A linear layer may store it transposed.
 */
static void
find_fans (const LoomInfer *ctx, const LoomShape *shape, gint64 fan[2])
{
  const char *layout
      = loom_op_has_param (loom_infer_op (ctx), "weight_layout") ? loom_infer_string (ctx, "weight_layout") : NULL;
  const gboolean swaps = g_strcmp0 (layout, "in_out") == 0;
  gint64 window = 1;

  for (int i = 2; i < shape->rank; i++)
    window *= shape->dim[i].coef;
  fan[0] = fan[1] = 0;
  if (shape->rank >= 2)
    {
      fan[swaps] = shape->dim[1].coef * window;
      fan[!swaps] = shape->dim[0].coef * window;
    }
}

static void
complain (LoomInfer *ctx, const char *attribute, const char *text, const char *fix)
{
  LoomFault *fault = loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, attribute, "%s", text);

  if (fix != NULL)
    loom_fault_set_fix (fault, attribute, fix, "Did you mean “%s”?", fix);
}

void
loom_initializer_apply (LoomInfer *ctx, LoomWeightSpec *spec)
{
  const char *attribute
      = loom_initializer_is_weight (spec->name) || spec->bare_name ? LOOM_WEIGHT_INIT : LOOM_BIAS_INIT;
  const char *text = spec->is_buffer ? NULL : loom_infer_attribute (ctx, attribute), *clause;
  g_autofree char *why = NULL, *fix = NULL;
  LoomInitializerCall call;
  LoomInit init = { 0 };
  gint64 fan[2];

  if (text == NULL || text[0] == '\0' || !loom_shape_is_concrete (&spec->shape))
    return;
  if (!loom_initializer_parse (text, &call, &why, &fix))
    {
      complain (ctx, attribute, why, fix);
      return;
    }
  const LoomInitializer *f = call.function;
  if (spec->shape.rank < f->least_rank || (f->most_rank > 0 && spec->shape.rank > f->most_rank))
    {
      g_autofree char *shape = loom_shape_to_string (&spec->shape);
      g_autofree char *dims = f->most_rank == f->least_rank ? g_strdup_printf ("%d", f->least_rank)
                              : f->most_rank > 0            ? g_strdup_printf ("%d to %d", f->least_rank, f->most_rank)
                                                            : g_strdup_printf ("at least %d", f->least_rank);

      why = g_strdup_printf (
          "%s is for weights with %s dimensions, but “%s” is %s. Choose normal, uniform or constant.", f->name, dims,
          spec->name, shape);
      complain (ctx, attribute, why, NULL);
      return;
    }
  find_fans (ctx, &spec->shape, fan);
  clause = f->make (call.value, &spec->shape, fan, &init);
  if (clause != NULL)
    {
      why = g_strdup_printf ("%s %s.", f->name, clause);
      complain (ctx, attribute, why, NULL);
      return;
    }
  init.zero_from = spec->init.zero_from;
  init.zero_count = spec->init.zero_count;
  spec->init = init;
}
