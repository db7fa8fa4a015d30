/* Evaluates the goals of the key on what was handed in. The learner's own lesson is not read. */
#include "app/grade.h"

#include "app/shared/command.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

typedef struct
{
  const LoomGraph *graph;
  const GradeMetrics *metrics;
  LoomRunStep step; /* the last one; step 0: none */
  JsonParser *val_parser, *test_parser;
  JsonObject *val, *test; /* the last evaluation of each split; NULL: none */
} Figures;

/* ---- figures --------------------------------------------------------------- */

static void
read_line (Figures *f, const char *line, const char *end)
{
  g_autoptr (JsonParser) parser = NULL;
  JsonObject *event;

  if (loom_run_event_step (line, end, &f->step) || !loom_run_event_is (line, end, "eval"))
    return;
  parser = json_parser_new ();
  event = loom_run_event_parse (parser, line, (gsize)(end - line));
  if (event == NULL)
    return;
  if (g_str_equal (loom_run_event_text (event, "split", ""), "val"))
    {
      f->val = event;
      g_set_object (&f->val_parser, parser);
    }
  else
    {
      f->test = event;
      g_set_object (&f->test_parser, parser);
    }
}

static void
read_log (Figures *f, const char *log)
{
  const char *end;

  for (; log != NULL && (end = strchr (log, '\n')) != NULL; log = end + 1)
    read_line (f, log, end);
}

static double
of_evaluation (JsonObject *event, const char *name)
{
  g_autoptr (GArray) values = NULL;
  g_autoptr (GPtrArray) names = NULL;

  if (event == NULL)
    return NAN;
  if (g_str_equal (name, "loss"))
    return loom_run_event_number (event, "loss");
  names = loom_run_event_metrics (event, &values);
  for (guint i = 0; i < values->len; i++)
    if (g_str_equal (names->pdata[i], name))
      return g_array_index (values, double, i);
  return NAN;
}

/* As in Studio, data without validation samples are validated on the test samples. */
static double
figure (const char *name, gpointer data)
{
  const Figures *f = data;

  if (g_str_has_prefix (name, "val_"))
    return of_evaluation (f->val != NULL ? f->val : f->test, name + strlen ("val_"));
  if (g_str_has_prefix (name, "test_"))
    return of_evaluation (f->test, name + strlen ("test_"));
  if (f->step.step == 0)
    return NAN;
  if (g_str_equal (name, "step"))
    return (double)f->step.step;
  if (g_str_equal (name, "epoch"))
    return (double)f->step.epoch;
  if (g_str_equal (name, "loss"))
    return f->step.loss;
  for (guint i = 0; f->metrics != NULL && i < f->metrics->name->len; i++)
    if (g_str_equal (f->metrics->name->pdata[i], name))
      return g_array_index (f->metrics->value, double, i);
  return NAN;
}

/* "q" means any tensor of that node, "q.out" a particular one. */
static gboolean
is_pinned (const char *tensor, gpointer data)
{
  const LoomElement *view = loom_element_find (loom_graph_root (((Figures *)data)->graph), LOOM_TAG_VIEW);
  const gsize length = strlen (tensor);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const char *pinned = loom_element_get (loom_element_child (view, i), "tensor");

      if (pinned != NULL && strncmp (pinned, tensor, length) == 0 && (pinned[length] == '\0' || pinned[length] == '.'))
        return TRUE;
    }
  return FALSE;
}

/* ---- pages ----------------------------------------------------------------- */

/* A page is found by its title, and if it has none, by its number. */
static const char *
answer_to (const LoomHandIn *hand_in, const LoomLessonPage *page, guint number)
{
  for (guint i = 0; i < hand_in->answers->len; i++)
    {
      const LoomHandInAnswer *answer = hand_in->answers->pdata[i];

      if (page->title[0] != '\0' ? g_str_equal (answer->title, page->title) : answer->page == number)
        return answer->text;
    }
  return NULL;
}

static char *
page_name (const LoomLessonPage *page, guint number)
{
  return page->title[0] != '\0' ? g_strdup (page->title) : g_strdup_printf ("page %u", number);
}

void
grade_goals (const GradeKey *key, const LoomHandIn *hand_in, const LoomGraph *graph, const char *log,
             const GradeMetrics *metrics, GradeRow *row)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  Figures f = { .graph = graph, .metrics = metrics };
  LoomLessonState state = { .figure = figure, .is_pinned = is_pinned, .data = &f };

  state.has_faults = loom_faults_count (faults) > 0;
  read_log (&f, log);
  for (guint i = 0; i < key->lessons->len; i++)
    {
      const LoomLesson *lesson = key->lessons->pdata[i];

      for (guint k = 0; k < lesson->pages->len; k++)
        {
          const LoomLessonPage *page = lesson->pages->pdata[k];
          const char *right = loom_goal_answer (page->goal);
          /* An open question is for the lecturer to read. */
          const gboolean has_right_answer = right != NULL && right[0] != '\0';

          if (page->goal == NULL || loom_goal_needs_selection (page->goal))
            continue;
          state.answer = answer_to (hand_in, page, k + 1);
          row->goals++;
          row->questions += has_right_answer;
          row->right += has_right_answer && state.answer != NULL
                        && loom_goal_reply (page->goal, state.answer) == LOOM_GOAL_REPLY_NONE;
          if (loom_goal_is_met (page->goal, graph, net, &state))
            row->met++;
          else
            g_ptr_array_add (row->unmet, page_name (page, k + 1));
        }
    }
  for (guint i = 0; i < hand_in->answers->len; i++)
    {
      const LoomHandInAnswer *answer = hand_in->answers->pdata[i];

      g_ptr_array_add (row->answers, g_strdup_printf ("%" G_GINT64_FORMAT ": %s", answer->page, answer->text));
    }
  g_clear_object (&f.val_parser);
  g_clear_object (&f.test_parser);
}
