/* Average precision of detections, computed as COCO does (Lin et al., "Microsoft COCO: common objects in context",
 * 2014; pycocotools.cocoeval with all areas and at most 100 detections of a picture and class).
 *
 * Detections of a picture and class are matched to its boxes by descending score, at each of ten thresholds of
 * intersection over union, 0.50 to 0.95. The precision at 101 recalls, each the largest at this recall or a higher one,
 * is averaged: the average precision (AP) of a class. mAP is the mean over thresholds and the classes that have boxes.
 * Detections on crowds (iscrowd) and, as VOC's development kit has it, on difficult objects do not count, any number on
 * each. */
#pragma once

#include <glib.h>

#define LOOM_AP_THRESHOLDS 10
#define LOOM_AP_MOST       100 /* detections of a picture and class */

typedef struct
{
  double x1, y1, x2, y2, score; /* score: of a box of the target, unused */
  gint64 klass;                 /* below 0: no box */
  gboolean is_crowd;            /* of the target */
  gboolean is_difficult;        /* likewise */
} LoomDetection;

typedef struct _LoomAveragePrecision LoomAveragePrecision;

LoomAveragePrecision *loom_average_precision_new (guint n_classes);
void loom_average_precision_free (LoomAveragePrecision *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomAveragePrecision, loom_average_precision_free)

/* Adds the detections and the boxes of one picture. Classes outside 0 … n_classes-1 are left out. */
void loom_average_precision_add (LoomAveragePrecision *self, const LoomDetection *found, guint n_found,
                                 const LoomDetection *boxes, guint n_boxes);
/* AP of a class at threshold t, 0 … LOOM_AP_THRESHOLDS-1, or with −1 the mean over all; NaN if it has no boxes. */
double loom_average_precision_of (const LoomAveragePrecision *self, guint klass, int t);
/* The mean over the classes that have boxes; NaN if none has. t 0: mAP@0.5; −1: mAP@[.5:.95]. */
double loom_average_precision_mean (const LoomAveragePrecision *self, int t);
guint loom_average_precision_n_classes (const LoomAveragePrecision *self);
gint64 loom_average_precision_boxes (const LoomAveragePrecision *self, guint klass);

/* Intersection over union of two boxes, 0 if both are empty. */
double loom_detection_iou (const LoomDetection *a, const LoomDetection *b);
