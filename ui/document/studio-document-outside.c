/* Data outside the folder of the file that the document is from: the guard that blocks them until the user agrees. */
#include "ui/document/studio-document-private.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-allowed-paths.h"

const char *
studio_document_get_origin (StudioDocument *self)
{
  return self->path != NULL ? self->path : self->origin;
}

void
studio_document_guard (StudioDocument *self)
{
  const char *origin = studio_document_get_origin (self);
  g_autofree char *own = origin != NULL ? g_path_get_dirname (origin) : NULL;

  loom_graph_set_guard (self->graph, own, own != NULL ? studio_agreed_has : NULL);
}

char **
studio_document_outside (StudioDocument *self)
{
  LoomNet *net = studio_document_get_net (self);

  return net != NULL ? studio_allowed_paths_missing (net, self->graph, studio_document_get_origin (self))
                     : g_new0 (char *, 1);
}

/* An inference that the guard has stopped may have left no net, but the fault. */
static gboolean
may_be_read (StudioDocument *self)
{
  g_auto (GStrv) paths = studio_document_outside (self);
  LoomFaults *faults = studio_document_get_faults (self);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (loom_faults_get (faults, i)->code == LOOM_ERROR_OUTSIDE)
      return FALSE;
  return paths[0] == NULL;
}

char *
studio_document_dup_text_for_process (StudioDocument *self, GError **error)
{
  if (may_be_read (self))
    return loom_graph_write (self->graph, NULL);
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUTSIDE,
                       _ ("The graph names files outside its folder. Allow Studio to read them first."));
  return NULL;
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
