/* Every data set gets a graph of each kind of network that suits it, which must have no fault and take a training step.
 * A new data set that needs files gets a line in `given` below. */
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-picture.h"
#include "engine/interop/loom-npy.h"
#include "engine/template/loom-template.h"
#include "engine/train/loom-trainer.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

static char *folder; /* of the files below */

/* Files for sources; a source that needs none has no line. */
static const struct
{
  const char *source, *options[9];
} given[] = {
  { "idx", { "images", "images.idx", "labels", "labels.idx" } },
  { "image-folder", { "path", "pictures", "size", "16", "color", "grey" } },
  { "masks", { "path", "masked", "size", "16" } },
  { "boxes", { "path", "pictures/bright", "annotations", "boxes.json", "size", "16" } },
  { "webdataset", { "path", "sample.tar", "size", "16" } },
  { "image-table", { "path", "pictures.csv", "size", "16" } },
  { "npz", { "path", "keras.npz" } },
  { "npz", { "path", "several.npz", "x", "volumes", "y", "labels" } },
  { "csv", { "path", "flowers.csv", "target", "kind" } },
  { "csv", { "path", "flowers.csv", "target", "width", "features", "length", "target_type", "float" } },
  { "npy", { "x", "rows.npy", "y", "classes.npy" } },
  { "npy", { "x", "rows.npy" } },
  { "npy", { "x", "rows.npy", "y", "rows.npy" } },
  { "npy", { "x", "rows.npy", "y", "column.npy" } },
  { "npy", { "x", "cubes.npy", "y", "cubes.npy" } },
  { "npy", { "x", "symbols.npy", "y", "symbols.npy" } },
  { "npy", { "x", "symbols.npy", "y", "classes.npy" } },
  { "npy", { "x", "column.npy", "y", "column.npy" } },
  { "text", { "path", "text.txt", "context", "16" } },
  { "pairs", { "path", "pairs.tsv" } },
  { "spirals", { "target_type", "float" } },
  { "shapes", { "target_type", "boxes", "size", "24", "stride", "6" } },
};

static void
write_file (const char *name, gconstpointer data, gssize length)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, data, length, NULL));
}

/* A file of tests/data. */
static void
copy_file (const char *box, const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", box, name, NULL),
                  *content = NULL;
  gsize n;

  g_assert_true (g_file_get_contents (path, &content, &n, NULL));
  write_file (name, content, (gssize)n);
}

/* Two classes of BMP files of 16 × 16 pixels. */
static void
write_pictures (void)
{
  static const guint8 head[54]
      = { 'B', 'M', 54, 3, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 1, 0, 24 };
  guint8 bytes[54 + 3 * 256];

  for (guint i = 0; i < 8; i++)
    {
      g_autofree char *name = g_strdup_printf ("pictures/%s/%u.bmp", i % 2 ? "dark" : "bright", i);
      g_autofree char *path = g_build_filename (folder, name, NULL), *parent = g_path_get_dirname (path);

      memcpy (bytes, head, sizeof head);
      for (guint k = 0; k < 3 * 256; k++)
        bytes[sizeof head + k] = (guint8)((i % 2 ? 40 : 160) + k % 50);
      g_mkdir_with_parents (parent, 0755);
      write_file (name, bytes, sizeof bytes);
    }
}

/* Pictures of 16 × 16 pixels whose left half is class 1, and one box. */
static void
write_described_pictures (void)
{
  static const char coco[] = "{\"images\":[{\"id\":1,\"file_name\":\"0.bmp\"},{\"id\":2,\"file_name\":\"2.bmp\"}],"
                             "\"categories\":[{\"id\":3,\"name\":\"spot\"}],\"annotations\":["
                             "{\"image_id\":1,\"category_id\":3,\"bbox\":[2,2,8,8]},"
                             "{\"image_id\":2,\"category_id\":3,\"bbox\":[4,4,8,8]}]}";
  static const char *const folders[] = { "masked/images", "masked/masks" };
  guint8 mask[256];

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *path = g_build_filename (folder, folders[i], NULL);

      g_mkdir_with_parents (path, 0755);
    }
  for (guint i = 0; i < 256; i++)
    mask[i] = i % 16 < 8;
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (GBytes) bytes = loom_picture_write_mask (mask, 16, 16, NULL);
      g_autofree char *from = g_strdup_printf ("%s/pictures/bright/%u.bmp", folder, 2 * i), *picture = NULL;
      g_autofree char *to = g_strdup_printf ("masked/images/%u.bmp", i),
                      *png = g_strdup_printf ("masked/masks/%u.png", i);
      gsize n;

      g_assert_true (g_file_get_contents (from, &picture, &n, NULL));
      write_file (to, picture, (gssize)n);
      write_file (png, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes));
    }
  write_file ("boxes.json", coco, -1);
}

