/* Finds the type and default of an attribute, from the tables of its readers: operators, data sets, attributes of all
 * nodes, <train> and its children, optimisers, schedules and metrics. */
#include "engine/graph/loom-modules.h"
#include "engine/diff/diff-private.h"
#include "engine/graph/loom-expr.h"
#include "engine/graph/loom-grammar.h"
#include "engine/ops/loom-reserved.h"
#include "engine/program/loom-optimizer.h"
#include "engine/recipe/loom-attributes.h"
#include "engine/recipe/loom-metric.h"
#include "engine/recipe/loom-schedule.h"

#include <math.h>
#include <string.h>

typedef enum
{
  MEANS_TEXT,
  MEANS_INT,
  MEANS_FLOAT,
  MEANS_BOOL,
  MEANS_LIST,  /* numbers with commas; if there is a length, a single one is used for all */
  MEANS_WORDS, /* texts with commas */
  MEANS_PORT,
  MEANS_METRIC, /* a metric's type, which may be an alias */
  MEANS_MODULE, /* a module's name */
  MEANS_NODE    /* the id of a neighbouring node */
} Means;

typedef struct
{
  const char *name;
  Means means;
  const char *def; /* NULL: none, or "": absent */
  int length;
  gboolean is_cosmetic;
} Meaning;

static const Meaning of_graph[] = { { "name", .is_cosmetic = TRUE }, { NULL } };
static const Meaning of_arg[] = { { "type", MEANS_TEXT }, { "default", MEANS_TEXT }, { NULL } };

/* ---- tables ------------------------------------------------------------- */

static gboolean
look_up (const Meaning *table, const char *name, Meaning *m)
{
  for (; table->name != NULL; table++)
    if (strcmp (table->name, name) == 0)
      {
        *m = *table;
        return TRUE;
      }
  return FALSE;
}

static Meaning
of_param (const LoomParamSpec *spec)
{
  static const Means means[] = {
    [LOOM_PARAM_INT] = MEANS_INT,     [LOOM_PARAM_FLOAT] = MEANS_FLOAT, [LOOM_PARAM_BOOL] = MEANS_BOOL,
    [LOOM_PARAM_ENUM] = MEANS_TEXT,   [LOOM_PARAM_INTS] = MEANS_LIST,   [LOOM_PARAM_FLOATS] = MEANS_LIST,
    [LOOM_PARAM_SHAPE] = MEANS_WORDS, [LOOM_PARAM_DTYPE] = MEANS_TEXT,  [LOOM_PARAM_STRING] = MEANS_TEXT,
    [LOOM_PARAM_PATH] = MEANS_TEXT,
  };

  return (Meaning){ spec->name, means[spec->type], spec->def, spec->length, FALSE };
}

static gboolean
of_operator (const LoomParamSpec *spec, const char *name, Meaning *m)
{
  for (; spec != NULL && spec->name != NULL; spec++)
    if (strcmp (spec->name, name) == 0)
      {
        *m = of_param (spec);
        return TRUE;
      }
  return FALSE;
}

/* Attributes of <graph>, of <train> and of what stands in it. For these an empty text differs from the default:
 * match="" matches no weights. */
static gboolean
of_recipe (LoomTag tag, const char *name, Meaning *m)
{
  static const Means means[]
      = { [LOOM_REFERS_PORT] = MEANS_PORT, [LOOM_REFERS_WEIGHTS] = MEANS_WORDS, [LOOM_REFERS_METRIC] = MEANS_METRIC };
  const LoomAttribute *attribute = loom_attribute (tag, name);

  if (attribute == NULL)
    return FALSE;
  *m = of_param (&attribute->spec);
  if (attribute->refers != LOOM_REFERS_NOTHING)
    m->means = means[attribute->refers];
  if (m->def != NULL && *m->def == 0)
    m->def = NULL;
  return TRUE;
}

/* Attributes that every node may have. */
static gboolean
of_reserved (const char *name, Meaning *m)
{
  const LoomReserved *reserved = loom_reserved_find (name);

  if (reserved == NULL)
    return FALSE;
  *m = of_param (&reserved->spec);
  m->is_cosmetic = reserved->is_cosmetic;
  return TRUE;
}

