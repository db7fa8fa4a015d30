/* Groups a selection into a module in place: ports follow from the wires that cross its border, arguments from the
 * names in formulas of its members. The computation does not change. */
#include "ui/document/document-edit.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-geometry.h"

#define BORDER_STEP (STUDIO_CARD_WIDTH + 64) /* from a member to the module's inputs and outputs */

/* A port of the module: its source, at the outside of an input or the inside of an output. */
typedef struct
{
  guint item, port;
  char *id;
} Border;

typedef struct
{
  StudioDocument *document;
  StudioScene *scene;
  LoomElement *scope;
  gboolean *inside;
  GArray *inputs, *outputs; /* Border */
  GHashTable *ids;          /* within the module */
  LoomElement *module, *instance;
  StudioRect bounds;
  char *name, *id; /* of the module and of its instance */
  guint n;
} Grouping;

static void
border_clear (Border *border)
{
  g_free (border->id);
}

static guint
find_border (GArray *borders, guint item, guint port)
{
  for (guint i = 0; i < borders->len; i++)
    if (g_array_index (borders, Border, i).item == item && g_array_index (borders, Border, i).port == port)
      return i;
  return G_MAXUINT;
}

/* TRUE if a wire begins at a weight of the item instead of an output. */
static gboolean
is_weight_way (StudioDocument *document, const StudioItem *item, guint port)
{
  const char *name = item->output[port].name;
  const LoomElement *module
      = item->is_module ? loom_graph_find_module (studio_document_get_graph (document), item->kind) : NULL;

  if (item->op != NULL && !item->is_module)
    return loom_op_weight_index (item->op, name) >= 0;
  return module != NULL && strchr (name, '.') != NULL && loom_scope_find_node (module, name) == NULL;
}

/* ---- checks before changes ------------------------------------------------------ */

static gboolean
check_members (Grouping *g, GError **error)
{
  g_autofree gboolean *after = g_new0 (gboolean, g->scene->n_items + 1);
  g_autofree gboolean *before = g_new0 (gboolean, g->scene->n_items + 1);

  for (guint i = 0; i < g->scene->n_items; i++)
    {
      const LoomElement *node
          = loom_graph_by_serial (studio_document_get_graph (g->document), g->scene->item[i].serial);

      if (!g->inside[i])
        continue;
      g->n++;
      if (loom_op_has_role (node, LOOM_ROLE_MODULE_INPUT) || loom_op_has_role (node, LOOM_ROLE_MODULE_OUTPUT))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                       _ ("%s is a port of the current module and must stay in it. Deselect it first."),
                       g->scene->item[i].id);
          return FALSE;
        }
    }
  if (g->n == 0)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, _ ("Select the layers for the module first."));
      return FALSE;
    }
  for (guint i = 0; i < g->scene->n_items; i++)
    if (g->inside[i])
      {
        studio_scene_reach (g->scene, i, FALSE, after);
        studio_scene_reach (g->scene, i, TRUE, before);
      }
  for (guint i = 0; i < g->scene->n_items; i++)
    if (!g->inside[i] && after[i] && before[i])
      {
        g_set_error (
            error, LOOM_ERROR, LOOM_ERROR_CYCLE,
            _ ("%s is between the selected layers, so a module around them would depend on itself. Select %s too."),
            g->scene->item[i].id, g->scene->item[i].id);
        return FALSE;
      }
  return TRUE;
}

/* "x" or "y" if there is only one port, else the name of its source; never a name that a member has. */
static char *
border_id (Grouping *g, const Border *border, gboolean is_output, gboolean is_only)
{
  const StudioItem *item = &g->scene->item[border->item];
  const char *port = item->n_outputs > 1 ? item->output[border->port].name : NULL;
  g_autofree char *wanted = is_only ? g_strdup (is_output ? "y" : "x")
                                    : g_strdup_printf ("%s%s%s%s", item->id, port != NULL ? "_" : "",
                                                       port != NULL ? port : "", is_output ? "_out" : "");
  char *id;

  if (!loom_id_is_valid (wanted))
    {
      g_free (wanted);
      wanted = g_strdup (is_output ? "y" : "x");
    }
  id = g_strdup (wanted);
  for (guint k = 2; !g_hash_table_add (g->ids, g_strdup (id)); k++)
    {
      g_free (id);
      id = g_strdup_printf ("%s_%u", wanted, k);
    }
  return id;
}

