/* A run goes back to any of its steps, with the bits that it had there, and returns; and it branches. */
#include <glib/gstdio.h>

#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include "engine/infer/loom-run-files.h"
#include "engine/train/history.h"
#include "engine/train/state-pack.h"
#include "engine/train/trainer-private.h"

#define NET(TRAIN)                                                                                                     \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"160\" n_test=\"32\"/>"                                      \
  "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"norm\" op=\"batch_norm1d\"/>"                     \
  "<node id=\"drop\" op=\"dropout\" p=\"0.1\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"                 \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"norm\"/>"   \
  "<wire from=\"norm\" to=\"drop\"/><wire from=\"drop\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"      \
  "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" batch_size=\"16\" epochs=\"4\" seed=\"3\" " TRAIN    \
  "</train></graph>"

/* Ten steps an epoch. */
static const char *const graphs[]
    = { NET ("optimizer=\"adam\" lr=\"0.01\"><schedule type=\"cosine\"/>"),
        NET ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" accumulate=\"2\" ema=\"0.9\">"),
        NET ("optimizer=\"sgd\" lr=\"0.5\" momentum=\"0.9\" patience=\"9\"><schedule type=\"plateau\" "
             "interval=\"epoch\" patience=\"0\" threshold=\"0.5\"/>") };

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  double *loss = data;

  loss[step->step] = step->loss;
  if (step->step == 4)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "lr", 0.05);
  if (step->step == 12)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "drop.p", 0.3);
}

/* The bytes of all weights, buffers and averages. */
static GBytes *
bytes_of (LoomTrainer *trainer)
{
  LoomState *state = loom_trainer_state (trainer);
  GByteArray *all = g_byte_array_new ();

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;
      g_autoptr (LoomTensor) value = NULL;

      loom_state_slot (state, i, &name, &kind, NULL);
      value = loom_state_get (state, name, NULL);
      g_assert_nonnull (value);
      if (kind != LOOM_SLOT_SCALAR && strstr (name, "accumulate") == NULL)
        g_byte_array_append (all, value->data, (guint)value->bytes);
    }
  return g_byte_array_free_to_bytes (all);
}

/* Sums of gradients are begun by each step. */
static void
expect_same (LoomTrainer *a, LoomTrainer *b)
{
  LoomState *state = loom_trainer_state (a);

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      g_autoptr (LoomTensor) one = NULL, two = NULL;

      loom_state_slot (state, i, &name, NULL, NULL);
      one = loom_state_get (state, name, NULL);
      two = loom_state_get (loom_trainer_state (b), name, NULL);
      if (strstr (name, "accumulate") == NULL && !loom_tensor_equal_bits (one, two))
        g_error ("%s differs after step %d: %g, not %g", name, (int)loom_trainer_steps (a), loom_tensor_get (one, 0),
                 loom_tensor_get (two, 0));
    }
}

static void
travel (LoomTrainer *trainer, gint64 step)
{
  g_autoptr (GError) error = NULL;
  LoomTrainerMoment moment;

  g_assert_true (loom_trainer_travel (trainer, step, &moment, &error));
  g_assert_no_error (error);
  g_assert_cmpint (step < 0 ? moment.step : step, ==, moment.step);
}

static void
run_to (LoomTrainer *trainer, gint64 step)
{
  g_autoptr (GError) error = NULL;

  loom_trainer_set_last_step (trainer, step);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, step);
}

/* A run with the changes of another one, until a step. */
static LoomTrainer *
reference (const char *xml, const char *of, gint64 step)
{
  LoomTrainer *trainer = train_test_new (xml, (LoomTrainerOptions){ .replay = of });

  run_to (trainer, step);
  return trainer;
}

