/* The bar that offers unsaved work after a crash, one journal at a time. All bars of the process offer the same
 * journal. Its buttons activate win.recover, win.recover-all and win.discard-recovery. */
#pragma once

#include <adwaita.h>

#define STUDIO_TYPE_RECOVERY_BAR (studio_recovery_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioRecoveryBar, studio_recovery_bar, STUDIO, RECOVERY_BAR, AdwBin)

/* Property "shown" (read-only): a journal is offered. */
gboolean studio_recovery_bar_is_shown (StudioRecoveryBar *self);
/* The path of the journal that is offered; NULL: none. */
const char *studio_recovery_bar_get_journal (StudioRecoveryBar *self);
/* narrow: the buttons are below the sentence. */
void studio_recovery_bar_set_narrow (StudioRecoveryBar *self, gboolean narrow);
/* A damaged journal is kept, but is not offered again before the next start. */
void studio_recovery_bar_set_damaged (const char *journal);
/* Makes all bars offer the next journal, or none. */
void studio_recovery_bar_offer_next (void);
/* Deletes the journal that is offered. */
void studio_recovery_bar_discard (StudioRecoveryBar *self);
