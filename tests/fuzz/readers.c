/* Readers of bytes in memory, the list of all readers, and the inputs that they begin with. */
#include "tests/fuzz/readers.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "app/remote-stream.h"
#include "engine/core/loom-error.h"
#include "engine/data/loom-mo.h"
#include "engine/dist/loom-launch-log.h"
#include "engine/graph/loom-expr.h"
#include "engine/interop/loom-npy.h"
#include "engine/interop/zip-archive.h"
#include "engine/lesson/loom-lecture.h"
#include "engine/onnx/loom-onnx.h"
#include "engine/plan/loom-cost-table.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz-graph.h"
#include "tests/fuzz/fuzz-weights.h"
#include "tests/scratch.h"

static char *folder;

const char *
fuzz_folder (void)
{
  if (folder == NULL)
    folder = g_dir_make_tmp ("fuzz-XXXXXX", NULL);
  return folder;
}

void
fuzz_folder_remove (void)
{
  if (folder != NULL)
    remove_tree (folder);
  g_clear_pointer (&folder, g_free);
}

void
fuzz_write (const char *name, gconstpointer data, gsize n)
{
  g_autofree char *path = g_build_filename (fuzz_folder (), name, NULL), *parent = g_path_get_dirname (path);
  FILE *file;

  g_assert_no_errno (g_mkdir_with_parents (parent, 0755));
  /* Without waiting for the disk, as g_file_set_contents() does. */
  file = fopen (path, "wbe");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (data, 1, n, file), ==, n);
  fclose (file);
}

static const char *replaced;   /* NULL: no file is */
static char *replaced_content; /* that it had */
static gsize replaced_length;

static void
put_back (void)
{
  if (replaced != NULL)
    fuzz_write (replaced, replaced_content, replaced_length);
  replaced = NULL;
  g_clear_pointer (&replaced_content, g_free);
}

void
fuzz_replace (const char *name, gconstpointer data, gsize n)
{
  if (g_strcmp0 (name, replaced) != 0)
    {
      g_autofree char *path = g_build_filename (fuzz_folder (), name, NULL);

      put_back ();
      g_assert_true (g_file_get_contents (path, &replaced_content, &replaced_length, NULL));
      replaced = name;
    }
  fuzz_write (name, data, n);
}

void
fuzz_check_error (const GError *error)
{
  g_assert_nonnull (error);
  if (!g_utf8_validate (error->message, -1, NULL))
    {
      g_autofree char *message = g_strescape (error->message, NULL);

      g_error ("The sentence is no UTF-8: %s", message);
    }
  g_assert_cmpuint (strlen (error->message), >, 10);
}

/* ---- in memory -------------------------------------------------------- */

static void
run_graph (const FuzzReader *self, const guint8 *data, gsize size)
{
  fuzz_graph (data, size);
}

static void
run_weights (const FuzzReader *self, const guint8 *data, gsize size)
{
  fuzz_weights (data, size);
}

static void
run_npy (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) tensor = loom_npy_parse (data, size, "fuzz.npy", &error);

  if (tensor == NULL)
    fuzz_check_error (error);
}

static void
run_onnx (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) model = loom_onnx_read_data (data, size, "fuzz.onnx",
                                                    &(LoomOnnxInputs){ .batch = LOOM_ONNX_BATCH_AUTO }, faults, &error);

  if (model == NULL && error != NULL)
    fuzz_check_error (error);
  else if (model == NULL)
    g_assert_cmpuint (loom_faults_length (faults), >, 0);
  else
    {
      gsize n;
      g_autofree char *text = loom_graph_write (model->graph, &n);
      g_autoptr (LoomGraph) again = loom_graph_read_data (text, n, "fuzz", faults, &error);

      /* What is written can be read. */
      g_assert_no_error (error);
    }
}

static gboolean
lookup_cb (const char *name, LoomNumber *value, gpointer data)
{
  *value = (LoomNumber){ .is_int = strlen (name) % 2 == 0, .i = (gint64)strlen (name), .d = (double)strlen (name) };
  return name[0] != 'z';
}

static void
run_expression (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *raw = g_strndup ((const char *)data, size), *text = g_utf8_make_valid (raw, -1);
  g_autoptr (GError) error = NULL;
  LoomNumber value;

  if (loom_expr_eval (text, lookup_cb, NULL, &value, &error))
    g_free (loom_number_to_string (value));
  else
    fuzz_check_error (error);
}

