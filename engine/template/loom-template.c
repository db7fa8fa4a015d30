#include "engine/template/template-private.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-fault.h"
#include "engine/ops/loom-op.h"

#define BATCH 64
/* Builds a graph for a data set: network, loss, metric and training settings.
 *
 * The number of epochs is enough for every generated data set to be learned, and at least three for large ones. */
#define STEPS        3000
#define LEAST_EPOCHS 3
#define MOST_EPOCHS  100
/* For a source whose number of samples is not known. */
#define SOME_EPOCHS 10

/* ---- requirements of a data set --------------------------------------------- */

static const LoomType *
target_of (const LoomDatasetInfo *info)
{
  return info->n_ports > 1 ? &info->port[info->n_ports - 1].type : NULL;
}

/* TRUE if the target is a mask: an integer for each pixel of the pictures at the first port. */
static gboolean
has_mask (const LoomDatasetInfo *info)
{
  const LoomShape *x = &info->port[0].type.shape, *y = &target_of (info)->shape;

  return info->n_ports == 2 && x->rank == 4 && y->rank == 3 && loom_dim_equal (x->dim[2], y->dim[1])
         && loom_dim_equal (x->dim[3], y->dim[2]);
}

/* Integers are classes, unless the data set declares that they are not. */
LoomTask
loom_template_task (const LoomDatasetInfo *info)
{
  const LoomType *y = target_of (info);

  if (y == NULL)
    return LOOM_TASK_NONE;
  if (loom_dtype_is_float (y->dtype) || info->n_classes == 0 || (y->shape.rank > 2 && !has_mask (info)))
    return LOOM_TASK_NUMBERS;
  return y->shape.rank == 1 ? LOOM_TASK_CLASSES : LOOM_TASK_POSITIONS;
}

static gboolean
is_class (LoomTask task)
{
  return task == LOOM_TASK_CLASSES || task == LOOM_TASK_POSITIONS;
}

/* Token sequences for an encoder and a decoder are separate inputs. */
static gboolean
is_joined (const LoomDatasetInfo *info)
{
  return info->n_ports > 2 && loom_template_task (info) != LOOM_TASK_POSITIONS && !loom_template_has_boxes (info);
}

/* Several inputs are concatenated to one vector. */
static void
join_inputs (const LoomDatasetInfo *info, LoomType *joined)
{
  gint64 count = 0;

  for (guint p = 0; p + 1 < info->n_ports; p++)
    count += loom_template_count (&info->port[p].type);
  joined->dtype = LOOM_F32;
  joined->shape.rank = 2;
  joined->shape.dim[0] = loom_dim_symbol ('B');
  joined->shape.dim[1] = loom_dim (count);
}

/* joined can hold the type of the input. */
static LoomTemplateShape
shape_of (const LoomDatasetInfo *info, LoomType *joined)
{
  LoomTemplateShape shape = { .info = info, .task = loom_template_task (info) };

  shape.x = &info->port[0].type;
  if (is_joined (info))
    {
      join_inputs (info, joined);
      shape.x = joined;
    }
  shape.y = target_of (info);
  shape.n_out = shape.task == LOOM_TASK_NONE      ? loom_template_count (shape.x)
                : shape.task == LOOM_TASK_NUMBERS ? loom_template_count (shape.y)
                                                  : info->n_classes;
  return shape;
}

const LoomTemplateKind **
loom_template_kinds (const LoomDatasetInfo *info)
{
  GPtrArray *list = g_ptr_array_new ();
  LoomTemplateShape shape;
  LoomType joined = { 0 };

  if (info->n_ports > 0)
    {
      shape = shape_of (info, &joined);
      for (const LoomTemplateBuilder *b = loom_template_builders; b->kind.name != NULL; b++)
        if (b->suits (&shape))
          g_ptr_array_add (list, (gpointer)&b->kind);
    }
  g_ptr_array_add (list, NULL);
  return (const LoomTemplateKind **)g_ptr_array_free (list, FALSE);
}

static gpointer
list_kinds (gpointer unused)
{
  GPtrArray *list = g_ptr_array_new ();

  for (const LoomTemplateBuilder *b = loom_template_builders; b->kind.name != NULL; b++)
    g_ptr_array_add (list, (gpointer)&b->kind);
  g_ptr_array_add (list, NULL);
  return g_ptr_array_free (list, FALSE);
}

const LoomTemplateKind *const *
loom_template_all_kinds (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, list_kinds, NULL);
}

