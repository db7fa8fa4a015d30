/* Data outside the folder of the document's file: the guard that blocks them until the user agrees. */
#include "ui/document/studio-document-private.h"

#include "ui/scene/studio-allowed-paths.h"

void
studio_document_guard (StudioDocument *self)
{
  g_autofree char *own = self->path != NULL ? g_path_get_dirname (self->path) : NULL;

  loom_graph_set_guard (self->graph, own, own != NULL ? studio_agreed_has : NULL);
}

char **
studio_document_outside (StudioDocument *self)
{
  LoomNet *net = studio_document_get_net (self);

  return net != NULL ? studio_allowed_paths_missing (net, self->graph, self->path) : g_new0 (char *, 1);
}

void
studio_document_agree (StudioDocument *self)
{
  g_auto (GStrv) paths = studio_document_outside (self);

  if (paths[0] == NULL)
    return;
  studio_allowed_paths_add (paths);
  self->net_valid = FALSE;
  studio_document_infer (self);
}
