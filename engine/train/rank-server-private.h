/* Shared by the files of a parameter server: rank-server.c has the rounds and the workers, rank-server-serve.c the
 * server. */
#pragma once

#include "engine/train/rank-server.h"

#define TAG_PUSH   1
#define TAG_ANSWER 2

#define WHY_BYTES 400

/* The header of a push; metrics, gradients and buffers follow. */
typedef struct
{
  gint64 batch;   /* the batch of these gradients, counted in the epoch */
  gint64 version; /* number of updates of the weights of these gradients */
  double loss;    /* of the rank's samples */
  double samples;
  double share;     /* of the batch's samples */
  double weight;    /* of the loss among those of the ranks: its count, or the share */
  gint32 wants;     /* asks for the end of the round */
  gint32 code;      /* of an error that ends the rank; -1: none */
  gint32 overflows; /* the error is that the weights make its batch overflow */
  char why[WHY_BYTES];
} Push;

/* The header of an answer; weights and buffers follow. */
typedef struct
{
  gint64 batch; /* of the push that it answers */
  gint64 version;
  gint64 end;  /* the round is over before this batch */
  gint32 stop; /* ends at once, because a rank has failed */
} Answer;

typedef struct
{
  gint64 batch;     /* that it computes, or would compute next */
  gboolean waiting; /* for its answer; else it computes */
  gboolean over;    /* it pushes no more in this round */
  GByteArray *push; /* the newest one, with its header */
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
  GPtrArray *pushed; /* char*: slots in a push: gradients, then buffers */
  GPtrArray *pulled; /* char*: slots in an answer: weights, then buffers */
  guint n_gradients; /* of pushed */
  gsize push_bytes, answer_bytes, metric_bytes;
  gint64 version;     /* updates of this run */
  GByteArray *answer; /* to all, with its header, and its version; -1: none */
  gint64 answered;
  Member *member;
  Unfinished *unfinished; /* by batch modulo (staleness + 2) */
  double *own;            /* for the same steps, the losses of each rank's samples */
  gint64 end;             /* of the round, as the ranks know it */
  double grad_norm;
  LoomStaleness staleness;
};

/* The sentence of another rank, as UTF-8. (transfer full) */
char *rank_server_why (const char why[WHY_BYTES]);
/* Appends the values of these slots. */
gboolean rank_server_append (RankServer *s, const GPtrArray *names, GByteArray *to, GError **error);
/* Sets slots number first to end of names to the values at `from`. */
gboolean
rank_server_set (RankServer *s, const GPtrArray *names, guint first, guint end, const guint8 *from, GError **error);
/* A tensor of a slot's type and shape. (transfer full) */
LoomTensor *rank_server_slot (RankServer *s, const char *name, GError **error);
/* Serves until the batch `last`, or until the round is ended earlier. FALSE if a rank cannot be reached; *failure: the
 * error of a rank, or of this one. */
gboolean rank_server_serve (RankServer *s, gint64 last, GError **failure, GError **error);
