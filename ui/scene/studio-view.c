/* The visible part of the canvas: conversion to and from screen coordinates, fitting, scrolling. */
#include "ui/scene/studio-geometry.h"

void
studio_view_to_screen (const StudioView *view, double x, double y, double *sx, double *sy)
{
  *sx = (x - view->x) * view->zoom;
  *sy = (y - view->y) * view->zoom;
}

void
studio_view_to_canvas (const StudioView *view, double sx, double sy, double *x, double *y)
{
  *x = view->x + sx / view->zoom;
  *y = view->y + sy / view->zoom;
}

StudioRect
studio_view_visible (const StudioView *view)
{
  return (StudioRect){ view->x, view->y, view->width / view->zoom, view->height / view->zoom };
}

void
studio_view_zoom_at (StudioView *view, double zoom, double sx, double sy)
{
  double x, y;

  studio_view_to_canvas (view, sx, sy, &x, &y);
  view->zoom = CLAMP (zoom, STUDIO_ZOOM_MIN, STUDIO_ZOOM_MAX);
  view->x = x - sx / view->zoom;
  view->y = y - sy / view->zoom;
}

/* On a canvas up to this height, in pixels, the graph is not enlarged. */
#define LIFE_SIZE_HEIGHT 1000.0

void
studio_view_fit (StudioView *view, const StudioRect *bounds)
{
  const double margin = 24;
  double room_w = MAX (view->width - 2 * margin, 1), room_h = MAX (view->height - 2 * margin, 1);
  /* On a very large canvas a small graph is enlarged. */
  double zoom = CLAMP (view->height / LIFE_SIZE_HEIGHT, 1, 2);

  if (bounds->width > 0 && bounds->height > 0)
    zoom = MIN (zoom, MIN (room_w / bounds->width, room_h / bounds->height));
  view->zoom = CLAMP (zoom, STUDIO_ZOOM_MIN, STUDIO_ZOOM_MAX);
  view->x = bounds->x + bounds->width / 2 - view->width / 2 / view->zoom;
  view->y = bounds->y + bounds->height / 2 - view->height / 2 / view->zoom;
}

void
studio_view_fit_from (StudioView *view, const StudioRect *bounds, const StudioRect *start, double least)
{
  const double margin = 24 / least;
  double width = view->width / least, height = view->height / least;

  studio_view_fit (view, bounds);
  if (view->zoom >= least)
    return;
  view->zoom = least;
  /* Along an axis on which the whole graph fits it stays centred. */
  view->x = bounds->width + 2 * margin <= width ? bounds->x + (bounds->width - width) / 2 : bounds->x - margin;
  view->y = bounds->height + 2 * margin <= height ? bounds->y + (bounds->height - height) / 2 : bounds->y - margin;
  studio_view_reveal (view, start);
}

gboolean
studio_view_reveal (StudioView *view, const StudioRect *rect)
{
  const double margin = 24 / view->zoom;
  StudioRect seen = studio_view_visible (view);
  double x = view->x, y = view->y;

  if (rect->x + rect->width + margin > x + seen.width)
    x = rect->x + rect->width + margin - seen.width;
  if (rect->x - margin < x)
    x = rect->x - margin;
  if (rect->y + rect->height + margin > y + seen.height)
    y = rect->y + rect->height + margin - seen.height;
  if (rect->y - margin < y)
    y = rect->y - margin;
  if (x == view->x && y == view->y)
    return FALSE;
  view->x = x;
  view->y = y;
  return TRUE;
}
