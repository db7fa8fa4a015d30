/* Fixes for faults, offered on their cards: an attribute's value or name from the fault, a wire across deleted nodes,
 * or a wire to a name that a formula no longer has. */
#include "ui/document/studio-document-private.h"
#include "ui/document/studio-loops.h"
#include "ui/document/studio-quick-fix.h"
#include "ui/document/studio-trials.h"

#include <glib/gi18n.h>
#include <string.h>
#include <time.h>

void
studio_document_note_bridge (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input)
{
  const StudioBridge bridge = { from, to, output, input };

  g_array_append_val (self->bridges, bridge);
}

const StudioBridge *
studio_document_find_bridge (StudioDocument *self, guint64 serial, const char *port)
{
  for (guint i = self->bridges->len; i-- > 0;)
    {
      StudioBridge *b = &g_array_index (self->bridges, StudioBridge, i);

      if (b->to == serial && (port == NULL || strcmp (b->input, port) == 0)
          && studio_document_node (self, b->from) != NULL)
        return b;
    }
  return NULL;
}

/* The wire into an input that a formula no longer has, and the only input without a wire (NULL: none, or several). NULL
 * if the port exists. */
static LoomElement *
stray_wire (StudioDocument *self, guint64 serial, const char *port, const char **waits)
{
  LoomElement *node = studio_document_node (self, serial), *scope, *found = NULL;
  const LoomOp *op = loom_op_of (node);
  g_autoptr (GPtrArray) wired = g_ptr_array_new_with_free_func (g_free);
  guint n_waiting = 0;

  *waits = NULL;
  if (op == NULL || op->dynamic_inputs == NULL || port == NULL)
    return NULL;
  scope = loom_element_parent (node);
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);
      const char *to = loom_element_tag (e) == LOOM_TAG_WIRE ? loom_element_get (e, "to") : NULL;
      g_autofree char *id = NULL, *name = NULL;

      if (to == NULL || !loom_end_split (to, &id, &name) || name == NULL
          || g_strcmp0 (id, loom_element_get (node, "id")) != 0)
        continue;
      if (strcmp (name, port) == 0)
        found = e;
      g_ptr_array_add (wired, g_steal_pointer (&name));
    }
  for (const LoomPortSpec *p = loom_op_inputs (op, node); p != NULL && p->name != NULL; p++)
    {
      if (strcmp (p->name, port) == 0)
        return NULL;
      if (g_ptr_array_find_with_equal_func (wired, p->name, g_str_equal, NULL))
        continue;
      *waits = p->name;
      n_waiting++;
    }
  if (n_waiting != 1)
    *waits = NULL;
  return found;
}

/* The instance of a module at a path, "block" or "stage.0.block"; NULL. */
static LoomElement *
find_instance (StudioDocument *self, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  const LoomElement *scope = loom_graph_root (self->graph);
  LoomElement *found = NULL;

  for (guint i = 0; part[i] != NULL && scope != NULL; i++)
    {
      found = NULL;
      for (guint k = 0; k < loom_element_n_children (scope) && found == NULL; k++)
        {
          LoomElement *e = loom_element_child (scope, k);

          if (loom_element_tag (e) == LOOM_TAG_NODE && g_strcmp0 (loom_element_get (e, "id"), part[i]) == 0)
            found = e;
        }
      if (found == NULL || loom_node_module (found) == NULL)
        return NULL;
      /* The number of a copy. */
      if (part[i + 1] != NULL && loom_node_is_copy (found, part[i + 1]))
        i++;
      if (loom_node_is_copy (found, part[i]) && loom_node_module_at (found, part[i]) == NULL)
        return NULL;
      scope = loom_graph_find_module (self->graph, loom_node_is_copy (found, part[i])
                                                       ? loom_node_module_at (found, part[i])
                                                       : loom_node_module (found));
    }
  return found;
}

/* If the faulty attribute is an argument of the module, "{channels}": the instance that sets it, and its name (transfer
 * full), because the module's definition also serves other instances. NULL if the attribute has a value of its own. */
static LoomElement *
find_argument (StudioDocument *self, const LoomFault *fault, char **argument)
{
  int at = self->net_valid && fault->node != NULL && fault->fix_attribute != NULL && fault->fix_value != NULL
               ? loom_net_find (self->net, fault->node)
               : -1;
  const char *text
      = at >= 0 ? loom_element_get (loom_net_node (self->net, (guint)at)->element, fault->fix_attribute) : NULL;
  const char *dot = fault->node != NULL ? strrchr (fault->node, '.') : NULL;
  g_autofree char *path = NULL, *name = NULL;
  LoomElement *instance;
  const char *given;

  if (text == NULL || dot == NULL || !loom_expr_is (text) || strlen (text) < 3)
    return NULL;
  name = g_strstrip (g_strndup (text + 1, strlen (text) - 2));
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && *p != '_')
      return NULL;
  path = g_strndup (fault->node, (gsize)(dot - fault->node));
  instance = find_instance (self, path);
  given = instance != NULL ? loom_element_get (instance, name) : NULL;
  if (instance == NULL || (given != NULL && loom_expr_is (given)))
    return NULL;
  *argument = g_steal_pointer (&name);
  return instance;
}

