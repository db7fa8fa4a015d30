/* Makes the SVG that Cairo writes small: shapes and strings of glyphs that repeat are defined once.
 *
 * Cairo writes each card of a graph as a dozen shapes with absolute coordinates. The drawing becomes a sequence of
 * parts, each with its position and with coordinates relative to it, so that equal parts are equal texts. Then pairs of
 * neighbours that occur often at the same distance are joined to one part, again and again (byte-pair encoding), by
 * which equal cards and words become one definition. Parts contain shapes and glyphs only, no other parts, because
 * viewers limit how many references they follow. */
#include "ui/drawing/svg-compact.h"

#include <math.h>
#include <string.h>

#define REFERENCE 42 /* bytes of a reference to a part */
#define PASSES    24 /* more would join parts of thousands of shapes */

typedef struct _Element Element;

struct _Element
{
  char *name;
  GPtrArray *attributes; /* name, value, … */
  GPtrArray *children;   /* Element */
};

typedef struct
{
  double x, y;
} Point;

/* What is drawn at a position: a text for a shape or glyph, or two other parts. */
typedef struct
{
  char *text;        /* NULL: a pair */
  const char *style; /* of a glyph; interned by `styles`, NULL for a shape */
  guint a, b;
  Point second; /* position of b, from that of a */
  guint uses;   /* in the drawing */
  guint bytes;  /* of its definition */
  gboolean is_shared;
  int id; /* of its definition; −1: it has none yet */
} Part;

typedef struct
{
  guint part;
  Point at;
} Placed;

typedef struct
{
  GHashTable *by_id; /* id → Element of the definitions */
  GHashTable *clips; /* text of a clip path → its name */
  GString *clip_text;
  GHashTable *known;  /* text of a part → its index, from 1 on */
  GHashTable *styles; /* set of texts */
  GArray *parts;      /* Part */
  GArray *placed;     /* Placed */
  gboolean failed;
} Compact;

/* ---- reading ------------------------------------------------------------------ */

static void
element_free (gpointer data)
{
  Element *e = data;

  g_free (e->name);
  g_ptr_array_unref (e->attributes);
  g_ptr_array_unref (e->children);
  g_free (e);
}

static void
on_start (GMarkupParseContext *context, const char *name, const char **names, const char **values, gpointer data,
          GError **error)
{
  GPtrArray *stack = data;
  Element *e = g_new0 (Element, 1), *outer = stack->pdata[stack->len - 1];

  e->name = g_strdup (name);
  e->attributes = g_ptr_array_new_with_free_func (g_free);
  e->children = g_ptr_array_new_with_free_func (element_free);
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_ptr_array_add (e->attributes, g_strdup (names[i]));
      g_ptr_array_add (e->attributes, g_strdup (values[i]));
    }
  g_ptr_array_add (outer->children, e);
  g_ptr_array_add (stack, e);
}

static void
on_end (GMarkupParseContext *context, const char *name, gpointer data, GError **error)
{
  GPtrArray *stack = data;

  g_ptr_array_set_size (stack, (int)stack->len - 1);
}

/* The document, whose only child is the root; NULL if it is no XML. */
static Element *
read_tree (GBytes *svg)
{
  static const GMarkupParser parser = { .start_element = on_start, .end_element = on_end };
  Element *document = g_new0 (Element, 1);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  gsize length;
  const char *text = g_bytes_get_data (svg, &length);

  document->attributes = g_ptr_array_new_with_free_func (g_free);
  document->children = g_ptr_array_new_with_free_func (element_free);
  g_ptr_array_add (stack, document);
  g_autoptr (GMarkupParseContext) context = g_markup_parse_context_new (&parser, 0, stack, NULL);
  if (g_markup_parse_context_parse (context, text, (gssize)length, NULL)
      && g_markup_parse_context_end_parse (context, NULL) && document->children->len == 1)
    return document;
  element_free (document);
  return NULL;
}

static const char *
get (const Element *e, const char *name)
{
  for (guint i = 0; i + 1 < e->attributes->len; i += 2)
    if (g_str_equal (e->attributes->pdata[i], name))
      return e->attributes->pdata[i + 1];
  return NULL;
}

static double
get_number (const Element *e, const char *name)
{
  const char *text = get (e, name);

  return text != NULL ? g_ascii_strtod (text, NULL) : 0;
}

