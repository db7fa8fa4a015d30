/* Runs a net that generates token by token.
 *
 * The encoder, which does not depend on y_in, is computed once per batch, and its values are inputs of the decoder. The
 * decoder is computed for every token over all positions. Positions after the newest token do not matter, because a
 * decoder that was trained with shifted targets cannot see them. A batch has one copy of each sample per beam. */
#include "engine/infer/loom-answer-port.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/decoder-private.h"

#include <math.h>
#include <string.h>

#include "engine/data/loom-vocabulary.h"

/* ---- the two parts ------------------------------------------------------------------ */

int
decoder_find_port (const LoomDecoder *self, const char *name)
{
  const LoomNetNode *data = loom_net_node (self->predictor->net, self->predictor->input.node);

  for (guint i = 0; i < data->n_outputs; i++)
    if (g_str_equal (data->output_spec[i].name, name))
      return (int)i;
  return -1;
}

static void
add_border (GArray *border, const LoomNetSource *source)
{
  for (guint i = 0; i < border->len; i++)
    if (g_array_index (border, LoomNetSource, i).node == source->node
        && g_array_index (border, LoomNetSource, i).output == source->output)
      return;
  g_array_append_val (border, *source);
}

/* Collects the values that nodes after y_in read and that do not depend on it. Those of the data set are inputs
 * already. */
static void
find_border (LoomDecoder *self)
{
  const LoomPredictor *predictor = self->predictor;
  const LoomNet *net = predictor->net;
  g_autofree gboolean *needed = loom_net_needed_for (net, &predictor->output);
  g_autofree gboolean *is_after = g_new0 (gboolean, loom_net_n_nodes (net) + 1);

  self->border = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      /* Nodes in a loop belong to the node that runs it. */
      for (guint k = 0; needed[i] && node->loop == G_MAXUINT && k < node->n_inputs; k++)
        {
          const LoomNetSource *source = &node->input[k];

          if (source->node != G_MAXUINT && !loom_net_is_weight (net, source) && !loom_net_is_from_body (net, i, k)
              && (is_after[source->node]
                  || (source->node == predictor->input.node && source->output == (guint)self->shifted)))
            is_after[i] = TRUE;
        }
    }
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      for (guint k = 0; is_after[i] && k < node->n_inputs; k++)
        {
          const LoomNetSource *source = &node->input[k];

          if (source->node != G_MAXUINT && !is_after[source->node] && source->node != predictor->input.node
              && !loom_net_is_weight (net, source) && !loom_net_is_from_body (net, i, k))
            add_border (self->border, source);
        }
    }
}

static gboolean
check_answer (LoomDecoder *self, GError **error)
{
  const LoomPredictor *predictor = self->predictor;
  const LoomNetNode *data = loom_net_node (predictor->net, predictor->input.node);
  const LoomShape *shape
      = &loom_net_node (predictor->net, predictor->output.node)->output[predictor->output.output].shape;
  LoomAnswerKind kind = loom_answer_kind (predictor->output_kind);

  self->places = loom_dim_value (data->output[self->shifted].shape.dim[1], NULL);
  if (kind == LOOM_ANSWER_PROBABILITIES && shape->rank == 3 && loom_dim_value (shape->dim[2], NULL) == self->places)
    {
      self->classes = loom_dim_value (shape->dim[1], NULL);
      return TRUE;
    }
  g_autofree char *text = loom_shape_to_string (shape);
  return loom_refuse (error, LOOM_ERROR_PORT,
                      "“%s” is %s, so the net predicts no class for each position of “" LOOM_ANSWER_SHIFTED
                      "” (samples × classes × positions) and cannot write a text. Train it with cross_entropy on them.",
                      predictor->output_name, text);
}

LoomDecoder *
loom_decoder_new (LoomPredictor *predictor, guint beam, GError **error)
{
  g_autoptr (LoomDecoder) self = g_new0 (LoomDecoder, 1);

  g_return_val_if_fail (loom_predictor_writes (predictor) && beam > 0, NULL);

  self->predictor = predictor;
  self->beam = beam;
  self->shifted = decoder_find_port (self, LOOM_ANSWER_SHIFTED);
  if (!check_answer (self, error))
    return NULL;
  find_border (self);
  return g_steal_pointer (&self);
}

