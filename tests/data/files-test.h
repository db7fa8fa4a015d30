/* A folder for files of data sets, and what is read from them. */
#pragma once

#include <gio/gio.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "tests/scratch.h"

#define ADD(name, function) g_test_add (name, Fixture, NULL, set_up, function, tear_down)

typedef struct
{
  char *folder;
  GError *error;
} Fixture;

static inline void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("loom-dataset-XXXXXX", NULL);
}

static inline void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->folder);
  g_free (f->folder);
  g_clear_error (&f->error);
}

static inline void
write_file (Fixture *f, const char *name, gconstpointer content, gssize length)
{
  g_autofree char *path = g_build_filename (f->folder, name, NULL);

  g_assert_true (g_file_set_contents (path, content, length, NULL));
}

/* Paths are relative to the fixture's folder, as they are to a graph file's. */
static inline LoomDatasetOptions
options (Fixture *f, const char *const *strv)
{
  LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = f->folder };

  return o;
}

/* Opens with options name, value, …; an error is left in the fixture. */
static inline LoomDataset *
open_source (Fixture *f, const char *source, const char *const *strv)
{
  const LoomDatasetOptions o = options (f, strv);

  g_clear_error (&f->error);
  return loom_dataset_open (source, &o, &f->error);
}

/* Refused with this sentence, in which @ is the folder. */
static inline void
assert_refused (Fixture *f, const char *source, const char *const *strv, const char *message)
{
  g_auto (GStrv) parts = g_strsplit (message, "@", -1);
  g_autofree char *expected = g_strjoinv (f->folder, parts);

  g_assert_null (open_source (f, source, strv));
  g_assert_cmpstr (f->error->message, ==, expected);
}

static inline LoomTensor *
read_port (const LoomDataset *dataset, LoomSplit split, guint port, gint64 index)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  LoomTensor *out[LOOM_DATASET_MAX_PORTS] = { NULL };

  for (guint p = 0; p < info->n_ports; p++)
    {
      LoomBinding binding = { { 0 } };
      LoomShape shape;
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      binding.value['B' - 'A'] = 1;
      shape = loom_shape_bind (&info->port[p].type.shape, &binding);
      loom_shape_get (&shape, dims);
      out[p] = loom_tensor_new (info->port[p].type.dtype, shape.rank, dims, NULL);
    }
  g_assert_true (loom_dataset_read (dataset, split, &index, 1, out, NULL));
  for (guint p = 0; p < info->n_ports; p++)
    {
      if (p != port)
        loom_tensor_unref (out[p]);
    }
  return out[port];
}

static inline double
read_value (const LoomDataset *dataset, LoomSplit split, guint port, gint64 index, gint64 element)
{
  g_autoptr (LoomTensor) t = read_port (dataset, split, port, index);

  return loom_tensor_get (t, element);
}

static inline char *
port_shape (const LoomDataset *dataset, guint port)
{
  return loom_shape_to_attribute (&loom_dataset_info (dataset)->port[port].type.shape);
}
