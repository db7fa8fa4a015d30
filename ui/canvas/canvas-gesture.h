/* Presses, moves and releases of the pointer: a state machine without widgets. A press decides
 * what a drag would be, and four pixels make it a drag.
 *
 * The widget passes events in and carries out the command that is returned; during a gesture it draws from the public
 * fields. So every drag can be tested without a display, and the document changes once, at the release. */
#pragma once

#include "ui/canvas/canvas-hit.h"
#include "ui/layout/studio-align.h"

typedef enum
{
  STUDIO_GESTURE_IDLE,
  STUDIO_GESTURE_PRESSED, /* not yet a drag */
  STUDIO_GESTURE_MOVING,
  STUDIO_GESTURE_BENDING, /* a waypoint is dragged */
  STUDIO_GESTURE_BOXING,
  STUDIO_GESTURE_WIRING,
  STUDIO_GESTURE_CUTTING,
  STUDIO_GESTURE_PANNING
} StudioGestureState;

typedef enum
{
  STUDIO_DO_NOTHING,
  STUDIO_DO_REDRAW,       /* the fields changed */
  STUDIO_DO_SELECT,       /* serial alone; 0 clears */
  STUDIO_DO_TOGGLE,       /* serial */
  STUDIO_DO_PAN,          /* the view moves by dx, dy screen pixels */
  STUDIO_DO_MOVE,         /* the selection moves by dx, dy canvas units, snapped */
  STUDIO_DO_SELECT_BOX,   /* all cards that box touches; extend: added to the selection */
  STUDIO_DO_CONNECT,      /* from.output to to.input; link: the wire whose end was moved, or 0 */
  STUDIO_DO_DISCONNECT,   /* link: its end was dropped on nothing */
  STUDIO_DO_MOVE_WIRES,   /* all wires of to.input, here an output, begin at from.output */
  STUDIO_DO_CUT,          /* the wires that the line from x, y by dx, dy crosses */
  STUDIO_DO_REFUSE,       /* as STUDIO_DO_CONNECT, but the port is not lit: report why */
  STUDIO_DO_WIRE_DROPPED, /* a new wire was dropped on nothing at x, y: offer the operators that could follow */
  STUDIO_DO_MOVE_POINT,   /* point input of link, to x, y */
  STUDIO_DO_FIX,          /* serial */
  STUDIO_DO_FOLD          /* serial of a frame or a card: collapse or open it */
} StudioDo;

typedef struct
{
  StudioDo what;
  guint64 serial, link;
  double dx, dy, x, y;
  guint from, output, to, input;
  StudioRect box;
  gboolean extend;
} StudioCommand;

typedef enum
{
  STUDIO_PRESS_EXTEND = 1 << 0, /* Shift or Ctrl */
  STUDIO_PRESS_PAN = 1 << 1,    /* middle button, or Space held */
  STUDIO_PRESS_FREE = 1 << 2,   /* Alt: no snapping; a wire is cut */
  STUDIO_PRESS_CUT = 1 << 3,    /* Ctrl with the secondary button, or Shift and Alt: a line that cuts wires */
  STUDIO_PRESS_ALL = 1 << 4     /* Ctrl: all wires of a port */
} StudioPressFlags;

/* Whether a port may take the loose end. */
typedef gboolean (*StudioLit) (guint item, guint port, gpointer data);

typedef struct
{
  StudioGestureState state;
  StudioHit pressed;
  guint64 pressed_serial;
  gboolean was_selected, extend, free, cut;
  double start_sx, start_sy, last_sx, last_sy; /* screen */
  double start_x, start_y, x, y;               /* canvas */
  double dx, dy;                               /* moving, bending: what cards or the point are drawn aside by */
  double anchor_x, anchor_y;                   /* moving: corner of the card that was taken, which snaps */
  const gboolean *moving;                      /* moving: items that go along, set by the widget; may be NULL */
  StudioSnapped snapped;                       /* moving: the lines that it has come onto */
  StudioRect box;                              /* boxing */
  gboolean from_output;                        /* wiring: the fixed end is an output */
  guint fixed_item, fixed_port;                /* wiring */
  guint64 link;                                /* wiring: the wire whose end was taken, or 0 */
  gboolean all;                                /* wiring: all wires of the pressed output are taken by that end */
  StudioHit target;                            /* wiring: the lit port under the pointer */
  StudioHit refused;                           /* wiring: a port under the pointer that is not lit */
} StudioGesture;

void studio_gesture_init (StudioGesture *self);
/* selected: whether the thing under the pointer is selected. */
StudioCommand
studio_gesture_press (StudioGesture *self, const StudioScene *scene, const StudioView *view, double sx, double sy,
                      StudioPressFlags flags, gboolean (*is_selected) (guint64, gpointer), gpointer data);
StudioCommand studio_gesture_motion (StudioGesture *self, const StudioScene *scene, const StudioView *view, double sx,
                                     double sy, StudioLit lit, gpointer data);
StudioCommand studio_gesture_release (StudioGesture *self, const StudioScene *scene, const StudioView *view);
/* Escape, or the scene changed below: nothing happens to the document. */
void studio_gesture_cancel (StudioGesture *self);
/* The serial of the card or annotation that the gesture began on, of a port its card; 0: there is no gesture. */
guint64 studio_gesture_get_held (const StudioGesture *self, const StudioScene *scene);
