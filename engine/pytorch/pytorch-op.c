/* Writes an operator: by its word, or by what its descriptor says. */
#include "engine/ops/loom-context.h"
#include "engine/ops/loom-initializer.h"
#include "engine/pytorch/pytorch-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  PyScope *s;
  guint k; /* the local */
  LoomNetLocal local;
  const LoomNetNode *node;
  const LoomInfer *infer;
  const LoomParamSpec *params;
  const PyWord *word;
} Op;

/* ---- parameters ------------------------------------------------------------ */

static char *
number (const char *text)
{
  double d = g_ascii_strtod (text, NULL);

  return d == floor (d) && fabs (d) < 1e15 ? g_strdup_printf ("%.0f", d + 0.0) : loom_pytorch_float (d);
}

static gboolean
is_number (const char *text)
{
  char *end;

  g_ascii_strtod (text, &end);
  return *text != 0 && *end == 0;
}

/* "3" or "(3, 2)". single: a single number that stands for a whole list is written as such. */
static char *
numbers (const char *text, gboolean single)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  GString *s = g_string_new ("(");
  gboolean alike = TRUE;

  for (guint i = 0; parts[i] != NULL; i++)
    {
      g_autofree char *one = NULL;

      g_strstrip (parts[i]);
      one = number (parts[i]);
      alike &= i == 0 || strcmp (parts[i], parts[0]) == 0;
      g_string_append_printf (s, "%s%s", i > 0 ? ", " : "", one);
    }
  if (single && alike)
    {
      g_string_free (s, TRUE);
      return number (parts[0]);
    }
  g_string_append (s, g_strv_length (parts) == 1 ? ",)" : ")");
  return g_string_free (s, FALSE);
}

static gboolean
are_numbers (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  gboolean all = parts[0] != NULL;

  for (guint i = 0; parts[i] != NULL; i++)
    all &= is_number (g_strstrip (parts[i]));
  return all;
}

/* The literal of a value as written in an attribute; text "" is None. */
static char *
literal (const LoomParamSpec *spec, const char *text)
{
  if (*text == 0)
    return g_strdup (spec->type == LOOM_PARAM_SHAPE ? "()" : "None");
  switch (spec->type)
    {
    case LOOM_PARAM_BOOL:
      return g_strdup (strcmp (text, "true") == 0 ? "True" : "False");
    case LOOM_PARAM_INT:
    case LOOM_PARAM_FLOAT:
      return number (text);
    case LOOM_PARAM_INTS:
      return numbers (text, spec->length > 0 || strcmp (spec->name, "dim") == 0 || strcmp (spec->name, "size") == 0);
    case LOOM_PARAM_FLOATS:
      return numbers (text, TRUE);
    case LOOM_PARAM_STRING:
      if (strcmp (text, "none") == 0)
        return g_strdup ("None");
      return are_numbers (text) ? numbers (text, TRUE) : loom_pytorch_quote (text);
    default:
      return loom_pytorch_quote (text);
    }
}

static const LoomParamSpec *
find_param (const Op *op, const char *name)
{
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (strcmp (p->name, name) == 0)
      return p;
  return NULL;
}

static char *
value_of (const Op *op, const LoomParamSpec *p)
{
  const char *text = loom_infer_attribute (op->infer, p->name);

  if (p->type == LOOM_PARAM_SHAPE && loom_infer_is_set (op->infer, p->name))
    {
      LoomShape shape = loom_infer_shape (op->infer, p->name);
      return loom_pytorch_shape (op->s, &op->local, &shape);
    }
  if (p->type == LOOM_PARAM_DTYPE)
    return loom_infer_is_set (op->infer, p->name) ? loom_pytorch_dtype (loom_infer_dtype (op->infer, p->name))
                                                  : g_strdup ("None");
  return literal (p, text != NULL ? text : p->def != NULL ? p->def : "");
}

