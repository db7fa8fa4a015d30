/* `gradloom new`: a graph that can be trained, with paths relative to the graph file. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

static void
test_trains (void)
{
  g_auto (CliResult) r = { 0 };

  cli_expect (0, NULL, "new", "--data", "spirals", "--net", "linear", "n=200");
  cli_expect (0, NULL, "train", "spirals.xml", "--steps", "2", "--out", "run");
  r = cli ("new", "--data", "xor", "-o", "-", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "source=\"xor\""));
  cli_expect (2, "exists already", "new", "--data", "spirals");
  cli_expect (0, NULL, "new", "--data", "spirals", "--force");
}

/* A path is typed relative to this folder, and the graph is in another one. */
static void
test_paths (void)
{
  g_autofree char *text = NULL;

  g_mkdir ("in", 0755);
  cli_write ("in/t.csv", "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n9,1,x\n");
  cli_expect (0, NULL, "new", "--data", "csv", "path=in/t.csv", "target=kind", "-o", "in/t.xml");
  g_assert_true (g_file_get_contents ("in/t.xml", &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "path=\"t.csv\""));
  cli_expect (0, NULL, "train", "in/t.xml", "--steps", "1", "--out", "run2");
  cli_expect (0, NULL, "new", "--data", "csv", "path=in/t.csv", "target=kind", "-o", "t.xml");
  cli_expect (0, NULL, "check", "t.xml");
}

/* Whether the target is a class or a number follows from the table, and options have precedence. */
static void
test_table (void)
{
  static const struct
  {
    const char *option, *target, *type;
  } row[] = { { "target=price", "target=\"price\"", "target_type=\"float\"" },
              { "target=kind", "target=\"kind\"", NULL },
              { "features=rooms", "features=\"rooms\"", "target_type=\"float\"" } };
  g_autoptr (GString) table = g_string_new ("size;rooms;price;kind\n");

  for (int i = 0; i < 40; i++)
    g_string_append_printf (table, "%d;%d;%d.5;%d\n", 50 + i % 7, 1 + i % 4, 1000 * i, i % 3);
  cli_write ("homes.csv", table->str);
  for (guint i = 0; i < G_N_ELEMENTS (row); i++)
    {
      g_auto (CliResult) r = cli ("new", "--data", "csv", "-o", "-", "path=homes.csv", row[i].option, NULL);

      g_assert_cmpint (r.status, ==, 0);
      g_assert_nonnull (strstr (r.out, row[i].target));
      g_assert_nonnull (strstr (r.out, "delimiter=\";\""));
      g_assert_cmpint (strstr (r.out, "target_type=\"float\"") != NULL, ==, row[i].type != NULL);
    }
  cli_expect (0, NULL, "new", "--data", "csv", "path=homes.csv", "target=price", "-o", "homes.xml");
  cli_expect (0, NULL, "train", "homes.xml", "--steps", "1", "--out", "run3");
}

