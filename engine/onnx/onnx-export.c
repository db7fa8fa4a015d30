/* Exports a graph as an ONNX model: visits the net in order, and writes each node that an output needs.
 *
 * A model contains what prediction needs: its inputs are data sets and input nodes; losses and updates, which no output
 * needs, are left out. Modules are inlined, because runtimes optimise across them anyway. */
#include "engine/onnx/onnx-export-private.h"

#include <stdarg.h>
#include <string.h>

/* ---- accessors for writers ---------------------------------------------- */

void
onnx_refuse (OnnxWrite *w, const char *format, ...)
{
  va_list args;

  if (w->failed)
    return;
  w->failed = TRUE;
  va_start (args, format);
  g_autofree char *why = g_strdup_vprintf (format, args);
  va_end (args);
  loom_faults_add (w->all->faults, LOOM_ERROR_NO_KERNEL, w->node->line, w->node->path, NULL,
                   "%s cannot be written as ONNX: %s", w->node->op->name, why);
}

static OnnxVar *
source_var (OnnxExport *all, const LoomNetSource *source)
{
  if (source->node == G_MAXUINT)
    return NULL;
  if (!loom_net_is_weight (all->net, source))
    return all->value[source->node][source->output];
  int weight = loom_net_source_weight (all->net, source);
  return weight >= 0 ? onnx_weight_var (all, loom_net_weight (all->net, (guint)weight)->name) : NULL;
}

OnnxVar *
onnx_write_in (OnnxWrite *w, guint i)
{
  return i < w->node->n_inputs ? source_var (w->all, &w->node->input[i]) : NULL;
}

const LoomType *
onnx_write_type (OnnxWrite *w, guint i)
{
  return loom_infer_input (w->infer, i);
}

OnnxVar *
onnx_write_weight (OnnxWrite *w, const char *name)
{
  for (guint i = 0; i < w->node->n_inputs; i++)
    if (g_str_equal (w->node->input_spec[i].name, name) && w->node->input[i].node != G_MAXUINT)
      return source_var (w->all, &w->node->input[i]);
  int weight = loom_net_find_weight (w->all->net, w->index, name);
  return weight >= 0 ? onnx_weight_var (w->all, loom_net_weight (w->all->net, (guint)weight)->name) : NULL;
}

OnnxVar *
onnx_weight_var (OnnxExport *all, const char *name)
{
  OnnxVar *v = g_hash_table_lookup (all->weight_var, name);
  LoomTensor *t = g_hash_table_lookup (all->weights, name);

  if (v != NULL)
    return v;
  if (t == NULL)
    {
      loom_faults_add (all->faults, LOOM_ERROR_DATA, 0, NULL, NULL, "The weight %s has no value.", name);
      return NULL;
    }
  v = g_new0 (OnnxVar, 1);
  v->name = g_strdup (name); /* reserved before other values get names */
  v->is_named = TRUE;
  v->tensor = t->dtype == LOOM_F64 ? loom_tensor_convert (t, LOOM_F32, FALSE, NULL) : loom_tensor_ref (t);
  g_ptr_array_add (all->vars, v);
  g_hash_table_insert (all->weight_var, v->name, v);
  return v;
}

void
onnx_write_out (OnnxWrite *w, guint i, OnnxVar *v)
{
  g_autofree char *name = loom_net_port_name (w->all->net, w->index, i);

  if (v == NULL)
    return;
  onnx_var_take_name (w->all, v, name);
  onnx_var_set_type (v, &w->node->output[i]);
  w->all->value[w->index][i] = v;
}

gint64
onnx_write_int (OnnxWrite *w, const char *param)
{
  return loom_infer_int (w->infer, param);
}

double
onnx_write_float (OnnxWrite *w, const char *param)
{
  return loom_infer_float (w->infer, param);
}

/* ---- one node ----------------------------------------------------------- */

static const OnnxWriter *
find_writer (const char *op)
{
  static const OnnxWriter *const tables[] = { onnx_write_recurrent, onnx_write_layer, onnx_write_pool, onnx_write_image,
                                              onnx_write_reduce,    onnx_write_shape, onnx_write_other };

  for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const OnnxWriter *writer = tables[t]; writer->op != NULL; writer++)
      if (g_str_equal (writer->op, op))
        return writer;
  return NULL;
}

