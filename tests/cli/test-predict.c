/* `gradloom predict`: its output for pictures, rows, arrays and texts is what the net computes, and files that are no
 * samples do not stop the others. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <gdk-pixbuf/gdk-pixbuf.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define SIDE 8

/* ---- pictures ----------------------------------------------------------- */

/* White on the left (class 0) or on the right (class 1), on black ground. */
static double
half (int which, int x, int i)
{
  return (x < SIDE / 2) == (which == 0) && x > 0 && x < SIDE - 1 ? 200 + i % 50 : 0;
}

static void
write_halves (void)
{
  enum
  {
    N = 64
  };
  const gint64 x_dims[] = { N, 1, SIDE, SIDE }, y_dims[] = { N };
  g_autofree double *x = g_new (double, N *SIDE *SIDE);
  double y[N];

  for (int i = 0; i < N; i++)
    {
      y[i] = i % 2;
      for (int k = 0; k < SIDE * SIDE; k++)
        x[i * SIDE * SIDE + k] = half (i % 2, k % SIDE, i);
    }
  cli_save ("x.npy", LOOM_U8, 4, x_dims, x);
  cli_save ("y.npy", LOOM_I64, 1, y_dims, y);
  cli_write ("halves.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                           "  <node id=\"data\" op=\"dataset\" source=\"npy\" x=\"x.npy\" y=\"y.npy\" "
                           "test_fraction=\"0.1\"/>\n"
                           "  <node id=\"flat\" op=\"flatten\"/>\n"
                           "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                           "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                           "  <wire from=\"data.x\" to=\"flat\"/>\n"
                           "  <wire from=\"flat\" to=\"fc\"/>\n"
                           "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                           "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                           "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.05\" epochs=\"5\" batch_size=\"8\"/>\n"
                           "</graph>\n");
  cli_expect (0, NULL, "train", "halves.xml", "--out", "halves");
}

/* scale: how many pixels a pixel is on each side. */
static void
write_picture (const char *name, const char *type, int which, int scale, gboolean inverted)
{
  g_autoptr (GdkPixbuf) picture = gdk_pixbuf_new (GDK_COLORSPACE_RGB, FALSE, 8, SIDE * scale, SIDE * scale);
  g_autoptr (GError) error = NULL;
  guint8 *pixels = gdk_pixbuf_get_pixels (picture);

  for (int y = 0; y < SIDE * scale; y++)
    for (int x = 0; x < SIDE * scale; x++)
      for (int c = 0; c < 3; c++)
        {
          int value = (int)half (which, x / scale, 0);
          pixels[y * gdk_pixbuf_get_rowstride (picture) + 3 * x + c] = (guint8)(inverted ? 255 - value : value);
        }
  gdk_pixbuf_save (picture, name, type, &error, NULL);
  g_assert_no_error (error);
}

static JsonObject *
object_of (const char *line, JsonNode **node)
{
  g_autoptr (GError) error = NULL;

  *node = json_from_string (line, &error);
  g_assert_no_error (error);
  return json_node_get_object (*node);
}

/* The likeliest class of a line of JSON, and its probability. */
static gint64
class_of (const char *line, double *probability)
{
  g_autoptr (JsonNode) node = NULL;
  JsonArray *classes = json_object_get_array_member (object_of (line, &node), "classes");
  JsonObject *best = json_array_get_object_element (classes, 0);

  if (probability != NULL)
    *probability = json_object_get_double_member (best, "probability");
  return json_object_get_int_member (best, "class");
}