char *
studio_document_own_fix (const LoomFault *fault, guint64 serial, gpointer data)
{
  StudioDocument *self = data;
  g_autofree char *argument = NULL;
  const char *waits;

  if (fault->code == LOOM_ERROR_PORT && fault->fix_attribute == NULL
      && stray_wire (self, serial, fault->port, &waits) != NULL)
    return waits != NULL ? g_strdup_printf (_ ("Connect to %s"), waits) : g_strdup (_ ("Remove the wire"));

  if (fault->code == LOOM_ERROR_PORT && fault->fix_attribute == NULL
      && studio_document_find_bridge (self, serial, fault->port) != NULL)
    return g_strdup (_ ("Reconnect"));
  if (studio_document_can_insert_unread (self, fault))
    return g_strdup (_ ("Insert"));
  if (fault->fix_attribute == NULL)
    return NULL;
  if (find_argument (self, fault, &argument) != NULL)
    return g_strdup_printf (_ ("Set %s to %s"), argument, fault->fix_value);
  if (fault->fix_name != NULL)
    return g_strdup_printf (_ ("Rename %s to %s"), fault->fix_attribute, fault->fix_name);
  if (fault->fix_value == NULL)
    return g_strdup_printf (_ ("Remove %s"), fault->fix_attribute);
  if (strcmp (fault->fix_attribute, "op") == 0)
    return g_strdup_printf (_ ("Change to %s"), fault->fix_value);
  return g_strdup_printf (_ ("Set %s to %s"), fault->fix_attribute, fault->fix_value);
}

/* Fixes are tried only for visible faults: a graph with many faults must not delay the user. */
#define TRIAL_BUDGET (8 * 1000)

char *
studio_document_fix_for_fault (const LoomFault *fault, guint64 serial, gpointer data)
{
  StudioDocument *self = data;
  char *own = studio_document_own_fix (fault, serial, self);
  g_autoptr (GPtrArray) fixes = NULL;

  if (own != NULL || !self->net_valid || (!self->trials_unlimited && studio_trials_clock () > self->trials_until))
    return own;
  fixes = studio_document_find_fixes (self, fault, serial);
  return fixes->len > 0 ? g_strdup (((StudioFix *)fixes->pdata[0])->label) : NULL;
}