static Means
of_argument (const LoomElement *arg)
{
  static const Means means[LOOM_N_ARGUMENT_TYPES] = { [LOOM_ARGUMENT_INT] = MEANS_INT,
                                                      [LOOM_ARGUMENT_FLOAT] = MEANS_FLOAT,
                                                      [LOOM_ARGUMENT_BOOL] = MEANS_BOOL,
                                                      [LOOM_ARGUMENT_MODULE] = MEANS_MODULE };

  return means[loom_argument_type (arg)]; /* text of the others */
}

static gboolean
of_module (const DiffSide *side, const LoomElement *node, const char *name, Meaning *m)
{
  for (guint n = 0; n < loom_node_n_modules (node); n++)
    {
      const LoomElement *module = loom_graph_find_module (side->graph, loom_node_nth_module (node, n));

      for (guint i = 0; module != NULL && i < loom_element_n_children (module); i++)
        {
          const LoomElement *arg = loom_element_child (module, i);

          if (loom_element_tag (arg) == LOOM_TAG_ARG && g_strcmp0 (loom_element_get (arg, "name"), name) == 0)
            {
              *m = (Meaning){ name, of_argument (arg), loom_element_get (arg, "default") };
              return TRUE;
            }
        }
    }
  return FALSE;
}

static gboolean
of_node (const DiffSide *side, const LoomElement *node, const char *name, Meaning *m)
{
  const LoomOp *op = loom_op_of (node);

  if (op != NULL && of_operator (loom_op_params (op, node), name, m))
    {
      if (op->role == LOOM_ROLE_LOOP && strcmp (name, LOOM_BODY) == 0)
        m->means = MEANS_MODULE;
      if (op->role == LOOM_ROLE_MODULE_OUTPUT && strcmp (name, LOOM_CARRY) == 0)
        m->means = MEANS_NODE;
      return TRUE;
    }
  if (loom_node_module (node) != NULL && of_module (side, node, name, m))
    return TRUE;
  return of_reserved (name, m);
}

static gboolean
of_training (const LoomElement *train, const char *name, Meaning *m)
{
  const LoomHyper *hyper = loom_train_hyper (train, name);

  if (hyper == NULL)
    return of_recipe (LOOM_TAG_TRAIN, name, m);
  *m = (Meaning){ hyper->name,
                  hyper->choices != NULL ? MEANS_TEXT
                  : hyper->is_bool       ? MEANS_BOOL
                                         : MEANS_FLOAT,
                  loom_default_text (hyper->value, hyper->choices, hyper->is_bool) };
  return TRUE;
}

static gboolean
of_schedules (const LoomElement *e, const char *name, Meaning *m)
{
  const char *type = loom_element_get (e, "type");
  const LoomScheduleClass *klass
      = loom_schedule (type != NULL ? type : loom_attribute (LOOM_TAG_SCHEDULE, "type")->spec.def);

  for (const LoomScheduleParam *p = klass != NULL ? klass->param : NULL; p != NULL && p->name != NULL; p++)
    if (strcmp (p->name, name) == 0 || g_strcmp0 (p->alias, name) == 0)
      {
        *m = (Meaning){ p->name, p->choices != NULL ? MEANS_TEXT : MEANS_FLOAT,
                        p->required || p->of_lr ? NULL : loom_default_text (p->value, p->choices, FALSE) };
        return TRUE;
      }
  if (!of_recipe (LOOM_TAG_SCHEDULE, name, m))
    return FALSE;
  if (strcmp (name, "interval") == 0 && klass != NULL && klass->watches_loss)
    m->def = "epoch";
  return TRUE;
}

