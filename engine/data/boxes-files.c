/* Implements boxes-files.h. */
#include "engine/data/boxes-files.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-json.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-memory-check.h"
#include "engine/data/loom-picture.h"

#define COCO_NEEDED 15.0 /* memory for each byte of a file of JSON: JSON-GLib's tree, and the boxes (measured: 13) */
#define VOC_NEEDED  3.0  /* the same of XML: the text, and the boxes */

static void
object_clear (gpointer data)
{
  g_free (((BoxesObject *)data)->name);
}

static GArray *
objects_new (void)
{
  GArray *objects = g_array_new (FALSE, FALSE, sizeof (BoxesObject));

  g_array_set_clear_func (objects, object_clear);
  return objects;
}

static void
boxes_picture_free (gpointer data)
{
  BoxesPicture *picture = data;

  g_free (picture->file);
  g_array_unref (picture->objects);
  g_free (picture);
}

/* ---- COCO ------------------------------------------------------------------------ */

static JsonArray *
list_of (JsonObject *root, const char *name)
{
  JsonNode *node = json_object_get_member (root, name);

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

static JsonObject *
object_at (JsonArray *list, guint i)
{
  JsonNode *node = json_array_get_element (list, i);

  return JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

/* FALSE if the node is no number. */
static gboolean
read_number (JsonNode *node, double *value)
{
  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) == G_TYPE_STRING)
    return FALSE;
  *value = json_node_get_double (node);
  return isfinite (*value);
}

static gboolean
number_of (JsonObject *object, const char *name, double *value)
{
  return object != NULL && read_number (json_object_get_member (object, name), value);
}

static gboolean
read_box (JsonArray *box, double side[4])
{
  gboolean good = box != NULL && json_array_get_length (box) == 4;

  for (guint k = 0; good && k < 4; k++)
    good = read_number (json_array_get_element (box, k), &side[k]);
  return good;
}

static const char *
text_of (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
}

static gboolean
stays_inside (const char *file)
{
  g_auto (GStrv) parts = g_strsplit (file, "/", -1);

  return *file != '\0' && !g_path_is_absolute (file) && !g_strv_contains ((const char *const *)parts, "..");
}

/* A number beyond 2⁵³ is none of an image or a category. */
static gint64
id_of (double number)
{
  return (gint64)CLAMP (number, -0x1p53, 0x1p53);
}

static gint64 *
key_of (double number)
{
  gint64 *key = g_new (gint64, 1);

  *key = id_of (number);
  return key;
}

static gboolean
refuse (GError **error, const char *path, const char *list, guint i, const char *why)
{
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s”: entry %u of “%s” %s.", path, i + 1, list, why);
  return FALSE;
}

static gboolean
read_images (JsonArray *list, const char *path, GPtrArray *pictures, GHashTable *by_id, GError **error)
{
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *image = object_at (list, i);
      const char *file = text_of (image, "file_name");
      BoxesPicture *picture;
      double id;

      if (file == NULL || !number_of (image, "id", &id))
        return refuse (error, path, "images", i, "has no id or file_name");
      if (!stays_inside (file))
        return refuse (error, path, "images", i, "names a file outside of its folder");
      picture = g_new0 (BoxesPicture, 1);
      picture->file = g_strdup (file);
      picture->objects = objects_new ();
      g_ptr_array_add (pictures, picture);
      g_hash_table_insert (by_id, key_of (id), picture);
    }
  return TRUE;
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  const gint64 x = **(const gint64 *const *)a, y = **(const gint64 *const *)b;

  return x < y ? -1 : x > y;
}

/* names: by number. */
static gboolean
read_categories (JsonArray *list, const char *path, GHashTable *names, char ***classes, GError **error)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new ();

  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *category = object_at (list, i);
      const char *name = text_of (category, "name");
      gint64 *key;
      double id;

      if (name == NULL || !number_of (category, "id", &id))
        return refuse (error, path, "categories", i, "has no id or name");
      key = key_of (id);
      if (g_hash_table_insert (names, key, g_strdup (name)))
        g_ptr_array_add (ids, key);
    }
  g_ptr_array_sort (ids, compare_ids);
  if (classes == NULL)
    return TRUE;
  *classes = g_new0 (char *, ids->len + 1);
  for (guint i = 0; i < ids->len; i++)
    (*classes)[i] = g_strdup (g_hash_table_lookup (names, ids->pdata[i]));
  return TRUE;
}

