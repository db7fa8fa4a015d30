/* What a rank receives from the others: a session of two or three ranks is recorded, and one of them repeats it while
 * the bytes are what it receives. Sizes and order of messages are those that the rank asks for, as MPI delivers them. A
 * session that needs more bytes than there are has lost its other ranks. */
#include "tests/fuzz/readers.h"

#include <string.h>

#include "engine/dist/loom-dist.h"
#include "engine/loom-lab.h"
#include "tests/train/train-test.h"

#define MOST_RANKS  3
#define MOST_SPLITS 16
#define TIMEOUT     30

static const char xml[]
    = TRAIN_TEST_SPIRALS ("n=\"24\"", "4") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" "
                                           "batch_size=\"6\" epochs=\"1\"><metric type=\"accuracy\" "
                                           "input=\"scores\" target=\"data.y\"/></train></graph>";

typedef struct
{
  int rank, size;
} Place;

/* A recorded session of one of its ranks. */
typedef struct
{
  const char *name, *strategy;
  int ranks, rank;
  GByteArray *received;
  guint n_splits;
  Place split[MOST_SPLITS]; /* of the communicators that were made, in order */
} Session;

static Session sessions[] = {
  { "ranks-server", "server", 3, 0 }, { "ranks-worker", "server", 2, 1 },   { "ranks-data", "data", 2, 0 },
  { "ranks-shards", "zero3", 2, 1 },  { "ranks-stages", "pipeline", 2, 1 },
};

/* Records, or (inner NULL) repeats. */
typedef struct
{
  LoomComm base;
  LoomComm *inner;
  Session *session;
  const guint8 **at, *end; /* shared by the communicators of a session */
  guint *n_splits;
  gboolean *is_over;
} Rank;

/* n bytes that arrive. */
static LoomStatus
receive (Rank *self, void *to, gsize n, LoomStatus status, LoomMessage *message)
{
  if (self->inner != NULL)
    {
      if (status == LOOM_STATUS_OK)
        g_byte_array_append (self->session->received, to, (guint)n);
      return status;
    }
  if ((gsize)(self->end - *self->at) < n)
    {
      *self->is_over = TRUE;
      g_strlcpy (message->text, "the other ranks have ended", sizeof message->text);
      return LOOM_STATUS_DEVICE;
    }
  if (n > 0)
    memcpy (to, *self->at, n);
  *self->at += n;
  return LOOM_STATUS_OK;
}

#define INNER(CALL) (own->inner != NULL ? own->inner->CALL : LOOM_STATUS_OK)

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  Rank *own = (Rank *)self;

  return receive (own, to, (gsize)count * loom_dtype_size (dtype),
                  INNER (all_reduce (own->inner, from, to, count, dtype, op, message)), message);
}

static LoomStatus
reduce_scatter (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  Rank *own = (Rank *)self;

  return receive (own, to, (gsize)counts[self->rank] * loom_dtype_size (dtype),
                  INNER (reduce_scatter (own->inner, from, to, counts, dtype, op, message)), message);
}

/* The own shard is what it was. */
static LoomStatus
all_gather (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message)
{
  Rank *own = (Rank *)self;
  g_autofree char *kept = g_memdup2 (from, (gsize)bytes[self->rank]);
  gsize n = 0, before = 0;
  LoomStatus status;

  for (int k = 0; k < self->size; k++)
    {
      before += k < self->rank ? (gsize)bytes[k] : 0;
      n += (gsize)bytes[k];
    }
  status = receive (own, to, n, INNER (all_gather (own->inner, from, to, bytes, message)), message);
  if (status == LOOM_STATUS_OK && kept != NULL)
    memcpy ((char *)to + before, kept, (gsize)bytes[self->rank]);
  return status;
}

static LoomStatus
broadcast (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message)
{
  Rank *own = (Rank *)self;
  const LoomStatus status = INNER (broadcast (own->inner, data, bytes, root, message));

  return root == self->rank ? status : receive (own, data, (gsize)bytes, status, message);
}

static LoomStatus
send_to (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message)
{
  Rank *own = (Rank *)self;

  return INNER (send (own->inner, data, bytes, to, tag, message));
}

static LoomStatus
receive_from (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message)
{
  Rank *own = (Rank *)self;

  return receive (own, data, (gsize)bytes, INNER (receive (own->inner, data, bytes, from, tag, message)), message);
}

/* A message is there from a rank that is waited for. */
static LoomStatus
probe (LoomComm *self, int tag, const bool *arrived, int *from, LoomMessage *message)
{
  Rank *own = (Rank *)self;
  LoomStatus status = INNER (probe (own->inner, tag, arrived, from, message));
  guint8 byte = own->inner != NULL ? (guint8)*from : 0;

  status = receive (own, &byte, 1, status, message);
  if (own->inner != NULL || status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    {
      *from = (byte + k) % self->size;
      if (!arrived[*from])
        return LOOM_STATUS_OK;
    }
  *own->is_over = TRUE;
  g_strlcpy (message->text, "no rank is waited for", sizeof message->text);
  return LOOM_STATUS_DEVICE;
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  Rank *own = (Rank *)self;

  return INNER (barrier (own->inner, message));
}

static LoomComm *rank_new (LoomComm *inner, const Rank *like, Place place);

static LoomStatus
split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message)
{
  Rank *own = (Rank *)self;
  const LoomStatus status = INNER (split (own->inner, color, key, part, message));
  Session *session = own->session;

  if (status != LOOM_STATUS_OK)
    return status;
  if (own->inner != NULL)
    {
      g_assert_cmpuint (session->n_splits, <, MOST_SPLITS);
      session->split[session->n_splits++] = (Place){ (*part)->rank, (*part)->size };
      *part = rank_new (*part, own, session->split[session->n_splits - 1]);
      return status;
    }
  g_assert_cmpuint (*own->n_splits, <, session->n_splits);
  *part = rank_new (NULL, own, session->split[(*own->n_splits)++]);
  return LOOM_STATUS_OK;
}

