/* Reads the goals of lesson pages: clauses of words become table entries with arguments, which are evaluated on a
 * graph.
 *
 * To add a clause, add one entry to the table below: its words, the function that reads them, and the one that
 * evaluates it. */
#include "engine/lesson/lesson-private.h"
#include "engine/core/loom-fault.h"
#include "engine/core/loom-refuse.h"
#include "engine/lesson/loom-lesson.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

typedef struct _Clause Clause;

typedef struct
{
  const LoomGraph *graph;
  const LoomNet *net;
  const LoomLessonState *state;
} GoalContext;

typedef struct
{
  const char *form; /* as in docs/file-format.md */
  /* FALSE without an error: the words belong to another clause. */
  gboolean (*read) (Clause *clause, char **word, guint n, GError **error);
  gboolean (*holds) (const Clause *clause, const GoalContext *context);
} Form;

typedef enum
{
  IS,
  BELOW,
  ABOVE,
  AT_LEAST,
  AT_MOST,
  N_RELATIONS
} Relation;

struct _Clause
{
  const Form *form;
  char *text; /* the sentence */
  char **word;
  char *subject, *member; /* "hidden" and "out_features" of "hidden.out_features" */
  Relation relation;
  char *value;
  double number; /* of value; NaN if it is no number */
};

struct _LoomGoal
{
  GPtrArray *clauses;
};

static void
clause_free (gpointer data)
{
  Clause *clause = data;

  g_free (clause->text);
  g_strfreev (clause->word);
  g_free (clause->subject);
  g_free (clause->member);
  g_free (clause->value);
  g_free (clause);
}

static double
number_of (const char *text)
{
  char *end;
  double number = g_ascii_strtod (text, &end);

  return end != text && *end == '\0' ? number : NAN;
}

static const struct
{
  const char *word[2], *sentence; /* one or two words of a clause, and their text in its sentence */
} relations[N_RELATIONS] = {
  [IS] = { { "is" }, N_ ("is") },
  [BELOW] = { { "below" }, N_ ("is below") },
  [ABOVE] = { { "above" }, N_ ("is above") },
  [AT_LEAST] = { { "at", "least" }, N_ ("is at least") },
  [AT_MOST] = { { "at", "most" }, N_ ("is at most") },
};

/* A relation after the first word, and the value on its right. */
static gboolean
read_relation (Clause *clause, char **word, guint n)
{
  for (Relation r = 0; r < N_RELATIONS; r++)
    {
      const guint length = relations[r].word[1] != NULL ? 2 : 1;

      if (n != 2 + length || !g_str_equal (word[1], relations[r].word[0])
          || (length == 2 && !g_str_equal (word[2], relations[r].word[1])))
        continue;
      clause->relation = r;
      clause->value = g_strdup (word[n - 1]);
      clause->number = number_of (clause->value);
      return TRUE;
    }
  return FALSE;
}

static gboolean
needs_number (const Clause *clause, GError **error)
{
  if (!isnan (clause->number))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_SCHEMA, "“%s” is compared with “%s”, which is not a number", clause->word[0],
                      clause->value);
}

static gboolean
compare (const Clause *clause, double found)
{
  const gboolean equal = fabs (found - clause->number) <= 1e-6 * MAX (1, fabs (clause->number));
  const gboolean holds[N_RELATIONS] = { [IS] = equal,
                                        [BELOW] = found<clause->number, [ABOVE] = found> clause->number,
                                        [AT_LEAST] = equal || found > clause->number,
                                        [AT_MOST] = equal || found < clause->number };

  return !isnan (found) && holds[clause->relation];
}

/* A sentence in the language of Studio. (transfer full) */
static char *G_GNUC_PRINTF (1, 2) goal_text (const char *format, ...)
{
  char *text;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (loom_faults_translate (format), args);
  va_end (args);
  return text;
}

static const char *
relation_words (const Clause *clause)
{
  return loom_faults_translate (relations[clause->relation].sentence);
}

