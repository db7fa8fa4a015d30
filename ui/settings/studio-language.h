/* Translations: sets the locale and finds the folder of message catalogues. */
#pragma once

#include <glib.h>

/* The gettext domain of Studio, the name of its .mo files. */
#define STUDIO_TEXT_DOMAIN "gradloom"

/* Sets the user's locale, except LC_NUMERIC, which stays C because files, commands and computation need decimal points.
 * Displayed numbers get the user's separators by studio_format_set_separators(). Call once, before GTK. folder: where
 * translations are (FOLDER/LANGUAGE/LC_MESSAGES/gradloom.mo), or NULL: the build folder or installation that the
 * program runs from, else the configured prefix. */
void studio_language_init (const char *folder);
