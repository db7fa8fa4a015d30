#include "ui/canvas/canvas-gesture.h"

#include <math.h>

#define THRESHOLD 4.0

void
studio_gesture_init (StudioGesture *self)
{
  *self = (StudioGesture){ .state = STUDIO_GESTURE_IDLE,
                           .pressed = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM },
                           .target = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM },
                           .refused = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM } };
}

StudioCommand
studio_gesture_press (StudioGesture *self, const StudioScene *scene, const StudioView *view, double sx, double sy,
                      StudioPressFlags flags, gboolean (*is_selected) (guint64, gpointer), gpointer data)
{
  StudioCommand command = { STUDIO_DO_NOTHING };

  studio_gesture_init (self);
  self->start_sx = self->last_sx = sx;
  self->start_sy = self->last_sy = sy;
  studio_view_to_canvas (view, sx, sy, &self->start_x, &self->start_y);
  self->x = self->start_x;
  self->y = self->start_y;
  self->extend = (flags & STUDIO_PRESS_EXTEND) != 0;
  self->free = (flags & STUDIO_PRESS_FREE) != 0;
  self->all = (flags & STUDIO_PRESS_ALL) != 0;
  if (flags & STUDIO_PRESS_PAN)
    {
      self->state = STUDIO_GESTURE_PANNING;
      return command;
    }

  self->state = STUDIO_GESTURE_PRESSED;
  if (flags & STUDIO_PRESS_CUT)
    {
      self->cut = TRUE;
      return command;
    }
  self->pressed = studio_geometry_hit (scene, view, sx, sy);
  switch (self->pressed.kind)
    {
    case STUDIO_HIT_CARD:
      self->pressed_serial = scene->item[self->pressed.item].serial;
      self->anchor_x = scene->item[self->pressed.item].x;
      self->anchor_y = scene->item[self->pressed.item].y;
      break;
    case STUDIO_HIT_ANNOTATION:
      self->pressed_serial = scene->annotation[self->pressed.item].serial;
      self->anchor_x = scene->annotation[self->pressed.item].x;
      self->anchor_y = scene->annotation[self->pressed.item].y;
      break;
    case STUDIO_HIT_LINK:
      self->pressed_serial = scene->link[self->pressed.item].serial;
      if (self->free)
        {
          command = (StudioCommand){ STUDIO_DO_DISCONNECT, .link = self->pressed_serial };
          studio_gesture_init (self);
          return command;
        }
      if (self->pressed.port != STUDIO_NO_ITEM)
        {
          self->anchor_x = scene->link[self->pressed.item].point[self->pressed.port].x;
          self->anchor_y = scene->link[self->pressed.item].point[self->pressed.port].y;
        }
      break;
    case STUDIO_HIT_FIX:
      self->pressed_serial = scene->item[self->pressed.item].serial;
      return command;
    default:
      return command;
    }

  self->was_selected = is_selected != NULL && is_selected (self->pressed_serial, data);
  command.serial = self->pressed_serial;
  /* A press on a selected card keeps the selection, because it may start to move all of it; if it was only a click, the
   * release selects the card alone. */
  if (self->extend)
    command.what = STUDIO_DO_TOGGLE;
  else if (!self->was_selected)
    command.what = STUDIO_DO_SELECT;
  return command;
}

static void
begin_wiring (StudioGesture *self, const StudioScene *scene)
{
  const StudioItem *item = &scene->item[self->pressed.item];

  self->state = STUDIO_GESTURE_WIRING;
  self->all = self->all && self->pressed.kind == STUDIO_HIT_OUTPUT && item->output[self->pressed.port].n_links > 0;
  if (self->all)
    {
      /* The inputs stay; the first of them is the fixed port. */
      const StudioLink *link = &scene->link[item->output[self->pressed.port].link];

      self->from_output = FALSE;
      self->fixed_item = link->to;
      self->fixed_port = link->input;
      return;
    }
  if (self->pressed.kind == STUDIO_HIT_INPUT && item->input[self->pressed.port].n_links > 0)
    {
      /* The wire of the input is taken by its end: the output stays. */
      const StudioLink *link = &scene->link[item->input[self->pressed.port].link];

      self->link = link->serial;
      self->from_output = TRUE;
      self->fixed_item = link->from;
      self->fixed_port = link->output;
      return;
    }
  self->from_output = self->pressed.kind == STUDIO_HIT_OUTPUT;
  self->fixed_item = self->pressed.item;
  self->fixed_port = self->pressed.port;
}

static void
begin_drag (StudioGesture *self, const StudioScene *scene)
{
  if (self->cut)
    {
      self->state = STUDIO_GESTURE_CUTTING;
      return;
    }
  switch (self->pressed.kind)
    {
    case STUDIO_HIT_CARD:
    case STUDIO_HIT_ANNOTATION:
      self->state = STUDIO_GESTURE_MOVING;
      break;
    case STUDIO_HIT_INPUT:
    case STUDIO_HIT_OUTPUT:
      begin_wiring (self, scene);
      break;
    case STUDIO_HIT_NOTHING:
      self->state = STUDIO_GESTURE_BOXING;
      break;
    case STUDIO_HIT_LINK:
      self->state = self->pressed.port != STUDIO_NO_ITEM ? STUDIO_GESTURE_BENDING : STUDIO_GESTURE_BOXING;
      break;
    case STUDIO_HIT_FIX:
      break;
    }
}

