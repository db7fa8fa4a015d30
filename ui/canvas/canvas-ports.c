#include "ui/canvas/canvas-ports.h"

#include <glib/gi18n.h>

struct _CanvasPorts
{
  StudioDocument *document;
  gboolean *lit; /* one entry per port at the other side of cards; item i begins at first[i] */
  guint *first;
  guint n_items;
  char *refusal;
  guint refused_item, refused_port; /* that refusal is about */
};

CanvasPorts *
canvas_ports_new (StudioDocument *document)
{
  CanvasPorts *self = g_new0 (CanvasPorts, 1);

  self->document = document;
  return self;
}

void
canvas_ports_free (CanvasPorts *self)
{
  g_free (self->lit);
  g_free (self->first);
  g_free (self->refusal);
  g_free (self);
}

void
canvas_ports_light (CanvasPorts *self, const StudioScene *scene, const StudioGesture *gesture)
{
  guint n = 0;

  g_free (self->lit);
  g_free (self->first);
  self->first = g_new (guint, scene->n_items + 1);
  for (guint i = 0; i < scene->n_items; i++)
    {
      self->first[i] = n;
      n += gesture->from_output ? scene->item[i].n_offered : scene->item[i].n_outputs;
    }
  self->first[scene->n_items] = n;
  self->n_items = scene->n_items;
  self->lit = g_new0 (gboolean, n + 1);
  if (gesture->all)
    studio_document_movable_ports (self->document, scene->item[gesture->pressed.item].serial, gesture->pressed.port,
                                   self->lit, self->first);
  else
    studio_document_compatible_ports (self->document, scene->item[gesture->fixed_item].serial, gesture->from_output,
                                      gesture->fixed_port, self->lit, self->first);
}

void
canvas_ports_explain (CanvasPorts *self, const StudioScene *scene, const StudioGesture *gesture)
{
  const StudioHit *hit = &gesture->refused;
  const StudioItem *fixed, *other;

  if (hit->kind != STUDIO_HIT_NOTHING && self->refusal != NULL && hit->item == self->refused_item
      && hit->port == self->refused_port)
    return;
  g_clear_pointer (&self->refusal, g_free);
  if (hit->kind == STUDIO_HIT_NOTHING || gesture->fixed_item >= scene->n_items || hit->item >= scene->n_items)
    return;
  fixed = &scene->item[gesture->fixed_item];
  other = &scene->item[hit->item];
  self->refused_item = hit->item;
  self->refused_port = hit->port;
  if (gesture->all)
    self->refusal
        = studio_document_dup_moving_refusal (self->document, scene->item[gesture->pressed.item].serial,
                                              scene->item[gesture->pressed.item].output[gesture->pressed.port].name,
                                              other->serial, other->output[hit->port].name);
  else if (gesture->from_output)
    self->refusal = studio_document_dup_refusal (self->document, fixed->serial, fixed->output[gesture->fixed_port].name,
                                                 other->serial, other->input[hit->port].name);
  else
    self->refusal = studio_document_dup_refusal (self->document, other->serial, other->output[hit->port].name,
                                                 fixed->serial, fixed->input[gesture->fixed_port].name);
  if (self->refusal == NULL)
    self->refusal = g_strdup (_ ("This port does not accept the wire."));
}

const char *
canvas_ports_get_refusal (const CanvasPorts *self)
{
  return self->refusal;
}

gboolean
canvas_ports_is_lit (const CanvasPorts *self, const StudioGesture *gesture, guint item, gboolean is_output, guint port)
{
  if (is_output == gesture->from_output)
    return item == gesture->fixed_item && port == gesture->fixed_port;
  return self->lit != NULL && item < self->n_items && self->first[item] + port < self->first[item + 1]
         && self->lit[self->first[item] + port];
}

void
canvas_ports_forget_lit (CanvasPorts *self)
{
  g_clear_pointer (&self->lit, g_free);
}

void
canvas_ports_forget_refusal (CanvasPorts *self)
{
  g_clear_pointer (&self->refusal, g_free);
}
