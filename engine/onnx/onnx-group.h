/* The nodes of a model in groups, one for each module of the network that it was exported from. */
#pragma once

#include "engine/onnx/onnx-private.h"

typedef struct _OnnxGroup OnnxGroup;

struct _OnnxGroup
{
  char *word; /* the last word of its path */
  const char *class_name;
  OnnxGroup *outer;
  GPtrArray *groups; /* OnnxGroup, in the order of their first nodes */
  GPtrArray *nodes;  /* OnnxNode, those directly in it */
  gboolean computes; /* it has other nodes than sources */
  gboolean is_dissolved;
  OnnxNode *instance;  /* its card; a group of one node has that node; set by onnx-modules.c */
  GHashTable *results; /* original OnnxWire → the output of its instance that carries it; filled by onnx-modules.c */
};

typedef struct
{
  OnnxImport *all;
  OnnxGroup *root;
  GHashTable *by_path;  /* path → OnnxGroup */
  GHashTable *group_of; /* OnnxNode → OnnxGroup */
  GHashTable *readers;  /* OnnxWire → GPtrArray of OnnxNode */
  GHashTable *wires_of; /* OnnxNode → GPtrArray of its OnnxWire that are read */
} OnnxGroups;

/* Groups the needed nodes, which are no longer in the import's list. Nodes that it makes (a constant for each group
 * that reads it, weights whose names are not their layer's) are added to live, and each node gets its position. */
void onnx_groups_init (OnnxGroups *t, OnnxImport *all, GPtrArray *live);
void onnx_groups_clear (OnnxGroups *t);
/* The innermost group of a node that is not dissolved. */
OnnxGroup *onnx_group_of (const OnnxGroups *t, const OnnxNode *node);
/* TRUE if g is outer, or inside it. */
gboolean onnx_group_is_within (const OnnxGroup *g, const OnnxGroup *outer);
/* The original nodes of a group and those inside it, in the model's order. (transfer container) */
GPtrArray *onnx_group_nodes (const OnnxGroup *g);
/* Sets the last word of a node's path. */
void onnx_name_node (OnnxNode *node, const char *word);
/* TRUE for a parameter that has a name in the state dict. */
gboolean onnx_is_in_state (const OnnxNode *node);
/* Compares nodes by their positions, for g_ptr_array_sort(). */
int onnx_by_position (gconstpointer a, gconstpointer b);
