/* Writes safetensors files: a header in JSON, then the tensors one after another. */
#include "engine/interop/loom-safetensors.h"
#include "engine/interop/tensor-file-private.h"

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-refuse.h"

#include <json-glib/json-glib.h>
#include <string.h>

LoomNamedTensor *
loom_named_tensor_new (const char *name, LoomTensor *tensor)
{
  LoomNamedTensor *self = g_new0 (LoomNamedTensor, 1);

  self->name = g_strdup (name);
  self->tensor = loom_tensor_ref (tensor);
  return self;
}

void
loom_named_tensor_free (LoomNamedTensor *self)
{
  if (self == NULL)
    return;
  loom_tensor_unref (self->tensor);
  g_free (self->name);
  g_free (self);
}

GPtrArray *
loom_named_tensors_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify)loom_named_tensor_free);
}

static int
compare_for_writing (gconstpointer a, gconstpointer b)
{
  const LoomTensorEntry *x = *(LoomTensorEntry *const *)a, *y = *(LoomTensorEntry *const *)b;
  gsize sx = loom_dtype_size (x->dtype), sy = loom_dtype_size (y->dtype);

  if (sx != sy)
    return sx > sy ? -1 : 1;
  return strcmp (x->name, y->name);
}

static void
build_metadata (JsonBuilder *builder, GHashTable *metadata)
{
  g_autoptr (GList) keys = g_list_sort (g_hash_table_get_keys (metadata), (GCompareFunc)strcmp);

  json_builder_set_member_name (builder, "__metadata__");
  json_builder_begin_object (builder);
  for (GList *l = keys; l != NULL; l = l->next)
    {
      json_builder_set_member_name (builder, l->data);
      json_builder_add_string_value (builder, g_hash_table_lookup (metadata, l->data));
    }
  json_builder_end_object (builder);
}

static gsize
entry_bytes (const LoomTensorEntry *e)
{
  gsize bytes = loom_dtype_size (e->dtype);

  for (int d = 0; d < e->rank; d++)
    bytes *= (gsize)e->dim[d];
  return bytes;
}

/* Makes the header for tensors in this order, padded with blanks so that the numbers begin at a multiple of 8. */
static GString *
build_header (GPtrArray *ordered, GHashTable *metadata)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = NULL;
  GString *text = g_string_new (NULL);
  gint64 offset = 0;

  json_builder_begin_object (builder);
  if (metadata != NULL && g_hash_table_size (metadata) > 0)
    build_metadata (builder, metadata);
  for (guint i = 0; i < ordered->len; i++)
    {
      const LoomTensorEntry *e = g_ptr_array_index (ordered, i);

      json_builder_set_member_name (builder, e->name);
      json_builder_begin_object (builder);
      json_builder_set_member_name (builder, "dtype");
      json_builder_add_string_value (builder, tensor_encoding_of (e->dtype)->name);
      json_builder_set_member_name (builder, "shape");
      json_builder_begin_array (builder);
      for (int d = 0; d < e->rank; d++)
        json_builder_add_int_value (builder, e->dim[d]);
      json_builder_end_array (builder);
      json_builder_set_member_name (builder, "data_offsets");
      json_builder_begin_array (builder);
      json_builder_add_int_value (builder, offset);
      offset += (gint64)entry_bytes (e);
      json_builder_add_int_value (builder, offset);
      json_builder_end_array (builder);
      json_builder_end_object (builder);
    }
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  json_generator_set_root (generator, root);
  json_generator_to_gstring (generator, text);
  while (text->len % 8 != 0)
    g_string_append_c (text, ' ');
  return text;
}

static gboolean
begin (LoomAtomicFile *file, GPtrArray *ordered, GHashTable *metadata, GError **error)
{
  g_autoptr (GString) header = build_header (ordered, metadata);
  guint8 length[8];

  for (int i = 0; i < 8; i++)
    length[i] = (guint8)((guint64)header->len >> (8 * i));
  return loom_atomic_file_write (file, length, sizeof length, error)
         && loom_atomic_file_write (file, header->str, header->len, error);
}

/* Sorts the entries in the order of the file; NULL with DATA if a name occurs twice. */
static GPtrArray *
order (const char *path, guint n, const LoomTensorEntry *entries, GError **error)
{
  g_autoptr (GPtrArray) ordered = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < n; i++)
    {
      if (!g_hash_table_add (seen, (gpointer)entries[i].name))
        return loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” cannot be written: two tensors are named “%s”.",
                                 path != NULL ? path : "", entries[i].name);
      g_ptr_array_add (ordered, (gpointer)&entries[i]);
    }
  g_ptr_array_sort (ordered, compare_for_writing);
  return g_steal_pointer (&ordered);
}

gboolean
loom_safetensors_stream (LoomFolder *folder, const char *path, guint n, const LoomTensorEntry *entries,
                         GHashTable *metadata, LoomTensorGet get, gpointer data, GError **error)
{
  g_autoptr (GPtrArray) ordered = order (path, n, entries, error);
  g_autoptr (LoomAtomicFile) file = NULL;
  g_autoptr (GError) failure = NULL;

  if (ordered == NULL)
    return FALSE;
  file = path != NULL ? loom_atomic_file_new (folder, path, &failure) : NULL;
  if (file != NULL)
    begin (file, ordered, metadata, &failure);
  for (guint i = 0; i < ordered->len; i++)
    {
      const LoomTensorEntry *e = g_ptr_array_index (ordered, i);
      g_autoptr (LoomTensor) t = get (e->name, data, failure == NULL ? &failure : NULL);

      if (t == NULL)
        break;
      if (file != NULL && failure == NULL)
        loom_atomic_file_write (file, t->data, t->bytes, &failure);
    }
  if (failure == NULL && file != NULL)
    loom_atomic_file_commit (file, &failure);
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

static LoomTensor *
get_named (const char *name, gpointer data, GError **error)
{
  return loom_tensor_ref (g_hash_table_lookup (data, name));
}

gboolean
loom_safetensors_save (const char *path, GPtrArray *tensors, GHashTable *metadata, GError **error)
{
  g_autofree LoomTensorEntry *entries = g_new0 (LoomTensorEntry, tensors->len + 1);
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);

  g_return_val_if_fail (path != NULL, FALSE);

  for (guint i = 0; i < tensors->len; i++)
    {
      const LoomNamedTensor *named = g_ptr_array_index (tensors, i);

      entries[i] = (LoomTensorEntry){ .name = named->name, .dtype = named->tensor->dtype, .rank = named->tensor->rank };
      for (int d = 0; d < named->tensor->rank; d++)
        entries[i].dim[d] = named->tensor->dim[d];
      g_hash_table_insert (by_name, named->name, named->tensor);
    }
  return loom_safetensors_stream (NULL, path, tensors->len, entries, metadata, get_named, by_name, error);
}