static void
add_border (GArray *borders, guint item, guint port)
{
  Border border = { item, port, NULL };

  if (find_border (borders, item, port) == G_MAXUINT)
    g_array_append_val (borders, border);
}

/* An output for a chain of layers without readers, at its last layer. */
static void
add_loose_output (Grouping *g)
{
  for (guint i = g->scene->n_items; i-- > 0;)
    {
      const StudioItem *item = &g->scene->item[i];
      gboolean is_last = g->inside[i] && item->n_outputs > 0;

      for (guint p = 0; is_last && p < item->n_outputs; p++)
        is_last = item->output[p].n_links == 0;
      if (is_last && !(item->op != NULL && item->op->category == LOOM_CATEGORY_LOSS))
        {
          add_border (g->outputs, i, 0);
          return;
        }
    }
}

static void
find_borders (Grouping *g)
{
  for (guint l = 0; l < g->scene->n_links; l++)
    {
      const StudioLink *link = &g->scene->link[l];

      if (!g->inside[link->from] && g->inside[link->to])
        add_border (g->inputs, link->from, link->output);
      else if (g->inside[link->from] && !g->inside[link->to]
               && !is_weight_way (g->document, &g->scene->item[link->from], link->output))
        add_border (g->outputs, link->from, link->output);
    }
  if (g->outputs->len == 0)
    add_loose_output (g);
  for (guint side = 0; side < 2; side++)
    {
      GArray *borders = side == 0 ? g->inputs : g->outputs;

      for (guint i = 0; i < borders->len; i++)
        {
          Border *b = &g_array_index (borders, Border, i);

          b->id = border_id (g, b, side == 1, borders->len == 1);
        }
    }
}

/* ---- the module -------------------------------------------------------------- */

static void
append_place (LoomElement *layout, const char *id, double x, double y)
{
  g_autofree char *sx = studio_document_coordinate (x), *sy = studio_document_coordinate (y);

  loom_element_append_detached (layout, loom_element_new (LOOM_TAG_PLACE, "node", id, "x", sx, "y", sy, NULL));
}

static gboolean
has_word (const char *text, const char *word)
{
  gsize n = strlen (word);

  for (const char *at = text; (at = strstr (at, word)) != NULL; at += n)
    {
      gboolean begins = at == text || (!g_ascii_isalnum (at[-1]) && at[-1] != '_');

      if (begins && !g_ascii_isalnum (at[n]) && at[n] != '_')
        return TRUE;
    }
  return FALSE;
}

/* Arguments of the enclosing module in formulas of members become arguments of the new module. */
static void
add_arguments (Grouping *g)
{
  for (guint c = 0; c < loom_element_n_children (g->scope); c++)
    {
      const LoomElement *arg = loom_element_child (g->scope, c);
      const char *name = loom_element_tag (arg) == LOOM_TAG_ARG ? loom_element_get (arg, "name") : NULL;
      gboolean used = FALSE;

      for (guint i = 0; name != NULL && i < g->scene->n_items && !used; i++)
        {
          const LoomElement *node
              = g->inside[i] ? loom_graph_by_serial (studio_document_get_graph (g->document), g->scene->item[i].serial)
                             : NULL;

          for (guint a = 0; node != NULL && a < loom_element_n_attributes (node) && !used; a++)
            {
              const char *key, *value;

              loom_element_attribute (node, a, &key, &value);
              used = loom_expr_is (value) && has_word (value, name);
            }
        }
      if (used)
        {
          g_autofree char *value = g_strdup_printf ("{%s}", name);

          loom_element_append_detached (g->module, loom_element_copy (arg));
          loom_element_set_detached (g->instance, name, value);
        }
    }
}

static void
add_member_wires (Grouping *g)
{
  for (guint l = 0; l < g->scene->n_links; l++)
    {
      const StudioLink *link = &g->scene->link[l];
      const LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (g->document), link->serial);

      if (!g->inside[link->to])
        continue;
      if (g->inside[link->from])
        loom_element_append_detached (g->module, loom_element_copy (wire));
      else
        {
          guint b = find_border (g->inputs, link->from, link->output);

          loom_element_append_detached (g->module, loom_element_new (LOOM_TAG_WIRE, "from",
                                                                     g_array_index (g->inputs, Border, b).id, "to",
                                                                     loom_element_get (wire, "to"), NULL));
        }
    }
  for (guint i = 0; i < g->outputs->len; i++)
    {
      const Border *b = &g_array_index (g->outputs, Border, i);
      g_autofree char *from = studio_document_output_text (&g->scene->item[b->item], b->port);

      loom_element_append_detached (g->module, loom_element_new (LOOM_TAG_WIRE, "from", from, "to", b->id, NULL));
    }
}

