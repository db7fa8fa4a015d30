/* The columns of a CSV table by role: features, targets, sample weight. */
#pragma once

#include "engine/data/csv-field.h"
#include "engine/data/csv-prepare.h"
#include "engine/data/loom-csv.h"
#include "engine/data/loom-dataset-private.h"

/* Which columns are features, which targets, and which, if any, the weight. */
typedef struct
{
  GPtrArray *names;                     /* of all columns */
  GHashTable *places;                   /* name → number of its first column, from 1 */
  GArray *features, *targets, *weights; /* LoomCsvField; at most one weight */
  int split_by;                         /* the column by which rows are divided into splits; -1: none */
  gboolean is_class;
  gboolean has_decimal_comma;
  gboolean row_is_read; /* the first line has data and has been read already */
  LoomCsvMissing missing;
} LoomCsvColumns;

void loom_csv_columns_init (LoomCsvColumns *self);
void loom_csv_columns_clear (LoomCsvColumns *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomCsvColumns, loom_csv_columns_clear)

/* Reads the first line, and finds the columns that the options name; FALSE with DATA or SCHEMA. */
gboolean loom_csv_choose_columns (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
                                  LoomCsvReader *reader, LoomCsvColumns *columns, GError **error);
void loom_csv_add_column (LoomCsvColumns *self, const char *name);
/* FALSE if there is no such field. */
gboolean loom_csv_find_field (const LoomCsvColumns *self, const char *name, LoomCsvField *field);
/* Appends a row's numbers of these fields: floats, NaN for a gap if gaps are allowed. */
gboolean loom_csv_append_numbers (const LoomCsvReader *reader, const LoomCsvColumns *columns, const GArray *which,
                                  GArray *out, GError **error);
/* For a row whose features are these numbers, the predicate about a word that is none of the two or more that features
 * of its column name: "“Oslo” in column “city” is a word that no feature names"; NULL if there is none. (transfer full)
 */
char *loom_csv_unknown_word (const LoomCsvReader *reader, const LoomCsvColumns *columns, const float *features);
/* TRUE if a number from index `from` on is missing. */
gboolean loom_csv_has_gap (const GArray *values, guint from);
