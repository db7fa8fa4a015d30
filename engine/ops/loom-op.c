/* Finds operators by name in the operator table.
 *
 * Meson generates the list from one line per operator, so nothing is registered at run time. */
#include "engine/ops/loom-op.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/graph/loom-graph.h"
#include "engine/ops/op-list.h"

#define DECLARE(name, file) extern const LoomOp loom_op_##name;
LOOM_OPS (DECLARE)
#undef DECLARE

#define ENTRY(name, file) &loom_op_##name,
static const LoomOp *const all[] = { LOOM_OPS (ENTRY) NULL };
#undef ENTRY

#define FILE_OF(name, file) "engine/ops/op-" #file ".c",
static const char *const file_of[] = { LOOM_OPS (FILE_OF) };
#undef FILE_OF

const LoomOp *const *
loom_ops (void)
{
  return all;
}

static gpointer
build_index (gpointer unused)
{
  GHashTable *index = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; all[i] != NULL; i++)
    g_hash_table_insert (index, (gpointer)all[i]->name, (gpointer)all[i]);
  return index;
}

const LoomOp *
loom_op (const char *name)
{
  static GOnce once = G_ONCE_INIT;

  return name != NULL ? g_hash_table_lookup (g_once (&once, build_index, NULL), name) : NULL;
}

const LoomOp *
loom_op_of (const LoomElement *node)
{
  if (node == NULL || loom_element_tag (node) != LOOM_TAG_NODE || loom_element_get (node, "module") != NULL)
    return NULL;
  return loom_op (loom_element_get (node, "op"));
}

char *
loom_op_source_file (const LoomOp *op)
{
  guint i = 0;

  while (all[i] != op)
    i++;
  return g_strdup (file_of[i]);
}

gboolean
loom_op_has_role (const LoomElement *node, LoomOpRole role)
{
  const LoomOp *op = loom_op_of (node);

  return op != NULL && op->role == role;
}

const LoomPortSpec *
loom_op_inputs (const LoomOp *op, const LoomElement *node)
{
  return op->dynamic_inputs != NULL && node != NULL ? op->dynamic_inputs (node) : op->inputs;
}

const LoomOpVariant *
loom_op_variant (const LoomOp *op, const char *value)
{
  const LoomOpVariant *variant = op->variants != NULL && value != NULL ? op->variants () : NULL;

  while (variant != NULL && variant->value != NULL && strcmp (variant->value, value) != 0)
    variant++;
  return variant != NULL && variant->value != NULL ? variant : NULL;
}

const LoomParamSpec *
loom_op_params (const LoomOp *op, const LoomElement *node)
{
  const LoomOpVariant *variant = NULL;

  if (op->variants != NULL && node != NULL)
    variant = loom_op_variant (op, loom_element_get (node, op->params->name));
  return variant != NULL ? variant->params : op->params;
}

/* TRUE if the word is a synonym of the operator, or its name in PyTorch. */
static gboolean
has_synonym (const LoomOp *op, const char *word)
{
  g_auto (GStrv) synonyms = g_strsplit (op->synonyms != NULL ? op->synonyms : "", " ", -1);
  const char *last = op->reference != NULL ? strrchr (op->reference, '.') : NULL;

  for (guint i = 0; synonyms[i] != NULL; i++)
    if (g_ascii_strcasecmp (synonyms[i], word) == 0)
      return TRUE;
  return last != NULL && g_ascii_strcasecmp (last + 1, word) == 0;
}

const LoomOp *
loom_op_by_synonym (const char *word)
{
  const LoomOp *const *ops = loom_ops (), *found = NULL;

  for (guint i = 0; ops[i] != NULL; i++)
    if (ops[i]->category < LOOM_CATEGORY_HIDDEN && has_synonym (ops[i], word))
      {
        if (found != NULL)
          return NULL;
        found = ops[i];
      }
  return found;
}

char *
loom_ops_mentioning (const char *word)
{
  const LoomOp *const *ops = loom_ops ();
  g_autofree char *escaped = NULL, *pattern = NULL;
  g_autoptr (GRegex) regex = NULL;
  g_autoptr (GString) list = g_string_new (NULL);

  if (word[0] == '\0' || strlen (word) >= 40 || !g_utf8_validate (word, -1, NULL))
    return NULL;
  escaped = g_regex_escape_string (word, -1);
  pattern = g_strdup_printf ("(?<![A-Za-z0-9])%s(?![A-Za-z0-9])", escaped);
  regex = g_regex_new (pattern, G_REGEX_CASELESS, 0, NULL);
  for (guint i = 0; regex != NULL && ops[i] != NULL; i++)
    {
      g_autofree char *text = g_strjoin (" ", ops[i]->name, ops[i]->title, ops[i]->doc, ops[i]->details, NULL);

      if (ops[i]->category < LOOM_CATEGORY_HIDDEN && g_regex_match (regex, text, 0, NULL))
        g_string_append_printf (list, "%s%s", list->len > 0 ? ", " : "", ops[i]->name);
    }
  return list->len > 0 ? g_strdup (list->str) : NULL;
}

