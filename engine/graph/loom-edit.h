/* Queries of an edit, for observers that stay synchronised with a graph. */
#pragma once

#include "engine/graph/loom-graph.h"

typedef enum
{
  LOOM_EDIT_INSERT,
  LOOM_EDIT_REMOVE,
  LOOM_EDIT_SET,
  LOOM_EDIT_TEXT
} LoomEditKind;

LoomEditKind loom_edit_kind (const LoomEdit *edit);
/* The serial of the parent for an insertion, else of the element. */
guint64 loom_edit_serial (const LoomEdit *edit);
/* The inserted element; NULL for other edits. Its serial is 0 if it has not been in a graph. */
const LoomElement *loom_edit_element (const LoomEdit *edit);
/* The attribute that is set; NULL for other edits. */
const char *loom_edit_attribute (const LoomEdit *edit);
/* The value of that attribute (NULL removes it), or the text; NULL for other edits. */
const char *loom_edit_value (const LoomEdit *edit);
