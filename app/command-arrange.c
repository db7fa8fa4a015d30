/* `gradloom arrange`: lays out the cards of a graph and of its modules, as Studio's Arrange does.
 *
 * Only <layout> is rewritten; all other bytes of the file stay, also if another program wrote it. The new elements are
 * cut from the text of the graph's writer and replace the old ones. */
#include "app/commands.h"

#include "ui/layout/studio-layout.h"

#include <stdio.h>
#include <string.h>


typedef struct
{
  double width, height;
  StudioLayoutDirection direction;
} Order;

/* ---- layouts in a text ------------------------------------------------------ */

/* The byte range of the <layout> of one scope, or the position to insert it. Both texts have the scopes in the same
 * order. */
typedef struct
{
  gsize start, end; /* equal: there is none */
} Range;

/* The position after the tag, comment or section that begins at `at`. */
static gsize
skip_markup (const char *text, gsize length, gsize at)
{
  static const struct
  {
    const char *begin, *end;
  } kinds[] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" }, { "<", ">" } };
  char quote = 0;

  for (guint i = 0; i < G_N_ELEMENTS (kinds) - 1; i++)
    if (strncmp (text + at, kinds[i].begin, strlen (kinds[i].begin)) == 0)
      {
        const char *end = g_strstr_len (text + at, length - at, kinds[i].end);

        return end != NULL ? (gsize)(end - text) + strlen (kinds[i].end) : length;
      }
  /* An attribute's value may contain > unescaped. */
  for (; at < length; at++)
    if (quote != 0)
      quote = text[at] == quote ? 0 : quote;
    else if (text[at] == '"' || text[at] == '\'')
      quote = text[at];
    else if (text[at] == '>')
      return at + 1;
  return length;
}

static gboolean
is_tag (const char *text, gsize at, const char *name)
{
  gsize n = strlen (name);

  return strncmp (text + at, name, n) == 0 && !g_ascii_isalnum (text[at + n]) && strchr ("_-:.", text[at + n]) == NULL;
}

/* TRUE if the tag from `at` to `end` declares another namespace than that of graphs. */
static gboolean
is_foreign (const char *text, gsize at, gsize end)
{
  static const char name[] = "xmlns";
  char quote = 0;

  for (; at < end; at++)
    if (quote != 0)
      quote = text[at] == quote ? 0 : quote;
    else if (text[at] == '"' || text[at] == '\'')
      quote = text[at];
    else if (g_ascii_isspace (text[at]) && strncmp (text + at + 1, name, strlen (name)) == 0)
      {
        gsize value = at + 1 + strlen (name);

        value += strspn (text + value, " \t\r\n");
        if (text[value] != '=')
          continue;
        value += 1 + strspn (text + value + 1, " \t\r\n");
        return strncmp (text + value + 1, LOOM_GRAPH_NAMESPACE, strlen (LOOM_GRAPH_NAMESPACE)) != 0
               || text[value + 1 + strlen (LOOM_GRAPH_NAMESPACE)] != text[value];
      }
  return FALSE;
}

/* The beginning of the line of the tag at `at`, if only blanks are before it. */
static gsize
line_start (const char *text, gsize at)
{
  gsize start = at;

  while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'))
    start--;
  return start > 0 && text[start - 1] == '\n' ? start : at;
}

/* Returns one range per scope: each module, then the root. The depth distinguishes a scope's own layout from a nested
 * one. */
