/* Converts a scene to boxes and back: a frame becomes a box, and notes move with the card next to them.
 *
 * A frame is laid out separately and then is one box with the ports of its cards. That works only if no path leaves a
 * frame and returns, so nodes on such a path are laid out inside it. */
#include "ui/layout/layout-private.h"

#include "ui/scene/studio-flow.h"

#define ORIGIN       24.0 /* the corner of a whole layout */
#define FRAME_MARGIN 24.0
#define LABEL_MOST   148.0 /* wider shapes do not widen the channel, which would push the cards too far apart */

/* A card, a frame with its contents, or a note in a frame. */
typedef struct
{
  guint item;       /* STUDIO_NO_ITEM for a frame or a note */
  guint annotation; /* the frame or note */
  guint parent;     /* the unit of the enclosing frame; STUDIO_NO_ITEM */
  double x, y, width, height;
} Unit;

/* The layout runs right; a graph that runs down is mirrored before and after. */
typedef struct
{
  const StudioScene *scene;
  const StudioScene *stood; /* the same with the former sizes of cards, which frames were drawn around */
  gboolean mirrored;
  const gboolean *chosen;
  double width, height;
  GArray *unit;    /* Unit; a frame comes after its contents */
  guint *unit_of;  /* of each item: its own unit; STUDIO_NO_ITEM: it is not moved */
  guint *anchored; /* annotations that move with a card */
  guint n_anchored;
} Work;

static Unit *
unit_at (const Work *work, guint i)
{
  return &g_array_index (work->unit, Unit, i);
}

/* The unit directly below `parent` that contains this item; STUDIO_NO_ITEM if there is none. */
static guint
unit_below (const Work *work, guint item, guint parent)
{
  guint at = work->unit_of[item];

  while (at != STUDIO_NO_ITEM && unit_at (work, at)->parent != parent)
    at = unit_at (work, at)->parent;
  return at;
}

/* ---- frames ---------------------------------------------------------------- */

/* Marks the units reachable from the marked ones, over wires between units without a frame yet. */
static void
reach (const Work *work, gboolean *seen, gboolean against)
{
  const StudioScene *scene = work->scene;
  gboolean grown = TRUE;

  /* There are few frames, and wires are mostly in topological order, so a few rounds are enough. */
  while (grown)
    {
      grown = FALSE;
      for (guint l = 0; l < scene->n_links; l++)
        {
          guint from = unit_below (work, scene->link[l].from, STUDIO_NO_ITEM);
          guint to = unit_below (work, scene->link[l].to, STUDIO_NO_ITEM);
          guint here = against ? to : from, there = against ? from : to;

          if (here == STUDIO_NO_ITEM || there == STUDIO_NO_ITEM || !seen[here] || seen[there])
            continue;
          seen[there] = TRUE;
          grown = TRUE;
        }
    }
}

static gboolean
holds (const StudioAnnotation *frame, const Work *work, const Unit *unit)
{
  const StudioScene *scene = work->stood;

  if (unit->item != STUDIO_NO_ITEM)
    return studio_geometry_is_within (frame, scene->item[unit->item].x, scene->item[unit->item].y,
                                      scene->item[unit->item].width, scene->item[unit->item].height);
  return studio_geometry_is_within (frame, scene->annotation[unit->annotation].x, scene->annotation[unit->annotation].y,
                                    scene->annotation[unit->annotation].width,
                                    scene->annotation[unit->annotation].height);
}

