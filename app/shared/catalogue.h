/* The catalogue of translations, which the programs share with Studio. */
#pragma once

/* Binds the catalogue of the build, or of the installation that the program runs from, and words faults in the user's
 * language from now on. Programs read English, so it is not called for --json, the worker and agents. */
void catalogue_bind (void);
