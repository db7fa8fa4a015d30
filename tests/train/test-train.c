/* Runs of the engine: the files that a run writes, refused options, and resuming with the same bits. The graphs are
 * small and their data generated, so that a whole run takes milliseconds; if a run has to be killed, it is a process of
 * the command line. */
#include "engine/loom-lab.h"
#include "tests/exec/test-device.h"
#include "tests/scalar-of.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct
{
  char *folder;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  f->folder = g_dir_make_tmp ("gradloom-train-XXXXXX", &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->folder);
  g_free (f->folder);
}

/* With dropout and batch norm, because their state and random numbers are critical for resuming. 1000 samples in
 * batches of 96: the last batch of an epoch has 40. */
static const char *const GRAPH
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
      "<node id=\"hidden\" op=\"linear\" out_features=\"32\"/>"
      "<node id=\"picture\" op=\"reshape\" shape=\"B,2,4,4\"/>"
      "<node id=\"norm\" op=\"batch_norm2d\"/>"
      "<node id=\"flat\" op=\"flatten\"/>"
      "<node id=\"act\" op=\"relu\"/>"
      "<node id=\"drop\" op=\"dropout\" p=\"0.1\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
      "<node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"picture\"/><wire from=\"picture\" to=\"norm\"/>"
      "<wire from=\"norm\" to=\"flat\"/><wire from=\"flat\" to=\"act\"/><wire from=\"act\" to=\"drop\"/>"
      "<wire from=\"drop\" to=\"scores\"/>"
      "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"96\" epochs=\"6\" seed=\"3\">"
      "<schedule type=\"cosine\" warmup_steps=\"10\"/><clip max_norm=\"1\"/>"
      "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";

static LoomGraph *
read_graph (const char *xml)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_assert_no_error (error);
  loom_faults_to_error (faults, "test", &error);
  g_assert_no_error (error);
  return graph;
}

static LoomTrainerOptions
options (const char *out)
{
  return (LoomTrainerOptions){ .device = test_device (NULL), .lr = NAN, .seed = -1, .out = out, .threads = 1 };
}

/* TRUE if a device works while its caller continues. */
static gboolean
works_on (const char *device)
{
  return device != NULL && g_str_has_prefix (device, "cuda");
}

static LoomTrainer *
trainer_new (const char *xml, const LoomTrainerOptions *o, GError **error)
{
  g_autoptr (LoomGraph) graph = xml != NULL ? read_graph (xml) : NULL;
  return loom_trainer_new (graph, o, error);
}

static LoomTrainer *
trainer_ok (const char *xml, const LoomTrainerOptions *o)
{
  g_autoptr (GError) error = NULL;
  LoomTrainer *trainer = trainer_new (xml, o, &error);
  g_assert_no_error (error);
  return trainer;
}

static char *
contents (const char *folder, const char *name, gsize *length)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GError) error = NULL;
  char *text;
  g_file_get_contents (path, &text, length, &error);
  g_assert_no_error (error);
  return text;
}

static void
assert_same_file (const char *a, const char *b, const char *name)
{
  gsize na, nb;
  g_autofree char *ta = contents (a, name, &na), *tb = contents (b, name, &nb);
  g_assert_cmpmem (ta, na, tb, nb);
}

/* ---- a whole run ------------------------------------------------------ */

typedef struct
{
  gint64 steps, evals;
  double first_loss, last_loss, epoch_loss, weighted, samples;
  double eval_loss, accuracy;
  gint64 stop_at;
  LoomCommandKind stop_with;
} Seen;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  Seen *seen = data;

  seen->steps++;
  g_assert_cmpint (s->steps_per_epoch, ==, 11);
  if (s->step == 1)
    seen->first_loss = s->loss;
  if (s->epoch == 1)
    {
      double n = s->step == 11 ? 40 : 96;
      seen->weighted += s->loss * n;
      seen->samples += n;
      seen->epoch_loss = s->epoch_loss;
    }
  seen->last_loss = s->loss;
  if (seen->stop_at && s->step == seen->stop_at)
    loom_trainer_post (trainer, seen->stop_with, NULL, 0);
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  Seen *seen = data;
  seen->evals++;
  seen->eval_loss = e->loss;
  seen->accuracy = e->metric[0];
  g_assert_cmpstr (e->split, ==, "test");
  g_assert_cmpstr (e->metric_name[0], ==, "accuracy");
}

