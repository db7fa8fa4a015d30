/* Folders of runs: notes, curves of short and long logs, changes, tables, and folders that are damaged or foreign. */
#include "engine/runs/loom-runs.h"
#include "tests/event-lines.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static char *scratch;

static char *
path_of (const char *name)
{
  return g_build_filename (scratch, name, NULL);
}

static void
write_file (const char *run, const char *name, const char *text)
{
  g_autofree char *folder = path_of (run), *path = g_build_filename (folder, name, NULL);

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* A run of a small net; the events are the caller's. */
static void
write_run (const char *run, const char *lr, const char *width, const char *events)
{
  g_autofree char *graph = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"small\">\n"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n<node id=\"fc\" op=\"linear\" out_features=\"%s\"/>\n"
      "<node id=\"out\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"
      "<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"out\"/>\n<wire from=\"out\" to=\"loss.input\"/>\n"
      "<wire from=\"data.y\" to=\"loss.target\"/>\n"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"%s\" epochs=\"3\"/>\n</graph>\n",
      width, lr);

  write_file (run, "run.json", "{\"version\":1,\"device\":\"cpu\",\"threads\":1,\"data_folder\":null}");
  write_file (run, "graph.xml", graph);
  write_file (run, "events.jsonl", events);
}

static LoomRunSummary *
read_run (const char *run, guint points)
{
  g_autofree char *folder = path_of (run);

  return loom_run_summary_new (folder, points);
}

static const char few[] = "{\"event\":\"step\",\"step\":1,\"epoch\":1,\"loss\":2,\"lr\":0.1}\n"
                          "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":1,\"lr\":0.1}\n"
                          "{\"event\":\"eval\",\"split\":\"val\",\"step\":2,\"epoch\":1,\"loss\":0.75,\"metrics\":"
                          "{\"confusion\":[[1,2],[3,4]],\"accuracy\":0.5}}\n"
                          "{\"event\":\"eval\",\"split\":\"test\",\"step\":2,\"epoch\":1,\"loss\":9,\"metrics\":{}}\n"
                          "{\"event\":\"step\",\"step\":3,\"epoch\":2,\"loss\":null,\"lr\":0.1}\n";

/* The number of points of a curve, and the last one. */
static void
check_points (const LoomSeries *curve, gsize n, double step, double loss)
{
  double x, y;

  g_assert_cmpuint (loom_series_length (curve), ==, n);
  loom_series_get (curve, n - 1, &x, &y);
  g_assert_cmpfloat (x, ==, step);
  g_assert_cmpfloat (y, ==, loss);
}

/* ---- log ---------------------------------------------------------------------------- */

static void
test_short_log (void)
{
  write_run ("short", "0.1", "4", few);
  g_autoptr (LoomRunSummary) run = read_run ("short", 10);

  g_assert_null (run->error);
  g_assert_cmpstr (run->title, ==, "small");
  g_assert_cmpint (run->epochs, ==, 3);
  g_assert_cmpint (run->log.step, ==, 3);
  g_assert_cmpint (run->log.epoch, ==, 2);
  g_assert_true (isnan (run->log.loss));
  check_points (run->log.curve, 2, 2, 1);
  /* Validation counts before test, and a matrix is no metric. */
  g_assert_cmpstr (run->log.split, ==, "val");
  g_assert_cmpfloat (loom_run_summary_loss (run), ==, 0.75);
  check_points (run->log.validation, 1, 2, 0.75);
  g_assert_cmpstr (run->log.metric, ==, "accuracy");
  g_assert_cmpfloat (run->log.value, ==, 0.5);
  g_assert_true (isnan (run->parameters));
  g_assert_false (run->log.is_training);
}

#define SESSION(STATE, BEGUN, ENDED, MORE)                                                                             \
  "{\"state\":\"" STATE "\",\"begun\":" BEGUN ",\"ended\":" ENDED ",\"step\":3,\"epoch\":2,\"loss\":0.5" MORE "}   \n"

