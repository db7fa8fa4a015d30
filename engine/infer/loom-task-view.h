/* Describes the task of a graph, as far as a picture can show it.
 *
 * Pictures of points in a plane, of a curve through points, or of images with their classes follow from the types of
 * the data set's ports and from the loss's input; names of data sets or operators have no influence. */
#pragma once

#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"
#include "engine/infer/loom-answer.h"

typedef enum
{
  LOOM_TASK_VIEW_NONE,
  LOOM_TASK_VIEW_PLANE,     /* x is two numbers: points in a plane, and a surface over it */
  LOOM_TASK_VIEW_LINE,      /* x is one number: points and a curve */
  LOOM_TASK_VIEW_IMAGES,    /* x is a grey or coloured image */
  LOOM_TASK_VIEW_ROWS,      /* x is three numbers or more */
  LOOM_TASK_VIEW_SEQUENCES, /* x is integers, or vectors with a class each: a text, or a sequence of symbols */
  LOOM_N_TASK_VIEWS
} LoomTaskViewKind;

#define LOOM_TASK_VIEW_OTHERS 8

typedef struct
{
  LoomTaskViewKind kind;
  char *why;         /* of NONE: the reason, a sentence */
  guint data;        /* the data set's node in the net */
  char *data_path;   /* its path */
  guint x, y;        /* its ports: the input and the target; G_MAXUINT if there is no y */
  gboolean classes;  /* y is class indices, or "yes" and "no" */
  gboolean boxes;    /* y is the boxes of a data set, as loom_dataset_has_boxes(), and the prediction is detections */
  gboolean predicts; /* a trainer of this graph can predict samples of x */
  char *why_not;     /* !predicts: the reason, a sentence */
  char *answer_path; /* the path of the node with the prediction; NULL: there is none */
  LoomAnswerKind answer;
  /* If the prediction depends on more ports of the data than x, it is of x and these. A net that generates a sequence
   * (loom_predictor_writes()) reads them in training only: it then writes, and other is empty. */
  gboolean writes;
  guint n_others, other[LOOM_TASK_VIEW_OTHERS];
} LoomTaskView;

/* Never NULL. The net may have faults; spec may be NULL. Reads no data. */
LoomTaskView *loom_task_view_new (const LoomNet *net, const LoomTrainSpec *spec);
void loom_task_view_free (LoomTaskView *task);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTaskView, loom_task_view_free)
