/* Communicators of threads: every collective in every type, with empty shards, a rank that gives up, one that is slow,
 * and one that hangs. */
#include <glib.h>
#include <string.h>

#include "kernels/comm.h"
#include "tests/test-program.h"

#define RANKS 3

typedef struct
{
  LoomComm *comm;
  void (*run) (LoomComm *comm);
} Work;

static gpointer
run_rank (gpointer data)
{
  Work *work = data;

  work->run (work->comm);
  return NULL;
}

#define MOST 5

static void
with_so_many (int ranks, void (*run) (LoomComm *comm))
{
  LoomComm *comm[MOST];
  LoomMessage message = { "" };
  GThread *thread[MOST];
  Work work[MOST];

  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < ranks; k++)
    {
      work[k] = (Work){ comm[k], run };
      thread[k] = g_thread_new ("rank", run_rank, &work[k]);
    }
  for (int k = 0; k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < ranks; k++)
    comm[k]->free (comm[k]);
}

static void
with_ranks (void (*run) (LoomComm *comm))
{
  with_so_many (RANKS, run);
}

/* Element i of x on rank r: integers that every type can represent. */
static double
value (int rank, int64_t i)
{
  return (double)((i * 7 + rank * 3) % 5 + 1);
}

static double
joined (LoomReduceOp op, int64_t i)
{
  double acc = value (0, i);

  for (int r = 1; r < RANKS; r++)
    acc = op == LOOM_REDUCE_SUM    ? acc + value (r, i)
          : op == LOOM_REDUCE_PROD ? acc * value (r, i)
          : op == LOOM_REDUCE_MAX  ? MAX (acc, value (r, i))
                                   : MIN (acc, value (r, i));
  return acc;
}

#define CHECK(T, TYPE, WRITE, READ)                                                                                    \
  for (int64_t count = 0; count < 12; count = count * 2 + 1)                                                           \
    for (LoomReduceOp op = LOOM_REDUCE_SUM; op <= LOOM_REDUCE_PROD; op++)                                              \
      {                                                                                                                \
        T x[16], y[16];                                                                                                \
                                                                                                                       \
        for (int64_t i = 0; i < count; i++)                                                                            \
          x[i] = (T)WRITE (value (comm->rank, i));                                                                     \
        g_assert_cmpint (comm->all_reduce (comm, x, y, count, TYPE, op, &message), ==, LOOM_STATUS_OK);                \
        for (int64_t i = 0; i < count; i++)                                                                            \
          g_assert_cmpfloat (READ (y[i]), ==, joined (op, i));                                                         \
        g_assert_cmpint (comm->all_reduce (comm, x, x, count, TYPE, op, &message), ==, LOOM_STATUS_OK);                \
        g_assert_cmpint (count == 0 ? 0 : memcmp (x, y, (size_t)count * sizeof (T)), ==, 0);                           \
        /* An uneven list, in which a rank has nothing. */                                                             \
        const int64_t counts[RANKS] = { count / 2, 0, count - count / 2 };                                             \
        int64_t first = comm->rank == 0 ? 0 : count / 2;                                                               \
                                                                                                                       \
        for (int64_t i = 0; i < count; i++)                                                                            \
          x[i] = (T)WRITE (value (comm->rank, i));                                                                     \
        g_assert_cmpint (comm->reduce_scatter (comm, x, x + first, counts, TYPE, op, &message), ==, LOOM_STATUS_OK);   \
        g_assert_cmpint (memcmp (x + first, y + first, (size_t)counts[comm->rank] * sizeof (T)), ==, 0);               \
      }

