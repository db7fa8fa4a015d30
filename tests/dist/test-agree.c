/* Tests the agreement of ranks (threads) before their first step: all are ready for the same, one cannot begin, or one
 * would do something else. */
#include <string.h>

#include "engine/dist/loom-dist.h"
#include "engine/loom-lab.h"
#include "tests/test-program.h"

#define RANKS 3

typedef struct
{
  LoomComm *comm;
  const GError *why_not;
  guint64 what[2];
  gboolean ok, speaks;
  double timeout; /* of its exchanges, in the end */
  GError *error;
} Rank;

static gpointer
agree (gpointer data)
{
  Rank *rank = data;
  static const char *const names[] = { "graph", "device" };

  rank->ok = loom_dist_agree (rank->comm, rank->why_not, rank->what, names, G_N_ELEMENTS (names), &rank->speaks,
                              &rank->error);
  return NULL;
}

static void
meet (Rank rank[RANKS], GThreadFunc meets)
{
  LoomComm *comm[RANKS];
  GThread *thread[RANKS];
  LoomMessage message = { "" };

  g_assert_cmpint (loom_comm_threads_new (RANKS, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < RANKS; k++)
    {
      rank[k].comm = comm[k];
      thread[k] = g_thread_new ("rank", meets, &rank[k]);
    }
  for (int k = 0; k < RANKS; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < RANKS; k++)
    {
      rank[k].timeout = comm[k]->timeout;
      comm[k]->free (comm[k]);
    }
}

static void
test_same (void)
{
  Rank rank[RANKS] = { { .what = { 77, 1 } }, { .what = { 77, 1 } }, { .what = { 77, 1 } } };

  meet (rank, agree);
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_true (rank[k].ok);
      g_assert_no_error (rank[k].error);
    }
}

static void
test_other (void)
{
  Rank rank[RANKS] = { { .what = { 77, 1 } }, { .what = { 77, 1 } }, { .what = { 77, 2 } } };

  meet (rank, agree);
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_false (rank[k].ok);
      g_assert_cmpint (rank[k].speaks, ==, k == 0);
      g_assert_error (rank[k].error, LOOM_ERROR, LOOM_ERROR_DIST);
      g_assert_cmpstr (rank[k].error->message, ==, "Rank 2 would not train the same as rank 0. Different: device.");
      g_clear_error (&rank[k].error);
    }
}

static void
test_others (void)
{
  Rank rank[RANKS] = { { .what = { 77, 1 } }, { .what = { 78, 2 } }, { .what = { 77, 2 } } };

  meet (rank, agree);
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_cmpstr (rank[k].error->message, ==,
                       "Rank 1 would not train the same as rank 0. Different: graph and device. Nor would 1 more.");
      g_clear_error (&rank[k].error);
    }
}

static gpointer
greet (gpointer data)
{
  Rank *rank = data;

  rank->ok = loom_dist_check_versions (rank->comm, (double)rank->what[0], &rank->speaks, &rank->error);
  return NULL;
}

/* A rank with a timeout of a second meets a slow one: both the version and the timeouts are compared before it gives
 * up. */
static void
test_greet (void)
{
  Rank same[RANKS] = { { .what = { 7 } }, { .what = { 7 } }, { .what = { 7 } } };
  Rank other[RANKS] = { { .what = { 0 } }, { .what = { 1 } }, { .what = { 0 } } };

  meet (same, greet);
  meet (other, greet);
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_no_error (same[k].error);
      g_assert_cmpfloat (same[k].timeout, ==, 7);
      g_assert_false (other[k].ok);
      g_assert_cmpint (other[k].speaks, ==, k == 0);
      g_assert_cmpfloat (other[k].timeout, ==, 0);
      g_assert_cmpstr (other[k].error->message, ==, "Rank 1 would not train the same as rank 0. Different: --timeout.");
      g_clear_error (&other[k].error);
    }
}

/* All ranks get the reason and its code; of two reasons, the first rank's. A long reason is cut and stays valid text.
 */
static void
test_not_ready (void)
{
  g_autoptr (GString) text = g_string_new ("There are no images in “data”. ");
  g_autoptr (GError) long_one = NULL, other = g_error_new (LOOM_ERROR, LOOM_ERROR_DEVICE, "No such device.");

  while (text->len < 3000)
    g_string_append (text, "…");
  long_one = g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DATA, text->str);
  Rank rank[RANKS] = { { .what = { 77, 1 } }, { .why_not = long_one }, { .why_not = other } };

  meet (rank, agree);
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_false (rank[k].ok);
      g_assert_cmpint (rank[k].speaks, ==, k == 1);
      g_assert_cmpint (rank[k].error == NULL, ==, rank[k].why_not != NULL);
    }
  g_assert_error (rank[0].error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_true (g_str_has_prefix (rank[0].error->message, "Rank 1: There are no images in “data”. ……"));
  g_assert_true (g_utf8_validate (rank[0].error->message, -1, NULL));
  g_clear_error (&rank[0].error);
}

/* Ranks that send what no rank of this version does, the same number or byte in each place. */
typedef struct
{
  LoomComm base;
  gint64 number;
  guint8 byte;
} Stranger;

static LoomStatus
strange_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  memcpy (to, &((Stranger *)self)->number, sizeof (gint64));
  return LOOM_STATUS_OK;
}

static LoomStatus
strange_broadcast (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message)
{
  g_assert_true (root >= 0 && root < RANKS);
  memset (data, ((Stranger *)self)->byte, (gsize)bytes);
  return LOOM_STATUS_OK;
}

/* A rank number that is none, or this one's though it can begin; a sentence without an end, and one without a word. */
static void
test_strange (void)
{
  static const gint64 numbers[] = { -1, RANKS + 1, 1, 2, 2 };
  static const guint8 bytes[] = { 0, 0, 0, 0xff, 0 };
  static const char *const names[] = { "graph", "device" };
  const guint64 what[] = { 77, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      Stranger comm = { { .rank = 1, .size = RANKS, .all_reduce = strange_reduce, .broadcast = strange_broadcast },
                        numbers[i],
                        bytes[i] };
      g_autoptr (GError) error = NULL;
      gboolean speaks;

      g_assert_false (loom_dist_agree (&comm.base, NULL, what, names, G_N_ELEMENTS (names), &speaks, &error));
      g_assert_nonnull (error);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_cmpuint (strlen (error->message), >, 10);
      g_assert_cmpuint (strlen (error->message), <, 4000);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dist/agree/same", test_same);
  g_test_add_func ("/dist/agree/other", test_other);
  g_test_add_func ("/dist/agree/others", test_others);
  g_test_add_func ("/dist/agree/greet", test_greet);
  g_test_add_func ("/dist/agree/not-ready", test_not_ready);
  g_test_add_func ("/dist/agree/strange", test_strange);
  return g_test_run ();
}
