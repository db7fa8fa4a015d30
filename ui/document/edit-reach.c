/* Recognises edits that only move things: no operator, fault or text of a card depends on a position. */
#include "ui/document/edit-reach.h"

#include "engine/graph/loom-edit.h"

static gboolean
is_position (const char *attribute)
{
  static const char *const names[] = { "x", "y", "width", "height", NULL };

  return g_strv_contains (names, attribute);
}

/* An inserted or removed element. */
static EditReach
reach_of_element (const LoomElement *e)
{
  switch (loom_element_tag (e))
    {
    case LOOM_TAG_PLACE:
      return loom_element_get (e, "collapsed") == NULL && loom_element_get (e, "hidden") == NULL ? EDIT_REACH_POSITIONS
                                                                                                 : EDIT_REACH_ALL;
    case LOOM_TAG_ROUTE:
      return EDIT_REACH_POSITIONS;
    case LOOM_TAG_LAYOUT:
      return loom_element_n_children (e) == 0 && loom_element_n_attributes (e) == 0 ? EDIT_REACH_POSITIONS
                                                                                    : EDIT_REACH_ALL;
    default:
      return EDIT_REACH_ALL;
    }
}

static EditReach
reach_of_value (const LoomElement *e, const char *attribute)
{
  switch (loom_element_tag (e))
    {
    case LOOM_TAG_PLACE:
    case LOOM_TAG_FRAME:
    case LOOM_TAG_NOTE:
      return is_position (attribute) ? EDIT_REACH_POSITIONS : EDIT_REACH_ALL;
    case LOOM_TAG_ROUTE:
      return g_str_equal (attribute, "points") ? EDIT_REACH_POSITIONS : EDIT_REACH_ALL;
    default:
      return EDIT_REACH_ALL;
    }
}

/* The root or module around an element, or itself. */
static const LoomElement *
scope_of (const LoomElement *e)
{
  while (loom_element_parent (e) != NULL && loom_element_tag (e) != LOOM_TAG_MODULE)
    e = loom_element_parent (e);
  return e;
}

EditReach
edit_reach_of (const LoomGraph *graph, const LoomElement *scope, const LoomEdit *inverse)
{
  const LoomElement *e = loom_graph_by_serial (graph, loom_edit_serial (inverse));

  if (scope_of (e) != scope)
    return EDIT_REACH_ALL;
  switch (loom_edit_kind (inverse))
    {
    case LOOM_EDIT_INSERT:
      return reach_of_element (loom_edit_element (inverse));
    case LOOM_EDIT_REMOVE:
      return reach_of_element (e);
    case LOOM_EDIT_SET:
      return reach_of_value (e, loom_edit_attribute (inverse));
    case LOOM_EDIT_TEXT:
      break;
    }
  return EDIT_REACH_ALL;
}
