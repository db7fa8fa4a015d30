/* Read once for all files of a large box of the engine where headers are precompiled (the option b_pch), which saves a
 * third of what a short file takes. No header of ours is here: after a change of one not all files are compiled again. */
#include <gio/gio.h>
#include <math.h>
#include <string.h>