/* In a class, the value becomes an argument if it differs between instances. */
static char *
marked (const Op *op, const char *prefix, const char *name, const char *value, const char *def)
{
  g_autofree char *argument = g_strdup_printf ("%s_%s", op->local.id, name);

  return loom_pytorch_mark (prefix, argument, value, def);
}

static char *
param_mark (const Op *op, const LoomParamSpec *p, const char *prefix, gboolean with_default)
{
  g_autofree char *value = value_of (op, p), *def = NULL;

  if (value == NULL)
    return NULL;
  if (with_default && p->def != NULL)
    def = p->type == LOOM_PARAM_DTYPE ? g_strdup (*p->def == 0 ? "None" : "") : literal (p, p->def);
  return marked (op, prefix, p->name, value, def);
}

/* Parameters that are no arguments in PyTorch: hints to Gradloom, and those of nn.MultiheadAttention's and others' that
 * a template writes by itself. */
static gboolean
is_own (const char *name)
{
  return strcmp (name, "algorithm") == 0 || strcmp (name, LOOM_STATEFUL) == 0 || strcmp (name, "weight_layout") == 0
         || strncmp (name, "lora_", 5) == 0 || strcmp (name, "use_dora") == 0;
}

/* ---- inputs ----------------------------------------------------------------- */

static int
find_input (const Op *op, const char *name, gsize n)
{
  const LoomPortSpec *specs = op->node->input_spec;

  for (guint i = 0; specs != NULL && specs[i].name != NULL; i++)
    if (strlen (specs[i].name) == n && strncmp (specs[i].name, name, n) == 0)
      return (int)i;
  return -1;
}

static gboolean
is_wired (const Op *op, guint input)
{
  return loom_net_instance_link (op->s->w->net, op->s->instance, op->k, input).wired;
}

static char *
input_or_none (const Op *op, int input)
{
  char *text = input >= 0 && is_wired (op, (guint)input) ? loom_pytorch_input (op->s, op->k, (guint)input) : NULL;

  return text != NULL ? text : g_strdup ("None");
}

/* "input:-1:in_features" */
static char *
size_mark (const Op *op, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text + (*text == '?'), ":", 3);
  g_auto (GStrv) ports = g_strsplit (parts[0], "|", -1);
  g_autofree char *first = NULL, *last = NULL, *prefix = g_strdup_printf ("\4%s=", parts[2]);
  int axis = atoi (parts[1]);
  guint n = g_strv_length (ports);

  for (guint i = 0; ports[i] != NULL; i++)
    {
      int input = find_input (op, ports[i], strlen (ports[i]));
      const LoomType *type = input >= 0 ? loom_infer_input (op->infer, (guint)input) : NULL;
      int at = type != NULL ? axis < 0 ? type->shape.rank + axis : MIN (axis, type->shape.rank - 1) : 0;

      if (type == NULL)
        continue;
      if (first == NULL)
        first = g_strdup_printf ("%" G_GINT64_FORMAT, type->shape.dim[at].coef);
      if (i == n - 1)
        last = g_strdup_printf ("%" G_GINT64_FORMAT, type->shape.dim[at].coef);
    }
  return marked (op, *text == '?' ? prefix : "", parts[2], first != NULL ? first : "0", *text == '?' ? last : NULL);
}

/* All wired inputs of a variadic operator, separated by commas. */
static char *
all_inputs (const Op *op)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < op->local.n_inputs; i++)
    if (is_wired (op, i))
      {
        g_autofree char *one = input_or_none (op, (int)i);
        g_string_append_printf (s, "%s%s", s->len > 0 ? ", " : "", one);
      }
  return g_string_free (s, FALSE);
}

/* ---- templates ---------------------------------------------------------------- */

