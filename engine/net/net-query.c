/* Queries of prediction and export: the nodes that a port depends on, and the port that a loss compares with its
 * target. */
#include "engine/net/net-private.h"

#include "engine/core/loom-file.h"

#include <inttypes.h>

int
loom_net_find_input (const LoomNetNode *node, const char *name)
{
  for (guint i = 0; i < node->n_inputs && node->input_spec != NULL; i++)
    if (node->input_spec[0].flags & LOOM_PORT_VARIADIC)
      return -1;
    else if (g_str_equal (node->input_spec[i].name, name))
      return node->input[i].node == G_MAXUINT ? -1 : (int)i;
  return -1;
}

int
loom_net_find_input_for (const LoomNetNode *node, LoomPortFlags role)
{
  for (guint i = 0; i < node->n_inputs && node->input_spec != NULL; i++)
    {
      if (node->input_spec[0].flags & LOOM_PORT_VARIADIC)
        return -1;
      if (node->input_spec[i].flags & role)
        return node->input[i].node == G_MAXUINT ? -1 : (int)i;
    }
  return -1;
}

static gboolean
same_source (const LoomNetSource *a, const LoomNetSource *b)
{
  return a->node == b->node && a->output == b->output;
}

gboolean *
loom_net_needed_for (const LoomNet *net, const LoomNetSource *of)
{
  gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (net) + 1);

  if (loom_net_is_weight (net, of))
    return needed;
  needed[of->node] = TRUE;
  for (guint i = of->node + 1; i-- > 0;)
    for (guint k = 0; needed[i] && k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (net, i)->input[k];
        if (source->node < i && !loom_net_is_weight (net, source))
          needed[source->node] = TRUE;
      }
  return needed;
}

gboolean
loom_net_find_prediction (const LoomNet *net, const LoomNetSource *loss, LoomNetSource *output)
{
  g_autofree gboolean *needed = loom_net_needed_for (net, loss);
  gboolean found = FALSE;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      int input = needed[i] && node->op != NULL && node->op->category == LOOM_CATEGORY_LOSS
                      ? loom_net_find_input_for (node, LOOM_PORT_PREDICTION)
                      : -1;

      if (input < 0 || loom_net_find_input_for (node, LOOM_PORT_TARGET) < 0)
        continue;
      if (found && !same_source (output, &node->input[input]))
        return FALSE;
      *output = node->input[input];
      found = TRUE;
    }
  return found;
}

/* ---- classes ------------------------------------------------------------ */

/* Maximum number of names of classes in a message. */
#define MAX_LISTED 8

/* The number of logits of a loss node if its target [B] is a class of a data set, the port y; 0 otherwise, or if it
 * accepts any class. */
static gint64
count_logits (const LoomNet *net, const LoomNetNode *node, int dataset_node)
{
  int input = loom_net_find_input_for (node, LOOM_PORT_PREDICTION);
  int target = loom_net_find_input_for (node, LOOM_PORT_TARGET);

  if (input < 0 || target < 0 || (int)node->input[target].node != dataset_node
      || !g_str_equal (loom_net_node (net, (guint)dataset_node)->output_spec[node->input[target].output].name, "y")
      || loom_net_is_weight (net, &node->input[input]) || loom_element_get (node->element, "ignore_index") != NULL)
    return 0;
  const LoomType *x = loom_net_node (net, node->input[input].node)->output + node->input[input].output;
  const LoomType *y = loom_net_node (net, (guint)dataset_node)->output + node->input[target].output;

  if (y->dtype != LOOM_I64 || y->shape.rank != 1 || x->shape.rank != 2)
    return 0;
  return (gint64)MAX (0, loom_dim_value (x->shape.dim[1], NULL));
}

static const char *
get_option (gconstpointer data, const char *name)
{
  return loom_infer_attribute (data, name);
}

