# Transformations of a Tree by a script: of a function in Stripe, or of the loops of any function with
# --stage stripe. Loops are named as the tree shows them, or by their line.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- down.stripe
block []:1 ( // down
    inout A[0, 0] fp32(6, 4):(4, 1)
) {
    0: #serial block [i:5]:5 (
        inout A[i, 0] fp32(2, 4):(4, 1)
    ) {
        0: #serial block [j:3]:3 (
            inout A[0, j] fp32(2, 2):(4, 1)
        ) {
            0: $x = load(A[0, 1])
            1: A[1, 0] = store($x)
        }
    }
}
$ loopwright edit down.stripe --stage tree --do 'split i 2; undo; split j 2; annotate j any; peel i 2'
for i in 2
  for j in 2 any
    for j.1 in 2 where 2 - 2*j - j.1 >= 0
      A[i + 1, 2*j + j.1] = A[i, 2*j + j.1 + 1]
for i in 3
  for j in 2 any
    for j.1 in 2 where 2 - 2*j - j.1 >= 0
      A[i + 3, 2*j + j.1] = A[i + 2, 2*j + j.1 + 1]
$ loopwright edit down.stripe --do 'split i 2; undo; undo'
--- stderr
--do:1:18: error: cannot undo: no action came before it
  split i 2; undo; undo
                   ^~~~
--- exit 1
$ loopwright edit down.stripe --do 'interchange i'
--- stderr
--do:1:1: error: cannot interchange: 'A' at (j=1, i=0) would run after 'A' at (j=0, i=1), which depends on it through A[1, 1] (flow dependence)
  interchange i
  ^~~~~~~~~~~~~
note: legal instead: interchange after a skew of 'j' (@2) by 1 times 'i'
--- exit 1
$ loopwright edit down.stripe --do 'copy A at i; copy B at i'
--- stderr
--do:1:1: error: cannot copy: the loop writes it
  copy A at i; copy B at i
  ^~~~~~~~~~~
--- exit 1
$ loopwright edit mm.tc --size M=6,N=8,K=4 --schedule naive --stage stripe --do 'unroll m; unroll n'
--- stderr
--do:1:18: error: several loops are named 'n': write @ and the line of the tree
  unroll m; unroll n
                   ^
note: there are @1 n, @5 n, @9 n, @13 n, @17 n, @21 n
--- exit 1
$ loopwright edit mm.tc --size M=6,N=8,K=4 --schedule naive --stage stripe --do 'sink @4 k'
--- stderr
--do:1:6: error: @4 is not a leaf of the tree
  sink @4 k
       ^~
--- exit 1
$ loopwright edit mm.tc --size M=6,N=8,K=4 --schedule naive --stage stripe --do 'sink @3 k; tile k 2'
--- stderr
--do:1:20: error: expected a number, found the end of the action
  sink @3 k; tile k 2
                     ^
--- exit 1
$ loopwright edit mm.tc --size M=2,N=8,K=4 --schedule naive --stage stripe --do 'distribute n 1; interchange @4; annotate @5 vector' -o mm.stripe
$ loopwright edit mm.stripe --stage tree --do ''
for m in 2
  for n in 8
    C[m, n] = 0.0
  for k in 4
    for n in 8 vector
      C[m, n] += A[m, k]*B[k, n]
$ loopwright check mm.stripe
mm(f32(2, 4) A, f32(4, 8) B) -> (f32(2, 8) C)