static const LoomTrainerObserver observer = { .step = step_cb, .eval = eval_cb };

static void
test_whole_run (Fixture *f, gconstpointer data)
{
  g_autofree char *out = g_build_filename (f->folder, "run", NULL);
  LoomTrainerOptions o = options (out);
  Seen seen = { 0 };
  g_autoptr (LoomTrainer) trainer = trainer_ok (GRAPH, &o);

  loom_trainer_set_observer (trainer, &observer, &seen);
  train_test_run (trainer);
  g_assert_cmpint (seen.steps, ==, 66);
  g_assert_cmpint (seen.evals, ==, 6);
  g_assert_cmpfloat (seen.last_loss, <, seen.first_loss);
  g_assert_cmpfloat (seen.accuracy, >, 0.55);
  /* The epoch's mean weighs samples: the short batch counts 40, not 96. */
  g_assert_cmpfloat_with_epsilon (seen.epoch_loss, seen.weighted / seen.samples, 1e-9);

  gsize length;
  g_autofree char *events = contents (out, "events.jsonl", &length);
  guint lines = 0;
  for (gsize i = 0; i < length; i++)
    lines += events[i] == '\n';
  g_assert_cmpuint (lines, ==, 66 + 6 + 6);
  g_autofree char *state = contents (out, "checkpoints/66/state.json", &length);
  g_assert_nonnull (strstr (state, "\"events_length\""));
  assert_same_file (out, out, "weights.safetensors");
  g_autofree char *newest = g_build_filename (out, "checkpoints", "66", NULL);
  assert_same_file (out, newest, "weights.safetensors");
}

/* Stalls of steps sum to at most the run's time, and the waits of a pace are not counted. */
static void
test_waits (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (
      TRAIN_TEST_SPIRALS ("n=\"256\"", "8") "<train loss=\"loss\" batch_size=\"4\" epochs=\"8\"/></graph>",
      (LoomTrainerOptions){ 0 });
  const gint64 start = g_get_monotonic_time ();
  LoomTrainerWaits waits;
  double all;

  loom_trainer_waits (trainer, &waits);
  g_assert_cmpint (waits.steps, ==, 0);
  train_test_run (trainer);
  loom_trainer_waits (trainer, &waits);
  all = (double)(g_get_monotonic_time () - start) / G_USEC_PER_SEC;
  g_assert_cmpint (waits.steps, >=, 512 / 16 - 1);
  g_assert_cmpint (waits.steps, <, 512);
  g_assert_cmpuint (waits.threads, ==, 0);
  g_assert_cmpfloat (waits.data, >=, 0);
  g_assert_cmpfloat (waits.compute, >, 0);
  g_assert_cmpfloat (waits.rest, >=, 0);
  g_assert_cmpfloat ((double)waits.steps * (waits.data + waits.compute + waits.rest), <, all);
}

static void
test_repeatable (Fixture *f, gconstpointer data)
{
  g_autofree char *a = g_build_filename (f->folder, "a", NULL), *b = g_build_filename (f->folder, "b", NULL);
  g_autofree char *c = g_build_filename (f->folder, "c", NULL);
  const char *outs[] = { a, b, c };

  for (guint i = 0; i < 3; i++)
    {
      LoomTrainerOptions o = options (outs[i]);
      o.seed = i == 2 ? 4 : -1;
      g_autoptr (LoomTrainer) trainer = trainer_ok (GRAPH, &o);
      /* The second run is watched: that must not change a bit. */
      if (i == 1)
        {
          g_autoptr (LoomTensor) before = loom_trainer_snapshot (trainer, "act", NULL, NULL);
          g_assert_nonnull (before);
        }
      train_test_run (trainer);
    }
  assert_same_file (a, b, "weights.safetensors");
  assert_same_file (a, b, "events.jsonl");
  gsize na, nc;
  g_autofree char *wa = contents (a, "weights.safetensors", &na), *wc = contents (c, "weights.safetensors", &nc);
  g_assert_true (na != nc || memcmp (wa, wc, na) != 0);
}

