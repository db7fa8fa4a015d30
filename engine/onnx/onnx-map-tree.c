/* Imports TreeEnsemble, and TreeEnsembleRegressor and -Classifier before it: forests and boosted trees.
 *
 * All trees are one table of nodes. A sample has a position in each tree, from its root; a loop replaces it by the
 * child that the comparison chooses, as often as the deepest tree requires, and a leaf by itself. So the graph has a
 * dozen nodes, whatever the number of trees, and a step costs a few gathers for each sample and tree ("TreeTraversal"
 * in Nakandala et al. 2020, “Hummingbird”, section 4.1.2). The leaves' weights are then added. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-ml.h"

#include <math.h>
#include <string.h>

#define MAX_DEPTH   4096
#define MAX_TARGETS 65536
#define MAX_LEAVES  (1 << 26) /* nodes · targets: 256 MB */

/* What a node compares; only the first remains after reading. */
typedef enum
{
  LEQ,
  LT,
  GTE,
  GT,
  EQ,
  NEQ,
  MEMBER,
  LEAF
} Mode;

typedef struct
{
  gint64 n, n_targets;
  gint64 *feature, *yes, *no; /* by node; a leaf is its own child */
  float *value;
  guint8 *nan_is_yes;
  GArray *roots;       /* gint64 */
  LoomTensor *weights; /* [n, targets] */
  gint64 depth;
} Trees;

static void
trees_clear (Trees *t)
{
  g_free (t->feature);
  g_free (t->yes);
  g_free (t->no);
  g_free (t->value);
  g_free (t->nan_is_yes);
  g_clear_pointer (&t->roots, g_array_unref);
  g_clear_pointer (&t->weights, loom_tensor_unref);
}

static gboolean
trees_alloc (OnnxCtx *c, Trees *t, gint64 n, gint64 targets)
{
  if (n < 1 || targets < 1 || targets > MAX_TARGETS || n > MAX_LEAVES / targets)
    {
      onnx_fail (c,
                 "it has %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT
                 " targets; at most %d targets are supported, and %d for nodes · targets.",
                 n, targets, MAX_TARGETS, MAX_LEAVES);
      return FALSE;
    }
  t->n = n;
  t->n_targets = targets;
  t->feature = g_new0 (gint64, n);
  t->yes = g_new0 (gint64, n);
  t->no = g_new0 (gint64, n);
  t->value = g_new0 (float, n);
  t->nan_is_yes = g_new0 (guint8, n);
  t->roots = g_array_new (FALSE, FALSE, sizeof (gint64));
  t->weights = onnx_tensor_new (c, LOOM_F32, 2, (gint64[]){ n, targets });
  for (gint64 i = 0; i < n; i++)
    t->yes[i] = t->no[i] = i;
  return t->weights != NULL;
}

/* x < v is x ≤ the number before v; the others exchange the children. */
static void
set_branch (OnnxCtx *c, Trees *t, gint64 i, Mode mode, gint64 yes, gint64 no)
{
  if (mode == EQ || mode == NEQ || mode == MEMBER)
    {
      onnx_fail (c,
                 "its trees compare for equality or by a set, which is not supported. Encode categories as columns of "
                 "0 and 1.");
      return;
    }
  if (mode == LT || mode == GTE)
    t->value[i] = nextafterf (t->value[i], -INFINITY);
  t->yes[i] = mode == GTE || mode == GT ? no : yes;
  t->no[i] = mode == GTE || mode == GT ? yes : no;
  if (mode == GTE || mode == GT)
    t->nan_is_yes[i] = !t->nan_is_yes[i];
}

/* The number of levels below the roots. A node that is reached twice is part of no tree. */
static void
measure (OnnxCtx *c, Trees *t)
{
  g_autofree guint8 *seen = g_new0 (guint8, t->n);
  g_autoptr (GArray) level = g_array_ref (t->roots);

  for (t->depth = 0; level->len > 0 && !c->failed; t->depth++)
    {
      GArray *next = g_array_new (FALSE, FALSE, sizeof (gint64));

      for (guint i = 0; i < level->len; i++)
        {
          gint64 at = g_array_index (level, gint64, i);

          if (seen[at]++ || t->depth > MAX_DEPTH)
            onnx_fail (c, "its nodes are not trees: one has several parents, or is more than %d levels deep.",
                       MAX_DEPTH);
          if (c->failed)
            break;
          if (t->yes[at] != at)
            g_array_append_val (next, t->yes[at]);
          if (t->no[at] != at)
            g_array_append_val (next, t->no[at]);
        }
      g_array_unref (level);
      level = next;
    }
  t->depth--; /* the last level has no children */
}

