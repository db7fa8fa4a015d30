/* Options of the command line, written into the graph.
 *
 * Every setting that an option changes has a place in the graph file, so it is written there first: checks, inference
 * and the run folder's graph.xml then have a single source. The attributes that an option has set are recorded, because
 * a fault of one is reported as the option's and not the file's. */
#include "engine/train/train-options.h"

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-text.h"
#include "engine/graph/loom-modules.h"

#include <math.h>
#include <string.h>

typedef struct
{
  char *option; /* "--lr", "--set fc.bias=false", "--strategy gpipe" */
  char *value;  /* NULL if the option's text contains it */
  char *attribute;
  int line; /* of the element */
  gboolean of_train;
} Given;

static void
given_free (gpointer data)
{
  Given *given = data;

  g_free (given->option);
  g_free (given->value);
  g_free (given->attribute);
  g_free (given);
}

GPtrArray *
train_options_given_new (void)
{
  return g_ptr_array_new_with_free_func (given_free);
}

static void
note_given (LoomElement *element, const char *name, const char *value, const char *option, gboolean has_value,
            GPtrArray *all)
{
  Given *given = g_new0 (Given, 1);

  given->option = g_strdup (option);
  given->value = has_value ? g_strdup (value) : NULL;
  given->attribute = g_strdup (name);
  given->line = loom_element_line (element);
  given->of_train = loom_element_tag (element) != LOOM_TAG_NODE;
  g_ptr_array_add (all, given);
}

static void
set_attribute (LoomGraph *graph, LoomElement *element, const char *name, const char *value, const char *option,
               gboolean has_value, GPtrArray *all)
{
  note_given (element, name, value, option, has_value, all);
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, name, value)));
}

/* Sets an attribute of <train> from the option of this name; value NULL: not given. */
static void
set_train (LoomGraph *graph, const char *name, const char *value, GPtrArray *all)
{
  g_autofree char *option = g_strdelimit (g_strconcat ("--", name, NULL), "_", '-');

  if (value != NULL)
    set_attribute (graph, loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN), name, value, option, TRUE, all);
}

static void
set_train_int (LoomGraph *graph, const char *name, gint64 value, GPtrArray *all)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  set_train (graph, name, text, all);
}

/* The child of <train> with this tag, created if needed; NULL: it has no such element. */
static LoomElement *
find_in_train (LoomGraph *graph, const char *name)
{
  static const LoomTag tags[] = { LOOM_TAG_SCHEDULE, LOOM_TAG_CLIP, LOOM_TAG_PARALLEL };
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  for (guint i = 0; train != NULL && i < G_N_ELEMENTS (tags); i++)
    {
      if (!g_str_equal (name, loom_tag_name (tags[i])))
        continue;
      if (loom_element_find (train, tags[i]) == NULL)
        loom_edit_free (loom_graph_apply (
            graph, loom_edit_insert (train, loom_element_n_children (train), loom_element_new (tags[i], NULL))));
      return loom_element_find (train, tags[i]);
    }
  return NULL;
}

typedef struct
{
  const char *option; /* as typed: the attribute's value may be the number of ranks */
  GPtrArray *all;
} Strategy;

static void
strategy_cb (LoomElement *parallel, const char *name, const char *value, gpointer data)
{
  const Strategy *strategy = data;

  if (value != NULL)
    note_given (parallel, name, value, strategy->option, FALSE, strategy->all);
}

/* Sets the attributes of <parallel> for --strategy. */
static void
set_strategy (LoomGraph *graph, const char *strategy, int ranks, GPtrArray *all)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  g_autofree char *option = g_strconcat ("--strategy ", strategy, NULL);

  if (strategy != NULL && train != NULL)
    loom_strategy_apply (graph, train, strategy, ranks, strategy_cb, &(Strategy){ option, all });
}

