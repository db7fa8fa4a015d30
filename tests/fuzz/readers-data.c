/* Readers of data sets: a folder has the files of small data sets, one of which is replaced by the bytes; the others
 * are unchanged. Every data set that has a file of the reader's format is described, opened, read and saved. */
#include "tests/fuzz/readers.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-picture.h"
#include "engine/data/loom-samples.h"

#define MOST_READ 4 /* samples of a split */

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
  { "text", { "path", "t.txt", "context", "2", "unit", "tokenizer", "tokenizer", "t.model", NULL }, "t.model" },
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

static void
write_text (const char *name, const char *text)
{
  fuzz_write (name, text, strlen (text));
}

/* A file of tests/data. */
static void
copy_file (const char *from, const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", from, NULL),
                  *content = NULL;
  gsize n;

  g_assert_true (g_file_get_contents (path, &content, &n, NULL));
  fuzz_write (name, content, n);
}

/* The model of SentencePiece in a case of tests/data/tokenizers. */
static GBytes *
read_model (const char *from)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests/data/tokenizers", from, NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  guchar *model;
  gsize n;

  g_assert_true (json_parser_load_from_file (parser, path, NULL));
  model = g_base64_decode (
      json_object_get_string_member (json_node_get_object (json_parser_get_root (parser)), "model"), &n);
  return g_bytes_new_take (model, n);
}

static void
add_models (const FuzzReader *self, GPtrArray *seeds)
{
  g_ptr_array_add (seeds, read_model ("sentencepiece-bpe.json"));
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
  fuzz_write (name, file->str, file->len);
}

static void
write_files (void)
{
  static gboolean written;

  static const guint8 bmp[] = { 'B', 'M', 70, 0, 0,  0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0, 2, 0,
                                0,   0,   1,  0, 24, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0,
                                0,   0,   0,  0, 0,  0, 9, 8, 7, 6, 5,  4, 0, 0, 3,  2, 1, 0, 1, 2, 0, 0 };
  static const guint8 images[]
      = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  static const guint8 labels[] = { 0, 0, 8, 1, 0, 0, 0, 3, 0, 1, 2 };

  if (written)
    return;
  written = TRUE;
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
  fuzz_write ("i.idx", images, sizeof images);
  fuzz_write ("l.idx", labels, sizeof labels);
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
  g_autoptr (GBytes) model = read_model ("sentencepiece-unigram.json");
  fuzz_write ("t.model", g_bytes_get_data (model, NULL), g_bytes_get_size (model));
  write_text ("m.txt", "#version: 0.2\nt h\nth e\na t\nĠ the\n");
  write_text ("p.tsv", "a cat\tune chatte\na dog\tun chien\nthe dog\tle chien\n");
  fuzz_write ("pictures/cat/1.bmp", bmp, sizeof bmp);
  fuzz_write ("pictures/dog/1.bmp", bmp, sizeof bmp);
  write_text ("coco.json",
              "{\"images\":[{\"id\":7,\"file_name\":\"1.bmp\"}],\"categories\":[{\"id\":90,\"name\":\"cat\"}"
              ",{\"id\":3,\"name\":\"dog\"}],\"annotations\":[{\"image_id\":7,\"category_id\":90,\"bbox\":"
              "[0,0.5,1,1],\"iscrowd\":0},{\"image_id\":7,\"category_id\":3,\"bbox\":[0,0,2,2]}]}");
  fuzz_write ("voc/JPEGImages/1.bmp", bmp, sizeof bmp);
  write_text ("voc/Annotations/1.xml",
              "<annotation><object><name>cat</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>1</ymin>"
              "<xmax>2</xmax><ymax>2</ymax></bndbox><part><name>head</name></part></object></annotation>");
  write_text ("voc/ImageSets/Segmentation/train.txt", "1\n# none\n1\n");
  g_autoptr (GBytes) mask = loom_picture_write_mask ((const guint8[]){ 0, 3, 255, 20 }, 2, 2, NULL);
  fuzz_write ("voc/SegmentationClass/1.png", g_bytes_get_data (mask, NULL), g_bytes_get_size (mask));
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
    fuzz_check_error (error);
  loom_sample_reader_free (reader);
}

static void
run_one (const Case *c, GBytes *bytes)
{
  const LoomDatasetOptions options
      = { .get = loom_dataset_options_from_strv, .data = c->options, .folder = fuzz_folder () };
  g_autoptr (GError) error = NULL, other = NULL;
  g_autoptr (LoomDataset) dataset = NULL;
  g_autofree char *path = g_build_filename (fuzz_folder (), c->mutated, NULL);
  LoomDatasetInfo info;

  if (!loom_dataset_describe (c->source, &options, &info, &error))
    fuzz_check_error (error);
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
      fuzz_check_error (error);
      return;
    }
  for (int split = 0; split < LOOM_N_SPLITS; split++)
    {
      const gint64 n = MIN (MOST_READ, loom_dataset_count (dataset, split)), index[MOST_READ] = { 0, 1, 2, 3 };
      g_autoptr (GError) failure = NULL;
      g_autoptr (GPtrArray) read = n > 0 ? loom_dataset_read_new (dataset, split, index, (guint)n, &failure) : NULL;

      if (n > 0 && read == NULL)
        fuzz_check_error (failure);
    }
  loom_dataset_digest (dataset);
  use_again (dataset, bytes);
}

static void
run_data (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);

  fuzz_replace (self->file, data, size);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    if (g_str_equal (cases[i].mutated, self->file))
      run_one (&cases[i], bytes);
}

