/* Finds the position of each shape label on its wire, clear of cards and other labels, or none.
 *
 * Horizontal segments are tried before vertical ones, long before short, starting from the middle. A label too wide for
 * the channel between two cards is broken into lines. */
#include "ui/scene/routes-private.h"

#include <math.h>
#include <string.h>

#define CARD_GAP           3.0 /* from cards, and from the text below them */
#define SHAPE_LABEL_GAP    2.0
#define SHAPE_LABEL_INSIDE 6.0
#define LONG               8000.0
#define CROWDED            64u /* segments of wires below one label */
#define MOST_SAID          16u /* labels of one output that are examined */
#define WIRE_FROM_END      11.0
#define POINT              6.0 /* half the side of a waypoint's square */

/* ---- text of labels ------------------------------------------------------- */

static char *
in_two_lines (char **word)
{
  guint n = g_strv_length (word), first = (n + 1) / 2;
  GString *s = g_string_new (word[0]);

  for (guint i = 1; i < n; i++)
    g_string_append_printf (s, " ×%s%s", i == first ? "\n" : " ", word[i]);
  return g_string_free (s, FALSE);
}

/* A copy is shown after the shape: on the same line, on its own line, or as words on several lines. */
static char *
with_copy (char **part, StudioShapeLabelForm form)
{
  const char *bytes = part[2] != NULL ? part[2] : "";
  g_auto (GStrv) word = NULL, way = NULL;
  g_autofree char *shape = NULL;

  if (form != STUDIO_SHAPE_LABEL_COLUMN)
    return g_strconcat (part[0], form == STUDIO_SHAPE_LABEL_LINE ? " · " : "\n", part[1], bytes[0] != '\0' ? " · " : "",
                        bytes, NULL);
  word = g_strsplit (part[0], " × ", -1);
  way = g_strsplit (part[1], " → ", 2);
  shape = g_strjoinv ("\n", word);
  return g_strconcat (shape, "\n", way[0], " →\n", way[1], bytes[0] != '\0' ? "\n" : "", bytes, NULL);
}

char *
studio_shape_label_text (const char *label, StudioShapeLabelForm form)
{
  g_auto (GStrv) word = NULL;

  if (strchr (label, '\t') != NULL)
    {
      g_auto (GStrv) part = g_strsplit (label, "\t", 3);

      return with_copy (part, form);
    }
  if (form == STUDIO_SHAPE_LABEL_LINE)
    return g_strdup (label);
  word = g_strsplit (label, " × ", -1);
  if (word[0] == NULL || word[1] == NULL)
    return NULL;
  if (form == STUDIO_SHAPE_LABEL_COLUMN)
    return g_strjoinv ("\n", word);
  return word[2] != NULL ? in_two_lines (word) : NULL;
}

/* ---- free positions ------------------------------------------------------- */

/* A placed label, in the list of one cell. */
typedef struct
{
  StudioRect rect;
  guint next;
} PlacedLabel;

typedef struct
{
  const StudioScene *scene;
  const StudioRoute *route;
  RouteIndex cards, pieces;
  StudioRect *card, *piece;
  guint *wire_of;
  GArray *shape_labels;
  guint *first_shape_label; /* index of the first label of each cell; G_MAXUINT: none */
} Places;

/* The obstacles: cards with their text and pins, notes, and waypoints. */
static void
collect_cards (Places *self)
{
  const StudioScene *scene = self->scene;
  guint n = 0, n_points = 0;

  for (guint l = 0; l < scene->n_links; l++)
    n_points += scene->link[l].n_points;
  self->card = g_new (StudioRect, 3 * scene->n_items + scene->n_annotations + n_points + 1);
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect fault = studio_geometry_fault (&scene->item[i]);

      self->card[n++] = studio_geometry_card (&scene->item[i]);
      if (fault.height > 0)
        self->card[n++] = fault;
      if (scene->item[i].hanging > 0)
        self->card[n++] = studio_geometry_pins (&scene->item[i]);
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *note = &scene->annotation[i];

      if (note->is_note)
        self->card[n++] = (StudioRect){ note->x, note->y, note->width, note->height };
    }
  for (guint l = 0; l < scene->n_links; l++)
    for (guint k = 0; k < scene->link[l].n_points; k++)
      self->card[n++]
          = (StudioRect){ scene->link[l].point[k].x - POINT, scene->link[l].point[k].y - POINT, 2 * POINT, 2 * POINT };
  route_index_init (&self->cards, self->card, n);
}

