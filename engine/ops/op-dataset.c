/* Dataset: batches of samples, from a source of engine/data.
 *
 * The ports are those of the source, so they depend on attributes. Every edit queries the source, which answers
 * without reading the samples, and from a cache while its files are unchanged. */
#include "engine/data/dataset-list.h"
#include "engine/data/loom-dataset.h"
#include "engine/ops/op-private.h"

static const LoomPortSpec usual[] = {
  { "x", "The samples." },
  { "y", "The targets." },
  { NULL },
};

static const char *const sources[] = { LOOM_DATASET_NAMES, NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("source", STRING, "spirals"), .choices = sources,
    .doc = "The source of the samples; each source has its own parameters." },
  { NULL },
};

static LoomParamSpec
option_spec (const LoomDatasetParam *param)
{
  static const LoomParamType types[] = {
    [LOOM_DATASET_INT] = LOOM_PARAM_INT,       [LOOM_DATASET_FLOAT] = LOOM_PARAM_FLOAT,
    [LOOM_DATASET_FLOATS] = LOOM_PARAM_FLOATS, [LOOM_DATASET_ENUM] = LOOM_PARAM_ENUM,
    [LOOM_DATASET_STRING] = LOOM_PARAM_STRING, [LOOM_DATASET_PATH] = LOOM_PARAM_PATH,
  };

  return (LoomParamSpec){ .name = param->name,
                          .type = types[param->type],
                          .def = param->def,
                          LOOM_RANGE (param->minimum, param->maximum),
                          .choices = param->choices,
                          .doc = param->doc };
}

static gpointer
make_variants (gpointer unused)
{
  LoomOpVariant *variants = g_new0 (LoomOpVariant, G_N_ELEMENTS (sources));

  for (guint i = 0; sources[i] != NULL; i++)
    {
      const LoomDatasetClass *klass = loom_dataset_class (sources[i]);
      GArray *list = g_array_new (TRUE, TRUE, sizeof (LoomParamSpec));

      g_array_append_val (list, params[0]);
      for (const LoomDatasetParam *param = loom_dataset_class_params (klass); param->name != NULL; param++)
        {
          LoomParamSpec spec = option_spec (param);

          g_array_append_val (list, spec);
        }
      variants[i] = (LoomOpVariant){ .value = sources[i],
                                     .title = loom_dataset_class_title (klass),
                                     .doc = loom_dataset_class_doc (klass),
                                     .params = (const LoomParamSpec *)g_array_free (list, FALSE) };
    }
  return variants;
}

static const LoomOpVariant *
variants (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, make_variants, NULL);
}

static const char *
get_option (gconstpointer data, const char *name)
{
  return loom_infer_attribute (data, name);
}

static gboolean
describe (const LoomInfer *ctx, LoomDatasetInfo *info, GError **error)
{
  LoomDatasetOptions options
      = { .get = get_option, .data = ctx, .folder = loom_infer_folder (ctx), .guard = loom_infer_guard (ctx) };

  memset (info, 0, sizeof *info);
  return loom_dataset_describe (loom_infer_string (ctx, "source"), &options, info, error);
}

/* There are few different port lists (x and y for all but one source), so each is made once and never freed. */
static const LoomPortSpec *
ports_for (const LoomDatasetInfo *info)
{
  static GHashTable *known;
  static GMutex mutex;
  g_autoptr (GString) key = g_string_new (NULL);
  LoomPortSpec *ports;

  for (guint i = 0; i < info->n_ports; i++)
    g_string_append_printf (key, "%s ", info->port[i].name);
  g_mutex_lock (&mutex);
  if (known == NULL)
    known = g_hash_table_new (g_str_hash, g_str_equal);
  ports = g_hash_table_lookup (known, key->str);
  if (ports == NULL)
    {
      ports = g_new0 (LoomPortSpec, info->n_ports + 1);
      for (guint i = 0; i < info->n_ports; i++)
        {
          ports[i].name = g_intern_string (info->port[i].name);
          ports[i].doc = i < 2 ? usual[i].doc : "A tensor of each sample.";
        }
      g_hash_table_insert (known, g_strdup (key->str), ports);
    }
  g_mutex_unlock (&mutex);
  return ports;
}

/* A source that cannot list its ports gets the usual ones, so that wires to x and y cause no further faults. */
static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  LoomDatasetInfo info;
  g_autoptr (GError) error = NULL;

  if (!describe (ctx, &info, &error) && info.n_ports < 2)
    return usual;
  return ports_for (&info);
}

static void
infer (LoomInfer *ctx)
{
  LoomDatasetInfo info;
  g_autoptr (GError) error = NULL;

  if (!describe (ctx, &info, &error))
    loom_infer_fault (ctx, error->domain == LOOM_ERROR ? (LoomErrorCode)error->code : LOOM_ERROR_DATA, "source", "%s",
                      error->message);
  for (guint i = 0; i < info.n_ports; i++)
    loom_infer_output (ctx, i, info.port[i].type.dtype, &info.port[i].type.shape);
}

static LoomDataset *
open_dataset (const LoomInfer *ctx, const char *folder, GError **error)
{
  LoomDatasetOptions options = { .get = get_option, .data = ctx, .folder = folder, .guard = loom_infer_guard (ctx) };

  return loom_dataset_open (loom_infer_string (ctx, "source"), &options, error);
}

/* It has no lower(): batches are inputs of the program. */
const LoomOp loom_op_dataset = {
  .name = "dataset",
  .title = "Dataset",
  .category = LOOM_CATEGORY_DATA,
  .role = LOOM_ROLE_DATASET,
  .icon = "loom-dataset-symbolic",
  .synonyms = "data loader input mnist samples",
  .usual = TRUE,
  .doc = "Loads batches of samples and targets.",
  .details = "Training iterates over shuffled batches of the training set; validation and evaluation use sets that "
             "training does not see. Images are floats from 0 to 1, class labels are integers.",
  .formula = "(x, y) ~ data",
  .reference = "torch.utils.data.DataLoader",
  .outputs = usual,
  .dynamic_outputs = outputs,
  .params = params,
  .variants = variants,
  .example = "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
             "<node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
             "<node id=\"loss\" op=\"cross_entropy\"/>"
             "<wire from=\"data.x\" to=\"scores\"/>"
             "<wire from=\"scores\" to=\"loss.input\"/>"
             "<wire from=\"data.y\" to=\"loss.target\"/>",
  .infer = infer,
  .flops = loom_op_no_flops,
  .open_dataset = open_dataset,
};
