/* The path to the shown scope of a graph: the modules that were entered, outermost first, each through an instance. */
#pragma once

#include "engine/loom.h"

typedef struct _ScopePath ScopePath;

/* One level, by serials. */
typedef struct
{
  guint64 module, instance;
  const char *path; /* of the instance from the root, "block.0" */
} ScopeLevel;

ScopePath *scope_path_new (void); /* the root */
void scope_path_free (ScopePath *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ScopePath, scope_path_free)
guint scope_path_depth (const ScopePath *self); /* 0: the root */
/* level < depth. Valid until the path changes. */
ScopeLevel scope_path_level (const ScopePath *self, guint level);
/* The shown scope: the root, or a module. */
LoomElement *scope_path_element (const ScopePath *self, const LoomGraph *graph);
const char *scope_path_text (const ScopePath *self); /* of the shown instance; "" at the root */
void scope_path_enter (ScopePath *self, guint64 module, guint64 instance, const char *path);
/* Leaves scopes until depth is at most this. */
void scope_path_leave_to (ScopePath *self, guint depth);
/* Sets another definition for the instance of the innermost level. */
void scope_path_replace_module (ScopePath *self, guint64 module);
/* TRUE if both lead through the same instances. */
gboolean scope_path_equal (const ScopePath *a, const ScopePath *b);
/* Leaves the levels that no longer exist in the graph; TRUE if there were any. */
gboolean scope_path_prune (ScopePath *self, const LoomGraph *graph);