static void
test_pictures (void)
{
  double probability;

  write_halves ();
  write_picture ("left.png", "png", 0, 1, FALSE);
  write_picture ("right.jpg", "jpeg", 1, 5, FALSE);
  write_picture ("negative.png", "png", 1, 1, TRUE);
  g_auto (CliResult) r = cli ("predict", "halves", "left.png", "right.jpg", NULL);
  g_assert_cmpstr (r.err, ==, "");
  g_assert_nonnull (strstr (r.out, "left.png   0 "));
  g_assert_nonnull (strstr (r.out, "right.jpg  1 "));
  g_assert_nonnull (strstr (r.out, "(resized from 40 × 40"));

  /* The exact numbers of the net for this array, after softmax. */
  const gint64 dims[] = { 1, 1, SIDE, SIDE };
  double x[SIDE * SIDE];
  for (int k = 0; k < SIDE * SIDE; k++)
    x[k] = half (0, k % SIDE, 0) / 255;
  cli_save ("left.npy", LOOM_F32, 4, dims, x);
  cli_expect (0, NULL, "run", "halves", "--in", "data.x=left.npy", "--out", "fc=fc.npy");
  g_autoptr (LoomTensor) fc = cli_load ("fc.npy");
  double wanted = 1 / (1 + exp (loom_tensor_get (fc, 1) - loom_tensor_get (fc, 0)));
  g_auto (CliResult) json = cli ("predict", "halves", "--json", "--top", "1", "left.png", NULL);
  g_assert_cmpint (class_of (json.out, &probability), ==, 0);
  g_assert_cmpfloat_with_epsilon (probability, wanted, 1e-6);
  g_auto (CliResult) array = cli ("predict", "halves", "--json", "--top", "1", "left.npy", NULL);
  g_assert_cmpint (class_of (array.out, &probability), ==, 0);
  g_assert_cmpfloat_with_epsilon (probability, wanted, 1e-6);

  /* Dark on bright is reported, and can be inverted. */
  g_auto (CliResult) negative = cli ("predict", "halves", "negative.png", NULL);
  g_assert_nonnull (strstr (negative.out, "--invert may help"));
  g_auto (CliResult) inverted = cli ("predict", "halves", "--invert", "--json", "negative.png", NULL);
  g_assert_cmpint (class_of (inverted.out, NULL), ==, 1);
  g_assert_nonnull (strstr (inverted.out, "\"note\":\"inverted\""));
  g_auto (CliResult) range = cli ("predict", "halves", "--range", "1,0", "--json", "negative.png", NULL);
  g_assert_cmpint (class_of (range.out, NULL), ==, 1);
}

/* All but the last bytes. */
static void
cut_file (const char *from, const char *to, gsize n)
{
  g_autofree char *data = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (from, &data, &length, NULL));
  g_assert_cmpuint (length, >, n);
  g_assert_true (g_file_set_contents (to, data, (gssize)(length - n), NULL));
}

/* As PNG has it: ISO 3309, bit by bit. */
static guint32
crc (const guint8 *data, gsize n)
{
  guint32 c = 0xffffffff;

  for (gsize i = 0; i < n; i++)
    {
      c ^= data[i];
      for (int k = 0; k < 8; k++)
        c = c & 1 ? 0xedb88320 ^ (c >> 1) : c >> 1;
    }
  return ~c;
}

