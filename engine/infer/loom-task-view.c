#include "engine/infer/loom-task-view.h"

#include "engine/infer/loom-answer-port.h"

#define MAX_IMAGE_SIDE 256

void
loom_task_view_free (LoomTaskView *task)
{
  if (task == NULL)
    return;
  g_free (task->why);
  g_free (task->why_not);
  g_free (task->data_path);
  g_free (task->answer_path);
  g_free (task);
}

static LoomTaskView *
none (LoomTaskView *task, const char *why)
{
  task->kind = LOOM_TASK_VIEW_NONE;
  task->why = g_strdup (why);
  return task;
}

/* ---- the data set -------------------------------------------------------- */

/* The only data set, or -1; *n receives their number. */
static int
find_data (const LoomNet *net, guint *n)
{
  int found = -1;

  *n = 0;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    if (loom_net_is_dataset (net, i))
      {
        found = (int)i;
        ++*n;
      }
  return *n == 1 ? found : -1;
}

/* The size of dimension i, or -1 if it is unknown. */
static gint64
side (const LoomType *type, int i)
{
  return loom_dim_value (type->shape.dim[i], NULL);
}

static gboolean
is_image (const LoomType *x)
{
  const int rank = x->shape.rank;
  const gint64 channels = rank == 4 ? side (x, 1) : 1;

  if (rank != 3 && rank != 4)
    return FALSE;
  const gint64 height = side (x, rank - 2), width = side (x, rank - 1);
  return (channels == 1 || channels == 3) && height >= 2 && width >= 2 && height <= MAX_IMAGE_SIDE
         && width <= MAX_IMAGE_SIDE;
}

/* TRUE if there is a class for each position of x: it is then a sequence, although a row of vectors has the shape of an
 * image. */
static gboolean
has_places (const LoomType *x, const LoomType *y)
{
  return x->shape.rank == 3 && y != NULL && y->shape.rank == 2 && !loom_dtype_is_float (y->dtype)
         && side (x, 1) == side (y, 1);
}

/* y may be NULL. */
static LoomTaskViewKind
kind_of (const LoomType *x, const LoomType *y)
{
  const int rank = x->shape.rank;

  for (int i = 1; i < rank; i++)
    if (side (x, i) <= 0)
      return LOOM_TASK_VIEW_NONE;
  if (!loom_dtype_is_float (x->dtype))
    return rank <= 2 ? LOOM_TASK_VIEW_SEQUENCES : LOOM_TASK_VIEW_NONE;
  if (has_places (x, y))
    return LOOM_TASK_VIEW_SEQUENCES;
  if (is_image (x))
    return LOOM_TASK_VIEW_IMAGES;
  if (rank == 0 || rank > 2)
    return LOOM_TASK_VIEW_NONE;
  const gint64 n = rank == 2 ? side (x, 1) : 1;
  return n == 1 ? LOOM_TASK_VIEW_LINE : n == 2 ? LOOM_TASK_VIEW_PLANE : LOOM_TASK_VIEW_ROWS;
}

/* ---- target and prediction ----------------------------------------------- */

/* TRUE if a prediction is compared with this input. A variadic operator has one spec for all inputs. */
static gboolean
has_target (const LoomNetNode *node, guint input)
{
  return node->input_spec != NULL && (node->input_spec[0].flags & LOOM_PORT_VARIADIC) == 0
         && (node->input_spec[input].flags & LOOM_PORT_TARGET) != 0;
}

/* The port of the data set that a loss uses as its target; the second port if none is wired yet. If the target is x
 * itself (an autoencoder), the prediction is an x, and y is only a label. */
static guint
find_target (const LoomNet *net, const LoomTaskView *task)
{
  const guint n = loom_net_node (net, task->data)->n_outputs;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      for (guint k = 0; k < node->n_inputs; k++)
        if (has_target (node, k) && node->input[k].node == task->data && node->input[k].output < n
            && node->input[k].output != task->x)
          return node->input[k].output;
    }
  return n == 2 ? 1 - task->x : n > 1 && task->x == 0 ? 1 : G_MAXUINT;
}

