/* Makes the options of a data set from a guess about a table, and says why a column is no feature. */
#include "engine/data/csv-guess-private.h"
#include "engine/data/loom-csv-guess.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/csv-field.h"
#include "engine/data/loom-dataset.h"

/* ---- reasons -------------------------------------------------------------------- */

/* Digits in three groups, as in 2024-01-31, 31.1.24 and 1/31/2024 10:00; 1.234.567 is a number. */
static gboolean
is_date (const char *text)
{
  const char *p = text;

  for (int group = 0; group < 3; group++)
    {
      gsize n = strspn (p, "0123456789");

      if (n == 0 || n > (group == 1 ? 2 : 4) || (group < 2 && (p[n] == '\0' || strchr ("-/.", p[n]) == NULL)))
        return FALSE;
      p += n + (group < 2);
    }
  return *p == '\0' || *p == ' ' || *p == 'T';
}

const char *
loom_csv_why_no_number (const char *text)
{
  const gsize sign = *text == '-' || *text == '+', n = sign + strspn (text + sign, "0123456789.,' ");
  char *end;

  if (is_date (text))
    return "like a date, but not one that can be read; write it as YYYY-MM-DD, or as a number, such as days";
  if (strcspn (text, "0123456789") < n && text[n] == '\0')
    return "a number with separators between its digits; write it without them, such as 1234.5";
  if (n > sign && text[n] == '%')
    return "a percentage; remove the % sign";
  for (guint i = 0; loom_csv_currencies[i] != NULL; i++)
    if (strstr (text, loom_csv_currencies[i]) != NULL && strpbrk (text, "0123456789") != NULL)
      return "an amount of money; remove the currency sign";
  g_ascii_strtod (text, &end);
  return end != text && *end == '\0' ? "not finite" : NULL;
}

char *
loom_csv_column_reason (const LoomCsvGuess *self, guint i)
{
  const LoomCsvColumn *column = self->columns->pdata[i];
  const char *why = column->odd != NULL ? loom_csv_why_no_number (column->odd) : NULL;

  if (column->example == NULL)
    return g_strdup ("it is empty");
  if (*column->name == '\0')
    return g_strdup ("a column without a name that numbers or names the rows");
  if (column->role == LOOM_CSV_ID)
    return g_strdup ("it numbers or names the rows");
  if (!column->is_number && column->words != NULL)
    return g_strdup ("it was not chosen");
  if (column->odd != NULL && loom_dataset_is_picture_name (column->odd))
    return g_strdup_printf ("paths of pictures, such as “%s”; the data set image-table reads them", column->odd);
  if (why != NULL)
    return g_strdup_printf ("“%s” in line %u is %s", column->odd, column->odd_line, why);
  if (column->odd != NULL && column->n_odd + column->n_missing < self->n_rows)
    return g_strdup_printf ("“%s” in line %u is not a number", column->odd, column->odd_line);
  if (column->odd != NULL)
    return g_strdup_printf ("words, such as “%s”, with more than %d values, or each in few rows; replace them with "
                            "numbers",
                            column->odd, MOST_WORDS);
  return column->n_distinct < 2 ? g_strdup ("the same number in every row") : g_strdup ("it was not chosen");
}

/* ---- preparation ------------------------------------------------------------------ */

static gboolean
is_far_from_unit (const LoomCsvColumn *column, double most)
{
  return fabs (column->mean) > most || column->deviation > most || (column->deviation > 0 && column->deviation < 0.1);
}

void
loom_csv_guess_preparation (const LoomCsvGuess *self, const char **normalize, const char **missing)
{
  *normalize = "none";
  *missing = "refuse";
  for (guint i = 0; i < self->columns->len; i++)
    {
      const LoomCsvColumn *column = self->columns->pdata[i];

      if (column->role <= LOOM_CSV_TARGET && column->n_missing > 0
          && (column->role == LOOM_CSV_TARGET || column->is_number))
        *missing = "mean";
      if (column->role == LOOM_CSV_FEATURE && is_far_from_unit (column, 3))
        *normalize = "standard";
    }
}

void
loom_csv_guess_units (const LoomCsvGuess *self, double *scale, double *shift)
{
  guint n = 0;

  *scale = *shift = 0;
  for (guint i = 0; i < self->columns->len; i++)
    {
      const LoomCsvColumn *column = self->columns->pdata[i];

      if (column->role != LOOM_CSV_TARGET)
        continue;
      if (n++ == 0 && column->is_number && is_far_from_unit (column, 5))
        {
          *scale = column->deviation;
          *shift = column->mean;
        }
    }
  if (n > 1)
    *scale = *shift = 0;
}

/* ---- options ------------------------------------------------------------------------ */

/* The fields of a column, as options name them. */
static void
append_fields (GString *list, const LoomCsvColumn *column, LoomCsvRole role)
{
  const gboolean has_words = role == LOOM_CSV_FEATURE && !column->is_number && column->words != NULL;

  for (guint i = 0; i < (has_words ? column->words->len : 1); i++)
    {
      const char *end = has_words ? column->words->pdata[i] : column->notation;

      g_string_append_printf (list, "%s%s%s%s", list->len > 0 ? "," : "", column->name,
                              has_words     ? "="
                              : end != NULL ? ":"
                                            : "",
                              end != NULL ? end : "");
    }
}

/* The fields of the columns in a role, separated by commas; *n counts the columns, and *n_plain those of plain numbers.
 */
