/* The pages of a window as tabs: adding, showing, closing and moving them, their titles and icons. */
#pragma once

#include <adwaita.h>

#include "ui/page/studio-page.h"

#define STUDIO_TYPE_TABS (studio_tabs_get_type ())
G_DECLARE_FINAL_TYPE (StudioTabs, studio_tabs, STUDIO, TABS, GObject)

/* Signals:
 *   "selected" (StudioPage *before)  another page is current, or none; before: the previous one, or NULL
 *   "page-changed"                   title, undo, run or device of the current page
 *   "size-class"                     of the current page
 *   "counted"                        a page was added or removed
 *   "emptied"                        the last page was closed or moved to another window */
StudioTabs *studio_tabs_new (AdwTabView *view);
/* The tabs that a page is in; NULL: none. */
StudioTabs *studio_tabs_find (StudioPage *page);
/* The window closes: its pages are no longer reported. */
void studio_tabs_end (StudioTabs *self);

StudioPage *studio_tabs_get_page (StudioTabs *self); /* the current one; NULL: none */
guint studio_tabs_n_pages (StudioTabs *self);
StudioPage *studio_tabs_get_nth_page (StudioTabs *self, guint i);
AdwTabPage *studio_tabs_get_tab (StudioTabs *self, StudioPage *page);
void studio_tabs_show_page (StudioTabs *self, StudioPage *page);
/* Adds a page after the current one and shows it. */
void studio_tabs_insert_page (StudioTabs *self, StudioPage *page);
/* The same with a new page (transfer none). */
StudioPage *studio_tabs_add_page (StudioTabs *self);
/* The current page if it is untouched, else a new one. */
StudioPage *studio_tabs_get_free_page (StudioTabs *self);
/* Shows a sentence in the current page. */
void studio_tabs_say (StudioTabs *self, const char *sentence);

/* ---- commands ---- */

/* The tab for a command: the one whose context menu is open, else the current one. */
AdwTabPage *studio_tabs_get_target (StudioTabs *self);
StudioPage *studio_tabs_get_target_page (StudioTabs *self);
void studio_tabs_close (StudioTabs *self);
/* Closes a page without a question. */
void studio_tabs_drop_page (StudioTabs *self, StudioPage *page);
void studio_tabs_next (StudioTabs *self);
void studio_tabs_previous (StudioTabs *self);
void studio_tabs_move_left (StudioTabs *self);
void studio_tabs_move_right (StudioTabs *self);
/* From 1. */
void studio_tabs_show_number (StudioTabs *self, int number);
/* The number of the current tab, from 1; 0: none. */
int studio_tabs_get_number (StudioTabs *self);