static gsize
name_length (const char *text)
{
  return strspn (text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static gboolean
mentions (const char *template, const char *name)
{
  gsize n = strlen (name);

  for (const char *c = strchr (template, '$'); c != NULL; c = strchr (c + 1, '$'))
    if (name_length (c + 1) == n && strncmp (c + 1, name, n) == 0)
      return TRUE;
  return FALSE;
}

static char *
rest (const Op *op, const char *template)
{
  GString *s = g_string_new (NULL);

  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    {
      g_autofree char *prefix = g_strdup_printf ("\4%s=", p->name), *mark = NULL;

      if (is_own (p->name) || mentions (template, p->name))
        continue;
      mark = param_mark (op, p, prefix, strncmp (p->name, "dim", 3) != 0 || (p->def != NULL && *p->def == 0));
      g_string_append (s, mark != NULL ? mark : "");
    }
  return g_string_free (s, FALSE);
}

static char *
fill (const Op *op, const char *template, const char *member)
{
  GString *s = g_string_new (NULL);

  for (const char *c = template; *c != 0;)
    {
      g_autofree char *piece = NULL, *name = NULL;
      gsize n;

      if (*c == '&')
        piece = g_strdup (member), c++;
      else if (g_str_has_prefix (c, "$*"))
        piece = rest (op, template), c += 2;
      else if (g_str_has_prefix (c, "$!"))
        piece = loom_pytorch_shape (op->s, &op->local, &op->node->output[0].shape), c += 2;
      else if (g_str_has_prefix (c, "@*"))
        piece = all_inputs (op), c += 2;
      else if (g_str_has_prefix (c, "$<"))
        {
          n = strcspn (c, ">");
          name = g_strndup (c + 2, n - 2);
          piece = size_mark (op, name);
          c += n + 1;
        }
      else if (*c == '$' || *c == '@')
        {
          gboolean either = c[1] == '|';
          int input;

          n = name_length (c + 1 + either);
          name = g_strndup (c + 1 + either, n);
          input = find_input (op, name, n);
          if (*c == '$' || (either && (input < 0 || !is_wired (op, (guint)input))))
            {
              const LoomParamSpec *p = find_param (op, name);
              piece = p != NULL ? param_mark (op, p, "", FALSE) : NULL;
            }
          else
            piece = input_or_none (op, input);
          c += 1 + either + n;
        }
      else
        {
          n = strcspn (c, "&$@");
          piece = g_strndup (c, n);
          c += n;
        }
      g_string_append (s, piece != NULL ? piece : "");
    }
  return g_string_free (s, FALSE);
}

static gboolean
holds (const Op *op, const char *when)
{
  const char *equal = when != NULL ? strchr (when, '=') : NULL;

  if (when == NULL)
    return TRUE;
  if (*when == '@')
    {
      int input = find_input (op, when + 1, strlen (when + 1));
      return input >= 0 && is_wired (op, (guint)input);
    }
  if (*when == '!')
    {
      int output = loom_op_output_index (op->node->output_spec, op->node->n_outputs, when + 1);
      return output >= 0 && loom_pytorch_is_read (op->s, op->k, (guint)output);
    }
  if (*when == '?')
    return find_param (op, when + 1) != NULL && loom_infer_is_set (op->infer, when + 1);
  if (*when == '#')
    return strchr (loom_infer_attribute (op->infer, when + 1), ',') != NULL;
  g_autofree char *name = g_strndup (when, (gsize)(equal - when));
  const LoomParamSpec *p = find_param (op, name);
  const char *text = loom_infer_attribute (op->infer, name);
  return p != NULL && g_strcmp0 (text != NULL ? text : p->def, equal + 1) == 0;
}

static const PyWord *
find_word (const Op *op)
{
  for (const PyWord *word = loom_pytorch_words (); word->op != NULL; word++)
    if (strcmp (word->op, op->node->op->name) == 0 && holds (op, word->when))
      return word;
  return NULL;
}

/* ---- operators without a row ---------------------------------------------------- */

/* PyTorch's losses of numbers take no integers, as targets of classes are. */
static gboolean
needs_float (const Op *op, guint input)
{
  LoomOutputKind kind = op->node->op->prediction_kind;
  const LoomType *type = loom_infer_input (op->infer, input);

  return op->node->input_spec[input].flags & LOOM_PORT_TARGET && type != NULL && !loom_dtype_is_float (type->dtype)
         && (kind == LOOM_OUTPUT_VALUES || kind == LOOM_OUTPUT_BINARY_LOGITS
             || kind == LOOM_OUTPUT_BINARY_PROBABILITIES);
}

/* "(a, b, dim=1)" of a function: inputs by position as long as none is missing, a parameter in place of an input that
 * it stands for, then all others by keyword. keep: parameters at their default are written, too, but for flags. */
static char *
arguments (const Op *op, gboolean keep)
{
  const LoomPortSpec *specs = op->node->input_spec;
  GString *s = g_string_new ("(");
  gboolean missing = FALSE, is_loss = op->node->op->category == LOOM_CATEGORY_LOSS;

  if (specs != NULL && specs[0].name != NULL && specs[0].flags & LOOM_PORT_VARIADIC)
    {
      g_autofree char *all = all_inputs (op);
      g_string_append (s, all);
    }
  else
    for (guint i = 0; specs != NULL && specs[i].name != NULL; i++)
      {
        const LoomParamSpec *p = find_param (op, specs[i].name);
        g_autofree char *piece
            = is_wired (op, i) ? input_or_none (op, (int)i)
              : p != NULL && loom_infer_is_set (op->infer, p->name) && !missing && p->type != LOOM_PARAM_FLOATS
                  ? param_mark (op, p, "", FALSE)
                  : NULL;

        if (piece != NULL && is_loss && needs_float (op, i))
          {
            g_autofree char *target = piece;
            piece = g_strdup_printf ("%s.float()", target);
          }
        /* The order of class weights and others differs from loss to loss. */
        missing |= is_loss && specs[i].flags & LOOM_PORT_OPTIONAL;
        if (piece != NULL && missing)
          g_string_append_printf (s, "\4%s=%s", specs[i].name, piece);
        else if (piece != NULL)
          g_string_append_printf (s, "\4%s", piece);
        missing |= piece == NULL;
      }
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    {
      g_autofree char *prefix = g_strdup_printf ("\4%s=", p->name), *mark = NULL;
      int input = find_input (op, p->name, strlen (p->name));

      if (input >= 0 && (p->type != LOOM_PARAM_FLOATS || is_wired (op, (guint)input)))
        continue;
      /* class weights */
      if (p->type == LOOM_PARAM_FLOATS && input >= 0)
        {
          g_autofree char *value = value_of (op, p), *tensor = g_strdup_printf ("torch.tensor(%s)", value);
          if (loom_infer_is_set (op->infer, p->name))
            mark = marked (op, prefix, p->name, tensor, NULL);
        }
      else
        mark = param_mark (op, p, prefix, !keep || p->type == LOOM_PARAM_BOOL || (p->def != NULL && *p->def == 0));
      g_string_append (s, mark != NULL ? mark : "");
    }
  return g_string_free (g_string_append_c (s, ')'), FALSE);
}

/* Makes the module and the call from the descriptor; FALSE if it says neither. */
static gboolean
derive (const Op *op, char **make, char **call, gboolean *is_one)
{
  const char *reference = op->node->op->reference != NULL ? op->node->op->reference : "";
  const char *name = strrchr (reference, '.') != NULL ? strrchr (reference, '.') + 1 : "";

  if (!g_str_has_prefix (reference, "torch.") || strpbrk (reference, " ,") != NULL)
    return FALSE;
  if (op->node->op->category == LOOM_CATEGORY_LOSS)
    {
      g_autofree char *all = arguments (op, FALSE);
      *call = g_strdup_printf ("F.%s%s", op->node->op->name, all);
    }
  else if (g_str_has_prefix (reference, "torch.nn.") && g_ascii_isupper (*name))
    {
      GString *required = g_string_new (NULL);
      g_autofree char *others = NULL;

      for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL && p->def == NULL; p++)
        g_string_append_printf (required, "%s$%s", required->len > 0 ? ", " : "", p->name);
      g_string_append (required, "$*");
      others = g_string_free (required, FALSE);
      g_autofree char *template = g_strdup_printf ("nn.%s(%s)", name, others);
      *make = fill (op, template, "");
      *is_one = TRUE;
    }
  else
    {
      g_autofree char *all = arguments (op, TRUE);
      *call = g_strdup_printf ("%s%s%s", g_str_has_prefix (reference, "torch.nn.functional.") ? "F." : "",
                               g_str_has_prefix (reference, "torch.nn.functional.") ? name : reference, all);
    }
  return TRUE;
}

/* ---- writing -------------------------------------------------------------------- */

/* "a, (b, c)" for the outputs of an LSTM, “_” for those that nothing reads. */
static char *
targets (const Op *op, gboolean is_one)
{
  guint n = op->node->n_outputs;
  GString *s = g_string_new (NULL);
  gboolean nested = strcmp (op->node->op->name, "lstm") == 0;

  if (n == 1 || is_one)
    return g_strdup (loom_pytorch_output (op->s, op->k, 0, n, NULL));
  for (guint i = 0; i < n; i++)
    {
      const char *name = loom_pytorch_is_read (op->s, op->k, i)
                             ? loom_pytorch_output (op->s, op->k, i, n, op->node->output_spec[i].name)
                             : "_";
      g_string_append_printf (s, "%s%s%s", i > 0 ? ", " : "", nested && i == 1 ? "(" : "", name);
    }
  if (nested)
    g_string_append_c (s, ')');
  else if (n == 1)
    g_string_append_c (s, ',');
  return g_string_free (s, FALSE);
}

/* Inputs in place of weights: "tied(self.head, weight=self.embed.weight)". member is replaced. */
static void
write_ties (const Op *op, char **make, char **member)
{
  const LoomPortSpec *specs = op->node->input_spec;
  g_autoptr (GString) none = g_string_new (NULL), given = g_string_new (NULL);

  for (guint i = 0; specs != NULL && specs[i].name != NULL; i++)
    if (specs[i].flags & LOOM_PORT_WEIGHT && is_wired (op, i))
      {
        g_autofree char *value = input_or_none (op, (int)i);
        g_string_append_printf (none, ", %s=None", specs[i].name);
        g_string_append_printf (given, ", %s=%s", specs[i].name, value);
      }
  if (none->len == 0)
    return;
  g_autofree char *plain = *make, *before = *member;
  loom_pytorch_need (op->s->w, "tied");
  *make = g_strdup_printf ("tied(%s%s)", plain, none->str);
  *member = g_strdup_printf ("tied(%s%s)", before, given->str);
}

static void
write_parameter (const Op *op)
{
  g_autofree char *member = loom_pytorch_member ("self", op->local.id, TRUE), *shape = NULL, *value = NULL;
  const LoomParamSpec *init = find_param (op, "init");
  g_autofree char *kind = init != NULL ? value_of (op, init) : g_strdup ("");
  GString *s = g_string_new (NULL);

  shape = loom_pytorch_shape (op->s, &op->local, &op->node->output[0].shape);
  if (strcmp (kind, "\"zeros\"") == 0 || strcmp (kind, "\"ones\"") == 0)
    g_string_append_printf (s, "torch.%.*s", (int)strlen (kind) - 2, kind + 1);
  else if (strcmp (kind, "\"constant\"") == 0)
    {
      g_autofree char *number = param_mark (op, find_param (op, "value"), "", FALSE);
      g_string_append_printf (s, "%s * torch.ones", number);
    }
  else if (strcmp (kind, "\"uniform\"") == 0)
    {
      g_autofree char *low = param_mark (op, find_param (op, "low"), "", FALSE);
      g_autofree char *high = param_mark (op, find_param (op, "high"), "", FALSE);
      g_string_append_printf (s, "%s + (%s - %s) * torch.rand", low, high, low);
    }
  else
    {
      g_autofree char *mean = param_mark (op, find_param (op, "mean"), "", FALSE);
      g_autofree char *std = param_mark (op, find_param (op, "std"), "", FALSE);
      g_string_append_printf (s, "%s + %s * torch.randn", mean, std);
    }
  g_autofree char *mark = marked (op, "", "shape", shape, NULL);
  loom_pytorch_init (op->s, &op->local, g_strdup_printf ("%s = nn.Parameter(%s(%s))", member, s->str, mark));
  g_string_free (s, TRUE);
}

static void
write_formula (const Op *op)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GString) list = g_string_new (NULL);
  g_autofree char *why = NULL, *formula = NULL;

  for (guint i = 0; op->node->input_spec[i].name != NULL; i++)
    {
      char *value = input_or_none (op, (int)i);
      const LoomType *type = loom_infer_input (op->infer, i);

      if (type != NULL && !loom_dtype_is_float (type->dtype))
        {
          g_autofree char *integer = value;
          value = g_strdup_printf ("%s.float()", integer);
        }
      g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", value);
      g_hash_table_insert (names, g_strdup (op->node->input_spec[i].name), value);
    }
  if (strcmp (op->node->op->name, "custom_function") == 0)
    {
      /* Paths are unique, and letters, digits, hyphens and dots. */
      g_autofree char *class_name = g_strconcat ("Function_", op->node->path, NULL);

      g_strdelimit (class_name, ".-", '_');
      loom_pytorch_write_function (op->s, &op->local, op->node, op->infer, class_name);
      formula = g_strdup_printf ("%s.apply(%s)", class_name, list->str);
    }
  else
    formula = loom_pytorch_formula (loom_infer_string (op->infer, "formula"), names, &why);
  if (formula == NULL)
    loom_pytorch_refuse (op->s->w, op->s->instance, &op->local, "its formula cannot be written: %s", why);
  else
    loom_pytorch_forward (op->s, &op->local,
                          g_strdup_printf ("%s = %s", loom_pytorch_output (op->s, op->k, 0, 1, NULL), formula));
}