static void
write_node (LoomOnnxWriter *self, guint i)
{
  OnnxExport *all = &self->all;
  OnnxWrite w
      = { .all = all, .index = i, .node = loom_net_node (self->net, i), .infer = loom_net_infer (self->net, i) };
  const OnnxWriter *writer = find_writer (w.node->op->name);

  /* The body of a loop or a choice is written with the node that runs it, by that node's lowering. */
  if (w.node->loop != G_MAXUINT)
    return;
  /* A node after a refused one has no fault of its own. */
  for (guint k = 0; k < w.node->n_inputs; k++)
    if (w.node->input[k].node != G_MAXUINT && !loom_net_is_from_body (self->net, i, k)
        && source_var (all, &w.node->input[k]) == NULL)
      return;
  all->path = w.node->path;
  if (writer != NULL && writer->refusal != NULL)
    onnx_refuse (&w, "%s", writer->refusal);
  else if (!(writer != NULL && writer->write != NULL && writer->write (&w)) && !w.failed && !onnx_write_same (&w)
           && !w.failed)
    onnx_write_lowered (&w);
  for (guint k = 0; k < w.node->n_outputs && w.node->own_symbol; k++)
    if (all->value[i][k] != NULL)
      onnx_find_symbols (all, all->value[i][k], &w.node->output[k].shape);
  all->path = NULL;
}

/* Counts by text the ONNX operators that nodes became: "linear → Gemm (3)". Only nodes that are needed count. */
static void
describe (LoomOnnxWriter *self)
{
  OnnxExport *all = &self->all;
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint first = 0, end; first < all->out_nodes->len; first = end)
    {
      const char *path = ((OnnxOutNode *)all->out_nodes->pdata[first])->path;
      int node = path != NULL ? loom_net_find (self->net, path) : -1;
      GString *s = g_string_new (node >= 0      ? loom_net_node (self->net, (guint)node)->op->name
                                 : path != NULL ? path
                                                : "sizes");
      guint n = 0;
      for (end = first; end < all->out_nodes->len && ((OnnxOutNode *)all->out_nodes->pdata[end])->path == path; end++)
        if (onnx_node_is_needed (all->out_nodes->pdata[end]) && ++n <= 6)
          g_string_append_printf (s, "%s%s", n == 1 ? " → " : " + ", ((OnnxOutNode *)all->out_nodes->pdata[end])->op);
      g_string_append (s, n > 6 ? " …" : "");
      if (n > 0 && !g_hash_table_contains (counts, s->str))
        g_ptr_array_add (self->mapped, g_strdup (s->str));
      if (n > 0)
        g_hash_table_insert (counts, (gpointer)g_intern_string (s->str),
                             GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (counts, s->str)) + 1));
      g_string_free (s, TRUE);
    }
  for (guint i = 0; i < self->mapped->len; i++)
    {
      char *text = self->mapped->pdata[i];
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, text));
      self->mapped->pdata[i] = n == 1 ? g_strdup (text) : g_strdup_printf ("%s (%u)", text, n);
      g_free (text);
    }
}

/* ---- inputs and outputs ------------------------------------------------------- */

static gboolean
resolve (LoomOnnxWriter *self, const char *const *names, GArray *sources, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      LoomNetSource source;
      int node = loom_net_find_port (self->net, names[i], &source.output, error);
      if (node < 0)
        return FALSE;
      source.node = (guint)node;
      g_array_append_val (sources, source);
    }
  return TRUE;
}

static gboolean
is_read (const LoomNet *net, guint node)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);
      for (guint k = 0; k < n->n_inputs; k++)
        if (n->input[k].node == node)
          return TRUE;
    }
  return FALSE;
}

static void
choose_outputs (LoomOnnxWriter *self, const LoomTrainSpec *spec, GArray *sources)
{
  LoomNetSource source = { 0, 0 };

  for (guint i = 0; i < loom_net_n_nodes (self->net); i++)
    {
      const LoomNetNode *n = loom_net_node (self->net, i);
      source.node = i;
      if (n->op != NULL && n->op->role == LOOM_ROLE_OUTPUT)
        g_array_append_val (sources, source);
    }
  if (sources->len > 0)
    return;
  if (spec != NULL && loom_net_find_prediction (self->net, &spec->loss, &source))
    g_array_append_val (sources, source);
  else if (spec != NULL && spec->metrics->len > 0)
    g_array_append_val (sources, ((LoomMetricSpec *)spec->metrics->pdata[0])->input);
  if (sources->len > 0)
    return;
  for (guint i = 0; i < loom_net_n_nodes (self->net); i++)
    {
      const LoomNetNode *n = loom_net_node (self->net, i);
      source = (LoomNetSource){ i, 0 };
      if (n->op != NULL && n->op->lower != NULL && n->n_outputs > 0 && !n->op->has_effect && !n->muted
          && n->loop == G_MAXUINT && !is_read (self->net, i))
        g_array_append_val (sources, source);
    }
}