const LoomTemplateKind *
loom_template_kind (const char *name)
{
  for (const LoomTemplateBuilder *b = loom_template_builders; b->kind.name != NULL; b++)
    if (strcmp (b->kind.name, name) == 0)
      return &b->kind;
  return NULL;
}

/* ---- properties that need the data ------------------------------------------- */

/* One more than the largest integer at the first port, over all samples; 0 if one is negative. */
static gint64
count_symbols (const LoomDataset *dataset, GError **error)
{
  enum
  {
    ROWS = 256
  };
  gint64 index[ROWS], most = 0;

  for (int split = 0; split < LOOM_N_SPLITS; split++)
    for (gint64 first = 0, n = loom_dataset_count (dataset, split); first < n; first += ROWS)
      {
        const guint here = (guint)MIN (ROWS, n - first);
        g_autoptr (GPtrArray) rows = NULL;
        const LoomTensor *x;

        for (guint i = 0; i < here; i++)
          index[i] = first + i;
        rows = loom_dataset_read_new (dataset, split, index, here, error);
        if (rows == NULL)
          return 0;
        x = rows->pdata[0];
        for (gint64 k = 0; k < x->count; k++)
          {
            if (((const gint64 *)x->data)[k] < 0)
              return 0;
            most = MAX (most, ((const gint64 *)x->data)[k] + 1);
          }
      }
  return most;
}

/* Completes info by opening the data set, if something is not known yet. */
static gboolean
complete_info (const LoomTemplateData *data, const LoomDatasetOptions *options, LoomDatasetInfo *info,
               gint64 *n_symbols, GError **error)
{
  g_autoptr (GError) failure = NULL;
  const LoomType *y = target_of (info);
  const gboolean has_symbols
      = y != NULL && info->port[0].type.dtype == LOOM_I64 && y->dtype == LOOM_I64 && y->shape.rank == 2;
  const gboolean lacks_classes = y != NULL && !loom_dtype_is_float (y->dtype) && info->n_classes < 0;
  g_autoptr (LoomDataset) dataset = NULL;
  const char *const *names;

  if (!lacks_classes && !has_symbols && info->n[LOOM_SPLIT_TRAIN] >= 0)
    return TRUE;
  dataset = loom_dataset_open (data->source, options, error);
  if (dataset == NULL)
    return FALSE;
  *info = *loom_dataset_info (dataset);
  if (loom_template_task (info) == LOOM_TASK_CLASSES && loom_dataset_class_names (dataset) == NULL
      && info->n_classes > loom_dataset_most_classes (info->n[LOOM_SPLIT_TRAIN]))
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "The target has integers up to %" G_GINT64_FORMAT
                        ", and each class would be an output. Number the classes from 0 (in NumPy, np.unique (y, "
                        "return_inverse=True)[1]); to predict numbers, use floats (y.astype (\"float32\")).",
                        info->n_classes - 1);
  names = loom_dataset_token_names (dataset);
  if (has_symbols)
    *n_symbols = names != NULL ? (gint64)g_strv_length ((char **)names) : count_symbols (dataset, &failure);
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* ---- the graph ------------------------------------------------------------------ */

/* Reshapes the prediction to the target; a vector is unchanged. */
static void
shape_answer (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  const LoomType *y = shape->y != NULL ? shape->y : shape->x;
  g_autoptr (GString) sizes = g_string_new ("B");

  if (y->shape.rank == 2)
    return;
  if (y->shape.rank == 1)
    {
      loom_template_chain (maker, "number", "squeeze", "dim", "1", NULL);
      return;
    }
  for (int d = 1; d < y->shape.rank; d++)
    g_string_append_printf (sizes, ",%" G_GINT64_FORMAT, y->shape.dim[d].coef);
  loom_template_chain (maker, "shaped", "reshape", "shape", sizes->str, NULL);
}

static void
scale_answer (LoomTemplateMaker *maker, const LoomTemplateData *data)
{
  const double factor = data->scale == 0 ? 1 : data->scale;
  char scale[G_ASCII_DTOSTR_BUF_SIZE], shift[G_ASCII_DTOSTR_BUF_SIZE];
  double step;
  g_autofree char *formula = NULL;

  if ((data->scale == 0 || data->scale == 1) && data->shift == 0)
    return;
  /* Prints with sufficient precision: a shift of 1234567 with a scale of 2 needs all its digits. */
  step = pow (10, floor (log10 (fabs (factor))) - 2);
  g_ascii_formatd (scale, sizeof scale, "%.3g", factor);
  g_ascii_formatd (shift, sizeof shift, "%.9g", round (fabs (data->shift) / step) * step);
  formula = g_strdup_printf ("x * %s %c %s", scale, data->shift < 0 ? '-' : '+', shift);
  loom_template_chain (maker, "units", "expression", "formula", formula, NULL);
}

