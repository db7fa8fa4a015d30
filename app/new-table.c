/* The options of a table that are not given to `gradloom new`, and the lines that it prints about them. */
#include "app/new-table.h"

#include "app/commands.h"

#include <string.h>

/* Names of columns of Sony's Neural Network Console, maybe followed by a title: x:image;photo. */
#define PICTURES "x:image"
#define LABELS   "y:label"

static const char *
find_option (char **options, const char *name)
{
  for (char **at = options; *at != NULL; at += 2)
    if (strcmp (*at, name) == 0)
      return at[1];
  return NULL;
}

static LoomCsvColumn *
find_column (const LoomCsvGuess *guess, const char *name)
{
  for (guint i = 0; i < guess->columns->len; i++)
    if (strcmp (((LoomCsvColumn *)guess->columns->pdata[i])->name, name) == 0)
      return guess->columns->pdata[i];
  return NULL;
}

/* The same for a field, such as city=Ulm. */
static LoomCsvColumn *
find_field (const LoomCsvGuess *guess, const char *name)
{
  LoomCsvColumn *column = find_column (guess, name);

  for (const char *p = strpbrk (name, "=:"); column == NULL && p != NULL; p = strpbrk (p + 1, "=:"))
    {
      g_autofree char *before = g_strndup (name, (gsize)(p - name));

      column = find_column (guess, before);
    }
  return column;
}

/* Assigns a role to the columns of a list, if there is one, and removes the role from all others. FALSE: a column does
 * not exist. */
static gboolean
set_role (LoomCsvGuess *guess, const char *list, LoomCsvRole role)
{
  g_auto (GStrv) names = list != NULL ? g_strsplit (list, ",", -1) : NULL;

  for (guint i = 0; names != NULL && i < guess->columns->len; i++)
    {
      LoomCsvColumn *column = guess->columns->pdata[i];

      if (column->role == role)
        column->role
            = role == LOOM_CSV_TARGET && loom_csv_column_is_feature (column) ? LOOM_CSV_FEATURE : LOOM_CSV_IGNORED;
    }
  for (char **name = names; name != NULL && *name != NULL; name++)
    {
      LoomCsvColumn *column = find_field (guess, g_strstrip (*name));

      if (column == NULL)
        return FALSE;
      column->role = role;
    }
  return TRUE;
}

static void
describe_left_out (const LoomCsvGuess *guess, char **given, GString *notes)
{
  for (guint i = 0; i < guess->columns->len; i++)
    {
      const LoomCsvColumn *column = guess->columns->pdata[i];
      g_autofree char *reason = loom_csv_column_reason (guess, i), *shown = command_printable (reason);
      g_autofree char *name = command_printable (column->name);

      if (column->role > LOOM_CSV_TARGET && find_option (given, "features") == NULL
          && g_strcmp0 (column->name, find_option (given, "weight")) != 0)
        g_string_append_printf (notes, "  left out: column %u%s%s: %s\n", i + 1, *name != '\0' ? ", " : "", name,
                                shown);
    }
}

#define MOST_LISTED 12 /* columns of plain numbers */

/* The features that are plain numbers, in one line. */
static void
describe_numbers (const LoomCsvGuess *guess, GString *notes)
{
  g_autoptr (GString) list = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < guess->columns->len; i++)
    {
      const LoomCsvColumn *column = guess->columns->pdata[i];
      g_autofree char *name = command_printable (column->name);

      if (column->role != LOOM_CSV_FEATURE || !column->is_number || column->notation != NULL)
        continue;
      if (n++ < MOST_LISTED)
        g_string_append_printf (list, "%s%s", n > 1 ? ", " : "", name);
    }
  if (n > MOST_LISTED)
    g_string_append_printf (list, " and %u more", n - MOST_LISTED);
  if (n > 0)
    g_string_append_printf (notes, "  numbers: %s\n", list->str);
}

/* The form of the file, as far as it was guessed and is not the usual one. */
static void
describe_form (const LoomCsvGuess *guess, char **given, GString *notes)
{
  static const char *const names[] = { [';'] = "semicolons", ['\t'] = "tabs", ['|'] = "vertical bars" };

  if (guess->first_line > 1)
    g_string_append_printf (notes, "  the table begins in line %u\n", guess->first_line);
  if (find_option (given, "delimiter") == NULL && guess->delimiter != ',')
    g_string_append_printf (notes, "  columns are separated by %s\n", names[(guchar)guess->delimiter]);
  if (find_option (given, "decimal") == NULL && guess->has_decimal_comma)
    g_string_append (notes, "  numbers have a decimal comma (decimal=comma)\n");
  if (find_option (given, "header") == NULL && !guess->has_header)
    g_string_append_printf (notes, "  no line of names: the columns are c1 to c%u (header=false)\n",
                            guess->columns->len);
}

