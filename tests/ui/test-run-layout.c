/* Which parts of a run are shown in which size. No display. */
#include "ui/run/run-layout.h"
#include "tests/test-program.h"

static const guint rank[RUN_FIGURES] = { 3, 2, 0, 1 }; /* step, epoch, loss, metric */

static const RunParts all = { .figure_width = 120,
                              .figure_height = 40,
                              .has_figure = { TRUE, TRUE, TRUE, TRUE },
                              .has_chart = { TRUE, TRUE },
                              .has_memory = TRUE,
                              .chart_width = 140,
                              .memory_width = 200 };

static gboolean
overlap (const RunArea *a, const RunArea *b)
{
  return a->width > 0 && b->width > 0 && a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height
         && b->y < a->y + a->height;
}

static void
test_wide (void)
{
  RunAllocation p;
  run_layout (&p, &all, rank, 1200, 160);
  for (int i = 0; i < RUN_FIGURES; i++)
    g_assert_cmpint (p.figure[i].width, ==, 120);
  g_assert_cmpint (p.figure[2].y, ==, 52);
  g_assert_cmpint (p.chart[0].x, ==, 276);
  g_assert_cmpint (p.chart[0].width, ==, p.chart[1].width);
  g_assert_cmpint (p.chart[1].x + p.chart[1].width + RUN_GAP, ==, p.memory.x);
  g_assert_cmpint (p.memory.x + p.memory.width, ==, 1200);
}

/* In one row the step goes before the loss does, and what is left moves up. */
static void
test_low (void)
{
  RunAllocation p;
  run_layout (&p, &all, rank, 1200, 60);
  g_assert_cmpint (p.figure[0].width, ==, 0);
  g_assert_cmpint (p.figure[1].width, ==, 0);
  g_assert_cmpint (p.figure[2].x, ==, 0);
  g_assert_cmpint (p.figure[2].y, ==, 0);
  g_assert_cmpint (p.figure[3].x, ==, 138);
  run_layout (&p, &all, rank, 200, 40);
  g_assert_cmpint (p.figure[2].width, ==, 120);
  g_assert_cmpint (p.figure[3].width, ==, 0);
}

static void
test_narrow (void)
{
  RunAllocation p;
  RunParts without = all;
  run_layout (&p, &all, rank, 600, 160);
  g_assert_cmpint (p.memory.width, ==, 0);
  g_assert_cmpint (p.chart[1].width, >, 0);
  run_layout (&p, &all, rank, 420, 160);
  g_assert_cmpint (p.chart[1].width, ==, 0);
  g_assert_cmpint (p.chart[0].width, ==, 420 - 276);
  without.has_figure[3] = without.has_chart[1] = FALSE;
  run_layout (&p, &without, rank, 600, 160);
  g_assert_cmpint (p.chart[0].width, ==, 600 - 276);
  g_assert_cmpint (p.figure[2].y, ==, 52);
  g_assert_cmpint (p.figure[2].x, ==, 0);
}

/* For all sizes: nothing overlaps, nothing is clipped, and the loss is always shown. */
static void
test_all_sizes (void)
{
  for (int width = 120; width <= 3840; width += 13)
    for (int height = 40; height <= 400; height += 17)
      {
        RunAllocation p;
        RunArea area[RUN_FIGURES + RUN_CHARTS + 1];
        run_layout (&p, &all, rank, width, height);
        for (int i = 0; i < RUN_FIGURES; i++)
          area[i] = p.figure[i];
        for (int i = 0; i < RUN_CHARTS; i++)
          area[RUN_FIGURES + i] = p.chart[i];
        area[RUN_FIGURES + RUN_CHARTS] = p.memory;
        g_assert_cmpint (p.figure[2].width, >, 0);
        for (guint i = 0; i < G_N_ELEMENTS (area); i++)
          {
            g_assert_cmpint (area[i].x + area[i].width, <=, width);
            g_assert_cmpint (area[i].y + area[i].height, <=, height);
            for (guint k = 0; k < i; k++)
              g_assert_false (overlap (&area[i], &area[k]));
          }
      }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run-layout/wide", test_wide);
  g_test_add_func ("/run-layout/low", test_low);
  g_test_add_func ("/run-layout/narrow", test_narrow);
  g_test_add_func ("/run-layout/all-sizes", test_all_sizes);
  return g_test_run ();
}
