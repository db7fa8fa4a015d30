/* Notes of a user about a run: name, note and star. They are stored in notes.json in the run's folder, which
 * training and all other commands ignore.
 *
 * Members that this version does not know are kept when the file is written again. */
#pragma once

#include "engine/core/loom-folder.h"

#define LOOM_RUN_NOTES "notes.json"

#define LOOM_RUN_NAME_MOST 200   /* characters */
#define LOOM_RUN_NOTE_MOST 10000 /* characters */

typedef struct
{
  char *name;  /* NULL: none, the run is shown by the name of its folder */
  char *note;  /* NULL: none */
  char *sweep; /* the sweep that the run belongs to; NULL: none */
  gboolean star;
} LoomRunNotes;

void loom_run_notes_clear (LoomRunNotes *notes);
/* A missing file leaves notes empty. Errors: IO, or DATA if the file is damaged. */
gboolean loom_run_notes_read (LoomFolder *run, LoomRunNotes *notes, GError **error);
/* Longer texts are cut, and empty ones are stored as none. A damaged file is replaced. Errors: IO. */
gboolean loom_run_notes_write (const char *run, const LoomRunNotes *notes, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomRunNotes, loom_run_notes_clear)
