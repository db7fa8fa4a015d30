/* A worker that trains on a device with memory of its own: what the driver says comes once a second while it trains,
 * and begins with what was in use before anything of the run was there. */
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
  gboolean begins_before; /* the first one already told more than there was before */
} Told;

static void
told_cb (LoomBusWorker1 *bus, const char *device, GVariant *bytes, gpointer data)
{
  Told *told = data;
  guint64 planned = 0, part;
  GVariantIter iter;
  const char *name;

  g_assert_cmpstr (device, ==, "cuda:0");
  told->first = told->last = 0;
  g_variant_iter_init (&iter, bytes);
  while (g_variant_iter_next (&iter, "{&st}", &name, &part))
    {
      guint64 *to = g_str_equal (name, "used")     ? &told->used
                    : g_str_equal (name, "total")  ? &told->total
                    : g_str_equal (name, "peak")   ? &told->peak
                    : g_str_equal (name, "before") ? &told->before
                    : g_str_equal (name, "first")  ? &told->first
                    : g_str_equal (name, "last")   ? &told->last
                                                   : NULL;

      if (to != NULL)
        *to = part;
      else
        planned += part;
    }
  told->on_the_way += told->f->last_step > 20 && told->f->last_step < 62;
  if (told->n++ == 0)
    told->begins_before = told->used >= told->before + planned;
}

static void
test_live (Fixture *f, gconstpointer data)
{
  g_auto (GStrv) halves = g_strsplit (worker_graph, "<train ", 2);
  g_autofree char *graph = g_strconcat (halves[0], "<train device=\"cuda:0\" ", halves[1], NULL);
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;
  gint64 begin = g_get_monotonic_time ();
  Told told = { .f = f };
  double seconds;

  g_signal_connect (f->bus, "memory", G_CALLBACK (told_cb), &told);
  worker_load (f, graph, 0);
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{sv}"));
  g_variant_builder_add (&b, "{sv}", "epochs", g_variant_new_int64 (EPOCHS));
  g_variant_builder_add (&b, "{sv}", "at_least", g_variant_new_double (SECONDS));
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (worker_state_is (f, "done"));
  seconds = (double)(g_get_monotonic_time () - begin) / G_USEC_PER_SEC;
  g_test_message ("%u signals in %.1f s", told.n, seconds);
  /* As the run is planned and each second, and with the plans of the evaluation and at the end at most. */
  g_assert_cmpuint (told.n, >=, 4);
  g_assert_cmpuint (told.on_the_way, >=, 1);
  g_assert_cmpfloat (told.n, <=, seconds + 6);
  g_assert_true (told.begins_before);
  g_assert_true (told.before > 0 || told.used > 0);
  g_assert_cmpuint (told.total, >=, told.peak);
  g_assert_cmpuint (told.peak, >=, told.used);
  g_assert_cmpuint (told.first, >, told.before);
  g_assert_cmpuint (told.last, ==, told.peak);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/card/live", Fixture, NULL, worker_set_up, test_live, worker_tear_down);
  return g_test_run ();
}
