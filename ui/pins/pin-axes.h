/* The axes of a pinned tensor that its kind does not draw whole: of each, one element is chosen. index: the chosen
 * elements, by axis. */
#pragma once

#include "ui/pins/pin-subject.h"
#include "ui/pins/studio-pin-kind.h"

/* The axes of which one element is chosen, the last one first; returns their number. */
gsize pin_axes_chosen (const PinSubject *subject, const StudioPinKind *kind, gsize axes[LOOM_SHAPE_MAX_RANK]);
/* "channel 3 of 16 · sample 1 of 32 fixed samples". n_samples: that the run computes values of; 0: not known. (transfer
 * full) */
char *
pin_axes_name_chosen (const PinSubject *subject, const StudioPinKind *kind, const gint64 *index, gint64 n_samples);
/* What the worker is asked for: of each leading dimension an element, or -1 for all. (transfer floating) */
GVariant *pin_axes_index (const PinSubject *subject, const StudioPinKind *kind, const gint64 *index);
/* The sample whose words are wanted. */
gint64 pin_axes_sample (const PinSubject *subject, const StudioPinKind *kind, const gint64 *index);
