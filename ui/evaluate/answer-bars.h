/* The predicted classes of one sample as bars, the most probable first, and the predicted values as text. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

/* Fills a grid with a prediction of [positions, classes] numbers. names: of the classes, or NULL. Returns a sentence
 * (transfer full). */
char *answer_bars_fill (GtkGrid *grid, LoomAnswerKind kind, gint64 n_positions, gint64 n_classes, const float *value,
                        char *const *names);
