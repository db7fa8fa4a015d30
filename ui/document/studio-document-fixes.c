/* Fixes for faults, offered on their cards: those that the engine finds, and wires across deleted nodes. */
#include "ui/document/studio-document-private.h"
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

static LoomFix *
new_own (char *label)
{
  LoomFix *fix = loom_fix_new (LOOM_FIX_OWN, 0, NULL);

  fix->label = label;
  return fix;
}

LoomFix *
studio_document_own_fix (StudioDocument *self, const LoomFault *fault, guint64 serial)
{
  LoomFix *own = loom_fix_own (self->graph, self->net_valid ? self->net : NULL, fault, serial, gettext);

  if (own != NULL)
    return own;
  if (fault->code == LOOM_ERROR_PORT && studio_document_find_bridge (self, serial, fault->port) != NULL)
    return new_own (g_strdup (_ ("Reconnect")));
  return studio_document_can_insert_unread (self, fault) ? new_own (g_strdup (_ ("Insert"))) : NULL;
}

/* Fixes are tried only for visible faults: a graph with many faults must not delay the user. */
#define TRIAL_BUDGET (8 * 1000)

char *
studio_document_fix_for_fault (const LoomFault *fault, guint64 serial, gpointer data)
{
  StudioDocument *self = data;
  g_autoptr (LoomFix) own = studio_document_own_fix (self, fault, serial);
  g_autoptr (GPtrArray) fixes = NULL;

  if (own != NULL || !self->net_valid || (!self->trials_unlimited && studio_trials_clock () > self->trials_until))
    return own != NULL ? g_steal_pointer (&own->label) : NULL;
  fixes = studio_document_find_fixes (self, fault, serial);
  return fixes->len > 0 ? g_strdup (((LoomFix *)fixes->pdata[0])->label) : NULL;
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

static void
edit_cb (LoomEdit *edit, gpointer self)
{
  studio_document_edit (self, edit);
}

gboolean
studio_document_edit_fix (StudioDocument *self, const LoomFix *fix, const char *step)
{
  gboolean done;

  studio_document_begin (self, step);
  done = loom_fix_edit (self->graph, fix, edit_cb, self);
  studio_document_end (self);
  return done;
}

/* Applies the fix that a fault contains, as one step. */
static gboolean
apply_own (StudioDocument *self, const LoomFix *own)
{
  LoomElement *element = loom_graph_by_serial (self->graph, own->node);
  g_autofree char *step = NULL;

  if (own->from != 0)
    return studio_document_edit_fix (self, own, own->value != NULL ? _ ("Move wire") : _ ("Remove wire"));
  if (own->output != NULL)
    {
      step = g_strdup_printf (_ ("Rename %s to %s"), own->port, own->output);
      return studio_document_edit_fix (self, own, step);
    }
  if (element != NULL)
    studio_document_set_element_attribute (self, element, own->port, own->value);
  return element != NULL;
}

/* The fault's strings are copied, because it is freed at the first change. */
gboolean
studio_document_apply_fault_fix (StudioDocument *self, const LoomFault *fault)
{
  const LoomElement *element = fault->node != NULL ? loom_graph_find_path (self->graph, fault->node, NULL) : NULL;
  const guint64 serial = element != NULL ? loom_element_serial (element) : 0;
  g_autoptr (LoomFix) own = loom_fix_own (self->graph, self->net_valid ? self->net : NULL, fault, serial, gettext);
  g_autofree char *node = g_strdup (fault->node), *port = g_strdup (fault->port);
  const gboolean torn = fault->code == LOOM_ERROR_PORT && fault->fix_attribute == NULL;

  if (own != NULL && own->node != serial)
    return apply_own (self, own);
  if (studio_document_insert_unread (self, fault))
    return TRUE;
  if (node == NULL || !studio_document_reveal (self, node))
    return FALSE;
  return own != NULL ? apply_own (self, own)
                     : torn && cross_bridge (self, studio_document_get_selected (self, 0), port);
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

LoomFix *
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
  const LoomFix *fix;

  if (fault == NULL)
    return FALSE;
  fixes = studio_document_find_fixes (self, fault, node);
  fix = fixes->len > 0 ? fixes->pdata[0] : NULL;
  if (fix == NULL)
    return FALSE;
  if (fix->kind != LOOM_FIX_OWN)
    return studio_document_apply_quick_fix (self, fix);
  /* For a missing input of a module the fault is that of a node inside, but the missing wire is here. */
  if (fault->fix_attribute == NULL && cross_bridge (self, node, fault->port))
    return TRUE;
  return studio_document_apply_fault_fix (self, fault);
}
