/* Average precision against pycocotools 2.0 (COCOeval, iouType="bbox"), which computed the numbers below for the same
 * generated boxes and detections, many with equal scores. */
#include <math.h>

#include "engine/infer/loom-average-precision.h"
#include "tests/test-program.h"

#define PICTURES 20
#define CLASSES  3

static guint32 state;

/* The generator of ISO C's example, its upper bits. */
static int
draw (int n)
{
  state = (state * 1103515245u + 12345u) & 0x7fffffffu;
  return (int)((state >> 8) % (guint32)n);
}

static LoomDetection
box_of (int klass, int x, int y, int width, int height)
{
  return (LoomDetection){ x, y, x + width, y + height, 1, klass };
}

static void
append (GArray *list, LoomDetection box)
{
  g_array_append_val (list, box);
}

/* Near each box none to two detections, some of another class, and others anywhere. */
static void
draw_picture (GArray *boxes, GArray *found)
{
  const int n = draw (5);

  for (int b = 0; b < n; b++)
    {
      const int klass = draw (CLASSES), x = draw (40), y = draw (40), width = 8 + draw (16), height = 8 + draw (16);

      append (boxes, box_of (klass, x, y, width, height));
    }
  for (int b = 0; b < n; b++)
    {
      const LoomDetection *of = &g_array_index (boxes, LoomDetection, b);
      const int near = draw (3);

      for (int c = 0; c < near; c++)
        {
          const int klass = draw (8) != 0 ? (int)of->klass : draw (CLASSES);
          const int x = (int)of->x1 + draw (5) - 2, y = (int)of->y1 + draw (5) - 2;
          const int width = (int)(of->x2 - of->x1) + draw (5) - 2, height = (int)(of->y2 - of->y1) + draw (5) - 2;
          LoomDetection d = box_of (klass, x, y, width, height);

          d.score = draw (50) / 50.0;
          append (found, d);
        }
    }
  const int others = draw (3);
  for (int c = 0; c < others; c++)
    {
      const int klass = draw (CLASSES), x = draw (40), y = draw (40), width = 8 + draw (16), height = 8 + draw (16);
      LoomDetection d = box_of (klass, x, y, width, height);

      d.score = draw (50) / 50.0;
      append (found, d);
    }
}

static void
test_coco (void)
{
  static const struct
  {
    double all, half;
    gint64 boxes;
  } wanted[CLASSES] = {
    { 0.17505453486525124, 0.4814131413141315, 21 },
    { 0.14281873145297722, 0.3503771805752004, 16 },
    { 0.06916784535596415, 0.16713814238566713, 8 },
  };
  g_autoptr (LoomAveragePrecision) ap = loom_average_precision_new (CLASSES + 1);

  state = 12345;
  for (int i = 0; i < PICTURES; i++)
    {
      g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (LoomDetection)),
                         found = g_array_new (FALSE, FALSE, sizeof (LoomDetection));

      draw_picture (boxes, found);
      append (boxes, (LoomDetection){ 0, 0, 0, 0, 1, -1 });
      loom_average_precision_add (ap, (const LoomDetection *)(void *)found->data, found->len,
                                  (const LoomDetection *)(void *)boxes->data, boxes->len);
    }
  g_assert_cmpfloat_with_epsilon (loom_average_precision_mean (ap, -1), 0.12901370389139755, 1e-9);
  g_assert_cmpfloat_with_epsilon (loom_average_precision_mean (ap, 0), 0.332976154758333, 1e-9);
  g_assert_cmpfloat_with_epsilon (loom_average_precision_mean (ap, 5), 0.09187536400698892, 1e-9);
  for (guint k = 0; k < CLASSES; k++)
    {
      g_assert_cmpint (loom_average_precision_boxes (ap, k), ==, wanted[k].boxes);
      g_assert_cmpfloat_with_epsilon (loom_average_precision_of (ap, k, -1), wanted[k].all, 1e-9);
      g_assert_cmpfloat_with_epsilon (loom_average_precision_of (ap, k, 0), wanted[k].half, 1e-9);
    }
  g_assert_true (isnan (loom_average_precision_of (ap, CLASSES, -1)));
}