/* Times are sums over sessions; the end is that of the last. Damaged lines are left out. */
static void
test_sessions (void)
{
  static const struct
  {
    const char *last, *end;
    gint64 nan_step;
  } cases[] = {
    { SESSION ("done", "200", "205.5", ""), "done", 0 },
    { SESSION ("stopped", "200", "205.5", ""), "stopped", 0 },
    { SESSION ("training", "200", "205.5", ""), "killed", 0 },
    { SESSION ("failed", "200", "205.5", ",\"message\":\"The disk is full.\""), "failed", 0 },
    { SESSION ("failed", "200", "205.5", ",\"nan_step\":4,\"message\":\"NaN \\u001b[31m\""), "failed", 4 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strconcat (SESSION ("stopped", "100", "110", ""), "{\"state\":\n[]\n{\"begun\":5}\n",
                                           cases[i].last, NULL);

      write_run ("sessions", "0.1", "4", few);
      write_file ("sessions", LOOM_RUN_SESSIONS, text);
      g_autoptr (LoomRunSummary) run = read_run ("sessions", 10);
      g_assert_cmpfloat (run->log.begun, ==, 100);
      g_assert_cmpfloat (run->log.ended, ==, 205.5);
      g_assert_cmpfloat (loom_run_summary_seconds (run), ==, 15.5);
      g_assert_cmpstr (loom_run_summary_end (run), ==, cases[i].end);
      g_assert_cmpint (run->log.nan_step, ==, cases[i].nan_step);
      g_assert_cmpfloat (run->log.loss, ==, 0.5);
      check_points (run->log.curve, 3, 3, 0.5);
      g_assert_true (cases[i].nan_step == 0 || strchr (run->log.sentence, '\x1b') == NULL);
    }
  /* A process that trains locks the events; one that has ended its run may stay. */
  for (int done = 0; done < 2; done++)
    {
      write_run ("locked", "0.1", "4", few);
      write_file ("locked", LOOM_RUN_SESSIONS,
                  done ? SESSION ("done", "200", "205.5", "") : SESSION ("training", "200", "205.5", ""));
      g_autofree char *events = g_build_filename (scratch, "locked", LOOM_RUN_EVENTS, NULL);
      const int fd = open (events, O_RDWR | O_CLOEXEC);

      g_assert_cmpint (flock (fd, LOCK_EX), ==, 0);
      g_autoptr (LoomRunSummary) run = read_run ("locked", 10);
      close (fd);
      g_assert_cmpint (run->log.is_training, ==, !done);
      g_assert_cmpstr (loom_run_summary_end (run), ==, done ? "done" : NULL);
    }
  /* A run of an earlier version has its failure in the events. */
  write_run ("earlier", "0.1", "4",
             "{\"event\":\"step\",\"step\":7,\"epoch\":1,\"loss\":1,\"lr\":0.1}\n"
             "{\"event\":\"failed\",\"step\":7,\"message\":\"The numbers of step 8 are no longer finite.\"}\n");
  g_autoptr (LoomRunSummary) earlier = read_run ("earlier", 10);
  g_assert_cmpstr (loom_run_summary_end (earlier), ==, "failed");
  g_assert_cmpint (earlier->log.nan_step, ==, 8);
}

/* A point of the curve of a short log stands for equally many steps, and has their mean. */
static void
test_mean (void)
{
  g_autoptr (GString) s = g_string_new (NULL);

  for (int i = 1; i <= 100; i++)
    g_string_append_printf (s, "{\"event\":\"step\",\"step\":%d,\"epoch\":1,\"loss\":%d,\"lr\":1}\n", i, i);
  write_run ("mean", "0.1", "4", s->str);
  g_autoptr (LoomRunSummary) run = read_run ("mean", 10);

  check_points (run->log.curve, 7, 100, 100);
  g_assert_cmpfloat (loom_series_mean (run->log.curve, 0), ==, 8.5);
  g_assert_cmpfloat (loom_series_mean (run->log.curve, 6), ==, 98.5);
}

/* 100,000 steps: the points are samples over the whole length, ascending, and the last figures are exact. The number of
 * bytes that are read is bounded. */
static void
test_long_log (void)
{
  g_autoptr (GString) s = g_string_new (NULL);

  for (int i = 1; i <= 100000; i++)
    {
      g_string_append_printf (s, "{\"event\":\"step\",\"step\":%d,\"epoch\":%d,\"loss\":%.6f,\"lr\":0.01}\n", i,
                              1 + i / 1000, 1e5 / (1e5 + i));
      if (i % 250 == 0)
        g_string_append_printf (s, "{\"event\":\"eval\",\"split\":\"test\",\"step\":%d,\"loss\":%d}\n", i, i / 250);
    }
  g_string_append (s, "{\"event\":\"eval\",\"split\":\"test\",\"step\":100000,\"epoch\":100,\"loss\":0.25,"
                      "\"metrics\":{\"accuracy\":1}}\n");
  write_run ("long", "0.1", "4", s->str);
  g_autoptr (LoomRunSummary) run = read_run ("long", 200);
  double step, loss, last = 0;

  g_assert_cmpuint (s->len, >, LOOM_RUN_LOG_WHOLE);
  /* Every second one of 400 evaluations, with the last. */
  check_points (run->log.validation, 200, 100000, 400);
  for (guint i = 0; i < 199; i++)
    {
      loom_series_get (run->log.validation, i, NULL, &loss);
      g_assert_cmpfloat (loss, ==, 2 * i + 2);
    }
  g_assert_cmpuint (loom_series_length (run->log.curve), >, 150);
  g_assert_cmpuint (loom_series_length (run->log.curve), <=, 200);
  for (guint i = 0; i < loom_series_length (run->log.curve); i++)
    {
      loom_series_get (run->log.curve, i, &step, NULL);
      g_assert_cmpfloat (step, >, last);
      g_assert_cmpfloat (fabs (loom_series_mean (run->log.curve, i) - 1e5 / (1e5 + step)), <, 0.01);
      last = step;
    }
  loom_series_get (run->log.curve, 0, &step, NULL);
  g_assert_cmpfloat (step, ==, 1);
  g_assert_cmpfloat (last, >, 99000);
  g_assert_cmpint (run->log.step, ==, 100000);
  g_assert_cmpfloat (run->log.eval_loss, ==, 0.25);
}

#define EVAL(STEP) "{\"event\":\"eval\",\"split\":\"val\",\"step\":" STEP ",\"loss\":0.5}\n"

/* The bytes that this process has read with read () and pread (). */
static gint64
bytes_read (void)
{
  g_autofree char *text = NULL;
  const char *at;

  g_assert_true (g_file_get_contents ("/proc/self/io", &text, NULL, NULL));
  at = strstr (text, "rchar: ");
  return g_ascii_strtoll (at + strlen ("rchar: "), NULL, 10);
}

/* Of a file of a gigabyte, the first evaluation and those of the end are found, and a bounded number of bytes is read.
 */
static void
test_huge_log (void)
{
  g_autofree char *path = g_build_filename (scratch, "huge", "events.jsonl", NULL);
  FILE *file;
  gint64 before;

  write_run ("huge", "0.1", "4", EVAL ("1"));
  file = fopen (path, "r+");
  g_assert_cmpint (fseeko (file, 1000000000, SEEK_SET), ==, 0);
  g_assert_cmpint (fputs ("\n" EVAL ("2"), file), >=, 0);
  g_assert_cmpint (fseeko (file, LOOM_RUN_LOG_SEARCHED / 4, SEEK_CUR), ==, 0);
  g_assert_cmpint (fputs ("\n" EVAL ("3"), file), >=, 0);
  g_assert_cmpint (fclose (file), ==, 0);
  before = bytes_read ();
  g_autoptr (LoomRunSummary) run = read_run ("huge", 10);
  g_assert_cmpint (bytes_read () - before, <, LOOM_RUN_LOG_SEARCHED + 2 * LOOM_RUN_LOG_WHOLE);
  g_assert_cmpuint (loom_series_length (run->log.validation), ==, 3);
}

typedef struct
{
  const char *path;
  gint done; /* atomic */
} Cutter;

static gpointer
cut_cb (gpointer data)
{
  Cutter *self = data;

  while (!g_atomic_int_get (&self->done))
    {
      g_assert_cmpint (truncate (self->path, 0), ==, 0);
      g_assert_cmpint (truncate (self->path, LOOM_RUN_LOG_SEARCHED), ==, 0);
      g_usleep (1000); /* less than reading takes */
    }
  return NULL;
}

/* A trainer that resumes the run cuts the file while it is read. */
static void
test_cut_log (void)
{
  g_autofree char *path = g_build_filename (scratch, "cut", "events.jsonl", NULL);
  Cutter cutter = { .path = path };
  GThread *thread;

  write_run ("cut", "0.1", "4", few);
  thread = g_thread_new ("cutter", cut_cb, &cutter);
  for (guint i = 0; i < 50; i++)
    {
      g_autoptr (LoomRunSummary) run = read_run ("cut", 10);

      g_assert_null (run->error);
    }
  g_atomic_int_set (&cutter.done, TRUE);
  g_thread_join (thread);
}

/* Lines that are cut, foreign or out of order are skipped. */
static void
test_damaged_lines (void)
{
  write_run ("lines", "0.1", "4",
             "{\"event\":\"step\",\"step\":5,\"epoch\":1,\"loss\":1,\"lr\":0.1}\n"
             "{\"event\":\"step\",\"step\":4,\"epoch\":1,\"loss\":3,\"lr\":0.1}\n"
             "{\"event\":\"step\",\"step\":\n\n{}\nnot JSON\n{\"event\":\"eval\",[[[[\n"
             "{\"event\":\"eval\",\"split\":7,\"metrics\":3}\n"
             "{\"event\":\"step\",\"step\":1e300,\"loss\":1}\n"
             "{\"event\":\"step\",\"step\":6,\"epoch\":1,\"loss\":2,\"lr\":0.1}");
  g_autoptr (LoomRunSummary) run = read_run ("lines", 10);

  g_assert_cmpint (run->log.step, ==, 5);
  g_assert_cmpuint (loom_series_length (run->log.curve), ==, 1);
  g_assert_null (run->log.split);
}

/* Members of another kind count as absent. */
static void
test_foreign_lines (void)
{
  write_run ("foreign", "0.1", "4",
             "{\"event\":\"eval\",\"split\":\"val\",\"loss\":\"x\",\"metrics\":{\"a\":\"b\",\"c\":[],\"d\":2}}\n");
  g_autoptr (LoomRunSummary) run = read_run ("foreign", 10);

  g_assert_true (isnan (run->log.eval_loss));
  g_assert_cmpstr (run->log.metric, ==, "d");
  g_assert_cmpfloat (run->log.value, ==, 2);
  for (guint32 seed = 0; seed < 3; seed++)
    {
      g_autofree char *lines = event_lines_new (seed, 300);

      write_run ("foreign", "0.1", "4", lines);
      g_autoptr (LoomRunSummary) mutated = read_run ("foreign", 10);
      g_assert_null (mutated->error);
    }
}

/* The device is printed in commands. */
static void
test_device (void)
{
  static const char *const names[] = { "cpu; echo pwned", "", "cpu:x", "/dev/cpu", "\\u0007" };

  write_run ("device", "0.1", "4", few);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *json = g_strdup_printf ("{\"version\":1,\"device\":\"%s\",\"threads\":1}", names[i]);

      write_file ("device", "run.json", json);
      g_autoptr (LoomRunSummary) run = read_run ("device", 10);
      g_assert_nonnull (run->error);
      g_assert_nonnull (strstr (run->error, "run.json is damaged: its “device”"));
    }
  write_file ("device", "run.json", "{\"version\":1,\"device\":\"cuda:3\",\"threads\":1}");
  g_autoptr (LoomRunSummary) elsewhere = read_run ("device", 10);
  g_assert_null (elsewhere->error);
}

