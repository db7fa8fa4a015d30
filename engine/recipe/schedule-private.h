/* Declares the schedules that are made of others or of a formula, for the table of all schedules. */
#pragma once

#include "engine/core/loom-range.h"
#include "engine/recipe/loom-schedule.h"

extern const LoomScheduleClass schedule_sequential, schedule_chained, schedule_lambda;

#define SCHEDULE_COMPOSED &schedule_sequential, &schedule_chained, &schedule_lambda