static void
forget_plans (LoomDecoder *self)
{
  g_clear_pointer (&self->encode, loom_exec_free);
  g_clear_pointer (&self->decode, loom_exec_free);
  g_clear_pointer (&self->state, loom_state_unref);
  for (guint i = 0; i < LOOM_DATASET_MAX_PORTS; i++)
    g_clear_pointer (&self->data[i], loom_tensor_unref);
  g_clear_pointer (&self->kept, g_ptr_array_unref);
}

void
loom_decoder_free (LoomDecoder *self)
{
  if (self == NULL)
    return;
  forget_plans (self);
  g_clear_pointer (&self->border, g_array_unref);
  g_free (self);
}

/* ---- plans -------------------------------------------------------------------------- */

static char *
border_name (const LoomDecoder *self, guint i)
{
  const LoomNetSource *source = &g_array_index (self->border, LoomNetSource, i);

  return loom_net_port_name (self->predictor->net, source->node, source->output);
}

/* The encoder's program if its values are requested, else the decoder's, which has them as inputs. */
static LoomProgram *
part (LoomDecoder *self, const LoomNet *net, gboolean encoder, GError **error)
{
  LoomPredictor *predictor = self->predictor;
  guint n = self->border->len;
  const LoomNetSource *border = (const LoomNetSource *)self->border->data;
  LoomLowerOptions options
      = predictor_lower_options (predictor, encoder ? n : 1, encoder ? border : &predictor->output);
  g_autofree LoomValue *value = g_new0 (LoomValue, n + 1);
  LoomProgram *p;

  if (!encoder)
    {
      options.n_given = n;
      options.given = border;
    }
  p = loom_lower (net, &options, value, error);
  if (p == NULL)
    return NULL;
  if (!encoder)
    loom_program_output (p, "answer", value[0]);
  for (guint i = 0; encoder && i < n; i++)
    {
      g_autofree char *name = border_name (self, i);

      loom_program_output (p, name, value[i]);
    }
  return p;
}

static gboolean
make_data (LoomDecoder *self, const LoomNet *net, GError **error)
{
  const LoomNetNode *data = loom_net_node (net, self->predictor->input.node);

  for (guint i = 0; i < data->n_outputs && i < LOOM_DATASET_MAX_PORTS; i++)
    {
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      loom_shape_get (&data->output[i].shape, dims);
      self->data[i] = loom_tensor_new (data->output[i].dtype, data->output[i].shape.rank, dims, error);
      if (self->data[i] == NULL)
        return FALSE;
    }
  return TRUE;
}

/* Makes both plans for n samples. */
static gboolean
prepare (LoomDecoder *self, guint n, GError **error)
{
  LoomPredictor *predictor = self->predictor;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomProgram) encoder = NULL, decoder = NULL;

  if (self->decode != NULL && self->n == n)
    return TRUE;
  forget_plans (self);
  net = predictor_net (predictor, (gint64)n * self->beam, 0, error);
  if (net == NULL || !make_data (self, net, error))
    return FALSE;
  self->state = loom_state_new (predictor->devices, predictor->device, predictor->seed);
  if (self->border->len > 0)
    {
      encoder = part (self, net, TRUE, error);
      self->encode = encoder != NULL ? predictor_exec (predictor, self->state, encoder, error) : NULL;
      if (self->encode == NULL)
        return FALSE;
    }
  decoder = part (self, net, FALSE, error);
  self->decode = decoder != NULL ? predictor_exec (predictor, self->state, decoder, error) : NULL;
  self->n = n;
  return self->decode != NULL;
}