/* The name of a folder is shown, and need not be UTF-8. */
static void
test_foreign_name (void)
{
  write_run ("b\xff", "0.1", "4", few);
  g_autoptr (LoomRunSummary) run = read_run ("b\xff", 10);

  g_assert_null (run->error);
  g_assert_cmpstr (loom_run_summary_name (run), ==, "b\357\277\275");
}

/* ---- notes ------------------------------------------------------------------------------ */

static void
test_notes (void)
{
  g_autofree char *folder = path_of ("noted"), *path = g_build_filename (folder, LOOM_RUN_NOTES, NULL), *text = NULL;
  g_autofree char *longest = g_strnfill (500, 'x');
  LoomRunNotes notes = { .name = (char *)" first \"one\" ", .note = (char *)"two\nlines", .star = TRUE };

  write_run ("noted", "0.1", "4", few);
  write_file ("noted", LOOM_RUN_NOTES, "{\"version\":1,\"later\":[1]}");
  g_assert_true (loom_run_notes_write (folder, &notes, NULL));
  g_autoptr (LoomRunSummary) run = read_run ("noted", 10);
  g_assert_cmpstr (loom_run_summary_name (run), ==, "first \"one\"");
  g_assert_cmpstr (run->notes.note, ==, "two\nlines");
  g_assert_true (run->notes.star);
  /* Members of a later version stay. */
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "\"later\""));
  notes = (LoomRunNotes){ .name = longest };
  g_assert_true (loom_run_notes_write (folder, &notes, NULL));
  g_autoptr (LoomRunSummary) again = read_run ("noted", 10);
  g_assert_cmpint (g_utf8_strlen (again->notes.name, -1), ==, LOOM_RUN_NAME_MOST);
  g_assert_null (again->notes.note);
  g_assert_false (again->notes.star);
  write_file ("noted", LOOM_RUN_NOTES, "{\"name\":3}");
  g_autoptr (LoomRunSummary) damaged = read_run ("noted", 10);
  g_assert_nonnull (strstr (damaged->error, "notes.json"));
}

