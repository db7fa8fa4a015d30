/* Colours and line styles of graphs.
 *
 * A type is shown by line style and by colour: families share a colour (16-bit floats, integers), and no two types
 * share a style. The colours have a contrast of at least 5.5:1 on the window's background. */
#include "ui/drawing/studio-theme.h"

#include <string.h>

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
  [LOOM_BF16] = { { "#813d9c", "#dc8add" }, STUDIO_LINE_SHORT_DASH },
  [LOOM_I64] = { { "#a34800", "#ffa348" }, STUDIO_LINE_DOTS },
  [LOOM_I32] = { { "#a34800", "#ffa348" }, STUDIO_LINE_DOT_PAIRS },
  [LOOM_U8] = { { "#a34800", "#ffa348" }, STUDIO_LINE_WIDE_DOTS },
  [LOOM_BOOL] = { { "#5e5c64", "#c0bfbc" }, STUDIO_LINE_DASH_DOT },
};

static const Pair categories[LOOM_N_CATEGORIES + 1] = {
  [LOOM_CATEGORY_DATA] = { "#1c71d8", "#62a0ea" },        [LOOM_CATEGORY_LAYERS] = { "#26a269", "#57e389" },
  [LOOM_CATEGORY_ACTIVATIONS] = { "#c88800", "#f8e45c" }, [LOOM_CATEGORY_MATHS] = { "#9141ac", "#c061cb" },
  [LOOM_CATEGORY_LOGIC] = { "#63452c", "#cdab8f" },       [LOOM_CATEGORY_SHAPE] = { "#2190a4", "#5bc8d8" },
  [LOOM_CATEGORY_TRAINING] = { "#a51d2d", "#f66151" },    [LOOM_CATEGORY_LOSS] = { "#e66100", "#ffa348" },
  [LOOM_CATEGORY_HIDDEN] = { "#77767b", "#9a9996" },      [LOOM_N_CATEGORIES] = { "#5e5c64", "#deddda" },
};

/* Stages and devices; each is also shown by its number. */
static const Pair parts[STUDIO_N_PARTITION_COLORS] = {
  { "#1a5fb4", "#78aeed" }, { "#b5510a", "#ffa348" }, { "#1c7a45", "#57e389" },
  { "#813d9c", "#dc8add" }, { "#0b6e69", "#5bc8af" }, { "#a51d2d", "#ff7b63" },
};

gboolean
studio_color_parse (const char *text, StudioColor *color)
{
  guint64 rgb;

  if (text[0] != '#' || strlen (text) != 7 || !g_ascii_string_to_unsigned (text + 1, 16, 0, 0xffffff, &rgb, NULL))
    return FALSE;
  *color = (StudioColor){ (float)(rgb >> 16) / 255, (float)(rgb >> 8 & 255) / 255, (float)(rgb & 255) / 255, 1 };
  return TRUE;
}

void
studio_color_set (const StudioColor *color, cairo_t *cr)
{
  cairo_set_source_rgba (cr, color->red, color->green, color->blue, color->alpha);
}

static StudioColor
pick (Pair pair, gboolean dark)
{
  StudioColor color = { 0 };

  studio_color_parse (dark ? pair.dark : pair.light, &color);
  return color;
}

static StudioColor
faded (StudioColor color, float alpha)
{
  color.alpha = alpha;
  return color;
}

void
studio_theme_set_base (StudioTheme *theme, const StudioColor *background, const StudioColor *text,
                       const StudioColor *accent)
{
  gboolean high = theme->high_contrast;

  theme->background = theme->card = *background;
  theme->text = faded (*text, 1);
  theme->accent = *accent;
  theme->dim = faded (*text, high ? 1 : 0.68f);
  theme->border = faded (*text, high ? 0.8f : 0.22f);
  /* The grid has no information, so its contrast is low. */
  theme->dot = faded (*text, high ? 0.12f : 0.08f);
  theme->shape_label = faded (*text, 0.15f);
}

void
studio_theme_init (StudioTheme *theme, gboolean dark, gboolean high_contrast)
{
  StudioColor background = pick ((Pair){ "#ffffff", "#1e1e1e" }, dark);
  StudioColor text = pick ((Pair){ "#241f31", "#ffffff" }, dark);
  StudioColor accent = pick ((Pair){ "#1c71d8", "#78aeed" }, dark);

  theme->dark = dark;
  theme->high_contrast = high_contrast;
  studio_theme_set_base (theme, &background, &text, &accent);
  theme->error = pick ((Pair){ "#c01c28", "#ff938c" }, dark);
  theme->advice = pick ((Pair){ "#915400", "#f5c04a" }, dark);
  theme->added = pick ((Pair){ "#146c35", "#7ee2a0" }, dark);
  theme->todo = pick ((Pair){ "#4a5a70", "#a9bad0" }, dark);
  theme->error_background = faded (theme->error, 0.10f);
  for (guint i = 0; i < LOOM_N_DTYPES; i++)
    theme->dtype[i] = pick (types[i].colour, dark);
  for (guint i = 0; i <= LOOM_N_CATEGORIES; i++)
    theme->category[i] = pick (categories[i], dark);
  for (guint i = 0; i < STUDIO_N_PARTITION_COLORS; i++)
    theme->part[i] = pick (parts[i], dark);
  theme->untyped = pick ((Pair){ "#77767b", "#9a9996" }, dark);
}

StudioLine
studio_dtype_line (LoomDType dtype)
{
  return types[dtype].line;
}

/* Lengths of dashes and gaps, in line widths. */
static const struct
{
  double length[6];
  int n;
} dashes[STUDIO_N_LINES] = {
  [STUDIO_LINE_LONG_DASH] = { { 7, 3 }, 2 }, [STUDIO_LINE_SHORT_DASH] = { { 3, 2 }, 2 },
  [STUDIO_LINE_DOTS] = { { 1, 2 }, 2 },      [STUDIO_LINE_DOT_PAIRS] = { { 1, 1.5, 1, 4 }, 4 },
  [STUDIO_LINE_WIDE_DOTS] = { { 1, 5 }, 2 }, [STUDIO_LINE_DASH_DOT] = { { 5, 2, 1, 2 }, 4 },
};

void
studio_line_apply (StudioLine line, cairo_t *cr, double width)
{
  double dash[G_N_ELEMENTS (dashes[0].length)];

  for (int i = 0; i < dashes[line].n; i++)
    dash[i] = dashes[line].length[i] * width;
  cairo_set_line_width (cr, width);
  cairo_set_dash (cr, dash, dashes[line].n, 0);
}

const StudioColor *
studio_theme_wire (const StudioTheme *theme, const StudioLink *link)
{
  return link->fault ? &theme->error : link->typed ? &theme->dtype[link->type.dtype] : &theme->untyped;
}

const StudioColor *
studio_theme_category (const StudioTheme *theme, const StudioItem *item)
{
  if (item->is_module || item->is_frame)
    return &theme->category[LOOM_N_CATEGORIES];
  return &theme->category[item->op != NULL ? item->op->category : LOOM_CATEGORY_HIDDEN];
}

const StudioColor *
studio_theme_partition_color (const StudioTheme *theme, const StudioItem *item)
{
  return item->tint > 0 ? &theme->part[(item->tint - 1) % STUDIO_N_PARTITION_COLORS] : NULL;
}