/* Unknown attributes are texts without a default. */
static Meaning
meaning_of (const DiffSide *side, const LoomElement *e, const char *name)
{
  Meaning m = { name, MEANS_TEXT };

  switch (loom_element_tag (e))
    {
    case LOOM_TAG_GRAPH:
      if (!look_up (of_graph, name, &m))
        of_recipe (LOOM_TAG_GRAPH, name, &m);
      break;
    case LOOM_TAG_NODE:
      of_node (side, e, name, &m);
      break;
    case LOOM_TAG_ARG:
      look_up (of_arg, name, &m);
      if (strcmp (name, "default") == 0)
        m.means = of_argument (e);
      break;
    case LOOM_TAG_TRAIN:
      of_training (e, name, &m);
      break;
    case LOOM_TAG_CLIP:
    case LOOM_TAG_GROUP:
    case LOOM_TAG_METRIC:
      of_recipe (loom_element_tag (e), name, &m);
      break;
    case LOOM_TAG_SCHEDULE:
      of_schedules (e, name, &m);
      break;
    default:
      break;
    }
  return m;
}

/* ---- values ------------------------------------------------------------- */

static char *
number_key (const char *text)
{
  char *end, buffer[G_ASCII_DTOSTR_BUF_SIZE];
  double value = g_ascii_strtod (text, &end);

  if (end == text || *end != 0 || !isfinite (value))
    return g_strdup (text);
  return g_strdup (g_ascii_dtostr (buffer, sizeof buffer, value + 0.0)); /* no negative zero */
}

/* Integers beyond 2^53 are kept apart, which a double would not. */
static char *
integer_key (const char *text)
{
  gint64 value;

  if (g_ascii_string_to_signed (text + (*text == '+'), 10, G_MININT64, G_MAXINT64, &value, NULL))
    return g_strdup_printf ("%" G_GINT64_FORMAT, value);
  return g_strdup (text);
}

static char *
list_key (const char *text, gboolean numbers, int length)
{
  g_auto (GStrv) part = g_strsplit (text, ",", -1);
  guint n = g_strv_length (part);
  gboolean equal = TRUE;

  for (guint i = 0; i < n; i++)
    {
      char *item = g_strstrip (part[i]);

      part[i] = numbers ? number_key (item) : g_strdup (item);
      g_free (item);
      equal = equal && strcmp (part[i], part[0]) == 0;
    }
  return n > 0 && equal && (length == (int)n || n == 1) ? g_strdup (part[0]) : g_strjoinv (",", part);
}

static char *
expression_key (const char *text)
{
  GString *s = g_string_new (NULL);

  for (; *text != 0; text++)
    if (!g_ascii_isspace (*text))
      g_string_append_c (s, *text);
  return g_string_free (s, FALSE);
}

static const char *
module_name (const DiffSide *side, const char *name)
{
  const DiffScope *scope = side->names != NULL ? g_hash_table_lookup (side->names->module, name) : NULL;

  return scope != NULL && scope->b != NULL ? scope->name : name;
}

static char *
value_key (const DiffSide *side, const LoomElement *e, const Meaning *m, const char *text)
{
  if (loom_expr_is (text))
    return expression_key (text);
  switch (m->means)
    {
    case MEANS_INT:
      return integer_key (text);
    case MEANS_FLOAT:
      return number_key (text);
    case MEANS_LIST:
      return list_key (text, TRUE, m->length);
    case MEANS_WORDS:
      return list_key (text, FALSE, 0);
    case MEANS_PORT:
      return diff_end (side, loom_graph_root (side->graph), text, FALSE);
    case MEANS_METRIC:
      return g_strdup (loom_metric (text) != NULL ? loom_metric (text)->name : text);
    case MEANS_MODULE:
      return g_strdup (module_name (side, text));
    case MEANS_NODE:
      return side->names != NULL ? diff_end (side, loom_element_parent (e), text, FALSE) : g_strdup (text);
    default:
      return g_strdup (text);
    }
}

/* ---- attributes --------------------------------------------------------- */

static void
attribute_free (gpointer data)
{
  DiffAttribute *attribute = data;

  g_free (attribute->text);
  g_free (attribute->key);
  g_free (attribute);
}