static gboolean
is_given (const GArray *given, guint node, guint output)
{
  for (guint i = 0; i < given->len; i++)
    {
      const LoomNetSource *source = &g_array_index (given, LoomNetSource, i);
      if (source->node == node && source->output == output)
        return TRUE;
    }
  return FALSE;
}

static gboolean
comes_from_outside (LoomOnnxWriter *self, const GArray *given, guint node, guint output)
{
  const LoomNetNode *n = loom_net_node (self->net, node);

  return (n->op != NULL && n->op->lower == NULL) || is_given (given, node, output);
}

/* Marks nodes from the outputs back, in the order of the net. */
static void
mark_wanted (LoomOnnxWriter *self, const GArray *outputs, const GArray *given)
{
  OnnxExport *all = &self->all;

  for (guint i = 0; i < outputs->len; i++)
    {
      const LoomNetSource *source = &g_array_index (outputs, LoomNetSource, i);
      if (!loom_net_is_weight (self->net, source))
        all->wanted[source->node][source->output] = TRUE;
    }
  for (guint i = loom_net_n_nodes (self->net); i-- > 0;)
    {
      const LoomNetNode *n = loom_net_node (self->net, i);
      gboolean needed = FALSE;
      for (guint k = 0; k < n->n_outputs; k++)
        needed = needed || (all->wanted[i][k] && !comes_from_outside (self, given, i, k));
      for (guint k = 0; needed && k < n->n_inputs; k++)
        if (n->input[k].node != G_MAXUINT && !loom_net_is_weight (self->net, &n->input[k]))
          all->wanted[n->input[k].node][n->input[k].output] = TRUE;
    }
}

static gboolean
add_inputs (LoomOnnxWriter *self, const LoomOnnxWriteOptions *options, const GArray *given, GError **error)
{
  OnnxExport *all = &self->all;

  for (guint i = 0; i < loom_net_n_nodes (self->net); i++)
    {
      const LoomNetNode *n = loom_net_node (self->net, i);
      for (guint k = 0; k < n->n_outputs; k++)
        {
          if (!all->wanted[i][k] || !n->typed || !comes_from_outside (self, given, i, k))
            continue;
          g_autofree char *name = loom_net_port_name (self->net, i, k);
          OnnxVar *v = onnx_var_new (all, name);
          v->is_named = TRUE;
          v->type = n->output[k];
          all->value[i][k] = v;
          g_ptr_array_add (all->inputs, v);
        }
    }
  for (guint i = 0; i < all->inputs->len; i++)
    {
      OnnxVar *v = all->inputs->pdata[i];
      all->path = "sizes";
      onnx_find_symbols (all, v, &v->type.shape);
    }
  all->path = NULL;
  for (guint i = 0; options->open != NULL && i < loom_net_n_nodes (self->net); i++)
    if (loom_net_is_dataset (self->net, i) && loom_net_node (self->net, i)->n_outputs > 0 && all->value[i][0] != NULL)
      {
        LoomDataset *dataset = options->open (self->net, i, options->data, error);
        if (dataset == NULL)
          return FALSE;
        onnx_export_take_dataset (self, i, dataset);
      }
  return TRUE;
}

/* An output must be a separate value: an input, a weight or another output is passed through an Identity. */
static void
add_outputs (LoomOnnxWriter *self, const GArray *outputs)
{
  OnnxExport *all = &self->all;

  for (guint i = 0; i < outputs->len; i++)
    {
      const LoomNetSource *source = &g_array_index (outputs, LoomNetSource, i);
      g_autofree char *name = loom_net_port_name (self->net, source->node, source->output);
      OnnxVar *v = source_var (all, source);
      if (v == NULL)
        continue;
      if (v->producer == NULL || !g_str_equal (v->name, name))
        {
          all->path = name;
          v = onnx_call (all, "Identity", ONNX_VARS (v));
          v->producer->path = loom_net_node (self->net, source->node)->path;
          /* The weight of op="parameter" has the port's name. */
          g_autofree char *full = g_strconcat (name, ".out", NULL);
          onnx_var_take_name (all, v, name);
          onnx_var_take_name (all, v, full);
          all->path = NULL;
        }
      if (loom_net_is_weight (self->net, source))
        {
          const LoomNetWeight *weight = loom_net_weight (self->net, (guint)loom_net_source_weight (self->net, source));
          v->type = (LoomType){ weight->dtype, weight->shape };
        }
      else
        v->type = loom_net_node (self->net, source->node)->output[source->output];
      g_ptr_array_add (all->outputs, v);
    }
}

