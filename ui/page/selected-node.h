/* The one node that is selected, for commands about a layer. */
#pragma once

#include "ui/document/studio-document.h"

/* The path of the selected node; NULL if none, several or something else is selected. */
char *selected_node_dup_path (StudioDocument *document);
/* Its operator; NULL also for a module. */
const LoomOp *selected_node_op (StudioDocument *document);
