/* `gradloom hand-in` and `gradloom grade`: honest runs of thirty learners hold, and a hundred and ten forged ones of
 * eleven kinds are found. Every forged file has a right checksum, as of somebody who computes it again. Two words after
 * the file's name, a folder and a number of epochs, only write the hand-ins there, for measuring. */
#include "tests/cli/grade-class.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <stdlib.h>
#include <string.h>

#define N_HONEST 30
#define N_EACH   10

static const char *out_folder = "handed-in";
static int n_epochs = 3;

/* ---- honest runs --------------------------------------------------------------- */

static void
put (const LoomHandIn *hand_in, const char *format, ...)
{
  g_autofree char *name = NULL, *path = NULL;
  g_autoptr (GError) error = NULL;
  va_list arguments;

  va_start (arguments, format);
  name = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  path = g_build_filename (out_folder, name, NULL);
  loom_hand_in_write (hand_in, path, &error);
  g_assert_no_error (error);
}

static void
put_honest (void)
{
  for (guint i = 0; i < N_HONEST; i++)
    {
      g_autofree char *name = g_strdup_printf ("Learner %u", i);
      /* The last one has the graph and the seed of the first. */
      g_autoptr (LoomHandIn) hand_in
          = class_train (i == N_HONEST - 1 ? 0 : i, i == N_HONEST - 1 ? 0 : i % N_WAYS, n_epochs, name);

      put (hand_in, "honest-%02u.gradloom", i);
    }
}

/* ---- forged ones ----------------------------------------------------------------- */

/* One loss, or all from a step on. */
static void
lower_losses (LoomHandIn *h, guint i)
{
  g_auto (GStrv) line = g_strsplit (h->log, "\n", -1);

  for (guint k = CLASS_CHANGE + i; line[k] != NULL; k++)
    {
      char *at = strstr (line[k], "\"loss\":");

      if (!g_str_has_prefix (line[k], "{\"event\":\"step\"") || at == NULL)
        continue;
      g_autofree char *before = g_strndup (line[k], (gsize)(at - line[k]));
      char *lowered
          = g_strdup_printf ("%s\"loss\":%.9g%s", before, 0.9 * g_ascii_strtod (at + 7, NULL), strchr (at, ','));
      g_free (line[k]);
      line[k] = lowered;
      if (i % 2 == 0)
        break;
    }
  g_free (h->log);
  h->log = g_strjoinv ("\n", line);
}

static void
cut_steps (LoomHandIn *h, guint i)
{
  if (i % 2 == 0)
    {
      class_substitute (&h->log, "^.\"event\":\"step\".*\n", "", CLASS_CHANGE + i);
      return;
    }
  /* The end, with everything that says where it is. */
  g_autofree char *mark = g_strdup_printf ("{\"event\":\"step\",\"step\":%" G_GINT64_FORMAT ",", h->step - i);
  LoomRunSession *last = &g_array_index (h->sessions, LoomRunSession, h->sessions->len - 1);

  *strstr (h->log, mark) = '\0';
  h->step -= i + 1;
  last->step = h->step;
  last->end = LOOM_RUN_END_STOPPED;
  h->is_over = FALSE;
}

static void
add_steps (LoomHandIn *h, guint i)
{
  LoomRunSession *last = &g_array_index (h->sessions, LoomRunSession, h->sessions->len - 1);
  GString *log = g_string_new (h->log);

  for (guint k = 0; k <= i; k++)
    g_string_append_printf (
        log, "{\"event\":\"step\",\"step\":%" G_GINT64_FORMAT ",\"epoch\":4,\"loss\":0.1,\"lr\":0.03}\n", ++h->step);
  last->step = h->step;
  g_free (h->log);
  h->log = g_string_free (log, FALSE);
}

static void
change_metric (LoomHandIn *h, guint i)
{
  g_autofree char *better = g_strdup_printf ("\"accuracy\":0.99%u", i);

  class_substitute (&h->log, "\"accuracy\":[0-9.]+", better, i % 3);
}

static void
take_other_seed (LoomHandIn *h, guint i)
{
  g_autoptr (LoomHandIn) other = class_train (500 + i, PLAIN, n_epochs, "x");

  g_free (h->log);
  h->log = g_steal_pointer (&other->log);
}

static void
change_graph (LoomHandIn *h, guint i)
{
  static const char *const change[][2] = { { "op=\"relu\"", "op=\"tanh\"" },
                                           { "out_features=\"32\"", "out_features=\"16\"" },
                                           { "out_features=\"32\"", "out_features=\"32\" bias=\"false\"" } };

  class_substitute (&h->graph, change[i % 3][0], change[i % 3][1], 0);
}

