/* What a run that goes on may change, what it refuses, and what it makes of a damaged folder. */
#include "engine/loom.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const char *const GRAPH
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\"/><node id=\"hidden\" op=\"linear\" out_features=\"16\"/>"
      "<node id=\"act\" op=\"tanh\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
      "<node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"
      "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"96\" epochs=\"2\" seed=\"3\">"
      "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";

typedef struct
{
  char *folder, *run;
} Fixture;

static LoomTrainer *
begin (const char *out)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (GRAPH, strlen (GRAPH), "test", faults, &error);
  g_assert_no_error (error);
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .out = out, .threads = 1 };
  LoomTrainer *trainer = loom_trainer_new (graph, &o, &error);
  g_assert_no_error (error);
  return trainer;
}

static void
finish (LoomTrainer *trainer)
{
  g_autoptr (GError) error = NULL;
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_cmpint (end, ==, LOOM_TRAINER_DONE);
}

/* A finished run of two epochs of 11 steps, with checkpoints at 11 and 22. */
static void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("gradloom-resume-XXXXXX", NULL);
  f->run = g_build_filename (f->folder, "run", NULL);
  g_autoptr (LoomTrainer) trainer = begin (f->run);
  finish (trainer);
}

static void
remove_tree (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      remove_tree (child);
    }
  g_remove (path);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->folder);
  g_free (f->run);
  g_free (f->folder);
}

static LoomTrainerOptions
again (Fixture *f)
{
  return (LoomTrainerOptions){ .lr = NAN, .seed = -1, .resume = f->run };
}

static char *
read_text (Fixture *f, const char *name)
{
  g_autofree char *path = g_build_filename (f->run, name, NULL);
  g_autoptr (GError) error = NULL;
  char *text;
  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static void
write_text (Fixture *f, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (f->run, name, NULL);
  g_autoptr (GError) error = NULL;
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

/* Replaces what follows `"member" : ` up to the end of the line. */
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

static void
refuse (const LoomTrainerOptions *o, int status, const char *part)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (NULL, o, &error);

  g_assert_null (trainer);
  g_assert_cmpint (loom_error_exit_status (error), ==, status);
  if (!strstr (error->message, part))
    g_error ("“%s” does not say “%s”", error->message, part);
}

static LoomTrainer *
resume (const LoomTrainerOptions *o)
{
  g_autoptr (GError) error = NULL;
  LoomTrainer *trainer = loom_trainer_new (NULL, o, &error);
  g_assert_no_error (error);
  return trainer;
}

/* ---- what may change -------------------------------------------------- */

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
  finish (trainer);
  g_assert_cmpfloat (loom_state_get_scalar (loom_trainer_state (trainer), "lr"), ==, 0.125);
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
  { "step", "\"many\"", "“step” is no whole number" },
  { "step", "21", "does not fit this run" },
  { "epoch", "null", "“epoch” is no whole number" },
  { "epoch", "4503599627370496", "does not fit this run" },
  { "events_length", "-5", "“events_length”" },
  { "events_length", "{}", "“events_length”" },
  { "batch_size", "[]", "“batch_size”" },
  { "seed", "\"3\"", "“seed”" },
  { "loss_sum", "true", "“loss_sum” is no number" },
  { "sample_sum", "1e999", "“sample_sum”" },
  { "base_lr", "\"fast\"", "“base_lr” is no number" },
  { "sum", "[1]", "“sum” is no number" },
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
      if (!notes || !strstr (notes, newest) || !strstr (notes, damages[i].part))
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

  /* From the older one it ends where it ended before. */
  g_autofree char *events = read_text (f, "events.jsonl");
  g_autoptr (LoomTrainer) trainer = resume (&o);
  finish (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  g_autofree char *after = read_text (f, newest);
  g_autofree char *events_after = read_text (f, "events.jsonl");
  g_assert_cmpstr (whole, ==, after);
  g_assert_nonnull (strstr (events_after, "\"step\":22"));
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, function) g_test_add (path, Fixture, NULL, set_up, function, tear_down)
  ADD ("/resume/refused", test_refused);
  ADD ("/resume/allowed", test_allowed);
  ADD ("/resume/damaged", test_damaged);
  ADD ("/resume/damaged-settings", test_damaged_settings);
  return g_test_run ();
}