/* Automatic decisions and omissions are reported; a graph of large numbers learns. */
static void
test_table_notes (void)
{
  g_autoptr (GString) table = g_string_new (",size,when,town,tall,price\n");
  g_autofree char *text = NULL;
  g_auto (CliResult) r = { 0 };

  for (int i = 0; i < 40; i++)
    g_string_append_printf (table, "%d,%d,2024-01-%02d,%s,%d cm,%s\n", i, 50 + i * 7 % 40, 1 + i % 28,
                            i % 3 == 0 ? "Ulm" : "Bad Orb", i,
                            i == 3 ? "NA" : (const char *[]){ "10436", "1574", "32941" }[i % 3]);
  cli_write ("flats.csv", table->str);
  r = cli ("new", "--data", "csv", "path=flats.csv", "target=price", "target_type=float", "-o", "flats.xml", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "  left out: column 1: a column without a name"));
  g_assert_nonnull (strstr (r.out, "  left out: column 5, tall: words, such as “0 cm”"));
  g_assert_nonnull (strstr (r.out, "  when: dates, as days since 1970-01-01"));
  g_assert_nonnull (strstr (r.out, "  town: words, as one feature for each of 2 values"));
  g_assert_nonnull (strstr (r.out, "  target price: a number"));
  g_assert_nonnull (strstr (r.out, "  price has 1 gap: rows without it are dropped (missing=mean)"));
  g_assert_true (g_file_get_contents ("flats.xml", &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "features=\"size,when:days,town=Bad Orb,town=Ulm\""));
  g_assert_nonnull (strstr (text, "normalize=\"standard\""));
  g_assert_nonnull (strstr (text, "op=\"mse_loss\""));
  g_assert_nonnull (strstr (text, "op=\"expression\""));
  cli_expect (0, NULL, "train", "flats.xml", "--steps", "1", "--out", "run4");
  cli_write ("flat.csv", "town,tall,size,when\nUlm,1,70,2024-01-31\n");
  cli_expect (0, NULL, "predict", "run4", "flat.csv");
  cli_write ("words.csv", "when,price\n1/31/2024,1\n2/1/2024,5\n2/2/2024,7.5\n");
  cli_expect (1, "left out: column 1, when: “1/31/2024” in line 2 is like a date", "new", "--data", "csv", "path=words.csv",
              "target=price");
  cli_write ("bad.csv", "a,\"b,c\",y,id\n1,2.5,0,1\n2,3.5,1,2\n7,1,0,3\n9,2,1,4\n");
  cli_expect (1, "contains a comma", "new", "--data", "csv", "path=bad.csv", "target=y");
}

/* The form of a file, and what is done with columns of plain numbers. A comma in a name matters in a list alone. */
static void
test_table_form (void)
{
  g_auto (CliResult) comma = { 0 }, bare = { 0 }, named = { 0 };

  cli_write ("comma.csv", "a;b;kind\n1,5;200;x\n2,5;300;y\n3,5;100;x\n4,5;400;y\n");
  comma = cli ("new", "--data", "csv", "path=comma.csv", "target=kind", "-o", "comma.xml", NULL);
  g_assert_nonnull (strstr (comma.out, "  columns are separated by semicolons\n"));
  g_assert_nonnull (strstr (comma.out, "  numbers have a decimal comma (decimal=comma)\n"));
  g_assert_nonnull (strstr (comma.out, "  numbers: a, b\n"));
  g_assert_nonnull (strstr (comma.out, "  each feature is scaled to mean 0 and deviation 1 (normalize=standard)\n"));
  cli_write ("bare.csv", "1.5,0.2,x\n2.5,0.3,y\n0.5,0.1,x\n1.5,0.4,y\n");
  bare = cli ("new", "--data", "csv", "path=bare.csv", "target=c3", "header=false", "-o", "bare.xml", NULL);
  g_assert_null (strstr (bare.out, "no line of names"));
  cli_clear (&bare);
  bare = cli ("new", "--data", "csv", "path=bare.csv", "target=c3", "-o", "bare2.xml", NULL);
  g_assert_nonnull (strstr (bare.out, "  no line of names: the columns are c1 to c3 (header=false)\n"));
  cli_write ("named.csv", "a,\"b,c\",y\n1,2.5,0\n2,3.5,1\n7,1,0\n9,2,1\n");
  named = cli ("new", "--data", "csv", "path=named.csv", "target=y", "-o", "named.xml", NULL);
  g_assert_cmpint (named.status, ==, 0);
  g_assert_nonnull (strstr (named.out, "  numbers: a, b,c\n"));
  cli_expect (0, NULL, "train", "named.xml", "--steps", "1", "--out", "run-named");
  cli_expect (0, NULL, "predict", "run-named", "named.csv");
}

