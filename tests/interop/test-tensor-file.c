/* Files of weights in every format, against what PyTorch, NumPy and gguf say they are (weights/make.py); and damaged
 * ones, of which every one ends with a sentence. */
#include "engine/interop/loom-safetensors.h"
#include "engine/interop/loom-weights.h"
#include "engine/interop/pickle.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/core/loom-error.h"

static char *
path_of (const char *name)
{
  return g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "interop", "weights", name, NULL);
}

static LoomTensorFile *
open_file (const char *name)
{
  g_autofree char *path = path_of (name);
  g_autoptr (GError) error = NULL;
  LoomTensorFile *file = loom_tensor_file_open (path, &error);

  g_assert_no_error (error);
  g_assert_nonnull (file);
  return file;
}

/* Every tensor of the file is one of that name in `want`, with the same numbers; FNUZ and other small floats with the
 * same NaN. Returns their number. */
static guint
compare (LoomTensorFile *file, LoomTensorFile *want)
{
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    {
      const char *name = loom_tensor_file_name (file, i);
      const int at = loom_tensor_file_find (want, name);
      const LoomType type = loom_tensor_file_type (file, i);
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_tensor_file_unread (file, i));
      g_assert_cmpint (at, >=, 0);
      g_autoptr (LoomTensor) a = loom_tensor_file_tensor (file, i, &error);
      g_assert_no_error (error);
      g_autoptr (LoomTensor) b = loom_tensor_file_tensor (want, (guint)at, &error);
      g_assert_no_error (error);
      g_assert_cmpint (a->dtype, ==, b->dtype);
      g_assert_cmpint (a->dtype, ==, type.dtype);
      const LoomShape shape = loom_tensor_shape (a), wanted = loom_tensor_shape (b);
      g_assert_true (loom_shape_equal (&shape, &wanted));
      if (!loom_tensor_equal_bits (a, b))
        g_error ("%s differs", name);
    }
  return loom_tensor_file_count (file);
}

static void
test_formats (void)
{
  static const struct
  {
    const char *file;
    guint n;
  } files[] = {
    { "types.pth", 24 }, { "types.safetensors", 18 }, { "legacy.pth", 10 }, { "plain.npz", 9 }, { "packed.npz", 9 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (LoomTensorFile) file = open_file (files[i].file), want = open_file ("want.safetensors");

      g_assert_cmpuint (compare (file, want), ==, files[i].n);
      g_assert_null (loom_tensor_file_member (file));
    }
}

/* Plain, in a checkpoint, a pickled module, exported: the same weights, after a prefix is left out. */
static void
test_networks (void)
{
  static const char *const names[] = { "fc.weight", "fc.bias", "norm.weight", "norm.running_var" };
  static const struct
  {
    const char *file, *member, *prefix, *said;
  } files[] = {
    { "module.pth", NULL, NULL, NULL },
    { "nested.pth", NULL, "model.encoder.", "has its weights with “model.encoder.” before each name" },
    { "exported.pt2", NULL, NULL, NULL },
    { "checkpoint.pth", "model_state_dict", "module.",
      "has its weights in “model_state_dict”, with “module.” before each name" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (LoomTensorFile) file = open_file (files[i].file), want = open_file ("net.safetensors");
      g_autofree char *said = loom_weights_fit_names (file, names, G_N_ELEMENTS (names));

      g_assert_cmpstr (said, ==, files[i].said);
      g_assert_cmpstr (loom_tensor_file_member (file), ==, files[i].member);
      g_assert_cmpuint (compare (file, want), ==, 7);
    }
  /* A prefix with which one name is missing is left alone. */
  g_autoptr (LoomTensorFile) file = open_file ("checkpoint.pth");
  const char *other[] = { "fc.weight", "none" };
  g_assert_null (loom_tensor_file_strip_prefix (file, other, 2));
  g_assert_cmpint (loom_tensor_file_find (file, "fc.weight"), ==, -1);
}

static void
assert_refused (const char *path, const char *part)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (loom_tensor_file_open (path, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  if (strstr (error->message, part) == NULL)
    g_error ("“%s” is not in: %s", part, error->message);
}

static LoomTensor *
tensor_named (LoomTensorFile *file, const char *name)
{
  g_autoptr (GError) error = NULL;
  const int at = loom_tensor_file_find (file, name);

  g_assert_cmpint (at, >=, 0);
  LoomTensor *t = loom_tensor_file_tensor (file, (guint)at, &error);
  g_assert_no_error (error);
  return t;
}

/* Storages of types that PyTorch had not before its format of zip archives: complex numbers have their two parts as a
 * last axis, and a quantised tensor is refused alone. */
static void
test_older (void)
{
  static const char *const pairs[][2] = { { "complex64", "parts" }, { "complex32", "half" } };
  static const char *const types[] = { "float32", "uint16", "float8_e4m3fn" };
  g_autoptr (LoomTensorFile) file = open_file ("older.pth"), want = open_file ("want.safetensors");

  g_assert_cmpuint (loom_tensor_file_count (file), ==, 8);
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autoptr (LoomTensor) a = tensor_named (file, pairs[i][0]), b = tensor_named (file, pairs[i][1]);
      const LoomShape shape = loom_tensor_shape (a), wanted = loom_tensor_shape (b);

      g_assert_true (loom_shape_equal (&shape, &wanted) && a->dtype == b->dtype && loom_tensor_equal_bits (a, b));
    }
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autoptr (LoomTensor) a = tensor_named (file, types[i]), b = tensor_named (want, types[i]);

      g_assert_true (a->dtype == b->dtype && loom_tensor_equal_bits (a, b));
    }
  g_assert_cmpstr (loom_tensor_file_unread (file, (guint)loom_tensor_file_find (file, "quantised")), ==, "qtensor");
}

static void
write_shard (const char *folder, const char *name, const char *tensor, double value)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  const gint64 dim = 2;
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, 1, &dim, NULL);

  loom_tensor_set (t, 1, value);
  g_ptr_array_add (tensors, loom_named_tensor_new (tensor, t));
  g_assert_true (loom_safetensors_save (path, tensors, NULL, NULL));
}