static const LoomOp *
op_of_role (LoomOpRole role)
{
  const LoomOp *const *op = loom_ops ();

  while (*op != NULL && (*op)->role != role)
    op++;
  return *op;
}

static void
add_ports (Grouping *g, GArray *borders, LoomOpRole role)
{
  const char *op = op_of_role (role)->name;

  for (guint i = 0; i < borders->len; i++)
    loom_element_append_detached (
        g->module, loom_element_new (LOOM_TAG_NODE, "id", g_array_index (borders, Border, i).id, "op", op, NULL));
}

/* Wires inside keep their waypoints. */
static void
add_routes (Grouping *g, LoomElement *layout)
{
  const LoomElement *outer = loom_element_find (g->scope, LOOM_TAG_LAYOUT);

  for (guint i = 0; outer != NULL && i < loom_element_n_children (outer); i++)
    {
      const LoomElement *e = loom_element_child (outer, i);

      for (guint l = 0; loom_element_tag (e) == LOOM_TAG_ROUTE && l < g->scene->n_links; l++)
        {
          const StudioLink *link = &g->scene->link[l];
          const LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (g->document), link->serial);

          if (g->inside[link->from] && g->inside[link->to]
              && g_strcmp0 (loom_element_get (e, "from"), loom_element_get (wire, "from")) == 0
              && g_strcmp0 (loom_element_get (e, "to"), loom_element_get (wire, "to")) == 0)
            {
              loom_element_append_detached (layout, loom_element_copy (e));
              break;
            }
        }
    }
}

static void
add_layout (Grouping *g)
{
  LoomElement *layout = loom_element_new (LOOM_TAG_LAYOUT, NULL);
  double top = g->bounds.y;

  for (guint i = 0; i < g->inputs->len; i++)
    append_place (layout, g_array_index (g->inputs, Border, i).id, g->bounds.x - BORDER_STEP,
                  top + i * (STUDIO_CARD_HEIGHT + STUDIO_GRID));
  for (guint i = 0; i < g->scene->n_items; i++)
    if (g->inside[i])
      append_place (layout, g->scene->item[i].id, g->scene->item[i].x, g->scene->item[i].y);
  for (guint i = 0; i < g->outputs->len; i++)
    append_place (layout, g_array_index (g->outputs, Border, i).id, g->bounds.x + g->bounds.width + 64,
                  top + i * (STUDIO_CARD_HEIGHT + STUDIO_GRID));
  for (guint r = 0; r < g->scene->n_annotations; r++)
    if (studio_document_is_selected (g->document, g->scene->annotation[r].serial))
      loom_element_append_detached (layout,
                                    loom_element_copy (loom_graph_by_serial (studio_document_get_graph (g->document),
                                                                             g->scene->annotation[r].serial)));
  add_routes (g, layout);
  loom_element_append_detached (g->module, layout);
}

static void
build_module (Grouping *g)
{
  g->module = loom_element_new (LOOM_TAG_MODULE, "name", g->name, NULL);
  g->instance = loom_element_new (LOOM_TAG_NODE, "id", g->id, "module", g->name, NULL);
  add_arguments (g);
  add_ports (g, g->inputs, LOOM_ROLE_MODULE_INPUT);
  for (guint i = 0; i < g->scene->n_items; i++)
    if (g->inside[i])
      loom_element_append_detached (g->module, loom_element_copy (loom_graph_by_serial (
                                                   studio_document_get_graph (g->document), g->scene->item[i].serial)));
  add_ports (g, g->outputs, LOOM_ROLE_MODULE_OUTPUT);
  add_member_wires (g);
  add_layout (g);
}

/* ---- the exchange -------------------------------------------------------------- */

static gboolean
is_member (const Grouping *g, const LoomElement *node)
{
  guint i = node != NULL ? studio_scene_find (g->scene, loom_element_serial (node)) : STUDIO_NO_ITEM;

  return i != STUDIO_NO_ITEM && g->inside[i];
}

