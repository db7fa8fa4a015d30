/* A short training for a moving picture: its frames, their steps, the same bits each time, and what is refused. */
#include <string.h>

#include "engine/train/loom-rehearsal.h"
#include "tests/test-program.h"

#define GRAPH(UNITS)                                                                                                   \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>"  \
  "<node id=\"hidden\" op=\"linear\" out_features=\"" UNITS "\"/><node id=\"act\" op=\"relu\"/>"                       \
  "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"          \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.03\" batch_size=\"32\" epochs=\"30\" seed=\"3\"/></graph>"

#define POINTS 5

static LoomGraph *
read_graph (const char *text)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (text, strlen (text), "test", faults, &error);

  g_assert_no_error (error);
  return graph;
}

static LoomTensor *
points_new (void)
{
  const gint64 dim[] = { POINTS, 2 };
  LoomTensor *t = loom_tensor_new (LOOM_F32, 2, dim, NULL);

  for (int i = 0; i < 2 * POINTS; i++)
    ((float *)t->data)[i] = (float)(0.2 * i - 1);
  return t;
}

typedef struct
{
  GArray *step;  /* gint64 */
  GArray *value; /* double: the probability of class 0 of each point */
  guint most;
} Frames;

static gboolean
frame_cb (const GPtrArray *answers, const LoomTensor *value, gint64 step, gint64 epoch, gpointer data)
{
  Frames *frames = data;

  g_assert_cmpuint (answers->len, ==, POINTS);
  g_array_append_val (frames->step, step);
  for (guint i = 0; i < answers->len; i++)
    {
      const LoomAnswer *answer = answers->pdata[i];

      g_assert_cmpint (answer->n_classes, ==, 2);
      g_assert_cmpfloat_with_epsilon (answer->value[0] + answer->value[1], 1, 1e-6);
      g_array_append_val (frames->value, answer->value[0]);
    }
  return frames->step->len < frames->most;
}

static Frames
rehearse (guint most, double seconds)
{
  g_autoptr (LoomGraph) graph = read_graph (GRAPH ("16"));
  g_autoptr (LoomTensor) points = points_new ();
  g_autoptr (GError) error = NULL;
  Frames frames = { g_array_new (FALSE, FALSE, sizeof (gint64)), g_array_new (FALSE, FALSE, sizeof (double)), most };

  g_assert_true (loom_rehearsal_run (graph, points, NULL, 9, seconds, frame_cb, &frames, &error));
  g_assert_no_error (error);
  return frames;
}

static void
clear (Frames *frames)
{
  g_array_unref (frames->step);
  g_array_unref (frames->value);
}

static gboolean
value_cb (const GPtrArray *answers, const LoomTensor *value, gint64 step, gint64 epoch, gpointer data)
{
  GArray *sums = data;
  double sum = 0;

  g_assert_null (answers);
  g_assert_cmpint (value->dim[value->rank - 1], ==, 16);
  for (gint64 i = 0; i < value->count; i++)
    sum += loom_tensor_get (value, i);
  g_array_append_val (sums, sum);
  return TRUE;
}

/* The value of a port, which changes with the weights. */
static void
test_port (void)
{
  g_autoptr (LoomGraph) graph = read_graph (GRAPH ("16"));
  g_autoptr (GArray) sums = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GError) error = NULL;

  g_assert_true (loom_rehearsal_run (graph, NULL, "act", 9, 1000, value_cb, sums, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (sums->len, ==, 9);
  for (guint i = 1; i < sums->len; i++)
    g_assert_cmpfloat (g_array_index (sums, double, i), !=, g_array_index (sums, double, i - 1));
  g_assert_false (loom_rehearsal_run (graph, NULL, "nothing", 9, 1000, value_cb, sums, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
}

static void
test_frames (void)
{
  Frames one = rehearse (100, 1000), two = rehearse (100, 1000);
  const gint64 *step = (const gint64 *)(void *)one.step->data;

  g_assert_cmpuint (one.step->len, ==, 9);
  g_assert_cmpint (step[0], ==, 0);
  for (guint i = 1; i < one.step->len; i++)
    {
      g_assert_cmpint (step[i], >, step[i - 1]);
      g_assert_true (i < 2 || step[i] - step[i - 1] >= step[i - 1] - step[i - 2] - 1); /* more at the beginning */
      g_assert_true (memcmp (one.value->data + i * POINTS * sizeof (double),
                             one.value->data + (i - 1) * POINTS * sizeof (double), POINTS * sizeof (double))
                     != 0);
    }
  g_assert_cmpmem (one.value->data, one.value->len * sizeof (double), two.value->data,
                   two.value->len * sizeof (double));
  clear (&one);
  clear (&two);
}

/* The caller, or the limit of processor time, ends it. */
static void
test_ends (void)
{
  Frames few = rehearse (3, 1000), none = rehearse (100, 0);

  g_assert_cmpuint (few.step->len, ==, 3);
  g_assert_cmpuint (none.step->len, ==, 0);
  clear (&few);
  clear (&none);
}

static void
test_refused (void)
{
  g_autoptr (LoomGraph) graph = read_graph (GRAPH ("16000"));
  g_autoptr (LoomTensor) points = points_new ();
  g_autoptr (GError) error = NULL;

  g_assert_false (loom_rehearsal_run (graph, points, NULL, 9, 1, frame_cb, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "80002 parameters"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rehearsal/frames", test_frames);
  g_test_add_func ("/rehearsal/port", test_port);
  g_test_add_func ("/rehearsal/ends", test_ends);
  g_test_add_func ("/rehearsal/refused", test_refused);
  return g_test_run ();
}
