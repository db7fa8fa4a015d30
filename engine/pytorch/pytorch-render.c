/* Renders one instance: the lines of __init__ and forward of its class, with marks for its values. */
#include "engine/pytorch/pytorch-private.h"

#include <string.h>

/* ---- lines ------------------------------------------------------------------ */

static void
line_free (gpointer data)
{
  PyLine *line = data;

  g_free (line->text);
  g_free (line);
}

GPtrArray *
loom_pytorch_lines_new (void)
{
  return g_ptr_array_new_with_free_func (line_free);
}

PyLine *
loom_pytorch_add_line (GPtrArray *lines, guint indent, guint64 serial, char *text)
{
  PyLine *line = g_new (PyLine, 1);

  *line = (PyLine){ .text = text, .indent = indent, .serial = serial };
  g_ptr_array_add (lines, line);
  return line;
}

void
loom_pytorch_forward (PyScope *s, const LoomNetLocal *local, char *text)
{
  loom_pytorch_add_line (s->forward, s->indent, local != NULL ? loom_element_serial (local->element) : 0, text);
}

void
loom_pytorch_init (PyScope *s, const LoomNetLocal *local, char *text)
{
  loom_pytorch_add_line (s->init, 0, loom_element_serial (local->element), text);
}

void
loom_pytorch_refuse (PyWriter *w, const LoomNetInstance *instance, const LoomNetLocal *local, const char *format, ...)
{
  g_autofree char *reason = NULL, *path = NULL;
  const char *scope = loom_net_instance_path (instance);
  va_list args;

  va_start (args, format);
  reason = g_strdup_vprintf (format, args);
  va_end (args);
  path = *scope != 0 ? g_strdup_printf ("%s.%s", scope, local->id) : g_strdup (local->id);
  loom_faults_add (w->faults, LOOM_ERROR_USAGE, loom_element_line (local->element), path, NULL,
                   "“%s” cannot be written for PyTorch: %s.", path, reason);
}

/* ---- variables ---------------------------------------------------------------- */

gboolean
loom_pytorch_is_read (PyScope *s, guint local, guint output)
{
  for (guint k = 0; k < loom_net_instance_n_locals (s->instance); k++)
    {
      guint n = loom_net_instance_local (s->instance, k).n_inputs;

      for (guint i = 0; i < n; i++)
        {
          LoomNetLink link = loom_net_instance_link (s->w->net, s->instance, k, i);
          if (link.wired && link.local == local && link.output == (int)output)
            return TRUE;
        }
    }
  return s->is_root && g_hash_table_contains (s->wanted, GUINT_TO_POINTER (local * LOOM_OP_MAX_OUTPUTS + output));
}

static void
remember_type (PyScope *s, const char *variable, const LoomType *type)
{
  if (variable != NULL && type != NULL && !g_hash_table_contains (s->types, variable))
    {
      g_hash_table_insert (s->types, g_strdup (variable), g_memdup2 (type, sizeof *type));
      g_ptr_array_add (s->typed, g_strdup (variable));
    }
}

const char *
loom_pytorch_output (PyScope *s, guint k, guint output, guint n, const char *suffix)
{
  LoomNetLocal local = loom_net_instance_local (s->instance, k);
  g_autofree char *name = suffix != NULL ? g_strdup_printf ("%s_%s", local.id, suffix) : g_strdup (local.id);

  if (s->outputs[k] == NULL)
    s->outputs[k] = g_new0 (char *, n + 1);
  if (s->outputs[k][output] == NULL)
    s->outputs[k][output] = loom_pytorch_identifier (s->used, name);
  return s->outputs[k][output];
}

void
loom_pytorch_set_output (PyScope *s, guint k, guint output, guint n, const char *variable)
{
  if (s->outputs[k] == NULL)
    s->outputs[k] = g_new0 (char *, n + 1);
  g_free (s->outputs[k][output]);
  s->outputs[k][output] = g_strdup (variable);
}