static gboolean
path_step (const LoomElement *node, const char *const *parts, GString *s, guint *used, gpointer data)
{
  Grouping *g = data;

  if (!is_member (g, node))
    return FALSE;
  g_string_append_printf (s, "%s.%s", g->id, parts[0]);
  if (parts[1] != NULL && loom_node_is_copy (node, parts[1]))
    {
      g_string_append_printf (s, ".%s", parts[1]);
      *used = 2;
    }
  return TRUE;
}

/* The spotlight is on the module instead of the member. */
static char *
map_name (const LoomElement *node, gpointer data)
{
  const Grouping *g = data;

  return is_member (g, node) ? g_strdup (g->id) : NULL;
}

/* A slide with its spotlight only on members then shows the module's inside, where they have the same positions. */
static gboolean
map_slide (LoomElement *slide, const StudioPathScope *shown, gpointer data)
{
  const Grouping *g = data;
  const char *path = loom_element_get (slide, "scope"), *light = loom_element_get (slide, "spotlight");
  g_auto (GStrv) id = g_strsplit (light != NULL ? light : "", " ", -1);
  g_autofree char *now = NULL;
  gboolean all = light != NULL && shown->scope == g->scope;

  for (guint i = 0; all && id[i] != NULL; i++)
    all = is_member (g, loom_scope_find_node (g->scope, id[i]));
  if (!all)
    return FALSE;
  now = path != NULL && path[0] != '\0' ? g_strdup_printf ("%s.%s", path, g->id) : g_strdup (g->id);
  studio_document_put (g->document, slide, "scope", now);
  return TRUE;
}

/* Wires that leave the selection begin at the module; they keep their index among the wires of their reader. */
static void
turn_leaving_wires (Grouping *g)
{
  for (guint l = 0; l < g->scene->n_links; l++)
    {
      const StudioLink *link = &g->scene->link[l];
      LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (g->document), link->serial);
      guint b = find_border (g->outputs, link->from, link->output);
      g_autofree char *from = NULL;

      if (!g->inside[link->from] || g->inside[link->to])
        continue;
      if (b == G_MAXUINT)
        from = g_strdup_printf ("%s.%s.%s", g->id, g->scene->item[link->from].id,
                                g->scene->item[link->from].output[link->output].name);
      else
        from = g->outputs->len == 1 ? g_strdup (g->id)
                                    : g_strdup_printf ("%s.%s", g->id, g_array_index (g->outputs, Border, b).id);
      studio_document_forget_route (g->document, wire);
      studio_document_put (g->document, wire, "from", from);
    }
}

static void
add_entering_wires (Grouping *g)
{
  for (guint i = 0; i < g->inputs->len; i++)
    {
      const Border *b = &g_array_index (g->inputs, Border, i);
      g_autofree char *from = studio_document_output_text (&g->scene->item[b->item], b->port);
      g_autofree char *to = g->inputs->len == 1 ? g_strdup (g->id) : g_strdup_printf ("%s.%s", g->id, b->id);

      studio_document_insert (g->document, g->scope, loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL));
    }
}

static void
remove_members (Grouping *g)
{
  StudioDocument *self = g->document;

  for (guint l = 0; l < g->scene->n_links; l++)
    if (g->inside[g->scene->link[l].to])
      {
        LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (self), g->scene->link[l].serial);

        studio_document_forget_route (self, wire);
        studio_document_remove_element (self, wire);
      }
  for (guint i = 0; i < g->scene->n_items; i++)
    {
      LoomElement *place = g->inside[i] ? loom_scope_find_place (g->scope, g->scene->item[i].id) : NULL;

      if (place != NULL)
        studio_document_remove_element (self, place);
      if (g->inside[i])
        studio_document_remove_element (
            self, loom_graph_by_serial (studio_document_get_graph (self), g->scene->item[i].serial));
    }
  for (guint r = 0; r < g->scene->n_annotations; r++)
    if (studio_document_is_selected (self, g->scene->annotation[r].serial))
      studio_document_remove_element (
          self, loom_graph_by_serial (studio_document_get_graph (self), g->scene->annotation[r].serial));
}

