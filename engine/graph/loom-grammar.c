/* The grammar of the graph file as a table: the elements, their parents, and their attributes.
 *
 * Reader, writer, checks and editor (for the position of a new wire) all read this table, so they cannot disagree.
 * Attributes of nodes are not in it: they are parameters, which the operator table has. */
#include "engine/graph/graph-private.h"
#include "engine/graph/loom-grammar.h"

#include <string.h>

#define BIT(tag)   (1u << (tag))
#define SCOPES     (BIT (LOOM_TAG_GRAPH) | BIT (LOOM_TAG_MODULE))
#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const GrammarRule rules[LOOM_N_TAGS] = {
  [LOOM_TAG_GRAPH] = { .name = "graph",
                       .required = NAMES ("version"),
                       .identity = NAMES ("version"),
                       .optional = NAMES ("name", "strict_devices"),
                       .booleans = NAMES ("strict_devices") },
  [LOOM_TAG_DOC] = { .name = "doc", .has_text = TRUE, .parents = SCOPES, .order = 1, .once = TRUE },
  [LOOM_TAG_MODULE] = { .name = "module",
                        .required = NAMES ("name"),
                        .identity = NAMES ("name"),
                        .parents = BIT (LOOM_TAG_GRAPH),
                        .order = 2 },
  [LOOM_TAG_ARG] = { .name = "arg",
                     .required = NAMES ("name"),
                     .identity = NAMES ("name"),
                     .optional = NAMES ("type", "default"),
                     .parents = BIT (LOOM_TAG_MODULE),
                     .order = 0 },
  [LOOM_TAG_NODE] = { .name = "node",
                      .required = NAMES ("id"),
                      .identity = NAMES ("id", "op", "module"),
                      .any_attribute = TRUE,
                      .parents = SCOPES,
                      .order = 3 },
  [LOOM_TAG_WIRE] = { .name = "wire",
                      .required = NAMES ("from", "to"),
                      .identity = NAMES ("from", "to"),
                      .parents = SCOPES,
                      .order = 4 },
  [LOOM_TAG_TRAIN]
  = { .name = "train", .any_attribute = TRUE, .parents = BIT (LOOM_TAG_GRAPH), .order = 5, .once = TRUE },
  [LOOM_TAG_GROUP] = { .name = "group",
                       .required = NAMES ("match"),
                       .identity = NAMES ("match"),
                       .optional = NAMES ("lr", "weight_decay", "adamw", "frozen"),
                       .parents = BIT (LOOM_TAG_TRAIN) },
  [LOOM_TAG_SCHEDULE] = { .name = "schedule",
                          .any_attribute = TRUE,
                          .parents = BIT (LOOM_TAG_TRAIN) | BIT (LOOM_TAG_SCHEDULE),
                          .once = TRUE },
  [LOOM_TAG_CLIP] = { .name = "clip", .any_attribute = TRUE, .parents = BIT (LOOM_TAG_TRAIN), .once = TRUE },
  [LOOM_TAG_METRIC] = { .name = "metric",
                        .required = NAMES ("type"),
                        .identity = NAMES ("name"),
                        .any_attribute = TRUE,
                        .parents = BIT (LOOM_TAG_TRAIN) },
  [LOOM_TAG_PARALLEL] = { .name = "parallel", .any_attribute = TRUE, .parents = BIT (LOOM_TAG_TRAIN), .once = TRUE },
  [LOOM_TAG_LESSON]
  = { .name = "lesson", .optional = NAMES ("title", "number", "hand_in"), .parents = BIT (LOOM_TAG_GRAPH), .order = 6 },
  [LOOM_TAG_PAGE] = { .name = "page",
                      .optional = NAMES ("title", "spotlight", "palette", "goal", "hint"),
                      .has_text = TRUE,
                      .parents = BIT (LOOM_TAG_LESSON) },
  [LOOM_TAG_LAYOUT]
  = { .name = "layout", .optional = NAMES ("direction"), .parents = SCOPES, .order = 7, .once = TRUE },
  [LOOM_TAG_PLACE] = { .name = "place",
                       .required = NAMES ("node", "x", "y"),
                       .identity = NAMES ("node"),
                       .optional = NAMES ("collapsed"),
                       .parents = BIT (LOOM_TAG_LAYOUT) },
  [LOOM_TAG_FRAME] = { .name = "frame",
                       .required = NAMES ("x", "y", "width", "height"),
                       .optional = NAMES ("title", "color", "collapsed", "hidden"),
                       .parents = BIT (LOOM_TAG_LAYOUT) },
  [LOOM_TAG_NOTE] = { .name = "note",
                      .required = NAMES ("x", "y"),
                      .optional = NAMES ("text", "hidden"),
                      .parents = BIT (LOOM_TAG_LAYOUT) },
  [LOOM_TAG_ROUTE] = { .name = "route", .required = NAMES ("from", "to", "points"), .parents = BIT (LOOM_TAG_LAYOUT) },
  [LOOM_TAG_VIEW] = { .name = "view", .parents = SCOPES, .order = 8, .once = TRUE },
  [LOOM_TAG_PIN] = { .name = "pin",
                     .required = NAMES ("tensor"),
                     .optional = NAMES ("kind", "width", "height", "rows", "columns"),
                     .parents = BIT (LOOM_TAG_VIEW) },
  [LOOM_TAG_CHART] = { .name = "chart", .any_attribute = TRUE, .parents = BIT (LOOM_TAG_VIEW) },
  [LOOM_TAG_SLIDE] = { .name = "slide",
                       .optional = NAMES ("title", "scope", "x", "y", "width", "height", "spotlight", "pins"),
                       .has_text = TRUE,
                       .parents = BIT (LOOM_TAG_VIEW) },
  [LOOM_TAG_COMMENT] = { .name = "#comment", .has_text = TRUE },
  [LOOM_TAG_FOREIGN] = { .name = "#foreign", .has_text = TRUE },
};

