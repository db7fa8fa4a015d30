/* The names that PyTorch's exporters leave in a model: the module of the network that each node is from, and which
 * tensors are parameters and which are buffers.
 *
 * The current exporter writes them as metadata (scopes as a Python list, the signature as text), the older one as paths
 * in the names of nodes. Descriptions of ONNX before 1.16 lack the metadata of nodes, so its fields are found by
 * number, also among the unknown ones. */
#include "engine/onnx/onnx-private.h"

#include <stdlib.h>
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

/* Lines such as "p_conv_0_weight: PARAMETER target='conv.0.weight'". Buffers that are not persistent are in no state
 * dict. */
void
onnx_signature (OnnxImport *all)
{
  g_autofree char *text = metadata (&all->model->graph->base, GRAPH_METADATA, SIGNATURE);
  g_auto (GStrv) lines = text != NULL ? g_strsplit (text, "\n", -1) : NULL;

  all->kinds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  all->targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    {
      const char *kind = strstr (lines[i], ": "), *target = strstr (lines[i], " target='");
      const char *end = target != NULL ? strchr (target + 9, '\'') : NULL;
      OnnxKind is = kind == NULL                               ? ONNX_KIND_UNKNOWN
                    : g_str_has_prefix (kind + 2, "PARAMETER") ? ONNX_KIND_PARAMETER
                    : g_str_has_prefix (kind + 2, "BUFFER")    ? ONNX_KIND_BUFFER
                                                               : ONNX_KIND_UNKNOWN;

      if (end == NULL || is == ONNX_KIND_UNKNOWN || strstr (end, "persistent=False") != NULL)
        continue;
      char *name = g_strndup (target + 9, (gsize)(end - target - 9));
      g_hash_table_replace (all->targets, g_strndup (lines[i], (gsize)(kind - lines[i])), g_strdup (name));
      g_hash_table_replace (all->kinds, name, GINT_TO_POINTER (is));
    }
}

gboolean
onnx_is_trained (const OnnxImport *all, const char *name, const LoomTensor *t)
{
  return loom_dtype_is_float (t->dtype)
         && (t->count > 1
             || (name != NULL && GPOINTER_TO_INT (g_hash_table_lookup (all->kinds, name)) == ONNX_KIND_PARAMETER));
}

const char *
onnx_state_name (const OnnxImport *all, const OnnxValue *value)
{
  return value->original != NULL                                                  ? value->original
         : value->name != NULL && g_hash_table_contains (all->kinds, value->name) ? value->name
                                                                                  : NULL;
}

/* ---- weights that the exporter has computed with ----------------------------------------------------- */

/* TRUE if the model has no tensor of this name of the state dict. */
static gboolean
is_lost (OnnxImport *all, const char *name)
{
  return onnx_own_value (all, name) == NULL;
}

char *
onnx_call_argument (const Onnx__NodeProto *node, const char *function, guint i)
{
  g_autofree char *text = metadata (&node->base, NODE_METADATA, "pkg.torch.onnx.fx_node");
  g_autofree char *call = g_strdup_printf ("target=torch.ops.aten.%s.default](args = (", function);
  const char *begin = text != NULL ? strstr (text, call) : NULL;
  int depth = 0;

  if (begin == NULL)
    return NULL;
  begin += strlen (call);
  for (const char *p = begin; *p; p++)
    {
      const gboolean ends = depth == 0 && (*p == ',' || *p == ')');

      if (ends && i == 0)
        return g_strstrip (g_strndup (begin, (gsize)(p - begin)));
      if (ends && *p == ')')
        break;
      if (ends)
        {
          begin = p + 1;
          i--;
        }
      depth += (strchr ("([", *p) != NULL) - (strchr (")]", *p) != NULL);
    }
  return NULL;
}

/* The weight of the call of torch.nn.functional.linear by which PyTorch computed a node; NULL if it is no such call. */
static const char *
weight_of_linear (const OnnxImport *all, const Onnx__NodeProto *node)
{
  g_autofree char *name = onnx_call_argument (node, "linear", 1);

  return name != NULL && *name == '%' ? g_hash_table_lookup (all->targets, name + 1) : NULL;
}

