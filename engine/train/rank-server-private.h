/* A parameter server, as its files share it: rank-server.c has the rounds and the ranks that train, rank-server-serve.c
 * the rank that serves. */
#pragma once

#include "engine/train/rank-server.h"

G_BEGIN_DECLS

#define TAG_PUSH   1
#define TAG_ANSWER 2

#define WHY_BYTES 400

/* The head of a push; numbers of the metrics, gradients and buffers follow. */
typedef struct
{
  gint64 batch;   /* whose gradients these are, counted in the epoch */
  gint64 version; /* updates that the weights of these gradients had taken */
  double loss;    /* of the rank's samples */
  double samples;
  double share;     /* of the batch's samples */
  double weight;    /* of the loss among those of the ranks: what it counts, or the share */
  gint32 wants;     /* the round is to end */
  gint32 code;      /* of an error: the rank does not continue. -1: none */
  gint32 overflows; /* the error is that the weights make its batch overflow */
  char why[WHY_BYTES];
} Push;

/* The head of an answer; weights and buffers follow. */
typedef struct
{
  gint64 version;
  gint64 end;  /* the batch in front of which the round is over */
  gint32 stop; /* at once: a rank has failed */
} Answer;

typedef struct
{
  gint64 batch;     /* that it computes, or would compute next */
  gboolean waiting; /* for its answer; else it computes */
  gboolean over;    /* it pushes no more in this round */
  GByteArray *push; /* the newest one, head and all */
} Member;

/* A step that not all ranks have pushed for. */
typedef struct
{
  double loss, weight, samples;
} Unfinished;

struct _RankServer
{
  RankServerOwner owner;
  const TrainModel *model;
  const RankGroup *group;
  int n;             /* ranks that train */
  GPtrArray *pushed; /* char*: slots whose values a push has: gradients, then buffers */
  GPtrArray *pulled; /* char*: slots whose values an answer has: weights, then buffers */
  guint n_gradients; /* of pushed */
  gsize push_bytes, answer_bytes, metric_bytes;
  gint64 version;     /* updates of this run */
  GByteArray *answer; /* to all, head and values, and the version of these; -1: none */
  gint64 answered;
  Member *member;
  Unfinished *unfinished; /* by batch, modulo staleness + 2 */
  double *own;            /* of the same steps, the losses of each rank's samples */
  gint64 end;             /* of the round, as the ranks know it */
  double grad_norm;
  LoomStaleness staleness;
};

/* Appends the values of these slots. */
gboolean rank_server_append (RankServer *s, const GPtrArray *names, GByteArray *to, GError **error);
/* Sets slots number first to end of names to the values that are stored at `from`. */
gboolean
rank_server_set (RankServer *s, const GPtrArray *names, guint first, guint end, const guint8 *from, GError **error);
/* A tensor of a slot's type and shape. (transfer full) */
LoomTensor *rank_server_slot (RankServer *s, const char *name, GError **error);
/* Serves until the batch `last`, or until the round is over before. FALSE if a rank cannot be reached; *failure: why
 * any of them, or this one, has failed. */
gboolean rank_server_serve (RankServer *s, gint64 last, GError **failure, GError **error);

G_END_DECLS
