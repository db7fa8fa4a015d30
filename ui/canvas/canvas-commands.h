/* The commands of a canvas as class actions, with their keys: a table of those of the view, and those of the document
 * (studio-edit-command.h) as "canvas.ID". */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

/* A row of the table, for lists of all commands. */
typedef struct
{
  const char *name;          /* of the class action, "canvas.delete" */
  const char *group, *title; /* NULL: the window has its own action for it */
  const char *key;           /* its first accelerator; NULL: it has none */
} StudioCanvasCommand;

guint studio_canvas_n_commands (void);
StudioCanvasCommand studio_canvas_get_command (guint i);

/* Installs the actions; they act on the widget's board (canvas_board_of()). */
void canvas_commands_install (GtkWidgetClass *klass);

/* Which commands of one widget would do anything now. */
typedef struct _CanvasCommands CanvasCommands;

/* widget: of a class with the actions. Both must outlive this. */
CanvasCommands *canvas_commands_new (GtkWidget *widget, StudioDocument *document);
void canvas_commands_free (CanvasCommands *self);
/* The document, its net or its selection changed. */
void canvas_commands_update (CanvasCommands *self);
gboolean canvas_commands_can (const CanvasCommands *self, const char *name);