/* ---- reading: nodes by tree and number ------------------------------------------------------- */

typedef struct
{
  GHashTable *index; /* tree and number → position + 1 */
  const gint64 *tree, *number;
} Ids;

static gpointer
id_key (gint64 tree, gint64 number)
{
  return (gpointer)(guintptr)((guint64)tree << 32 ^ (guint64)number);
}

static gint64
find_id (OnnxCtx *c, const Ids *ids, gint64 tree, gint64 number)
{
  gint64 at = (gint64)GPOINTER_TO_SIZE (g_hash_table_lookup (ids->index, id_key (tree, number))) - 1;

  if (at < 0)
    onnx_fail (c, "tree %" G_GINT64_FORMAT " has no node %" G_GINT64_FORMAT ".", tree, number);
  return MAX (at, 0);
}

static Mode
mode_of (OnnxCtx *c, const ProtobufCBinaryData *text)
{
  static const char *const words[]
      = { "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (text->len == strlen (words[i]) && memcmp (text->data, words[i], text->len) == 0)
      return (Mode)i;
  onnx_fail (c, "a node of its trees has an unknown mode.");
  return LEAF;
}

/* The integers of an attribute, of which there must be n. */
static const gint64 *
ints_of (OnnxCtx *c, const char *name, guint n)
{
  guint count;
  const gint64 *values = onnx_ml_ints (c, name, &count);

  if (count != n)
    onnx_fail (c, "its “%s” has %u numbers instead of %u.", name, count, n);
  return values;
}

static void
read_nodes (OnnxCtx *c, Trees *t, Ids *ids, guint n)
{
  const Onnx__AttributeProto *modes = onnx_attr (c, "nodes_modes");
  const gint64 *feature = ints_of (c, "nodes_featureids", n), *yes = ints_of (c, "nodes_truenodeids", n);
  const gint64 *no = ints_of (c, "nodes_falsenodeids", n), *nan = NULL;
  g_autoptr (LoomTensor) value = onnx_ml_floats (c, "nodes_values");
  g_autofree guint8 *is_child = g_new0 (guint8, n);

  onnx_attr (c, "nodes_hitrates");
  onnx_attr (c, "nodes_hitrates_as_tensor");
  if (onnx_has_attr (c, "nodes_missing_value_tracks_true"))
    nan = ints_of (c, "nodes_missing_value_tracks_true", n);
  if (modes == NULL || modes->n_strings != n || value == NULL || value->count != n)
    onnx_fail (c, "its lists of nodes have different lengths.");
  for (guint i = 0; i < n && !c->failed; i++)
    {
      Mode mode = mode_of (c, &modes->strings[i]);

      t->value[i] = ((const float *)value->data)[i];
      t->feature[i] = mode == LEAF ? 0 : feature[i];
      if (mode == LEAF)
        continue;
      t->nan_is_yes[i] = nan != NULL && nan[i] != 0;
      gint64 a = find_id (c, ids, ids->tree[i], yes[i]), b = find_id (c, ids, ids->tree[i], no[i]);
      is_child[a] = is_child[b] = 1;
      set_branch (c, t, i, mode, a, b);
    }
  for (gint64 i = 0; i < n; i++)
    if (!is_child[i])
      g_array_append_val (t->roots, i);
}

/* Weights of leaves: tree, node, target and number. `same`: all are of one target. */
static void
read_leaves (OnnxCtx *c, Trees *t, const Ids *ids, const char *what, gboolean *same)
{
  g_autoptr (LoomTensor) weight = onnx_ml_floats (c, onnx_text (c, "%s_weights", what));
  guint n = weight != NULL ? (guint)weight->count : 0;
  const gint64 *tree = ints_of (c, onnx_text (c, "%s_treeids", what), n);
  const gint64 *node = ints_of (c, onnx_text (c, "%s_nodeids", what), n);
  const gint64 *target = ints_of (c, onnx_text (c, "%s_ids", what), n);

  *same = TRUE;
  for (guint i = 0; i < n && !c->failed; i++)
    {
      gint64 at = find_id (c, ids, tree[i], node[i]);

      *same = *same && target[i] == target[0];
      if (target[i] < 0 || target[i] >= t->n_targets)
        onnx_fail (c, "its target %" G_GINT64_FORMAT " does not exist.", target[i]);
      else
        ((float *)t->weights->data)[at * t->n_targets + target[i]] += ((const float *)weight->data)[i];
    }
}

static gboolean
read_by_id (OnnxCtx *c, Trees *t, gboolean is_classifier, gboolean *same)
{
  guint n, n_numbers;
  Ids ids = { .tree = onnx_ml_ints (c, "nodes_treeids", &n), .number = onnx_ml_ints (c, "nodes_nodeids", &n_numbers) };
  gint64 targets = is_classifier ? onnx_ml_n_labels (c, "classlabels") : onnx_attr_int (c, "n_targets", 1);

  if (n != n_numbers || !trees_alloc (c, t, n, targets))
    {
      onnx_fail (c, "its lists of nodes have different lengths.");
      return FALSE;
    }
  ids.index = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < n; i++)
    g_hash_table_insert (ids.index, id_key (ids.tree[i], ids.number[i]), GSIZE_TO_POINTER ((gsize)i + 1));
  read_nodes (c, t, &ids, n);
  if (!c->failed)
    read_leaves (c, t, &ids, is_classifier ? "class" : "target", same);
  g_hash_table_unref (ids.index);
  return !c->failed;
}

