/* Tables as text: guesses from them, and the treatment of gaps and columns. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "engine/core/loom-error.h"
#include "engine/data/csv-field.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-dataset.h"
#include "tests/test-program.h"

static char *path; /* of the file that the next assertion reads */

static void
write_text (const char *text)
{
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static LoomCsvGuess *
guess (const char *text)
{
  g_autoptr (GError) error = NULL;
  LoomCsvGuess *self;

  write_text (text);
  self = loom_csv_guess_file (path, 0, -1, &error);
  g_assert_no_error (error);
  return self;
}

static const LoomCsvColumn *
column (const LoomCsvGuess *self, const char *name)
{
  for (guint i = 0; i < self->columns->len; i++)
    if (strcmp (((LoomCsvColumn *)self->columns->pdata[i])->name, name) == 0)
      return self->columns->pdata[i];
  g_error ("There is no column %s.", name);
}

/* The options of a guess, as one text. */
static char *
options_of (const LoomCsvGuess *self)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) options = loom_csv_guess_options (self, "t.csv", NULL, NULL, &error);

  g_assert_no_error (error);
  return g_strjoinv (" ", options);
}

static void
test_guess (void)
{
  static const struct
  {
    const char *text, *options;
  } cases[] = {
    { "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n", "path t.csv target kind" },
    { "id;name;length;width\n1;Ann;1.5;2\n2;Bo;2.5;7\n3;Cy;3;5.5\n4;Di;9;1\n",
      "path t.csv target width features length delimiter ; target_type float" },
    { "1\t2\t0\n3\t4\t1\n5\t6\t0\n9\t8\t1\n", "path t.csv target c3 delimiter tab header false" },
    { "\xef\xbb\xbf\"a, or so\",price\r\n1,100.5\r\n2,300\r\n", NULL },
    { "species,length\nrose,1\ntulip,2\nrose,3\ntulip,5\n", "path t.csv target species" },
    /* The names of data frames' rows have no name themselves, and a name may be a number. */
    { ",a,price\n0,1,10.5\n1,4,20\n2,2,35.5\n3,9,40\n", "path t.csv target price features a target_type float" },
    { ",2019,price\nUlm,1,10.5\nBonn,4,20\nKiel,2,35.5\n", "path t.csv target price features 2019 target_type float" },
    { "land,2019,2020\nPeru,1.5,10.5\nMali,4,20\nOman,2,35.5\n",
      "path t.csv target 2020 features 2019 target_type float" },
    { "0,1,price\n5,1,10.5\n1,4,20\n9,2,35.5\n", "path t.csv target price target_type float" },
    { "0,0;0,5;x\n1,1;1,5;y\n2,2;2,5;x\n", "path t.csv target c3 delimiter ; decimal comma header false" },
    { "a;b;p\n70,5;1;209.700 €\n32,25;2;€ 145.765\n80,1;4;-1.100.000,99€\n",
      "path t.csv target p:money delimiter ; decimal comma target_type float" },
    { "a;b;p\n70,5;1;209.700\n32,25;2;145.765\n80,1;4;1.100.000\n",
      "path t.csv target p:grouped delimiter ; decimal comma target_type float" },
    { "a;b;kind\n0,5;1;x\n1,25;2;y\n2;3;x\n4;9;y\n", "path t.csv target kind delimiter ; decimal comma" },
    /* Lines that begin with # are skipped, unless they are the names; a line of units is below names. */
    { "# a logger, of 2024\n# version;2;x;y\na;b;kind\n1;2;x\n2;4;y\n5;3;x\n", "path t.csv target kind delimiter ;" },
    { "# a,b,kind\n1,2,x\n2,4,y\n5,3,x\n7,1,y\n", "path t.csv target kind" },
    { "#colour;a;b\n#ff0000;1;2\n#00ff00;2;3\n#0000ff;4;1\n",
      "path t.csv target b features a delimiter ; target_type float" },
    { "t,v,p\ns,V,W\n0,1.5,2\n1,2.5,3\n2,3,7\n", NULL },
    /* Some programs name the delimiter, and leave lines of blanks at the end. */
    { "sep=;\r\na;b;kind\r\n1;5;x\r\n2;4;y\r\n   \r\n  ", "path t.csv target kind delimiter ;" },
    /* What counts from elsewhere, or is all that there is, is a feature. */
    { "a,b,y\n5,7,0.5\n6,2,3\n7,1,2.5\n8,9,7\n", "path t.csv target y target_type float" },
    { "a,y\n0,0.5\n1,3\n2,2.5\n3,7\n", "path t.csv target y target_type float" },
    { "a,y\n3,-1\n1,1\n2,-1\n5,1\n", "path t.csv target y" },
    { "a,y\n3,1\n1,2\n2,3\n5,4\n", "path t.csv target y target_type float" },
    /* No such line, but a name. */
    { "sep=a,b\n1,x\n4,y\n2,x\n5,y\n", "path t.csv target b" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomCsvGuess) self = guess (cases[i].text);
      g_autofree char *options = cases[i].options != NULL ? options_of (self) : NULL;

      g_assert_cmpstr (options, ==, cases[i].options);
    }
}

