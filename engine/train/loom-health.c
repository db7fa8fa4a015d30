/* The rules of health, and its JSON lines; see the header. */
#include "engine/train/loom-health.h"

#include <json-glib/json-glib.h>
#include <math.h>

/* SGD at the rate 0.1, a common first choice, moves a weight by a tenth of its gradient; both limits of the gradient
 * are those at which that step is meaningless. */
static const LoomHealthRule rules[LOOM_N_HEALTH] = {
  [LOOM_HEALTH_WELL] = { "well", 0, "nothing", "" },
  [LOOM_HEALTH_NOT_FINITE]
  = { "not-finite", 0, "a norm that is infinite or no number", "such a number reaches all weights within one step" },
  [LOOM_HEALTH_DEAD] = { "dead", 0.5, "the share of units that are 0 for every sample",
                         "a choice above Karpathy, CS231n (Stanford 2015), “Neural Networks Part 1”: with a rate that "
                         "is too high “as much as 40 %” of the units can be dead; after an input of two numbers, new "
                         "layers have as many" },
  [LOOM_HEALTH_SATURATED] = { "saturated", 0.5, "the share of outputs at a limit of the activation",
                              "a choice: half of the outputs pass no gradient on. Glorot and Bengio, “Understanding "
                              "the Difficulty of Training Deep Feedforward Neural Networks”, AISTATS 2010, section "
                              "3, shows such layers" },
  [LOOM_HEALTH_EXPLODING] = { "exploding", 10, "|gradient| / |weight|",
                              "SGD at the rate 0.1 would change the weights by more than their own size" },
  [LOOM_HEALTH_VANISHING] = { "vanishing", 6e-7, "|gradient| / |weight|",
                              "SGD at the rate 0.1 would change the weights by less than 2⁻²⁴ of their size, which f32 "
                              "rounds away" },
  [LOOM_HEALTH_HASTY] = { "hasty", 0.1, "|update| / |weight|",
                          "Karpathy, CS231n (Stanford 2015), “Neural Networks Part 3”, section “Ratio of weights: "
                          "updates”: “somewhere around 1e-3”; a hundred times that is sick" },
};

const LoomHealthRule *
loom_health_rule (LoomHealthVerdict verdict)
{
  return &rules[verdict];
}

static void
clear_wire (gpointer data)
{
  g_free (((LoomHealthWire *)data)->port);
}

LoomHealthNode *
loom_health_node_new (const char *path)
{
  LoomHealthNode *node = g_new0 (LoomHealthNode, 1);

  node->node = g_strdup (path);
  node->weight = node->gradient = node->update = node->saturated = NAN;
  node->wires = g_array_new (FALSE, FALSE, sizeof (LoomHealthWire));
  g_array_set_clear_func (node->wires, clear_wire);
  return node;
}

void
loom_health_node_free (LoomHealthNode *node)
{
  g_array_unref (node->wires);
  g_free (node->node);
  g_free (node);
}

/* A node with weights of zeros only (a new bias) has no ratio. */
static double
ratio_of (double norm, double weight)
{
  return weight > 0 ? norm / weight : NAN;
}

double
loom_health_gradient_ratio (const LoomHealthNode *node)
{
  return ratio_of (node->gradient, node->weight);
}

double
loom_health_update_ratio (const LoomHealthNode *node)
{
  return ratio_of (node->update, node->weight);
}

double
loom_health_dead_share (const LoomHealthNode *node)
{
  return node->units > 0 ? (double)node->dead / (double)node->units : NAN;
}

/* ---- the verdict ---------------------------------------------------------- */

/* Unknown numbers are NaN, and a norm that is NaN is stored as infinite. */
static gboolean
is_not_finite (const LoomHealthNode *node)
{
  gboolean bad = isinf (node->weight) || isinf (node->gradient) || isinf (node->update);

  for (guint i = 0; i < node->wires->len && !bad; i++)
    bad = isinf (g_array_index (node->wires, LoomHealthWire, i).gradient);
  return bad;
}

static LoomHealthVerdict
verdict_of (const LoomHealthNode *node, double largest)
{
  const double gradient = loom_health_gradient_ratio (node);

  if (is_not_finite (node))
    return LOOM_HEALTH_NOT_FINITE;
  if (loom_health_dead_share (node) > rules[LOOM_HEALTH_DEAD].limit)
    return LOOM_HEALTH_DEAD;
  if (node->saturated > rules[LOOM_HEALTH_SATURATED].limit)
    return LOOM_HEALTH_SATURATED;
  if (gradient > rules[LOOM_HEALTH_EXPLODING].limit)
    return LOOM_HEALTH_EXPLODING;
  if (gradient < rules[LOOM_HEALTH_VANISHING].limit && node->gradient < LOOM_HEALTH_VANISHING_SHARE * largest)
    return LOOM_HEALTH_VANISHING;
  return loom_health_update_ratio (node) > rules[LOOM_HEALTH_HASTY].limit ? LOOM_HEALTH_HASTY : LOOM_HEALTH_WELL;
}

