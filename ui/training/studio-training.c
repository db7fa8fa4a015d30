/* Edits of <train> and its children: transactions of the document, one undo step each. */
#include "ui/training/studio-training-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

LoomElement *
studio_training_element (StudioDocument *document)
{
  return loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_TRAIN);
}

gboolean
studio_training_is_fault (const LoomFault *fault)
{
  static const LoomTag tags[]
      = { LOOM_TAG_TRAIN, LOOM_TAG_SCHEDULE, LOOM_TAG_CLIP, LOOM_TAG_METRIC, LOOM_TAG_GROUP, LOOM_TAG_PARALLEL };
  if (fault->is_warning || fault->node != NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (tags); i++)
    {
      g_autofree char *place = g_strdup_printf ("<%s>: ", loom_tag_name (tags[i]));
      if (g_str_has_prefix (fault->message, place))
        return TRUE;
    }
  return FALSE;
}

static const LoomNetNode *
find_loss (StudioDocument *document)
{
  LoomNet *net = studio_document_get_net (document);
  const LoomNetNode *found = NULL;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      if (node->op != NULL && node->op->category == LOOM_CATEGORY_LOSS)
        found = node;
    }
  return found;
}

/* Adds a metric of the values that the loss compares; NULL if the loss does not compare two wired values. */
static LoomElement *
new_metric (StudioDocument *document, const LoomNetNode *loss, const char *type)
{
  LoomNet *net = studio_document_get_net (document);
  if (loss == NULL || type == NULL || loss->n_inputs < 2 || loss->input[0].node == G_MAXUINT
      || loss->input[1].node == G_MAXUINT)
    return NULL;
  g_autofree char *input = loom_net_port_name (net, loss->input[0].node, loss->input[0].output);
  g_autofree char *target = loom_net_port_name (net, loss->input[1].node, loss->input[1].output);
  return loom_element_new (LOOM_TAG_METRIC, "type", type, "input", input, "target", target, NULL);
}

gboolean
studio_training_ensure (StudioDocument *document, GError **error)
{
  LoomElement *train = studio_training_element (document);
  const LoomNetNode *loss = find_loss (document);
  if (train != NULL && loom_element_get (train, "loss") != NULL)
    return TRUE;
  if (loss == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                           _ ("There is nothing to train yet. Add a loss, for example cross_entropy, and connect it."));
      return FALSE;
    }
  studio_document_begin (document, _ ("Set up training"));
  if (train != NULL)
    studio_document_edit (document, loom_edit_set (train, "loss", loss->path));
  else
    {
      LoomElement *made = loom_element_new (LOOM_TAG_TRAIN, "loss", loss->path, "optimizer", "adam", "lr", "0.001",
                                            "batch_size", "64", "epochs", "3", "seed", "1", NULL);
      LoomElement *metric = new_metric (document, loss, loss->op->metric);
      if (metric != NULL)
        loom_element_append_detached (made, metric);
      LoomElement *root = loom_graph_root (studio_document_get_graph (document));
      studio_document_edit (document, loom_edit_insert (root, loom_element_place_for (root, LOOM_TAG_TRAIN), made));
    }
  studio_document_end (document);
  return TRUE;
}

void
studio_training_set (StudioDocument *document, const char *attribute, const char *value)
{
  studio_document_begin (document, _ ("Change training"));
  if (studio_training_element (document) == NULL)
    studio_training_ensure (document, NULL);
  LoomElement *train = studio_training_element (document);
  if (train == NULL)
    train = studio_document_ensure (document, LOOM_TAG_TRAIN);
  if (g_strcmp0 (loom_element_get (train, attribute), value) != 0)
    {
      g_autofree char *key = g_strdup_printf ("train.%s", attribute);
      studio_document_edit (document, loom_edit_set (train, attribute, value));
      studio_document_merge (document, key);
    }
  studio_document_end (document);
}

