/* Calls the readers of data with files as after a disk or download error: bytes are changed, cut out, doubled or
 * missing at the end. Each file is read or refused with a sentence; the sanitizers (tests/sanitize) check memory. The
 * mutations come from a fixed seed, so a failure repeats; GRADLOOM_FUZZ_ROUNDS sets the number of them. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-picture.h"
#include "engine/data/loom-samples.h"
#include "tests/test-program.h"

#define MOST_READ 4 /* samples of a split */

/* A data set whose file `mutated` is changed; the others are unchanged. */
typedef struct
{
  const char *source, *options[18], *mutated;
} Case;

static const Case cases[] = {
  { "csv", { "path", "t.csv", "target", "k", "missing", "drop", "normalize", "standard", NULL }, "t.csv" },
  { "csv", { "path", "t.csv", "target", "k", "missing", "mean", "weight", "w", "normalize", "minmax", NULL }, "t.csv" },
  { "csv", { "path", "t.csv", "target", "a,b", "target_type", "float", "features", "w", NULL }, "t.csv" },
  { "csv", { "path", "t.csv", "target", "c1", "header", "false", NULL }, "t.csv" },
  { "csv", { "path", "s.csv", "target", "k", "delimiter", ";", "decimal", "comma", "missing", "drop", NULL }, "s.csv" },
  { "csv", { "path", "wide.csv", "target", "k", NULL }, "wide.csv" },
  { "csv", { "path", "t.parquet", "target", "few", "features", "f32,day:days", "missing", "drop", NULL }, "t.parquet" },
  { "npz", { "path", "t.npz", NULL }, "t.npz" },
  { "webdataset", { "path", "t.tar", "size", "2", NULL }, "t.tar" },
  { "image-table", { "path", "pictures.csv", "size", "2", NULL }, "pictures.csv" },
  { "npy", { "x", "x.npy", "y", "y.npy", NULL }, "x.npy" },
  { "npy", { "x", "x.npy", "y", "y.npy", NULL }, "y.npy" },
  { "idx", { "images", "i.idx", "labels", "l.idx", NULL }, "i.idx" },
  { "idx", { "images", "i.idx", "labels", "l.idx", NULL }, "l.idx" },
  { "text", { "path", "t.txt", "context", "2", NULL }, "t.txt" },
  { "text", { "path", "t.txt", "context", "2", "unit", "word", NULL }, "t.txt" },
  { "text", { "path", "t.txt", "context", "2", "unit", "bpe", "merges", "m.txt", NULL }, "m.txt" },
  { "text", { "path", "t.txt", "context", "2", "unit", "tokenizer", "tokenizer", "t.json", NULL }, "t.json" },
  { "text", { "path", "t.txt", "context", "2", "unit", "tokenizer", "tokenizer", "u.json", NULL }, "u.json" },
  { "pairs", { "path", "p.tsv", NULL }, "p.tsv" },
  { "boxes", { "path", "pictures/cat", "annotations", "coco.json", "size", "4", NULL }, "coco.json" },
  { "boxes", { "path", "voc", "size", "4", NULL }, "voc/Annotations/1.xml" },
  { "masks", { "path", "voc", "size", "4", NULL }, "voc/SegmentationClass/1.png" },
  { "masks", { "path", "voc", "size", "4", NULL }, "voc/ImageSets/Segmentation/train.txt" },
  { "image-folder", { "path", "pictures", "size", "2", NULL }, "pictures/cat/1.bmp" },
  { "image-folder", { "path", "formats", "size", "2", NULL }, "formats/a/turned.png" },
  { "image-folder", { "path", "formats", "size", "2", NULL }, "formats/a/turned.jpg" },
  { "image-folder", { "path", "formats", "size", "2", NULL }, "formats/a/turned.webp" },
  { "image-folder", { "path", "formats", "size", "2", NULL }, "formats/a/tiles.tiff" },
};

static char *folder;

static char *
file_path (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

static void
write_file (const char *name, gconstpointer data, gsize n)
{
  g_autofree char *path = file_path (name), *parent = g_path_get_dirname (path);
  FILE *file;

  g_assert_no_errno (g_mkdir_with_parents (parent, 0755));
  /* Without waiting for the disk, as g_file_set_contents() does. */
  file = fopen (path, "wbe");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (data, 1, n, file), ==, n);
  fclose (file);
}

static void
write_text (const char *name, const char *text)
{
  write_file (name, text, strlen (text));
}

/* A file of tests/data. */
static void
copy_file (const char *from, const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", from, NULL),
                  *content = NULL;
  gsize n;

  g_assert_true (g_file_get_contents (path, &content, &n, NULL));
  write_file (name, content, n);
}

/* A header and numbers of this type. */
static void
write_npy (const char *name, const char *descr, const char *shape, gsize bytes)
{
  g_autofree char *header = g_strdup_printf ("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }", descr, shape);
  g_autoptr (GString) file = g_string_new (NULL);

  g_string_append_len (file, "\x93NUMPY\x01\x00v\x00", 10);
  g_string_append_printf (file, "%-117s\n", header);
  for (gsize i = 0; i < bytes; i++)
    g_string_append_c (file, (char)(i % 3 == 0));
  write_file (name, file->str, file->len);
}

