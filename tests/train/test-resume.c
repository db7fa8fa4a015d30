/* Resumed runs: allowed and refused changes, and damaged folders. */
#include "engine/core/loom-os.h"
#include "engine/loom-lab.h"
#include "tests/scalar-of.h"
#include "tests/test-program.h"
#include "tests/train/resume-test.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Replaces the text after `"member" : ` up to the end of the line. */
static char *
with_member (const char *text, const char *member, const char *value)
{
  g_autofree char *key = g_strdup_printf ("\"%s\" : ", member);
  const char *at = strstr (text, key);
  g_assert_nonnull (at);
  at += strlen (key);
  const char *end = at + strcspn (at, "\n");
  gboolean comma = end[-1] == ',';
  g_autofree char *head = g_strndup (text, at - text);
  return g_strconcat (head, value, comma ? "," : "", end, NULL);
}

/* ---- changes ---------------------------------------------------------- */

static void
test_refused (Fixture *f, gconstpointer data)
{
  static const char *const set[] = { "hidden.out_features=8", NULL };
  LoomTrainerOptions o = again (f);

  o.batch_size = 32;
  refuse (&o, 2, "the batch size");
  o = again (f);
  o.seed = 4;
  refuse (&o, 2, "the seed");
  o = again (f);
  o.set = set;
  refuse (&o, 2, "--set");

  /* The same by way of the file. */
  g_autofree char *xml = read_text (f, "graph.xml");
  g_auto (GStrv) part = g_strsplit (xml, "batch_size=\"96\"", 2);
  g_assert_nonnull (part[1]);
  g_autofree char *other = g_strjoinv ("batch_size=\"32\"", part);
  write_text (f, "graph.xml", other);
  o = again (f);
  refuse (&o, 1, "batch_size 96");
}

static void
test_allowed (Fixture *f, gconstpointer data)
{
  LoomTrainerOptions o = again (f);

  o.epochs = 4;
  o.lr = 0.125;
  g_autoptr (LoomTrainer) trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 22);
  g_assert_cmpint (loom_trainer_total_steps (trainer), ==, 44);
  g_assert_null (loom_trainer_notes (trainer));
  g_autofree char *xml = read_text (f, "graph.xml");
  g_assert_nonnull (strstr (xml, "epochs=\"4\""));
  g_assert_nonnull (strstr (xml, "lr=\"0.125\""));
  train_test_run (trainer);
  g_assert_cmpfloat (scalar_of (loom_trainer_state (trainer), "lr"), ==, 0.125);
  g_clear_pointer (&trainer, loom_trainer_free);

  /* Said again, it is still so. */
  o = again (f);
  trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 44);
  g_assert_cmpint (loom_trainer_total_steps (trainer), ==, 44);
  g_clear_pointer (&trainer, loom_trainer_free);

  o.device = "ref";
  trainer = resume (&o);
  g_assert_nonnull (strstr (loom_trainer_notes (trainer), "bits may differ"));
  g_autofree char *settings = read_text (f, "run.json");
  g_assert_nonnull (strstr (settings, "\"ref\""));
}

/* ---- damage ----------------------------------------------------------- */

static const struct
{
  const char *member, *value, *part;
} damages[] = {
  { "place", "-1", "“place” is -1" },
  { "place", "12", "“place” is 12" },
  { "step", "\"many\"", "“step” is not an integer" },
  { "step", "21", "does not fit this run" },
  { "epoch", "null", "“epoch” is not an integer" },
  { "epoch", "4503599627370496", "does not fit this run" },
  { "events_length", "-5", "“events_length”" },
  { "events_length", "{}", "“events_length”" },
  { "batch_size", "[]", "“batch_size”" },
  { "seed", "\"3\"", "“seed”" },
  { "loss_sum", "true", "“loss_sum” is not a number" },
  { "sample_sum", "1e999", "“sample_sum”" },
  { "base_lr", "\"fast\"", "“base_lr” is not a number" },
  { "weight", "[1]", "“weight” is not a number" },
  { "version", "2", "another version" },
};