static gboolean
read_annotations (JsonArray *list, const char *path, GHashTable *by_id, GHashTable *names, GError **error)
{
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *annotation = object_at (list, i);
      JsonArray *box = annotation != NULL ? list_of (annotation, "bbox") : NULL;
      double image, category, crowd = 0, side[4];
      const BoxesPicture *picture;
      const char *name;

      if (!read_box (box, side) || !number_of (annotation, "image_id", &image)
          || !number_of (annotation, "category_id", &category))
        return refuse (error, path, "annotations", i, "has no image_id, category_id or bbox of four numbers");
      picture = g_hash_table_lookup (by_id, &(gint64){ id_of (image) });
      name = g_hash_table_lookup (names, &(gint64){ id_of (category) });
      if (picture == NULL || name == NULL)
        return refuse (error, path, "annotations", i, "names an image or a category that the file does not have");
      number_of (annotation, "iscrowd", &crowd);
      const BoxesObject object = { g_strdup (name),   side[0],           side[1],
                                   side[0] + side[2], side[1] + side[3], crowd != 0 ? BOXES_CROWD : BOXES_OBJECT };
      g_array_append_val (picture->objects, object);
    }
  return TRUE;
}

static gboolean
parse (JsonParser *parser, const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  if (!loom_memory_check (path, COCO_NEEDED, "split it into files with fewer pictures", error))
    return FALSE;
  if (!loom_path_read (path, &text, &length, &cause))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  if (!loom_json_is_within (text, length, LOOM_JSON_LEVELS))
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” is not a file of COCO's: it is nested too deeply, or has half of a surrogate pair.",
                        path);
  if (!json_parser_load_from_data (parser, text, (gssize)length, &cause))
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” is not a file of COCO's: %s.", path, cause->message);
  return TRUE;
}

GPtrArray *
boxes_read_coco (const char *path, char ***classes, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GPtrArray) pictures = g_ptr_array_new_with_free_func (boxes_picture_free);
  g_autoptr (GHashTable) by_id = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);

  if (!parse (parser, path, error))
    return NULL;

  JsonNode *root = json_parser_get_root (parser);
  JsonObject *object = root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  JsonArray *images = object != NULL ? list_of (object, "images") : NULL;
  JsonArray *annotations = object != NULL ? list_of (object, "annotations") : NULL;
  JsonArray *categories = object != NULL ? list_of (object, "categories") : NULL;

  if (images == NULL || annotations == NULL || categories == NULL)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "“%s” is not a file of COCO's: it lacks images, annotations or categories.", path);
  if (!read_images (images, path, pictures, by_id, error) || !read_categories (categories, path, names, classes, error)
      || !read_annotations (annotations, path, by_id, names, error))
    return NULL;
  return g_steal_pointer (&pictures);
}

/* ---- PASCAL VOC -------------------------------------------------------------------- */

/* A file while it is read. Parts of an object (a head, a hand) have boxes too, which do not count. */
typedef struct
{
  GArray *objects;
  GString *text;
  int depth, object_depth; /* 0: not in an object */
  BoxesObject now;
  gboolean has[4];
} Voc;

static void
voc_start (GMarkupParseContext *context, const char *element, const char **names, const char **values, gpointer data,
           GError **error)
{
  Voc *voc = data;

  voc->depth++;
  g_string_truncate (voc->text, 0);
  if (voc->object_depth > 0 || !g_str_equal (element, "object"))
    return;
  voc->object_depth = voc->depth;
  voc->now.kind = BOXES_OBJECT;
  memset (voc->has, 0, sizeof voc->has);
}

static void
end_object (Voc *voc, GError **error)
{
  voc->object_depth = 0;
  if (voc->now.name == NULL || !voc->has[0] || !voc->has[1] || !voc->has[2] || !voc->has[3])
    g_set_error (error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "an object has no name or no bndbox");
  else
    {
      g_array_append_val (voc->objects, voc->now);
      voc->now.name = NULL;
    }
  g_clear_pointer (&voc->now.name, g_free);
}