static void
collect_pieces (Places *self)
{
  guint n = 0;

  for (guint l = 0; l < self->scene->n_links; l++)
    n += self->route[l].n_pieces;
  self->piece = g_new (StudioRect, n + 1);
  self->wire_of = g_new (guint, n + 1);
  n = 0;
  for (guint l = 0; l < self->scene->n_links; l++)
    for (guint k = 0; k < self->route[l].n_pieces; k++)
      {
        self->piece[n] = studio_curve_bounds (&self->route[l].piece[k]);
        self->wire_of[n] = l;
        /* A curve across half the graph would be in every cell, but rarely overlaps a label. */
        n += self->piece[n].width < LONG || self->piece[n].height < 1;
      }
  route_index_init (&self->pieces, self->piece, n);
}

static StudioRect
grown (const StudioRect *r, double by)
{
  return (StudioRect){ r->x - by, r->y - by, r->width + 2 * by, r->height + 2 * by };
}

static gboolean
is_clear_of_shape_labels (Places *self, const StudioRect *r)
{
  StudioRect wide = grown (r, SHAPE_LABEL_GAP);
  guint c0, r0, c1, r1;

  route_index_cells (&self->cards, &wide, &c0, &r0, &c1, &r1);
  for (guint row = r0; row <= r1; row++)
    for (guint c = c0; c <= c1; c++)
      for (guint k = self->first_shape_label[row * self->cards.columns + c]; k != G_MAXUINT;
           k = g_array_index (self->shape_labels, PlacedLabel, k).next)
        if (studio_rect_intersects (&g_array_index (self->shape_labels, PlacedLabel, k).rect, &wide))
          return FALSE;
  return TRUE;
}

static void
take_place (Places *self, const StudioRect *r)
{
  guint c0, r0, c1, r1;

  route_index_cells (&self->cards, r, &c0, &r0, &c1, &r1);
  for (guint row = r0; row <= r1; row++)
    for (guint c = c0; c <= c1; c++)
      {
        guint *first = &self->first_shape_label[row * self->cards.columns + c];
        PlacedLabel shape_label = { *r, *first };

        *first = self->shape_labels->len;
        g_array_append_val (self->shape_labels, shape_label);
      }
}