static void
test_any_step (void)
{
  for (guint g = 0; g < G_N_ELEMENTS (graphs); g++)
    {
      const gint64 all = g == 1 ? 20 : 40, steps[] = { 7, 3, all - 1, 1, 11, all - 10, 10 };
      g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
      const LoomTrainerObserver observer = { .step = step_cb };
      g_autofree double *loss = g_new0 (double, 64);
      g_autoptr (LoomTrainer) trainer = train_test_new (graphs[g], (LoomTrainerOptions){ .out = path });
      g_autoptr (GBytes) newest = NULL, back = NULL;

      loom_trainer_set_observer (trainer, &observer, loss);
      train_test_run (trainer);
      newest = bytes_of (trainer);
      for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
        {
          g_autoptr (LoomTrainer) other = reference (graphs[g], path, steps[i]);

          travel (trainer, steps[i]);
          g_assert_cmpint (loom_trainer_steps (trainer), ==, steps[i]);
          /* At the end of an epoch the other run has ended it. */
          expect_same (trainer, other);
        }
      travel (trainer, -1);
      g_assert_cmpint (loom_trainer_steps (trainer), ==, all);
      back = bytes_of (trainer);
      g_assert_true (g_bytes_equal (newest, back));
      remove_tree (top);
    }
}

/* A run that went back in between ends as one that did not; its events are the same. */
static void
test_continues (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *other = g_build_filename (top, "other", NULL), *a = NULL, *b = NULL;
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL);
  g_autofree char *others = g_build_filename (other, LOOM_RUN_EVENTS, NULL);
  g_autoptr (LoomTrainer) plain = train_test_new (graphs[0], (LoomTrainerOptions){ .out = other });
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path });

  train_test_run (plain);
  run_to (trainer, 25);
  travel (trainer, 7);
  travel (trainer, 12);
  run_to (trainer, 30);
  travel (trainer, 0);
  loom_trainer_post (trainer, LOOM_COMMAND_CHECKPOINT, NULL, 0);
  loom_trainer_set_last_step (trainer, 0);
  train_test_run (trainer);
  expect_same (plain, trainer);
  g_assert_true (g_file_get_contents (events, &a, NULL, NULL));
  g_assert_true (g_file_get_contents (others, &b, NULL, NULL));
  g_assert_cmpstr (a, ==, b);
  remove_tree (top);
}

/* A pin shows a step from before its update, as during a pause after it. */
static void
note_memory (LoomTrainer *trainer, gpointer data)
{
}

static void
test_snapshot (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  const LoomTrainerObserver observer = { .memory = note_memory };
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path });
  g_autoptr (LoomTrainer) other = train_test_new (graphs[0], (LoomTrainerOptions){ .steps = 16 });
  g_autoptr (LoomTensor) there = NULL, here = NULL, now = NULL, again = NULL, weight = NULL, before = NULL;
  gint64 step;

  loom_trainer_set_observer (trainer, &observer, NULL);
  run_to (trainer, 33);
  now = loom_trainer_snapshot (trainer, "grad:hidden.weight", NULL, NULL);
  run_to (other, 16);
  travel (trainer, 17);
  here = loom_trainer_snapshot (trainer, "grad:hidden.weight", &step, NULL);
  there = loom_trainer_snapshot (other, "grad:hidden.weight", NULL, NULL);
  weight = loom_trainer_snapshot (trainer, "hidden.weight", &step, NULL);
  before = loom_trainer_snapshot (other, "hidden.weight", NULL, NULL);
  g_assert_cmpint (step, ==, 16);
  g_assert_true (loom_tensor_equal_bits (here, there));
  g_assert_true (loom_tensor_equal_bits (weight, before));
  g_assert_false (loom_tensor_equal_bits (here, now));
  travel (trainer, -1);
  again = loom_trainer_snapshot (trainer, "grad:hidden.weight", &step, NULL);
  g_assert_cmpint (step, ==, 32);
  g_assert_true (loom_tensor_equal_bits (again, now));
  remove_tree (top);
}