static void
remove_all (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      g_unlink (path);
    }
  g_rmdir (folder);
}

/* A checkpoint with several sets of weights: which one is taken is said, and another one can be chosen. */
static void
test_members (void)
{
  static const struct
  {
    const char *path, *said;
    double more;
  } files[] = { { "members.pth", "has its weights in “state_dict”; FILE#NAME chooses another set: “ema”, “best”", 0 },
                { "members.pth#state_dict", "has its weights in “state_dict”", 0 },
                { "members.pth#ema", "has its weights in “ema”", 1 },
                { "members.pth#best", "has its weights in “best”", 2 } };
  static const char *const names[] = { "weight" };
  double first = 0;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (LoomTensorFile) file = open_file (files[i].path);
      g_autofree char *said = loom_weights_fit_names (file, names, 1);
      g_autoptr (LoomTensor) weight = tensor_named (file, "weight");

      g_assert_cmpstr (said, ==, files[i].said);
      first = i == 0 ? loom_tensor_get (weight, 0) : first;
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (weight, 0), first + files[i].more, 1e-6);
    }
  g_autofree char *none = path_of ("members.pth#none"), *other = path_of ("net.safetensors#ema");
  assert_refused (none, "members.pth” has no weights in “none”, but in “ema”, “state_dict”, “best”");
  assert_refused (other, "net.safetensors” has no weights in “ema”");

  /* A folder and an index have one set; '#' in the name of a folder chooses none. */
  g_autofree char *folder = g_dir_make_tmp ("loom-members-XXXXXX", NULL), *of_folder = g_strconcat (folder, "#2", NULL);
  g_autofree char *index = g_build_filename (folder, "m.safetensors.index.json", NULL),
                  *of_index = g_strconcat (index, "#ema", NULL);
  g_autofree char *absent = g_strconcat (folder, "#2/none.pth", NULL), *named = g_strconcat (absent, "#ema", NULL);
  write_shard (folder, "model.safetensors", "weight", 1);
  assert_refused (of_folder, "#2” names a set of weights, but “");
  g_assert_true (g_file_set_contents (index, "{}", -1, NULL));
  assert_refused (of_index, "is an index of files, which has no sets.");
  const char *const paths[] = { absent, named };
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_tensor_file_open (paths[i], &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
      g_assert_nonnull (strstr (error->message, paths[i]));
    }
  remove_all (folder);
}

/* The weights of weight_norm, which are a direction and a length, for a graph that has their product; and one with
 * sizes of 1 before the others. */