/* The parameter of the logits' node that sets their number: the only one with this value. */
static const char *
size_parameter (const LoomNetNode *node, gint64 n_logits)
{
  const char *found = NULL;
  g_autofree char *number = g_strdup_printf ("%" G_GINT64_FORMAT, n_logits);

  for (const LoomParamSpec *p = node->op != NULL ? loom_op_params (node->op, node->element) : NULL;
       p != NULL && p->name != NULL; p++)
    if (p->type == LOOM_PARAM_INT && g_strcmp0 (loom_element_get (node->element, p->name), number) == 0)
      {
        if (found != NULL)
          return NULL;
        found = p->name;
      }
  return found;
}

static char *
list_classes (const char *const *names)
{
  GString *list = g_string_new (NULL);
  guint n = names != NULL ? g_strv_length ((char **)names) : 0;

  for (guint i = 0; i < MIN (n, MAX_LISTED); i++)
    g_string_append_printf (list, "%s%s", i ? ", " : " (", names[i]);
  if (n > 0)
    g_string_append (list, n > MAX_LISTED ? " …)" : ")");
  return g_string_free (list, FALSE);
}

/* Reports the fault at the layer with too few logits, if its size is a number that can be changed; else at the loss. */
static void
complain_of_classes (const LoomNet *net, const LoomNetNode *node, gint64 n_logits, guint n, const char *const *names,
                     LoomFaults *faults)
{
  const LoomNetSource *source = node->input + loom_net_find_input_for (node, LOOM_PORT_PREDICTION);
  const LoomNetNode *scores = loom_net_node (net, source->node);
  const char *parameter = size_parameter (scores, n_logits);
  g_autofree char *list = list_classes (names), *value = g_strdup_printf ("%u", n);

  if (parameter != NULL)
    loom_fault_set_fix (loom_faults_add (faults, LOOM_ERROR_DATA, scores->line, scores->path, parameter,
                                         "The target of %s has %u classes%s, but this node outputs only %" PRId64
                                         " logit%s "
                                         "for each sample.",
                                         node->path, n, list, n_logits, n_logits == 1 ? "" : "s"),
                        parameter, value, "Set %s to %u.", parameter, n);
  else
    loom_fault_set_fix (loom_faults_add (faults, LOOM_ERROR_DATA, node->line, node->path, "target",
                                         "The target has %u classes%s, but the input has only %" PRId64 " "
                                         "logit%s for each sample.",
                                         n, list, n_logits, n_logits == 1 ? "" : "s"),
                        NULL, NULL, "Give the layer that computes them (%s) %u outputs.", scores->path, n);
}

/* The number of classes if it is known without reading the data set; 0 if it depends on files. */
static guint
known_classes (const LoomNet *net, guint dataset_node)
{
  const LoomNetNode *node = loom_net_node (net, dataset_node);
  const LoomInfer *infer = loom_net_infer (net, dataset_node);
  LoomDatasetOptions options
      = { .get = get_option, .data = infer, .folder = loom_infer_folder (infer), .guard = loom_infer_guard (infer) };
  LoomDatasetInfo info = { 0 };
  const char *source = node->op->params != NULL ? loom_infer_attribute (infer, node->op->params[0].name) : NULL;

  if (source == NULL || !loom_dataset_describe (source, &options, &info, NULL))
    return 0;
  return (guint)MAX (info.n_classes, 0);
}

void
loom_net_check_classes (const LoomNet *net, const LoomNetSource *loss, int dataset_node, const LoomDataset *dataset,
                        LoomFaults *faults)
{
  const char *const *names = dataset != NULL ? loom_dataset_class_names (dataset) : NULL;
  guint n_classes;

  if (dataset_node < 0)
    return;
  n_classes = names != NULL     ? g_strv_length ((char **)names)
              : dataset == NULL ? known_classes (net, (guint)dataset_node)
                                : 0;
  if (n_classes == 0)
    return;
  g_autofree gboolean *needed = NULL;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      gint64 n = 0;

      if (node->op == NULL || !node->typed || node->op->category != LOOM_CATEGORY_LOSS)
        continue;
      if (needed == NULL)
        needed = loom_net_needed_for (net, loss);
      n = needed[i] ? count_logits (net, node, dataset_node) : 0;
      if (n > 0 && n < (gint64)n_classes)
        complain_of_classes (net, node, n, n_classes, names, faults);
    }
}

