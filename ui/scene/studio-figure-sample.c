/* Makes figures of samples of data sets; the types of its ports determine how a sample is shown.
 *
 * Opening a data set reads files, so the canvas calls this in a thread. Results are cached by the data set's options,
 * as many as a few windows show; a failure is cached for a few seconds, so that files that become available are found
 * later. */
#include "ui/scene/studio-figure.h"

#include <gio/gio.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/scene/studio-allowed-paths.h"
#include "ui/scene/studio-format.h"

#define MAX_BYTES  (512.0 * 1024 * 1024) /* more is not read for a small picture */
#define MAX_POINTS 240
#define MAX_SIDE   256 /* of an image */
#define VARIANTS   4   /* a sample with augmentation is shown with its variants, this many in all */
#define GAP_GREY   128 /* between variants */

/* ---- the data set of a node ---------------------------------------------- */

static gboolean
has_samples (const LoomElement *node)
{
  const LoomOp *op = loom_op_of (node);

  return op != NULL && op->role == LOOM_ROLE_DATASET;
}

char *
studio_figure_sample_key (const LoomElement *node, const char *folder)
{
  const LoomOp *op = loom_op_of (node);
  GString *key;

  if (!has_samples (node))
    return NULL;
  key = g_string_new (op->name);
  for (const LoomParamSpec *p = loom_op_params (op, node); p != NULL && p->name != NULL; p++)
    if (loom_element_get (node, p->name) != NULL)
      g_string_append_printf (key, "\n%s=%s", p->name, loom_element_get (node, p->name));
  g_string_append_printf (key, "\n%s", folder != NULL ? folder : "");
  return g_string_free (key, FALSE);
}

LoomGraph *
studio_figure_sample_graph (const LoomElement *node, const LoomGraph *graph)
{
  const char *folder = graph != NULL ? loom_graph_get_folder (graph) : NULL;
  const LoomGuard *guard = graph != NULL ? loom_graph_get_guard (graph) : NULL;
  LoomGraph *alone = loom_graph_new (NULL);
  LoomElement *root = loom_graph_root (alone);

  loom_edit_free (loom_graph_apply (
      alone, loom_edit_insert (root, loom_element_place_for (root, LOOM_TAG_NODE), loom_element_copy (node))));
  loom_graph_set_folder (alone, folder);
  /* A graph in a folder may come from an untrusted source; the paths of an unsaved graph were chosen here. */
  if (guard != NULL && guard->may_read != NULL)
    loom_graph_set_guard (alone, guard->own, guard->may_read);
  else if (folder != NULL)
    loom_graph_set_guard (alone, folder, studio_agreed_has);
  return alone;
}

static const char *
get_option (gconstpointer node, const char *name)
{
  return loom_element_get (node, name);
}

static gboolean
may_be_read (const LoomGraph *alone)
{
  if (loom_graph_get_guard (alone)->may_read == NULL)
    return TRUE;
  g_autoptr (LoomNet) net = loom_net_new (alone, NULL, NULL);
  g_auto (GStrv) missing = studio_allowed_paths_missing (net, alone, NULL);
  return missing[0] == NULL;
}

/* TRUE if the data exist and are small enough. */
static gboolean
is_at_hand (const LoomElement *node, const char *folder, const LoomGuard *guard)
{
  const LoomOp *op = loom_op_of (node);
  const char *source = op->params != NULL ? loom_element_get (node, op->params[0].name) : NULL;
  const LoomDatasetOptions options = { get_option, node, folder, guard };
  LoomDatasetInfo info = { 0 };
  double bytes = 0;

  if (source == NULL || !loom_dataset_describe (source, &options, &info, NULL))
    return FALSE;
  for (const LoomParamSpec *p = loom_op_params (op, node); p != NULL && p->name != NULL; p++)
    if (p->type == LOOM_PARAM_PATH && loom_element_get (node, p->name) != NULL)
      {
        g_autoptr (GFile) file
            = g_file_new_for_commandline_arg_and_cwd (loom_element_get (node, p->name), folder != NULL ? folder : ".");
        g_autoptr (GFileInfo) size
            = g_file_query_info (file, G_FILE_ATTRIBUTE_STANDARD_SIZE, G_FILE_QUERY_INFO_NONE, NULL, NULL);

        bytes += size != NULL ? (double)g_file_info_get_size (size) : 0;
      }
  for (guint p = 0; p < info.n_ports; p++)
    {
      const LoomBinding one = { .value = { ['B' - 'A'] = 1 } };
      gint64 n = loom_dim_value (loom_shape_count (&info.port[p].type.shape), &one);

      for (guint s = 0; s < LOOM_N_SPLITS; s++)
        bytes += (double)MAX (n, 0) * (double)MAX (info.n[s], 0) * (double)loom_dtype_size (info.port[p].type.dtype);
    }
  return bytes <= MAX_BYTES;
}

