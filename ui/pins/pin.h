/* One pin: an element <pin> of the graph's <view>, its requests to the worker, and its commands. Studio-pin.c has the
 * list of them and decides where their frames are. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/pins/studio-pin-view.h"
#include "ui/run/studio-run.h"
#include "ui/run/studio-task.h"

/* Attributes of <pin> in a namespace of their own, so that versions that do not know them keep them and show the pin.
 */
#define PIN_NAMESPACE "urn:gradloom:look"
#define PIN_XMLNS     "xmlns:look"
#define PIN_INDEX     "look:index"  /* the chosen element of each axis of the tensor: "0,3" */
#define PIN_COLORS    "look:colors" /* linear, log, row */
#define PIN_DOCKED    "look:docked" /* "true": at the side, not at its card */

typedef struct _Pin Pin;

typedef struct
{
  StudioDocument *document; /* these outlive the pin */
  StudioRun *run;
  StudioTask *task;                                           /* may be NULL */
  void (*placed) (Pin *pin, gpointer data);                   /* enlarged or docked, or no longer */
  void (*save) (Pin *pin, const char *suffix, gpointer data); /* to a file */
  gpointer data;
} PinOwner;

Pin *pin_new (const PinOwner *owner, const LoomElement *element);
void pin_unref (Pin *pin);
/* Ends its requests; the list no longer has it. */
void pin_detach (Pin *pin);
guint64 pin_serial (const Pin *pin); /* of its element */
/* Takes what the element says now. FALSE if the pin belongs to another node now. */
gboolean pin_sync (Pin *pin, const LoomElement *element);
/* Requests the value, at most ten times a second. */
void pin_pull (Pin *pin);
/* Forgets the values of the run before. */
void pin_begin_run (Pin *pin);
void pin_set_text_scale (Pin *pin, double scale);
void pin_enlarge (Pin *pin, gboolean enlarged);

GtkWidget *pin_get_frame (const Pin *pin);
StudioPinView *pin_get_view (const Pin *pin);
const char *pin_get_tensor (const Pin *pin);
const char *pin_get_node (const Pin *pin); /* the path of its node */
gboolean pin_is_enlarged (const Pin *pin);
gboolean pin_is_docked (const Pin *pin);
