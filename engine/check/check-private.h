/* Between the files of the checker. */
#pragma once

#include "engine/check/loom-check.h"

G_BEGIN_DECLS

/* Adds a fault; instr and value are of the plan, G_MAXUINT for none. */
void check_fault (LoomCheckReport *report, LoomCheckRule rule, guint instr, guint value, const char *format, ...)
    G_GNUC_PRINTF (5, 6);

void check_memory (const LoomPlan *plan, LoomCheckReport *report);
void check_order (const LoomPlan *plan, LoomCheckReport *report);
void check_state (const LoomPlan *plan, LoomCheckReport *report);
void check_random (const LoomPlan *plan, LoomCheckReport *report);
void check_forecast (const LoomPlan *plan, LoomCheckReport *report);
void check_meaning (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report);

G_END_DECLS
