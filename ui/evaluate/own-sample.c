/* Implements own-sample.h. */
#include "ui/evaluate/own-sample.h"

#include <math.h>

#include "engine/data/loom-samples.h"
#include "ui/scene/studio-figure.h"

void
own_sample_free (OwnSample *sample)
{
  g_free (sample->x);
  g_free (sample->note);
  g_free (sample);
}

typedef struct
{
  GWeakRef owner;
  const guint *serial; /* valid while the owner is */
  guint wanted;
  OwnSampleRead read;
  LoomGraph *alone;
  LoomType x;
  GBytes *bytes;
  char *name;
} Read;

static void
read_free (gpointer data)
{
  Read *read = data;

  g_weak_ref_clear (&read->owner);
  loom_graph_unref (read->alone);
  g_bytes_unref (read->bytes);
  g_free (read->name);
  g_free (read);
}

static OwnSample *
sample_of (const LoomSampleItem *item)
{
  OwnSample *sample = g_new0 (OwnSample, 1);
  const LoomTensor *t = item->tensor;

  sample->count = (gsize)t->count;
  sample->rank = t->rank;
  memcpy (sample->dim, t->dim, (gsize)t->rank * sizeof *t->dim);
  sample->x = g_new (float, MAX (sample->count, 1));
  for (gint64 i = 0; i < t->count; i++)
    sample->x[i] = (float)loom_tensor_get (t, i);
  sample->note = g_strdup (item->note);
  return sample;
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Read *read = data;
  const LoomSampleOptions how = { .low = NAN, .high = NAN };
  const char *refusal = studio_figure_sample_refusal (read->alone);
  g_autoptr (LoomNet) net = loom_net_new (read->alone, NULL, NULL);
  GError *error = refusal != NULL ? g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DATA, refusal) : NULL;
  g_autoptr (LoomDataset) dataset
      = error == NULL ? loom_net_open_dataset (net, 0, loom_graph_get_folder (read->alone), &error) : NULL;
  g_autoptr (LoomSampleReader) reader = dataset != NULL ? loom_sample_reader_new (&read->x, dataset, &how) : NULL;
  g_autoptr (GPtrArray) items
      = reader != NULL ? loom_sample_reader_read (reader, read->bytes, read->name, &error) : NULL;

  if (items != NULL)
    g_task_return_pointer (task, sample_of (items->pdata[0]), (GDestroyNotify)own_sample_free);
  else
    g_task_return_error (task, error);
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Read *read = g_task_get_task_data (G_TASK (result));
  g_autoptr (GObject) owner = g_weak_ref_get (&read->owner);
  g_autoptr (GError) error = NULL;
  OwnSample *sample = g_task_propagate_pointer (G_TASK (result), &error);

  if (owner != NULL && *read->serial == read->wanted)
    read->read (sample, error != NULL ? error->message : NULL, owner);
  else if (sample != NULL)
    own_sample_free (sample);
}

void
own_sample_read (const SampleSource *source, GBytes *bytes, const char *name, GObject *owner, const guint *serial,
                 OwnSampleRead func)
{
  Read *read = g_new0 (Read, 1);
  g_autoptr (GTask) task = g_task_new (NULL, NULL, read_cb, NULL);

  g_weak_ref_init (&read->owner, owner);
  read->serial = serial;
  read->wanted = *serial;
  read->read = func;
  read->alone = loom_graph_ref (source->alone);
  read->x = source->x;
  read->bytes = g_bytes_ref (bytes);
  read->name = g_strdup (name);
  g_task_set_task_data (task, read, read_free);
  g_task_run_in_thread (task, read_thread);
}
