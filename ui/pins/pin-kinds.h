/* The kinds of pins, for the table in studio-pin-kind.c. */
#pragma once

#include "ui/pins/studio-pin-kind.h"

extern const StudioPinKind pin_number, pin_histogram, pin_norms;            /* pin-lines.c */
extern const StudioPinKind pin_matrix, pin_montage, pin_kernels, pin_units; /* pin-maps.c */
extern const StudioPinKind pin_heads, pin_threads, pin_arcs, pin_text_kind; /* pin-attention.c, pin-tokens.c */
extern const StudioPinKind pin_classes;                                     /* pin-bars.c */
extern const StudioPinKind pin_scatter, pin_components, pin_surface;        /* pin-points.c */
