/* Initial weights from a file. Only a file that has no weight of the graph is an error, because the purpose of transfer
 * learning is a new head in the graph, and an old one in the file. The list names these weights. */
#include "engine/train/initial-weights.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-adapter.h"
#include "engine/interop/loom-file-kind.h"
#include "engine/interop/loom-weights.h"

static void
item_free (gpointer data)
{
  LoomTransferItem *item = data;

  g_free (item->name);
  g_free (item->here);
  g_free (item->there);
  g_free (item);
}

static void
transfer_free (LoomTransfer *transfer)
{
  g_free (transfer->file);
  g_ptr_array_unref (transfer->loaded);
  g_ptr_array_unref (transfer->missing);
  g_ptr_array_unref (transfer->unused);
  g_ptr_array_unref (transfer->mismatched);
  g_free (transfer);
}

void
initial_weights_free (LoomTransfer *transfer)
{
  g_clear_pointer (&transfer, transfer_free);
}

static void
add (GPtrArray *list, const char *name, const char *here, const char *there)
{
  LoomTransferItem *item = g_new0 (LoomTransferItem, 1);

  item->name = g_strdup (name);
  item->here = g_strdup (here);
  item->there = g_strdup (there);
  g_ptr_array_add (list, item);
}

/* Loads a weight of the state from the file, and lists the result. used: names of the file's tensors. */
static gboolean
take (const TrainModel *model, LoomTransfer *transfer, LoomTensorFile *file, gboolean *used, const char *name,
      const LoomTensorDesc *desc, GError **error)
{
  const LoomType want = { .dtype = desc->dtype, .shape = loom_shape (desc->rank, (const gint64 *)desc->dim) };
  g_autofree char *here = NULL, *there = NULL;
  guint at;

  switch (loom_weight_fit (file, name, &want, &at, &here, &there))
    {
    case LOOM_WEIGHT_MISSING:
      /* A model has no factors, which begin with values of their own. */
      if (!loom_train_spec_is_factor (model->spec, name))
        add (transfer->missing, name, here, NULL);
      return TRUE;
    case LOOM_WEIGHT_DIFFERS:
      if (loom_tensor_file_unread (file, at) != NULL)
        break; /* an unreadable tensor is an error: the weight must not silently begin at random */
      add (transfer->mismatched, name, here, there);
      return TRUE;
    case LOOM_WEIGHT_FITS:
      break;
    }
  g_autoptr (LoomTensor) tensor = loom_tensor_file_tensor (file, at, error);
  if (tensor == NULL || !loom_state_set (model->state, name, tensor, error))
    return FALSE;
  used[at] = TRUE;
  add (transfer->loaded, name, here, here);
  return TRUE;
}

static gboolean
is_weight (const TrainModel *model, const char *name)
{
  int i = loom_state_find (model->state, name);
  LoomSlotKind kind = LOOM_SLOT_SCALAR;

  if (i >= 0)
    loom_state_slot (model->state, (guint)i, NULL, &kind, NULL);
  return kind == LOOM_SLOT_PARAMETER || kind == LOOM_SLOT_BUFFER;
}

/* The nodes with magnitudes of DoRA that neither file has. */
static void
list_magnitudes (const TrainModel *model, const LoomTransfer *transfer, GHashTable *in_adapter, GArray *begins)
{
  g_autoptr (GHashTable) loaded = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; transfer != NULL && i < transfer->loaded->len; i++)
    g_hash_table_add (loaded, ((LoomTransferItem *)transfer->loaded->pdata[i])->name);
  for (guint i = 0; i < loom_net_n_nodes (model->net); i++)
    {
      const int at = loom_net_find_weight (model->net, i, LOOM_LORA_MAGNITUDE);
      const char *name = at >= 0 ? loom_net_weight (model->net, (guint)at)->name : NULL;

      if (name != NULL && !g_hash_table_contains (loaded, name) && !g_hash_table_contains (in_adapter, name))
        g_array_append_val (begins, i);
    }
}

gboolean
initial_weights_begin (const TrainModel *model, GArray *begins, GError **error)
{
  for (guint i = 0; i < begins->len; i++)
    if (!loom_adapter_begin_magnitudes (model->net, g_array_index (begins, guint, i), model->state, error))
      return FALSE;
  g_array_set_size (begins, 0);
  return TRUE;
}

/* The factors, and weights that were trained with them. */
static gboolean
load_adapter (const TrainModel *model, GHashTable *names, GError **error)
{
  g_autofree char *path = g_canonicalize_filename (model->spec->adapter, model->data_folder);
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomAdapter) adapter = loom_adapter_open (path, &local);

  for (guint i = 0; adapter != NULL && i < loom_adapter_count (adapter); i++)
    {
      const char *name = loom_adapter_name (adapter, i);
      g_autoptr (LoomTensor) tensor = NULL;

      if (!is_weight (model, name))
        return loom_refuse (
            error, LOOM_ERROR_DATA,
            "The adapter “%s” has “%s”, but the graph has no such weight. Factors need lora_rank on their "
            "layer, which --adapter sets.",
            path, name);
      tensor = loom_adapter_tensor (adapter, i, &local);
      if (tensor == NULL || !loom_state_set (model->state, name, tensor, &local))
        break;
      g_hash_table_add (names, g_strdup (name));
    }
  return local == NULL || loom_refuse (error, LOOM_ERROR_DATA, "The adapter: %s", local->message);
}