static void
voc_end (GMarkupParseContext *context, const char *element, gpointer data, GError **error)
{
  static const char *const sides[] = { "xmin", "ymin", "xmax", "ymax" };
  Voc *voc = data;
  double *const side[] = { &voc->now.x1, &voc->now.y1, &voc->now.x2, &voc->now.y2 };
  const char *text = g_strstrip (voc->text->str);
  const int inside = voc->object_depth > 0 ? voc->depth - voc->object_depth : -1;

  if (inside == 1 && g_str_equal (element, "name"))
    {
      g_free (voc->now.name);
      voc->now.name = g_strdup (text);
    }
  if (inside == 1 && g_str_equal (element, "difficult"))
    voc->now.kind = g_str_equal (text, "1") ? BOXES_DIFFICULT : BOXES_OBJECT;
  for (guint k = 0; inside == 2 && k < G_N_ELEMENTS (sides); k++)
    if (g_str_equal (element, sides[k]) && !voc->has[k])
      {
        *side[k] = g_ascii_strtod (text, NULL) - (k < 2 ? 1 : 0);
        voc->has[k] = isfinite (*side[k]);
      }
  if (inside == 0)
    end_object (voc, error);
  voc->depth--;
  g_string_truncate (voc->text, 0);
}

static void
voc_text (GMarkupParseContext *context, const char *text, gsize n, gpointer data, GError **error)
{
  g_string_append_len (((Voc *)data)->text, text, (gssize)n);
}

GArray *
boxes_read_voc (const char *path, GError **error)
{
  static const GMarkupParser parser = { .start_element = voc_start, .end_element = voc_end, .text = voc_text };
  g_autoptr (GArray) objects = objects_new ();
  g_autofree char *content = NULL;
  g_autoptr (GError) cause = NULL;
  Voc voc = { .objects = objects, .text = g_string_new (NULL) };
  g_autoptr (GMarkupParseContext) context = g_markup_parse_context_new (&parser, 0, &voc, NULL);
  gsize n;
  const gboolean has_room = loom_memory_check (path, VOC_NEEDED, "it should have one picture's boxes", error);
  const gboolean good = has_room && loom_path_read (path, &content, &n, &cause)
                        && g_markup_parse_context_parse (context, content, (gssize)n, &cause)
                        && g_markup_parse_context_end_parse (context, &cause);

  g_string_free (voc.text, TRUE);
  g_free (voc.now.name);
  if (good)
    return g_steal_pointer (&objects);
  return has_room ? loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” is not a file of VOC's: %s.", path, cause->message)
                  : NULL;
}

/* ---- masks ----------------------------------------------------------------------- */

static void
add_numbered (GArray *objects, const guint8 *pixels, int height, int width, const char *class_name)
{
  BoxesObject found[256] = { { NULL } };

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
        BoxesObject *o = &found[pixels[y * width + x]];
        const gboolean is_first = o->x2 == 0;

        o->x1 = is_first ? x : MIN (o->x1, x);
        o->y1 = is_first ? y : o->y1;
        o->x2 = MAX (o->x2, x + 1);
        o->y2 = y + 1;
      }
  for (guint v = 1; v < G_N_ELEMENTS (found); v++)
    if (found[v].x2 > 0)
      {
        found[v].name = g_strdup (class_name);
        g_array_append_val (objects, found[v]);
      }
}

GArray *
boxes_read_mask (const char *path, const char *class_name, GError **error)
{
  g_autoptr (GArray) objects = objects_new ();
  g_autofree char *content = NULL;
  g_autofree guint8 *pixels = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) cause = NULL;
  LoomPictureFrame frame;
  guint8 first;
  gsize length;

  if (!loom_path_read (path, &content, &length, &cause))
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  bytes = g_bytes_new_take (g_steal_pointer (&content), length);
  /* First the size. */
  if (!loom_picture_read_mask (bytes, path, LOOM_FIT_STRETCH, 1, 1, &first, &frame, NULL, error))
    return NULL;
  const int height = frame.height, width = frame.width;
  pixels = g_try_malloc ((gsize)height * (gsize)width);
  if (pixels == NULL)
    return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY, "There is not enough memory to read “%s”.", path);
  if (!loom_picture_read_mask (bytes, path, LOOM_FIT_STRETCH, height, width, pixels, &frame, NULL, error))
    return NULL;
  add_numbered (objects, pixels, height, width, class_name);
  return g_steal_pointer (&objects);
}