/* One that is no picture is one sentence; those around it are answered. */
static void
test_bad_files (void)
{
  cli_write ("words.png", "no picture at all");
  cut_file ("right.jpg", "cut.jpg", 100);
  cut_file ("left.png", "cut.png", 40);
  /* A header of a billion pixels. */
  static const char bomb[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x80\0\0\0\x80\0\x08\0\0\0\0";
  g_autoptr (GByteArray) large = g_byte_array_new ();
  const guint32 sum = GUINT32_TO_BE (crc ((const guint8 *)bomb + 12, 17));
  g_byte_array_append (large, (const guint8 *)bomb, sizeof bomb - 1);
  g_byte_array_append (large, (const guint8 *)&sum, 4);
  g_byte_array_append (large, (const guint8 *)"\0\0\0\1IDATx", 9);
  g_assert_true (g_file_set_contents ("bomb.png", (const char *)large->data, large->len, NULL));
  cli_write ("empty.png", "");
  const gint64 dims[] = { 3, 5 };
  const double x[15] = { 0 };
  cli_save ("odd.npy", LOOM_F32, 2, dims, x);
  g_auto (CliResult) r = cli ("predict", "halves", "left.png", "words.png", "none.png", "empty.png", "odd.npy", "/tmp",
                              "cut.jpg", "cut.png", "bomb.png", "left.png", NULL);
  g_assert_cmpint (r.status, ==, 1);
  const char *first = strstr (r.out, "left.png");
  g_assert_nonnull (first);
  g_assert_nonnull (strstr (first + 1, "left.png"));
  static const char *const sentences[] = { "“words.png” is not a readable picture",
                                           "“none.png” cannot be opened",
                                           "“empty.png” is empty",
                                           "“odd.npy” is 3 × 5, but a sample of this net is 1 × 8 × 8",
                                           "“/tmp” is a folder",
                                           "“cut.jpg” is truncated",
                                           "“cut.png” is",
                                           "the limit is 100 million" };
  for (guint i = 0; i < G_N_ELEMENTS (sentences); i++)
    if (strstr (r.err, sentences[i]) == NULL)
      g_error ("“%s” is not said in: %s", sentences[i], r.err);
  g_auto (CliResult) json = cli ("predict", "--json", "halves", "words.png", "left.png", NULL);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (json.out), "\n", -1);
  g_autoptr (JsonNode) node = NULL;
  g_assert_cmpstr (json_object_get_string_member (object_of (lines[0], &node), "event"), ==, "error");
  g_assert_cmpint (class_of (lines[1], NULL), ==, 0);

  cli_expect (2, "one FILE", "predict", "halves");
  cli_expect (2, "without trained weights", "predict", "halves.xml", "left.png");
  cli_expect (0, NULL, "predict", "halves.xml", "--weights", "halves/weights.safetensors", "left.png");
  cli_expect (2, "--fit", "predict", "halves", "--fit", "squeeze", "left.png");
  cli_expect (2, "--range", "predict", "halves", "--range", "1", "left.png");
  cli_expect (2, "--top", "predict", "halves", "--top", "0", "left.png");
  cli_expect (1, "There is no run", "predict", "/tmp", "left.png");
  cli_expect (2, "nothing", "predict", "halves", "--output", "nothing", "left.png");
  cli_expect (2, "depends on “data.y” too", "predict", "halves", "--output", "loss", "left.png");
  cli_expect (1, "none.safetensors", "predict", "halves", "--weights", "none.safetensors", "left.png");
}

/* A batch's dimension, and that of the only channel, may be there or not. */
static void
test_arrays (void)
{
  static const struct
  {
    int rank;
    gint64 dim[4];
    guint lines;
  } shapes[] = {
    { 2, { SIDE, SIDE }, 1 }, { 3, { 1, SIDE, SIDE }, 1 }, { 3, { 5, SIDE, SIDE }, 5 }, { 4, { 70, 1, SIDE, SIDE }, 70 }
  };
  g_autofree double *x = g_new0 (double, 70 * SIDE * SIDE);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      cli_save ("some.npy", LOOM_U8, shapes[i].rank, shapes[i].dim, x);
      g_auto (CliResult) r = cli ("predict", "halves", "some.npy", NULL);
      g_auto (GStrv) lines = g_strsplit (r.out, "\n", -1);
      g_assert_cmpint (r.status, ==, 0);
      g_assert_cmpuint (g_strv_length (lines) - 1, ==, shapes[i].lines);
    }
}

/* ---- rows --------------------------------------------------------------- */

