/* Reads models of onnx-bytes.h: what they become, or why they become nothing. */
#pragma once

#include <glib.h>

static const gint64 good_dims[] = { 3, 4 };

/* Flatten, Gemm and Relu over images [batch, 1, 2, 2]; weight sizes (good_dims) and the last node may be others. */
GByteArray *classifier (const gint64 *weight_dims, const char *last);
/* A graph of one node whose inputs are images, as it goes into a model. */
GByteArray *single (GByteArray *n);
/* An attribute of integers, or of `count` times the same text. */
void put_list (GByteArray *n, const char *name, const gint64 *values, guint count, const char *text);

/* The sentences that come of these bytes, or NULL where they are a model. Takes the bytes. */
char *sentence (GByteArray *bytes);
/* Asserts that they contain this part. Takes the bytes. */
void expect (GByteArray *bytes, const char *part);
/* The graph that these bytes become, as it is written. Takes the bytes. */
char *written (GByteArray *bytes);
