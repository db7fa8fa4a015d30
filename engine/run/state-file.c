/* Reads and writes weights and optimiser states as safetensors. */
#include "engine/run/run-private.h"

#include "engine/core/loom-refuse.h"
#include "engine/interop/loom-weights.h"
#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-slot-names.h"

static gboolean
is_weight (LoomSlotKind kind)
{
  return kind == LOOM_SLOT_PARAMETER || kind == LOOM_SLOT_BUFFER;
}

gboolean
loom_state_slot_is_kept (const char *name)
{
  return !g_str_has_prefix (name, LOOM_SLOT_ACCUMULATE) && !g_str_has_prefix (name, LOOM_SLOT_CARRY_EVALUATE)
         && !g_str_has_prefix (name, LOOM_SLOT_TABLE);
}

/* Scalars that number the micro-batches of a step: each batch sets them, and a run that is resumed with another
 * strategy may not have them. */
static gboolean
may_be_missing (LoomSlotKind kind, const char *name)
{
  return kind == LOOM_SLOT_SCALAR && g_str_has_prefix (name, LOOM_SCALAR_ACCUMULATE);
}

/* The metadata key of the number of steps after which the weights were saved. */
#define STEP "step"

typedef struct
{
  LoomState *state;
  const char *prefix; /* of slots whose values are written under the names of other slots */
  GHashTable *slots;  /* name in the file → slot, if names differ; else NULL */
} Saving;

static LoomTensor *
get_slot (const char *name, gpointer data, GError **error)
{
  const Saving *self = data;
  g_autofree char *other = NULL;

  if (self->slots != NULL)
    name = g_hash_table_lookup (self->slots, name);
  other = g_strconcat (self->prefix, name, NULL);
  return loom_state_get (self->state, loom_state_find (self->state, other) >= 0 ? other : name, error);
}

static gboolean
save (LoomState *state, LoomFolder *folder, const char *path, gboolean weights, const char *prefix, GError **error)
{
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (LoomTensorEntry));
  g_autoptr (GHashTable) metadata = NULL;
  Saving saving = { state, prefix, NULL };
  char step[32];

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      LoomTensorEntry e = { 0 };
      LoomTensorDesc desc;
      LoomSlotKind kind;

      loom_state_slot (state, i, &e.name, &kind, &desc);
      if (is_weight (kind) != weights || !loom_state_slot_is_kept (e.name))
        continue;
      e.dtype = desc.dtype;
      e.rank = desc.rank;
      for (int r = 0; r < desc.rank; r++)
        e.dim[r] = desc.dim[r];
      g_array_append_val (entries, e);
    }
  if (weights && loom_state_find (state, "step") >= 0)
    {
      double value;

      if (!loom_state_get_scalar (state, "step", &value, error))
        return FALSE;
      g_snprintf (step, sizeof step, "%.0f", value);
      metadata = g_hash_table_new (g_str_hash, g_str_equal);
      g_hash_table_insert (metadata, (gpointer)STEP, step);
    }
  return loom_safetensors_stream (folder, path, entries->len, (const LoomTensorEntry *)entries->data, metadata,
                                  get_slot, &saving, error);
}

gint64
loom_weights_step (const char *path)
{
  g_autoptr (LoomTensorFile) file = loom_safetensors_open (path, NULL);
  const char *step = file != NULL ? loom_tensor_file_metadata (file, STEP) : NULL;
  gint64 value;

  return step != NULL && g_ascii_string_to_signed (step, 10, 0, G_MAXINT64, &value, NULL) ? value : -1;
}

gboolean
loom_state_save_weights (LoomState *state, LoomFolder *folder, const char *path, GError **error)
{
  return save (state, folder, path, TRUE, "", error);
}

gboolean
loom_state_save_weights_of (LoomState *state, const char *prefix, LoomFolder *folder, const char *path, GError **error)
{
  return save (state, folder, path, TRUE, prefix, error);
}

gboolean
loom_state_save_renamed (LoomState *state, const char *prefix, LoomStateRename rename, gpointer data,
                         LoomFolder *folder, const char *path, GError **error)
{
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (LoomTensorEntry));
  g_autoptr (GHashTable) slots = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Saving saving = { state, prefix, slots };

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      LoomTensorEntry e = { 0 };
      LoomTensorDesc desc;
      LoomSlotKind kind;
      const char *slot;

      loom_state_slot (state, i, &slot, &kind, &desc);
      e.name = is_weight (kind) && loom_state_slot_is_kept (slot) ? rename (slot, data) : NULL;
      if (e.name == NULL)
        continue;
      g_hash_table_insert (slots, (gpointer)e.name, (gpointer)slot);
      e.dtype = desc.dtype;
      e.rank = desc.rank;
      for (int r = 0; r < desc.rank; r++)
        e.dim[r] = desc.dim[r];
      g_array_append_val (entries, e);
    }
  return loom_safetensors_stream (folder, path, entries->len, (const LoomTensorEntry *)entries->data, NULL, get_slot,
                                  &saving, error);
}