void
studio_training_set_parallel (StudioDocument *document, const char *attribute, const char *value)
{
  LoomElement *train = studio_training_element (document);
  LoomElement *parallel = train != NULL ? loom_element_find (train, LOOM_TAG_PARALLEL) : NULL;

  if (train == NULL || g_strcmp0 (parallel != NULL ? loom_element_get (parallel, attribute) : NULL, value) == 0)
    return;
  studio_document_begin (document, _ ("Divide among ranks"));
  if (parallel == NULL)
    {
      LoomElement *made = loom_element_new (LOOM_TAG_PARALLEL, attribute, value, NULL);
      studio_document_edit (document, loom_edit_insert (train, loom_element_n_children (train), made));
    }
  else if (value == NULL && loom_element_n_attributes (parallel) == 1)
    studio_document_edit (document, loom_edit_remove (parallel));
  else
    studio_document_edit (document, loom_edit_set (parallel, attribute, value));
  studio_document_end (document);
}

char *
studio_training_dup_loss_path (StudioDocument *document)
{
  LoomElement *train = studio_training_element (document);
  const char *loss = train != NULL ? loom_element_get (train, "loss") : NULL;
  if (loss != NULL)
    return g_strdup (loss);
  const LoomNetNode *node = find_loss (document);
  return node != NULL ? g_strdup (node->path) : NULL;
}

/* Returns <train>, and creates it if there is none. */
static LoomElement *
ensure_train (StudioDocument *document)
{
  studio_training_ensure (document, NULL);
  LoomElement *train = studio_training_element (document);
  return train != NULL ? train : studio_document_ensure (document, LOOM_TAG_TRAIN);
}

/* Removes the attributes that `knows` rejects: another optimiser or schedule would report them as faults. */
static void
drop_others (StudioDocument *document, LoomElement *e, gboolean (*knows) (gconstpointer what, const char *name),
             gconstpointer what)
{
  for (guint i = loom_element_n_attributes (e); i-- > 0;)
    {
      const char *name;
      loom_element_attribute (e, i, &name, NULL);
      if (!knows (what, name))
        studio_document_edit (document, loom_edit_set (e, g_intern_string (name), NULL));
    }
}

/* Hyper-parameters of other optimisers must be removed; other attributes belong to the run. */
static gboolean
optimizer_knows (gconstpointer what, const char *name)
{
  const LoomOptimizer *optimizer = what;
  gboolean of_others = FALSE;
  for (const LoomOptimizer *const *o = loom_optimizers (); *o != NULL; o++)
    for (const LoomHyper *h = (*o)->hyper; h->name != NULL; h++)
      if (g_str_equal (h->name, name) || g_strcmp0 (h->list, name) == 0)
        {
          if (*o == optimizer)
            return TRUE;
          of_others = TRUE;
        }
  return !of_others;
}

/* A group can set the hyper-parameters that the optimiser has and uses within a program. */
static gboolean
group_knows (gconstpointer what, const char *name)
{
  const LoomOptimizer *optimizer = what;
  gboolean is_number = g_str_equal (name, "lr") || g_str_equal (name, "weight_decay") || g_str_equal (name, "adamw");
  return !is_number || (optimizer->emit != NULL && loom_optimizer_find (optimizer, name) >= 0);
}

void
studio_training_set_optimizer (StudioDocument *document, const char *name)
{
  const LoomOptimizer *optimizer = loom_optimizer (name);
  studio_document_begin (document, _ ("Change optimizer"));
  LoomElement *train = ensure_train (document);
  studio_document_edit (document, loom_edit_set (train, "optimizer", name));
  if (optimizer != NULL)
    {
      drop_others (document, train, optimizer_knows, optimizer);
      for (guint i = 0; i < loom_element_n_children (train); i++)
        if (loom_element_tag (loom_element_child (train, i)) == LOOM_TAG_GROUP)
          drop_others (document, loom_element_child (train, i), group_knows, optimizer);
      LoomElement *clip = loom_element_find (train, LOOM_TAG_CLIP);
      /* Methods with a line search along the gradient cannot use a clipped one. */
      if (optimizer->emit == NULL && clip != NULL)
        studio_document_edit (document, loom_edit_remove (clip));
    }
  studio_document_end (document);
}