static GArray *
find_ranges (const char *text, gsize length)
{
  GArray *ranges = g_array_new (FALSE, TRUE, sizeof (Range)), *open = g_array_new (FALSE, TRUE, sizeof (Range));
  guint depth = 0, layout_depth = 0,
        foreign_depth = 0; /* foreign_depth: within an element of another namespace, its own, plus 1 */

  g_array_set_size (open, 3);
  for (gsize at = 0; at < length;)
    {
      const char *next = memchr (text + at, '<', length - at);
      gsize end, begin;

      if (next == NULL)
        break;
      begin = next - text;
      end = skip_markup (text, length, begin);
      at = end;
      if (text[begin + 1] == '!' || text[begin + 1] == '?')
        continue;
      if (foreign_depth == 0 && text[begin + 1] != '/' && is_foreign (text, begin + 1, end))
        foreign_depth = depth + 1;
      if (foreign_depth > 0)
        {
          if (text[begin + 1] == '/')
            depth -= depth > 0;
          else
            depth += text[end - 2] != '/';
          if (depth < foreign_depth)
            foreign_depth = 0;
          continue;
        }
      if (text[begin + 1] != '/')
        {
          gboolean is_scope
              = (depth == 0 && is_tag (text, begin + 1, "graph")) || (depth == 1 && is_tag (text, begin + 1, "module"));
          Range *scope = &g_array_index (open, Range, MIN (depth, 2u));

          if (is_scope)
            *scope = (Range){ 0, 0 };
          else if (depth > 0 && depth <= 2 && layout_depth == 0)
            {
              Range *own = &g_array_index (open, Range, depth - 1);

              if (is_tag (text, begin + 1, "layout"))
                {
                  *own = (Range){ begin, end };
                  layout_depth = text[end - 2] == '/' ? 0 : depth;
                }
              else if (is_tag (text, begin + 1, "view") && own->end == 0)
                own->start = own->end = line_start (text, begin);
            }
          depth += text[end - 2] != '/';
          continue;
        }
      depth -= depth > 0;
      if (layout_depth > 0 && depth == layout_depth)
        {
          g_array_index (open, Range, depth - 1).end = end;
          layout_depth = 0;
        }
      if ((depth == 1 && is_tag (text, begin + 2, "module")) || (depth == 0 && is_tag (text, begin + 2, "graph")))
        {
          Range *own = &g_array_index (open, Range, depth);

          if (own->end == 0)
            own->start = own->end = line_start (text, begin);
          g_array_append_val (ranges, *own);
        }
    }
  g_array_unref (open);
  return ranges;
}

/* Returns old with the layouts of fresh, or NULL if they have different scopes. */
static char *
splice_text (const char *old, gsize old_length, const char *fresh, gsize fresh_length, gsize *length)
{
  g_autoptr (GArray) from = find_ranges (fresh, fresh_length), to = find_ranges (old, old_length);
  GString *s;
  gsize done = 0;

  if (from->len != to->len)
    return NULL;
  s = g_string_sized_new (old_length + 4096);
  for (guint i = 0; i < to->len; i++)
    {
      Range there = g_array_index (to, Range, i), here = g_array_index (from, Range, i);

      g_string_append_len (s, old + done, there.start - done);
      done = there.end;
      if (here.start == here.end)
        continue;
      if (there.start == there.end)
        g_string_append_len (s, fresh + line_start (fresh, here.start), here.start - line_start (fresh, here.start));
      g_string_append_len (s, fresh + here.start, here.end - here.start);
      if (there.start == there.end)
        g_string_append_c (s, '\n');
    }
  g_string_append_len (s, old + done, old_length - done);
  *length = s->len;
  return g_string_free (s, FALSE);
}

/* ---- laying out -------------------------------------------------------------- */

/* Returns a hash table from the name of each module to the path of one instance, with whose shapes its wires are
 * labelled. Each module is visited once. */
static void
find_instances (const LoomGraph *graph, const LoomElement *scope, const char *path, GHashTable *instances)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i), *inner;
      guint n = loom_node_n_modules (e);

      for (guint k = 0; k < n && loom_element_get (e, "id") != NULL; k++)
        {
          const char *name = loom_node_nth_module (e, k);
          g_autofree char *node = loom_node_path (path, e), *number = g_strdup_printf ("%s.%u", node, k);
          char *here;

          if (g_hash_table_contains (instances, name))
            continue;
          here = loom_node_numbers_modules (e) ? g_steal_pointer (&number) : g_steal_pointer (&node);
          g_hash_table_insert (instances, (gpointer)name, here);
          inner = loom_graph_find_module (graph, name);
          if (inner != NULL)
            find_instances (graph, inner, here, instances);
        }
    }
}

static void
arrange_scope (LoomGraph *graph, const LoomElement *scope, const char *path, const LoomNet *net, const Order *order)
{
  g_autoptr (StudioScene) scene = studio_scene_new (graph, scope, path, net, NULL, NULL, NULL);
  g_autoptr (StudioLayout) layout = NULL;
  g_autoptr (GPtrArray) edits = NULL;

  studio_layout_fill (scene);
  layout = studio_layout_new (scene, NULL, order->width, order->height, order->direction);
  edits = studio_layout_edits (graph, scope, scene, layout);
  for (guint i = 0; i < edits->len; i++)
    loom_edit_free (loom_graph_apply (graph, g_steal_pointer (&edits->pdata[i])));
}

