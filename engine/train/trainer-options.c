/* Options of the command line, written into the graph.
 *
 * Everything that an option changes has a place in the graph file, so it is put there before anything else
 * looks: checks, inference and the run folder's graph.xml then need to know one source only. */
#include "engine/train/trainer-private.h"

#include <math.h>
#include <string.h>

static void
set_attribute (LoomGraph *graph, LoomElement *element, const char *name, const char *value)
{
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, name, value)));
}

static void
set_int (LoomGraph *graph, LoomElement *element, const char *name, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  set_attribute (graph, element, name, text);
}

/* The element that "fc", "block.conv" (an instance's inner node) or "train" names. */
static LoomElement *
find_target (LoomGraph *graph, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  LoomElement *scope = loom_graph_root (graph), *element = NULL;

  for (guint i = 0; part[i]; i++)
    {
      if (element)
        {
          /* A copy's number: all copies are one element. */
          if (loom_element_get (element, "repeat") && part[i][0] && strspn (part[i], "0123456789") == strlen (part[i]))
            continue;
          const char *module = loom_element_get (element, "module");
          scope = module ? loom_graph_find_module (graph, module) : NULL;
          if (!scope)
            return NULL;
        }
      element = loom_scope_find_node (scope, part[i]);
      if (!element && i == 0)
        {
          if (!part[1])
            return g_str_equal (path, "train") ? loom_element_find (scope, LOOM_TAG_TRAIN) : NULL;
          /* A module's own name stands for all its instances. */
          scope = loom_graph_find_module (graph, part[0]);
          if (!scope)
            return NULL;
          element = loom_scope_find_node (scope, part[++i]);
        }
      if (!element)
        return NULL;
    }
  return element;
}

static gboolean
apply_assignment (LoomGraph *graph, const char *text, GError **error)
{
  const char *equals = strchr (text, '=');
  g_autofree char *left = equals ? g_strndup (text, equals - text) : NULL;
  char *dot = left ? strrchr (left, '.') : NULL;

  if (!dot || dot == left || dot[1] == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--set takes NODE.PARAM=VALUE, as in --set fc1.out_features=32, but “%s” is not of this form.",
                   text);
      return FALSE;
    }
  *dot = 0;
  LoomElement *element = find_target (graph, left);
  if (!element)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--set %s: the graph has no node “%s”.", text, left);
      return FALSE;
    }
  set_attribute (graph, element, dot + 1, equals + 1);
  return TRUE;
}

LoomGraph *
trainer_apply_options (const LoomGraph *original, const LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomGraph) graph = loom_graph_copy (original);
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (!train)
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
          "The graph has no <train> element, so it does not say which loss to lower and how. Add one, for example "
          "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.001\" batch_size=\"64\" epochs=\"3\"/>.");
      return NULL;
    }
  for (guint i = 0; options->set && options->set[i]; i++)
    if (!apply_assignment (graph, options->set[i], error))
      return NULL;
  if (options->epochs > 0 || options->no_epochs)
    set_int (graph, train, "epochs", options->no_epochs ? 0 : options->epochs);
  if (options->batch_size > 0)
    set_int (graph, train, "batch_size", options->batch_size);
  if (options->seed >= 0)
    set_int (graph, train, "seed", options->seed);
  if (options->device)
    set_attribute (graph, train, "device", options->device);
  if (options->weights)
    {
      /* The path is relative to where the person stands, not to the graph. */
      g_autofree char *path = options->weights[0] ? g_canonicalize_filename (options->weights, NULL) : NULL;
      set_attribute (graph, train, "weights", path);
    }
  if (options->match && !loom_element_get (train, "weights"))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "--match chooses among the weights of a file, but no file is named. Name one by --weights.");
      return NULL;
    }
  if (options->match)
    set_attribute (graph, train, "match", options->match);
  if (options->precision)
    set_attribute (graph, train, "precision", options->precision);
  if (!isnan (options->lr))
    set_attribute (graph, train, "lr", g_ascii_dtostr (number, sizeof number, options->lr));
  return g_steal_pointer (&graph);
}