/* ---- positions ---------------------------------------------------------------- */

static gboolean
read_matrix (const char *text, double m[6])
{
  const char *p = text;

  if (!g_str_has_prefix (p, "matrix("))
    return FALSE;
  p += strlen ("matrix(");
  for (int i = 0; i < 6; i++)
    {
      char *end;

      m[i] = g_ascii_strtod (p, &end);
      if (end == p)
        return FALSE;
      p = end + strspn (end, ", ");
    }
  return *p == ')';
}

/* The clip path of an element, or NULL. */
static const Element *
clip_of (const Compact *c, const Element *e)
{
  const char *reference = get (e, "clip-path");
  g_autofree char *id = reference != NULL && g_str_has_prefix (reference, "url(#")
                            ? g_strndup (reference + 5, strcspn (reference + 5, ")"))
                            : NULL;

  return id != NULL ? g_hash_table_lookup (c->by_id, id) : NULL;
}

/* The first coordinates of an element, from which all others are measured; those of its clip path, if it is the whole
 * surface. FALSE: it has none. */
static gboolean
find_position (const Compact *c, const Element *e, Point *at)
{
  const char *transform = get (e, "transform"), *path = get (e, "d");
  const Element *clip = clip_of (c, e);
  double m[6];

  if (transform != NULL)
    {
      if (!read_matrix (transform, m))
        return FALSE;
      *at = (Point){ m[4], m[5] };
      return TRUE;
    }
  if (path != NULL && path[0] == 'M')
    {
      char *end;

      at->x = g_ascii_strtod (path + 1, &end);
      at->y = g_ascii_strtod (end, NULL);
      return TRUE;
    }
  if (g_str_equal (e->name, "use"))
    {
      *at = (Point){ get_number (e, "x"), get_number (e, "y") };
      return TRUE;
    }
  for (guint i = 0; i < e->children->len; i++)
    if (find_position (c, e->children->pdata[i], at))
      return TRUE;
  return clip != NULL && find_position (c, clip, at);
}

static void
put_number (GString *s, double value)
{
  const double rounded = round (value * 100) / 100;
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (s, g_ascii_formatd (text, sizeof text, "%.10g", rounded + 0.0 == 0 ? 0 : rounded));
}

/* Lines and curves with absolute coordinates; a last point that nothing is drawn from is left out. FALSE for other
 * commands. */
static gboolean
put_path (GString *s, const char *d, Point from)
{
  gsize last = s->len;
  guint n = 0;

  for (const char *p = d; *p != 0;)
    {
      char *end;

      if (*p == ' ' || *p == ',')
        {
          p++;
          continue;
        }
      if (g_ascii_isalpha (*p))
        {
          if (strchr ("MLCZ", *p) == NULL)
            return FALSE;
          last = *p == 'M' ? s->len : G_MAXSIZE;
          g_string_append_c (s, *p++);
          n = 0;
          continue;
        }
      const double value = g_ascii_strtod (p, &end);
      if (end == p)
        return FALSE;
      if (n > 0)
        g_string_append_c (s, ' ');
      put_number (s, value - (n % 2 == 0 ? from.x : from.y));
      n++;
      p = end;
    }
  if (last != G_MAXSIZE && last > 0)
    g_string_truncate (s, last);
  return TRUE;
}

static void put_element (Compact *c, GString *s, const Element *e, Point from, gboolean is_clipped);

/* The name of an element's clip path with coordinates from this position. */
static const char *
clip_name (Compact *c, const Element *e, Point from)
{
  const Element *clip = clip_of (c, e);
  g_autoptr (GString) s = g_string_new (NULL);
  char *name;

  if (clip == NULL)
    {
      c->failed = TRUE;
      return "";
    }
  for (guint i = 0; i < clip->children->len; i++)
    put_element (c, s, clip->children->pdata[i], from, FALSE);
  name = g_hash_table_lookup (c->clips, s->str);
  if (name == NULL)
    {
      name = g_strdup_printf ("k%u", g_hash_table_size (c->clips));
      g_string_append_printf (c->clip_text, "<clipPath id=\"%s\">%s</clipPath>\n", name, s->str);
      g_hash_table_insert (c->clips, g_strdup (s->str), name);
    }
  return name;
}

