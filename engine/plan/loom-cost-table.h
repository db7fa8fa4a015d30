/* The cost table: estimated kernel times, and the kernels that runs have chosen.
 *
 * The planner chooses algorithms and layouts by this table and never by a clock, so two runs with the same table choose
 * alike. The table is a readable file (format: data/costs.ini). It has the shipped rates by back end, primitive,
 * algorithm and layout, and the times that `gradloom bench --tune` measured on one device. It also has the choices of a
 * run's plans, which its checkpoints store. */
#pragma once

#include <glib.h>

#include "engine/core/loom-error.h"
#include "kernels/backend.h"

typedef struct _LoomCostTable LoomCostTable;

/* The shipped table. */
LoomCostTable *loom_cost_table_new (void);
/* The shipped table with the measurements of loom_cost_table_user_file(), if there are any. A faulty file is reported
 * as a note and ignored. */
LoomCostTable *loom_cost_table_new_default (void);
/* A complete table from the text of loom_cost_table_to_text(), as a run stores it. name: the file's name in an
 * error. */
LoomCostTable *loom_cost_table_new_from_text (const char *text, const char *name, GError **error);
LoomCostTable *loom_cost_table_ref (LoomCostTable *table);
void loom_cost_table_unref (LoomCostTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCostTable, loom_cost_table_unref)

/* $XDG_CONFIG_HOME/gradloom/costs.ini; (transfer full) */
char *loom_cost_table_user_file (void);
/* The table as text. whole FALSE: only the measurements, as in the user's file. (transfer full) */
char *loom_cost_table_to_text (LoomCostTable *table, gboolean whole);
/* Adds the measurements of `from`, which replace those of the same call. */
void loom_cost_table_add_measured (LoomCostTable *table, LoomCostTable *from);
/* Adds the measurements of `from` to the user's file, which several programs may do at once. Returns the table for new
 * runs, or NULL with an IO error. */
LoomCostTable *loom_cost_table_save_measured (LoomCostTable *from, GError **error);
/* A hash over rates and measurements, without choices: 16 hexadecimal digits, interned. */
const char *loom_cost_table_hash (LoomCostTable *table);
/* The table's origin: "shipped", "shipped and /home/ada/.config/gradloom/costs.ini". */
const char *loom_cost_table_origin (LoomCostTable *table);
/* The notes for the user since the last call, as sentences, or NULL. (transfer full) */
char *loom_cost_table_take_note (LoomCostTable *table);

/* The key under which a device's measurements are stored: model, threads and library versions. (transfer full) */
char *loom_cost_device_key (const char *backend, const LoomDeviceInfo *info);
/* Adds a note if the user has measurements of this back end for another device but none for this one. A table that a
 * run has stored gets no note, because a resumed run keeps its measurements. */
void loom_cost_table_check_device (LoomCostTable *table, const char *backend, const char *device);

/* The keys of a call ("conv2d f32 64x1x28x28, … ") and of an option of it ("onednn nhwc"). attributes: as text, may be
 * NULL. (transfer full) */
char *loom_cost_call_key (const LoomKernelSpec *spec, const char *attributes);
char *loom_cost_option_key (const LoomKernelSpec *spec, const LoomKernelOption *option);
/* The layout in the key of an option: "plain" or "nhwc", or "nhwc-plain" if operands are NHWC and results plain. */
const char *loom_cost_layout_name (const LoomKernelSpec *spec, guint64 nhwc);

/* The estimated seconds of a call by rates alone, for LoomCosts.seconds of a back end. */
double loom_cost_table_estimate (LoomCostTable *table, const char *backend, const LoomKernelSpec *spec,
                                 const LoomKernelOption *option, double flops, double bytes);
gboolean loom_cost_table_has_measured (LoomCostTable *table, const char *device);
/* The seconds measured on exactly this device, or a negative number if there is no measurement. */
double loom_cost_table_measured (LoomCostTable *table, const char *device, const char *call, const char *option);
void loom_cost_table_set_measured (LoomCostTable *table, const char *device, const char *call, const char *option,
                                   double seconds);

/* The name of the option that a plan chose for its instruction `instr`, or NULL if none is recorded. (transfer full) */
char *loom_cost_table_choice (LoomCostTable *table, const char *plan, guint instr);
void loom_cost_table_choose (LoomCostTable *table, const char *plan, guint instr, const char *option);
/* Removes all choices, so that plans are made from the current costs. */
void loom_cost_table_drop_choices (LoomCostTable *table);
/* Adds a sentence to loom_cost_table_take_note(), at most once in the table's life. */
void loom_cost_table_note (LoomCostTable *table, const char *sentence);