static void
change_weights (LoomHandIn *h, guint i)
{
  h->weights[i] = h->weights[i] == 'a' ? 'b' : 'a';
}

static void
change_name (LoomHandIn *h, guint i)
{
  g_free (h->name);
  h->name = g_strdup_printf ("Copyist %u", i);
  h->made += 60 * i;
}

static void
change_settings (LoomHandIn *h, guint i)
{
  static const char *const change[][2] = { { "epochs=\"[0-9]+\"", "epochs=\"200\"" },
                                           { "lr=\"0.03\"", "lr=\"0.003\"" },
                                           { "batch_size=\"64\"", "batch_size=\"60\"" },
                                           { "optimizer=\"adam\"", "optimizer=\"adamw\"" } };

  class_substitute (&h->graph, change[i % 4][0], change[i % 4][1], 0);
}

static void
change_live (LoomHandIn *h, guint i)
{
  if (i % 2 == 0)
    class_substitute (&h->log, "^.\"event\":\"hyper\".*\n", "", 0);
  else
    class_substitute (&h->log, "^(?=.\"event\":\"step\",\"step\":5,)",
                      "{\"event\":\"hyper\",\"step\":4,\"name\":\"lr\",\"value\":0.02,\"before\":0.03}\n", 0);
}

static void
change_times (LoomHandIn *h, guint i)
{
  LoomRunSession *s = &g_array_index (h->sessions, LoomRunSession, 0), again;

  switch (i % 5)
    {
    case 0:
      s->ended = s->begun - 5;
      break;
    case 1:
      h->made = s->begun - 3600;
      break;
    case 2:
      s->begun = s->ended = 1e9;
      break;
    case 3:
      h->made += 30 * 86400.0;
      break;
    default: /* a second one, in the middle of the first */
      s->ended += 10;
      h->made += 20;
      again = *s;
      again.begun += 3;
      g_array_append_val (h->sessions, again);
    }
}

static const struct
{
  const char *name;
  void (*forge) (LoomHandIn *hand_in, guint i);
  Way way;
  const char *verdict;
} kinds[] = {
  { "losses", lower_losses, PLAIN, "changed" },   { "cut", cut_steps, PLAIN, "changed" },
  { "added", add_steps, PLAIN, "changed" },       { "metric", change_metric, PLAIN, "changed" },
  { "seed", take_other_seed, PLAIN, "changed" },  { "graph", change_graph, PLAIN, "changed" },
  { "weights", change_weights, RATE, "changed" }, { "settings", change_settings, PLAIN, "changed" },
  { "live", change_live, RATE, "changed" },       { "times", change_times, PLAIN, "changed" },
};

static void
put_forged (void)
{
  g_autoptr (LoomHandIn) copied = class_train (99, PLAIN, n_epochs, "Original");

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint i = 0; i < N_EACH; i++)
      {
        g_autofree char *name = g_strdup_printf ("Forger %s %u", kinds[k].name, i);
        g_autoptr (LoomHandIn) hand_in = class_train (100 + 10 * k + i, kinds[k].way, n_epochs, name);

        kinds[k].forge (hand_in, i);
        put (hand_in, "forged-%s-%u.gradloom", kinds[k].name, i);
      }
  put (copied, "copied.gradloom");
  for (guint i = 0; i < N_EACH; i++)
    {
      change_name (copied, i);
      put (copied, "shared-%u.gradloom", i);
    }
}

/* ---- the classroom ---------------------------------------------------------------- */

