/* The layers of a net that can have factors of LoRA, and the weights with which they compute. */
#pragma once

#include "engine/net/loom-net.h"

/* Whether a layer can have factors. */
typedef enum
{
  ADAPT_NO,
  ADAPT_TIED, /* it computes with a weight that another node reads too */
  ADAPT_OWN
} Adaptable;

gboolean adapter_is_linear (const LoomNetNode *node);
/* By node. (transfer full) */
Adaptable *adapter_find_layers (const LoomNet *net);
/* The weight that an input of a node reads, among the net's; −1: none. */
int adapter_find_read (const LoomNet *net, guint node, guint input);
/* The weight with which a layer computes, its own or another one's; −1: none. */
int adapter_find_base (const LoomNet *net, guint node);
/* The name of a layer in a state_dict: all copies with share="true" have the same one. (transfer full) */
char *adapter_layer_name (const LoomNet *net, guint node);
