#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The domain of Studio's words: the name of its .mo files. */
#define STUDIO_TEXT_DOMAIN "gradloom"

/* To be called once, before GTK: sets the user's locale, with which Studio's words are translated, but for numbers:
 * what is read, written and computed keeps the C locale's points. Numbers for the eye then get the user's separators by
 * studio_format_set_separators().
 * folder: where translations are (FOLDER/LANGUAGE/LC_MESSAGES/gradloom.mo), or NULL: the build folder or installation
 * that the program runs from, else where it was configured to be installed. */
void studio_language_init (const char *folder);

G_END_DECLS
