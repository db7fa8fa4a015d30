/* Inlines the model's own functions: a call becomes a copy of the function's nodes.
 *
 * In the copy, attributes that refer to the function's get the call's value, or the default, or are dropped. Formal
 * inputs get the names of the call's values, all other names a prefix, so that nothing is captured by accident; an
 * omitted input has the empty name, which means the same for the nodes that read it.
 *
 * Defaults and overloads are newer than some descriptions of the format, so they are found in packed bytes, by their
 * field numbers. */
#include "engine/onnx/onnx-private.h"

#include <stdlib.h>
#include <string.h>

/* onnx.proto; its comments give the numbers. */
#define FUNCTION_ATTRIBUTE_PROTO 11
#define FUNCTION_OVERLOAD        13
#define NODE_OVERLOAD            8

/* Functions must not recurse; a model that does is refused at this depth. */
#define MAX_CALLS 64

/* Bytes of all copies, which live until the end of the import. Functions without large constants need far less. */
#define MAX_COPIED ((gsize)1 << 28)

/* ---- fields that the description may lack ------------------------------------ */

/* The next field of a packed message whose bytes were checked; kind 2 has bytes. */
static gboolean
next_field (const guint8 **p, const guint8 *end, guint *number, const guint8 **bytes, gsize *length)
{
  guint64 value[2] = { 0, 0 };

  *bytes = NULL;
  for (guint i = 0; i < 2 && *p < end; i++)
    {
      guint shift = 0;

      /* Fixed sizes have no number after the tag. */
      if (i == 1 && (value[0] & 7) != 0 && (value[0] & 7) != 2)
        {
          *p += (value[0] & 7) == 1 ? 8 : 4;
          break;
        }
      for (; *p < end && **p & 0x80; shift += 7)
        value[i] |= shift < 64 ? (guint64)(*(*p)++ & 0x7f) << shift : 0;
      value[i] |= *p < end && shift < 64 ? (guint64) * (*p)++ << shift : 0;
    }
  *number = (guint)(value[0] >> 3);
  if ((value[0] & 7) != 2)
    return *number != 0 && *p <= end;
  if (value[1] > (guint64)(end - *p))
    return FALSE;
  *bytes = *p;
  *length = (gsize)value[1];
  *p += *length;
  return *number != 0;
}

static GBytes *
pack (const ProtobufCMessage *message)
{
  gsize n = protobuf_c_message_get_packed_size (message);
  guint8 *data = g_malloc (MAX (n, 1));

  return g_bytes_new_take (data, protobuf_c_message_pack (message, data));
}

/* The text of a field; "" if it is absent. (transfer full) */
static char *
text_of (const ProtobufCMessage *message, guint field)
{
  g_autoptr (GBytes) packed = pack (message);
  gsize n, length;
  const guint8 *p = g_bytes_get_data (packed, &n), *end = p + n, *bytes;
  guint number;

  while (p < end && next_field (&p, end, &number, &bytes, &length))
    if (number == field && bytes != NULL)
      return g_strndup ((const char *)bytes, length);
  return g_strdup ("");
}

/* The attributes of a function that have a default. (element-type Onnx__AttributeProto) */
static GPtrArray *
defaults_of (const Onnx__FunctionProto *function)
{
  GPtrArray *list = g_ptr_array_new ();
  g_autoptr (GBytes) packed = pack (&function->base);
  gsize n, length;
  const guint8 *p = g_bytes_get_data (packed, &n), *end = p + n, *bytes;
  guint number;

  while (p < end && next_field (&p, end, &number, &bytes, &length))
    if (number == FUNCTION_ATTRIBUTE_PROTO && bytes != NULL
        && onnx_check_bytes (&onnx__attribute_proto__descriptor, bytes, length, "", NULL))
      {
        Onnx__AttributeProto *a = onnx__attribute_proto__unpack (NULL, length, bytes);
        if (a != NULL)
          g_ptr_array_add (list, a);
      }
  return list;
}

static void
free_defaults (GPtrArray *list)
{
  for (guint i = 0; i < list->len; i++)
    onnx__attribute_proto__free_unpacked (list->pdata[i], NULL);
  g_ptr_array_unref (list);
}

/* ---- the table ---------------------------------------------------------------- */

static char *
key_of (const char *domain, const char *name, const char *overload)
{
  return g_strdup_printf ("%s\n%s\n%s", domain != NULL ? domain : "", name != NULL ? name : "", overload);
}

GHashTable *
onnx_functions (const Onnx__ModelProto *model)
{
  GHashTable *functions = model->n_functions > 0 ? g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) : NULL;

  for (gsize i = 0; i < model->n_functions; i++)
    {
      g_autofree char *overload = text_of (&model->functions[i]->base, FUNCTION_OVERLOAD);
      g_hash_table_insert (functions, key_of (model->functions[i]->domain, model->functions[i]->name, overload),
                           model->functions[i]);
    }
  return functions;
}