static void
end (LoomComm *self, const char *why)
{
  Rank *own = (Rank *)self;

  g_assert_true (g_utf8_validate (why, -1, NULL));
  if (own->inner != NULL)
    own->inner->abort (own->inner, why);
}

static bool
has_ended (LoomComm *self)
{
  Rank *own = (Rank *)self;

  return own->inner != NULL ? own->inner->has_ended (own->inner) : *own->is_over;
}

static void
rank_free (LoomComm *self)
{
  Rank *own = (Rank *)self;

  if (own->inner != NULL)
    own->inner->free (own->inner);
  g_free (own);
}

static LoomComm *
rank_new (LoomComm *inner, const Rank *like, Place place)
{
  Rank *self = g_memdup2 (like, sizeof *like);

  self->inner = inner;
  self->base = (LoomComm){ .rank = place.rank,
                           .size = place.size,
                           .local_rank = place.rank,
                           .local_size = place.size,
                           .cpu_sharers = place.size,
                           .name = "threads",
                           .timeout = TIMEOUT,
                           .all_reduce = all_reduce,
                           .reduce_scatter = reduce_scatter,
                           .all_gather = all_gather,
                           .broadcast = broadcast,
                           .send = send_to,
                           .receive = receive_from,
                           .probe = probe,
                           .barrier = barrier,
                           .split = split,
                           .abort = end,
                           .has_ended = has_ended,
                           .free = rank_free };
  return &self->base;
}

/* ---- sessions ------------------------------------------------------------ */

/* As `gradloom train` does. FALSE: a sentence says why. */
static gboolean
train (LoomComm *comm, const Session *session, GError **error)
{
  guint64 what[LOOM_TRAINER_N_PARTS];
  LoomTrainerOptions options = {
    .lr = NAN, .seed = -1, .threads = 1, .comm = comm, .strategy = session->strategy, .batch_size = 6 / session->ranks
  };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "ranks", faults, NULL);
  g_autoptr (LoomTrainer) trainer = NULL;
  gboolean speaks;

  if (!loom_dist_check_versions (comm, TIMEOUT, &speaks, error))
    return FALSE;
  trainer = loom_trainer_new (graph, &options, error);
  if (trainer == NULL)
    return FALSE;
  loom_trainer_fingerprint (trainer, what);
  return loom_dist_agree (comm, NULL, what, loom_trainer_parts, LOOM_TRAINER_N_PARTS, &speaks, error)
         && loom_trainer_run (trainer, error) != LOOM_TRAINER_FAILED;
}

typedef struct
{
  LoomComm *comm;
  const Session *session;
} Part;

static gpointer
part_cb (gpointer data)
{
  Part *part = data;
  g_autoptr (GError) error = NULL;

  train (part->comm, part->session, &error);
  g_assert_no_error (error);
  part->comm->free (part->comm);
  return NULL;
}

static void
record (Session *session)
{
  LoomComm *comm[MOST_RANKS];
  GThread *thread[MOST_RANKS];
  Part part[MOST_RANKS];
  LoomMessage message;
  const Rank like = { .session = session };

  if (session->received != NULL)
    return;
  session->received = g_byte_array_new ();
  g_assert_cmpint (loom_comm_threads_new (session->ranks, comm, &message), ==, LOOM_STATUS_OK);
  comm[session->rank] = rank_new (comm[session->rank], &like, (Place){ session->rank, session->ranks });
  for (int k = 0; k < session->ranks; k++)
    {
      part[k] = (Part){ comm[k], session };
      thread[k] = g_thread_new ("rank", part_cb, &part[k]);
    }
  for (int k = 0; k < session->ranks; k++)
    g_thread_join (thread[k]);
}

static Session *
session_of (const FuzzReader *self)
{
  guint i = 0;

  while (!g_str_equal (sessions[i].name, self->name))
    i++;
  record (&sessions[i]);
  return &sessions[i];
}

static void
add_seeds (const FuzzReader *self, GPtrArray *seeds)
{
  const Session *session = session_of (self);

  g_ptr_array_add (seeds, g_bytes_new (session->received->data, session->received->len));
}

static void
run_ranks (const FuzzReader *self, const guint8 *data, gsize size)
{
  Session *session = session_of (self);
  const guint8 *at = data;
  guint n_splits = 0;
  gboolean is_over = FALSE;
  const Rank like = { .session = session, .at = &at, .end = data + size, .n_splits = &n_splits, .is_over = &is_over };
  LoomComm *comm = rank_new (NULL, &like, (Place){ session->rank, session->ranks });
  g_autoptr (GError) error = NULL;

  if (!train (comm, session, &error))
    fuzz_check_error (error);
  comm->free (comm);
}

#define RANKS(NAME)                                                                                                    \
  {                                                                                                                    \
    NAME, run_ranks, FUZZ_FIXED, .add = add_seeds                                                                      \
  }

const FuzzReader fuzz_rank_readers[] = { RANKS ("ranks-server"), RANKS ("ranks-worker"), RANKS ("ranks-data"),
                                         RANKS ("ranks-shards"), RANKS ("ranks-stages"), { NULL } };