/* FALSE: an input is of another node, or there are too many. */
static gboolean
list_others (const LoomNet *net, const LoomNetSource *output, LoomTaskView *task)
{
  g_autoptr (GArray) all = loom_answer_list_inputs (net, output);

  for (guint i = 0; i < all->len; i++)
    {
      const LoomNetSource *source = &g_array_index (all, LoomNetSource, i);

      if (source->node != task->data || (source->output != task->x && task->n_others == LOOM_TASK_VIEW_OTHERS))
        {
          task->n_others = 0;
          return FALSE;
        }
      if (source->output != task->x)
        task->other[task->n_others++] = source->output;
    }
  return TRUE;
}

/* Detections [B,K,6], and boxes [B,M,5] as the second port of the data set. */
static gboolean
are_boxes (const LoomNet *net, const LoomNetSource *output, guint data)
{
  const LoomNetNode *node = loom_net_node (net, data);
  const LoomType *found = &loom_net_node (net, output->node)->output[output->output],
                 *boxes = node->n_outputs > 1 ? &node->output[1] : NULL;

  return boxes != NULL && found->shape.rank == 3 && side (found, 2) == LOOM_DETECTION_NUMBERS && boxes->shape.rank == 3
         && side (boxes, 2) == 5 && loom_dtype_is_float (boxes->dtype);
}

static gboolean
find_answer (const LoomNet *net, const LoomTrainSpec *spec, LoomTaskView *task)
{
  LoomNetSource output, input;

  if (spec == NULL || !loom_answer_find_output (net, spec, NULL, &output, NULL)
      || !loom_net_node (net, output.node)->typed || loom_net_is_weight (net, &output))
    {
      task->why_not = g_strdup ("The graph has no loss that compares a prediction with a target.");
      return FALSE;
    }
  task->answer_path = g_strdup (loom_net_node (net, output.node)->path);
  task->answer = loom_answer_kind (loom_train_output_kind (spec, net, &output));
  task->boxes = are_boxes (net, &output, task->data);
  if (!loom_answer_find_input (net, &output, &input, NULL, NULL) || input.node != task->data)
    {
      if (!(loom_answer_find_input (net, &output, &input, &task->writes, NULL) && task->writes))
        list_others (net, &output, task);
      task->why_not = g_strdup_printf ("“%s” does not depend on one port of the data alone.", task->answer_path);
      return FALSE;
    }
  task->x = input.output;
  if (loom_answer_find_blank (net, &output) >= 0)
    {
      task->why_not = g_strdup_printf ("“%s” has classes for steps, of which ctc_loss makes labels; gradloom predict "
                                       "prints them.",
                                       task->answer_path);
      return FALSE;
    }
  return TRUE;
}

LoomTaskView *
loom_task_view_new (const LoomNet *net, const LoomTrainSpec *spec)
{
  LoomTaskView *task = g_new0 (LoomTaskView, 1);
  guint n;
  int data = find_data (net, &n);

  task->y = G_MAXUINT;
  if (n != 1)
    return none (task, n == 0 ? "This graph has no data set to show."
                              : "This graph has several data sets, but a picture shows the samples of one.");
  const LoomNetNode *node = loom_net_node (net, (guint)data);
  task->data = (guint)data;
  task->data_path = g_strdup (node->path);
  if (!node->typed || node->n_outputs == 0)
    return none (task, "The data are missing or not known yet.");
  task->predicts = find_answer (net, spec, task);
  task->y = task->boxes ? 1 : find_target (net, task);
  task->kind = kind_of (&node->output[task->x], task->y != G_MAXUINT ? &node->output[task->y] : NULL);
  if (task->kind == LOOM_TASK_VIEW_NONE)
    return none (task, "Samples of this shape have no picture; numbers, images, texts and sequences do.");
  if (task->y != G_MAXUINT && !task->boxes)
    task->classes
        = !loom_dtype_is_float (node->output[task->y].dtype) || (task->predicts && task->answer == LOOM_ANSWER_YES);
  return task;
}