#define FAR 100000 /* past the edges of any clip path */

static void
put_attribute (Compact *c, GString *s, const Element *e, guint i, Point from, gboolean is_clipped)
{
  const char *name = e->attributes->pdata[i], *value = e->attributes->pdata[i + 1];
  const gboolean is_rect = g_str_equal (e->name, "rect"), is_x = g_str_equal (name, "x");
  double m[6];

  g_string_append_printf (s, " %s=\"", name);
  if (g_str_equal (name, "d") && get (e, "transform") == NULL)
    c->failed = !put_path (s, value, from) || c->failed;
  else if (g_str_equal (name, "d"))
    c->failed = !put_path (s, value, (Point){ 0, 0 }) || c->failed;
  else if (g_str_equal (name, "transform") && read_matrix (value, m))
    {
      g_string_append (s, "matrix(");
      for (int k = 0; k < 4; k++)
        g_string_append_printf (s, "%s,",
                                g_ascii_dtostr ((char[G_ASCII_DTOSTR_BUF_SIZE]){ 0 }, G_ASCII_DTOSTR_BUF_SIZE, m[k]));
      put_number (s, m[4] - from.x);
      g_string_append_c (s, ',');
      put_number (s, m[5] - from.y);
      g_string_append_c (s, ')');
    }
  /* The whole surface, through a clip path. */
  else if (is_rect && is_clipped && (is_x || g_str_equal (name, "y")))
    g_string_append_printf (s, "%d", -FAR);
  else if (is_rect && is_clipped && (g_str_equal (name, "width") || g_str_equal (name, "height")))
    g_string_append_printf (s, "%d", 2 * FAR);
  else if (is_x || g_str_equal (name, "y"))
    put_number (s, g_ascii_strtod (value, NULL) - (is_x ? from.x : from.y));
  else if (g_str_equal (name, "clip-path"))
    g_string_append_printf (s, "url(#%s)", clip_name (c, e, from));
  else
    {
      g_autofree char *escaped = g_markup_escape_text (value, -1);

      /* Gradients and images have coordinates of their own. */
      c->failed = c->failed || strstr (value, "url(#") != NULL || g_str_equal (name, "transform");
      g_string_append (s, escaped);
    }
  g_string_append_c (s, '"');
}

static void
put_element (Compact *c, GString *s, const Element *e, Point from, gboolean is_clipped)
{
  static const char *const shapes[] = { "g", "path", "rect", "use", NULL };
  const gboolean clips = is_clipped || get (e, "clip-path") != NULL;

  c->failed = c->failed || !g_strv_contains (shapes, e->name) || (get (e, "transform") != NULL && e->children->len > 0);
  g_string_append_printf (s, "<%s", e->name);
  for (guint i = 0; i + 1 < e->attributes->len; i += 2)
    put_attribute (c, s, e, i, from, is_clipped);
  g_string_append (s, e->children->len > 0 ? ">" : "/>");
  for (guint i = 0; i < e->children->len; i++)
    put_element (c, s, e->children->pdata[i], from, clips);
  if (e->children->len > 0)
    g_string_append_printf (s, "</%s>", e->name);
}

/* ---- parts -------------------------------------------------------------------- */

static guint
part_of_text (Compact *c, const char *text, const char *style)
{
  g_autofree char *key = g_strconcat (style != NULL ? style : "", "\n", text, NULL);
  const guint known = GPOINTER_TO_UINT (g_hash_table_lookup (c->known, key));
  const Part part = {
    .text = g_strdup (text), .style = style, .bytes = style != NULL ? REFERENCE : strlen (text) + REFERENCE, .id = -1
  };

  if (known > 0)
    {
      g_free (part.text);
      return known - 1;
    }
  g_array_append_val (c->parts, part);
  g_hash_table_insert (c->known, g_steal_pointer (&key), GUINT_TO_POINTER (c->parts->len));
  return c->parts->len - 1;
}

static void
place_part (Compact *c, guint part, Point at)
{
  const Placed placed = { part, { round (at.x * 100) / 100, round (at.y * 100) / 100 } };

  g_array_append_val (c->placed, placed);
}