const GrammarRule *
loom_grammar (LoomTag tag)
{
  g_assert (tag < LOOM_N_TAGS);

  return &rules[tag];
}

LoomTag
loom_grammar_tag (const char *name)
{
  for (int tag = 0; tag < LOOM_TAG_COMMENT; tag++)
    if (strcmp (rules[tag].name, name) == 0)
      return tag;
  return LOOM_N_TAGS;
}

const char *
loom_tag_name (LoomTag tag)
{
  g_return_val_if_fail (tag < LOOM_N_TAGS, NULL);

  return rules[tag].name;
}

LoomArgumentType
loom_argument_type (const LoomElement *arg)
{
  static const char *const names[] = {
    [LOOM_ARGUMENT_INT] = "int",       [LOOM_ARGUMENT_FLOAT] = "float",   [LOOM_ARGUMENT_BOOL] = "bool",
    [LOOM_ARGUMENT_STRING] = "string", [LOOM_ARGUMENT_MODULE] = "module",
  };
  const char *type = loom_element_get (arg, "type");

  if (type == NULL)
    return LOOM_ARGUMENT_ANY;
  for (guint i = LOOM_ARGUMENT_INT; i < G_N_ELEMENTS (names); i++)
    if (strcmp (names[i], type) == 0)
      return i;
  return LOOM_ARGUMENT_UNKNOWN;
}

guint
loom_element_place_for (const LoomElement *parent, LoomTag tag)
{
  guint n;

  g_return_val_if_fail (parent != NULL && tag < LOOM_N_TAGS, 0);

  /* After the last sibling that must precede it; a comment stays before its element, unless no sibling that must
   * precede follows. */
  n = loom_element_n_children (parent);
  while (n > 0)
    {
      LoomTag sibling = loom_element_tag (loom_element_child (parent, n - 1));

      if (sibling != LOOM_TAG_COMMENT && sibling != LOOM_TAG_FOREIGN && rules[sibling].order <= rules[tag].order)
        break;
      n--;
    }
  if (n > 0)
    return n;
  /* There is no sibling of its kind: after the comments at the beginning of the parent, if it has only those. */
  while (n < loom_element_n_children (parent))
    {
      LoomTag sibling = loom_element_tag (loom_element_child (parent, n));

      if (sibling != LOOM_TAG_COMMENT && sibling != LOOM_TAG_FOREIGN)
        return 0;
      n++;
    }
  return n;
}
