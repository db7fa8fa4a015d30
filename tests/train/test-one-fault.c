/* A step whose numbers are not finite on one rank alone ends the run of all ranks, and no rank has the weights or
 * states of that step: they are those of a run that ends before it, to the last bit. A step has one batch or two, and
 * the sample that overflows is on either rank, in either batch. No checkpoint is written of weights that make a batch
 * overflow, whichever rank has that batch. */
#include "engine/train/trainer-private.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

#define SAMPLES 64
#define BATCH   4 /* of a rank */

#define NET                                                                                                            \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"%s\" target=\"y\" val_fraction=\"0\" test_fraction=\"0\"/>"  \
  "<node id=\"hidden\" op=\"linear\" out_features=\"6\"/><node id=\"power\" op=\"exp\"/>"                              \
  "<node id=\"scores\" op=\"linear\" out_features=\"3\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"power\"/><wire from=\"power\" to=\"scores\"/>"      \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" optimizer=\"%s\" lr=\"0.01\" epochs=\"2\" accumulate=\"%d\" seed=\"3\"/></graph>"

static char *
write_data (const char *folder, int wrong)
{
  g_autoptr (GString) text = g_string_new ("a,b,y\n");
  char *path = g_build_filename (folder, "t.csv", NULL);

  for (int i = 0; i < SAMPLES; i++)
    g_string_append_printf (text, "%g,%g,%d\n", i == wrong ? 3e38 : sin (i), cos (3 * i), i % 3);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  return path;
}

/* Whether the run has to fail, and how many steps it may have. */
static gboolean fails;

static gpointer
run_some (gpointer data)
{
  Rank *rank = data;
  g_autoptr (GError) error = NULL;

  rank->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  rank->name = g_ptr_array_new_with_free_func (g_free);
  rank->loss = g_array_new (FALSE, FALSE, sizeof (double));
  rank->trainer = train_test_new (rank->xml, rank->options);
  if (fails)
    {
      g_assert_cmpint (loom_trainer_run (rank->trainer, &error), ==, LOOM_TRAINER_FAILED);
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
      g_clear_error (&error);
    }
  else if (rank->options.steps > 0)
    g_assert_cmpint (loom_trainer_run (rank->trainer, &error), ==, LOOM_TRAINER_STOPPED);
  rank_note_state (rank);
  return NULL;
}

static void
compare_with_stopped (const Rank *failed, int ranks, const char *xml, LoomTrainerOptions options)
{
  Rank stopped[3] = { 0 };

  fails = FALSE;
  options.steps = loom_trainer_steps (failed[0].trainer);
  run_ranks_by (run_some, stopped, ranks, xml, options);
  for (int k = 0; k < ranks; k++)
    {
      g_assert_cmpint (loom_trainer_steps (failed[k].trainer), ==, options.steps);
      g_assert_cmpuint (failed[k].value->len, ==, stopped[k].value->len);
      for (guint i = 0; i < failed[k].value->len; i++)
        if (!loom_tensor_equal_bits (failed[k].value->pdata[i], stopped[k].value->pdata[i]))
          g_error ("rank %d has another %s after %" G_GINT64_FORMAT " steps and a fault", k,
                   (const char *)failed[k].name->pdata[i], options.steps);
    }
  for (int k = 0; k < ranks; k++)
    rank_clear (&stopped[k]);
}

static const struct
{
  const char *strategy, *optimizer;
  int ranks, parts; /* parts: ranks that have a part of the batch */
} ways[] = {
  { "data", "sgd", 2, 2 },   { "data", "adam", 2, 2 }, { "zero1", "adam", 2, 2 }, { "zero2", "adam", 2, 2 },
  { "zero3", "adam", 2, 2 }, { "zero3", "sgd", 2, 2 }, { "1f1b", "adam", 2, 1 },  { "server", "adam", 3, 2 },
};

static void
test_way (gconstpointer data)
{
  const guint w = GPOINTER_TO_UINT (data);
  const gboolean serves = g_str_equal (ways[w].strategy, "server"); /* which accumulates nothing */
  g_autofree char *folder = g_dir_make_tmp ("gradloom-one-fault-XXXXXX", NULL);
  const LoomTrainerOptions options
      = { .device = on_card () ? NULL : "cpu", .batch_size = BATCH * 2 / ways[w].parts, .strategy = ways[w].strategy };
  gint64 most = 0;

  for (int accumulate = 1; accumulate <= (serves ? 1 : 2); accumulate++)
    for (int wrong = 0; wrong < SAMPLES; wrong += 9)
      {
        g_autofree char *path = write_data (folder, wrong);
        g_autofree char *xml = g_strdup_printf (NET, path, ways[w].optimizer, accumulate);
        g_autofree char *out = g_build_filename (folder, "run", NULL);
        LoomTrainerOptions saving = options;
        Rank failed[3] = { 0 };

        fails = TRUE;
        saving.out = out;
        run_ranks_by (run_some, failed, ways[w].ranks, xml, saving);
        g_assert_true (failed[0].trainer->failure.place.weights_overflow);
        g_assert_cmpint (failed[0].trainer->checkpoints.saved_step, <=, 0);
        most = MAX (most, loom_trainer_steps (failed[0].trainer));
        compare_with_stopped (failed, ways[w].ranks, xml, options);
        for (int k = 0; k < ways[w].ranks; k++)
          rank_clear (&failed[k]);
        remove_tree (path);
        remove_tree (out);
      }
  g_assert_cmpint (most, >, 1);
  remove_tree (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
    {
      g_autofree char *name = g_strdup_printf ("/one-fault/%s/%s", ways[w].strategy, ways[w].optimizer);

      g_test_add_data_func (name, GUINT_TO_POINTER (w), test_way);
    }
  return g_test_run ();
}
