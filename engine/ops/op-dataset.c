/* Dataset: batches of samples, from a source of engine/data.
 *
 * Its ports are the source's, so they depend on attributes; the source is asked at every edit, which it answers
 * without reading the data, and from memory while its files stay as they are. */
#include "engine/data/dataset-list.h"
#include "engine/data/loom-dataset.h"
#include "engine/ops/op-private.h"

static const LoomPortSpec usual[] = {
  { "x", "The samples." },
  { "y", "What should come out for them." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "source", .type = LOOM_PARAM_STRING, .doc = "Where samples come from, one of: " LOOM_DATASET_NAMES "." },
  { NULL },
};

static const char *
get_option (gconstpointer data, const char *name)
{
  return loom_infer_attribute (data, name);
}

static gboolean
describe (const LoomInfer *ctx, LoomDatasetInfo *info, GError **error)
{
  LoomDatasetOptions options = { .get = get_option, .data = ctx, .folder = loom_infer_folder (ctx) };

  memset (info, 0, sizeof *info);
  return loom_dataset_describe (loom_infer_string (ctx, "source"), &options, info, error);
}

/* Port lists are few (x and y in all but one source), so each is made once and kept for good. */
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

/* A source that cannot say its ports keeps the usual ones, so that wires to x and y are not called wrong as well. */
static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  LoomDatasetInfo info;
  g_autoptr (GError) error = NULL;

  describe (ctx, &info, &error);
  return info.n_ports > 0 ? ports_for (&info) : usual;
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

/* It has no lower(): batches are inputs of the program. */
const LoomOp loom_op_dataset = {
  .name = "dataset",
  .title = "Dataset",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-dataset-symbolic",
  .doc = "Delivers batches of samples and what should come out for them.",
  .details
  = "Training draws random batches from the training part, validation and evaluation go through the parts that "
    "training never saw. Pictures come as numbers from 0 to 1, classes as whole numbers.",
  .formula = "(x, y) ~ data",
  .reference = "torch.utils.data.DataLoader",
  .outputs = usual,
  .dynamic_outputs = outputs,
  .params = params,
  .infer = infer,
  .flops = loom_op_no_flops,
};