static void
test_normed (void)
{
  static const char *const names[]
      = { "conv.weight", "conv.bias", "fc.weight", "fc.bias", "old.weight", "old.bias", "all.weight" },
      *const kept[] = { "net.old.weight_v", "net.old.weight_g" };
  g_autoptr (LoomTensorFile) file = open_file ("normed.pth"), want = open_file ("normed.safetensors"),
                             same = open_file ("normed.pth");
  g_autofree char *said = loom_weights_fit_names (file, names, G_N_ELEMENTS (names)),
                  *none = loom_weights_fit_names (same, kept, G_N_ELEMENTS (kept));

  g_assert_cmpstr (
      said, ==,
      "has its weights with “net.” before each name; it has 4 weights of weight_norm, of which the product is "
      "taken");
  g_assert_null (none);
  g_assert_cmpuint (loom_tensor_file_count (file), ==, 8);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LoomTensor) a = tensor_named (file, names[i]), b = tensor_named (want, names[i]);

      g_assert_cmpint (a->count, ==, b->count);
      for (gint64 k = 0; k < a->count; k++)
        g_assert_cmpfloat_with_epsilon (loom_tensor_get (a, k), loom_tensor_get (b, k), 1e-6);
    }
  /* A layer with both forms has one weight, that of the first one in the file. */
  static const char *const forms[]
      = { "a.weight_v", "a.weight_g", "a.parametrizations.weight.original1", "a.parametrizations.weight.original0" },
      *const product[] = { "a.weight" };
  g_autofree char *folder = g_dir_make_tmp ("loom-norms-XXXXXX", NULL),
                  *path = g_build_filename (folder, "both.safetensors", NULL);
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, 1, &(const gint64){ 1 }, NULL);

      loom_tensor_set (t, 0, i + 1);
      g_ptr_array_add (tensors, loom_named_tensor_new (forms[i], t));
    }
  g_assert_true (loom_safetensors_save (path, tensors, NULL, NULL));
  g_autoptr (LoomTensorFile) both = loom_tensor_file_open (path, NULL);
  g_assert_cmpuint (loom_tensor_file_join_norms (both, product, 1), ==, 1);
  g_assert_cmpuint (loom_tensor_file_count (both), ==, 3);
  g_autoptr (LoomTensor) weight = tensor_named (both, "a.weight");
  g_assert_cmpfloat (loom_tensor_get (weight, 0), ==, 4);
  g_assert_cmpint (loom_tensor_file_find (both, "a.parametrizations.weight.original1"), ==, -1);
  remove_all (folder);
  for (int rank = 1; rank <= 3; rank++)
    {
      LoomType type = { LOOM_F32, loom_shape (rank, (const gint64[]){ rank == 1 ? 3 : 1, rank == 2 ? 3 : 1, 3 }) };

      g_assert_cmpint (loom_weight_fit (want, "class", &type, NULL, NULL, NULL), ==, LOOM_WEIGHT_FITS);
      g_autoptr (LoomTensor) t = tensor_named (want, "class");
      g_assert_cmpint (t->rank, ==, rank);
      type.shape.dim[0] = loom_dim (2);
      g_assert_cmpint (loom_weight_fit (want, "class", &type, NULL, NULL, NULL), ==, LOOM_WEIGHT_DIFFERS);
    }
}

/* The graph of a network that wraps the one of the file has a prefix that the file lacks. */
static void
test_wrapped (void)
{
  const char *names[] = { "model.fc.weight", "model.fc.bias" }, *other[] = { "model.fc.weight", "model.none" };
  g_autoptr (LoomTensorFile) file = open_file ("module.pth"), same = open_file ("module.pth");
  g_autofree char *said = loom_weights_fit_names (file, names, 2), *none = loom_weights_fit_names (same, other, 2);

  g_assert_cmpstr (said, ==, "has its weights without “model.” before each name");
  g_assert_cmpint (loom_tensor_file_find (file, "model.fc.bias"), >=, 0);
  g_assert_null (none);
  g_assert_cmpint (loom_tensor_file_find (same, "model.fc.weight"), ==, -1);
}

