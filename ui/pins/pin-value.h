/* A value of a pinned tensor with all words that its picture needs, and the values before it. */
#pragma once

#include "engine/loom.h"
#include "ui/task/studio-task-picture.h"

/* Owned by the view that shows it. */
typedef struct
{
  char *title; /* "conv1", "gradient of conv1.weight" */
  char *where; /* "channel 3 of 16 · sample 1"; "": nothing is chosen */
  char *when;  /* "step 840", "after step 840" */
  gint64 step;
  /* As sent, row major: the last dimensions of the tensor, possibly means of blocks of cells; or a summary. */
  gsize rank;
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  float *values;
  gsize n_values;
  /* Of the whole tensor. */
  char *tensor; /* "conv1.weight", "grad:conv1" */
  gsize full_rank;
  gint64 full[LOOM_SHAPE_MAX_RANK];
  gint64 index[LOOM_SHAPE_MAX_RANK];     /* the chosen element of each axis */
  const char *axis[LOOM_SHAPE_MAX_RANK]; /* translated names: "channel" */
  char **row_labels, **column_labels;    /* of the last two axes; NULL: none */
  StudioTaskPicture *plane;              /* not owned; NULL: the net has no decision surface */
  double *components;                    /* the rows' principal components, [rows, 2], computed when they are drawn */
} PinValue;

PinValue *pin_value_new (const char *title, const char *where, const char *when, gint64 step);
void pin_value_free (PinValue *value);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PinValue, pin_value_free)
/* Sets shape and values, copied. FALSE if there are fewer than n_values values, or none. */
gboolean pin_value_set (PinValue *value, gsize rank, const gint64 *dims, const float *values, gsize n_values);
/* Keeps one row, the chosen one of the axis before the last, of a matrix. */
void pin_value_choose_row (PinValue *value);
gsize pin_value_columns (const PinValue *value); /* the last dimension; 1 for a scalar */
gsize pin_value_rows (const PinValue *value);    /* the one before; 1 for a vector */
/* The matrices before those: n_values / (rows · columns). */
gsize pin_value_tiles (const PinValue *value);
/* The axis of the tensor of a dimension as sent, counted from the last one (0: columns). */
gsize pin_value_axis (const PinValue *value, gsize from_last);
/* The label of row or column i, if there is one for each; else NULL. */
const char *pin_value_row_label (const PinValue *value, gsize row);
const char *pin_value_column_label (const PinValue *value, gsize column);
/* "conv1[0, 2, 5, 7]": where a value comes from; a range if it is a mean of several. (transfer full) */
char *pin_value_origin (const PinValue *value, gsize i);
/* The row-major index of the first of these in the whole tensor; -1: the value is not of one element. */
gint64 pin_value_element (const PinValue *value, gsize i);
/* Least and greatest finite value; FALSE if there are none. *n_bad: the number of others. */
gboolean pin_value_range (const PinValue *value, double *least, double *most, gsize *n_bad);
/* A line for each row: names or indices of the dimensions before the last, then the values. (transfer full) */
char *pin_value_to_csv (const PinValue *value);

/* The values of the last steps, of which every second is dropped when there are PIN_HISTORY. */
#define PIN_HISTORY 512

typedef struct
{
  gsize width;   /* values of a step */
  GArray *step;  /* gint64 */
  GArray *value; /* float, width for each step */
} PinHistory;

PinHistory *pin_history_new (void);
void pin_history_free (PinHistory *history);
void pin_history_clear (PinHistory *history);
/* Another width, or a step before the last one, begins again. */
void pin_history_add (PinHistory *history, const PinValue *value);
const float *pin_history_get (const PinHistory *history, gsize i);
gint64 pin_history_step (const PinHistory *history, gsize i);
char *pin_history_to_csv (const PinHistory *history, const char *const *names);