/* The attributes of a group, which are the colour of its glyphs: a style, or since Cairo 1.18 the properties
 * themselves. NULL: there are none, or others. */
static const char *
style_of (Compact *c, const Element *e)
{
  static const char *const properties[] = { "style", "fill", "fill-opacity", NULL };
  g_autoptr (GString) text = g_string_new (NULL);
  const char *style;

  for (guint i = 0; i + 1 < e->attributes->len; i += 2)
    {
      g_autofree char *value = g_markup_escape_text (e->attributes->pdata[i + 1], -1);

      if (!g_strv_contains (properties, e->attributes->pdata[i]) || strstr (value, "url(#") != NULL)
        return NULL;
      g_string_append_printf (text, " %s=\"%s\"", (char *)e->attributes->pdata[i], value);
    }
  if (text->len == 0)
    return NULL;
  if (!g_hash_table_contains (c->styles, text->str))
    g_hash_table_add (c->styles, g_strdup (text->str));
  g_hash_table_lookup_extended (c->styles, text->str, (gpointer *)&style, NULL);
  return style;
}

/* A group of nothing but glyphs: each is a part. */
static gboolean
place_glyphs (Compact *c, const Element *e)
{
  const char *style;

  if (!g_str_equal (e->name, "g") || e->children->len == 0)
    return FALSE;
  for (guint i = 0; i < e->children->len; i++)
    {
      const Element *use = e->children->pdata[i];

      if (!g_str_equal (use->name, "use") || get (use, "xlink:href") == NULL || use->attributes->len != 6)
        return FALSE;
    }
  style = style_of (c, e);
  if (style == NULL)
    return FALSE;
  for (guint i = 0; i < e->children->len; i++)
    {
      const Element *use = e->children->pdata[i];

      place_part (c, part_of_text (c, get (use, "xlink:href"), style),
                  (Point){ get_number (use, "x"), get_number (use, "y") });
    }
  return TRUE;
}

static void
place_element (Compact *c, const Element *e)
{
  g_autoptr (GString) s = g_string_new (NULL);
  Point at = { 0, 0 };

  if (place_glyphs (c, e))
    return;
  find_position (c, e, &at);
  at = (Point){ round (at.x * 100) / 100, round (at.y * 100) / 100 };
  put_element (c, s, e, at, FALSE);
  place_part (c, part_of_text (c, s->str, NULL), at);
}

/* ---- pairs -------------------------------------------------------------------- */

static char *
pair_key (const Placed *p)
{
  return g_strdup_printf ("%u %u %.2f %.2f", p[0].part, p[1].part, p[1].at.x - p[0].at.x, p[1].at.y - p[0].at.y);
}

static guint
bytes_of (const Compact *c, guint part)
{
  return g_array_index (c->parts, Part, part).bytes;
}

/* Joins pairs of neighbours that occur so often that their references are longer than a definition. FALSE if there are
 * none. */
static gboolean
join_pairs (Compact *c)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GArray) counts = g_array_new (FALSE, TRUE, sizeof (guint));
  g_autoptr (GArray) joined = g_array_new (FALSE, TRUE, sizeof (guint)); /* pair → its part, from 1 on */
  g_autofree guint *pair = g_new (guint, MAX (c->placed->len, 1));
  guint n = 0, before = c->placed->len;
  Placed *placed = (Placed *)c->placed->data;

  for (guint i = 0; i + 1 < c->placed->len; i++)
    {
      char *key = pair_key (placed + i);
      guint number = GPOINTER_TO_UINT (g_hash_table_lookup (numbers, key));

      if (number == 0)
        {
          number = counts->len + 1;
          g_hash_table_insert (numbers, key, GUINT_TO_POINTER (number));
          g_array_set_size (counts, number);
        }
      else
        g_free (key);
      pair[i] = number - 1;
      g_array_index (counts, guint, pair[i])++;
    }
  g_array_set_size (joined, counts->len);
  for (guint i = 0; i < before; i++)
    {
      const guint count = i + 1 < before ? g_array_index (counts, guint, pair[i]) : 0;
      const guint next = i + 2 < before ? g_array_index (counts, guint, pair[i + 1]) : 0;

      const guint bytes = i + 1 < before ? bytes_of (c, placed[i].part) + bytes_of (c, placed[i + 1].part) : 0;

      if (count * REFERENCE <= bytes || next > count || i + 1 >= before)
        {
          placed[n++] = placed[i];
          continue;
        }
      guint *part = &g_array_index (joined, guint, pair[i]);
      if (*part == 0)
        {
          const Part both = { .a = placed[i].part,
                              .b = placed[i + 1].part,
                              .second = { placed[i + 1].at.x - placed[i].at.x, placed[i + 1].at.y - placed[i].at.y },
                              .bytes = bytes,
                              .id = -1 };

          g_array_append_val (c->parts, both);
          *part = c->parts->len;
        }
      placed[n++] = (Placed){ *part - 1, placed[i].at };
      i++;
    }
  g_array_set_size (c->placed, n);
  return n < before;
}