static void
test_columns (void)
{
  g_autoptr (LoomCsvGuess) self = guess ("id,age,town,same,y\n"
                                         "1,20,Ulm,5,0\n"
                                         "2,NA,Bonn,5,1\n"
                                         "3,40,Ulm,5,0\n"
                                         "4,60,,5,1\n");
  const LoomCsvColumn *age = column (self, "age");

  g_assert_true (self->has_header && self->is_whole);
  g_assert_cmpuint (self->n_rows, ==, 4);
  g_assert_cmpint (column (self, "id")->role, ==, LOOM_CSV_ID);
  g_assert_cmpint (column (self, "town")->role, ==, LOOM_CSV_FEATURE);
  g_assert_cmpuint (column (self, "town")->words->len, ==, 2);
  g_assert_cmpint (column (self, "same")->role, ==, LOOM_CSV_IGNORED);
  g_assert_cmpint (column (self, "y")->role, ==, LOOM_CSV_TARGET);
  g_assert_true (age->is_number && age->is_integer);
  g_assert_cmpuint (age->n_missing, ==, 1);
  g_assert_cmpfloat (age->mean, ==, 40);
  g_assert_cmpfloat_with_epsilon (age->deviation, sqrt (800.0 / 3), 1e-9);
  g_assert_false (column (self, "town")->is_number);
  g_assert_cmpuint (column (self, "town")->n_distinct, ==, 2);
  g_assert_true (loom_csv_column_is_classes (self, 4));
}

static void
test_no_table (void)
{
  static const struct
  {
    const char *text, *words;
  } cases[] = {
    { "", "is empty" },
    { "a\n1\n2\n", "a single column" },
    { "a,b\n", "no rows below" },
    { "a,b\n1,2\n1,2,3\n", "line 3 has 3 fields, but the first line has 2" },
    { "a,b\n\xff\xfe,2\n", "not UTF-8" },
    { "a,b\n1,\"2\n", "is not closed" },
    { "sep=\"\na,b\n1,2\n", "line 2 has 2 fields, but the first line has 1: check that “,” is" },
    { "\x89HDF\r\n\x1a\n", "t.csv” is an HDF5 file; save" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      write_text (cases[i].text);
      g_assert_null (loom_csv_guess_file (path, 0, -1, &error));
      g_assert_nonnull (strstr (error->message, cases[i].words));
    }
  g_unlink (path);
  g_assert_null (loom_csv_guess_file (path, 0, -1, NULL));
}

static void
test_refused_roles (void)
{
  g_autoptr (LoomCsvGuess) self = guess ("a,town,y\n1,Ulm,2.5\n2,Bonn,3.5\n5,Ulm,1.5\n");
  LoomCsvColumn *town = self->columns->pdata[1], *a = self->columns->pdata[0], *y = self->columns->pdata[2];
  g_autoptr (GError) error = NULL;

  town->role = LOOM_CSV_FEATURE;
  g_assert_null (loom_csv_guess_options (self, "t.csv", NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "contains words, such as “Ulm”"));
  g_clear_error (&error);
  town->role = a->role = LOOM_CSV_IGNORED;
  g_assert_null (loom_csv_guess_options (self, "t.csv", NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "at least one feature"));
  g_clear_error (&error);
  y->role = LOOM_CSV_FEATURE;
  g_assert_null (loom_csv_guess_options (self, "t.csv", NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "to predict"));
}

/* Omitted columns are reported with a reason. */
static void
test_reasons (void)
{
  static const struct
  {
    const char *name, *reason;
  } cases[] = {
    { "", "a column without a name that numbers or names the rows" },
    { "when", "“1/31/2024” in line 2 is like a date, but not one that can be read; write it as YYYY-MM-DD, or as a number, "
      "such as days" },
    { "cost",
      "“1,000,00” in line 2 is a number with separators between its digits; write it without them, such as 1234.5" },
    { "paid", "“$7” in line 2 is an amount of money; remove the currency sign" },
    { "people",
      "“1.234.567” in line 2 is a number with separators between its digits; write it without them, such as 1234.5" },
    { "share", "“5%” in line 2 is a percentage; remove the % sign" },
    { "far", "“inf” in line 3 is not finite" },
    { "mixed", "“x” in line 4 is not a number" },
    { "town", "words, such as “Ulm”, with more than 20 values, or each in few rows; replace them with numbers" },
    { "flat", "the same number in every row" },
    { "gap", "it is empty" },
    { "n", "it numbers or names the rows" },
  };
  g_autoptr (LoomCsvGuess) self = guess (",when,cost,paid,people,share,far,mixed,town,flat,gap,n,a,y\n"
                                         "0,1/31/2024,\"1,000,00\",$7,1.234.567,5%,1,1,Ulm,7,NA,1,3,0\n"
                                         "1,2/1/2024,\"1,001\",$8k,2.345.678,0.06,inf,2,Bonn,7,,2,9,1\n"
                                         "2,2/2/2024,\"1,002\",$9,3.456.789,7%,2,x,Ulm,7,?,3,4,0\n"
                                         "3,2/3/2024,\"1,003\",$6,4.567.890,8%,3,4,Kiel,7,-,4,2,1\n");
  g_autofree char *options = options_of (self);

  g_assert_cmpstr (options, ==, "path t.csv target y features a");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *reason = loom_csv_column_reason (self, i);

      g_assert_cmpstr (column (self, cases[i].name)->name, ==, cases[i].name);
      g_assert_cmpstr (reason, ==, cases[i].reason);
    }
}

