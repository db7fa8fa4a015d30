/* Lessons: pages of a graph file that a learner walks through, each ticked when what it asks for is so.
 *
 *   <lesson title="Why an activation is needed">
 *     <page title="One fold" spotlight="hidden" hint="…"
 *           goal="hidden.out_features above 15, val_loss below 0.2">Markdown</page>
 *   </lesson>
 *
 * A goal is a list of clauses, all of which must hold; docs/file-format.md has the clauses. Studio shows lessons,
 * `gradloom check` reads them for faults. */
#pragma once

#include "engine/net/loom-net.h"

typedef struct _LoomGoal LoomGoal;

typedef struct
{
  guint64 serial;   /* of the <page> */
  char *title;      /* "" where it has none */
  char *text;       /* Markdown, without the common indent of its lines */
  char *hint;       /* NULL: none */
  char **spotlight; /* ids of nodes; NULL: none */
  char **palette;   /* names of the operators in the palette; NULL: all */
  char *goal_text;  /* as written; NULL: none */
  LoomGoal *goal;   /* NULL: the page is done when it has been read */
} LoomLessonPage;

typedef struct
{
  guint64 serial; /* of the <lesson> */
  char *title;
  GPtrArray *pages;     /* LoomLessonPage */
  gboolean has_hand_in; /* hand_in="true" */
} LoomLesson;

/* Queries of goals that graph and net do not answer. Each function may be NULL: its kind is then unknown. */
typedef struct
{
  /* "loss", "val_loss", "accuracy", "step" …: the newest value in the run of the graph as it is; NaN if there is
   * none. */
  double (*figure) (const char *name, gpointer data);
  gboolean (*is_pinned) (const char *tensor, gpointer data);
  gboolean (*is_selected) (const char *path, gpointer data);
  const char *answer; /* the typed answer of the learner; may be NULL */
  gboolean has_faults;
  gpointer data;
} LoomLessonState;

void loom_lesson_free (LoomLesson *lesson);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomLesson, loom_lesson_free)

/* The lessons of the graph (LoomLesson), in order; never NULL. Goals that cannot be parsed are faults of code SCHEMA
 * at the line of their page, which then has no goal. */
GPtrArray *loom_lessons_new (const LoomGraph *graph, LoomFaults *faults);

/* Whether two lessons, of one graph at two times, are equal and belong to the same elements. */
gboolean loom_lesson_equal (const LoomLesson *a, const LoomLesson *b);

/* NULL and a SCHEMA error, one sentence, if the text is no goal. Never NULL and no error otherwise. */
LoomGoal *loom_goal_new (const char *text, GError **error);
void loom_goal_free (LoomGoal *goal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomGoal, loom_goal_free)

guint loom_goal_n_clauses (const LoomGoal *goal);
/* A clause as a sentence for the learner: "the loss on validation data is below 0.2". Owned by the goal. */
const char *loom_goal_clause_text (const LoomGoal *goal, guint i);
/* TRUE if the clause holds. Only reads the graph and its net. */
gboolean loom_goal_clause_holds (const LoomGoal *goal, guint i, const LoomGraph *graph, const LoomNet *net,
                                 const LoomLessonState *state);
/* TRUE if all hold; of no goal (NULL), FALSE. */
gboolean
loom_goal_is_met (const LoomGoal *goal, const LoomGraph *graph, const LoomNet *net, const LoomLessonState *state);
/* TRUE if one of the clauses needs a typed answer. */
gboolean loom_goal_needs_answer (const LoomGoal *goal);
/* The right answer of the first clause that needs one: "" if the file does not say it, NULL if no clause needs one. */
const char *loom_goal_answer (const LoomGoal *goal);
/* TRUE if one of the clauses asks what is selected, which no file says. */
gboolean loom_goal_needs_selection (const LoomGoal *goal);
/* What is wrong with an answer. */
typedef enum
{
  LOOM_GOAL_REPLY_NONE, /* nothing: it is right, there is none yet, or the goal needs none */
  LOOM_GOAL_REPLY_TOO_SMALL,
  LOOM_GOAL_REPLY_TOO_LARGE,
  LOOM_GOAL_REPLY_WRONG_SIGN,
  LOOM_GOAL_REPLY_NO_NUMBER, /* it is a word, and a number is right */
  LOOM_GOAL_REPLY_NO_WORD,   /* it is a number, and a word is right */
  LOOM_GOAL_REPLY_WRONG      /* it is another word than the right one */
} LoomGoalReply;

LoomGoalReply loom_goal_reply (const LoomGoal *goal, const char *answer);
