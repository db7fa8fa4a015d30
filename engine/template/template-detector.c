/* Builds a detector without anchors (Zhou, Wang and Krähenbühl, "Objects as points", 2019), as
 * graphs/models/shapes-detector.xml explains it, for pictures of any size and any number of classes.
 *
 * The data set's own maps are the targets: heat says for each class how likely an object's centre is in a cell, size
 * where in the cell it is and how wide and high the object is. */
#include "engine/template/template-private.h"

#define MOST_FOUND 100 /* detections in a picture, as COCO counts them */

gboolean
loom_template_has_boxes (const LoomDatasetInfo *info)
{
  return info->n_ports == 4 && g_str_equal (info->port[2].name, "heat") && g_str_equal (info->port[3].name, "size");
}

/* The sizes of the maps, in cells and pixels. */
typedef struct
{
  gint64 classes, height, width, stride, found;
} Cells;

static Cells
cells_of (const LoomTemplateShape *shape)
{
  const LoomShape *x = &shape->info->port[0].type.shape, *boxes = &shape->info->port[1].type.shape;
  const LoomShape *heat = &shape->info->port[2].type.shape;
  Cells c = { .classes = heat->dim[1].coef, .height = heat->dim[2].coef, .width = heat->dim[3].coef };

  c.stride = x->dim[2].coef / c.height;
  c.found = MIN (MAX (16, boxes->dim[1].coef), MOST_FOUND);
  c.found = MIN (c.found, c.classes * c.height * c.width);
  return c;
}

gboolean
loom_template_suits_detector (const LoomTemplateShape *shape)
{
  return loom_template_has_boxes (shape->info) && loom_template_count (&shape->info->port[2].type) > 0;
}

/* A node of these ports, each wired to an end; returns its id. */
static const char *
join (LoomTemplateMaker *maker, const char *id, const char *op, const char *key, const char *value, ...)
{
  const char *added = loom_template_node (maker, id, op, key, value, NULL), *port;
  va_list wires;

  va_start (wires, value);
  while ((port = va_arg (wires, const char *)) != NULL)
    {
      g_autofree char *to = g_strdup_printf ("%s.%s", added, port);

      loom_template_wire (maker, va_arg (wires, const char *), to);
    }
  va_end (wires);
  loom_template_set_end (maker, added);
  return added;
}

/* Convolutions down to the size of the maps, then two more blocks. */
static void
build_trunk (LoomTemplateMaker *maker, const Cells *cells)
{
  gint64 left = cells->stride, channels = 16;

  for (; left > 1; channels = MIN (channels + 16, 64))
    {
      const gint64 by = left % 2 == 0 ? 2 : left;
      g_autofree char *out = g_strdup_printf ("%" G_GINT64_FORMAT, channels);
      g_autofree char *kernel = g_strdup_printf ("%" G_GINT64_FORMAT, by);

      loom_template_chain_convolutions (maker, out);
      loom_template_chain (maker, "pool", "max_pool2d", "kernel_size", kernel, NULL);
      left /= by;
    }
  g_autofree char *last = g_strdup_printf ("%" G_GINT64_FORMAT, channels);
  loom_template_chain_convolutions (maker, last);
  loom_template_chain_convolutions (maker, last);
}

/* One edge of the boxes: `cell` is the number of the cell, `at` the centre's position in it. */
static void
build_edge (LoomTemplateMaker *maker, const Cells *cells, const char *id, gboolean is_x, char sign)
{
  g_autofree char *formula = g_strdup_printf ("%" G_GINT64_FORMAT " * (c %s %" G_GINT64_FORMAT " + d %c w / 2)",
                                              cells->stride, is_x ? "%" : "//", cells->width, sign);

  join (maker, id, "expression", "formula", formula, "c", "cell", "d", is_x ? "dx" : "dy", "w", is_x ? "w" : "h", NULL);
}