static char *
link_text (PyScope *s, const LoomNetLink *link)
{
  LoomNetLocal from = loom_net_instance_local (s->instance, link->local);
  g_autofree char *member = NULL;

  if (from.op != NULL && from.op->role == LOOM_ROLE_PARAMETER)
    return loom_pytorch_member ("self", from.id, TRUE);
  if (link->output >= 0)
    return s->outputs[link->local] != NULL && s->outputs[link->local][link->output] != NULL
               ? g_strdup (s->outputs[link->local][link->output])
               : NULL;
  member = loom_pytorch_member ("self", from.id, FALSE);
  return loom_pytorch_weight (member, link->name);
}

char *
loom_pytorch_input (PyScope *s, guint k, guint input)
{
  LoomNetLink link = loom_net_instance_link (s->w->net, s->instance, k, input);

  return link.wired ? link_text (s, &link) : NULL;
}

/* ---- sizes ---------------------------------------------------------------------- */

/* The variable of a symbol, which is read from a value that has it as a size; NULL if none has. */
static const char *
symbol_name (PyScope *s, char symbol)
{
  char **name = &s->symbol[symbol - 'A'];
  LoomDim dim = loom_dim_symbol (symbol);

  for (guint i = 0; *name == NULL && i < s->typed->len; i++)
    {
      const LoomType *type = g_hash_table_lookup (s->types, s->typed->pdata[i]);

      for (int d = 0; *name == NULL && d < type->shape.rank; d++)
        if (loom_dim_equal (type->shape.dim[d], dim))
          {
            char id[] = { symbol, 0 };

            *name = loom_pytorch_identifier (s->used, id);
            loom_pytorch_add_line (s->forward, s->indent, 0,
                                   g_strdup_printf ("%s = %s.shape[%d]", *name, (char *)s->typed->pdata[i], d));
          }
    }
  return *name;
}

char *
loom_pytorch_dim (PyScope *s, const LoomNetLocal *local, LoomDim dim)
{
  GString *text = g_string_new (NULL);

  if (loom_dim_is_unknown (dim))
    {
      g_string_append (text, "-1");
      return g_string_free (text, FALSE);
    }
  for (guint i = 0; i < LOOM_DIM_MAX_SYMBOLS && dim.symbol[i] != 0; i++)
    {
      const char *name = symbol_name (s, dim.symbol[i]);

      if (name == NULL)
        {
          loom_pytorch_refuse (s->w, s->instance, local,
                               "no input of its module has the size %c, so the size is not known there", dim.symbol[i]);
          g_string_free (text, TRUE);
          return NULL;
        }
      g_string_append_printf (text, "%s%s", text->len > 0 ? " * " : "", name);
    }
  if (text->len == 0)
    g_string_append_printf (text, "%" G_GINT64_FORMAT, dim.coef);
  else if (dim.coef != 1)
    g_string_append_printf (text, " * %" G_GINT64_FORMAT, dim.coef);
  return g_string_free (text, FALSE);
}

char *
loom_pytorch_shape (PyScope *s, const LoomNetLocal *local, const LoomShape *shape)
{
  GString *text = g_string_new ("(");

  for (int d = 0; d < shape->rank; d++)
    {
      g_autofree char *dim = loom_pytorch_dim (s, local, shape->dim[d]);

      if (dim == NULL)
        {
          g_string_free (text, TRUE);
          return NULL;
        }
      g_string_append_printf (text, "%s%s", d > 0 ? ", " : "", dim);
    }
  g_string_append (text, shape->rank == 1 ? ",)" : ")");
  return g_string_free (text, FALSE);
}

/* ---- order ---------------------------------------------------------------------- */

