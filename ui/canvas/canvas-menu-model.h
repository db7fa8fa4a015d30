/* The entries of context menus: a table for each kind of target, with conditions.
 *
 * A menu offers in words what keys do: its entries are actions of the canvas. Those that depend on the position of the
 * press (the port, the point) are actions of their own, "menu.NAME", which canvas-menu.c installs. */
#pragma once

#include "ui/canvas/canvas-hit.h"
#include "ui/document/studio-document.h"

/* What a context menu was opened for. */
typedef struct
{
  StudioHitKind kind;
  guint64 serial;   /* of the card, wire, frame or note; 0: the canvas */
  const char *port; /* interned; NULL: none */
  double x, y;      /* canvas units */
} CanvasMenuTarget;

/* NULL: the target is no card, or no port, of this scene. */
const StudioItem *canvas_menu_target_item (const CanvasMenuTarget *target, const StudioScene *scene);
const StudioPort *canvas_menu_target_port (const CanvasMenuTarget *target, const StudioScene *scene);

/* (transfer full) */
GMenuModel *canvas_menu_model_new (StudioDocument *document, const StudioScene *scene, const CanvasMenuTarget *target);
