/* Notes to the user about a run that are not errors, collected as sentences. */
#pragma once

#include <glib.h>

typedef struct
{
  GString *text;                                    /* one per line; NULL: none */
  void (*report) (const char *note, gpointer data); /* while the run has an observer; else NULL */
  gpointer data;
} TrainNotes;

void train_notes_clear (TrainNotes *notes);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TrainNotes, train_notes_clear)
/* Appends a line, to be shown later. */
void train_notes_add (TrainNotes *notes, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Calls report(), or appends a line if it is NULL. */
void train_notes_report (TrainNotes *notes, const char *note);
