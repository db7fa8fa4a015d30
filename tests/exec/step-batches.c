#include "tests/exec/step-batches.h"

#include <string.h>

#include "engine/recipe/loom-train-spec.h"

void
source_clear (Source *source)
{
  loom_loader_free (source->loader);
}

/* The data set that was opened last, and its description: each example reads its own six times, and unpacking one takes
 * longer than a step. */
static struct
{
  char *what;
  LoomDataset *dataset;
} kept;

void
source_forget_datasets (void)
{
  g_clear_pointer (&kept.dataset, loom_dataset_free);
  g_clear_pointer (&kept.what, g_free);
}

static LoomDataset *
open_dataset (const LoomGraph *graph, const LoomNet *net, int node, GError **error)
{
  const LoomElement *element = loom_net_node (net, (guint)node)->element;
  g_autoptr (GString) what = g_string_new (loom_graph_get_folder (graph));

  for (guint i = 0; i < loom_element_n_attributes (element); i++)
    {
      const char *name, *value;

      loom_element_attribute (element, i, &name, &value);
      g_string_append_printf (what, "\n%s=%s", name, value);
    }
  if (g_strcmp0 (kept.what, what->str) != 0)
    {
      source_forget_datasets ();
      kept.dataset = loom_net_open_dataset (net, node, loom_graph_get_folder (graph), error);
      kept.what = kept.dataset != NULL ? g_strdup (what->str) : NULL;
    }
  return kept.dataset;
}

void
source_open (Source *source, const LoomGraph *graph, const char *name)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (GError) error = NULL;

  if (spec == NULL || spec->dataset_node < 0)
    return;
  source->dataset = open_dataset (graph, net, spec->dataset_node, &error);
  if (source->dataset != NULL)
    source->loader
        = loom_loader_new_with_threads (source->dataset, LOOM_SPLIT_TRAIN, BATCH, TRUE, 1, LOOM_LOADER_DIRECT, &error);
  if (source->loader != NULL)
    loom_loader_start (source->loader, 0, 0);
  else
    g_test_message ("%s: %s Batches of made-up numbers take its place.", name, error->message);
}

/* Numbers of the right shape; classes are 0 and 1, which every example has. */
static LoomTensor *
made_up (const LoomTensorDesc *desc, guint32 seed)
{
  LoomTensor *t = loom_tensor_new (desc->dtype, desc->rank, desc->dim, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (gint64 k = 0; k < t->count; k++)
    loom_tensor_set (t, k, loom_dtype_is_float (desc->dtype) ? g_rand_double (rand) : g_rand_int_range (rand, 0, 2));
  return t;
}

GPtrArray *
draw_batch (Source *source, const LoomProgram *p)
{
  GPtrArray *batch = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  const LoomBatch *drawn = NULL;
  g_autoptr (GError) error = NULL;

  source->drawn++;
  while (source->loader != NULL && (drawn == NULL || drawn->n < BATCH))
    {
      drawn = loom_loader_next (source->loader, &error);
      g_assert_no_error (error);
      if (drawn == NULL)
        loom_loader_start (source->loader, ++source->epoch, 0);
    }
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *in = loom_program_get_input (p, i);
      const char *port = strrchr (in->name, '.');
      LoomTensor *t = NULL;

      for (guint k = 0; drawn != NULL && port != NULL && k < drawn->n_tensors; k++)
        if (strcmp (loom_dataset_info (source->dataset)->port[k].name, port + 1) == 0)
          t = loom_tensor_convert (drawn->tensors[k], drawn->tensors[k]->dtype, FALSE, NULL);
      g_ptr_array_add (batch, t != NULL ? t : made_up (&loom_value_info (p, in->value)->desc, 100 * source->drawn + i));
    }
  return batch;
}
