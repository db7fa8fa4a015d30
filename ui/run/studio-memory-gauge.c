/* Implements studio-memory-gauge.h. */
#include "ui/run/studio-memory-gauge.h"

#include <glib/gi18n.h>

#include "engine/loom.h"

#define SCARCE 0.75

struct _StudioMemoryGauge
{
  GtkWidget parent_instance;
  GtkWidget *icon, *label, *bar;
  char *words; /* NULL: unknown */
};

G_DEFINE_FINAL_TYPE (StudioMemoryGauge, studio_memory_gauge, GTK_TYPE_WIDGET)

StudioMemoryLevel
studio_memory_level (double needed, double available)
{
  return needed <= 0 || available <= 0 ? STUDIO_MEMORY_UNKNOWN
         : needed > available          ? STUDIO_MEMORY_EXCEEDED
         : needed > SCARCE * available ? STUDIO_MEMORY_SCARCE
                                       : STUDIO_MEMORY_FITS;
}

static const struct
{
  const char *icon, *style, *words;
} levels[] = {
  [STUDIO_MEMORY_UNKNOWN] = { NULL, NULL, "" },
  [STUDIO_MEMORY_FITS] = { NULL, "memory-fits", N_ ("It fits.") },
  [STUDIO_MEMORY_SCARCE] = { "dialog-warning-symbolic", "memory-scarce", N_ ("It fits, but little is left.") },
  [STUDIO_MEMORY_EXCEEDED] = { "dialog-error-symbolic", "memory-exceeded", N_ ("It does not fit.") },
};

/* The bytes of the run on its device; 0: it does not train, or it has several ranks, whose devices are not known. */
static double
used_by (StudioRun *run)
{
  const RunMemory *memory = studio_run_get_memory (run);
  const gboolean is_known = studio_run_is_live (run) && studio_run_get_live_ranks (run) <= 1;
  double sum = 0;

  for (guint i = 0; is_known && i < memory->bytes->len; i++)
    sum += (double)g_array_index (memory->bytes, guint64, i);
  return sum;
}

/* "Memory: 7.7 MB of 23 GB. It fits."; of several ranks, the one that needs most. (transfer full) */
static char *
dup_words (StudioMemoryForecast *forecast, gboolean is_live, const char *figures, const char *verdict)
{
  double most = 0;
  int worst, ranks = studio_memory_forecast_get_ranks (forecast, &worst, &most);
  g_autofree char *needed = loom_bytes_to_string (most);

  if (is_live || ranks < 2)
    return g_strdup_printf (_ ("Memory: %1$s. %2$s"), figures, verdict);
  return g_strdup_printf (ngettext ("Memory of %1$d rank: %2$s. Rank %3$d needs the most, %4$s. %5$s",
                                    "Memory of %1$d ranks: %2$s. Rank %3$d needs the most, %4$s. %5$s", (gulong)ranks),
                          ranks, figures, worst, needed, verdict);
}

void
studio_memory_gauge_show (StudioMemoryGauge *self, StudioMemoryForecast *forecast, StudioRun *run)
{
  const double used = used_by (run), needed = used > 0 ? used : studio_memory_forecast_get_needed (forecast);
  const StudioDriverMemory *driver = run_memory_get_driver (studio_run_get_memory (run));
  const double available
      = used > 0 && driver != NULL ? (double)driver->total : studio_memory_forecast_get_available (forecast);
  const StudioMemoryLevel level = studio_memory_level (needed, available);
  const StudioMemoryVerdict *verdict = studio_memory_forecast_get (forecast);
  g_autofree char *a = loom_bytes_to_string (needed), *b = loom_bytes_to_string (available), *text = NULL;

  g_clear_pointer (&self->words, g_free);
  gtk_widget_set_visible (GTK_WIDGET (self), level != STUDIO_MEMORY_UNKNOWN);
  if (level == STUDIO_MEMORY_UNKNOWN)
    return;
  /* Translators: bytes that a run needs, and bytes that there are. */
  text = g_strdup_printf (_ ("%1$s of %2$s"), a, b);
  gtk_label_set_text (GTK_LABEL (self->label), text);
  gtk_level_bar_set_value (GTK_LEVEL_BAR (self->bar), CLAMP (needed / available, 0, 1));
  gtk_image_set_from_icon_name (GTK_IMAGE (self->icon), levels[level].icon);
  gtk_widget_set_visible (self->icon, levels[level].icon != NULL);
  for (guint i = STUDIO_MEMORY_FITS; i < G_N_ELEMENTS (levels); i++)
    if (i == level)
      gtk_widget_add_css_class (GTK_WIDGET (self), levels[i].style);
    else
      gtk_widget_remove_css_class (GTK_WIDGET (self), levels[i].style);
  self->words
      = dup_words (forecast, used > 0, text, used == 0 && verdict != NULL ? verdict->text : _ (levels[level].words));
}

const char *
studio_memory_gauge_get_words (StudioMemoryGauge *self)
{
  return self->words;
}

/* ---- widget ------------------------------------------------------------------------------ */

static void
memory_gauge_dispose (GObject *object)
{
  StudioMemoryGauge *self = STUDIO_MEMORY_GAUGE (object);
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_pointer (&self->words, g_free);
  G_OBJECT_CLASS (studio_memory_gauge_parent_class)->dispose (object);
}

static void
studio_memory_gauge_class_init (StudioMemoryGaugeClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = memory_gauge_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "memorygauge");
}

static void
studio_memory_gauge_init (StudioMemoryGauge *self)
{
  GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 4);

  gtk_orientable_set_orientation (GTK_ORIENTABLE (gtk_widget_get_layout_manager (GTK_WIDGET (self))),
                                  GTK_ORIENTATION_VERTICAL);
  self->icon = gtk_image_new ();
  self->label = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->label, "numeric");
  gtk_box_append (GTK_BOX (line), self->icon);
  gtk_box_append (GTK_BOX (line), self->label);
  gtk_widget_set_halign (line, GTK_ALIGN_CENTER);
  gtk_widget_set_parent (line, GTK_WIDGET (self));
  self->bar = gtk_level_bar_new ();
  gtk_level_bar_remove_offset_value (GTK_LEVEL_BAR (self->bar), GTK_LEVEL_BAR_OFFSET_LOW);
  gtk_level_bar_remove_offset_value (GTK_LEVEL_BAR (self->bar), GTK_LEVEL_BAR_OFFSET_HIGH);
  gtk_level_bar_remove_offset_value (GTK_LEVEL_BAR (self->bar), GTK_LEVEL_BAR_OFFSET_FULL);
  gtk_widget_set_parent (self->bar, GTK_WIDGET (self));
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}
