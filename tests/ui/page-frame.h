/* What most parts of a page are made with, without a page. */
#pragma once

#include "tests/ui/document-graphs.h"
#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"
#include "ui/shell/studio-panes.h"

#define CHAIN                                                                                                          \
  GRAPH ("  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"                                                             \
         "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"                                                      \
         "  <node id=\"act_one\" op=\"relu\"/>\n"                                                                      \
         "  <wire from=\"x\" to=\"fc\"/>\n"                                                                            \
         "  <wire from=\"fc\" to=\"act_one\"/>\n")

/* A document with its run, canvas and panes in a window that is not shown. said: the toasts. */
typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  GtkWidget *toasts;
  StudioPanes *panes;
  GtkWindow *window;
  guint said;
} Frame;

void frame_begin (Frame *self, const char *graph);
void frame_end (Frame *self);

/* For signals that are counted, connected as swapped. */
void count_cb (guint *count);
/* All that waits in the main loop. */
void settle (void);
/* The part is freed: nothing that it was made with keeps it. */
void release (gpointer part);
