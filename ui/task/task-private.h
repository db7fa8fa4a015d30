/* The vtable of a kind of task view, and drawing shared by all kinds. */
#pragma once

#include "ui/drawing/studio-theme.h"
#include "ui/task/studio-task-picture.h"

typedef struct
{
  double x, y, width, height;
} TaskRect;

typedef struct
{
  const StudioTaskPicture *picture;
  cairo_t *cr; /* NULL: measure only */
  PangoContext *context;
  double scale;
  gboolean dark;
  StudioTheme theme;
  TaskRect room; /* between legend and caption */
  gboolean has_captions;
} TaskDrawing;

/* One kind of view. */
typedef struct
{
  const char *words; /* description for screen readers; marked for translation */
  guint n_samples;
  gboolean spread; /* samples spread over the split instead of consecutive ones */
  gboolean opens;  /* see studio_task_kind_opens() */
  gboolean legend; /* classes have colours and markers; of images if they are of pixels */
  gboolean list;   /* samples below each other: scrolls, captions above */
  double (*height) (const StudioTaskPicture *picture, double width, double scale);
  void (*draw) (const TaskDrawing *d);
  int (*sample_at) (const TaskDrawing *d, double x, double y);
  /* (optional) The number of grid inputs, which come before the samples, for a grid of this size. */
  gsize (*n_grid) (const StudioTaskPicture *picture, guint grid);
  void (*fill_grid) (const StudioTaskPicture *picture, float *x);
  /* (optional) The ranges of two axes of features, and the features at a position of the drawing, within them. */
  void (*range) (const StudioTaskPicture *picture, double low[2], double high[2]);
  void (*point_at) (const TaskDrawing *d, double x, double y, double point[2]);
  /* (optional) The cell of the grid of predictions at a position of the drawing, -1: none; and its place. */
  gint64 (*cell_at) (const TaskDrawing *d, double x, double y);
  void (*cell_rect) (const TaskDrawing *d, gsize cell, TaskRect *rect);
  char *(*describe_cell) (const StudioTaskPicture *picture, gsize cell);
  /* (optional) */
  char *(*describe_place) (const TaskDrawing *d, double x, double y);
  char *(*describe_sample) (const StudioTaskPicture *picture, guint sample);
} TaskKind;

extern const TaskKind task_plane, task_rows, task_line, task_images, task_sequences;

/* ---- predictions (task-answer.c) ---- */

/* The number of grid inputs before the samples in the last predictions. */
gsize task_n_grid (const StudioTaskPicture *picture);
/* The prediction of input i; NULL: none. */
const float *task_answer (const StudioTaskPicture *picture, gsize input);
const float *task_answer_of_sample (const StudioTaskPicture *picture, guint sample);
/* The number of classes: of the data, or of the predictions if greater; 0: none. */
guint task_n_classes (const StudioTaskPicture *picture);
/* The probability of a class in a prediction (of one position). */
double task_probability (const StudioTaskPicture *picture, const float *answer, guint class);
/* The most probable class of one position. */
guint task_best (const StudioTaskPicture *picture, const float *answer, guint position);
/* TRUE if each pixel of an image has a class: a mask. */
gboolean task_is_map (const StudioTaskPicture *picture);
#define TASK_BOX_NUMBERS 5 /* of the target */
/* TRUE if the target is boxes of objects: class, x1, y1, x2, y2 each. */
gboolean task_has_boxes (const StudioTaskPicture *picture);
/* The detections that are shown of a sample: x1, y1, x2, y2, score, class each, of *n, in the order of the prediction;
 * NULL: there is no prediction. (transfer full) */
float *task_detections (const StudioTaskPicture *picture, guint sample, guint *n);
/* The fraction of a sample's positions that are correct; NaN: unknown. */
double task_share_right (const StudioTaskPicture *picture, guint sample);
/* 1: all positions correct, 0: one is wrong, -1: unknown. */
int task_is_right (const StudioTaskPicture *picture, guint sample);
/* Name or number. (transfer full) */
char *task_class_name (const StudioTaskData *data, guint class);
char *task_feature_name (const StudioTaskData *data, guint column);
/* "Shirt · predicted Coat, 54 %" or "y 0.31 · predicted 0.29". (transfer full) */
char *task_sample_text (const StudioTaskPicture *picture, guint sample);
/* The predicted mask or boxes of a sample as text. (transfer full) */
char *task_prediction_text (const StudioTaskPicture *picture, guint sample);

/* ---- drawing (task-axes.c) ---- */

typedef struct
{
  TaskRect box; /* the frame of the plot */
  double x0, x1, y0, y1;
} TaskAxes;

StudioColor task_class_color (const TaskDrawing *d, guint class);
/* The marker of a class, which differs in shape and colour. */
void task_marker (const TaskDrawing *d, double x, double y, double radius, guint class);
/* A ring around the selected sample. */
void task_ring (const TaskDrawing *d, double x, double y, double radius);
/* A legend of all classes; returns its height, and draws only if d->cr is set. */
double task_legend (const TaskDrawing *d, double x, double y, double width);
/* Text with its left, middle or right (align 0, 0.5, 1) at x and its middle at y; returns its width. */
double task_text (const TaskDrawing *d, const char *text, double x, double y, double align, double most, gboolean dim);
double task_line_height (double scale);
/* Takes the space of tick labels from d->room; square: both axes have the same scale. */
TaskAxes task_axes_new (const TaskDrawing *d, double x0, double x1, double y0, double y1, gboolean square);
void task_axes_draw (const TaskDrawing *d, const TaskAxes *axes, const char *x_name, const char *y_name);
double task_axes_x (const TaskAxes *axes, double x);
double task_axes_y (const TaskAxes *axes, double y);