/* ---- writing ------------------------------------------------------------------ */

static void
put_use (GString *s, const char *reference, Point at)
{
  g_string_append_printf (s, "<use xlink:href=\"%s\" x=\"", reference);
  put_number (s, at.x);
  g_string_append (s, "\" y=\"");
  put_number (s, at.y);
  g_string_append (s, "\"/>");
}

static void
close_style (GString *s, const char **style)
{
  if (*style != NULL)
    g_string_append (s, "</g>\n");
  *style = NULL;
}

/* Appends a part's shapes and glyphs. *style: that of the open group of glyphs. */
static void
put_part (const Compact *c, GString *s, guint index, Point at, const char **style)
{
  const Part *part = &g_array_index (c->parts, Part, index);

  if (part->text == NULL)
    {
      put_part (c, s, part->a, at, style);
      put_part (c, s, part->b, (Point){ at.x + part->second.x, at.y + part->second.y }, style);
      return;
    }
  if (*style != part->style)
    {
      close_style (s, style);
      if (part->style != NULL)
        g_string_append_printf (s, "<g%s>", part->style);
      *style = part->style;
    }
  if (part->style != NULL)
    put_use (s, part->text, at);
  else if (at.x == 0 && at.y == 0)
    g_string_append_printf (s, "%s\n", part->text);
  else
    {
      g_string_append (s, "<g transform=\"translate(");
      put_number (s, at.x);
      g_string_append_c (s, ',');
      put_number (s, at.y);
      g_string_append_printf (s, ")\">%s</g>\n", part->text);
    }
}

/* Counts how often each part is drawn. One that is drawn too seldom for a definition is drawn as its two parts, which
 * are older. */
static void
count_uses (Compact *c)
{
  for (guint i = 0; i < c->placed->len; i++)
    g_array_index (c->parts, Part, g_array_index (c->placed, Placed, i).part).uses++;
  for (guint i = c->parts->len; i-- > 0;)
    {
      Part *part = &g_array_index (c->parts, Part, i);

      /* A glyph is as short as a reference to it. */
      part->is_shared
          = part->uses > 1 && part->style == NULL && (part->text != NULL || part->uses * REFERENCE > part->bytes);
      if (part->is_shared || part->text != NULL)
        continue;
      g_array_index (c->parts, Part, part->a).uses += part->uses;
      g_array_index (c->parts, Part, part->b).uses += part->uses;
    }
}

typedef struct
{
  Compact *c;
  GString *defs, *body;
  const char *style; /* of the open group of glyphs in body */
  int ids;
} Drawing;

static void
draw_part (Drawing *d, guint index, Point at)
{
  Part *part = &g_array_index (d->c->parts, Part, index);

  if (!part->is_shared && part->text == NULL)
    {
      draw_part (d, part->a, at);
      draw_part (d, part->b, (Point){ at.x + part->second.x, at.y + part->second.y });
      return;
    }
  if (!part->is_shared)
    {
      put_part (d->c, d->body, index, at, &d->style);
      return;
    }
  if (part->id < 0)
    {
      const char *inner = NULL;

      part->id = d->ids++;
      g_string_append_printf (d->defs, "<g id=\"p%d\">", part->id);
      put_part (d->c, d->defs, index, (Point){ 0, 0 }, &inner);
      close_style (d->defs, &inner);
      g_string_append (d->defs, "</g>\n");
    }
  close_style (d->body, &d->style);
  g_autofree char *reference = g_strdup_printf ("#p%d", part->id);
  put_use (d->body, reference, at);
  g_string_append_c (d->body, '\n');
}