/* ---- stopped and resumed ---------------------------------------------- */

static void
test_resume (Fixture *f, gconstpointer data)
{
  g_autofree char *whole = g_build_filename (f->folder, "whole", NULL);
  LoomTrainerOptions o = options (whole);
  g_autoptr (LoomTrainer) uninterrupted = trainer_ok (GRAPH, &o);
  train_test_run (uninterrupted);

  /* In the middle of an epoch, before its short batch, after it (before and in the evaluation), and at the first step.
   */
  static const gint64 places[] = { 1, 5, 10, 11, 22, 37, 65 };
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *out = g_strdup_printf ("%s/stopped-%d", f->folder, (int)places[i]);
      Seen seen = { .stop_at = places[i], .stop_with = i % 2 ? LOOM_COMMAND_STOP : LOOM_COMMAND_INTERRUPT };
      g_autoptr (GError) error = NULL;
      LoomTrainerOptions first = options (out);
      g_autoptr (LoomTrainer) trainer = trainer_ok (GRAPH, &first);
      loom_trainer_set_observer (trainer, &observer, &seen);
      LoomTrainerEnd end = loom_trainer_run (trainer, &error);
      if (i % 2)
        g_assert_cmpint (end, ==, LOOM_TRAINER_STOPPED);
      else
        {
          g_assert_cmpint (end, ==, LOOM_TRAINER_INTERRUPTED);
          g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED);
        }
      /* A GPU has begun the next step of the epoch when it reports one, and the run ends after that. */
      gint64 done = places[i] + (works_on (first.device) && places[i] % 11 != 0);
      g_assert_cmpint (seen.steps, ==, done);
      g_clear_pointer (&trainer, loom_trainer_free);

      LoomTrainerOptions again = options (NULL);
      again.resume = out;
      trainer = trainer_ok (NULL, &again);
      g_assert_cmpint (loom_trainer_steps (trainer), ==, done);
      train_test_run (trainer);
      assert_same_file (whole, out, "weights.safetensors");
      assert_same_file (whole, out, "events.jsonl");
      assert_same_file (whole, out, "checkpoints/66/optimizer.safetensors");
    }
}

/* kill -9 at random moments, repeatedly, with checkpoints at all times. A device under test opens and runs more slowly
 * than the CPU. */
