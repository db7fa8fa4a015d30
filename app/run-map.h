/* A matrix as a file for people: numbers with commas, or a heat map, by the ending of the file's name. */
#pragma once

#include "engine/loom-run.h"

/* TRUE if the name ends in .csv, .svg or .png. */
gboolean run_map_is_name (const char *name);
/* Writes the last two dimensions of t to path, of other dimensions the first element; the kind of file is that of name.
 * Errors: USAGE for a tensor without elements, or a picture of more than 1,024 rows or columns; IO. */
gboolean run_map_write (const LoomTensor *t, const char *title, const char *name, const char *path, GError **error);