static void
put_drawing (Compact *c, GString *defs, GString *body)
{
  Drawing d = { c, defs, body, NULL, 0 };

  count_uses (c);
  for (guint i = 0; i < c->placed->len; i++)
    draw_part (&d, g_array_index (c->placed, Placed, i).part, g_array_index (c->placed, Placed, i).at);
  close_style (body, &d.style);
}

/* A definition as it is. Clip paths are written with the parts that have them. */
static void
put_definition (GString *s, const Element *e)
{
  if (g_str_equal (e->name, "clipPath"))
    return;
  g_string_append_printf (s, "<%s", e->name);
  for (guint i = 0; i + 1 < e->attributes->len; i += 2)
    {
      g_autofree char *value = g_markup_escape_text (e->attributes->pdata[i + 1], -1);

      g_string_append_printf (s, " %s=\"%s\"", (char *)e->attributes->pdata[i], value);
    }
  g_string_append (s, ">");
  for (guint i = 0; i < e->children->len; i++)
    put_definition (s, e->children->pdata[i]);
  g_string_append_printf (s, "</%s>\n", e->name);
}

static void
index_ids (GHashTable *by_id, const Element *e)
{
  const char *id = get (e, "id");

  if (id != NULL)
    g_hash_table_insert (by_id, (gpointer)id, (gpointer)e);
  for (guint i = 0; i < e->children->len; i++)
    index_ids (by_id, e->children->pdata[i]);
}

/* The text, or NULL if the drawing has what is not moved so simply. */
static char *
write_compact (Compact *c, const Element *root)
{
  g_autoptr (GString) s = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg"),
                      defs = g_string_new ("<defs>\n"), body = g_string_new (NULL);

  for (guint i = 0; i + 1 < root->attributes->len; i += 2)
    g_string_append_printf (s, " %s=\"%s\"", (char *)root->attributes->pdata[i],
                            (char *)root->attributes->pdata[i + 1]);
  g_string_append (s, ">\n");
  for (guint i = 0; i < root->children->len; i++)
    {
      const Element *e = root->children->pdata[i];
      /* Cairo until 1.16 encloses the drawing in a group. */
      const gboolean encloses
          = g_str_equal (e->name, "g") && e->attributes->len == 2 && g_str_equal (e->attributes->pdata[0], "id");

      if (g_str_equal (e->name, "defs"))
        for (guint k = 0; k < e->children->len; k++)
          put_definition (defs, e->children->pdata[k]);
      else
        for (guint k = 0; k < (encloses ? e->children->len : 1); k++)
          place_element (c, encloses ? e->children->pdata[k] : e);
    }
  for (guint pass = 0; pass < PASSES && !c->failed && join_pairs (c); pass++)
    ;
  if (c->failed)
    return NULL;
  put_drawing (c, defs, body);
  g_string_append_printf (s, "%s%s</defs>\n%s</svg>\n", defs->str, c->clip_text->str, body->str);
  return g_string_free (g_steal_pointer (&s), FALSE);
}

GBytes *
studio_svg_compact (GBytes *svg)
{
  Element *document = read_tree (svg);
  Compact c = { 0 };
  char *text;

  if (document == NULL)
    return g_bytes_ref (svg);
  c.by_id = g_hash_table_new (g_str_hash, g_str_equal);
  c.clips = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  c.clip_text = g_string_new (NULL);
  c.known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  c.styles = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  c.parts = g_array_new (FALSE, FALSE, sizeof (Part));
  c.placed = g_array_new (FALSE, FALSE, sizeof (Placed));
  index_ids (c.by_id, document->children->pdata[0]);
  text = write_compact (&c, document->children->pdata[0]);
  for (guint i = 0; i < c.parts->len; i++)
    g_free (g_array_index (c.parts, Part, i).text);
  g_array_unref (c.parts);
  g_array_unref (c.placed);
  g_hash_table_unref (c.styles);
  g_hash_table_unref (c.known);
  g_string_free (c.clip_text, TRUE);
  g_hash_table_unref (c.clips);
  g_hash_table_unref (c.by_id);
  element_free (document);
  return text != NULL ? g_bytes_new_take (text, strlen (text)) : g_bytes_ref (svg);
}
