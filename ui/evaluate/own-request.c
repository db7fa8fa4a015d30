/* Implements own-request.h. */
#include "ui/evaluate/own-request.h"

#include <string.h>

static const char *const kinds[] = {
  [LOOM_ANSWER_PROBABILITIES] = "probabilities",
  [LOOM_ANSWER_LOGITS] = "scores",
  [LOOM_ANSWER_YES] = "yes",
  [LOOM_ANSWER_VALUES] = "values",
};

typedef struct
{
  GWeakRef owner;
  OwnReplied replied;
} Request;

/* Consumes the request and the error. */
static void
reply (Request *request, const OwnReply *answer, GError *error)
{
  g_autoptr (GObject) owner = g_weak_ref_get (&request->owner);

  if (error != NULL)
    g_dbus_error_strip_remote_error (error);
  if (owner != NULL)
    request->replied (answer, error != NULL ? error->message : NULL, owner);
  g_clear_error (&error);
  g_weak_ref_clear (&request->owner);
  g_free (request);
}

/* FALSE: the arrays do not fit each other. */
static gboolean
read_reply (OwnReply *answer, const char *kind, GVariant *shape, gsize bytes)
{
  gsize rank;
  const gint64 *dim = g_variant_get_fixed_array (shape, &rank, sizeof (gint64));
  guint k = 0;

  while (k < G_N_ELEMENTS (kinds) && g_strcmp0 (kind, kinds[k]) != 0)
    k++;
  if (k == G_N_ELEMENTS (kinds) || rank != 3
      || loom_dims_count (rank, dim, bytes / sizeof (float)) * sizeof (float) != bytes || bytes == 0)
    return FALSE;
  answer->kind = (LoomAnswerKind)k;
  answer->n = dim[0];
  answer->n_positions = dim[1];
  answer->n_classes = dim[2];
  return TRUE;
}

static void
predicted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GVariant) shape = NULL, values = NULL;
  g_autofree char *kind = NULL;
  g_autofree float *value = NULL;
  GError *error = NULL;
  OwnReply answer = { 0 };
  gint64 step, epoch;
  double seconds;
  gsize bytes = 0;

  if (!loom_bus_worker1_call_predict_finish (LOOM_BUS_WORKER1 (source), &step, &epoch, &seconds, &kind, &shape, &values,
                                             result, &error))
    {
      reply (data, NULL, error);
      return;
    }
  const char *raw = g_variant_get_fixed_array (values, &bytes, 1);
  value = g_memdup2 (raw, bytes); /* aligned */
  answer.value = value;
  answer.step = step;
  answer.epoch = epoch;
  reply (data, read_reply (&answer, kind, shape, bytes) ? &answer : NULL, NULL);
}

static void
written_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree char *text = NULL;
  GError *error = NULL;
  gint64 step;

  loom_bus_worker1_call_write_finish (LOOM_BUS_WORKER1 (source), &step, &text, result, &error);
  reply (data, text != NULL ? &(OwnReply){ .text = text } : NULL, error);
}

/* Samples as arguments of a call. */
static void
pack (const OwnSample *sample, guint n, GVariant **shape, GVariant **samples)
{
  gint64 dim[LOOM_SHAPE_MAX_RANK + 1] = { n };

  memcpy (dim + 1, sample->dim, (gsize)sample->rank * sizeof *dim);
  *shape = g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, (gsize)sample->rank + 1, sizeof *dim);
  *samples = g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, sample->x, sample->count * sizeof *sample->x, 1);
}

static Request *
request_new (GObject *owner, OwnReplied replied)
{
  Request *request = g_new0 (Request, 1);

  g_weak_ref_init (&request->owner, owner);
  request->replied = replied;
  return request;
}

void
own_request (LoomBusWorker1 *worker, gboolean writes, const OwnSample *sample, GVariant *others, GObject *owner,
             OwnReplied replied)
{
  Request *request = request_new (owner, replied);
  GVariant *shape, *samples;

  pack (sample, 1, &shape, &samples);
  if (writes)
    loom_bus_worker1_call_write (worker, shape, samples, NULL, written_cb, request);
  else
    loom_bus_worker1_call_predict (worker, shape, samples, others, NULL, predicted_cb, request);
}

void
own_request_all (LoomBusWorker1 *worker, const OwnSample *sample, guint n, GObject *owner, OwnReplied replied)
{
  GVariant *shape, *samples;

  pack (sample, n, &shape, &samples);
  loom_bus_worker1_call_predict (worker, shape, samples, g_variant_new_array (G_VARIANT_TYPE ("(saxay)"), NULL, 0),
                                 NULL, predicted_cb, request_new (owner, replied));
}