/* TRUE if the frame contains a card, so that it is a box of the layout. */
static gboolean
add_frame (Work *work, guint annotation)
{
  const StudioAnnotation *frame = &work->scene->annotation[annotation];
  guint n = work->unit->len;
  g_autofree gboolean *member = g_new0 (gboolean, n + 1), *downstream = NULL, *before = NULL;
  Unit unit = { STUDIO_NO_ITEM, annotation, STUDIO_NO_ITEM, 0, 0, 0, 0 };
  gboolean any = FALSE;

  for (guint i = 0; i < n; i++)
    {
      const Unit *inner = unit_at (work, i);

      member[i] = inner->parent == STUDIO_NO_ITEM && holds (frame, work, inner);
      any |= member[i] && (inner->item != STUDIO_NO_ITEM || !work->scene->annotation[inner->annotation].is_note);
    }
  if (!any)
    return FALSE;
  /* A frame of which only some cards were chosen stays. */
  for (guint i = 0; work->chosen != NULL && i < work->scene->n_items; i++)
    if (!work->chosen[i]
        && studio_geometry_is_within (frame, work->stood->item[i].x, work->stood->item[i].y, work->stood->item[i].width,
                                      work->stood->item[i].height))
      return FALSE;
  downstream = g_memdup2 (member, (n + 1) * sizeof (gboolean));
  before = g_memdup2 (member, (n + 1) * sizeof (gboolean));
  reach (work, downstream, FALSE);
  reach (work, before, TRUE);
  for (guint i = 0; i < n; i++)
    if (member[i] || (downstream[i] && before[i]))
      unit_at (work, i)->parent = n;
  g_array_append_val (work->unit, unit);
  return TRUE;
}

typedef struct
{
  guint annotation;
  double area;
} Frame;

static int
compare_frames (gconstpointer a, gconstpointer b)
{
  const Frame *p = a, *q = b;

  if (p->area != q->area)
    return p->area < q->area ? -1 : 1;
  return p->annotation < q->annotation ? -1 : 1;
}

/* Cards, then notes in frames, then frames, the innermost first. */
static void
find_units (Work *work)
{
  const StudioScene *scene = work->scene;
  g_autoptr (GArray) frames = g_array_new (FALSE, FALSE, sizeof (Frame));

  for (guint i = 0; i < scene->n_items; i++)
    {
      /* A pin below a card needs space as the card does. */
      const StudioRect whole = studio_geometry_with_pins (&scene->item[i]);
      Unit unit = { i, 0, STUDIO_NO_ITEM, 0, 0, whole.width, whole.height };

      work->unit_of[i] = STUDIO_NO_ITEM;
      if (work->chosen != NULL && !work->chosen[i])
        continue;
      work->unit_of[i] = work->unit->len;
      g_array_append_val (work->unit, unit);
    }
  for (guint a = 0; a < scene->n_annotations; a++)
    if (!scene->annotation[a].is_note)
      {
        Frame frame = { a, scene->annotation[a].width * scene->annotation[a].height };

        g_array_append_val (frames, frame);
      }
  g_array_sort (frames, compare_frames);
  for (guint a = 0; a < scene->n_annotations; a++)
    {
      const StudioAnnotation *note = &scene->annotation[a];
      Unit unit = { STUDIO_NO_ITEM, a, STUDIO_NO_ITEM, 0, 0, note->width, note->height };
      gboolean framed = FALSE;

      for (guint f = 0; note->is_note && f < frames->len && !framed; f++)
        framed = studio_geometry_is_within (&scene->annotation[g_array_index (frames, Frame, f).annotation], note->x,
                                            note->y, note->width, note->height);
      if (framed && work->chosen == NULL)
        g_array_append_val (work->unit, unit);
      else if (note->is_note)
        work->anchored[work->n_anchored++] = a;
    }
  for (guint f = 0; f < frames->len; f++)
    if (!add_frame (work, g_array_index (frames, Frame, f).annotation))
      work->anchored[work->n_anchored++] = g_array_index (frames, Frame, f).annotation;
}

/* ---- boxes ----------------------------------------------------------------- */

/* The y of a port relative to the corner of its card's unit on this level. */
static double
port_height (const Work *work, guint item, gboolean is_output, guint port, guint below)
{
  const StudioItem *it = &work->scene->item[item];
  double x, y;

  studio_geometry_port (it, is_output, port, &x, &y);
  y -= it->y;
  for (guint at = work->unit_of[item]; at != below; at = unit_at (work, at)->parent)
    y += unit_at (work, at)->y;
  return y;
}