static void
test_few (void)
{
  const LoomDetection box = { 0, 0, 10, 10, 1, 0 }, right = { 0, 0, 10, 10, 0.9, 0 }, twice[] = { right, right };
  g_autoptr (LoomAveragePrecision) none = loom_average_precision_new (1), one = loom_average_precision_new (1);

  g_assert_true (isnan (loom_average_precision_mean (none, -1)));
  loom_average_precision_add (one, twice, 2, &box, 1);
  g_assert_cmpfloat_with_epsilon (loom_average_precision_mean (one, -1), 1, 1e-12);
  loom_average_precision_add (one, NULL, 0, &box, 1);
  /* Recall is at most a half: precision 1 at 51 of 101 recalls. */
  g_assert_cmpfloat_with_epsilon (loom_average_precision_mean (one, -1), 51 / 101.0, 1e-12);
  g_assert_cmpfloat (loom_detection_iou (&box, &(LoomDetection){ 5, 0, 15, 10, 1, 0 }), ==, 1 / 3.0);
}

/* numpy.linspace (0.5, 0.95, 10)[7] is 0.85, (0, 1, 101)[35] a bit more than 0.35. */
static void
test_rounding (void)
{
  const LoomDetection box = { 0, 0, 10, 10, 1, 0 }, near = { 0, 0, 8.5, 10, 0.9, 0 };
  g_autoptr (LoomAveragePrecision) one = loom_average_precision_new (1), many = loom_average_precision_new (1);

  loom_average_precision_add (one, &near, 1, &box, 1);
  g_assert_cmpfloat (loom_average_precision_mean (one, 7), ==, 1);
  g_assert_cmpfloat (loom_average_precision_mean (one, 8), ==, 0);
  for (int i = 0; i < 100; i++)
    loom_average_precision_add (many, &box, i < 35 ? 1 : 0, &box, 1);
  g_assert_cmpfloat_with_epsilon (loom_average_precision_mean (many, -1), 35 / 101.0, 1e-12);
}

/* As pycocotools does: any number of detections may be on a crowd, by the part of their own area, and do not count; a
 * box of an object is preferred. A crowd is no object to find. */
static void
test_crowd (void)
{
  LoomDetection boxes[] = { box_of (0, 0, 0, 10, 10), box_of (0, 20, 0, 40, 40) };
  LoomDetection found[] = { box_of (0, 22, 2, 5, 5), box_of (0, 30, 30, 5, 5), box_of (0, 17, 0, 8, 5),
                            box_of (0, 0, 0, 10, 10), box_of (1, 22, 2, 5, 5) };
  g_autoptr (LoomAveragePrecision) ap = loom_average_precision_new (2);

  boxes[1].is_crowd = TRUE;
  found[3].score = 0.5;
  loom_average_precision_add (ap, found, G_N_ELEMENTS (found), boxes, G_N_ELEMENTS (boxes));
  g_assert_cmpint (loom_average_precision_boxes (ap, 0), ==, 1);
  /* 5/8 of the third is on the crowd: it counts as wrong from the threshold 0.65 on. */
  g_assert_cmpfloat (loom_average_precision_of (ap, 0, 2), ==, 1);
  g_assert_cmpfloat (loom_average_precision_of (ap, 0, 3), ==, 0.5);
}

/* VOCevaldet.m: detections of a difficult object neither count as right nor as wrong, and it need not be found. */
static void
test_difficult (void)
{
  LoomDetection boxes[] = { box_of (0, 0, 0, 10, 10), box_of (0, 20, 0, 10, 10) };
  LoomDetection found[]
      = { box_of (0, 20, 0, 10, 8), box_of (0, 20, 0, 10, 9), box_of (0, 0, 0, 10, 10), box_of (1, 20, 0, 10, 10) };
  g_autoptr (LoomAveragePrecision) ap = loom_average_precision_new (2);

  boxes[1].is_difficult = TRUE;
  found[2].score = 0.5;
  loom_average_precision_add (ap, found, G_N_ELEMENTS (found), boxes, G_N_ELEMENTS (boxes));
  g_assert_cmpint (loom_average_precision_boxes (ap, 0), ==, 1);
  /* The first overlaps it by 0.8, the second by 0.9: beyond these thresholds they are wrong. */
  g_assert_cmpfloat (loom_average_precision_of (ap, 0, 0), ==, 1);
  g_assert_cmpfloat (loom_average_precision_of (ap, 0, 6), ==, 1);
  g_assert_cmpfloat (loom_average_precision_of (ap, 0, 7), ==, 0.5);
  g_assert_cmpfloat_with_epsilon (loom_average_precision_of (ap, 0, 9), 1 / 3.0, 1e-12);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/average-precision/coco", test_coco);
  g_test_add_func ("/average-precision/crowd", test_crowd);
  g_test_add_func ("/average-precision/difficult", test_difficult);
  g_test_add_func ("/average-precision/few", test_few);
  g_test_add_func ("/average-precision/rounding", test_rounding);
  return g_test_run ();
}