static void
test_damaged (Fixture *f, gconstpointer data)
{
  static const char *const newest = "checkpoints/22/state.json", *const older = "checkpoints/11/state.json";
  g_autofree char *whole = read_text (f, newest), *whole_older = read_text (f, older);
  LoomTrainerOptions o = again (f);

  for (guint i = 0; i < G_N_ELEMENTS (damages); i++)
    {
      g_autofree char *text = with_member (whole, damages[i].member, damages[i].value);
      write_text (f, newest, text);
      g_autoptr (LoomTrainer) trainer = resume (&o);
      g_assert_cmpint (loom_trainer_steps (trainer), ==, 11);
      const char *notes = loom_trainer_notes (trainer);
      if (notes == NULL || strstr (notes, newest) == NULL || strstr (notes, damages[i].part) == NULL)
        g_error ("“%s” does not say “%s”", notes, damages[i].part);
      g_clear_pointer (&trainer, loom_trainer_free);

      write_text (f, older, text);
      refuse (&o, 1, "state.json");
      write_text (f, older, whole_older);
    }
  static const char *const texts[] = { "", "[]", "3", "{", "{\"version\":1}", "{\"version\":1,\"hyper\":3}" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      write_text (f, newest, texts[i]);
      g_autoptr (LoomTrainer) trainer = resume (&o);
      g_assert_cmpint (loom_trainer_steps (trainer), ==, 11);
      g_assert_nonnull (strstr (loom_trainer_notes (trainer), newest));
    }
  /* The parser calls itself for each level. */
  g_autofree char *deep = g_strnfill (200000, '[');
  write_text (f, newest, deep);
  g_autoptr (LoomTrainer) before = resume (&o);
  g_assert_nonnull (strstr (loom_trainer_notes (before), "it is nested too deeply"));
  g_clear_pointer (&before, loom_trainer_free);

  /* From the older one it ends with the same result. */
  g_autofree char *events = read_text (f, "events.jsonl");
  g_autoptr (LoomTrainer) trainer = resume (&o);
  train_test_run (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  g_autofree char *after = read_text (f, newest);
  g_autofree char *events_after = read_text (f, "events.jsonl");
  g_assert_cmpstr (whole, ==, after);
  g_assert_nonnull (strstr (events_after, "\"step\":22"));
}

/* A run goes back to an earlier checkpoint: it ends as before, and what came after that checkpoint is gone until then.
 */
static void
test_back (Fixture *f, gconstpointer data)
{
  LoomTrainerOptions o = again (f);
  g_autofree char *later = g_build_filename (f->run, "checkpoints", "22", NULL),
                  *events = read_text (f, "events.jsonl"), *shorter = NULL,
                  *locked = g_build_filename (f->run, "events.jsonl", NULL);
  int fd;
  g_autoptr (LoomTrainer) trainer = resume (&o);
  g_autoptr (LoomTensor) before = loom_state_get (loom_trainer_state (trainer), "scores.weight", NULL), after = NULL;

  g_clear_pointer (&trainer, loom_trainer_free);
  o.resume_step = 10;
  refuse (&o, 1, "no checkpoint of step 10 or before");
  g_assert_true (g_file_test (later, G_FILE_TEST_IS_DIR));
  o.resume_step = 21;
  /* As long as another process trains in the folder, nothing in it is removed. */
  fd = open (locked, O_RDWR);
  g_assert_cmpint (flock (fd, LOCK_EX), ==, 0);
  refuse (&o, 5, "Another process is training");
  g_assert_true (g_file_test (later, G_FILE_TEST_IS_DIR));
  close (fd);
  trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 11);
  g_assert_false (g_file_test (later, G_FILE_TEST_EXISTS));
  shorter = read_text (f, "events.jsonl");
  g_assert_cmpint (strlen (shorter), <, strlen (events));
  train_test_run (trainer);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 22);
  after = loom_state_get (loom_trainer_state (trainer), "scores.weight", NULL);
  g_assert_true (loom_tensor_equal_bits (before, after));
}

/* An operating system that does not remove files of some names, and notes whether a folder is synchronised. */
static struct
{
  LoomOs os;
  const char *const *kept;
  ino_t folder;
  guint synchronised;
} fake;

static int
unlink_others (int folder, const char *path, int flags)
{
  if (!g_strv_contains (fake.kept, path))
    return loom_os_real.unlink (folder, path, flags);
  errno = EIO;
  return -1;
}