/* A link in the place of the notes is not followed. */
static void
test_link (void)
{
  g_autofree char *folder = path_of ("linked"), *link = g_build_filename (folder, LOOM_RUN_NOTES, NULL);
  g_autofree char *outside = path_of ("outside.json"), *text = NULL;

  write_run ("linked", "0.1", "4", few);
  g_assert_true (g_file_set_contents (outside, "{\"name\":\"outside\"}", -1, NULL));
  g_assert_cmpint (symlink (outside, link), ==, 0);
  g_autoptr (LoomRunSummary) run = read_run ("linked", 10);
  g_assert_nonnull (strstr (run->error, "symbolic link"));
  g_assert_true (loom_run_notes_write (folder, &(LoomRunNotes){ .star = TRUE }, NULL));
  g_assert_true (g_file_get_contents (outside, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "{\"name\":\"outside\"}");
}

/* ---- list and table ---------------------------------------------------------------------- */

static GPtrArray *
read_list (const char *folder)
{
  g_autofree char *path = path_of (folder);
  g_auto (GStrv) folders = loom_run_list (path, NULL);
  GPtrArray *runs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_run_summary_unref);

  for (guint i = 0; folders[i] != NULL; i++)
    g_ptr_array_add (runs, loom_run_summary_new (folders[i], 10));
  return runs;
}