static gboolean
schedule_knows (gconstpointer what, const char *name)
{
  const LoomScheduleClass *klass = what;
  if (g_str_equal (name, "type") || g_str_equal (name, "warmup_steps") || g_str_equal (name, "interval"))
    return TRUE;
  if ((klass->has_milestones && g_str_equal (name, "milestones"))
      || (klass->has_formula && g_str_equal (name, "formula")))
    return TRUE;
  for (const LoomScheduleParam *p = klass->param; p->name != NULL; p++)
    if (g_str_equal (p->name, name) || g_strcmp0 (p->alias, name) == 0)
      return TRUE;
  return FALSE;
}

/* Values for required parameters of a schedule, which have no default in the file. */
static const struct
{
  const char *name, *value;
} begin_with[] = {
  { "step_size", "1000" },       { "gamma", "0.99" },  { "T_0", "500" },
  { "milestones", "1000,2000" }, { "max_lr", "0.01" }, { "formula", "min((step + 1) / 100, 1)" },
};

/* The schedules inside: two to begin with, or none. */
static void
fill_parts (StudioDocument *document, LoomElement *e, gboolean has_parts)
{
  guint n = 0;
  for (guint i = loom_element_n_children (e); i-- > 0;)
    if (loom_element_tag (loom_element_child (e, i)) == LOOM_TAG_SCHEDULE)
      {
        n++;
        if (!has_parts)
          studio_document_edit (document, loom_edit_remove (loom_element_child (e, i)));
      }
  if (!has_parts || n > 0)
    return;
  studio_document_edit (document,
                        loom_edit_insert (e, loom_element_place_for (e, LOOM_TAG_SCHEDULE),
                                          loom_element_new (LOOM_TAG_SCHEDULE, "type", "linear", "start_factor", "0.1",
                                                            "end_factor", "1", "total_iters", "1000", NULL)));
  studio_document_edit (document, loom_edit_insert (e, loom_element_place_for (e, LOOM_TAG_SCHEDULE),
                                                    loom_element_new (LOOM_TAG_SCHEDULE, "type", "cosine", NULL)));
}

/* Removes what the schedule's class has not, and gives what it needs a value. */
static void
fit_schedule (StudioDocument *document, LoomElement *e, const LoomScheduleClass *klass)
{
  drop_others (document, e, schedule_knows, klass);
  fill_parts (document, e, klass->has_parts);
  if (klass->has_parts && klass->has_milestones && loom_element_get (e, "milestones") == NULL)
    studio_document_edit (document, loom_edit_set (e, "milestones", "1000"));
  for (guint i = 0; i < G_N_ELEMENTS (begin_with); i++)
    {
      gboolean needed = (klass->has_milestones && g_str_equal (begin_with[i].name, "milestones"))
                        || (klass->has_formula && g_str_equal (begin_with[i].name, "formula"));
      for (const LoomScheduleParam *p = klass->param; p->name != NULL; p++)
        needed = needed || (p->required && g_str_equal (p->name, begin_with[i].name));
      if (needed && loom_element_get (e, begin_with[i].name) == NULL)
        studio_document_edit (document, loom_edit_set (e, begin_with[i].name, begin_with[i].value));
    }
}

void
studio_training_set_schedule (StudioDocument *document, const char *type)
{
  const LoomScheduleClass *klass = loom_schedule (type);
  studio_document_begin (document, _ ("Change schedule"));
  LoomElement *train = ensure_train (document), *e = loom_element_find (train, LOOM_TAG_SCHEDULE);
  if (e == NULL)
    {
      e = loom_element_new (LOOM_TAG_SCHEDULE, "type", type, NULL);
      studio_document_edit (document, loom_edit_insert (train, loom_element_place_for (train, LOOM_TAG_SCHEDULE), e));
    }
  else
    studio_document_edit (document, loom_edit_set (e, "type", type));
  if (klass != NULL)
    fit_schedule (document, e, klass);
  studio_document_end (document);
}