static void
write_npy (const char *name, LoomDType dtype, int rank, const gint64 *dims)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, rank, dims, NULL);

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, dtype == LOOM_I64 ? i % 3 : sin ((double)i));
  g_assert_true (loom_npy_save (path, t, NULL));
}

static void
make_files (void)
{
  static const guint8 images_head[] = { 0, 0, 8, 3, 0, 0, 0, 8, 0, 0, 0, 12, 0, 0, 0, 12 };
  static const guint8 labels_head[] = { 0, 0, 8, 1, 0, 0, 0, 8 };
  guint8 images[sizeof images_head + 8 * 144], labels[sizeof labels_head + 8];
  g_autoptr (GString) csv = g_string_new ("length,width,kind\n"), text = g_string_new (NULL);

  folder = g_dir_make_tmp ("template-XXXXXX", NULL);
  memcpy (images, images_head, sizeof images_head);
  for (guint i = sizeof images_head; i < sizeof images; i++)
    images[i] = (guint8)(i * 7);
  memcpy (labels, labels_head, sizeof labels_head);
  for (guint i = 0; i < 8; i++)
    labels[sizeof labels_head + i] = (guint8)(i % 4);
  write_file ("images.idx", images, sizeof images);
  write_file ("labels.idx", labels, sizeof labels);
  for (guint i = 0; i < 30; i++)
    g_string_append_printf (csv, "%u.5,%u,%s\n", i, i % 7, i % 2 ? "rose" : "tulip");
  write_file ("one.csv", "length,kind\n1,rose\n2,rose\n3,rose\n", -1);
  write_file ("flowers.csv", csv->str, (gssize)csv->len);
  for (guint i = 0; i < 200; i++)
    g_string_append (text, "to be or not to be. ");
  write_file ("text.txt", text->str, (gssize)text->len);
  write_file ("pairs.tsv", "one\teins\ntwo three\tzwei drei\nfour\tvier\nfive\tfünf\n", -1);
  write_pictures ();
  write_described_pictures ();
  write_file ("pictures.csv", "x:image,y:label\npictures/bright/0.bmp,0\npictures/dark/1.bmp,1\n", -1);
  copy_file ("archives", "sample.tar");
  copy_file ("npz", "keras.npz");
  copy_file ("npz", "several.npz");
  write_npy ("rows.npy", LOOM_F32, 2, (gint64[]){ 20, 5 });
  write_npy ("cubes.npy", LOOM_F32, 4, (gint64[]){ 20, 2, 8, 9 });
  write_npy ("column.npy", LOOM_F32, 1, (gint64[]){ 20 });
  write_npy ("classes.npy", LOOM_I64, 1, (gint64[]){ 20 });
  write_npy ("symbols.npy", LOOM_I64, 2, (gint64[]){ 20, 6 });
}

static void
check_clean (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *text = loom_fault_to_string (loom_faults_get (faults, i));

      g_test_message ("%s", text);
    }
  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  g_assert_nonnull (spec);
}

typedef struct
{
  double first, last;
} Losses;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Losses *losses = data;

  if (step->step == 1)
    losses->first = step->loss;
  losses->last = step->loss;
}

static Losses
train (const LoomGraph *graph, gint64 steps)
{
  const LoomTrainerOptions options
      = { .threads = 1, .steps = steps, .lr = NAN, .seed = -1, .batch_size = steps == 1 ? 8 : 0 };
  const LoomTrainerObserver observer = { .step = step_cb };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  Losses losses = { NAN, NAN };

  g_assert_no_error (error);
  loom_trainer_set_observer (trainer, &observer, &losses);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_true (isfinite (losses.first));
  return losses;
}