/* The training loop sets the value at the end of the step. A weight that enters a module through a port is the
 * parameter itself. */
static void
write_assign (const Op *op)
{
  g_autofree char *target = input_or_none (op, 0), *value = input_or_none (op, 1);

  loom_pytorch_need (op->s->w, "assign");
  loom_pytorch_forward (
      op->s, &op->local,
      g_strdup_printf ("%s = assign(self, %s, %s)", loom_pytorch_output (op->s, op->k, 0, 1, NULL), target, value));
}

/* One node; copies of a repeated operator are a list that is run in order. */
static void
write_call (const Op *op, char *make /* transfer full */, const char *call, gboolean is_one)
{
  gboolean is_template = op->word != NULL;
  g_autofree char *member = loom_pytorch_member ("self", op->local.id, FALSE), *text = NULL;
  g_autofree char *left = NULL;

  if (make != NULL)
    {
      g_autofree char *variable = g_strdup (member);

      write_ties (op, &make, &member);
      if (op->local.repeated && !op->local.shared)
        {
          char *one = make;
          make = g_strdup_printf ("nn.ModuleList(%s for _ in range(%u))", one, op->local.n_copies);
          g_free (one);
        }
      loom_pytorch_init (op->s, &op->local, g_strdup_printf ("%s = %s", variable, make));
      g_free (make);
    }
  if (call != NULL && !op->local.repeated)
    text = is_template ? fill (op, call, member) : g_strdup (call);
  else if (call == NULL)
    {
      g_autofree char *all = NULL;
      GString *s = g_string_new (NULL);

      for (guint i = 0; op->node->input_spec[i].name != NULL; i++)
        if (!(op->node->input_spec[i].flags & LOOM_PORT_WEIGHT) && is_wired (op, i))
          {
            g_autofree char *one = input_or_none (op, (int)i);
            g_string_append_printf (s, "%s%s", s->len > 0 ? ", " : "", one);
          }
      all = g_string_free (s, FALSE);
      if (!op->local.repeated)
        text = g_strdup_printf ("%s(%s)", member, all);
      else
        {
          const char *out = loom_pytorch_output (op->s, op->k, 0, op->node->n_outputs, NULL);
          loom_pytorch_forward (op->s, &op->local, g_strdup_printf ("%s = %s", out, all));
          loom_pytorch_forward (op->s, &op->local,
                                op->local.shared ? g_strdup_printf ("for _ in range(%u):", op->local.n_copies)
                                                 : g_strdup_printf ("for layer in %s:", member));
          op->s->indent++;
          loom_pytorch_forward (op->s, &op->local,
                                g_strdup_printf ("%s = %s(%s)", out, op->local.shared ? member : "layer", out));
          op->s->indent--;
          return;
        }
    }
  else
    {
      loom_pytorch_refuse (op->s->w, op->s->instance, &op->local,
                           "a repeated %s has no counterpart; put it into a module", op->node->op->name);
      return;
    }
  left = targets (op, is_one);
  loom_pytorch_forward (op->s, &op->local, g_strdup_printf ("%s = %s", left, text));
}

