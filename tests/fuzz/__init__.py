"""Fuzzing: inputs of every kind, each made of a seed, read or executed in child processes.

``python tests/fuzz [TARGET...] [--seconds N] [--first SEED] [--jobs N] [--json FILE]``; ``--help`` lists the targets.
A seed names an input: the same seed gives the same one as long as the samples are the same. ``--show TARGET SEED`` writes
an input, ``--check TARGET FILE`` tries one, whatever it was made by. Findings belong into tests/data/fuzzed, under a name
that ends like the target, where tests/fuzz/test_fuzzed.py tries them ever after.

======================== ==============================================================================================
module                   contents
======================== ==============================================================================================
``target``               the interface of a target
``mutation``             changes of texts and bytes
``reading``              targets that read: texts, modules, objects, archives, images, ze_info, launch files, the CTM's
``zebins``               device binaries of the compiler
``caches``               entries of the user's cache that are damaged or forged
``guarded``              memory between pages without access, with canaries
``launches``             programs with their launches as one file, and how one is executed on both engines
``kernels``              kernels that are mutated and executed
``unmasked``             kernels with instructions that ignore the mask, in groups smaller than a thread
``lanes``                OpenCL C whose lanes stray, walk, look up small tables, and carry
``forms``                OpenCL C of the forms that passes of the fast engine are for
``parts``                instructions in parts of the lanes, numbers in parts, and what passes are for around them
``programs``             programs without races by construction, which the engines must agree about
``operations``           their instructions on registers
``messages``             their messages to memory
``images``               their messages to images and samplers
``matrices``             their systolic products, and blocks of matrices
``kills``                commands that are killed while they write
``records``              variables that a text loads when it begins, and stores when it ends
``runner``               child processes, limits, summaries
``__main__``             the command line
======================== ==============================================================================================
"""
