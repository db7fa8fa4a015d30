/* Imports ai.onnx.ml, in which scikit-learn's pipelines are written: preparation of columns, linear models and
 * support vectors; trees are in onnx-map-tree.c.
 *
 * Graphs carry numbers only. A label that is text is the index of its class, whose order a note says, and ZipMap, which
 * names probabilities, is dropped. Formulas: onnx, docs/Operators-ml.md; where that is silent, onnxruntime's. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-ml.h"

#include <math.h>
#include <string.h>

#define MAX_NAMED 12 /* classes that a note lists */

/* ---- attributes -------------------------------------------------------------------- */

LoomTensor *
onnx_ml_floats (OnnxCtx *c, const char *name)
{
  g_autofree char *other = g_strconcat (name, "_as_tensor", NULL);
  const Onnx__AttributeProto *a = onnx_attr (c, name), *b = onnx_attr (c, other);
  g_autoptr (GError) error = NULL;
  LoomTensor *t = NULL, *converted;

  if (a != NULL && a->n_floats > 0)
    {
      t = onnx_tensor_new (c, LOOM_F32, 1, (gint64[]){ (gint64)a->n_floats });
      if (t != NULL)
        memcpy (t->data, a->floats, t->bytes);
    }
  else if (b != NULL && b->t != NULL)
    {
      t = onnx_tensor_read (c->all->external, b->t, other, &error);
      converted = t != NULL ? loom_tensor_convert (t, LOOM_F32, FALSE, NULL) : NULL;
      g_clear_pointer (&t, loom_tensor_unref);
      t = converted;
      if (t == NULL)
        onnx_fail (c, "%s", error != NULL ? error->message : "there is no memory for its numbers.");
    }
  return t;
}

const gint64 *
onnx_ml_ints (OnnxCtx *c, const char *name, guint *n)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);

  *n = a != NULL ? (guint)a->n_ints : 0;
  return a != NULL ? a->ints : NULL;
}

/* The integers of an attribute; NULL, with a fault, if there is no memory. */
static LoomTensor *
ints_tensor (OnnxCtx *c, const Onnx__AttributeProto *a)
{
  LoomTensor *t = onnx_tensor_new (c, LOOM_I64, 1, (gint64[]){ (gint64)a->n_ints });

  if (t != NULL)
    memcpy (t->data, a->ints, t->bytes);
  return t;
}

/* A wire for the floats of an attribute; NULL if it is absent. */
static const OnnxWire *
floats_wire (OnnxCtx *c, const char *name)
{
  g_autoptr (LoomTensor) t = onnx_ml_floats (c, name);

  return t != NULL ? onnx_tensor_wire (c, t, name, FALSE) : NULL;
}

static const OnnxWire *
float_in (OnnxCtx *c, guint i)
{
  return onnx_cast (c, onnx_in (c, i), LOOM_F32);
}

/* ---- scores and labels --------------------------------------------------------------- */

const OnnxWire *
onnx_ml_transform (OnnxCtx *c, const OnnxWire *scores)
{
  const char *how = onnx_attr_word (c, "post_transform", "NONE", "SOFTMAX", "LOGISTIC");

  if (g_str_equal (how, "SOFTMAX"))
    return onnx_emit (c, "softmax", ONNX_IN (scores), "dim", "-1", NULL);
  return g_str_equal (how, "LOGISTIC") ? onnx_unary (c, "sigmoid", scores) : scores;
}

static const Onnx__AttributeProto *
labels_of (OnnxCtx *c, const char *prefix, const char *type)
{
  g_autofree char *name = g_strconcat (prefix, type, NULL);

  return onnx_attr (c, name);
}

guint
onnx_ml_n_labels (OnnxCtx *c, const char *prefix)
{
  const Onnx__AttributeProto *text = labels_of (c, prefix, "_strings"), *whole = labels_of (c, prefix, "_int64s");

  whole = whole != NULL ? whole : labels_of (c, prefix, "_ints");
  return text != NULL && text->n_strings > 0 ? (guint)text->n_strings : whole != NULL ? (guint)whole->n_ints : 0;
}

/* "Label 0 is “setosa”, 1 is “versicolor” …" */
static void
note_labels (OnnxCtx *c, const Onnx__AttributeProto *text)
{
  g_autoptr (GString) s = g_string_new (NULL);

  g_string_append_printf (
      s, "The output “%s” is the index of a class, because graphs carry numbers only:", c->node->output[0]);
  for (gsize i = 0; i < MIN (text->n_strings, MAX_NAMED); i++)
    g_string_append_printf (s, "%s %d is “%.*s”", i > 0 ? "," : "", (int)i, (int)MIN (text->strings[i].len, 40),
                            (const char *)text->strings[i].data);
  g_string_append (s, text->n_strings > MAX_NAMED ? ", …" : ".");
  g_ptr_array_add (c->all->notes, g_utf8_make_valid (s->str, -1));
}

