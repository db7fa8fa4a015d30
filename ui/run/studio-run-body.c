/* A widget that measures its children and allocates them the rectangles of run_layout(); it hides those that get
 * none. */
#include "ui/run/studio-run-body.h"

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"

/* In pixels at the default text size. */
#define CHART_WIDTH  140
#define MEMORY_WIDTH 200
#define HEIGHT       150

struct _StudioRunBody
{
  GtkWidget parent_instance;
  GtkWidget *figure[RUN_FIGURES], *chart[RUN_CHARTS], *memory;
  guint rank[RUN_FIGURES];
};

STUDIO_DEFINE_TYPE (StudioRunBody, studio_run_body, GTK_TYPE_WIDGET)

static guint resized_signal;

static gboolean
is_there (GtkWidget *widget)
{
  return widget != NULL && gtk_widget_get_visible (widget);
}

static void
get_parts (StudioRunBody *self, RunParts *parts)
{
  double scale = studio_text_scale (GTK_WIDGET (self));
  *parts = (RunParts){ .chart_width = (int)(CHART_WIDTH * scale), .memory_width = (int)(MEMORY_WIDTH * scale) };
  for (int i = 0; i < RUN_FIGURES; i++)
    {
      int width, height;
      parts->has_figure[i] = is_there (self->figure[i]);
      if (!parts->has_figure[i])
        continue;
      gtk_widget_measure (self->figure[i], GTK_ORIENTATION_HORIZONTAL, -1, NULL, &width, NULL, NULL);
      gtk_widget_measure (self->figure[i], GTK_ORIENTATION_VERTICAL, -1, NULL, &height, NULL, NULL);
      parts->figure_width = MAX (parts->figure_width, width);
      parts->figure_height = MAX (parts->figure_height, height);
    }
  for (int i = 0; i < RUN_CHARTS; i++)
    parts->has_chart[i] = is_there (self->chart[i]);
  parts->has_memory = is_there (self->memory);
}

static void
body_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
              int *minimum_baseline, int *natural_baseline)
{
  StudioRunBody *self = STUDIO_RUN_BODY (widget);
  RunParts parts;
  get_parts (self, &parts);
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = parts.figure_width;
      *natural = 2 * parts.figure_width + 2 * parts.chart_width + parts.memory_width + 4 * RUN_GAP;
      return;
    }
  *minimum = parts.figure_height;
  for (int i = 0; i < RUN_CHARTS; i++)
    if (parts.has_chart[i])
      {
        int least;
        gtk_widget_measure (self->chart[i], orientation, -1, &least, NULL, NULL, NULL);
        *minimum = MAX (*minimum, least);
      }
  *natural = MAX (*minimum, (int)(HEIGHT * studio_text_scale (widget)));
}

static void
place (StudioRunBody *self, GtkWidget *child, RunArea area, int width)
{
  if (!is_there (child))
    return;
  gtk_widget_set_child_visible (child, area.width > 0);
  if (area.width == 0)
    return;
  if (gtk_widget_get_direction (GTK_WIDGET (self)) == GTK_TEXT_DIR_RTL)
    area.x = width - area.x - area.width;
  gtk_widget_size_allocate (child, &(GtkAllocation){ area.x, area.y, area.width, area.height }, -1);
}

static void
body_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  StudioRunBody *self = STUDIO_RUN_BODY (widget);
  RunParts parts;
  RunAllocation places;
  get_parts (self, &parts);
  run_layout (&places, &parts, self->rank, width, height);
  for (int i = 0; i < RUN_FIGURES; i++)
    place (self, self->figure[i], places.figure[i], width);
  for (int i = 0; i < RUN_CHARTS; i++)
    place (self, self->chart[i], places.chart[i], width);
  place (self, self->memory, places.memory, width);
  g_signal_emit (self, resized_signal, 0);
}

static void
body_dispose (GObject *object)
{
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (object))) != NULL)
    gtk_widget_unparent (child);
  G_OBJECT_CLASS (studio_run_body_parent_class)->dispose (object);
}

static void
studio_run_body_class_init (StudioRunBodyClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = body_dispose;
  widget_class->measure = body_measure;
  widget_class->size_allocate = body_size_allocate;
  resized_signal = studio_signal_new ("resized", STUDIO_TYPE_RUN_BODY, 0);
}

void
studio_run_body_set_figure (StudioRunBody *self, guint i, GtkWidget *figure, guint rank)
{
  g_return_if_fail (i < RUN_FIGURES && self->figure[i] == NULL);
  self->figure[i] = figure;
  self->rank[i] = rank;
  gtk_widget_set_parent (figure, GTK_WIDGET (self));
}

void
studio_run_body_set_chart (StudioRunBody *self, guint i, GtkWidget *chart)
{
  g_return_if_fail (i < RUN_CHARTS && self->chart[i] == NULL);
  self->chart[i] = chart;
  gtk_widget_set_parent (chart, GTK_WIDGET (self));
}

void
studio_run_body_set_memory (StudioRunBody *self, GtkWidget *memory)
{
  g_return_if_fail (self->memory == NULL);
  self->memory = memory;
  gtk_widget_set_parent (memory, GTK_WIDGET (self));
}
