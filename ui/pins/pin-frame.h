/* The frame of a pin: the view, its tools (kind, menu, close) while the pointer or the focus is there, its keys, and
 * the grip that is dragged to its size.
 *
 * It changes nothing by itself: it activates the actions of the group "pin" of its owner, which are kind (s), tensor
 * (s), colors (s), step (ii: an axis, counted from the last one that is chosen, and by how many elements), enlarged
 * (b), docked (b), resize (iib: pixels in addition, and whether the drag is over), save (s: the suffix of a file),
 * close. */
#pragma once

#include "ui/pins/studio-pin-view.h"

typedef struct
{
  /* The kinds that suit the tensor now, in the order of the digits. (transfer container) */
  GPtrArray *(*list_kinds) (gpointer owner);
  /* Tensors that the pin can show in place of its own. (transfer full) */
  char **(*list_tensors) (gpointer owner);
  gpointer owner;
} PinFrameLists;

/* Floating. The owner outlives its use: it calls pin_frame_detach() first. */
GtkWidget *pin_frame_new (StudioPinView *view, GActionGroup *actions, const PinFrameLists *lists);
void pin_frame_detach (GtkWidget *frame);