/* A table of paths of pictures is one of pictures, of classes or of numbers. */
static void
test_table_of_pictures (void)
{
  static const struct
  {
    const char *table, *target, *words; /* target: NULL: none */
    const char *option, *loss;
  } row[] = {
    { "x:image,y:label\n./p/1.pgm,1\np/2.pgm,0\np/2.pgm,0\np/1.pgm,1\n", NULL, "target y:label: a class",
      "path=\"pictures.csv\"", "cross_ent" },
    { "x:image,y:label\np/1.pgm,0.25\np/2.pgm,7\np/2.pgm,8\n", NULL, "target y:label: a number",
      "target_type=\"float\"", "mse" },
    { "file,kind\np/1.pgm,a\np/2.pgm,b\n", NULL, "target kind: a class", "image=\"file\" label=\"kind\"", "cross_ent" },
    { "kind,file,id\na,p/1.pgm,x\nb,p/2.pgm,y\n", "target=kind", "file: paths of pictures", "label=\"kind\"", "cross" },
  };

  g_assert_cmpint (g_mkdir_with_parents ("p", 0700), ==, 0);
  cli_write ("p/1.pgm", "P2\n2 2\n255\n0 50 100 150\n");
  cli_write ("p/2.pgm", "P2\n2 2\n255\n200 50 100 150\n");
  for (guint i = 0; i < G_N_ELEMENTS (row); i++)
    {
      g_autofree char *text = NULL, *run = g_strdup_printf ("run-pictures-%u", i);
      g_auto (CliResult) r = { 0 };

      cli_write ("pictures.csv", row[i].table);
      r = cli ("new", "--data", "pictures.csv", "size=8", "--force", row[i].target, NULL);
      g_assert_cmpint (r.status, ==, 0);
      g_assert_nonnull (strstr (r.out, row[i].words));
      g_assert_true (g_file_get_contents ("pictures.xml", &text, NULL, NULL));
      g_assert_nonnull (strstr (text, "source=\"image-table\""));
      g_assert_nonnull (strstr (text, row[i].option));
      g_assert_nonnull (strstr (text, row[i].loss));
      cli_expect (0, NULL, "train", "pictures.xml", "--steps", "1", "--out", run);
    }
  cli_expect (1, "file: paths of pictures, such as “p/1.pgm”; the data set image-table reads them", "new", "--data",
              "csv", "path=pictures.csv", "target=kind");
}

/* Splits that are stratified, by group or in time, in a graph that is trained. */
static void
test_table_splits (void)
{
  static const char *const kinds[][2]
      = { { "stratified", NULL }, { "group", "split_by=who" }, { "time", "split_by=when" } };
  g_autoptr (GString) table = g_string_new ("a,who,when,y\n");

  for (int i = 0; i < 60; i++)
    g_string_append_printf (table, "%d.5,%d,2024-01-%02d,%d\n", i * 7 % 60, i / 6, 1 + i % 28, i % 3);
  cli_write ("visits.csv", table->str);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *kind = g_strconcat ("split_kind=", kinds[i][0], NULL),
                      *run = g_strconcat ("run-", kinds[i][0], NULL);

      cli_expect (0, NULL, "new", "--data", "csv", "path=visits.csv", "target=y", "features=a", "val_fraction=0.2",
                  kind, "--force", "-o", "visits.xml", kinds[i][1]);
      cli_expect (0, NULL, "train", "visits.xml", "--epochs", "1", "--out", run);
    }
}

/* The file of a table names its source; Parquet is a table. */
static void
test_table_file (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "parquet", "types.snappy.parquet", NULL),
      *bytes = NULL, *text = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  g_assert_true (g_file_set_contents ("types.parquet", bytes, (gssize)length, NULL));
  cli_expect (0, NULL, "new", "--data", "types.parquet", "target=category");
  g_assert_true (g_file_get_contents ("types.xml", &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "source=\"csv\" path=\"types.parquet\" target=\"category\""));
  cli_expect (0, NULL, "train", "types.xml", "--steps", "1", "--out", "run-types");
  cli_expect (0, NULL, "predict", "run-types", "types.parquet");
  cli_write ("kinds.tsv", "a\tkind\n1\t0\n4\t1\n2\t0\n9\t1\n");
  cli_expect (0, NULL, "new", "--data", "kinds.tsv");
  g_free (path);
  g_free (bytes);
  path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "npz", "keras.npz", NULL);
  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  g_assert_true (g_file_set_contents ("keras.npz", bytes, (gssize)length, NULL));
  cli_expect (0, NULL, "new", "--data", "keras.npz");
  cli_expect (0, NULL, "train", "keras.xml", "--steps", "1", "--out", "run-arrays");
  cli_expect (5, "none.parquet” cannot be read", "new", "--data", "none.parquet");
}

