/* Read once for all files of Studio's library where headers are precompiled (the option b_pch), which halves the time
 * that these take. Each file includes what it needs all the same: b_pch is off by default. */
#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