const char *
onnx_called_weight (OnnxImport *all, const Onnx__NodeProto *node, const char *stored)
{
  g_autofree char *text = metadata (&node->base, NODE_METADATA, "pkg.torch.onnx.fx_node");
  const char *found = NULL;

  for (const char *p = text; p != NULL && (p = strchr (p, '%')) != NULL; p++)
    {
      g_autofree char *name = g_strndup (p + 1, strcspn (p + 1, ",)] "));
      const char *target = g_hash_table_lookup (all->targets, name);

      if (target == NULL || (found != NULL && g_str_equal (found, target)))
        continue;
      if (found != NULL || g_str_equal (target, stored) || !is_lost (all, target))
        return NULL;
      found = target;
    }
  return found;
}

/* The path of the module by whose call a node was computed, if it has layers with these tensors; NULL. */
static char *
path_of_recurrent (const OnnxImport *all, const char *call)
{
  static const char first[] = ".weight_ih_l0";

  for (const char *p = call; p != NULL && (p = strchr (p, '%')) != NULL; p++)
    {
      g_autofree char *name = g_strndup (p + 1, strcspn (p + 1, ",)] "));
      const char *target = g_hash_table_lookup (all->targets, name);

      if (target != NULL && g_str_has_suffix (target, first))
        return g_strndup (target, strlen (target) - strlen (first));
    }
  return NULL;
}

char *
onnx_called_recurrent (const OnnxImport *all, const Onnx__NodeProto *node, const char *port)
{
  const Onnx__GraphProto *graph = all->model->graph;
  g_autofree char *call = metadata (&node->base, NODE_METADATA, "pkg.torch.onnx.fx_node");
  g_autofree char *path = path_of_recurrent (all, call), *name = NULL;
  const char *zero = strstr (port, "_l0");
  guint layer = 0;

  if (path == NULL || zero == NULL)
    return NULL;
  /* Layers are nodes of one call, in order. */
  for (gsize i = 0; i < graph->n_node && graph->node[i] != node; i++)
    {
      g_autofree char *other = g_strcmp0 (graph->node[i]->op_type, node->op_type) == 0
                                   ? metadata (&graph->node[i]->base, NODE_METADATA, "pkg.torch.onnx.fx_node")
                                   : NULL;

      layer += g_strcmp0 (other, call) == 0;
    }
  name = g_strdup_printf ("%s.%.*s_l%u%s", path, (int)(zero - port), port, layer, zero + strlen ("_l0"));
  return g_hash_table_contains (all->kinds, name) ? g_steal_pointer (&name) : NULL;
}

/* The only parameter of the module in which a node is computed that the model lacks. */
static const char *
only_lost_of (OnnxImport *all, const Onnx__NodeProto *node)
{
  g_autofree char *path = onnx_module_path (node, all->classes);
  const char *found = NULL;
  GHashTableIter iter;
  gpointer name, kind;

  g_hash_table_iter_init (&iter, all->kinds);
  while (path != NULL && g_hash_table_iter_next (&iter, &name, &kind))
    {
      const char *dot = strrchr (name, '.');
      gsize length = dot != NULL ? (gsize)(dot - (char *)name) : 0;

      if (GPOINTER_TO_INT (kind) != ONNX_KIND_PARAMETER || length != strlen (path) || strncmp (name, path, length) != 0
          || !is_lost (all, name))
        continue;
      if (found != NULL)
        return NULL;
      found = name;
    }
  return found;
}

/* The import fails at nodes that read the value. */
static void
lack_memory (OnnxImport *all, const char *name)
{
  onnx_declare (all, name)->failed = TRUE;
  loom_faults_add (all->faults, LOOM_ERROR_OUT_OF_MEMORY, 0, NULL, NULL, "There is not enough memory to read “%s”.",
                   all->file);
}

