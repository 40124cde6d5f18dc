# Actions on loops by a script: the result is a Schedule. Statements that share a loop still share
# it afterwards. Errors are located in the script, and refusals say why.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- soft.tc
def soft(float(N,D) I) -> (O) {
    top(n) max=! I(n,d)
    O(n,d) = exp(I(n,d) - top(n))
}
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'split m 8; swap m k; vectorize n'
--- stderr
--do:1:22: error: cannot vectorize: vector loop over 'n' is not innermost: 'm' runs inside it
  split m 8; swap m k; vectorize n
                       ^~~~~~~~~~~
--- exit 1
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'split m 8; swap n k; vectorize n; parallelize m/8; copy B at m/8'
C: m/8:p m k n:v
    copy B at m/8
$ loopwright edit mm.tc --size M=7,N=48,K=32 --schedule naive --stage tree --do 'interleave m 2; undo; split m 2; next; merge'
for m in 7
  for n in 48
    C[m, n] = 0.0
    for k in 32
      C[m, n] += A[m, k]*B[k, n]
$ loopwright edit soft.tc --size N=6,D=4 --schedule naive --do 'split top:n 2; decrease_reuse top; inline top'
--- stderr
--do:1:36: error: cannot inline: 'top' cannot be inlined: it must be a temporary with one definition by '=' and a plain iterator per dimension
  split top:n 2; decrease_reuse top; inline top
                                     ^~~~~~~~~~
--- exit 1
$ loopwright edit soft.tc --size N=6,D=4 --schedule naive --do 'split top:n 2' --stage tree
for n in 3
  for n.1 in 2
    top f32[1] 4 B
    top[0] = -inf
    for d in 4
      top[0] max= I[2*n + n.1, d]
    for d in 4
      O[2*n + n.1, d] = exp(I[2*n + n.1, d] - top[0])
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'splt m 8'
--- stderr
--do:1:1: error: no action 'splt'
  splt m 8
  ^~~~
note: did you mean 'split'?
--- exit 1
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'split D:m 8'
--- stderr
--do:1:7: error: no statement 'D' in the program
  split D:m 8
        ^
--- exit 1
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'split m/4 8'
--- stderr
--do:1:7: error: no loop 'm/4'
  split m/4 8
        ^~~
note: there are C:m, C:n, C:k
--- exit 1
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'annotate k fast'
--- stderr
--do:1:12: error: no kind of loop 'fast': expected serial, parallel, unroll, vector or any
  annotate k fast
             ^~~~
--- exit 1
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'up'
--- stderr
--do:1:1: error: cannot go up: no loop is around it
  up
  ^~
--- exit 1
$ loopwright edit mm.tc --size M=64,N=48,K=32 --schedule naive --do 'split k'
--- stderr
--do:1:8: error: expected a number, found the end of the action
  split k
         ^
--- exit 1
$ echo 'def f() -> (T) { T = 1.5 }' > c.tc; loopwright edit c.tc --schedule naive --do 'copy T'
--- stderr
--do:1:1: error: cannot copy: no tensor 'T' that statement 'T' reads
  copy T
  ^~~~~~
--- exit 1