void
onnx_ml_label (OnnxCtx *c, const OnnxWire *index, const char *prefix)
{
  const Onnx__AttributeProto *text = labels_of (c, prefix, "_strings"), *whole = labels_of (c, prefix, "_int64s");
  gboolean in_order = TRUE;

  whole = whole != NULL ? whole : labels_of (c, prefix, "_ints");
  if (c->failed || !onnx_has_output (c, 0))
    return;
  if (text != NULL && text->n_strings > 0)
    note_labels (c, text);
  for (gsize i = 0; whole != NULL && i < whole->n_ints; i++)
    in_order = in_order && whole->ints[i] == (gint64)i;
  if (!in_order)
    {
      g_autoptr (LoomTensor) t = ints_tensor (c, whole);
      index = onnx_pick (c, onnx_tensor_wire (c, t, "labels", FALSE), 0, index);
    }
  onnx_out (c, 0, index);
}

void
onnx_ml_binary (OnnxCtx *c, const OnnxWire *score, gboolean is_probability, const char *prefix)
{
  const OnnxWire *second = onnx_with_number (c, "gt", score, is_probability ? 0.5 : 0), *first;

  onnx_attr (c, "post_transform"); /* without effect on probabilities */
  onnx_ml_label (c, onnx_emit (c, "squeeze", ONNX_IN (onnx_cast (c, second, LOOM_I64)), "dim", "1", NULL), prefix);
  first = onnx_unary (c, "neg", score);
  if (is_probability)
    first = onnx_with_number (c, "add", first, 1);
  score = onnx_emit (c, "concat", ONNX_IN (first, score), "dim", "1", NULL);
  onnx_out (c, 1, is_probability ? score : onnx_ml_transform (c, score));
}

/* ---- linear models --------------------------------------------------------------------- */

/* x · Wᵀ + b as a layer with its own weights. */
static const OnnxWire *
linear (OnnxCtx *c)
{
  const OnnxWire *x = float_in (c, 0), *y;
  g_autoptr (LoomTensor) w = onnx_ml_floats (c, "coefficients");
  g_autoptr (LoomTensor) b = onnx_ml_floats (c, "intercepts");
  g_autoptr (LoomTensor) weight = NULL;
  gint64 features = onnx_dim (c, x, x->type.shape.rank - 1);

  if (!c->failed && (w == NULL || features < 1 || w->count % features != 0 || x->type.shape.rank > 2))
    onnx_fail (c, "its coefficients do not fit %" G_GINT64_FORMAT " features.", features);
  if (c->failed)
    return x;
  gint64 n = w->count / features;
  weight = onnx_tensor_new (c, LOOM_F32, 2, (gint64[]){ n, features });
  if (weight == NULL)
    return x;
  memcpy (weight->data, w->data, w->bytes);
  if (x->type.shape.rank == 1)
    x = onnx_unsqueeze (c, x, 0);
  y = onnx_emit (c, "linear", ONNX_IN (x), "out_features", onnx_text (c, "%" G_GINT64_FORMAT, n), "bias",
                 b != NULL ? NULL : "false", NULL);
  onnx_own (c, y, "weight", weight);
  if (b != NULL && b->count == n)
    onnx_own (c, y, "bias", b);
  else if (b != NULL)
    onnx_fail (c, "its intercepts do not fit its coefficients.");
  return y;
}

static void
map_linear_regressor (OnnxCtx *c)
{
  onnx_attr_int (c, "targets", 1);
  onnx_out (c, 0, onnx_ml_transform (c, linear (c)));
}

/* One row of coefficients scores the second of two classes. */
static void
map_linear_classifier (OnnxCtx *c)
{
  const OnnxWire *scores = linear (c);
  gint64 n = c->failed ? 0 : onnx_dim (c, scores, 1);

  onnx_attr_int (c, "multi_class", 0); /* how the model was fitted */
  if (n == 1 && onnx_ml_n_labels (c, "classlabels") == 2)
    {
      onnx_ml_binary (c, scores, FALSE, "classlabels");
      return;
    }
  onnx_ml_label (c, onnx_emit (c, "argmax", ONNX_IN (scores), "dim", "1", NULL), "classlabels");
  onnx_out (c, 1, onnx_ml_transform (c, scores));
}

