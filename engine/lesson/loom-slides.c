/* Reads the slides of a graph file; see the header. */
#include "engine/lesson/lesson-private.h"
#include "engine/lesson/loom-slides.h"

#include <math.h>

static const char *const part_names[] = { "x", "y", "width", "height" };

void
loom_slide_free (LoomSlide *slide)
{
  if (slide == NULL)
    return;
  g_free (slide->title);
  g_free (slide->text);
  g_free (slide->scope);
  g_strfreev (slide->spotlight);
  g_strfreev (slide->pins);
  g_free (slide);
}

static gboolean
read_number (const char *text, double *number)
{
  char *end;

  *number = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*number);
}

/* All four numbers or none of them; the reader has refused other texts. */
static void
read_part (LoomSlide *slide, const LoomElement *element, LoomFaults *faults)
{
  double *const value[] = { &slide->x, &slide->y, &slide->width, &slide->height };
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (part_names); i++)
    {
      const char *text = loom_element_get (element, part_names[i]);

      if (text == NULL)
        continue;
      if (read_number (text, value[i]) && (i < 2 || *value[i] > 0))
        n++;
      else if (faults != NULL)
        loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, part_names[i],
                         "The slide “%s” has %s=\"%s\", but it must be above 0.", slide->title, part_names[i], text);
    }
  slide->whole = n < G_N_ELEMENTS (part_names);
  if (n == 0 || !slide->whole || faults == NULL)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (part_names); i++)
    if (loom_element_get (element, part_names[i]) == NULL)
      loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, part_names[i],
                       "The slide “%s” needs %s to show a part of the canvas.", slide->title, part_names[i]);
}

static void
warn (LoomFaults *faults, const LoomElement *element, const char *attribute, const char *title, const char *name)
{
  LoomFault *fault = loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, attribute,
                                      "The slide “%s” names “%s”, but there is no such node.", title, name);

  fault->is_warning = TRUE;
}

/* A graph may change after its slides are written: names that no longer exist are ignored. */
static void
check_names (const LoomSlide *slide, const LoomGraph *graph, const LoomElement *element, LoomFaults *faults)
{
  LoomElement *scope;

  loom_graph_find_path (graph, slide->scope, &scope);
  if (scope == NULL)
    warn (faults, element, "scope", slide->title, slide->scope);
  for (guint i = 0; scope != NULL && slide->spotlight != NULL && slide->spotlight[i] != NULL; i++)
    if (loom_scope_find_node (scope, slide->spotlight[i]) == NULL)
      warn (faults, element, "spotlight", slide->title, slide->spotlight[i]);
}

static LoomSlide *
slide_new (const LoomElement *element)
{
  const char *title = loom_element_get (element, "title"), *scope = loom_element_get (element, "scope");
  const char *pins = loom_element_get (element, "pins");
  LoomSlide *slide = g_new0 (LoomSlide, 1);

  slide->serial = loom_element_serial (element);
  slide->title = g_strdup (title != NULL ? title : "");
  slide->text = lesson_markdown (loom_element_text (element));
  slide->scope = g_strdup (scope != NULL ? scope : "");
  slide->spotlight = lesson_words (loom_element_get (element, "spotlight"));
  slide->pins = lesson_words (pins);
  if (pins != NULL && slide->pins == NULL)
    slide->pins = g_new0 (char *, 1);
  return slide;
}

static void
refuse_in_modules (const LoomElement *root, LoomFaults *faults)
{
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *module = loom_element_child (root, i);
      const LoomElement *view
          = loom_element_tag (module) == LOOM_TAG_MODULE ? loom_element_find (module, LOOM_TAG_VIEW) : NULL;
      const LoomElement *slide = view != NULL ? loom_element_find (view, LOOM_TAG_SLIDE) : NULL;

      if (slide != NULL)
        loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (slide), NULL, NULL,
                         "Slides belong in the view of the graph, not in that of the module “%s”: name its instance "
                         "with scope=\"…\".",
                         loom_element_get (module, "name"));
    }
}

GPtrArray *
loom_slides_new (const LoomGraph *graph, LoomFaults *faults)
{
  GPtrArray *slides = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_slide_free);
  const LoomElement *view = loom_element_find (loom_graph_root (graph), LOOM_TAG_VIEW);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const LoomElement *element = loom_element_child (view, i);

      if (loom_element_tag (element) != LOOM_TAG_SLIDE)
        continue;
      LoomSlide *slide = slide_new (element);
      read_part (slide, element, faults);
      if (faults != NULL)
        check_names (slide, graph, element, faults);
      g_ptr_array_add (slides, slide);
    }
  if (faults != NULL)
    refuse_in_modules (loom_graph_root (graph), faults);
  return slides;
}

gboolean
loom_slide_equal (const LoomSlide *a, const LoomSlide *b)
{
  return a->serial == b->serial && g_str_equal (a->title, b->title) && g_str_equal (a->text, b->text)
         && g_str_equal (a->scope, b->scope) && a->whole == b->whole
         && (a->whole || (a->x == b->x && a->y == b->y && a->width == b->width && a->height == b->height))
         && lesson_same_words (a->spotlight, b->spotlight) && lesson_same_words (a->pins, b->pins);
}

LoomElement *
loom_slide_to_element (const LoomSlide *slide)
{
  LoomElement *element = loom_element_new (LOOM_TAG_SLIDE, NULL);
  const double value[] = { slide->x, slide->y, slide->width, slide->height };

  if (slide->title[0] != '\0')
    loom_element_set_detached (element, "title", slide->title);
  if (slide->scope[0] != '\0')
    loom_element_set_detached (element, "scope", slide->scope);
  for (guint i = 0; i < G_N_ELEMENTS (value) && !slide->whole; i++)
    {
      char text[G_ASCII_DTOSTR_BUF_SIZE];

      /* Whole units: a canvas shows no fractions, and files stay readable. */
      loom_element_set_detached (
          element, part_names[i],
          g_ascii_formatd (text, sizeof text, "%.0f", i < 2 ? round (value[i]) : MAX (1, value[i])));
    }
  if (slide->spotlight != NULL)
    {
      g_autofree char *ids = g_strjoinv (" ", slide->spotlight);
      loom_element_set_detached (element, "spotlight", ids);
    }
  if (slide->pins != NULL)
    {
      g_autofree char *tensors = g_strjoinv (" ", slide->pins);
      loom_element_set_detached (element, "pins", tensors);
    }
  return element;
}