static void
test_branch (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *branch = g_build_filename (top, "branch", NULL), *twig = g_build_filename (top, "twig", NULL);
  g_autofree char *state = NULL, *text = NULL, *events = NULL, *rest = NULL;
  const LoomTrainerObserver observer = { .step = step_cb };
  g_autofree double *loss = g_new0 (double, 64);
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path });
  g_autoptr (LoomTrainer) child = NULL, grandchild = NULL, resumed = NULL;

  loom_trainer_set_observer (trainer, &observer, loss);
  train_test_run (trainer);
  child = train_test_new (NULL, (LoomTrainerOptions){ .branch = path, .branch_step = 20, .out = branch });
  g_assert_cmpint (loom_trainer_steps (child), ==, 20);
  state = g_build_filename (branch, LOOM_RUN_CHECKPOINTS, "20", LOOM_RUN_STATE, NULL);
  g_assert_true (g_file_get_contents (state, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, path));
  g_assert_nonnull (strstr (text, "\"parent_step\" : 20"));
  train_test_run (child);
  expect_same (trainer, child);
  /* Its events are the parent's, too: it is repeated, and branches, like any other run. */
  grandchild = train_test_new (NULL, (LoomTrainerOptions){ .branch = branch, .branch_step = 27, .out = twig });
  train_test_run (grandchild);
  expect_same (trainer, grandchild);
  g_clear_pointer (&text, g_free);
  events = g_build_filename (twig, LOOM_RUN_EVENTS, NULL);
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "{\"event\":\"branch\",\"step\":20,"));
  g_assert_nonnull (strstr (text, "{\"event\":\"branch\",\"step\":27,"));
  g_assert_nonnull (strstr (text, "\"name\":\"drop.p\""));
  /* What a killed process has left of a checkpoint is removed. */
  rest = g_build_filename (branch, LOOM_RUN_HISTORY, ".new-9", NULL);
  g_assert_cmpint (g_mkdir (rest, 0700), ==, 0);
  g_clear_pointer (&child, loom_trainer_free);
  resumed = train_test_new (NULL, (LoomTrainerOptions){ .resume = branch });
  train_test_run (resumed);
  g_assert_false (g_file_test (rest, G_FILE_TEST_EXISTS));
  remove_tree (top);
}

/* A schedule extends over more epochs only from the step at which the run was resumed with them. */
static void
test_more_epochs (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *branch = g_build_filename (top, "branch", NULL);
  g_autofree char *again = g_build_filename (top, "again", NULL);
  g_autoptr (LoomTrainer) first = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path });
  g_autoptr (LoomTrainer) early = train_test_new (graphs[0], (LoomTrainerOptions){ .steps = 17 });
  g_autoptr (LoomTrainer) longer = NULL, child = NULL, repeated = NULL;

  run_to (early, 17);
  train_test_run (first);
  g_clear_pointer (&first, loom_trainer_free);
  longer = train_test_new (NULL, (LoomTrainerOptions){ .resume = path, .epochs = 6 });
  run_to (longer, 50);
  travel (longer, 17);
  expect_same (longer, early);
  travel (longer, -1);
  child = train_test_new (NULL, (LoomTrainerOptions){ .branch = path, .branch_step = 17, .out = branch });
  expect_same (child, early);
  repeated = train_test_new (NULL, (LoomTrainerOptions){ .branch = path, .branch_step = 40, .out = again });
  run_to (repeated, 50);
  expect_same (repeated, longer);
  remove_tree (top);
}

/* A change at the step of a branch is one of the branch, too; a branch without a checkpoint is refused. */
static void
test_branch_at_change (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *branch = g_build_filename (top, "branch", NULL);
  g_autofree char *checkpoints = g_build_filename (branch, LOOM_RUN_CHECKPOINTS, NULL);
  const LoomTrainerObserver observer = { .step = step_cb };
  g_autofree double *loss = g_new0 (double, 64);
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[1], (LoomTrainerOptions){ .out = path });
  g_autoptr (LoomTrainer) child = NULL;
  g_autoptr (GError) error = NULL;

  loom_trainer_set_observer (trainer, &observer, loss);
  train_test_run (trainer);
  child = train_test_new (NULL, (LoomTrainerOptions){ .branch = path, .branch_step = 12, .out = branch });
  train_test_run (child);
  expect_same (trainer, child);
  g_clear_pointer (&child, loom_trainer_free);
  remove_tree (checkpoints);
  g_assert_null (loom_trainer_new (NULL, &(LoomTrainerOptions){ .resume = branch, .lr = NAN, .seed = -1 }, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "has no checkpoint"));
  remove_tree (top);
}

static void
expect_refused (LoomTrainer *trainer, gint64 step, LoomErrorCode code, const char *says)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (loom_trainer_travel (trainer, step, NULL, &error));
  g_assert_error (error, LOOM_ERROR, (int)code);
  g_assert_nonnull (strstr (error->message, says));
}

