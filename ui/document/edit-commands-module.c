/* Commands for modules: creating and dissolving them, the loops that run them, and leaving the shown one. */
#include "ui/document/studio-edit-command.h"

#include <glib/gi18n.h>

#include "ui/document/studio-loops.h"

static gboolean
group (StudioDocument *document, GError **error)
{
  return studio_document_group_selection (document, NULL, error);
}

static gboolean
ungroup (StudioDocument *document, GError **error)
{
  return studio_document_ungroup_selection (document, error);
}

static gboolean
run_bodies (StudioDocument *document, LoomLoopKind kind, const char *sentence, GError **error)
{
  if (studio_document_run_selection (document, kind))
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, sentence);
  return FALSE;
}

static gboolean
loop (StudioDocument *document, GError **error)
{
  return run_bodies (document, LOOM_LOOP_SCAN, _ ("Select a module first. It then runs on each step of a sequence."),
                     error);
}

static gboolean
choose (StudioDocument *document, GError **error)
{
  return run_bodies (document, LOOM_LOOP_SWITCH,
                     _ ("Select a module first. It becomes one of several, and an index selects the one that runs."),
                     error);
}

static gboolean
recurse (StudioDocument *document, GError **error)
{
  return run_bodies (document, LOOM_LOOP_TREE,
                     _ ("Select a module first. It then runs on each node of a tree, from the leaves to the root."),
                     error);
}

static gboolean
is_in_module (StudioDocument *document)
{
  return studio_document_scope_depth (document) > 0;
}

static gboolean
make_unique (StudioDocument *document, GError **error)
{
  studio_document_make_unique (document);
  return TRUE;
}

static gboolean
leave (StudioDocument *document, GError **error)
{
  studio_document_leave (document);
  return TRUE;
}

const StudioEditCommand studio_edit_commands_module[] = { { .id = "make-unique",
                                                            .group = N_ ("Edit"),
                                                            .title = N_ ("Make This Module Unique"),
                                                            .is_possible = is_in_module,
                                                            .run = make_unique },
                                                          { .id = "group",
                                                            .group = N_ ("Edit"),
                                                            .title = N_ ("Group Into a Module"),
                                                            .keys = { "<Control>g" },
                                                            .flags = STUDIO_EDIT_COMMAND_SELECTS,
                                                            .is_possible = studio_edit_command_has_selection,
                                                            .run = group },
                                                          { .id = "ungroup",
                                                            .group = N_ ("Edit"),
                                                            .title = N_ ("Ungroup the Module"),
                                                            .keys = { "<Control><Shift>g" },
                                                            .flags = STUDIO_EDIT_COMMAND_SELECTS,
                                                            .is_possible = studio_edit_command_has_selection,
                                                            .run = ungroup },
                                                          { .id = "loop",
                                                            .group = N_ ("Edit"),
                                                            .title = N_ ("Run the Module Over a Sequence, or Once"),
                                                            .is_possible = studio_edit_command_has_selection,
                                                            .run = loop },
                                                          { .id = "choose",
                                                            .group = N_ ("Edit"),
                                                            .title = N_ ("Choose Among Modules, or Run One"),
                                                            .is_possible = studio_edit_command_has_selection,
                                                            .run = choose },
                                                          { .id = "trees",
                                                            .group = N_ ("Edit"),
                                                            .title = N_ ("Run the Module Along Trees, or Once"),
                                                            .is_possible = studio_edit_command_has_selection,
                                                            .run = recurse },
                                                          { .id = "leave",
                                                            .group = N_ ("Go"),
                                                            .title = N_ ("Leave the Module"),
                                                            .keys = { "<Control>Up" },
                                                            .flags = STUDIO_EDIT_COMMAND_SELECTS,
                                                            .is_possible = is_in_module,
                                                            .run = leave },
                                                          { 0 } };