static void
test_list (void)
{
  g_autofree char *target = path_of ("list/a"), *link = path_of ("list/link"), *other = path_of ("list/other");

  write_run ("list/b", "0.5", "4", few);
  write_run ("list/a", "0.1", "4", few);
  write_file ("list/broken", "run.json", "{}");
  g_mkdir (other, 0755);
  g_assert_cmpint (symlink (target, link), ==, 0);
  g_autoptr (GPtrArray) runs = read_list ("list");
  g_assert_cmpuint (runs->len, ==, 3);
  g_assert_cmpstr (((LoomRunSummary *)runs->pdata[0])->leaf, ==, "a");
  const LoomRunSummary *broken = runs->pdata[2];
  g_assert_nonnull (strstr (broken->error, "it has no graph.xml"));
  g_assert_null (strchr (broken->error, '\n'));
  g_autoptr (GPtrArray) one = read_list ("list/a");
  g_assert_cmpuint (one->len, ==, 1);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) none = loom_run_list ("/nowhere", &error);
  g_assert_null (none);
  g_assert_nonnull (error);
}

static void
test_table (void)
{
  write_run ("table/a", "0.1", "4", few);
  write_run ("table/b", "0.50000000000000001", "4", few);
  write_file ("table/bad", "run.json", "{}");
  write_run ("table/c", "0.1", "8", few);
  g_autoptr (GPtrArray) runs = read_list ("table");
  g_autoptr (LoomRunTable) table = loom_run_table_new (runs);
  g_autofree char *change = loom_run_change (runs->pdata[0], runs->pdata[3], 3, NULL);
  g_autofree char *cut = loom_run_change (runs->pdata[1], runs->pdata[3], 1, NULL);
  g_autofree char *same = loom_run_change (runs->pdata[0], runs->pdata[0], 3, NULL);

  g_assert_cmpuint (table->columns->len, ==, 2);
  g_assert_cmpstr (table->columns->pdata[0], ==, "lr");
  g_assert_cmpstr (table->columns->pdata[1], ==, "fc.out_features");
  g_assert_cmpstr (loom_run_table_get (table, 0, 0), ==, "0.1");
  g_assert_cmpstr (loom_run_table_get (table, 1, 0), ==, "0.5");
  g_assert_null (loom_run_table_get (table, 2, 0));
  g_assert_cmpstr (loom_run_table_get (table, 3, 0), ==, "0.1");
  g_assert_cmpstr (loom_run_table_get (table, 0, 1), ==, "4");
  g_assert_cmpstr (loom_run_table_get (table, 3, 1), ==, "8");
  g_assert_cmpstr (change, ==, "fc.out_features 4 → 8");
  g_assert_cmpstr (same, ==, "");
  g_assert_true (g_str_has_suffix (cut, " and 1 more"));
  g_assert_true (loom_run_before (runs, 3) == runs->pdata[1]);
  g_assert_null (loom_run_before (runs, 0));
  g_assert_null (loom_run_before (runs, 2));
}

