/* A worker that trains on a device with its own memory: it sends the driver's figures once a second during training,
 * and first the memory in use before the run allocated any. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

/* Of 64 steps, of which none may wait longer than 50 ms. */
#define EPOCHS  4
#define SECONDS 3.0

typedef struct
{
  Fixture *f;
  guint n, on_the_way; /* signals; those between the first evaluation and the end */
  guint64 used, total, peak, before, first, last;
  gboolean begins_before; /* the first one already received more than there was before */
} Received;

static void
memory_cb (LoomBusWorker1 *bus, const char *device, GVariant *bytes, gpointer data)
{
  Received *received = data;
  guint64 planned = 0, part;
  GVariantIter iter;
  const char *name;

  g_assert_cmpstr (device, ==, "cuda:0");
  received->first = received->last = 0;
  g_variant_iter_init (&iter, bytes);
  while (g_variant_iter_next (&iter, "{&st}", &name, &part))
    {
      guint64 *to = g_str_equal (name, "used")     ? &received->used
                    : g_str_equal (name, "total")  ? &received->total
                    : g_str_equal (name, "peak")   ? &received->peak
                    : g_str_equal (name, "before") ? &received->before
                    : g_str_equal (name, "first")  ? &received->first
                    : g_str_equal (name, "last")   ? &received->last
                                                   : NULL;

      if (to != NULL)
        *to = part;
      else
        planned += part;
    }
  received->on_the_way += received->f->last_step > 20 && received->f->last_step < 62;
  if (received->n++ == 0)
    received->begins_before = received->used >= received->before + planned;
}

static void
test_live (Fixture *f, gconstpointer data)
{
  g_auto (GStrv) halves = g_strsplit (worker_graph, "<train ", 2);
  g_autofree char *graph = g_strconcat (halves[0], "<train device=\"cuda:0\" ", halves[1], NULL);
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;
  gint64 begin = g_get_monotonic_time ();
  Received received = { .f = f };
  double seconds;

  g_signal_connect (f->bus, "memory", G_CALLBACK (memory_cb), &received);
  worker_load (f, graph, 0);
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{sv}"));
  g_variant_builder_add (&b, "{sv}", "epochs", g_variant_new_int64 (EPOCHS));
  g_variant_builder_add (&b, "{sv}", "at_least", g_variant_new_double (SECONDS));
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (worker_state_is (f, "done"));
  seconds = (double)(g_get_monotonic_time () - begin) / G_USEC_PER_SEC;
  g_test_message ("%u signals in %.1f s", received.n, seconds);
  /* As the run is planned and each second, and with the plans of the evaluation and at the end at most. */
  g_assert_cmpuint (received.n, >=, 4);
  g_assert_cmpuint (received.on_the_way, >=, 1);
  g_assert_cmpfloat (received.n, <=, seconds + 6);
  g_assert_true (received.begins_before);
  g_assert_true (received.before > 0 || received.used > 0);
  g_assert_cmpuint (received.total, >=, received.peak);
  g_assert_cmpuint (received.peak, >=, received.used);
  g_assert_cmpuint (received.first, >, received.before);
  g_assert_cmpuint (received.last, ==, received.peak);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/card/live", Fixture, NULL, worker_set_up, test_live, worker_tear_down);
  return g_test_run ();
}