/* Sets the inputs: ports of the data set, and the encoder's values. */
static gboolean
feed (LoomDecoder *self, LoomExec *exec, GError **error)
{
  const LoomProgram *p = loom_plan_program (loom_exec_plan (exec));
  LoomPredictor *predictor = self->predictor;

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const char *name = loom_program_get_input (p, i)->name;
      const void *from = NULL;

      for (guint k = 0; k < LOOM_DATASET_MAX_PORTS && self->data[k] != NULL; k++)
        {
          g_autofree char *port = loom_net_port_name (predictor->net, predictor->input.node, k);

          if (g_str_equal (port, name))
            from = self->data[k]->data;
        }
      for (guint k = 0; self->kept != NULL && k < self->kept->len; k++)
        {
          g_autofree char *port = border_name (self, k);

          if (g_str_equal (port, name))
            from = ((LoomTensor *)self->kept->pdata[k])->data;
        }
      if (from == NULL)
        return loom_refuse (error, LOOM_ERROR_PORT, "The output depends on “%s” too, which no data set provides.",
                            name);
      loom_exec_feed (exec, i, from);
    }
  return TRUE;
}

static gboolean
run_encoder (LoomDecoder *self, GError **error)
{
  g_clear_pointer (&self->kept, g_ptr_array_unref);
  if (self->encode == NULL)
    return TRUE;
  if (!feed (self, self->encode, error) || !loom_exec_run (self->encode, error))
    return FALSE;
  self->kept = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < self->border->len; i++)
    {
      g_autofree char *name = border_name (self, i);
      LoomTensor *t = loom_exec_output (self->encode, (guint)loom_exec_find_output (self->encode, name), error);

      if (t == NULL)
        return FALSE;
      g_ptr_array_add (self->kept, t);
    }
  return TRUE;
}

LoomTensor *
decoder_step (LoomDecoder *self, GError **error)
{
  if (!feed (self, self->decode, error) || !loom_exec_run (self->decode, error))
    return NULL;
  return loom_exec_output (self->decode, (guint)loom_exec_find_output (self->decode, "answer"), error);
}

/* ---- samples ------------------------------------------------------------------------ */

/* Copies one sample to the rows of its beams, with padding if it is a shorter sequence. */
static void
put_sample (LoomDecoder *self, guint i, const LoomTensor *sample)
{
  LoomTensor *x = self->data[self->predictor->input.output];
  int length = decoder_find_port (self, "length");
  gsize row = x->bytes / (gsize)x->dim[0];

  for (guint b = 0; b < self->beam; b++)
    {
      char *to = (char *)x->data + (i * self->beam + b) * row;

      memset (to, LOOM_TOKEN_PADDING, row);
      memcpy (to, sample->data, MIN (row, sample->bytes));
      if (length >= 0 && self->data[length]->dtype == LOOM_I64)
        ((gint64 *)self->data[length]->data)[i * self->beam + b] = sample->rank > 0 ? sample->dim[0] : 1;
    }
}

static void
written_free (gpointer data)
{
  LoomWritten *written = data;

  g_free (written->token);
  g_free (written);
}

GPtrArray *
loom_decoder_run (LoomDecoder *self, LoomTensor *const samples[], guint n, GError **error)
{
  g_autoptr (GPtrArray) answers = g_ptr_array_new_with_free_func (written_free);

  if (!prepare (self, n, error))
    return NULL;
  for (guint i = 0; i < n; i++)
    put_sample (self, i, samples[i]);
  if (!run_encoder (self, error) || !decoder_search (self, n, answers, error))
    return NULL;
  return g_steal_pointer (&answers);
}

/* ---- texts ----------------------------------------------------------------------------- */

char *
loom_decoder_text (const LoomDecoder *self, const LoomWritten *written)
{
  const LoomDataset *dataset = self->predictor->dataset;
  const char *const *names = dataset != NULL ? loom_dataset_class_names (dataset) : NULL;
  const char *separator = names != NULL ? loom_dataset_answer_separator (dataset) : " ";
  guint n = names != NULL ? g_strv_length ((char **)names) : 0;
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < written->n; i++)
    {
      if (i > 0)
        g_string_append (text, separator);
      if (written->token[i] < (gint64)n)
        g_string_append (text, names[written->token[i]]);
      else
        g_string_append_printf (text, "%" G_GINT64_FORMAT, written->token[i]);
    }
  return g_string_free (text, FALSE);
}
