/* Searches backwards along wires, because the tokens of an axis are those that its values were computed from: a
 * translation has two sentences, and the words of a target are not those of its source. */
#include "ui/pins/pin-tokens.h"

#include "ui/pins/pin-alignment.h"

/* A row of tokens for each sample, as long as the axis if both are known. */
static gboolean
has_tokens (const LoomNet *net, guint node, guint output, gint64 size)
{
  const LoomNetNode *n = loom_net_node (net, node);
  const LoomType *type;

  if (!loom_net_is_dataset (net, node) || !n->typed || output >= n->n_outputs)
    return FALSE;
  type = &n->output[output];
  return type->dtype == LOOM_I64 && type->shape.rank == 2
         && (size <= 0 || !loom_dim_is_known (type->shape.dim[1]) || type->shape.dim[1].coef == size);
}

/* Its axes may be others than those of its inputs. */
static gboolean
moves_axes (const LoomNetNode *n)
{
  return n->op == NULL || n->op->category == LOOM_CATEGORY_SHAPE;
}

/* The first port in the order of distance from the sources in the queue. keeps_axes: not beyond nodes that exchange
 * axes. */
static char *
search (const LoomNet *net, GQueue *queue, gint64 size, gboolean keeps_axes)
{
  g_autofree gboolean *seen = g_new0 (gboolean, loom_net_n_nodes (net) + 1);
  const LoomNetSource *source;

  while ((source = g_queue_pop_head (queue)) != NULL)
    {
      const LoomNetNode *n = loom_net_node (net, source->node);

      if (has_tokens (net, source->node, source->output, size))
        return loom_net_port_name (net, source->node, source->output);
      if (seen[source->node])
        continue;
      seen[source->node] = TRUE;
      for (guint k = 0; k < n->n_inputs && !(keeps_axes && moves_axes (n)); k++)
        if (n->input[k].node != G_MAXUINT)
          g_queue_push_tail (queue, (gpointer)&n->input[k]);
    }
  return NULL;
}

/* The letters of axes that count positions; without, in B × T × C, the axis of a size that the tokens must have. */
static gboolean
counts_positions (const PinSubject *subject, gsize from_last)
{
  const gsize axis = subject->rank - 1 - from_last;
  const char letter = subject->letter[axis];

  return letter == 'T' || letter == 'S' || letter == 'L'
         || (letter == 0 && from_last == 1 && subject->rank - subject->n_loops == 3 && subject->dims[axis] > 1);
}

/* What a scan reads row by row has one axis more than what its body reads. */
static void
push_sequences (const LoomNet *net, guint scan, GQueue *queue)
{
  const LoomNetNode *n = loom_net_node (net, scan);

  for (guint k = 0; k < n->n_inputs && !loom_net_is_from_body (net, scan, k); k++)
    {
      const LoomNetSource *from = &n->input[k];
      g_autofree char *path = g_strconcat (n->path, ".", n->input_spec[k].name, NULL);
      const int border = loom_net_find (net, path);
      const LoomNetNode *row = border >= 0 ? loom_net_node (net, (guint)border) : NULL;
      const LoomNetNode *whole = from->node != G_MAXUINT ? loom_net_node (net, from->node) : NULL;

      if (row != NULL && whole != NULL && row->typed && whole->typed && from->output < whole->n_outputs
          && row->output[0].shape.rank + 1 == whole->output[from->output].shape.rank)
        g_queue_push_tail (queue, (gpointer)from);
    }
}

/* Rows of attention are computed from its queries, columns from its keys. In the body of a loop a row may be the only
 * one of its iteration. */
static void
push_origins (const LoomNet *net, const LoomNetSource *own, gsize from_last, GQueue *queue)
{
  const LoomNetNode *n = loom_net_node (net, own->node);
  PinAlignment alignment;
  const gboolean is_aligned = pin_alignment_find (net, own, &alignment);
  const int input = loom_net_find_input (n, from_last == 1 ? "query" : "key");

  if (is_aligned && from_last == 0)
    g_queue_push_tail (queue, (gpointer)alignment.keys);
  else if (is_aligned && alignment.scan != G_MAXUINT)
    push_sequences (net, alignment.scan, queue);
  else if (!is_aligned && input >= 0 && n->input[input].node != G_MAXUINT)
    g_queue_push_tail (queue, (gpointer)&n->input[input]);
  else
    g_queue_push_tail (queue, (gpointer)own);
}

/* A decoder reads the tokens before those that it predicts, and its attention chooses what to predict: rows are named
 * by the target if the data set has as many of them. */
static char *
name_predicted (const LoomNet *net, char *port)
{
  LoomNetSource read;
  const int dataset = loom_net_find_port (net, port, &read.output, NULL);

  for (guint i = 0; dataset >= 0 && i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);
      const int k = n->op != NULL ? loom_net_find_input_for (n, LOOM_PORT_TARGET) : -1;
      const LoomType *type = &loom_net_node (net, (guint)dataset)->output[read.output];

      if (k < 0 || n->input[k].node != (guint)dataset || !has_tokens (net, n->input[k].node, n->input[k].output, 0)
          || !loom_dim_equal (type->shape.dim[1],
                              loom_net_node (net, (guint)dataset)->output[n->input[k].output].shape.dim[1]))
        continue;
      g_free (port);
      return loom_net_port_name (net, (guint)dataset, n->input[k].output);
    }
  return port;
}

static char *
find_port (const LoomNet *net, const LoomNetSource *own, const PinSubject *subject, gsize from_last)
{
  g_auto (GQueue) queue = G_QUEUE_INIT;
  const gint64 size = subject->dims[subject->rank - 1 - from_last];

  if (subject->is_attention && from_last == 1 && size == 1 && subject->n_loops > 0)
    return NULL;
  if (subject->is_attention)
    push_origins (net, own, from_last, &queue);
  else
    g_queue_push_tail (&queue, (gpointer)own);
  return search (net, &queue, size, !subject->is_attention);
}

char *
pin_tokens_port (const LoomNet *net, const char *tensor, const PinSubject *subject, gsize from_last)
{
  LoomNetSource own;
  const int node = loom_net_find_port (net, pin_tensor_name (tensor), &own.output, NULL);
  char *port;

  if (node < 0 || subject->is_weight || subject->rank < 2 || from_last > 1
      || !(subject->is_attention || counts_positions (subject, from_last)))
    return NULL;
  own.node = (guint)node;
  port = find_port (net, &own, subject, from_last);
  if (port != NULL && subject->is_attention && from_last == 1)
    {
      g_autofree char *columns = find_port (net, &own, subject, 0);

      if (columns != NULL && !g_str_equal (columns, port))
        port = name_predicted (net, port);
    }
  return port;
}

char *
pin_tokens_vocabulary (const LoomNet *net, const char *tensor)
{
  PinSubject reader = { .rank = 2, .letter = { 'B', 'T' } };
  g_autofree char *node = pin_tensor_node (net, tensor);
  g_autofree char *port = pin_tokens_port (net, node, &reader, 0);

  return port != NULL ? g_strconcat (port, "#*", NULL) : NULL;
}