#define REACH 7.0 /* screen pixels from a line that a card snaps to */

/* Limits the position of a card of this size along one axis to the visible part, so that it ends in sight. jump: how
 * far snapping to the grid or a line may still move it. was: where the drag began, possibly half out of sight. A card
 * that is larger than the view follows the pointer. */
static double
keep_in_sight (double at, double size, double low, double high, double was, double jump)
{
  low += jump;
  high -= size + jump;
  return low < high ? CLAMP (at, MIN (low, was), MAX (high, was)) : at;
}

/* The pressed card follows the pointer, but not out of the view, which moves on when the pointer is at its edge. It
 * snaps to the lines of other cards or to the grid; the other selected cards keep their distances from it. */
static void
move_cards (StudioGesture *self, const StudioScene *scene, const StudioView *view)
{
  gboolean is_annotation = self->pressed.kind == STUDIO_HIT_ANNOTATION;
  StudioRect seen = studio_view_visible (view);
  double width = is_annotation ? scene->annotation[self->pressed.item].width : scene->item[self->pressed.item].width;
  double height = is_annotation ? scene->annotation[self->pressed.item].height : scene->item[self->pressed.item].height;
  double reach = REACH / view->zoom, jump = MAX (reach, STUDIO_GRID / 2);
  double x = keep_in_sight (self->anchor_x + self->x - self->start_x, width, seen.x, seen.x + seen.width,
                            self->anchor_x, jump);
  double y = keep_in_sight (self->anchor_y + self->y - self->start_y, height, seen.y, seen.y + seen.height,
                            self->anchor_y, jump);

  if (self->free)
    self->snapped = (StudioSnapped){ .x = floor (x + 0.5), .y = floor (y + 0.5) };
  else
    self->snapped
        = studio_align_snap (scene, is_annotation ? STUDIO_NO_ITEM : self->pressed.item, self->moving,
                             &(StudioRect){ x, y, width, height }, self->anchor_x, self->anchor_y, reach, &seen);
  self->dx = self->snapped.x - self->anchor_x;
  self->dy = self->snapped.y - self->anchor_y;
}

static void
move_point (StudioGesture *self)
{
  double x = self->anchor_x + self->x - self->start_x, y = self->anchor_y + self->y - self->start_y;

  self->dx = (self->free ? floor (x + 0.5) : studio_geometry_snap (x)) - self->anchor_x;
  self->dy = (self->free ? floor (y + 0.5) : studio_geometry_snap (y)) - self->anchor_y;
}

StudioCommand
studio_gesture_motion (StudioGesture *self, const StudioScene *scene, const StudioView *view, double sx, double sy,
                       StudioLit lit, gpointer data)
{
  StudioCommand command = { STUDIO_DO_NOTHING };

  if (self->state == STUDIO_GESTURE_IDLE)
    return command;
  if (self->state == STUDIO_GESTURE_PANNING)
    {
      command.what = STUDIO_DO_PAN;
      command.dx = sx - self->last_sx;
      command.dy = sy - self->last_sy;
      self->last_sx = sx;
      self->last_sy = sy;
      return command;
    }
  if (self->state == STUDIO_GESTURE_PRESSED)
    {
      if (hypot (sx - self->start_sx, sy - self->start_sy) < THRESHOLD)
        return command;
      begin_drag (self, scene);
      if (self->state == STUDIO_GESTURE_PRESSED)
        return command;
    }

  self->last_sx = sx;
  self->last_sy = sy;
  studio_view_to_canvas (view, sx, sy, &self->x, &self->y);
  command.what = STUDIO_DO_REDRAW;
  if (self->state == STUDIO_GESTURE_MOVING)
    move_cards (self, scene, view);
  else if (self->state == STUDIO_GESTURE_BENDING)
    move_point (self);
  else if (self->state == STUDIO_GESTURE_BOXING)
    self->box = studio_rect_between (self->start_x, self->start_y, self->x, self->y);
  else if (self->state == STUDIO_GESTURE_WIRING)
    {
      StudioHit hit = studio_geometry_hit_port (scene, view, !self->from_output, sx, sy);

      const StudioHit nothing = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM };
      gboolean is_lit = hit.kind == STUDIO_HIT_NOTHING || lit == NULL || lit (hit.item, hit.port, data);

      self->target = is_lit ? hit : nothing;
      self->refused = is_lit ? nothing : hit;
    }
  return command;
}

/* All wires of an output go to another output; dropped anywhere else, they stay. */
static StudioCommand
finish_moving_wires (const StudioGesture *self)
{
  StudioCommand command = { STUDIO_DO_REDRAW };

  if (self->target.kind == STUDIO_HIT_NOTHING
      || (self->target.item == self->pressed.item && self->target.port == self->pressed.port))
    return command;
  command.what = STUDIO_DO_MOVE_WIRES;
  command.from = self->target.item;
  command.output = self->target.port;
  command.to = self->pressed.item;
  command.input = self->pressed.port;
  return command;
}