static int
note_sync (int fd, gboolean only_data)
{
  struct stat info;

  fake.synchronised += fstat (fd, &info) == 0 && info.st_ino == fake.folder;
  return loom_os_real.sync (fd, only_data);
}

static void
keep_files (const char *const *names, const char *folder)
{
  struct stat info;

  g_assert_cmpint (stat (folder, &info), ==, 0);
  fake.os = loom_os_real;
  fake.os.unlink = unlink_others;
  fake.os.sync = note_sync;
  fake.kept = names;
  fake.folder = info.st_ino;
  fake.synchronised = 0;
  loom_os = &fake.os;
}

/* A later checkpoint that is removed only in part cannot come back whole after a loss of power. */
static void
test_back_in_part (Fixture *f, gconstpointer data)
{
  static const char *const kept[] = { "state.json", "costs.ini", NULL };
  LoomTrainerOptions o = again (f);
  g_autofree char *later = g_build_filename (f->run, "checkpoints", "22", NULL);
  g_autoptr (LoomTrainer) trainer = NULL;

  o.resume_step = 21;
  keep_files (kept, later);
  refuse (&o, 5, "cannot be removed");
  g_assert_cmpuint (fake.synchronised, ==, 0);
  fake.kept = kept + 1;
  trainer = resume (&o);
  loom_os = &loom_os_real;
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 11);
  g_assert_true (g_file_test (later, G_FILE_TEST_IS_DIR));
  g_assert_cmpuint (fake.synchronised, >, 0);
}

/* And neither can a later state of the history. */
static void
test_back_history (Fixture *f, gconstpointer data)
{
  static const char *const kept[] = { "state.packed", NULL };
  g_autofree char *later = g_build_filename (f->run, "history", "21", NULL);
  LoomTrainerOptions o = again (f);
  g_autoptr (LoomTrainer) trainer = NULL;

  o.resume_step = 21;
  o.steps = 12;
  o.history = -1;
  g_assert_cmpint (g_mkdir_with_parents (later, 0755), ==, 0);
  write_text (f, "history/21/state.packed", "of a course that was left");
  write_text (f, "history/21/state.json", "{}");
  keep_files (kept, later);
  trainer = resume (&o);
  g_assert_cmpint (loom_trainer_run (trainer, NULL), ==, LOOM_TRAINER_STOPPED);
  loom_os = &loom_os_real;
  g_assert_true (g_file_test (later, G_FILE_TEST_IS_DIR));
  g_assert_cmpuint (fake.synchronised, >, 0);
}

static int
open_others (int folder, const char *path, int flags, mode_t mode)
{
  if (!g_strv_contains (fake.kept, path))
    return loom_os_real.open (folder, path, flags, mode);
  errno = EIO;
  return -1;
}

/* With another cost table the run would have other bits. */
static void
test_costs (Fixture *f, gconstpointer data)
{
  static const char *const names[] = { "costs.ini", NULL };
  g_autofree char *costs = g_build_filename (f->run, "checkpoints", "22", names[0], NULL);
  LoomTrainerOptions o = again (f);
  g_autoptr (LoomTrainer) trainer = NULL;

  keep_files (names, f->run);
  fake.os.open = open_others;
  refuse (&o, 5, "costs.ini");
  loom_os = &loom_os_real;
  g_assert_cmpint (g_remove (costs), ==, 0); /* as by an older version */
  trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 22);
}

/* Later checkpoints are not read, because the first rank removes them at any moment. */
static void
test_back_costs (Fixture *f, gconstpointer data)
{
  LoomTrainerOptions o = again (f);
  g_autoptr (LoomTrainer) trainer = NULL;

  o.resume_step = 21;
  write_text (f, "checkpoints/22/costs.ini", "what is this");
  trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 11);
  if (loom_trainer_notes (trainer) != NULL)
    g_assert_null (strstr (loom_trainer_notes (trainer), "last bits"));
}