static void
add_attribute (const DiffSide *side, const LoomElement *e, const char *name, const char *text, GPtrArray *attributes)
{
  Meaning m = meaning_of (side, e, name);
  g_autofree char *key = value_key (side, e, &m, text);
  g_autofree char *def = m.def != NULL ? value_key (side, e, &m, m.def) : NULL;
  DiffAttribute *attribute;

  if (g_strcmp0 (key, def) == 0)
    return;
  attribute = g_new0 (DiffAttribute, 1);
  attribute->name = g_intern_string (m.name);
  attribute->text = g_strdup (text);
  attribute->key = g_steal_pointer (&key);
  attribute->is_cosmetic = m.is_cosmetic;
  g_ptr_array_add (attributes, attribute);
}

/* The list of several hyper-parameters: betas="0.9,0.999" is beta1 and beta2. */
static gboolean
add_list (const DiffSide *side, const LoomElement *e, const char *name, const char *text, GPtrArray *attributes)
{
  const char *optimizer_name = loom_element_get (e, "optimizer");
  const LoomOptimizer *optimizer = loom_optimizer (optimizer_name != NULL ? optimizer_name : "sgd");
  g_auto (GStrv) part = g_strsplit (text, ",", -1);
  guint n = 0;

  for (const LoomHyper *h = optimizer != NULL ? optimizer->hyper : NULL; h != NULL && h->name != NULL; h++)
    n += g_strcmp0 (h->list, name) == 0 && strcmp (h->name, name) != 0;
  if (n == 0 || g_strv_length (part) != n)
    return FALSE;
  n = 0;
  for (const LoomHyper *h = optimizer->hyper; h->name != NULL; h++)
    if (g_strcmp0 (h->list, name) == 0)
      add_attribute (side, e, h->name, g_strstrip (part[n++]), attributes);
  return TRUE;
}

/* Attributes that name an element, or say nothing of a graph. */
static gboolean
is_name (LoomTag tag, const char *name)
{
  const char *const *identity = loom_grammar (tag)->identity;

  return (identity != NULL && g_strv_contains (identity, name))
         || (tag == LOOM_TAG_GRAPH && strcmp (name, "xmlns") == 0);
}

static int
compare_attributes (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(DiffAttribute *const *)a)->name, (*(DiffAttribute *const *)b)->name);
}

GPtrArray *
diff_attributes (const DiffSide *side, const LoomElement *e)
{
  GPtrArray *attributes = g_ptr_array_new_with_free_func (attribute_free);
  LoomTag tag = loom_element_tag (e);

  for (guint i = 0; i < loom_element_n_attributes (e); i++)
    {
      const char *name, *value;

      loom_element_attribute (e, i, &name, &value);
      if (is_name (tag, name) || (tag == LOOM_TAG_TRAIN && add_list (side, e, name, value, attributes)))
        continue;
      add_attribute (side, e, name, value, attributes);
    }
  g_ptr_array_sort (attributes, compare_attributes);
  return attributes;
}

char *
diff_default (const DiffSide *side, const LoomElement *e, const char *name)
{
  Meaning m = meaning_of (side, e, name);

  return m.def != NULL && *m.def != 0 ? g_strdup (m.def) : NULL;
}

char *
diff_node_type (const DiffSide *side, const LoomElement *node)
{
  const char *op = loom_element_get (node, "op"), *module = loom_element_get (node, "module");

  if (module != NULL)
    return g_strdup_printf ("module %s", module_name (side, module));
  return g_strdup (op != NULL ? op : "nothing");
}

char *
diff_fingerprint (const DiffSide *side, const LoomElement *e)
{
  g_autoptr (GPtrArray) attributes = diff_attributes (side, e);
  GString *s = g_string_new (loom_tag_name (loom_element_tag (e)));

  if (loom_element_tag (e) == LOOM_TAG_NODE)
    {
      g_autofree char *type = diff_node_type (side, e);

      g_string_append_printf (s, " %s", type);
    }
  for (guint i = 0; i < attributes->len; i++)
    {
      const DiffAttribute *attribute = attributes->pdata[i];

      if (!attribute->is_cosmetic)
        g_string_append_printf (s, "\x1f%s=%s", attribute->name, attribute->key);
    }
  if (loom_element_text (e) != NULL)
    g_string_append_printf (s, "\x1f%s", loom_element_text (e));
  return g_string_free (s, FALSE);
}