/* ---- entry points ------------------------------------------------------- */

/* Missing data are no fault as long as no written node depends on them. */
static gboolean
check_net (const LoomFaults *found, GError **error)
{
  for (guint i = 0; i < loom_faults_length (found); i++)
    {
      const LoomFault *fault = loom_faults_get (found, i);
      if (!fault->is_warning && fault->code != LOOM_ERROR_DATA && fault->code != LOOM_ERROR_IO)
        return loom_faults_to_error (found, NULL, error);
    }
  return TRUE;
}

static gboolean
check_typed (LoomOnnxWriter *self, const LoomFaults *found, GError **error)
{
  for (guint i = 0; i < loom_net_n_nodes (self->net); i++)
    {
      const LoomNetNode *n = loom_net_node (self->net, i);
      for (guint k = 0; k < n->n_outputs; k++)
        if (self->all.wanted[i][k] && !n->typed)
          {
            if (loom_faults_to_error (found, NULL, error))
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "The type of %s is not known.", n->path);
            return FALSE;
          }
    }
  return TRUE;
}

/* Makes nets with numbers for the dynamic symbols. The numbers are large, so that only one formula fits, and a prime,
 * twice and three times a prime, so that a rounded half or third of a size does not look like a simpler formula. */
static gboolean
bind_nets (LoomOnnxWriter *self, const LoomGraph *graph, const LoomBinding *sizes, GError **error)
{
  static const gint64 numbers[][ONNX_BINDINGS]
      = { { 101, 118, 141 }, { 103, 122, 159 }, { 107, 134, 147 }, { 109, 146, 171 }, { 113, 158, 177 },
          { 127, 166, 183 }, { 131, 178, 201 }, { 137, 194, 213 }, { 139, 202, 219 } };
  OnnxExport *all = &self->all;
  g_autofree char *symbols = loom_net_symbols (self->net);
  guint n = 0;

  for (const char *s = symbols; *s; s++)
    if (sizes->value[*s - 'A'] == 0 && n < G_N_ELEMENTS (numbers))
      all->symbols[n++] = *s;
  all->n_bound = n > 0 ? ONNX_BINDINGS : 1;
  if (n == 0)
    {
      all->bound[0] = self->net;
      all->binding[0] = *sizes;
      return TRUE;
    }
  for (guint k = 0; k < ONNX_BINDINGS; k++)
    {
      g_autoptr (LoomFaults) found = loom_faults_new ();
      all->binding[k] = *sizes;
      for (guint i = 0; i < n; i++)
        all->binding[k].value[all->symbols[i] - 'A'] = numbers[i][k];
      all->bound[k] = self->bound[k] = loom_net_bind (self->net, graph, &all->binding[k], found);
      if (!check_net (found, error))
        {
          g_prefix_error (error, "The graph is not valid for every size of %s; fix them with --size. ", all->symbols);
          return FALSE;
        }
    }
  return TRUE;
}

static void
init (LoomOnnxWriter *self, GHashTable *weights, LoomFaults *faults)
{
  OnnxExport *all = &self->all;
  guint n = loom_net_n_nodes (self->net);

  all->net = self->net;
  all->faults = faults;
  all->weights = g_hash_table_ref (weights);
  all->weight_var = g_hash_table_new (g_str_hash, g_str_equal);
  all->constants = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  all->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  all->value = g_new0 (OnnxVar **, n + 1);
  all->wanted = g_new0 (gboolean *, n + 1);
  for (guint i = 0; i < n; i++)
    {
      all->value[i] = g_new0 (OnnxVar *, loom_net_node (self->net, i)->n_outputs + 1);
      all->wanted[i] = g_new0 (gboolean, loom_net_node (self->net, i)->n_outputs + 1);
    }
  for (guint i = 0; i < loom_net_n_weights (self->net); i++)
    g_hash_table_add (all->names, g_strdup (loom_net_weight (self->net, i)->name));
}