/* A checkpoint of a version for which accuracy was one sum. */
static void
test_older_accuracy (Fixture *f, gconstpointer data)
{
  static const char *const newest = "checkpoints/22/state.json";
  g_autofree char *whole = read_text (f, newest), *older = NULL, *damaged = NULL;
  g_autoptr (GRegex) statistics = g_regex_new ("\"statistics\" : \\[\\s*([^,]+),[^\\]]*\\]", 0, 0, NULL);
  LoomTrainerOptions o = again (f);

  older = g_regex_replace (statistics, whole, -1, 0, "\"sum\" : \\1", 0, NULL);
  g_assert_cmpstr (older, !=, whole);
  write_text (f, newest, older);
  g_autoptr (LoomTrainer) trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 22);
  g_assert_null (loom_trainer_notes (trainer));
  g_clear_pointer (&trainer, loom_trainer_free);
  damaged = with_member (older, "sum", "[1]");
  write_text (f, newest, damaged);
  trainer = resume (&o);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 11);
  g_assert_nonnull (strstr (loom_trainer_notes (trainer), "“sum” is not a number"));
}

static void
test_damaged_settings (Fixture *f, gconstpointer data)
{
  g_autofree char *whole = read_text (f, "run.json");
  static const char *const damage[][2]
      = { { "device", "3" }, { "threads", "-1" }, { "threads", "\"two\"" }, { "data_folder", "7" } };
  LoomTrainerOptions o = again (f);

  for (guint i = 0; i < G_N_ELEMENTS (damage); i++)
    {
      g_autofree char *text = with_member (whole, damage[i][0], damage[i][1]);
      write_text (f, "run.json", text);
      refuse (&o, 1, damage[i][0]);
    }
}

/* ---- everything in <train> survives ----------------------------------- */

/* With dropout and batch norm, because their random numbers and statistics are critical for resuming. 400 samples. */
#define NET                                                                                                            \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"400\"/>"                                                    \
  "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"norm\" op=\"batch_norm1d\"/>"                     \
  "<node id=\"act\" op=\"relu\"/><node id=\"drop\" op=\"dropout\" p=\"0.2\"/>"                                         \
  "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"norm\"/><wire from=\"norm\" to=\"act\"/>"           \
  "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"scores\"/>"                                                \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
#define METRICS                                                                                                        \
  "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/>"                                                     \
  "<metric type=\"confusion_matrix\" input=\"scores\" target=\"data.y\"/>"                                             \
  "<metric type=\"f1\" input=\"scores\" target=\"data.y\"/>"                                                           \
  "<metric type=\"perplexity\" input=\"scores\" target=\"data.y\"/>"                                                   \
  "<metric type=\"r2_score\" input=\"hidden\" target=\"act\"/></train></graph>"

/* The initial loss scale in f16: it overflows until it was halved some times. */
#define LARGE_SCALE 16777216.0

static const struct
{
  const char *name, *xml;
  gint64 stop[4]; /* after these steps; 0: no more */
  double scale;
  gboolean early; /* it ends before its last epoch */
} features[] = {
  { "accumulate",
    NET "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"16\" accumulate=\"3\" epochs=\"4\" "
        "seed=\"3\" ema=\"0.9\"><clip norm=\"0.2\"/><schedule type=\"cosine\"/>" METRICS,
    { 4, 9, 30, 0 } },
  { "early-stopping",
    NET "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.5\" momentum=\"0.9\" batch_size=\"64\" epochs=\"60\" seed=\"4\" "
        "ema=\"0.5\" patience=\"4\" min_delta=\"0.01\" monitor=\"accuracy\">"
        "<schedule type=\"plateau\" factor=\"0.5\" patience=\"1\"/>" METRICS,
    { 3, 16, 44, 60 },
    .early = TRUE },
  { "lbfgs",
    NET "<train loss=\"loss\" optimizer=\"lbfgs\" lr=\"0.5\" max_iter=\"4\" history_size=\"5\" batch_size=\"400\" "
        "epochs=\"8\" seed=\"5\" patience=\"8\">" METRICS,
    { 2, 3, 6, 0 } },
  { "f16",
    NET
    "<train loss=\"loss\" optimizer=\"adamw\" lr=\"0.01\" batch_size=\"32\" accumulate=\"2\" epochs=\"5\" seed=\"6\" "
    "device=\"ref\" precision=\"f16\" ema=\"0.8\" patience=\"5\"><clip value=\"0.1\" norm=\"1\"/>" METRICS,
    { 3, 10, 33, 0 },
    .scale = LARGE_SCALE },
};

