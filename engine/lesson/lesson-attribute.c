/* Reads attributes for goals: as written, else the default. */
#include "engine/lesson/lesson-private.h"

#include <string.h>

#include "engine/ops/loom-reserved.h"
#include "engine/recipe/loom-attributes.h"
#include "engine/recipe/loom-schedule.h"

/* "" in a table means that there is no default. */
static const char *
default_in (const LoomParamSpec *spec)
{
  return spec != NULL && spec->def != NULL && spec->def[0] != '\0' ? spec->def : NULL;
}

/* ---- <train> and its children -------------------------------------------------------- */

static const char *
schedule_default (const LoomElement *schedule, const char *name)
{
  const char *type = loom_element_get (schedule, "type");
  const LoomScheduleClass *klass = type != NULL ? loom_schedule (type) : NULL;

  for (const LoomScheduleParam *p = klass != NULL ? klass->param : NULL; p != NULL && p->name != NULL; p++)
    if (g_str_equal (p->name, name) || g_strcmp0 (p->alias, name) == 0)
      return loom_default_text (p->value, p->choices, FALSE);
  return NULL;
}

static const char *
default_of_train (const LoomElement *element, const char *name)
{
  const LoomTag tag = loom_element_tag (element);
  const LoomAttribute *attribute = loom_attribute (tag, name);
  const char *value = NULL;

  if (tag == LOOM_TAG_TRAIN)
    return loom_train_default (element, name);
  if (tag == LOOM_TAG_SCHEDULE)
    value = schedule_default (element, name);
  return value == NULL && attribute != NULL ? default_in (&attribute->spec) : value;
}

/* "train", "train.schedule": the first child of this kind. */
static const LoomElement *
find_in_train (const LoomElement *root, const char *subject)
{
  const LoomElement *train = loom_element_find (root, LOOM_TAG_TRAIN);
  const char *child = subject[strlen ("train")] == '.' ? subject + strlen ("train.") : NULL;

  for (guint i = 0; train != NULL && child != NULL && i < loom_element_n_children (train); i++)
    if (g_str_equal (loom_tag_name (loom_element_tag (loom_element_child (train, i))), child))
      return loom_element_child (train, i);
  return child == NULL ? train : NULL;
}

/* ---- nodes -------------------------------------------------------------------------- */

/* Parameters of an operator take precedence over reserved attributes; for an instance, arguments of its module do. */
static const char *
default_of_node (const LoomGraph *graph, const LoomElement *node, const char *name)
{
  const LoomOp *op = loom_op_of (node);
  const char *module = loom_node_module (node);
  const LoomElement *scope = module != NULL ? loom_graph_find_module (graph, module) : NULL;
  const LoomReserved *reserved = loom_reserved_find (name);

  for (const LoomParamSpec *p = op != NULL ? loom_op_params (op, node) : NULL; p != NULL && p->name != NULL; p++)
    if (g_str_equal (p->name, name))
      return p->def;
  for (guint i = 0; scope != NULL && i < loom_element_n_children (scope); i++)
    {
      const LoomElement *arg = loom_element_child (scope, i);

      if (loom_element_tag (arg) == LOOM_TAG_ARG && g_strcmp0 (loom_element_get (arg, "name"), name) == 0)
        return loom_element_get (arg, "default");
    }
  return reserved != NULL ? default_in (&reserved->spec) : NULL;
}

const char *
lesson_attribute (const LoomGraph *graph, const char *subject, const char *name)
{
  const gboolean is_train = g_str_equal (subject, "train") || g_str_has_prefix (subject, "train.");
  const LoomElement *element
      = is_train ? find_in_train (loom_graph_root (graph), subject) : loom_graph_find_path (graph, subject, NULL);
  const char *value = element != NULL ? loom_element_get (element, name) : NULL;

  if (value != NULL || element == NULL)
    return value;
  return is_train ? default_of_train (element, name) : default_of_node (graph, element, name);
}