/* The model was unpacked with malloc(). */
void
onnx_rename_input (OnnxImport *all, const Onnx__NodeProto *node, gsize i, const char *name)
{
  char *copy = strdup (name);

  if (copy == NULL)
    {
      lack_memory (all, node->input[i]);
      return;
    }
  free (node->input[i]);
  node->input[i] = copy;
}

/* A layer that is called twice has two copies, which become one value. */
static void
claim (OnnxImport *all, const Onnx__NodeProto *node, gsize i, OnnxValue *value, const char *name)
{
  const char *original = g_intern_string (name);
  GHashTableIter iter;
  gpointer each;

  g_hash_table_iter_init (&iter, all->values);
  while (g_hash_table_iter_next (&iter, NULL, &each))
    {
      const OnnxValue *other = each;

      if (other->original != original || !loom_tensor_equal_bits (other->constant, value->constant))
        continue;
      onnx_rename_input (all, node, i, other->name);
      return;
    }
  value->original = original;
}

/* Small matrices of linear layers are stored transposed, under a name such as "val_12"; a parameter that is expanded to
 * the batch is stored expanded, which for one sample changes nothing. */
void
onnx_claim_originals (OnnxImport *all, const Onnx__NodeProto *node)
{
  for (gsize i = 0; g_hash_table_size (all->kinds) > 0 && i < node->n_input; i++)
    {
      OnnxValue *value = *node->input[i] ? onnx_own_value (all, node->input[i]) : NULL;
      const char *name;

      if (value == NULL || value->constant == NULL || !value->is_weight || value->constant->count < 2
          || !loom_dtype_is_float (value->constant->dtype) || onnx_state_name (all, value) != NULL)
        continue;
      value->is_turned = i == 1 && value->constant->rank == 2 && g_strcmp0 (node->op_type, "MatMul") == 0;
      name = value->is_turned                                                           ? weight_of_linear (all, node)
             : g_str_has_prefix (value->name, "expand") && value->constant->dim[0] == 1 ? only_lost_of (all, node)
                                                                                        : NULL;
      if (name != NULL && is_lost (all, name))
        claim (all, node, i, value, name);
    }
}

/* Appends the value as the third input of a node. */
static void
add_input (OnnxImport *all, Onnx__NodeProto *node, const char *name)
{
  char **input = realloc (node->input, 3 * sizeof *node->input), *copy = strdup (name);

  node->input = input != NULL ? input : node->input;
  if (input == NULL || copy == NULL)
    {
      free (copy);
      lack_memory (all, node->input[0]);
      return;
    }
  node->input[2] = copy;
  node->n_input = 3;
  g_hash_table_insert (all->uses, g_strdup (name),
                       GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (all->uses, name)) + 1));
}

/* PyTorch's exporter leaves out biases that are zeros, as in a network that was not trained yet. A layer that is called
 * again has the bias of its first call. */
void
onnx_restore_bias (OnnxImport *all, Onnx__NodeProto *node)
{
  static const struct
  {
    const char *op, *calls[5];
  } layers[] = { { "Conv", { "conv1d", "conv2d", "conv3d", "convolution" } },
                 { "ConvTranspose", { "convolution", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d" } },
                 { "Gemm", { "linear" } } };
  const Onnx__AttributeProto *a;
  const char *target = NULL;
  OnnxValue *bias, *weight = node->n_input == 2 ? onnx_value_of (all, node->input[1]) : NULL;
  gint64 n;

  if (weight == NULL || weight->constant == NULL || weight->constant->rank < 2)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (layers); i++)
    for (guint k = 0; g_strcmp0 (node->op_type, layers[i].op) == 0 && target == NULL && layers[i].calls[k] != NULL; k++)
      {
        g_autofree char *name = onnx_call_argument (node, layers[i].calls[k], 2);

        target = name != NULL && *name == '%' ? g_hash_table_lookup (all->targets, name + 1) : NULL;
      }
  bias = target != NULL ? onnx_own_value (all, target) : NULL;
  if (target == NULL || (bias != NULL && !bias->is_restored))
    return;
  a = onnx_attribute (node, g_str_equal (node->op_type, "Gemm") ? "transB" : "group");
  if (g_str_equal (node->op_type, "Gemm"))
    n = weight->constant->dim[a != NULL && a->i != 0 ? 0 : 1];
  else if (g_str_equal (node->op_type, "Conv"))
    n = weight->constant->dim[0];
  else if (__builtin_mul_overflow (weight->constant->dim[1], a != NULL ? a->i : 1, &n))
    return;
  if (n < 0 || (bias != NULL && (bias->constant == NULL || bias->constant->count != n)))
    return;
  if (bias == NULL)
    {
      bias = onnx_declare (all, target);
      bias->constant = loom_tensor_new (weight->constant->dtype, 1, &n, NULL);
      bias->is_weight = bias->is_restored = TRUE;
      bias->elem_type = weight->elem_type;
      if (bias->constant == NULL)
        lack_memory (all, target);
    }
  add_input (all, node, target);
}

/* "a, b, c and 4 more" of the names. (transfer full) */
static char *
list_names (const GPtrArray *names)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < names->len && i < 3; i++)
    g_string_append_printf (s, "%s“%s”", i > 0 ? ", " : "", (const char *)names->pdata[i]);
  if (names->len > 3)
    g_string_append_printf (s, " and %u more", names->len - 3);
  return g_string_free (s, FALSE);
}