static void
stop_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  if (s->step == *(const gint64 *)data)
    loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
}

static LoomTrainer *
begin_feature (guint k, const char *out)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  const char *xml = features[k].xml;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .out = out, .threads = 1 };

  g_assert_no_error (error);
  LoomTrainer *trainer = loom_trainer_new (graph, &o, &error);
  g_assert_no_error (error);
  if (features[k].scale > 0)
    g_assert_true (loom_state_set_scalar (loom_trainer_state (trainer), "loss_scale", features[k].scale));
  return trainer;
}

static void
run_until (LoomTrainer *trainer, gint64 stop)
{
  static const LoomTrainerObserver observer = { .step = stop_cb };
  g_autoptr (GError) error = NULL;

  loom_trainer_set_observer (trainer, &observer, &stop);
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_cmpint (end, ==, LOOM_TRAINER_STOPPED);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, stop);
}

/* As a process that was killed leaves it: without its last checkpoint. */
static void
lose_checkpoint (const char *run, gint64 step)
{
  g_autofree char *path = g_strdup_printf ("%s/checkpoints/%" G_GINT64_FORMAT, run, step);

  g_assert_true (g_file_test (path, G_FILE_TEST_IS_DIR));
  remove_tree (path);
}

static void
assert_same (const char *a, const char *b, const char *name)
{
  g_autofree char *pa = g_build_filename (a, name, NULL), *pb = g_build_filename (b, name, NULL);
  g_autofree char *ta = NULL, *tb = NULL;
  gsize na = 0, nb = 0;

  g_assert_cmpint (g_file_get_contents (pa, &ta, &na, NULL), ==, g_file_get_contents (pb, &tb, &nb, NULL));
  if (na != nb || memcmp (ta != NULL ? ta : "", tb != NULL ? tb : "", na) != 0)
    g_error ("%s differs", name);
}

static void
test_features (gconstpointer data)
{
  guint k = GPOINTER_TO_UINT (data);
  g_autofree char *folder = g_dir_make_tmp ("gradloom-resume-XXXXXX", NULL);
  g_autofree char *whole = g_build_filename (folder, "whole", NULL), *parts = g_build_filename (folder, "parts", NULL);
  gint64 steps;

  {
    g_autoptr (LoomTrainer) trainer = begin_feature (k, whole);
    train_test_run (trainer);
    steps = loom_trainer_steps (trainer);
    g_assert_true (loom_trainer_is_over (trainer));
    g_assert_cmpint (steps < loom_trainer_total_steps (trainer), ==, features[k].early);
    if (features[k].scale > 0)
      g_assert_cmpfloat (scalar_of (loom_trainer_state (trainer), "loss_scale"), <, features[k].scale);
  }
  for (guint i = 0; i < G_N_ELEMENTS (features[k].stop) && features[k].stop[i] > 0; i++)
    {
      LoomTrainerOptions o = { .lr = NAN, .seed = -1, .resume = parts };
      g_autoptr (LoomTrainer) trainer = i == 0 ? begin_feature (k, parts) : resume (&o);
      run_until (trainer, features[k].stop[i]);
      g_clear_pointer (&trainer, loom_trainer_free);
      if (i % 2 == 1)
        lose_checkpoint (parts, features[k].stop[i]);
    }
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .resume = parts };
  g_autoptr (LoomTrainer) trainer = resume (&o);
  train_test_run (trainer);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, steps);
  g_clear_pointer (&trainer, loom_trainer_free);

  static const char *const files[]
      = { "weights.safetensors", "weights-ema.safetensors", "weights-best.safetensors", "events.jsonl" };
  static const char *const kept[] = { "weights.safetensors", "optimizer.safetensors", "state.json" };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    assert_same (whole, parts, files[i]);
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      g_autofree char *name = g_strdup_printf ("checkpoints/%" G_GINT64_FORMAT "/%s", steps, kept[i]);
      assert_same (whole, parts, name);
    }

  /* No step is left, which is reported. */
  trainer = resume (&o);
  g_assert_true (loom_trainer_is_over (trainer));
  train_test_run (trainer);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, steps);
  g_clear_pointer (&trainer, loom_trainer_free);
  remove_tree (folder);
}

