/* The changes of texts and bytes that tokenizers make, as functions. */
#pragma once

#include <glib.h>

/* The character by which a byte is written in a vocabulary over bytes: itself if it is printable, else one from U+0100
 * on, in order (Radford et al., "Language models are unsupervised multitask learners", 2019). */
gunichar token_byte_character (guint8 byte);
/* GPT-2's pattern, by which no token spans words. */
#define TOKEN_GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* Bytes as text; if they are no UTF-8, each that is not printable as \xNN. (transfer full) */
char *token_show_bytes (const char *data, gsize length);
/* The bytes of a text that is written so, and their number; NULL if it has other characters. (transfer full) */
char *token_bytes_of (const char *text, gsize *length);
/* Bytes as such characters. (transfer full) */
char *token_write_bytes (const char *text);

/* Lower case character by character, in no language's own way. (transfer full) */
char *token_lower (const char *text);
/* A decomposed text without combining marks. (transfer full) */
char *token_without_accents (const char *text);
/* BERT's cleaning: without control characters and with one kind of space (cleans), and with spaces around each Chinese
 * character (pads). (transfer full) */
char *token_clean (const char *text, gboolean cleans, gboolean pads);