static void
test_rows (void)
{
  GString *table = g_string_new ("width,height,kind\n");

  for (int i = 0; i < 60; i++)
    g_string_append_printf (table, "%d,%d,%s\n", i % 2 ? 1 : 5, i % 2 ? 5 : 1, i % 2 ? "tall" : "wide");
  cli_write ("kinds.csv", table->str);
  g_string_free (table, TRUE);
  cli_write ("kinds.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                          "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"kinds.csv\" target=\"kind\"/>\n"
                          "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                          "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                          "  <wire from=\"data.x\" to=\"fc\"/>\n"
                          "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                          "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                          "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" epochs=\"20\" batch_size=\"8\"/>\n"
                          "</graph>\n");
  cli_expect (0, NULL, "train", "kinds.xml", "--out", "kinds");

  /* By the header, in any order of columns; without one, in order. */
  static const char *const files[] = { "height,width\n1,5\n5,1\n", "5,1\n1,5\n",
                                       "\xef\xbb\xbfkind,\"width\",note,height\r\nwide,5,\"a, b\",1\r\ntall,1,,5\r\n" };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      cli_write ("rows.csv", files[i]);
      g_auto (CliResult) r = cli ("predict", "kinds", "--top", "1", "rows.csv", NULL);
      g_assert_cmpstr (r.err, ==, "");
      g_assert_nonnull (strstr (r.out, "rows.csv:1  wide"));
      g_assert_nonnull (strstr (r.out, "rows.csv:2  tall"));
    }
  static const struct
  {
    const char *text, *says;
  } wrong[] = { { "width,depth\n1,2\n", "has no column “height”" },
                { "1,2,3\n", "has no header" },
                { "width,height\n1\n", "line 2 has 1 fields" },
                { "width,height\n1,x\n", "line 2, column “height”: “x” is not a number" },
                { "width,height\n", "contains no sample" },
                { "\xff\xff\n", "not UTF-8" },
                { "\xff\xfe\n", "cannot be read as UTF-16" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      cli_write ("rows.csv", wrong[i].text);
      cli_expect (1, wrong[i].says, "predict", "kinds", "rows.csv");
    }

  /* The table is missing, not the <train>. */
  g_assert_cmpint (g_rename ("kinds.csv", "elsewhere.csv"), ==, 0);
  cli_write ("rows.csv", files[1]);
  cli_expect (1, "kinds.csv”; paths are relative", "predict", "kinds", "rows.csv");
}

/* Rows of numbers for a net whose data set is no table: one invalid number is no header, and infinity is refused. */
static void
test_plain_rows (void)
{
  static const char *const wrong[] = { "0.1,abc\n", "nan,1\n", "1e300,1\n", "0.1,0.2\n1e39,1\n" };
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  cli_expect (0, NULL, "train", path, "--epochs", "0", "--out", "spirals");
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      cli_write ("rows.csv", wrong[i]);
      cli_expect (1, "is not a row of numbers", "predict", "spirals", "rows.csv");
    }
  cli_write ("rows.csv", "first,second\n0.1,0.2\n");
  cli_expect (0, NULL, "predict", "spirals", "rows.csv");
}

/* The name of a class may come from an untrusted file. */
static void
test_class_names (void)
{
  GString *table = g_string_new ("a,kind\n");

  for (int i = 0; i < 20; i++)
    g_string_append_printf (table, "%d,%s\n", i % 2, i % 2 ? "\033[31mred" : "plain");
  cli_write ("names.csv", table->str);
  g_string_free (table, TRUE);
  g_autofree char *kinds = NULL;
  g_assert_true (g_file_get_contents ("kinds.xml", &kinds, NULL, NULL));
  g_auto (GStrv) parts = g_strsplit (kinds, "kinds.csv", 2);
  g_autofree char *names = g_strjoinv ("names.csv", parts);
  cli_write ("names.xml", names);
  cli_expect (0, NULL, "train", "names.xml", "--epochs", "1", "--out", "names");
  cli_write ("rows.csv", "1\n");
  g_auto (CliResult) r = cli ("predict", "names", "rows.csv", NULL);
  g_assert_null (strchr (r.out, '\033'));
  g_assert_nonnull (strstr (r.out, "“\\u001b[31mred”"));
  cli_write ("rows.csv", "a\n\033[31m\n");
  g_auto (CliResult) wrong = cli ("predict", "names", "rows.csv", NULL);
  g_assert_null (strchr (wrong.err, '\033'));
}