static void
run_lecture (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *copy = g_strndup ((const char *)data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomLecture) lecture = loom_lecture_read_data (copy, size, "fuzz.lecture", &error);

  if (lecture == NULL)
    fuzz_check_error (error);
}

static void
run_costs (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *)data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomCostTable) table = loom_cost_table_new_from_text (text, "fuzz.ini", &error);

  if (table == NULL)
    fuzz_check_error (error);
  else
    g_free (loom_cost_table_to_text (table, TRUE));
}

/* What mpirun prints, in two pieces. */
static void
run_launcher (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autoptr (GString) out = g_string_new (NULL);
  LoomLaunchFilter filter;

  loom_launch_filter_init (&filter);
  loom_launch_filter_push (&filter, (const char *)data, size / 2, out);
  loom_launch_filter_push (&filter, (const char *)data + size / 2, size - size / 2, out);
  loom_launch_filter_flush (&filter, out);
  loom_launch_filter_clear (&filter);
}

static void
run_translations (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (loom_mo_entry_free);
  g_autofree char *path = g_build_filename (fuzz_folder (), "fuzz.mo", NULL);
  g_autoptr (GError) error = NULL;

  fuzz_write ("fuzz.mo", data, size);
  if (!loom_mo_read (path, list, &error))
    fuzz_check_error (error);
}

/* A message of another machine, as each of the types that are expected. */
static void
run_message (const FuzzReader *self, const guint8 *data, gsize size)
{
  static const char *const types[] = { REMOTE_RUN, REMOTE_WANTED, REMOTE_STARTED, REMOTE_PIECE };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autoptr (GInputStream) stream = g_memory_input_stream_new_from_data (data, (gssize)size, NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (GVariant) message = remote_read (stream, types[i], &error);
      g_autofree char *text = message != NULL ? g_variant_print (message, TRUE) : NULL;

      if (message == NULL)
        fuzz_check_error (error);
    }
}

static const char *const expression_words[] = { "(",
                                                ")",
                                                "+",
                                                "-",
                                                "*",
                                                "//",
                                                "%",
                                                "/",
                                                "min",
                                                "max",
                                                ",",
                                                "{",
                                                "}",
                                                "1e308",
                                                "9223372036854775807",
                                                "0",
                                                "x",
                                                "((((((((((((((((",
                                                "----------------",
                                                "==",
                                                "if",
                                                "log2",
                                                "ceil",
                                                NULL };

static const char *const graph_words[] = { "<",
                                           ">",
                                           "\"",
                                           "&",
                                           "&#0;",
                                           "&#x1b;",
                                           "<!--",
                                           "-->",
                                           "<![CDATA[",
                                           "<?x?>",
                                           "repeat=\"10000\"",
                                           "{",
                                           "}",
                                           "module_input",
                                           "id=\"x\"",
                                           ".",
                                           "-1",
                                           "99999999999999999999",
                                           "1e309",
                                           "xmlns=\"\"",
                                           "xmlns:q=\"urn:q\"",
                                           "\xff",
                                           "share=\"true\"",
                                           "carry=\"x\"",
                                           "op=\"scan\" body=\"block\"",
                                           "op=\"switch\" bodies=\"block,block\"",
                                           "op=\"recurse\" body=\"block\"",
                                           "<node id=\"y\" op=\"linear\"/>",
                                           "<wire from=\"x\" to=\"y\"/>",
                                           NULL };

static const char *const launcher_words[]
    = { "-----\n",
        "mpirun noticed that process rank 1 ",
        "exited on signal 9 (Killed)",
        "PRTE has lost",
        "\n",
        "rank",
        "--------------------------------------------------------------------------\n",
        "99999999999",
        NULL };

static const char *const costs_words[]
    = { "[", "]", "=", "\n", "measured", "choices", "1e309", "-1", "nan", "conv2d f32", NULL };