/* The element that "fc", "block.conv" (an instance's inner node), "train" or "train.schedule" names. */
static LoomElement *
find_target (LoomGraph *graph, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  LoomElement *scope = loom_graph_root (graph), *element = NULL;

  for (guint i = 0; part[i] != NULL; i++)
    {
      if (element != NULL)
        {
          const gboolean is_copy = loom_node_is_copy (element, part[i]);
          const char *module = is_copy ? loom_node_module_at (element, part[i]) : loom_node_module (element);
          if (is_copy && part[i + 1] != NULL)
            i++;
          else if (is_copy)
            continue;
          scope = module != NULL ? loom_graph_find_module (graph, module) : NULL;
          if (scope == NULL)
            return NULL;
        }
      element = loom_scope_find_node (scope, part[i]);
      if (element == NULL && i == 0)
        {
          if (part[1] == NULL)
            return g_str_equal (path, "train") ? loom_element_find (scope, LOOM_TAG_TRAIN) : NULL;
          if (g_str_equal (part[0], "train") && part[2] == NULL)
            return find_in_train (graph, part[1]);
          /* A module's own name means all its instances. */
          scope = loom_graph_find_module (graph, part[0]);
          if (scope == NULL)
            return NULL;
          element = loom_scope_find_node (scope, part[++i]);
        }
      if (element == NULL)
        return NULL;
    }
  return element;
}

static gboolean
apply_assignment (LoomGraph *graph, const char *text, GPtrArray *all, GError **error)
{
  const char *equals = strchr (text, '=');
  g_autofree char *left = equals != NULL ? g_strndup (text, equals - text) : NULL;
  char *dot = left != NULL ? strrchr (left, '.') : NULL;

  if (dot == NULL || dot == left || dot[1] == 0)
    return loom_refuse (error, LOOM_ERROR_USAGE,
                        "--set takes NODE.PARAM=VALUE, such as --set fc1.out_features=32, not “%s”.", text);
  *dot = 0;
  LoomElement *element = find_target (graph, left);
  if (element == NULL)
    return loom_refuse (error, LOOM_ERROR_USAGE, "--set %s: the graph has no node “%s”.", text, left);
  g_autofree char *option = g_strconcat ("--set ", text, NULL);
  const gboolean is_train = loom_element_tag (element) != LOOM_TAG_NODE;
  /* Another optimiser may not have the hyper-parameters of the graph's own; parameters of nodes may be empty texts. */
  set_attribute (graph, element, dot + 1, is_train && equals[1] == 0 ? NULL : equals + 1, option, FALSE, all);
  return TRUE;
}

LoomGraph *
train_options_apply (const LoomGraph *original, const LoomTrainerOptions *options, GPtrArray *given, GError **error)
{
  g_autoptr (LoomGraph) graph = loom_graph_copy (original);
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (train == NULL)
    {
      const char *file = loom_graph_get_file (original);

      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
          "%s%sThe graph has no <train> element, which names the loss to minimise and the optimizer. Add one, for "
          "example <train loss=\"loss\" optimizer=\"adam\" lr=\"0.001\" batch_size=\"64\" epochs=\"3\"/>.",
          file != NULL ? file : "", file != NULL ? ": " : "");
      return NULL;
    }
  for (guint i = 0; options->set != NULL && options->set[i] != NULL; i++)
    if (!apply_assignment (graph, options->set[i], given, error))
      return NULL;
  if (options->epochs > 0 || options->no_epochs)
    set_train_int (graph, "epochs", options->no_epochs ? 0 : options->epochs, given);
  if (options->batch_size > 0)
    set_train_int (graph, "batch_size", options->batch_size, given);
  if (options->seed >= 0)
    set_train_int (graph, "seed", options->seed, given);
  set_train (graph, "device", options->device, given);
  if (options->weights != NULL && options->weights[0])
    {
      /* The path is relative to the current folder, not to the graph's. */
      g_autofree char *path = g_canonicalize_filename (options->weights, NULL);
      set_train (graph, "weights", path, given);
    }
  else if (options->weights != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "weights", NULL)));
  if (options->match != NULL && loom_element_get (train, "weights") == NULL)
    return loom_refuse_null (error, LOOM_ERROR_USAGE,
                             "--match selects weights of a file, but no file is named. Name one with --weights.");
  set_train (graph, "match", options->match, given);
  set_train (graph, "precision", options->precision, given);
  set_train (graph, "tf32", options->tf32 ? "true" : NULL, given);
  set_strategy (graph, options->strategy, options->comm != NULL ? options->comm->size : 1, given);
  if (!isnan (options->lr))
    set_train (graph, "lr", loom_text_decimal (options->lr, number), given);
  return g_steal_pointer (&graph);
}

