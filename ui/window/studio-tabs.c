/* Implements studio-tabs.h. */
#include "ui/window/studio-tabs.h"

#include "ui/charts/studio-type.h"
#include "ui/shell/studio-commands.h"

struct _StudioTabs
{
  GObject parent_instance;
  AdwTabView *view;
  StudioPage *page;     /* weak: the current page; NULL: none */
  AdwTabPage *menu_tab; /* weak: the tab whose context menu is open */
  StudioPage *leaving;  /* the page whose tab is being closed without a question; else NULL */
  gboolean ended;
};

STUDIO_DEFINE_TYPE (StudioTabs, studio_tabs, G_TYPE_OBJECT)

enum
{
  SELECTED,
  PAGE_CHANGED,
  SIZE_CLASS,
  COUNTED,
  EMPTIED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- pages ------------------------------------------------------------------------------------- */

static StudioPage *
page_of (AdwTabPage *tab)
{
  return tab != NULL ? STUDIO_PAGE (adw_tab_page_get_child (tab)) : NULL;
}

StudioPage *
studio_tabs_get_page (StudioTabs *self)
{
  return self->page;
}

guint
studio_tabs_n_pages (StudioTabs *self)
{
  return (guint)adw_tab_view_get_n_pages (self->view);
}

StudioPage *
studio_tabs_get_nth_page (StudioTabs *self, guint i)
{
  return page_of (adw_tab_view_get_nth_page (self->view, (int)i));
}

AdwTabPage *
studio_tabs_get_tab (StudioTabs *self, StudioPage *page)
{
  return adw_tab_view_get_page (self->view, GTK_WIDGET (page));
}

void
studio_tabs_show_page (StudioTabs *self, StudioPage *page)
{
  adw_tab_view_set_selected_page (self->view, studio_tabs_get_tab (self, page));
}

void
studio_tabs_insert_page (StudioTabs *self, StudioPage *page)
{
  AdwTabPage *parent = adw_tab_view_get_selected_page (self->view);
  AdwTabPage *tab = adw_tab_view_add_page (self->view, GTK_WIDGET (page), parent);
  adw_tab_view_set_selected_page (self->view, tab);
  studio_page_focus (page);
}

StudioPage *
studio_tabs_add_page (StudioTabs *self)
{
  StudioPage *page = studio_page_new ();
  studio_tabs_insert_page (self, page);
  return page;
}

StudioPage *
studio_tabs_get_free_page (StudioTabs *self)
{
  return self->page != NULL && studio_page_is_untouched (self->page) ? self->page : studio_tabs_add_page (self);
}

void
studio_tabs_say (StudioTabs *self, const char *sentence)
{
  if (self->page != NULL)
    studio_page_toast (self->page, sentence);
}

/* ---- tab titles and icons -------------------------------------------------------------------- */

/* The state of a run is a still icon, because an animated spinner would take processor time from training. */
static void
show_run (AdwTabPage *tab, StudioPage *page)
{
  StudioRun *run = studio_page_get_run (page);
  gboolean live = studio_run_is_live (run), paused = studio_run_get_state (run) == STUDIO_RUN_PAUSED;
  g_autoptr (GIcon) icon = NULL;
  if (live)
    icon = g_themed_icon_new (paused ? "media-playback-pause-symbolic" : "media-playback-start-symbolic");
  adw_tab_page_set_indicator_icon (tab, icon);
  adw_tab_page_set_indicator_activatable (tab, FALSE);
}

static void
show_edited (AdwTabPage *tab, StudioDocument *document)
{
  const gboolean edited = studio_document_is_edited (document) && !studio_document_is_empty (document);
  g_autoptr (GIcon) dot = edited ? g_themed_icon_new ("loom-edited-symbolic") : NULL;
  /* Each icon is another object, which the tab bar would measure again. */
  if (edited != (adw_tab_page_get_icon (tab) != NULL))
    adw_tab_page_set_icon (tab, dot);
}

static void
show_tooltip (AdwTabPage *tab, StudioPage *page)
{
  const char *path = studio_document_get_path (studio_page_get_document (page));
  gboolean live = studio_run_is_live (studio_page_get_run (page));
  g_autofree char *run = live ? studio_page_dup_run_sentence (page) : NULL;
  g_autofree char *text = g_strdup_printf ("%s%s%s", path != NULL ? path : studio_page_get_title (page),
                                           run != NULL ? "\n" : "", run != NULL ? run : "");
  g_autofree char *markup = g_markup_escape_text (text, -1);
  adw_tab_page_set_tooltip (tab, markup);
}

static void
page_changed_cb (StudioPage *page, StudioTabs *self)
{
  AdwTabPage *tab = studio_tabs_get_tab (self, page);
  adw_tab_page_set_title (tab, studio_page_get_title (page));
  show_edited (tab, studio_page_get_document (page));
  show_run (tab, page);
  show_tooltip (tab, page);
  if (page == self->page)
    g_signal_emit (self, signals[PAGE_CHANGED], 0);
}

static void
size_class_cb (StudioPage *page, StudioTabs *self)
{
  if (page == self->page)
    g_signal_emit (self, signals[SIZE_CLASS], 0);
}

static void
attention_cb (StudioPage *page, StudioTabs *self)
{
  if (page != self->page)
    adw_tab_page_set_needs_attention (studio_tabs_get_tab (self, page), TRUE);
}

/* ---- the current page --------------------------------------------------------------------------- */

static void
selected_cb (StudioTabs *self)
{
  AdwTabPage *tab = adw_tab_view_get_selected_page (self->view);
  g_autoptr (StudioPage) before = self->page != NULL ? g_object_ref (self->page) : NULL;
  StudioPage *page = page_of (tab);
  if (page == before || self->ended)
    return;
  g_set_weak_pointer (&self->page, page);
  if (tab != NULL)
    adw_tab_page_set_needs_attention (tab, FALSE);
  g_signal_emit (self, signals[SELECTED], 0, before);
}

/* ---- adding and removing ----------------------------------------------------------------------- */

static void
attached_cb (AdwTabView *view, AdwTabPage *tab, int position, StudioTabs *self)
{
  StudioPage *page = page_of (tab);
  g_signal_connect (page, "changed", G_CALLBACK (page_changed_cb), self);
  g_signal_connect (page, "size-class", G_CALLBACK (size_class_cb), self);
  g_signal_connect (page, "attention", G_CALLBACK (attention_cb), self);
  page_changed_cb (page, self);
  g_signal_emit (self, signals[COUNTED], 0);
}

static gboolean
emptied_cb (gpointer data)
{
  StudioTabs *self = data;
  if (!self->ended && studio_tabs_n_pages (self) == 0)
    g_signal_emit (self, signals[EMPTIED], 0);
  return G_SOURCE_REMOVE;
}

/* AdwTabView is still busy in this callback, so "emptied" is emitted afterwards, but before the next frame: windows
 * that redraw without a pause would delay it. */
static void
detached_cb (AdwTabView *view, AdwTabPage *tab, int position, StudioTabs *self)
{
  g_signal_handlers_disconnect_by_data (page_of (tab), self);
  if (self->ended)
    return;
  g_signal_emit (self, signals[COUNTED], 0);
  if (adw_tab_view_get_n_pages (view) == 0)
    g_idle_add_full (G_PRIORITY_HIGH_IDLE, emptied_cb, g_object_ref (self), g_object_unref);
}

static void
close_finish (StudioPage *page, gboolean confirmed)
{
  GtkWidget *view = gtk_widget_get_ancestor (GTK_WIDGET (page), ADW_TYPE_TAB_VIEW);
  if (confirmed)
    studio_page_let_go (page);
  if (view != NULL)
    adw_tab_view_close_page_finish (ADW_TAB_VIEW (view), adw_tab_view_get_page (ADW_TAB_VIEW (view), GTK_WIDGET (page)),
                                    confirmed);
}

static void
leave_cb (StudioPage *page, gpointer data)
{
  close_finish (page, TRUE);
}

static void
stay_cb (StudioPage *page, gpointer data)
{
  close_finish (page, FALSE);
}

static gboolean
close_page_cb (AdwTabView *view, AdwTabPage *tab, StudioTabs *self)
{
  StudioPage *page = page_of (tab);
  if (page == self->leaving)
    {
      close_finish (page, TRUE);
      return GDK_EVENT_STOP;
    }
  studio_page_commit (page);
  /* The dialog is about the page that is shown. */
  if (studio_page_would_lose (page))
    adw_tab_view_set_selected_page (view, tab);
  studio_page_ask_to_leave (page, leave_cb, stay_cb, NULL);
  return GDK_EVENT_STOP;
}

/* ---- commands ------------------------------------------------------------------------------------ */

AdwTabPage *
studio_tabs_get_target (StudioTabs *self)
{
  return self->menu_tab != NULL ? self->menu_tab : adw_tab_view_get_selected_page (self->view);
}

StudioPage *
studio_tabs_get_target_page (StudioTabs *self)
{
  return page_of (studio_tabs_get_target (self));
}

void
studio_tabs_close (StudioTabs *self)
{
  adw_tab_view_close_page (self->view, studio_tabs_get_target (self));
}

void
studio_tabs_drop_page (StudioTabs *self, StudioPage *page)
{
  self->leaving = page;
  adw_tab_view_close_page (self->view, studio_tabs_get_tab (self, page));
  self->leaving = NULL;
}

/* Wraps around. */
static void
move_by (StudioTabs *self, int by)
{
  int n = adw_tab_view_get_n_pages (self->view);
  int at = adw_tab_view_get_page_position (self->view, adw_tab_view_get_selected_page (self->view));
  adw_tab_view_set_selected_page (self->view, adw_tab_view_get_nth_page (self->view, (at + by + n) % n));
}

void
studio_tabs_next (StudioTabs *self)
{
  move_by (self, 1);
}

void
studio_tabs_previous (StudioTabs *self)
{
  move_by (self, -1);
}

void
studio_tabs_move_left (StudioTabs *self)
{
  adw_tab_view_reorder_backward (self->view, studio_tabs_get_target (self));
}

void
studio_tabs_move_right (StudioTabs *self)
{
  adw_tab_view_reorder_forward (self->view, studio_tabs_get_target (self));
}

void
studio_tabs_show_number (StudioTabs *self, int number)
{
  if (number > 0 && number <= adw_tab_view_get_n_pages (self->view))
    adw_tab_view_set_selected_page (self->view, adw_tab_view_get_nth_page (self->view, number - 1));
}

int
studio_tabs_get_number (StudioTabs *self)
{
  AdwTabPage *selected = adw_tab_view_get_selected_page (self->view);
  return selected != NULL ? adw_tab_view_get_page_position (self->view, selected) + 1 : 0;
}

static void
setup_menu_cb (AdwTabView *view, AdwTabPage *tab, StudioTabs *self)
{
  g_set_weak_pointer (&self->menu_tab, tab);
}

/* ---- object ------------------------------------------------------------------------------------- */

StudioTabs *
studio_tabs_find (StudioPage *page)
{
  GtkWidget *view = gtk_widget_get_ancestor (GTK_WIDGET (page), ADW_TYPE_TAB_VIEW);
  return view != NULL ? g_object_get_data (G_OBJECT (view), "studio-tabs") : NULL;
}

void
studio_tabs_end (StudioTabs *self)
{
  self->ended = TRUE;
  g_clear_weak_pointer (&self->page);
  g_clear_weak_pointer (&self->menu_tab);
}

static void
tabs_dispose (GObject *object)
{
  studio_tabs_end (STUDIO_TABS (object));
  G_OBJECT_CLASS (studio_tabs_parent_class)->dispose (object);
}

static void
studio_tabs_class_init (StudioTabsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tabs_dispose;
  signals[SELECTED] = studio_signal_new ("selected", STUDIO_TYPE_TABS, 1, STUDIO_TYPE_PAGE);
  for (guint i = PAGE_CHANGED; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ NULL, "page-changed", "size-class", "counted", "emptied" })[i],
                               STUDIO_TYPE_TABS, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioTabs *
studio_tabs_new (AdwTabView *view)
{
  static const char *const menu_actions[] = {
    "win.tab-left", "win.tab-right", "win.tab-to-window", NULL, "win.close-tab", "win.close-other-tabs", NULL, NULL
  };
  g_autoptr (GMenuModel) menu = studio_commands_menu (menu_actions);
  StudioTabs *self = g_object_new (STUDIO_TYPE_TABS, NULL);
  self->view = view;
  g_object_set_data (G_OBJECT (view), "studio-tabs", self);
  adw_tab_view_set_menu_model (view, menu);
  g_signal_connect_object (view, "notify::selected-page", G_CALLBACK (selected_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (view, "page-attached", G_CALLBACK (attached_cb), self, 0);
  g_signal_connect_object (view, "page-detached", G_CALLBACK (detached_cb), self, 0);
  g_signal_connect_object (view, "close-page", G_CALLBACK (close_page_cb), self, 0);
  g_signal_connect_object (view, "setup-menu", G_CALLBACK (setup_menu_cb), self, 0);
  return self;
}
