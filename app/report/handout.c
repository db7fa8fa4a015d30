/* Handouts: the lessons or the views of a graph as pages to print and to write on.
 *
 * A page of a lesson has its text, the cards in its spotlight, their formulas, and its tasks. The learner's copy has
 * lines to write on where the teacher's has answers and hints, so that both have the same order. */
#include "app/report/report.h"

#include "app/report/handout-markdown.h"
#include "app/report/report-language.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/drawing/studio-export.h"
#include "ui/drawing/studio-picture.h"

#define LINES_ANSWER 3
#define LINES_OPEN   6 /* for a question whose answer the file does not say */
#define LINES_VIEW   4
#define AROUND       36.0 /* units of the canvas around the cards in the spotlight */
#define MOST_WIDTH   640.0
#define MOST_HEIGHT  620.0

typedef struct
{
  const LoomGraph *graph;
  ReportPage *page;
  gboolean answers;
} Handout;

/* ---- the picture of a page -------------------------------------------------------------- */

typedef struct
{
  StudioScene *scene;
  StudioSceneSpotlight *spotlight;
  StudioPictureOptions options;
  StudioRect area;
} Part;

static void
part_free (gpointer data)
{
  Part *self = data;

  studio_scene_free (self->scene);
  studio_scene_spotlight_free (self->spotlight);
  g_free (self);
}

static void
draw_part (cairo_t *cr, PangoContext *context, double width, double height, gpointer data)
{
  const Part *self = data;

  cairo_save (cr);
  cairo_scale (cr, width / self->area.width, height / self->area.height);
  studio_picture_draw (self->scene, &self->options, &self->area, cr);
  cairo_restore (cr);
}

static gboolean
is_lit (const Part *self, guint item)
{
  return studio_scene_spotlight_opacity (self->spotlight, self->scene->path, self->scene, item) >= 1;
}

/* The module of the instance at a path, "block.0"; NULL: the graph itself. */
static const char *
module_at (const LoomGraph *graph, const char *path)
{
  g_auto (GStrv) ids = g_strsplit (path, ".", -1);
  const LoomElement *scope = loom_graph_root (graph);
  const char *module = NULL;

  for (char **id = ids; *id != NULL && scope != NULL; id++)
    {
      const LoomElement *next = NULL;

      /* The number of a copy: all copies have the same scope. */
      if (g_ascii_isdigit (**id))
        continue;
      for (guint i = 0; next == NULL && i < loom_element_n_children (scope); i++)
        {
          const LoomElement *e = loom_element_child (scope, i);
          if (loom_element_tag (e) == LOOM_TAG_NODE && g_strcmp0 (loom_element_get (e, "id"), *id) == 0)
            next = e;
        }
      module = next != NULL ? loom_element_get (next, "module") : NULL;
      scope = module != NULL ? loom_graph_find_module (graph, module) : NULL;
    }
  return scope != NULL ? module : NULL;
}

/* The cards in the spotlight and what is around them; everything without one. */
static StudioRect
area_of (const Part *self, char **spotlight)
{
  const StudioRect all = studio_picture_bounds (self->scene, &self->options);
  StudioRect r = { 0 };
  gboolean any = FALSE;

  for (guint i = 0; spotlight != NULL && i < self->scene->n_items; i++)
    if (is_lit (self, i))
      {
        const StudioRect card = studio_geometry_extent (&self->scene->item[i]);

        r = any ? studio_rect_union (r, card) : card;
        any = TRUE;
      }
  if (!any)
    return all;
  return studio_rect_between (MAX (r.x - AROUND, all.x), MAX (r.y - AROUND, all.y),
                              MIN (r.x + r.width + AROUND, all.x + all.width),
                              MIN (r.y + r.height + AROUND, all.y + all.height));
}

/* Of a part of the canvas (NULL: what the spotlight lights); NULL if there is nothing to draw. */
static Part *
part_new (const LoomGraph *graph, const char *scope, char **spotlight, const StudioRect *area)
{
  Part *self = g_new0 (Part, 1);

  self->spotlight = studio_scene_spotlight_new ();
  self->scene = studio_picture_scene (graph, module_at (graph, scope), NULL);
  if (self->scene == NULL || self->scene->n_items == 0)
    {
      part_free (self);
      return NULL;
    }
  studio_scene_spotlight_set (self->spotlight, self->scene->path, (const char *const *)spotlight);
  studio_scene_spotlight_mark_wires (self->spotlight, self->scene->path, self->scene);
  self->options.spotlight = self->spotlight;
  self->area = area != NULL ? *area : area_of (self, spotlight);
  return self;
}

