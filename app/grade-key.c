/* The key of `gradloom grade`: the lecturer's graph with its lessons and data. */
#include "app/grade.h"

#include "app/shared/command.h"

#include <string.h>

/* The folders and files of the key, resolved; read by the guard, which takes no pointer. */
static GPtrArray *lent;

gboolean
grade_key_read (GradeKey *self, const char *path, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  self->graph = command_read_graph (path, error);
  if (self->graph == NULL)
    return FALSE;
  self->lessons = loom_lessons_new (self->graph, faults);
  if (!loom_faults_to_error (faults, path, error))
    return FALSE;
  if (self->lessons->len > 0)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s has no <lesson>, whose goals would be checked.", path);
  return FALSE;
}

void
grade_key_clear (GradeKey *self)
{
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->lessons, g_ptr_array_unref);
}

/* ---- files ----------------------------------------------------------------- */

typedef struct
{
  const LoomElement *like; /* of the hand-in */
  LoomGraph *graph;        /* to which paths are copied */
  LoomElement *found;      /* in the key */
} Search;

static gboolean
same_leaf (const char *a, const char *b)
{
  g_autofree char *x = g_path_get_basename (a), *y = g_path_get_basename (b);

  return g_str_equal (x, y);
}

/* Whether both name files of the same last name, or both none. */
static gboolean
same_option (const LoomElement *a, const LoomElement *b, const char *name)
{
  const char *x = loom_element_get (a, name), *y = loom_element_get (b, name);

  x = x != NULL ? x : "";
  y = y != NULL ? y : "";
  return (*x == '\0') == (*y == '\0') && (*x == '\0' || same_leaf (x, y));
}

static gboolean
is_like (const LoomElement *a, const LoomElement *b)
{
  const LoomDatasetClass *klass;

  if (!loom_op_has_role (b, LOOM_ROLE_DATASET)
      || g_strcmp0 (loom_element_get (a, "source"), loom_element_get (b, "source")) != 0)
    return FALSE;
  klass = loom_dataset_class (loom_element_get (a, "source"));
  for (const LoomDatasetParam *p = loom_dataset_class_params (klass); p->name != NULL; p++)
    if (p->type == LOOM_DATASET_PATH && !same_option (a, b, p->name))
      return FALSE;
  return TRUE;
}

static void
search (LoomElement *element, Search *s)
{
  if (s->found == NULL && loom_element_tag (element) == LOOM_TAG_NODE && is_like (s->like, element))
    s->found = element;
  for (guint i = 0; s->found == NULL && i < loom_element_n_children (element); i++)
    search (loom_element_child (element, i), s);
}

static gboolean
lend_to_node (const GradeKey *self, LoomGraph *graph, LoomElement *node, GError **error)
{
  const char *source = loom_element_get (node, "source");
  Search s = { .like = node, .graph = graph };

  if (!loom_op_has_role (node, LOOM_ROLE_DATASET))
    return TRUE;
  /* An expression has its value only in an instance of its module. */
  if (source != NULL && loom_dataset_class (source) != NULL)
    search (loom_graph_root (self->graph), &s);
  if (s.found == NULL)
    {
      g_autofree char *id = command_printable (loom_element_get (node, "id")),
                      *shown = command_printable (source != NULL ? source : "");
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The data set of the node %s (%s) is none of the key, and nothing else is read.", id, shown);
      return FALSE;
    }
  for (const LoomDatasetParam *p = loom_dataset_class_params (loom_dataset_class (source)); p->name != NULL; p++)
    if (p->type == LOOM_DATASET_PATH)
      loom_edit_free (loom_graph_apply (graph, loom_edit_set (node, p->name, loom_element_get (s.found, p->name))));
  return TRUE;
}

static gboolean
lend_to_train (const GradeKey *self, LoomGraph *graph, LoomElement *train, GError **error)
{
  static const char *const names[] = { "weights", "adapter" };
  const LoomElement *own = loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *value = loom_element_get (train, names[i]);
      const char *key = own != NULL ? loom_element_get (own, names[i]) : NULL;

      if (value == NULL || *value == '\0')
        continue;
      if (key == NULL || *key == '\0' || !same_leaf (value, key))
        {
          g_autofree char *shown = command_printable (value);
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "The %s of <train>, “%s”, are not those of the key, and nothing else is read.", names[i], shown);
          return FALSE;
        }
      loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, names[i], key)));
    }
  return TRUE;
}

static gboolean
lend_inside (const GradeKey *self, LoomGraph *graph, LoomElement *element, GError **error)
{
  if (loom_element_tag (element) == LOOM_TAG_NODE && !lend_to_node (self, graph, element, error))
    return FALSE;
  if (loom_element_tag (element) == LOOM_TAG_TRAIN && !lend_to_train (self, graph, element, error))
    return FALSE;
  for (guint i = 0; i < loom_element_n_children (element); i++)
    if (!lend_inside (self, graph, loom_element_child (element, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
add_lent (LoomElement *element, const char *attribute, const char *value, gpointer data)
{
  const char *folder = loom_graph_get_folder (data);
  g_autofree char *base = g_canonicalize_filename (folder != NULL ? folder : ".", NULL);
  g_autofree char *path = g_canonicalize_filename (value, base);

  g_ptr_array_add (lent, loom_file_target (path));
  return TRUE;
}

static gboolean
may_read (const char *path)
{
  for (guint i = 0; i < lent->len; i++)
    if (loom_path_is_within (path, lent->pdata[i]))
      return TRUE;
  return FALSE;
}

gboolean
grade_key_lend_files (const GradeKey *self, LoomGraph *graph, GError **error)
{
  if (lent == NULL)
    {
      lent = g_ptr_array_new_with_free_func (g_free);
      loom_hand_in_each_file (self->graph, add_lent, self->graph);
    }
  loom_graph_set_folder (graph, loom_graph_get_folder (self->graph));
  /* If the graph reaches a data set in a way that its elements do not show, the guard refuses the file. */
  loom_graph_set_guard (graph, "/nowhere", may_read);
  return lend_inside (self, graph, loom_graph_root (graph), error);
}
