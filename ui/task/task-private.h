/* Shared by the kinds of pictures: what a kind is, and what all of them draw with. */
#pragma once

#include "ui/drawing/studio-theme.h"
#include "ui/task/studio-task-picture.h"

G_BEGIN_DECLS

typedef struct
{
  double x, y, width, height;
} TaskRect;

typedef struct
{
  const StudioTaskPicture *picture;
  cairo_t *cr; /* NULL where places are asked for */
  PangoContext *context;
  double scale;
  gboolean dark;
  StudioTheme theme;
  TaskRect room; /* between legend and caption */
} TaskDrawing;

/* One kind of picture. */
typedef struct
{
  const char *words; /* what is shown, for a screen reader; marked for translation */
  guint n_samples;
  gboolean spread; /* samples from all over the split, not one behind another */
  gboolean opens;  /* see studio_task_kind_opens() */
  gboolean legend; /* classes are told by colour and shape */
  gboolean list;   /* samples below each other: scrolled, not squeezed, with the captions above */
  double (*height) (const StudioTaskPicture *picture, double width, double scale);
  void (*draw) (const TaskDrawing *d);
  int (*sample_at) (const TaskDrawing *d, double x, double y);
  /* (optional) Inputs beside the samples, which come before them, for a grid of so many places a side. */
  gsize (*n_grid) (const StudioTaskPicture *picture, guint grid);
  void (*fill_grid) (const StudioTaskPicture *picture, float *x);
  /* (optional) */
  char *(*describe_place) (const TaskDrawing *d, double x, double y);
  char *(*describe_sample) (const StudioTaskPicture *picture, guint sample);
} TaskKind;

extern const TaskKind task_plane, task_rows, task_line, task_images, task_sequences;

/* ---- answers (task-answer.c) ---- */

/* How many inputs come before the samples in the last answers. */
gsize task_n_grid (const StudioTaskPicture *picture);
/* The number of the answer of input i; NULL without answers. */
const float *task_answer (const StudioTaskPicture *picture, gsize input);
const float *task_answer_of_sample (const StudioTaskPicture *picture, guint sample);
/* How many classes are told apart: those of the data, or of the answers where they are more; 0: none. */
guint task_n_classes (const StudioTaskPicture *picture);
/* That an answer (of one position) gives to a class. */
double task_probability (const StudioTaskPicture *picture, const float *answer, guint class);
/* The class with the highest, of one position. */
guint task_best (const StudioTaskPicture *picture, const float *answer, guint position);
/* 1: every position right, 0: one is wrong, -1: not known. */
int task_is_right (const StudioTaskPicture *picture, guint sample);
/* Name or number. (transfer full) */
char *task_class_name (const StudioTaskData *data, guint class);
char *task_feature_name (const StudioTaskData *data, guint column);
/* "Shirt · predicted Coat, 54 %" or "y 0.31 · predicted 0.29". (transfer full) */
char *task_words (const StudioTaskPicture *picture, guint sample);

/* ---- drawing (task-axes.c) ---- */

typedef struct
{
  TaskRect box; /* the frame of the plot */
  double x0, x1, y0, y1;
} TaskAxes;

StudioColor task_class_color (const TaskDrawing *d, guint class);
/* A marker of the class: its shape says it as well as its colour. */
void task_marker (const TaskDrawing *d, double x, double y, double radius, guint class);
/* A ring around the sample that is looked at. */
void task_ring (const TaskDrawing *d, double x, double y, double radius);
/* A legend of all classes; returns its height, and draws only where d->cr is set. */
double task_legend (const TaskDrawing *d, double x, double y, double width);
/* Words with their left, middle or right (align 0, 0.5, 1) at x, and their middle at y; returns their width. */
double task_text (const TaskDrawing *d, const char *text, double x, double y, double align, double most, gboolean dim);
double task_line_height (double scale);
/* Room for tick labels is taken off d->room; equal: both axes have the same scale. */
TaskAxes task_axes_new (const TaskDrawing *d, double x0, double x1, double y0, double y1, gboolean square);
void task_axes_draw (const TaskDrawing *d, const TaskAxes *axes, const char *x_name, const char *y_name);
double task_axes_x (const TaskAxes *axes, double x);
double task_axes_y (const TaskAxes *axes, double y);

G_END_DECLS
