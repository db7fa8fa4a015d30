/* `gradloom grade`: repeats the runs of a folder of hand-ins, and writes a table.
 *
 * Each hand-in is graded by a process of its own, `gradloom grade FILE --json`, so that one that fails, or needs too
 * much memory or time, costs only its own row. */
#include "app/commands.h"
#include "app/grade.h"

#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FILES  10000
#define MOST_OTHERS 5 /* hand-ins that a row names */
#define SECONDS     60
#define TOLERANCE   0.05
#define PATIENCE    60 /* seconds of a process in addition to twice those of repeating */

typedef struct
{
  char *key, *out;
  gint64 steps;
  double seconds, tolerance;
  int jobs;
  gboolean json;
} Options;

static void
options_clear (Options *o)
{
  g_free (o->key);
  g_free (o->out);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

/* ---- a row as a line of JSON -------------------------------------------------- */

static void
add_texts (LoomJson *json, const char *name, const GPtrArray *texts)
{
  loom_json_begin_array (json, name);
  for (guint i = 0; i < texts->len; i++)
    loom_json_string (json, NULL, texts->pdata[i]);
  loom_json_end_array (json);
}

static void
print_event (const GradeRow *row)
{
  LoomJson *json = command_event_new ("graded");

  loom_json_string (json, "file", row->file);
  loom_json_string (json, "name", row->name);
  loom_json_string (json, "verdict", grade_verdicts[row->verdict]);
  loom_json_string (json, "compared", row->compared);
  loom_json_int (json, "steps", row->steps);
  loom_json_int (json, "checked", row->checked);
  loom_json_int (json, "goals", row->goals);
  loom_json_int (json, "met", row->met);
  loom_json_int (json, "questions", row->questions);
  loom_json_int (json, "right", row->right);
  add_texts (json, "unmet", row->unmet);
  add_texts (json, "answers", row->answers);
  add_texts (json, "findings", row->finding);
  loom_json_string (json, "run", row->run);
  loom_json_string (json, "training", row->training);
  command_event_print (json);
}

static void
read_texts (JsonObject *event, const char *name, GPtrArray *to)
{
  JsonArray *list = json_object_get_array_member (event, name);

  for (guint i = 0; i < json_array_get_length (list); i++)
    g_ptr_array_add (to, g_strdup (json_array_get_string_element (list, i)));
}

static char *
read_text (JsonObject *event, const char *name)
{
  return json_object_get_null_member (event, name) ? NULL : g_strdup (json_object_get_string_member (event, name));
}

/* A line of print_event(), of this program itself. FALSE: the process ended before it was complete. */
static gboolean
read_event (GradeRow *row, const char *line)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event;
  const char *verdict;

  if (line == NULL || !json_parser_load_from_data (parser, line, -1, NULL)
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return FALSE;
  event = json_node_get_object (json_parser_get_root (parser));
  row->name = read_text (event, "name");
  verdict = json_object_get_string_member (event, "verdict");
  for (guint i = 0; i <= GRADE_REFUSED; i++)
    if (g_str_equal (verdict, grade_verdicts[i]))
      row->verdict = (GradeVerdict)i;
  row->compared = json_object_get_null_member (event, "compared")
                      ? NULL
                      : g_intern_string (json_object_get_string_member (event, "compared"));
  row->steps = json_object_get_int_member (event, "steps");
  row->checked = json_object_get_int_member (event, "checked");
  row->goals = (guint)json_object_get_int_member (event, "goals");
  row->met = (guint)json_object_get_int_member (event, "met");
  row->questions = (guint)json_object_get_int_member (event, "questions");
  row->right = (guint)json_object_get_int_member (event, "right");
  read_texts (event, "unmet", row->unmet);
  read_texts (event, "answers", row->answers);
  read_texts (event, "findings", row->finding);
  row->run = read_text (event, "run");
  row->training = read_text (event, "training");
  return TRUE;
}

/* ---- processes ------------------------------------------------------------------ */

typedef struct
{
  const Options *options;
  const char *folder, *program;
  GPtrArray *rows;
} Crew;

/* In the new process: it ends by itself if it hangs, and is the first to go if memory runs out. */
static void
limit_cb (gpointer seconds)
{
  const int fd = open ("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

  if (fd >= 0 && write (fd, "1000", 4) == 4)
    close (fd);
  alarm (GPOINTER_TO_UINT (seconds));
}

static void
report_end (GradeRow *row, int status, guint seconds)
{
  if (WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM)
    grade_row_add (row, GRADE_REFUSED, "It cannot be repeated in %u seconds.", seconds);
  else if (WIFSIGNALED (status))
    grade_row_add (row, GRADE_REFUSED, "The process that repeated it was ended by signal %d (%s).", WTERMSIG (status),
                   g_strsignal (WTERMSIG (status)));
  else
    grade_row_add (row, GRADE_REFUSED, "The process that repeated it ended with status %d.", WEXITSTATUS (status));
}

static void
grade_cb (gpointer item, gpointer data)
{
  const Crew *crew = data;
  GradeRow *row = item;
  const guint seconds = (guint)(2 * crew->options->seconds) + PATIENCE;
  g_autofree char *path = g_build_filename (crew->folder, row->file, NULL), *out = NULL, *err = NULL;
  g_autofree char *steps = g_strdup_printf ("--steps=%" G_GINT64_FORMAT, crew->options->steps);
  g_autofree char *most = g_strdup_printf ("--seconds=%g", crew->options->seconds);
  g_autofree char *tolerance = g_strdup_printf ("--tolerance=%g", crew->options->tolerance);
  const char *const words[]
      = { crew->program, "grade", "--json", "--key", crew->options->key, most, tolerance, "--", path, NULL };
  const char *const with_steps[]
      = { crew->program, "grade", "--json", "--key", crew->options->key, most, tolerance, steps, "--", path, NULL };
  g_autoptr (GError) error = NULL;
  int status;

  if (!g_spawn_sync (NULL, (char **)(crew->options->steps > 0 ? with_steps : words), NULL, G_SPAWN_DEFAULT, limit_cb,
                     GUINT_TO_POINTER (seconds), &out, &err, &status, &error))
    grade_row_add (row, GRADE_REFUSED, "%s", error->message);
  else if (status != 0 || !read_event (row, out))
    report_end (row, status, seconds);
}

static gboolean
grade_all (const Options *o, const char *folder, GPtrArray *rows, GError **error)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", error), *scratch = NULL;
  Crew crew = { o, folder, program, rows };
  GThreadPool *pool
      = program != NULL
            ? g_thread_pool_new (grade_cb, &crew, o->jobs > 0 ? o->jobs : (int)g_get_num_processors (), TRUE, error)
            : NULL;

  if (pool == NULL)
    return FALSE;
  /* Processes that are ended leave their folders in this one. */
  scratch = loom_path_make_temporary ("gradloom-grade", error);
  if (scratch != NULL)
    g_setenv ("TMPDIR", scratch, TRUE);
  for (guint i = 0; i < rows->len && scratch != NULL; i++)
    g_thread_pool_push (pool, rows->pdata[i], NULL);
  g_thread_pool_free (pool, FALSE, TRUE);
  if (scratch != NULL)
    loom_path_remove_all (scratch);
  return scratch != NULL;
}

/* ---- hand-ins among each other ---------------------------------------------------- */

static void
compare_with (GradeRow *row, const GradeRow *other)
{
  if (row->run != NULL && g_strcmp0 (row->run, other->run) == 0)
    {
      if (g_strcmp0 (row->name, other->name) == 0)
        grade_row_add (row, GRADE_HOLDS, "The same run is in %s, under the same name.", other->file);
      else
        grade_row_add (row, GRADE_SHARED, "The same run, with the same times, is in %s by %s.", other->file,
                       other->name);
    }
  else if (row->training != NULL && g_strcmp0 (row->training, other->training) == 0)
    grade_row_add (row, GRADE_HOLDS, "%s has the same graph, seed and log in %s, of a run of its own.", other->name,
                   other->file);
}

static void
compare_rows (GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    {
      GradeRow *row = rows->pdata[i];
      const guint own = row->finding->len;

      for (guint k = 0; k < rows->len && row->finding->len < own + MOST_OTHERS; k++)
        if (i != k)
          compare_with (row, rows->pdata[k]);
    }
}

/* ---- output ------------------------------------------------------------------------ */

static void
append_cell (GString *csv, const char *text, char end)
{
  g_autofree char *shown = loom_text_printable (text != NULL ? text : "", TRUE, LOOM_HAND_IN_MOST_ANSWER);

  loom_text_append_csv (csv, shown);
  g_string_append_c (csv, end);
}

static void
append_texts (GString *csv, const GPtrArray *texts, char end)
{
  g_autoptr (GString) all = g_string_new (NULL);

  for (guint i = 0; i < texts->len; i++)
    g_string_append_printf (all, "%s%s", i > 0 ? "; " : "", (const char *)texts->pdata[i]);
  append_cell (csv, all->str, end);
}

static gboolean
write_csv (const GPtrArray *rows, const char *path, GError **error)
{
  g_autoptr (GString) csv
      = g_string_new ("file,name,verdict,compared,steps,checked,goals,met,unmet,questions,right,answers,findings\n");

  for (guint i = 0; i < rows->len; i++)
    {
      const GradeRow *row = rows->pdata[i];

      append_cell (csv, row->file, ',');
      append_cell (csv, row->name, ',');
      append_cell (csv, grade_verdicts[row->verdict], ',');
      append_cell (csv, row->compared, ',');
      g_string_append_printf (csv, "%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%u,%u,", row->steps, row->checked,
                              row->goals, row->met);
      append_texts (csv, row->unmet, ',');
      g_string_append_printf (csv, "%u,%u,", row->questions, row->right);
      append_texts (csv, row->answers, ',');
      append_texts (csv, row->finding, '\n');
    }
  return loom_file_replace (path, csv->str, csv->len, error);
}

static void
print_row (const GradeRow *row)
{
  g_autofree char *file = command_printable (row->file),
                  *name = command_printable (row->name != NULL ? row->name : "–");

  printf ("%-9s  %s, %s: %u of %u goals", grade_verdicts[row->verdict], name, file, row->met, row->goals);
  if (row->compared != NULL)
    printf (", %s of %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " steps", row->compared, row->checked, row->steps);
  printf ("\n");
  for (guint i = 0; i < row->finding->len; i++)
    {
      g_autofree char *finding = command_printable (row->finding->pdata[i]);
      printf ("           %s\n", finding);
    }
}

static void
print_sum (const GPtrArray *rows, const char *out)
{
  guint n[GRADE_REFUSED + 1] = { 0 };

  for (guint i = 0; i < rows->len; i++)
    n[((const GradeRow *)rows->pdata[i])->verdict]++;
  printf ("%u hand-in%s:", rows->len, rows->len == 1 ? "" : "s");
  for (guint i = 0, first = 1; i <= GRADE_REFUSED; i++)
    if (n[i] > 0)
      {
        printf ("%s %u %s", first ? "" : ",", n[i], grade_verdicts[i]);
        first = 0;
      }
  g_autofree char *file = out != NULL ? command_printable (out) : NULL;
  printf (".%s%s%s\n", file != NULL ? " The table is " : "", file != NULL ? file : "", file != NULL ? "." : "");
}

/* ---- the command --------------------------------------------------------------------- */

static int
by_file (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(GradeRow *const *)a)->file, (*(GradeRow *const *)b)->file);
}

