/* Scalars of the state that cannot be read, because there is no memory for them, and a log whose length cannot: what
 * needs them reports that, and calculates with no other numbers. A program of its own, in which calloc() of such a
 * tensor fails on request. */
#include "engine/core/loom-os.h"
#include "engine/loom-lab.h"
#include "engine/train/watched-state.h"
#include "tests/scalar-of.h"
#include "tests/scratch.h"
#include "tests/train/train-test.h"

#include <errno.h>
#include <unistd.h>

#define ALIGNMENT 64 /* bytes that are allocated in addition to those of a tensor */

static const char xml[] = TRAIN_TEST_SPIRALS ("n=\"80\"", "6") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" "
                                                               "batch_size=\"16\" epochs=\"2\" seed=\"1\"/></graph>";

static __thread int fails; /* the nth next scalar of this thread and of `bytes`; 0: none */
static __thread gsize bytes = sizeof (float);

void *__real_calloc (gsize n, gsize size);
void *__wrap_calloc (gsize n, gsize size);

void *
__wrap_calloc (gsize n, gsize size)
{
  if (fails == 0 || n * size != bytes + ALIGNMENT || --fails > 0)
    return __real_calloc (n, size);
  errno = ENOMEM;
  return NULL;
}

static void
memory_cb (LoomTrainer *trainer, gpointer data)
{
}

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  if (step->step == 2)
    {
      loom_trainer_post (trainer, LOOM_COMMAND_CHECKPOINT, NULL, 0);
      fails = *(int *)data;
    }
}

static void
checkpoint_cb (LoomTrainer *trainer, gint64 step, const char *path, gpointer data)
{
  g_autofree char *state = g_build_filename (path, "state.json", NULL), *text = NULL;

  g_assert_true (g_file_get_contents (state, &text, NULL, NULL));
  g_assert_null (strstr (text, "null"));
}

/* No reported checkpoint has a number that could not be read, whichever it is. */
static void
test_checkpoint (void)
{
  static const LoomTrainerObserver observer = { .step = step_cb, .checkpoint = checkpoint_cb };
  gboolean ends = FALSE;

  for (int n = 1; n < 60 && !ends; n++)
    {
      g_autofree char *folder = g_dir_make_tmp ("unread-XXXXXX", NULL), *run = g_build_filename (folder, "run", NULL);
      g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ .out = run });
      g_autoptr (GError) error = NULL;

      fails = 0;
      loom_trainer_set_observer (trainer, &observer, &n);
      ends = loom_trainer_run (trainer, &error) == LOOM_TRAINER_DONE && fails > 0;
      if (error != NULL)
        g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
      fails = 0;
      remove_tree (folder);
    }
  g_assert_true (ends); /* all of the run's reads have failed once */
}

/* A copy of the state, over which observers compute, has the learning rate of the run. */
static void
test_copy (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTrainer) other = train_test_new (xml, (LoomTrainerOptions){ 0 });
  const TrainModel model = { .state = loom_trainer_state (trainer) };
  WatchedState watched = { .model = &model };
  StateCopy copy = { .state = loom_trainer_state (other) };
  g_autoptr (GError) error = NULL;

  loom_state_set_scalar (model.state, "lr", 0.25);
  fails = 1;
  g_assert_false (watched_state_fill_scalars (&watched, &copy, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
  g_clear_error (&error);
  g_assert_cmpfloat (scalar_of (copy.state, "lr"), ==, 0.1f);
  g_assert_true (watched_state_fill_scalars (&watched, &copy, &error));
  g_assert_cmpfloat (scalar_of (copy.state, "lr"), ==, 0.25);
}

/* Averages of weights are used after the first step: their number must be known. */
static void
test_averages (void)
{
  static const char averaged[]
      = TRAIN_TEST_SPIRALS ("n=\"80\"", "6") "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"16\" "
                                             "epochs=\"1\" seed=\"1\" ema=\"0.9\"/></graph>";
  g_autoptr (LoomTrainer) trainer = train_test_new (averaged, (LoomTrainerOptions){ 0 });
  g_autoptr (GPtrArray) weights = NULL;
  g_autoptr (GError) error = NULL;

  train_test_run (trainer);
  bytes = sizeof (gint64);
  fails = 1;
  weights = loom_trainer_weights (trainer, NULL, &error);
  bytes = sizeof (float);
  g_assert_cmpint (fails, ==, 0);
  g_assert_null (weights);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
}

/* ---- ranks -------------------------------------------------------------- */

static gpointer
rank_cb (gpointer data)
{
  LoomComm *comm = data;
  static const LoomTrainerObserver observer = { .memory = memory_cb };
  g_autoptr (LoomTrainer) trainer
      = train_test_new (xml, (LoomTrainerOptions){ .steps = 3, .comm = comm, .strategy = "zero3", .batch_size = 8 });
  g_autoptr (GError) error = NULL;
  g_auto (LoomStepperPlace) place = { 0 };
  const LoomWalkCommand begin = { LOOM_WALK_BEGIN };
  gint64 step;

  if (comm->rank == 0)
    loom_trainer_set_observer (trainer, &observer, NULL);
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
  if (comm->rank > 0)
    return NULL;
  fails = 1;
  g_assert_false (loom_trainer_walk (trainer, &begin, &place, &step, &error));
  g_assert_cmpint (fails, ==, 0);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
  g_clear_error (&error);
  g_assert_true (loom_trainer_walk (trainer, &begin, &place, &step, &error));
  loom_trainer_end_walk (trainer);
  return NULL;
}

/* A step that is walked after ranks have gathered their shards. */
static void
test_walk (void)
{
  LoomComm *comm[2];
  LoomMessage message;
  GThread *other;

  g_assert_cmpint (loom_comm_threads_new (2, comm, &message), ==, LOOM_STATUS_OK);
  other = g_thread_new ("rank", rank_cb, comm[1]);
  rank_cb (comm[0]);
  g_thread_join (other);
  for (int k = 0; k < 2; k++)
    comm[k]->free (comm[k]);
}

/* ---- the log ------------------------------------------------------------ */

static off_t
failing_seek (int fd, off_t offset, int whence)
{
  errno = EIO;
  return whence == SEEK_END ? -1 : loom_os_real.seek (fd, offset, whence);
}

/* A log of unknown length is not cut. */
static void
test_events (void)
{
  g_autofree char *folder = g_dir_make_tmp ("unread-XXXXXX", NULL), *run = g_build_filename (folder, "run", NULL);
  g_autofree char *events = g_build_filename (run, "events.jsonl", NULL), *before = NULL, *after = NULL;
  LoomTrainerOptions resume = { .lr = NAN, .seed = -1, .threads = 1, .resume = run };
  LoomOs os = loom_os_real;
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ .out = run, .steps = 3 });
  g_autoptr (LoomTrainer) again = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
  g_clear_pointer (&trainer, loom_trainer_free);
  g_assert_true (g_file_get_contents (events, &before, NULL, NULL));
  os.seek = failing_seek;
  loom_os = &os;
  again = loom_trainer_new (NULL, &resume, &error);
  loom_os = &loom_os_real;
  g_assert_null (again);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_true (g_file_get_contents (events, &after, NULL, NULL));
  g_assert_cmpstr (before, ==, after);
  remove_tree (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/unread/checkpoint", test_checkpoint);
  g_test_add_func ("/unread/copy", test_copy);
  g_test_add_func ("/unread/averages", test_averages);
  g_test_add_func ("/unread/walk", test_walk);
  g_test_add_func ("/unread/events", test_events);
  return g_test_run ();
}