const char *
studio_figure_sample_refusal (const LoomGraph *alone)
{
  const LoomElement *node = loom_element_find (loom_graph_root (alone), LOOM_TAG_NODE);

  if (!may_be_read (alone))
    return _ ("The data are outside the graph’s folder. Training asks for permission to read them.");
  return node != NULL && has_samples (node)
                 && is_at_hand (node, loom_graph_get_folder (alone), loom_graph_get_guard (alone))
             ? NULL
             : _ ("The data are missing, or too large to be opened for a picture.");
}

/* ---- figures by type ----------------------------------------------------- */

static LoomSplit
first_split (const LoomDatasetInfo *info)
{
  for (guint s = 0; s < LOOM_N_SPLITS; s++)
    if (info->n[s] > 0)
      return (LoomSplit)s;
  return LOOM_N_SPLITS;
}

static gboolean
is_float (LoomDType dtype)
{
  return dtype == LOOM_F32 || dtype == LOOM_F64 || dtype == LOOM_F16 || dtype == LOOM_BF16;
}

/* Reads n samples, spread over the split; NULL if they cannot be read. */
static GPtrArray *
read_samples (const LoomDataset *dataset, LoomSplit split, guint n)
{
  g_autofree gint64 *index = g_new (gint64, n);

  for (guint i = 0; i < n; i++)
    index[i] = n > 1 ? (gint64)((double)i * (double)loom_dataset_count (dataset, split) / n) : 0;
  return loom_dataset_read_new_augmented (dataset, split, 0, 0, index, n, NULL);
}

/* The class of the first sample: its name, or its number; NULL if y is no class. */
static char *
label_of (const LoomDataset *dataset, const LoomTensor *y)
{
  const char *const *names = loom_dataset_class_names (dataset);

  if (y == NULL || y->count != 1)
    return NULL;
  if (!is_float (y->dtype))
    {
      gint64 k = (gint64)loom_tensor_get (y, 0);

      if (names != NULL && k >= 0 && k < (gint64)g_strv_length ((char **)names))
        return g_strdup (names[k]);
      g_autofree char *number = g_strdup_printf ("%" G_GINT64_FORMAT, k);
      return g_strdup_printf (_ ("class %s"), number);
    }
  g_autofree char *value = g_strdup_printf ("%.3g", loom_tensor_get (y, 0));
  return studio_format_local (value);
}

/* Puts images [N, C, H, W] or [N, H, W] next to each other. */
static StudioFigure *
image_of (const LoomTensor *x)
{
  int channels = x->rank == 4 ? (int)x->dim[1] : 1;
  gint64 n = x->dim[0], height = x->dim[x->rank - 2], width = x->dim[x->rank - 1], gap = 1 + width / 28;
  double least = INFINITY, most = -INFINITY;
  StudioFigure *figure = studio_figure_new (STUDIO_FIGURE_IMAGE);

  for (gint64 i = 0; i < x->count; i++)
    {
      least = MIN (least, loom_tensor_get (x, i));
      most = MAX (most, loom_tensor_get (x, i));
    }
  figure->width = (guint)(n * width + (n - 1) * gap);
  figure->height = (guint)height;
  figure->pixels = g_malloc ((gsize)(figure->width * figure->height * 3));
  memset (figure->pixels, GAP_GREY, (gsize)(figure->width * figure->height * 3));
  for (gint64 k = 0; k < n; k++)
    for (gint64 i = 0; i < width * height; i++)
      for (int c = 0; c < 3; c++)
        {
          gint64 plane = k * channels + (channels >= 3 ? c : 0);
          gint64 at = i / width * figure->width + k * (width + gap) + i % width;
          double v = loom_tensor_get (x, plane * width * height + i);

          figure->pixels[3 * at + c] = (guint8)(most > least ? 255 * (v - least) / (most - least) : 0);
        }
  return figure;
}

