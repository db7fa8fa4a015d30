/* Slides: the path of views that a lecture takes through a graph, in the order of the file.
 *
 *   <view>
 *     <slide title="Queries and keys" x="0" y="0" width="640" height="360" spotlight="q k" pins="">Markdown</slide>
 *   </view>
 *
 * The part of the canvas is kept and not a zoom, so that every screen shows the same of the graph. Studio walks slides
 * in its presentation, `gradloom check` reads them for faults. */
#pragma once

#include "engine/graph/loom-graph.h"

typedef struct
{
  guint64 serial;             /* of the <slide> */
  char *title;                /* "" where it has none */
  char *text;                 /* Markdown, without the common indent of its lines; "" without a note */
  char *scope;                /* path of the module instance to show, "block.0"; "": the graph itself */
  gboolean whole;             /* no part is given: everything is shown */
  double x, y, width, height; /* the part to show, in canvas units, as large as it fits */
  char **spotlight;           /* ids of nodes of the scope that stay bright; NULL: all */
  char **pins;                /* tensors whose pins are shown; NULL: all, an empty list: none */
} LoomSlide;

void loom_slide_free (LoomSlide *slide);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSlide, loom_slide_free)

/* The slides of the graph's <view> (LoomSlide), in order; never NULL. Parts that are no rectangle are faults of code
 * SCHEMA at the line of the slide, which then shows everything; unknown names of nodes are warnings. faults may be
 * NULL. */
GPtrArray *loom_slides_new (const LoomGraph *graph, LoomFaults *faults);

/* Whether two slides, of one graph at two times, are equal and belong to the same element. */
gboolean loom_slide_equal (const LoomSlide *a, const LoomSlide *b);

/* A <slide> that is not in a graph yet (transfer full), which the reader would read as this slide. */
LoomElement *loom_slide_to_element (const LoomSlide *slide);