/* ---- figures of a run ---------------------------------------------------------------- */

/* "val_loss" → "the loss on validation data". (transfer full) */
static char *
name_figure (const char *name)
{
  if (g_str_equal (name, "step"))
    return goal_text ("the step of the run");
  if (g_str_equal (name, "epoch"))
    return goal_text ("the epoch of the run");
  if (g_str_has_prefix (name, "val_"))
    return goal_text ("the %s on validation data", name + strlen ("val_"));
  if (g_str_has_prefix (name, "test_"))
    return goal_text ("the %s on test data", name + strlen ("test_"));
  return goal_text ("the %s in training", name);
}

static gboolean
read_figure (Clause *clause, char **word, guint n, GError **error)
{
  if (n == 0 || strchr (word[0], '.') != NULL || !read_relation (clause, word, n))
    return FALSE;
  g_autofree char *name = name_figure (word[0]);

  clause->text = g_strdup_printf ("%s %s %s", name, relation_words (clause), clause->value);
  return needs_number (clause, error);
}

static gboolean
figure_holds (const Clause *clause, const GoalContext *context)
{
  return context->state->figure != NULL
         && compare (clause, context->state->figure (clause->word[0], context->state->data));
}

/* ---- attributes ---------------------------------------------------------------------- */

static gboolean
read_attribute (Clause *clause, char **word, guint n, GError **error)
{
  char *dot = n > 0 ? strrchr (word[0], '.') : NULL;

  if (dot == NULL || dot == word[0] || dot[1] == '\0' || !read_relation (clause, word, n))
    return FALSE;
  clause->subject = g_strndup (word[0], (gsize)(dot - word[0]));
  clause->member = g_strdup (dot + 1);
  /* A sentence begins with a capital letter, but a name must not be changed. */
  clause->text
      = g_str_equal (clause->subject, "train")
            ? goal_text ("in the training settings, %s %s %s", clause->member, relation_words (clause), clause->value)
            : goal_text ("in %s, %s %s %s", clause->subject, clause->member, relation_words (clause), clause->value);
  return clause->relation == IS || needs_number (clause, error);
}

static gboolean
attribute_holds (const Clause *clause, const GoalContext *context)
{
  const char *value = lesson_attribute (context->graph, clause->subject, clause->member);

  if (value == NULL)
    return FALSE;
  return isnan (clause->number) ? g_str_equal (value, clause->value) : compare (clause, number_of (value));
}

/* ---- shape of the graph -------------------------------------------------------------- */

static gboolean
is_operator (const char *name, GError **error)
{
  if (g_str_equal (name, "*") || loom_op (name) != NULL)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_SCHEMA, "there is no operator “%s”", name);
}

static gboolean
read_chain (Clause *clause, char **word, guint n, GError **error)
{
  if (n < 2 || !g_str_equal (word[0], "chain"))
    return FALSE;
  for (guint i = 1; i < n; i++)
    if (!is_operator (word[i], error))
      return FALSE;
  g_autofree char *list = g_strjoinv (" → ", word + 1);

  clause->text = n == 2 ? goal_text ("the graph has a %s", word[1]) : goal_text ("the graph has %s", list);
  return TRUE;
}

/* A node that matches the last of the operators word[0 … i]. */
typedef struct
{
  guint i, node;
} Reached;

/* TRUE if a path with the operators word[0 … i] leads to some node; "*" matches any number of nodes, also none.
 * `visited` keeps the search linear in nodes for each word, and `open` is a stack on the heap, because a graph may
 * be a chain of 100,000 nodes. */
