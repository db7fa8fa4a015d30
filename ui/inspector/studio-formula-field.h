/* The entry for formulas: one line that grows, or several statements, with the error underlined. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_FORMULA_FIELD (studio_formula_field_get_type ())
G_DECLARE_FINAL_TYPE (StudioFormulaField, studio_formula_field, STUDIO, FORMULA_FIELD, GtkWidget)

/* Signals: "changed" while typing, "done" at Enter (Ctrl+Enter if there may be several statements). */
StudioFormulaField *studio_formula_field_new (const char *title, gboolean statements);

/* On one line, as in a file. */
char *studio_formula_field_dup_text (StudioFormulaField *self);
void studio_formula_field_set_text (StudioFormulaField *self, const char *text);
gboolean studio_formula_field_has_focus (StudioFormulaField *self);
void studio_formula_field_focus (StudioFormulaField *self);

/* Underlines the text from this character on, counted from 0; -1: nothing. */
void studio_formula_field_mark (StudioFormulaField *self, int position);

/* The character that a fault's sentence names ("at position 7, after the caret"), counted from 0; -1: none. */
int studio_formula_fault_position (const char *message);
