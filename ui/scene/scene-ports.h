/* The ports of a card while a scene is built: arrays of StudioPort, to which wires may add. */
#pragma once

#include "ui/scene/studio-scene.h"

void scene_ports_add (GArray *ports, const char *name, const char *doc, gboolean required, gboolean variadic);
guint scene_ports_find (GArray *ports, const char *name); /* STUDIO_NO_ITEM: none */
/* The port of a wire's end without a name: the only required one, else the first. */
guint scene_ports_default (GArray *ports);
/* Orders the numbered inputs of a variadic operator. */
int scene_ports_compare (gconstpointer a, gconstpointer b);
/* The ports of a module instance are its module_input and module_output nodes; a loop adds one port of its own, and in
 * trees the carried values come from the children. */
void scene_ports_of_module (const LoomElement *module, const LoomLoop *loop, GArray *inputs, GArray *outputs);
/* The port of this name that ties one of the operator's weights, or NULL. */
const LoomPortSpec *scene_ports_weight (const LoomOp *op, const char *name);
