/* `gradloom hand-in`: writes a run and the answers to a lesson's questions into one file for the lecturer. */
#include "app/commands.h"

#include "engine/runs/loom-runs.h"

#include <string.h>

typedef struct
{
  char *name, *out;
  char **answers;
  gboolean json;
} HandInOptions;

static void
options_clear (HandInOptions *o)
{
  g_free (o->name);
  g_free (o->out);
  g_strfreev (o->answers);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HandInOptions, options_clear)

/* "PAGE=TEXT". */
static gboolean
add_answer (LoomHandIn *hand_in, const LoomLesson *lesson, const char *text, GError **error)
{
  const char *equals = strchr (text, '=');
  g_autofree char *number = equals != NULL ? g_strndup (text, (gsize)(equals - text)) : g_strdup ("");
  gint64 page;

  if (!g_ascii_string_to_signed (number, 10, 1, LOOM_HAND_IN_MOST_ANSWERS, &page, NULL))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--answer takes the number of a page and the answer, such as --answer 2=0.25, not “%s”.", text);
      return FALSE;
    }
  if (lesson != NULL && (guint64)page > lesson->pages->len)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--answer %s: the lesson has %u page%s.", text,
                   lesson->pages->len, lesson->pages->len == 1 ? "" : "s");
      return FALSE;
    }
  const LoomLessonPage *shown
      = lesson != NULL ? lesson->pages->pdata[page - 1] : NULL;

  loom_hand_in_add_answer (hand_in, page, shown != NULL ? shown->title : NULL, equals + 1);
  return TRUE;
}

static LoomHandIn *
make (const char *path, const char *name, LoomGraph **graph, GError **error)
{
  *graph = command_read_graph (path, error);
  if (*graph == NULL)
    return NULL;
  return loom_path_is_folder (path) ? loom_hand_in_new (path, name, error) : loom_hand_in_new_untrained (*graph, name);
}

static int
run_hand_in (const Command *command, int argc, char **argv)
{
  g_auto (HandInOptions) o = { NULL };
  const GOptionEntry entries[] = {
    { "name", 0, 0, G_OPTION_ARG_STRING, &o.name, "Your name, as the lecturer knows it", "TEXT" },
    { "out", 'o', 0, G_OPTION_ARG_FILENAME, &o.out, "The file to write (default: the name)", "F.gradloom" },
    { "answer", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.answers, "The answer to the question of a page; may be repeated",
      "PAGE=TEXT" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print events as JSON, one object per line", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one RUN, or a GRAPH that was not trained.");
  if (o.name == NULL || o.name[strspn (o.name, " \t")] == '\0')
    return command_usage (command, "Say whose it is: --name \"Ada Lovelace\".");
  if (o.out != NULL && !g_str_has_suffix (o.out, LOOM_HAND_IN_SUFFIX))
    return command_usage (command, "The file of -o must end in " LOOM_HAND_IN_SUFFIX ": gradloom grade reads only such.");
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomHandIn) hand_in = make (argv[1], o.name, &graph, &error);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) lessons = hand_in != NULL ? loom_lessons_new (graph, faults) : NULL;

  for (guint i = 0; error == NULL && o.answers != NULL && o.answers[i] != NULL; i++)
    add_answer (hand_in, lessons->len > 0 ? lessons->pdata[0] : NULL, o.answers[i], &error);
  if (error == NULL && o.out == NULL)
    {
      g_autofree char *leaf = g_strdelimit (g_strdup (hand_in->name), "/\\", '-');
      o.out = g_strconcat (*leaf == '.' ? "_" : "", leaf, LOOM_HAND_IN_SUFFIX, NULL);
    }
  if (error != NULL || !loom_hand_in_write (hand_in, o.out, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (o.json)
    {
      LoomJson *json = command_event_new ("handed_in");

      loom_json_string (json, "file", o.out);
      loom_json_string (json, "name", hand_in->name);
      loom_json_int (json, "step", hand_in->step);
      loom_json_int (json, "answers", hand_in->answers->len);
      command_event_print (json);
      return 0;
    }
  g_autofree char *file = command_printable (o.out);
  printf ("%s has %s%" G_GINT64_FORMAT " steps and %u answer%s. Give it to your lecturer.\n", file,
          hand_in->has_run ? "a run of " : "no run, ", hand_in->step, hand_in->answers->len,
          hand_in->answers->len == 1 ? "" : "s");
  return 0;
}

const Command command_hand_in = {
  .name = "hand-in",
  .arguments = "RUN | GRAPH",
  .summary = "write a run and answers into one file for the lecturer",
  .details
  = "The file has the graph, the log of the run up to its newest checkpoint with every number that was changed, the\n"
    "hash of its weights, the times and the processor of the run, your name and your answers. It has no data, no\n"
    "weights and no path. The lecturer repeats the run with gradloom grade.\n\n"
    "  gradloom train graphs/lessons/spirals.xml --out run1\n"
    "  gradloom hand-in run1 --name \"Ada Lovelace\" --answer 2=0.25 -o ada.gradloom\n",
  .run = run_hand_in,
};