/* Names and cells of a table cannot control the terminal. */
static void
test_control_characters (void)
{
  g_auto (CliResult) number = { 0 }, class = { 0 };

  cli_write ("odd.csv", "a,w\033[2J,p\033[3J\n1,\033[4Jx,1\n2,7,NA\n3,y,3\n4,9,4\n");
  number = cli ("new", "--data", "csv", "path=odd.csv", "target=p\033[3J", "target_type=float", "-o", "odd.xml", NULL);
  g_assert_cmpint (number.status, ==, 0);
  g_assert_nonnull (strstr (number.out, "left out: column 2, w\\u001b[2J: “\\u001b[4Jx” in line 2"));
  g_assert_nonnull (strstr (number.out, "target p\\u001b[3J: a number"));
  g_assert_nonnull (strstr (number.out, "p\\u001b[3J has 1 gap"));
  g_assert_null (strchr (number.out, 27));
  class = cli ("new", "--data", "csv", "path=odd.csv", "target=p\033[3J", "target_type=class", "-o", "o\033[5J.xml",
               NULL);
  g_assert_cmpint (class.status, ==, 0);
  g_assert_nonnull (strstr (class.out, "most rows of p\\u001b[3J have a different class"));
  g_assert_nonnull (strstr (class.out, "wrote o\\u001b[5J.xml"));
  g_assert_null (strchr (class.out, 27));
}

/* Masses in grams from lengths in millimetres: without changes, the graph comes close to a line's error. */
static void
test_units (void)
{
  g_autoptr (GString) table = g_string_new ("length,mass\n");
  g_auto (CliResult) r = { 0 };
  g_auto (GStrv) lines = NULL;
  double squares = 0;

  for (int i = 0; i < 40; i++)
    g_string_append_printf (table, "%d,%d\n", 180 + i, 3000 + 60 * i);
  cli_write ("birds.csv", table->str);
  cli_expect (0, NULL, "new", "--data", "csv", "path=birds.csv", "target=mass", "-o", "birds.xml");
  cli_expect (0, NULL, "train", "birds.xml", "--out", "run5");
  r = cli ("predict", "run5", "birds.csv", "--json", NULL);
  g_assert_cmpint (r.status, ==, 0);
  lines = g_strsplit (g_strchomp (r.out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 40);
  for (int i = 0; i < 40; i++)
    {
      const char *at = strstr (lines[i], "\"values\"");

      g_assert_nonnull (at);
      squares += pow (g_ascii_strtod (strpbrk (at, "-0123456789"), NULL) - (3000 + 60 * i), 2) / 40;
    }
  g_test_message ("root mean square error: %g g", sqrt (squares));
  g_assert_cmpfloat (sqrt (squares), <, 200); /* the masses' deviation is 693 */
}

/* A run's weights become a graph that uses all of them. */
static void
test_weights (void)
{
  g_autofree char *spirals = cli_example ("lessons/spirals.xml"), *text = NULL;
  g_auto (CliResult) r = { 0 };

  g_mkdir ("weights", 0755);
  cli_expect (0, NULL, "run", spirals, "--save-weights", "weights/w.safetensors");
  r = cli ("new", "--weights", "weights/w.safetensors", "-o", "weights/s.xml", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "wrote weights/s.xml: 2 layers that take 4 of 4 tensors"));
  g_assert_true (g_file_get_contents ("weights/s.xml", &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "<train weights=\"w.safetensors\" optimizer=\"adam\""));
  /* It lacks a loss and no more, which only training minds. */
  cli_expect (0, NULL, "check", "weights/s.xml");
  cli_expect (1, "names initial weights but no loss", "train", "weights/s.xml");
  cli_expect (1, "names initial weights", "train", "weights/s.xml", "--epochs", "1");
  cli_expect (1, "neither a loss nor one output node", "bench", "weights/s.xml");
  cli_expect (0, NULL, "program", "weights/s.xml");
  cli_expect (2, "cannot be combined with --data", "new", "--weights", "weights/w.safetensors", "--data", "xor");
  cli_expect (5, "none.safetensors", "new", "--weights", "none.safetensors");
  cli_write ("bad.safetensors", "these are no weights");
  cli_expect (1, "bad.safetensors", "new", "--weights", "bad.safetensors");
}