gboolean
loom_state_save_optimizer (LoomState *state, LoomFolder *folder, const char *path, GError **error)
{
  return save (state, folder, path, FALSE, "", error);
}

/* Loads every slot of the requested kind from the file; adds a line to `wrong` for each that is missing or does not
 * match, and to `unused` for each name in the file without a slot. FALSE: OUT_OF_MEMORY. */
static gboolean
load_into (LoomState *state, LoomTensorFile *file, gboolean weights, GString *wrong, GString *unused, GError **error)
{
  g_autofree gboolean *used = g_new0 (gboolean, loom_tensor_file_count (file) + 1);

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      g_autoptr (GError) local = NULL;
      g_autoptr (LoomTensor) t = NULL;
      g_autofree char *here = NULL, *there = NULL;
      const char *name;
      LoomSlotKind kind;
      LoomTensorDesc desc;
      LoomType want;
      guint at;

      loom_state_slot (state, i, &name, &kind, &desc);
      want = state_type_of (&desc);
      if (is_weight (kind) != weights || !loom_state_slot_is_kept (name))
        continue;
      if (may_be_missing (kind, name) && loom_tensor_file_find (file, name) < 0)
        continue;
      LoomWeightFit fit = loom_weight_fit (file, name, &want, &at, &here, &there);
      if (fit != LOOM_WEIGHT_MISSING)
        used[at] = TRUE;
      if (fit != LOOM_WEIGHT_FITS)
        {
          loom_weight_add_mismatch (wrong, name, here, there);
          continue;
        }
      t = loom_tensor_file_tensor (file, at, &local);
      if (t != NULL && loom_state_set (state, name, t, &local))
        continue;
      /* The values may fit; there is only no memory for them. */
      if (g_error_matches (local, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      g_string_append_printf (wrong, "\n  %s", local->message);
    }
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    {
      const char *name = loom_tensor_file_name (file, i);
      int k = loom_state_find (state, name);
      LoomSlotKind kind = LOOM_SLOT_PARAMETER;

      if (k >= 0)
        loom_state_slot (state, (guint)k, NULL, &kind, NULL);
      if (!used[i] && (k < 0 || is_weight (kind) != weights))
        g_string_append_printf (unused, "\n  %s is only in the file", name);
    }
  return TRUE;
}

/* Lets the file's names be those of the weights, which may have a prefix there. */
static void
fit_names (LoomState *state, LoomTensorFile *file, GString *line)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *fitted = NULL;

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;

      loom_state_slot (state, i, &name, &kind, NULL);
      if (is_weight (kind) && loom_state_slot_is_kept (name) && !may_be_missing (kind, name))
        g_ptr_array_add (names, (gpointer)name);
    }
  fitted = loom_weights_fit_names (file, (const char *const *)names->pdata, names->len);
  if (fitted != NULL)
    g_string_append_printf (line, "\n  the file %s", fitted);
}

/* folder NULL: path is the user's, a file of any format. */
static gboolean
load_weights (LoomState *state, LoomFolder *folder, const char *path, gboolean partial, char **report, GError **error)
{
  g_autoptr (LoomTensorFile) file
      = folder != NULL ? loom_safetensors_open_in (folder, path, error) : loom_tensor_file_open (path, error);
  g_autoptr (GString) fitted = g_string_new (NULL), wrong = g_string_new (NULL), unused = g_string_new (NULL);

  if (file == NULL)
    return FALSE;
  fit_names (state, file, fitted);
  if (!load_into (state, file, TRUE, wrong, unused, error))
    return FALSE;
  if (report != NULL)
    *report = g_strconcat (fitted->str, wrong->str, unused->str, NULL);
  if (partial || wrong->len == 0)
    return TRUE;
  g_autofree char *shown = loom_folder_path_of (folder, path);
  loom_weights_set_error (error, shown, wrong->str, TRUE);
  return FALSE;
}

gboolean
loom_state_load_weights (LoomState *state, const char *path, gboolean partial, char **report, GError **error)
{
  return load_weights (state, NULL, path, partial, report, error);
}

gboolean
loom_state_load_weights_in (LoomState *state, LoomFolder *folder, const char *name, GError **error)
{
  return load_weights (state, folder, name, FALSE, NULL, error);
}

gboolean
loom_state_load_optimizer (LoomState *state, LoomFolder *folder, const char *name, GError **error)
{
  g_autoptr (LoomTensorFile) file = loom_safetensors_open_in (folder, name, error);
  g_autoptr (GString) wrong = g_string_new (NULL), unused = g_string_new (NULL);

  if (file == NULL)
    return FALSE;
  if (!load_into (state, file, FALSE, wrong, unused, error))
    return FALSE;
  if (wrong->len == 0)
    return TRUE;
  g_autofree char *shown = loom_folder_path_of (folder, name);
  return loom_refuse (error, LOOM_ERROR_DATA, "The optimizer state in %s does not fit this graph:%s", shown,
                      wrong->str);
}
