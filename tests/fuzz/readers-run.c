/* Readers of a run's folder: one of its files is replaced by the bytes, and what Studio and the command line read of
 * such a folder is read. The run is made by training a small graph; a resumed one reads checkpoints. */
#include "tests/fuzz/readers.h"

#include <string.h>

#include "engine/infer/loom-evaluation-history.h"
#include "engine/infer/loom-evaluation-samples.h"
#include "engine/infer/loom-run-sessions.h"
#include "engine/infer/loom-run-unfinished.h"
#include "engine/runs/loom-run-host.h"
#include "engine/runs/loom-run-notes.h"
#include "engine/runs/loom-run-queue.h"
#include "engine/runs/loom-run-summary.h"
#include "engine/train/word-pack.h"
#include "tests/train/train-test.h"
#include "ui/document/studio-journal.h"

static const char xml[] = TRAIN_TEST_SPIRALS ("n=\"40\"", "4") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" "
                                                               "batch_size=\"8\" epochs=\"2\"/></graph>";

static char *
path_of (const char *name)
{
  return g_build_filename (fuzz_folder (), name, NULL);
}

static void
make_run (void)
{
  static const char *const others[][2] = { { "run/notes.json", "{\"name\":\"n\",\"note\":\"m\",\"star\":true}" },
                                           { "run/studio-unfinished", "{\"hash\":\"0\"}" },
                                           { "run/evaluations.jsonl", "{\"split\":\"val\",\"step\":1,\"loss\":1}\n" } };
  static gboolean made;
  g_autofree char *run = path_of ("run");
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = NULL;

  if (made)
    return;
  made = TRUE;
  trainer = train_test_new (xml, (LoomTrainerOptions){ .out = run, .steps = 4, .history = 1 << 20 });
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    fuzz_write (others[i][0], others[i][1], strlen (others[i][1]));
}

const char *
fuzz_run (void)
{
  static char *run;

  make_run ();
  if (run == NULL)
    run = path_of ("run");
  return run;
}

static void
read_run (const char *run)
{
  g_autoptr (LoomRunSummary) summary = loom_run_summary_new (run, 50);
  g_autoptr (LoomFolder) folder = loom_folder_open (run, NULL);
  g_autoptr (GArray) sessions = loom_run_sessions_read (folder);
  g_auto (LoomRunUnfinished) note = { 0 };
  g_auto (LoomRunHost) host = { 0 };
  g_auto (LoomRunNotes) notes = { 0 };
  g_autofree char *last = loom_run_log_dup_last (run);

  loom_run_unfinished_read (run, &note);
  loom_run_host_read (run, &host);
  loom_run_notes_read (folder, &notes, NULL);
  for (int split = 0; split < LOOM_N_SPLITS; split++)
    {
      g_autoptr (GPtrArray) records = loom_evaluation_history_read (run, (LoomSplit)split);

      g_assert_nonnull (records);
    }
}

/* A file that is shown. */
static void
run_shown (const FuzzReader *self, const guint8 *data, gsize size)
{
  fuzz_replace (self->file, data, size);
  read_run (fuzz_run ());
}

/* A file of which a run is resumed. */
static void
run_resumed (const FuzzReader *self, const guint8 *data, gsize size)
{
  LoomTrainerOptions options = { .resume = fuzz_run (), .lr = NAN, .seed = -1, .threads = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = NULL;

  fuzz_replace (self->file, data, size);
  trainer = loom_trainer_new (NULL, &options, &error);
  if (trainer == NULL)
    fuzz_check_error (error);
}

/* Words of a packed state, with and without an earlier state; the first bytes say how many. */
static void
run_words (const FuzzReader *self, const guint8 *data, gsize size)
{
  const guint n = size > 2 ? (data[0] | data[1] << 8) % 1024 : 0;
  g_autofree guint32 *now = g_new (guint32, n + 1), *base = g_new0 (guint32, n + 1);

  memcpy (base, data, MIN (size, n * sizeof *base));
  for (int how = 0; how < 4 && size > 2; how++)
    {
      const WordDecay decay = { 0.999f, size % 10000 };
      const guint8 *at = data + 2;

      words_unpack (&at, data + size, now, how & 1 ? base : NULL, &decay, n, how > 1);
      g_assert_true (at >= data + 2 && at <= data + size);
      at = data + 2;
      words_unpack_first (&at, data + size, now, how & 1 ? base : NULL, n, how > 1);
      g_assert_true (at >= data + 2 && at <= data + size);
    }
}

static void
run_queue (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *folder = path_of ("queue");
  g_autoptr (GPtrArray) runs = NULL;

  fuzz_write ("queue/1796034600000000.json", data, size);
  runs = loom_run_queue_read (folder, NULL);
  g_assert_nonnull (runs);
}

static void
run_journal (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *path = path_of ("journal");
  g_autoptr (GError) error = NULL;
  g_autoptr (StudioJournalContent) content = NULL;

  fuzz_write ("journal", data, size);
  content = studio_journal_read (path, &error);
  if (content == NULL)
    fuzz_check_error (error);
}

static const char *const event_words[] = { "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":0.5,\"lr\":0.1}\n",
                                           "{\"event\":\"eval\",\"split\":\"val\",",
                                           "\"metrics\":{\"accuracy\":",
                                           "\"step\":",
                                           "\n",
                                           "}",
                                           "{",
                                           "null",
                                           "-1",
                                           "1e309",
                                           "9223372036854775808",
                                           "\"",
                                           "\\u0000",
                                           "\xff",
                                           "[[[[[[[[",
                                           NULL };
static const char *const journal_words[] = { "gradloom-journal 1\n",
                                             "path -\n",
                                             "base ",
                                             "base 99999999999999999999\n",
                                             "e ",
                                             "c ",
                                             "s ",
                                             "\n",
                                             "file:///a",
                                             "d ",
                                             NULL };

#define SHOWN(NAME, FILE, ...)                                                                                         \
  {                                                                                                                    \
    NAME, run_shown, FUZZ_WORDS, .prepare = make_run, .file = FILE, __VA_ARGS__                                        \
  }
#define RESUMED(NAME, FORM, FILE)                                                                                      \
  {                                                                                                                    \
    NAME, run_resumed, FORM, .prepare = make_run, .file = FILE                                                         \
  }

const FuzzReader fuzz_run_readers[] = {
  SHOWN ("events", "run/events.jsonl", .words = event_words),
  SHOWN ("sessions", "run/sessions.jsonl"),
  SHOWN ("run-settings", "run/run.json"),
  SHOWN ("notes", "run/notes.json"),
  SHOWN ("unfinished", "run/studio-unfinished"),
  SHOWN ("evaluations", "run/evaluations.jsonl"),
  RESUMED ("checkpoint-state", FUZZ_WORDS, "run/checkpoints/4/state.json"),
  RESUMED ("checkpoint-weights", FUZZ_LENGTH, "run/checkpoints/4/weights.safetensors"),
  RESUMED ("checkpoint-optimizer", FUZZ_LENGTH, "run/checkpoints/4/optimizer.safetensors"),
  { "packed-words", run_words, FUZZ_BYTES },
  { "queue", run_queue, FUZZ_WORDS,
    .text = { "{\"version\":1,\"document\":\"/a.xml\",\"xml\":\"<graph/>\",\"title\":\"t\"}" } },
  { "journal", run_journal, FUZZ_WORDS, .text = { "gradloom-journal 1\npath -\nbase 3\nabc\ne x\nc y\n" },
    .words = journal_words },
  { NULL },
};
