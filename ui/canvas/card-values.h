/* Values of a run that cards show: a text instead of the second row, words that are only read aloud, and a progress
 * bar. They are stored by the path of a node, so that they survive changes of the scene. */
#pragma once

#include <glib.h>

typedef struct _CardValues CardValues;

CardValues *card_values_new (void);
void card_values_free (CardValues *self);

gboolean card_values_are_empty (const CardValues *self); /* but for progress */
/* text: NULL removes it. Returns whether anything changed. */
gboolean card_values_set_text (CardValues *self, const char *path, const char *text);
gboolean card_values_set_words (CardValues *self, const char *path, const char *words);
/* fraction: at most 1 is shown; a negative one removes it. Returns whether the card has to be redrawn. */
gboolean card_values_set_progress (CardValues *self, const char *path, double fraction);
const char *card_values_get_text (const CardValues *self, const char *path);  /* NULL: none */
const char *card_values_get_words (const CardValues *self, const char *path); /* NULL: none */
/* 0 to 1; NULL: none. */
const double *card_values_get_progress (const CardValues *self, const char *path);