gint64
studio_trials_clock (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

gboolean
studio_document_has_unlimited_trials (StudioDocument *self)
{
  return self->trials_unlimited;
}

void
studio_document_set_trials_unlimited (StudioDocument *self, gboolean unlimited)
{
  self->trials_unlimited = unlimited;
}

void
studio_document_begin_trials (StudioDocument *self)
{
  self->trials_until = studio_trials_clock () + TRIAL_BUDGET;
}

/* Wires the input to the source of the nodes that were deleted in between. */
static gboolean
cross_bridge (StudioDocument *self, guint64 serial, const char *port)
{
  const StudioBridge *found = studio_document_find_bridge (self, serial, port);
  StudioBridge bridge;
  gboolean done;

  if (found == NULL)
    return FALSE;
  bridge = *found;
  studio_document_begin (self, _ ("Reconnect"));
  done = studio_document_connect (self, bridge.from, bridge.output, bridge.to, bridge.input, NULL) != 0;
  studio_document_end (self);
  return done;
}

/* Rewires the wire of an input that a formula no longer has to the only name without a wire, or removes it. */
static gboolean
fix_stray_wire (StudioDocument *self, guint64 serial, const char *port)
{
  const char *waits;
  LoomElement *wire = stray_wire (self, serial, port, &waits), *node = studio_document_node (self, serial);

  if (wire == NULL)
    return FALSE;
  studio_document_begin (self, waits != NULL ? _ ("Move wire") : _ ("Remove wire"));
  if (waits != NULL)
    {
      g_autofree char *to = g_strdup_printf ("%s.%s", loom_element_get (node, "id"), waits);

      studio_document_put (self, wire, "to", to);
    }
  else
    studio_document_remove_element (self, wire);
  studio_document_end (self);
  return TRUE;
}

/* The fault's edit of an attribute; its strings are copied, because the fault is freed at the first change. */
static void
edit_attribute (StudioDocument *self, LoomElement *element, const char *attribute, const char *value, const char *name)
{
  g_autofree char *kept = g_strdup (loom_element_get (element, attribute)), *step = NULL;

  if (name == NULL)
    {
      studio_document_set_element_attribute (self, element, attribute, value);
      return;
    }
  step = g_strdup_printf (_ ("Rename %s to %s"), attribute, name);
  studio_document_begin (self, step);
  studio_document_put (self, element, attribute, NULL);
  studio_document_put (self, element, name, kept);
  studio_document_end (self);
}

gboolean
studio_document_apply_fault_fix (StudioDocument *self, const LoomFault *fault)
{
  g_autofree char *node = g_strdup (fault->node), *port = g_strdup (fault->port);
  g_autofree char *attribute = g_strdup (fault->fix_attribute), *value = g_strdup (fault->fix_value);
  g_autofree char *name = g_strdup (fault->fix_name);
  g_autofree char *argument = NULL;
  LoomErrorCode code = fault->code;
  LoomElement *instance;
  guint64 serial;

  if (node == NULL && attribute != NULL && g_str_has_prefix (fault->message, "<train>: "))
    {
      LoomElement *train = loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN);

      if (train == NULL)
        return FALSE;
      edit_attribute (self, train, attribute, value, name);
      return TRUE;
    }
  instance = find_argument (self, fault, &argument);
  if (instance != NULL)
    {
      studio_document_set_element_attribute (self, instance, argument, value);
      return TRUE;
    }
  if (studio_document_insert_unread (self, fault))
    return TRUE;
  if (node == NULL || !studio_document_reveal (self, node))
    return FALSE;
  serial = studio_document_get_selected (self, 0);
  if (code == LOOM_ERROR_PORT && attribute == NULL
      && (cross_bridge (self, serial, port) || fix_stray_wire (self, serial, port)))
    return TRUE;
  if (attribute == NULL)
    return FALSE;
  edit_attribute (self, studio_document_node (self, serial), attribute, value, name);
  return TRUE;
}

char *
studio_document_dup_fix_label (StudioDocument *self, guint64 serial)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint i = studio_scene_find (scene, serial);

  return i != STUDIO_NO_ITEM ? g_strdup (scene->item[i].fix) : NULL;
}

/* The fault of the card's button, and its node, which may be inside a collapsed frame. */
static const LoomFault *
shown_fault (StudioDocument *self, guint64 serial, guint64 *node)
{
  LoomFaults *faults = studio_document_get_faults (self);
  StudioScene *scene = studio_document_get_scene (self);
  guint i = studio_scene_find (scene, serial);

  if (i == STUDIO_NO_ITEM || scene->item[i].fix == NULL)
    return NULL;
  for (guint f = 0; f < loom_faults_length (faults); f++)
    {
      const LoomFault *fault = loom_faults_get (faults, f);
      g_autofree char *label = NULL;

      if (fault->node == NULL || studio_scene_card_of (scene, fault->node) != i)
        continue;
      studio_document_begin_trials (self);
      *node = studio_scene_node_of (scene, fault->node);
      label = studio_document_fix_for_fault (fault, *node, self);
      if (g_strcmp0 (label, scene->item[i].fix) == 0)
        return fault;
    }
  return NULL;
}

StudioFix *
studio_document_first_fix (StudioDocument *self, guint64 serial)
{
  guint64 node = 0;
  const LoomFault *fault = shown_fault (self, serial, &node);
  g_autoptr (GPtrArray) fixes = fault != NULL ? studio_document_find_fixes (self, fault, node) : NULL;

  return fixes != NULL && fixes->len > 0 ? g_ptr_array_steal_index (fixes, 0) : NULL;
}

gboolean
studio_document_apply_fix (StudioDocument *self, guint64 serial)
{
  guint64 node = 0;
  const LoomFault *fault = shown_fault (self, serial, &node);
  g_autoptr (GPtrArray) fixes = NULL;
  const StudioFix *fix;

  if (fault == NULL)
    return FALSE;
  fixes = studio_document_find_fixes (self, fault, node);
  fix = fixes->len > 0 ? fixes->pdata[0] : NULL;
  if (fix == NULL)
    return FALSE;
  if (fix->kind != STUDIO_FIX_OWN)
    return studio_document_apply_quick_fix (self, fix);
  /* For a missing input of a module the fault is that of a node inside, but the missing wire is here. */
  if (fault->fix_attribute == NULL && cross_bridge (self, node, fault->port))
    return TRUE;
  return studio_document_apply_fault_fix (self, fault);
}
