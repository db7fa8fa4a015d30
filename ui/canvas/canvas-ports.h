/* The ports that may take the wire that is being drawn, and why another one may not. */
#pragma once

#include "ui/canvas/canvas-gesture.h"
#include "ui/document/studio-document.h"

typedef struct _CanvasPorts CanvasPorts;

/* document must outlive this. */
CanvasPorts *canvas_ports_new (StudioDocument *document);
void canvas_ports_free (CanvasPorts *self);

/* Lights the ports of a scene that may take the loose end of a gesture that is wiring. The document's types are known,
 * and the gesture's fixed port is one of the scene. */
void canvas_ports_light (CanvasPorts *self, const StudioScene *scene, const StudioGesture *gesture);
/* Finds out why the port under the pointer takes no wire; tries the wire out only once a port. */
void canvas_ports_explain (CanvasPorts *self, const StudioScene *scene, const StudioGesture *gesture);
/* The sentence of the last canvas_ports_explain(); NULL: the port takes the wire, or there is none. */
const char *canvas_ports_get_refusal (const CanvasPorts *self);
/* Also the fixed port of the gesture is lit. */
gboolean
canvas_ports_is_lit (const CanvasPorts *self, const StudioGesture *gesture, guint item, gboolean is_output, guint port);
void canvas_ports_forget_lit (CanvasPorts *self);
void canvas_ports_forget_refusal (CanvasPorts *self);