/* ---- formulas --------------------------------------------------------------------------- */

typedef struct
{
  const LoomOp *op;
  GString *cards;
} Formula;

static void
formula_free (gpointer data)
{
  g_string_free (((Formula *)data)->cards, TRUE);
  g_free (data);
}

static void
note_card (GPtrArray *formulas, const LoomOp *op, const char *title)
{
  Formula *formula = NULL;

  for (guint i = 0; i < formulas->len && formula == NULL; i++)
    if (((Formula *)formulas->pdata[i])->op == op)
      formula = formulas->pdata[i];
  if (formula == NULL)
    {
      formula = g_new0 (Formula, 1);
      *formula = (Formula){ op, g_string_new (NULL) };
      g_ptr_array_add (formulas, formula);
    }
  g_string_append_printf (formula->cards, "%s%s", formula->cards->len > 0 ? ", " : "", title);
}

/* A row for each operator of the cards that are drawn and lit. */
static void
add_formulas (Handout *self, const Part *part)
{
  g_autoptr (GPtrArray) formulas = g_ptr_array_new_with_free_func (formula_free);
  ReportBlock *table;

  for (guint i = 0; i < part->scene->n_items; i++)
    {
      const StudioItem *item = &part->scene->item[i];
      const StudioRect card = studio_geometry_card (item);

      if (item->op != NULL && item->op->formula != NULL && is_lit (part, i)
          && studio_rect_intersects (&card, &part->area))
        note_card (formulas, item->op, item->title);
    }
  if (formulas->len == 0)
    return;
  table = report_page_add_table (self->page, REPORT_TABLE, 3, 3);
  report_block_add (table, g_strdup (_ ("Cards")));
  report_block_add (table, g_strdup (_ ("Operator")));
  report_block_add (table, g_strdup (_ ("Formula")));
  for (guint i = 0; i < formulas->len; i++)
    {
      const Formula *formula = formulas->pdata[i];

      report_block_add (table, g_strdup (formula->cards->str));
      report_block_add (table, g_strdup (formula->op->title));
      report_block_add (table, g_strdup (formula->op->formula));
    }
}

/* Texts of the built-in lessons are in the catalogue; others are printed as they are. */
static const char *
translated (const char *text)
{
  return text != NULL && text[0] != '\0' ? gettext (text) : text;
}

/* A part that is drawn as it was chosen, and the formulas of its cards unless everything is shown. */
static void
add_part (Handout *self, Part *part, const char *title, gboolean is_whole)
{
  const double scale = MIN (1, MIN (MOST_WIDTH / part->area.width, MOST_HEIGHT / part->area.height));
  g_autofree char *words = g_strdup_printf (_ ("The graph in “%s”"), title);

  report_page_add_picture (self->page, words, ceil (part->area.width * scale), ceil (part->area.height * scale),
                           draw_part, part, part_free);
  if (!is_whole)
    add_formulas (self, part);
}

/* ---- lessons ---------------------------------------------------------------------------- */

static void
add_answer (Handout *self, const char *answer)
{
  const gboolean is_open = *answer == '\0';

  if (!self->answers)
    report_page_add_rules (self->page, _ ("Answer"), is_open ? LINES_OPEN : LINES_ANSWER);
  else if (is_open)
    report_page_add (self->page, REPORT_CODE, _ ("Answer: an open question, whose answer the lesson does not say."));
  else
    report_page_add_format (self->page, REPORT_CODE, _ ("Answer: %s"), answer);
}

static void
add_tasks (Handout *self, const LoomLessonPage *page)
{
  const char *answer = loom_goal_answer (page->goal);

  for (guint i = 0; i < loom_goal_n_clauses (page->goal); i++)
    report_page_add (self->page, REPORT_TASK, loom_goal_clause_text (page->goal, i));
  if (answer != NULL)
    add_answer (self, answer);
  if (self->answers && page->hint != NULL)
    {
      g_autofree char *hint = g_strdup_printf (_ ("*Hint:* %s"), translated (page->hint));

      handout_add_markdown (self->page, hint);
    }
}