static gboolean
load_file (const TrainModel *model, TrainNotes *notes, LoomTransfer **result, GError **error)
{
  g_autofree char *path = NULL;
  g_autoptr (LoomTensorFile) file = NULL;
  g_autoptr (GError) local = NULL;
  LoomTransfer *transfer;

  path = g_canonicalize_filename (model->spec->weights, model->data_folder);
  file = loom_tensor_file_open (path, &local);
  if (file == NULL)
    {
      /* A wrong file is an error in the graph or on the command line, not of the disk. */
      return loom_refuse (error, LOOM_ERROR_DATA, "The initial weights: %s", local->message);
    }
  *result = transfer = g_new0 (LoomTransfer, 1);
  transfer->file = g_strdup (path);
  transfer->loaded = g_ptr_array_new_with_free_func (item_free);
  transfer->missing = g_ptr_array_new_with_free_func (item_free);
  transfer->unused = g_ptr_array_new_with_free_func (item_free);
  transfer->mismatched = g_ptr_array_new_with_free_func (item_free);
  g_autofree gboolean *used = g_new0 (gboolean, loom_tensor_file_count (file) + 1);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < loom_state_n_slots (model->state); i++)
    {
      const char *name;
      loom_state_slot (model->state, i, &name, NULL, NULL);
      if (is_weight (model, name) && loom_train_spec_takes (model->spec, name)
          && !loom_train_spec_is_factor (model->spec, name))
        g_ptr_array_add (names, (gpointer)name);
    }
  g_autofree char *fitted = loom_weights_fit_names (file, (const char *const *)names->pdata, names->len);
  if (fitted != NULL)
    train_notes_add (notes, "“%s” %s.", path, fitted);
  for (guint i = 0; i < loom_state_n_slots (model->state); i++)
    {
      const char *name;
      LoomTensorDesc desc;
      loom_state_slot (model->state, i, &name, NULL, &desc);
      if (is_weight (model, name) && loom_train_spec_takes (model->spec, name)
          && !take (model, transfer, file, used, name, &desc, error))
        return FALSE;
    }
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    {
      const char *name = loom_tensor_file_name (file, i);
      LoomType type = loom_tensor_file_type (file, i);
      g_autofree char *shape = loom_shape_to_string (&type.shape);
      if (!used[i] && (!is_weight (model, name) || !loom_train_spec_takes (model->spec, name)))
        add (transfer->unused, name, NULL, shape);
    }
  g_autofree char *shard = transfer->missing->len > 0 ? loom_file_shard_words (path) : NULL;
  if (shard != NULL)
    train_notes_add (notes, "%s lacks weights of this graph, which are initialised at random. %s", path, shard);
  if (transfer->loaded->len > 0)
    return TRUE;
  const LoomTransferItem *first = transfer->mismatched->len > 0 ? transfer->mismatched->pdata[0] : NULL;
  g_autofree char *example = first != NULL ? loom_weight_mismatch (first->name, first->here, first->there)
                             : transfer->unused->len > 0 && transfer->missing->len > 0
                                 ? g_strdup_printf ("the graph has %s, the file has %s",
                                                    ((LoomTransferItem *)transfer->missing->pdata[0])->name,
                                                    ((LoomTransferItem *)transfer->unused->pdata[0])->name)
                                 : g_strdup ("the graph or the file has no weights");
  return loom_refuse (error, LOOM_ERROR_DATA,
                      "No weight of %s matches this graph%s: %s. Name layers as in the file, or choose another file.",
                      path, model->spec->match != NULL ? " and the pattern" : "", example);
}

gboolean
initial_weights_load (const TrainModel *model, TrainNotes *notes, LoomTransfer **result, GArray *begins, GError **error)
{
  g_autoptr (GHashTable) in_adapter = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  if ((model->spec->weights != NULL && !load_file (model, notes, result, error))
      || (model->spec->adapter != NULL && !load_adapter (model, in_adapter, error)))
    return FALSE;
  list_magnitudes (model, *result, in_adapter, begins);
  return TRUE;
}

/* ---- as JSON ---------------------------------------------------------- */

static void
add_list (LoomJson *json, const char *name, const GPtrArray *list)
{
  loom_json_begin_array (json, name);
  for (guint i = 0; i < list->len; i++)
    {
      const LoomTransferItem *item = list->pdata[i];
      loom_json_begin_object (json, NULL);
      loom_json_string (json, "name", item->name);
      if (item->here != NULL)
        loom_json_string (json, "shape", item->here);
      if (item->there != NULL)
        loom_json_string (json, "file_shape", item->there);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

void
loom_transfer_add_json (const LoomTransfer *transfer, LoomJson *json)
{
  loom_json_string (json, "file", transfer->file);
  add_list (json, "loaded", transfer->loaded);
  add_list (json, "missing", transfer->missing);
  add_list (json, "unused", transfer->unused);
  add_list (json, "mismatched", transfer->mismatched);
}
