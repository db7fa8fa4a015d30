/* Commands that align or distribute the selected cards. */
#include "ui/document/studio-edit-command.h"

#include <glib/gi18n.h>

#include "ui/document/studio-document-arrange.h"

static gboolean
has_several (StudioDocument *document)
{
  return studio_document_n_selected (document) > 1;
}

static gboolean
has_many (StudioDocument *document)
{
  return studio_document_n_selected (document) > 2;
}

#define ALIGN(name, how)                                                                                               \
  static gboolean name (StudioDocument *document, GError **error)                                                      \
  {                                                                                                                    \
    studio_document_align (document, how);                                                                             \
    return TRUE;                                                                                                       \
  }
ALIGN (align_left, STUDIO_ALIGN_LEFT)
ALIGN (align_centre, STUDIO_ALIGN_CENTRE)
ALIGN (align_right, STUDIO_ALIGN_RIGHT)
ALIGN (align_top, STUDIO_ALIGN_TOP)
ALIGN (align_middle, STUDIO_ALIGN_MIDDLE)
ALIGN (align_bottom, STUDIO_ALIGN_BOTTOM)
ALIGN (distribute_horizontally, STUDIO_DISTRIBUTE_HORIZONTALLY)
ALIGN (distribute_vertically, STUDIO_DISTRIBUTE_VERTICALLY)
#undef ALIGN

#define ROW(name, label, possible, function)                                                                           \
  {                                                                                                                    \
    .id = name, .group = N_ ("Arrange"), .title = label, .flags = STUDIO_EDIT_COMMAND_MOVES, .is_possible = possible,  \
    .run = function                                                                                                    \
  }
const StudioEditCommand studio_edit_commands_arrange[]
    = { ROW ("align-left", N_ ("Align Left Edges"), has_several, align_left),
        ROW ("align-centre", N_ ("Align Centres"), has_several, align_centre),
        ROW ("align-right", N_ ("Align Right Edges"), has_several, align_right),
        ROW ("align-top", N_ ("Align Top Edges"), has_several, align_top),
        ROW ("align-middle", N_ ("Align Middles"), has_several, align_middle),
        ROW ("align-bottom", N_ ("Align Bottom Edges"), has_several, align_bottom),
        ROW ("distribute-horizontally", N_ ("Distribute Horizontally"), has_many, distribute_horizontally),
        ROW ("distribute-vertically", N_ ("Distribute Vertically"), has_many, distribute_vertically),
        { 0 } };