/* The type of an input of a module, as one of its operators reads it. */
static const LoomType *
type_of_port (PyScope *s, guint port)
{
  for (guint k = 0; k < loom_net_instance_n_locals (s->instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (s->instance, k);

      for (guint i = 0; local.kind == LOOM_LOCAL_OP && i < local.n_inputs; i++)
        {
          LoomNetLink link = loom_net_instance_link (s->w->net, s->instance, k, i);
          if (link.wired && link.local == port)
            return loom_infer_input (loom_net_infer (s->w->net, loom_net_instance_node (s->w->net, s->instance, k, 0)),
                                     i);
        }
    }
  return NULL;
}

static gboolean
has_inputs_ready (PyScope *s, guint k, guint n_inputs, const gboolean *done)
{
  for (guint i = 0; i < n_inputs; i++)
    {
      LoomNetLink link = loom_net_instance_link (s->w->net, s->instance, k, i);
      if (link.wired && link.output >= 0 && !done[link.local])
        return FALSE;
    }
  return TRUE;
}

/* Marks the locals that an output needs. */
static void
need (PyScope *s, guint k, gboolean *needed)
{
  guint n = loom_net_instance_local (s->instance, k).n_inputs;

  if (needed[k])
    return;
  needed[k] = TRUE;
  for (guint i = 0; i < n; i++)
    {
      LoomNetLink link = loom_net_instance_link (s->w->net, s->instance, k, i);
      if (link.wired)
        need (s, link.local, needed);
    }
}

/* TRUE for a node that changes state, or a module that contains one. */
static gboolean
has_effect (const LoomNetInstance *instance, guint k)
{
  LoomNetLocal local = loom_net_instance_local (instance, k);

  for (guint c = 0; local.kind == LOOM_LOCAL_MODULE && c < local.n_copies; c++)
    {
      const LoomNetInstance *inside = loom_net_instance_copy (instance, k, c);

      for (guint i = 0; i < loom_net_instance_n_locals (inside); i++)
        if (has_effect (inside, i))
          return TRUE;
    }
  return local.kind == LOOM_LOCAL_OP && local.op->has_effect;
}

static void
write_local (PyScope *s, guint k, const LoomNetLocal *local, gboolean needed)
{
  guint before = s->forward->len;

  if (local->kind == LOOM_LOCAL_OP && local->op->role == LOOM_ROLE_NONE && needed)
    loom_pytorch_write_op (s, k);
  else if (local->kind == LOOM_LOCAL_OP
           && (local->op->role == LOOM_ROLE_PARAMETER || local->op->role == LOOM_ROLE_OUTPUT
               || local->op->role == LOOM_ROLE_NONE))
    loom_pytorch_write_op (s, k);
  else if (local->kind == LOOM_LOCAL_MODULE && local->op != NULL)
    loom_pytorch_write_loop (s, k);
  else if (local->kind == LOOM_LOCAL_MODULE)
    loom_pytorch_write_module (s, k);
  /* A layer that nothing reads has weights all the same; only its line of forward is left out. */
  if (!needed)
    g_ptr_array_set_size (s->forward, (int)before);
  if (local->kind == LOOM_LOCAL_OP && needed && s->outputs[k] != NULL)
    {
      const LoomNetNode *node = loom_net_node (s->w->net, loom_net_instance_node (s->w->net, s->instance, k, 0));

      for (guint i = 0; i < node->n_outputs; i++)
        remember_type (s, s->outputs[k][i], &node->output[i]);
    }
}

static guint
count_datasets (const LoomNetInstance *instance)
{
  guint n = 0;

  for (guint k = 0; k < loom_net_instance_n_locals (instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (instance, k);
      n += local.op != NULL && local.op->role == LOOM_ROLE_DATASET;
    }
  return n;
}

/* Ports of the graph that come from outside: "x" of the only data set, "data_x" of several. */
static void
name_ports (PyScope *s, guint k, const LoomNetLocal *local, GString *arguments)
{
  const LoomNetNode *node = loom_net_node (s->w->net, loom_net_instance_node (s->w->net, s->instance, k, 0));
  gboolean is_input = local->op->role == LOOM_ROLE_INPUT, is_only = count_datasets (s->instance) == 1;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const char *port = node->output_spec[i].name;
      g_autofree char *long_name = g_strdup_printf ("%s_%s", local->id, port), *name = NULL;

      if (!is_input && !loom_pytorch_is_read (s, k, i))
        continue;
      name = loom_pytorch_identifier (s->used, is_input ? local->id : is_only ? port : long_name);
      loom_pytorch_set_output (s, k, i, node->n_outputs, name);
      g_string_append_printf (arguments, ", %s", name);
      remember_type (s, name, &node->output[i]);
      g_ptr_array_add (s->w->ports, is_input ? g_strdup (local->id) : g_strdup_printf ("%s.%s", local->id, port));
      g_ptr_array_add (s->w->ports, g_strdup (name));
    }
}

/* The names of forward's arguments. */
static void
name_inputs (PyScope *s, GString *arguments)
{
  for (guint k = 0; k < loom_net_instance_n_locals (s->instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (s->instance, k);

      if (local.kind == LOOM_LOCAL_INPUT)
        {
          const char *name = loom_pytorch_output (s, k, 0, 1, NULL);

          g_string_append_printf (arguments, ", %s", name);
          remember_type (s, name, type_of_port (s, k));
        }
      else if (local.op != NULL && (local.op->role == LOOM_ROLE_DATASET || local.op->role == LOOM_ROLE_INPUT))
        name_ports (s, k, &local, arguments);
    }
}

#define KEY(local, output) ((local)*LOOM_OP_MAX_OUTPUTS + (output))

/* The local and output of the graph that a source is; G_MAXUINT: it is inside a module. */
static guint
find_source (const PyScope *s, const LoomNetSource *source)
{
  for (guint k = 0; k < loom_net_instance_n_locals (s->instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (s->instance, k);

      if (local.kind == LOOM_LOCAL_OP
          && loom_net_instance_node (s->w->net, s->instance, k, local.n_copies - 1) == source->node
          && source->output < loom_net_node (s->w->net, source->node)->n_outputs)
        return KEY (k, source->output);
    }
  return G_MAXUINT;
}

/* The same for a port of a module as <train> names it: "grad.loss". */
static guint
find_port (const PyScope *s, const char *port)
{
  g_autofree char *id = NULL, *rest = NULL;

  if (port == NULL || !loom_end_split (port, &id, &rest))
    return G_MAXUINT;
  for (guint k = 0; k < loom_net_instance_n_locals (s->instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (s->instance, k);
      const LoomNetInstance *inside;

      if (strcmp (local.id, id) != 0 || local.kind != LOOM_LOCAL_MODULE)
        continue;
      inside = loom_net_instance_copy (s->instance, k, 0);
      for (guint o = 0; o < loom_net_instance_n_ports (inside, TRUE); o++)
        if (rest == NULL
            || strcmp (loom_net_instance_local (inside, loom_net_instance_port (inside, TRUE, o)).id, rest) == 0)
          return KEY (k, o);
    }
  return G_MAXUINT;
}

/* "fc" or "gru.h_n": the key of a value that the graph returns. */
static char *
result_name (const LoomNet *net, const LoomNetInstance *instance, guint k, guint output)
{
  LoomNetLocal local = loom_net_instance_local (instance, k);

  if (local.kind == LOOM_LOCAL_MODULE)
    {
      const LoomNetInstance *inside = loom_net_instance_copy (instance, k, 0);
      return loom_net_instance_n_ports (inside, TRUE) == 1
                 ? g_strdup (local.id)
                 : g_strdup_printf ("%s.%s", local.id,
                                    loom_net_instance_local (inside, loom_net_instance_port (inside, TRUE, output)).id);
    }
  const LoomNetNode *node = loom_net_node (net, loom_net_instance_node (net, instance, k, 0));
  return node->n_outputs == 1 ? g_strdup (local.id)
                              : g_strdup_printf ("%s.%s", local.id, node->output_spec[output].name);
}

/* Adds what <train> reads to the results; its key as a name, or NULL with a fault. */
static char *
want (PyScope *s, GPtrArray *results, const LoomNetSource *source, const LoomElement *element, const char *attribute)
{
  const char *port = loom_element_get (element, attribute);
  guint key = find_source (s, source);

  if (key == G_MAXUINT)
    key = find_port (s, port);
  if (key == G_MAXUINT)
    {
      loom_faults_add (s->w->faults, LOOM_ERROR_USAGE, loom_element_line (element), NULL, attribute,
                       "“%s” cannot be written for PyTorch: it is inside a module. Wire it to a module_output.", port);
      return NULL;
    }
  if (g_hash_table_add (s->wanted, GUINT_TO_POINTER (key)))
    g_ptr_array_add (results, GUINT_TO_POINTER (key));
  return result_name (s->w->net, s->instance, key / LOOM_OP_MAX_OUTPUTS, key % LOOM_OP_MAX_OUTPUTS);
}

static gboolean
is_read_at_all (PyScope *s, guint k)
{
  for (guint i = 0; i < loom_net_instance_n_locals (s->instance); i++)
    {
      guint n = loom_net_instance_local (s->instance, i).n_inputs;

      for (guint input = 0; input < n; input++)
        {
          LoomNetLink link = loom_net_instance_link (s->w->net, s->instance, i, input);
          if (link.wired && link.local == k)
            return TRUE;
        }
    }
  return FALSE;
}

/* What the graph returns: its loss and what metrics compare, its outputs, and without a loss all its ends. */
static GPtrArray *
choose_results (PyScope *s)
{
  GPtrArray *results = g_ptr_array_new ();
  const LoomTrainSpec *spec = s->w->spec;
  const LoomElement *train = loom_element_find (loom_graph_root (s->w->graph), LOOM_TAG_TRAIN);
  guint m = 0;

  if (spec != NULL)
    s->w->loss_key = want (s, results, &spec->loss, train, "loss");
  for (guint i = 0; spec != NULL && i < loom_element_n_children (train); i++)
    {
      const LoomElement *child = loom_element_child (train, i);
      const LoomMetricSpec *metric;

      if (loom_element_tag (child) != LOOM_TAG_METRIC || m >= spec->metrics->len)
        continue;
      metric = spec->metrics->pdata[m++];
      g_ptr_array_add (s->w->metric_keys, want (s, results, &metric->input, child, "input"));
      g_ptr_array_add (s->w->metric_keys, want (s, results, &metric->target, child, "target"));
    }
  for (guint k = 0; k < loom_net_instance_n_locals (s->instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (s->instance, k);
      gpointer key = GUINT_TO_POINTER (KEY (k, 0));

      if ((local.kind != LOOM_LOCAL_OP && local.kind != LOOM_LOCAL_MODULE)
          || (local.op != NULL && (local.op->role == LOOM_ROLE_DATASET || local.op->has_effect)))
        continue;
      if (((local.op != NULL && local.op->role == LOOM_ROLE_OUTPUT) || (spec == NULL && !is_read_at_all (s, k)))
          && g_hash_table_add (s->wanted, key))
        g_ptr_array_add (results, key);
    }
  return results;
}

static void
write_return (PyScope *s, const GPtrArray *results)
{
  GString *text = g_string_new (NULL);

  if (s->is_root)
    {
      g_string_append (text, "return {");
      for (guint i = 0; i < results->len; i++)
        {
          guint key = GPOINTER_TO_UINT (results->pdata[i]), k = key / LOOM_OP_MAX_OUTPUTS,
                o = key % LOOM_OP_MAX_OUTPUTS;
          LoomNetLink link = { .wired = TRUE, .local = k, .output = (int)o };
          g_autofree char *value = link_text (s, &link), *name = result_name (s->w->net, s->instance, k, o);

          if (value == NULL)
            continue;
          g_string_append_printf (text, "%s\"%s\": %s", text->str[text->len - 1] == '{' ? "" : ", ", name, value);
        }
      g_string_append (text, "}");
    }
  else
    for (guint o = 0; o < loom_net_instance_n_ports (s->instance, TRUE); o++)
      {
        g_autofree char *value = loom_pytorch_input (s, loom_net_instance_port (s->instance, TRUE, o), 0);
        g_string_append_printf (text, "%s%s", o == 0 ? "return " : ", ", value != NULL ? value : "None");
      }
  loom_pytorch_add_line (s->forward, 0, 0, g_string_free (text, FALSE));
}

/* Autograd computes gradients with respect to tensors that it has tracked from the beginning. */
static void
track_inputs (PyScope *s)
{
  static const guint indents[] = { 0, 1, 2 };
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i + 1 < s->w->ports->len; i += 2)
    g_string_append_printf (names, "%s, ", (char *)s->w->ports->pdata[i + 1]);
  char *lines[] = { g_strdup_printf ("for value in (%s):", names->str), g_strdup ("if value.is_floating_point():"),
                    g_strdup ("value.requires_grad_()") };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      loom_pytorch_add_line (s->forward, indents[i], 0, lines[i]);
      g_ptr_array_insert (s->forward, (int)(1 + i), g_ptr_array_steal_index (s->forward, s->forward->len - 1));
    }
}

/* Renders the lines of an instance; the first of forward is its definition. */
void
loom_pytorch_render (PyWriter *w, const LoomNetInstance *instance, gboolean is_root, GPtrArray *init,
                     GPtrArray *forward)
{
  guint n = loom_net_instance_n_locals (instance), left = n;
  g_autofree gboolean *done = g_new0 (gboolean, n + 1), *needed = g_new0 (gboolean, n + 1);
  g_autoptr (GString) arguments = g_string_new ("def forward(self");
  g_autoptr (GPtrArray) results = NULL;
  PyScope s = { .w = w,
                .instance = instance,
                .is_root = is_root,
                .init = init,
                .forward = forward,
                .used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                .types = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free),
                .typed = g_ptr_array_new_with_free_func (g_free),
                .wanted = g_hash_table_new (NULL, NULL),
                .outputs = g_new0 (char **, n + 1) };

  results = is_root ? choose_results (&s) : NULL;
  for (guint i = 0; results != NULL && i < results->len; i++)
    need (&s, GPOINTER_TO_UINT (results->pdata[i]) / LOOM_OP_MAX_OUTPUTS, needed);
  for (guint k = 0; k < n; k++)
    {
      LoomNetLocal local = loom_net_instance_local (instance, k);
      if (local.kind == LOOM_LOCAL_OUTPUT || has_effect (instance, k))
        need (&s, k, needed);
    }
  loom_pytorch_add_line (forward, 0, 0, NULL);
  name_inputs (&s, arguments);
  ((PyLine *)forward->pdata[0])->text = g_strconcat (arguments->str, "):", NULL);
  while (left > 0)
    {
      guint before = left;

      for (guint k = 0; k < n; k++)
        {
          LoomNetLocal local = loom_net_instance_local (instance, k);

          if (done[k] || !has_inputs_ready (&s, k, local.n_inputs, done))
            continue;
          done[k] = TRUE;
          left--;
          write_local (&s, k, &local, needed[k]);
          break;
        }
      if (left == before)
        {
          for (guint k = 0; k < n; k++)
            if (!done[k])
              {
                LoomNetLocal local = loom_net_instance_local (instance, k);
                loom_pytorch_refuse (
                    w, instance, &local,
                    "it reads an output of a module that reads its result, and a module is computed at "
                    "once in PyTorch");
                break;
              }
          break;
        }
    }
  if (is_root && w->has_gradient)
    track_inputs (&s);
  write_return (&s, results);
  for (guint k = 0; k < n; k++)
    if (s.outputs[k] != NULL)
      g_strfreev (s.outputs[k]);
  g_free (s.outputs);
  for (guint i = 0; i < 26; i++)
    g_free (s.symbol[i]);
  g_hash_table_unref (s.used);
  g_hash_table_unref (s.types);
  g_hash_table_unref (s.wanted);
  g_ptr_array_unref (s.typed);
}