/* Words, dates, percentages and separated numbers are features, and read as their names say. */
static void
test_fields (void)
{
  static const char *const notations[] = { "when",
                                           "days",
                                           "2024-01-31",
                                           "19753",
                                           "when",
                                           "days",
                                           "31.1.2024",
                                           "19753",
                                           "when",
                                           "days",
                                           "1970-01-02 12:00",
                                           "1.5",
                                           "rate",
                                           "percent",
                                           "12.5 %",
                                           "12.5",
                                           "cost",
                                           "grouped",
                                           "-1,234,567.5",
                                           "-1234567.5",
                                           "cost",
                                           "grouped",
                                           "12",
                                           "12",
                                           "cost",
                                           "grouped",
                                           "1 234",
                                           "1234",
                                           NULL };
  static const char *const bad[]
      = { "when", "days",    "2024-02-30", "when", "days",    "1/2/2024",  "rate", "percent", "12",
          "cost", "grouped", "1,23",       "cost", "grouped", "1,234 567", "cost", "grouped", "0,123",
          "cost", "money",   "5",          "cost", "money",   "1$5",       NULL };
  const char *const options[] = { "path",
                                  path,
                                  "target",
                                  "y",
                                  "target_type",
                                  "float",
                                  "test_fraction",
                                  "0",
                                  "features",
                                  "town=Ulm,town = Bad Orb,when:days,rate:percent,cost:grouped",
                                  NULL };
  const LoomDatasetOptions how = { .get = loom_dataset_options_from_strv, .data = options };
  static const float want[] = { 1, 0, 19753, 5, 1000, 0, 1, 19754, 6, 2500000, 0, 0, 19755, 7, 3 };
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  const gint64 rows[] = { 0, 1, 2 };

  for (guint i = 0; notations[i] != NULL; i += 4)
    {
      double value = 0;

      for (const LoomCsvNotation *n = loom_csv_notations; n->name != NULL; n++)
        if (g_str_equal (n->name, notations[i + 1]))
          g_assert_true (n->read (notations[i + 2], FALSE, &value));
      g_assert_cmpfloat (value, ==, g_ascii_strtod (notations[i + 3], NULL));
    }
  for (guint i = 0; bad[i] != NULL; i += 3)
    for (const LoomCsvNotation *n = loom_csv_notations; n->name != NULL; n++)
      {
        double value;

        g_assert_false (g_str_equal (n->name, bad[i + 1]) && n->read (bad[i + 2], FALSE, &value));
      }

  g_autoptr (LoomCsvGuess) self = guess ("town,when,rate,cost,y\nUlm,2024-01-31,5%,\"1,000\",1.5\n"
                                         "Bad Orb,2024-02-01,6%,\"2,500,000\",2.5\nKiel,2024-02-02,7%,3,4\n");
  text = options_of (self);
  g_assert_cmpstr (text, ==, "path t.csv target y features when:days,rate:percent,cost:grouped target_type float");
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("csv", &how, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (loom_dataset_feature_names (dataset)[2], ==, "when:days");
  g_assert_nonnull (
      strstr (loom_dataset_note (dataset), "line 4: “Kiel” in column “town” is a word that no feature names"));
  g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, rows, 3, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    g_assert_cmpfloat (loom_tensor_get (read->pdata[0], i), ==, (double)want[i]);

  /* Few words that come back are features; numbers with a stray word are not. */
  g_autoptr (LoomCsvGuess) words = guess ("town,odd,y\nUlm,1,1.5\nBonn,1,2.5\nUlm,x,3\nBonn,1,4.5\n");
  g_autofree char *of_words = options_of (words);
  g_assert_cmpstr (of_words, ==, "path t.csv target y features town=Bonn,town=Ulm target_type float");
}

/* Numbers that are written for people make no class each. */
static void
test_target_of_numbers (void)
{
  g_autoptr (GString) text = g_string_new ("a,price\n");
  g_autoptr (LoomCsvGuess) self = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) options = NULL;

  for (guint i = 0; i < 30; i++)
    g_string_append_printf (text, "%u,$1%03uk\n", i * 7 % 30, i);
  self = guess (text->str);
  g_assert_null (loom_csv_guess_options (self, "t.csv", NULL, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (
      strstr (error->message, "“price” holds numbers that cannot be read: “$1000k” in line 2 is an amount"));
  self->target_is_class = TRUE;
  /* An infinite number among others makes no class of each. */
  g_autoptr (LoomCsvGuess) infinite = guess ("a,y\n1,inf\n3,5.5\n2,7\n9,1\n");
  g_autoptr (GError) why = NULL;
  g_assert_null (loom_csv_guess_options (infinite, "t.csv", NULL, NULL, &why));
  g_assert_nonnull (strstr (why->message, "“inf” in line 2 is not finite"));
  /* There is no target if all rows have the same value. */
  g_autoptr (LoomCsvGuess) same = guess ("a,y\n1,5\n3,5\n2,5\n");
  g_autoptr (GError) nothing = NULL;
  g_assert_null (loom_csv_guess_options (same, "t.csv", NULL, NULL, &nothing));
  g_assert_nonnull (strstr (nothing->message, "“y” is “5” in every row"));
  options = loom_csv_guess_options (self, "t.csv", NULL, NULL, NULL);
  g_assert_nonnull (options);
}

static void
test_preparation (void)
{
  g_autoptr (LoomCsvGuess) small = guess ("a,y\n0.5,1.5\n-1,0.5\n2,-1.25\n");
  const char *normalize, *missing;
  double scale, shift;

  loom_csv_guess_preparation (small, &normalize, &missing);
  g_assert_cmpstr (normalize, ==, "none");
  g_assert_cmpstr (missing, ==, "refuse");
  loom_csv_guess_units (small, &scale, &shift);
  g_assert_cmpfloat (scale, ==, 0);
  g_autoptr (LoomCsvGuess) large = guess ("a,y\n180,3000\nNA,4000\n200,5000\n");
  loom_csv_guess_preparation (large, &normalize, &missing);
  g_assert_cmpstr (normalize, ==, "standard");
  g_assert_cmpstr (missing, ==, "mean");
  loom_csv_guess_units (large, &scale, &shift);
  g_assert_cmpfloat (shift, ==, 4000);
  g_assert_cmpfloat_with_epsilon (scale, sqrt (2e6 / 3), 1e-9);
  g_autoptr (LoomCsvGuess) narrow = guess ("a,y\n1.5,0.001\n2,0.002\n0.5,0.0035\n");
  loom_csv_guess_units (narrow, &scale, &shift);
  g_assert_cmpfloat (scale, >, 0);
}

/* Of a table much larger than its head only the head is read. */
static void
test_large (void)
{
  g_autoptr (GString) text = g_string_new ("a,b,c\n");
  g_autoptr (LoomCsvGuess) self = NULL;

  for (guint i = 0; i < 200000; i++)
    g_string_append_printf (text, "%u,%u.5,%u\n", i * 7 % 1000, i, i % 3);
  self = guess (text->str);
  g_assert_false (self->is_whole);
  g_assert_cmpuint (self->n_rows, >=, 1000);
  g_assert_cmpuint (self->n_rows, <, 10000);
  g_assert_cmpuint (self->size, ==, text->len);
}

/* If the first bytes of a table have few rows, more are read until its columns can be classified; a column that is
 * constant in these rows is not omitted for that reason. */
static void
test_wide (void)
{
  g_autoptr (GString) text = g_string_new ("same");
  g_autoptr (LoomCsvGuess) self = NULL;

  for (guint i = 0; i < 8000; i++)
    g_string_append_printf (text, ",f%u", i);
  g_string_append (text, ",y\n");
  for (guint r = 0; r < 160; r++)
    {
      g_string_append_printf (text, "%d", r < 150);
      for (guint i = 0; i < 8000; i++)
        g_string_append_printf (text, ",%u.%u", (r * 7 + i) % 10, r);
      g_string_append_printf (text, ",%u\n", r % 2);
    }
  self = guess (text->str);
  g_assert_cmpuint (self->n_rows, >=, 99);
  g_assert_true (loom_csv_column_is_classes (self, 8001));
  g_assert_cmpint (column (self, "same")->role, ==, LOOM_CSV_FEATURE);
}

/* A first line longer than the head that is read first is no end of the table. */
static void
test_long_line (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (LoomCsvGuess) self = NULL;
  g_autoptr (GError) error = NULL;

  g_string_set_size (text, 1 << 20);
  memset (text->str, 'a', text->len);
  g_string_append (text, ",b\n1,2\n3,4\n");
  self = guess (text->str);
  g_assert_cmpuint (self->columns->len, ==, 2);
  g_string_set_size (text, 33 << 20);
  memset (text->str, 'a', text->len);
  write_text (text->str);
  g_assert_null (loom_csv_guess_file (path, 0, -1, &error));
  g_assert_nonnull (strstr (error->message, "The first line of “t.csv” is longer than 32 MiB"));
}

/* All samples of a split as one row of numbers x. */
static GArray *
read_x (const char *const *strv, LoomSplit split)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("csv", &o, &error);
  GArray *all = g_array_new (FALSE, FALSE, sizeof (float));

  g_assert_no_error (error);
  for (gint64 i = 0; i < loom_dataset_count (dataset, split); i++)
    {
      const LoomDatasetInfo *info = loom_dataset_info (dataset);
      const gint64 width = info->port[0].type.shape.dim[1].coef, one = 1;
      g_autoptr (LoomTensor) x = loom_tensor_new (LOOM_F32, 2, (gint64[]){ 1, width }, NULL);
      g_autoptr (LoomTensor) y = loom_tensor_new (LOOM_I64, 1, &one, NULL);

      g_assert_true (loom_dataset_read (dataset, split, &i, 1, (LoomTensor *[]){ x, y }, NULL));
      g_array_append_vals (all, x->data, width);
    }
  return all;
}

static void
assert_x (const char *const *strv, const float *expected, guint n)
{
  g_autoptr (GArray) x = read_x (strv, LOOM_SPLIT_TRAIN);

  g_assert_cmpuint (x->len, ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (g_array_index (x, float, i), expected[i], 1e-6);
}

static void
test_gaps (void)
{
  const char *fill[] = { "path", path, "target", "k", "test_fraction", "0", "missing", "mean", NULL };
  const char *drop[] = { "path", path, "target", "k", "test_fraction", "0", "missing", "drop", NULL };

  /* The third row has no class, and so is not usable. */
  write_text ("a,b,k\n1,10,0\n?,20,1\n9,90,\n5,,0\n");
  assert_x (fill, (const float[]){ 1, 10, 3, 20, 5, 15 }, 6);
  assert_x (drop, (const float[]){ 1, 10 }, 2);
}

/* The classes of the rows, and their names with commas between. */
static GArray *
read_classes (const char *text, char **names, gint64 *n_classes)
{
  const char *strv[] = { "path", path, "target", "k", "test_fraction", "0", "missing", "drop", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = NULL;
  GArray *all = g_array_new (FALSE, FALSE, sizeof (gint64));
  const char *const *list;

  write_text (text);
  dataset = loom_dataset_open ("csv", &o, &error);
  g_assert_no_error (error);
  list = loom_dataset_class_names (dataset);
  *names = list != NULL ? g_strjoinv (",", (char **)list) : NULL;
  *n_classes = loom_dataset_info (dataset)->n_classes;
  for (gint64 i = 0; i < loom_dataset_count (dataset, LOOM_SPLIT_TRAIN); i++)
    {
      g_autoptr (GPtrArray) row = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, &i, 1, NULL);

      g_array_append_val (all, *(const gint64 *)((LoomTensor *)row->pdata[1])->data);
    }
  return all;
}

/* Whole numbers are classes as they are, unless most of those below them would be outputs without a row. */
static void
test_labels (void)
{
  static const struct
  {
    const char *text, *names;
    gint64 n_classes, classes[4];
  } cases[] = {
    { "a,k\n1,2\n2,0\n3,9\n4,2\n", NULL, 10, { 2, 0, 9, 2 } },
    { "a,k\n1,999\n2,5\n3,5\n4,5\n", NULL, 1000, { 999, 5, 5, 5 } },
    { "a,k\n1,3000000\n2,1000000\n3,20000\n4,3000000\n", "20000,1000000,3000000", 3, { 2, 1, 0, 2 } },
    { "a,k\n1,1\n2,-1\n3,-1\n4,1\n", "-1,1", 2, { 1, 0, 0, 1 } },
    /* Integers come before other texts, which are sorted, for any order of the rows. */
    { "a,k\n1,2\n2,10\n3,1a\n4,2\n", "2,10,1a", 3, { 0, 1, 2, 0 } },
    { "a,k\n1,1a\n2,10\n3,2\n4,2\n", "2,10,1a", 3, { 2, 1, 0, 0 } },
    { "a,k\n1,none\n2,-\n3,+\n4,none\n", "+,-,none", 3, { 2, 1, 0, 2 } },
    { "a,k\n1,x\n9,NA\n9,N/A\n9,null\n9,NaN\n2,y\n9,?\n9,\n3,y\n4,x\n", "x,y", 2, { 0, 1, 1, 0 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *names = NULL;
      g_autoptr (GArray) classes = NULL;
      gint64 n_classes;

      classes = read_classes (cases[i].text, &names, &n_classes);
      g_assert_cmpstr (names, ==, cases[i].names);
      g_assert_cmpint (n_classes, ==, cases[i].n_classes);
      g_assert_cmpmem (classes->data, classes->len * sizeof (gint64), cases[i].classes, sizeof cases[i].classes);
    }
}

static void
test_decimal_comma (void)
{
  const char *strv[]
      = { "path", path, "target", "k", "test_fraction", "0", "delimiter", ";", "decimal", "comma", NULL };
  const char *wrong[] = { "path", path, "target", "k", "decimal", "comma", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = wrong };
  g_autoptr (GError) error = NULL, thousands = NULL;

  write_text ("a;b;k\n0,5;1.234;0\n");
  g_assert_null (loom_dataset_open ("csv", &(LoomDatasetOptions){ .get = loom_dataset_options_from_strv, .data = strv },
                                    &thousands));
  g_assert_nonnull (strstr (thousands->message, "“1.234” is not a number"));
  write_text ("a;b;k\n0,5;-1,25e1;0\n3;7;1\n");
  assert_x (strv, (const float[]){ 0.5, -12.5, 3, 7 }, 4);
  g_assert_null (loom_dataset_open ("csv", &o, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
}

/* Compressed, and as some spreadsheets save it: the same table. */
static void
test_encodings (void)
{
  static const char text[] = "ä,k\n1,0\n3,1\n";
  static const struct
  {
    const char *set, *mark;
    gboolean packed;
  } cases[] = { { "UTF-8", "\xef\xbb\xbf", FALSE },
                { "UTF-16LE", "\xff\xfe", FALSE },
                { "UTF-16BE", "\xfe\xff", FALSE },
                { "UTF-8", "", TRUE },
                { "UTF-16LE", "\xff\xfe", TRUE } };
  const char *strv[] = { "path", path, "target", "k", "features", "ä", "test_fraction", "0", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GFile) file = g_file_new_for_path (path);
      g_autoptr (GOutputStream) stream = G_OUTPUT_STREAM (g_file_replace (file, NULL, FALSE, 0, NULL, NULL));
      g_autoptr (GConverter) gzip = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
      g_autoptr (LoomCsvGuess) seen = NULL;
      g_autofree char *bytes = NULL;
      gsize n;

      if (cases[i].packed)
        {
          GOutputStream *packed = g_converter_output_stream_new (stream, gzip);

          g_object_unref (stream);
          stream = packed;
        }
      bytes = g_convert (text, -1, cases[i].set, "UTF-8", NULL, &n, NULL);
      g_assert_true (g_output_stream_write_all (stream, cases[i].mark, strlen (cases[i].mark), NULL, NULL, NULL));
      g_assert_true (g_output_stream_write_all (stream, bytes, n, NULL, NULL, NULL));
      g_assert_true (g_output_stream_close (stream, NULL, NULL));
      assert_x (strv, (const float[]){ 1, 3 }, 2);
      seen = loom_csv_guess_file (path, 0, -1, NULL);
      g_assert_nonnull (seen);
      g_assert_cmpstr (((LoomCsvColumn *)seen->columns->pdata[0])->name, ==, "ä");
    }
}

/* One gzip member that holds the text, not compressed, so that its length follows from the text's. */
static void
append_member (GByteArray *file, const char *text)
{
  g_autoptr (GConverter) gzip = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 0));
  guint8 member[8192];
  gsize n_read, n;

  g_assert_cmpint (g_converter_convert (gzip, text, strlen (text), member, sizeof member, G_CONVERTER_INPUT_AT_END,
                                        &n_read, &n, NULL),
                   ==, G_CONVERTER_FINISHED);
  g_byte_array_append (file, member, (guint)n);
}

/* All members of a gzip file are read, wherever the first one ends: also with the 4096 bytes that are read at once. */
static void
test_members (void)
{
  const char *strv[] = { "path", path, "target", "k", "test_fraction", "0", NULL };

  for (guint n = 4040; n <= 4100; n++)
    for (guint zeros = 0; zeros <= 600; zeros += 300)
      {
        g_autofree char *first = g_strdup_printf ("a,k\n1,0\n3%*s,1\n", n - 13, "");
        g_autoptr (GByteArray) file = g_byte_array_new ();
        static const guint8 padding[600];

        append_member (file, first);
        append_member (file, "5,1\n7,0\n");
        append_member (file, "");
        g_byte_array_append (file, padding, zeros);
        g_assert_true (g_file_set_contents (path, (char *)file->data, file->len, NULL));
        assert_x (strv, (const float[]){ 1, 3, 5, 7 }, 4);
      }
}

/* What follows the last member and is none is not taken for the end of the table. */
static void
test_no_member (void)
{
  const char *strv[] = { "path", path, "target", "k", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  g_autoptr (GByteArray) file = g_byte_array_new ();
  g_autoptr (GError) error = NULL;

  append_member (file, "a,k\n1,0\n3,1\n");
  g_byte_array_append (file, (const guint8 *)"5,1\n", 4);
  g_assert_true (g_file_set_contents (path, (char *)file->data, file->len, NULL));
  g_assert_null (loom_dataset_open ("csv", &o, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "cannot be read as gzip"));
}

static void
test_normalize (void)
{
  const char *standard[]
      = { "path", path, "target", "c3", "test_fraction", "0", "header", "false", "normalize", "standard", NULL };
  const char *minmax[]
      = { "path", path, "target", "c3", "test_fraction", "0", "header", "false", "normalize", "minmax", NULL };

  /* The second column is the same everywhere. */
  write_text ("1,7,0\n3,7,1\n");
  assert_x (standard, (const float[]){ -1, 0, 1, 0 }, 4);
  assert_x (minmax, (const float[]){ 0, 0, 1, 0 }, 4);
}

/* Rows to be tested on have no part in means and deviations. */
static void
test_training_rows (void)
{
  const char *strv[] = { "path", path, "target", "k", "test_fraction", "0.5", "normalize", "standard", NULL };
  g_autoptr (GString) text = g_string_new ("a,k\n");
  g_autoptr (GArray) x = NULL;
  double sum = 0, squares = 0;

  for (guint i = 0; i < 50; i++)
    g_string_append_printf (text, "%u,%u\n", i * i, i % 2);
  write_text (text->str);
  x = read_x (strv, LOOM_SPLIT_TRAIN);
  for (guint i = 0; i < x->len; i++)
    {
      sum += g_array_index (x, float, i);
      squares += g_array_index (x, float, i) * g_array_index (x, float, i);
    }
  g_assert_cmpfloat_with_epsilon (sum / x->len, 0, 1e-5);
  g_assert_cmpfloat_with_epsilon (squares / x->len, 1, 1e-5);
}

/* A column of weights is a port of its own and none of x; a row without its weight counts as one without a target. */
static void
test_weight (void)
{
  const char *const options[]
      = { "path", path, "target", "y", "weight", "w", "test_fraction", "0", "missing", "drop", NULL };
  const LoomDatasetOptions get = { .get = loom_dataset_options_from_strv, .data = options };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = NULL, none = NULL;
  g_autoptr (GPtrArray) read = NULL;
  const LoomDatasetInfo *info;

  write_text ("a,w,y\n1,0.5,rose\n2,,tulip\n3,2,tulip\n");
  dataset = loom_dataset_open ("csv", &get, &error);
  g_assert_no_error (error);
  info = loom_dataset_info (dataset);
  g_assert_cmpuint (info->n_ports, ==, 3);
  g_assert_cmpstr (info->port[2].name, ==, "weight");
  g_assert_cmpint (info->n[LOOM_SPLIT_TRAIN], ==, 2);
  read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, (const gint64[]){ 0, 1 }, 2, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpint (((LoomTensor *)read->pdata[0])->dim[1], ==, 1);
      g_assert_cmpfloat (loom_tensor_get (read->pdata[0], i), ==, i == 0 ? 1 : 3);
      g_assert_cmpfloat (loom_tensor_get (read->pdata[1], i), ==, i);
      g_assert_cmpfloat (loom_tensor_get (read->pdata[2], i), ==, i == 0 ? 0.5 : 2);
    }
  write_text ("a,w,y\n1,0.5,rose\n2,-1,tulip\n");
  none = loom_dataset_open ("csv", &get, &error);
  g_assert_null (none);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "line 3, column “w”: a weight must be 0 or a positive number, not -1."));
}

/* A file of a terabyte, with a hole that takes no space on the disk. */
static void
test_no_room (void)
{
  const char *const options[] = { "path", path, "target", "y", NULL };
  const LoomDatasetOptions get = { .get = loom_dataset_options_from_strv, .data = options };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = NULL;

  write_text ("a,y\n1,0\n");
  g_assert_no_errno (truncate (path, G_GINT64_CONSTANT (1) << 40));
  dataset = loom_dataset_open ("csv", &get, &error);
  g_assert_null (dataset);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, "of memory, but"));
  g_assert_nonnull (strstr (error->message, "save the columns as .npy files, which are not read as a whole."));
}