static void
test_accumulate_changed (Fixture *f, gconstpointer data)
{
  g_autofree char *xml = read_text (f, "graph.xml");
  g_auto (GStrv) part = g_strsplit (xml, "batch_size=\"96\"", 2);
  g_autofree char *other = g_strjoinv ("batch_size=\"96\" accumulate=\"2\"", part);
  LoomTrainerOptions o = again (f);

  write_text (f, "graph.xml", other);
  refuse (&o, 1, "accumulate 1");
}

/* ---- kernels -------------------------------------------------------- */

/* Replaces each kernel that the run has chosen by one that does not exist, with a name for each plan. Returns the
 * number of plans. */
static guint
choose_abacus (Fixture *f, const char *name)
{
  g_autofree char *text = read_text (f, name), *changed = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomCostTable) table = loom_cost_table_new_from_text (text, name, &error);
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_auto (GStrv) groups = NULL;
  guint n = 0;

  g_assert_no_error (error);
  g_assert_true (g_key_file_load_from_data (file, text, -1, G_KEY_FILE_NONE, NULL));
  groups = g_key_file_get_groups (file, NULL);
  for (guint i = 0; groups[i] != NULL; i++)
    {
      if (!g_str_has_prefix (groups[i], "choices of "))
        continue;
      const char *plan = groups[i] + strlen ("choices of ");
      g_autofree char *kernel = g_strconcat ("abacus-", plan, " plain", NULL);
      g_auto (GStrv) instrs = g_key_file_get_keys (file, groups[i], NULL, NULL);
      for (guint k = 0; instrs[k] != NULL; k++)
        loom_cost_table_choose (table, plan, (guint)g_ascii_strtoull (instrs[k], NULL, 10), kernel);
      n++;
    }
  changed = loom_cost_table_to_text (table, TRUE);
  write_text (f, name, changed);
  return n;
}

static void
note_cb (LoomTrainer *trainer, const char *text, gpointer data)
{
  g_string_append (data, text);
}

static guint
count_of (const char *text, const char *part)
{
  guint n = 0;

  for (const char *at = text; at != NULL && (at = strstr (at, part)); at++)
    n++;
  return n;
}

/* The incomplete last batch and the evaluation are planned later, and so are their notes. */
static void
test_later_notes (Fixture *f, gconstpointer data)
{
  static const LoomTrainerObserver observer = { .note = note_cb };
  LoomTrainerOptions o = again (f);
  guint n_plans = choose_abacus (f, "checkpoints/22/costs.ini");
  g_autoptr (GString) later = g_string_new (NULL);

  o.epochs = 3;
  g_autoptr (LoomTrainer) trainer = resume (&o);
  loom_trainer_set_observer (trainer, &observer, later);
  guint at_first = count_of (loom_trainer_notes (trainer), "abacus-");
  train_test_run (trainer);
  g_assert_cmpuint (at_first, >, 0);
  g_assert_cmpuint (n_plans, >, at_first);
  g_assert_cmpuint (at_first + count_of (later->str, "abacus-"), ==, n_plans);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/resume/refused", test_refused);
  ADD ("/resume/allowed", test_allowed);
  ADD ("/resume/back", test_back);
  ADD ("/resume/back/in-part", test_back_in_part);
  ADD ("/resume/back/history", test_back_history);
  ADD ("/resume/back/costs", test_back_costs);
  ADD ("/resume/costs", test_costs);
  ADD ("/resume/damaged", test_damaged);
  ADD ("/resume/older-accuracy", test_older_accuracy);
  ADD ("/resume/damaged-settings", test_damaged_settings);
  ADD ("/resume/accumulate-changed", test_accumulate_changed);
  ADD ("/resume/later-notes", test_later_notes);
  for (guint k = 0; k < G_N_ELEMENTS (features); k++)
    {
      g_autofree char *path = g_strconcat ("/resume/features/", features[k].name, NULL);
      g_test_add_data_func (path, GUINT_TO_POINTER (k), test_features);
    }
  return g_test_run ();
}