static gboolean
chain_holds (const Clause *clause, const GoalContext *context)
{
  g_autoptr (GHashTable) visited = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (Reached));
  const LoomNet *net = context->net;
  char **word = clause->word + 1;
  const guint n_nodes = loom_net_n_nodes (net), n_words = g_strv_length (word);

  for (guint node = n_nodes; node-- > 0;)
    g_array_append_val (open, ((Reached){ n_words - 1, node }));
  while (open->len > 0)
    {
      const Reached at = g_array_index (open, Reached, open->len - 1);
      const LoomNetNode *n = loom_net_node (net, at.node);
      const gboolean any = g_str_equal (word[at.i], "*");

      g_array_set_size (open, open->len - 1);
      /* A muted node is excluded from the computation. */
      if (!g_hash_table_add (visited, GUINT_TO_POINTER (at.i * n_nodes + at.node + 1)) || n->muted
          || (!any && (n->op == NULL || !g_str_equal (n->op->name, word[at.i]))))
        continue;
      if (at.i == 0)
        return TRUE;
      for (guint k = 0; k < n->n_inputs; k++)
        if (n->input[k].node != G_MAXUINT)
          g_array_append_val (open, ((Reached){ any ? at.i : at.i - 1, n->input[k].node }));
      if (any)
        g_array_append_val (open, ((Reached){ at.i - 1, at.node }));
    }
  return FALSE;
}

static gboolean
read_no (Clause *clause, char **word, guint n, GError **error)
{
  if (n != 2 || !g_str_equal (word[0], "no"))
    return FALSE;
  clause->text = goal_text ("the graph has no %s", word[1]);
  return is_operator (word[1], error);
}

static gboolean
no_holds (const Clause *clause, const GoalContext *context)
{
  for (guint i = 0; i < loom_net_n_nodes (context->net); i++)
    if (loom_net_node (context->net, i)->op != NULL && !loom_net_node (context->net, i)->muted
        && g_str_equal (loom_net_node (context->net, i)->op->name, clause->word[1]))
      return FALSE;
  return TRUE;
}

static gboolean
read_wired (Clause *clause, char **word, guint n, GError **error)
{
  if (n != 3 || !g_str_equal (word[0], "wired"))
    return FALSE;
  clause->text = goal_text ("a wire leads from %s to %s", word[1], word[2]);
  return TRUE;
}

static gboolean
wired_holds (const Clause *clause, const GoalContext *context)
{
  g_autofree char *from = NULL, *from_port = NULL, *to = NULL, *to_port = NULL;
  int source, target;

  if (!loom_end_split (clause->word[1], &from, &from_port) || !loom_end_split (clause->word[2], &to, &to_port))
    return FALSE;
  source = loom_net_find (context->net, from);
  target = loom_net_find (context->net, to);
  if (source < 0 || target < 0)
    return FALSE;
  const LoomNetNode *s = loom_net_node (context->net, (guint)source), *t = loom_net_node (context->net, (guint)target);
  int wanted = to_port == NULL                ? -1
               : g_ascii_isdigit (to_port[0]) ? (int)g_ascii_strtoll (to_port, NULL, 10)
                                              : loom_net_find_input (t, to_port);
  if (to_port != NULL && wanted < 0)
    return FALSE;
  for (guint k = 0; k < t->n_inputs; k++)
    {
      const LoomNetSource *in = &t->input[k];

      if (in->node == (guint)source && (wanted < 0 || (guint)wanted == k)
          && (from_port == NULL
              || (in->output < s->n_outputs && g_strcmp0 (s->output_spec[in->output].name, from_port) == 0)))
        return TRUE;
    }
  return FALSE;
}

/* ---- answers of the learner ---------------------------------------------------------- */

static gboolean
read_pinned (Clause *clause, char **word, guint n, GError **error)
{
  if (n != 2 || !g_str_equal (word[0], "pinned"))
    return FALSE;
  clause->text = g_str_has_prefix (word[1], "grad:")
                     ? goal_text ("the gradient of %s is watched", word[1] + strlen ("grad:"))
                     : goal_text ("the output of %s is watched", word[1]);
  return TRUE;
}