/* Between the layers of a graph that runs down, labels need only a line's height. */
static double
label_width (const Work *work, const StudioLink *link)
{
  if (work->mirrored)
    return 0;
  /* Seven units per letter at the caption's size, the label's ends, and space to the ports. */
  return link->label != NULL ? g_utf8_strlen (link->label, -1) * 6.9 + 12 + 6 : 0;
}

static guint
add_edges (const Work *work, guint parent, const guint *number, LayoutGraph *graph)
{
  const StudioScene *scene = work->scene;
  g_autofree guint *first_output = g_new (guint, scene->n_items + 1);
  guint n = 0, track = 0;

  for (guint i = 0; i < scene->n_items; i++)
    {
      first_output[i] = track;
      track += scene->item[i].n_outputs;
    }
  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      guint from = unit_below (work, link->from, parent), to = unit_below (work, link->to, parent);

      if (from == STUDIO_NO_ITEM || to == STUDIO_NO_ITEM || from == to)
        continue;
      graph->edge[n++] = (LayoutEdge){ .from = number[from],
                                       .to = number[to],
                                       .out = port_height (work, link->from, TRUE, link->output, from),
                                       .in = port_height (work, link->to, FALSE, link->input, to),
                                       .track = first_output[link->from] + link->output,
                                       .is_second = link->input > 0 };
      graph->label = MAX (graph->label, label_width (work, link));
    }
  graph->label = MIN (graph->label, LABEL_MOST);
  return n;
}

/* Lays out the units directly inside a frame, or outside all frames; inner frames are already laid out. x and y of each
 * unit become relative to the enclosing frame. */
static double
lay_out (Work *work, guint parent, double *width, double *height)
{
  guint n = work->unit->len;
  g_autofree guint *number = g_new (guint, n + 1), *member = g_new (guint, n + 1);
  g_autofree double *x = g_new (double, n + 1), *y = g_new (double, n + 1);
  g_autofree LayoutNode *node = g_new (LayoutNode, n + 1);
  g_autofree LayoutEdge *edge = g_new (LayoutEdge, work->scene->n_links + 1);
  LayoutGraph graph = { .node = node,
                        .edge = edge,
                        .cell_width = work->mirrored ? STUDIO_CARD_HEIGHT + STUDIO_CARD_FIGURE : STUDIO_CARD_WIDTH,
                        .cell_height = work->mirrored ? STUDIO_CARD_WIDTH : STUDIO_CARD_HEIGHT };
  double cost;

  for (guint i = 0; i < n; i++)
    if (unit_at (work, i)->parent == parent)
      {
        number[i] = graph.n_nodes;
        member[graph.n_nodes] = i;
        node[graph.n_nodes++] = (LayoutNode){ unit_at (work, i)->width, unit_at (work, i)->height };
      }
  graph.n_edges = add_edges (work, parent, number, &graph);
  cost = layout_graph (&graph, work->width, work->height, x, y, width, height);
  for (guint i = 0; i < graph.n_nodes; i++)
    {
      unit_at (work, member[i])->x = x[i];
      unit_at (work, member[i])->y = y[i];
    }
  return cost;
}

static void
lay_out_frames (Work *work)
{
  /* The strip with the title is at the top of a frame, which is the left of the mirrored frame. */
  double left = FRAME_MARGIN + (work->mirrored ? STUDIO_FRAME_TITLE : 0);
  double top = FRAME_MARGIN + (work->mirrored ? 0 : STUDIO_FRAME_TITLE);

  for (guint i = 0; i < work->unit->len; i++)
    {
      Unit *unit = unit_at (work, i);
      double width, height;

      if (unit->item != STUDIO_NO_ITEM || work->scene->annotation[unit->annotation].is_note)
        continue;
      lay_out (work, i, &width, &height);
      for (guint k = 0; k < work->unit->len; k++)
        if (unit_at (work, k)->parent == i)
          {
            unit_at (work, k)->x += left;
            unit_at (work, k)->y += top;
          }
      unit->width = width + FRAME_MARGIN + left;
      unit->height = height + FRAME_MARGIN + top;
    }
}

