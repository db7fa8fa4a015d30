/* Finds cards without a reader: the graph trains without them, which is rarely intended. Cards without a reader are
 * accepted if they are predictions (probabilities, classes), change state, are watched, or are scalars, which may be
 * alternative losses. */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/document/document-edit.h"
#include "engine/fix/loom-fit.h"

#define MOST_INPUTS 16

static gboolean
same_source (const LoomNetSource *a, guint node, guint output)
{
  return a->node == node && a->output == output;
}

static gboolean
is_in_root (const LoomNetNode *node)
{
  return strchr (node->path, '.') == NULL;
}

/* The only input that reads this output, except those of the node `but`; NULL if there are several, or none. */
static const LoomNetNode *
only_reader (const LoomNet *net, guint from, guint output, guint but, guint *input)
{
  const LoomNetNode *found = NULL;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; i != but && k < loom_net_node (net, i)->n_inputs; k++)
      if (same_source (&loom_net_node (net, i)->input[k], from, output))
        {
          if (found != NULL)
            return NULL;
          found = loom_net_node (net, i);
          *input = k;
        }
  return found;
}

static gboolean
is_read (const LoomNet *net, guint node)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; k < loom_net_node (net, i)->n_inputs; k++)
      if (loom_net_node (net, i)->input[k].node == node)
        return TRUE;
  return FALSE;
}

static gboolean
is_wanted (const LoomTrainSpec *spec, guint node)
{
  gboolean wanted = spec->loss.node == node;

  for (guint i = 0; i < spec->metrics->len && !wanted; i++)
    wanted = ((const LoomMetricSpec *)spec->metrics->pdata[i])->input.node == node;
  return wanted;
}

static gboolean
is_watched (StudioDocument *self, const char *path)
{
  const LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (self)), LOOM_TAG_VIEW);
  const gsize length = strlen (path);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const char *tensor = loom_element_get (loom_element_child (view, i), "tensor");

      if (tensor != NULL && g_str_has_prefix (tensor, path) && (tensor[length] == '\0' || tensor[length] == '.'))
        return TRUE;
    }
  return FALSE;
}

/* The input that the node would have to feed to be inserted into a wire: the only other reader of its own source. NULL:
 * ambiguous. */
static const LoomNetNode *
find_place (StudioDocument *self, guint at, guint *input)
{
  const LoomNetNode *node = loom_net_node (studio_document_peek_net (self), at), *reader;
  const LoomType *type[MOST_INPUTS] = { NULL };
  const LoomNetSource *source = NULL;
  LoomFitAnswer answer;

  for (guint k = 0; k < node->n_inputs; k++)
    if (node->input[k].node != G_MAXUINT)
      {
        if (source != NULL)
          return NULL;
        source = &node->input[k];
      }
  reader
      = source != NULL ? only_reader (studio_document_peek_net (self), source->node, source->output, at, input) : NULL;
  if (reader == NULL || !is_in_root (reader) || reader->op == NULL || *input >= MOST_INPUTS
      || reader->n_inputs > MOST_INPUTS || (reader->input_spec[0].flags & LOOM_PORT_VARIADIC))
    return NULL;
  for (guint k = 0; k < reader->n_inputs; k++)
    if (reader->input[k].node != G_MAXUINT
        && loom_net_node (studio_document_peek_net (self), reader->input[k].node)->typed)
      type[k]
          = &loom_net_node (studio_document_peek_net (self), reader->input[k].node)->output[reader->input[k].output];
  type[*input] = &node->output[0];
  loom_fit_infer (reader->element, type, reader->n_inputs, &answer);
  loom_fit_answer_clear (&answer);
  return answer.fit == LOOM_FIT_WELL ? reader : NULL;
}

/* TRUE if it is in the root and useless without a reader. */
static gboolean
is_to_be_read (const LoomNetNode *node)
{
  return is_in_root (node) && node->typed && !node->muted && node->op != NULL && node->op->role == LOOM_ROLE_NONE
         && node->op->category != LOOM_CATEGORY_LOSS && node->op->output_kind == LOOM_OUTPUT_VALUES
         && !node->op->has_effect && node->n_outputs > 0 && node->output[0].shape.rank > 0;
}

void
studio_document_note_unread (StudioDocument *self, const LoomTrainSpec *spec, LoomFaults *faults)
{
  const LoomNet *net = studio_document_peek_net (self);
  const guint n = loom_net_n_nodes (net);
  g_autofree gboolean *read = g_new0 (gboolean, n + 1);

  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      for (guint k = 0; k < node->n_inputs; k++)
        read[MIN (node->input[k].node, n)] = TRUE;
    }
  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      if (read[i] || !is_to_be_read (node) || is_wanted (spec, i) || is_watched (self, node->path))
        continue;
      loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (node->element), node->path, NULL, "%s",
                       _ ("This card is not used."))
          ->is_warning
          = TRUE;
    }
}

gboolean
studio_document_can_insert_unread (StudioDocument *self, const LoomFault *fault)
{
  guint input;
  int at = studio_document_has_net (self) && fault->is_warning && fault->code == LOOM_ERROR_SCHEMA
                   && fault->node != NULL && fault->port == NULL && fault->fix_attribute == NULL
               ? loom_net_find (studio_document_peek_net (self), fault->node)
               : -1;

  return at >= 0 && loom_net_node (studio_document_peek_net (self), (guint)at)->typed
         && !is_read (studio_document_peek_net (self), (guint)at) && find_place (self, (guint)at, &input) != NULL;
}

gboolean
studio_document_insert_unread (StudioDocument *self, const LoomFault *fault)
{
  guint input;

  if (!studio_document_can_insert_unread (self, fault))
    return FALSE;
  const guint at = (guint)loom_net_find (studio_document_peek_net (self), fault->node);
  const LoomNetNode *node = loom_net_node (studio_document_peek_net (self), at),
                    *reader = find_place (self, at, &input);
  g_autofree char *step = g_strdup_printf (_ ("Insert %s"), node->path);
  gboolean done;

  studio_document_begin (self, step);
  done = studio_document_connect (self, node->serial, node->output_spec[0].name, reader->serial,
                                  reader->input_spec[input].name, NULL)
         != 0;
  studio_document_end (self);
  return done;
}
