/* The tabs of the window: adding, showing, closing and moving pages between windows.
 *
 * The actions of the current page are inserted into the window as the group "win", so that menus, buttons and keys
 * follow the page without a copy of its state. */
#include "ui/shell/studio-commands.h"
#include "ui/window/studio-window-private.h"

static StudioPage *
page_of (AdwTabPage *tab)
{
  return tab != NULL ? STUDIO_PAGE (adw_tab_page_get_child (tab)) : NULL;
}

guint
studio_window_n_pages (StudioWindow *self)
{
  return (guint)adw_tab_view_get_n_pages (self->tab_view);
}

StudioPage *
studio_window_get_nth_page (StudioWindow *self, guint i)
{
  return page_of (adw_tab_view_get_nth_page (self->tab_view, (int)i));
}

static void update_tab_actions (StudioWindow *self);

AdwTabPage *
studio_window_get_tab (StudioWindow *self, StudioPage *page)
{
  return adw_tab_view_get_page (self->tab_view, GTK_WIDGET (page));
}

void
studio_window_show_page (StudioWindow *self, StudioPage *page)
{
  adw_tab_view_set_selected_page (self->tab_view, studio_window_get_tab (self, page));
}

void
studio_window_insert_page (StudioWindow *self, StudioPage *page)
{
  AdwTabPage *parent = adw_tab_view_get_selected_page (self->tab_view);
  AdwTabPage *tab = adw_tab_view_add_page (self->tab_view, GTK_WIDGET (page), parent);
  adw_tab_view_set_selected_page (self->tab_view, tab);
  studio_page_focus (page);
}

StudioPage *
studio_window_add_page (StudioWindow *self)
{
  StudioPage *page = studio_page_new ();
  studio_window_insert_page (self, page);
  return page;
}

StudioPage *
studio_window_get_free_page (StudioWindow *self)
{
  return self->page != NULL && studio_page_is_untouched (self->page) ? self->page : studio_window_add_page (self);
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
  g_autoptr (GIcon) dot = NULL;
  if (studio_document_is_edited (document) && !studio_document_is_empty (document))
    dot = g_themed_icon_new ("loom-edited-symbolic");
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
page_changed_cb (StudioPage *page, StudioWindow *self)
{
  AdwTabPage *tab = studio_window_get_tab (self, page);
  adw_tab_page_set_title (tab, studio_page_get_title (page));
  show_edited (tab, studio_page_get_document (page));
  show_run (tab, page);
  show_tooltip (tab, page);
  if (page == self->page)
    studio_window_update_header (self);
}

static void
size_class_cb (StudioPage *page, StudioWindow *self)
{
  if (page == self->page)
    studio_window_update_size_class (self);
}

static void
attention_cb (StudioPage *page, StudioWindow *self)
{
  if (page != self->page)
    adw_tab_page_set_needs_attention (studio_window_get_tab (self, page), TRUE);
}

/* ---- current page ------------------------------------------------------------------------------ */

static void
take_actions (StudioWindow *self, GActionGroup *actions)
{
  g_auto (GStrv) names = g_action_group_list_actions (actions);
  for (guint i = 0; names[i] != NULL; i++)
    g_action_map_add_action (G_ACTION_MAP (self), g_action_map_lookup_action (G_ACTION_MAP (actions), names[i]));
}

static void
drop_actions (StudioWindow *self, GActionGroup *actions)
{
  g_auto (GStrv) names = g_action_group_list_actions (actions);
  for (guint i = 0; names[i] != NULL; i++)
    g_action_map_remove_action (G_ACTION_MAP (self), names[i]);
}

void
studio_window_drop_page (StudioWindow *self)
{
  if (self->page != NULL)
    drop_actions (self, studio_page_get_actions (self->page));
  g_clear_weak_pointer (&self->page);
}

/* AdwTabView focuses the widget that had the focus in this page, or else the first focusable one, a field of the
 * palette. Keys pressed after the change are meant for the graph. */
static void
focus_graph (StudioWindow *self)
{
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (self));

  if (focus == NULL || gtk_widget_is_ancestor (focus, GTK_WIDGET (self->tab_view)))
    studio_page_focus (self->page);
}

static void
selected_cb (StudioWindow *self)
{
  AdwTabPage *tab = adw_tab_view_get_selected_page (self->tab_view);
  StudioPage *page = page_of (tab), *before = self->page;
  if (page == before || self->closing)
    return;
  if (before != NULL)
    studio_page_set_presenting (before, FALSE);
  if (page == NULL)
    studio_window_drop_page (self);
  g_set_weak_pointer (&self->page, page);
  studio_action_list_set_canvas (self->action_list, page != NULL ? GTK_WIDGET (studio_page_get_canvas (page)) : NULL);
  if (page == NULL)
    return;
  take_actions (self, studio_page_get_actions (page));
  adw_tab_page_set_needs_attention (tab, FALSE);
  studio_page_set_presenting (page, self->presenting);
  if (self->size_class_shown < 0)
    studio_window_update_size_class (self);
  studio_window_update_header (self);
  update_tab_actions (self);
  focus_graph (self);
}

