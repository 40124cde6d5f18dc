# The programs under examples/c, built against the shared library.
$ $LW_BUILD/examples/matmul
--- stderr
/bin/sh: 1: @/build/examples/matmul: not found
--- exit 127
$ $LW_BUILD/examples/mv
--- stderr
/bin/sh: 1: @/build/examples/mv: not found
--- exit 127
$ $LW_BUILD/examples/einsum
--- stderr
/bin/sh: 1: @/build/examples/einsum: not found
--- exit 127
$ $LW_BUILD/examples/diagnostics
--- stderr
/bin/sh: 1: @/build/examples/diagnostics: not found
--- exit 127
$ $LW_BUILD/examples/graph
--- stderr
/bin/sh: 1: @/build/examples/graph: not found
--- exit 127
$ $LW_BUILD/examples/kernel
--- stderr
/bin/sh: 1: @/build/examples/kernel: not found
--- exit 127
