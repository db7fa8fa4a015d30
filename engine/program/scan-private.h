/* Shared by the files of the scan. */
#pragma once

#include "engine/program/program-body.h"

G_BEGIN_DECLS

/* scan-gradient.c */
gboolean loom_scan_gradient (const LoomGradCall *call);

G_END_DECLS
