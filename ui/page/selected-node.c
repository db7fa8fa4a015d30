/* Implements selected-node.h. */
#include "ui/page/selected-node.h"

static LoomElement *
selected_element (StudioDocument *document)
{
  if (studio_document_n_selected (document) != 1)
    return NULL;
  return loom_graph_by_serial (studio_document_get_graph (document), studio_document_get_selected (document, 0));
}

char *
selected_node_dup_path (StudioDocument *document)
{
  LoomElement *e = selected_element (document);
  return e != NULL && loom_element_tag (e) == LOOM_TAG_NODE
             ? studio_document_dup_node_path (document, studio_document_get_selected (document, 0))
             : NULL;
}

const LoomOp *
selected_node_op (StudioDocument *document)
{
  LoomElement *e = selected_element (document);
  return e != NULL ? loom_op_of (e) : NULL;
}
