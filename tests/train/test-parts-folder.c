/* The folder of a run, and the parts that write to it, each constructed without the trainer. */
#include "engine/infer/loom-run-files.h"
#include "engine/train/run-failure.h"
#include "engine/train/run-opening.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/part-bench.h"

#include <math.h>

/* ---- folder ----------------------------------------------------------- */

/* Steps are written in their order with events, and a resumed run continues after those of its checkpoint. */
static void
test_folder (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL), *text = NULL, *cut = NULL;
  g_autoptr (GError) error = NULL;
  static const char epoch[] = "{\"event\":\"epoch\",\"step\":1}";
  LoomRunStep step;
  RunFolder folder;
  gint64 length;
  Base b;

  base_init (&b, NET (""));
  const RunFolderContents contents = { &b.model, b.data.dataset, 1 };
  run_folder_init (&folder, b.data.total_steps);
  g_assert_true (run_folder_add_step (&folder, &(LoomRunStep){ 1, 1, 0.5, 0.1 }, &error)); /* nothing is open */
  g_assert_true (run_folder_create (&folder, path, &contents, &error));
  g_assert_true (run_folder_add_step (&folder, &(LoomRunStep){ 1, 1, 0.5, 0.1 }, &error));
  g_assert_cmpint (folder.events_length, ==, 0);
  g_assert_true (run_folder_sync (&folder, &error));
  length = folder.events_length;
  g_assert_true (run_folder_add_step (&folder, &(LoomRunStep){ 2, 1, 0.25, 0.1 }, &error));
  g_assert_true (run_folder_add_event (&folder, run_event_new ("epoch"), &error));
  run_folder_clear (&folder);
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_cmpstr (text, ==,
                   "{\"event\":\"step\",\"step\":1,\"epoch\":1,\"loss\":0.5,\"lr\":0.1}\n"
                   "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":0.25,\"lr\":0.1}\n{\"event\":\"epoch\"}\n");

  run_folder_init (&folder, b.data.total_steps);
  g_assert_false (run_folder_create (&folder, path, &contents, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_clear_error (&error);
  folder.events_length = length;
  g_assert_true (run_folder_lock (&folder, path, &error));
  g_assert_true (run_folder_open (&folder, NULL, &error));
  run_folder_clear (&folder);
  g_assert_true (g_file_get_contents (events, &cut, NULL, NULL));
  g_assert_cmpint ((gint64)strlen (cut), ==, length);
  g_assert_true (loom_run_event_step (cut, cut + length - 1, &step));
  g_assert_cmpint (step.step, ==, 1);
  g_assert_cmpint (step.epoch, ==, 1);
  g_assert_cmpfloat (step.loss, ==, 0.5);
  g_assert_cmpfloat (step.lr, ==, 0.1);
  g_assert_false (loom_run_event_step (epoch, epoch + strlen (epoch), &step));
  /* Of a long run only some steps. */
  run_folder_init (&folder, 100000);
  g_assert_false (run_folder_records (&folder, 99999));
  g_assert_true (run_folder_records (&folder, 100000));
  base_clear (&b);
  remove_tree (top);
}

/* A checkpoint is read as it was written. */
static void
test_checkpoint (void)
{
  g_autofree char *top = NULL;
  g_autoptr (GError) error = NULL;
  gint64 length = -1;
  Bench b;
  Base other;

  bench_init (&b, NET (""), NULL);
  top = bench_create_folder (&b);
  bench_steps (&b, 2);
  g_assert_true (checkpoints_write (&b.checkpoints, &b.base.progress, &error));
  g_assert_no_error (error);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 2);
  base_init (&other, NET (""));
  const RunState run = { &other.model, &other.data, &other.rates, step_plans_first (&other.plans) };
  g_assert_true (run_state_restore (&run, b.folder.path, 0, &other.progress, &length, &other.notes, &error));
  g_assert_no_error (error);
  g_assert_null (other.notes.text);
  g_assert_cmpint (length, ==, b.folder.events_length);
  g_assert_cmpint (other.progress.step, ==, 2);
  g_assert_cmpfloat (other.progress.loss_sum, ==, b.base.progress.loss_sum);
  g_assert_cmpfloat (other.progress.base_lr, ==, 0.02);
  g_autoptr (LoomTensor) mine = loom_state_get (b.base.model.state, "scores.weight", NULL);
  g_autoptr (LoomTensor) read = loom_state_get (other.model.state, "scores.weight", NULL);
  g_assert_true (loom_tensor_equal_bits (mine, read));
  base_clear (&other);
  bench_clear (&b);
  remove_tree (top);
}

/* ---- an epoch's end ---------------------------------------------------- */

/* A command ends the run during the evaluation. */
static gboolean
poll_stop (gboolean *yields, gpointer data, GError **error)
{
  *yields = TRUE;
  return TRUE;
}

static void
count_stop (const LoomTrainerWatch *watch, gpointer data)
{
  *(int *)data += watch->best_epoch;
}

static int
n_lines (const char *text, const char *event)
{
  int n = 0;

  while ((text = strstr (text, event)) != NULL)
    {
      text++;
      n++;
    }
  return n;
}

/* An epoch counts after its whole evaluation. One without progress ends the run, and the best weights are those of the
 * epoch before it. */