/* ---- adding and removing ----------------------------------------------------------------------- */

static void
attached_cb (AdwTabView *view, AdwTabPage *tab, int position, StudioWindow *self)
{
  StudioPage *page = page_of (tab);
  g_signal_connect (page, "changed", G_CALLBACK (page_changed_cb), self);
  g_signal_connect (page, "size-class", G_CALLBACK (size_class_cb), self);
  g_signal_connect (page, "attention", G_CALLBACK (attention_cb), self);
  page_changed_cb (page, self);
  update_tab_actions (self);
}

static gboolean
close_empty_cb (gpointer data)
{
  StudioWindow *self = data;
  if (!self->closing && studio_window_n_pages (self) == 0)
    gtk_window_close (GTK_WINDOW (self));
  return G_SOURCE_REMOVE;
}

/* The window closes with its last page, whether that was closed or moved. AdwTabView is still busy in this callback, so
 * the window is destroyed afterwards, but before the next frame: windows that redraw without a pause would keep it. */
static void
detached_cb (AdwTabView *view, AdwTabPage *tab, int position, StudioWindow *self)
{
  g_signal_handlers_disconnect_by_data (page_of (tab), self);
  if (self->closing)
    return;
  update_tab_actions (self);
  if (adw_tab_view_get_n_pages (view) == 0)
    g_idle_add_full (G_PRIORITY_HIGH_IDLE, close_empty_cb, g_object_ref (self), g_object_unref);
}

static AdwTabView *
create_window_cb (AdwTabView *view, StudioWindow *self)
{
  StudioWindow *other = studio_window_new_bare (gtk_window_get_application (GTK_WINDOW (self)));
  int width, height;
  gtk_window_get_default_size (GTK_WINDOW (self), &width, &height);
  gtk_window_set_default_size (GTK_WINDOW (other), width, height);
  gtk_window_present (GTK_WINDOW (other));
  return other->tab_view;
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
close_page_cb (AdwTabView *view, AdwTabPage *tab, StudioWindow *self)
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
studio_window_get_meant_tab (StudioWindow *self)
{
  return self->menu_tab != NULL ? self->menu_tab : adw_tab_view_get_selected_page (self->tab_view);
}

void
studio_window_close_tab (StudioWindow *self)
{
  adw_tab_view_close_page (self->tab_view, studio_window_get_meant_tab (self));
}

void
studio_window_close_other_tabs (StudioWindow *self)
{
  studio_window_close_pages_but (self, page_of (studio_window_get_meant_tab (self)));
}

void
studio_window_drop_tab (StudioWindow *self, StudioPage *page)
{
  self->leaving = page;
  adw_tab_view_close_page (self->tab_view, studio_window_get_tab (self, page));
  self->leaving = NULL;
}

void
studio_window_tab_to_window (StudioWindow *self)
{
  AdwTabPage *tab = studio_window_get_meant_tab (self);
  adw_tab_view_transfer_page (self->tab_view, tab, create_window_cb (self->tab_view, self), 0);
}

static void
update_tab_actions (StudioWindow *self)
{
  static const char *const several[]
      = { "next-tab", "previous-tab", "tab-left", "tab-right", "tab-to-window", "close-other-tabs" };
  for (guint i = 0; i < G_N_ELEMENTS (several); i++)
    studio_window_enable (self, several[i], studio_window_n_pages (self) > 1);
}

static void
setup_menu_cb (AdwTabView *view, AdwTabPage *tab, StudioWindow *self)
{
  g_set_weak_pointer (&self->menu_tab, tab);
}

void
studio_window_setup_tabs (StudioWindow *self)
{
  static const char *const menu_actions[] = {
    "win.tab-left", "win.tab-right", "win.tab-to-window", NULL, "win.close-tab", "win.close-other-tabs", NULL, NULL
  };
  g_autoptr (GMenuModel) menu = studio_commands_menu (menu_actions);
  adw_tab_view_set_menu_model (self->tab_view, menu);
  g_signal_connect_swapped (self->tab_view, "notify::selected-page", G_CALLBACK (selected_cb), self);
  g_signal_connect (self->tab_view, "page-attached", G_CALLBACK (attached_cb), self);
  g_signal_connect (self->tab_view, "page-detached", G_CALLBACK (detached_cb), self);
  g_signal_connect (self->tab_view, "create-window", G_CALLBACK (create_window_cb), self);
  g_signal_connect (self->tab_view, "close-page", G_CALLBACK (close_page_cb), self);
  g_signal_connect (self->tab_view, "setup-menu", G_CALLBACK (setup_menu_cb), self);
}
