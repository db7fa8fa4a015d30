/* Guesses the format of a CSV table: its separator, whether its first line names the columns, the type and role of each
 * column. Only the beginning of the file is read, so a table of gigabytes takes no longer than a small one. */
#pragma once

#include <glib.h>

/* The role of a column. */
typedef enum
{
  LOOM_CSV_FEATURE, /* numbers, or a few words, that the network reads */
  LOOM_CSV_TARGET,  /* the value to predict */
  LOOM_CSV_IGNORED, /* words, or one value everywhere */
  LOOM_CSV_ID,      /* names the row; not a feature either */
  LOOM_CSV_N_ROLES
} LoomCsvRole;

const char *loom_csv_role_title (LoomCsvRole role);

typedef struct
{
  char *name; /* "c1", "c2" … if no line names them */
  LoomCsvRole role;
  gboolean is_number, is_integer; /* of all values that are not missing */
  const char *notation;           /* of numbers with another one: "days", as in NAME:days; NULL: plain numbers */
  GPtrArray *words;               /* the values in order, if they are a few words; else NULL */
  guint n_missing;
  guint n_distinct;                         /* number of different values, up to LOOM_CSV_DISTINCT */
  double minimum, maximum, mean, deviation; /* of a column of numbers */
  char *example;                            /* the first value that is not missing; NULL: there is none */
  char *odd;                                /* the first value that is no number; NULL: there is none */
  guint odd_line, n_odd;                    /* its line, and the number of values that are no numbers */
} LoomCsvColumn;

/* The maximum number of different values that are counted. A column with more has no classes. */
#define LOOM_CSV_DISTINCT 51

typedef struct
{
  char delimiter;
  gboolean target_is_class;   /* set by the caller, whatever its values are */
  gboolean has_decimal_comma; /* numbers have a decimal comma: 6,1 */
  gboolean has_header;
  guint first_line;   /* the line of its first row */
  GPtrArray *columns; /* LoomCsvColumn */
  guint n_rows;       /* number of rows that were read */
  gboolean is_whole;  /* the file has no further rows */
  guint64 size;       /* of the file, in bytes */
} LoomCsvGuess;

/* delimiter 0 and has_header −1 are guessed. NULL with IO if the file cannot be read, and with DATA if it is no table:
 * empty, no text, a single column, or rows of different lengths; the error names the fault and its location. */
LoomCsvGuess *loom_csv_guess_file (const char *path, char delimiter, int has_header, GError **error);
void loom_csv_guess_free (LoomCsvGuess *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCsvGuess, loom_csv_guess_free)

/* TRUE if the column's values are names of classes: words, a few whole numbers from 0, or two numbers such as −1 and
 * 1. */
gboolean loom_csv_column_is_classes (const LoomCsvGuess *self, guint column);
/* How a feature or a target that is not of plain numbers is read: "dates, as days since 1970-01-01"; NULL for plain
 * numbers. (transfer full) */
char *loom_csv_column_reading (const LoomCsvColumn *column);
/* TRUE if a feature can be made of the column. */
gboolean loom_csv_column_is_feature (const LoomCsvColumn *column);
/* The reason why a column that is ignored or names the row is no feature: "words, such as “Ulm”". (transfer full) */
char *loom_csv_column_reason (const LoomCsvGuess *self, guint column);
/* Suggests options for these features and targets: how to fill gaps ("mean", otherwise "refuse"), and whether to
 * normalise ("standard", otherwise "none"). Columns whose numbers are far from 0, or have a very large or small range,
 * are normalised, because such features are hard to learn together. */
void loom_csv_guess_preparation (const LoomCsvGuess *self, const char **normalize, const char **missing);
/* The deviation and the mean of a single target whose numbers are far from 0, or have a very large or small range; else
 * 0 and 0. */
void loom_csv_guess_units (const LoomCsvGuess *self, double *scale, double *shift);
/* TRUE if the text means a missing value: "", "NA", "nan", "null", "?" … */
gboolean loom_csv_is_missing (const char *text);
/* The same for a class, which may be named “none” or “-”. */
gboolean loom_csv_is_missing_label (const char *text);
/* FALSE if the text is no finite number with this decimal sign. */
gboolean loom_csv_read_number (const char *text, gboolean has_decimal_comma, double *value);

/* Values of the option decimal. */
extern const char *const loom_csv_decimal_choices[];

/* The options of the data set "csv" for columns in these roles, as name, value, …, NULL. (transfer full) Options with
 * their default value are left out. path is used unchanged. NULL with DATA if there is no target, no feature, or a
 * feature that is no number. */
char **loom_csv_guess_options (const LoomCsvGuess *self, const char *path, const char *normalize, const char *missing,
                               GError **error);
