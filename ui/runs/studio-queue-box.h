/* The runs that wait, each with a button that removes it, and one that starts them. Hidden while none waits. */
#pragma once

#include "ui/runs/studio-run-queue.h"

#include <gtk/gtk.h>

#define STUDIO_TYPE_QUEUE_BOX (studio_queue_box_get_type ())
G_DECLARE_FINAL_TYPE (StudioQueueBox, studio_queue_box, STUDIO, QUEUE_BOX, GtkBox)

/* The button activates win.start-queue. */
GtkWidget *studio_queue_box_new (StudioRunQueue *queue);