static void
arrange_graph (LoomGraph *graph, const Order *order)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  g_autoptr (GHashTable) instances = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  const LoomElement *root = loom_graph_root (graph);

  find_instances (graph, root, "", instances);
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);
      const char *name, *path;

      if (loom_element_tag (e) != LOOM_TAG_MODULE)
        continue;
      name = loom_element_get (e, "name");
      path = g_hash_table_lookup (instances, name);
      arrange_scope (graph, e, path != NULL ? path : name, net, order);
    }
  arrange_scope (graph, root, "", net, order);
}

/* ---- the command ------------------------------------------------------------- */

static gboolean
arrange_file (const char *path, const char *output, const Order *order, GError **error)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autofree char *old = NULL, *fresh = NULL, *text = NULL;
  gsize old_length, fresh_length, length;

  if (!loom_path_is_file (path))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE, "“%s” is not a regular file. Name the graph's file.", path);
      return FALSE;
    }
  graph = command_read_graph (path, error);
  if (graph == NULL || !loom_path_read (path, &old, &old_length, error))
    return FALSE;
  arrange_graph (graph, order);
  fresh = loom_graph_write (graph, &fresh_length);
  text = splice_text (old, old_length, fresh, fresh_length, &length);
  if (text == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE,
                   "“%s” is written in a form in which its layout alone cannot be changed. Open it in Studio and save "
                   "it.",
                   path);
      return FALSE;
    }
  if (g_strcmp0 (output, "-") == 0)
    {
      fwrite (text, 1, length, stdout);
      return TRUE;
    }
  if (output == NULL && length == old_length && memcmp (text, old, length) == 0)
    return TRUE;
  return loom_file_replace (output != NULL ? output : path, text, length, error);
}

static gboolean
read_size (const char *text, Order *size)
{
  char *end;

  size->width = g_ascii_strtod (text, &end);
  if (end == text || *end != 'x')
    return FALSE;
  text = end + 1;
  size->height = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && size->width >= 200 && size->width <= 100000 && size->height >= 200
         && size->height <= 100000;
}

static int
run (const Command *command, int argc, char **argv)
{
  Order order = { STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_AUTOMATIC };
  g_autofree char *output = NULL, *text = NULL, *direction = NULL;
  const GOptionEntry entries[] = {
    { "size", 0, 0, G_OPTION_ARG_STRING, &text, "Size of the canvas in pixels (default: 720x640)", "WxH" },
    { "direction", 0, 0, G_OPTION_ARG_STRING, &direction,
      "right (left to right), down (top to bottom) or auto (default: by the canvas)", "WAY" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write to this file instead of the graph; - is standard output",
      "FILE" },
    { NULL },
  };

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc < 2)
    return command_usage (command, "It takes GRAPH files.");
  if (output != NULL && argc > 2)
    return command_usage (command, "-o names one file, so it takes one GRAPH.");
  if (text != NULL && !read_size (text, &order))
    return command_usage (command, "--size takes two numbers from 200 to 100000, such as 720x640, not “%s”.", text);
  if (direction != NULL && !studio_layout_parse_direction (direction, &order.direction))
    return command_usage (command, "--direction takes right, down or auto, not “%s”.", direction);
  for (int i = 1; i < argc; i++)
    {
      GError *error = NULL;

      if (!arrange_file (argv[i], output, &order, &error))
        return command_fail (command, error);
    }
  return 0;
}

const Command command_arrange = {
  .name = "arrange",
  .arguments = "GRAPH…",
  .summary = "lay out the cards of a graph and of its modules",
  .details
  = "Layers are placed from left to right, or from top to bottom, and are divided into rows or columns if a single\n"
    "one would be too small to read. <layout direction> stores the direction. Weights and targets are placed before\n"
    "their readers, frames keep their cards, and notes stay next to their card. Only <layout> is rewritten; all\n"
    "other bytes of the file do not change. A second run changes nothing.\n\n"
    "  gradloom arrange graph.xml\n"
    "  gradloom arrange graph.xml --direction down\n"
    "  gradloom arrange graph.xml --size 1600x900 -o wide.xml",
  .run = run,
};
