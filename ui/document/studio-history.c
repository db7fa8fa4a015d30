/* The list model over a document's history. */
#include "ui/document/studio-history.h"

struct _StudioHistoryItem
{
  GObject parent_instance;
  guint position;
};

G_DEFINE_FINAL_TYPE (StudioHistoryItem, studio_history_item, G_TYPE_OBJECT)

static void
studio_history_item_class_init (StudioHistoryItemClass *klass)
{
}

static void
studio_history_item_init (StudioHistoryItem *self)
{
}

guint
studio_history_item_get_position (StudioHistoryItem *self)
{
  return self->position;
}

/* ---- the list ----------------------------------------------------------- */

struct _StudioHistory
{
  GObject parent_instance;
  StudioDocument *document;
  guint position; /* position in the last notification */
};

static guint marks_changed_signal;

static GType
get_item_type (GListModel *model)
{
  return STUDIO_TYPE_HISTORY_ITEM;
}

static guint
get_n_items (GListModel *model)
{
  return studio_document_n_history (STUDIO_HISTORY (model)->document);
}

static gpointer
get_item (GListModel *model, guint position)
{
  StudioHistoryItem *item;

  if (position >= get_n_items (model))
    return NULL;
  item = g_object_new (STUDIO_TYPE_HISTORY_ITEM, NULL);
  item->position = position;
  return item;
}

static void
list_model_init (GListModelInterface *iface)
{
  iface->get_item_type = get_item_type;
  iface->get_n_items = get_n_items;
  iface->get_item = get_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (StudioHistory, studio_history, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_model_init))

static void
history_changed_cb (StudioDocument *document, guint position, guint removed, guint added, StudioHistory *self)
{
  g_list_model_items_changed (G_LIST_MODEL (self), position, removed, added);
}

static void
changed_cb (StudioHistory *self)
{
  guint position = studio_document_history_position (self->document);

  if (position == self->position)
    return;
  self->position = position;
  g_signal_emit (self, marks_changed_signal, 0);
}

static void
file_changed_cb (StudioHistory *self)
{
  g_signal_emit (self, marks_changed_signal, 0);
}

static void
studio_history_dispose (GObject *object)
{
  StudioHistory *self = STUDIO_HISTORY (object);

  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_history_parent_class)->dispose (object);
}

static void
studio_history_class_init (StudioHistoryClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_history_dispose;
  marks_changed_signal = g_signal_new ("marks-changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                       NULL, G_TYPE_NONE, 0);
}

static void
studio_history_init (StudioHistory *self)
{
}

StudioHistory *
studio_history_new (StudioDocument *document)
{
  StudioHistory *self = g_object_new (STUDIO_TYPE_HISTORY, NULL);

  self->document = g_object_ref (document);
  self->position = studio_document_history_position (document);
  g_signal_connect_object (document, "history-changed", G_CALLBACK (history_changed_cb), self, 0);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "file-changed", G_CALLBACK (file_changed_cb), self, G_CONNECT_SWAPPED);
  return self;
}