/* Prints a line for each decision that the table's options have left open. */
static void
describe_table (const LoomCsvGuess *guess, char **given, char **options, GString *notes)
{
  const gboolean is_class = g_strcmp0 (find_option (options, "target_type"), "float") != 0;
  const LoomCsvColumn *target = find_field (guess, find_option (options, "target"));
  g_autofree char *target_name = command_printable (find_option (options, "target"));

  describe_form (guess, given, notes);
  g_string_append_printf (notes, "  target %s: %s\n", target_name,
                          is_class ? "a class; for a number set target_type=float"
                                   : "a number; for classes set target_type=class");
  if (is_class && target != NULL && target->n_distinct * 2 > guess->n_rows)
    g_string_append_printf (notes, "  most rows of %s have a different class, which no net can learn\n", target_name);
  if (find_option (given, "features") == NULL)
    describe_numbers (guess, notes);
  for (guint i = 0; i < guess->columns->len; i++)
    {
      const LoomCsvColumn *column = guess->columns->pdata[i];
      g_autofree char *name = command_printable (column->name);
      g_autofree char *reading = column->role == LOOM_CSV_FEATURE || (column->role == LOOM_CSV_TARGET && !is_class)
                                     ? loom_csv_column_reading (column)
                                     : NULL;

      if (reading != NULL && (column->role == LOOM_CSV_TARGET || find_option (given, "features") == NULL))
        g_string_append_printf (notes, "  %s: %s\n", name, reading);
      if (column->role <= LOOM_CSV_TARGET && column->n_missing > 0
          && (column->is_number || column->role == LOOM_CSV_TARGET) && find_option (given, "missing") == NULL)
        g_string_append_printf (
            notes, "  %s has %u gap%s: %s (missing=mean)\n", name, column->n_missing, column->n_missing == 1 ? "" : "s",
            column->role == LOOM_CSV_FEATURE ? "filled with the mean" : "rows without it are dropped");
    }
  if (find_option (given, "normalize") == NULL && g_strcmp0 (find_option (options, "normalize"), "standard") == 0)
    g_string_append (notes, "  each feature is scaled to mean 0 and deviation 1 (normalize=standard)\n");
  describe_left_out (guess, given, notes);
}

char **
new_table_complete (char **given, const char *folder, LoomTemplateData *data, GString *notes, GError **error)
{
  const char *path = find_option (given, "path"), *delimiter = find_option (given, "delimiter");
  const char *header = find_option (given, "header");
  const char *normalize, *missing;
  g_autofree char *file = path != NULL ? g_canonicalize_filename (path, folder) : NULL;
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autoptr (LoomCsvGuess) guess = NULL;
  g_autoptr (GError) unreadable = NULL;
  g_auto (GStrv) seen = NULL, complete = NULL;

  if (file == NULL)
    return g_strdupv (given);
  guess = loom_csv_guess_file (file, delimiter == NULL ? 0 : (g_str_equal (delimiter, "tab") ? '\t' : *delimiter),
                               header == NULL ? -1 : g_str_equal (header, "true"), &unreadable);
  if (guess == NULL && find_option (given, "target") == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&unreadable));
      return NULL;
    }
  if (guess == NULL || !set_role (guess, find_option (given, "features"), LOOM_CSV_FEATURE)
      || !set_role (guess, find_option (given, "target"), LOOM_CSV_TARGET)
      || (find_option (given, "weight") != NULL && find_column (guess, find_option (given, "weight")) == NULL))
    return g_strdupv (given);
  if (find_option (given, "weight") != NULL)
    find_column (guess, find_option (given, "weight"))->role = LOOM_CSV_IGNORED;
  guess->target_is_class = g_strcmp0 (find_option (given, "target_type"), "class") == 0;
  loom_csv_guess_preparation (guess, &normalize, &missing);
  seen = loom_csv_guess_options (guess, path, normalize, missing, error);
  if (seen == NULL)
    {
      g_autofree char *sentence = (*error)->message;

      describe_left_out (guess, given, notes);
      (*error)->message = g_strchomp (g_strconcat (sentence, notes->str, NULL));
      return NULL;
    }
  for (char **at = given; *at != NULL; at += 2)
    {
      const LoomCsvColumn *column = g_str_equal (*at, "target") ? find_column (guess, at[1]) : NULL;

      /* A target whose numbers have another notation is a field. */
      g_strv_builder_addv (
          builder,
          (const char *[]){ at[0], column != NULL && column->notation != NULL ? find_option (seen, "target") : at[1],
                            NULL });
    }
  for (char **at = seen; *at != NULL; at += 2)
    if (find_option (given, *at) == NULL)
      g_strv_builder_addv (builder, (const char *[]){ at[0], at[1], NULL });
  complete = g_strv_builder_end (builder);

  if (g_strcmp0 (find_option (complete, "target_type"), "float") == 0)
    loom_csv_guess_units (guess, &data->scale, &data->shift);
  describe_table (guess, given, complete, notes);
  return g_steal_pointer (&complete);
}

