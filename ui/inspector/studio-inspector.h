/* The inspector: the parameters, outputs and costs of the selected node. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_INSPECTOR (studio_inspector_get_type ())
G_DECLARE_FINAL_TYPE (StudioInspector, studio_inspector, STUDIO, INSPECTOR, GtkWidget)

/* Signal "sweep" (guint64 serial, const char *attribute, char **values): several values of a number of this node were
 * typed, as "16, 32, 64", each to be trained with once. The document does not change. */
StudioInspector *studio_inspector_new (StudioDocument *document);
/* Sets the widget shown while nothing is selected (the training settings). */
void studio_inspector_set_empty_widget (StudioInspector *self, GtkWidget *widget);
/* The devices that a node can be assigned to, as the worker names them; NULL: unknown. */
void studio_inspector_set_devices (StudioInspector *self, const char *const *devices);
/* Sets a typed value, if it is valid; call before a command that uses the graph. */
void studio_inspector_commit_typed (StudioInspector *self);
/* Focuses the first parameter. */
void studio_inspector_focus (StudioInspector *self);