/* The kernel of each support vector, [N, S], from their products; an RBF kernel from their distances. */
static const OnnxWire *
kernel (OnnxCtx *c, const OnnxWire *x, const OnnxWire *vectors)
{
  const char *type = onnx_attr_word (c, "kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID");
  double p[3] = { 0, 0, 3 }; /* gamma, coef0, degree */
  const OnnxWire *y;

  onnx_attr_floats (c, "kernel_params", p, 3);
  if (g_str_equal (type, "RBF"))
    {
      y = onnx_binary (c, "sub", onnx_unsqueeze (c, x, 1), vectors);
      y = onnx_emit (c, "sum", ONNX_IN (onnx_binary (c, "mul", y, y)), "dim", "2", NULL);
      return onnx_unary (c, "exp", onnx_with_number (c, "mul", y, -p[0]));
    }
  y = onnx_binary (c, "matmul", x, onnx_permute (c, vectors, (gint64[]){ 1, 0 }));
  if (g_str_equal (type, "LINEAR"))
    return y;
  y = onnx_with_number (c, "add", onnx_with_number (c, "mul", y, p[0]), p[1]);
  return g_str_equal (type, "POLY") ? onnx_with_number (c, "pow", y, p[2]) : onnx_unary (c, "tanh", y);
}

static void
map_svm_regressor (OnnxCtx *c)
{
  const OnnxWire *x = float_in (c, 0), *vectors = floats_wire (c, "support_vectors"), *y;
  const OnnxWire *weights = floats_wire (c, "coefficients"), *rho = floats_wire (c, "rho");
  gint64 n = onnx_attr_int (c, "n_supports", 0), features = onnx_dim (c, x, 1);
  LoomShape rows = loom_shape (2, (gint64[]){ MAX (n, 0), features }),
            column = loom_shape (2, (gint64[]){ MAX (n, 0), 1 });

  if (onnx_attr_int (c, "one_class", 0) != 0 || n < 1 || vectors == NULL || weights == NULL || rho == NULL)
    onnx_fail (c, "only a regression by support vectors is supported.");
  if (c->failed)
    return;
  y = onnx_binary (c, "matmul", kernel (c, x, onnx_reshape (c, vectors, &rows)), onnx_reshape (c, weights, &column));
  onnx_out (c, 0, onnx_ml_transform (c, onnx_binary (c, "add", y, rho)));
}

/* ---- preparation ------------------------------------------------------------------------- */

static void
map_scaler (OnnxCtx *c)
{
  const OnnxWire *x = float_in (c, 0), *offset = floats_wire (c, "offset"), *scale = floats_wire (c, "scale");

  if (offset != NULL)
    x = onnx_binary (c, "sub", x, offset);
  onnx_out (c, 0, scale != NULL ? onnx_binary (c, "mul", x, scale) : x);
}

/* A row of zeros stays one: its norm is raised to 1. The norm of onnxruntime's MAX is the largest number, that of
 * ONNX's text its magnitude; scikit-learn's own is the magnitude. */
static void
map_normalizer (OnnxCtx *c)
{
  const OnnxWire *x = float_in (c, 0), *y;
  const char *norm = onnx_attr_word (c, "norm", "MAX", "L1", "L2");
  gint64 last = -1;

  if (g_str_equal (norm, "L2"))
    y = onnx_unary (c, "sqrt", onnx_reduce (c, "sum", onnx_binary (c, "mul", x, x), 1, &last, TRUE));
  else
    y = onnx_reduce (c, *norm == 'M' ? "amax" : "sum", onnx_unary (c, "abs", x), 1, &last, TRUE);
  y = onnx_binary (c, "add", y, onnx_cast (c, onnx_with_number (c, "eq", y, 0), LOOM_F32));
  onnx_out (c, 0, onnx_binary (c, "div", x, y));
}

static void
map_binarizer (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);

  onnx_out (c, 0, onnx_cast (c, onnx_with_number (c, "gt", x, onnx_attr_float (c, "threshold", 0)), x->type.dtype));
}

/* Numbers that are missing, which are NaN unless they are named, become those of their columns. */
static void
map_imputer (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *by = floats_wire (c, "imputed_value_floats"), *missing;
  const Onnx__AttributeProto *whole = onnx_attr (c, "imputed_value_int64s");
  double value = onnx_attr_float (c, "replaced_value_float", NAN);

  if (by == NULL && whole != NULL && whole->n_ints > 0)
    {
      g_autoptr (LoomTensor) t = ints_tensor (c, whole);
      by = onnx_tensor_wire (c, t, "imputed", FALSE);
      value = (double)onnx_attr_int (c, "replaced_value_int64", 0);
    }
  if (by == NULL)
    onnx_fail (c, "it replaces text, and graphs carry numbers only.");
  if (c->failed)
    return;
  missing = isnan (value) ? onnx_unary (c, "isnan", x) : onnx_with_number (c, "eq", x, value);
  onnx_out (c, 0, onnx_emit (c, "where", ONNX_IN (missing, by, x), NULL));
}