void
studio_training_set_in (StudioDocument *document, LoomTag tag, const char *attribute, const char *value)
{
  studio_document_begin (document, _ ("Change training"));
  LoomElement *train = ensure_train (document), *child = loom_element_find (train, tag);
  /* Clipping to 0 means no clipping. */
  gboolean off = tag == LOOM_TAG_CLIP && value != NULL && g_ascii_strtod (value, NULL) <= 0;
  if (off)
    value = NULL;
  if (child == NULL && value != NULL)
    {
      LoomElement *made = loom_element_new (tag, NULL);
      if (tag == LOOM_TAG_SCHEDULE)
        made = (loom_element_free (made), loom_element_new (tag, "type", loom_attribute (tag, "type")->spec.def, NULL));
      studio_document_edit (document, loom_edit_insert (train, loom_element_place_for (train, tag), made));
      studio_document_edit (document, loom_edit_set (made, attribute, value));
    }
  else if (child != NULL && g_strcmp0 (loom_element_get (child, attribute), value) != 0)
    {
      studio_document_edit (document, loom_edit_set (child, attribute, value));
      if ((tag == LOOM_TAG_CLIP || tag == LOOM_TAG_PARALLEL) && loom_element_n_attributes (child) == 0)
        studio_document_edit (document, loom_edit_remove (child));
    }
  studio_document_end (document);
}

void
studio_training_set_at (StudioDocument *document, guint64 serial, const char *attribute, const char *value)
{
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (document), serial);
  if (e == NULL || g_strcmp0 (loom_element_get (e, attribute), value) == 0)
    return;
  studio_document_begin (document, _ ("Change training"));
  studio_document_edit (document, loom_edit_set (e, attribute, value));
  if (loom_element_tag (e) == LOOM_TAG_SCHEDULE && g_str_equal (attribute, "type") && value != NULL
      && loom_schedule (value) != NULL)
    fit_schedule (document, e, loom_schedule (value));
  studio_document_end (document);
}

void
studio_training_remove (StudioDocument *document, guint64 serial)
{
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (document), serial);
  if (e == NULL)
    return;
  studio_document_begin (document, loom_element_tag (e) == LOOM_TAG_GROUP ? _ ("Remove group") : _ ("Remove metric"));
  studio_document_edit (document, loom_edit_remove (e));
  studio_document_end (document);
}

static gboolean
has_child (const LoomElement *train, LoomTag tag, const char *attribute, const char *value)
{
  for (guint i = 0; i < loom_element_n_children (train); i++)
    {
      const LoomElement *e = loom_element_child (train, i);
      if (loom_element_tag (e) == tag && g_strcmp0 (loom_element_get (e, attribute), value) == 0)
        return TRUE;
    }
  return FALSE;
}

/* FALSE for a metric that does not apply to these outputs: the top five has no meaning for two classes. */
static gboolean
metric_fits (StudioDocument *document, const LoomNetNode *loss, const char *type)
{
  g_autoptr (LoomGraph) trial = loom_graph_copy (studio_document_get_graph (document));
  g_autoptr (LoomFaults) before = loom_faults_new (), after = loom_faults_new ();
  LoomElement *train = loom_element_find (loom_graph_root (trial), LOOM_TAG_TRAIN);
  LoomNet *net = studio_document_get_net (document);
  LoomElement *metric = train != NULL ? new_metric (document, loss, type) : NULL;
  if (metric == NULL)
    return TRUE;
  loom_train_spec_free (loom_train_spec_new (trial, net, before));
  loom_edit_free (
      loom_graph_apply (trial, loom_edit_insert (train, loom_element_place_for (train, LOOM_TAG_METRIC), metric)));
  loom_train_spec_free (loom_train_spec_new (trial, net, after));
  return loom_faults_count (after) <= loom_faults_count (before);
}

