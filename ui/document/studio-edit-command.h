/* The commands that edit a document or change its selection or shown scope: one row each, by families.
 *
 * A view runs them by name, so that menu, key, button and test run the same code. Titles are not translated here;
 * errors are. */
#pragma once

#include "ui/document/studio-document.h"

#define STUDIO_EDIT_COMMAND_KEYS 2

typedef enum
{
  STUDIO_EDIT_COMMAND_SELECTS = 1 << 0, /* selects the elements with which the keyboard continues */
  STUDIO_EDIT_COMMAND_MOVES = 1 << 1    /* moves cards */
} StudioEditCommandFlags;

typedef struct
{
  const char *id;                             /* "delete" */
  const char *group, *title;                  /* for lists of commands; NULL: shown by another command */
  const char *keys[STUDIO_EDIT_COMMAND_KEYS]; /* accelerators of GTK, "<Control>g" */
  StudioEditCommandFlags flags;
  gboolean (*is_possible) (StudioDocument *document); /* FALSE: it would have no effect now. NULL: always possible */
  /* FALSE with an error for the user if it does not apply to the selection. */
  gboolean (*run) (StudioDocument *document, GError **error);
} StudioEditCommand;

guint studio_edit_command_n (void);
const StudioEditCommand *studio_edit_command_get (guint i);         /* in the order of lists */
const StudioEditCommand *studio_edit_command_find (const char *id); /* NULL: there is none */
/* TRUE if it would have an effect now. */
gboolean studio_edit_command_is_possible (const StudioEditCommand *command, StudioDocument *document);

/* ---- families, each ends with a row without id ----------------------------- */

extern const StudioEditCommand studio_edit_commands_selection[]; /* history, deleting, copies, muting, collapsing */
extern const StudioEditCommand studio_edit_commands_module[];    /* modules and the loops that run them */
extern const StudioEditCommand studio_edit_commands_arrange[];   /* positions of several cards */

/* For is_possible. */
gboolean studio_edit_command_has_selection (StudioDocument *document);