static uint16_t
to_bf16 (double x)
{
  float f = (float)x;
  uint32_t bits;

  memcpy (&bits, &f, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static double
from_bf16 (uint16_t h)
{
  uint32_t bits = (uint32_t)h << 16;
  float f;

  memcpy (&f, &bits, sizeof f);
  return f;
}

static void
reduce (LoomComm *comm)
{
  LoomMessage message = { "" };

  CHECK (float, LOOM_F32, , )
  CHECK (double, LOOM_F64, , )
  CHECK (int32_t, LOOM_I32, , )
  CHECK (int64_t, LOOM_I64, , )
  CHECK (uint16_t, LOOM_BF16, to_bf16, from_bf16)
}

static void
test_reduce (void)
{
  with_ranks (reduce);
}

/* Floats are summed in the order of ranks, on every rank alike: 1e8 + 1 - 1e8 is 0 in f32, in another order 1. */
static void
order (LoomComm *comm)
{
  const float own[RANKS] = { 1e8f, 1, -1e8f };
  LoomMessage message = { "" };
  float sum;

  g_assert_cmpint (comm->all_reduce (comm, &own[comm->rank], &sum, 1, LOOM_F32, LOOM_REDUCE_SUM, &message), ==,
                   LOOM_STATUS_OK);
  g_assert_cmpfloat (sum, ==, 0);
}

static void
test_order (void)
{
  with_ranks (order);
}

static void
move (LoomComm *comm)
{
  const int64_t bytes[RANKS] = { 3, 0, 2 };
  const char *own[RANKS] = { "abc", "", "de" };
  char all[6] = "", word[4] = "";
  LoomMessage message = { "" };

  g_assert_cmpint (comm->all_gather (comm, own[comm->rank], all, bytes, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpint (memcmp (all, "abcde", 5), ==, 0);
  if (comm->rank == 1)
    strcpy (word, "xyz");
  g_assert_cmpint (comm->broadcast (comm, word, 4, 1, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpstr (word, ==, "xyz");
  g_assert_cmpint (comm->barrier (comm, &message), ==, LOOM_STATUS_OK);
}

static void
test_move (void)
{
  with_ranks (move);
}

/* Every rank first sends to both others, more than any buffer of a transport holds, and then receives the last one
 * first. */
static void
post (LoomComm *comm)
{
  const int64_t n = 1 << 18;
  g_autofree double *own = g_new (double, n), *got = g_new (double, n);
  LoomMessage message = { "" };

  for (int other = 0; other < RANKS; other++)
    for (int tag = 0; tag < 2 && other != comm->rank; tag++)
      {
        for (int64_t i = 0; i < n; i++)
          own[i] = value (comm->rank, i) + other * 10 + tag * 100;
        g_assert_cmpint (comm->send (comm, own, n * 8, other, tag, &message), ==, LOOM_STATUS_OK);
      }
  memset (own, 0, (gsize)n * 8);
  for (int other = RANKS - 1; other >= 0; other--)
    for (int tag = 1; tag >= 0 && other != comm->rank; tag--)
      {
        g_assert_cmpint (comm->receive (comm, got, n * 8, other, tag, &message), ==, LOOM_STATUS_OK);
        for (int64_t i = 0; i < n; i += 997)
          g_assert_cmpfloat (got[i], ==, value (other, i) + comm->rank * 10 + tag * 100);
      }
  /* Of several with one tag the first one. */
  if (comm->rank == 0)
    for (int k = 0; k < 3; k++)
      g_assert_cmpint (comm->send (comm, &k, sizeof k, 1, 7, &message), ==, LOOM_STATUS_OK);
  for (int k = 0, which; comm->rank == 1 && k < 3; k++)
    {
      g_assert_cmpint (comm->receive (comm, &which, sizeof which, 0, 7, &message), ==, LOOM_STATUS_OK);
      g_assert_cmpint (which, ==, k);
    }
}

static void
test_post (void)
{
  with_ranks (post);
}

/* The others would wait for ever. */
static void
give_up (LoomComm *comm)
{
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_DEVICE;

  if (comm->rank == 1)
    comm->abort (comm, "rank 1 has no data");
  else if (comm->rank == 2)
    status = comm->receive (comm, &status, sizeof status, 1, 0, &message);
  else
    status = comm->barrier (comm, &message);
  g_assert_cmpint (status, ==, LOOM_STATUS_DEVICE);
  if (comm->rank != 1)
    g_assert_cmpstr (message.text, ==, "rank 1 has no data");
}

static void
test_abort (void)
{
  with_ranks (give_up);
}

/* A rank that is late, but within the time. */
static void
be_slow (LoomComm *comm)
{
  LoomMessage message = { "" };
  int64_t one = 1, sum;

  comm->timeout = 600;
  if (comm->rank == 1)
    g_usleep (100000);
  g_assert_cmpint (comm->all_reduce (comm, &one, &sum, 1, LOOM_I64, LOOM_REDUCE_SUM, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpint (sum, ==, RANKS);
}

static void
test_slow (void)
{
  with_ranks (be_slow);
}

static gint have_come, have_failed;

/* All other ranks get the rank and the exchange that it has not reached, and so does that rank once it is there. Only
 * rank 0 has a timeout, and begins to wait when rank 2 is about to call, which a busy machine may delay by more than
 * the timeout. */
static void
hang (LoomComm *comm)
{
  LoomMessage message = { "" };
  int64_t one = 1, sum;

  g_assert_cmpint (comm->barrier (comm, &message), ==, LOOM_STATUS_OK);
  comm->timeout = comm->rank == 0 ? 1 : 0;
  g_atomic_int_add (&have_come, comm->rank > 1);
  while (comm->rank == 0 && g_atomic_int_get (&have_come) < RANKS - 2)
    g_usleep (1000);
  while (comm->rank == 1 && g_atomic_int_get (&have_failed) < RANKS - 1)
    g_usleep (1000);
  g_assert_cmpint (comm->all_reduce (comm, &one, &sum, 1, LOOM_I64, LOOM_REDUCE_SUM, &message), ==, LOOM_STATUS_DEVICE);
  g_assert_true (g_str_has_prefix (message.text, "Rank 1 has not reached “all_reduce” within 1 second: ")
                 || g_str_has_prefix (message.text, "Ranks 1 and 2 have not reached “all_reduce” within 1 second: "));
  g_atomic_int_inc (&have_failed);
  g_assert_cmpint (comm->barrier (comm, &message), ==, LOOM_STATUS_DEVICE);
}

static void
test_hung (void)
{
  with_ranks (hang);
}

static void
test_missing (void)
{
  const bool come[6] = { true, false, true, false, false, true };
  LoomMessage message;

  loom_comm_set_missing (&message, "barrier", come, 6, 1);
  g_assert_true (
      g_str_has_prefix (message.text, "Ranks 1, 3 and 4 have not reached “barrier” within 1 second: they hang"));
}

static void
test_parts (void)
{
  for (int size = 1; size < 7; size++)
    for (int64_t total = 0; total < 20; total++)
      {
        int64_t at = 0;

        for (int k = 0; k < size; k++)
          {
            LoomCommShard part = loom_comm_shard (total, k, size);

            g_assert_cmpint (part.first, ==, at);
            g_assert_cmpint (part.count, >=, total / size);
            g_assert_cmpint (part.count, <=, total / size + 1);
            at += part.count;
          }
        g_assert_cmpint (at, ==, total);
      }
}

/* A split by colour, ordered by key. */
static void
parts_by_colour (LoomComm *comm)
{
  static const int last[] = { 4, 3 }; /* rank 0's new rank if keys decrease, by colour */
  LoomMessage message = { "" };
  gint64 own = comm->rank, sum = 0;
  int first = comm->rank;
  LoomComm *part;

  g_assert_cmpint (comm->split (comm, comm->rank % 2, -comm->rank, &part, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpint (part->size, ==, comm->rank % 2 == 0 ? 3 : 2);
  g_assert_cmpint (part->all_reduce (part, &own, &sum, 1, LOOM_I64, LOOM_REDUCE_SUM, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpint (sum, ==, comm->rank % 2 == 0 ? 0 + 2 + 4 : 1 + 3);
  g_assert_cmpint (part->broadcast (part, &first, sizeof first, 0, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpint (first, ==, last[comm->rank % 2]);
  part->free (part);
}

/* A rank is named by its number among all, and those that do not wait for it hear of it, too. */
static void
hang_in_part (LoomComm *comm)
{
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK;
  LoomComm *part;

  g_assert_cmpint (comm->split (comm, comm->rank % 2, 0, &part, &message), ==, LOOM_STATUS_OK);
  part->timeout = comm->rank == 1 ? 1 : 0;
  while (comm->rank != 3 && status == LOOM_STATUS_OK)
    status = part->barrier (part, &message);
  if (comm->rank != 3)
    g_assert_true (g_str_has_prefix (message.text, "Rank 3 has not reached “barrier” within 1 second"));
  part->free (part);
}

static void
test_split (void)
{
  with_so_many (MOST, parts_by_colour);
  with_so_many (MOST, hang_in_part);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/comm/parts", test_parts);
  g_test_add_func ("/comm/reduce", test_reduce);
  g_test_add_func ("/comm/order", test_order);
  g_test_add_func ("/comm/move", test_move);
  g_test_add_func ("/comm/post", test_post);
  g_test_add_func ("/comm/abort", test_abort);
  g_test_add_func ("/comm/slow", test_slow);
  g_test_add_func ("/comm/hung", test_hung);
  g_test_add_func ("/comm/missing", test_missing);
  g_test_add_func ("/comm/split", test_split);
  return g_test_run ();
}
