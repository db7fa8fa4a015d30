/* The functions of the module loom-sentencepiece, which calls SentencePiece's library for programs in C. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct
{
  /* Reads a serialised model; NULL if it is none. */
  void *(*load) (const char *model, size_t length);
  void (*free) (void *self);
  uint32_t (*size) (const void *self);
  /* A token with ▁ for a space; valid as long as self. */
  const char *(*spelling) (const void *self, uint32_t id);
  /* Calls `add` with each token of a UTF-8 text. */
  void (*encode) (const void *self, const char *text, size_t length, void (*add) (uint32_t id, void *data), void *data);
} TokenSentencePiece;

/* The module's symbol, a TokenSentencePiece. */
#define LOOM_SENTENCEPIECE_ENTRY "loom_sentencepiece"