static int
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Adds the weights that the calls of the model's nodes name: the model has them, maybe under the name of another one to
 * which they are tied. */
static void
add_called (const OnnxImport *all, GHashTable *known)
{
  const Onnx__GraphProto *graph = all->model->graph;

  for (gsize i = 0; i < graph->n_node; i++)
    {
      g_autofree char *text = metadata (&graph->node[i]->base, NODE_METADATA, "pkg.torch.onnx.fx_node");

      for (const char *p = text; p != NULL && (p = strchr (p, '%')) != NULL; p++)
        {
          g_autofree char *name = g_strndup (p + 1, strcspn (p + 1, ",)] "));
          const char *target = g_hash_table_lookup (all->targets, name);

          if (target != NULL)
            g_hash_table_add (known, (gpointer)target);
        }
    }
}

void
onnx_note_lost (const OnnxImport *all, GPtrArray *notes)
{
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) lost = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer key, value;
  guint norms = 0;

  for (guint i = 0; i < all->nodes->len; i++)
    {
      const GPtrArray *weights = ((const OnnxNode *)all->nodes->pdata[i])->weights;

      for (guint k = 0; k < weights->len; k++)
        if (((const OnnxWeight *)weights->pdata[k])->name != NULL)
          g_hash_table_add (known, ((OnnxWeight *)weights->pdata[k])->name);
    }
  /* The call of a folded batch norm is that of the convolution's node. */
  g_hash_table_iter_init (&iter, all->kinds);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    norms += g_str_has_suffix (key, ".running_var") && !g_hash_table_contains (known, key);
  add_called (all, known);
  g_hash_table_iter_init (&iter, all->kinds);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (GPOINTER_TO_INT (value) == ONNX_KIND_PARAMETER && !g_hash_table_contains (known, key))
      g_ptr_array_add (lost, key);
  if (lost->len == 0 && norms == 0)
    return;
  g_ptr_array_sort (lost, by_name);
  g_autofree char *names = list_names (lost);
  g_ptr_array_add (
      notes, norms > 0 ? g_strdup_printf ("The exporter folded %u batch norm%s into the layers before %s, so "
                                          "that checkpoints of the network do not fit and training "
                                          "differs; to keep batch norm, export with torch.onnx.export "
                                          "(…, dynamo=True, optimize=False).",
                                          norms, norms == 1 ? "" : "s", norms == 1 ? "it" : "them")
                       : g_strdup_printf ("The model does not read %u parameter%s of the network as %s, %s: "
                                          "unused ones, and those with which the exporter has computed. A "
                                          "checkpoint does not change %s; torch.onnx.export (…, "
                                          "dynamo=True, optimize=False) computes with none.",
                                          lost->len, lost->len == 1 ? "" : "s", lost->len == 1 ? "it is" : "they are",
                                          names, lost->len == 1 ? "it" : "them"));
}
