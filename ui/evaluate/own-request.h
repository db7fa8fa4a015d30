/* One request to the worker for samples: the net's predictions, or the text that a net with a decoder writes. */
#pragma once

#include "ui/evaluate/own-sample.h"

typedef struct
{
  const char *text; /* that is written; NULL: the members below */
  LoomAnswerKind kind;
  gint64 n_positions, n_classes;
  gint64 n;
  gint64 step, epoch; /* of the weights */
  const float *value; /* [n, positions, classes] */
} OwnReply;

/* Called with the reply, or NULL and a sentence; both NULL: the reply cannot be read. */
typedef void (*OwnReplied) (const OwnReply *reply, const char *why, gpointer owner);
/* others: as of own_ports_read(). owner is a GObject; replied is not called if it is gone. */
void own_request (LoomBusWorker1 *worker, gboolean writes, const OwnSample *sample, GVariant *others, GObject *owner,
                  OwnReplied replied);
/* The predictions for n samples of one shape: sample->x has their numbers, and sample->count is that of all. */
void own_request_all (LoomBusWorker1 *worker, const OwnSample *sample, guint n, GObject *owner, OwnReplied replied);