/* The wire from the target, cast if the prediction is a float and the target is not. */
static char *
target_end (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  const LoomDatasetPort *port = &shape->info->port[shape->info->n_ports - 1];
  g_autofree char *end = g_strdup_printf ("data.%s", shape->y != NULL ? port->name : shape->info->port[0].name);

  const char *cast;

  if (is_class (shape->task) || loom_dtype_is_float (port->type.dtype))
    return g_steal_pointer (&end);
  cast = loom_template_node (maker, "target", "cast", "dtype", "f32", NULL);
  loom_template_wire (maker, end, cast);
  return g_strdup (cast);
}

static void
add_train (LoomTemplateMaker *maker, const LoomTemplateBuilder *builder, const LoomTemplateShape *shape,
           const char *prediction, const char *target, const char *metric)
{
  const gint64 n = shape->info->n[LOOM_SPLIT_TRAIN], batch = n > 0 ? MIN (BATCH, n) : BATCH;
  const gint64 per_epoch = n > 0 ? (n + batch - 1) / batch : 0;
  const gint64 epochs = per_epoch > 0 ? CLAMP (STEPS / per_epoch, LEAST_EPOCHS, MOST_EPOCHS) : SOME_EPOCHS;
  /* Many inputs make large sums, which need smaller steps. */
  const double lr = loom_template_count (shape->x) > 64 ? MIN (builder->lr, 0.002) : builder->lr;
  g_autofree char *epochs_text = g_strdup_printf ("%" G_GINT64_FORMAT, epochs);
  g_autofree char *batch_text = g_strdup_printf ("%" G_GINT64_FORMAT, batch);
  char lr_text[G_ASCII_DTOSTR_BUF_SIZE];
  LoomElement *train;

  train = loom_element_new (LOOM_TAG_TRAIN, "loss", "loss", "optimizer", "adam", "lr",
                            g_ascii_formatd (lr_text, sizeof lr_text, "%g", lr), "batch_size", batch_text, "epochs",
                            epochs_text, "seed", "1", NULL);
  if (metric != NULL)
    loom_element_append_detached (
        train, loom_element_new (LOOM_TAG_METRIC, "type", metric, "input", prediction, "target", target, NULL));
  loom_template_insert (maker, train);
}

static void
add_data (LoomTemplateMaker *maker, const LoomTemplateData *data, const LoomDatasetInfo *info)
{
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", "data", "op", "dataset", "source", data->source, NULL);
  const char *join;

  for (const char *const *o = data->options; o != NULL && o[0] != NULL; o += 2)
    loom_element_set_detached (node, o[0], o[1]);
  loom_template_insert (maker, node);
  if (!is_joined (info))
    {
      g_autofree char *end = g_strdup_printf ("data.%s", info->port[0].name);

      loom_template_set_end (maker, end);
      return;
    }
  /* Several inputs are concatenated; the last port is the target. */
  join = loom_template_node (maker, "inputs", "concat", "dim", "1", NULL);
  for (guint p = 0; p + 1 < info->n_ports; p++)
    {
      g_autofree char *end = g_strdup_printf ("data.%s", info->port[p].name), *to = g_strdup_printf ("%s.%u", join, p);

      loom_template_set_end (maker, end);
      if (!loom_dtype_is_float (info->port[p].type.dtype))
        loom_template_chain (maker, "numbers", "cast", "dtype", "f32", NULL);
      if (info->port[p].type.shape.rank > 2)
        loom_template_chain (maker, "flat", "flatten", NULL);
      else if (info->port[p].type.shape.rank == 1)
        loom_template_chain (maker, "row", "unsqueeze", "dim", "1", NULL);
      loom_template_wire (maker, maker->last, to);
    }
  loom_template_set_end (maker, join);
}

static void
build (LoomTemplateMaker *maker, const LoomTemplateData *data, const LoomTemplateBuilder *builder,
       const LoomTemplateShape *shape)
{
  const char *loss = is_class (shape->task) ? "cross_entropy" : "mse_loss";
  g_autofree char *prediction = NULL, *target = NULL;

  builder->build (maker, shape);
  if (builder->has_loss)
    {
      add_train (maker, builder, shape, NULL, NULL, NULL);
      return;
    }
  if (!is_class (shape->task))
    {
      shape_answer (maker, shape);
      scale_answer (maker, data);
    }
  prediction = g_strdup (maker->last);
  target = target_end (maker, shape);
  loom_template_node (maker, "loss", loss, NULL);
  loom_template_wire (maker, prediction, "loss.input");
  loom_template_wire (maker, target, "loss.target");
  add_train (maker, builder, shape, prediction, target,
             is_class (shape->task) && shape->y->shape.rank == 3 ? "mean_iou" : loom_op (loss)->metric);
}