/* A net without classes returns its values, the same as `run`. */
static void
test_values (void)
{
  cli_write ("sum.csv", "a,b,y\n1,2,3\n2,3,5\n4,1,5\n3,3,6\n5,2,7\n");
  cli_write ("sum.xml",
             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
             "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"sum.csv\" target=\"y\" target_type=\"float\"/>\n"
             "  <node id=\"fc\" op=\"linear\" out_features=\"1\"/>\n"
             "  <node id=\"loss\" op=\"mse_loss\"/>\n"
             "  <wire from=\"data.x\" to=\"fc\"/>\n"
             "  <wire from=\"fc\" to=\"loss.input\"/>\n"
             "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
             "  <train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"2\" batch_size=\"2\"/>\n"
             "</graph>\n");
  cli_expect (0, NULL, "train", "sum.xml", "--out", "sum");
  const gint64 dims[] = { 2, 2 };
  const double x[] = { 7, 1, 2, 2 };
  cli_save ("sums.npy", LOOM_F32, 2, dims, x);
  cli_write ("sums.csv", "7,1\n2,2\n");
  cli_expect (0, NULL, "run", "sum", "--in", "data.x=sums.npy", "--out", "fc=fc.npy");
  g_autoptr (LoomTensor) fc = cli_load ("fc.npy");
  static const char *const files[] = { "sums.npy", "sums.csv" };
  for (guint i = 0; i < 2; i++)
    {
      g_auto (CliResult) r = cli ("predict", "--json", "sum", files[i], NULL);
      g_auto (GStrv) lines = g_strsplit (r.out, "\n", -1);
      for (guint k = 0; k < 2; k++)
        {
          g_autoptr (JsonNode) node = NULL;
          JsonArray *values = json_object_get_array_member (object_of (lines[k], &node), "values");
          g_assert_cmpfloat_with_epsilon (json_array_get_double_element (values, 0), loom_tensor_get (fc, k), 1e-5);
        }
    }
}

/* ---- texts -------------------------------------------------------------- */

static void
test_texts (void)
{
  GString *text = g_string_new (NULL);

  for (int i = 0; i < 200; i++)
    g_string_append (text, "über ");
  cli_write ("text.txt", text->str);
  g_string_free (text, TRUE);
  cli_write ("text.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                         "  <node id=\"data\" op=\"dataset\" source=\"text\" path=\"text.txt\" context=\"10\"/>\n"
                         "  <node id=\"e\" op=\"embedding\" num_embeddings=\"5\" embedding_dim=\"8\"/>\n"
                         "  <node id=\"fc\" op=\"linear\" out_features=\"5\"/>\n"
                         "  <node id=\"t\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/>\n"
                         "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                         "  <wire from=\"data.x\" to=\"e\"/>\n"
                         "  <wire from=\"e\" to=\"fc\"/>\n"
                         "  <wire from=\"fc\" to=\"t\"/>\n"
                         "  <wire from=\"t\" to=\"loss.input\"/>\n"
                         "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                         "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" epochs=\"5\" batch_size=\"8\"/>\n"
                         "</graph>\n");
  cli_expect (0, NULL, "train", "text.xml", "--out", "text");
  /* Shorter than the context, equal, and longer; a file's last line end is ignored. */
  static const char *const texts[] = { "ü\n", "über über ", "r über über über" };
  cli_write ("p0.txt", texts[0]);
  cli_write ("p1.txt", texts[1]);
  cli_write ("p2.txt", texts[2]);
  g_auto (CliResult) r = cli ("predict", "text", "--top", "1", "p0.txt", "p1.txt", "p2.txt", NULL);
  g_assert_cmpstr (r.err, ==, "");
  g_auto (GStrv) lines = g_strsplit (r.out, "\n", -1);
  g_assert_true (g_str_has_prefix (lines[0], "p0.txt  b "));
  g_assert_true (g_str_has_prefix (lines[1], "p1.txt  ü "));
  g_assert_true (g_str_has_prefix (lines[2], "p2.txt  “ ” "));
  cli_write ("bad.txt", "übel");
  cli_expect (1, "has the character “l”", "predict", "text", "bad.txt");
  /* A text with other letters: the run's own vocabulary applies. */
  cli_write ("text.txt", "zyxwvutsrqponmlkjihgfedcbaäöü zyxwvutsrqponmlkjihgfedcba");
  g_auto (CliResult) changed = cli ("predict", "text", "--top", "1", "p0.txt", "p1.txt", "p2.txt", NULL);
  g_assert_cmpstr (changed.out, ==, r.out);
  cli_expect (1, "has the character “l”", "predict", "text", "bad.txt");
  cli_write ("text/data.ini", "[data]\n");
  cli_expect (1, "does not hold the data that a run saves", "predict", "text", "p0.txt");
}

