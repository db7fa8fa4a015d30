/* A square plot with two axes, for calibration and predicted values. */
#pragma once

#include "ui/evaluate/studio-eval-chart.h"

typedef struct
{
  double x, y, side; /* of the square */
  double low, high;  /* of both axes */
} EvalPlane;

double eval_plane_height (StudioEvaluation *model, double width, double scale);
EvalPlane eval_plane_new (const EvalDrawing *d, double low, double high);
double eval_plane_x (const EvalPlane *p, double value);
double eval_plane_y (const EvalPlane *p, double value);
/* Draws ticks, names of the axes, and the diagonal. */
void eval_plane_draw (const EvalDrawing *d, const EvalPlane *p, const char *x_name, const char *y_name);