static void
test_epoch_end (void)
{
  static const char xml[] = NET ("patience=\"1\" monitor=\"accuracy\"");
  g_autofree char *top = NULL, *best = NULL, *events = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;
  int stopped_after = 0;
  gboolean (*poll) (gboolean * yields, gpointer data, GError * *error);
  gboolean yielded;
  Bench b;

  bench_init (&b, xml, NULL);
  b.base.progress.watch.best = NAN;
  poll = b.evaluation.poll;
  b.evaluation.poll = poll_stop;
  b.end.early_stop = count_stop;
  b.end.owner = &stopped_after;
  top = bench_create_folder (&b);
  best = g_build_filename (b.folder.path, "weights-best.safetensors", NULL);
  events = g_build_filename (b.folder.path, LOOM_RUN_EVENTS, NULL);
  bench_steps (&b, 6);
  g_assert_true (epoch_end_run (&b.end, &yielded, &error));
  g_assert_true (yielded);
  g_assert_cmpint (b.base.progress.epoch, ==, 0);
  b.evaluation.poll = poll;
  g_assert_true (epoch_end_run (&b.end, &yielded, &error));
  g_assert_no_error (error);
  g_assert_false (yielded || epoch_end_is_last (&b.end));
  g_assert_cmpint (b.base.progress.epoch, ==, 1);
  g_assert_true (g_file_test (best, G_FILE_TEST_EXISTS));
  g_assert_cmpint (b.checkpoints.saved_step, ==, 6);
  /* No weights have changed since. */
  g_assert_true (epoch_end_run (&b.end, &yielded, &error));
  g_assert_true (epoch_end_is_last (&b.end));
  g_assert_cmpint (stopped_after, ==, 1);
  g_assert_true (run_folder_flush (&b.folder, &error));
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_cmpint (n_lines (text, "\"event\":\"epoch\""), ==, 2);
  g_assert_cmpint (n_lines (text, "\"event\":\"early_stop\""), ==, 1);
  bench_clear (&b);
  remove_tree (top);
}

/* A failure says after which step it came and how to resume; finished steps are saved unless the failure is of a disk
 * or the step has changed the state. */
static void
test_run_failure (void)
{
  g_autofree char *top = NULL;
  g_autoptr (GError) error = NULL, device = g_error_new (LOOM_ERROR, LOOM_ERROR_DEVICE, "The device is lost."),
                     disk = g_error_new (LOOM_ERROR, LOOM_ERROR_IO, "The disk is full.");
  NanPlace place = { 0 };
  Bench b;

  bench_init (&b, NET (""), NULL);
  const RunFailure left
      = { &b.base.model, &b.base.group, &b.base.progress, &b.loop, &place, &b.folder, &b.checkpoints };
  top = bench_create_folder (&b);
  bench_steps (&b, 2);
  run_failure_save (&left, disk);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 0);
  b.loop.is_between = TRUE;
  run_failure_save (&left, device);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 0);
  b.loop.is_between = FALSE;
  run_failure_save (&left, device);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 2);
  run_failure_explain (&left, device);
  g_assert_true (g_str_has_prefix (device->message, "After 2 steps: The device is lost. Continue with: "));
  g_assert_nonnull (strstr (device->message, "--resume"));
  run_failure_explain (&left, disk);
  g_assert_cmpstr (disk->message, ==, "The disk is full.");
  bench_clear (&b);
  remove_tree (top);
}

/* ---- opening ---------------------------------------------------------- */

/* A run with a folder begins with graph.xml; the same folder is refused for a second run, and resumed where it is. */
static void
test_opening (void)
{
  g_autofree char *top = g_dir_make_tmp ("opening-XXXXXX", NULL), *folder = g_build_filename (top, "run", NULL);
  g_autofree char *graph = g_build_filename (folder, LOOM_RUN_GRAPH, NULL);
  LoomTrainerOptions options = { .lr = NAN, .seed = -1 };
  g_autoptr (GError) error = NULL;
  LoomTransfer *transfer = NULL;
  LiveChanges replay = { NULL };
  g_autoptr (GArray) begins = g_array_new (FALSE, FALSE, sizeof (guint));
  RunOpening opening;
  Bench b;

  bench_init (&b, NET (""), NULL);
  opening = (RunOpening){ .model = &b.base.model,
                          .data = &b.base.data,
                          .group = &b.base.group,
                          .ranks = 1,
                          .progress = &b.base.progress,
                          .rates = &b.base.rates,
                          .folder = &b.folder,
                          .checkpoints = &b.checkpoints,
                          .replay = &replay,
                          .transfer = &transfer,
                          .begins = begins,
                          .notes = &b.base.notes };
  options.out = folder;
  g_assert_true (run_opening_do (&opening, &options, &error));
  g_assert_no_error (error);
  g_assert_null (transfer);
  g_assert_true (g_file_test (graph, G_FILE_TEST_EXISTS));
  bench_clear (&b);

  bench_init (&b, NET (""), NULL);
  g_assert_false (run_opening_do (&opening, &options, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_clear_error (&error);
  options.out = NULL;
  options.replay = folder;
  g_assert_true (run_opening_do (&opening, &options, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (replay.list->len, ==, 0);
  live_changes_clear (&replay);
  bench_clear (&b);
  remove_tree (top);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parts-folder/folder", test_folder);
  g_test_add_func ("/parts-folder/checkpoint", test_checkpoint);
  g_test_add_func ("/parts-folder/epoch-end", test_epoch_end);
  g_test_add_func ("/parts-folder/run-failure", test_run_failure);
  g_test_add_func ("/parts-folder/opening", test_opening);
  return g_test_run ();
}
