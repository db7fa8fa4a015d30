/* Six owners in six colours would need a legend. Instead every owner has a line with its name, its bytes and the
 * pattern of its segment, so the bar does not depend on colour. */
#include "ui/charts/studio-memory-bar.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "engine/loom.h"
#include "ui/drawing/chart-text.h"
#include "ui/drawing/draw-owner.h"
#include "ui/charts/studio-plot.h"
#include "ui/charts/studio-text-scale.h"

#define MAX_OWNERS 8
#define BAR_HEIGHT 14
#define ROW_HEIGHT 19

typedef struct
{
  const char *owner; /* interned */
  guint64 bytes;
} Share;

struct _StudioMemoryBar
{
  GtkWidget parent_instance;
  char *device;
  guint n;
  Share share[MAX_OWNERS];
  guint64 total;
  StudioDriverMemory driver; /* total 0: none */
  char *words;               /* the owners' */
  int ranks;                 /* of the run; the bytes are those of rank 0 */
};

G_DEFINE_TYPE (StudioMemoryBar, studio_memory_bar, GTK_TYPE_WIDGET)

static void
draw_share (cairo_t *cr, gboolean dark, guint kind, double x, double y, double w, double h)
{
  cairo_save (cr);
  cairo_rectangle (cr, x, y, w, h);
  cairo_clip (cr);
  studio_draw_owner_pattern (cr, dark, kind, x, y, w, h);
  cairo_restore (cr);
  studio_draw_owner_colour (cr, dark, 0.8);
  cairo_set_line_width (cr, 1);
  cairo_rectangle (cr, x + 0.5, y + 0.5, MAX (w - 1, 0.5), h - 1);
  cairo_stroke (cr);
}

static double
text_scale (StudioMemoryBar *self)
{
  return studio_text_scale (GTK_WIDGET (self));
}

static void
draw_words (StudioMemoryBar *self, cairo_t *cr, gboolean dark, gboolean strong, const char *text, double x, double y,
            double align, double alpha)
{
  g_autoptr (PangoLayout) layout
      = chart_text_layout (gtk_widget_get_pango_context (GTK_WIDGET (self)), text_scale (self), strong, text);
  int w, h;
  pango_layout_get_pixel_size (layout, &w, &h);
  double ink = dark ? 1 : 0.14;
  cairo_set_source_rgba (cr, ink, ink, ink, alpha);
  cairo_move_to (cr, floor (x - align * w), floor (y - h / 2.));
  pango_cairo_show_layout (cr, layout);
}

static gboolean
others_after (StudioMemoryBar *self, guint i)
{
  for (guint k = i + 1; k < self->n; k++)
    if (self->share[k].bytes > 0)
      return TRUE;
  return FALSE;
}

static void
memory_bar_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioMemoryBar *self = STUDIO_MEMORY_BAR (widget);
  double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  double s = text_scale (self);
  gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)width, (float)height));
  draw_words (self, cr, dark, TRUE, self->ranks > 1 ? _ ("memory of rank 0") : _ ("memory"), 0, 9 * s, 0, 0.9);
  if (self->total == 0)
    {
      draw_words (self, cr, dark, FALSE, _ ("known after the run is planned"), 0, 36 * s, 0, 0.72);
      cairo_destroy (cr);
      return;
    }
  g_autofree char *total = loom_bytes_to_string ((double)self->total);
  g_autofree char *head = g_strdup_printf ("%s · %s", self->device, total);
  draw_words (self, cr, dark, FALSE, head, width, 9 * s, 1, 0.9);
  double x = 0, top = 26 * s;
  for (guint i = 0; i < self->n; i++)
    {
      double w = width * ((double)self->share[i].bytes / (double)self->total);
      if (w > 0)
        draw_share (cr, dark, i, x, top, MAX (w, 1), BAR_HEIGHT * s);
      x += w;
    }
  double y = top + (BAR_HEIGHT + 14) * s, bottom = height - (self->driver.total > 0 ? ROW_HEIGHT * s : 0);
  guint left = 0;
  guint64 rest = 0;
  for (guint i = 0; i < self->n; i++)
    {
      if (self->share[i].bytes == 0)
        continue;
      /* The last line that fits shows the sum of the remaining owners. */
      if (left > 0 || (y + (ROW_HEIGHT + 6) * s > bottom && others_after (self, i)))
        {
          left++;
          rest += self->share[i].bytes;
          continue;
        }
      draw_share (cr, dark, i, 0, y - 5 * s, 10 * s, 10 * s);
      g_autofree char *bytes = loom_bytes_to_string ((double)self->share[i].bytes);
      draw_words (self, cr, dark, FALSE, _ (self->share[i].owner), 18 * s, y, 0, 0.9);
      draw_words (self, cr, dark, FALSE, bytes, width, y, 1, 0.9);
      y += ROW_HEIGHT * s;
    }
  if (left > 0)
    {
      g_autofree char *bytes = loom_bytes_to_string ((double)rest);
      g_autofree char *words = g_strdup_printf (ngettext ("%u more", "%u more", left), left);
      draw_words (self, cr, dark, FALSE, words, 18 * s, y, 0, 0.72);
      draw_words (self, cr, dark, FALSE, bytes, width, y, 1, 0.72);
      y += ROW_HEIGHT * s;
    }
  if (self->driver.total > 0)
    {
      g_autofree char *used = loom_bytes_to_string ((double)self->driver.used);
      g_autofree char *all = loom_bytes_to_string ((double)self->driver.total);
      g_autofree char *bytes = g_strdup_printf (_ ("%s of %s"), used, all);
      draw_words (self, cr, dark, FALSE, self->driver.last == 0 ? _ ("used now") : _ ("used at end"), 18 * s, y, 0,
                  0.72);
      draw_words (self, cr, dark, FALSE, bytes, width, y, 1, 0.72);
    }
  cairo_destroy (cr);
}