/* The input whose value a muted node passes on: the first of its output's type. */
static gboolean
write_muted (const Op *op)
{
  for (guint i = 0; i < op->node->n_inputs; i++)
    {
      const LoomType *type = loom_infer_input (op->infer, i);

      if (is_wired (op, i) && type != NULL && type->dtype == op->node->output[0].dtype
          && loom_shape_equal (&type->shape, &op->node->output[0].shape))
        {
          g_autofree char *value = input_or_none (op, (int)i);
          loom_pytorch_forward (
              op->s, &op->local,
              g_strdup_printf ("%s = %s  # muted", loom_pytorch_output (op->s, op->k, 0, 1, NULL), value));
          return TRUE;
        }
    }
  return FALSE;
}

/* “nn.init.kaiming_normal_(self.conv.weight, mode="fan_out")”: functions and parameters have PyTorch's names. */
static void
write_initializer (const Op *op, const char *weight)
{
  const gboolean is_weight = op->node->op->role == LOOM_ROLE_PARAMETER || loom_initializer_is_weight (weight);
  const char *text = loom_infer_attribute (op->infer, is_weight ? LOOM_WEIGHT_INIT : LOOM_BIAS_INIT);
  g_autofree char *member = loom_pytorch_member ("self", op->local.id, FALSE), *why = NULL, *fix = NULL;
  g_autofree char *tensor = *weight != 0 ? loom_pytorch_weight (member, weight) : g_strdup (member);
  g_autoptr (GString) call = g_string_new (NULL);
  LoomInitializerCall chosen;

  if (text == NULL || *text == 0 || !loom_initializer_parse (text, &chosen, &why, &fix))
    return;
  g_string_append_printf (call, "nn.init.%s_(%s", chosen.function->name, tensor);
  for (guint i = 0; chosen.function->param[i].name != NULL; i++)
    {
      const LoomInitializerParam *p = &chosen.function->param[i];
      g_autofree char *value = p->choices != NULL ? loom_pytorch_quote (p->choices[(int)chosen.value[i]])
                               : p->is_integer    ? g_strdup_printf ("%.0f", chosen.value[i])
                                                  : loom_pytorch_float (chosen.value[i]);

      if (chosen.is_given[i] || p->value != chosen.value[i] || strcmp (p->name, "val") == 0
          || strcmp (p->name, "sparsity") == 0)
        g_string_append_printf (call, ", %s=%s", p->name, value);
    }
  g_string_append_c (call, ')');
  loom_pytorch_init (op->s, &op->local, g_strdup (call->str));
}