/* ---- faults ----------------------------------------------------------- */

/* The attributes of <train> that have an option of their own. */
static const char *const options_of_train[]
    = { "epochs", "batch_size", "seed", "device", "weights", "match", "precision", "tf32", "lr", NULL };

/* The option that has set the faulty attribute: the last one, if several have set it. */
static const Given *
find_given (const GPtrArray *given, const LoomFault *fault)
{
  for (guint i = given->len; i-- > 0;)
    {
      const Given *g = given->pdata[i];
      if (g->line == fault->line && g_strcmp0 (g->attribute, fault->port) == 0 && g->of_train == (fault->node == NULL))
        return g;
    }
  return NULL;
}

/* "--lr: lr is 1e+30; it must be from 0 to 1000000. Set it to its default, 0.001." */
static char *
option_sentence (const Given *given, const LoomFault *fault)
{
  const char *message = fault->message, *prefix = "<train>: ";
  g_autofree char *use = NULL;

  if (given->of_train && g_str_has_prefix (message, prefix))
    message += strlen (prefix);
  /* If the remedy sets an attribute with an option, names the option. */
  if (given->of_train && given->value != NULL && fault->fix_attribute != NULL && fault->fix_value != NULL
      && !g_str_equal (fault->fix_attribute, given->attribute)
      && g_strv_contains (options_of_train, fault->fix_attribute))
    {
      g_autofree char *option = g_strdelimit (g_strdup (fault->fix_attribute), "_", '-');
      use = g_strdup_printf ("Use --%s %s.", option, fault->fix_value);
    }
  const char *fix = use != NULL ? use : fault->fix;
  return g_strdup_printf ("%s: %s%s%s", given->option, message, fix != NULL ? " " : "", fix != NULL ? fix : "");
}

/* "With --set fc.out_features=2: ", if the graph has no fault without the options. */
static char *
blame_options (const LoomGraph *original, const GPtrArray *given)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = given->len > 0 ? loom_net_new (original, NULL, faults) : NULL;
  LoomTrainSpec *spec = net ? loom_train_spec_new (original, net, faults) : NULL;
  GString *text;

  loom_train_spec_free (spec);
  if (net == NULL || loom_faults_count (faults) > 0)
    return g_strdup ("");
  text = g_string_new ("With");
  for (guint i = 0; i < given->len; i++)
    {
      const Given *g = given->pdata[i], *before = i > 0 ? given->pdata[i - 1] : NULL;

      /* One option may have set several attributes. */
      if (before != NULL && g_str_equal (g->option, before->option))
        continue;
      g_string_append_printf (text, " %s%s%s", g->option, g->value != NULL ? " " : "",
                              g->value != NULL ? g->value : "");
    }
  g_string_append (text, ": ");
  return g_string_free (text, FALSE);
}

gboolean
train_options_check (const LoomGraph *original, const GPtrArray *given, const LoomFaults *faults, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *blamed = NULL;
  const LoomFault *first = NULL;
  gboolean is_usage = TRUE;

  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      const Given *by = find_given (given, fault);

      if (fault->is_warning)
        continue;
      if (first != NULL)
        g_string_append_c (text, '\n');
      else
        first = fault;
      if (by != NULL)
        {
          g_autofree char *sentence = option_sentence (by, fault);
          g_string_append (text, sentence);
          is_usage = is_usage && fault->code != LOOM_ERROR_DATA;
          continue;
        }
      g_autofree char *sentence = loom_fault_to_string (fault);
      if (blamed == NULL)
        blamed = blame_options (original, given);
      is_usage = is_usage && *blamed != '\0' && fault->code != LOOM_ERROR_DATA;
      g_string_append_printf (text, "%s%s%s%s", blamed, faults->file != NULL ? faults->file : "",
                              faults->file != NULL ? ": " : "", sentence);
    }
  if (first != NULL)
    g_set_error_literal (error, LOOM_ERROR, is_usage ? LOOM_ERROR_USAGE : first->code, text->str);
  return first == NULL;
}