/* ---- reading: operator set 5, nodes and leaves by position -------------------------------------- */

static LoomTensor *
tensor_of (OnnxCtx *c, const char *name)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);
  g_autoptr (GError) error = NULL;
  LoomTensor *t = a != NULL && a->t != NULL ? onnx_tensor_read (c->all->external, a->t, name, &error) : NULL;

  if (t == NULL)
    onnx_fail (c, "%s", error != NULL ? error->message : onnx_text (c, "its “%s” is missing.", name));
  return t;
}

/* Leaves follow the nodes in the table. */
static gint64
child (OnnxCtx *c, const Trees *t, guint n, gint64 at, gboolean is_leaf)
{
  gint64 most = is_leaf ? t->n - n : n;

  if (at < 0 || at >= most)
    onnx_fail (c, "its tree has no node %" G_GINT64_FORMAT ".", at);
  return CLAMP (at, 0, most - 1) + (is_leaf ? n : 0);
}

static gboolean
read_by_position (OnnxCtx *c, Trees *t)
{
  g_autoptr (LoomTensor) modes = tensor_of (c, "nodes_modes"), splits = tensor_of (c, "nodes_splits");
  g_autoptr (LoomTensor) weights = tensor_of (c, "leaf_weights");
  guint n = modes != NULL ? (guint)modes->count : 0, n_roots;
  const gint64 *feature = ints_of (c, "nodes_featureids", n), *nan = NULL;
  const gint64 *yes = ints_of (c, "nodes_truenodeids", n), *yes_leaf = ints_of (c, "nodes_trueleafs", n);
  const gint64 *no = ints_of (c, "nodes_falsenodeids", n), *no_leaf = ints_of (c, "nodes_falseleafs", n);
  const gint64 *target = ints_of (c, "leaf_targetids", weights != NULL ? (guint)weights->count : 0);
  const gint64 *roots = onnx_ml_ints (c, "tree_roots", &n_roots);

  onnx_attr (c, "nodes_hitrates");
  onnx_attr (c, "membership_values");
  if (onnx_has_attr (c, "nodes_missing_value_tracks_true"))
    nan = ints_of (c, "nodes_missing_value_tracks_true", n);
  if (c->failed || splits->count != n
      || !trees_alloc (c, t, (gint64)n + weights->count, onnx_attr_int (c, "n_targets", 1)))
    {
      onnx_fail (c, "its lists of nodes have different lengths.");
      return FALSE;
    }
  for (guint i = 0; i < n && !c->failed; i++)
    {
      gint64 a = child (c, t, n, yes[i], yes_leaf[i] != 0), b = child (c, t, n, no[i], no_leaf[i] != 0);

      t->value[i] = (float)loom_tensor_get (splits, i);
      t->feature[i] = feature[i];
      t->nan_is_yes[i] = nan != NULL && nan[i] != 0;
      set_branch (c, t, i, (Mode)CLAMP (loom_tensor_get (modes, i), LEQ, MEMBER), a, b);
    }
  for (guint i = 0; i < n_roots && !c->failed; i++)
    {
      gint64 at = child (c, t, n, roots[i], FALSE);
      g_array_append_val (t->roots, at);
    }
  for (gint64 i = 0; i < weights->count && !c->failed; i++)
    if (target[i] < 0 || target[i] >= t->n_targets)
      onnx_fail (c, "its target %" G_GINT64_FORMAT " does not exist.", target[i]);
    else
      ((float *)t->weights->data)[(n + i) * t->n_targets + target[i]] = (float)loom_tensor_get (weights, i);
  return !c->failed;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static const OnnxWire *
table (OnnxCtx *c, LoomDType dtype, gint64 n, const void *data, const char *name)
{
  g_autoptr (LoomTensor) t = onnx_tensor_new (c, dtype, 1, &n);

  if (t != NULL)
    memcpy (t->data, data, t->bytes);
  return onnx_tensor_wire (c, t, name, FALSE);
}

/* The node in which each sample is after `depth` comparisons, [N, trees]. */
static const OnnxWire *
descend (OnnxCtx *c, const Trees *t, const OnnxWire *x, const OnnxWire *at)
{
  OnnxImport *scope = onnx_scope_new (c->all, "tree_level");
  OnnxCtx in = onnx_scope_ctx (c, scope);
  const OnnxWire *count = onnx_count (c, loom_dim (t->depth)), *here, *chosen, *value, *next;
  gboolean any_nan = memchr (t->nan_is_yes, 1, (gsize)t->n) != NULL;

  if (c->failed)
    return at;
  onnx_scope_input (scope, "level", &(LoomType){ .dtype = LOOM_I64 });
  here = onnx_scope_input (scope, "here", &at->type);
  x = onnx_scope_capture (scope, "x", x);
  value = onnx_pick (&in, table (&in, LOOM_I64, t->n, t->feature, "feature"), 0, here);
  value = onnx_emit (&in, "take_along_dim", ONNX_IN (x, value), "dim", "1", NULL);
  chosen = onnx_binary (&in, "le", value, onnx_pick (&in, table (&in, LOOM_F32, t->n, t->value, "threshold"), 0, here));
  if (any_nan)
    {
      next = onnx_pick (&in, table (&in, LOOM_BOOL, t->n, t->nan_is_yes, "missing"), 0, here);
      next = onnx_binary (&in, "logical_and", onnx_unary (&in, "isnan", value), next);
      chosen = onnx_binary (&in, "logical_or", chosen, next);
    }
  next = onnx_emit (&in, "where",
                    ONNX_IN (chosen, onnx_pick (&in, table (&in, LOOM_I64, t->n, t->yes, "yes"), 0, here),
                             onnx_pick (&in, table (&in, LOOM_I64, t->n, t->no, "no"), 0, here)),
                    NULL);
  onnx_scope_output (&in, "next", next, here);
  c->failed = c->failed || in.failed;
  const OnnxNode *node = onnx_emit_loop (
      c, scope, &(OnnxLoop){ .in = (const OnnxWire *[]){ count, at }, .is_sequence = (gboolean[]){ TRUE, FALSE } });
  return node != NULL ? &node->out[0] : at;
}

/* [N, targets] */
static const OnnxWire *
evaluate (OnnxCtx *c, Trees *t, const char *reduce)
{
  const OnnxWire *x = onnx_cast (c, onnx_in (c, 0), LOOM_F32), *at;
  gint64 features = onnx_dim (c, x, 1);

  for (gint64 i = 0; i < t->n && !c->failed; i++)
    if (t->feature[i] < 0 || t->feature[i] >= features)
      onnx_fail (c, "it reads column %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT ".", t->feature[i], features);
  if (t->roots->len == 0)
    onnx_fail (c, "it has no tree.");
  if (!c->failed)
    measure (c, t);
  if (c->failed)
    return x;
  at = onnx_unsqueeze (c, onnx_count (c, x->type.shape.dim[0]), 1);
  at = onnx_binary (c, "add", onnx_with_number (c, "mul", at, 0),
                    table (c, LOOM_I64, t->roots->len, t->roots->data, "roots"));
  if (t->depth > 0)
    at = descend (c, t, x, at);
  at = onnx_pick (c, onnx_tensor_wire (c, t->weights, "leaves", FALSE), 0, at);
  return onnx_emit (c, reduce, ONNX_IN (at), "dim", "1", NULL);
}

/* The operator that combines trees: a word before operator set 5, then a number. */
static const char *
reduction (OnnxCtx *c, gboolean by_position)
{
  static const char *const ops[] = { "mean", "sum", "amin", "amax" }, *const words[]
                                                                      = { "AVERAGE", "SUM", "MIN", "MAX" };
  const char *word;

  if (by_position)
    return ops[CLAMP (onnx_attr_int (c, "aggregate_function", 1), 0, 3)];
  word = onnx_attr_word (c, "aggregate_function", "SUM", "AVERAGE", "MIN", "MAX");
  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    if (g_str_equal (words[i], word))
      return ops[i];
  return "sum";
}

/* Two classes of which the leaves score one: a probability if no weight is negative. */
static gboolean
is_binary (const Trees *t, gboolean same, gboolean *is_probability)
{
  *is_probability = TRUE;
  for (gint64 i = 0; i < t->weights->count; i++)
    *is_probability = *is_probability && ((const float *)t->weights->data)[i] >= 0;
  return same && t->n_targets == 2;
}

static void
put_classes (OnnxCtx *c, const Trees *t, gboolean same, const OnnxWire *scores, LoomTensor *base)
{
  gboolean is_probability;

  if (is_binary (t, same, &is_probability))
    {
      const OnnxWire *one = onnx_emit (c, "sum", ONNX_IN (scores), "dim", "1", "keepdim", "true", NULL);

      if (base != NULL)
        one = onnx_with_number (c, "add", one, loom_tensor_get (base, base->count - 1));
      onnx_ml_binary (c, one, is_probability, "classlabels");
      return;
    }
  if (base != NULL)
    scores = onnx_binary (c, "add", scores, onnx_tensor_wire (c, base, "base", FALSE));
  onnx_ml_label (c, onnx_emit (c, "argmax", ONNX_IN (scores), "dim", "1", NULL), "classlabels");
  onnx_out (c, 1, onnx_ml_transform (c, scores));
}

void
onnx_map_tree_ensemble (OnnxCtx *c)
{
  gboolean by_position = g_str_equal (c->node->op_type, "TreeEnsemble"), same = FALSE;
  gboolean is_classifier = g_str_equal (c->node->op_type, "TreeEnsembleClassifier");
  g_autoptr (LoomTensor) base = onnx_ml_floats (c, "base_values");
  Trees t = { 0 };

  if (by_position ? read_by_position (c, &t) : read_by_id (c, &t, is_classifier, &same))
    {
      const OnnxWire *scores = evaluate (c, &t, reduction (c, by_position));

      if (is_classifier && !c->failed)
        put_classes (c, &t, same, scores, base);
      else if (!c->failed)
        {
          if (base != NULL)
            scores = onnx_binary (c, "add", scores, onnx_tensor_wire (c, base, "base", FALSE));
          if (by_position && onnx_attr_int (c, "post_transform", 0) != 0)
            onnx_fail (c, "it transforms its results, which is not supported.");
          onnx_out (c, 0, by_position ? scores : onnx_ml_transform (c, scores));
        }
    }
  trees_clear (&t);
}
