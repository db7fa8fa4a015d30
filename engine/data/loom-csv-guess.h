/* Guesses the format of a CSV table: its separator, whether its first line names the columns, the type and role of each
 * column. Only the head of the file is read, so a table of gigabytes takes no longer than a small one. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The use of a column. */
typedef enum
{
  LOOM_CSV_FEATURE, /* a number that the network reads */
  LOOM_CSV_TARGET,  /* the value to predict */
  LOOM_CSV_IGNORED, /* words, or the same everywhere */
  LOOM_CSV_ID,      /* names the row; left out, too */
  LOOM_CSV_N_ROLES
} LoomCsvRole;

const char *loom_csv_role_title (LoomCsvRole role);

typedef struct
{
  char *name; /* "c1", "c2" … where no line names them */
  LoomCsvRole role;
  gboolean is_number, is_integer; /* all values that are there */
  guint n_missing;
  guint n_distinct;                         /* counted up to LOOM_CSV_DISTINCT */
  double minimum, maximum, mean, deviation; /* of numbers */
  char *example;                            /* the first value that is there; NULL: none is */
  char *odd;                                /* the first value that is no number; NULL: none is */
  guint odd_line, n_odd;                    /* its line, and the number of such values */
} LoomCsvColumn;

/* More different values than this are not counted, and are no classes. */
#define LOOM_CSV_DISTINCT 51

typedef struct
{
  char delimiter;
  gboolean target_is_class;   /* set by the caller, independent of its values */
  gboolean has_decimal_comma; /* numbers are written 6,1 */
  gboolean has_header;
  GPtrArray *columns; /* LoomCsvColumn */
  guint n_rows;       /* that were looked at */
  gboolean is_whole;  /* these are all rows of the file */
  guint64 size;       /* of the file, in bytes */
} LoomCsvGuess;

/* delimiter 0 and has_header -1 are guessed. NULL with IO if the file cannot be read, and with DATA if it is no table:
 * empty, no text, a single column, or rows of different lengths; the error names the fault and its place. */
LoomCsvGuess *loom_csv_guess_file (const char *path, char delimiter, int has_header, GError **error);
void loom_csv_guess_free (LoomCsvGuess *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCsvGuess, loom_csv_guess_free)

/* TRUE if the column's values are names of classes: words, a few whole numbers from 0, or two numbers such as -1 and 1.
 */
gboolean loom_csv_column_is_classes (const LoomCsvGuess *self, guint column);
/* Why a column that is ignored or names the row is no feature: "words, such as “Ulm”". (transfer full) */
char *loom_csv_column_reason (const LoomCsvGuess *self, guint column);
/* The suggested options for these features and targets: to fill gaps ("mean", else "refuse"), and to normalise
 * ("standard", else "none") if a column's numbers are far from 0 or spread far or little, as such features learn badly
 * together. */
void loom_csv_guess_preparation (const LoomCsvGuess *self, const char **normalize, const char **missing);
/* The deviation and the mean of a single target whose numbers are far from 0 or spread far or little; else 0 and 0. */
void loom_csv_guess_units (const LoomCsvGuess *self, double *scale, double *shift);
/* TRUE if the text stands for a value that is not there: "", "NA", "nan", "null", "?" … */
gboolean loom_csv_is_missing (const char *text);
/* The same of a class: the words “none” and “-” may name one. */
gboolean loom_csv_is_missing_label (const char *text);
/* FALSE if the text is no finite number with this sign before its fraction. */
gboolean loom_csv_read_number (const char *text, gboolean has_decimal_comma, double *value);

/* Values of the option decimal. */
extern const char *const loom_csv_decimal_choices[];

/* Options of the data set "csv" for columns in these roles, as name, value, …, NULL (transfer full); those that are the
 * defaults are left out. path is used unchanged. NULL with DATA if there is no target, no feature, or a
 * feature that is no number. */
char **loom_csv_guess_options (const LoomCsvGuess *self, const char *path, const char *normalize, const char *missing,
                               GError **error);

G_END_DECLS
