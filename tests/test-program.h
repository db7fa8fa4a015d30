/* A test file of a box: its cases and their set-up, which the box's test program runs by the file's name. */
#pragma once

/* Registers the function that follows as the file's `main`: `argv[0]` is the program and the words after it are those
 * after the file's name on the command line. Used once in a file, in place of `int main (int argc, char **argv)`. */
#define TEST_FILE(argc, argv)                                                                                          \
  static int test_file_main (int argc, char **argv);                                                                   \
  __attribute__ ((constructor)) static void test_file_register (void)                                                  \
  {                                                                                                                    \
    test_program_add (__FILE__, test_file_main);                                                                       \
  }                                                                                                                    \
  static int test_file_main (int argc, char **argv)

/* Adds the file at `path`, by its name without folder, "test-" and ".c". */
void test_program_add (const char *path, int (*run) (int argc, char **argv));