static void
write_files (void)
{
  static const guint8 bmp[] = { 'B', 'M', 70, 0, 0,  0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0, 2, 0,
                                0,   0,   1,  0, 24, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0,
                                0,   0,   0,  0, 0,  0, 9, 8, 7, 6, 5,  4, 0, 0, 3,  2, 1, 0, 1, 2, 0, 0 };
  static const guint8 images[]
      = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  static const guint8 labels[] = { 0, 0, 8, 1, 0, 0, 0, 3, 0, 1, 2 };

  write_text ("t.csv", "a,b,w,k\n1,2.5,1,x\n-3e2,NA,0.5,\"y, or so\"\n5,6,2,x\n,8,1,y\n9,1,0,?\n");
  write_text ("s.csv", "a;b;k\n0,5;1;0\n1,25;-2,5;1\n3;4;0\n");
  write_text ("wide.csv", "\xef\xbb\xbf"
                          "a,b,c,d,e,f,k\r\n1,2,3,4,5,6,0\r\n6,5,4,3,2,1,1000000\r\n");
  copy_file ("parquet/types.snappy.parquet", "t.parquet");
  copy_file ("npz/medmnist.npz", "t.npz");
  copy_file ("archives/sample.tar", "t.tar");
  copy_file ("pictures/turned.png", "formats/a/turned.png");
  copy_file ("pictures/turned.jpg", "formats/a/turned.jpg");
  copy_file ("pictures/turned.webp", "formats/a/turned.webp");
  copy_file ("pictures/tiles.tiff", "formats/a/tiles.tiff");
  write_text ("pictures.csv", "x:image,y:label\npictures/cat/1.bmp,0\npictures/dog/1.bmp,1\n");
  write_npy ("x.npy", "<f4", "4, 2", 32);
  write_npy ("y.npy", "<i8", "4", 32);
  write_file ("i.idx", images, sizeof images);
  write_file ("l.idx", labels, sizeof labels);
  write_text ("t.txt", "the cat sat on the mat, the hat.\nä ö ü\n");
  write_text (
      "t.json",
      "{\"added_tokens\":[{\"id\":5,\"content\":\"b\"}],\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":"
      "{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"unk_token\":\"a\",\"vocab\":{\"a\":0,\"\u0120\":1,"
      "\"\u0120a\":2},\"merges\":[\"\u0120 a\"]}}");
  write_text ("u.json",
              "{\"pre_tokenizer\":{\"type\":\"Metaspace\"},\"normalizer\":{\"type\":\"Precompiled\","
              "\"precompiled_charsmap\":\"BAAAAAAAAABhAAA=\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
              "[[\"a\",-1.5],[\"\u2581\",-2]]}}");
  write_text ("m.txt", "#version: 0.2\nt h\nth e\na t\nĠ the\n");
  write_text ("p.tsv", "a cat\tune chatte\na dog\tun chien\nthe dog\tle chien\n");
  write_file ("pictures/cat/1.bmp", bmp, sizeof bmp);
  write_file ("pictures/dog/1.bmp", bmp, sizeof bmp);
  write_text ("coco.json",
              "{\"images\":[{\"id\":7,\"file_name\":\"1.bmp\"}],\"categories\":[{\"id\":90,\"name\":\"cat\"}"
              ",{\"id\":3,\"name\":\"dog\"}],\"annotations\":[{\"image_id\":7,\"category_id\":90,\"bbox\":"
              "[0,0.5,1,1],\"iscrowd\":0},{\"image_id\":7,\"category_id\":3,\"bbox\":[0,0,2,2]}]}");
  write_file ("voc/JPEGImages/1.bmp", bmp, sizeof bmp);
  write_text ("voc/Annotations/1.xml",
              "<annotation><object><name>cat</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>1</ymin>"
              "<xmax>2</xmax><ymax>2</ymax></bndbox><part><name>head</name></part></object></annotation>");
  write_text ("voc/ImageSets/Segmentation/train.txt", "1\n# none\n1\n");
  g_autoptr (GBytes) mask = loom_picture_write_mask ((const guint8[]){ 0, 3, 255, 20 }, 2, 2, NULL);
  write_file ("voc/SegmentationClass/1.png", g_bytes_get_data (mask, NULL), g_bytes_get_size (mask));
}

static void
remove_all (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      remove_all (inner);
    }
  g_remove (path);
}

/* A refusal has a sentence. */
static void
check_error (const GError *error)
{
  g_assert_nonnull (error);
  g_assert_cmpuint (strlen (error->message), >, 10);
}