static StudioCommand
finish_wiring (StudioGesture *self, const StudioScene *scene)
{
  StudioHit end = self->target.kind != STUDIO_HIT_NOTHING ? self->target : self->refused;
  StudioCommand command = { STUDIO_DO_REDRAW };

  if (self->all && self->refused.kind == STUDIO_HIT_NOTHING)
    return finish_moving_wires (self);
  command.link = self->link;
  if (end.kind == STUDIO_HIT_NOTHING)
    {
      /* Putting the end of a wire back is no change; the hit area of the port decides. */
      command.what = self->link != 0 ? STUDIO_DO_DISCONNECT : STUDIO_DO_WIRE_DROPPED;
      command.x = self->x;
      command.y = self->y;
      command.from = self->from_output ? self->fixed_item : STUDIO_NO_ITEM;
      command.output = self->fixed_port;
      command.to = self->from_output ? STUDIO_NO_ITEM : self->fixed_item;
      command.input = self->fixed_port;
      return command;
    }
  command.what = self->target.kind != STUDIO_HIT_NOTHING ? STUDIO_DO_CONNECT : STUDIO_DO_REFUSE;
  command.from = self->from_output ? self->fixed_item : end.item;
  command.output = self->from_output ? self->fixed_port : end.port;
  command.to = self->from_output ? end.item : self->fixed_item;
  command.input = self->from_output ? end.port : self->fixed_port;
  if (self->link != 0)
    {
      guint link = studio_scene_find_link (scene, self->link);

      if (link != STUDIO_NO_ITEM && scene->link[link].to == command.to && scene->link[link].input == command.input)
        command.what = STUDIO_DO_REDRAW;
    }
  return command;
}

StudioCommand
studio_gesture_release (StudioGesture *self, const StudioScene *scene, const StudioView *view)
{
  StudioCommand command = { STUDIO_DO_NOTHING };

  switch (self->state)
    {
    case STUDIO_GESTURE_PRESSED:
      if (self->cut)
        break;
      if (self->pressed.kind == STUDIO_HIT_FIX)
        command = (StudioCommand){ STUDIO_DO_FIX, .serial = self->pressed_serial };
      else if ((self->pressed.kind == STUDIO_HIT_CARD || self->pressed.kind == STUDIO_HIT_ANNOTATION)
               && self->pressed.port == 0 && !self->extend)
        command = (StudioCommand){ STUDIO_DO_FOLD, .serial = self->pressed_serial };
      else if (self->pressed.kind == STUDIO_HIT_NOTHING && !self->extend)
        command = (StudioCommand){ STUDIO_DO_SELECT };
      else if ((self->pressed.kind == STUDIO_HIT_CARD || self->pressed.kind == STUDIO_HIT_LINK
                || self->pressed.kind == STUDIO_HIT_ANNOTATION)
               && !self->extend && self->was_selected)
        command = (StudioCommand){ STUDIO_DO_SELECT, .serial = self->pressed_serial };
      else if ((self->pressed.kind == STUDIO_HIT_INPUT || self->pressed.kind == STUDIO_HIT_OUTPUT))
        command = (StudioCommand){ STUDIO_DO_SELECT, .serial = scene->item[self->pressed.item].serial };
      break;
    case STUDIO_GESTURE_MOVING:
      command.what = self->dx != 0 || self->dy != 0 ? STUDIO_DO_MOVE : STUDIO_DO_REDRAW;
      command.dx = self->dx;
      command.dy = self->dy;
      break;
    case STUDIO_GESTURE_BENDING:
      command = (StudioCommand){ STUDIO_DO_MOVE_POINT, .link = self->pressed_serial, .input = self->pressed.port };
      command.x = self->anchor_x + self->dx;
      command.y = self->anchor_y + self->dy;
      break;
    case STUDIO_GESTURE_BOXING:
      command.what = STUDIO_DO_SELECT_BOX;
      command.box = self->box;
      command.extend = self->extend;
      break;
    case STUDIO_GESTURE_WIRING:
      command = finish_wiring (self, scene);
      break;
    case STUDIO_GESTURE_CUTTING:
      command = (StudioCommand){ STUDIO_DO_CUT, .x = self->start_x, .y = self->start_y };
      command.dx = self->x - self->start_x;
      command.dy = self->y - self->start_y;
      break;
    case STUDIO_GESTURE_PANNING:
    case STUDIO_GESTURE_IDLE:
      break;
    }
  studio_gesture_init (self);
  return command;
}

void
studio_gesture_cancel (StudioGesture *self)
{
  studio_gesture_init (self);
}

guint64
studio_gesture_get_held (const StudioGesture *self, const StudioScene *scene)
{
  const StudioHit *pressed = &self->pressed;
  gboolean on_port = pressed->kind == STUDIO_HIT_INPUT || pressed->kind == STUDIO_HIT_OUTPUT;

  if (self->state == STUDIO_GESTURE_IDLE)
    return 0;
  return on_port && pressed->item < scene->n_items ? scene->item[pressed->item].serial : self->pressed_serial;
}