TEST_FILE (argc, argv)
{
  g_autofree char *folder = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("csv-XXXXXX", NULL);
  path = g_build_filename (folder, "t.csv", NULL);
  g_test_add_func ("/csv/guess", test_guess);
  g_test_add_func ("/csv/columns", test_columns);
  g_test_add_func ("/csv/no-table", test_no_table);
  g_test_add_func ("/csv/refused-roles", test_refused_roles);
  g_test_add_func ("/csv/wide", test_wide);
  g_test_add_func ("/csv/long-line", test_long_line);
  g_test_add_func ("/csv/reasons", test_reasons);
  g_test_add_func ("/csv/fields", test_fields);
  g_test_add_func ("/csv/target-of-numbers", test_target_of_numbers);
  g_test_add_func ("/csv/preparation", test_preparation);
  g_test_add_func ("/csv/labels", test_labels);
  g_test_add_func ("/csv/decimal-comma", test_decimal_comma);
  g_test_add_func ("/csv/encodings", test_encodings);
  g_test_add_func ("/csv/members", test_members);
  g_test_add_func ("/csv/no-member", test_no_member);
  g_test_add_func ("/csv/large", test_large);
  g_test_add_func ("/csv/gaps", test_gaps);
  g_test_add_func ("/csv/normalize", test_normalize);
  g_test_add_func ("/csv/training-rows", test_training_rows);
  g_test_add_func ("/csv/weight", test_weight);
  g_test_add_func ("/csv/no-room", test_no_room);
  status = g_test_run ();
  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
  return status;
}