/* Reads the sample, with variants if training augments it at random. */
static StudioFigure *
strip_of (const LoomDataset *dataset, LoomSplit split, const LoomTensor *x)
{
  g_autoptr (LoomTensor) variants = split == LOOM_SPLIT_TRAIN && loom_dataset_changes_samples (dataset)
                                        ? loom_dataset_read_variants (dataset, 0, VARIANTS, NULL)
                                        : NULL;

  return image_of (variants != NULL ? variants : x);
}

static StudioFigure *
points_of (const LoomTensor *x, const LoomTensor *y)
{
  gboolean grouped = x->rank == 2 && x->dim[1] == 2;
  StudioFigure *figure = studio_figure_new (STUDIO_FIGURE_POINTS);

  figure->n_points = (guint)x->dim[0];
  figure->point = g_new0 (StudioFigurePoint, figure->n_points);
  for (guint i = 0; i < figure->n_points; i++)
    {
      StudioFigurePoint *p = &figure->point[i];

      p->x = (float)loom_tensor_get (x, grouped ? 2 * i : i);
      p->y = (float)(grouped ? loom_tensor_get (x, 2 * i + 1) : loom_tensor_get (y, i));
      p->group = grouped ? (int)loom_tensor_get (y, i) : 0;
      figure->n_groups = grouped ? MAX (figure->n_groups, (guint)MAX (p->group, 0) + 1) : 0;
      figure->x0 = i == 0 ? p->x : MIN (figure->x0, p->x);
      figure->x1 = i == 0 ? p->x : MAX (figure->x1, p->x);
      figure->y0 = i == 0 ? p->y : MIN (figure->y0, p->y);
      figure->y1 = i == 0 ? p->y : MAX (figure->y1, p->y);
    }
  return figure;
}

/* Words or characters if tokens have names, else numbers, without padding. */
static char *
words_of (const LoomDataset *dataset, const char *const *names, const LoomTensor *x)
{
  gint64 n_names = names != NULL ? (gint64)g_strv_length ((char **)names) : 0;
  GString *text = g_string_new (NULL);

  for (gint64 i = 0; i < MIN (x->count, 64); i++)
    if (!is_float (x->dtype) && names != NULL)
      {
        gint64 k = (gint64)loom_tensor_get (x, i);
        const char *name = k >= 0 && k < n_names ? names[k] : "?";

        if (k < 0 || g_str_equal (name, LOOM_PADDING_NAME) || g_str_equal (name, LOOM_END_NAME))
          continue;
        g_string_append_printf (text, "%s%s", text->len > 0 ? loom_dataset_separator (dataset) : "", name);
      }
    else
      g_string_append_printf (text, "%s%.2g", i > 0 ? "  " : "", loom_tensor_get (x, i));
  g_strdelimit (text->str, "\n\r\t", ' ');
  return g_string_free (text, FALSE);
}

static gboolean
is_sentence (const LoomDataset *dataset, const LoomTensor *t)
{
  return t->rank == 2 && !is_float (t->dtype) && loom_dataset_class_names (dataset) != NULL;
}

static gboolean
is_plane (const LoomDatasetInfo *info)
{
  const LoomType *x = &info->port[0].type, *y = &info->port[1].type;
  gint64 side = info->n_ports >= 2 && x->shape.rank == 2 ? loom_dim_value (x->shape.dim[1], NULL) : -1;

  return is_float (x->dtype)
         && ((side == 2 && y->shape.rank == 1 && !is_float (y->dtype)) || (side == 1 && is_float (y->dtype)));
}

static gboolean
is_image (const LoomTensor *x)
{
  gint64 channels = x->rank == 4 ? x->dim[1] : 1;

  return (x->rank == 3 || x->rank == 4) && is_float (x->dtype) && (channels == 1 || channels == 3)
         && x->dim[x->rank - 1] >= 2 && x->dim[x->rank - 2] >= 2 && x->dim[x->rank - 1] <= MAX_SIDE
         && x->dim[x->rank - 2] <= MAX_SIDE;
}