/* Arrays that are no classes, and files of another kind, are named with the remedy. */
static void
test_arrays (void)
{
  const gint64 rows[] = { 4, 2 }, column[] = { 4, 1 };
  const double x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[] = { 0, 1, 1, 0 },
               codes[] = { 1000000, 2000000, 3000000, 1000000 };

  cli_save ("x.npy", LOOM_F32, 2, rows, x);
  cli_save ("column.npy", LOOM_I64, 2, column, y);
  cli_save ("codes.npy", LOOM_I64, 1, column, codes);
  cli_write ("x.npz", "PK\3\4"
                      "--the rest of the header---"
                      "x.npy");
  cli_write ("x.csv", "a,b\n1,2\n");
  cli_expect (1, "of shape B × 1, but a class is one number per sample: use y.squeeze (1)", "new", "--data", "npy",
              "x=x.npy", "y=column.npy");
  cli_expect (1, "integers up to 3000000", "new", "--data", "npy", "x=x.npy", "y=codes.npy");
  cli_expect (1, "is an npz archive", "new", "--data", "npy", "x=x.npz");
  cli_expect (1, "use the data set csv for it", "new", "--data", "npy", "x=x.csv");
  cli_expect (1, "use the data set npy for it", "new", "--data", "csv", "path=x.npy", "target=y");
  cli_expect (1, "is an npz archive", "new", "--data", "text", "path=x.npz");
}

/* What --data names is there, but is nothing that can be read; the sentence says what to do. */
static void
test_unusable (void)
{
  static const guint8 empty[22] = { 'P', 'K', 5, 6 };

  cli_write ("pics.tar.gz", "\x1f\x8b");
  cli_write ("noise.npz", "\x8d\x01\x9c\xf3 no archive at all, but bytes of another kind");
  cli_write ("notes.doc", "words");
  g_assert_true (g_file_set_contents ("empty.npz", (const char *)empty, sizeof empty, NULL));
  cli_expect (2, "“pics.tar.gz” is packed. Unpack it first", "new", "--data", "pics.tar.gz");
  cli_expect (2, "“notes.doc” is a file, of which --data reads .csv", "new", "--data", "notes.doc");
  cli_expect (2, "“.” is a folder", "new", "--data", ".");
  cli_expect (1, "There is no data set “none.gz”", "new", "--data", "none.gz");
  cli_expect (1, "empty.npz” is an empty archive: it has no arrays.", "new", "--data", "empty.npz");
  cli_expect (1, "noise.npz” is not an npz archive, or is damaged", "new", "--data", "noise.npz");
  cli_expect (2, "“path=” names no file", "new", "--data", "fashion-mnist", "path=", "-o", "empty.xml");
  cli_expect (2, "“path=” names no file", "new", "--data", "csv", "path=", "-o", "empty.xml");
  g_assert_false (g_file_test ("empty.xml", G_FILE_TEST_EXISTS));
}

static void
test_refused (void)
{
  cli_expect (2, "--list shows the data sets", "new");
  cli_expect (2, "no network “resnet”", "new", "--data", "xor", "--net", "resnet");
  cli_expect (2, "write NAME=VALUE", "new", "--data", "xor", "noise");
  cli_expect (2, "Did you mean “noise”", "new", "--data", "xor", "nose=1");
  cli_expect (1, "none.csv", "new", "--data", "csv", "path=none.csv", "target=y");
}