/* ---- back to the scene ------------------------------------------------------ */

static void
take_places (const Work *work, double dx, double dy, StudioLayout *layout)
{
  /* From the outermost inwards, because a frame comes after its contents. */
  for (guint i = work->unit->len; i-- > 0;)
    {
      Unit *unit = unit_at (work, i);
      const Unit *parent = unit->parent != STUDIO_NO_ITEM ? unit_at (work, unit->parent) : NULL;

      unit->x += parent != NULL ? parent->x : dx;
      unit->y += parent != NULL ? parent->y : dy;
      if (unit->item != STUDIO_NO_ITEM)
        {
          layout->x[unit->item] = unit->x;
          layout->y[unit->item] = unit->y;
        }
      else
        layout->annotation[unit->annotation] = (StudioRect){ unit->x, unit->y, unit->width, unit->height };
    }
}

static void
mirror (const StudioScene *scene, StudioLayout *layout)
{
  double *x = layout->x;

  layout->x = layout->y;
  layout->y = x;
  for (guint a = 0; a < scene->n_annotations; a++)
    layout->annotation[a] = studio_rect_mirrored (layout->annotation[a]);
}

/* A layout in one direction, and its cost. */
static StudioLayout *
lay_out_along (const StudioScene *scene, const gboolean *chosen, double width, double height, StudioFlow flow,
               double *cost)
{
  StudioLayout *layout = g_new0 (StudioLayout, 1);
  StudioScene *turned = studio_scene_copy_places (scene, FALSE);
  gboolean mirrored = flow == STUDIO_FLOW_DOWN;
  Work work = { .stood = studio_scene_copy_places (scene, mirrored),
                .mirrored = mirrored,
                .chosen = chosen,
                .width = mirrored ? height : width,
                .height = mirrored ? width : height,
                .unit = g_array_new (FALSE, FALSE, sizeof (Unit)),
                .unit_of = g_new (guint, scene->n_items + 1),
                .anchored = g_new (guint, scene->n_annotations + 1) };
  StudioScene *sized;
  double x = ORIGIN, y = ORIGIN, whole_width, whole_height;

  studio_scene_set_flow (turned, flow);
  work.scene = sized = studio_scene_copy_places (turned, mirrored);
  layout->flow = flow;
  layout->x = g_new (double, scene->n_items + 1);
  layout->y = g_new (double, scene->n_items + 1);
  layout->annotation = g_new (StudioRect, scene->n_annotations + 1);
  for (guint i = 0; i < scene->n_items; i++)
    {
      layout->x[i] = sized->item[i].x;
      layout->y[i] = sized->item[i].y;
    }
  for (guint a = 0; a < scene->n_annotations; a++)
    layout->annotation[a] = (StudioRect){ sized->annotation[a].x, sized->annotation[a].y, sized->annotation[a].width,
                                          sized->annotation[a].height };
  find_units (&work);
  *cost = 0;
  if (work.unit->len > 0)
    {
      lay_out_frames (&work);
      *cost = lay_out (&work, STUDIO_NO_ITEM, &whole_width, &whole_height);
      if (chosen != NULL)
        layout_corner_of_part (sized, chosen, whole_width, whole_height, &x, &y);
      take_places (&work, x, y, layout);
      layout_place_anchored (sized, chosen, work.anchored, work.n_anchored, layout);
    }
  if (mirrored)
    mirror (scene, layout);
  studio_scene_free_places (sized);
  studio_scene_free_places (turned);
  studio_scene_free_places ((StudioScene *)work.stood);
  g_array_unref (work.unit);
  g_free (work.unit_of);
  g_free (work.anchored);
  return layout;
}

