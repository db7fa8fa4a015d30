/* Completes the options of a table for `gradloom new`. */
#pragma once

#include "engine/loom-run.h"

/* Sets the options that are not given from the table, as Studio does: whether the target is a class or a number, the
 * separator of columns, which are left out and how they are scaled. If a table cannot be read or lacks a column, the
 * error is that of the data set. data receives the units of the target, notes a line for each decision. NULL with the
 * reason if no graph can be made of the table. (transfer full) */
char **new_table_complete (char **given, const char *folder, LoomTemplateData *data, GString *notes, GError **error);

/* TRUE if a column of the table has paths of pictures, and no column has numbers that a network could read. */
gboolean new_table_has_pictures (const char *path);
/* The same for such a table as the data set image-table; a target is its label. */
char **new_table_complete_pictures (char **given, const char *folder, GString *notes, GError **error);