/* Columns are normalised as in the run, whatever the current table. */
static void
test_normalised (void)
{
  GString *table = g_string_new ("size,kind\n");

  for (int i = 0; i < 40; i++)
    g_string_append_printf (table, "%d,%s\n", i % 2 ? 100 : 300, i % 2 ? "small" : "large");
  cli_write ("sizes.csv", table->str);
  cli_write ("sizes.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                          "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"sizes.csv\" target=\"kind\" "
                          "normalize=\"standard\"/>\n"
                          "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                          "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                          "  <wire from=\"data.x\" to=\"fc\"/>\n"
                          "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                          "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                          "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" epochs=\"10\" batch_size=\"8\"/>\n"
                          "</graph>\n");
  cli_expect (0, NULL, "train", "sizes.xml", "--out", "sizes");
  cli_write ("size.csv", "size\n100\n300\n");
  g_auto (CliResult) before = cli ("predict", "sizes", "size.csv", NULL);
  g_assert_nonnull (strstr (before.out, "size.csv:1  small"));
  /* An array has the table's columns. */
  const gint64 dims[] = { 2, 1 };
  const double sizes[] = { 100, 300 };
  cli_save ("size.npy", LOOM_F64, 2, dims, sizes);
  cli_save ("whole.npy", LOOM_I64, 2, dims, sizes);
  static const char *const arrays[] = { "size.npy", "whole.npy" };
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    {
      g_auto (CliResult) array = cli ("predict", "sizes", arrays[i], NULL);
      g_auto (GStrv) parts = g_strsplit (array.out, arrays[i], -1);
      g_autofree char *as_table = g_strjoinv ("size.csv", parts);
      g_assert_cmpstr (as_table, ==, before.out);
    }
  g_string_append (table, "900000,large\n-900000,small\n");
  cli_write ("sizes.csv", table->str);
  g_auto (CliResult) after = cli ("predict", "sizes", "size.csv", NULL);
  g_assert_cmpstr (after.out, ==, before.out);
  /* A table that cannot be read any more does not say how columns are normalised, so there is no answer. */
  g_string_append (table, "big,large\n");
  cli_write ("sizes.csv", table->str);
  g_string_free (table, TRUE);
  cli_expect (1, "normalize=\"standard\"", "predict", "sizes", "size.csv");
}

/* A number that is missing in an array is filled as in a table. */
static void
test_filled (void)
{
  cli_write ("gaps.csv", "a,b,y\n1,1,2\n,2,4\n5,3,10\n6,4,12\n");
  cli_write ("gaps.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                         "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"gaps.csv\" target=\"y\" "
                         "target_type=\"float\" missing=\"mean\"/>\n"
                         "  <node id=\"fc\" op=\"linear\" out_features=\"1\"/>\n"
                         "  <node id=\"loss\" op=\"mse_loss\"/>\n"
                         "  <wire from=\"data.x\" to=\"fc\"/>\n"
                         "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                         "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                         "  <train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"1\" batch_size=\"2\"/>\n"
                         "</graph>\n");
  cli_expect (0, NULL, "train", "gaps.xml", "--out", "gaps");
  const gint64 dims[] = { 2, 2 };
  const double values[] = { NAN, 3, 4, 5 };
  cli_save ("gap.npy", LOOM_F32, 2, dims, values);
  cli_write ("row.csv", "a,b\n,3\n4,5\n");
  g_auto (CliResult) array = cli ("predict", "gaps", "gap.npy", NULL), table = cli ("predict", "gaps", "row.csv", NULL);
  g_auto (GStrv) parts = g_strsplit (array.out, "gap.npy", -1);
  g_autofree char *as_table = g_strjoinv ("row.csv", parts);
  g_assert_nonnull (strstr (table.out, "row.csv:2  "));
  g_assert_cmpstr (as_table, ==, table.out);
  g_assert_null (strstr (array.out, "nan"));
}