/* The requested kind, or the first that suits. */
static const LoomTemplateBuilder *
choose (const LoomTemplateData *data, const LoomTemplateShape *shape, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *list = NULL;

  for (const LoomTemplateBuilder *b = loom_template_builders; b->kind.name != NULL; b++)
    if (b->suits (shape))
      {
        if (data->kind == NULL || strcmp (data->kind, b->kind.name) == 0)
          return b;
        g_ptr_array_add (names, (gpointer)b->kind.name);
      }
  g_ptr_array_add (names, NULL);
  list = g_strjoinv (", ", (char **)names->pdata);
  if (names->len == 1 && shape->task == LOOM_TASK_POSITIONS && shape->x->shape.rank == 2)
    {
      g_autofree char *y = loom_shape_to_string (&shape->y->shape);

      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
          "The targets are integers of shape %s, but a class is one number per sample: use y.squeeze (1) for a column "
          "of classes, y.argmax (1) for one column per class (NumPy), or floats for numbers to predict.",
          y);
    }
  else if (data->kind != NULL && names->len > 1)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "A network “%s” does not suit this data set; these do: %s.",
                 data->kind, list);
  else
    {
      g_autofree char *x = loom_shape_to_string (&shape->x->shape);

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "There is no template for samples of %s with this target; begin with an empty graph.", x);
    }
  return NULL;
}

/* Without this check the data set would report its missing options and never see a misspelled one. */
static gboolean
check_options (const LoomTemplateData *data, GError **error)
{
  const LoomDatasetClass *klass = loom_dataset_class (data->source);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  if (klass == NULL) /* which is reported when it is described */
    return TRUE;
  for (const LoomDatasetParam *p = loom_dataset_class_params (klass); p != NULL && p->name != NULL; p++)
    g_ptr_array_add (names, (gpointer)p->name);
  g_ptr_array_add (names, NULL);
  for (const char *const *o = data->options; o != NULL && o[0] != NULL; o += 2)
    if (!g_strv_contains ((const char *const *)names->pdata, o[0]))
      {
        const char *near = loom_nearest (o[0], (const char *const *)names->pdata);

        return loom_refuse (error, LOOM_ERROR_USAGE, "The data set %s has no option “%s”.%s%s%s", data->source, o[0],
                            near != NULL ? " Did you mean “" : "", near != NULL ? near : "", near != NULL ? "”?" : "");
      }
  return TRUE;
}

LoomGraph *
loom_template_from_data (const LoomTemplateData *data, GError **error)
{
  const LoomDatasetOptions options = { .get = data->options != NULL ? loom_dataset_options_from_strv : NULL,
                                       .data = data->options,
                                       .folder = data->folder };
  g_auto (LoomTemplateMaker) maker = { NULL };
  const LoomTemplateBuilder *builder;
  g_autoptr (GError) missing = NULL;
  LoomType joined = { 0 };
  LoomDatasetInfo info;
  LoomTemplateShape shape;
  gint64 n_symbols = 0;

  if (!check_options (data, error))
    return NULL;
  /* If files are missing, the ports may be known nevertheless: the graph can be drawn, and shows the fault. */
  if (!loom_dataset_describe (data->source, &options, &info, &missing)
      && (info.n_ports == 0 || info.n_classes < 0 || info.n[LOOM_SPLIT_TRAIN] < 0))
    {
      g_propagate_error (error, g_steal_pointer (&missing));
      return NULL;
    }
  if (!complete_info (data, &options, &info, &n_symbols, error))
    return NULL;
  if (loom_template_task (&info) == LOOM_TASK_CLASSES && info.n_classes == 1)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "All samples are of one class, so there is nothing to learn: set a path that has several "
                             "(folders of pictures, or names of files such as cat.0.jpg and dog.0.jpg).");
  shape = shape_of (&info, &joined);
  shape.n_symbols = n_symbols;
  builder = choose (data, &shape, error);
  if (builder == NULL)
    return NULL;
  maker.graph
      = loom_graph_new (data->name != NULL ? data->name : loom_dataset_class_title (loom_dataset_class (data->source)));
  if (data->folder != NULL)
    loom_graph_set_folder (maker.graph, data->folder);
  add_data (&maker, data, &info);
  build (&maker, data, builder, &shape);
  return g_steal_pointer (&maker.graph);
}