/* ---- files outside the graph's folder ---------------------------------------- */

typedef struct
{
  const LoomNetNode *node;
  int line;
  void (*call) (int line, const char *node, const char *name, const char *path, gpointer data);
  gpointer data;
} Outside;

static void
outside_cb (const char *name, const char *path, gpointer data)
{
  const Outside *o = data;

  o->call (o->line, o->node != NULL ? o->node->path : NULL, name, path, o->data);
}

static void
each_outside (const LoomNet *net, const LoomGraph *graph, const char *file,
              void (*call) (int line, const char *node, const char *name, const char *path, gpointer data),
              gpointer data)
{
  const char *folder = loom_graph_get_folder (graph);
  g_autofree char *from = g_canonicalize_filename (folder != NULL ? folder : ".", NULL);
  /* For a run's graph, the original folder is in its run.json, which any user may write, so the guard decides. */
  g_autofree char *own = file != NULL             ? g_path_get_dirname (file)
                         : net->guard.own != NULL ? g_strdup (net->guard.own)
                                                  : g_strdup (from);
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  static const char *const files[] = { "weights", "adapter" };

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomInfer *infer = loom_net_infer (net, i);
      const char *source = loom_net_is_dataset (net, i) ? loom_infer_attribute (infer, "source") : NULL;
      const LoomDatasetOptions options = { .get = get_option, .data = infer, .folder = from };
      Outside outside = { loom_net_node (net, i), loom_net_node (net, i)->line, call, data };

      if (source != NULL)
        loom_dataset_each_outside (source, &options, own, LOOM_LINKS_READ, net->guard.may_read, outside_cb, &outside);
    }
  for (guint i = 0; train != NULL && i < G_N_ELEMENTS (files); i++)
    {
      const char *begun = loom_element_get (train, files[i]);
      const char *set;
      g_autofree char *begun_at = begun != NULL && *begun != '\0' ? g_canonicalize_filename (begun, from) : NULL;
      g_autofree char *read = begun_at != NULL ? loom_file_of_set (begun_at, &set) : NULL;
      g_autofree char *path = read != NULL ? loom_path_outside (read, from, own) : NULL;

      if (path != NULL)
        call (loom_element_line (train), NULL, files[i], path, data);
    }
}

static void
add_path (int line, const char *node, const char *name, const char *path, gpointer paths)
{
  if (!g_ptr_array_find_with_equal_func (paths, path, g_str_equal, NULL))
    g_ptr_array_add (paths, g_strdup (path));
}

char **
loom_net_outside_paths (const LoomNet *net, const LoomGraph *graph, const char *file)
{
  GPtrArray *paths = g_ptr_array_new ();

  each_outside (net, graph, file, add_path, paths);
  g_ptr_array_add (paths, NULL);
  return (char **)g_ptr_array_free (paths, FALSE);
}

static void
add_warning (int line, const char *node, const char *name, const char *path, gpointer faults)
{
  LoomFault *fault = loom_faults_add (
      faults, LOOM_ERROR_DATA, line, node, name,
      "The graph reads “%s”, %swhich is outside its folder. If the graph is from someone else, check that this is "
      "intended.",
      path, name == NULL ? "through links in the data set's folder, " : "");

  fault->is_warning = TRUE;
}

void
loom_net_warn_of_outside_paths (const LoomNet *net, const LoomGraph *graph, const char *file, LoomFaults *faults)
{
  each_outside (net, graph, file, add_warning, faults);
}
