/* Byte-pair encoding with GPT-2's rules. */
#pragma once

#include <glib.h>

typedef struct _LoomBpe LoomBpe;

LoomBpe *loom_bpe_load (const char *path, GError **error);
void loom_bpe_free (LoomBpe *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomBpe, loom_bpe_free)

guint loom_bpe_size (const LoomBpe *self);               /* number of tokens: bytes, pairs, and the end of a text */
char *loom_bpe_dup_name (const LoomBpe *self, guint id); /* the text of a token; bytes that are no UTF-8 as \xNN */
/* Appends the tokens (guint32) of a UTF-8 text. */
void loom_bpe_encode (const LoomBpe *self, const char *text, gsize length, GArray *ids);