static gboolean
pinned_holds (const Clause *clause, const GoalContext *context)
{
  return context->state->is_pinned != NULL && context->state->is_pinned (clause->word[1], context->state->data);
}

static gboolean
read_selected (Clause *clause, char **word, guint n, GError **error)
{
  if (n != 2 || !g_str_equal (word[0], "selected"))
    return FALSE;
  clause->text = goal_text ("the card %s is selected", word[1]);
  return TRUE;
}

static gboolean
selected_holds (const Clause *clause, const GoalContext *context)
{
  return context->state->is_selected != NULL && context->state->is_selected (clause->word[1], context->state->data);
}

static gboolean
read_answer (Clause *clause, char **word, guint n, GError **error)
{
  if (n < 1 || !g_str_equal (word[0], "answer"))
    return FALSE;
  clause->value = n > 1 ? g_strjoinv (" ", word + 1) : g_strdup ("");
  clause->number = number_of (clause->value);
  clause->text = goal_text ("the question is answered");
  return TRUE;
}

/* A number matches within one in a thousand, because learners round; words match without regard to case. */
static gboolean
answer_holds (const Clause *clause, const GoalContext *context)
{
  g_autofree char *given = context->state->answer != NULL ? g_strstrip (g_strdup (context->state->answer)) : NULL;

  if (given == NULL || given[0] == '\0')
    return FALSE;
  if (clause->value[0] == '\0')
    return TRUE; /* the file does not have the right one: a lecturer's key has it */
  if (isnan (clause->number))
    {
      g_autofree char *a = g_utf8_casefold (given, -1), *b = g_utf8_casefold (clause->value, -1);

      return g_str_equal (a, b);
    }
  return fabs (number_of (given) - clause->number) <= 1e-3 * fabs (clause->number) + 1e-9;
}

static gboolean
read_clean (Clause *clause, char **word, guint n, GError **error)
{
  if (n != 1 || !g_str_equal (word[0], "clean"))
    return FALSE;
  clause->text = goal_text ("the graph has no fault");
  return TRUE;
}

static gboolean
clean_holds (const Clause *clause, const GoalContext *context)
{
  return !context->state->has_faults;
}

/* ---- the table ----------------------------------------------------------------------- */

static const Form forms[] = {
  { "chain OP OP …", read_chain, chain_holds },
  { "no OP", read_no, no_holds },
  { "wired FROM TO", read_wired, wired_holds },
  { "pinned TENSOR", read_pinned, pinned_holds },
  { "selected NODE", read_selected, selected_holds },
  { "answer [VALUE]", read_answer, answer_holds },
  { "clean", read_clean, clean_holds },
  { "NODE.ATTRIBUTE is|below|above|at least|at most VALUE", read_attribute, attribute_holds },
  { "FIGURE is|below|above|at least|at most NUMBER", read_figure, figure_holds },
};

static Clause *
clause_new (const char *text, GError **error)
{
  g_autoptr (GString) list = g_string_new (NULL);
  Clause *clause = g_new0 (Clause, 1);
  GError *local = NULL;
  guint n;

  clause->word = lesson_words (text); /* the text has no commas, which separate clauses */
  if (clause->word == NULL)
    clause->word = g_new0 (char *, 1);
  n = g_strv_length (clause->word);
  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      clause->form = &forms[i];
      if (forms[i].read (clause, clause->word, n, &local))
        return clause;
      if (local != NULL)
        break;
      g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", forms[i].form);
    }
  if (local == NULL)
    g_set_error (&local, LOOM_ERROR, LOOM_ERROR_SCHEMA, "“%s” is not a clause of a goal. Clauses are: %s", text,
                 list->str);
  clause_free (clause);
  g_propagate_error (error, local);
  return NULL;
}