static void
write_initializers (const Op *op)
{
  const LoomOp *of = op->node->op;

  if (of->role == LOOM_ROLE_PARAMETER)
    write_initializer (op, "");
  for (guint i = 0; of->inputs != NULL && i < op->node->n_inputs && of->inputs[i].name != NULL; i++)
    if (loom_op_is_weight_port (of, i) && op->node->input[i].node == G_MAXUINT
        && loom_infer_find_declared (op->infer, of->inputs[i].name) != NULL)
      write_initializer (op, of->inputs[i].name);
}

void
loom_pytorch_write_op (PyScope *s, guint k)
{
  Op op = { .s = s, .k = k, .local = loom_net_instance_local (s->instance, k) };
  guint index = loom_net_instance_node (s->w->net, s->instance, k, 0);
  g_autofree char *made = NULL, *called = NULL;
  gboolean is_one = FALSE;
  const char *name;

  op.node = loom_net_node (s->w->net, index);
  op.infer = loom_net_infer (s->w->net, index);
  op.params = loom_op_params (op.node->op, op.node->element);
  name = op.node->op->name;
  if (op.node->op->role == LOOM_ROLE_PARAMETER)
    write_parameter (&op);
  else if (strcmp (name, "expression") == 0 || strcmp (name, "custom_function") == 0)
    write_formula (&op);
  else if (strcmp (name, "assign") == 0)
    write_assign (&op);
  else if (strcmp (name, "scheduled") == 0)
    {
      /* The training loop sets it before each step. */
      g_autofree char *member = loom_pytorch_member ("self", op.local.id, FALSE);
      g_autofree char *at
          = loom_pytorch_float (loom_infer_is_set (op.infer, "evaluation") ? loom_infer_float (op.infer, "evaluation")
                                                                           : loom_infer_float (op.infer, "start"));
      g_ptr_array_add (s->w->scheduled, g_strdup (op.node->path));
      loom_pytorch_init (
          s, &op.local,
          g_strdup_printf ("self.register_buffer(\"%s\", torch.tensor(%s), persistent=False)", op.local.id, at));
      loom_pytorch_forward (
          s, &op.local,
          g_strdup_printf ("%s = self.get_buffer(\"%s\")", loom_pytorch_output (s, k, 0, 1, NULL), op.local.id));
    }
  else
    {
      op.word = find_word (&op);
      s->w->has_gradient |= strcmp (name, "gradient") == 0;
      if (op.word != NULL && op.word->why != NULL)
        loom_pytorch_refuse (s->w, s->instance, &op.local, "%s", op.word->why);
      else if (op.word != NULL)
        {
          if (op.word->helper != NULL)
            loom_pytorch_need (s->w, op.word->helper);
          made = op.word->make != NULL ? fill (&op, op.word->make, "") : NULL;
          if (op.local.muted)
            {
              g_autofree char *member = loom_pytorch_member ("self", op.local.id, FALSE);

              if (made != NULL)
                loom_pytorch_init (s, &op.local, g_strdup_printf ("%s = %s", member, made));
              write_muted (&op);
            }
          else
            write_call (&op, g_steal_pointer (&made), op.word->call, op.word->is_one);
        }
      else if (!derive (&op, &made, &called, &is_one))
        loom_pytorch_refuse (s->w, s->instance, &op.local, "the operator %s has no counterpart in PyTorch", name);
      else if (op.local.muted)
        write_muted (&op);
      else
        write_call (&op, g_steal_pointer (&made), called, is_one);
    }
  write_initializers (&op);
}
