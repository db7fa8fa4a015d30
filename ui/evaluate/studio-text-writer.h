/* Continues a text with the language model that is trained: prompt, length and temperature; the text arrives while it
 * is generated, and can be stopped. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

#define STUDIO_TYPE_TEXT_WRITER (studio_text_writer_get_type ())
G_DECLARE_FINAL_TYPE (StudioTextWriter, studio_text_writer, STUDIO, TEXT_WRITER, GtkBox)

GtkWidget *studio_text_writer_new (StudioEvaluation *model);
/* The number of characters of the text. */
guint studio_text_writer_length (StudioTextWriter *self);
