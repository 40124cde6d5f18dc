# The programs under examples/c, built against the shared library.
$ $LW_BUILD/examples/matmul
matmul(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
4 5
10 11
$ $LW_BUILD/examples/einsum
41 0 52 0 63 0
$ $LW_BUILD/examples/diagnostics
error in the input, 1 diagnostics
error in f.tc from 2:19 to 2:23: undefined tensor 'D'
  note: declare it as a parameter, or define it by an earlier statement