/* What a run keeps of its data set. */
static LoomDataset *saved_set;

static void
write_saved (void)
{
  static const char *const with[]
      = { "path", "t.csv", "target", "k", "missing", "mean", "normalize", "standard", NULL };
  const LoomDatasetOptions options
      = { .get = loom_dataset_options_from_strv, .data = (gpointer)with, .folder = fuzz_folder () };
  g_autofree char *text = NULL;

  write_files ();
  if (saved_set == NULL)
    saved_set = loom_dataset_open ("csv", &options, NULL);
  g_assert_nonnull (saved_set);
  text = loom_dataset_save (saved_set);
  if (!g_file_test ("data.ini", G_FILE_TEST_EXISTS))
    write_text ("data.ini", text);
}

static void
run_saved (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *)data, size);
  g_autoptr (GError) error = NULL;

  if (!loom_dataset_restore (saved_set, text, "data.ini", &error))
    fuzz_check_error (error);
}

static const char *const csv_words[]
    = { "\"",          ",",       ";",        "\n",       "\r\n",         "NA",     "-1", "1e309",
        "99999999999", "nan",     "\xff\xfe", "\xfe\xff", "\x1f\x8b\x08", "PK\3\4", "\t", "\xff",
        "2026-12-01",  "sep=;\n", "a,b,k\n",  NULL };
static const char *const text_words[] = { "the ", "\xc4\xa0", " ",      "\n", "\r\n",         "#version: 0.2\n",
                                          "\xff", "t h\n",    "th e\n", "\t", "\x1f\x8b\x08", NULL };
static const char *const xml_words[] = { "<object>",
                                         "</object>",
                                         "<bndbox>",
                                         "<xmin>1</xmin>",
                                         "<name>cat</name>",
                                         "&#0;",
                                         "<!DOCTYPE x [<!ENTITY a \"b\">]>",
                                         "&a;",
                                         "-1",
                                         "1e309",
                                         "<",
                                         ">",
                                         NULL };
static const char *const idx_words[]
    = { "\x08\x01", "\x08\x03", "\x0d\x01", "\xff\xff\xff\xff", "\x1f\x8b\x08", "\x7f\xff\xff\xff", NULL };

#define DATA(NAME, FORM, FILE, ...)                                                                                    \
  {                                                                                                                    \
    NAME, run_data, FORM, .prepare = write_files, .file = FILE, __VA_ARGS__                                            \
  }

const FuzzReader fuzz_data_readers[] = {
  DATA ("csv", FUZZ_WORDS, "t.csv", .words = csv_words, .seeds = { "tests/data/parquet .csv" }),
  DATA ("csv-semicolons", FUZZ_WORDS, "s.csv", .words = csv_words),
  DATA ("csv-wide", FUZZ_WORDS, "wide.csv", .words = csv_words),
  DATA ("parquet", FUZZ_FOOTER, "t.parquet", .seeds = { "tests/data/parquet .parquet" }, .most_mb = 520),
  DATA ("npz", FUZZ_ZIP, "t.npz", .seeds = { "tests/data/npz .npz" }, .multiple = FUZZ_PACKED),
  DATA ("tar", FUZZ_TAR, "t.tar", .most_mb = FUZZ_PICTURE_MB),
  DATA ("image-table", FUZZ_WORDS, "pictures.csv", .words = csv_words),
  DATA ("npy-values", FUZZ_WORDS, "x.npy"),
  DATA ("npy-labels", FUZZ_WORDS, "y.npy"),
  DATA ("idx", FUZZ_WORDS, "i.idx", .words = idx_words),
  DATA ("idx-labels", FUZZ_WORDS, "l.idx", .words = idx_words),
  DATA ("text", FUZZ_WORDS, "t.txt", .words = text_words),
  DATA ("merges", FUZZ_WORDS, "m.txt", .words = text_words),
  DATA ("tokenizer", FUZZ_WORDS, "t.json", .seeds = { "tests/data/tokenizers .json" }),
  DATA ("unigram", FUZZ_WORDS, "u.json"),
  DATA ("sentencepiece", FUZZ_PROTOBUF, "t.model", .add = add_models),
  DATA ("pairs", FUZZ_WORDS, "p.tsv", .words = text_words),
  DATA ("coco", FUZZ_WORDS, "coco.json"),
  DATA ("voc", FUZZ_WORDS, "voc/Annotations/1.xml", .words = xml_words),
  DATA ("mask", FUZZ_PNG, "voc/SegmentationClass/1.png", .most_mb = FUZZ_PICTURE_MB),
  DATA ("split", FUZZ_WORDS, "voc/ImageSets/Segmentation/train.txt", .words = text_words),
  DATA ("bmp", FUZZ_BYTES, "pictures/cat/1.bmp", .most_mb = FUZZ_PICTURE_MB),
  DATA ("png", FUZZ_PNG, "formats/a/turned.png", .most_mb = FUZZ_PICTURE_MB),
  DATA ("jpeg", FUZZ_BYTES, "formats/a/turned.jpg", .seeds = { "tests/data/pictures .jpg" },
        .most_mb = FUZZ_PICTURE_MB),
  DATA ("webp", FUZZ_BYTES, "formats/a/turned.webp", .most_mb = FUZZ_PICTURE_MB),
  DATA ("tiff", FUZZ_BYTES, "formats/a/tiles.tiff", .most_mb = FUZZ_PICTURE_MB),
  { "saved-data", run_saved, FUZZ_WORDS, .prepare = write_saved, .file = "data.ini", .words = csv_words },
  { NULL },
};
