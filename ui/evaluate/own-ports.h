/* Fields for the inputs that a net reads in addition to x, such as the length of a sequence or the parents of a tree's
 * nodes: a line of numbers each, which begins with that of a sample of the data. */
#pragma once

#include <gtk/gtk.h>

#include "ui/task/studio-task-data.h"

/* A row for each further port of the data; changed is called with owner alone when a field changes. */
void own_ports_fill (GtkGrid *grid, const StudioTaskData *data, GCallback changed, gpointer owner);
/* Shows the values of a sample. */
void own_ports_show (GtkGrid *grid, const StudioTaskData *data, guint sample);
/* The values as the argument `others` of Predict, floating; path: of the data set. NULL: *why receives a sentence
 * (transfer full). */
GVariant *own_ports_read (GtkGrid *grid, const StudioTaskData *data, const char *path, char **why);

/* Numbers as a line of text, each by its name if there is one. names may be NULL. (transfer full) */
char *own_numbers_to_text (const float *value, guint n, char *const *names);
/* FALSE: the line is not n numbers or names, and *why receives a sentence about `what` (transfer full). */
gboolean own_numbers_read (const char *line, const char *what, char *const *names, guint n, float *value, char **why);