gboolean
studio_training_add_metric (StudioDocument *document)
{
  const LoomNetNode *loss = find_loss (document);
  LoomElement *train = studio_training_element (document), *metric = NULL;
  /* The first metric that can be added and is not listed yet. */
  for (const LoomMetric *const *m = loom_metrics (); *m != NULL && metric == NULL; m++)
    if ((train == NULL || !has_child (train, LOOM_TAG_METRIC, "type", (*m)->name))
        && metric_fits (document, loss, (*m)->name))
      metric = new_metric (document, loss, (*m)->name);
  if (metric == NULL)
    return FALSE;
  studio_document_begin (document, _ ("Add metric"));
  train = ensure_train (document);
  studio_document_edit (document, loom_edit_insert (train, loom_element_place_for (train, LOOM_TAG_METRIC), metric));
  studio_document_end (document);
  return TRUE;
}

gboolean
studio_training_add_group (StudioDocument *document)
{
  g_auto (GStrv) paths = studio_training_weight_paths (document);
  LoomElement *train = studio_training_element (document);
  guint i = 0;
  while (paths[i] != NULL && train != NULL && has_child (train, LOOM_TAG_GROUP, "match", paths[i]))
    i++;
  if (paths[i] == NULL)
    return FALSE;
  studio_document_begin (document, _ ("Add group"));
  train = ensure_train (document);
  studio_document_edit (document, loom_edit_insert (train, loom_element_place_for (train, LOOM_TAG_GROUP),
                                                    loom_element_new (LOOM_TAG_GROUP, "match", paths[i], NULL)));
  studio_document_end (document);
  return TRUE;
}

/* ---- completions of a field -------------------------------------------------------------- */

#define MAX_CHOICES 60

char **
studio_training_weight_paths (StudioDocument *document)
{
  LoomNet *net = studio_document_get_net (document);
  GPtrArray *paths = g_ptr_array_new ();
  const char *last = NULL;
  gboolean bias = FALSE;
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      const char *path = loom_net_node (net, weight->node)->path;
      bias = bias || g_str_has_suffix (weight->name, ".bias");
      if (weight->is_buffer || path == last || paths->len >= MAX_CHOICES)
        continue;
      last = path;
      g_ptr_array_add (paths, g_strdup (path));
    }
  if (bias)
    g_ptr_array_add (paths, g_strdup ("**.bias"));
  g_ptr_array_add (paths, NULL);
  return (char **)g_ptr_array_free (paths, FALSE);
}

static gboolean
is_scalar (const LoomType *type)
{
  LoomDim count = loom_shape_count (&type->shape);
  return loom_dtype_is_float (type->dtype) && loom_dim_is_known (count) && count.coef == 1;
}

char **
studio_training_ports (StudioDocument *document, StudioTrainingPorts which)
{
  LoomNet *net = studio_document_get_net (document);
  GPtrArray *names = g_ptr_array_new ();
  /* The latest nodes are the likeliest. */
  for (guint i = loom_net_n_nodes (net); i-- > 0 && names->len < MAX_CHOICES;)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      for (guint o = 0; node->typed && o < node->n_outputs; o++)
        {
          gboolean is_data = node->n_inputs == 0 && node->op->category == LOOM_CATEGORY_DATA;
          gboolean fits = which == STUDIO_PORTS_LOSS     ? is_scalar (&node->output[o]) && !is_data
                          : which == STUDIO_PORTS_TARGET ? is_data
                                                         : !is_data && !is_scalar (&node->output[o]);
          if (fits)
            g_ptr_array_add (names, loom_net_port_name (net, i, o));
        }
    }
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}
