# The programs under examples/c, built against the shared library.
$ $LW_BUILD/examples/matmul
matmul(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
4 5
10 11
$ $LW_BUILD/examples/mv
7 16
$ $LW_BUILD/examples/einsum
41 0 52 0 63 0
$ $LW_BUILD/examples/diagnostics
error in the input, 1 diagnostics
error in f.tc from 2:19 to 2:23: no tensor or function named 'D'
  note: declare it as a parameter, or define it by an earlier statement
$ $LW_BUILD/examples/graph
conv_relu(f32(H) image, f32(K) weights, f32 bias) -> (f32(H - K + 1) out)
graph conv_relu
dim H
dim K
dim O
%0 = read image f32 [H]
%1 = read weights f32 [K]
%2 = read bias f32 []
%3 = view %0 [O, K] where H = K + O border identity
%4 = mul %3 %1 [O, K]
%5 = add %4 [O]
%6 = add %5 %2 [O]
%7 = relu %6 [O]
%8 = write out %7 [O]
21.5 32.5 43.5 0
$ $LW_BUILD/examples/kernel
mm: 1.76947e+06 operations on 110592 bytes; argument 2 has strides 96, 1
status 0, the same
