/* Checking all options of a source at once, before any of its code reads one. */
#pragma once

#include "engine/data/loom-dataset-private.h"

/* SCHEMA when a required one is missing, does not parse, or is out of range. */
gboolean loom_options_check (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error);