static gboolean
lists_param (const LoomParamSpec *params, const char *name)
{
  while (params != NULL && params->name != NULL && strcmp (params->name, name) != 0)
    params++;
  return params != NULL && params->name != NULL;
}

gboolean
loom_op_has_param (const LoomOp *op, const char *name)
{
  if (lists_param (op->params, name))
    return TRUE;
  for (const LoomOpVariant *v = op->variants != NULL ? op->variants () : NULL; v != NULL && v->value != NULL; v++)
    if (lists_param (v->params, name))
      return TRUE;
  return FALSE;
}

/* ---- ports ---------------------------------------------------------------- */

guint
loom_op_count_ports (const LoomPortSpec *specs)
{
  guint n = 0;

  while (specs != NULL && specs[n].name != NULL)
    n++;
  return n;
}

/* The port that a wire's end may omit: the only required port of its side, or the only one at all. */
static int
omitted_port (const LoomPortSpec *specs, guint n)
{
  int only = -1;

  for (guint i = 0; i < n; i++)
    if (!(specs[i].flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)))
      {
        if (only >= 0)
          return -1;
        only = (int)i;
      }
  return only < 0 && n == 1 ? 0 : only;
}

int
loom_op_output_index (const LoomPortSpec *specs, guint n, const char *port)
{
  if (port == NULL)
    return omitted_port (specs, n);
  for (guint i = 0; i < n; i++)
    if (strcmp (specs[i].name, port) == 0)
      return (int)i;
  return -1;
}

gboolean
loom_op_is_weight_port (const LoomOp *op, guint input)
{
  /* All inputs of a variadic operator share one entry, and inputs that depend on the node are not weights. */
  return op->inputs != NULL && op->dynamic_inputs == NULL && !(op->inputs[0].flags & LOOM_PORT_VARIADIC)
         && op->inputs[input].flags & LOOM_PORT_WEIGHT;
}

const char *
loom_op_weight_name (const LoomOp *op, guint k)
{
  for (guint i = 0; op->inputs != NULL && op->inputs[i].name != NULL; i++)
    if (op->inputs[i].flags & LOOM_PORT_WEIGHT && k-- == 0)
      return op->inputs[i].name;
  for (guint i = 0; op->buffers != NULL && op->buffers[i] != NULL; i++)
    if (k-- == 0)
      return op->buffers[i];
  return NULL;
}

guint
loom_op_count_weights (const LoomOp *op)
{
  guint n = 0;

  for (guint i = 0; op->inputs != NULL && op->inputs[i].name != NULL; i++)
    n += (op->inputs[i].flags & LOOM_PORT_WEIGHT) != 0;
  for (guint i = 0; op->buffers != NULL && op->buffers[i] != NULL; i++)
    n++;
  return n;
}

int
loom_op_weight_index (const LoomOp *op, const char *name)
{
  const char *each;

  for (guint k = 0; (each = loom_op_weight_name (op, k)) != NULL; k++)
    if (strcmp (each, name) == 0)
      return (int)k;
  return -1;
}

/* ---- texts ------------------------------------------------------------ */

const char *
loom_category_title (LoomCategory category)
{
  static const char *const title[LOOM_N_CATEGORIES] = {
    [LOOM_CATEGORY_DATA] = N_ ("Data"),
    [LOOM_CATEGORY_LAYERS] = N_ ("Layers"),
    [LOOM_CATEGORY_ACTIVATIONS] = N_ ("Activations"),
    [LOOM_CATEGORY_MATHS] = N_ ("Maths"),
    [LOOM_CATEGORY_LOGIC] = N_ ("Logic"),
    [LOOM_CATEGORY_SHAPE] = N_ ("Shape"),
    [LOOM_CATEGORY_LOSS] = N_ ("Loss"),
    [LOOM_CATEGORY_TRAINING] = N_ ("Training"),
    [LOOM_CATEGORY_HIDDEN] = N_ ("Hidden"),
  };

  g_return_val_if_fail (category < LOOM_N_CATEGORIES, NULL);

  return title[category];
}

LoomInit
loom_init_fan_in (gint64 fan_in)
{
  double bound;

  /* A layer without inputs has no scale; PyTorch leaves its bias at zero. */
  if (fan_in <= 0)
    return (LoomInit){ .kind = LOOM_INIT_ZEROS };
  bound = 1.0 / __builtin_sqrt ((double)fan_in);
  return (LoomInit){ .kind = LOOM_INIT_UNIFORM, .a = -bound, .b = bound };
}
