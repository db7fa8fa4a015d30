/* Commands for undo, for selecting, and for the selected cards: deleting, duplicating, muting, folding. */
#include "ui/document/studio-edit-command.h"

#include <glib/gi18n.h>

#include "ui/document/studio-document-arrange.h"

static gboolean
can_undo (StudioDocument *document)
{
  return studio_document_undo_name (document) != NULL;
}

static gboolean
undo (StudioDocument *document, GError **error)
{
  studio_document_undo (document);
  return TRUE;
}

static gboolean
can_redo (StudioDocument *document)
{
  return studio_document_redo_name (document) != NULL;
}

static gboolean
redo (StudioDocument *document, GError **error)
{
  studio_document_redo (document);
  return TRUE;
}

static gboolean
delete_selection (StudioDocument *document, GError **error)
{
  studio_document_delete_selection (document);
  return TRUE;
}

static gboolean
select_all (StudioDocument *document, GError **error)
{
  studio_document_select_all (document);
  return TRUE;
}

static gboolean
select_none (StudioDocument *document, GError **error)
{
  studio_document_select_only (document, 0);
  return TRUE;
}

static gboolean
duplicate (StudioDocument *document, GError **error)
{
  studio_document_duplicate (document);
  return TRUE;
}

static gboolean
mute (StudioDocument *document, GError **error)
{
  if (studio_document_mute_selection (document))
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, _ ("Select the layers to leave out first."));
  return FALSE;
}

/* TRUE if only one open frame is selected. */
static gboolean
is_open_frame (StudioDocument *document)
{
  const guint64 serial = studio_document_get_selected (document, 0);

  return studio_document_n_selected (document) == 1
         && studio_scene_find_annotation (studio_document_get_scene (document), serial) != STUDIO_NO_ITEM;
}

static gboolean
fold (StudioDocument *document, GError **error)
{
  const gboolean is_frame = is_open_frame (document);

  if (studio_document_fold_selection (document))
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                       is_frame ? _ ("The frame has no card to collapse.") : _ ("Select the cards to collapse first."));
  return FALSE;
}

const StudioEditCommand studio_edit_commands_selection[] = {
  { .id = "undo", .keys = { "<Control>z" }, .is_possible = can_undo, .run = undo },
  { .id = "redo", .keys = { "<Control><Shift>z", "<Control>y" }, .is_possible = can_redo, .run = redo },
  { .id = "delete",
    .group = N_ ("Edit"),
    .title = N_ ("Delete"),
    .keys = { "Delete", "BackSpace" },
    .is_possible = studio_edit_command_has_selection,
    .run = delete_selection },
  { .id = "select-all", .group = N_ ("Edit"), .title = N_ ("Select All"), .keys = { "<Control>a" }, .run = select_all },
  { .id = "select-none",
    .group = N_ ("Edit"),
    .title = N_ ("Select None"),
    .keys = { "<Control><Shift>a" },
    .run = select_none },
  { .id = "duplicate",
    .group = N_ ("Edit"),
    .title = N_ ("Duplicate"),
    .keys = { "<Control>d" },
    .flags = STUDIO_EDIT_COMMAND_SELECTS,
    .is_possible = studio_edit_command_has_selection,
    .run = duplicate },
  { .id = "mute",
    .group = N_ ("Edit"),
    .title = N_ ("Mute or Unmute the Layers"),
    .keys = { "<Control><Shift>m" },
    .is_possible = studio_edit_command_has_selection,
    .run = mute },
  { .id = "fold",
    .group = N_ ("Edit"),
    .title = N_ ("Collapse or Expand the Cards"),
    .keys = { "<Alt>h" },
    .flags = STUDIO_EDIT_COMMAND_MOVES,
    .is_possible = studio_edit_command_has_selection,
    .run = fold },
  { 0 }
};