const Onnx__FunctionProto *
onnx_function_of (const OnnxImport *all, const Onnx__NodeProto *node)
{
  if (all->functions == NULL)
    return NULL;
  g_autofree char *overload = text_of (&node->base, NODE_OVERLOAD);
  g_autofree char *key = key_of (node->domain, node->op_type, overload);
  return g_hash_table_lookup (all->functions, key);
}

/* ---- copying ------------------------------------------------------------------ */

typedef struct
{
  const Onnx__NodeProto *call;
  GPtrArray *defaults;
  GHashTable *formal; /* input of the function → name of the call's value; "": omitted */
  char *prefix;
  gsize *bytes; /* of all copies of the import */
} Copy;

/* Counts bytes that are going to be copied; FALSE if there are too many. */
static gboolean
count_bytes (gsize *sum, gsize bytes)
{
  *sum = bytes <= MAX_COPIED - *sum ? *sum + bytes : MAX_COPIED;
  return *sum < MAX_COPIED;
}

/* Strings of a message belong to protobuf-c, which uses malloc(). */
static void
set_text (char **text, const char *value)
{
  gsize n = strlen (value) + 1;
  char *copy = malloc (n);

  if (copy == NULL)
    g_error ("Out of memory.");
  memcpy (copy, value, n);
  free (*text);
  *text = copy;
}

/* protobuf-c's empty string is shared and must not be freed. */
static void
rename_value (const Copy *copy, char **name)
{
  const char *actual;

  if (*name == NULL || !**name)
    return;
  actual = g_hash_table_lookup (copy->formal, *name);
  if (actual != NULL)
    {
      set_text (name, actual);
      return;
    }
  g_autofree char *inner = g_strconcat (copy->prefix, *name, NULL);
  set_text (name, inner);
}

static const Onnx__AttributeProto *
value_of (const Copy *copy, const char *name)
{
  const Onnx__AttributeProto *a = onnx_attribute (copy->call, name);

  for (guint i = 0; a == NULL && i < copy->defaults->len; i++)
    if (g_strcmp0 (((Onnx__AttributeProto *)copy->defaults->pdata[i])->name, name) == 0)
      a = copy->defaults->pdata[i];
  return a;
}

/* Replaces attributes that refer to an attribute of the function; without a value they are dropped. */
static void
set_attributes (const Copy *copy, Onnx__NodeProto *node)
{
  gsize n = 0;

  for (gsize i = 0; i < node->n_attribute; i++)
    {
      Onnx__AttributeProto *a = node->attribute[i];

      if (a->ref_attr_name != NULL && *a->ref_attr_name)
        {
          const Onnx__AttributeProto *value = value_of (copy, a->ref_attr_name);
          g_autoptr (GBytes) packed = value != NULL ? pack (&value->base) : NULL;
          gsize length = 0;
          const guint8 *bytes = packed != NULL ? g_bytes_get_data (packed, &length) : NULL;
          Onnx__AttributeProto *own = bytes != NULL && count_bytes (copy->bytes, length)
                                          ? onnx__attribute_proto__unpack (NULL, length, bytes)
                                          : NULL;

          if (own != NULL && a->name != NULL)
            set_text (&own->name, a->name);
          onnx__attribute_proto__free_unpacked (a, NULL);
          a = own;
        }
      if (a != NULL)
        node->attribute[n++] = a;
    }
  node->n_attribute = n;
}

static void rename_graph (const Copy *copy, Onnx__GraphProto *graph);

static void
rename_node (const Copy *copy, Onnx__NodeProto *node)
{
  for (gsize i = 0; i < node->n_input; i++)
    rename_value (copy, &node->input[i]);
  for (gsize i = 0; i < node->n_output; i++)
    rename_value (copy, &node->output[i]);
  /* Before attributes of the call are inserted, whose graphs have the caller's names. */
  for (gsize i = 0; i < node->n_attribute; i++)
    if (node->attribute[i]->g != NULL)
      rename_graph (copy, node->attribute[i]->g);
  set_attributes (copy, node);
}

static void
rename_graph (const Copy *copy, Onnx__GraphProto *graph)
{
  for (gsize i = 0; i < graph->n_initializer; i++)
    rename_value (copy, &graph->initializer[i]->name);
  for (gsize i = 0; i < graph->n_input; i++)
    rename_value (copy, &graph->input[i]->name);
  for (gsize i = 0; i < graph->n_output; i++)
    rename_value (copy, &graph->output[i]->name);
  for (gsize i = 0; i < graph->n_node; i++)
    rename_node (copy, graph->node[i]);
}