/* Frames of a, a, blank, b, blank, blank for each pair of labels a, b of three: a net of ctc_loss returns the labels,
 * also two equal ones, and no class of a step. */
static void
test_aligned (void)
{
  static const char xml[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"aligned\">"
        "<node id=\"data\" op=\"dataset\" source=\"npy\" x=\"frames.npy\" y=\"labels.npy\" test_x=\"frames.npy\" "
        "test_y=\"labels.npy\"/>"
        "<node id=\"fc\" op=\"linear\" out_features=\"4\"/><node id=\"steps\" op=\"permute\" dims=\"1,0,2\"/>"
        "<node id=\"p\" op=\"log_softmax\" dim=\"2\"/><node id=\"loss\" op=\"ctc_loss\"/>"
        "<wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"steps\"/><wire from=\"steps\" to=\"p\"/>"
        "<wire from=\"p\" to=\"loss.log_probs\"/><wire from=\"data.y\" to=\"loss.targets\"/>"
        "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" batch_size=\"9\" epochs=\"60\" seed=\"1\"/></graph>";
  const gint64 x_dims[] = { 9, 6, 4 }, y_dims[] = { 9, 2 };
  double x[9 * 6 * 4] = { 0 }, y[9 * 2];
  g_autoptr (GString) expected = g_string_new (NULL);
  g_auto (CliResult) text = { 0 }, json = { 0 };
  g_autofree char *report = NULL;

  for (int i = 0; i < 9; i++)
    {
      const int a = 1 + i / 3, b = 1 + i % 3, frame[6] = { a, a, 0, b, 0, 0 };

      for (int t = 0; t < 6; t++)
        x[(i * 6 + t) * 4 + frame[t]] = 1;
      y[2 * i] = a;
      y[2 * i + 1] = b;
      g_string_append_printf (expected, "frames.npy:%d  %d %d\n", i + 1, a, b);
    }
  cli_save ("frames.npy", LOOM_F32, 3, x_dims, x);
  cli_save ("labels.npy", LOOM_I64, 2, y_dims, y);
  cli_write ("aligned.xml", xml);
  cli_expect (0, NULL, "train", "aligned.xml", "--out", "aligned");
  text = cli ("predict", "aligned", "frames.npy", NULL);
  g_assert_cmpstr (text.err, ==, "");
  g_assert_cmpstr (text.out, ==, expected->str);
  json = cli ("predict", "aligned", "frames.npy", "--json", NULL);
  g_assert_nonnull (strstr (json.out, "\"row\":1,\"positions\":[[{\"class\":1,"));
  cli_expect (0, NULL, "export", "aligned", "--to", "report", "-o", "aligned.HTML");
  g_assert_true (g_file_get_contents ("aligned.HTML", &report, NULL, NULL));
  g_assert_nonnull (strstr (report, "Label error rate"));
  g_assert_nonnull (strstr (report, "<td>0.0 %</td>"));
  g_assert_nonnull (strstr (report, "<td>100.0 %</td>"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/predict/pictures", test_pictures);
  g_test_add_func ("/cli/predict/bad-files", test_bad_files);
  g_test_add_func ("/cli/predict/arrays", test_arrays);
  g_test_add_func ("/cli/predict/rows", test_rows);
  g_test_add_func ("/cli/predict/plain-rows", test_plain_rows);
  g_test_add_func ("/cli/predict/class-names", test_class_names);
  g_test_add_func ("/cli/predict/values", test_values);
  g_test_add_func ("/cli/predict/texts", test_texts);
  g_test_add_func ("/cli/predict/normalised", test_normalised);
  g_test_add_func ("/cli/predict/filled", test_filled);
  g_test_add_func ("/cli/predict/aligned", test_aligned);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