static char *
list_role (const LoomCsvGuess *self, LoomCsvRole role, guint *n, guint *n_plain)
{
  GString *list = g_string_new (NULL);

  *n = *n_plain = 0;
  for (guint i = 0; i < self->columns->len; i++)
    {
      const LoomCsvColumn *column = self->columns->pdata[i];

      if (column->role != role)
        continue;
      append_fields (list, column, role);
      ++*n;
      *n_plain += column->is_number && column->notation == NULL;
    }
  return g_string_free (list, FALSE);
}

static void
add_option (GStrvBuilder *builder, const char *name, const char *value)
{
  g_strv_builder_add (builder, name);
  g_strv_builder_add (builder, value);
}

/* If the numbers of a target have a notation that cannot be read, each would become a class. */
static gboolean
check_target (const LoomCsvGuess *self, guint i, GError **error)
{
  const LoomCsvColumn *column = self->columns->pdata[i];
  const gboolean is_mixed = column->n_odd * 2 + column->n_missing < self->n_rows;
  const char *why = column->odd != NULL ? loom_csv_why_no_number (column->odd) : NULL;

  if (column->n_distinct < 2 && self->is_whole && self->n_rows > 1)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        column->example != NULL
                            ? "The target “%s” is “%s” in every row, so nothing can be learnt. Choose "
                              "another target."
                            : "The target “%s” is empty%s in every row, so nothing can be learnt. "
                              "Choose another target.",
                        column->name, column->example != NULL ? column->example : "");
  if (self->target_is_class || column->odd == NULL || (why == NULL && !is_mixed))
    return TRUE;
  /* A few numbers and words that come back are classes; numbers of which one is infinite are not. */
  if (column->n_distinct <= MOST_NUMBERED && !(is_mixed && (why != NULL || column->n_distinct * 2 > self->n_rows)))
    return TRUE;
  return loom_refuse (
      error, LOOM_ERROR_DATA,
      "The target “%s” holds numbers that cannot be read: “%s” in line %u is %s. To predict classes, set "
      "target_type=\"class\".",
      column->name, column->odd, column->odd_line, why != NULL ? why : "no number");
}

/* is_listed: an option names the features. */
static gboolean
check_roles (const LoomCsvGuess *self, guint n_targets, guint n_features, gboolean is_classes, gboolean is_listed,
             GError **error)
{
  if (n_targets == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "Choose the target: the column to predict.");
  else if (n_features == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "Choose at least one feature: a column from which the target is predicted.");
  else if (n_targets > 1 && is_classes)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "Several targets must all be numbers, but one of these contains classes.");
  else
    {
      for (guint i = 0; i < self->columns->len; i++)
        {
          const LoomCsvColumn *column = self->columns->pdata[i];

          if (strchr (column->name, ',') != NULL
              && (column->role == LOOM_CSV_TARGET || (column->role == LOOM_CSV_FEATURE && is_listed)))
            {
              g_set_error (
                  error, LOOM_ERROR, LOOM_ERROR_DATA,
                  "The name of the column “%s” contains a comma, which separates names: rename it in the file, or "
                  "ignore it.",
                  column->name);
              return FALSE;
            }
          if (column->role == LOOM_CSV_TARGET && !check_target (self, i, error))
            return FALSE;
          if (column->role != LOOM_CSV_FEATURE || loom_csv_column_is_feature (column))
            continue;
          return loom_refuse (
              error, LOOM_ERROR_DATA,
              "The column “%s” contains words, such as “%s”, but a network needs numbers. Ignore it, or "
              "replace its words with numbers.",
              column->name, column->example != NULL ? column->example : "");
        }
      return TRUE;
    }
  return FALSE;
}

char **
loom_csv_guess_options (const LoomCsvGuess *self, const char *path, const char *normalize, const char *missing,
                        GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  guint n_targets, n_features, n_plain, n_of_targets;
  g_autofree char *targets = list_role (self, LOOM_CSV_TARGET, &n_targets, &n_of_targets);
  g_autofree char *features = list_role (self, LOOM_CSV_FEATURE, &n_features, &n_plain);
  const gboolean is_listed = n_targets + n_features < self->columns->len || n_plain < n_features;
  gboolean is_classes = FALSE;

  for (guint i = 0; i < self->columns->len; i++)
    if (((const LoomCsvColumn *)self->columns->pdata[i])->role == LOOM_CSV_TARGET)
      is_classes = is_classes
                   || (loom_csv_column_is_classes (self, i)
                       && (n_targets == 1 || !((const LoomCsvColumn *)self->columns->pdata[i])->is_number));
  if (!check_roles (self, n_targets, n_features, is_classes, is_listed, error))
    return NULL;
  add_option (builder, "path", path);
  add_option (builder, "target", targets);
  if (is_listed)
    add_option (builder, "features", features);
  if (self->delimiter != ',')
    add_option (builder, "delimiter", self->delimiter == '\t' ? "tab" : (const char[]){ self->delimiter, 0 });
  if (self->has_decimal_comma)
    add_option (builder, "decimal", "comma");
  if (!self->has_header)
    add_option (builder, "header", "false");
  if (!is_classes)
    add_option (builder, "target_type", "float");
  if (missing != NULL && strcmp (missing, "refuse") != 0)
    add_option (builder, "missing", missing);
  if (normalize != NULL && strcmp (normalize, "none") != 0)
    add_option (builder, "normalize", normalize);
  return g_strv_builder_end (builder);
}