/* The hand-ins of a folder, sorted; links and folders in it are not followed. */
static GPtrArray *
list (const char *folder, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)grade_row_free);
  g_auto (GStrv) names = loom_path_names (folder, error);

  for (guint i = 0; names != NULL && names[i] != NULL && rows->len <= MOST_FILES; i++)
    {
      const char *name = names[i];
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_str_has_suffix (name, LOOM_HAND_IN_SUFFIX) && *name != '.' && !loom_path_is_link (path)
          && loom_path_is_file (path))
        g_ptr_array_add (rows, grade_row_new (name));
    }
  if (names == NULL)
    return NULL;
  if (rows->len == 0 || rows->len > MOST_FILES)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   rows->len == 0 ? "%s has no file that ends in " LOOM_HAND_IN_SUFFIX "."
                                  : "%s has more than 10,000 hand-ins. Divide it.",
                   folder);
      return NULL;
    }
  g_ptr_array_sort (rows, by_file);
  return g_steal_pointer (&rows);
}

static int
grade_folder (const Command *command, const char *folder, const Options *o)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rows = list (folder, &error);

  if (rows == NULL || !grade_all (o, folder, rows, &error))
    return command_fail (command, g_steal_pointer (&error));
  compare_rows (rows);
  for (guint i = 0; i < rows->len; i++)
    (o->json ? print_event : print_row) (rows->pdata[i]);
  if (o->out != NULL && !write_csv (rows, o->out, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (!o->json)
    print_sum (rows, o->out);
  return 0;
}

static int
grade_file (const Command *command, const GradeKey *key, const char *path, const Options *o)
{
  const GradeOptions options = { o->steps, o->seconds, o->tolerance };
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)grade_row_free);
  g_autoptr (GError) error = NULL;

  g_ptr_array_add (rows, grade_hand_in (key, path, &options));
  (o->json ? print_event : print_row) (rows->pdata[0]);
  if (o->out != NULL && !write_csv (rows, o->out, &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

static int
run_grade (const Command *command, int argc, char **argv)
{
  g_auto (Options) o = { .seconds = SECONDS, .tolerance = TOLERANCE };
  const GOptionEntry entries[] = {
    { "key", 0, 0, G_OPTION_ARG_FILENAME, &o.key, "Graph with the lesson, its goals and right answers, and its data",
      "GRAPH" },
    { "out", 'o', 0, G_OPTION_ARG_FILENAME, &o.out, "Table to write", "F.csv" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &o.steps, "Repeat at most N steps of each run (default: all)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &o.seconds, "Repeat each run for at most S seconds (60)", "S" },
    { "tolerance", 0, 0, G_OPTION_ARG_DOUBLE, &o.tolerance,
      "Difference of curves of another machine, relative to the first losses (0.05)", "X" },
    { "jobs", 0, 0, G_OPTION_ARG_INT, &o.jobs, "Hand-ins that are repeated at a time (default: one per processor)",
      "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print events as JSON, one object per line", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_auto (GradeKey) key = { NULL };

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one FOLDER of hand-ins, or one hand-in.");
  if (o.key == NULL)
    return command_usage (command, "--key names the graph whose lesson has the goals and the right answers.");
  if (!(o.seconds > 0 && o.seconds <= 86400) || !(o.tolerance >= 0 && o.tolerance <= 1))
    return command_usage (command, "--seconds takes a positive number up to 86400, --tolerance one from 0 to 1.");
  if (!command_can_write (o.out))
    return command_usage (command, "--out %s: the folder of this file does not exist or is not writable.", o.out);
  if (!grade_key_read (&key, o.key, &error))
    return command_fail (command, g_steal_pointer (&error));
  return loom_path_is_folder (argv[1]) ? grade_folder (command, argv[1], &o) : grade_file (command, &key, argv[1], &o);
}

const Command command_grade = {
  .name = "grade",
  .arguments = "FOLDER --key GRAPH",
  .summary = "repeat the runs that learners have handed in, and check goals",
  .details
  = "Each hand-in of the folder (*.gradloom) is read and its run repeated from its first step, in a process of its "
    "own\n"
    "and in a temporary folder. On the kind of machine that trained it, with the same program, every line of the log\n"
    "and the weights must have the same bits. On another kind the curve must stay within --tolerance, which a change\n"
    "smaller than that does, too. The table says how many steps were repeated.\n\n"
    "holds      what was repeated agrees\n"
    "untrained  a graph and answers without a run\n"
    "shared     the run, by its times, is also in the file of somebody else; both rows say so\n"
    "changed    the log, the weights, the times or the graph do not belong together; the findings say where\n"
    "refused    the file cannot be read, or the run not be repeated\n\n"
    "Learners who have trained the same graph with the same seed are noted as equal, and hold. Goals and right\n"
    "answers are those of the key; pages with a goal “selected” are left out. Goals are checked on the graph that was\n"
    "trained, so a key asks for what holds at the end. A graph of a hand-in may read the data sets and the initial\n"
    "weights that the key names, by the last part of their paths, and nothing else.\n\n"
    "  gradloom grade handed-in --key lesson.xml -o grades.csv\n",
  .run = run_grade,
};