/* A prefix with which no value of the call begins. */
static char *
free_prefix (const Onnx__NodeProto *call)
{
  g_autoptr (GString) prefix = g_string_new (call->op_type);
  gboolean taken = TRUE;

  while (taken)
    {
      g_string_append_c (prefix, '.');
      taken = FALSE;
      for (gsize i = 0; i < call->n_input; i++)
        taken = taken || g_str_has_prefix (call->input[i], prefix->str);
    }
  return g_strdup (prefix->str);
}

static void
function_free (gpointer data)
{
  onnx__function_proto__free_unpacked (data, NULL);
}

/* NULL if the function is damaged, or too many bytes were copied. (transfer full) */
static Onnx__FunctionProto *
copy_function (const Onnx__FunctionProto *function, const Onnx__NodeProto *call, gsize *copied)
{
  gsize length = protobuf_c_message_get_packed_size (&function->base);

  if (!count_bytes (copied, length + function->n_node * sizeof (Onnx__NodeProto)))
    return NULL;
  g_autoptr (GBytes) packed = pack (&function->base);
  const guint8 *bytes = g_bytes_get_data (packed, &length);
  Onnx__FunctionProto *own = onnx__function_proto__unpack (NULL, length, bytes);
  Copy copy = { .call = call,
                .defaults = defaults_of (function),
                .formal = g_hash_table_new (g_str_hash, g_str_equal),
                .prefix = free_prefix (call),
                .bytes = copied };

  for (gsize i = 0; i < function->n_input; i++)
    g_hash_table_insert (copy.formal, function->input[i], i < call->n_input ? call->input[i] : (char *)"");
  for (gsize i = 0; own != NULL && i < own->n_node; i++)
    rename_node (&copy, own->node[i]);
  for (gsize i = 0; own != NULL && i < own->n_output; i++)
    rename_value (&copy, &own->output[i]);
  free_defaults (copy.defaults);
  g_hash_table_unref (copy.formal);
  g_free (copy.prefix);
  return own;
}

/* ---- calling ------------------------------------------------------------------ */

static gboolean
set_opset (OnnxCtx *c, OnnxImport *scope, const Onnx__FunctionProto *function)
{
  for (gsize i = 0; i < function->n_opset_import; i++)
    {
      const Onnx__OperatorSetIdProto *set = function->opset_import[i];
      if (set->domain == NULL || !*set->domain || g_str_equal (set->domain, "ai.onnx"))
        scope->opset = set->version;
    }
  if (scope->opset > ONNX_NEWEST_OPSET)
    onnx_fail (c, "the function “%s” uses operator set %" G_GINT64_FORMAT "; the newest supported one is %d.",
               c->node->op_type, scope->opset, ONNX_NEWEST_OPSET);
  return !c->failed;
}

/* The copy lives as long as the import, whose values point to their nodes. */
void
onnx_call_function (OnnxCtx *c, const Onnx__FunctionProto *function)
{
  OnnxImport *scope;
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  Onnx__FunctionProto *own;

  if (!onnx_has_room (c))
    return;
  if (c->all->calls >= MAX_CALLS)
    {
      onnx_fail (c, "its functions call each other more than %d deep.", MAX_CALLS);
      return;
    }
  own = copy_function (function, c->node, c->all->copied);
  if (own != NULL)
    g_ptr_array_add (c->all->copies, own);
  if (*c->all->copied == MAX_COPIED)
    onnx_fail (c, "the copies of its functions are larger than %d MB. Export the model without functions.",
               (int)(MAX_COPIED >> 20));
  if (own == NULL || c->failed)
    {
      onnx_fail (c, "the function “%s” is damaged.", c->node->op_type);
      return;
    }
  scope = onnx_scope_new (c->all, NULL);
  scope->calls = c->all->calls + 1;
  if (!set_opset (c, scope, own))
    return;
  g_autofree Onnx__ValueInfoProto *ports = g_new0 (Onnx__ValueInfoProto, own->n_output + 1);
  g_autofree Onnx__ValueInfoProto **outputs = g_new0 (Onnx__ValueInfoProto *, own->n_output + 1);
  for (gsize i = 0; i < own->n_output; i++)
    {
      ports[i] = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
      ports[i].name = own->output[i];
      outputs[i] = &ports[i];
    }
  graph.node = own->node;
  graph.n_node = own->n_node;
  graph.output = outputs;
  graph.n_output = own->n_output;
  onnx_map_nodes (scope, &graph);
  for (guint i = 0; i < own->n_output && !c->failed; i++)
    onnx_pass_output (c, scope, own->output[i], i);
  c->first_node = c->all->nodes->len; /* these were recorded one by one */
}

GPtrArray *
onnx_function_copies (void)
{
  return g_ptr_array_new_with_free_func (function_free);
}