static void
test_front (void)
{
  const double x[] = { 1, 2, 3, 2, NAN, 1 }, y[] = { 3, 1, 1, 2, 0, 3 };
  const gboolean expected[] = { TRUE, TRUE, FALSE, FALSE, FALSE, TRUE };
  gboolean front[6];

  loom_run_front (6, x, y, front);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpint (front[i], ==, expected[i]);
}

/* A run that is claimed is no other's, and waits again unless it has begun. */
static void
test_claim (void)
{
  g_autofree char *folder = g_build_filename (scratch, "queue", NULL);
  LoomQueuedRun run = { .document = (char *)"/small.xml", .xml = (char *)"<graph/>", .title = (char *)"small" };
  g_autoptr (GError) error = NULL;
  int claim;

  g_assert_true (loom_run_queue_add (folder, &run, &error));
  g_assert_no_error (error);
  claim = loom_run_queue_claim (folder, &run);
  g_assert_cmpint (claim, >=, 0);
  g_assert_cmpint (loom_run_queue_claim (folder, &run), ==, -1);
  g_assert_false (loom_run_queue_remove (folder, &run));
  loom_run_queue_finish (folder, &run, claim, FALSE);
  claim = loom_run_queue_claim (folder, &run);
  g_assert_cmpint (claim, >=, 0);
  loom_run_queue_finish (folder, &run, claim, TRUE);
  g_assert_cmpint (loom_run_queue_claim (folder, &run), ==, -1);
  g_autoptr (GPtrArray) left = loom_run_queue_read (folder, NULL);
  g_assert_cmpuint (left->len, ==, 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = g_dir_make_tmp ("gradloom-runs-XXXXXX", NULL);
  g_test_add_func ("/runs/short-log", test_short_log);
  g_test_add_func ("/runs/sessions", test_sessions);
  g_test_add_func ("/runs/mean", test_mean);
  g_test_add_func ("/runs/long-log", test_long_log);
  g_test_add_func ("/runs/huge-log", test_huge_log);
  g_test_add_func ("/runs/cut-log", test_cut_log);
  g_test_add_func ("/runs/damaged-lines", test_damaged_lines);
  g_test_add_func ("/runs/foreign-lines", test_foreign_lines);
  g_test_add_func ("/runs/device", test_device);
  g_test_add_func ("/runs/foreign-name", test_foreign_name);
  g_test_add_func ("/runs/notes", test_notes);
  g_test_add_func ("/runs/link", test_link);
  g_test_add_func ("/runs/list", test_list);
  g_test_add_func ("/runs/table", test_table);
  g_test_add_func ("/runs/front", test_front);
  g_test_add_func ("/runs/claim", test_claim);
  int status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