const FuzzReader fuzz_plain_readers[] = {
  { "graph",
    run_graph,
    FUZZ_WORDS,
    { "graphs/lessons .xml", "tests/recipe/bad .xml" },
    .words = graph_words,
    .most_mb = FUZZ_NET_MB },
  { "lecture",
    run_lecture,
    FUZZ_WORDS,
    { "graphs .lecture" },
    { "<lecture xmlns=\"urn:gradloom:lecture\" version=\"1\" title=\"t\"><stop graph=\"a.xml\"/></lecture>" },
    graph_words },
  { "expression", run_expression, FUZZ_WORDS, { NULL }, { "{a + 2 * (b // 3) - min(a, 4) % 5}" }, expression_words },
  { "safetensors", run_weights, FUZZ_LENGTH, { "tests/interop/weights .safetensors" } },
  { "torch",
    run_weights,
    FUZZ_ZIP,
    { "tests/interop/weights .pth", "tests/interop/weights .pt", "tests/interop/weights .pt2" },
    .multiple = FUZZ_PACKED },
  { "gguf", run_weights, FUZZ_BYTES, { "tests/interop/weights .gguf" } },
  { "hdf5", run_weights, FUZZ_BYTES, { "tests/interop/weights .h5" }, .multiple = FUZZ_PACKED },
  { "keras", run_weights, FUZZ_ZIP, { "tests/interop/weights .keras" }, .multiple = FUZZ_PACKED },
  { "weights-npz", run_weights, FUZZ_ZIP, { "tests/interop/weights .npz" }, .multiple = FUZZ_PACKED },
  { "npy",
    run_npy,
    FUZZ_WORDS,
    { NULL },
    { "\x93NUMPY\1 v {'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n12345678" } },
  { "onnx", run_onnx, FUZZ_PROTOBUF, { NULL } },
  { "costs", run_costs, FUZZ_WORDS, { NULL }, { "[device]\na=1\n" }, costs_words },
  { "launcher",
    run_launcher,
    FUZZ_WORDS,
    { NULL },
    { "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).\n" },
    launcher_words },
  { "translations", run_translations, FUZZ_BYTES, { NULL } },
  { "message", run_message, FUZZ_BYTES, { NULL }, { NULL } },
  { NULL },
};

/* ---- all -------------------------------------------------------------- */

static const FuzzReader *const lists[]
    = { fuzz_plain_readers, fuzz_data_readers,   fuzz_run_readers, fuzz_agent_readers,
        fuzz_bus_readers,   fuzz_studio_readers, fuzz_rank_readers };

const FuzzReader *
fuzz_reader_next (const FuzzReader *before)
{
  gboolean found = before == NULL;

  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (const FuzzReader *r = lists[l]; r != NULL && r->name != NULL; r++)
      {
        if (found)
          return r;
        found = r == before;
      }
  return NULL;
}

const FuzzReader *
fuzz_reader_find (const char *name)
{
  const FuzzReader *found = NULL;

  for (const FuzzReader *r = fuzz_reader_next (NULL); r != NULL && found == NULL; r = fuzz_reader_next (r))
    found = g_str_equal (r->name, name) ? r : NULL;
  if (found == NULL)
    g_error ("There is no reader “%s”.", name);
  return found;
}

static void
add_kept (GPtrArray *seeds, const char *name)
{
  g_autofree char *file = g_strdup_printf ("%s.zip", name),
                  *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests/fuzz/corpus", file, NULL);
  g_autoptr (GMappedFile) mapped = g_mapped_file_new (path, FALSE, NULL);
  g_autoptr (GBytes) bytes = mapped != NULL ? g_mapped_file_get_bytes (mapped) : NULL;
  g_autoptr (ZipArchive) archive = bytes != NULL ? zip_archive_open (bytes, path, NULL) : NULL;

  for (guint64 i = 0; archive != NULL && i < zip_archive_count (archive); i++)
    {
      GBytes *member = zip_archive_read (archive, i, 1 << 20, NULL);

      g_assert_nonnull (member);
      g_ptr_array_add (seeds, member);
    }
}

GPtrArray *
fuzz_reader_seeds (const FuzzReader *self)
{
  GPtrArray *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);

  put_back ();
  add_kept (seeds, self->name);
  for (guint i = 0; i < G_N_ELEMENTS (self->seeds) && self->seeds[i] != NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (self->seeds[i], " ", 2);

      corpus_add (seeds, words[0], words[1], NULL);
    }
  for (guint i = 0; i < G_N_ELEMENTS (self->text) && self->text[i] != NULL; i++)
    g_ptr_array_add (seeds, g_bytes_new (self->text[i], strlen (self->text[i])));
  if (self->prepare != NULL)
    self->prepare ();
  if (self->file != NULL)
    {
      g_autofree char *path = g_build_filename (fuzz_folder (), self->file, NULL);
      char *content;
      gsize n;

      if (g_file_get_contents (path, &content, &n, NULL))
        g_ptr_array_add (seeds, g_bytes_new_take (content, n));
    }
  if (self->add != NULL)
    self->add (self, seeds);
  if (seeds->len == 0)
    g_ptr_array_add (seeds, g_bytes_new_static ("", 0));
  return seeds;
}