static void
exchange (Grouping *g)
{
  StudioDocument *self = g->document;
  LoomElement *root = loom_graph_root (studio_document_get_graph (self));
  /* A module precedes its users in the file, for readers. */
  guint index = g->scope != root ? loom_element_index (g->scope) : loom_element_place_for (root, LOOM_TAG_MODULE);
  double x = g->bounds.x + g->bounds.width / 2 - STUDIO_CARD_WIDTH / 2;
  double y = g->bounds.y + g->bounds.height / 2 - STUDIO_CARD_HEIGHT / 2;
  guint64 serial;

  studio_document_map_paths (
      self, &(StudioPathChange){ .scope = g->scope, .step = path_step, .names = map_name, .slide = map_slide }, g);
  turn_leaving_wires (g);
  remove_members (g);
  studio_document_edit (self, loom_edit_insert (root, index, g_steal_pointer (&g->module)));
  serial = loom_element_serial (studio_document_insert (self, g->scope, g_steal_pointer (&g->instance)));
  add_entering_wires (g);
  studio_document_place (self, g->id, studio_geometry_snap (x), studio_geometry_snap (y));
  studio_document_end (self);
  studio_document_select_only (self, serial);
}

static void
measure (Grouping *g)
{
  gboolean any = FALSE;

  for (guint i = 0; i < g->scene->n_items; i++)
    if (g->inside[i])
      {
        StudioRect card = studio_geometry_card (&g->scene->item[i]);

        g->bounds = any ? studio_rect_union (g->bounds, card) : card;
        any = TRUE;
        g_hash_table_add (g->ids, g_strdup (g->scene->item[i].id));
      }
}

/* "block", "block_2", …: a name that no module has (transfer full). */
static char *
free_module_name (StudioDocument *self, const char *wanted)
{
  char *name = g_strdup (wanted);

  for (guint k = 2; loom_graph_find_module (studio_document_get_graph (self), name) != NULL; k++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", wanted, k);
    }
  return name;
}

static gboolean
group_selected (StudioDocument *self, const char *name, GError **error)
{
  StudioScene *scene;
  Grouping g = { .document = self };
  g_autofree gboolean *inside = NULL;
  g_autofree char *step = NULL;
  gboolean ok;

  studio_document_get_net (self);
  scene = g.scene = studio_document_get_scene (self);
  g.scope = studio_document_get_scope (self);
  g.inside = inside = g_new0 (gboolean, scene->n_items + 1);
  for (guint i = 0; i < scene->n_items; i++)
    inside[i] = studio_document_is_selected (self, scene->item[i].serial);
  ok = check_members (&g, error);
  if (!ok)
    return FALSE;
  g.inputs = g_array_new (FALSE, FALSE, sizeof (Border));
  g.outputs = g_array_new (FALSE, FALSE, sizeof (Border));
  g.ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_array_set_clear_func (g.inputs, (GDestroyNotify)border_clear);
  g_array_set_clear_func (g.outputs, (GDestroyNotify)border_clear);
  measure (&g);
  find_borders (&g);
  g.name = free_module_name (self, loom_name_is_valid (name) ? name : "block");
  g.id = loom_scope_free_id (g.scope, g.name);
  build_module (&g);
  step = g.n == 1 ? g_strdup_printf (_ ("Group a layer into %s"), g.name)
                  : g_strdup_printf (ngettext ("Group %u layer into %s", "Group %u layers into %s", g.n), g.n, g.name);
  studio_document_begin (self, step);
  /* The scene is that of the old graph; names of ports and positions in it stay valid until the end. */
  exchange (&g);
  g_array_unref (g.inputs);
  g_array_unref (g.outputs);
  g_hash_table_unref (g.ids);
  g_free (g.name);
  g_free (g.id);
  return TRUE;
}

gboolean
studio_document_group_selection (StudioDocument *self, const char *name, GError **error)
{
  if (studio_scene_n_frames (studio_document_get_scene (self)) == 0 || !studio_document_selects_frame (self))
    return group_selected (self, name, error);
  /* Nodes of a collapsed frame move into the module, with the frame expanded around them. */
  studio_document_begin (self, _ ("Group a frame into a module"));
  g_ptr_array_unref (studio_document_open_selected (self));
  if (group_selected (self, name, error))
    {
      studio_document_end (self);
      return TRUE;
    }
  studio_document_cancel (self);
  return FALSE;
}