/* What a run keeps of the data set, and a file that it predicts from. */
static void
use_again (LoomDataset *dataset, GBytes *bytes)
{
  const LoomType *x = &loom_dataset_info (dataset)->port[0].type;
  g_autofree char *saved = loom_dataset_save (dataset);
  g_autoptr (GError) error = NULL;

  if (saved != NULL)
    {
      g_assert_true (loom_dataset_restore (dataset, saved, "data.ini", &error));
      g_assert_no_error (error);
    }
  if (x->shape.rank == 0)
    return;
  LoomSampleReader *reader = loom_sample_reader_new (x, dataset, &(LoomSampleOptions){ .high = 1 });
  g_autoptr (GPtrArray) items = loom_sample_reader_read (reader, bytes, "again", &error);

  if (items == NULL)
    check_error (error);
  loom_sample_reader_free (reader);
}

static void
run_one (const Case *c, GBytes *bytes)
{
  const LoomDatasetOptions options = { .get = loom_dataset_options_from_strv, .data = c->options, .folder = folder };
  g_autoptr (GError) error = NULL, other = NULL;
  g_autoptr (LoomDataset) dataset = NULL;
  g_autofree char *path = file_path (c->mutated);
  LoomDatasetInfo info;

  if (!loom_dataset_describe (c->source, &options, &info, &error))
    check_error (error);
  g_clear_error (&error);
  if (g_str_equal (c->source, "csv"))
    {
      g_autoptr (LoomCsvGuess) guess = loom_csv_guess_file (path, 0, -1, &other);
      g_auto (GStrv) guessed = guess != NULL ? loom_csv_guess_options (guess, path, "none", "mean", NULL) : NULL;

      for (guint i = 0; guess != NULL && i < guess->columns->len; i++)
        g_free (loom_csv_column_reason (guess, i));
    }
  dataset = loom_dataset_open (c->source, &options, &error);
  if (dataset == NULL)
    {
      check_error (error);
      return;
    }
  for (int split = 0; split < LOOM_N_SPLITS; split++)
    {
      const gint64 n = MIN (MOST_READ, loom_dataset_count (dataset, split)), index[MOST_READ] = { 0, 1, 2, 3 };
      g_autoptr (GError) failure = NULL;
      g_autoptr (GPtrArray) read = n > 0 ? loom_dataset_read_new (dataset, split, index, (guint)n, &failure) : NULL;

      if (n > 0 && read == NULL)
        check_error (failure);
    }
  loom_dataset_digest (dataset);
  use_again (dataset, bytes);
}

/* One change: a byte, a piece taken out or doubled, the end cut off, a word that means something. */
static void
mutate (GByteArray *bytes, GRand *rand)
{
  static const char *const words[]
      = { "\"",  ",",        "\n",       "\r\n",         ";",      "NA", "",    "-1", "1e309", "99999999999",
          "nan", "\xff\xfe", "\xfe\xff", "\x1f\x8b\x08", "PK\3\4", "\t", "\xff" };
  const guint at = bytes->len > 0 ? (guint)g_rand_int_range (rand, 0, (gint32)bytes->len) : 0;
  const guint wanted = (guint)g_rand_int_range (rand, 1, 40), n = MIN (bytes->len - at, wanted);
  const char *word = words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))];
  g_autofree guint8 *tail = g_memdup2 (bytes->data + at, bytes->len - at);
  const guint tail_length = bytes->len - at;

  switch (g_rand_int_range (rand, 0, 5))
    {
    case 0:
      if (bytes->len > 0)
        bytes->data[at] = (guint8)g_rand_int (rand);
      break;
    case 1:
      if (n > 0)
        g_byte_array_remove_range (bytes, at, n);
      break;
    case 2:
      if (tail_length > 0)
        g_byte_array_append (bytes, tail, tail_length);
      break;
    case 3:
      g_byte_array_set_size (bytes, at);
      break;
    default:
      g_byte_array_set_size (bytes, at);
      g_byte_array_append (bytes, (const guint8 *)word, (guint)strlen (word));
      if (tail_length > 0)
        g_byte_array_append (bytes, tail, tail_length);
    }
}

static void
test_mutations (void)
{
  const char *more = g_getenv ("GRADLOOM_FUZZ_ROUNDS");
  const guint rounds = more != NULL ? (guint)g_ascii_strtoull (more, NULL, 10) : 600;

  for (guint round = 0; round < rounds; round++)
    {
      const Case *c = &cases[round % G_N_ELEMENTS (cases)];
      g_autofree char *path = file_path (c->mutated), *content = NULL;
      g_autoptr (GRand) rand = g_rand_new_with_seed (round);
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      g_autoptr (GBytes) mutated = NULL;
      gsize length;

      g_assert_true (g_file_get_contents (path, &content, &length, NULL));
      g_byte_array_append (bytes, (const guint8 *)content, (guint)length);
      for (int i = g_rand_int_range (rand, 0, 4); i > 0; i--)
        mutate (bytes, rand);
      mutated = g_bytes_new (bytes->data, bytes->len);
      write_file (c->mutated, bytes->len > 0 ? bytes->data : (const guint8 *)"", bytes->len);
      run_one (c, mutated);
      write_file (c->mutated, content, length);
    }
  g_test_message ("%u mutations", rounds);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("fuzz-data-XXXXXX", NULL);
  write_files ();
  g_test_add_func ("/fuzz/data/mutations", test_mutations);
  status = g_test_run ();
  remove_all (folder);
  g_free (folder);
  return status;
}