static void
test_refusals (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *none = g_build_filename (path, LOOM_RUN_HISTORY, NULL), *damaged = NULL;
  g_autoptr (LoomTrainer) unsaved = train_test_new (graphs[0], (LoomTrainerOptions){ .steps = 5 });
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path, .history = -1 });
  g_autoptr (GBytes) newest = NULL, after = NULL;

  run_to (unsaved, 5);
  expect_refused (unsaved, 2, LOOM_ERROR_USAGE, "not saved");
  run_to (trainer, 5);
  newest = bytes_of (trainer);
  g_assert_false (g_file_test (none, G_FILE_TEST_EXISTS));
  expect_refused (trainer, 6, LOOM_ERROR_USAGE, "from 0 to 5");
  expect_refused (trainer, 2, LOOM_ERROR_DATA, "no checkpoint at or before step 2");
  after = bytes_of (trainer);
  g_assert_true (g_bytes_equal (newest, after));
  remove_tree (top);
}

/* The bytes of all files in the history of a run. */
static gint64
history_bytes (const char *path, guint *n)
{
  g_autofree char *history = g_build_filename (path, LOOM_RUN_HISTORY, NULL);
  g_autoptr (GDir) dir = g_dir_open (history, 0, NULL);
  gint64 bytes = 0;
  const char *step;

  for (*n = 0; dir != NULL && (step = g_dir_read_name (dir)) != NULL; ++*n)
    {
      g_autofree char *folder = g_build_filename (history, step, NULL);
      g_autoptr (GDir) files = g_dir_open (folder, 0, NULL);
      const char *name;

      while ((name = g_dir_read_name (files)) != NULL)
        {
          g_autofree char *file = g_build_filename (folder, name, NULL);
          GStatBuf about;

          g_assert_cmpint (g_stat (file, &about), ==, 0);
          bytes += about.st_size;
        }
    }
  return bytes;
}

typedef struct
{
  const char *path;
  gint64 budget, most;
  guint most_states;
  GString *notes;
} Budget;

static void
budget_step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Budget *self = data;
  guint n;
  const gint64 bytes = history_bytes (self->path, &n);

  g_assert_cmpint (bytes, <=, self->budget);
  self->most = MAX (self->most, bytes);
  self->most_states = MAX (self->most_states, n);
}

static void
budget_note_cb (LoomTrainer *trainer, const char *note, gpointer data)
{
  g_string_append_printf (((Budget *)data)->notes, "%s\n", note);
}

/* The folder is within its budget after each step, and going back has the bits of the step with whatever is kept; a
 * budget for few states, or none, is a sentence. */
static void
test_budget (void)
{
  static const struct
  {
    gint64 budget;
    guint states;
    const char *says;
  } cases[] = { { 400000, 1, NULL },
                { 60000, 1, "so that going back computes up to" },
                { 13000, 1, "The history keeps 1 state of this run: another one takes" },
                { 5000, 0, "No history is kept: a state of this run takes" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
      g_autoptr (GString) notes = g_string_new (NULL);
      Budget budget = { .path = path, .budget = cases[i].budget, .notes = notes };
      const LoomTrainerObserver observer = { .step = budget_step_cb, .note = budget_note_cb };
      g_autoptr (LoomTrainer) trainer
          = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path, .epochs = 40, .history = cases[i].budget });

      loom_trainer_set_observer (trainer, &observer, &budget);
      /* Writing takes a small part of the time, so a slow machine needs more of it for the second state. */
      for (gint64 step = 1; cases[i].says != NULL && notes->len == 0 && step < 400; step++)
        {
          run_to (trainer, step);
          g_usleep ((gulong)(G_USEC_PER_SEC / 50 * (1 + step / 40)));
        }
      loom_trainer_set_last_step (trainer, 0);
      train_test_run (trainer);
      g_test_message ("%d bytes of %d in %u states: %s", (int)budget.most, (int)budget.budget, budget.most_states,
                      notes->str);
      g_assert_cmpuint (budget.most_states, >=, cases[i].states);
      if (cases[i].says == NULL)
        g_assert_cmpstr (notes->str, ==, "");
      else
        g_assert_nonnull (strstr (notes->str, cases[i].says));
      if (cases[i].states > 0)
        {
          g_autoptr (LoomTrainer) other
              = train_test_new (graphs[0], (LoomTrainerOptions){ .epochs = 40, .steps = 333 });

          run_to (other, 333);
          travel (trainer, 333);
          expect_same (other, trainer);
        }
      remove_tree (top);
    }
}

