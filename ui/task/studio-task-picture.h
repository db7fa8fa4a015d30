/* The task view without a widget: samples, the model's predictions, and how both are drawn.
 *
 * It provides the inputs to predict (a grid over the plane, and the samples) and receives the predictions; it runs no
 * model. The colours of classes are distinguishable by colour-blind users (Okabe and Ito, "Color universal design",
 * 2008), and each class has its own marker. */
#pragma once

#include <pango/pangocairo.h>

#include "ui/task/studio-task-data.h"

typedef struct
{
  StudioTaskData *data; /* NULL: none yet */
  guint column[2];      /* the columns on the axes */
  guint grid;           /* points per side of the grid; a curve has more */
  int marked;           /* the selected sample; -1: none */
  gboolean has_point;   /* a point of the user's own is drawn */
  double point[2];      /* its features */
  /* the last predictions */
  gboolean answered;
  LoomAnswerKind kind;
  guint answered_grid; /* the grid of these predictions */
  guint n_positions, n_classes;
  float *value; /* [inputs, positions, classes], the grid first, then the samples */
  gint64 step, epoch;
} StudioTaskPicture;

typedef struct
{
  gboolean dark, high_contrast;
  double scale; /* of text: 1, in presentation 1.6 */
} StudioTaskStyle;

StudioTaskPicture *studio_task_picture_new (void);
void studio_task_picture_free (StudioTaskPicture *picture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioTaskPicture, studio_task_picture_free)

/* The number of samples for this kind of view, and whether they are spread over the split. */
guint studio_task_kind_samples (LoomTaskViewKind kind, gboolean *spread);
/* TRUE if the view explains the task at once, so that it may open by itself. */
gboolean studio_task_kind_opens (LoomTaskViewKind kind);

/* Sets other samples (transfer full, may be NULL) and clears the predictions. */
void studio_task_picture_set_data (StudioTaskPicture *picture, StudioTaskData *data);
void studio_task_picture_forget_answers (StudioTaskPicture *picture);
/* The inputs to predict: *shape (transfer full) has *rank sizes, samples first; f32. NULL: no data. */
float *
studio_task_picture_inputs (const StudioTaskPicture *picture, gint64 shape[LOOM_SHAPE_MAX_RANK], int *rank, gsize *n);
/* Sets the predictions for those inputs, copied: shape is [inputs, positions, classes]. FALSE: the sizes do not match.
 */
gboolean studio_task_picture_take (StudioTaskPicture *picture, LoomAnswerKind kind, const gint64 shape[3],
                                   const float *value, gsize n_values, gint64 step, gint64 epoch);

/* TRUE if target and prediction are drawn over the picture: a class at each pixel, or boxes of objects. */
gboolean studio_task_picture_draws_over (const StudioTaskPicture *picture);
/* The fraction of positions predicted correctly; NaN: unknown. */
double studio_task_picture_accuracy (const StudioTaskPicture *picture);
/* The mean of |prediction − y|; NaN: unknown. */
double studio_task_picture_error (const StudioTaskPicture *picture);
/* The name of a column of x, or x₁ without names. (transfer full) */
char *studio_task_picture_feature_name (const StudioTaskPicture *picture, guint column);
/* For screen readers: what is shown, the accuracy, and the step. */
char *studio_task_picture_describe (const StudioTaskPicture *picture);
/* What is predicted for the first sample, of which the target is not known: the classes in a mask, or the objects. */
char *studio_task_picture_describe_prediction (const StudioTaskPicture *picture);
/* One sample as text: its position, class and prediction. NULL: no such sample. */
char *studio_task_picture_describe_sample (const StudioTaskPicture *picture, int sample);

/* TRUE if samples are a list, so that the view scrolls instead of shrinking. */
gboolean studio_task_picture_is_list (const StudioTaskPicture *picture);
/* The height at this width. */
double studio_task_picture_height (const StudioTaskPicture *picture, double width, double scale);
void studio_task_picture_draw (const StudioTaskPicture *picture, cairo_t *cr, PangoContext *context,
                               const StudioTaskStyle *style, double width, double height);
/* The sample at a point of the drawing, or -1. */
int studio_task_picture_sample_at (const StudioTaskPicture *picture, PangoContext *context,
                                   const StudioTaskStyle *style, double width, double height, double x, double y);
/* The prediction at a point between the samples, as text; NULL: unknown. */
char *
studio_task_picture_describe_place (const StudioTaskPicture *picture, PangoContext *context,
                                    const StudioTaskStyle *style, double width, double height, double x, double y);
/* The grid of predictions in the plane: cells in a row, 0: none; the cell at a position of the drawing, -1: none; its
 * place there; what is predicted in it; and the whole grid, a line for each cell with the features in its middle. */
guint studio_task_picture_grid (const StudioTaskPicture *picture);
gint64 studio_task_picture_cell_at (const StudioTaskPicture *picture, PangoContext *context,
                                    const StudioTaskStyle *style, double width, double height, double x, double y);
gboolean
studio_task_picture_cell_rect (const StudioTaskPicture *picture, PangoContext *context, const StudioTaskStyle *style,
                               double width, double height, gsize cell, double *x, double *y, double *w, double *h);
char *studio_task_picture_describe_cell (const StudioTaskPicture *picture, gsize cell);
char *studio_task_picture_to_csv (const StudioTaskPicture *picture);
/* The ranges of the axes, and the features at a position of the drawing, moved within them. FALSE: the axes are not two
 * features of a plane. */
gboolean studio_task_picture_range (const StudioTaskPicture *picture, double low[2], double high[2]);
gboolean
studio_task_picture_point_at (const StudioTaskPicture *picture, PangoContext *context, const StudioTaskStyle *style,
                              double width, double height, double x, double y, double point[2]);
/* .svg, .pdf or .png. Errors: USAGE, IO; DATA without data. */
gboolean studio_task_picture_export (const StudioTaskPicture *picture, const char *path, GError **error);
