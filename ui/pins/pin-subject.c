/* What a pinned tensor is; see the header. */
#include "ui/pins/pin-subject.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/net/loom-axes.h"
#include "ui/pins/pin-alignment.h"

const char *
pin_tensor_name (const char *tensor)
{
  static const char *const prefixes[] = { PIN_GRADIENT, PIN_UPDATE };

  for (guint i = 0; i < G_N_ELEMENTS (prefixes); i++)
    if (g_str_has_prefix (tensor, prefixes[i]))
      return tensor + strlen (prefixes[i]);
  return tensor;
}

char *
pin_tensor_title (const char *tensor)
{
  const char *name = pin_tensor_name (tensor);

  if (g_str_has_prefix (tensor, PIN_GRADIENT))
    return g_strdup_printf (_ ("gradient of %s"), name);
  if (g_str_has_prefix (tensor, PIN_UPDATE))
    return g_strdup_printf (_ ("update of %s"), name);
  return g_strdup (name);
}

char *
pin_tensor_node (const LoomNet *net, const char *tensor)
{
  const char *name = pin_tensor_name (tensor);
  guint output;
  const int node = loom_net_find_port (net, name, &output, NULL);

  return g_strdup (node >= 0 ? loom_net_node (net, (guint)node)->path : name);
}

static void
take_shape (PinSubject *self, const LoomShape *shape)
{
  for (int d = 0; d < shape->rank && self->rank < LOOM_SHAPE_MAX_RANK; d++)
    self->dims[self->rank++] = loom_dim_is_known (shape->dim[d]) ? shape->dim[d].coef : 0;
}

static void
take_letters (PinSubject *self, const LoomNet *net, guint node, guint output)
{
  g_autofree LoomNetAxes **axes = loom_net_name_axes (net);
  const LoomNetAxes *of = axes[node];

  for (gsize d = self->n_loops; d < self->rank; d++)
    self->letter[d] = of[output].name[d - self->n_loops];
}

static gboolean
is_prediction (const LoomNet *net, guint node, guint output)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetSource loss = { i, 0 };
      LoomNetSource found;

      if (loom_net_node (net, i)->op != NULL && loom_net_find_input_for (loom_net_node (net, i), LOOM_PORT_TARGET) >= 0
          && loom_net_find_prediction (net, &loss, &found) && found.node == node && found.output == output)
        return TRUE;
    }
  return FALSE;
}

static gboolean
are_attention_weights (const LoomNet *net, const LoomNetSource *source, const char *name, const LoomShape *shape)
{
  const LoomNetNode *n = loom_net_node (net, source->node);
  const char *op = n->op != NULL ? n->op->name : "";
  PinAlignment alignment;

  if (strstr (op, "attention") != NULL)
    return g_str_has_suffix (name, ".weights") && shape->rank >= 2;
  if (n->op != NULL && n->op->output_kind == LOOM_OUTPUT_PROBABILITIES && shape->rank >= 2
      && loom_dim_equal (shape->dim[shape->rank - 1], shape->dim[shape->rank - 2]))
    return TRUE;
  return pin_alignment_find (net, source, &alignment);
}

static void
take_output (PinSubject *self, const LoomNet *net, const char *name)
{
  guint output;
  const int node = loom_net_find_port (net, name, &output, NULL);
  const LoomNetNode *n = node >= 0 ? loom_net_node (net, (guint)node) : NULL;

  if (n == NULL || !n->typed || output >= n->n_outputs)
    return;
  for (guint loop = n->loop; loop != G_MAXUINT; loop = loom_net_node (net, loop)->loop)
    self->n_loops++;
  self->is_typed = TRUE;
  self->rank = self->n_loops;
  take_shape (self, &n->output[output].shape);
  take_letters (self, net, (guint)node, output);
  self->is_integer = n->output[output].dtype == LOOM_I64 || n->output[output].dtype == LOOM_I32;
  self->is_attention
      = are_attention_weights (net, &(LoomNetSource){ (guint)node, output }, name, &n->output[output].shape);
  self->is_prediction = is_prediction (net, (guint)node, output);
}

