/* A parameter server, as its files share it: trainer-server.c has the rounds and the ranks that train, trainer-serve.c
 * the rank that serves. */
#ifndef LOOM_TRAINER_SERVER_PRIVATE_H
#define LOOM_TRAINER_SERVER_PRIVATE_H

#include "engine/train/trainer-private.h"

G_BEGIN_DECLS

#define TAG_PUSH   1
#define TAG_ANSWER 2

#define WHY_BYTES 400

/* What a push begins with; numbers of the metrics, gradients and buffers follow. */
typedef struct
{
  gint64 batch;   /* whose gradients these are, counted in the epoch */
  gint64 version; /* steps that the weights were behind which they are of */
  double loss;    /* of the rank's samples */
  double samples;
  double share;  /* of the batch's samples */
  double weight; /* of the loss among those of the ranks: what it counts, or the share */
  gint32 wants;  /* the round is to end */
  gint32 code;   /* of an error: the rank does not go on. -1: none */
  char why[WHY_BYTES];
} Push;

/* What an answer begins with; weights and buffers follow. */
typedef struct
{
  gint64 version;
  gint64 end;  /* the batch in front of which the round is over */
  gint32 stop; /* at once: somebody has failed */
} Answer;

typedef struct
{
  gint64 batch;     /* that it computes, or would compute next */
  gboolean waiting; /* for its answer; else it computes */
  gboolean over;    /* nothing more comes of it in this round */
  GByteArray *push; /* the newest one, head and all */
} Member;

/* A step that not all ranks have pushed for. */
typedef struct
{
  double loss, weight, samples;
} Unfinished;

struct _TrainerServer
{
  LoomTrainer *t;
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
  double *own;            /* of the same steps, what each rank's samples lose */
  gint64 end;             /* as told */
  double grad_norm;
  LoomStaleness staleness;
};

/* Appends the values of these slots. */
gboolean trainer_server_append (TrainerServer *s, const GPtrArray *names, GByteArray *to, GError **error);
/* Slots number first to end of names become what stands at `from`. */
gboolean trainer_server_set (TrainerServer *s, const GPtrArray *names, guint first, guint end, const guint8 *from,
                             GError **error);
/* A tensor of a slot's type and shape. (transfer full) */
LoomTensor *trainer_server_slot (TrainerServer *s, const char *name, GError **error);
/* Serves until the batch `last`, or until the round is over before. FALSE where a rank cannot be reached; *failure:
 * what any of them, or this one, has failed of. */
gboolean trainer_server_serve (TrainerServer *s, gint64 last, GError **failure, GError **error);

G_END_DECLS

#endif
