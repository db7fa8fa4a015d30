/* A pin is drawn into a recording here, because its widget belongs to this thread; the recording is played back where
 * the picture is drawn. */
#include "ui/pins/pin-picture.h"

#include "ui/pins/pin-subject.h"
#include "ui/scene/studio-geometry.h"

#define PADDING 7.0

typedef struct
{
  cairo_surface_t *drawing;
  StudioRect place; /* with its frame, in canvas units */
} Pin;

typedef struct
{
  GArray *pins; /* Pin */
  StudioTheme theme;
} Pins;

static void
pins_free (gpointer data)
{
  Pins *self = data;

  for (guint i = 0; i < self->pins->len; i++)
    cairo_surface_destroy (g_array_index (self->pins, Pin, i).drawing);
  g_array_unref (self->pins);
  g_free (self);
}

guint
pin_picture_count (StudioPins *pins)
{
  const char *tensor;
  guint n = 0;

  for (guint i = 0; i < studio_pins_n (pins); i++)
    n += studio_pin_view_get_value (studio_pins_get (pins, i, &tensor)) != NULL;
  return n;
}

/* One under the other: below the card, or at its right if the graph runs down. */
static void
hang (StudioItem *item, Pin *pin, double width, double height)
{
  const double above = item->hanging + STUDIO_FAULT_GAP;

  pin->place = (StudioRect){ item->x, item->y + item->height + above, width + 2 * PADDING, height + 2 * PADDING };
  if (item->flow == STUDIO_FLOW_DOWN)
    pin->place = (StudioRect){ item->x + item->width + STUDIO_FAULT_GAP, item->y + item->hanging, width + 2 * PADDING,
                               height + 2 * PADDING };
  item->hanging = above + pin->place.height;
  item->hanging_width = MAX (item->hanging_width, pin->place.width);
}

static void
draw_pin (cairo_t *cr, const Pins *self, const Pin *pin)
{
  cairo_rectangle (cr, pin->place.x + 0.5, pin->place.y + 0.5, pin->place.width - 1, pin->place.height - 1);
  studio_color_set (&self->theme.card, cr);
  cairo_fill_preserve (cr);
  studio_color_set (&self->theme.border, cr);
  cairo_set_line_width (cr, 1);
  cairo_stroke (cr);
  cairo_save (cr);
  cairo_rectangle (cr, pin->place.x + PADDING, pin->place.y + PADDING, pin->place.width - 2 * PADDING,
                   pin->place.height - 2 * PADDING);
  cairo_clip (cr);
  cairo_set_source_surface (cr, pin->drawing, pin->place.x + PADDING, pin->place.y + PADDING);
  cairo_paint (cr);
  cairo_restore (cr);
}

static void
draw_pins (cairo_t *cr, gpointer data)
{
  const Pins *self = data;

  for (guint i = 0; i < self->pins->len; i++)
    draw_pin (cr, self, &g_array_index (self->pins, Pin, i));
}

void
pin_picture_add (StudioPins *pins, StudioDocument *document, StudioScene *scene, StudioPictureOptions *options,
                 GDestroyNotify *free_data)
{
  Pins *self = g_new0 (Pins, 1);

  self->pins = g_array_new (FALSE, FALSE, sizeof (Pin));
  studio_theme_init (&self->theme, options->dark, FALSE);
  for (guint i = 0; i < studio_pins_n (pins); i++)
    {
      const char *tensor;
      StudioPinView *view = studio_pins_get (pins, i, &tensor);
      g_autofree char *node = pin_tensor_node (studio_document_get_net (document), tensor);
      const guint item = studio_scene_card_of (scene, node);
      double width, height;
      Pin pin;

      if (item == STUDIO_NO_ITEM || studio_pin_view_get_value (view) == NULL)
        continue;
      pin.drawing = studio_pin_view_record (view, options->dark, &width, &height);
      hang (&scene->item[item], &pin, width, height);
      g_array_append_val (self->pins, pin);
    }
  options->draw_more = draw_pins;
  options->data = self;
  *free_data = pins_free;
}
