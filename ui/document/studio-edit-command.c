/* The list of all editing commands, from the tables of their families. */
#include "ui/document/studio-edit-command.h"

#include <string.h>

static const StudioEditCommand *const families[]
    = { studio_edit_commands_selection, studio_edit_commands_module, studio_edit_commands_arrange };

const StudioEditCommand *
studio_edit_command_get (guint i)
{
  for (guint f = 0; f < G_N_ELEMENTS (families); f++)
    for (const StudioEditCommand *command = families[f]; command->id != NULL; command++)
      if (i-- == 0)
        return command;
  return NULL;
}

guint
studio_edit_command_n (void)
{
  guint n = 0;

  while (studio_edit_command_get (n) != NULL)
    n++;
  return n;
}

const StudioEditCommand *
studio_edit_command_find (const char *id)
{
  const StudioEditCommand *command;

  for (guint i = 0; (command = studio_edit_command_get (i)) != NULL; i++)
    if (strcmp (command->id, id) == 0)
      return command;
  return NULL;
}

gboolean
studio_edit_command_is_possible (const StudioEditCommand *command, StudioDocument *document)
{
  return command->is_possible == NULL || command->is_possible (document);
}

gboolean
studio_edit_command_has_selection (StudioDocument *document)
{
  return studio_document_n_selected (document) > 0;
}
