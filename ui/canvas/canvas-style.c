/* Colours and line patterns of the canvas.
 *
 * A type is told by its pattern as well as by its colour; the colours are at least
 * 5.5:1 on the window's background. */
#include "ui/canvas/canvas-style.h"

#include <adwaita.h>

typedef struct
{
  const char *light, *dark;
} Pair;

static const struct
{
  Pair colour;
  StudioLine line;
} types[LOOM_N_DTYPES] = {
  [LOOM_F64] = { { "#0b6e69", "#5bc8af" }, STUDIO_LINE_DOUBLE },
  [LOOM_F32] = { { "#1a5fb4", "#99c1f1" }, STUDIO_LINE_SOLID },
  [LOOM_F16] = { { "#813d9c", "#dc8add" }, STUDIO_LINE_LONG_DASH },
  [LOOM_BF16] = { { "#813d9c", "#dc8add" }, STUDIO_LINE_LONG_DASH },
  [LOOM_I64] = { { "#a34800", "#ffa348" }, STUDIO_LINE_DOTS },
  [LOOM_I32] = { { "#a34800", "#ffa348" }, STUDIO_LINE_DOTS },
  [LOOM_U8] = { { "#a34800", "#ffa348" }, STUDIO_LINE_DOTS },
  [LOOM_BOOL] = { { "#5e5c64", "#c0bfbc" }, STUDIO_LINE_DASH_DOT },
};

static const Pair categories[LOOM_N_CATEGORIES + 1] = {
  [LOOM_CATEGORY_DATA] = { "#1c71d8", "#62a0ea" },        [LOOM_CATEGORY_LAYERS] = { "#26a269", "#57e389" },
  [LOOM_CATEGORY_ACTIVATIONS] = { "#c88800", "#f8e45c" }, [LOOM_CATEGORY_MATHS] = { "#9141ac", "#c061cb" },
  [LOOM_CATEGORY_LOGIC] = { "#63452c", "#cdab8f" },       [LOOM_CATEGORY_SHAPE] = { "#2190a4", "#5bc8d8" },
  [LOOM_CATEGORY_TRAINING] = { "#a51d2d", "#f66151" },
  [LOOM_CATEGORY_LOSS] = { "#e66100", "#ffa348" },        [LOOM_CATEGORY_HIDDEN] = { "#77767b", "#9a9996" },
  [LOOM_N_CATEGORIES] = { "#5e5c64", "#deddda" },
};

static void
pick (GdkRGBA *colour, Pair pair, gboolean dark)
{
  gdk_rgba_parse (colour, dark ? pair.dark : pair.light);
}

static void
named (GtkWidget *widget, const char *name, Pair pair, gboolean dark, GdkRGBA *colour)
{
  if (!gtk_style_context_lookup_color (gtk_widget_get_style_context (widget), name, colour))
    pick (colour, pair, dark);
}

void
studio_theme_load (StudioTheme *theme, GtkWidget *widget)
{
  AdwStyleManager *manager = adw_style_manager_get_for_display (gtk_widget_get_display (widget));
  gboolean dark = adw_style_manager_get_dark (manager), high = adw_style_manager_get_high_contrast (manager);

  theme->dark = dark;
  theme->high_contrast = high;
  named (widget, "view_bg_color", (Pair){ "#ffffff", "#1e1e1e" }, dark, &theme->background);
  theme->card = theme->background;
  named (widget, "view_fg_color", (Pair){ "#241f31", "#ffffff" }, dark, &theme->text);
  named (widget, "accent_color", (Pair){ "#1c71d8", "#78aeed" }, dark, &theme->accent);
  pick (&theme->error, (Pair){ "#c01c28", "#ff938c" }, dark);
  theme->text.alpha = 1;
  theme->dim = theme->text;
  theme->dim.alpha = high ? 1 : 0.68f;
  theme->border = theme->text;
  theme->border.alpha = high ? 0.8f : 0.22f;
  theme->dot = theme->text;
  theme->dot.alpha = high ? 0.25f : 0.08f;
  theme->error_background = theme->error;
  theme->error_background.alpha = 0.10f;
  theme->pill = theme->text;
  theme->pill.alpha = 0.15f;
  for (guint i = 0; i < LOOM_N_DTYPES; i++)
    pick (&theme->dtype[i], types[i].colour, dark);
  for (guint i = 0; i <= LOOM_N_CATEGORIES; i++)
    pick (&theme->category[i], categories[i], dark);
  pick (&theme->untyped, (Pair){ "#77767b", "#9a9996" }, dark);
}

StudioLine
studio_dtype_line (LoomDType dtype)
{
  return types[dtype].line;
}

void
studio_line_apply (StudioLine line, cairo_t *cr, double width)
{
  const double dash[] = { 6 * width, 3 * width }, dots[] = { width, 2 * width };
  const double dash_dot[] = { 5 * width, 2 * width, width, 2 * width };

  cairo_set_line_width (cr, width);
  switch (line)
    {
    case STUDIO_LINE_LONG_DASH:
      cairo_set_dash (cr, dash, G_N_ELEMENTS (dash), 0);
      break;
    case STUDIO_LINE_DOTS:
      cairo_set_dash (cr, dots, G_N_ELEMENTS (dots), 0);
      break;
    case STUDIO_LINE_DASH_DOT:
      cairo_set_dash (cr, dash_dot, G_N_ELEMENTS (dash_dot), 0);
      break;
    case STUDIO_LINE_SOLID:
    case STUDIO_LINE_DOUBLE:
      cairo_set_dash (cr, NULL, 0, 0);
      break;
    }
}

const GdkRGBA *
studio_theme_wire (const StudioTheme *theme, const StudioLink *link)
{
  return link->fault ? &theme->error : link->typed ? &theme->dtype[link->type.dtype] : &theme->untyped;
}

const GdkRGBA *
studio_theme_category (const StudioTheme *theme, const StudioItem *item)
{
  if (item->is_module)
    return &theme->category[LOOM_N_CATEGORIES];
  return &theme->category[item->op != NULL ? item->op->category : LOOM_CATEGORY_HIDDEN];
}