/* A layer with weights that reads whole numbers looks them up: its rows are embeddings. */
static gboolean
reads_integers (const LoomNet *net, const LoomNetNode *n)
{
  const LoomNetSource *from = n->n_inputs > 0 ? &n->input[0] : NULL;
  const LoomNetNode *source = from != NULL && from->node != G_MAXUINT ? loom_net_node (net, from->node) : NULL;

  return source != NULL && source->typed && from->output < source->n_outputs
         && !loom_dtype_is_float (source->output[from->output].dtype);
}

void
pin_subject_init (PinSubject *self, const LoomNet *net, const char *tensor)
{
  const char *name = pin_tensor_name (tensor);
  const LoomNetWeight *weight = loom_net_weight_named (net, name);

  *self = (PinSubject){ .is_gradient = g_str_has_prefix (tensor, PIN_GRADIENT),
                        .is_update = g_str_has_prefix (tensor, PIN_UPDATE),
                        .is_typed = weight != NULL,
                        .is_weight = weight != NULL };
  if (weight == NULL)
    {
      take_output (self, net, name);
      return;
    }
  self->is_embedding = reads_integers (net, loom_net_node (net, weight->node));
  take_shape (self, &weight->shape);
}

void
pin_subject_set_shape (PinSubject *self, gsize rank, const gint64 *dims)
{
  if (rank > LOOM_SHAPE_MAX_RANK)
    return;
  if (rank != self->rank)
    {
      memset (self->letter, 0, sizeof self->letter);
      self->n_loops = MIN (self->n_loops, rank);
    }
  self->is_typed = TRUE;
  self->rank = rank;
  for (gsize d = 0; d < rank; d++)
    self->dims[d] = dims[d];
}

gboolean
pin_subject_is_of_samples (const PinSubject *self)
{
  return !self->is_update && (!self->is_weight || self->is_gradient);
}

/* ---- axes ------------------------------------------------------------------ */

static const char *
weight_axis (const PinSubject *self, gsize axis)
{
  if (self->is_embedding)
    return axis == 0 ? _ ("token") : _ ("feature");
  if (self->rank <= 2)
    return axis == 0 ? _ ("unit") : _ ("input");
  return axis == 0 ? _ ("filter") : axis == 1 ? _ ("channel") : axis + 1 == self->rank ? _ ("column") : _ ("row");
}

static const char *
attention_axis (const PinSubject *self, gsize axis)
{
  const gsize from_last = self->rank - 1 - axis;

  if (from_last <= 1)
    return from_last == 0 ? _ ("source") : _ ("target");
  return from_last == 2 && self->rank - self->n_loops >= 4 ? _ ("head") : _ ("sample");
}

static const char *
letter_axis (char letter)
{
  static const struct
  {
    char letter;
    const char *name;
  } names[] = { { 'B', N_ ("sample") }, { 'T', N_ ("position") }, { 'S', N_ ("position") }, { 'C', N_ ("channel") },
                { 'D', N_ ("depth") },  { 'H', N_ ("row") },      { 'W', N_ ("column") },   { 'L', N_ ("position") } };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i].letter == letter)
      return _ (names[i].name);
  return NULL;
}

const char *
pin_subject_axis (const PinSubject *self, gsize axis)
{
  const gsize inner = axis - self->n_loops, rank = self->rank - self->n_loops;

  if (axis < self->n_loops)
    return _ ("iteration");
  if (self->is_weight)
    return weight_axis (self, axis);
  if (self->is_attention && rank >= 2)
    return attention_axis (self, axis);
  if (letter_axis (self->letter[axis]) != NULL)
    return letter_axis (self->letter[axis]);
  if (inner == 0 && rank > 1)
    return _ ("sample");
  if (rank == 4)
    return inner == 1 ? _ ("channel") : inner == 2 ? _ ("row") : _ ("column");
  if (rank == 3)
    return inner == 1 ? _ ("row") : _ ("column");
  if (rank == 2 && self->is_integer)
    return _ ("position");
  return rank == 2 ? _ ("feature") : _ ("element");
}