void
loom_health_apply_rules (GPtrArray *nodes)
{
  double largest = 0;

  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomHealthNode *node = nodes->pdata[i];

      for (guint k = 0; k < node->wires->len; k++)
        largest = fmax (largest, g_array_index (node->wires, LoomHealthWire, k).gradient);
      largest = fmax (largest, node->gradient);
    }
  for (guint i = 0; i < nodes->len; i++)
    ((LoomHealthNode *)nodes->pdata[i])->verdict = verdict_of (nodes->pdata[i], largest);
}

/* ---- lines ---------------------------------------------------------------- */

static void
add_norm (LoomJson *line, const char *name, double norm)
{
  if (!isnan (norm))
    loom_json_exact (line, name, norm);
}

void
loom_health_node_add_json (const LoomHealthNode *node, LoomJson *line)
{
  loom_json_string (line, "node", node->node);
  loom_json_string (line, "verdict", rules[node->verdict].name);
  add_norm (line, "weight", node->weight);
  add_norm (line, "gradient", node->gradient);
  add_norm (line, "update", node->update);
  if (node->units > 0)
    {
      loom_json_int (line, "units", node->units);
      loom_json_int (line, "dead", node->dead);
    }
  add_norm (line, "saturated", node->saturated);
  loom_json_begin_object (line, "wires");
  for (guint i = 0; i < node->wires->len; i++)
    {
      const LoomHealthWire *wire = &g_array_index (node->wires, LoomHealthWire, i);

      add_norm (line, wire->port, wire->gradient);
    }
  loom_json_end_object (line);
}

char *
loom_health_to_text (const GPtrArray *nodes)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (LoomJson) line = loom_json_new ();

      loom_json_begin_object (line, NULL);
      loom_health_node_add_json (nodes->pdata[i], line);
      loom_json_end_object (line);
      g_string_append (text, loom_json_text (line));
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

/* null stands for a number that is not finite. */
static double
read_norm (JsonObject *object, const char *name)
{
  if (!json_object_has_member (object, name))
    return NAN;
  return json_object_get_null_member (object, name) ? INFINITY : json_object_get_double_member (object, name);
}

static LoomHealthNode *
read_node (JsonObject *object)
{
  LoomHealthNode *node = loom_health_node_new (json_object_get_string_member (object, "node"));
  g_autoptr (GList) ports = NULL;
  JsonObject *wires;

  node->weight = read_norm (object, "weight");
  node->gradient = read_norm (object, "gradient");
  node->update = read_norm (object, "update");
  node->saturated = read_norm (object, "saturated");
  node->units = json_object_get_int_member_with_default (object, "units", 0);
  node->dead = json_object_get_int_member_with_default (object, "dead", 0);
  wires = json_object_get_object_member (object, "wires");
  ports = json_object_get_members (wires);
  for (GList *l = ports; l != NULL; l = l->next)
    {
      LoomHealthWire wire = { g_strdup (l->data), read_norm (wires, l->data) };

      g_array_append_val (node->wires, wire);
    }
  return node;
}

/* TRUE for what loom_health_to_text() writes; a member of another type would be a warning of json-glib. */
static gboolean
is_node (JsonNode *json)
{
  JsonObject *object = json != NULL && JSON_NODE_HOLDS_OBJECT (json) ? json_node_get_object (json) : NULL;
  JsonNode *name = object != NULL ? json_object_get_member (object, "node") : NULL;
  JsonNode *wires = object != NULL ? json_object_get_member (object, "wires") : NULL;

  return name != NULL && JSON_NODE_HOLDS_VALUE (name) && json_node_get_value_type (name) == G_TYPE_STRING
         && wires != NULL && JSON_NODE_HOLDS_OBJECT (wires);
}

GPtrArray *
loom_health_from_text (const char *text, gsize length)
{
  g_autofree char *copy = g_strndup (text, length);
  g_auto (GStrv) lines = g_strsplit (copy, "\n", -1);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_health_node_free);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();

      if (*lines[i] == '\0')
        continue;
      if (!loom_json_is_within (lines[i], strlen (lines[i]), LOOM_JSON_LEVELS)
          || !json_parser_load_from_data (parser, lines[i], -1, NULL) || !is_node (json_parser_get_root (parser)))
        return NULL;
      g_ptr_array_add (nodes, read_node (json_node_get_object (json_parser_get_root (parser))));
    }
  loom_health_apply_rules (nodes);
  return g_steal_pointer (&nodes);
}