/* A run that is resumed with a smaller budget keeps within it, too; what one of its states is packed against may be
 * lost. */
static void
test_smaller_budget (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *first = g_build_filename (path, LOOM_RUN_HISTORY, "0", NULL);
  g_autofree char *packed = g_build_filename (first, "state.packed", NULL);
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path, .epochs = 100 });
  g_autoptr (LoomTrainer) other = train_test_new (graphs[0], (LoomTrainerOptions){ .epochs = 100, .steps = 7 });
  g_autoptr (LoomTrainer) resumed = NULL;
  guint n = 0, fewer;

  run_to (other, 7);
  /* A busy machine needs more time. */
  for (gint64 step = 10; n < 5 && step < 1000; step++)
    {
      run_to (trainer, step);
      history_bytes (path, &n);
      g_usleep ((gulong)(G_USEC_PER_SEC / 100 * (1 + step / 40)));
    }
  g_assert_cmpuint (n, >=, 5);
  g_clear_pointer (&trainer, loom_trainer_free);
  /* A state takes three blocks of the disk. */
  resumed = train_test_new (NULL, (LoomTrainerOptions){ .resume = path, .history = 3 * 3 * 4096 });
  run_to (resumed, loom_trainer_steps (resumed) + 1);
  g_assert_cmpint (history_bytes (path, &fewer), <=, 3 * 3 * 4096);
  g_assert_cmpuint (fewer, <=, 3);
  g_assert_cmpuint (fewer, >=, 1);
  travel (resumed, 7);
  expect_same (resumed, other);
  travel (resumed, -1);
  /* The first state is damaged; no other is before these steps but the checkpoint of the first epoch. */
  g_assert_true (g_file_set_contents (packed, "no state", -1, NULL));
  travel (resumed, loom_trainer_steps (resumed) - 1);
  travel (resumed, -1);
  remove_tree (top);
}

/* The step of the state that one of a history is packed against; -1: none. */
static gint64
base_of (const char *history, gint64 step)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step);
  g_autofree char *file = g_build_filename (history, name, STATE_PACK_FILE, NULL), *text = NULL;
  g_autoptr (GBytes) pack = NULL;
  gint64 base;
  gsize n;

  g_assert_true (g_file_get_contents (file, &text, &n, NULL));
  pack = g_bytes_new_take (g_steal_pointer (&text), n);
  g_assert_true (state_pack_base (pack, &base));
  return base;
}

/* Sets *deepest to the state that needs the most others, and returns their number. */
static guint
find_deepest (const char *path, gint64 *deepest)
{
  g_autofree char *history = g_build_filename (path, LOOM_RUN_HISTORY, NULL);
  g_autoptr (LoomFolder) folder = loom_folder_open (history, NULL);
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (folder, NULL);
  guint most = 0;

  for (guint i = 0; i < steps->len; i++)
    {
      guint levels = 0;

      for (gint64 at = g_array_index (steps, gint64, i); (at = base_of (history, at)) >= 0; levels++)
        g_assert_cmpint (at, <, g_array_index (steps, gint64, i));
      g_assert_cmpuint (levels, <, STATE_PACK_LEVELS);
      if (levels > most)
        *deepest = g_array_index (steps, gint64, i);
      most = MAX (most, levels);
    }
  return most;
}

/* Removes the states of a folder until a step, or what makes them states, but for one. */
static void
remove_states (const char *path, const char *name, gint64 last, gint64 except)
{
  g_autofree char *all = g_build_filename (path, name, NULL);
  g_autoptr (LoomFolder) folder = loom_folder_open (all, NULL);
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (folder, NULL);

  for (guint i = 0; i < steps->len; i++)
    {
      const gint64 step = g_array_index (steps, gint64, i);
      g_autofree char *number = g_strdup_printf ("%" G_GINT64_FORMAT, step);
      g_autofree char *file = g_build_filename (all, number, LOOM_RUN_STATE, NULL);

      if (step <= last && step != except)
        g_assert_cmpint (g_remove (file), ==, 0);
    }
}