/* A cell is a peak if no neighbour has more heat; the highest peaks are detections: x1, y1, x2, y2, score, class. */
static void
build_decode (LoomTemplateMaker *maker, const Cells *cells)
{
  static const char *const numbers[] = { "dx", "dy", "w", "h" };
  const gint64 n = cells->height * cells->width;
  g_autofree char *found = g_strdup_printf ("%" G_GINT64_FORMAT, cells->found);
  g_autofree char *cell = g_strdup_printf ("i %% %" G_GINT64_FORMAT, n);
  g_autofree char *kind = g_strdup_printf ("i // %" G_GINT64_FORMAT, n);
  g_autofree char *row = g_strdup_printf ("B,4,%" G_GINT64_FORMAT, n);

  loom_template_begin_module (maker, "decode");
  loom_template_node (maker, "heat", "module_input", NULL);
  loom_template_node (maker, "numbers", "module_input", NULL);
  loom_template_set_end (maker, "heat");
  loom_template_chain (maker, "around", "max_pool2d", "kernel_size", "3", "stride", "1", "padding", "1", NULL);
  join (maker, "peaks", "expression", "formula", "where(p >= a, p, 0)", "p", "heat", "a", "around", NULL);
  loom_template_chain (maker, "flat", "flatten", NULL);
  loom_template_chain (maker, "best", "topk", "k", found, NULL);
  join (maker, "cell", "expression", "formula", cell, "i", "best.indices", NULL);
  loom_template_chain (maker, "cell_i", "cast", "dtype", "i64", NULL);
  loom_template_chain (maker, "cell_row", "unsqueeze", "dim", "1", NULL);
  join (maker, "kind", "expression", "formula", kind, "i", "best.indices", NULL);
  loom_template_set_end (maker, "numbers");
  loom_template_chain (maker, "box_row", "reshape", "shape", row, NULL);
  join (maker, "box", "take_along_dim", "dim", "2", "input", "box_row", "indices", "cell_row", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *index = g_strdup_printf ("%u", i);

      loom_template_set_end (maker, "box");
      loom_template_chain (maker, numbers[i], "select", "dim", "1", "index", index, NULL);
    }
  build_edge (maker, cells, "x1", TRUE, '-');
  build_edge (maker, cells, "y1", FALSE, '-');
  build_edge (maker, cells, "x2", TRUE, '+');
  build_edge (maker, cells, "y2", FALSE, '+');
  join (maker, "detections", "stack", "dim", "2", "0", "x1", "1", "y1", "2", "x2", "3", "y2", "4", "best", "5", "kind",
        NULL);
  loom_template_chain (maker, "y", "module_output", NULL);
  loom_template_end_module (maker);
}

/* The focal loss of the heat (section 3, equation 1), and the absolute error of the numbers at centres. */
static void
build_loss (LoomTemplateMaker *maker)
{
  join (maker, "focal", "expression", "formula",
        "-where(t >= 1, (1 - p) ** 2 * log(p), (1 - t) ** 4 * p ** 2 * log(1 - p))", "p", "heat_p", "t", "data.heat",
        NULL);
  loom_template_chain (maker, "heat_sum", "sum", NULL);
  loom_template_set_end (maker, "data.size");
  loom_template_chain (maker, "target", "narrow", "dim", "1", "start", "0", "length", "4", NULL);
  loom_template_set_end (maker, "data.size");
  loom_template_chain (maker, "centre", "narrow", "dim", "1", "start", "4", "length", "1", NULL);
  loom_template_chain (maker, "objects", "sum", NULL);
  join (maker, "off", "expression", "formula", "m * abs(p - t)", "m", "centre", "p", "boxes", "t", "target", NULL);
  loom_template_chain (maker, "off_sum", "sum", NULL);
  join (maker, "loss", "expression", "formula", "(h + 0.3 * o) / max(n, 1)", "h", "heat_sum", "o", "off_sum", "n",
        "objects", NULL);
}

void
loom_template_build_detector (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  const Cells cells = cells_of (shape);
  g_autofree char *classes = g_strdup_printf ("%" G_GINT64_FORMAT, cells.classes), *trunk = NULL;

  build_decode (maker, &cells);
  loom_template_set_end (maker, "data.x");
  build_trunk (maker, &cells);
  trunk = g_strdup (maker->last);
  loom_template_chain (maker, "heat", "conv2d", "out_channels", classes, "kernel_size", "3", "padding", "1", NULL);
  /* Most cells have no object: the heat begins near 0.1, and its logarithm stays finite. */
  join (maker, "heat_p", "expression", "formula", "clamp(sigmoid(p - 2.2), 0.0001, 0.9999)", "p", "heat", NULL);
  loom_template_set_end (maker, trunk);
  loom_template_chain (maker, "boxes", "conv2d", "out_channels", "4", "kernel_size", "3", "padding", "1", NULL);
  build_loss (maker);
  loom_template_insert (maker, loom_element_new (LOOM_TAG_NODE, "id", "decode", "module", "decode", NULL));
  loom_template_wire (maker, "heat_p", "decode.heat");
  loom_template_wire (maker, "boxes", "decode.numbers");
  loom_template_set_end (maker, "decode");
  loom_template_chain (maker, "found", "output", NULL);
}
