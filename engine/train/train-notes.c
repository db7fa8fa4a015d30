/* Collects notes; see the header. */
#include "engine/train/train-notes.h"

#include <stdarg.h>

void
train_notes_clear (TrainNotes *notes)
{
  if (notes->text != NULL)
    g_string_free (notes->text, TRUE);
  notes->text = NULL;
}

void
train_notes_add (TrainNotes *notes, const char *format, ...)
{
  va_list args;

  if (notes->text == NULL)
    notes->text = g_string_new (NULL);
  else
    g_string_append_c (notes->text, '\n');
  va_start (args, format);
  g_string_append_vprintf (notes->text, format, args);
  va_end (args);
}

void
train_notes_report (TrainNotes *notes, const char *note)
{
  if (notes->report != NULL)
    notes->report (note, notes->data);
  else
    train_notes_add (notes, "%s", note);
}