static void
free_var (OnnxVar *v)
{
  g_clear_pointer (&v->tensor, loom_tensor_unref);
  g_free (v->name);
  g_free (v->doc);
  g_free (v);
}

LoomOnnxWriter *
loom_onnx_writer_new (const LoomGraph *graph, const LoomOnnxWriteOptions *options, GHashTable *weights,
                      LoomFaults *faults, GError **error)
{
  g_autoptr (LoomOnnxWriter) self = g_new0 (LoomOnnxWriter, 1);
  g_autoptr (LoomFaults) found = loom_faults_new (), train_faults = loom_faults_new ();
  g_autoptr (GArray) inputs = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  g_autoptr (GArray) outputs = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  const LoomElement *root = loom_graph_root (graph), *doc = loom_element_find (root, LOOM_TAG_DOC);
  guint faults_before = loom_faults_length (faults);
  OnnxExport *all = &self->all;

  self->name = g_strdup (loom_element_get (root, "name"));
  self->doc = g_strdup (doc != NULL ? loom_element_text (doc) : NULL);
  self->mapped = g_ptr_array_new_with_free_func (g_free);
  self->datasets = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_dataset_free);
  self->metadata = g_ptr_array_new_with_free_func (g_free);
  all->memory = g_ptr_array_new_with_free_func (g_free);
  all->vars = g_ptr_array_new_with_free_func ((GDestroyNotify)free_var);
  all->out_nodes = g_ptr_array_new_with_free_func (onnx_out_node_free);
  all->inputs = g_ptr_array_new ();
  all->outputs = g_ptr_array_new ();
  self->net = loom_net_new (graph, &options->sizes, found);
  init (self, weights, faults);
  if (!check_net (found, error) || !resolve (self, options->inputs, inputs, error)
      || !resolve (self, options->outputs, outputs, error))
    return NULL;
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, self->net, train_faults);
  if (outputs->len == 0)
    choose_outputs (self, spec, outputs);
  if (outputs->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The graph has no output for a model. Name a port with --output.");
      return NULL;
    }
  mark_wanted (self, outputs, inputs);
  if (!check_typed (self, found, error) || !bind_nets (self, graph, &options->sizes, error)
      || !add_inputs (self, options, inputs, error))
    return NULL;
  for (guint i = 0; i < loom_net_n_nodes (self->net); i++)
    {
      gboolean needed = FALSE;
      for (guint k = 0; k < loom_net_node (self->net, i)->n_outputs; k++)
        needed = needed || (all->wanted[i][k] && all->value[i][k] == NULL);
      if (needed)
        write_node (self, i);
    }
  add_outputs (self, outputs);
  if (loom_faults_length (faults) > faults_before)
    return NULL;
  if (options->open != NULL)
    onnx_export_add_answers (self, spec, options->outputs == NULL ? &g_array_index (outputs, LoomNetSource, 0) : NULL);
  onnx_export_describe_ports (self);
  onnx_export_mark (all);
  onnx_export_infer (all->out_nodes);
  describe (self);
  return g_steal_pointer (&self);
}

void
loom_onnx_writer_free (LoomOnnxWriter *self)
{
  OnnxExport *all;

  if (self == NULL)
    return;
  all = &self->all;
  for (guint i = 0; all->value != NULL && i < loom_net_n_nodes (self->net); i++)
    {
      g_free (all->value[i]);
      g_free (all->wanted[i]);
    }
  g_free (all->value);
  g_free (all->wanted);
  g_ptr_array_unref (all->vars);
  g_ptr_array_unref (all->out_nodes);
  g_ptr_array_unref (all->inputs);
  g_ptr_array_unref (all->outputs);
  g_ptr_array_unref (all->memory);
  g_hash_table_unref (all->weights);
  g_hash_table_unref (all->weight_var);
  g_hash_table_unref (all->constants);
  g_hash_table_unref (all->names);
  for (guint k = 0; k < ONNX_BINDINGS; k++)
    g_clear_pointer (&self->bound[k], loom_net_free);
  g_clear_pointer (&self->net, loom_net_free);
  g_ptr_array_unref (self->mapped);
  g_ptr_array_unref (self->datasets);
  g_ptr_array_unref (self->metadata);
  g_free (self->name);
  g_free (self->doc);
  g_free (self);
}