static gboolean
is_here (const char *source, const char *const *options)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = options, .folder = folder };
  g_autoptr (LoomDataset) dataset = loom_dataset_open (source, &o, NULL);

  return dataset != NULL;
}

/* Every kind that suits, and the likeliest is the first of them. */
static void
check_source (const char *source, const char *const *strv)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };
  g_autofree const LoomTemplateKind **kinds = NULL;
  LoomDatasetInfo info;

  if (!loom_dataset_describe (source, &o, &info, NULL))
    g_assert_cmpuint (info.n_ports, >, 0);
  kinds = loom_template_kinds (&info);
  g_assert_nonnull (kinds[0]);
  for (guint k = 0; kinds[k] != NULL; k++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomGraph) graph = loom_template_from_data (
          &(LoomTemplateData){
              .source = source, .options = strv, .folder = folder, .kind = k == 0 ? NULL : kinds[k]->name },
          &error);

      g_test_message ("%s, %s", source, kinds[k]->name);
      g_assert_no_error (error);
      if (is_here (source, strv))
        {
          check_clean (graph);
          train (graph, 1);
        }
      else
        g_test_message ("its data are not on this machine");
    }
}

static void
test_every_source (void)
{
  for (const LoomDatasetClass *const *c = loom_dataset_classes (); *c != NULL; c++)
    {
      const char *source = loom_dataset_class_name (*c);
      gboolean is_given = FALSE, needs = FALSE;

      for (guint i = 0; i < G_N_ELEMENTS (given); i++)
        if (strcmp (given[i].source, source) == 0)
          {
            check_source (source, given[i].options);
            is_given = TRUE;
          }
      for (const LoomDatasetParam *p = loom_dataset_class_params (*c); p != NULL && p->name != NULL; p++)
        needs = needs || p->def == NULL;
      if (needs && !is_given)
        g_error ("The data set %s needs files: give it a line in the table of this test.", source);
      if (!needs && strcmp (source, "text") != 0)
        check_source (source, NULL);
    }
}

/* Generated data sets are learned by the first kind of network. */
static void
test_learns (void)
{
  static const char *const sources[] = { "spirals", "xor", "linear", "tokens" };

  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      g_autoptr (LoomGraph) graph = loom_template_from_data (&(LoomTemplateData){ .source = sources[i] }, NULL);
      Losses losses = train (graph, 400);

      g_test_message ("%s: %g to %g", sources[i], losses.first, losses.last);
      g_assert_cmpfloat (losses.last, <, 0.6 * losses.first);
    }
}

/* Of a target in thousands the first prediction is already near its mean. */
static void
test_units (void)
{
  g_autoptr (LoomGraph) graph
      = loom_template_from_data (&(LoomTemplateData){ .source = "linear", .scale = 250, .shift = -1800.5 }, NULL);
  LoomElement *node = loom_scope_find_node (loom_graph_root (graph), "units");

  g_assert_nonnull (node);
  g_assert_cmpstr (loom_element_get (node, "formula"), ==, "x * 250 - 1801"); /* as exact as 250 */
  check_clean (graph);
  train (graph, 1);
}

static void
test_refused (void)
{
  const struct
  {
    LoomTemplateData data;
    const char *words;
  } bad[] = {
    { { .source = "mnits" }, "mnits" },
    { { .source = "spirals", .kind = "conv" }, "does not suit this data set; these do: mlp, linear" },
    { { .source = "spirals", .options = (const char *const[]){ "turn", "2", NULL } }, "turn" },
    { { .source = "csv" }, "path" },
    { { .source = "csv", .options = (const char *const[]){ "path", "none.csv", "target", "y", NULL } }, "none.csv" },
    { { .source = "csv",
        .folder = folder,
        .options = (const char *const[]){ "path", "one.csv", "target", "kind", "target_type", "class", NULL } },
      "All samples are of one class" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomGraph) graph = loom_template_from_data (&bad[i].data, &error);

      g_assert_null (graph);
      g_assert_nonnull (error);
      g_assert_nonnull (strstr (error->message, bad[i].words));
    }
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  make_files ();
  g_test_add_func ("/template/every-source", test_every_source);
  g_test_add_func ("/template/learns", test_learns);
  g_test_add_func ("/template/units", test_units);
  g_test_add_func ("/template/refused", test_refused);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  return status;
}
