/* The levels of a path of scopes. */
#include "ui/document/scope-path.h"

struct _ScopePath
{
  GArray *levels; /* ScopeLevel, which owns its path */
};

static void
clear_level (gpointer level)
{
  g_free ((char *)((ScopeLevel *)level)->path);
}

ScopePath *
scope_path_new (void)
{
  ScopePath *self = g_new0 (ScopePath, 1);

  self->levels = g_array_new (FALSE, TRUE, sizeof (ScopeLevel));
  g_array_set_clear_func (self->levels, clear_level);
  return self;
}

void
scope_path_free (ScopePath *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->levels);
  g_free (self);
}

guint
scope_path_depth (const ScopePath *self)
{
  return self->levels->len;
}

ScopeLevel
scope_path_level (const ScopePath *self, guint level)
{
  g_return_val_if_fail (level < self->levels->len, (ScopeLevel){ 0 });

  return g_array_index (self->levels, ScopeLevel, level);
}

static ScopeLevel *
innermost (const ScopePath *self)
{
  return self->levels->len > 0 ? &g_array_index (self->levels, ScopeLevel, self->levels->len - 1) : NULL;
}

LoomElement *
scope_path_element (const ScopePath *self, const LoomGraph *graph)
{
  const ScopeLevel *level = innermost (self);
  LoomElement *module = level != NULL ? loom_graph_by_serial (graph, level->module) : NULL;

  return module != NULL ? module : loom_graph_root (graph);
}

const char *
scope_path_text (const ScopePath *self)
{
  const ScopeLevel *level = innermost (self);

  return level != NULL ? level->path : "";
}

void
scope_path_enter (ScopePath *self, guint64 module, guint64 instance, const char *path)
{
  const ScopeLevel level = { module, instance, g_strdup (path) };

  g_array_append_val (self->levels, level);
}

void
scope_path_leave_to (ScopePath *self, guint depth)
{
  if (depth < self->levels->len)
    g_array_set_size (self->levels, depth);
}

void
scope_path_replace_module (ScopePath *self, guint64 module)
{
  g_return_if_fail (self->levels->len > 0);

  innermost (self)->module = module;
}

gboolean
scope_path_equal (const ScopePath *a, const ScopePath *b)
{
  gboolean same = a->levels->len == b->levels->len;

  for (guint i = 0; same && i < a->levels->len; i++)
    same = scope_path_level (a, i).instance == scope_path_level (b, i).instance;
  return same;
}

gboolean
scope_path_prune (ScopePath *self, const LoomGraph *graph)
{
  for (guint i = 0; i < self->levels->len; i++)
    {
      const ScopeLevel level = scope_path_level (self, i);

      if (loom_graph_by_serial (graph, level.module) == NULL || loom_graph_by_serial (graph, level.instance) == NULL)
        {
          scope_path_leave_to (self, i);
          return TRUE;
        }
    }
  return FALSE;
}