static void
test_class (void)
{
  g_auto (Graded) graded = class_grade (out_folder, NULL);
  g_autofree char *first = class_expect (&graded, "honest-00.gradloom", "holds");
  g_autofree char *copied = class_expect (&graded, "copied.gradloom", "shared");
  g_autofree char *loss = class_expect (&graded, "forged-losses-0.gradloom", "changed");
  g_autofree char *cut = class_expect (&graded, "forged-cut-0.gradloom", "changed");

  g_assert_cmpuint (g_hash_table_size (graded.row), ==, N_HONEST + N_EACH * (G_N_ELEMENTS (kinds) + 1) + 1);
  for (guint i = 0; i < N_HONEST; i++)
    {
      g_autofree char *file = g_strdup_printf ("honest-%02u.gradloom", i),
                      *found = class_expect (&graded, file, "holds");
      JsonObject *row = g_hash_table_lookup (graded.row, file);

      g_assert_cmpstr (json_object_get_string_member (row, "compared"), ==, "bits");
      g_assert_cmpint (json_object_get_int_member (row, "checked"), ==, json_object_get_int_member (row, "steps"));
      g_assert_cmpint (json_object_get_int_member (row, "right"), ==, 1);
      /* Only the lecturer can say whether an open one is. */
      g_assert_cmpint (json_object_get_int_member (row, "questions"), ==, 1);
      if (i > 0 && i + 1 < N_HONEST)
        g_assert_cmpstr (found, ==, "");
    }
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint i = 0; i < N_EACH; i++)
      {
        g_autofree char *file = g_strdup_printf ("forged-%s-%u.gradloom", kinds[k].name, i);
        g_free (class_expect (&graded, file, kinds[k].verdict));
      }
  for (guint i = 0; i < N_EACH; i++)
    {
      g_autofree char *file = g_strdup_printf ("shared-%u.gradloom", i);
      g_free (class_expect (&graded, file, "shared"));
    }
  g_assert_nonnull (strstr (first, "Learner 29 has the same graph, seed and log"));
  g_assert_nonnull (strstr (copied, "shared-0.gradloom by Copyist 0"));
  g_assert_nonnull (strstr (loss, "Step 11: the log has the loss"));
  g_assert_nonnull (strstr (cut, "The log lacks step 11."));
}

/* Puts a file of the class into another folder. */
static void
copy_to (const char *folder, const char *file)
{
  g_autofree char *from = g_build_filename (out_folder, file, NULL), *to = g_build_filename (folder, file, NULL);
  g_autofree char *text = NULL;

  g_mkdir_with_parents (folder, 0755);
  g_assert_true (g_file_get_contents (from, &text, NULL, NULL));
  cli_write (to, text);
}

/* Without vector instructions sums are rounded in another way, as on another machine. */
static void
test_other_machine (void)
{
  static const char *const kept[]
      = { "honest-00",    "honest-01",     "honest-02",       "honest-04",         "forged-losses-0", "forged-losses-1",
          "forged-cut-0", "forged-seed-0", "forged-metric-0", "forged-settings-1", "forged-live-0" };

  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      g_autofree char *file = g_strconcat (kept[i], ".gradloom", NULL);
      copy_to ("elsewhere", file);
    }
  g_setenv ("GRADLOOM_CPU_ISA", "base", TRUE);
  g_auto (Graded) graded = class_grade ("elsewhere", NULL);
  g_unsetenv ("GRADLOOM_CPU_ISA");
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      g_autofree char *file = g_strconcat (kept[i], ".gradloom", NULL);
      JsonObject *row = g_hash_table_lookup (graded.row, file);

      g_free (class_expect (&graded, file, g_str_has_prefix (kept[i], "honest") ? "holds" : "changed"));
      g_assert_cmpstr (json_object_get_string_member (row, "compared"), ==, "curve");
    }
}

static void
test_part (void)
{
  copy_to ("part", "honest-01.gradloom");
  copy_to ("part", "forged-losses-0.gradloom");
  copy_to ("part", "forged-metric-0.gradloom");
  g_auto (Graded) graded = class_grade ("part", "--steps=12");
  g_autofree char *honest = class_expect (&graded, "honest-01.gradloom", "holds");
  JsonObject *row = g_hash_table_lookup (graded.row, "honest-01.gradloom");

  g_free (class_expect (&graded, "forged-losses-0.gradloom", "changed"));
  g_free (class_expect (&graded, "forged-metric-0.gradloom", "holds")); /* it is later */
  g_assert_nonnull (strstr (honest, "12 of its steps were repeated"));
  g_assert_cmpint (json_object_get_int_member (row, "checked"), ==, 12);
}

TEST_FILE (argc, argv)
{
  const gboolean is_kept = argc == 3 && argv[1][0] != '-';
  g_autofree char *kept = is_kept ? g_canonicalize_filename (argv[1], NULL) : NULL;
  int status;

  if (is_kept)
    {
      out_folder = kept;
      n_epochs = atoi (argv[2]);
    }
  else
    g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_mkdir_with_parents (out_folder, 0755);
  class_write_key ();
  put_honest ();
  put_forged ();
  if (is_kept)
    {
      g_autofree char *to = g_build_filename (out_folder, CLASS_KEY, NULL);

      status = g_rename (CLASS_KEY, to);
      cli_leave ();
      return status;
    }
  g_test_add_func ("/grade/class", test_class);
  g_test_add_func ("/grade/part", test_part);
  g_test_add_func ("/grade/other-machine", test_other_machine);
  status = g_test_run ();
  cli_leave ();
  return status;
}
