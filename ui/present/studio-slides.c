/* The slides of a document; see the header. */
#include "ui/present/studio-slides.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"

struct _StudioSlides
{
  GObject parent_instance;
  StudioDocument *document;
  GPtrArray *slides; /* LoomSlide */
  guint64 current;   /* serial; 0: none */
  guint visit;       /* number of the current visit to a field, whose changes are one undo step */
};

STUDIO_DEFINE_TYPE (StudioSlides, studio_slides, G_TYPE_OBJECT)

enum
{
  CHANGED,
  CURRENT_CHANGED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- queries ------------------------------------------------------------------------ */

guint
studio_slides_n (StudioSlides *self)
{
  return self->slides->len;
}

const LoomSlide *
studio_slides_get (StudioSlides *self, guint i)
{
  return self->slides->pdata[i];
}

char *
studio_slides_dup_title (StudioSlides *self, guint i)
{
  const char *title = studio_slides_get (self, i)->title;

  return title[0] != '\0' ? g_strdup (title) : g_strdup_printf (_ ("View %u"), i + 1);
}

int
studio_slides_get_current (StudioSlides *self)
{
  for (guint i = 0; self->current != 0 && i < self->slides->len; i++)
    if (studio_slides_get (self, i)->serial == self->current)
      return (int)i;
  return -1;
}

const LoomSlide *
studio_slides_get_current_slide (StudioSlides *self)
{
  int i = studio_slides_get_current (self);

  return i >= 0 ? studio_slides_get (self, (guint)i) : NULL;
}

void
studio_slides_set_current (StudioSlides *self, int i)
{
  guint64 serial = i >= 0 && (guint)i < self->slides->len ? studio_slides_get (self, (guint)i)->serial : 0;

  if (serial == self->current)
    return;
  self->current = serial;
  g_signal_emit (self, signals[CURRENT_CHANGED], 0);
}

static gboolean
are_equal (GPtrArray *a, GPtrArray *b)
{
  if (a->len != b->len)
    return FALSE;
  for (guint i = 0; i < a->len; i++)
    if (!loom_slide_equal (a->pdata[i], b->pdata[i]))
      return FALSE;
  return TRUE;
}

static void
sync_slides (StudioSlides *self)
{
  g_autoptr (GPtrArray) now = loom_slides_new (studio_document_get_graph (self->document), NULL);

  if (are_equal (now, self->slides))
    return;
  g_ptr_array_unref (self->slides);
  self->slides = g_steal_pointer (&now);
  if (studio_slides_get_current (self) < 0)
    self->current = 0;
  g_signal_emit (self, signals[CHANGED], 0);
  g_signal_emit (self, signals[CURRENT_CHANGED], 0);
}

/* ---- changes -------------------------------------------------------------------------- */

static LoomElement *
element_of (StudioSlides *self, guint i)
{
  return i < self->slides->len
             ? loom_graph_by_serial (studio_document_get_graph (self->document), studio_slides_get (self, i)->serial)
             : NULL;
}

static void
select_element (StudioSlides *self, LoomElement *element)
{
  self->current = loom_element_serial (element);
  sync_slides (self);
  g_signal_emit (self, signals[CURRENT_CHANGED], 0);
}

void
studio_slides_add (StudioSlides *self, const LoomSlide *slide)
{
  const int current = studio_slides_get_current (self);
  const guint before = current >= 0 ? (guint)current : self->slides->len - 1;
  LoomElement *element = loom_slide_to_element (slide), *previous = element_of (self, before);

  studio_document_begin (self->document, _ ("Add a view"));
  LoomElement *view = studio_document_ensure (self->document, LOOM_TAG_VIEW);
  const guint at = previous != NULL ? loom_element_index (previous) + 1 : loom_element_n_children (view);
  studio_document_edit (self->document, loom_edit_insert (view, at, element));
  if (slide->text != NULL && slide->text[0] != '\0')
    studio_document_edit (self->document, loom_edit_set_text (element, slide->text));
  studio_document_end (self->document);
  select_element (self, element);
}

void
studio_slides_remove (StudioSlides *self, guint i)
{
  LoomElement *element = element_of (self, i);
  const gboolean shown = studio_slides_get_current (self) == (int)i;

  if (element == NULL)
    return;
  studio_document_begin (self->document, _ ("Delete a view"));
  studio_document_edit (self->document, loom_edit_remove (element));
  studio_document_end (self->document);
  if (shown)
    studio_slides_set_current (self, MIN ((int)i, (int)self->slides->len - 1));
}

void
studio_slides_move (StudioSlides *self, guint i, guint to)
{
  LoomElement *element = element_of (self, i), *other = element_of (self, to);

  if (element == NULL || other == NULL || i == to)
    return;
  LoomElement *view = loom_element_parent (element), *copy = loom_element_copy (element);
  /* When a slide is removed, the next one gets its index, or the one before if it was the last. */
  const guint at = loom_element_index (other);
  studio_document_begin (self->document, _ ("Move a view"));
  studio_document_edit (self->document, loom_edit_remove (element));
  studio_document_edit (self->document, loom_edit_insert (view, at, copy));
  studio_document_end (self->document);
  select_element (self, copy);
}

void
studio_slides_begin_visit (StudioSlides *self)
{
  self->visit++;
}

static void
begin_typing (StudioSlides *self, const LoomElement *element, const char *what, const char *step)
{
  g_autofree char *key
      = g_strdup_printf ("slide %s %" G_GUINT64_FORMAT " %u", what, loom_element_serial (element), self->visit);

  studio_document_begin (self->document, step);
  studio_document_merge_visit (self->document, key);
}

void
studio_slides_set (StudioSlides *self, guint i, const char *attribute, const char *value)
{
  LoomElement *element = element_of (self, i);
  const gboolean is_list = g_str_equal (attribute, "pins");
  const char *wanted = value != NULL && (value[0] != '\0' || is_list) ? value : NULL;

  if (element == NULL || g_strcmp0 (loom_element_get (element, attribute), wanted) == 0)
    return;
  begin_typing (self, element, attribute, _ ("Change a view"));
  studio_document_edit (self->document, loom_edit_set (element, attribute, wanted));
  studio_document_end (self->document);
}

void
studio_slides_set_text (StudioSlides *self, guint i, const char *text)
{
  LoomElement *element = element_of (self, i);

  if (element == NULL || g_str_equal (studio_slides_get (self, i)->text, text))
    return;
  begin_typing (self, element, "text", _ ("Write a note"));
  studio_document_edit (self->document, loom_edit_set_text (element, text[0] != '\0' ? text : NULL));
  studio_document_end (self->document);
}

void
studio_slides_set_part (StudioSlides *self, guint i, const LoomSlide *part)
{
  static const char *const names[] = { "scope", "x", "y", "width", "height" };
  LoomElement *element = element_of (self, i);
  g_autoptr (LoomElement) wanted = loom_slide_to_element (part);

  if (element == NULL)
    return;
  studio_document_begin (self->document, _ ("Update a view"));
  for (guint n = 0; n < G_N_ELEMENTS (names); n++)
    if (g_strcmp0 (loom_element_get (element, names[n]), loom_element_get (wanted, names[n])) != 0)
      studio_document_edit (self->document, loom_edit_set (element, names[n], loom_element_get (wanted, names[n])));
  studio_document_end (self->document);
}

/* ---- object ------------------------------------------------------------------------------ */

static void
slides_dispose (GObject *object)
{
  StudioSlides *self = STUDIO_SLIDES (object);

  g_clear_object (&self->document);
  g_clear_pointer (&self->slides, g_ptr_array_unref);
  G_OBJECT_CLASS (studio_slides_parent_class)->dispose (object);
}

static void
studio_slides_class_init (StudioSlidesClass *klass)
{
  static const char *const names[] = { [CHANGED] = "changed", [CURRENT_CHANGED] = "current-changed" };

  G_OBJECT_CLASS (klass)->dispose = slides_dispose;
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (names[i], STUDIO_TYPE_SLIDES, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioSlides *
studio_slides_new (StudioDocument *document)
{
  StudioSlides *self = g_object_new (STUDIO_TYPE_SLIDES, NULL);

  self->document = g_object_ref (document);
  self->slides = loom_slides_new (studio_document_get_graph (document), NULL);
  g_signal_connect_object (document, "changed", G_CALLBACK (sync_slides), self, G_CONNECT_SWAPPED);
  return self;
}
