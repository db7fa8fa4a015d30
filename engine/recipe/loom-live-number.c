/* The numbers of a graph that can change while it trains; see the header. */
#include "engine/recipe/loom-live-number.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-range.h"
#include "engine/recipe/loom-attributes.h"

#include <math.h>
#include <string.h>

static void
number_free (gpointer data)
{
  g_free (((LoomLiveNumber *)data)->name);
  g_free (data);
}

static void
add (GPtrArray *list, LoomLiveNumber number, char *name)
{
  number.name = name;
  g_ptr_array_add (list, g_memdup2 (&number, sizeof number));
}

static void
add_hypers (GPtrArray *list, const LoomTrainSpec *spec, const char *prefix, const double *value, guint64 which)
{
  for (guint k = 0; spec->optimizer->hyper[k].name != NULL; k++)
    {
      const LoomHyper *h = &spec->optimizer->hyper[k];

      if ((which & ((guint64)1 << k)) != 0 && h->choices == NULL && loom_optimizer_is_live (spec->optimizer, value, k))
        add (list,
             (LoomLiveNumber){ .value = value[k],
                               LOOM_RANGE (h->minimum, h->maximum),
                               .whole = h->is_integer,
                               .param = g_intern_string (h->name),
                               .doc = h->doc },
             g_strconcat (prefix, h->name, NULL));
    }
}

/* Clipping that was planned cannot be switched off: with 0 every gradient would be 0. */
static void
add_clip (GPtrArray *list, const char *name, const char *attribute, double value)
{
  const LoomParamSpec *spec = &loom_attribute (LOOM_TAG_CLIP, attribute)->spec;

  if (value > 0)
    add (list,
         (LoomLiveNumber){ .value = value,
                           LOOM_RANGE (spec->minimum, spec->maximum),
                           .above = TRUE,
                           .param = g_intern_static_string (name),
                           .doc = spec->doc },
         g_strdup (name));
}

/* Parallel streams of a text, and the ranks of a parameter server, keep the batches that they began with. */
static void
add_batch_size (GPtrArray *list, const LoomTrainSpec *spec)
{
  const LoomParamSpec *p = &loom_attribute (LOOM_TAG_TRAIN, LOOM_LIVE_BATCH_SIZE)->spec;

  if (spec->dataset_node >= 0 && !spec->stateful && !spec->parallel.server)
    add (list,
         (LoomLiveNumber){ .value = (double)spec->batch_size,
                           LOOM_RANGE (1, p->maximum),
                           .whole = TRUE,
                           .param = g_intern_static_string (LOOM_LIVE_BATCH_SIZE),
                           .doc = p->doc },
         g_strdup (LOOM_LIVE_BATCH_SIZE));
}

static void
add_params (GPtrArray *list, const LoomNet *net, guint node)
{
  const LoomNetNode *n = loom_net_node (net, node);

  for (const LoomParamSpec *p = n->op != NULL ? n->op->params : NULL; p != NULL && p->name != NULL; p++)
    if (p->hyper && n->typed && !n->muted)
      add (list,
           (LoomLiveNumber){ .value = loom_infer_float (loom_net_infer (net, node), p->name),
                             LOOM_RANGE (p->minimum == p->maximum ? -INFINITY : p->minimum,
                                         p->minimum == p->maximum ? INFINITY : p->maximum),
                             .node = n->path,
                             .op = n->op->name,
                             .drops = strstr (n->op->name, "dropout") != NULL,
                             .param = g_intern_string (p->name),
                             .doc = p->doc },
           g_strconcat (n->path, ".", p->name, NULL));
}

GPtrArray *
loom_live_numbers_new (const LoomTrainSpec *spec, const LoomNet *net)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (number_free);

  add_hypers (list, spec, "", spec->hyper, G_MAXUINT64);
  for (guint i = 0; i < spec->groups->len; i++)
    {
      const LoomTrainGroup *group = spec->groups->pdata[i];

      if (!group->frozen)
        add_hypers (list, spec, group->prefix, group->hyper, group->own);
    }
  add_clip (list, "clip_norm", "norm", spec->clip_norm);
  add_clip (list, "clip_value", "value", spec->clip_value);
  add_batch_size (list, spec);
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    add_params (list, net, i);
  return list;
}

gboolean
loom_live_number_check (const LoomLiveNumber *self, double value, GError **error)
{
  if (isfinite (value) && value >= self->minimum && value <= self->maximum && !(self->above && value == self->minimum)
      && (!self->whole || value == floor (value)))
    return TRUE;
  if (isinf (self->maximum))
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“%s” must be a finite number.", self->name);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“%s” must be a %snumber %s %.15g to %.15g, not %.15g.",
                 self->name, self->whole ? "whole " : "", self->above ? "above" : "from", self->minimum, self->maximum,
                 value);
  return FALSE;
}