static void
add_lesson_page (Handout *self, const LoomLessonPage *page, const char *number, gboolean is_first)
{
  Part *part = is_first || page->spotlight != NULL ? part_new (self->graph, "", page->spotlight, NULL) : NULL;

  report_page_add_format (self->page, REPORT_HEADING, "%s %s", number, translated (page->title));
  handout_add_markdown (self->page, translated (page->text));
  if (part != NULL)
    add_part (self, part, translated (page->title), page->spotlight == NULL);
  add_tasks (self, page);
}

static void
add_lessons (Handout *self, const GPtrArray *lessons)
{
  for (guint i = 0; i < lessons->len; i++)
    {
      const LoomLesson *lesson = lessons->pdata[i];

      if (lessons->len > 1)
        report_page_add_format (self->page, REPORT_HEADING, "%u. %s", i + 1, translated (lesson->title));
      for (guint k = 0; k < lesson->pages->len; k++)
        {
          g_autofree char *number
              = lessons->len > 1 ? g_strdup_printf ("%u.%u", i + 1, k + 1) : g_strdup_printf ("%u.", k + 1);

          add_lesson_page (self, lesson->pages->pdata[k], number, k == 0);
        }
    }
}

/* ---- views ------------------------------------------------------------------------------ */

static void
add_slides (Handout *self, const GPtrArray *slides)
{
  for (guint i = 0; i < slides->len; i++)
    {
      const LoomSlide *slide = slides->pdata[i];
      const StudioRect area = { slide->x, slide->y, slide->width, slide->height };
      Part *part = part_new (self->graph, slide->scope, slide->spotlight, slide->whole ? NULL : &area);

      report_page_add_format (self->page, REPORT_HEADING, "%u. %s", i + 1, slide->title);
      if (part != NULL)
        add_part (self, part, slide->title, slide->whole && slide->spotlight == NULL);
      handout_add_markdown (self->page, slide->text);
      if (!self->answers)
        report_page_add_rules (self->page, NULL, LINES_VIEW);
    }
}

/* ---- the file --------------------------------------------------------------------------- */

static ReportPage *
page_new (const LoomGraph *graph, const GPtrArray *lessons, gboolean of_slides, gboolean answers)
{
  const char *name = loom_element_get (loom_graph_root (graph), "name");
  const char *title
      = of_slides || lessons->len > 1 ? name : translated (((const LoomLesson *)lessons->pdata[0])->title);
  g_autofree char *subtitle = g_strconcat (
      name != NULL && title != name ? name : "",
      answers ? (title != name ? _ (" · teacher’s copy, with answers") : _ ("Teacher’s copy, with answers")) : "",
      NULL);
  ReportPage *page = report_page_new (title != NULL && *title != '\0' ? title : _ ("Handout"), subtitle);

  g_free (page->language);
  page->language = g_strdup (C_ ("language of the report", "en"));
  if (!answers)
    report_page_add_rules (page, _ ("Name and date"), 1);
  return page;
}

gboolean
handout_write (const LoomGraph *graph, const char *file, gboolean answers, gboolean slides, GError **error)
{
  report_language_init ();

  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) lessons = loom_lessons_new (graph, faults);
  g_autoptr (GPtrArray) views = loom_slides_new (graph, faults);
  const gboolean of_slides = slides || lessons->len == 0;
  g_autoptr (ReportPage) page = NULL;
  g_autoptr (GBytes) bytes = NULL;
  Handout self = { .graph = graph, .answers = answers };

  if (!loom_faults_to_error (faults, _ ("The lesson"), error))
    return FALSE;
  if (of_slides && views->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   slides ? _ ("The graph has no views (<slide>), of which a handout could be made.")
                          : _ ("The graph has no lesson and no views (<lesson>, <slide>), of which a handout could be "
                               "made."));
      return FALSE;
    }
  page = page_new (graph, lessons, of_slides, answers);
  self.page = page;
  if (of_slides)
    add_slides (&self, views);
  else
    add_lessons (&self, lessons);
  bytes
      = studio_export_has_suffix (file, ".pdf") ? report_page_to_pdf (page, error) : report_page_to_html (page, error);
  return bytes != NULL && loom_file_replace (file, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
}
