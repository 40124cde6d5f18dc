# Marks for a GPU run like any other loop on a processor without one, and say so; names that are nearly right are asked back.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- gpu.lws
C: m:grid.x n:thread.x k
--- reg.lws
C: m/4 n/8 k m n:v
    copy B at k place register
--- near.lws
C: m n k
    copi A
$ loopwright show mm.tc --size M=8,N=8,K=8 --schedule gpu.lws --stage tree
for m in 8 grid.x
  for n in 8 thread.x
    C[m, n] = 0.0
    for k in 8
      C[m, n] += A[m, k]*B[k, n]
$ loopwright compile mm.tc --size M=8,N=8,K=8 --schedule gpu.lws --emit c -o mm.c
--- stderr
warning: the loop over 'm' is grid.x: this back-end runs it serially
$ loopwright show mm.tc --size M=8,N=8,K=8 --schedule reg.lws --stage tree
for m in 2
  for n in 1
    for m.1 in 4
      for n.1 in 8 vector
        C[4*m + m.1, 8*n + n.1] = 0.0
    for k in 8
      C.B f32[1, 8] 32 B register
      for k.1 in 1
        for n.1 in 8
          C.B[k.1, n.1] = B[k + k.1, n.1]
      for m.1 in 4
        for n.1 in 8 vector
          C[4*m + m.1, 8*n + n.1] += A[4*m + m.1, k]*C.B[0, 8*n + n.1]
$ loopwright show mm.tc --size M=8,N=8,K=8 --schedule near.lws --stage tree
--- stderr
near.lws:2:5: error: no option 'copi'
      copi A
      ^~~~
note: did you mean 'copy'?
--- exit 1
$ printf 'C: m n\n    pack A at m\n' > pack.lws; loopwright show @/examples/schedules/matmul.tc --size M=4,N=4,K=4 --stage tree --schedule pack.lws
--- stderr
pack.lws:2:5: error: no option 'pack'
      pack A at m
      ^~~~
note: did you mean 'copy'?
--- exit 1
$ printf 'C: m k\n    copy B at m\n    prefetch B at k\n' > copy.lws && loopwright show mm.tc --size M=4,N=4,K=4 --stage tree --schedule copy.lws
--- stderr
copy.lws:3:14: error: no tensor 'B' that statement 'C' uses
      prefetch B at k
               ^
note: it reads the copy: 'prefetch C.B'
--- exit 1