static void
test_gguf (void)
{
  g_autoptr (LoomTensorFile) file = open_file ("small.gguf"), want = open_file ("want.safetensors"),
                             quantised = open_file ("quantised.safetensors");
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (loom_tensor_file_count (file), ==, 4);
  for (guint i = 0; i < 3; i++)
    {
      const char *name = loom_tensor_file_name (file, i);
      LoomTensorFile *of = i == 2 ? quantised : want;
      g_autoptr (LoomTensor) a = loom_tensor_file_tensor (file, i, &error);
      g_autoptr (LoomTensor) b = loom_tensor_file_tensor (of, (guint)loom_tensor_file_find (of, name), &error);

      g_assert_no_error (error);
      g_assert_true (loom_tensor_equal_bits (a, b));
    }
  g_assert_cmpstr (loom_tensor_file_unread (file, 3), ==, "Q4_0");
  g_assert_null (loom_tensor_file_tensor (file, 3, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

/* What Keras saves has the names, layouts and gates of the PyTorch modules that compute the same. */
static void
test_keras (void)
{
  static const char *const names[] = { "keras.weights.h5", "keras.keras", "keras-2.h5" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LoomTensorFile) file = open_file (names[i]), want = open_file ("keras.safetensors");

      /* That of bfloat16 is another file's. */
      g_assert_cmpuint (compare (file, want), ==, loom_tensor_file_count (want) - 1);
    }
  g_autoptr (LoomTensorFile) file = open_file ("keras-bf16.weights.h5"), want = open_file ("keras.safetensors");
  g_assert_cmpuint (compare (file, want), ==, 1);
  g_assert_cmpint (loom_tensor_file_type (file, 0).dtype, ==, LOOM_BF16);
}

/* ---- shards ----------------------------------------------------------------------- */

static void
test_shards (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-shards-XXXXXX", NULL);
  g_autofree char *index = g_build_filename (folder, "m.safetensors.index.json", NULL);
  g_autoptr (GError) error = NULL;

  write_shard (folder, "m-1.safetensors", "a", 1);
  write_shard (folder, "m-2.safetensors", "b", 2);
  assert_refused (folder, "several files of weights");
  g_assert_true (g_file_set_contents (
      index, "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"b\":\"m-2.safetensors\",\"a\":\"m-1.safetensors\"}}",
      -1, NULL));
  const char *const paths[] = { index, folder };
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LoomTensorFile) file = loom_tensor_file_open (paths[i], &error);

      g_assert_no_error (error);
      g_assert_cmpuint (loom_tensor_file_count (file), ==, 2);
      g_autoptr (LoomTensor) b = loom_tensor_file_tensor (file, (guint)loom_tensor_file_find (file, "b"), &error);
      g_assert_no_error (error);
      g_assert_cmpfloat (loom_tensor_get (b, 1), ==, 2);
    }
  const struct
  {
    const char *text, *part;
  } bad[] = {
    { "{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}", "not a file in its folder" },
    { "{\"weight_map\":{\"a\":\"m-2.safetensors\"}}", "names the tensor “a” in “m-2.safetensors”" },
    { "{\"weight_map\":{\"a\":3}}", "names no file for “a”" },
    { "{\"other\":{}}", "no “weight_map”" },
    { "{", "no “weight_map”" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_assert_true (g_file_set_contents (index, bad[i].text, -1, NULL));
      assert_refused (index, bad[i].part);
    }
  remove_all (folder);
}

/* What is written as shards reads as one file: no shard is larger than allowed, but for a tensor that is. */
static void
test_write_shards (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-shards-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w.safetensors", NULL);
  g_autofree char *second = g_build_filename (folder, "w-00002-of-00002.safetensors", NULL);
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (GError) error = NULL;
  const gint64 sizes[] = { 5, 1, 2 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, 1, &sizes[i], NULL);
      const char name[] = { (char)('c' - (char)i), 0 };

      loom_tensor_set (t, 0, i + 1);
      g_ptr_array_add (tensors, loom_named_tensor_new (name, t));
    }
  g_assert_true (loom_safetensors_save_shards (path, tensors, 12, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_autoptr (LoomTensorFile) shard = loom_tensor_file_open (second, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_tensor_file_count (shard), ==, 2);
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open (folder, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_tensor_file_count (file), ==, 3);
  g_autoptr (LoomTensor) b = loom_tensor_file_tensor (file, (guint)loom_tensor_file_find (file, "b"), &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (loom_tensor_get (b, 0), ==, 2);
  g_assert_true (loom_safetensors_save_shards (path, tensors, 1000, NULL, NULL, &error));
  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
  /* The folder is the new file, not the former shards. */
  g_assert_false (g_file_test (second, G_FILE_TEST_EXISTS));
  g_autoptr (LoomTensorFile) whole = loom_tensor_file_open (folder, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_tensor_file_count (whole), ==, 3);
  remove_all (folder);
}

static void
copy_to (const char *folder, const char *name, const char *as)
{
  g_autofree char *from = path_of (name), *to = g_build_filename (folder, as, NULL), *text = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (from, &text, &length, NULL));
  g_assert_true (g_file_set_contents (to, text, (gssize)length, NULL));
}

/* Shards of torch.save, whose tensors are in archives of their own; and a folder with one file among others. */
static void
test_torch_shards (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-shards-XXXXXX", NULL);
  g_autofree char *index = g_build_filename (folder, "pytorch_model.bin.index.json", NULL);
  g_autoptr (LoomTensorFile) want = open_file ("want.safetensors"), net = open_file ("net.safetensors");
  g_autoptr (GError) error = NULL;

  copy_to (folder, "types.pth", "a.bin");
  copy_to (folder, "legacy.pth", "training_args.bin");
  copy_to (folder, "plain.npz", "b.bin");
  g_assert_true (g_file_set_contents (
      index, "{\"weight_map\":{\"float32\":\"a.bin\",\"float16\":\"b.bin\",\"uint8\":\"a.bin\"}}", -1, NULL));
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open (folder, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (compare (file, want), ==, 3);
  g_unlink (index);
  assert_refused (folder, "no file of weights");
  copy_to (folder, "module.pth", "pytorch_model.bin");
  g_autoptr (LoomTensorFile) single = loom_tensor_file_open (folder, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (compare (single, net), ==, 7);
  remove_all (folder);
}

/* ---- damage ------------------------------------------------------------------------ */

/* Without forcing it to the disk, which takes longer than all the rest. */
static void
write_file (const char *path, const char *data, gsize length)
{
  g_assert_true (g_file_set_contents_full (path, data, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* Reads all that can be read; errors are expected. */
static void
read_all (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open (path, &error);

  if (file == NULL)
    {
      g_assert_true (error->domain == LOOM_ERROR && g_utf8_validate (error->message, -1, NULL));
      return;
    }
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    {
      g_autoptr (GError) local = NULL;
      g_autoptr (LoomTensor) t = NULL;
      const LoomType type = loom_tensor_file_type (file, i);

      /* Sizes that a bit has made large would be allocated before their bytes are missed by a decoder. */
      if (loom_dim_value (loom_shape_count (&type.shape), NULL) < 1 << 20)
        t = loom_tensor_file_tensor (file, i, &local);
      g_assert_true (t != NULL || local == NULL || local->domain == LOOM_ERROR);
    }
}

/* Each file is cut at many places, and bytes of it are changed: an error or other numbers, and nothing else. */
static void
test_damage (void)
{
  static const char *const names[]
      = { "types.pth",         "legacy.pth",       "older.pth", "normed.pth", "checkpoint.pth",
          "module.pth",        "exported.pt2",     "plain.npz", "packed.npz", "small.gguf",
          "types.safetensors", "keras.weights.h5", "keras-2.h5" };
  g_autofree char *folder = g_dir_make_tmp ("loom-damage-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w", NULL);
  g_autoptr (GRand) random = g_rand_new_with_seed (7);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *from = path_of (names[i]), *text = NULL;
      gsize length;

      g_assert_true (g_file_get_contents (from, &text, &length, NULL));
      for (int k = 0; k < 40; k++)
        {
          write_file (path, text, (gsize)g_rand_int_range (random, 0, (gint32)length));
          read_all (path);
        }
      for (int k = 0; k < 150; k++)
        {
          g_autofree char *changed = g_memdup2 (text, length);

          for (int j = 0; j < 3; j++)
            changed[g_rand_int_range (random, 0, (gint32)length)] = (char)g_rand_int (random);
          write_file (path, changed, length);
          read_all (path);
        }
    }
  remove_all (folder);
}

/* Archives have checksums: a changed byte of a tensor is found. */
static void
test_checksum (void)
{
  static const char *const names[] = { "types.pth", "plain.npz" };
  g_autofree char *folder = g_dir_make_tmp ("loom-checksum-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w", NULL);
  g_autoptr (LoomTensorFile) want = open_file ("want.safetensors");
  g_autoptr (LoomTensor) number = loom_tensor_file_tensor (want, (guint)loom_tensor_file_find (want, "float64"), NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *from = path_of (names[i]), *text = NULL;
      g_autoptr (GError) error = NULL;
      gsize length;
      char *at;

      g_assert_true (g_file_get_contents (from, &text, &length, NULL));
      at = memmem (text, length, number->data, number->bytes);
      g_assert_nonnull (at);
      at[7] ^= 1;
      write_file (path, text, length);
      /* All of a small array is read with its header. */
      g_autoptr (LoomTensorFile) file = loom_tensor_file_open (path, &error);
      if (file != NULL)
        g_assert_null (loom_tensor_file_tensor (file, (guint)loom_tensor_file_find (file, "float64"), &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, "CRC"));
    }
  remove_all (folder);
}

/* A TorchScript program, a pickle of other objects, and opcodes of no state dict are named. */
static void
test_refused (void)
{
  static const struct
  {
    const char *bytes;
    gsize n;
    const char *part;
  } pickles[] = {
    { "\x80\x02}q\0.", 6, "is a pickle of Python, not a file of torch.save" },
    { "\x80\x02I1\n.", 6, "has a pickle with the opcode 0x49" },
    { "\x80\x02(X\x05\0\0\0ab", 10, "its pickle is not well formed" },
    { "\x80\x02(tt.", 6, "its pickle is not well formed" },
    { "\x80\x02(u.", 5, "its pickle is not well formed" },
    { "\x80\x02h\x07.", 5, "its pickle is not well formed" },
    { "\x80\x02.", 3, "its pickle is not well formed" },
  };
  g_autofree char *folder = g_dir_make_tmp ("loom-pickles-XXXXXX", NULL), *script = path_of ("script.pt");
  g_autofree char *path = g_build_filename (folder, "w.pth", NULL);

  assert_refused (script, "is a TorchScript program");
  copy_to (folder, "types.pth", "cut.pth");
  g_autofree char *cut = g_build_filename (folder, "cut.pth", NULL);
  g_assert_no_errno (truncate (cut, 700));
  assert_refused (cut, "truncated"); /* libzip 1.7 and 1.11 say it in other words */
  g_assert_no_errno (g_unlink (cut));
  for (guint i = 0; i < G_N_ELEMENTS (pickles); i++)
    {
      g_assert_true (g_file_set_contents (path, pickles[i].bytes, (gssize)pickles[i].n, NULL));
      assert_refused (path, pickles[i].part);
    }
  remove_all (folder);
}

/* A name that joins two remembered texts, over and over: 9 bytes of each would make 2 kB. */
static void
test_long_names (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  static const guint8 head[] = { 0x80, 4, 'X', 0xe8, 3, 0, 0 }, repeat[] = { 'q', 0, '0', 'h', 0, 'h', 0, 0x93 };
  g_autofree char *text = g_strnfill (1000, 'n');
  g_autoptr (GError) error = NULL;

  g_byte_array_append (bytes, head, sizeof head);
  g_byte_array_append (bytes, (const guint8 *)text, 1000);
  g_byte_array_append (bytes, repeat, sizeof repeat);
  g_byte_array_append (bytes, (const guint8 *)".", 1);
  g_assert_null (pickle_read (bytes->data, bytes->len, bytes->len, NULL, "w", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

/* A pickle that was packed a thousand times may not have more values than the file can account for. */
static void
test_many_values (void)
{
  const gsize n = PICKLE_VALUES (0) + 100;
  g_autofree char *bytes = g_strnfill (n + 4, 'N');
  g_autoptr (GError) error = NULL;

  memcpy (bytes, "\x80\x02", 2);
  bytes[n + 3] = '.';
  g_assert_null (pickle_read ((const guint8 *)bytes, n + 4, 0, NULL, "w", &error));
  g_assert_nonnull (strstr (error->message, "too many values"));
}

/* Of forty dictionaries each contains the next one twice: the last would be reached 2^39 times. */
static void
test_many_ways (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  static const guint8 head[] = { 0x80, 2,    0x8a, 10,  0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19,
                                 '.',  0x80, 2,    'M', 0xe9, 3,    '.',  0x80, 2,    '}',  '.',  0x80, 2,    '}' };
  g_autofree char *folder = g_dir_make_tmp ("loom-pickles-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w.pth", NULL);

  g_byte_array_append (bytes, head, sizeof head);
  for (guint8 i = 0; i < 40; i++)
    {
      const guint8 outer[] = { 'q', i, '}', '(', 'X', 1, 0, 0, 0, 'a', 'h', i, 'X', 1, 0, 0, 0, 'b', 'h', i, 'u' };

      g_byte_array_append (bytes, outer, sizeof outer);
    }
  g_byte_array_append (bytes, (const guint8 *)".\x80\x02].", 5);
  write_file (path, (const char *)bytes->data, bytes->len);
  assert_refused (path, "its dictionaries contain each other");
  remove_all (folder);
}

/* Protocol 2 stores a number of NumPy as a text with NULs, and a view with another sign as the numbers without it. */
static void
test_metric (void)
{
  g_autoptr (LoomTensorFile) file = open_file ("metric.pth");
  const int weight = loom_tensor_file_find (file, "weight");

  g_assert_cmpint (weight, >=, 0);
  g_assert_null (loom_tensor_file_unread (file, (guint)weight));
  g_assert_cmpstr (loom_tensor_file_unread (file, (guint)loom_tensor_file_find (file, "negated")), ==,
                   "view with another sign");
}

/* Names are recorded and never looked up; values may refer to each other. */
static void
test_pickle (void)
{
  /* {"a": [None, True, -2, 300, 0.5], "b": os.system("x")}, the list also as its own last item */
  static const guint8 bytes[] = "\x80\x04}(\x8c\x01"
                                "a](N\x88J\xfe\xff\xff\xffM\x2c\x01G\x3f\xe0\0\0\0\0\0\0e\x8c\x01"
                                "bcos\nsystem\n\x8c\x01x\x85Ru.";
  g_autoptr (GError) error = NULL;
  gsize used;
  g_autoptr (Pickle) pickle = pickle_read (bytes, sizeof bytes - 1, sizeof bytes - 1, &used, "w", &error);
  const PickleValue *root, *list, *call;

  g_assert_no_error (error);
  g_assert_cmpuint (used, ==, sizeof bytes - 1);
  root = pickle_root (pickle);
  list = pickle_get (root, "a");
  g_assert_cmpuint (list->items->len, ==, 5);
  g_assert_nonnull (pickle_item (list, 0, PICKLE_NONE));
  g_assert_cmpint (pickle_item (list, 1, PICKLE_BOOL)->integer, ==, 1);
  g_assert_cmpint (pickle_item (list, 2, PICKLE_INT)->integer, ==, -2);
  g_assert_cmpint (pickle_item (list, 3, PICKLE_INT)->integer, ==, 300);
  g_assert_cmpfloat (pickle_item (list, 4, PICKLE_FLOAT)->number, ==, 0.5);
  call = pickle_get (root, "b");
  g_assert_cmpstr (pickle_callee (call), ==, "os system");
  g_assert_cmpstr (pickle_item (pickle_arguments (call), 0, PICKLE_TEXT)->text, ==, "x");
  g_assert_null (pickle_get (root, "c"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor-file/formats", test_formats);
  g_test_add_func ("/tensor-file/networks", test_networks);
  g_test_add_func ("/tensor-file/wrapped", test_wrapped);
  g_test_add_func ("/tensor-file/gguf", test_gguf);
  g_test_add_func ("/tensor-file/keras", test_keras);
  g_test_add_func ("/tensor-file/shards", test_shards);
  g_test_add_func ("/tensor-file/write-shards", test_write_shards);
  g_test_add_func ("/tensor-file/torch-shards", test_torch_shards);
  g_test_add_func ("/tensor-file/older", test_older);
  g_test_add_func ("/tensor-file/members", test_members);
  g_test_add_func ("/tensor-file/normed", test_normed);
  g_test_add_func ("/tensor-file/damage", test_damage);
  g_test_add_func ("/tensor-file/checksum", test_checksum);
  g_test_add_func ("/tensor-file/refused", test_refused);
  g_test_add_func ("/tensor-file/long-names", test_long_names);
  g_test_add_func ("/tensor-file/many-values", test_many_values);
  g_test_add_func ("/tensor-file/many-ways", test_many_ways);
  g_test_add_func ("/tensor-file/pickle", test_pickle);
  g_test_add_func ("/tensor-file/metric", test_metric);
  return g_test_run ();
}
