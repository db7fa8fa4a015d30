/* The fields of a table that a data set reads, as options name them: a column (“age”), a column whose numbers have
 * another notation (“when:days”), or one value of a column of words (“city=Ulm”), which is 1 in rows with this value
 * and else 0. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *name; /* after the colon */
  const char *doc;  /* what is read, for users: "dates, as days since 1970-01-01" */
  /* FALSE if the text does not have this notation. */
  gboolean (*read) (const char *text, gboolean has_decimal_comma, double *value);
} LoomCsvNotation;

/* Ends with name NULL. */
extern const LoomCsvNotation loom_csv_notations[];
extern const char *const loom_csv_currencies[]; /* signs; ends with NULL */

typedef struct
{
  char *name; /* as the option has it */
  guint column;
  const LoomCsvNotation *notation; /* NULL: plain numbers */
  char *value;                     /* of a column of words; NULL: numbers */
} LoomCsvField;

/* An array that frees its fields. */
GArray *loom_csv_fields_new (void);
/* Finds the column of a field. find: the number of a column, or −1. A column of exactly this name comes first. */
gboolean loom_csv_field_parse (const char *name, int (*find) (gconstpointer data, const char *column),
                               gconstpointer data, LoomCsvField *field);
/* FALSE if the text is no number of the field's notation. */
gboolean loom_csv_field_read (const LoomCsvField *field, const char *text, gboolean has_decimal_comma, double *value);