static void
test_kill (Fixture *f, gconstpointer data)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *graph = g_build_filename (f->folder, "graph.xml", NULL);
  g_autofree char *whole = g_build_filename (f->folder, "whole", NULL),
                  *killed = g_build_filename (f->folder, "killed", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  const char *device = test_device (NULL);
  int status = 1, kills = 0, most = device != NULL ? 3 : 8, scale = device != NULL ? 5 : 1;

  g_assert_true (g_file_set_contents (graph, GRAPH, -1, NULL));
  const char *first[] = {
    program, "train", graph, "--epochs", device != NULL ? "15" : "150",   "--threads", "1", "--checkpoint-seconds",
    "0.002", "--out", whole, "--device", device != NULL ? device : "cpu", NULL
  };
  const char *again[] = { program, "train", "--resume", killed, "--checkpoint-seconds", "0.002", NULL };
  g_spawn_sync (NULL, (char **)first, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);

  first[10] = killed;
  for (int i = 0; i < 200; i++)
    {
      g_autofree char *marker = g_build_filename (killed, "graph.xml", NULL);
      gboolean begun = g_file_test (marker, G_FILE_TEST_EXISTS);
      GPid pid;
      if (!begun)
        remove_tree (killed); /* killed before there was a run */
      g_spawn_async (NULL, (char **)(begun ? again : first), NULL,
                     G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                     &pid, &error);
      g_assert_no_error (error);
      if (kills < most)
        {
          g_usleep (g_rand_int_range (rand, 20000, 200000) * scale);
          kill (pid, SIGKILL);
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      if (WIFEXITED (status))
        {
          g_assert_cmpint (WEXITSTATUS (status), ==, 0);
          break;
        }
      kills++;
    }
  g_test_message ("%d kills", kills);
  g_assert_cmpint (kills, >, 0);
  assert_same_file (whole, killed, "weights.safetensors");
  assert_same_file (whole, killed, "events.jsonl");
}

/* A newest checkpoint that is not whole is passed over. */
static void
test_broken_checkpoint (Fixture *f, gconstpointer data)
{
  g_autofree char *out = g_build_filename (f->folder, "run", NULL);
  LoomTrainerOptions o = options (out);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = trainer_ok (GRAPH, &o);
  train_test_run (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  gsize length;
  g_autofree char *weights = contents (out, "weights.safetensors", &length);
  g_autofree char *kept = g_memdup2 (weights, length);

  g_autofree char *broken = g_build_filename (out, "checkpoints", "66", "optimizer.safetensors", NULL);
  g_assert_cmpint (truncate (broken, 20), ==, 0);
  LoomTrainerOptions again = options (NULL);
  again.resume = out;
  trainer = trainer_ok (NULL, &again);
  /* An epoch's checkpoint is left out if writing takes long for the time that the epoch took, as on a busy machine. */
  g_assert_cmpint (loom_trainer_steps (trainer), <, 66);
  g_assert_cmpint (loom_trainer_steps (trainer), >, 0);
  g_assert_cmpint (loom_trainer_steps (trainer) % 11, ==, 0);
  train_test_run (trainer);
  gsize length_after;
  g_autofree char *after = contents (out, "weights.safetensors", &length_after);
  g_assert_cmpmem (kept, length, after, length_after);
}

/* ---- rules of the run folder ------------------------------------------ */

static void
test_folder (Fixture *f, gconstpointer data)
{
  g_autofree char *out = g_build_filename (f->folder, "run", NULL);
  LoomTrainerOptions o = options (out);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) first = trainer_ok (GRAPH, &o);

  g_assert_null (trainer_new (GRAPH, &o, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "already holds a run"));
  g_clear_error (&error);

  /* Two processes cannot write one run: the first still holds it. */
  LoomTrainerOptions again = options (NULL);
  again.resume = out;
  g_assert_null (trainer_new (NULL, &again, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);

  again.resume = f->folder;
  g_assert_null (trainer_new (NULL, &again, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_clear_error (&error);

  g_autofree char *nowhere = g_build_filename ("/proc", "gradloom-run", NULL);
  LoomTrainerOptions bad = options (nowhere);
  g_assert_null (trainer_new (GRAPH, &bad, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
}

/* A run that was killed before its first checkpoint begins again, with the same numbers. */
static void
test_resume_from_nothing (Fixture *f, gconstpointer data)
{
  g_autofree char *a = g_build_filename (f->folder, "a", NULL), *b = g_build_filename (f->folder, "b", NULL);
  LoomTrainerOptions o = options (a), again = options (NULL);
  g_autoptr (LoomTrainer) trainer = trainer_ok (GRAPH, &o);
  train_test_run (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);

  o.out = b;
  trainer = trainer_ok (GRAPH, &o);
  g_clear_pointer (&trainer, loom_trainer_free);
  again.resume = b;
  trainer = trainer_ok (NULL, &again);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 0);
  train_test_run (trainer);
  assert_same_file (a, b, "weights.safetensors");
  assert_same_file (a, b, "events.jsonl");
}

/* ---- errors ----------------------------------------------------------- */

static void
test_nan (Fixture *f, gconstpointer data)
{
  /* log of a number that is below zero for half of the samples */
  static const char *const xml
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
        "<node id=\"data\" op=\"dataset\" source=\"linear\"/><node id=\"line\" op=\"linear\" out_features=\"1\"/>"
        "<node id=\"culprit\" op=\"log\"/><node id=\"loss\" op=\"mse_loss\"/>"
        "<wire from=\"data.x\" to=\"line\"/><wire from=\"line\" to=\"culprit\"/>"
        "<wire from=\"culprit\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
        "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"32\" epochs=\"2\" seed=\"1\"/></graph>";
  LoomTrainerOptions o = options (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = trainer_ok (xml, &o);
  g_autoptr (LoomTensor) before = loom_state_get (loom_trainer_state (trainer), "line.weight", NULL);

  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_FAILED);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_assert_nonnull (strstr (error->message, "node culprit"));
  g_assert_cmpint (loom_error_exit_status (error), ==, 4);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 0);
  g_autoptr (LoomTensor) after = loom_state_get (loom_trainer_state (trainer), "line.weight", NULL);
  g_assert_true (loom_tensor_equal_bits (before, after));
  g_assert_cmpfloat (scalar_of (loom_trainer_state (trainer), "step"), ==, 0);
}

static void
expect_error (const char *xml, const LoomTrainerOptions *o, const char *part)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = trainer_new (xml, o, &error);

  g_assert_null (trainer);
  g_assert_nonnull (error);
  if (strstr (error->message, part) == NULL)
    g_error ("“%s” does not say “%s”", error->message, part);
}

static void
test_refusals (Fixture *f, gconstpointer data)
{
  LoomTrainerOptions o = options (NULL);
  const char *set[] = { NULL, NULL };

  expect_error ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\"/>", &o, "no <train>");
  o.device = "cuda:7";
  expect_error (GRAPH, &o, "cuda");
  o = options (NULL);
  o.set = set;
  set[0] = "hidden.out_features";
  expect_error (GRAPH, &o, "NODE.PARAM=VALUE");
  set[0] = "absent.p=1";
  expect_error (GRAPH, &o, "no node “absent”");
  set[0] = "hidden.out_feature=3";
  expect_error (GRAPH, &o, "out_feature");
  set[0] = "hidden.out_features=48"; /* does not fill 2,4,4 */
  expect_error (GRAPH, &o, "picture");
}

static void
test_options (Fixture *f, gconstpointer data)
{
  g_autofree char *out = g_build_filename (f->folder, "run", NULL);
  const char *set[] = { "drop.p=0.25", "train.weight_decay=0.5", NULL };
  LoomTrainerOptions o = options (out);
  gsize length;

  o.set = set;
  o.epochs = 2;
  o.batch_size = 50;
  o.lr = 0.125;
  g_autoptr (LoomTrainer) trainer = trainer_ok (GRAPH, &o);
  g_assert_cmpint (loom_trainer_total_steps (trainer), ==, 40);
  g_assert_true (loom_trainer_check_hyper (trainer, "lr", 0.1, NULL));
  g_assert_true (loom_trainer_check_hyper (trainer, "weight_decay", 0.1, NULL));
  g_assert_false (loom_trainer_check_hyper (trainer, "step", 1, NULL));
  g_autofree char *xml = contents (out, "graph.xml", &length);
  g_assert_nonnull (strstr (xml, "lr=\"0.125\""));
  g_assert_nonnull (strstr (xml, "p=\"0.25\""));
  g_assert_nonnull (strstr (xml, "weight_decay=\"0.5\""));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, function) g_test_add (path, Fixture, NULL, set_up, function, tear_down)
  ADD ("/train/whole-run", test_whole_run);
  ADD ("/train/repeatable", test_repeatable);
  ADD ("/train/resume", test_resume);
  ADD ("/train/kill", test_kill);
  ADD ("/train/broken-checkpoint", test_broken_checkpoint);
  ADD ("/train/folder", test_folder);
  ADD ("/train/resume-from-nothing", test_resume_from_nothing);
  ADD ("/train/nan", test_nan);
  ADD ("/train/refusals", test_refusals);
  ADD ("/train/options", test_options);
  g_test_add_func ("/train/waits", test_waits);
  return g_test_run ();
}