LoomGoal *
loom_goal_new (const char *text, GError **error)
{
  g_autoptr (LoomGoal) goal = g_new0 (LoomGoal, 1);
  g_auto (GStrv) part = g_strsplit (text, ",", -1);

  goal->clauses = g_ptr_array_new_with_free_func (clause_free);
  for (guint i = 0; part[i] != NULL; i++)
    {
      Clause *clause = clause_new (g_strstrip (part[i]), error);

      if (clause == NULL)
        return NULL;
      g_ptr_array_add (goal->clauses, clause);
    }
  if (goal->clauses->len == 0)
    return loom_refuse_null (error, LOOM_ERROR_SCHEMA, "a goal needs at least one clause");
  return g_steal_pointer (&goal);
}

void
loom_goal_free (LoomGoal *goal)
{
  if (goal == NULL)
    return;
  g_clear_pointer (&goal->clauses, g_ptr_array_unref);
  g_free (goal);
}

guint
loom_goal_n_clauses (const LoomGoal *goal)
{
  return goal != NULL ? goal->clauses->len : 0;
}

const char *
loom_goal_clause_text (const LoomGoal *goal, guint i)
{
  return ((const Clause *)goal->clauses->pdata[i])->text;
}

gboolean
loom_goal_clause_holds (const LoomGoal *goal, guint i, const LoomGraph *graph, const LoomNet *net,
                        const LoomLessonState *state)
{
  const Clause *clause = goal->clauses->pdata[i];
  const GoalContext context = { graph, net, state };

  return clause->form->holds (clause, &context);
}

gboolean
loom_goal_is_met (const LoomGoal *goal, const LoomGraph *graph, const LoomNet *net, const LoomLessonState *state)
{
  if (goal == NULL)
    return FALSE;
  for (guint i = 0; i < goal->clauses->len; i++)
    if (!loom_goal_clause_holds (goal, i, graph, net, state))
      return FALSE;
  return TRUE;
}

static gboolean
has_form (const LoomGoal *goal, gboolean (*holds) (const Clause *clause, const GoalContext *context))
{
  for (guint i = 0; i < loom_goal_n_clauses (goal); i++)
    if (((const Clause *)goal->clauses->pdata[i])->form->holds == holds)
      return TRUE;
  return FALSE;
}

gboolean
loom_goal_needs_answer (const LoomGoal *goal)
{
  return has_form (goal, answer_holds);
}

const char *
loom_goal_answer (const LoomGoal *goal)
{
  for (guint i = 0; i < loom_goal_n_clauses (goal); i++)
    {
      const Clause *clause = goal->clauses->pdata[i];

      if (clause->form->holds == answer_holds)
        return clause->value;
    }
  return NULL;
}

gboolean
loom_goal_needs_selection (const LoomGoal *goal)
{
  return has_form (goal, selected_holds);
}

/* For a number: whether it is one, and in which direction it is wrong. */
static LoomGoalReply
reply_to (const Clause *clause, const char *given)
{
  const double number = number_of (given);

  if (isnan (clause->number))
    return isnan (number) ? LOOM_GOAL_REPLY_WRONG : LOOM_GOAL_REPLY_NO_WORD;
  if (isnan (number))
    return LOOM_GOAL_REPLY_NO_NUMBER;
  if (number == -clause->number)
    return LOOM_GOAL_REPLY_WRONG_SIGN;
  return number < clause->number ? LOOM_GOAL_REPLY_TOO_SMALL : LOOM_GOAL_REPLY_TOO_LARGE;
}

LoomGoalReply
loom_goal_reply (const LoomGoal *goal, const char *answer)
{
  g_autofree char *given = g_strstrip (g_strdup (answer != NULL ? answer : ""));
  const LoomLessonState state = { .answer = given };
  const GoalContext context = { NULL, NULL, &state };

  for (guint i = 0; given[0] != '\0' && i < loom_goal_n_clauses (goal); i++)
    {
      const Clause *clause = goal->clauses->pdata[i];

      if (clause->form->holds == answer_holds && !answer_holds (clause, &context))
        return reply_to (clause, given);
    }
  return LOOM_GOAL_REPLY_NONE;
}