/* ---- pictures ----------------------------------------------------------------------- */

/* The column of paths of pictures: that of Sony's Neural Network Console, or one without columns of numbers. */
static const LoomCsvColumn *
find_pictures (const LoomCsvGuess *guess)
{
  const LoomCsvColumn *found = NULL;
  gboolean has_features = FALSE;

  for (guint i = 0; i < guess->columns->len; i++)
    {
      const LoomCsvColumn *column = guess->columns->pdata[i];

      if (column->odd != NULL && loom_dataset_is_picture_name (column->odd))
        {
          if (g_str_has_prefix (column->name, PICTURES))
            return column;
          found = found == NULL ? column : found;
        }
      has_features |= column->role == LOOM_CSV_FEATURE && column->is_number;
    }
  return has_features ? NULL : found;
}

gboolean
new_table_has_pictures (const char *path)
{
  g_autoptr (LoomCsvGuess) guess = loom_csv_guess_file (path, 0, -1, NULL);

  return guess != NULL && find_pictures (guess) != NULL;
}

/* The column of labels: the one that is given, one whose name says so, or the only other one. */
static LoomCsvColumn *
find_labels (const LoomCsvGuess *guess, const LoomCsvColumn *pictures, const char *given)
{
  static const char *const names[] = { LABELS, "label", "class", "target", "category" };
  LoomCsvColumn *other = NULL;
  guint n = 0;

  if (given != NULL)
    return find_column (guess, given);
  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    for (guint i = 0; i < guess->columns->len; i++)
      {
        LoomCsvColumn *column = guess->columns->pdata[i];
        const gsize length = strlen (names[k]);

        if (g_ascii_strncasecmp (column->name, names[k], length) == 0 && strchr (";", column->name[length]) != NULL)
          return column;
      }
  for (guint i = 0; i < guess->columns->len; i++)
    if (guess->columns->pdata[i] != pictures && ++n == 1)
      other = guess->columns->pdata[i];
  return n == 1 ? other : NULL;
}

static guint
place_of (const LoomCsvGuess *guess, const LoomCsvColumn *column)
{
  guint i = 0;

  g_ptr_array_find (guess->columns, column, &i);
  return i;
}

char **
new_table_complete_pictures (char **given, const char *folder, GString *notes, GError **error)
{
  g_autofree char *file = g_canonicalize_filename (find_option (given, "path"), folder);
  g_autoptr (LoomCsvGuess) guess = loom_csv_guess_file (file, 0, -1, error);
  const LoomCsvColumn *pictures = guess != NULL ? find_pictures (guess) : NULL, *labels = NULL;
  const char *target = find_option (given, "target");
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  if (guess == NULL)
    return NULL;
  for (char **at = given; *at != NULL; at += 2)
    if (!g_str_equal (*at, "target"))
      g_strv_builder_addv (builder, (const char *[]){ at[0], at[1], NULL });
  if (find_option (given, "image") == NULL && pictures != NULL && !g_str_has_prefix (pictures->name, PICTURES))
    g_strv_builder_addv (builder, (const char *[]){ "image", pictures->name, NULL });
  labels = find_labels (guess, pictures, target != NULL ? target : find_option (given, "label"));
  if (find_option (given, "label") == NULL && labels != NULL && !g_str_has_prefix (labels->name, LABELS))
    g_strv_builder_addv (builder, (const char *[]){ "label", labels->name, NULL });
  if (pictures != NULL && labels != NULL)
    {
      const gboolean is_class = loom_csv_column_is_classes (guess, place_of (guess, labels));
      g_autofree char *image_name = command_printable (pictures->name), *label_name = command_printable (labels->name);

      g_string_append_printf (notes, "  %s: paths of pictures\n", image_name);
      if (find_option (given, "target_type") == NULL)
        g_string_append_printf (notes, "  target %s: %s\n", label_name,
                                is_class ? "a class; for a number set target_type=float"
                                         : "a number; for classes set target_type=class");
      if (find_option (given, "target_type") == NULL && !is_class)
        g_strv_builder_addv (builder, (const char *[]){ "target_type", "float", NULL });
    }
  return g_strv_builder_end (builder);
}
