/* Checks all options of a source before its code reads any. */
#pragma once

#include "engine/data/loom-dataset-private.h"

/* SCHEMA if an option is required and missing, cannot be parsed, or is out of range. */
gboolean loom_options_check (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error);