/* TRUE if wires of other outputs pass below: a label on two wires would seem to belong to both. */
static gboolean
covers_others (Places *self, guint link, const StudioRect *r)
{
  const StudioLink *own = &self->scene->link[link];
  guint n;
  const guint *near = route_index_find (&self->pieces, r, &n);

  if (n > CROWDED)
    return TRUE;
  for (guint i = 0; i < n; i++)
    {
      const StudioLink *other = &self->scene->link[self->wire_of[near[i]]];

      if ((other->from != own->from || other->output != own->output)
          && studio_route_intersects (&self->route[self->wire_of[near[i]]], r))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_free (Places *self, guint link, const StudioRect *r, gboolean alone)
{
  StudioRect wide = grown (r, CARD_GAP);
  guint n;

  route_index_find (&self->cards, &wide, &n);
  return n == 0 && is_clear_of_shape_labels (self, r) && !(alone && covers_others (self, link, r));
}

/* The suitability of a segment for a label; 0: none. */
static double
worth (const StudioCurve *c, double width, double height)
{
  double dx = fabs (c->x[3] - c->x[0]), dy = fabs (c->y[3] - c->y[0]);

  if (!studio_curve_is_straight (c))
    /* In a routed wire the curves are corners. */
    return hypot (dx, dy) < 2 * STUDIO_GRID ? 0 : 0.8 * dx;
  return dy <= dx ? (dx < 0.6 * width ? 0 : dx) : (dy < height ? 0 : 0.5 * dy);
}

static gboolean
place_on (Places *self, guint link, const StudioCurve *c, double width, double height, gboolean alone, StudioRect *rect)
{
  static const double at[] = { 0.5, 0.38, 0.62, 0.26, 0.74, 0.16, 0.84 };
  /* The wire of the next port may be next to a vertical wire: then the label begins or ends at the wire. */
  static const double aside[] = { 0, -1, 1 };
  gboolean upright = studio_curve_is_straight (c) && fabs (c->x[3] - c->x[0]) < 1;

  for (guint k = 0; k < (upright && alone ? G_N_ELEMENTS (aside) : 1); k++)
    for (guint i = 0; i < G_N_ELEMENTS (at); i++)
      {
        double x, y;

        studio_curve_at (c, at[i], &x, &y);
        *rect = (StudioRect){ x - width / 2 + aside[k] * MAX (width / 2 - WIRE_FROM_END, 0), y - height / 2, width,
                              height };
        if (is_free (self, link, rect, alone))
          return TRUE;
      }
  return FALSE;
}

/* Places the label on the most suitable segment with space for it. */
static gboolean
place (Places *self, guint link, double width, double height, gboolean alone, StudioRect *rect)
{
  const StudioRoute *route = &self->route[link];
  double below = G_MAXDOUBLE;

  for (guint tried = 0; tried < route->n_pieces; tried++)
    {
      guint best = route->n_pieces;
      double most = 0;

      for (guint k = 0; k < route->n_pieces; k++)
        {
          double w = worth (&route->piece[k], width, height);

          if (w > most && w < below)
            {
              most = w;
              best = k;
            }
        }
      if (best == route->n_pieces)
        return FALSE;
      below = most;
      if (place_on (self, link, &route->piece[best], width, height, alone, rect))
        return TRUE;
    }
  return FALSE;
}

/* TRUE if another wire of the same output, with the same shape, has its label where both wires run together. */
static gboolean
is_shown_elsewhere (const Places *self, guint link, const StudioShapeLabel *shape_label)
{
  const StudioLink *own = &self->scene->link[link];
  guint other = self->scene->item[own->from].output[own->output].link;

  if (own->copy != NULL)
    return FALSE;
  for (guint seen = 0; other != STUDIO_NO_ITEM && other < link && seen < MOST_SAID;
       other = self->scene->link[other].next_out)
    {
      const StudioRect *r = &shape_label[other].rect, *way = &self->route[link].bounds;

      /* Touching the end of the label does not count. */
      const StudioRect within = grown (r, -SHAPE_LABEL_INSIDE);

      seen += r->width > 0;
      if (r->width > 0 && r->x < way->x + way->width && way->x < r->x + r->width && r->y < way->y + way->height + 1
          && way->y < r->y + r->height + 1 && studio_route_intersects (&self->route[link], &within))
        return TRUE;
    }
  return FALSE;
}

static void
place_link (Places *self, guint link, StudioShapeLabelSize size, gpointer data, StudioShapeLabel *shape_label)
{
  const char *label = self->scene->link[link].label;

  /* A label on several lines is better than one on another's wire, which is better than none. */
  for (guint pass = 0; pass < 2; pass++)
    for (guint form = 0; form < STUDIO_N_SHAPE_LABEL_FORMS; form++)
      {
        double width, height;

        if (size (label, form, &width, &height, data)
            && place (self, link, width, height, pass == 0, &shape_label->rect))
          {
            shape_label->form = form;
            take_place (self, &shape_label->rect);
            return;
          }
      }
  shape_label->rect = (StudioRect){ 0, 0, 0, 0 };
}

void
route_place_shape_labels (const StudioScene *scene, const StudioRoute *route, const guint8 *stale,
                          StudioShapeLabelSize size, gpointer data, StudioShapeLabel *shape_label)
{
  Places self = { .scene = scene, .route = route, .shape_labels = g_array_new (FALSE, FALSE, sizeof (PlacedLabel)) };
  guint n_cells;

  collect_cards (&self);
  collect_pieces (&self);
  n_cells = self.cards.columns * self.cards.rows;
  self.first_shape_label = g_new (guint, n_cells + 1);
  for (guint c = 0; c < n_cells; c++)
    self.first_shape_label[c] = G_MAXUINT;
  for (guint l = 0; stale != NULL && l < scene->n_links; l++)
    if (!stale[l] && shape_label[l].rect.width > 0)
      take_place (&self, &shape_label[l].rect);
  for (guint l = 0; l < scene->n_links; l++)
    {
      if (stale != NULL && !stale[l])
        continue;
      shape_label[l] = (StudioShapeLabel){ 0 };
      if (scene->link[l].label != NULL && !is_shown_elsewhere (&self, l, shape_label))
        place_link (&self, l, size, data, &shape_label[l]);
    }
  g_free (self.first_shape_label);
  route_index_clear (&self.cards);
  route_index_clear (&self.pieces);
  g_free (self.card);
  g_free (self.piece);
  g_free (self.wire_of);
  g_array_unref (self.shape_labels);
}