static void
memory_bar_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                    int *minimum_baseline, int *natural_baseline)
{
  gboolean wide = orientation == GTK_ORIENTATION_HORIZONTAL;
  double row = STUDIO_MEMORY_BAR (widget)->driver.total > 0 ? ROW_HEIGHT : 0;
  *minimum = wide ? 160 : (int)((60 + row) * text_scale (STUDIO_MEMORY_BAR (widget)));
  *natural = (int)((wide ? 220 : 180) * text_scale (STUDIO_MEMORY_BAR (widget)));
}

static void
memory_bar_dispose (GObject *object)
{
  StudioMemoryBar *self = STUDIO_MEMORY_BAR (object);
  g_clear_pointer (&self->device, g_free);
  g_clear_pointer (&self->words, g_free);
  G_OBJECT_CLASS (studio_memory_bar_parent_class)->dispose (object);
}

static void
studio_memory_bar_class_init (StudioMemoryBarClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = memory_bar_dispose;
  widget_class->snapshot = memory_bar_snapshot;
  widget_class->measure = memory_bar_measure;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "memorybar");
}

static void
clear (StudioMemoryBar *self)
{
  studio_memory_bar_set (self, "", 0, NULL, NULL);
}

static void
studio_memory_bar_init (StudioMemoryBar *self)
{
  self->device = g_strdup ("");
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
  clear (self);
}

StudioMemoryBar *
studio_memory_bar_new (void)
{
  return g_object_new (STUDIO_TYPE_MEMORY_BAR, NULL);
}

static void
add_moment (GString *words, const char *format, guint64 bytes)
{
  if (bytes == 0)
    return;
  g_autofree char *size = loom_bytes_to_string ((double)bytes);
  g_string_append_c (words, '\n');
  g_string_append_printf (words, format, size);
}

/* The planned memory by owner, and the driver's figures with their times. */
static void
show_words (StudioMemoryBar *self)
{
  g_autoptr (GString) words = g_string_new (self->words);
  add_moment (words, self->driver.last == 0 ? _ ("Driver: %s in use now.") : _ ("Driver: %s in use at the end."),
              self->driver.used);
  add_moment (words, _ ("In use before the run: %s."), self->driver.before);
  add_moment (words, _ ("Peak through the first step: %s."), self->driver.first);
  add_moment (words, _ ("Peak through the last step: %s."), self->driver.last);
  if (self->driver.last == 0)
    add_moment (words, _ ("Peak so far: %s."), self->driver.peak);
  if (self->ranks > 1 && words->len > 0)
    g_string_append_printf (words, "\n%s",
                            _ ("Rank 0 also computes the views of the run with whole weights, so it uses more memory "
                               "than planned for a rank. Click to see the memory of each rank."));
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), words->len > 0 ? words->str : NULL);
}

void
studio_memory_bar_set_driver (StudioMemoryBar *self, const StudioDriverMemory *driver)
{
  g_return_if_fail (STUDIO_IS_MEMORY_BAR (self));
  self->driver = driver != NULL ? *driver : (StudioDriverMemory){ 0 };
  show_words (self);
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

void
studio_memory_bar_set (StudioMemoryBar *self, const char *device, guint n, const char *const *owner,
                       const guint64 *bytes)
{
  g_return_if_fail (STUDIO_IS_MEMORY_BAR (self));
  char *copy = g_strdup (device);
  g_free (self->device);
  self->device = copy;
  self->n = MIN (n, MAX_OWNERS);
  self->total = 0;
  g_autoptr (GString) words = g_string_new (NULL);
  for (guint i = 0; i < self->n; i++)
    {
      self->share[i] = (Share){ .owner = g_intern_string (owner[i]), .bytes = bytes[i] };
      self->total += bytes[i];
      g_autofree char *size = loom_bytes_to_string ((double)bytes[i]);
      g_string_append_printf (words, "%s%s %s", i ? ", " : "", _ (owner[i]), size);
    }
  g_free (self->words);
  self->words = g_strdup (words->str);
  show_words (self);
  g_autofree char *total = loom_bytes_to_string ((double)self->total);
  g_autofree char *label
      = self->total ? g_strdup_printf (_ ("memory of %s: %s"), device, total) : g_strdup (_ ("memory"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words->len ? words->str : _ ("not known yet"),
                                  -1);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_memory_bar_set_ranks (StudioMemoryBar *self, int ranks)
{
  g_return_if_fail (STUDIO_IS_MEMORY_BAR (self));
  self->ranks = ranks;
  show_words (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

guint64
studio_memory_bar_get_total (StudioMemoryBar *self)
{
  return self->total;
}