/* The margin by which the other direction must be better: users would not recognise their graph if its direction
 * changed after each small edit. On a canvas higher than wide, a graph without a set direction needs a smaller margin.
 */
#define TURNING       0.5
#define TURNING_FRESH 0.1

/* TRUE if the whole layout is readable on the canvas. */
static gboolean
is_readable (const StudioScene *scene, const StudioLayout *layout, double width, double height)
{
  StudioScene *turned = studio_scene_copy_places (scene, FALSE);
  StudioRect all = { 0 };
  double zoom;

  studio_scene_set_flow (turned, layout->flow);
  for (guint i = 0; i < turned->n_items; i++)
    {
      StudioRect room = studio_geometry_with_pins (&turned->item[i]);

      room.x = layout->x[i];
      room.y = layout->y[i];
      all = i == 0 ? room : studio_rect_union (all, room);
    }
  zoom = studio_layout_zoom (all.width, all.height, width, height);
  studio_scene_free_places (turned);
  return zoom >= STUDIO_LAYOUT_READABLE;
}

static StudioLayout *
lay_out_either_way (const StudioScene *scene, double width, double height)
{
  StudioFlow other = scene->flow == STUDIO_FLOW_DOWN ? STUDIO_FLOW_RIGHT : STUDIO_FLOW_DOWN;
  double cost, other_cost;
  StudioLayout *layout = lay_out_along (scene, NULL, width, height, scene->flow, &cost), *turned;

  layout->stated = scene->flow_stated;
  if (scene->flow_stated && is_readable (scene, layout, width, height))
    return layout;
  turned = lay_out_along (scene, NULL, width, height, other, &other_cost);
  if (other_cost + (!scene->flow_stated && height > width ? TURNING_FRESH : TURNING) < cost)
    {
      studio_layout_free (layout);
      /* A graph without a set direction runs right. */
      turned->stated = other != STUDIO_FLOW_RIGHT;
      return turned;
    }
  studio_layout_free (turned);
  return layout;
}

StudioLayout *
studio_layout_new (const StudioScene *scene, const gboolean *chosen, double width, double height,
                   StudioLayoutDirection direction)
{
  StudioLayout *layout;
  double cost;

  if (direction == STUDIO_LAYOUT_AUTOMATIC && chosen == NULL)
    return lay_out_either_way (scene, width, height);
  if (direction == STUDIO_LAYOUT_AUTOMATIC || direction == STUDIO_LAYOUT_KEEP || chosen != NULL)
    {
      layout = lay_out_along (scene, chosen, width, height, scene->flow, &cost);
      layout->stated = scene->flow_stated;
      return layout;
    }
  layout = lay_out_along (scene, NULL, width, height,
                          direction == STUDIO_LAYOUT_DOWN ? STUDIO_FLOW_DOWN : STUDIO_FLOW_RIGHT, &cost);
  layout->stated = TRUE;
  return layout;
}

void
studio_layout_free (StudioLayout *layout)
{
  if (layout == NULL)
    return;
  g_free (layout->x);
  g_free (layout->y);
  g_free (layout->annotation);
  g_free (layout);
}

void
studio_layout_fill (StudioScene *scene)
{
  g_autoptr (StudioLayout) layout = NULL;
  StudioScene cards = *scene;

  /* Frames are ignored, so that a new frame around cards without positions does not move them. */
  cards.n_annotations = 0;
  for (guint i = 0; i < scene->n_items; i++)
    if (!scene->item[i].is_placed)
      {
        if (layout == NULL)
          layout = studio_layout_new (&cards, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_KEEP);
        scene->item[i].x = layout->x[i];
        scene->item[i].y = layout->y[i];
      }
  if (layout != NULL)
    studio_geometry_place_faults (scene);
}
