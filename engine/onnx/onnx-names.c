/* The names that PyTorch's exporters leave in a model: the module of the network that each node is from, and which
 * tensors are parameters and which are buffers.
 *
 * The current exporter writes them as metadata (scopes as a Python list, the signature as text), the older one as paths
 * in the names of nodes. Descriptions of ONNX before 1.16 lack the metadata of nodes, so its fields are found by
 * number, also among the unknown ones. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

#define NODE_METADATA  9
#define GRAPH_METADATA 16
#define SIGNATURE      "pkg.torch.export.ExportedProgram.graph_signature"

/* Text of field `number` of an encoded StringStringEntryProto, or NULL. */
static const char *
text_field (const guint8 *data, gsize length, unsigned number, gsize *text_length)
{
  gsize at = 0;

  while (at + 2 <= length)
    {
      guint8 tag = data[at++];
      gsize size = 0;

      for (unsigned shift = 0; at < length && shift < 35; shift += 7)
        {
          size |= (gsize)(data[at] & 127) << shift;
          if (!(data[at++] & 128))
            break;
        }
      if ((tag & 7) != 2 || size > length - at)
        return NULL;
      if (tag >> 3 == number)
        {
          *text_length = size;
          return (const char *)data + at;
        }
      at += size;
    }
  return NULL;
}

/* The value of a key of a repeated StringStringEntryProto, as bytes of the model; NULL if it is absent. (transfer full)
 */
static char *
metadata (const ProtobufCMessage *message, unsigned number, const char *key)
{
  const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field (message->descriptor, number);

  if (field != NULL && field->label == PROTOBUF_C_LABEL_REPEATED && field->type == PROTOBUF_C_TYPE_MESSAGE)
    {
      const char *base = (const char *)message;
      gsize n = *(const size_t *)(base + field->quantifier_offset);
      Onnx__StringStringEntryProto *const *entries
          = *(Onnx__StringStringEntryProto *const *const *)(base + field->offset);

      for (gsize i = 0; i < n; i++)
        if (g_strcmp0 (entries[i]->key, key) == 0)
          return g_strdup (entries[i]->value);
      return NULL;
    }
  for (unsigned i = 0; i < message->n_unknown_fields; i++)
    {
      const ProtobufCMessageUnknownField *unknown = &message->unknown_fields[i];
      gsize head = 0, n_key, n_value;

      if (unknown->tag != number || unknown->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        continue;
      while (head < unknown->len && unknown->data[head] & 128)
        head++;
      head++; /* the length of the entry */
      if (head > unknown->len)
        continue;
      const char *found = text_field (unknown->data + head, unknown->len - head, 1, &n_key);
      if (found == NULL || n_key != strlen (key) || memcmp (found, key, n_key) != 0)
        continue;
      found = text_field (unknown->data + head, unknown->len - head, 2, &n_value);
      return found != NULL ? g_strndup (found, n_value) : NULL;
    }
  return NULL;
}

/* The words of a list as Python prints it, ['', 'a', 'a.b']. (transfer full) */
static char **
python_list (const char *text)
{
  GPtrArray *words = g_ptr_array_new ();

  for (const char *p = text; p != NULL && (p = strpbrk (p, "'\"")) != NULL;)
    {
      const char *end = strchr (p + 1, *p);

      if (end == NULL)
        break;
      g_ptr_array_add (words, g_strndup (p + 1, (gsize)(end - p - 1)));
      p = end + 1;
    }
  g_ptr_array_add (words, NULL);
  return (char **)g_ptr_array_free (words, FALSE);
}

/* "/layer1/layer1.0/conv1/Conv" is of layer1.0.conv1: a part that begins with those before it replaces them. */
static char *
path_of_name (const char *name)
{
  g_auto (GStrv) parts = g_strsplit (name, "/", -1);
  GString *path = g_string_new (NULL);
  guint n = g_strv_length (parts), begin = 0;

  if (*name != '/')
    return g_string_free (path, TRUE);
  for (guint i = 1; i + 1 < n; i++)
    {
      const char *within = path->str + begin;
      gsize length = strlen (within);

      if (length > 0 && g_str_has_prefix (parts[i], within) && parts[i][length] == '.')
        {
          g_string_append (path, parts[i] + length);
          continue;
        }
      if (path->len > 0)
        g_string_append_c (path, '.');
      begin = (guint)path->len;
      g_string_append (path, parts[i]);
    }
  return g_string_free (path, FALSE);
}

/* A module that is called again has scopes "relu@1". */
static void
drop_call (char *scope)
{
  char *at = strrchr (scope, '@');

  if (at != NULL)
    *at = 0;
}

/* Networks have a handful of levels. A longer path is cut, so that no file makes us recurse as deep as it wants. */
#define MAX_LEVELS 32

static char *
shorten (char *path)
{
  char *end = path;

  for (guint level = 0; end != NULL && level < MAX_LEVELS; level++)
    end = strchr (level > 0 ? end + 1 : end, '.');
  if (end != NULL)
    *end = 0;
  return path;
}

char *
onnx_module_path (const Onnx__NodeProto *node, GHashTable *classes)
{
  g_autofree char *text = metadata (&node->base, NODE_METADATA, "pkg.torch.onnx.name_scopes");
  g_autofree char *kinds = NULL;

  if (text == NULL)
    {
      char *path = node->name != NULL ? path_of_name (node->name) : NULL;

      return path != NULL ? shorten (path) : NULL;
    }
  g_auto (GStrv) scopes = python_list (text);
  guint n = g_strv_length (scopes);
  kinds = metadata (&node->base, NODE_METADATA, "pkg.torch.onnx.class_hierarchy");
  g_auto (GStrv) kind = python_list (kinds);
  for (guint i = 0; i + 1 < n && i + 1 < g_strv_length (kind); i++)
    {
      const char *last = strrchr (kind[i], '.');

      drop_call (scopes[i]);
      if (!g_hash_table_contains (classes, scopes[i]))
        g_hash_table_insert (classes, g_strdup (scopes[i]), g_strdup (last != NULL ? last + 1 : kind[i]));
    }
  return shorten (g_strdup (n > 1 ? scopes[n - 2] : ""));
}

/* Lines such as "p_conv_0_weight: PARAMETER target='conv.0.weight'". */
GHashTable *
onnx_signature (const Onnx__GraphProto *graph)
{
  GHashTable *kinds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *text = metadata (&graph->base, GRAPH_METADATA, SIGNATURE);
  g_auto (GStrv) lines = text != NULL ? g_strsplit (text, "\n", -1) : NULL;

  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    {
      const char *kind = strstr (lines[i], ": "), *target = strstr (lines[i], " target='");
      const char *end = target != NULL ? strchr (target + 9, '\'') : NULL;

      if (kind == NULL || end == NULL)
        continue;
      if (g_str_has_prefix (kind + 2, "PARAMETER"))
        g_hash_table_insert (kinds, g_strndup (target + 9, (gsize)(end - target - 9)),
                             GINT_TO_POINTER (ONNX_KIND_PARAMETER));
      else if (g_str_has_prefix (kind + 2, "BUFFER"))
        g_hash_table_insert (kinds, g_strndup (target + 9, (gsize)(end - target - 9)),
                             GINT_TO_POINTER (ONNX_KIND_BUFFER));
    }
  return kinds;
}