/* Columns of the last dimension; those of a line become a row, as onnxruntime makes it. */
static void
map_array_feature_extractor (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *index = onnx_cast (c, onnx_in (c, 1), LOOM_I64);
  LoomShape line = { .rank = 1, .dim = { loom_shape_count (&index->type.shape) } };
  int rank = x->type.shape.rank;

  x = onnx_pick (c, x, MAX (rank - 1, 0), onnx_reshape (c, index, &line));
  onnx_out (c, 0, rank == 1 ? onnx_unsqueeze (c, x, 0) : x);
}

static void
map_feature_vectorizer (OnnxCtx *c)
{
  g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, onnx_n_inputs (c) + 1);

  for (guint i = 0; i < onnx_n_inputs (c); i++)
    in[i] = float_in (c, i);
  onnx_attr (c, "inputdimensions");
  onnx_out (c, 0, onnx_emit (c, "concat", onnx_n_inputs (c), in, "dim", "1", NULL));
}

/* 1 where x is the category, along a new last dimension. */
static const OnnxWire *
one_hot (OnnxCtx *c, const OnnxWire *x, const OnnxWire *categories)
{
  return onnx_binary (c, "eq", onnx_unsqueeze (c, x, -1), categories);
}

static const OnnxWire *
ints_wire (OnnxCtx *c, const char *name)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);
  g_autoptr (LoomTensor) t = a != NULL && a->n_ints > 0 ? ints_tensor (c, a) : NULL;

  return t != NULL ? onnx_tensor_wire (c, t, name, FALSE) : NULL;
}

static void
map_one_hot_encoder (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *categories = ints_wire (c, "cats_int64s");

  onnx_attr_int (c, "zeros", 1); /* otherwise other values are errors */
  if (categories == NULL)
    onnx_fail (c, "its categories are text, and graphs carry numbers only.");
  if (c->failed)
    return;
  onnx_out (c, 0, onnx_cast (c, one_hot (c, onnx_cast (c, x, LOOM_I64), categories), LOOM_F32));
}

/* Numbers for numbers: the value of the key that x is, or the default. */
static void
map_label_encoder (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *keys = ints_wire (c, "keys_int64s"), *values = ints_wire (c, "values_int64s"),
                 *is, *y;
  gboolean whole = values != NULL;
  double other = whole ? (double)onnx_attr_int (c, "default_int64", -1) : onnx_attr_float (c, "default_float", 0);

  keys = keys != NULL ? keys : floats_wire (c, "keys_floats");
  values = values != NULL ? values : floats_wire (c, "values_floats");
  if (keys == NULL || values == NULL)
    onnx_fail (c, "it translates text, and graphs carry numbers only. Convert the pipeline without its labels, or with "
                  "labels that are numbers.");
  if (c->failed)
    return;
  is = one_hot (c, x, keys);
  y = onnx_pick (c, values, 0, onnx_emit (c, "argmax", ONNX_IN (onnx_cast (c, is, LOOM_I64)), "dim", "-1", NULL));
  is = onnx_emit (c, "any", ONNX_IN (is), "dim", "-1", NULL);
  onnx_out (c, 0, onnx_emit (c, "where", ONNX_IN (is, y, NULL), "other", onnx_number (c, other), NULL));
}

/* A map from labels to probabilities stays their tensor, in the order of the labels. */
static void
map_zip_map (OnnxCtx *c)
{
  const Onnx__AttributeProto *text = labels_of (c, "classlabels", "_strings");

  labels_of (c, "classlabels", "_int64s");
  if (text != NULL && text->n_strings > 0)
    g_ptr_array_add (
        c->all->notes,
        g_strdup_printf ("The output “%s” has its %u probabilities in the order of the classes, without their "
                         "names.",
                         c->node->output[0], (guint)text->n_strings));
  onnx_out (c, 0, onnx_in (c, 0));
}

#define ML .domain = "ai.onnx.ml"

const OnnxMap onnx_map_ml[] = {
  { "LinearRegressor", "linear", map_linear_regressor, ML },
  { "LinearClassifier", "linear", map_linear_classifier, ML },
  { "SVMRegressor", "matmul", map_svm_regressor, ML },
  { "Scaler", "mul", map_scaler, ML },
  { "Normalizer", "div", map_normalizer, ML },
  { "Binarizer", "gt", map_binarizer, ML },
  { "Imputer", "where", map_imputer, ML },
  { "ArrayFeatureExtractor", "index_select", map_array_feature_extractor, ML },
  { "FeatureVectorizer", "concat", map_feature_vectorizer, ML },
  { "OneHotEncoder", "eq", map_one_hot_encoder, ML },
  { "LabelEncoder", "where", map_label_encoder, ML },
  { "ZipMap", NULL, map_zip_map, ML },
  { "TreeEnsembleRegressor", "scan", onnx_map_tree_ensemble, ML },
  { "TreeEnsembleClassifier", "scan", onnx_map_tree_ensemble, ML },
  { "TreeEnsemble", "scan", onnx_map_tree_ensemble, ML },
  { NULL },
};
