/* Sums and products as trees, with their value as target: a task for recursive networks (Socher et al., "Parsing
 * natural scenes and natural language with recursive neural networks", 2011; the form is that of Nangia and Bowman's
 * ListOps, 2018, with the operators of arithmetic).
 *
 * A tree is stored as its nodes from the leaves up: each node follows its children, the left subtree precedes the right
 * one, so the root is the last of `length` nodes. `parent` is the index of a node's parent, -1 for the root and for the
 * padding after it. Numbers are below the modulus, and the value modulo it is the class; the token of a number is the
 * number itself. */
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-vocabulary.h"

#define STREAM      9
#define MAX_LEAVES  256
#define MAX_MODULUS 97
#define MAX_POWER   38 /* of ten in f32 */

static const char known[] = "+-*";

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("10000", "1000"),
  { LOOM_OPTION ("leaves", INT, "6"), LOOM_RANGE (1, MAX_LEAVES),
    .doc = "The largest number of leaves of a tree; a tree has at least one leaf." },
  { LOOM_OPTION ("operators", STRING, "+-*"), .doc = "The operators that occur: one or more of +, - and *." },
  { LOOM_OPTION ("modulus", INT, "10"), LOOM_RANGE (2, MAX_MODULUS),
    .doc = "Leaves are numbers below the modulus, and the class of a tree is its value modulo this number." },
  LOOM_TARGET_TYPE_PARAM,
  { .name = NULL },
};

typedef struct
{
  gint64 leaves, modulus;
  const char *operators;
  gboolean is_class;
} Trees;

/* The arrays that receive one tree. */
typedef struct
{
  const Trees *trees;
  LoomSampleRandom *random;
  gint64 *token, *parent, n;
} Tree;

static gint64
most_nodes (gint64 leaves)
{
  return 2 * leaves - 1;
}

/* The padding token: after numbers and operators. */
static gint64
padding (const Trees *trees)
{
  return trees->modulus + (gint64)strlen (trees->operators);
}

static gboolean
check_operators (const char *operators, GError **error)
{
  gboolean good = *operators != '\0';

  for (const char *c = operators; *c != '\0'; c++)
    good = good && strchr (known, *c) != NULL && strchr (c + 1, *c) == NULL;
  if (!good)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                 "The data set arithmetic-trees has operators=\"%s\"; name one or more of +, - and *, each once.",
                 operators);
  return good;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 nodes = most_nodes (loom_option_int (klass, options, "leaves")), one = 1;
  const gint64 modulus = loom_option_int (klass, options, "modulus");
  const gboolean is_class = g_str_equal (loom_option_string (klass, options, "target_type"), "class");

  if (!check_operators (loom_option_string (klass, options, "operators"), error))
    return FALSE;
  if (!is_class && (double)loom_option_int (klass, options, "leaves") * log10 ((double)modulus) > MAX_POWER)
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
          "The data set arithmetic-trees has target_type=\"float\", but products of this number of leaves are too "
          "large for it; use fewer leaves or a smaller modulus.");
      return FALSE;
    }
  loom_info_add_port (info, "x", LOOM_I64, 1, &nodes);
  loom_info_add_port (info, "parent", LOOM_I64, 1, &nodes);
  loom_info_add_port (info, "length", LOOM_I64, 0, NULL);
  loom_info_add_port (info, "y", is_class ? LOOM_I64 : LOOM_F32, is_class ? 0 : 1, &one);
  loom_info_set_generated (info, klass, options);
  info->n_classes = is_class ? modulus : 0;
  return TRUE;
}

static gint64
add_node (Tree *tree, gint64 token)
{
  tree->token[tree->n] = token;
  tree->parent[tree->n] = -1;
  return tree->n++;
}

/* Adds a tree of n leaves and returns the position of its root. *value: the tree's value, modulo the modulus if there
 * is one. */
static gint64
grow (Tree *tree, gint64 leaves, double *value)
{
  const Trees *trees = tree->trees;
  double a, b;

  if (leaves == 1)
    {
      const gint64 number = loom_sample_below (tree->random, (guint32)trees->modulus);

      *value = (double)number;
      return add_node (tree, number);
    }
  const gint64 split = 1 + loom_sample_below (tree->random, (guint32)(leaves - 1));
  const gint64 which = loom_sample_below (tree->random, (guint32)strlen (trees->operators));
  const gint64 left = grow (tree, split, &a), right = grow (tree, leaves - split, &b),
               root = add_node (tree, trees->modulus + which);

  tree->parent[left] = tree->parent[right] = root;
  *value = trees->operators[which] == '+' ? a + b : trees->operators[which] == '-' ? a - b : a * b;
  if (trees->is_class)
    *value = (double)((((gint64)*value % trees->modulus) + trees->modulus) % trees->modulus);
  return root;
}

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Trees *trees = data;
  const gint64 nodes = most_nodes (trees->leaves);
  Tree tree = { trees, random, (gint64 *)row[0]->data + i * nodes, (gint64 *)row[1]->data + i * nodes, 0 };
  double value;

  grow (&tree, 1 + loom_sample_below (random, (guint32)trees->leaves), &value);
  ((gint64 *)row[2]->data)[i] = tree.n;
  while (tree.n < nodes)
    add_node (&tree, padding (trees));
  loom_tensor_set (row[3], i, value);
}

/* Names of tokens: numbers from 0; with all, also operators and padding. */
static char **
name_tokens (const Trees *trees, gboolean all)
{
  const gsize n = (gsize)trees->modulus;
  char **names = g_new0 (char *, (gsize)padding (trees) + 2);

  for (gsize k = 0; k < n; k++)
    names[k] = g_strdup_printf ("%d", (int)k);
  if (!all)
    return names;
  for (gsize k = 0; trees->operators[k] != '\0'; k++)
    names[n + k] = g_strdup (trees->operators[k] == '-' ? "−" : trees->operators[k] == '*' ? "×" : "+");
  names[padding (trees)] = g_strdup (loom_token_names[LOOM_TOKEN_PADDING]);
  return names;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const Trees trees = {
    .leaves = loom_option_int (klass, options, "leaves"),
    .modulus = loom_option_int (klass, options, "modulus"),
    .operators = loom_option_string (klass, options, "operators"),
    .is_class = g_str_equal (loom_option_string (klass, options, "target_type"), "class"),
  };
  LoomDataset *self = loom_table_generate (klass, options, STREAM, make, &trees, error);

  if (self == NULL)
    return NULL;
  self->class_names = trees.is_class ? name_tokens (&trees, FALSE) : NULL;
  self->token_names = name_tokens (&trees, TRUE);
  self->separator = " ";
  return self;
}

const LoomDatasetClass loom_dataset_arithmetic_trees = {
  .name = "arithmetic-trees",
  .title = "Trees of arithmetic",
  .doc = "Arithmetic expressions as trees, given by each node's parent; the target is the value. A task for recursive "
         "networks.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
