/* The inspector: parameters, output and cost of the selected node, made from its operator's description. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_INSPECTOR (studio_inspector_get_type ())
G_DECLARE_FINAL_TYPE (StudioInspector, studio_inspector, STUDIO, INSPECTOR, GtkWidget)

StudioInspector *studio_inspector_new (StudioDocument *document);
/* The widget that stands there while nothing is selected (the training settings). */
void studio_inspector_set_empty_widget (StudioInspector *self, GtkWidget *widget);
/* The devices that a node may be computed on, as the worker names them; NULL: not known. */
void studio_inspector_set_devices (StudioInspector *self, const char *const *devices);
/* Sets what is being typed, if it is a value: before a command that means the graph as one sees it. */
void studio_inspector_settle (StudioInspector *self);
/* Puts the keyboard focus on the first parameter. */
void studio_inspector_focus (StudioInspector *self);

G_END_DECLS
