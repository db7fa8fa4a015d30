/* The picture of a task without a widget: samples, what the net answers to them, and how both are drawn.
 *
 * The picture says which samples are to be answered (a grid over the plane and the points in it) and takes the answers;
 * it computes no net. Colours of classes stay apart for the colour blind (Okabe and Ito, "Color universal design",
 * 2008), and each class has a shape of its own. */
#pragma once

#include <pango/pangocairo.h>

#include "ui/task/studio-task-data.h"

G_BEGIN_DECLS

typedef struct
{
  StudioTaskData *data; /* NULL: nothing is known yet */
  guint column[2];      /* of rows: those that are the axes */
  guint grid;           /* places a side of the grid that is asked for; a curve has more */
  int marked;           /* the sample that is looked at; -1: none */
  /* the last answers */
  gboolean answered;
  LoomAnswerKind kind;
  guint answered_grid; /* which it was when these were asked for */
  guint n_positions, n_classes;
  float *value; /* of the grid and then of the samples: inputs × positions × classes */
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

/* How many samples such a picture wants, and whether from all over the split. */
guint studio_task_kind_samples (LoomTaskViewKind kind, gboolean *spread);
/* TRUE where the picture says at once what training is about, so that it may be shown without being asked for. */
gboolean studio_task_kind_opens (LoomTaskViewKind kind);

/* Other samples (transfer full, may be NULL): answers are forgotten. */
void studio_task_picture_set_data (StudioTaskPicture *picture, StudioTaskData *data);
void studio_task_picture_forget_answers (StudioTaskPicture *picture);
/* The inputs that are to be answered: *shape (transfer full) has *rank sizes, samples first, the numbers are f32. NULL
 * without data. */
float *
studio_task_picture_inputs (const StudioTaskPicture *picture, gint64 shape[LOOM_SHAPE_MAX_RANK], int *rank, gsize *n);
/* Answers to those inputs, copied: shape is [inputs, positions, classes]. FALSE, and nothing is taken, where they are
 * not as many. */
gboolean studio_task_picture_take (StudioTaskPicture *picture, LoomAnswerKind kind, const gint64 shape[3],
                                   const float *value, gsize n_values, gint64 step, gint64 epoch);

/* The share of classes, of all positions of shown samples, that are answered right; NaN where that is not known. */
double studio_task_picture_accuracy (const StudioTaskPicture *picture);
/* The mean of |answer − y|; NaN where that is not known. */
double studio_task_picture_error (const StudioTaskPicture *picture);
/* The name of a column of x, or x₁ where it has none. (transfer full) */
char *studio_task_picture_feature_name (const StudioTaskPicture *picture, guint column);
/* For a screen reader: what is shown, how well it is answered, when. */
char *studio_task_picture_describe (const StudioTaskPicture *picture);
/* One sample in words: where it is, its class, what is answered. NULL where there is no such sample. */
char *studio_task_picture_describe_sample (const StudioTaskPicture *picture, int sample);

/* TRUE where samples stand below each other, so that the picture is scrolled and not squeezed. */
gboolean studio_task_picture_is_list (const StudioTaskPicture *picture);
/* How high a picture of this width is. */
double studio_task_picture_height (const StudioTaskPicture *picture, double width, double scale);
void studio_task_picture_draw (const StudioTaskPicture *picture, cairo_t *cr, PangoContext *context,
                               const StudioTaskStyle *style, double width, double height);
/* The sample at a place of that drawing, or -1. */
int studio_task_picture_sample_at (const StudioTaskPicture *picture, PangoContext *context,
                                   const StudioTaskStyle *style, double width, double height, double x, double y);
/* In words: what is answered at a place between the samples; NULL where nothing is known. */
char *
studio_task_picture_describe_place (const StudioTaskPicture *picture, PangoContext *context,
                                    const StudioTaskStyle *style, double width, double height, double x, double y);
/* .svg, .pdf or .png. Errors: USAGE, IO; DATA without data. */
gboolean studio_task_picture_export (const StudioTaskPicture *picture, const char *path, GError **error);

G_END_DECLS