static char *
replaced (const char *text, const char *old, const char *new)
{
  g_auto (GStrv) parts = g_strsplit (text, old, 2);

  g_assert_cmpuint (g_strv_length (parts), ==, 2);
  return g_strjoinv (new, parts);
}

/* A detector whose maps are the data set's own finds the boxes, in pictures that are no multiple of 16. */
static void
test_detector (void)
{
  g_autofree char *made = NULL, *heat = NULL, *both = NULL;

  cli_expect (0, NULL, "new", "--data", "shapes", "target_type=boxes", "size=42", "stride=6", "shapes=1", "n=32",
              "n_test=64", "-o", "made.xml");
  cli_expect (0, NULL, "train", "made.xml", "--steps", "1", "--out", "made");
  g_assert_true (g_file_get_contents ("made.xml", &made, NULL, NULL));
  heat = replaced (made, "\"heat_p\" to=\"decode.heat\"", "\"data.heat\" to=\"decode.heat\"");
  both = replaced (heat, "\"boxes\" to=\"decode.numbers\"", "\"target\" to=\"decode.numbers\"");
  cli_write ("right.xml", both);
  cli_expect (0, NULL, "run", "right.xml", "--out", "decode=found.npy", "--out", "data.y=boxes.npy");

  /* found [B,16,6]: x1, y1, x2, y2, score, class; boxes [B,1,5]: class, x1, y1, x2, y2. The highest peak is the first.
   */
  g_autoptr (LoomTensor) found = cli_load ("found.npy"), boxes = cli_load ("boxes.npy");
  g_assert_cmpint (found->dim[1] * found->dim[2], ==, 16 * 6);
  g_assert_cmpint (boxes->dim[0], >, 16);
  for (gint64 b = 0; b < boxes->dim[0]; b++)
    {
      g_assert_cmpfloat (loom_tensor_get (found, b * 96 + 4), ==, 1);
      g_assert_cmpfloat (loom_tensor_get (found, b * 96 + 5), ==, loom_tensor_get (boxes, b * 5));
      for (gint64 i = 0; i < 4; i++)
        g_assert_cmpfloat_with_epsilon (loom_tensor_get (found, b * 96 + i), loom_tensor_get (boxes, b * 5 + 1 + i),
                                        1e-3);
    }
}

static void
test_lists (void)
{
  g_auto (CliResult) r = cli ("new", "--list", NULL);

  g_assert_cmpint (r.status, ==, 0);
  for (const LoomDatasetClass *const *c = loom_dataset_classes (); *c != NULL; c++)
    g_assert_nonnull (strstr (r.out, loom_dataset_class_name (*c)));
  g_assert_nonnull (strstr (r.out, "conv"));
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/new/trains", test_trains);
  g_test_add_func ("/cli/new/paths", test_paths);
  g_test_add_func ("/cli/new/table", test_table);
  g_test_add_func ("/cli/new/table-notes", test_table_notes);
  g_test_add_func ("/cli/new/table-form", test_table_form);
  g_test_add_func ("/cli/new/table-splits", test_table_splits);
  g_test_add_func ("/cli/new/table-of-pictures", test_table_of_pictures);
  g_test_add_func ("/cli/new/table-file", test_table_file);
  g_test_add_func ("/cli/new/control-characters", test_control_characters);
  g_test_add_func ("/cli/new/units", test_units);
  g_test_add_func ("/cli/new/weights", test_weights);
  g_test_add_func ("/cli/new/arrays", test_arrays);
  g_test_add_func ("/cli/new/refused", test_refused);
  g_test_add_func ("/cli/new/unusableunusable", test_unusable);
  g_test_add_func ("/cli/new/detector", test_detector);
  g_test_add_func ("/cli/new/lists", test_lists);
  status = g_test_run ();
  cli_leave ();
  return status;
}
