/* Quick fixes of wires: removes one, exchanges two, or wires an unread output of a module. */
#include "engine/fix/fix-private.h"

#include <string.h>

GPtrArray *
fix_wires_into (const LoomElement *node)
{
  const LoomElement *scope = loom_element_parent (node);
  const char *id = loom_element_get (node, "id");
  GPtrArray *wires = g_ptr_array_new ();

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);
      const char *to = loom_element_tag (e) == LOOM_TAG_WIRE ? loom_element_get (e, "to") : NULL;
      g_autofree char *end = NULL, *port = NULL;

      if (to != NULL && loom_end_split (to, &end, &port) && g_strcmp0 (end, id) == 0)
        g_ptr_array_add (wires, e);
    }
  return wires;
}

char *
fix_dup_port (const LoomElement *wire)
{
  g_autofree char *id = NULL;
  char *port = NULL;

  loom_end_split (loom_element_get (wire, "to"), &id, &port);
  return port;
}

static void
offer_cut (const FixSearch *search, const LoomElement *wire)
{
  LoomFix *fix = fix_add (search, LOOM_FIX_CUT, NULL);
  const char *from = loom_element_get (wire, "from"), *to = loom_element_get (wire, "to");

  fix->from = loom_element_serial (wire);
  fix->label = g_strdup_printf (_ ("Remove the wire from %s"), from);
  fix->preview = g_strdup_printf ("%s → %s", from, to);
}

/* Of two wires into one input the later one was probably drawn by mistake, so its removal is offered first. */
static void
try_doubles (const FixSearch *search, GPtrArray *wires)
{
  for (guint k = wires->len; k-- > 0 && search->fixes->len < FIX_MOST;)
    {
      g_autofree char *port = fix_dup_port (wires->pdata[k]);

      for (guint i = 0; i < wires->len; i++)
        {
          g_autofree char *other = fix_dup_port (wires->pdata[i]);

          if (i != k && g_strcmp0 (port, other) == 0)
            {
              offer_cut (search, wires->pdata[k]);
              break;
            }
        }
    }
}

static double
place_along (const LoomElement *scope, const char *id, gboolean down)
{
  const LoomElement *place = loom_scope_find_place (scope, id);
  const char *x = place != NULL ? loom_element_get (place, "x") : NULL;
  const char *y = place != NULL ? loom_element_get (place, "y") : NULL;

  /* Rows of cards wrap, so cards further down come later. */
  return (y != NULL ? g_ascii_strtod (y, NULL) : 0) * (down ? 1 : 1e4) + (x != NULL ? g_ascii_strtod (x, NULL) : 0);
}

/* A cycle is opened at a wire that runs backwards on the canvas, which was probably drawn by mistake. */
static void
try_ring (const FixSearch *search, GPtrArray *wires)
{
  const LoomElement *scope = loom_element_parent (search->node->element), *back = NULL;
  double farthest = 0;

  for (guint k = 0; k < wires->len; k++)
    {
      const LoomElement *wire = wires->pdata[k];
      g_autofree char *id = NULL, *port = NULL;
      double way;

      if (!loom_end_split (loom_element_get (wire, "from"), &id, &port))
        continue;
      way = place_along (scope, id, FALSE) - place_along (scope, loom_element_get (search->node->element, "id"), FALSE);
      if (back == NULL || way > farthest)
        {
          back = wire;
          farthest = way;
        }
    }
  if (back != NULL)
    offer_cut (search, back);
}

void
fix_try_cuts (const FixSearch *search)
{
  g_autoptr (GPtrArray) wires = fix_wires_into (search->node->element);

  if (search->fault->code == LOOM_ERROR_CYCLE)
    try_ring (search, wires);
  else
    try_doubles (search, wires);
}

/* ---- swapping ------------------------------------------------------------------ */

void
fix_try_swap (const FixSearch *search)
{
  const LoomPortSpec *spec = search->node->input_spec;

  if (spec == NULL || spec[0].name == NULL || (spec[0].flags & LOOM_PORT_VARIADIC))
    return;
  for (guint a = 0; a < search->n; a++)
    for (guint b = a + 1; b < search->n; b++)
      {
        const LoomType *type[FIX_MOST_INPUTS];
        LoomFitAnswer answer;
        LoomFix *fix;

        if (search->type[a] == NULL || search->type[b] == NULL)
          continue;
        memcpy (type, search->type, sizeof type);
        type[a] = search->type[b];
        type[b] = search->type[a];
        loom_fit_infer (search->node->element, type, search->n, &answer);
        loom_fit_answer_clear (&answer);
        if (answer.fit != LOOM_FIT_WELL)
          continue;
        fix = fix_add (search, LOOM_FIX_SWAP, spec[a].name);
        fix->value = g_strdup (spec[b].name);
        fix->label = g_strdup (_ ("Swap the wires"));
        fix->preview = g_strdup_printf ("%s ⇄ %s", spec[a].name, spec[b].name);
        return;
      }
}

/* ---- modules ------------------------------------------------------------------- */

static void
try_module_output (const FixSearch *search, const LoomElement *instance, const char *port, const char *scope, guint at,
                   const guint8 *read)
{
  const LoomType *type[FIX_MOST_INPUTS];
  const LoomType *made = loom_net_type_of (search->net, scope, loom_element_serial (instance), port);
  const char *id = loom_element_get (instance, "id");
  LoomNetSource source;
  LoomFitAnswer answer;
  LoomFix *fix;
  g_autofree char *shape = NULL;

  if (made == NULL || !loom_net_source_of (search->net, scope, loom_element_serial (instance), port, &source)
      || (source.output < 8 && (read[source.node] >> source.output & 1) != 0) || fix_depends (search, source.node))
    return;
  memcpy (type, search->type, sizeof type);
  type[at] = made;
  loom_fit_infer (search->node->element, type, MAX (search->n, at + 1), &answer);
  loom_fit_answer_clear (&answer);
  if (answer.fit < LOOM_FIT_UNKNOWN || answer.fit == LOOM_FIT_HINT)
    return;
  shape = loom_shape_to_string (&made->shape);
  fix = fix_add (search, LOOM_FIX_CONNECT, search->fault->port);
  fix->from = loom_element_serial (instance);
  fix->output = g_strdup (port);
  fix->label = g_strdup_printf (_ ("Connect to %s"), id);
  fix->preview = g_strdup_printf ("%s %s → %s", id, shape, search->fault->port);
}

void
fix_try_modules (const FixSearch *search, guint at, const guint8 *read)
{
  const LoomElement *scope = loom_element_parent (search->node->element);
  const char *dot = strrchr (search->node->path, '.');
  g_autofree char *path = g_strndup (search->node->path, dot != NULL ? (gsize)(dot - search->node->path) : 0);

  for (guint i = loom_element_n_children (scope); i-- > 0;)
    {
      const LoomElement *e = loom_element_child (scope, i);
      const char *name = loom_element_tag (e) == LOOM_TAG_NODE ? loom_node_module (e) : NULL;
      const LoomElement *module = name != NULL ? loom_graph_find_module (search->graph, name) : NULL;

      for (guint k = 0; module != NULL && k < loom_element_n_children (module); k++)
        if (search->fixes->len < FIX_MOST && loom_op_has_role (loom_element_child (module, k), LOOM_ROLE_MODULE_OUTPUT))
          try_module_output (search, e, loom_element_get (loom_element_child (module, k), "id"), path, at, read);
    }
}