static StudioFigure *
figure_of (const LoomDataset *dataset)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  LoomSplit split = first_split (info);
  StudioFigure *figure;

  if (split == LOOM_N_SPLITS || info->n_ports == 0)
    return NULL;
  g_autoptr (GPtrArray) read
      = read_samples (dataset, split, is_plane (info) ? (guint)MIN (info->n[split], MAX_POINTS) : 1);
  if (read == NULL)
    return NULL;
  const LoomTensor *x = read->pdata[0], *y = read->len > 1 ? read->pdata[1] : NULL, *last = read->pdata[read->len - 1];
  if (is_plane (info))
    figure = points_of (x, y);
  else if (is_image (x))
    figure = strip_of (dataset, split, x);
  else
    figure = studio_figure_new (STUDIO_FIGURE_WORDS);
  if (figure->kind == STUDIO_FIGURE_WORDS)
    figure->label = words_of (dataset, loom_dataset_token_names (dataset), x);
  else if (figure->kind == STUDIO_FIGURE_IMAGE
           && figure->width == x->dim[x->rank - 1]) /* a strip of images leaves no space for it */
    figure->label = is_sentence (dataset, last) ? words_of (dataset, loom_dataset_class_names (dataset), last)
                                                : label_of (dataset, y);
  else if (figure->n_groups > 0)
    figure->label = g_strdup_printf (ngettext ("%u class", "%u classes", figure->n_groups), figure->n_groups);
  return figure;
}

/* ---- cache --------------------------------------------------------------- */

#define MAX_KEPT 64
#define RETRY_US (5 * G_USEC_PER_SEC)

typedef struct
{
  StudioFigure *figure; /* NULL: there was no data */
  gint64 when;          /* monotonic: of the reading, then of the last use */
} Kept;

static GMutex lock;
static GHashTable *kept; /* key → Kept */

static void
kept_free (gpointer data)
{
  Kept *k = data;

  g_clear_pointer (&k->figure, studio_figure_unref);
  g_free (k);
}

/* Removes the least recently used entry if the cache is full. */
static void
forget_oldest (void)
{
  const char *oldest = NULL;
  gint64 when = G_MAXINT64;
  GHashTableIter iter;
  gpointer key, value;

  if (g_hash_table_size (kept) < MAX_KEPT)
    return;
  g_hash_table_iter_init (&iter, kept);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (((Kept *)value)->when < when)
      {
        when = ((Kept *)value)->when;
        oldest = key;
      }
  g_hash_table_remove (kept, oldest);
}

gboolean
studio_figure_sample_peek (const char *key, StudioFigure **figure)
{
  const gint64 now = g_get_monotonic_time ();
  gboolean tried = FALSE;
  Kept *found;

  *figure = NULL;
  g_mutex_lock (&lock);
  found = kept != NULL ? g_hash_table_lookup (kept, key) : NULL;
  if (found != NULL && found->figure != NULL)
    {
      *figure = studio_figure_ref (found->figure);
      found->when = now;
      tried = TRUE;
    }
  else if (found != NULL)
    tried = now - found->when < RETRY_US;
  g_mutex_unlock (&lock);
  return tried;
}

StudioFigure *
studio_figure_sample_read (const LoomGraph *alone, const char *key)
{
  const char *folder = loom_graph_get_folder (alone);
  StudioFigure *figure = NULL;
  Kept *entry;

  if (studio_figure_sample_peek (key, &figure))
    return figure;
  /* A missing data set is searched for whenever the graph is shown, which is cheap. */
  if (studio_figure_sample_refusal (alone) != NULL)
    return NULL;
  g_autoptr (LoomNet) net = loom_net_new (alone, NULL, NULL);
  g_autoptr (LoomDataset) dataset = loom_net_n_nodes (net) > 0 && loom_net_is_dataset (net, 0)
                                        ? loom_net_open_dataset (net, 0, folder, NULL)
                                        : NULL;

  figure = dataset != NULL ? figure_of (dataset) : NULL;
  g_mutex_lock (&lock);
  if (kept == NULL)
    kept = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, kept_free);
  forget_oldest ();
  entry = g_new0 (Kept, 1);
  entry->figure = figure != NULL ? studio_figure_ref (figure) : NULL;
  entry->when = g_get_monotonic_time ();
  g_hash_table_replace (kept, g_strdup (key), entry);
  g_mutex_unlock (&lock);
  return figure;
}