/* A state that needs three others is read from the disk with its bits, and is refused if one of them is missing. */
static void
test_tree (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *history = g_build_filename (path, LOOM_RUN_HISTORY, NULL), *name = NULL, *packed = NULL;
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path, .epochs = 400 });
  g_autoptr (LoomTrainer) other = train_test_new (graphs[0], (LoomTrainerOptions){ .epochs = 400 });
  g_autoptr (LoomTrainer) resumed = NULL;
  gint64 deepest = -1;

  /* A busy machine needs more steps. */
  for (gint64 step = 1; deepest < 0 && step < 3990; step++)
    {
      run_to (trainer, step);
      g_usleep (G_USEC_PER_SEC / 100);
      if (step % 10 == 0 && find_deepest (path, &deepest) < 3)
        deepest = -1;
    }
  g_assert_cmpint (deepest, >, 0);
  run_to (trainer, loom_trainer_steps (trainer) + 5);
  g_clear_pointer (&trainer, loom_trainer_free);
  run_to (other, deepest);
  remove_states (path, LOOM_RUN_CHECKPOINTS, deepest, -1);
  remove_states (path, LOOM_RUN_HISTORY, G_MAXINT64, deepest);
  resumed = train_test_new (NULL, (LoomTrainerOptions){ .resume = path });
  travel (resumed, deepest);
  expect_same (resumed, other);
  name = g_strdup_printf ("%" G_GINT64_FORMAT, base_of (history, base_of (history, deepest)));
  packed = g_build_filename (history, name, STATE_PACK_FILE, NULL);
  g_assert_cmpint (g_remove (packed), ==, 0);
  g_clear_pointer (&resumed, loom_trainer_free);
  resumed = train_test_new (NULL, (LoomTrainerOptions){ .resume = path });
  g_assert_false (loom_trainer_travel (resumed, deepest, NULL, NULL));
  remove_tree (top);
}

/* A state that is larger than the budget of memory is not copied, so that steps are not awaited for it; the disk has
 * it, and the run goes back. */
static void
test_too_large_for_memory (void)
{
  g_autofree char *top = g_dir_make_tmp ("time-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .out = path, .history = 400000 });
  g_autoptr (LoomTrainer) other = train_test_new (graphs[0], (LoomTrainerOptions){ .steps = 5 });
  const Moments *moments = &trainer->machine.moments;

  trainer->machine.moments.history.budget = state_bytes (loom_trainer_state (trainer)) - 1;
  train_test_run (trainer);
  g_assert_cmpuint (moments->history.n_written, ==, 0);
  g_assert_false (history_wants (&moments->history, 1000, NULL));
  run_to (other, 5);
  travel (trainer, 5);
  expect_same (other, trainer);
  remove_tree (top);
}

/* A pack of more bytes than are allowed is refused while it is written, and one of fewer is the same bytes. */
static void
test_too_large (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[0], (LoomTrainerOptions){ .steps = 3 });
  LoomState *state = loom_trainer_state (trainer);
  g_autoptr (GPtrArray) value = state_values (state, NULL);
  g_autoptr (GBytes) whole = state_pack (state, value, 0, -1, NULL, STATE_PACK_MOST, NULL);
  const gsize n = g_bytes_get_size (whole);
  g_autoptr (GBytes) within = state_pack (state, value, 0, -1, NULL, 2 * n, NULL);

  g_assert_true (g_bytes_equal (whole, within));
  for (gsize most = 0; most < n; most++)
    g_assert_null (state_pack (state, value, 0, -1, NULL, most, NULL));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/time-machine/any-step", test_any_step);
  g_test_add_func ("/time-machine/continues", test_continues);
  g_test_add_func ("/time-machine/snapshot", test_snapshot);
  g_test_add_func ("/time-machine/branch", test_branch);
  g_test_add_func ("/time-machine/more-epochs", test_more_epochs);
  g_test_add_func ("/time-machine/branch-at-change", test_branch_at_change);
  g_test_add_func ("/time-machine/refusals", test_refusals);
  g_test_add_func ("/time-machine/budget", test_budget);
  g_test_add_func ("/time-machine/smaller-budget", test_smaller_budget);
  g_test_add_func ("/time-machine/tree", test_tree);
  g_test_add_func ("/time-machine/too-large", test_too_large);
  g_test_add_func ("/time-machine/too-large-for-memory", test_too_large_for_memory);
  return g_test_run ();
}
